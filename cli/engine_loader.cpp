#include "cli/engine_loader.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/error.h"
#include "base/outputs.h"
#include "generated/build_info.h"

namespace approx {
namespace {

constexpr const char* kLibrary = "libapproxtrain.so";

// Some virtual machines announce AMX tiles and then describe none of them (CPUID leaf 0x1D reads
// zero). oneDNN believes the announcement and its bf16 convolutions end in an illegal instruction,
// so it is told to stop short of AMX there. It reads the variable at its first call.
void guard_onednn() {
#if defined(__x86_64__)
  constexpr unsigned kAmxTile = 1u << 24;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kAmxTile) == 0) return;
  const bool described = __get_cpuid_count(0x1D, 0, &a, &b, &c, &d) != 0 && a != 0;
  if (!described) setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16", /*overwrite=*/0);
#endif
}

std::vector<std::string> candidates() {
  const char* chosen = std::getenv("APPROXTRAIN_ENGINE");
  if (chosen != nullptr && *chosen != '\0') return {std::filesystem::absolute(chosen).string()};
  std::error_code unreadable;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", unreadable);
  std::vector<std::string> paths;
  if (!unreadable) {
    const auto folder = program.parent_path();
    paths.push_back((folder / kLibrary).string());
    paths.push_back((folder.parent_path() / "lib" / kLibrary).string());
  }
  paths.emplace_back(kLibrary);
  return paths;
}

// A file that is being written, or was cut off, may end the process while it is opened.
void check_whole(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return;
  const auto size = static_cast<uint64_t>(in.tellg());
  ElfW(Ehdr) head{};
  in.seekg(0);
  uint64_t needed = sizeof head;
  if (in.read(reinterpret_cast<char*>(&head), sizeof head)) {
    if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return;  // the loader says what it is not
    needed = std::max<uint64_t>(needed, head.e_shoff + uint64_t{head.e_shnum} * head.e_shentsize);
    for (int i = 0; i < head.e_phnum && needed <= size; ++i) {
      ElfW(Phdr) segment{};
      in.seekg(static_cast<std::streamoff>(head.e_phoff + uint64_t{head.e_phentsize} * i));
      if (!in.read(reinterpret_cast<char*>(&segment), sizeof segment)) break;
      needed = std::max<uint64_t>(needed, segment.p_offset + segment.p_filesz);
    }
  }
  if (size >= needed) return;
  throw LibraryError(
      fmt::format("{} is not whole ({} of at least {} bytes): it is being written, or was cut off",
                  path, size, needed));
}

// The two share the engine's class, and the program's commit stands in the records of what the
// library computes.
void check_source(void* library, const std::string& path) {
  using Source = const char* (*)();
  const auto source = reinterpret_cast<Source>(dlsym(library, "approxtrain_source"));
  const std::string theirs = source == nullptr ? "an earlier version" : source();
  if (theirs == APPROX_SOURCE) return;
  throw LibraryError(
      fmt::format("{} is built from {} and this program from {}: build both, and install them "
                  "together",
                  path, theirs, APPROX_SOURCE));
}

Engine& open_engine() {
  guard_onednn();
  std::string tried;
  for (const auto& path : candidates()) {
    // What is there but does not load (a missing LibTorch) is the answer; what is not there is
    // looked for further on.
    if (path != kLibrary) check_whole(path);
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
      const char* reason = dlerror();
      tried += (tried.empty() ? "" : "; ") + std::string(reason != nullptr ? reason : path);
      std::error_code error;
      if (path != kLibrary && std::filesystem::exists(path, error)) break;
      continue;
    }
    check_source(library, path);
    if (path != kLibrary) note_input(path);
    using Door = Engine* (*)();
    const auto door = reinterpret_cast<Door>(dlsym(library, "approxtrain_engine"));
    Engine* engine = door == nullptr ? nullptr : door();
    if (engine == nullptr) {
      throw LibraryError(
          fmt::format("{}: not a library of this program (no approxtrain_engine)", path));
    }
    return *engine;
  }
  throw LibraryError(
      fmt::format("the computing library does not open ({}); install it beside the program or set "
                  "APPROXTRAIN_ENGINE to its path",
                  tried));
}

}  // namespace

std::string engine_file() {
  for (const auto& path : candidates()) {
    std::error_code error;
    if (path != kLibrary && std::filesystem::exists(path, error)) return path;
  }
  return "";
}

Engine& load_engine() {
  static Engine& engine = open_engine();
  return engine;
}

void use_in_engine(const PythonMethods& methods, const std::string& network) {
  load_engine();
  using Use = void (*)(const PythonMethods*, const char*);
  const auto use = reinterpret_cast<Use>(dlsym(RTLD_DEFAULT, "approxtrain_use_python"));
  if (use == nullptr) {
    throw LibraryError(
        "the computing library has no methods in Python (no approxtrain_use_python)");
  }
  use(&methods, network.c_str());
}

}  // namespace approx
