// The packed file of photographs: JPEG files of different sizes with an index, mapped into memory.
// docs/data.md describes its layout.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/data/dataset.h"
#include "core/data/packed_file.h"

namespace approx {

// A photograph that is to go into a packed file: its label, and its bytes in a spool.
struct SpooledPhoto {
  int64_t label = 0, offset = 0, bytes = 0;
};

// Writes the file from the facts in `dataset` and the photographs of both parts, in their order.
// The parts of `dataset` give height, width, channels and the number of skipped images. Their
// images are not used.
void write_packed_photos(const LoadedDataset& dataset, std::span<const SpooledPhoto> train,
                         std::span<const SpooledPhoto> test, Bytes spool, const std::string& path);

// As open_packed(), for a file whose header has been read. The index is always checked. The JPEG
// files are checked against the checksum with `verify`, and for being valid when they are decoded.
LoadedDataset open_packed_photos(std::shared_ptr<const Mapping> mapping, const PackedHeader& packed,
                                 const std::string& path, bool verify);

std::string packed_photos_checksum(Bytes file, const PackedHeader& packed, const std::string& path);

}  // namespace approx
