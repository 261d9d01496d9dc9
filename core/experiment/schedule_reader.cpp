#include "core/experiment/schedule_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/numbers.h"
#include "core/config/named_schedule.h"

namespace approx {
namespace {

const Names& rule_keys() {
  static const Names keys = {"layers", "steps",  "products", "method", "from", "until",
                             "ranks",  "chance", "epochs",   "rate",   "rates"};
  return keys;
}

// The keys of all forms of a schedule. A slip in one of them is refused as such before a key that
// another form lacks.
const Names& schedule_keys() {
  static const Names keys = [] {
    Names all = {"label", "schedule", "rules", "matrix", "key", "when"};
    all.insert(all.end(), rule_keys().begin(), rule_keys().end());
    return all;
  }();
  return keys;
}

class ScheduleReader {
 public:
  ScheduleReader(const TomlSource& source, const Catalogue& catalogue)
      : source_(source), catalogue_(catalogue) {}

  LabelledSchedule read(const toml::node& node, const std::string& path) const {
    LabelledSchedule schedule;
    if (node.is_string()) {
      const std::string text = source_.text(node, path);
      schedule.rules = source_.at(node, path, [&] { return make_schedule(text); });
      check_rules(schedule.rules, node, path);
      schedule.label = trim(text);
      stand_at(schedule, node, path);
      return schedule;
    }
    const auto& table = source_.table(node, path);
    source_.check_keys(table, path, schedule_keys());
    const auto* label = table.get("label");
    if (label != nullptr) schedule.label = source_.text(*label, path + ".label");
    if (const auto* name = table.get("schedule")) {
      source_.check_keys(table, path, {"label", "schedule", "when"});
      source_.text(*name, path + ".schedule");  // no table in a table
      const auto named = read(*name, path + ".schedule");
      schedule.rules = named.rules;
      schedule.places = named.places;
      if (label == nullptr) schedule.label = named.label;
      return schedule;
    }
    if (label == nullptr) {
      throw source_.error(node, path, "label is missing; a table shows the schedule by it");
    }
    if (const auto* rules = table.get("rules")) {
      source_.check_keys(table, path, {"label", "rules", "when"});
      if (!rules->is_array()) {
        throw source_.error(*rules, path + ".rules", "expected a list of rules, got {}",
                            type_name(*rules));
      }
      source_.each(*rules, path + ".rules", [&](const toml::node& item, const std::string& at) {
        schedule.rules.push_back(read_rule(source_.table(item, at), at, {}));
        schedule.places.push_back(source_.place(item.source(), at));
      });
    } else if (const auto* matrix = table.get("matrix")) {
      source_.check_keys(table, path, {"label", "matrix", "key", "products", "when"});
      const auto rows = source_.texts(*matrix, path + ".matrix");
      schedule.matrix_rows = rows.size();
      schedule.rules = read_matrix(table, *matrix, rows, path);
      stand_at(schedule, *matrix, path + ".matrix");
    } else {
      schedule.rules.push_back(
          read_rule(table, path, {"label", "schedule", "rules", "matrix", "when"}));
      stand_at(schedule, node, path);
    }
    return schedule;
  }

 private:
  // Rules that one node stands for.
  void stand_at(LabelledSchedule& schedule, const toml::node& node, const std::string& path) const {
    const std::string place = source_.place(node.source(), path);
    const bool several = schedule.rules.size() > 1;
    for (size_t i = 0; i < schedule.rules.size(); ++i) {
      schedule.places.push_back(several ? fmt::format("{}, rule {}", place, i + 1) : place);
    }
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
    Names known = rule_keys();
    known.insert(known.end(), around.begin(), around.end());
    source_.check_keys(table, path, known);
    Rule rule;
    const auto read = [&](const char* key, std::string& member) {
      const auto* node = table.get(key);
      if (node == nullptr) return;
      const std::string at = path + "." + key;
      // `layers = 2` and `steps = 0` are as clear as their texts.
      const auto integer = node->value_exact<int64_t>();
      const auto is = [key](std::string_view one) { return key == one; };
      const bool selector = is("layers") || is("steps") || is("ranks") || is("epochs");
      const auto real = is("chance") || is("rate") ? node->value<double>() : std::nullopt;
      member = integer && selector ? fmt::format("{}", *integer)
               : real              ? shortest(*real)
                                   : source_.text(*node, at);
      if (is("ranks") && member.empty()) throw source_.error(*node, at, "an empty selection");
      Rule alone;
      if (is("layers")) alone.layers = member;
      if (is("steps")) alone.steps = member;
      if (is("method")) alone.method = member;
      if (is("from")) alone.from = member;
      if (is("until")) alone.until = member;
      if (is("ranks")) alone.ranks = member;
      if (is("chance")) alone.chance = member;
      if (is("epochs")) alone.epochs = member;
      if (is("rate")) alone.rate = member;
      if (is("rates")) alone.rates = member;
      check_rules({alone}, *node, at);
    };
    read("layers", rule.layers);
    read("steps", rule.steps);
    read("method", rule.method);
    read("from", rule.from);
    read("until", rule.until);
    read("ranks", rule.ranks);
    read("chance", rule.chance);
    read("epochs", rule.epochs);
    read("rate", rule.rate);
    read("rates", rule.rates);
    if (const auto* node = table.get("products")) {
      rule.products = read_products(*node, path + ".products");
    }
    check_rules({rule}, table, path);
    return rule;
  }

  std::vector<Rule> read_matrix(const toml::table& table, const toml::node& matrix,
                                const std::vector<std::string>& rows,
                                const std::string& path) const {
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

  const TomlSource& source_;
  const Catalogue& catalogue_;
};

}  // namespace

LabelledSchedule read_schedule(const TomlSource& source, const toml::node& node,
                               const std::string& path, const Catalogue& catalogue) {
  return ScheduleReader(source, catalogue).read(node, path);
}

}  // namespace approx
