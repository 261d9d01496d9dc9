#include "core/config/schedule.h"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/text.h"

namespace approx {
namespace {

constexpr int64_t kOpen = std::numeric_limits<int64_t>::max();
// Larger numbers are slips of the keyboard; below it no sum of two can overflow.
constexpr int64_t kMaxNumber = 1'000'000'000'000;
constexpr size_t kMaxText = 4096;

std::string quote(std::string_view text) {
  return text.size() <= 80 ? fmt::format("\"{}\"", text)
                           : fmt::format("\"{}...\"", text.substr(0, 80));
}

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (value < 0 || value > kMaxNumber) return std::nullopt;
  return value;
}

std::string to_text(const Slice& slice) {
  const std::string stop = slice.stop < 0 ? "" : fmt::format("{}", slice.stop);
  return fmt::format("{}:{}:{}", slice.start, stop, slice.step);
}

// One term of `layers`.
struct Term {
  enum class What { kSlice, kKind, kName } what;
  Slice slice;
  std::string glob;

  std::string to_string() const {
    if (what == What::kSlice) return to_text(slice);
    return fmt::format("{}={}", what == What::kKind ? "kind" : "name", glob);
  }

  bool matches(const LayerInfo& layer) const {
    switch (what) {
      case What::kSlice:
        return layer.is_conv() && slice.contains(layer.index);
      case What::kKind:
        if (layer.is_conv() && layer.index == 1) return false;
        return fnmatch(glob.c_str(), layer.kind.c_str(), 0) == 0;
      case What::kName:
        return fnmatch(glob.c_str(), layer.name.c_str(), 0) == 0;
    }
    return false;
  }
};

// `layers` without its terms' surroundings. Error(kUsage) begins with `layers = "..."`.
std::vector<Term> parse_layers(std::string_view text) {
  if (text.size() > kMaxText) {
    throw usage_error("layers: {} characters; at most {}", text.size(), kMaxText);
  }
  std::vector<Term> terms;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find_first_of(",+", begin), text.size());
    const auto term = trim(text.substr(begin, end - begin));
    begin = end + 1;
    const auto equals = term.find('=');
    if (term.empty()) {
      throw usage_error(
          "layers = {}: an empty term; expected start:stop:step, a number, kind=GLOB or name=GLOB, "
          "joined by , or +",
          quote(text));
    }
    if (equals == std::string_view::npos) {
      Slice slice;
      try {
        slice = parse_slice(term, /*default_start=*/2);
      } catch (const Error& error) {
        const bool is_word = std::any_of(term.begin(), term.end(),
                                         [](unsigned char c) { return std::isalpha(c) != 0; });
        throw usage_error("layers = {}: {}{}", quote(text), error.what(),
                          is_word ? ", kind=GLOB or name=GLOB" : "");
      }
      if (slice.start == 0) {
        throw usage_error("layers = {}: convolutions count from 1; write 1 for the first",
                          quote(text));
      }
      terms.push_back({Term::What::kSlice, slice, ""});
      continue;
    }
    const std::string key{trim(term.substr(0, equals))};
    const std::string glob{trim(term.substr(equals + 1))};
    if (key != "kind" && key != "name") {
      throw usage_error("layers = {}: unknown selector \"{}\"{}; expected kind=GLOB or name=GLOB",
                        quote(text), key, did_you_mean(key, {"kind", "name"}));
    }
    if (glob.empty()) throw usage_error("layers = {}: {}= needs a pattern", quote(text), key);
    terms.push_back({key == "kind" ? Term::What::kKind : Term::What::kName, {}, glob});
  }
  return terms;
}

Slice parse_steps(std::string_view text) {
  try {
    return parse_slice(text, /*default_start=*/0);
  } catch (const Error& error) {
    throw usage_error("steps = {}: {}", quote(text), error.what());
  }
}

// Said of a term that selects nothing: what there is to select.
std::string available(const Term& term, const std::vector<LayerInfo>& layers) {
  if (term.what == Term::What::kSlice) {
    const auto convolutions = std::count_if(layers.begin(), layers.end(),
                                            [](const LayerInfo& layer) { return layer.is_conv(); });
    return fmt::format("the network has convolutions 1 to {}", convolutions);
  }
  std::vector<std::string> known;
  for (const auto& layer : layers) {
    const auto& text = term.what == Term::What::kKind ? layer.kind : layer.name;
    if (std::find(known.begin(), known.end(), text) == known.end()) known.push_back(text);
  }
  const auto hint = did_you_mean(term.glob, known);
  constexpr size_t kShown = 8;
  const bool more = known.size() > kShown;
  if (more) known.resize(kShown);
  return fmt::format("the network has {}{}{}", fmt::join(known, ", "), more ? ", ..." : "", hint);
}

std::vector<bool> select_layers(std::string_view text, const std::vector<LayerInfo>& layers) {
  std::vector<bool> selected(layers.size(), false);
  for (const auto& term : parse_layers(text)) {
    bool any = false;
    for (size_t i = 0; i < layers.size(); ++i) {
      if (!term.matches(layers[i])) continue;
      selected[i] = true;
      any = true;
    }
    if (!any) {
      throw usage_error("layers = {}: {} matches no layer; {}", quote(text), term.to_string(),
                        available(term, layers));
    }
  }
  return selected;
}

// The products of a rule, checked against its method, given by its full text.
std::vector<Product> rule_products(const Rule& rule, const std::string& method,
                                   const Catalogue& catalogue) {
  const auto has = [](const std::vector<Product>& list, Product product) {
    return std::find(list.begin(), list.end(), product) != list.end();
  };
  const bool dense = method == "dense";
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
  // A sample drawn in the forward product is what the gradients of the same mode go by.
  const bool together = info != nullptr && !info->products_of_mode.empty() &&
                        has(able, Product::kForward) && products.size() != able.size();
  if (together) {
    throw usage_error(
        "{} draws one sample for all its products: leave products out, or take another mode",
        method);
  }
  return products;
}

// The full text of the method that a rule means, "dense" for the exact one.
std::string rule_method(const Rule& rule, std::string_view method, const Catalogue& catalogue) {
  const std::string_view text = rule.method.empty() ? method : std::string_view(rule.method);
  if (trim(text) == "mixed") {
    throw usage_error("layers = {}: the method is \"mixed\", so each rule must name its own method",
                      quote(rule.layers));
  }
  return catalogue.method_params(text).full_text();
}

const std::vector<ParamSpec>& plateau_params() {
  static const std::vector<ParamSpec> params = {
      {"patience", int64_t{5}, "evaluations without a gain", 1, 1e6},
      {"delta", 0.001, "a gain in accuracy is more than this", 0, 1}};
  return params;
}

std::string to_text(const Position& position) {
  if (position.unit == Position::Unit::kPlateau) {
    return fmt::format("plateau:patience={},delta={}", position.patience, shortest(position.delta));
  }
  static constexpr const char* kUnits[] = {"ba", "ep", "dur"};
  return fmt::format("{}{}", position.value, kUnits[static_cast<size_t>(position.unit)]);
}

}  // namespace

Slice parse_slice(std::string_view text, int64_t default_start) {
  const auto whole = trim(text);
  constexpr const char* kExpected = "expected start:stop:step or a number";
  if (whole.empty()) throw usage_error("an empty selection; {}", kExpected);
  std::array<std::string_view, 3> parts;
  size_t count = 0;
  size_t begin = 0;
  while (begin <= whole.size()) {
    const size_t end = std::min(whole.find(':', begin), whole.size());
    if (count == parts.size()) {
      throw usage_error("{} has more than three parts; {}", quote(whole), kExpected);
    }
    parts[count++] = trim(whole.substr(begin, end - begin));
    begin = end + 1;
  }
  const auto number = [&](std::string_view part, int64_t fallback) {
    if (part.empty()) return fallback;
    const auto value = whole_number(part);
    if (!value) {
      const bool too_large = std::all_of(part.begin(), part.end(),
                                         [](unsigned char c) { return std::isdigit(c) != 0; });
      if (too_large) throw usage_error("{} is larger than {}", quote(part), kMaxNumber);
      throw usage_error("{} is not a whole number; {}", quote(part), kExpected);
    }
    return *value;
  };
  Slice slice;
  slice.start = number(parts[0], default_start);
  if (count == 1) {
    slice.stop = slice.start + 1;
    return slice;
  }
  slice.stop = number(parts[1], -1);
  slice.step = number(parts[2], 1);
  if (slice.step == 0) throw usage_error("{}: the step must be at least 1", quote(whole));
  if (slice.stop >= 0 && slice.stop <= slice.start) {
    throw usage_error(
        "{} selects nothing: the stop {} is exclusive and must lie above the start {}",
        quote(whole), slice.stop, slice.start);
  }
  return slice;
}

int64_t Position::step(int64_t steps_per_epoch, int64_t total_steps) const {
  switch (unit) {
    case Unit::kBatches:
      return static_cast<int64_t>(value);
    case Unit::kEpochs:
      return std::llround(value * static_cast<double>(steps_per_epoch));
    case Unit::kDuration:
      return std::llround(value * static_cast<double>(total_steps));
    case Unit::kPlateau:
      return kOpen;
  }
  return 0;
}

Position parse_position(std::string_view text) {
  const auto whole = trim(text);
  Position position;
  if (whole.substr(0, whole.find(':')) == "plateau") {
    const Params params(plateau_params(), parse_spec(whole));
    position.unit = Position::Unit::kPlateau;
    position.patience = params.integer("patience");
    position.delta = params.real("delta");
    return position;
  }
  const auto [end, error] =
      std::from_chars(whole.data(), whole.data() + whole.size(), position.value);
  const std::string_view unit(end, static_cast<size_t>(whole.data() + whole.size() - end));
  if (error != std::errc() || !std::isfinite(position.value) || position.value < 0 ||
      position.value > 1e9) {
    throw usage_error(
        "{}: expected 300ba (batches), 10ep (epochs), 0.25dur (share of the run) or plateau",
        quote(whole));
  }
  if (unit == "ba") {
    position.unit = Position::Unit::kBatches;
    if (position.value != std::floor(position.value)) {
      throw usage_error("{}: batches are whole; write {}ba", quote(whole),
                        std::llround(position.value));
    }
  } else if (unit == "ep") {
    position.unit = Position::Unit::kEpochs;
  } else if (unit == "dur") {
    position.unit = Position::Unit::kDuration;
    if (position.value > 1) {
      throw usage_error("{}: a share of the run is at most 1dur", quote(whole));
    }
  } else {
    throw usage_error(
        "{}: unknown unit \"{}\"{}; expected ba (batches), ep (epochs) or dur (share)",
        quote(whole), unit.substr(0, 20), did_you_mean(unit, {"ba", "ep", "dur"}));
  }
  position.value += 0.0;  // -0 and 0 are one position
  return position;
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
}

void from_json(const Json& json, Rule& rule) {
  if (!json.is_object()) throw usage_error("rule: expected an object, got {}", json.type_name());
  static const std::vector<std::string> kKeys = {"layers", "steps", "method",
                                                 "from",   "until", "products"};
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

Rule canonical_rule(const Rule& rule, std::string_view method, const Catalogue& catalogue) {
  Rule canonical;
  canonical.method = rule_method(rule, method, catalogue);
  canonical.products = rule_products(rule, canonical.method, catalogue);
  canonical.layers.clear();
  for (const auto& term : parse_layers(rule.layers)) {
    if (!canonical.layers.empty()) canonical.layers += '+';
    canonical.layers += term.to_string();
  }
  canonical.steps = to_text(parse_steps(rule.steps));
  if (!rule.from.empty()) {
    const auto from = parse_position(rule.from);
    if (from.value > 0 || from.unit == Position::Unit::kPlateau) canonical.from = to_text(from);
  }
  if (!rule.until.empty()) {
    const auto until = parse_position(rule.until);
    if (until != Position{1, Position::Unit::kDuration}) canonical.until = to_text(until);
  }
  return canonical;
}

void check_rule(const Rule& rule, const Catalogue& catalogue) {
  if (!rule.method.empty()) catalogue.method_params(rule.method);
  parse_layers(rule.layers);
  parse_steps(rule.steps);
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

Schedule::Schedule(const std::vector<Rule>& rules, const std::vector<LayerInfo>& layers,
                   std::string_view method, const Catalogue& catalogue, int64_t steps_per_epoch,
                   int64_t total_steps)
    : layers_(layers) {
  for (const auto& rule : rules) {
    check_rule(rule, catalogue);
    Compiled compiled;
    const std::string text = rule_method(rule, method, catalogue);
    const bool dense = text == "dense";
    compiled.products = rule_products(rule, text, catalogue);
    compiled.layers = select_layers(rule.layers, layers);
    compiled.steps = parse_steps(rule.steps);
    compiled.from = 0;
    compiled.until = kOpen;
    if (!rule.from.empty()) {
      const auto from = parse_position(rule.from);
      compiled.from = from.step(steps_per_epoch, total_steps);
      if (from.unit == Position::Unit::kPlateau) plateau_of(from).begin.push_back(rules_.size());
    }
    if (!rule.until.empty()) {
      const auto until = parse_position(rule.until);
      compiled.until = until.step(steps_per_epoch, total_steps);
      if (until.unit == Position::Unit::kPlateau) plateau_of(until).end.push_back(rules_.size());
    }
    if (compiled.until <= compiled.from && compiled.from != kOpen) {
      throw usage_error("from = {}, until = {}: the rule ends (step {}) before it begins (step {})",
                        quote(rule.from), quote(rule.until), compiled.until, compiled.from);
    }
    compiled.method = Decision::kDense;
    if (!dense) {
      const auto found = std::find(methods_.begin(), methods_.end(), text);
      compiled.method = static_cast<int>(found - methods_.begin());
      if (found == methods_.end()) methods_.push_back(text);
    }
    // A period beyond the run's end never comes round; the cap also keeps the product in range.
    const int64_t cap = std::max<int64_t>(total_steps, 1);
    const int64_t factor = compiled.steps.step / std::gcd(period_, compiled.steps.step);
    period_ = factor > cap / period_ ? cap : period_ * factor;
    rules_.push_back(std::move(compiled));
  }
}

Decision Schedule::at(size_t layer, int64_t step) const {
  Decision decision;
  for (const auto& rule : rules_) {
    if (!rule.layers.at(layer) || step < rule.from || step >= rule.until ||
        !rule.steps.contains(step)) {
      continue;
    }
    for (const auto product : rule.products) {
      decision.method[static_cast<size_t>(product)] = rule.method;
    }
  }
  return decision;
}

Schedule::Plateau& Schedule::plateau_of(const Position& position) {
  for (auto& plateau : plateaus_) {
    if (plateau.position == position) return plateau;
  }
  plateaus_.push_back({.position = position, .begin = {}, .end = {}});
  return plateaus_.back();
}

bool Schedule::observe(double accuracy, int64_t steps_done) {
  bool any = false;
  for (auto& plateau : plateaus_) {
    if (plateau.reached) continue;
    // Written so that a NaN is no gain.
    if (accuracy > plateau.best + plateau.position.delta) {
      plateau.best = accuracy;
      plateau.without_gain = 0;
      continue;
    }
    if (++plateau.without_gain < plateau.position.patience) continue;
    any = plateau.reached = true;
    for (const size_t rule : plateau.begin) rules_[rule].from = steps_done;
    for (const size_t rule : plateau.end) rules_[rule].until = steps_done;
  }
  return any;
}

double Schedule::approximated_share(int64_t steps) const {
  int64_t convolutions = 0;
  int64_t approximated = 0;
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (!layers_[i].is_conv()) continue;
    ++convolutions;
    for (int64_t step = 0; step < steps; ++step) approximated += at(i, step).dense() ? 0 : 1;
  }
  if (convolutions == 0 || steps <= 0) return 0;
  return static_cast<double>(approximated) / static_cast<double>(convolutions * steps);
}

std::vector<Rule> make_schedule(std::string_view text) {
  const Spec spec = parse_spec(text);
  const auto& entry = Registry<ScheduleEntry>::instance().find(spec.name);
  return entry.make(Params(entry.params, spec));
}

}  // namespace approx
