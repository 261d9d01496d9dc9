#include "core/experiment/axes_reader.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/known_names.h"
#include "core/config/named_schedule.h"
#include "core/experiment/files.h"
#include "core/experiment/recipe_reader.h"
#include "core/experiment/schedule_reader.h"
#include "core/experiment/seeds_reader.h"
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

class Reader {
 public:
  explicit Reader(const AxesContext& context)
      : source_(context.source), catalogue_(context.catalogue), overridden_(context.overridden) {}

  void read(const toml::table& table, const std::string& path, Axes& axes) const {
    if (const auto* node = table.get("network")) {
      axes.networks.clear();
      source_.each(*node, path + "network", [&](const toml::node& item, const std::string& at) {
        add_labelled(axes.networks, item, at, "network",
                     [&](const std::string& text) { return catalogue_.network_params(text); });
      });
    }
    if (const auto* node = table.get("method")) {
      const auto known = std::exchange(axes.methods, {});
      source_.each(*node, path + "method", [&](const toml::node& item, const std::string& at) {
        if (add_known(axes.methods, item, known)) return;
        add_labelled(axes.methods, item, at, "method",
                     [&](const std::string& text) { return catalogue_.method_params(text); });
      });
    }
    if (const auto* node = table.get("schedule")) {
      const auto known = std::exchange(axes.schedules, {});
      source_.each(*node, path + "schedule", [&](const toml::node& item, const std::string& at) {
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
        axes.scalars[key] = read_scalars(*node, path + key, key, /*conditional=*/true);
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
      source_.each(*node, path + "recipe", [&](const toml::node& item, const std::string& at) {
        axes.recipes.push_back(read_recipe(source_, item, at));
      });
    }
    if (const auto* node = table.get("zip")) axes.zipped = read_zip(*node, path + "zip");
    check_zip(table, path, axes);
    for (const auto& key : conditional_axes()) read_conditions(table, path, key, axes);
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
      selection.methods =
          labels_of(*value, path + ".method", blocks, &Axes::methods,
                    [&](const auto& t) { return catalogue_.method_params(t).full_text(); });
    }
    if (const auto* value = table.get("schedule")) {
      selection.schedules = labels_of(*value, path + ".schedule", blocks, &Axes::schedules,
                                      [](const auto&) { return std::string(); });
    }
    if (const auto* value = table.get("network")) {
      selection.networks =
          labels_of(*value, path + ".network", blocks, &Axes::networks,
                    [&](const auto& t) { return catalogue_.network_params(t).full_text(); });
    }
    if (const auto* value = table.get("purpose")) {
      for (const auto& text : source_.texts(*value, path + ".purpose")) {
        selection.purposes.push_back(
            source_.at(*value, path + ".purpose", [&] { return parse_purpose(text); }));
      }
    }
    for (const auto& key : scalar_keys()) {
      if (const auto* value = table.get(key)) {
        selection.scalars[key] = read_scalars(*value, path + "." + key, key, /*conditional=*/false);
      }
    }
    return selection;
  }

  // The `when` of the values that `table` has of the axis `key`. What it names by a label of the
  // grid keeps the condition that it has there.
  void read_conditions(const toml::table& table, const std::string& path, const std::string& key,
                       Axes& axes) const {
    const auto* node = table.get(key);
    if (node == nullptr) return;
    std::vector<Condition> before;
    for (const auto& condition : axes.conditions) {
      if (condition.axis == key) before.push_back(condition);
    }
    std::erase_if(axes.conditions, [&](const Condition& known) { return known.axis == key; });
    size_t number = 0;
    source_.each(*node, path + key, [&](const toml::node& item, const std::string& at) {
      const Json value = value_of(axes, key, number++);
      const auto* entry = item.as_table();
      if (entry == nullptr) {
        const auto label = item.value_exact<std::string>();
        for (const auto& known : before) {
          if (label && Json(*label) == known.value) axes.conditions.push_back(known);
        }
      } else if (const auto* when = entry->get("when")) {
        axes.conditions.push_back(read_condition(*when, at + ".when", key, value, axes));
      }
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
  template <typename Check>
  void add_labelled(std::vector<Labelled>& axis, const toml::node& item, const std::string& path,
                    const char* key, Check&& check) const {
    Labelled value;
    const toml::node* text_node = &item;
    std::string text_path = path;
    if (const auto* table = item.as_table()) {
      source_.check_keys(*table, path, {"label", key, "when"});
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

  // `conditional`: each is a value, or `{value = ..., when = {...}}`.
  std::vector<Json> read_scalars(const toml::node& node, const std::string& path,
                                 const std::string& key, bool conditional) const {
    std::vector<Json> values;
    source_.each(node, path, [&](const toml::node& given, const std::string& at) {
      const toml::node& item = conditional ? value_in(given, at) : given;
      Json value = source_.scalar(item, at);
      if (item.is_string()) source_.text(item, at);
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
      if (key == "kernel_rules") {
        config.kernel_rules =
            source_.at(item, at, [&] { return rules_text(item, config.kernel_rules); });
      }
      value = scalar_settings(config).at(key);
      if (std::count(values.begin(), values.end(), value) > 0) {
        throw source_.error(item, at, "{} is given twice", value.dump());
      }
      values.push_back(std::move(value));
    });
    return values;
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
                  Axis Axes::*axis, Full&& full_text) const {
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

  static bool same_text(const Labelled& value, const std::string& full) {
    return !full.empty() && value.text == full;
  }
  static bool same_text(const LabelledSchedule&, const std::string&) { return false; }

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
