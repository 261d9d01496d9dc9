// The main of a fuzz target without libFuzzer: `fuzz_NAME MUTATIONS CORPUS...` runs the seeds, each
// file of the corpus and so many mutations of both. Mutations are drawn by their number, so that
// what fails comes again. What was at work when the program ended before its time is left as
// fuzz_NAME.failed in the working directory.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "base/numbers.h"
#include "kernels/rng.h"
#include "tests/fuzz/fuzz.h"

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

int run_all(int argc, char** argv) {
  const auto mutations = argc < 2 ? std::nullopt : parse_integer(argv[1], 0);
  if (!mutations) {
    std::fprintf(stderr, "usage: %s MUTATIONS CORPUS...\n", argv[0]);
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
