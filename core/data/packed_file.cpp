#include "core/data/packed_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/digest.h"
#include "base/output_target.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "packed files are little-endian");

constexpr std::array<uint8_t, 8> kMagic = {'A', 'P', 'X', 'D', 'A', 'T', 'A', '\n'};
constexpr int64_t kMaxHeader = 1 << 20;

// The first 64 bytes of the file.
struct Preamble {
  std::array<uint8_t, 8> magic = kMagic;
  uint32_t version = 0;
  uint32_t header_bytes = 0;
  std::array<uint8_t, 32> header_sha256{};
  std::array<uint8_t, 16> zero{};
};
static_assert(sizeof(Preamble) == 64);

}  // namespace

int64_t packed_aligned(int64_t offset, std::string_view place) {
  return checked_add(offset, kPackedAlignment - 1, place) / kPackedAlignment * kPackedAlignment;
}

Mapping::Mapping(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw data_error("{}: cannot be opened: {}", path, std::strerror(errno));
  map(file.get(), path);
}

Mapping::Mapping(int descriptor, const std::string& path) { map(descriptor, path); }

void Mapping::map(int descriptor, const std::string& path) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    throw data_error("{}: expected a regular file, found something else", path);
  }
  size_ = static_cast<size_t>(status.st_size);
  void* address = nullptr;
  if (size_ > 0) address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED) {
    throw data_error("{}: cannot be mapped: {}", path, std::strerror(errno));
  }
  address_ = static_cast<const uint8_t*>(address);
}

Mapping::~Mapping() {
  if (size_ > 0) ::munmap(const_cast<uint8_t*>(address_), size_);
}

PackedHeader read_packed_header(Bytes file, const std::string& path) {
  const auto size = static_cast<int64_t>(file.size());
  Preamble preamble;
  if (size < static_cast<int64_t>(sizeof(preamble))) {
    throw data_error("{}: at byte {}: expected {} bytes of preamble, found the end of the file; {}",
                     path, size, sizeof(preamble), kImportAgain);
  }
  std::memcpy(&preamble, file.data(), sizeof(preamble));
  if (preamble.magic != kMagic) {
    throw data_error("{}: at byte 0: expected the magic of a packed data set, found other bytes",
                     path);
  }
  if (preamble.version != kPixelsVersion && preamble.version != kPhotosVersion) {
    throw data_error("{}: at byte 8: expected version {} or {}, found {}; {}", path, kPixelsVersion,
                     kPhotosVersion, preamble.version, kImportAgain);
  }
  const int64_t header_bytes = preamble.header_bytes;
  const int64_t header_end = static_cast<int64_t>(sizeof(preamble)) + header_bytes;
  if (header_bytes > kMaxHeader || header_end > size || header_end % kPackedAlignment != 0) {
    throw data_error("{}: at byte 12: expected a header within {} bytes, found the length {}; {}",
                     path, std::min(size, kMaxHeader), header_bytes, kImportAgain);
  }
  if (preamble.zero != decltype(preamble.zero){}) {
    throw data_error("{}: at byte 48: expected zero bytes, found others; {}", path, kImportAgain);
  }
  const auto text = file.subspan(sizeof(preamble), static_cast<size_t>(header_bytes));
  if (sha256(text) != preamble.header_sha256) {
    throw data_error(
        "{}: at byte 64: expected a header with the checksum at byte 16, found sha256 "
        "{}; {}",
        path, digest_hex("sha256", text), kImportAgain);
  }
  PackedHeader header{.version = preamble.version, .payload_at = header_end};
  try {
    header.json = Json::parse(text.begin(), text.end());
  } catch (const Json::exception& error) {
    throw data_error("{}: at byte 64: expected a JSON header, found: {}; {}", path, error.what(),
                     kImportAgain);
  }
  return header;
}

void check_file_size(Bytes file, int64_t payload_at, int64_t payload_bytes,
                     const std::string& path) {
  const auto expected = checked_add(payload_at, payload_bytes, path);
  const auto size = static_cast<int64_t>(file.size());
  if (size != expected) {
    throw data_error("{}: at byte {}: expected {} bytes, found {}; {}", path,
                     std::min(size, expected), expected, size, kImportAgain);
  }
}

void verify_payload(Bytes payload, const std::string& sha256, int64_t payload_at,
                    const std::string& path) {
  const auto found = digest_hex("sha256", payload);
  if (found != sha256) {
    throw data_error("{}: from byte {}: expected sha256 {}, found {}; {}", path, payload_at, sha256,
                     found, kImportAgain);
  }
}

PackedWriter::PackedWriter(std::string path, uint32_t version, Json header, int64_t payload_bytes)
    : path_(fs::is_symlink(path) ? output_target(path).path : std::move(path)),
      unfinished_(unfinished_name(path_)),
      version_(version),
      header_(std::move(header)),
      payload_bytes_(payload_bytes),
      file_(unfinished_.path(), O_WRONLY | O_CREAT | O_EXCL) {
  // A header as long as the one to come, whose checksum is not known yet.
  const auto placeholder = header_with(std::string(64, '0'));
  file_.write(placeholder, static_cast<int64_t>(placeholder.size()) + payload_bytes_);
}

Bytes PackedWriter::header_with(const std::string& sha256) {
  header_["sha256"] = sha256;
  header_["payload_bytes"] = payload_bytes_;
  // A source may have any bytes in its name; the header is JSON and has not.
  const auto json = header_.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  const auto padded = packed_aligned(static_cast<int64_t>(json.size()), path_);
  if (padded > kMaxHeader) {
    throw data_error("{}: expected a header of at most {} bytes, found {}", path_, kMaxHeader,
                     padded);
  }
  text_.assign(sizeof(Preamble), '\0');
  text_ += json;
  text_.resize(sizeof(Preamble) + static_cast<size_t>(padded), ' ');
  const Bytes all = to_bytes(text_);
  Preamble preamble;
  preamble.version = version_;
  preamble.header_bytes = static_cast<uint32_t>(padded);
  preamble.header_sha256 = approx::sha256(all.subspan(sizeof(Preamble)));
  std::memcpy(text_.data(), &preamble, sizeof(preamble));
  return all;
}

void PackedWriter::write(Bytes bytes) {
  file_.write(bytes, static_cast<int64_t>(text_.size()) + payload_bytes_);
}

void PackedWriter::finish(const std::string& sha256) {
  file_.overwrite(0, header_with(sha256));
  file_.sync_and_close();
  if (const auto error = rename_durably(unfinished_.path(), path_)) {
    throw data_error("{}: {}", path_, error.message());
  }
  unfinished_.keep();
}

}  // namespace approx
