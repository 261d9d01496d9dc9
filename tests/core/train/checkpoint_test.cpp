#include "core/train/checkpoint.h"

#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/digest.h"
#include "core/config/run_config.h"
#include "tests/testing.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string path = (fs::temp_directory_path() / "checkpoint_XXXXXX").string();
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    path_ = path;
  }
  ~Folder() { fs::remove_all(path_); }
  const std::string& path() const { return path_; }
  std::string newest() const { return path_ + "/checkpoint"; }
  std::string previous() const { return path_ + "/checkpoint.previous"; }

 private:
  std::string path_;
};

Checkpoint example(int64_t step = 1) {
  Checkpoint checkpoint;
  checkpoint.state = {{"step", step}, {"text", "a b"}, {"list", {1, 2.5, nullptr}}};
  checkpoint.add("floats", at::randn({3, 4, 5}));
  checkpoint.add("turned", at::randn({4, 3}).t());
  checkpoint.add("number", at::full({}, -0.0));
  checkpoint.add("whole", at::arange(7, at::kLong));
  checkpoint.add("bytes", at::arange(9, at::kByte));
  checkpoint.add("none", at::empty({0, 3}));
  checkpoint.add("half", at::randn({5}).to(at::kBFloat16));
  checkpoint.add("special", at::full({2}, std::numeric_limits<float>::quiet_NaN()));
  return checkpoint;
}

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Loads without expecting a complaint.
std::optional<Checkpoint> load(const std::string& folder) {
  return load_checkpoint(folder, [](const std::string& message) { ADD_FAILURE() << message; });
}

TEST(Checkpoint, ReadsBackWhatWasWritten) {
  const Folder folder;
  const auto written = example();
  EXPECT_FALSE(load(folder.path()));
  save_checkpoint(folder.path() + "/made/on/the/way", written);
  const auto back = load(folder.path() + "/made/on/the/way");
  ASSERT_TRUE(back);
  EXPECT_EQ(back->state, written.state);
  ASSERT_EQ(back->tensors.size(), written.tensors.size());
  for (size_t i = 0; i < written.tensors.size(); ++i) {
    const auto& [name, a] = written.tensors[i];
    const auto& [name_back, b] = back->tensors[i];
    EXPECT_EQ(name, name_back);
    EXPECT_EQ(a.sizes(), b.sizes());
    ASSERT_EQ(a.scalar_type(), b.scalar_type());
    const auto values = a.contiguous();
    EXPECT_EQ(a.numel() == 0 ? 0 : std::memcmp(values.data_ptr(), b.data_ptr(), b.nbytes()), 0);
  }
  auto target = at::zeros({3, 4});
  EXPECT_NO_THROW(back->restore("turned", at::zeros({3, 4})));
  EXPECT_THROW(back->restore("turned", at::zeros({4, 3})), Error) << "another shape";
  EXPECT_THROW(back->restore("turned", at::zeros({3, 4}, at::kDouble)), Error) << "another type";
  EXPECT_THROW(back->restore("missing", target), Error);
}

TEST(Checkpoint, TheOneBeforeIsKept) {
  const Folder folder;
  for (int64_t step = 1; step <= 3; ++step) save_checkpoint(folder.path(), example(step));
  EXPECT_EQ(load(folder.path())->state["step"], 3);
  EXPECT_EQ(decode(read(folder.previous())).state["step"], 2);
  fs::remove(folder.newest());
  EXPECT_EQ(load(folder.path())->state["step"], 2) << "a writer died between its two renames";
}

TEST(Checkpoint, ADamagedOneFallsBackToTheOneBeforeAndNeverReplacesIt) {
  const Folder folder;
  save_checkpoint(folder.path(), example(1));
  save_checkpoint(folder.path(), example(2));
  auto bytes = read(folder.newest());
  bytes[bytes.size() - 10] ^= 4;
  write(folder.newest(), bytes);
  std::string told;
  const auto back = load_checkpoint(folder.path(), [&](const std::string& text) { told += text; });
  ASSERT_TRUE(back);
  EXPECT_EQ(back->state["step"], 1);
  EXPECT_NE(told.find(folder.newest()), std::string::npos) << told;
  EXPECT_NE(told.find("checksum"), std::string::npos) << told;
  EXPECT_EQ(load(folder.path())->state["step"], 1);
  save_checkpoint(folder.path(), example(3));
  EXPECT_EQ(decode(read(folder.previous())).state["step"], 1);
}

// Every byte flipped and every length cut: an error, never a crash and never another content.
TEST(Checkpoint, AnyDamageIsNoticed) {
  Checkpoint small;
  small.state = {{"step", 1}};
  small.add("floats", at::randn({2, 3}));
  const std::string whole = encode(small);
  EXPECT_NO_THROW(decode(whole));
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string bytes = whole;
    bytes[i] = static_cast<char>(bytes[i] ^ (1 << i % 8));
    EXPECT_THROW(decode(bytes), Error) << "byte " << i;
    EXPECT_THROW(decode(whole.substr(0, i)), Error) << "cut at " << i;
  }
  EXPECT_THROW(decode(whole + "x"), Error);
}

// A header that lies, under a checksum that is right.
std::string forged(const Json& tensor, const std::string& payload) {
  Checkpoint empty;
  std::string bytes = encode(empty).substr(0, 12);
  const std::string header =
      Json{{"state", Json::object()}, {"tensors", Json::array({tensor})}}.dump();
  std::string body;
  for (int i = 0; i < 8; ++i) body.push_back(static_cast<char>(header.size() >> (8 * i) & 0xff));
  body += header + payload;
  const std::string hex = sha256_hex(body);
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes + body;
}

TEST(Checkpoint, HeadersThatLieAreRefused) {
  const Json good = {{"name", "x"}, {"type", "f32"}, {"shape", {2}}, {"bytes", 8}};
  EXPECT_NO_THROW(decode(forged(good, std::string(8, '\0'))));
  const auto refuse = [&](const char* key, const Json& value, size_t payload = 8) {
    Json tensor = good;
    tensor[key] = value;
    EXPECT_THROW(decode(forged(tensor, std::string(payload, '\0'))), Error) << tensor.dump();
  };
  refuse("type", "f33");
  refuse("type", 3);
  refuse("shape", Json::array({-2}));
  refuse("shape", Json::array({3}));
  refuse("shape", Json::array({int64_t{1} << 62, 4, 2}));  // a product that wraps around to 0
  refuse("shape", "2");
  refuse("bytes", 4);
  refuse("bytes", uint64_t{1} << 63);
  refuse("shape", Json::array({2}), 7);
  refuse("shape", Json::array({2}), 9);
}

// No room: each limit on the size of files stops the writer somewhere else.
TEST(Checkpoint, AFullDiskLeavesTheOldOnes) {
  const Folder folder;
  save_checkpoint(folder.path(), example(1));
  save_checkpoint(folder.path(), example(2));
  const auto size = fs::file_size(folder.newest());
  for (const size_t limit : {size_t{0}, size_t{1}, size / 2, size - 1}) {
    const pid_t child = fork();
    if (child == 0) {
      signal(SIGXFSZ, SIG_IGN);
      const rlimit room{limit, limit};
      setrlimit(RLIMIT_FSIZE, &room);
      try {
        save_checkpoint(folder.path(), example(3));
      } catch (const Error& error) {
        const std::string what = error.what();
        const bool named = what.find(folder.newest()) != std::string::npos &&
                           what.find("bytes") != std::string::npos;
        _exit(named ? 7 : 8);
      }
      _exit(9);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 7) << limit;
    EXPECT_EQ(load(folder.path())->state["step"], 2);
    EXPECT_FALSE(fs::exists(folder.path() + "/checkpoint.new"));
  }
}

// Kills a process that saves before its k-th system call, for every k, and loads what it left.
TEST(Checkpoint, AWriterThatIsKilledAnywhereLeavesAWholeOne) {
  const auto third = example(3);
  int64_t old_ones = 0, new_ones = 0;
  bool ended = false;
  for (int64_t k = 1; !ended; ++k) {
    const Folder folder;
    save_checkpoint(folder.path(), example(1));
    save_checkpoint(folder.path(), example(2));
    const pid_t child = fork();
    if (child == 0) {
      if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(7);
      raise(SIGSTOP);
      save_checkpoint(folder.path(), third);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) GTEST_SKIP() << "this process may not be traced";
    // A system call stops its process twice: before it and after it.
    for (int64_t stops = 0; stops < 2 * k - 1 && !ended; ++stops) {
      ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
      ASSERT_EQ(waitpid(child, &status, 0), child);
      ended = WIFEXITED(status);
    }
    if (!ended) {
      kill(child, SIGKILL);
      ASSERT_EQ(waitpid(child, &status, 0), child);
    }
    const auto left = load(folder.path());
    ASSERT_TRUE(left) << "system call " << k;
    const int64_t step = left->state["step"];
    EXPECT_TRUE(step == 2 || step == 3) << "system call " << k << ": step " << step;
    ++(step == 3 ? new_ones : old_ones);
    ASSERT_LT(k, 10'000);
  }
  EXPECT_GT(old_ones, 5);
  EXPECT_GT(new_ones, 1);
}

TEST(Checkpoint, AFolderThatCannotBeMadeIsNamed) {
  const Folder folder;
  write(folder.path() + "/file", "");
  EXPECT_THROW(save_checkpoint(folder.path() + "/file/below", example()), Error);
}

}  // namespace
}  // namespace approx
