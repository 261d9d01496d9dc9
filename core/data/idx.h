// The IDX format of MNIST. A header has two zero bytes, the type 0x08 (uint8), the number of
// dimensions, and each dimension as a big-endian 32-bit number. The values follow in row-major
// order.
#pragma once

#include <string>
#include <vector>

#include "core/data/bytes.h"
#include "core/data/image_buffer.h"

namespace approx {

struct IdxArray {
  std::vector<int64_t> dims;
  Bytes values;  // a part of the bytes that were parsed
};

// Parses one uncompressed IDX file of uint8. The content must end exactly where the dimensions say.
// Throws Error(kData) that gives `name`, the offset, and the expected and the found value.
IdxArray parse_idx(Bytes bytes, const std::string& name);

// Reads an image file [N,H,W] and its label file [N], both plain or gzip, as grey images.
ImageBuffer read_idx_pair(Bytes images, const std::string& images_name, Bytes labels,
                          const std::string& labels_name);

}  // namespace approx
