// Packed files of images and of photographs, with the checksums that they have or with right ones,
// or nothing behind a changed header is ever reached.
#include <filesystem>

#include "base/digest.h"
#include "core/data/image_buffer.h"
#include "core/data/packed.h"
#include "core/data/packed_file.h"
#include "core/data/photo_loader.h"
#include "tests/core/data/photo_testing.h"
#include "tests/fuzz/fuzz.h"

namespace approx::fuzz {
namespace {

constexpr size_t kPreamble = 64, kLengthAt = 12, kDigestAt = 16;

// The checksum of the header over whatever it became.
void sign_header(Buffer& file) {
  if (file.size() < kPreamble) return;
  size_t length = 0;
  for (size_t i = 4; i-- > 0;) length = length << 8 | file[kLengthAt + i];
  if (length > file.size() - kPreamble) return;
  const auto sum = sha256(Bytes(file).subspan(kPreamble, length));
  std::copy(sum.begin(), sum.end(), file.begin() + kDigestAt);
}

// Every byte of a part, as training would read it.
void use_images(const ImageSet& part, int64_t classes) {
  expect(part.pixels.size() ==
             static_cast<size_t>(part.count * part.height * part.width * part.channels),
         "the images fill their part");
  unsigned sum = 0;
  for (const uint8_t pixel : part.pixels) sum += pixel;
  for (const int64_t label : part.labels) expect(label >= 0 && label < classes, "labels are known");
  static_cast<void>(sum);
}

void use_photos(const ImageSet& part) {
  const auto plan = [&](int64_t step) {
    PhotoBatchPlan batch;
    for (int64_t i = 0; i < 2; ++i) batch.images.push_back((2 * step + i) % part.count);
    batch.view = {.size = 8, .random = true, .rng = {.seed = 1}};
    return batch;
  };
  PhotoLoader loader(part, plan, /*workers=*/1, /*ahead=*/1);
  for (int64_t step = 0; step < 2; ++step) loader.at(step);
}

void open(const std::string& path, bool verify) {
  accepted(ErrorKind::kData, [&] {
    const auto dataset = open_packed(path, verify);
    if (dataset.has_photos()) return use_photos(dataset.train);
    use_images(dataset.train, dataset.classes);
    use_images(dataset.test, dataset.classes);
  });
}

}  // namespace

void run(Bytes bytes) {
  Input input(bytes);
  const bool sign = input.byte() % 2 == 1;
  Buffer file(input.rest().begin(), input.rest().end());
  if (sign) sign_header(file);
  const auto path = scratch_file("packed", file);
  open(path, /*verify=*/true);
  open(path, /*verify=*/false);
  accepted(ErrorKind::kData, [&] { packed_checksum(path); });
}

std::vector<Buffer> seeds() {
  const testing::TemporaryFolder folder;
  const auto images = folder / "images.packed";
  write_packed(
      make_dataset({.name = "x", .variant = "official", .source = "y", .classes = 3},
                   testing::some_images(3, 2, 2, 3, 3), testing::some_images(2, 2, 2, 3, 3)),
      images);
  testing::Files files;
  for (const char* name : {"train/a/1.jpg", "train/b/1.jpg", "val/a/2.jpg", "val/b/2.jpg"}) {
    files.emplace_back(name, testing::jpeg_of(testing::waves(8, 8)));
  }
  testing::import_files(files, folder.path(), /*side=*/8);
  std::vector<Buffer> all;
  for (const auto& path : {images, folder / "photos.packed"}) {
    Buffer bytes = {1};
    testing::append(bytes, read_file(path, 1 << 20));
    all.push_back(bytes);
  }
  return all;
}

}  // namespace approx::fuzz
