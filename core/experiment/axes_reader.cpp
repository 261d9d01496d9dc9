#include "core/experiment/axes_reader.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/known_names.h"
#include "core/config/named_schedule.h"
#include "core/experiment/files.h"
#include "core/experiment/recipe_reader.h"
#include "core/experiment/schedule_reader.h"
#include "core/experiment/seeds_reader.h"
#include "core/experiment/value_ranges.h"
#include "products/rules.h"

namespace approx {
namespace {

// Axes whose values may be zipped and have conditions.
const Names& conditional_axes() {
  static const Names keys = with_scalars({"method", "schedule", "network", "recipe"});
  return keys;
}

template <typename T>
bool has_label(const std::vector<T>& axis, std::string_view label) {
  return std::any_of(axis.begin(), axis.end(),
                     [label](const T& value) { return value.label == label; });
}

// In an extra, a method or a schedule may be named by its label in the grid.
template <typename T>
bool add_known(std::vector<T>& axis, const toml::node& item, const std::vector<T>& known) {
  const auto label = item.value_exact<std::string>();
  const auto same = std::find_if(known.begin(), known.end(), [&label](const T& value) {
    return label && value.label == *label;
  });
  if (same == known.end()) return false;
  axis.push_back(*same);
  return true;
}

// Leaves of `values` those that `wanted` has too; false where there are none.
template <typename T>
bool keep_common(std::vector<T>& values, const std::vector<T>& wanted) {
  const std::set<T> known(wanted.begin(), wanted.end());
  const auto foreign = [&](const T& value) { return !known.contains(value); };
  values.erase(std::remove_if(values.begin(), values.end(), foreign), values.end());
  return !values.empty();
}

// Leaves those that are run; where that is none, the first ones are, as without a list.
void keep_timed_seeds(Axes& axes) {
  if (!keep_common(*axes.timing_seeds, axes.seeds)) axes.timing_seeds.reset();
}

// How many values an axis had after each item of its list, by key. The text of an item may be a
// range.
using Ends = std::map<std::string, std::vector<size_t>>;

class Reader {
 public:
  explicit Reader(const AxesContext& context)
      : source_(context.source), catalogue_(context.catalogue), overridden_(context.overridden) {}

  void read(const toml::table& table, const std::string& path, Axes& axes) const {
    Ends ends;
    if (const auto* node = table.get("network")) {
      axes.networks.clear();
      each_value(*node, path, "network", axes.networks, ends,
                 [&](const auto& item, const auto& at) {
                   add_labelled(axes.networks, item, at, "network", networks());
                 });
    }
    if (const auto* node = table.get("method")) {
      const auto known = std::exchange(axes.methods, {});
      each_value(*node, path, "method", axes.methods, ends, [&](const auto& item, const auto& at) {
        if (add_known(axes.methods, item, known)) return;
        add_labelled(axes.methods, item, at, "method", methods());
      });
    }
    if (const auto* node = table.get("schedule")) {
      const auto known = std::exchange(axes.schedules, {});
      each_value(
          *node, path, "schedule", axes.schedules, ends, [&](const auto& item, const auto& at) {
            if (add_known(axes.schedules, item, known)) return;
            auto schedule = read_schedule(source_, item, at, catalogue_);
            if (has_label(axes.schedules, schedule.label)) {
              throw source_.error(item, at, "the label \"{}\" is used twice", schedule.label);
            }
            axes.schedules.push_back(std::move(schedule));
          });
    }
    if (axes.schedules.empty()) axes.schedules.push_back({"slice", make_schedule("slice"), {}});
    for (const auto& key : scalar_keys()) {
      if (const auto* node = table.get(key)) {
        axes.scalars[key] = read_scalars(*node, path + key, key, &ends[key]);
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
    if (const auto* node = table.get("seeds"))
      axes.seeds = read_seeds(source_, *node, path + "seeds");
    if (const auto* node = table.get("timing_seeds")) {
      axes.timing_seeds = read_seeds(source_, *node, path + "timing_seeds");
      if (fewer_seeds_are_meant()) keep_timed_seeds(axes);
    }
    if (const auto* node = table.get("recipe")) {
      axes.recipes.clear();
      each_value(*node, path, "recipe", axes.recipes, ends, [&](const auto& item, const auto& at) {
        for (auto& recipe : read_recipes(source_, item, at)) {
          axes.recipes.push_back(std::move(recipe));
        }
      });
    }
    if (const auto* node = table.get("zip")) axes.zipped = read_zip(*node, path + "zip");
    check_zip(table, path, axes);
    for (const auto& key : conditional_axes()) read_conditions(table, path, key, ends, axes);
  }

  std::optional<Axes> read_extra(const toml::table& table, const std::string& path,
                                 const std::vector<Axes>& blocks) const {
    Names known = axis_keys();
    known.insert(known.end(), {"label", "tune", "zip"});
    source_.check_keys(table, path, known);
    // Its methods, schedules, networks and recipe are what its rows are about, and may be named by
    // labels that the flag took away.
    for (const char* key : {"method", "schedule", "network", "recipe"}) {
      if (table.contains(key) && overridden_.keys.count(key) > 0) return std::nullopt;
    }
    Axes axes = blocks.front();
    // What it says of an axis itself goes with no value of the grid's other axes.
    std::erase_if(axes.zipped, [&](const Names& group) {
      return std::any_of(group.begin(), group.end(),
                         [&](const std::string& key) { return table.contains(key); });
    });
    read(table, path + ".", axes);
    for (const auto& key : overridden_.keys) {
      if (table.contains(key) && !keep_wanted(key, blocks.front(), axes)) return std::nullopt;
    }
    if (const auto* tune = table.get("tune")) {
      if (tune->value_exact<bool>() != false) {
        throw source_.error(*tune, path + ".tune",
                            "can only be false, in a file that tunes the other rows");
      }
      axes.tuned = false;
    }
    if (const auto* label = table.get("label")) {
      if (axes.methods.size() != 1) {
        throw source_.error(*label, path + ".label", "labels one method, but there are {}",
                            axes.methods.size());
      }
      const auto text = source_.text(*label, path + ".label");
      for (const auto& block : blocks) {
        if (has_label(block.methods, text)) {
          throw source_.error(*label, path + ".label", "the label \"{}\" is used twice", text);
        }
      }
      for (auto& condition : axes.conditions) {
        if (condition.axis == "method") condition.value = text;
      }
      axes.methods[0].label = text;
    }
    return axes;
  }

  Exclusion read_exclusion(const toml::table& table, const std::string& path,
                           const std::vector<Axes>& blocks) const {
    check_selection_keys(table, path, {"reason"});
    const auto* reason = table.get("reason");
    if (reason == nullptr) {
      throw source_.error(table, path, "reason is missing; a cell left out keeps its reason");
    }
    const std::string why = source_.text(*reason, path + ".reason");
    if (table.size() == 1) refuse_all(table, path);
    return {read_selection(table, path, blocks), why};
  }

 private:
  using Specs = const std::vector<ParamSpec>&;

  // How the text of a method or network is read: its declaration, by name, and the check of all.
  struct Declared {
    std::function<Specs(std::string_view)> params;
    std::function<Params(const std::string&)> check;

    // The texts that a text stands for. Its check says what is wrong with a name.
    Names texts(const std::string& text) const {
      const std::vector<ParamSpec>* specs = nullptr;
      try {
        specs = &params(parse_spec(text).name);
      } catch (const Error&) {
        return {text};
      }
      return spec_texts(text, *specs);
    }
  };

  Declared methods() const {
    return {.params = [&](auto name) -> Specs { return catalogue_.method(name).params; },
            .check = [&](const auto& text) { return catalogue_.method_params(text); }};
  }

  Declared networks() const {
    return {.params = [&](auto name) -> Specs { return catalogue_.network(name).params; },
            .check = [&](const auto& text) { return catalogue_.network_params(text); }};
  }

  // Reads the items of an axis, each of which adds values to `axis`.
  template <typename Axis, typename Read>
  void each_value(const toml::node& node, const std::string& path, const std::string& key,
                  const Axis& axis, Ends& ends, Read&& read) const {
    source_.each(node, path + key, [&](const toml::node& item, const std::string& at) {
      read(item, at);
      ends[key].push_back(axis.size());
    });
  }

  // `around`: keys that do not select.
  void check_selection_keys(const toml::table& table, const std::string& path,
                            const Names& around) const {
    Names known = with_scalars({"method", "schedule", "network", "purpose"});
    known.insert(known.end(), around.begin(), around.end());
    source_.check_keys(table, path, known);
  }

  void refuse_all(const toml::table& table, const std::string& path) const {
    throw source_.error(table, path, "selects everything; name a method, schedule or network");
  }

  Selection read_selection(const toml::table& table, const std::string& path,
                           const std::vector<Axes>& blocks) const {
    Selection selection;
    if (const auto* value = table.get("method")) {
      selection.methods = labels_of(*value, path + ".method", blocks, &Axes::methods,
                                    [&](const auto& t) { return full_texts(methods(), t); });
    }
    if (const auto* value = table.get("schedule")) {
      selection.schedules = labels_of(*value, path + ".schedule", blocks, &Axes::schedules,
                                      [](const auto&) { return Names(); });
    }
    if (const auto* value = table.get("network")) {
      selection.networks = labels_of(*value, path + ".network", blocks, &Axes::networks,
                                     [&](const auto& t) { return full_texts(networks(), t); });
    }
    if (const auto* value = table.get("purpose")) {
      for (const auto& text : source_.texts(*value, path + ".purpose")) {
        selection.purposes.push_back(
            source_.at(*value, path + ".purpose", [&] { return parse_purpose(text); }));
      }
    }
    for (const auto& key : scalar_keys()) {
      if (const auto* value = table.get(key)) {
        selection.scalars[key] = read_scalars(*value, path + "." + key, key, nullptr);
      }
    }
    return selection;
  }

  // The `when` of the values that `table` has of the axis `key`. What it names by a label of the
  // grid keeps the condition that it has there.
  void read_conditions(const toml::table& table, const std::string& path, const std::string& key,
                       const Ends& ends, Axes& axes) const {
    const auto* node = table.get(key);
    if (node == nullptr) return;
    std::vector<Condition> before;
    for (const auto& condition : axes.conditions) {
      if (condition.axis == key) before.push_back(condition);
    }
    std::erase_if(axes.conditions, [&](const Condition& known) { return known.axis == key; });
    size_t number = 0;
    auto end = ends.at(key).begin();
    source_.each(*node, path + key, [&](const toml::node& item, const std::string& at) {
      const auto* entry = item.as_table();
      const auto label = item.value_exact<std::string>();
      for (const auto& known : before) {
        if (label && Json(*label) == known.value) axes.conditions.push_back(known);
      }
      const auto* when = entry == nullptr ? nullptr : entry->get("when");
      for (; number < *end; ++number) {
        if (when == nullptr) continue;
        const Json value = value_of(axes, key, number);
        axes.conditions.push_back(read_condition(*when, at + ".when", key, value, axes));
      }
      ++end;
    });
  }

  Condition read_condition(const toml::node& node, const std::string& path, const std::string& key,
                           const Json& value, const Axes& axes) const {
    const auto& table = source_.table(node, path);
    check_selection_keys(table, path, {});
    if (table.empty()) refuse_all(table, path);
    if (table.contains(key)) {
      throw source_.error(node, path, "{} cannot depend on {} itself", key, key);
    }
    Condition condition{.axis = key,
                        .value = value,
                        .when = read_selection(table, path, {axes}),
                        .place = source_.place(node.source(), path)};
    const std::string what = key == "recipe"     ? "this recipe"
                             : value.is_string() ? key + " " + value.get<std::string>()
                                                 : key + " " + value.dump();
    condition.reason = fmt::format("{} is for {} alone", what, text_of(condition.when));
    return condition;
  }

  // As a condition has it.
  static Json value_of(const Axes& axes, const std::string& key, size_t number) {
    if (key == "method") return axes.methods.at(number).label;
    if (key == "schedule") return axes.schedules.at(number).label;
    if (key == "network") return axes.networks.at(number).label;
    if (key == "recipe") return number;
    return axes.scalars.at(key).at(number);
  }

  // `["method", "schedule"]`, or a list of such groups.
  std::vector<Names> read_zip(const toml::node& node, const std::string& path) const {
    const Names& known = conditional_axes();
    std::vector<Names> groups;
    std::set<std::string> seen;
    const auto read_group = [&](const toml::node& group, const std::string& at) {
      const Names keys = source_.texts(group, at);
      if (keys.size() < 2) {
        throw source_.error(group, at, "expected two axes or more that go together");
      }
      for (const auto& key : keys) {
        if (std::find(known.begin(), known.end(), key) == known.end()) {
          throw source_.error(group, at, "\"{}\" is not an axis that can be zipped{}", key,
                              known_names(key, known));
        }
        if (!seen.insert(key).second) throw source_.error(group, at, "{} is named twice", key);
      }
      groups.push_back(keys);
    };
    const auto* list = node.as_array();
    const bool several = list != nullptr && !list->empty() && list->front().is_array();
    if (!several) return read_group(node, path), groups;
    source_.each(node, path, read_group);
    return groups;
  }

  void check_zip(const toml::table& table, const std::string& path, const Axes& axes) const {
    for (const auto& group : axes.zipped) {
      for (const auto& key : group) {
        const size_t first = values_of(axes, group.front()), now = values_of(axes, key);
        if (first == now) continue;
        const auto* node = table.get("zip");
        const bool by_flag =
            overridden_.keys.contains(key) || overridden_.keys.contains(group.front());
        throw source_.error(node != nullptr ? *node : table, path + "zip",
                            "{} of {} and {} of {}: zipped axes need equally many values{}", first,
                            group.front(), now, key,
                            by_flag ? "; a flag that replaces one must replace both" : "");
      }
    }
  }

  // `"name:..."` or `{label = "...", KEY = "name:..."}`.
  void add_labelled(std::vector<Labelled>& axis, const toml::node& item, const std::string& path,
                    const char* key, const Declared& declared) const {
    std::string given_label;
    const toml::node* text_node = &item;
    std::string text_path = path;
    if (const auto* table = item.as_table()) {
      source_.check_keys(*table, path, {"label", key, "when"});
      text_node = table->get(key);
      text_path = path + "." + key;
      if (text_node == nullptr) throw source_.error(item, path, "{} is missing", key);
      if (const auto* label = table->get("label")) {
        given_label = source_.text(*label, path + ".label");
      }
    }
    const std::string text = source_.text(*text_node, text_path);
    const auto texts = source_.at(*text_node, text_path, [&] { return declared.texts(text); });
    if (texts.size() > 1 && !given_label.empty()) {
      throw source_.error(item, path + ".label", "labels one {}, but there are {}", key,
                          texts.size());
    }
    for (const auto& one : texts) {
      const Params params = source_.at(*text_node, text_path, [&] { return declared.check(one); });
      Labelled value{given_label, params.full_text()};
      if (value.label.empty()) value.label = params.to_string();
      if (has_label(axis, value.label)) {
        throw source_.error(item, path, "the label \"{}\" is used twice", value.label);
      }
      axis.push_back(std::move(value));
    }
  }

  // `ends`: of an axis, each of whose items may be `{value = ..., when = {...}}`; null: of a
  // selection.
  std::vector<Json> read_scalars(const toml::node& node, const std::string& path,
                                 const std::string& key, std::vector<size_t>* ends) const {
    static const std::vector<ParamSpec> specs = run_specs();
    const auto& spec = *std::ranges::find(specs, key, &ParamSpec::name);
    std::vector<Json> values;
    source_.each(node, path, [&](const toml::node& given, const std::string& at) {
      const toml::node& item = ends != nullptr ? value_in(given, at) : given;
      const Json scalar = source_.scalar(item, at);
      if (item.is_string()) source_.text(item, at);
      for (const auto& one : source_.at(item, at, [&] { return setting_values(spec, scalar); })) {
        read_scalar(item, at, key, one, values);
      }
      if (ends != nullptr) ends->push_back(values.size());
    });
    return values;
  }

  void read_scalar(const toml::node& item, const std::string& at, const std::string& key,
                   Json value, std::vector<Json>& values) const {
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
    if (key == "selection") {
      auto& text = config.selection;
      if (text == kNoSelection) text.clear();
      if (!text.empty()) {
        text = source_.at(item, at, [&] { return catalogue_.selection_params(text); }).full_text();
      }
    }
    if (key == "kernel_rules") {
      config.kernel_rules =
          source_.at(item, at, [&] { return rules_text(item, config.kernel_rules); });
    }
    value = scalar_settings(config).at(key);
    if (std::count(values.begin(), values.end(), value) > 0) {
      throw source_.error(item, at, "{} is given twice", value.dump());
    }
    values.push_back(std::move(value));
  }

  const toml::node& value_in(const toml::node& node, const std::string& path) const {
    const auto* table = node.as_table();
    if (table == nullptr) return node;
    source_.check_keys(*table, path, {"value", "when"});
    if (const auto* value = table->get("value")) return *value;
    throw source_.error(node, path, "value is missing");
  }

  // The text of the table that is meant: of a file, which is looked for from the folder of the
  // experiment where that names it, or "" of the built-in one.
  std::string rules_text(const toml::node& item, const std::string& file) const {
    if (file.empty() || file == "builtin") return "";
    std::filesystem::path path = file;
    if (item.source().begin.line > 0) {
      path = std::filesystem::path(source_.name()).parent_path() / path;
    }
    std::string text = read_toml_file(path);
    source_.add_read(path.string());
    // Says what is wrong with it, and where.
    const KernelRules read(text, path.string(), names_of(catalogue_.ruled_variants));
    return text;
  }

  // With the seeds alone replaced by a flag or a scale, only those are timed that are run.
  bool fewer_seeds_are_meant() const {
    if (overridden_.keys.contains("timing_seeds")) return false;
    if (overridden_.keys.contains("seeds")) return true;
    return overridden_.scale_keys.contains("seeds") &&
           !overridden_.scale_keys.contains("timing_seeds");
  }

  // Leaves of the axis `key` of an extra what the flag that replaced it names; false where that
  // is nothing.
  static bool keep_wanted(const std::string& key, const Axes& wanted, Axes& axes) {
    if (key == "purpose") return keep_common(axes.purposes, wanted.purposes);
    if (key == "seeds") {
      if (!keep_common(axes.seeds, wanted.seeds)) return false;
      if (axes.timing_seeds) keep_timed_seeds(axes);
      return true;
    }
    if (key == "timing_seeds") {
      if (!axes.timing_seeds || !wanted.timing_seeds) return true;
      return keep_common(*axes.timing_seeds, *wanted.timing_seeds);
    }
    return keep_common(axes.scalars.at(key), wanted.scalars.at(key));
  }

  // The labels that the texts of an exclusion mean, each a label itself or the text of one.
  template <typename Axis, typename Full>
  Names labels_of(const toml::node& node, const std::string& path, const std::vector<Axes>& blocks,
                  Axis Axes::*axis, Full&& full_texts) const {
    Names found;
    source_.each(node, path, [&](const toml::node& item, const std::string& at) {
      const std::string text = source_.text(item, at);
      Names labels, full;
      try {
        full = full_texts(text);
      } catch (const Error&) {
        // A label need not be the text of anything.
      }
      bool any = false;
      for (const auto& block : blocks) {
        for (const auto& value : block.*axis) {
          labels.push_back(value.label);
          if (value.label != text && !same_text(value, full)) continue;
          found.push_back(value.label);
          any = true;
        }
      }
      if (!any && overridden_.keys.empty()) {
        throw source_.error(item, at, "\"{}\" is not in this experiment{}", text,
                            known_names(text, labels));
      }
      if (!any) found.push_back(text);
    });
    return found;
  }

  // The full texts of all that a text stands for.
  static Names full_texts(const Declared& declared, const std::string& text) {
    Names full;
    for (const auto& one : declared.texts(text)) full.push_back(declared.check(one).full_text());
    return full;
  }

  static bool same_text(const Labelled& value, const Names& full) {
    return contains(full, value.text);
  }
  static bool same_text(const LabelledSchedule&, const Names&) { return false; }

  const TomlSource& source_;
  const Catalogue& catalogue_;
  const Overridden& overridden_;
};

}  // namespace

void read_axes(const AxesContext& context, const toml::table& table, const std::string& path,
               Axes& axes) {
  Reader(context).read(table, path, axes);
}

std::optional<Axes> read_extra(const AxesContext& context, const toml::table& table,
                               const std::string& path, const std::vector<Axes>& blocks) {
  return Reader(context).read_extra(table, path, blocks);
}

Exclusion read_exclusion(const AxesContext& context, const toml::table& table,
                         const std::string& path, const std::vector<Axes>& blocks) {
  return Reader(context).read_exclusion(table, path, blocks);
}

}  // namespace approx
