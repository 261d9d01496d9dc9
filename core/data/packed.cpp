#include "core/data/packed.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "core/data/bytes.h"
#include "core/data/file_sync.h"
#include "core/data/image_buffer.h"

namespace approx {
namespace {

static_assert(std::endian::native == std::endian::little, "packed files are little-endian");

constexpr std::array<uint8_t, 8> kMagic = {'A', 'P', 'X', 'D', 'A', 'T', 'A', '\n'};
constexpr uint32_t kVersion = 1;
constexpr int64_t kAlignment = 64;
constexpr int64_t kMaxHeader = 1 << 20;

// The first 64 bytes of the file.
struct Preamble {
  std::array<uint8_t, 8> magic = kMagic;
  uint32_t version = kVersion;
  uint32_t header_bytes = 0;
  std::array<uint8_t, 32> header_sha256{};
  std::array<uint8_t, 16> zero{};
};
static_assert(sizeof(Preamble) == 64);

// Where the four pieces are, in bytes from the start of the payload. There is one valid layout for
// given shapes: pieces in this order, each on the next multiple of 64.
struct Layout {
  int64_t train_pixels = 0, train_labels = 0, test_pixels = 0, test_labels = 0, bytes = 0;

  bool operator==(const Layout&) const = default;
};

int64_t aligned(int64_t offset, std::string_view place) {
  return checked_add(offset, kAlignment - 1, place) / kAlignment * kAlignment;
}

Layout layout_of(int64_t image_bytes, int64_t n_train, int64_t n_test, std::string_view place) {
  const auto label_bytes = [&](int64_t n) {
    return checked_mul(n, static_cast<int64_t>(sizeof(int64_t)), place);
  };
  Layout layout;
  layout.train_labels = aligned(checked_mul(image_bytes, n_train, place), place);
  layout.test_pixels =
      aligned(checked_add(layout.train_labels, label_bytes(n_train), place), place);
  layout.test_labels = aligned(
      checked_add(layout.test_pixels, checked_mul(image_bytes, n_test, place), place), place);
  layout.bytes = checked_add(layout.test_labels, label_bytes(n_test), place);
  return layout;
}

Bytes bytes_of(std::span<const int64_t> labels) {
  return {reinterpret_cast<const uint8_t*>(labels.data()), labels.size_bytes()};
}

// Hands out the payload piece by piece, zero bytes in between included.
template <typename Sink>
void for_each_piece(const ImageSet& train, const ImageSet& test, Sink sink) {
  const auto layout = layout_of(train.height * train.width * train.channels, train.count,
                                test.count, "data set in memory");
  constexpr std::array<uint8_t, kAlignment> kZeros{};
  int64_t at = 0;
  const auto put = [&](int64_t offset, Bytes piece) {
    sink(Bytes(kZeros).first(static_cast<size_t>(offset - at)));
    sink(piece);
    at = offset + static_cast<int64_t>(piece.size());
  };
  put(layout.train_pixels, train.pixels);
  put(layout.train_labels, bytes_of(train.labels));
  put(layout.test_pixels, test.pixels);
  put(layout.test_labels, bytes_of(test.labels));
}

std::array<uint8_t, 32> raw_sha256(Bytes bytes) {
  const auto hex = digest_hex("sha256", bytes);
  std::array<uint8_t, 32> raw{};
  for (size_t i = 0; i < raw.size(); ++i) {
    raw[i] = static_cast<uint8_t>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  }
  return raw;
}

// The whole file, read-only, unmapped with the last data set that uses it. A file that is imported
// anew is replaced by rename, so what is mapped stays.
class Mapping {
 public:
  explicit Mapping(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) throw data_error("{}: cannot be opened: {}", path, std::strerror(errno));
    struct stat status {};
    if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
      ::close(descriptor);
      throw data_error("{}: expected a regular file, found something else", path);
    }
    size_ = static_cast<size_t>(status.st_size);
    void* address = nullptr;
    if (size_ > 0) address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    const int error = errno;
    ::close(descriptor);
    if (address == MAP_FAILED) {
      throw data_error("{}: cannot be mapped: {}", path, std::strerror(error));
    }
    address_ = static_cast<const uint8_t*>(address);
  }
  ~Mapping() {
    if (size_ > 0) ::munmap(const_cast<uint8_t*>(address_), size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  Bytes bytes() const { return {address_, size_}; }

 private:
  const uint8_t* address_ = nullptr;
  size_t size_ = 0;
};

struct Header {
  LoadedDataset dataset;  // without pixels and labels
  Layout layout;
  int64_t payload_at = 0;  // offset in the file
};

constexpr const char* kAgain = "import the data set again";

// Reads and checks everything before the payload, and the size of the file.
Header parse_header(Bytes file, const std::string& path) {
  const auto size = static_cast<int64_t>(file.size());
  Preamble preamble;
  if (size < static_cast<int64_t>(sizeof(preamble))) {
    throw data_error("{}: at byte {}: expected {} bytes of preamble, found the end of the file; {}",
                     path, size, sizeof(preamble), kAgain);
  }
  std::memcpy(&preamble, file.data(), sizeof(preamble));
  if (preamble.magic != kMagic) {
    throw data_error("{}: at byte 0: expected the magic of a packed data set, found other bytes",
                     path);
  }
  if (preamble.version != kVersion) {
    throw data_error("{}: at byte 8: expected version {}, found {}; {}", path, kVersion,
                     preamble.version, kAgain);
  }
  const int64_t header_bytes = preamble.header_bytes;
  const int64_t header_end = static_cast<int64_t>(sizeof(preamble)) + header_bytes;
  if (header_bytes > kMaxHeader || header_end > size || header_end % kAlignment != 0) {
    throw data_error("{}: at byte 12: expected a header within {} bytes, found the length {}; {}",
                     path, std::min(size, kMaxHeader), header_bytes, kAgain);
  }
  if (preamble.zero != decltype(preamble.zero){}) {
    throw data_error("{}: at byte 48: expected zero bytes, found others; {}", path, kAgain);
  }
  const auto text = file.subspan(sizeof(preamble), static_cast<size_t>(header_bytes));
  if (raw_sha256(text) != preamble.header_sha256) {
    throw data_error(
        "{}: at byte 64: expected a header with the checksum at byte 16, found sha256 "
        "{}; {}",
        path, digest_hex("sha256", text), kAgain);
  }

  Header header;
  header.payload_at = header_end;
  auto& dataset = header.dataset;
  Layout stated;
  int64_t payload_bytes = 0;
  try {
    const auto json = Json::parse(text.begin(), text.end());
    json.at("name").get_to(dataset.name);
    json.at("variant").get_to(dataset.variant);
    json.at("source").get_to(dataset.source);
    json.at("classes").get_to(dataset.classes);
    json.at("lossy").get_to(dataset.lossy);
    json.at("mean").get_to(dataset.mean);
    json.at("stddev").get_to(dataset.stddev);
    json.at("sha256").get_to(dataset.sha256);
    json.at("payload_bytes").get_to(payload_bytes);
    const auto read_part = [&](const char* key, ImageSet& part, int64_t& pixels, int64_t& labels) {
      const auto& object = json.at(key);
      object.at("count").get_to(part.count);
      object.at("pixels").get_to(pixels);
      object.at("labels").get_to(labels);
      json.at("height").get_to(part.height);
      json.at("width").get_to(part.width);
      json.at("channels").get_to(part.channels);
    };
    read_part("train", dataset.train, stated.train_pixels, stated.train_labels);
    read_part("test", dataset.test, stated.test_pixels, stated.test_labels);
  } catch (const Json::exception& error) {
    throw data_error("{}: at byte 64: expected a JSON header, found: {}; {}", path, error.what(),
                     kAgain);
  }
  const auto& train = dataset.train;
  const auto in_range = [](int64_t value) { return value >= 1 && value <= (1 << 24); };
  const auto finite = [&](const std::vector<double>& values) {
    return static_cast<int64_t>(values.size()) == train.channels &&
           std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
  };
  if (!in_range(dataset.classes) || !in_range(train.height) || !in_range(train.width) ||
      !in_range(train.channels) || train.count < 1 || dataset.test.count < 1 ||
      !finite(dataset.mean) || !finite(dataset.stddev) ||
      std::any_of(dataset.stddev.begin(), dataset.stddev.end(), [](double v) { return v <= 0; })) {
    throw data_error("{}: at byte 64: expected possible shapes and normalisation, found others; {}",
                     path, kAgain);
  }
  const auto image_bytes =
      checked_mul(checked_mul(train.height, train.width, path), train.channels, path);
  header.layout = layout_of(image_bytes, train.count, dataset.test.count, path);
  stated.bytes = payload_bytes;
  if (stated != header.layout) {
    throw data_error(
        "{}: at byte 64: expected offsets that follow from the shapes, found others; "
        "{}",
        path, kAgain);
  }
  const auto expected = checked_add(header.payload_at, header.layout.bytes, path);
  if (size != expected) {
    throw data_error("{}: at byte {}: expected {} bytes, found {}; {}", path,
                     std::min(size, expected), expected, size, kAgain);
  }
  return header;
}

}  // namespace

std::string payload_sha256(const ImageSet& train, const ImageSet& test) {
  Digest digest("sha256");
  for_each_piece(train, test, [&](Bytes piece) { digest.add(piece); });
  return digest.hex();
}

void write_packed(const LoadedDataset& dataset, const std::string& path) {
  const auto& train = dataset.train;
  const auto& test = dataset.test;
  const auto layout =
      layout_of(train.height * train.width * train.channels, train.count, test.count, path);
  const Json json = {
      {"name", dataset.name},
      {"variant", dataset.variant},
      {"source", dataset.source},
      {"classes", dataset.classes},
      {"lossy", dataset.lossy},
      {"height", train.height},
      {"width", train.width},
      {"channels", train.channels},
      {"mean", dataset.mean},
      {"stddev", dataset.stddev},
      {"sha256", dataset.sha256},
      {"payload_bytes", layout.bytes},
      {"train",
       {{"count", train.count}, {"pixels", layout.train_pixels}, {"labels", layout.train_labels}}},
      {"test",
       {{"count", test.count}, {"pixels", layout.test_pixels}, {"labels", layout.test_labels}}}};
  // A source may have any bytes in its name; the header is JSON and has not.
  auto text = json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  text.resize(static_cast<size_t>(aligned(static_cast<int64_t>(text.size()), path)), ' ');
  const Bytes header{reinterpret_cast<const uint8_t*>(text.data()), text.size()};
  Preamble preamble;
  preamble.header_bytes = static_cast<uint32_t>(header.size());
  preamble.header_sha256 = raw_sha256(header);

  const auto needed =
      static_cast<int64_t>(sizeof(preamble)) + static_cast<int64_t>(header.size()) + layout.bytes;
  const auto temporary = fmt::format("{}.tmp.{}", path, ::getpid());
  try {
    OutputFile file(temporary, O_WRONLY | O_CREAT | O_TRUNC);
    file.write({reinterpret_cast<const uint8_t*>(&preamble), sizeof(preamble)}, needed);
    file.write(header, needed);
    for_each_piece(train, test, [&](Bytes piece) { file.write(piece, needed); });
    file.sync_and_close();
    rename_durably(temporary, path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

LoadedDataset open_packed(const std::string& path, bool verify) {
  const auto mapping = std::make_shared<const Mapping>(path);
  auto header = parse_header(mapping->bytes(), path);
  auto& dataset = header.dataset;
  const auto payload = mapping->bytes().subspan(static_cast<size_t>(header.payload_at));
  if (verify) {
    const auto found = digest_hex("sha256", payload);
    if (found != dataset.sha256) {
      throw data_error("{}: from byte {}: expected sha256 {}, found {}; {}", path,
                       header.payload_at, dataset.sha256, found, kAgain);
    }
  }
  const auto attach = [&](ImageSet& part, int64_t pixels, int64_t labels) {
    const auto bytes = part.count * part.height * part.width * part.channels;
    part.pixels = payload.subspan(static_cast<size_t>(pixels), static_cast<size_t>(bytes));
    // Aligned: the payload and its pieces start at multiples of 64 of a mapping of whole pages.
    part.labels = {reinterpret_cast<const int64_t*>(payload.data() + labels),
                   static_cast<size_t>(part.count)};
    part.owner = mapping;
  };
  attach(dataset.train, header.layout.train_pixels, header.layout.train_labels);
  attach(dataset.test, header.layout.test_pixels, header.layout.test_labels);
  check_labels(dataset.train, dataset.classes, path + ": training part");
  check_labels(dataset.test, dataset.classes, path + ": test part");
  return std::move(dataset);
}

std::string packed_checksum(const std::string& path) {
  return parse_header(Mapping(path).bytes(), path).dataset.sha256;
}

}  // namespace approx
