// Image folders, train/<class>/<file> and test/<class>/<file> (or val/...): what the names say.
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

// Nothing for a file outside such folders.
std::optional<FolderName> parse_folder_name(std::string_view name);

// Holds the names of one data set to one layout: the same root, either test/ or val/, known
// classes.
class FolderLayout {
 public:
  // `classes` in the order of their labels; empty: every folder under train/ is one, sorted.
  explicit FolderLayout(std::vector<std::string> classes) : classes_(std::move(classes)) {}

  // Error(kData) that begins with `place`.
  FolderName check(const std::string& place, std::string_view name);

 private:
  std::vector<std::string> classes_;
  std::optional<std::string> root_, test_folder_;
};

// The images of one part by class, each with its place in the order in which they came.
struct FiledImage {
  std::string file;
  size_t position = 0;
};
using FiledImages = std::map<std::string, std::vector<FiledImage>, std::less<>>;

// `classes`, or the sorted folders of the training part where that is empty. Error(kData) that
// begins with `path` when a part has no images or a class has test images and no training images.
std::vector<std::string> class_names(const FiledImages& train, const FiledImages& test,
                                     std::vector<std::string> classes, const std::string& path);

// Ordered by place within the class (sorted by name), then by class, so that any first part is
// balanced whatever order an archive has.
struct OrderedImage {
  size_t position = 0;
  int64_t label = 0;
};
std::vector<OrderedImage> in_class_order(FiledImages images,
                                         const std::vector<std::string>& classes);

}  // namespace approx
