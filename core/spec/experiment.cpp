#include "core/spec/experiment.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "core/spec/error.h"
#include "core/spec/toml_source.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxRuns = 100'000;
constexpr int64_t kMaxRangeValues = 1'000'000;
constexpr int64_t kMaxSeed = 4'294'967'295;

// Settings with one value a run that a file may also give as a list: each list is an axis.
const Names& scalar_keys() {
  static const Names keys = [] {
    Names names;
    for (const auto& spec : run_specs()) {
      if (spec.name != "network" && spec.name != "method" && spec.name != "seed") {
        names.push_back(spec.name);
      }
    }
    return names;
  }();
  return keys;
}

Names with_scalars(Names names) {
  names.insert(names.end(), scalar_keys().begin(), scalar_keys().end());
  return names;
}

const Names& axis_keys() {
  static const Names keys =
      with_scalars({"method", "schedule", "network", "seeds", "timing_seeds", "purpose", "recipe"});
  return keys;
}

const Names& top_keys() {
  static const Names keys = [] {
    Names names = {"id",    "title", "target",  "exclude", "extra",  "report",
                   "scale", "study", "kernels", "not_run", "picture"};
    names.insert(names.end(), axis_keys().begin(), axis_keys().end());
    return names;
  }();
  return keys;
}

// What a scale may replace: all that decides what is run.
const Names& scale_keys() {
  static const Names keys = [] {
    Names names = {"note", "target", "exclude", "extra", "study", "kernels"};
    names.insert(names.end(), axis_keys().begin(), axis_keys().end());
    return names;
  }();
  return keys;
}

std::string read_file(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error))
    throw usage_error("{}: is a folder, not a file", path.string());
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw usage_error("{}: cannot be read; check the path and its permissions", path.string());
  std::string text(kMaxTomlBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  return text;
}

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
    throw usage_error("\"{}\" is no name of {}: letters, digits, _ - . and : are",
                      name.substr(0, 80), what);
  }
  return path + ".toml";
}

// Pieces of a flag's list. Texts such as `topk_position:k=1,scale=equal` have commas of their own:
// a piece that is `key=value`, with no `:` before its `=`, goes on with the piece before it.
Names split_list(std::string_view text) {
  Names pieces;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const auto piece = text.substr(begin, end - begin);
    const auto equals = piece.find('=');
    const bool goes_on =
        !pieces.empty() && equals != std::string_view::npos && piece.find(':') > equals;
    if (goes_on) {
      pieces.back() += fmt::format(",{}", piece);
    } else {
      pieces.emplace_back(trim(piece));
    }
    begin = end + 1;
  }
  return pieces;
}

// Puts what a flag says under `key`: as TOML where it is a TOML value, else as a text.
void insert_value(toml::table& table, std::string_view key, const std::string& text) {
  if (text.size() < 4096 && text.find('\n') == std::string::npos &&
      std::count(text.begin(), text.end(), '.') < 100) {
    try {
      // Stripped of its positions below: they would point into the flag.
      auto parsed = toml::parse("value = " + text);
      if (parsed.size() == 1) {
        auto& value = *parsed.get("value");
        if (const auto flag = value.value_exact<bool>()) {
          table.insert_or_assign(key, *flag);
        } else if (const auto integer = value.value_exact<int64_t>()) {
          table.insert_or_assign(key, *integer);
        } else if (const auto real = value.value_exact<double>()) {
          table.insert_or_assign(key, *real);
        } else if (const auto quoted = value.value_exact<std::string>()) {
          table.insert_or_assign(key, *quoted);
        } else {
          table.insert_or_assign(key, text);
        }
        return;
      }
    } catch (const toml::parse_error&) {
      // Not TOML: a bare word, which is a text.
    }
  }
  table.insert_or_assign(key, text);
}

void apply_axis(TomlSource& source, const std::string& key, const std::string& text) {
  if (!contains(axis_keys(), key)) {
    throw usage_error("--{}: is no axis of an experiment{}; known: {}", key,
                      did_you_mean(key, axis_keys()), fmt::join(axis_keys(), ", "));
  }
  std::string flag = "--" + key;
  std::replace(flag.begin(), flag.end(), '_', '-');
  source.add_flag(key, flag);
  if (trim(text).empty()) throw usage_error("{}: an empty value", flag);
  auto& root = source.root();
  if (key == "seeds" || key == "timing_seeds" || key == "recipe") {
    root.insert_or_assign(key, text);
    return;
  }
  toml::array values;
  const bool are_texts = key == "method" || key == "schedule" || key == "network";
  for (const auto& piece : split_list(text)) {
    if (are_texts) {
      values.push_back(piece);
      continue;
    }
    toml::table one;
    insert_value(one, "value", piece);
    one.get("value")->visit([&values](const auto& value) { values.push_back(value); });
  }
  root.insert_or_assign(key, std::move(values));
}

void apply_set(TomlSource& source, const std::string& key, const std::string& text) {
  const std::string flag = fmt::format("--set {}={}", key, text.substr(0, 200));
  static const Names settable = [] {
    Names names = with_scalars({"id", "title", "target", "seeds", "timing_seeds", "purpose",
                                "method", "schedule", "network", "recipe"});
    for (const auto& spec : recipe_specs()) names.push_back("recipe." + spec.name);
    return names;
  }();
  if (!contains(settable, key)) {
    throw usage_error("{}: unknown key{}", flag, did_you_mean(key, settable));
  }
  auto& root = source.root();
  source.add_flag(key, flag);
  const auto dot = key.find('.');
  if (dot == std::string::npos) return insert_value(root, key, text);
  // `recipe = "name"` becomes `recipe = {base = "name", ...}`.
  auto* recipe = root.get("recipe");
  if (recipe == nullptr || !recipe->is_table()) {
    toml::table table;
    if (recipe != nullptr) table.insert_or_assign("base", *recipe->as_string());
    root.insert_or_assign("recipe", std::move(table));
  }
  insert_value(*root.get("recipe")->as_table(), key.substr(dot + 1), text);
}

struct Axes {
  std::vector<Labelled> methods;
  std::vector<LabelledSchedule> schedules;
  std::vector<Labelled> networks;
  std::map<std::string, std::vector<Json>> scalars;
  std::vector<Purpose> purposes = {Purpose::kAccuracy};
  std::vector<int64_t> seeds = {0};
  std::optional<std::vector<int64_t>> timing_seeds;
  Recipe recipe;
};

// What an exclusion selects: for each key, the values it names; empty: all.
struct Exclusion {
  Names methods, schedules, networks;  // labels
  std::vector<Purpose> purposes;
  std::map<std::string, std::vector<Json>> scalars;
  std::string reason;
  bool used = false;
};

template <typename T>
bool has_label(const std::vector<T>& axis, std::string_view label) {
  return std::any_of(axis.begin(), axis.end(),
                     [label](const T& value) { return value.label == label; });
}

// A full text is dense whatever its case of parameters: the method has none.
bool is_dense(const Labelled& method) { return method.text == "dense"; }

// from_json of one setting, whose message then says no more than the value and what is expected:
// the place in front of it has the name.
template <typename Owner>
void set_field(Owner& owner, const std::string& key, const Json& value) {
  try {
    from_json(Json{{key, value}}, owner);
  } catch (const Error& error) {
    std::string what = error.what();
    for (const std::string& prefix : {std::string("run: "), std::string("recipe: "), key}) {
      if (what.rfind(prefix, 0) == 0) what.erase(0, prefix.size());
    }
    if (what.rfind("=", 0) == 0) what.erase(0, 1);
    if (what.rfind(": ", 0) == 0) what.erase(0, 2);
    throw Error(error.kind(), what);
  }
}

class ExperimentReader {
 public:
  ExperimentReader(TomlSource source, const Overrides& overrides, const Catalogue& catalogue,
                   const std::function<std::string(const std::string&)>& dataset_sha256)
      : source_(std::move(source)), catalogue_(catalogue), dataset_sha256_(dataset_sha256) {
    read_scales(overrides.scale);
    for (const auto& [key, text] : overrides.axes) {
      apply_axis(source_, key, text);
      replaced_.insert(key);
    }
    for (const auto& [key, text] : overrides.set) {
      apply_set(source_, key, text);
      replaced_.insert(key.substr(0, key.find('.')));
    }
  }

  Experiment read() {
    const auto& root = source_.root();
    source_.check_keys(root, "", top_keys());
    Experiment experiment;
    experiment.source = source_.name();
    experiment.item = read_id();
    experiment.scale = scale_;
    experiment.scale_note = scale_note_;
    experiment.scales = scales_;
    experiment.id = experiment.item;
    if (scale_ != Scale::kFull) experiment.id += fmt::format(":{}", name(scale_));
    experiment.title =
        root.contains("title") ? source_.text(*root.get("title"), "title") : experiment.item;
    if (const auto* node = root.get("target")) experiment.target = read_target(*node);
    experiment.paper = read_item_report(source_);
    if (const auto* node = root.get("report")) experiment.report = to_json_value(*node);
    experiment.kind = read_kind();

    Axes main;
    switch (experiment.kind) {
      case ItemKind::kStudy:
        experiment.study = read_study_item(source_);
        return experiment;
      case ItemKind::kKernels:
        experiment.kernels = read_kernel_item(source_);
        return experiment;
      case ItemKind::kNotRun:
        experiment.not_run = source_.text(*root.get("not_run"), "not_run");
        return experiment;
      case ItemKind::kPicture:
        read_axes(root, "", main);
        require(!main.networks.empty(), "network");
        require(root.contains("schedule"), "schedule");
        experiment.networks = main.networks;
        experiment.schedules = main.schedules;
        return experiment;
      case ItemKind::kRuns:
        break;
    }
    read_axes(root, "", main);
    require(!main.networks.empty(), "network");
    require(main.scalars.count("dataset") > 0, "dataset");
    require(!main.methods.empty(), "method");
    blocks_.push_back(main);
    if (const auto* node = root.get("extra")) read_extras(*node);
    for (const auto& block : blocks_) check_datasets(block);
    if (const auto* node = root.get("exclude")) read_exclusions(*node);

    check_count();
    expand(experiment);
    check_use(experiment);
    return experiment;
  }

 private:
  // Checks every declared scale and puts the keys of the wanted one in the place of the file's.
  void read_scales(Scale wanted) {
    auto& root = source_.root();
    auto* node = root.get("scale");
    if (node == nullptr) {
      // What cannot be run, and what is drawn from the file, is the same at any scale.
      if (wanted == Scale::kFull || root.contains("not_run") || root.contains("picture")) return;
      throw usage_error("{}:1:1: scale.{}: is not declared in this file; run it without --scale",
                        source_.name(), name(wanted));
    }
    const auto& scales = source_.table(*node, "scale");
    source_.check_keys(scales, "scale", {"reduced", "smoke"});
    for (const auto scale : {Scale::kReduced, Scale::kSmoke}) {
      const auto* found = scales.get(name(scale));
      if (found == nullptr) continue;
      scales_.push_back(scale);
      const std::string path = fmt::format("scale.{}", name(scale));
      const auto& table = source_.table(*found, path);
      source_.check_keys(table, path, scale_keys());
      const auto* note = table.get("note");
      if (note == nullptr) {
        throw source_.error(*found, path, "note is missing: one line that says what is smaller");
      }
      const std::string text = source_.text(*note, path + ".note");
      if (scale == wanted) scale_note_ = text;
    }
    if (wanted == Scale::kFull) return;
    auto* found = node->as_table()->get(name(wanted));
    if (found == nullptr) {
      throw source_.error(*node, "scale", "{} is not declared in this file", name(wanted));
    }
    scale_ = wanted;
    // Moved, not copied: a copy forgets its line.
    for (auto&& [key, value] : *found->as_table()) {
      if (key.str() == "note") continue;
      value.visit(
          [&, &key = key](auto& typed) { root.insert_or_assign(key.str(), std::move(typed)); });
    }
  }

  ItemKind read_kind() const {
    const auto& root = source_.root();
    static const std::pair<const char*, ItemKind> kinds[] = {{"study", ItemKind::kStudy},
                                                             {"kernels", ItemKind::kKernels},
                                                             {"not_run", ItemKind::kNotRun},
                                                             {"picture", ItemKind::kPicture}};
    ItemKind kind = ItemKind::kRuns;
    const char* chosen = nullptr;
    for (const auto& [key, value] : kinds) {
      const auto* node = root.get(key);
      if (node == nullptr) continue;
      if (chosen != nullptr) {
        throw source_.error(*node, key, "stands beside {}; an item is one of them", chosen);
      }
      chosen = key, kind = value;
      if (kind == ItemKind::kPicture && source_.text(*node, key) != "schedule") {
        throw source_.error(*node, key, "only \"schedule\" is drawn from a file alone");
      }
    }
    if (chosen == nullptr || kind == ItemKind::kPicture) return kind;
    for (const auto& key : axis_keys()) {
      const auto* node = root.get(key);
      if (node != nullptr) {
        throw source_.error(*node, key, "has no meaning beside {}", chosen);
      }
    }
    return kind;
  }

  void require(bool present, const char* key) const {
    if (present) return;
    throw usage_error("{}:1:1: {}: is missing; add {} = \"...\"", source_.name(), key, key);
  }

  std::string read_id() const {
    const auto* node = source_.root().get("id");
    if (node == nullptr) return fs::path(source_.name()).stem().string();
    const std::string id = source_.text(*node, "id");
    const bool plain = std::all_of(id.begin(), id.end(), [](unsigned char c) {
      return std::isalnum(c) || c == '_' || c == '-' || c == '.' || c == ':';
    });
    if (!plain || id.size() > 100) {
      throw source_.error(*node, "id", "\"{}\": letters, digits, _ - . and : only, at most 100",
                          id);
    }
    return id;
  }

  Target read_target(const toml::node& node) const {
    const std::string text = source_.text(node, "target");
    const auto sign = text.find(">=");
    Target target;
    if (sign != std::string::npos) {
      target.metric = trim(std::string_view(text).substr(0, sign));
      const auto number = trim(std::string_view(text).substr(sign + 2));
      const auto [end, error] =
          std::from_chars(number.data(), number.data() + number.size(), target.value);
      if (target.metric == "accuracy" && error == std::errc() &&
          end == number.data() + number.size() && target.value > 0 && target.value <= 1) {
        return target;
      }
    }
    throw source_.error(node, "target", "\"{}\": expected accuracy>=SHARE, for example {}", text,
                        "accuracy>=0.915");
  }

  // Reads the axes that `table` has into `axes`, leaving the others as they are. `path` is "" or
  // ends in a dot.
  void read_axes(const toml::table& table, const std::string& path, Axes& axes) {
    if (const auto* node = table.get("network")) {
      axes.networks.clear();
      source_.each(*node, path + "network", [&](const toml::node& item, const std::string& at) {
        add_labelled(axes.networks, item, at, "network",
                     [&](const std::string& text) { return catalogue_.network_params(text); });
      });
    }
    if (const auto* node = table.get("method")) {
      const auto known = axes.methods;
      axes.methods.clear();
      source_.each(*node, path + "method", [&](const toml::node& item, const std::string& at) {
        // In an extra, a method may be named by its label in the grid.
        const auto label = item.value_exact<std::string>();
        const auto same = std::find_if(known.begin(), known.end(), [&](const Labelled& method) {
          return label && method.label == *label;
        });
        if (same != known.end()) {
          axes.methods.push_back(*same);
          return;
        }
        add_labelled(axes.methods, item, at, "method",
                     [&](const std::string& text) { return catalogue_.method_params(text); });
      });
    }
    if (const auto* node = table.get("schedule")) {
      const auto known = axes.schedules;
      axes.schedules.clear();
      source_.each(*node, path + "schedule", [&](const toml::node& item, const std::string& at) {
        const auto label = item.value_exact<std::string>();
        const auto same = std::find_if(known.begin(), known.end(), [&](const auto& schedule) {
          return label && schedule.label == *label;
        });
        if (same != known.end()) {
          axes.schedules.push_back(*same);
          return;
        }
        auto schedule = read_schedule(item, at);
        if (has_label(axes.schedules, schedule.label)) {
          throw source_.error(item, at, "the label \"{}\" is used twice", schedule.label);
        }
        axes.schedules.push_back(std::move(schedule));
      });
    }
    if (axes.schedules.empty()) axes.schedules.push_back({"slice", make_schedule("slice")});
    for (const auto& key : scalar_keys()) {
      if (const auto* node = table.get(key)) {
        axes.scalars[key] = read_scalars(*node, path + key, key);
      }
    }
    if (const auto* node = table.get("purpose")) {
      axes.purposes.clear();
      source_.each(*node, path + "purpose", [&](const toml::node& item, const std::string& at) {
        const auto text = source_.text(item, at);
        const auto purpose = source_.at(item, at, [&] { return parse_purpose(text); });
        if (std::count(axes.purposes.begin(), axes.purposes.end(), purpose) > 0) {
          throw source_.error(item, at, "\"{}\" is given twice", text);
        }
        axes.purposes.push_back(purpose);
      });
    }
    if (const auto* node = table.get("seeds")) axes.seeds = read_seeds(*node, path + "seeds");
    if (const auto* node = table.get("timing_seeds")) {
      axes.timing_seeds = read_seeds(*node, path + "timing_seeds");
      const auto foreign = [&axes](int64_t seed) {
        return std::count(axes.seeds.begin(), axes.seeds.end(), seed) == 0;
      };
      auto& timed = *axes.timing_seeds;
      const auto found = std::find_if(timed.begin(), timed.end(), foreign);
      if (found != timed.end()) {
        // With the seeds replaced by a flag, those of the file that are left are meant.
        const bool fewer = replaced_.count("seeds") > 0 || scale_ != Scale::kFull;
        if (!fewer || replaced_.count("timing_seeds") > 0) {
          throw source_.error(*node, path + "timing_seeds", "{} is not among seeds", *found);
        }
        timed.erase(std::remove_if(timed.begin(), timed.end(), foreign), timed.end());
        if (timed.empty()) axes.timing_seeds.reset();
      }
    }
    if (const auto* node = table.get("recipe")) axes.recipe = read_recipe(*node, path + "recipe");
  }

  // `"name:..."` or `{label = "...", KEY = "name:..."}`.
  template <typename Check>
  void add_labelled(std::vector<Labelled>& axis, const toml::node& item, const std::string& path,
                    const char* key, Check&& check) {
    Labelled value;
    const toml::node* text_node = &item;
    std::string text_path = path;
    if (const auto* table = item.as_table()) {
      source_.check_keys(*table, path, {"label", key});
      text_node = table->get(key);
      text_path = path + "." + key;
      if (text_node == nullptr) throw source_.error(item, path, "{} is missing", key);
      if (const auto* label = table->get("label")) {
        value.label = source_.text(*label, path + ".label");
      }
    }
    const std::string text = source_.text(*text_node, text_path);
    const Params params = source_.at(*text_node, text_path, [&] { return check(text); });
    value.text = params.full_text();
    if (value.label.empty()) value.label = params.to_string();
    if (has_label(axis, value.label)) {
      throw source_.error(item, path, "the label \"{}\" is used twice", value.label);
    }
    axis.push_back(std::move(value));
  }

  std::vector<Json> read_scalars(const toml::node& node, const std::string& path,
                                 const std::string& key) {
    std::vector<Json> values;
    source_.each(node, path, [&](const toml::node& item, const std::string& at) {
      if (item.is_table() || item.is_array() || item.is_date() || item.is_time() ||
          item.is_date_time()) {
        throw source_.error(item, at, "expected a single value, got {}", type_name(item));
      }
      if (item.is_string()) source_.text(item, at);
      Json value = to_json_value(item);
      if (value.is_null()) throw source_.error(item, at, "expected a finite number");
      if (key == "threads" && value == 0) {
        throw source_.error(item, at, "0: expected an integer from 1 to 4096");
      }
      RunConfig config;
      source_.at(item, at, [&] { set_field(config, key, value); });
      if (key == "timed_against") {
        auto& network = config.timed_against;
        network =
            source_.at(item, at, [&] { return catalogue_.network_params(network); }).full_text();
      }
      value = Json(config)[key];
      if (std::count(values.begin(), values.end(), value) > 0) {
        throw source_.error(item, at, "{} is given twice", value.dump());
      }
      values.push_back(std::move(value));
    });
    return values;
  }

  std::vector<int64_t> read_seeds(const toml::node& node, const std::string& path) {
    std::vector<int64_t> seeds;
    std::set<int64_t> seen;
    source_.each(node, path, [&](const toml::node& item, const std::string& at) {
      std::vector<int64_t> values;
      if (const auto integer = item.value_exact<int64_t>()) {
        values = {*integer};
      } else if (item.is_string()) {
        const auto text = source_.text(item, at);
        values = source_.at(item, at, [&] { return parse_range(text); });
      } else {
        throw source_.error(item, at, "expected an integer or a range such as \"0-9\", got {}",
                            type_name(item));
      }
      for (const auto seed : values) {
        if (seed < 0 || seed > kMaxSeed) {
          throw source_.error(item, at, "{}: a seed lies from 0 to {}", seed, kMaxSeed);
        }
        if (!seen.insert(seed).second) throw source_.error(item, at, "{} is given twice", seed);
        seeds.push_back(seed);
      }
    });
    return seeds;
  }

  Recipe read_recipe(const toml::node& node, const std::string& path) {
    if (node.is_string()) return read_recipe_file(node, path);
    if (!node.is_table()) {
      throw source_.error(node, path, "expected a recipe's name or a table, got {}",
                          type_name(node));
    }
    const auto& table = *node.as_table();
    Recipe recipe;
    if (const auto* base = table.get("base")) recipe = read_recipe_file(*base, path + ".base");
    read_recipe_table(source_, table, path, recipe);
    return recipe;
  }

  static void read_recipe_table(const TomlSource& source, const toml::table& table,
                                const std::string& path, Recipe& recipe) {
    static const Names known = [] {
      Names names = {"base"};
      for (const auto& spec : recipe_specs()) names.push_back(spec.name);
      return names;
    }();
    source.check_keys(table, path, known);
    for (const auto& [key, value] : table) {
      const std::string name(key.str());
      if (name == "base") continue;
      const std::string full = path.empty() ? name : path + "." + name;
      if (value.is_table() || value.is_array() || value.is_date() || value.is_time() ||
          value.is_date_time()) {
        throw source.error(value, full, "expected a single value, got {}", type_name(value));
      }
      Json json = to_json_value(value);
      if (json.is_null()) throw source.error(value, full, "expected a finite number");
      source.at(value, full, [&, &name = name] { set_field(recipe, name, json); });
    }
    source.at(table, path, [&] { check(recipe); });
  }

  Recipe read_recipe_file(const toml::node& node, const std::string& path) {
    const std::string name = source_.text(node, path);
    const auto relative = source_.at(
        node, path, [&] { return fs::path("recipes") / relative_path(name, "a recipe"); });
    std::vector<fs::path> folders;
    const auto here = fs::path(source_.name()).parent_path();
    folders.push_back(here);
    folders.push_back(here / "..");
    for (const auto& folder : experiment_paths()) folders.push_back(folder);
    Names known;
    std::error_code ignored;
    for (const auto& folder : folders) {
      const auto file = folder / relative;
      if (fs::is_regular_file(file, ignored)) {
        TomlSource source(file.lexically_normal().string(), read_file(file));
        if (const auto* base = source.root().get("base")) {
          throw source.error(*base, "base", "a recipe file stands alone; write its settings out");
        }
        Recipe recipe;
        read_recipe_table(source, source.root(), "", recipe);
        return recipe;
      }
      for (const auto& entry : fs::directory_iterator(folder / "recipes", ignored)) {
        if (entry.path().extension() == ".toml") known.push_back(entry.path().stem().string());
      }
    }
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    throw source_.error(node, path, "there is no recipe \"{}\"{}; known: {}", name,
                        did_you_mean(name, known), fmt::join(known, ", "));
  }

  LabelledSchedule read_schedule(const toml::node& node, const std::string& path) {
    LabelledSchedule schedule;
    if (node.is_string()) {
      const std::string text = source_.text(node, path);
      schedule.rules = source_.at(node, path, [&] { return make_schedule(text); });
      check_rules(schedule.rules, node, path);
      schedule.label = trim(text);
      return schedule;
    }
    const auto& table = source_.table(node, path);
    const auto* label = table.get("label");
    if (label != nullptr) schedule.label = source_.text(*label, path + ".label");
    if (const auto* name = table.get("schedule")) {
      source_.check_keys(table, path, {"label", "schedule"});
      const auto named = read_schedule_name(*name, path + ".schedule");
      schedule.rules = named.rules;
      if (label == nullptr) schedule.label = named.label;
      return schedule;
    }
    if (label == nullptr) {
      throw source_.error(node, path, "label is missing; a table shows the schedule by it");
    }
    if (const auto* rules = table.get("rules")) {
      source_.check_keys(table, path, {"label", "rules"});
      if (!rules->is_array()) {
        throw source_.error(*rules, path + ".rules", "expected a list of rules, got {}",
                            type_name(*rules));
      }
      source_.each(*rules, path + ".rules", [&](const toml::node& item, const std::string& at) {
        schedule.rules.push_back(read_rule(source_.table(item, at), at, {}));
      });
    } else if (const auto* matrix = table.get("matrix")) {
      source_.check_keys(table, path, {"label", "matrix", "key", "products"});
      schedule.rules = read_matrix(table, *matrix, path);
    } else {
      schedule.rules.push_back(read_rule(table, path, {"label", "schedule", "rules", "matrix"}));
    }
    return schedule;
  }

  LabelledSchedule read_schedule_name(const toml::node& node, const std::string& path) {
    source_.text(node, path);
    return read_schedule(node, path);
  }

  void check_rules(const std::vector<Rule>& rules, const toml::node& node,
                   const std::string& path) const {
    source_.at(node, path, [&] {
      for (const auto& rule : rules) check_rule(rule, catalogue_);
    });
  }

  std::vector<Product> read_products(const toml::node& node, const std::string& path) const {
    std::vector<Product> products;
    source_.each(node, path, [&](const toml::node& item, const std::string& at) {
      const auto text = source_.text(item, at);
      const auto product = source_.at(item, at, [&] { return parse_product(text); });
      if (std::count(products.begin(), products.end(), product) > 0) {
        throw source_.error(item, at, "\"{}\" is given twice", text);
      }
      products.push_back(product);
    });
    return products;
  }

  Rule read_rule(const toml::table& table, const std::string& path, const Names& around) const {
    static const Names keys = {"layers", "steps", "products", "method", "from", "until"};
    Names known = keys;
    known.insert(known.end(), around.begin(), around.end());
    source_.check_keys(table, path, known);
    Rule rule;
    const auto read = [&](const char* key, std::string& member) {
      const auto* node = table.get(key);
      if (node == nullptr) return;
      const std::string at = path + "." + key;
      // `layers = 2` and `steps = 0` are as clear as their texts.
      const auto integer = node->value_exact<int64_t>();
      const bool selector = std::string_view(key) == "layers" || std::string_view(key) == "steps";
      member = integer && selector ? fmt::format("{}", *integer) : source_.text(*node, at);
      Rule alone;
      if (key == std::string_view("layers")) alone.layers = member;
      if (key == std::string_view("steps")) alone.steps = member;
      if (key == std::string_view("method")) alone.method = member;
      if (key == std::string_view("from")) alone.from = member;
      if (key == std::string_view("until")) alone.until = member;
      check_rules({alone}, *node, at);
    };
    read("layers", rule.layers);
    read("steps", rule.steps);
    read("method", rule.method);
    read("from", rule.from);
    read("until", rule.until);
    if (const auto* node = table.get("products")) {
      rule.products = read_products(*node, path + ".products");
    }
    check_rules({rule}, table, path);
    return rule;
  }

  std::vector<Rule> read_matrix(const toml::table& table, const toml::node& matrix,
                                const std::string& path) const {
    const auto rows = source_.texts(matrix, path + ".matrix");
    std::vector<std::pair<char, std::string>> key;
    if (const auto* node = table.get("key")) {
      for (const auto& [letter, value] : source_.table(*node, path + ".key")) {
        const std::string at = fmt::format("{}.key.{}", path, letter.str());
        const auto text = source_.text(value, at);
        if (letter.str().size() != 1 || letter.str() == "." || letter.str() == "*") {
          throw source_.error(value, at, "a key is one letter other than . and *");
        }
        source_.at(value, at, [&] { catalogue_.method_params(text); });
        key.emplace_back(letter.str()[0], text);
      }
    }
    auto rules = source_.at(matrix, path, [&] { return matrix_rules(rows, key); });
    if (const auto* node = table.get("products")) {
      const auto products = read_products(*node, path + ".products");
      for (auto& rule : rules) rule.products = products;
    }
    return rules;
  }

  void read_extras(const toml::node& node) {
    source_.each(node, "extra", [&](const toml::node& item, const std::string& path) {
      const auto& table = source_.table(item, path);
      Names known = axis_keys();
      known.push_back("label");
      source_.check_keys(table, path, known);
      // A flag that replaces an axis replaces it in the whole file: an extra that gives the same
      // axis itself is a row that was not asked for.
      for (const auto& [key, value] : table) {
        if (replaced_.count(std::string(key.str())) > 0) return;
      }
      Axes axes = blocks_.front();
      read_axes(table, path + ".", axes);
      if (const auto* label = table.get("label")) {
        if (axes.methods.size() != 1) {
          throw source_.error(*label, path + ".label", "labels one method, but there are {}",
                              axes.methods.size());
        }
        const auto text = source_.text(*label, path + ".label");
        for (const auto& block : blocks_) {
          if (has_label(block.methods, text)) {
            throw source_.error(*label, path + ".label", "the label \"{}\" is used twice", text);
          }
        }
        axes.methods[0].label = text;
      }
      blocks_.push_back(std::move(axes));
    });
  }

  void check_datasets(const Axes& axes) {
    for (const auto& value : axes.scalars.at("dataset")) {
      const std::string name = value;
      if (checksums_.count(name) > 0) continue;
      const auto* node = source_.root().get("dataset");
      checksums_[name] = source_.at(*node, "dataset", [&] { return dataset_sha256_(name); });
    }
  }

  // The labels that the texts of an exclusion mean, each a label itself or the text of one.
  template <typename Axis, typename Full>
  Names labels_of(const toml::node& node, const std::string& path, Axis Axes::*axis,
                  Full&& full_text) const {
    Names found;
    source_.each(node, path, [&](const toml::node& item, const std::string& at) {
      const std::string text = source_.text(item, at);
      Names labels;
      std::string full;
      try {
        full = full_text(text);
      } catch (const Error&) {
        // A label need not be the text of anything.
      }
      bool any = false;
      for (const auto& block : blocks_) {
        for (const auto& value : block.*axis) {
          labels.push_back(value.label);
          if (value.label != text && !same_text(value, full)) continue;
          found.push_back(value.label);
          any = true;
        }
      }
      if (!any && replaced_.empty()) {
        throw source_.error(item, at, "\"{}\" is not in this experiment{}; known: {}", text,
                            did_you_mean(text, labels), fmt::join(labels, ", "));
      }
      if (!any) found.push_back(text);
    });
    return found;
  }

  static bool same_text(const Labelled& value, const std::string& full) {
    return !full.empty() && value.text == full;
  }
  static bool same_text(const LabelledSchedule&, const std::string&) { return false; }

  void read_exclusions(const toml::node& node) {
    source_.each(node, "exclude", [&](const toml::node& item, const std::string& path) {
      const auto& table = source_.table(item, path);
      const Names known = with_scalars({"method", "schedule", "network", "purpose", "reason"});
      source_.check_keys(table, path, known);
      const auto* reason = table.get("reason");
      if (reason == nullptr) {
        throw source_.error(item, path, "reason is missing; a cell left out keeps its reason");
      }
      Exclusion exclusion;
      exclusion.reason = source_.text(*reason, path + ".reason");
      if (table.size() == 1) {
        throw source_.error(item, path, "selects everything; name a method, schedule or network");
      }
      if (const auto* value = table.get("method")) {
        exclusion.methods = labels_of(*value, path + ".method", &Axes::methods, [&](const auto& t) {
          return catalogue_.method_params(t).full_text();
        });
      }
      if (const auto* value = table.get("schedule")) {
        exclusion.schedules = labels_of(*value, path + ".schedule", &Axes::schedules,
                                        [](const auto&) { return std::string(); });
      }
      if (const auto* value = table.get("network")) {
        exclusion.networks =
            labels_of(*value, path + ".network", &Axes::networks,
                      [&](const auto& t) { return catalogue_.network_params(t).full_text(); });
      }
      if (const auto* value = table.get("purpose")) {
        for (const auto& text : source_.texts(*value, path + ".purpose")) {
          exclusion.purposes.push_back(
              source_.at(*value, path + ".purpose", [&] { return parse_purpose(text); }));
        }
      }
      for (const auto& key : scalar_keys()) {
        if (const auto* value = table.get(key)) {
          exclusion.scalars[key] = read_scalars(*value, path + "." + key, key);
        }
      }
      exclusions_.push_back(std::move(exclusion));
    });
  }

  // A bound that cannot overflow, before anything is expanded.
  void check_count() const {
    double total = 0;
    for (const auto& block : blocks_) {
      double pairs = 0;
      for (const auto& method : block.methods) {
        pairs += is_dense(method) ? 1.0 : static_cast<double>(block.schedules.size());
      }
      double count = pairs * static_cast<double>(block.networks.size());
      for (const auto& [key, values] : block.scalars) count *= static_cast<double>(values.size());
      double seeds = 0;
      for (const auto purpose : block.purposes) {
        seeds += static_cast<double>(purpose == Purpose::kTiming && block.timing_seeds
                                         ? block.timing_seeds->size()
                                     : purpose == Purpose::kTiming ? 1
                                                                   : block.seeds.size());
      }
      total += count * seeds;
    }
    if (total > static_cast<double>(kMaxRuns)) {
      throw usage_error("{}:1:1: the grid has {:.0f} runs; at most {} are expanded, so split it",
                        source_.name(), total, kMaxRuns);
    }
  }

  // Seeds change slowest, so that a sweep that is stopped early has every method at its first seed.
  void expand(Experiment& experiment) {
    size_t most_seeds = 0;
    for (const auto& block : blocks_) most_seeds = std::max(most_seeds, block.seeds.size());
    std::set<std::string> seen;
    for (size_t s = 0; s < most_seeds; ++s) {
      for (const auto purpose : {Purpose::kAccuracy, Purpose::kTiming}) {
        for (const auto& block : blocks_) {
          if (s >= block.seeds.size()) continue;
          if (std::count(block.purposes.begin(), block.purposes.end(), purpose) == 0) continue;
          const int64_t seed = block.seeds[s];
          if (purpose == Purpose::kTiming) {
            const auto timed = block.timing_seeds.value_or(std::vector<int64_t>{block.seeds[0]});
            if (std::count(timed.begin(), timed.end(), seed) == 0) continue;
          }
          RunConfig config;
          config.purpose = purpose;
          config.seed = seed;
          config.recipe = block.recipe;
          config.threads = std::max<int64_t>(1, std::thread::hardware_concurrency());
          expand_scalars(block, block.scalars.begin(), config, experiment, seen);
        }
      }
    }
    for (size_t i = 0; i < exclusions_.size(); ++i) {
      if (exclusions_[i].used || !replaced_.empty() || scale_ != Scale::kFull) continue;
      const auto* node = source_.root().get("exclude");
      const auto* item = node->is_array() ? node->as_array()->get(i) : node;
      throw source_.error(*item, fmt::format("exclude[{}]", i),
                          "matches no run{}; delete or correct it",
                          exclusions_[i].schedules.empty() ? "" : " (a dense run has no schedule)");
    }
  }

  void expand_scalars(const Axes& block,
                      std::map<std::string, std::vector<Json>>::const_iterator at,
                      const RunConfig& config, Experiment& experiment,
                      std::set<std::string>& seen) {
    if (at == block.scalars.end()) {
      expand_cells(block, config, experiment, seen);
      return;
    }
    for (const auto& value : at->second) {
      RunConfig next = config;
      from_json(Json{{at->first, value}}, next);
      expand_scalars(block, std::next(at), next, experiment, seen);
    }
  }

  void expand_cells(const Axes& block, RunConfig config, Experiment& experiment,
                    std::set<std::string>& seen) {
    for (const auto& network : block.networks) {
      for (const auto& method : block.methods) {
        for (const auto& schedule : block.schedules) {
          PlannedRun run;
          run.config = config;
          run.config.network = network.text;
          run.config.method = method.text;
          if (config.purpose != Purpose::kTiming) run.config.timed_against.clear();
          run.network_label = network.label;
          run.method_label = method.label;
          run.excluded = why_unusable(run.config);
          if (!is_dense(method)) {
            run.config.schedule = schedule.rules;
            run.schedule_label = schedule.label;
            if (run.excluded.empty()) run.excluded = why_unusable(network, method, schedule);
          }
          const bool usable = run.excluded.empty();
          // A run that cannot be resolved has no canonical form; the text of its settings serves.
          const std::string& checksum = checksums_.at(run.config.dataset);
          run.key = usable ? run_key(run.config, checksum, catalogue_)
                           : sha256_hex(Json(run.config).dump() + checksum);
          if (usable) exclude(run);
          if (seen.insert(fmt::format("{}\n{}\n{}\n{}", run.key, run.method_label,
                                      run.schedule_label, run.network_label))
                  .second) {
            experiment.runs.push_back(std::move(run));
          }
          if (is_dense(method)) break;
        }
      }
    }
  }

  static std::string why_unusable(const RunConfig& config) {
    try {
      check(config);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  std::string why_unusable(const Labelled& network, const Labelled& method,
                           const LabelledSchedule& schedule) {
    const auto& info = catalogue_.network(parse_spec(network.text).name);
    const auto id = fmt::format("{}\n{}\n{}", info.name, method.text, schedule.label);
    const auto known = unusable_.find(id);
    if (known != unusable_.end()) return known->second;
    std::string reason;
    try {
      // Windows depend on the number of steps, which only the data decide: the trainer judges them.
      auto rules = schedule.rules;
      for (auto& rule : rules) rule.from = rule.until = "";
      Schedule(rules, info.layers, method.text, catalogue_, /*steps_per_epoch=*/1,
               /*total_steps=*/1);
    } catch (const Error& error) {
      reason = error.what();
    }
    return unusable_[id] = reason;
  }

  void exclude(PlannedRun& run) {
    const auto names = [](const Names& labels, const std::string& label) {
      return labels.empty() || contains(labels, label);
    };
    const Json config = exclusions_.empty() ? Json() : Json(run.config);
    for (auto& exclusion : exclusions_) {
      bool match = names(exclusion.methods, run.method_label) &&
                   names(exclusion.schedules, run.schedule_label) &&
                   names(exclusion.networks, run.network_label);
      match = match && (exclusion.purposes.empty() ||
                        std::count(exclusion.purposes.begin(), exclusion.purposes.end(),
                                   run.config.purpose) > 0);
      for (const auto& [key, values] : exclusion.scalars) {
        match = match && std::count(values.begin(), values.end(), config.at(key)) > 0;
      }
      if (!match) continue;
      exclusion.used = true;
      if (run.excluded.empty()) run.excluded = exclusion.reason;
    }
  }

  // A method or layer that fits one network and not another is a cell with a reason; one that fits
  // nowhere is a mistake in the file.
  void check_use(const Experiment& experiment) const {
    int64_t approximate = 0;
    int64_t unusable = 0;
    std::string reason;
    for (const auto& run : experiment.runs) {
      if (run.config.method == "dense") continue;
      ++approximate;
      const auto& info = parse_spec(run.config.network).name;
      const auto found =
          unusable_.find(fmt::format("{}\n{}\n{}", info, run.config.method, run.schedule_label));
      if (found == unusable_.end() || found->second.empty()) continue;
      ++unusable;
      if (reason.empty()) {
        reason = fmt::format("{} on {}: {}", run.method_label, run.network_label, found->second);
      }
    }
    if (approximate == 0 || unusable < approximate) return;
    const auto* node = source_.root().get("schedule");
    const bool has_schedule = node != nullptr;
    if (!has_schedule) node = source_.root().get("method");
    throw source_.error(*node, has_schedule ? "schedule" : "method", "no run can use it: {}",
                        reason);
  }

  TomlSource source_;
  const Catalogue& catalogue_;
  const std::function<std::string(const std::string&)>& dataset_sha256_;
  Scale scale_ = Scale::kFull;
  std::string scale_note_;
  std::vector<Scale> scales_ = {Scale::kFull};
  std::set<std::string> replaced_;  // top-level keys that the command line changed
  std::vector<Axes> blocks_;        // the grid, then one for each extra
  std::vector<Exclusion> exclusions_;
  std::map<std::string, std::string> checksums_;
  std::map<std::string, std::string> unusable_;
};

}  // namespace

int64_t iso_time_epochs(int64_t epochs, double speedup) {
  const double rounded = std::floor(static_cast<double>(epochs) / speedup + 0.5);
  return std::max<int64_t>(1, static_cast<int64_t>(rounded));
}

std::vector<int64_t> parse_range(std::string_view text) {
  constexpr const char* kExpected =
      "expected a,b, first-last, first-last+step or first-last*factor";
  const auto shown = text.substr(0, 80);
  const auto number = [&](std::string_view part) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (part.empty() || part[0] == '-' || error != std::errc() ||
        end != part.data() + part.size()) {
      throw usage_error("\"{}\": \"{}\" is not a whole number; {}", shown, part.substr(0, 40),
                        kExpected);
    }
    return value;
  };
  std::vector<int64_t> values;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const auto piece = trim(text.substr(begin, end - begin));
    begin = end + 1;
    const auto dash = piece.find('-');
    const auto sign = piece.find_first_of("+*", dash == std::string_view::npos ? 0 : dash);
    const int64_t first = number(trim(piece.substr(0, dash)));
    int64_t last = first;
    int64_t change = 1;
    bool multiplies = false;
    if (dash != std::string_view::npos) {
      last = number(
          trim(piece.substr(dash + 1, sign == std::string_view::npos ? sign : sign - dash - 1)));
      if (sign != std::string_view::npos) {
        multiplies = piece[sign] == '*';
        change = number(trim(piece.substr(sign + 1)));
      }
      if (last < first) throw usage_error("\"{}\": {} lies above {}", shown, first, last);
      if (change < 1 || (multiplies && change < 2)) {
        throw usage_error("\"{}\": a step is at least 1, a factor at least 2", shown);
      }
      if (multiplies && first == 0) {
        throw usage_error("\"{}\": 0 times a factor stays 0; begin at 1", shown);
      }
    }
    for (int64_t value = first;;) {
      if (values.size() >= static_cast<size_t>(kMaxRangeValues)) {
        throw usage_error("\"{}\": more than {} values", shown, kMaxRangeValues);
      }
      values.push_back(value);
      if (multiplies ? value > last / change : value > last - change) break;
      value = multiplies ? value * change : value + change;
    }
  }
  return values;
}

std::vector<std::string> experiment_paths() {
  std::vector<std::string> paths = {"experiments"};
  std::error_code error;
  const auto program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const auto prefix = program.parent_path().parent_path();
    paths.push_back((prefix / "experiments").string());
    paths.push_back((prefix / "share" / "approxtrain" / "experiments").string());
  }
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
      if (name.rfind("recipes/", 0) == 0) continue;
      std::replace(name.begin(), name.end(), '/', ':');
      found.emplace(name, entry->path().string());
    }
  }
  return {found.begin(), found.end()};
}

Experiment parse_experiment(const std::string& text, const std::string& source,
                            const Overrides& overrides, const Catalogue& catalogue,
                            const std::function<std::string(const std::string&)>& dataset_sha256) {
  ExperimentReader reader(TomlSource(source, text), overrides, catalogue, dataset_sha256);
  Experiment experiment = reader.read();
  experiment.text = text;
  return experiment;
}

Experiment load_experiment(const std::string& path_or_name, const Overrides& overrides,
                           const Catalogue& catalogue,
                           const std::function<std::string(const std::string&)>& dataset_sha256) {
  const bool is_path = path_or_name.rfind('@', 0) != 0 && path_or_name.size() > 5 &&
                       path_or_name.compare(path_or_name.size() - 5, 5, ".toml") == 0;
  fs::path path = path_or_name;
  std::error_code error;
  if (is_path) {
    if (!fs::exists(path, error)) throw usage_error("{}: there is no such file", path_or_name);
  } else {
    const auto relative = relative_path(path_or_name, "an experiment");
    path.clear();
    for (const auto& folder : experiment_paths()) {
      if (!fs::is_regular_file(folder / relative, error)) continue;
      path = folder / relative;
      break;
    }
    if (path.empty()) {
      Names names;
      for (const auto& known : known_experiments()) names.push_back(known.first);
      std::string name = path_or_name;
      if (name.front() == '@') name.erase(0, 1);
      throw usage_error(
          "there is no experiment \"{}\"{}; known: {}; or give the path of a .toml file", name,
          did_you_mean(name, names), fmt::join(names, ", "));
    }
  }
  return parse_experiment(read_file(path), path.string(), overrides, catalogue, dataset_sha256);
}

Experiment load_layout(const std::string& path_or_name, const Catalogue& catalogue, Scale scale) {
  Overrides overrides;
  overrides.scale = scale;
  return load_experiment(path_or_name, overrides, catalogue,
                         [](const std::string&) { return std::string(); });
}

}  // namespace approx
