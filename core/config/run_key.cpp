#include "core/config/run_key.h"

#include <map>
#include <set>
#include <vector>

#include "base/digest.h"

namespace approx {
namespace {

// Raised when the trainer or what it records changes so that equal settings give other results.
constexpr int64_t kResultFormat = 2;

// Versions of the built-in table after the second concern products in bf16 on a CPU alone: the
// third added rows of them, with the fourth exact layers there compute otherwise.
constexpr int64_t kRulesOfOthers = 2;

// Whether the built-in table decides what the run measures. What is trained it changes no more than
// kernels themselves do, in rounding; how long a step takes it decides.
bool is_by_builtin_rules(const RunConfig& config) {
  return config.purpose == Purpose::kTiming && config.kernel_rules.empty();
}

struct MethodVersion {
  int64_t version = 1, half_version = 1;
};

// The versions that a key is made with, besides the configuration.
struct Versions {
  int64_t builtin_rules = 1;
  std::map<std::string, MethodVersion> of_methods;  // where not the current ones, by name

  MethodVersion of(const MethodInfo& info) const {
    const auto found = of_methods.find(info.name);
    return found == of_methods.end() ? MethodVersion{info.version, info.half_version}
                                     : found->second;
  }
};

// How the settings of a key are spelt.
enum class Spelling {
  kCanonical,  // equal runs have one
  kBefore      // as keys had them until settings that take no part were left out
};

// What decides which ranks a rule is about, where it is not all of them.
std::string ranks_in_effect(const Rule& rule, int64_t ranks) {
  const Slice slice = parse_ranks(rule.ranks);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    if (!slice.contains(rank)) return rule.ranks;
  }
  return "";
}

std::vector<Rule> rules_of(const RunConfig& config, const Catalogue& catalogue, Spelling spelling) {
  std::vector<Rule> rules;
  if (is_dense(config.method)) return rules;
  for (const auto& rule : config.schedule) {
    if (spelling == Spelling::kBefore) {
      rules.push_back(canonical_rule_before(rule, config.method, catalogue));
      continue;
    }
    rules.push_back(canonical_rule(rule, config.method, catalogue));
    rules.back().ranks = ranks_in_effect(rules.back(), config.ranks);
  }
  return rules;
}

// -0 is 0.
void drop_signs_of_zeros(Json& json) {
  if (json.is_number_float() && json.get<double>() == 0) json = 0.0;
  if (!json.is_structured()) return;
  for (auto& value : json) drop_signs_of_zeros(value);
}

// All of a key that follows from the configuration alone, but for the table of rules.
Json settings_of_key(const RunConfig& config, const Catalogue& catalogue, Spelling spelling) {
  const bool before = spelling == Spelling::kBefore;
  const auto text = [before](const Params& params) {
    return before ? params.text_with_signs() : params.full_text();
  };
  Json json = config;
  if (!before) json["recipe"] = canonical(config.recipe);
  json["network"] = text(catalogue.network_params(config.network));
  json["method"] = text(catalogue.method_params(config.method));
  json["schedule"] = rules_of(config, catalogue, spelling);
  static const std::vector<ParamSpec> specs = run_specs();  // a report makes thousands of keys
  for (const auto& spec : specs) {
    if (!takes_part(config, spec.name)) json.erase(spec.name);
  }
  json.erase("kernel_rules");
  if (json.contains("selection")) {
    json["selection"] = text(catalogue.selection_params(config.selection));
  }
  if (json.contains("timed_against")) {
    json["timed_against"] = text(catalogue.network_params(config.timed_against));
  }
  if (!before) drop_signs_of_zeros(json);
  return json;
}

// The names of the methods whose versions are in a key.
std::set<std::string> methods_of(const RunConfig& config) {
  std::set<std::string> names = {parse_spec(config.method).name};
  if (is_dense(config.method)) return names;
  for (const auto& rule : config.schedule) {
    if (!rule.method.empty()) names.insert(parse_spec(rule.method).name);
  }
  return names;
}

std::string key_by(const Versions& by, Json json, const RunConfig& config,
                   std::string_view dataset_sha256, const Catalogue& catalogue) {
  const auto rules_id =
      kernel_rules_id(config.kernel_rules, is_by_builtin_rules(config) ? by.builtin_rules : 1);
  if (!rules_id.empty()) json["kernel_rules"] = rules_id;
  Json versions = Json::object();
  const bool half = is_half(config.precision);
  for (const auto& name : methods_of(config)) {
    const auto& info = catalogue.method(name);
    const auto [version, half_version] = by.of(info);
    versions["method " + info.name] = version;
    if (half && half_version > 1) {
      versions["method " + info.name + " in half precision"] = half_version;
    }
  }
  const auto add_network = [&versions, &catalogue](const std::string& text) {
    const auto& info = catalogue.network(parse_spec(text).name);
    versions["network " + info.name] = info.version;
  };
  add_network(config.network);
  if (!config.selection.empty()) {
    const auto& info = catalogue.selection(parse_spec(config.selection).name);
    versions["selection " + info.name] = info.version;
    const auto proxy = info.proxy_network(catalogue.selection_params(config.selection));
    if (!proxy.empty()) add_network(proxy);
  }
  // Since version 2 batch norms keep the precision of floats between what they read and write.
  if (half && config.operators == OperatorSet::kBest) versions["operators in half precision"] = 2;
  if (json.contains("timed_against")) add_network(config.timed_against);
  versions["result format"] = kResultFormat;
  json["versions"] = versions;
  json["dataset_sha256"] = dataset_sha256;
  // nlohmann's objects keep their keys sorted and its doubles the shortest text that reads back as
  // the same number: equal settings have one text.
  return sha256_hex(json.dump());
}

constexpr size_t kMostKeys = 64;

// The current versions first, then every choice of versions that count, nearest first.
std::vector<Versions> versions_that_count(const RunConfig& config, const Catalogue& catalogue) {
  const int64_t newest_rules = rules_version_of(config);
  const int64_t oldest_rules = is_by_builtin_rules(config) ? 1 : newest_rules;
  std::vector<Versions> all;
  for (int64_t rules = newest_rules; rules >= oldest_rules; --rules) {
    all.push_back({.builtin_rules = rules, .of_methods = {}});
  }
  for (const auto& name : methods_of(config)) {
    const auto& info = catalogue.method(name);
    const int64_t oldest_half =
        is_half(config.precision) ? info.first_half_that_counts() : info.half_version;
    const size_t known = all.size();
    for (int64_t version = info.version; version >= info.first_that_counts(); --version) {
      for (int64_t half = info.half_version; half >= oldest_half; --half) {
        if (version == info.version && half == info.half_version) continue;
        for (size_t i = 0; i < known && all.size() < kMostKeys; ++i) {
          Versions other = all[i];
          other.of_methods[name] = {version, half};
          all.push_back(std::move(other));
        }
      }
    }
  }
  return all;
}

}  // namespace

int64_t rules_version_of(const RunConfig& config) {
  const bool multiplies_bf16 =
      config.precision == Precision::kBf16 && config.device == DeviceKind::kCpu;
  return multiplies_bf16 ? kernel_rules_version() : kRulesOfOthers;
}

std::string run_key(const RunConfig& config, std::string_view dataset_sha256,
                    const Catalogue& catalogue) {
  return key_by({.builtin_rules = rules_version_of(config), .of_methods = {}},
                settings_of_key(config, catalogue, Spelling::kCanonical), config, dataset_sha256,
                catalogue);
}

std::vector<EarlierKey> earlier_keys(const RunConfig& config, std::string_view dataset_sha256,
                                     const Catalogue& catalogue) {
  std::vector<Json> spellings = {settings_of_key(config, catalogue, Spelling::kCanonical)};
  Json before = settings_of_key(config, catalogue, Spelling::kBefore);
  // Compared as texts: to numbers -0 and 0 are equal.
  if (before.dump() != spellings[0].dump()) spellings.push_back(std::move(before));
  const auto versions = versions_that_count(config, catalogue);
  std::vector<EarlierKey> keys;
  for (size_t v = 0; v < versions.size(); ++v) {
    for (size_t s = 0; s < spellings.size(); ++s) {
      if (v + s == 0) continue;  // run_key
      keys.push_back({.key = key_by(versions[v], spellings[s], config, dataset_sha256, catalogue),
                      .other_rules = versions[v].builtin_rules != rules_version_of(config),
                      .other_version = !versions[v].of_methods.empty()});
    }
  }
  return keys;
}

std::vector<std::string> earlier_run_keys(const RunConfig& config, std::string_view dataset_sha256,
                                          const Catalogue& catalogue) {
  std::vector<std::string> keys;
  for (auto& earlier : earlier_keys(config, dataset_sha256, catalogue)) {
    keys.push_back(std::move(earlier.key));
  }
  return keys;
}

}  // namespace approx
