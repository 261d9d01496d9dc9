#include "core/data/image_folder.h"

#include "core/data/archive.h"
#include "core/data/folder_layout.h"

namespace approx {
namespace {

// The decoded images of one part as they come, put in order at the end.
struct Part {
  FiledImages by_class;  // positions in `pixels`, in images
  std::vector<uint8_t> pixels;
  size_t count = 0;
};

ImageBuffer images_in_order(Part part, const ImageSize& size,
                            const std::vector<std::string>& classes) {
  ImageBuffer buffer{.height = size.height, .width = size.width, .channels = size.channels};
  const auto bytes = static_cast<size_t>(buffer.image_bytes());
  buffer.pixels.reserve(part.pixels.size());
  for (const auto& image : in_class_order(std::move(part.by_class), classes)) {
    const auto begin = part.pixels.begin() + static_cast<ptrdiff_t>(image.position * bytes);
    buffer.pixels.insert(buffer.pixels.end(), begin, begin + static_cast<ptrdiff_t>(bytes));
    buffer.labels.push_back(image.label);
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
  FolderLayout layout(folder.classes);
  const int64_t junk = visit_files(
      path, {}, [](std::string_view name) { return parse_folder_name(name).has_value(); },
      [&](const std::string& place, std::string_view name, Bytes content) {
        const auto parsed = layout.check(place, name);
        if (!is_image_name(parsed.file)) {
          throw data_error("{}: expected only .jpg, .jpeg and .png files in a class folder", place);
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
  const auto classes = class_names(train.by_class, test.by_class, folder.classes, path);
  facts.classes = static_cast<int64_t>(classes.size());
  facts.variant = facts.lossy ? "jpeg" : "png";
  auto dataset =
      make_dataset(std::move(facts), images_in_order(std::move(train), folder.size, classes),
                   images_in_order(std::move(test), folder.size, classes));
  dataset.junk = junk;
  return dataset;
}

}  // namespace approx
