// The packed file of photographs: JPEG files of different sizes with an index, mapped into memory.
// Layout in docs/data.md.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/data/dataset.h"
#include "core/data/packed_file.h"

namespace approx {

// A file on its way into a packed file: its label, and where it lies in a spool.
struct SpooledPhoto {
  int64_t label = 0, offset = 0, bytes = 0;
};

// Writes the file from the facts in `dataset` (its parts give height, width, channels and the
// number of skipped images; their images do not count) and the photographs of both parts in their
// order.
void write_packed_photos(const LoadedDataset& dataset, std::span<const SpooledPhoto> train,
                         std::span<const SpooledPhoto> test, Bytes spool, const std::string& path);

// As open_packed(), of a file whose header has been read. The index is always checked; the files
// themselves are held to the checksum with `verify`, and to the rules of a JPEG when they are
// decoded.
LoadedDataset open_packed_photos(std::shared_ptr<const Mapping> mapping, const PackedHeader& packed,
                                 const std::string& path, bool verify);

std::string packed_photos_checksum(Bytes file, const PackedHeader& packed, const std::string& path);

}  // namespace approx
