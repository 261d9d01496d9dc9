#include "core/data/idx.h"

namespace approx {
namespace {

constexpr int64_t kMaxContent = int64_t{64} << 20;  // MNIST has 47 MB
constexpr int64_t kMaxSide = 4096;

std::vector<uint8_t> plain(Bytes bytes, const std::string& name) {
  if (is_gzip(bytes)) return gunzip(bytes, name, kMaxContent);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

IdxArray parse_idx(Bytes bytes, const std::string& name) {
  const auto size = static_cast<int64_t>(bytes.size());
  if (size < 4)
    throw data_error("{}: at byte 0: expected an IDX header, found {} bytes", name, size);
  if (bytes[0] != 0 || bytes[1] != 0 || bytes[2] != 0x08) {
    throw data_error("{}: at byte 0: expected the IDX magic 00 00 08, found {:02x} {:02x} {:02x}",
                     name, bytes[0], bytes[1], bytes[2]);
  }
  const int64_t n_dims = bytes[3];
  if (n_dims < 1 || n_dims > 4) {
    throw data_error("{}: at byte 3: expected 1 to 4 dimensions, found {}", name, n_dims);
  }
  const int64_t header = 4 + 4 * n_dims;
  if (size < header) {
    throw data_error("{}: at byte {}: expected {} bytes of header, found the end of the file", name,
                     size, header);
  }
  IdxArray array;
  int64_t content = 1;
  for (int64_t d = 0; d < n_dims; ++d) {
    const auto* at = bytes.data() + 4 + 4 * d;
    array.dims.push_back(int64_t{at[0]} << 24 | int64_t{at[1]} << 16 | int64_t{at[2]} << 8 | at[3]);
    content = checked_mul(content, array.dims.back(), name);
  }
  const int64_t expected = checked_add(header, content, name);
  if (size != expected) {
    throw data_error("{}: at byte {}: expected {} bytes for the dimensions {}, found {}", name,
                     std::min(size, expected), expected, fmt::join(array.dims, "x"), size);
  }
  array.values = bytes.subspan(static_cast<size_t>(header));
  return array;
}

ImageBuffer read_idx_pair(Bytes images, const std::string& images_name, Bytes labels,
                          const std::string& labels_name) {
  const auto image_bytes = plain(images, images_name);
  const auto label_bytes = plain(labels, labels_name);
  const auto image_array = parse_idx(image_bytes, images_name);
  const auto label_array = parse_idx(label_bytes, labels_name);
  if (image_array.dims.size() != 3) {
    throw data_error("{}: at byte 3: expected 3 dimensions (images, rows, columns), found {}",
                     images_name, image_array.dims.size());
  }
  if (label_array.dims.size() != 1) {
    throw data_error("{}: at byte 3: expected 1 dimension (labels), found {}", labels_name,
                     label_array.dims.size());
  }
  const int64_t count = image_array.dims[0], height = image_array.dims[1],
                width = image_array.dims[2];
  if (height < 1 || width < 1 || height > kMaxSide || width > kMaxSide) {
    throw data_error("{}: at byte 8: expected images of 1 to {} pixels a side, found {}x{}",
                     images_name, kMaxSide, height, width);
  }
  if (label_array.dims[0] != count) {
    throw data_error("{}: at byte 4: expected {} labels, one for each image of {}, found {}",
                     labels_name, count, images_name, label_array.dims[0]);
  }
  ImageBuffer buffer{.height = height, .width = width, .channels = 1};
  buffer.pixels.assign(image_array.values.begin(), image_array.values.end());
  buffer.labels.assign(label_array.values.begin(), label_array.values.end());
  return buffer;
}

}  // namespace approx
