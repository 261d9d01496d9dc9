// The packed file of a data set, <data_dir>/<name>.packed, which training maps into memory.
// docs/data.md describes its layout.
#pragma once

#include <string>

#include "core/data/dataset.h"

namespace approx {

// The identity of a data set's content: the sha256 of the payload of a packed file with these two
// parts. The payload is pixels, labels and the zero bytes between them.
std::string payload_sha256(const ImageSet& train, const ImageSet& test);

// Writes the file whole or not at all: a temporary file in the same folder, fsync, rename, fsync of
// the folder. Throws Error(kData) with the path and the bytes needed if that fails.
void write_packed(const LoadedDataset& dataset, const std::string& path);

// Maps the file. Always checks the header against its own checksum and the file's size, and the
// range of the labels. With `verify` it also checks the payload against the checksum in the header.
// Throws Error(kData) that gives file, offset, and the expected and the found value.
LoadedDataset open_packed(const std::string& path, bool verify);

// The checksum of the payload as the header states it. Reads only the header.
std::string packed_checksum(const std::string& path);

}  // namespace approx
