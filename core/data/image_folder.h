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
  // In the order of the labels; empty: every folder under train/ is a class, sorted by name.
  std::vector<std::string> classes;
};

// Reads all images of a folder or archive. Images are ordered by their place within their class
// (sorted by name), then by class. Any first part of the set is then balanced, whatever the order
// of an archive. Folders above train/ are allowed if all files have them in common. Files outside
// of train/, test/ and val/ are ignored; files inside that are no images are errors. Fills in two
// facts: the number of classes, and the variant. It is "jpeg" (and lossy) if any file is a JPEG,
// else "png".
LoadedDataset read_image_folder(const std::string& path, const ImageFolder& folder,
                                DatasetFacts facts);

}  // namespace approx
