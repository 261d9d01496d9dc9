// Targets for fuzzing: tests/fuzz/<name>_fuzz.cpp each, a program fuzz_<name> each. What is read
// from outside must come to a value or to one Error, whatever its bytes. The preset `fuzz` links
// targets with libFuzzer; every other build with a driver that runs them over their corpus and over
// a fixed number of mutations of it (tests/fuzz/driver.cpp). How to add one is in
// docs/internals/development.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/files.h"

// What libFuzzer calls (frame.cpp). NOLINTBEGIN(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
// With APPROXTRAIN_FUZZ_SEEDS=FOLDER the program writes its seeds there and does nothing else.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
// NOLINTEND(readability-identifier-naming)

namespace approx::fuzz {

using Buffer = std::vector<uint8_t>;

// --- What a target defines ---------------------------------------------------------------------

// Does everything with one input that the program would, and calls fail() where something does not
// hold that should. Throws nothing.
void run(Bytes input);

// Valid inputs, made by the project itself: what the corpus begins with.
std::vector<Buffer> seeds();

// --- What targets use --------------------------------------------------------------------------

// Whether an allocation was made to fail. What is expected of an input need not hold then.
inline std::atomic<bool> memory_is_short{false};

// Ends the program: `what` should hold and does not. Throws std::bad_alloc where memory is short.
[[noreturn]] inline void fail(std::string_view what) {
  if (memory_is_short) throw std::bad_alloc();
  std::fprintf(stderr, "fuzz: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

inline void expect(bool holds, std::string_view what) {
  if (!holds) fail(what);
}

// Whether `work` came to its end. It may throw an Error of the kind with a message of a length that
// somebody reads, of one line where it is of a file; anything else that it throws is a finding.
// Libraries call a lack of memory by other names, so any kind is right where memory is short.
bool accepted(ErrorKind kind, const std::function<void()>& work);

inline std::string_view text_of(Bytes input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}

inline Buffer buffer_of(std::string_view text) { return {text.begin(), text.end()}; }

// What is left of an input whose first bytes say how the others are used.
class Input {
 public:
  explicit Input(Bytes bytes) : bytes_(bytes) {}

  // 0 at the end.
  uint8_t byte() {
    if (bytes_.empty()) return 0;
    const uint8_t first = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return first;
  }
  Bytes rest() const { return bytes_; }

 private:
  Bytes bytes_;
};

// A folder for what a target has to write, in memory where the system has such a place; gone with
// the process.
const std::string& scratch_folder();

// Writes a file there and returns its path: the same for every input.
std::string scratch_file(const std::string& name, Bytes content);

}  // namespace approx::fuzz
