// Loaded before a program (LD_PRELOAD), makes what it asks of the file system fail.
//
// APPROXTRAIN_FAULT=KIND:FIRST:ERRNO[:COUNT]: calls FIRST, FIRST + 1, ... (from 1, COUNT of them,
// or all that follow) of that kind fail with that number; with the number 0 the process is killed
// before the call. Kinds: write (write, pwrite and ftruncate of regular files), sync (fsync,
// fdatasync), rename, open (of files that it may create, and mkdir), and remove (unlink, rmdir).
// APPROXTRAIN_FAULT_COUNTS is a file to which a process that ends in order adds a line of how often
// it asked for each. Workers are let alone; APPROXTRAIN_FAULT_WORKERS=TEXT: instead all are but
// workers that have TEXT in their command line, such as the folder of a run.
// APPROXTRAIN_FAULT_FREE=BYTES: so many are free on every disk.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace {

enum Kind { kWrite, kSync, kRename, kOpen, kRemove, kKinds };
constexpr std::array<const char*, kKinds> kNames = {"write", "sync", "rename", "open", "remove"};

std::array<std::atomic<long>, kKinds> calls;

template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

struct Fault {
  int kind = kKinds;
  long first = 0, count = 0;
  int number = 0;

  Fault() {
    const char* text = std::getenv("APPROXTRAIN_FAULT");
    char name[16] = {};
    if (text == nullptr || !is_meant()) return;
    const int fields = std::sscanf(text, "%15[a-z]:%ld:%d:%ld", name, &first, &number, &count);
    if (fields < 3) std::abort();
    if (fields == 3) count = 1L << 40;
    for (int i = 0; i < kKinds; ++i) {
      if (std::strcmp(name, kNames[static_cast<size_t>(i)]) == 0) kind = i;
    }
  }

  ~Fault() { add_counts(); }

  void add_counts() {
    const char* path = std::getenv("APPROXTRAIN_FAULT_COUNTS");
    if (path == nullptr || !is_meant()) return;
    std::string line;
    for (const auto& one : calls) line += std::to_string(one.load()) + " ";
    line.back() = '\n';
    kind = kKinds;
    if (FILE* file = std::fopen(path, "a"); file != nullptr) {
      std::fputs(line.c_str(), file);
      std::fclose(file);
    }
  }

  static bool is_meant() {
    static const bool meant = [] {
      std::ifstream file("/proc/self/cmdline");
      const std::string line{std::istreambuf_iterator<char>(file), {}};
      const bool is_worker = line.find("--worker") != std::string::npos;
      const char* text = std::getenv("APPROXTRAIN_FAULT_WORKERS");
      if (text == nullptr) return !is_worker;
      return is_worker && line.find(text) != std::string::npos;
    }();
    return meant;
  }
};

Fault& fault() {
  static Fault fault;
  return fault;
}

// Whether this call of that kind fails; errno says why.
bool fails(Kind kind) {
  const Fault& asked = fault();
  const long call = ++calls[kind];
  if (kind != asked.kind || call < asked.first || call >= asked.first + asked.count) return false;
  if (asked.number == 0) raise(SIGKILL);
  errno = asked.number;
  return true;
}

bool is_regular(int file) {
  struct stat status {};
  return fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

extern "C" {

ssize_t write(int file, const void* data, size_t size) {
  static auto* const next = real<decltype(write)>("write");
  return is_regular(file) && fails(kWrite) ? -1 : next(file, data, size);
}

ssize_t pwrite64(int file, const void* data, size_t size, off64_t at) {
  static auto* const next = real<decltype(pwrite64)>("pwrite64");
  return is_regular(file) && fails(kWrite) ? -1 : next(file, data, size, at);
}

ssize_t pwrite(int file, const void* data, size_t size, off_t at) {
  static auto* const next = real<decltype(pwrite)>("pwrite");
  return is_regular(file) && fails(kWrite) ? -1 : next(file, data, size, at);
}

int ftruncate64(int file, off64_t size) noexcept {
  static auto* const next = real<int(int, off64_t)>("ftruncate64");
  return fails(kWrite) ? -1 : next(file, size);
}

int ftruncate(int file, off_t size) noexcept {
  static auto* const next = real<int(int, off_t)>("ftruncate");
  return fails(kWrite) ? -1 : next(file, size);
}

int fsync(int file) {
  static auto* const next = real<int(int)>("fsync");
  return fails(kSync) ? -1 : next(file);
}

int fdatasync(int file) {
  static auto* const next = real<int(int)>("fdatasync");
  return fails(kSync) ? -1 : next(file);
}

int rename(const char* from, const char* to) noexcept {
  static auto* const next = real<int(const char*, const char*)>("rename");
  return fails(kRename) ? -1 : next(from, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  static auto* const next = real<int(int, const char*, int, const char*, unsigned)>("renameat2");
  return fails(kRename) ? -1 : next(from_folder, from, to_folder, to, flags);
}

int unlink(const char* path) noexcept {
  static auto* const next = real<decltype(unlink)>("unlink");
  return fails(kRemove) ? -1 : next(path);
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  static auto* const next = real<decltype(unlinkat)>("unlinkat");
  return fails(kRemove) ? -1 : next(folder, path, flags);
}

int rmdir(const char* path) noexcept {
  static auto* const next = real<decltype(rmdir)>("rmdir");
  return fails(kRemove) ? -1 : next(path);
}

int remove(const char* path) noexcept {
  static auto* const next = real<int(const char*)>("remove");
  return fails(kRemove) ? -1 : next(path);
}

int statvfs(const char* path, struct statvfs* found) noexcept {
  static auto* const next = real<int(const char*, struct statvfs*)>("statvfs");
  const int result = next(path, found);
  const char* left = std::getenv("APPROXTRAIN_FAULT_FREE");
  if (result == 0 && left != nullptr) {
    found->f_bavail = std::strtoul(left, nullptr, 10) / found->f_frsize;
  }
  return result;
}

int mkdir(const char* path, mode_t mode) noexcept {
  static auto* const next = real<int(const char*, mode_t)>("mkdir");
  return fails(kOpen) ? -1 : next(path, mode);
}

int open64(const char* path, int flags, ...) {
  static auto* const next = real<int(const char*, int, mode_t)>("open64");
  va_list rest;
  va_start(rest, flags);
  const auto mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return (flags & O_CREAT) != 0 && fails(kOpen) ? -1 : next(path, flags, mode);
}

int open(const char* path, int flags, ...) {
  static auto* const next = real<int(const char*, int, mode_t)>("open");
  va_list rest;
  va_start(rest, flags);
  const auto mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return (flags & O_CREAT) != 0 && fails(kOpen) ? -1 : next(path, flags, mode);
}

// How a worker ends: no destructor of ours is called.
void _exit(int code) {
  static auto* const next = real<void(int)>("_exit");
  fault().add_counts();
  next(code);
  std::abort();  // not reached: said to the compiler
}

}  // extern "C"
