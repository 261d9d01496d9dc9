// The main of a fuzz target without libFuzzer: `fuzz_NAME MUTATIONS CORPUS...` runs the seeds, each
// file of the corpus and so many mutations of both. Mutations are drawn by their number, so that
// what fails comes again. What was at work when the program ended before its time is left as
// fuzz_NAME.failed in the working directory.
//
// `fuzz_NAME --short-of-memory MOST INPUTS` takes so many of the seeds, and runs each with one of
// its allocations failing, by turns up to MOST of them, alone and with all that follow. It may end
// in an exception. Then the same input without a failure is sound, and no file stays open. A
// library may end the process: some allocate in destructors, one calls exit().
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <filesystem>
#include <iterator>
#include <new>
#include <string_view>

#include "base/numbers.h"
#include "kernels/rng.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/short_memory.h"

// Of the sanitizers, where there are any.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace approx::fuzz {
namespace {

namespace fs = std::filesystem;

// What a reader may take at most, and much less than what a machine has. Sanitizers reserve more
// addresses than that.
constexpr rlim_t kMostMemory = rlim_t{2} << 30;

Bytes at_work;  // for the handlers, which can be given nothing
std::string failed_path;

void keep_failed() {
  const int file = open(failed_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (file < 0) return;
  const auto ignored = write(file, at_work.data(), at_work.size());
  static_cast<void>(ignored);
  close(file);
}

void on_signal(int signal) {
  keep_failed();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// In memory of exactly that size, so that a sanitizer sees what is read behind it.
void run_one(const Buffer& input) {
  const Buffer exact(input.begin(), input.end());
  at_work = exact;
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

// One to a few changes of a file: bits, bytes that decoders find interesting, cuts, repeats, and
// pieces of another file.
Buffer mutated(const Buffer& file, const Buffer& other, uint64_t number) {
  uint32_t next = 0;
  const auto draw = [&](size_t n) {
    const Rng rng{.seed = 11, .step = number, .stream = kAugmentStream};
    const auto word = rng.block(next / 4)[next % 4];
    ++next;
    return static_cast<size_t>(Rng::below(static_cast<uint32_t>(std::max<size_t>(1, n)), word));
  };
  auto bytes = file;
  const size_t changes = 1 + draw(4);
  for (size_t change = 0; change < changes && !bytes.empty(); ++change) {
    const size_t at = draw(2) == 0 ? draw(std::min<size_t>(bytes.size(), 700)) : draw(bytes.size());
    const auto here = bytes.begin() + static_cast<ptrdiff_t>(at);
    const size_t length = std::min(bytes.size() - at, 1 + draw(40));
    const uint8_t interesting[] = {0,    1,    0x7f, 0x80, 0xff, 0xd8,
                                   0xd9, 0xda, 0xc0, 0xc2, 0xc4, 0xdd};
    switch (draw(7)) {
      case 0:
        *here ^= static_cast<uint8_t>(1u << draw(8));
        break;
      case 1:
        *here = interesting[draw(std::size(interesting))];
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        bytes.erase(here, here + static_cast<ptrdiff_t>(length));
        break;
      case 4: {
        const Buffer again(here, here + static_cast<ptrdiff_t>(length));
        bytes.insert(here, again.begin(), again.end());
        break;
      }
      case 5:
        std::fill(here, here + static_cast<ptrdiff_t>(length), interesting[draw(5)]);
        break;
      default: {
        const size_t from = draw(other.size());
        const size_t n = std::min(length, other.size() - from);
        std::copy_n(other.begin() + static_cast<ptrdiff_t>(from), n, here);
      }
    }
  }
  return bytes;
}

std::vector<Buffer> read_corpus(int argc, char** argv) {
  std::vector<Buffer> corpus = seeds();
  for (int i = 2; i < argc; ++i) {
    std::vector<fs::path> files;
    if (fs::is_directory(argv[i])) {
      for (const auto& entry : fs::directory_iterator(argv[i])) files.push_back(entry.path());
    } else if (fs::exists(argv[i])) {
      files.emplace_back(argv[i]);
    }
    std::sort(files.begin(), files.end());
    for (const auto& file : files) corpus.push_back(read_file(file.string(), 1 << 24));
  }
  return corpus;
}

ptrdiff_t open_files() {
  return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
}

// Returns how many allocations an input makes.
int64_t allocations_of(const Buffer& input) {
  begin_short_memory(0, false);
  LLVMFuzzerTestOneInput(input.data(), input.size());
  return end_short_memory();
}

// How a process ended in which an allocation failed. kLibrary: libarchive calls exit() by itself,
// and others allocate in destructors.
enum class ShortEnd { kDone, kOutOfMemory, kLibrary, kFault };

constexpr int kOutOfMemoryCode = 70, kLibraryCode = 71;

bool fails_for_good = false;

// A library allocates in a destructor, which ends the process. At one failure the first frame of
// this program says which; without any memory it may be every destructor.
[[noreturn]] void on_terminate() {
  end_short_memory();
  if (fails_for_good) _exit(kLibraryCode);
  void* frames[64];
  Dl_info own{}, found{};
  dladdr(reinterpret_cast<void*>(&allocations_of), &own);
  const int depth = backtrace(frames, 64);
  for (int i = 1; i < depth; ++i) {
    if (dladdr(frames[i], &found) == 0 || std::string_view(found.dli_fname) != own.dli_fname)
      continue;
    const std::string_view name = found.dli_sname == nullptr ? "" : found.dli_sname;
    if (name.find("on_terminate") != name.npos) continue;
    // toml++ makes its errors in a function that may not throw. That and the destructor of JSON are
    // inlined in functions of ours.
    for (const char* library : {"_ZN8nlohmann", "_ZN6SQLite", "_ZN4toml", "_ZN6approx10TomlSource",
                                "_ZN6approx7summary", "_ZN6approx7Outcome3add"}) {
      if (name.starts_with(library)) _exit(kLibraryCode);
    }
    std::fprintf(stderr, "fuzz: terminated below %.*s\n", static_cast<int>(name.size()),
                 name.data());
    break;
  }
  std::abort();
}

// Says where it happened, unless in libarchive, which reads what it could not allocate.
void on_fault(int signal) {
  constexpr int kHandler = 2;  // this function and the one that calls it
  void* frames[32];
  const int depth = backtrace(frames, 32);
  Dl_info found{};
  const bool is_known = depth > kHandler && dladdr(frames[kHandler], &found) != 0;
  if (is_known && std::string_view(found.dli_fname).find("libarchive") != std::string_view::npos) {
    _exit(kLibraryCode);
  }
  backtrace_symbols_fd(frames, depth, STDERR_FILENO);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// What becomes of the input in a process of its own whose allocation fails.
ShortEnd end_short_of(const Buffer& input, int64_t allocation, bool all_after) {
  const pid_t child = fork();
  if (child == 0) {
    std::set_terminate(on_terminate);
    for (const int signal : {SIGSEGV, SIGBUS}) std::signal(signal, on_fault);
    std::atexit([] { _exit(kLibraryCode); });  // before the scratch folder goes
    const auto files = open_files();
    int code = 0;
    memory_is_short = true;
    fails_for_good = all_after;
    begin_short_memory(allocation, all_after);
    try {
      LLVMFuzzerTestOneInput(input.data(), input.size());
    } catch (const std::exception&) {
      code = kOutOfMemoryCode;
    }
    end_short_memory();
    memory_is_short = fails_for_good = false;
    LLVMFuzzerTestOneInput(input.data(), input.size());
    expect(open_files() == files, "no file stays open");
    _exit(code);
  }
  int status = 0;
  expect(child > 0 && waitpid(child, &status, 0) == child, "a process is begun");
  if (!WIFEXITED(status)) return ShortEnd::kFault;
  if (WEXITSTATUS(status) == kOutOfMemoryCode) return ShortEnd::kOutOfMemory;
  if (WEXITSTATUS(status) == kLibraryCode) return ShortEnd::kLibrary;
  return WEXITSTATUS(status) == 0 ? ShortEnd::kDone : ShortEnd::kFault;
}

// See the top.
int run_short_of_memory(int64_t most, int64_t inputs) {
  if (!kMemoryCanFail) {
    std::puts("no allocation can be made to fail in this build");
    return 77;
  }
  const auto all = seeds();
  const size_t stride = 1 + (all.size() - 1) / static_cast<size_t>(inputs);
  int64_t taken = 0, allocations = 0, tried = 0;
  std::array<int64_t, 4> ends{};
  for (size_t i = 0; i < all.size(); i += stride, ++taken) {
    const Buffer& input = all[i];
    allocations_of(input);  // constants of functions are made once
    const int64_t n = allocations_of(input);
    allocations += n;
    for (int64_t k = 1; k <= n; k += 1 + (n - 1) / most) {
      for (const bool all_after : {false, true}) {
        const auto end = end_short_of(input, k, all_after);
        ++tried;
        ++ends[static_cast<size_t>(end)];
        if (end != ShortEnd::kFault) continue;
        std::fprintf(stderr, "seed %zu, allocation %lld of %lld, all after it: %d\n", i,
                     static_cast<long long>(k), static_cast<long long>(n),
                     static_cast<int>(all_after));
      }
    }
  }
  const auto count = [&](ShortEnd end) {
    return static_cast<long long>(ends[static_cast<size_t>(end)]);
  };
  std::printf(
      "%lld inputs, %lld allocations, %lld failed: %lld faults, %lld out of memory, %lld "
      "ended by a library\n",
      static_cast<long long>(taken), static_cast<long long>(allocations),
      static_cast<long long>(tried), count(ShortEnd::kFault), count(ShortEnd::kOutOfMemory),
      count(ShortEnd::kLibrary));
  return count(ShortEnd::kFault) == 0 ? 0 : 1;
}

int run_all(int argc, char** argv) {
  const bool is_short = argc == 4 && std::string_view(argv[1]) == "--short-of-memory";
  const auto most = is_short ? parse_integer(argv[2], 1) : std::nullopt;
  const auto inputs = is_short ? parse_integer(argv[3], 1) : std::nullopt;
  const auto mutations = argc < 2 ? std::nullopt : parse_integer(argv[1], 0);
  if (!mutations && !(most && inputs)) {
    std::fprintf(stderr, "usage: %s MUTATIONS CORPUS... | --short-of-memory MOST INPUTS\n",
                 argv[0]);
    return 2;
  }
  failed_path = fs::path(argv[0]).filename().string() + ".failed";
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGALRM, SIGTERM}) {
    std::signal(signal, on_signal);
  }
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(keep_failed);
  } else {
    const rlimit limit{kMostMemory, kMostMemory};
    setrlimit(RLIMIT_AS, &limit);
  }
  if (is_short) return run_short_of_memory(*most, *inputs);
  const auto corpus = read_corpus(argc, argv);
  for (const auto& input : corpus) run_one(input);
  for (int64_t i = 0; i < *mutations && !corpus.empty(); ++i) {
    const auto number = static_cast<size_t>(i);
    const auto& other = corpus[number / corpus.size() % corpus.size()];
    run_one(mutated(corpus[number % corpus.size()], other, number));
  }
  std::printf("%zu inputs and %lld mutations of them\n", corpus.size(),
              static_cast<long long>(*mutations));
  return 0;
}

}  // namespace
}  // namespace approx::fuzz

int main(int argc, char** argv) {
  LLVMFuzzerInitialize(&argc, &argv);
  return approx::fuzz::run_all(argc, argv);
}
