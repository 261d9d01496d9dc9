#include "products/rules.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/known_names.h"
#include "base/numbers.h"
#include "base/text.h"

namespace approx {

extern const char* const kKernelRulesText;  // products/rules.txt

namespace {

constexpr std::string_view kAny = "*", kNever = "never", kTo = "..";
constexpr std::array kColumns = {"variant", "product", "taps",   "in",
                                 "out",     "pixels",  "stride", "density"};

std::optional<int64_t> number(std::string_view text, int64_t /*like*/) {
  return parse_integer(text, 0);
}
std::optional<double> number(std::string_view text, double /*like*/) {
  return parse_real(text, 0.0, 1.0);
}

// "*", "9", "9..", "..15" or "16..31".
template <typename Number>
std::optional<Bounds<Number>> parse_bounds(std::string_view text) {
  Bounds<Number> bounds;
  if (text == kAny) return bounds;
  const size_t to = text.find(kTo);
  const auto least = text.substr(0, to);
  const auto most = to == std::string_view::npos ? text : text.substr(to + kTo.size());
  if (least.empty() && most.empty()) return std::nullopt;
  for (const auto& [part, bound] : {std::pair(least, &bounds.least), {most, &bounds.most}}) {
    if (part.empty()) continue;
    const auto value = number(part, Number());
    if (!value) return std::nullopt;
    *bound = *value;
  }
  return bounds;
}

std::string number_text(int64_t value) { return std::to_string(value); }
std::string number_text(double value) { return shortest(value); }

template <typename Number>
std::string bounds_text(const Bounds<Number>& bounds) {
  const Bounds<Number> any;
  if (bounds == any) return std::string(kAny);
  if (bounds.least == bounds.most) return number_text(bounds.least);
  return fmt::format("{}{}{}", bounds.least == any.least ? "" : number_text(bounds.least), kTo,
                     bounds.most == any.most ? "" : number_text(bounds.most));
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (const auto word : split(line.substr(0, line.find('#')), " \t\r")) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

KernelRule parse_row(const std::vector<std::string_view>& words) {
  if (words.size() != kColumns.size()) {
    throw usage_error("{} columns, expected {}: {}", words.size(), kColumns.size(),
                      fmt::join(kColumns, " "));
  }
  KernelRule rule;
  rule.variant = words[0];
  if (words[1] != kAny) {
    const auto* found = std::find_if(kAllProducts.begin(), kAllProducts.end(),
                                     [&](Product product) { return name(product) == words[1]; });
    if (found == kAllProducts.end()) throw usage_error("unknown product {}", quote(words[1]));
    rule.product = *found;
  }
  const auto read = [&]<typename Number>(size_t column, Bounds<Number>& bounds) {
    const auto parsed = parse_bounds<Number>(words[column]);
    if (!parsed) {
      throw usage_error("{} {}: expected *, a number, FIRST..LAST, FIRST.. or ..LAST{}",
                        kColumns[column], quote(words[column]),
                        std::is_same_v<Number, double> ? " from 0 to 1, or never" : "");
    }
    bounds = *parsed;
  };
  read(2, rule.taps);
  read(3, rule.inputs);
  read(4, rule.outputs);
  read(5, rule.pixels);
  read(6, rule.stride);
  if (words[7] == kNever) {
    rule.density = std::nullopt;
  } else {
    read(7, *rule.density);
  }
  return rule;
}

// Nothing: the built-in table.
std::optional<KernelRules>& rules_that_were_set() {
  static std::optional<KernelRules> rules;
  return rules;
}

const KernelRules& rules_in_use() {
  const auto& set = rules_that_were_set();
  return set ? *set : builtin_kernel_rules();
}

}  // namespace

bool KernelRule::is_of(std::string_view name, const Problem& p) const {
  return variant == name && (!product || *product == p.product) && taps.hold(p.kh * p.kw) &&
         inputs.hold(p.ci) && outputs.hold(p.co) && pixels.hold(p.ho * p.wo) &&
         stride.hold(p.geometry.stride.w);
}

KernelRules::KernelRules(std::string_view text, std::string_view what,
                         const std::vector<std::string>& known) {
  int64_t number = 0;
  for (const auto line : split(text, "\n")) {
    ++number;
    const auto words = words_of(line);
    if (words.empty()) continue;
    try {
      if (words[0] == "version" && words.size() == 2) {
        const auto version = parse_integer(words[1], 1);
        if (!version) throw usage_error("version {}: expected a number from 1", quote(words[1]));
        version_ = *version;
        continue;
      }
      rows_.push_back(parse_row(words));
      const auto& variant = rows_.back().variant;
      if (!known.empty() && std::find(known.begin(), known.end(), variant) == known.end()) {
        throw usage_error("unknown variant {}{}", quote(variant), known_names(variant, known));
      }
    } catch (const Error& error) {
      throw usage_error("{}:{}: {}", what, number, error.what());
    }
  }
}

bool KernelRules::pay(std::string_view variant, const Problem& problem) const {
  for (const auto& row : rows_) {
    if (row.is_of(variant, problem)) return row.density && row.density->hold(problem.density);
  }
  return false;
}

bool KernelRules::have_rows_of(std::string_view variant) const {
  return std::ranges::any_of(rows_, [&](const KernelRule& row) { return row.variant == variant; });
}

const KernelRules& builtin_kernel_rules() {
  static const KernelRules rules(kKernelRulesText, "products/rules.txt");
  return rules;
}

std::string_view builtin_kernel_rules_text() { return kKernelRulesText; }

std::string text_of(const std::vector<KernelRule>& rows) {
  constexpr const char* kRow = "{:<15} {:<16} {:<6} {:<9} {:<9} {:<9} {:<7} {}\n";
  std::string text = fmt::format(fmt::runtime(kRow), "# variant", "product", "taps", "in", "out",
                                 "pixels", "stride", "density");
  for (const auto& row : rows) {
    text += fmt::format(fmt::runtime(kRow), row.variant, row.product ? name(*row.product) : kAny,
                        bounds_text(row.taps), bounds_text(row.inputs), bounds_text(row.outputs),
                        bounds_text(row.pixels), bounds_text(row.stride),
                        row.density ? bounds_text(*row.density) : std::string(kNever));
  }
  return text;
}

void use_kernel_rules(std::string_view text) {
  if (text.empty()) {
    rules_that_were_set().reset();
  } else {
    rules_that_were_set() = KernelRules(text, "kernel_rules");
  }
}

bool rule_pays(std::string_view variant, const Problem& problem) {
  return rules_in_use().pay(variant, problem);
}

bool has_rule_rows(std::string_view variant) { return rules_in_use().have_rows_of(variant); }

std::vector<std::string> names_of(const std::vector<RuledVariant>& variants) {
  std::vector<std::string> names;
  for (const auto& variant : variants) {
    if (std::ranges::find(names, variant.name) == names.end()) names.push_back(variant.name);
  }
  return names;
}

}  // namespace approx
