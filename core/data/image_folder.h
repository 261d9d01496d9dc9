// Image folders: train/<class>/<file> and test/<class>/<file> (or val/...), as a folder, a .tar or
// a .tar.gz.
#pragma once

#include <string>
#include <vector>

#include "core/data/image.h"
#include "core/data/image_buffer.h"

namespace approx {

struct ImageFolder {
  ImageSize size;
  // In the order of their labels; empty: every folder under train/ is a class, in sorted order.
  std::vector<std::string> classes;
};

// Reads all images of a folder or archive. Images are ordered by their place within their class
// (sorted by name), then by class, so that any first part of the set is balanced whatever order
// the archive has. Folders above train/ are allowed as long as they are the same for all; files
// outside train/, test/ and val/ are ignored, files inside that are no images are errors.
// The facts that the files tell are filled in: the number of classes, and the variant: "jpeg" (and
// lossy) as soon as one file is a JPEG, "png" otherwise.
LoadedDataset read_image_folder(const std::string& path, const ImageFolder& folder,
                                DatasetFacts facts);

}  // namespace approx
