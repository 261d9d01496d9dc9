#include "core/data/folder_layout.h"

#include <algorithm>
#include <tuple>

#include "base/known_names.h"

namespace approx {

std::optional<FolderName> parse_folder_name(std::string_view name) {
  std::vector<std::string_view> parts;
  std::vector<size_t> starts;
  for (size_t at = 0; at <= name.size();) {
    const auto end = std::min(name.find('/', at), name.size());
    parts.push_back(name.substr(at, end - at));
    starts.push_back(at);
    at = end + 1;
  }
  if (parts.size() < 3) return std::nullopt;
  const size_t part = parts.size() - 3;
  const bool is_test = parts[part] == "test" || parts[part] == "val";
  if (!is_test && parts[part] != "train") return std::nullopt;
  return FolderName{name.substr(0, starts[part]), is_test, parts[part + 1], parts[part + 2]};
}

FolderName FolderLayout::check(const std::string& place, std::string_view name) {
  const auto parsed = *parse_folder_name(name);
  if (!root_) root_ = parsed.root;
  if (*root_ != parsed.root) {
    const auto text = [](std::string_view root) { return root.empty() ? "./" : root; };
    throw data_error(
        "{}: expected the folders of all images in one folder, found some in \"{}\" and this in "
        "\"{}\"",
        place, text(*root_), text(parsed.root));
  }
  if (parsed.is_test) {
    const auto which = std::string(name.substr(0, name.find('/', parsed.root.size())));
    if (!test_folder_) test_folder_ = which;
    if (*test_folder_ != which) {
      throw data_error("{}: expected either test/ or val/, found both", place);
    }
  }
  if (!classes_.empty() &&
      std::find(classes_.begin(), classes_.end(), parsed.class_name) == classes_.end()) {
    throw data_error("{}: unknown class folder \"{}\"{}", place, parsed.class_name,
                     known_names(parsed.class_name, classes_));
  }
  return parsed;
}

std::vector<std::string> class_names(const FiledImages& train, const FiledImages& test,
                                     std::vector<std::string> classes, const std::string& path) {
  const auto count = [](const FiledImages& part) {
    size_t n = 0;
    for (const auto& [name, images] : part) n += images.size();
    return n;
  };
  if (train.empty() || test.empty()) {
    throw data_error(
        "{}: expected images in train/<class>/ and in test/<class>/ or val/<class>/, found {} and "
        "{}",
        path, count(train), count(test));
  }
  if (!classes.empty()) return classes;
  for (const auto& [name, images] : train) classes.push_back(name);
  for (const auto& [name, images] : test) {
    if (!train.contains(name)) {
      throw data_error("{}: class \"{}\" has test images and no training images", path, name);
    }
  }
  return classes;
}

std::vector<OrderedImage> in_class_order(FiledImages images,
                                         const std::vector<std::string>& classes) {
  struct Place {
    size_t rank;
    int64_t label;
    size_t position;
  };
  std::vector<Place> places;
  for (size_t label = 0; label < classes.size(); ++label) {
    auto& of_class = images[classes[label]];
    std::sort(of_class.begin(), of_class.end(),
              [](const auto& a, const auto& b) { return a.file < b.file; });
    for (size_t rank = 0; rank < of_class.size(); ++rank) {
      places.push_back({rank, static_cast<int64_t>(label), of_class[rank].position});
    }
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::tie(a.rank, a.label) < std::tie(b.rank, b.label);
  });
  std::vector<OrderedImage> ordered;
  ordered.reserve(places.size());
  for (const auto& place : places) ordered.push_back({place.position, place.label});
  return ordered;
}

}  // namespace approx
