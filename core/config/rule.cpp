#include "core/config/rule.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "core/config/dense.h"
#include "core/config/layer_selector.h"
#include "core/config/position.h"
#include "core/config/slice.h"
#include "core/config/slice_union.h"
#include "core/config/step_draws.h"

namespace approx {
namespace {

// Where a rule begins and ends; nothing where that is with the training.
std::optional<Position> beginning(const Rule& rule) {
  if (rule.from.empty()) return std::nullopt;
  const auto from = parse_position(rule.from);
  const bool is_later = from.value > 0 || from.unit == Position::Unit::kPlateau;
  return is_later ? std::optional(from) : std::nullopt;
}

std::optional<Position> ending(const Rule& rule) {
  if (rule.until.empty()) return std::nullopt;
  const auto until = parse_position(rule.until);
  const bool is_earlier = until != Position{1, Position::Unit::kDuration};
  return is_earlier ? std::optional(until) : std::nullopt;
}

// Whether steps begin after their first round, or end.
bool has_window(const Slice& steps) { return steps.stop >= 0 || steps.start >= steps.step; }

// Whether a rule holds for some epochs and not for others.
bool has_epochs(const Rule& rule) { return parse_epochs(rule.epochs) != Slice(); }

// One spelling of them.
void set_epochs_and_rates(const Rule& rule, Rule& spelt) {
  if (has_epochs(rule))
    spelt.epochs = to_text(canonical_union({parse_epochs(rule.epochs)}).front());
  if (const double rate = parse_rate(rule.rate); rate != 1) spelt.rate = shortest(rate);
  if (is_by_sensitivity(rule.rates)) spelt.rates = "sensitivity";
}

}  // namespace

double parse_rate(std::string_view text) {
  if (text.empty()) return 1;
  constexpr double kMost = 1000;
  const auto rate = parse_real(trim(text), 0, kMost);
  if (rate && *rate > 0) return *rate;
  throw usage_error("rate = {}: expected a factor on the learning rate, above 0 and at most {}",
                    quote(text), kMost);
}

bool is_by_sensitivity(std::string_view rates) {
  const auto text = trim(rates);
  if (text == "sensitivity") return true;
  if (text.empty() || text == "equal") return false;
  throw usage_error("rates = {}: expected equal or sensitivity", quote(rates));
}

Product parse_product(std::string_view text) {
  std::vector<std::string> names;
  for (const auto product : kAllProducts) {
    if (name(product) == trim(text)) return product;
    names.emplace_back(name(product));
  }
  throw usage_error("unknown product {}{}; expected {}", quote(text), did_you_mean(text, names),
                    fmt::join(names, ", "));
}

void to_json(Json& json, const Rule& rule) {
  json = Json{{"layers", rule.layers}, {"steps", rule.steps}, {"method", rule.method},
              {"from", rule.from},     {"until", rule.until}, {"products", Json::array()}};
  for (const auto product : rule.products) json["products"].push_back(name(product));
  // Rules were written without them, and keys of runs are made of what is written.
  if (!rule.ranks.empty()) json["ranks"] = rule.ranks;
  if (!rule.chance.empty()) json["chance"] = rule.chance;
  if (!rule.epochs.empty()) json["epochs"] = rule.epochs;
  if (!rule.rate.empty()) json["rate"] = rule.rate;
  if (!rule.rates.empty()) json["rates"] = rule.rates;
}

void from_json(const Json& json, Rule& rule) {
  if (!json.is_object()) throw usage_error("rule: expected an object, got {}", json.type_name());
  static const std::vector<std::string> kKeys = {"layers", "steps",    "method", "from",
                                                 "until",  "products", "ranks",  "chance",
                                                 "epochs", "rate",     "rates"};
  rule = Rule();
  for (const auto& [key, value] : json.items()) {
    if (key == "products") {
      if (!value.is_array()) throw usage_error("products: expected a list of texts");
      for (const auto& product : value) {
        if (!product.is_string()) throw usage_error("products: expected a list of texts");
        rule.products.push_back(parse_product(product.get_ref<const std::string&>()));
      }
      continue;
    }
    std::string* target = key == "layers"   ? &rule.layers
                          : key == "steps"  ? &rule.steps
                          : key == "method" ? &rule.method
                          : key == "from"   ? &rule.from
                          : key == "until"  ? &rule.until
                          : key == "ranks"  ? &rule.ranks
                          : key == "chance" ? &rule.chance
                          : key == "epochs" ? &rule.epochs
                          : key == "rate"   ? &rule.rate
                          : key == "rates"  ? &rule.rates
                                            : nullptr;
    if (target == nullptr) {
      throw usage_error("unknown key \"{}\" of a rule{}; known: {}", key, did_you_mean(key, kKeys),
                        fmt::join(kKeys, ", "));
    }
    if (!value.is_string()) {
      throw usage_error("{}: expected a text, got {}", key, value.type_name());
    }
    *target = value.get<std::string>();
  }
}

std::string resolved_method(const Rule& rule, std::string_view method, const Catalogue& catalogue) {
  const std::string_view text = rule.method.empty() ? method : std::string_view(rule.method);
  if (is_mixed(trim(text))) {
    throw usage_error("layers = {}: the method is \"mixed\", so each rule must name its own method",
                      quote(rule.layers));
  }
  return catalogue.method_params(text).full_text();
}

std::vector<Product> resolved_products(const Rule& rule, const std::string& method,
                                       const Catalogue& catalogue) {
  const auto has = [](const std::vector<Product>& list, Product product) {
    return std::find(list.begin(), list.end(), product) != list.end();
  };
  const bool dense = is_dense(method);
  const auto* info = dense ? nullptr : &catalogue.method(parse_spec(method).name);
  const std::vector<Product> able =
      dense ? std::vector<Product>(kAllProducts.begin(), kAllProducts.end())
            : info->products_with(catalogue.method_params(method));
  std::vector<Product> products;
  for (const auto product : kAllProducts) {
    if (rule.products.empty() ? has(able, product) : has(rule.products, product)) {
      if (!has(able, product)) {
        std::vector<std::string_view> names;
        for (const auto known : able) names.push_back(name(known));
        throw usage_error("{} cannot approximate {}; it approximates {}",
                          info->products_of_mode.empty() ? info->name : method, name(product),
                          fmt::join(names, ", "));
      }
      products.push_back(product);
    }
  }
  if (products.size() != able.size() && draws_one_sample(method, catalogue)) {
    throw usage_error(
        "{} draws one sample for all its products: leave products out, or take another mode",
        method);
  }
  if (products.size() != able.size() && stops_blocks(method, catalogue)) {
    throw usage_error("{} ends a branch's backward pass, both of its gradients: leave products out",
                      method);
  }
  return products;
}

bool stops_blocks(const std::string& method, const Catalogue& catalogue) {
  return !is_dense(method) && catalogue.method(parse_spec(method).name).stops_blocks;
}

bool draws_one_sample(const std::string& method, const Catalogue& catalogue) {
  if (is_dense(method)) return false;
  const auto& info = catalogue.method(parse_spec(method).name);
  const auto& products = info.products_with(catalogue.method_params(method));
  return !info.products_of_mode.empty() && products.size() > 1 &&
         std::find(products.begin(), products.end(), Product::kForward) != products.end();
}

WindowUnits window_units(const std::vector<Rule>& rules) {
  WindowUnits units;
  for (const auto& rule : rules) {
    units.steps |= has_window(parse_steps(rule.steps));
    units.shares |= has_epochs(rule) || is_by_sensitivity(rule.rates);
    for (const auto& text : {rule.from, rule.until}) {
      if (text.empty()) continue;
      const auto position = parse_position(text);
      const bool is_end = position == Position{1, Position::Unit::kDuration};
      if (position.unit == Position::Unit::kPlateau || position.value == 0 || is_end) continue;
      (position.unit == Position::Unit::kBatches ? units.steps : units.shares) = true;
    }
  }
  return units;
}

std::string window_text(const Rule& rule) {
  std::vector<std::string> parts;
  if (has_window(parse_steps(rule.steps))) parts.push_back("steps = " + quote(rule.steps));
  if (has_epochs(rule)) parts.push_back("epochs = " + quote(rule.epochs));
  if (beginning(rule)) parts.push_back("from = " + quote(rule.from));
  if (ending(rule)) parts.push_back("until = " + quote(rule.until));
  if (is_by_sensitivity(rule.rates)) parts.push_back("rates = " + quote(rule.rates));
  return fmt::format("{}", fmt::join(parts, ", "));
}

int64_t first_step(const Rule& rule, int64_t steps_per_epoch, int64_t total_steps) {
  const int64_t epoch = parse_epochs(rule.epochs).start;
  const int64_t start = std::max(parse_steps(rule.steps).start, epoch * steps_per_epoch);
  const auto from = beginning(rule);
  return from ? std::max(start, from->step(steps_per_epoch, total_steps)) : start;
}

Rule canonical_rule(const Rule& rule, std::string_view method, const Catalogue& catalogue) {
  Rule canonical = respelled(rule);
  canonical.method = resolved_method(rule, method, catalogue);
  canonical.products = resolved_products(rule, canonical.method, catalogue);
  return canonical;
}

Rule canonical_rule_before(const Rule& rule, std::string_view method, const Catalogue& catalogue) {
  Rule before;
  before.method = resolved_method(rule, method, catalogue);
  before.products = resolved_products(rule, before.method, catalogue);
  before.method =
      catalogue.method_params(rule.method.empty() ? method : rule.method).text_with_signs();
  before.layers.clear();
  for (const auto& term : parse_layers(rule.layers)) {
    if (!before.layers.empty()) before.layers += '+';
    before.layers += term.to_string();
  }
  before.steps = to_text(parse_steps(rule.steps));
  if (const auto ranks = parse_ranks(rule.ranks); ranks != Slice()) before.ranks = to_text(ranks);
  if (!rule.chance.empty()) before.chance = canonical_chance(rule.chance);
  set_epochs_and_rates(rule, before);
  if (beginning(rule)) before.from = position_with_signs(rule.from);
  if (ending(rule)) before.until = position_with_signs(rule.until);
  return before;
}

Rule respelled(const Rule& rule) {
  Rule made;
  made.method = rule.method;
  for (const auto product : kAllProducts) {
    if (std::ranges::find(rule.products, product) != rule.products.end()) {
      made.products.push_back(product);
    }
  }
  made.layers = canonical_layers(rule.layers);
  made.steps = to_text(canonical_union({parse_steps(rule.steps)}).front());
  if (const auto ranks = parse_ranks(rule.ranks); ranks != Slice()) {
    made.ranks = to_text(canonical_union({ranks}).front());
  }
  if (!rule.chance.empty()) made.chance = canonical_chance(rule.chance);
  set_epochs_and_rates(rule, made);
  if (const auto from = beginning(rule)) made.from = to_text(*from);
  if (const auto until = ending(rule)) made.until = to_text(*until);
  return made;
}

void check_rule(const Rule& rule, const Catalogue& catalogue) {
  if (!rule.method.empty()) catalogue.method_params(rule.method);
  parse_layers(rule.layers);
  parse_steps(rule.steps);
  parse_ranks(rule.ranks);
  if (!rule.chance.empty()) parse_chance(rule.chance);
  parse_epochs(rule.epochs);
  parse_rate(rule.rate);
  is_by_sensitivity(rule.rates);
  const auto position = [](const char* key, const std::string& text) -> std::optional<Position> {
    if (text.empty()) return std::nullopt;
    try {
      return parse_position(text);
    } catch (const Error& error) {
      throw error.in(key);
    }
  };
  const auto from = position("from", rule.from);
  const auto until = position("until", rule.until);
  const auto known = [](const std::optional<Position>& position_given) {
    return position_given && position_given->unit != Position::Unit::kPlateau;
  };
  if (known(until) && until->value == 0) {
    throw usage_error("until: {} is before the first step", rule.until);
  }
  const bool same = from && until && *from == *until;
  if (same ||
      (known(from) && known(until) && from->unit == until->unit && from->value >= until->value)) {
    throw usage_error("until: {} does not lie after from = {}", rule.until, rule.from);
  }
}

std::vector<Rule> matrix_rules(const std::vector<std::string>& rows,
                               const std::vector<std::pair<char, std::string>>& key) {
  if (rows.empty() || rows[0].empty()) {
    throw usage_error("matrix: expected rows of letters, one row per convolution");
  }
  if (rows.size() * rows[0].size() > 10'000) {
    throw usage_error("matrix: {} x {} is more than 10,000 cells", rows.size(), rows[0].size());
  }
  std::vector<Rule> rules;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].size() != rows[0].size()) {
      throw usage_error("matrix: row {} has {} letters, row 1 has {}; make the rows equal", i + 1,
                        rows[i].size(), rows[0].size());
    }
    for (size_t j = 0; j < rows[i].size(); ++j) {
      const char letter = rows[i][j];
      if (letter == '.') continue;
      Rule rule;
      rule.layers = fmt::format("{}", i + 1);
      rule.steps = fmt::format("{}::{}", j, rows[i].size());
      if (letter != '*') {
        const auto found = std::find_if(
            key.begin(), key.end(), [letter](const auto& pair) { return pair.first == letter; });
        if (found == key.end()) {
          std::string known = ".*";
          for (const auto& pair : key) known += pair.first;
          throw usage_error(
              "matrix: row {}, column {}: '{}' is not in the key; known: {} (. is exact, * the "
              "method of the run)",
              i + 1, j + 1, letter, known);
        }
        rule.method = found->second;
      }
      rules.push_back(std::move(rule));
    }
  }
  return rules;
}

void check_matrix_rows(size_t rows, const std::vector<LayerInfo>& layers) {
  const auto convolutions = static_cast<size_t>(std::count_if(
      layers.begin(), layers.end(), [](const auto& layer) { return layer.is_conv(); }));
  if (rows == convolutions) return;
  throw usage_error(
      "matrix: {} row{}, and the network has {} convolution{}; write a row for each, of dots where "
      "it is exact",
      rows, rows == 1 ? "" : "s", convolutions, convolutions == 1 ? "" : "s");
}

}  // namespace approx
