// The common part of packed files of images and of photographs: preamble, header, mapping.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/files.h"
#include "base/params.h"
#include "base/unfinished.h"
#include "core/data/bytes.h"

namespace approx {

constexpr uint32_t kPixelsVersion = 1;  // images of one size (core/data/packed.h)
constexpr uint32_t kPhotosVersion = 2;  // photographs (core/data/packed_photos.h)

// The end of messages about files that a new import would repair.
constexpr const char* kImportAgain = "import the data set again";

// Every piece of a packed file starts at a multiple of this.
constexpr int64_t kPackedAlignment = 64;

int64_t packed_aligned(int64_t offset, std::string_view place);

// A whole file, read-only. It is unmapped with the last data set that uses it. A new import
// replaces the file by rename, so that existing mappings stay valid.
class Mapping {
 public:
  explicit Mapping(const std::string& path);
  // Maps an open file, which may be closed afterwards; `path` is for messages.
  Mapping(int descriptor, const std::string& path);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  Bytes bytes() const { return {address_, size_}; }

 private:
  void map(int descriptor, const std::string& path);

  const uint8_t* address_ = nullptr;
  size_t size_ = 0;
};

struct PackedHeader {
  uint32_t version = 0;
  Json json;
  int64_t payload_at = 0;  // offset in the file
};

// Reads and checks the bytes before the payload: magic, version, and the header against its
// checksum.
PackedHeader read_packed_header(Bytes file, const std::string& path);

// Checks the size of the file against that of the payload.
void check_file_size(Bytes file, int64_t payload_at, int64_t payload_bytes,
                     const std::string& path);

// Checks the payload against the checksum in the header.
void verify_payload(Bytes payload, const std::string& sha256, int64_t payload_at,
                    const std::string& path);

// Writes a packed file whole or not at all: a temporary file in the same folder, fsync, rename,
// fsync of the folder. Follows a link. Throws Error(kData) with the path and the bytes needed if
// that fails.
class PackedWriter {
 public:
  // `header` is complete except for "sha256" and "payload_bytes".
  PackedWriter(std::string path, uint32_t version, Json header, int64_t payload_bytes);
  PackedWriter(const PackedWriter&) = delete;
  PackedWriter& operator=(const PackedWriter&) = delete;

  // Appends to the payload.
  void write(Bytes bytes);
  // Ends the file after the whole payload: writes the header with its checksum, and renames the
  // file.
  void finish(const std::string& sha256);

 private:
  Bytes header_with(const std::string& sha256);

  std::string path_, text_;
  Unfinished unfinished_;
  uint32_t version_;
  Json header_;
  int64_t payload_bytes_;
  OutputFile file_;
};

}  // namespace approx
