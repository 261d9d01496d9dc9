#include "core/experiment/files.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "base/known_names.h"
#include "base/outputs.h"
#include "core/experiment/toml_source.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

// "wang2019:table5" or "@wang2019:table5" -> "wang2019/table5.toml". Error on anything that could
// leave the folder.
fs::path relative_path(std::string_view name, std::string_view what) {
  if (!name.empty() && name.front() == '@') name.remove_prefix(1);
  std::string path(name);
  std::replace(path.begin(), path.end(), ':', '/');
  const bool plain = std::all_of(path.begin(), path.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '.' || c == '/';
  });
  if (path.empty() || path.size() > 200 || !plain || path.front() == '/' ||
      path.find("..") != std::string::npos) {
    throw usage_error(
        "\"{}\" is not the name of {}: use letters, digits, _ - . and :", name.substr(0, 80), what);
  }
  return path + ".toml";
}

// Names of the files in the folder `recipes` of each folder, sorted, each once.
template <typename Folders>
Names recipes_in(const Folders& folders) {
  Names names;
  std::error_code ignored;
  for (const auto& folder : folders) {
    for (const auto& entry : fs::directory_iterator(fs::path(folder) / "recipes", ignored)) {
      if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

std::vector<std::string> experiment_paths() {
  std::vector<std::string> paths = {"experiments"};  // a user's own come first
  for (const auto& folder : program_folders("experiments")) paths.push_back(folder.string());
  return paths;
}

std::vector<std::pair<std::string, std::string>> known_experiments() {
  std::map<std::string, std::string> found;
  std::error_code error;
  for (const auto& folder : experiment_paths()) {
    auto entry = fs::recursive_directory_iterator(folder, error);
    for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
      if (entry.depth() > 4) entry.disable_recursion_pending();
      if (entry->path().extension() != ".toml") continue;
      auto name = fs::relative(entry->path(), folder, error).replace_extension().string();
      if (name.starts_with("recipes/")) continue;
      std::replace(name.begin(), name.end(), '/', ':');
      found.emplace(name, entry->path().string());
    }
  }
  return {found.begin(), found.end()};
}

std::vector<std::string> known_papers() {
  std::vector<std::string> names;
  for (const auto& [name, path] : known_experiments()) {
    try {
      TomlSource source(path, read_toml_file(path));
      if (source.root().at_path("report.item").is_string()) names.push_back(name);
    } catch (const Error&) {
      // Whoever asks for it is told what is wrong with it.
    }
  }
  return names;
}

std::vector<std::string> known_recipes() { return recipes_in(experiment_paths()); }

fs::path find_experiment(const std::string& path_or_name) {
  const bool is_path = path_or_name.rfind('@', 0) != 0 && path_or_name.size() > 5 &&
                       path_or_name.compare(path_or_name.size() - 5, 5, ".toml") == 0;
  std::error_code error;
  if (is_path) {
    if (!fs::exists(path_or_name, error)) {
      throw usage_error("{}: there is no such file", path_or_name);
    }
    return path_or_name;
  }
  const auto relative = relative_path(path_or_name, "an experiment");
  for (const auto& folder : experiment_paths()) {
    if (fs::is_regular_file(folder / relative, error)) return folder / relative;
  }
  Names names;
  for (const auto& known : known_experiments()) names.push_back(known.first);
  std::string name = path_or_name;
  if (name.front() == '@') name.erase(0, 1);
  throw usage_error(
      "there is no experiment \"{}\"{}; `approxtrain list experiments` shows all, and the "
      "path of a .toml file serves too",
      name, did_you_mean(name, names));
}

fs::path find_recipe(const std::string& name, const fs::path& asked_by) {
  const auto relative = fs::path("recipes") / relative_path(name, "a recipe");
  const auto here = asked_by.parent_path();
  std::vector<fs::path> folders = {here, here / ".."};
  for (const auto& folder : experiment_paths()) folders.emplace_back(folder);
  std::error_code ignored;
  for (const auto& folder : folders) {
    const auto file = folder / relative;
    if (fs::is_regular_file(file, ignored)) return file.lexically_normal();
  }
  throw usage_error("there is no recipe \"{}\"{}", name, known_names(name, recipes_in(folders)));
}

std::string read_toml_file(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error))
    throw usage_error("{}: is a folder, not a file", path.string());
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw usage_error("{}: cannot be read; check the path and its permissions", path.string());
  note_input(path.string());
  std::string text(kMaxTomlBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  return text;
}

}  // namespace approx
