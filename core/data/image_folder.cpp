#include "core/data/image_folder.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "core/data/archive.h"

namespace approx {
namespace {

struct FileName {
  std::string_view root;  // what stands before "train/", "" or "images/"
  bool is_test = false;
  std::string_view class_name, file;
};

// The parts of `.../train/<class>/<file>`; nothing for a file outside such folders.
std::optional<FileName> parse_name(std::string_view name) {
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
  return FileName{name.substr(0, starts[part]), is_test, parts[part + 1], parts[part + 2]};
}

// The decoded images of one part as they come, put in order at the end.
struct Part {
  struct Image {
    std::string file;
    size_t position;  // in `pixels`, in images
  };
  std::map<std::string, std::vector<Image>, std::less<>> by_class;
  std::vector<uint8_t> pixels;
  size_t count = 0;
};

ImageBuffer in_order(Part part, const ImageSize& size, const std::vector<std::string>& classes) {
  struct Place {
    size_t rank;
    int64_t label;
    size_t position;
  };
  std::vector<Place> places;
  for (size_t label = 0; label < classes.size(); ++label) {
    auto& images = part.by_class[classes[label]];
    std::sort(images.begin(), images.end(),
              [](const auto& a, const auto& b) { return a.file < b.file; });
    for (size_t rank = 0; rank < images.size(); ++rank) {
      places.push_back({rank, static_cast<int64_t>(label), images[rank].position});
    }
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::tie(a.rank, a.label) < std::tie(b.rank, b.label);
  });
  ImageBuffer buffer{.height = size.height, .width = size.width, .channels = size.channels};
  const auto bytes = static_cast<size_t>(buffer.image_bytes());
  buffer.pixels.reserve(part.pixels.size());
  for (const auto& place : places) {
    const auto begin = part.pixels.begin() + static_cast<ptrdiff_t>(place.position * bytes);
    buffer.pixels.insert(buffer.pixels.end(), begin, begin + static_cast<ptrdiff_t>(bytes));
    buffer.labels.push_back(place.label);
  }
  return buffer;
}

}  // namespace

LoadedDataset read_image_folder(const std::string& path, const ImageFolder& folder,
                                DatasetFacts facts) {
  const auto image_bytes =
      static_cast<size_t>(folder.size.height * folder.size.width * folder.size.channels);
  ImageDecoder decoder(folder.size);
  Part train, test;
  std::optional<std::string> root, test_folder;
  visit_files(
      path, {}, [](std::string_view name) { return parse_name(name).has_value(); },
      [&](const std::string& place, std::string_view name, Bytes content) {
        const auto parsed = *parse_name(name);
        if (!root) root = parsed.root;
        if (*root != parsed.root) {
          throw data_error("{}: expected all images under \"{}\", found another root", place,
                           *root);
        }
        if (!is_image_name(parsed.file)) {
          throw data_error("{}: expected only .jpg, .jpeg and .png files in a class folder", place);
        }
        if (parsed.is_test) {
          const auto which = std::string(name.substr(0, name.find('/', parsed.root.size())));
          if (!test_folder) test_folder = which;
          if (*test_folder != which) {
            throw data_error("{}: expected either test/ or val/, found both", place);
          }
        }
        if (!folder.classes.empty() && std::find(folder.classes.begin(), folder.classes.end(),
                                                 parsed.class_name) == folder.classes.end()) {
          throw data_error("{}: unknown class folder \"{}\"{}; known: {}", place, parsed.class_name,
                           did_you_mean(parsed.class_name, folder.classes),
                           fmt::join(folder.classes, ", "));
        }
        if (!is_png_name(parsed.file)) facts.lossy = true;
        auto& part = parsed.is_test ? test : train;
        part.pixels.resize(part.pixels.size() + image_bytes);
        decoder.decode(content, place, part.pixels.data() + part.count * image_bytes);
        part.by_class[std::string(parsed.class_name)].push_back(
            {std::string(parsed.file), part.count});
        ++part.count;
        return true;
      });
  if (train.count == 0 || test.count == 0) {
    throw data_error(
        "{}: expected images in train/<class>/ and in test/<class>/ or val/<class>/, found {} and "
        "{}",
        path, train.count, test.count);
  }
  auto classes = folder.classes;
  if (classes.empty()) {
    for (const auto& [name, images] : train.by_class) classes.push_back(name);
    for (const auto& [name, images] : test.by_class) {
      if (!train.by_class.contains(name)) {
        throw data_error("{}: class \"{}\" has test images and no training images", path, name);
      }
    }
  }
  facts.classes = static_cast<int64_t>(classes.size());
  facts.variant = facts.lossy ? "jpeg" : "png";
  return make_dataset(std::move(facts), in_order(std::move(train), folder.size, classes),
                      in_order(std::move(test), folder.size, classes));
}

}  // namespace approx
