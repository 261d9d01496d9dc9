#include "cli/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/files.h"
#include "base/output_target.h"
#include "base/outputs.h"
#include "base/unfinished.h"

namespace approx {
namespace {

bool is_printed(const std::string& out) { return out.empty() || out == "-"; }

}  // namespace

void print_or_write(const std::string& text, const std::string& out) {
  if (is_printed(out)) {
    std::fwrite(text.data(), 1, text.size(), stdout);
  } else {
    write_output(out, text);
  }
}

void check_printed_or_written(const std::string& out) {
  if (is_printed(out)) return;
  check_output(out);
  const auto target = output_target(out);
  if (target.descriptor >= 0) return;
  const auto cannot = [&](int why) {
    return usage_error("--out: {}: cannot be written ({}); check the folder and its free space",
                       out, std::strerror(why));
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(target.path, ignored)) throw cannot(EISDIR);
  const bool may = ::faccessat(AT_FDCWD, target.path.c_str(), W_OK, AT_EACCESS) == 0;
  if (!may && (!target.is_replaced || errno != ENOENT)) throw cannot(errno);
  if (!target.is_replaced) return;
  const Unfinished trial(unfinished_name(target.path));
  if (!open_new(trial.path(), O_WRONLY)) throw cannot(errno);
}

}  // namespace approx
