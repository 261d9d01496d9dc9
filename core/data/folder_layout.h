// The layout of image folders, train/<class>/<file> and test/<class>/<file> (or val/...).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/data/bytes.h"

namespace approx {

// The parts of `<root>train/<class>/<file>`.
struct FolderName {
  std::string_view root;  // "" or "images/"
  bool is_test = false;
  std::string_view class_name, file;
};

// Nothing for a file outside of such folders.
std::optional<FolderName> parse_folder_name(std::string_view name);

// Checks that all names of a data set have one layout: one root, either test/ or val/, known
// classes.
class FolderLayout {
 public:
  // `classes` in the order of their labels; empty: every folder under train/ is a class, sorted.
  explicit FolderLayout(std::vector<std::string> classes) : classes_(std::move(classes)) {}

  // Throws Error(kData) that begins with `place`.
  FolderName check(const std::string& place, std::string_view name);

 private:
  std::vector<std::string> classes_;
  std::optional<std::string> root_, test_folder_;
};

// The images of one part by class, each with its position in the order of reading.
struct FiledImage {
  std::string file;
  size_t position = 0;
};
using FiledImages = std::map<std::string, std::vector<FiledImage>, std::less<>>;

// `classes`, or the sorted folders of the training part if `classes` is empty. Throws Error(kData)
// that begins with `path` if a part has no images, or a class has test images and no training
// images.
std::vector<std::string> class_names(const FiledImages& train, const FiledImages& test,
                                     std::vector<std::string> classes, const std::string& path);

// Orders the images by their place within their class (sorted by name), then by class. Any first
// part of the list is then balanced, whatever the order of an archive.
struct OrderedImage {
  size_t position = 0;
  int64_t label = 0;
};
std::vector<OrderedImage> in_class_order(FiledImages images,
                                         const std::vector<std::string>& classes);

}  // namespace approx
