// Loaded before a program (LD_PRELOAD), makes what it asks of the file system fail, and writes down
// what it asks.
//
// APPROXTRAIN_FAULT=KIND:FIRST:ERRNO[:COUNT]: calls FIRST, FIRST + 1, ... (from 1, COUNT of them,
// or all that follow) of that kind fail with that number; with the number 0 the process is killed
// before the call. Kinds: write (write, pwrite and ftruncate of regular files), sync (fsync,
// fdatasync), rename, open (of files that it may create, and mkdir), and remove (unlink, rmdir).
// APPROXTRAIN_FAULT_COUNTS is a file to which a process that ends in order adds a line of how often
// it asked for each. Workers are let alone; APPROXTRAIN_FAULT_WORKERS=TEXT: instead all are but
// workers that have TEXT in their command line, such as the folder of a run.
// APPROXTRAIN_FAULT_FREE=BYTES: so many are free on every disk.
// APPROXTRAIN_FAULT_FILE_SYSTEM=MAGIC[:NAME]: every file whose path ends in NAME (without it every
// file) is on a file system with that hexadecimal number (statfs, f_type).
//
// APPROXTRAIN_TRACE=FILE: every process appends to FILE each change that it makes below
// APPROXTRAIN_TRACE_FOLDER, an absolute path without links, in the order in which the changes
// happened. A change is a line `KIND SAID INODE NUMBER LENGTH` and LENGTH bytes, by KIND:
//   create, mkdir  the new path
//   write          what was written at the offset NUMBER
//   size           the file has NUMBER bytes now
//   sync           the path of the file or folder
//   rename         the path before, a NUL and the path after
//   remove         the path of the file or folder
// SAID is the size of the file APPROXTRAIN_TRACE_SAID just before the change, such as of what the
// program prints.
//
// APPROXTRAIN_LOCK_WAITS=FILE: a process that ends in order adds a line for each exclusive lock of
// a database (docs of SQLite, "SHARED_FIRST") that it got: the microseconds that it waited.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

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

const char* trace_file() {
  static const char* const path = std::getenv("APPROXTRAIN_TRACE");
  return path;
}

// Whether changes of that file or folder are written down.
bool in_trace(const std::string& path) {
  static const char* const folder = std::getenv("APPROXTRAIN_TRACE_FOLDER");
  if (trace_file() == nullptr || folder == nullptr) return false;
  const size_t length = std::strlen(folder);
  return path.compare(0, length, folder) == 0 && (path.size() == length || path[length] == '/');
}

std::string path_of(int file) {
  std::array<char, PATH_MAX> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t length = readlink(link.c_str(), path.data(), path.size());
  return length > 0 ? std::string(path.data(), static_cast<size_t>(length)) : "";
}

// The path without links in its folders; "" where these do not exist, and where nothing is traced.
std::string full_path(int folder, const char* path) {
  if (trace_file() == nullptr) return "";
  std::string text = path;
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  if (text.empty()) return "";
  if (text.front() != '/') text = (folder == AT_FDCWD ? "." : path_of(folder)) + "/" + text;
  const size_t slash = text.rfind('/');
  std::array<char, PATH_MAX> real_folder{};
  const std::string above = slash == 0 ? "/" : text.substr(0, slash);
  if (realpath(above.c_str(), real_folder.data()) == nullptr) return "";
  return real_folder.data() + text.substr(slash);
}

bool open_file_in_trace(int file) { return trace_file() != nullptr && in_trace(path_of(file)); }

ino_t inode_of(int file) {
  struct stat status {};
  return fstat(file, &status) == 0 ? status.st_ino : 0;
}

ino_t inode_of(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

// While there is one, no other process and no other thread makes a change that is written down.
class Trace {
 public:
  Trace() {
    static auto* const open_it = real<int(const char*, int, mode_t)>("open64");
    file_ = open_it(trace_file(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file_ < 0 || flock(file_, LOCK_EX) != 0) std::abort();
  }
  // Unlocked, or a process that was forked meanwhile would hold the lock too.
  ~Trace() {
    flock(file_, LOCK_UN);
    close(file_);
  }
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  void add(const char* kind, ino_t inode, off_t number, std::string_view bytes) const {
    static auto* const write_it = real<ssize_t(int, const void*, size_t)>("write");
    std::string record = std::string(kind) + " " + std::to_string(said_) + " " +
                         std::to_string(inode) + " " + std::to_string(number) + " " +
                         std::to_string(bytes.size()) + "\n";
    record += bytes;
    if (write_it(file_, record.data(), record.size()) != static_cast<ssize_t>(record.size())) {
      std::abort();
    }
  }

 private:
  static off_t size_of_said() {
    struct stat status {};
    const char* path = std::getenv("APPROXTRAIN_TRACE_SAID");
    return path != nullptr && stat(path, &status) == 0 ? status.st_size : 0;
  }

  int file_;
  off_t said_ = size_of_said();
};

// Makes a change, and writes it down by `note` if it was made.
template <typename Call, typename Note>
auto traced(bool is_meant, const Call& call, const Note& note) {
  if (!is_meant) return call();
  const Trace trace;
  const auto result = call();
  const int kept = errno;
  if (result >= 0) note(trace, result);
  errno = kept;
  return result;
}

template <typename Call>
ssize_t traced_write(int file, const Call& call, std::string_view bytes, off_t at) {
  return traced(open_file_in_trace(file), call, [&](const Trace& trace, ssize_t done) {
    const off_t begin = at >= 0 ? at : lseek(file, 0, SEEK_CUR) - done;
    trace.add("write", inode_of(file), begin, bytes.substr(0, static_cast<size_t>(done)));
  });
}

template <typename Call>
int traced_size(int file, const Call& call, off_t size) {
  return traced(open_file_in_trace(file), call, [&](const Trace& trace, int /*done*/) {
    trace.add("size", inode_of(file), size, "");
  });
}

template <typename Call>
int traced_sync(int file, const Call& call) {
  return traced(open_file_in_trace(file), call, [&](const Trace& trace, int /*done*/) {
    trace.add("sync", inode_of(file), 0, path_of(file));
  });
}

template <typename Call>
int traced_rename(const std::string& from, const std::string& to, const Call& call) {
  return traced(in_trace(from) || in_trace(to), call, [&](const Trace& trace, int /*done*/) {
    trace.add("rename", inode_of(to), 0, from + '\0' + to);
  });
}

template <typename Call>
int traced_remove(const std::string& path, const Call& call) {
  return traced(in_trace(path), call,
                [&](const Trace& trace, int /*done*/) { trace.add("remove", 0, 0, path); });
}

// Opens a file by `call`, which may create it or cut it to nothing. Returns the result of `call`.
template <typename Call>
int traced_open(const char* name, bool cuts, const Call& call) {
  const std::string path = full_path(AT_FDCWD, name);
  if (!in_trace(path)) return call();
  const Trace trace;
  struct stat before {};
  const bool existed = stat(path.c_str(), &before) == 0;
  const int file = call();
  const int kept = errno;
  if (file >= 0 && !existed) trace.add("create", inode_of(file), 0, path);
  if (file >= 0 && existed && cuts && before.st_size > 0) {
    trace.add("size", inode_of(file), 0, "");
  }
  errno = kept;
  return file;
}

// Waits for locks of databases. SQLite asks again and again.
class LockWaits {
 public:
  ~LockWaits() { add_to_file(); }

  // Takes in one try for a lock.
  void note(const struct flock& lock, bool got) {
    constexpr off_t kSharedFirst = 0x40000002, kSharedSize = 510;
    const bool is_exclusive =
        lock.l_type == F_WRLCK && lock.l_start == kSharedFirst && lock.l_len == kSharedSize;
    if (file() == nullptr || !is_exclusive || !Fault::is_meant()) return;
    const std::lock_guard guard(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (!waits_) begin_ = now;
    waits_ = !got;
    if (got) {
      us_.push_back(std::chrono::duration_cast<std::chrono::microseconds>(now - begin_).count());
    }
  }

  void add_to_file() {
    const std::lock_guard guard(mutex_);
    if (file() == nullptr || us_.empty()) return;
    std::ofstream out(file(), std::ios::app);
    for (const auto us : us_) out << us << "\n";
    us_.clear();
  }

 private:
  static const char* file() { return std::getenv("APPROXTRAIN_LOCK_WAITS"); }

  std::mutex mutex_;
  std::vector<long> us_;
  bool waits_ = false;
  std::chrono::steady_clock::time_point begin_;
};

LockWaits& lock_waits() {
  static LockWaits waits;
  return waits;
}

}  // namespace

extern "C" {

ssize_t write(int file, const void* data, size_t size) {
  static auto* const next = real<decltype(write)>("write");
  if (is_regular(file) && fails(kWrite)) return -1;
  return traced_write(
      file, [&] { return next(file, data, size); }, {static_cast<const char*>(data), size}, -1);
}

ssize_t writev(int file, const struct iovec* parts, int count) {
  static auto* const next = real<decltype(writev)>("writev");
  std::string bytes;
  for (int i = 0; trace_file() != nullptr && i < count; ++i) {
    bytes.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
  }
  return traced_write(
      file, [&] { return next(file, parts, count); }, bytes, -1);
}

ssize_t pwrite64(int file, const void* data, size_t size, off64_t at) {
  static auto* const next = real<decltype(pwrite64)>("pwrite64");
  if (is_regular(file) && fails(kWrite)) return -1;
  return traced_write(
      file, [&] { return next(file, data, size, at); }, {static_cast<const char*>(data), size}, at);
}

ssize_t pwrite(int file, const void* data, size_t size, off_t at) {
  static auto* const next = real<decltype(pwrite)>("pwrite");
  if (is_regular(file) && fails(kWrite)) return -1;
  return traced_write(
      file, [&] { return next(file, data, size, at); }, {static_cast<const char*>(data), size}, at);
}

int ftruncate64(int file, off64_t size) noexcept {
  static auto* const next = real<int(int, off64_t)>("ftruncate64");
  if (fails(kWrite)) return -1;
  return traced_size(
      file, [&] { return next(file, size); }, size);
}

int ftruncate(int file, off_t size) noexcept {
  static auto* const next = real<int(int, off_t)>("ftruncate");
  if (fails(kWrite)) return -1;
  return traced_size(
      file, [&] { return next(file, size); }, size);
}

int fsync(int file) {
  static auto* const next = real<int(int)>("fsync");
  if (fails(kSync)) return -1;
  return traced_sync(file, [&] { return next(file); });
}

int fdatasync(int file) {
  static auto* const next = real<int(int)>("fdatasync");
  if (fails(kSync)) return -1;
  return traced_sync(file, [&] { return next(file); });
}

int rename(const char* from, const char* to) noexcept {
  static auto* const next = real<int(const char*, const char*)>("rename");
  if (fails(kRename)) return -1;
  return traced_rename(full_path(AT_FDCWD, from), full_path(AT_FDCWD, to),
                       [&] { return next(from, to); });
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  static auto* const next = real<int(int, const char*, int, const char*, unsigned)>("renameat2");
  if (fails(kRename)) return -1;
  return traced_rename(full_path(from_folder, from), full_path(to_folder, to),
                       [&] { return next(from_folder, from, to_folder, to, flags); });
}

int unlink(const char* path) noexcept {
  static auto* const next = real<decltype(unlink)>("unlink");
  if (fails(kRemove)) return -1;
  return traced_remove(full_path(AT_FDCWD, path), [&] { return next(path); });
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  static auto* const next = real<decltype(unlinkat)>("unlinkat");
  if (fails(kRemove)) return -1;
  return traced_remove(full_path(folder, path), [&] { return next(folder, path, flags); });
}

int rmdir(const char* path) noexcept {
  static auto* const next = real<decltype(rmdir)>("rmdir");
  if (fails(kRemove)) return -1;
  return traced_remove(full_path(AT_FDCWD, path), [&] { return next(path); });
}

int remove(const char* path) noexcept {
  static auto* const next = real<int(const char*)>("remove");
  if (fails(kRemove)) return -1;
  return traced_remove(full_path(AT_FDCWD, path), [&] { return next(path); });
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

int statfs(const char* path, struct statfs* found) noexcept {
  static auto* const next = real<int(const char*, struct statfs*)>("statfs");
  const int result = next(path, found);
  const char* wanted = std::getenv("APPROXTRAIN_FAULT_FILE_SYSTEM");
  if (result != 0 || wanted == nullptr) return result;
  char* end = nullptr;
  const long magic = std::strtol(wanted, &end, 16);
  if (*end == 0 || std::string_view(path).ends_with(end + 1)) found->f_type = magic;
  return result;
}

int mkdir(const char* path, mode_t mode) noexcept {
  static auto* const next = real<int(const char*, mode_t)>("mkdir");
  if (fails(kOpen)) return -1;
  const std::string full = full_path(AT_FDCWD, path);
  return traced(
      in_trace(full), [&] { return next(path, mode); },
      [&](const Trace& trace, int /*done*/) { trace.add("mkdir", inode_of(full), 0, full); });
}

int open64(const char* path, int flags, ...) {
  static auto* const next = real<int(const char*, int, mode_t)>("open64");
  va_list rest;
  va_start(rest, flags);
  const auto mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if ((flags & O_CREAT) != 0 && fails(kOpen)) return -1;
  const auto call = [&] { return next(path, flags, mode); };
  const bool changes = (flags & (O_CREAT | O_TRUNC)) != 0;
  return changes ? traced_open(path, (flags & O_TRUNC) != 0, call) : call();
}

int open(const char* path, int flags, ...) {
  static auto* const next = real<int(const char*, int, mode_t)>("open");
  va_list rest;
  va_start(rest, flags);
  const auto mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if ((flags & O_CREAT) != 0 && fails(kOpen)) return -1;
  const auto call = [&] { return next(path, flags, mode); };
  const bool changes = (flags & (O_CREAT | O_TRUNC)) != 0;
  return changes ? traced_open(path, (flags & O_TRUNC) != 0, call) : call();
}

// How C++ streams open their files.
FILE* fopen64(const char* path, const char* mode) {
  static auto* const next = real<FILE*(const char*, const char*)>("fopen64");
  if (mode[0] == 'r') return next(path, mode);
  FILE* file = nullptr;
  traced_open(path, mode[0] == 'w', [&] {
    file = next(path, mode);
    return file != nullptr ? fileno(file) : -1;
  });
  return file;
}

FILE* fopen(const char* path, const char* mode) { return fopen64(path, mode); }

int fcntl64(int file, int command, ...) {
  static auto* const next = real<int(int, int, void*)>("fcntl64");
  va_list rest;
  va_start(rest, command);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  const int result = next(file, command, argument);
  if (command == F_SETLK) {
    const int kept = errno;
    lock_waits().note(*static_cast<const struct flock*>(argument), result == 0);
    errno = kept;
  }
  return result;
}

int fcntl(int file, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  return fcntl64(file, command, argument);
}

// How a worker ends: no destructor of ours is called.
void _exit(int code) {
  static auto* const next = real<void(int)>("_exit");
  fault().add_counts();
  next(code);
  std::abort();  // not reached: said to the compiler
}

}  // extern "C"
