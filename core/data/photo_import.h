// Imports photographs from an image folder or archive of any size into a packed file. It works
// image by image, so that memory does not grow with the data set.
#pragma once

#include <functional>
#include <string>

#include "core/data/dataset.h"
#include "core/data/photo.h"
#include "core/data/resample.h"

namespace approx {

// Converts one file: keeps its bytes, or writes a smaller JPEG. Use one per thread.
class PhotoConverter {
 public:
  explicit PhotoConverter(PhotoLimit limit) : limit_(limit) {}

  // Decodes the whole file, which finds damage. Without a limit every file keeps its bytes. With
  // one, a JPEG in grey or colour that is within the limit keeps them. All other files are scaled
  // down to the limit if they are larger, and written as a colour JPEG. The result is valid until
  // the next call. Throws Error(kData) that begins with `place`.
  Bytes convert(Bytes file, const std::string& place);

  bool rewrote() const { return rewrote_; }          // whether it wrote the last file anew
  const Raster& raster() const { return *raster_; }  // its pixels, before writing

 private:
  PhotoLimit limit_;
  PhotoEncoder encoder_;
  Resampler resample_;
  Raster decoded_, reduced_;
  const Raster* raster_ = nullptr;
  bool rewrote_ = false;
};

// Reads the images below train/ and test/ (or val/) at `path` and writes the packed file
// `packed_path`, whose folder is made if missing. Returns how many junk files (core/data/junk.h) it
// skipped. Throws Error(kData) that names the file.
//
// The images wait in a nameless file beside the packed one until all are there. They are then put
// in order, by place within the class, then by class. The variant of the data set says whether and
// how files were written anew: "original files", "shorter side 293, JPEG quality 90", "longer side
// 500, JPEG quality 90". `check` is called before the packed file gets its name, with the data set
// without its images. All cores work; the result does not depend on their number.
int64_t import_photos(const std::string& path, const DatasetEntry& entry,
                      const std::string& packed_path, const ImportOptions& options,
                      const std::function<void(const LoadedDataset&)>& check);

}  // namespace approx
