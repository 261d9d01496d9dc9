// Importing photographs: from an image folder or archive of any size to a packed file, image by
// image, so that memory does not grow with the data set.
#pragma once

#include <functional>
#include <string>

#include "core/data/dataset.h"
#include "core/data/photo.h"
#include "core/data/resample.h"

namespace approx {

// What becomes of one file: the same bytes, or a smaller JPEG. One per thread.
class PhotoConverter {
 public:
  explicit PhotoConverter(PhotoLimit limit) : limit_(limit) {}

  // Decodes the whole file, which finds damage. Without a limit every file stays as it is. With one
  // a JPEG in grey or colour that is within it does; everything else is reduced to the limit, where
  // it is larger, and written as a colour JPEG. Valid until the next call. Error(kData) that begins
  // with `place`.
  Bytes convert(Bytes file, const std::string& place);

  bool rewrote() const { return rewrote_; }          // the last file
  const Raster& raster() const { return *raster_; }  // what it looks like (before it is written)

 private:
  PhotoLimit limit_;
  PhotoEncoder encoder_;
  Resampler resample_;
  Raster decoded_, reduced_;
  const Raster* raster_ = nullptr;
  bool rewrote_ = false;
};

// Reads the images below train/ and test/ (or val/) at `path` and writes the packed file
// `packed_path`, whose folder is made when missing; the files wait in a nameless file beside it
// until all are there and can be put in order (by place within the class, then by class). The
// variant of the data set says whether files were written anew, and how: "original files", "shorter
// side 293, JPEG quality 90", "longer side 500, JPEG quality 90". `check` is called before anything
// gets its name, with the data set without its images. Uses every core; the result does not depend
// on their number. Returns how many junk files (core/data/junk.h) it skipped. Error(kData) names
// the file.
int64_t import_photos(const std::string& path, const DatasetEntry& entry,
                      const std::string& packed_path, const ImportOptions& options,
                      const std::function<void(const LoadedDataset&)>& check);

}  // namespace approx
