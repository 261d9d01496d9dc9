#include "cli/python_flags.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "cli/catalogue.h"
#include "cli/text.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

std::optional<PythonMethods>& in_use() {
  static std::optional<PythonMethods> methods;
  return methods;
}

// A file beside the program; "" if it is not there.
std::string beside(const char* folder, const char* name) {
  std::error_code error;
  for (const auto& place : program_folders(folder)) {
    const auto path = place / name;
    if (fs::is_regular_file(path, error)) return path.string();
  }
  return "";
}

std::string interpreter(const PythonFlags& flags) {
  if (!flags.executable.empty()) return flags.executable;
  const auto own = beside(".venv", "bin/python3");
  return own.empty() ? "python3" : own;
}

std::string name_of(const std::string& method) { return parse_spec(method).name; }

bool is_of_file(const std::string& method) {
  return in_use() && !method.empty() && is_python(Catalogue::embedded().method(name_of(method)));
}

std::vector<std::string> methods_of(const RunConfig& config) {
  if (is_dense(config.method)) return {};
  std::vector<std::string> methods = {config.method};
  for (const auto& rule : config.schedule) methods.push_back(rule.method);
  return methods;
}

}  // namespace

void add_python_flags(CLI::App& app, PythonFlags& flags, const char* group) {
  auto* file = app.add_option("--python", flags.file, "a file with methods of your own, in Python")
                   ->type_name("FILE");
  auto* executable = app.add_option("--python-executable", flags.executable,
                                    "its interpreter, which needs PyTorch (default: that of .venv "
                                    "beside the program, else python3)")
                         ->type_name("PATH")
                         ->needs(file);
  if (group == nullptr) return;
  file->group(group);
  executable->group(group);
}

void use_python(const PythonFlags& flags) {
  if (flags.file.empty()) return;
  const auto worker = beside("python/src/approxtrain", "_worker.py");
  if (worker.empty()) {
    throw usage_error("--python: python/src/approxtrain/_worker.py is not beside the program");
  }
  in_use() = describe_python(fs::absolute(flags.file).string(), interpreter(flags), worker);
  add_to_catalogue(infos_of(*in_use()));
}

const PythonMethods* python_of(const std::vector<std::string>& methods) {
  return std::ranges::any_of(methods, is_of_file) ? &*in_use() : nullptr;
}

const PythonMethods* python_of(const RunConfig& config) { return python_of(methods_of(config)); }

void check_python(const RunConfig& config) {
  if (config.purpose != Purpose::kTiming) return;
  for (const auto& method : methods_of(config)) {
    if (!is_of_file(method)) continue;
    throw usage_error(
        "purpose = timing: {} is in Python, and its interpreter's time would be measured; set "
        "purpose = accuracy, or write the method in C++ (docs/own-method.md)",
        name_of(method));
  }
}

}  // namespace approx
