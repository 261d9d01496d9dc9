// Loaded before a program (LD_PRELOAD), lets it run short of memory.
//
// APPROXTRAIN_MEMORY=FIRST[:all]: from the beginning of main() on, allocation number FIRST (from 1)
// fails, with `all` every later one too. Workers are let alone.
// APPROXTRAIN_MEMORY_COUNT=FILE: writes to FILE how many allocations there were until the end of
// main().
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using Main = int(int, char**, char**);

Main* main_of_program = nullptr;
std::atomic<bool> counts{false};
std::atomic<long> calls{0};
long first = 0;
bool fails_on = false;

bool fails() {
  if (!counts) return false;
  const long call = ++calls;
  if (first == 0 || call < first || (call > first && !fails_on)) return false;
  errno = ENOMEM;
  return true;
}

bool is_worker(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--worker") == 0) return true;
  }
  return false;
}

int counted_main(int argc, char** argv, char** environment) {
  if (is_worker(argc, argv)) return main_of_program(argc, argv, environment);
  if (const char* text = std::getenv("APPROXTRAIN_MEMORY"); text != nullptr) {
    char* end = nullptr;
    first = std::strtol(text, &end, 10);
    fails_on = std::strcmp(end, ":all") == 0;
  }
  counts = true;
  const int code = main_of_program(argc, argv, environment);
  counts = false;
  if (const char* path = std::getenv("APPROXTRAIN_MEMORY_COUNT"); path != nullptr) {
    if (FILE* file = std::fopen(path, "w"); file != nullptr) {
      std::fprintf(file, "%ld\n", calls.load());
      std::fclose(file);
    }
  }
  return code;
}

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);

void* malloc(size_t size) noexcept { return fails() ? nullptr : __libc_malloc(size); }

void* calloc(size_t count, size_t size) noexcept {
  return fails() ? nullptr : __libc_calloc(count, size);
}

void* realloc(void* block, size_t size) noexcept {
  return fails() ? nullptr : __libc_realloc(block, size);
}

int __libc_start_main(Main* entry, int argc, char** argv, void (*begin)(), void (*end)(),
                      void (*end_of_loader)(), void* stack) {
  using Start = int(Main*, int, char**, void (*)(), void (*)(), void (*)(), void*);
  auto* const next = reinterpret_cast<Start*>(dlsym(RTLD_NEXT, "__libc_start_main"));
  main_of_program = entry;
  return next(counted_main, argc, argv, begin, end, end_of_loader, stack);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
