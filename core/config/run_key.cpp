#include "core/config/run_key.h"

#include <vector>

#include "base/digest.h"

namespace approx {
namespace {

// Raised when the trainer or what it records changes so that equal settings give other results.
constexpr int64_t kResultFormat = 2;

// Whether the built-in table decides what the run measures. What is trained it changes no more than
// kernels themselves do, in rounding; how long a step takes it decides.
bool is_by_builtin_rules(const RunConfig& config) {
  return config.purpose == Purpose::kTiming && config.kernel_rules.empty();
}

// By that version of the built-in table.
std::string key_by(int64_t builtin_rules, const RunConfig& config, std::string_view dataset_sha256,
                   const Catalogue& catalogue) {
  Json json = config;
  json["network"] = catalogue.network_params(config.network).full_text();
  const std::string method = catalogue.method_params(config.method).full_text();
  json["method"] = method;
  std::vector<Rule> rules;
  if (!is_dense(method)) {
    for (const auto& rule : config.schedule) {
      rules.push_back(canonical_rule(rule, config.method, catalogue));
    }
  }
  json["schedule"] = rules;
  for (const auto& spec : run_specs()) {
    if (!takes_part(config, spec.name)) json.erase(spec.name);
  }
  json.erase("kernel_rules");
  const auto rules_id =
      kernel_rules_id(config.kernel_rules, is_by_builtin_rules(config) ? builtin_rules : 1);
  if (!rules_id.empty()) json["kernel_rules"] = rules_id;
  Json versions = Json::object();
  const bool half = is_half(config.precision);
  const auto add_version = [&versions, &catalogue, half](const std::string& text) {
    const auto& info = catalogue.method(parse_spec(text).name);
    versions["method " + info.name] = info.version;
    if (half && info.half_version > 1) {
      versions["method " + info.name + " in half precision"] = info.half_version;
    }
  };
  add_version(config.method);
  for (const auto& rule : rules) add_version(rule.method);
  const auto add_network = [&versions, &catalogue](const std::string& text) {
    const auto& info = catalogue.network(parse_spec(text).name);
    versions["network " + info.name] = info.version;
  };
  add_network(config.network);
  // Since version 2 batch norms keep the precision of floats between what they read and write.
  if (half && config.operators == OperatorSet::kBest) versions["operators in half precision"] = 2;
  if (json.contains("timed_against")) {
    json["timed_against"] = catalogue.network_params(config.timed_against).full_text();
    add_network(config.timed_against);
  }
  versions["result format"] = kResultFormat;
  json["versions"] = versions;
  json["dataset_sha256"] = dataset_sha256;
  // nlohmann's objects keep their keys sorted and its doubles the shortest text that reads back as
  // the same number: equal settings have one text.
  return sha256_hex(json.dump());
}

}  // namespace

std::string run_key(const RunConfig& config, std::string_view dataset_sha256,
                    const Catalogue& catalogue) {
  return key_by(kernel_rules_version(), config, dataset_sha256, catalogue);
}

std::vector<std::string> earlier_run_keys(const RunConfig& config, std::string_view dataset_sha256,
                                          const Catalogue& catalogue) {
  std::vector<std::string> keys;
  if (!is_by_builtin_rules(config)) return keys;
  for (int64_t version = kernel_rules_version() - 1; version > 0; --version) {
    keys.push_back(key_by(version, config, dataset_sha256, catalogue));
  }
  return keys;
}

}  // namespace approx
