// What the tests of data sets share: folders that vanish, files, and the two questions every
// reader is asked: is a damaged file an error, and does the error say enough?
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "core/data/bytes.h"
#include "core/data/image_buffer.h"

namespace approx::testing {

namespace fs = std::filesystem;

using Buffer = std::vector<uint8_t>;

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = ::testing::TempDir() + "approxtrain-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }
  // Files in it, at any depth.
  int64_t files() const {
    int64_t n = 0;
    for (const auto& entry : fs::recursive_directory_iterator(path_)) n += !entry.is_directory();
    return n;
  }

 private:
  fs::path path_;
};

inline void write_bytes(const std::string& path, Bytes bytes) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

inline Buffer bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

// Whether a process that has this one's memory and `bytes` more gets through `work`, which is asked
// in a process of its own. (Under a sanitizer memory says nothing.)
inline bool fits_in(int64_t bytes, const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const auto most = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + bytes);
    const rlimit limit{most, most};
    ::setrlimit(RLIMIT_AS, &limit);
    try {
      work();
    } catch (const std::bad_alloc&) {
      ::_exit(1);
    } catch (const Error&) {
      ::_exit(2);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2) << "status " << status;
  return status == 0;
}

#ifdef __SANITIZE_ADDRESS__
constexpr bool kMemoryIsCounted = false;
#else
constexpr bool kMemoryIsCounted = true;
#endif

inline Buffer gzip(Bytes content) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  Buffer out(deflateBound(&stream, content.size()) + 32);
  stream.next_in = const_cast<uint8_t*>(content.data());
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// The message of the Error(kData) that `function` throws; fails without one.
template <typename Function>
std::string data_error_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "expected an error";
  return "";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
#define EXPECT_CONTAINS(text, part) EXPECT_PRED2(contains, text, part)

// Every way to cut `bytes` short (at most `n` of them) and, with `flips`, every altered bit (at
// most `n`) must make `read` throw an Error(kData) that contains `name`.
template <typename Read>
void expect_damage_is_found(const Buffer& bytes, const std::string& name, Read read, size_t n = 200,
                            bool flips = true) {
  ASSERT_NO_THROW(read(bytes));
  const size_t step = bytes.size() / n + 1;
  for (size_t size = 0; size < bytes.size(); size += step) {
    const auto message = data_error_of([&] { read(Buffer(bytes.begin(), bytes.begin() + size)); });
    EXPECT_CONTAINS(message, name) << " cut to " << size;
  }
  for (size_t bit = 0; flips && bit < bytes.size() * 8; bit += bytes.size() * 8 / n + 1) {
    auto altered = bytes;
    altered[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
    const auto message = data_error_of([&] { read(altered); });
    EXPECT_CONTAINS(message, name) << " bit " << bit;
  }
}

// Images with content that depends on every index, labels 0, 1, ... in turn.
inline ImageBuffer some_images(int64_t count, int64_t height, int64_t width, int64_t channels,
                               int64_t classes, uint8_t salt = 0) {
  ImageBuffer buffer{.height = height, .width = width, .channels = channels};
  for (int64_t i = 0; i < count * buffer.image_bytes(); ++i) {
    buffer.pixels.push_back(static_cast<uint8_t>(i * 37 + i / 256 * 11 + salt));
  }
  for (int64_t i = 0; i < count; ++i) buffer.labels.push_back(i % classes);
  return buffer;
}

// The folder with real data, "" without one.
inline std::string real_data() {
  const char* path = std::getenv("APPROXTRAIN_TEST_DATA");
  return path ? path : "";
}

}  // namespace approx::testing
