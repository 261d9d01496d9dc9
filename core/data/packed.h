// The packed file of a data set, <data_dir>/<name>.packed: what training maps into memory. Layout
// in docs/data.md.
#pragma once

#include <string>

#include "core/data/dataset.h"

namespace approx {

// sha256 over the payload (pixels, labels and the zero bytes between them) of a packed file with
// these two parts: the identity of a data set's content.
std::string payload_sha256(const ImageSet& train, const ImageSet& test);

// Writes the file whole or not at all: a temporary file in the same folder, fsync, rename, fsync of
// the folder. Error(kData) with the path and the bytes needed when that fails.
void write_packed(const LoadedDataset& dataset, const std::string& path);

// Maps the file. Its header is always held to its own checksum and to the size of the file, labels
// to their range; with `verify`, the payload to the checksum in the header. Error(kData) names
// file, offset, expected and found.
LoadedDataset open_packed(const std::string& path, bool verify);

// The checksum of the payload as the header states it; reads no more than the header.
std::string packed_checksum(const std::string& path);

}  // namespace approx
