#include "results/store/origin.h"

#include <charconv>
#include <chrono>
#include <ctime>
#include <limits>
#include <random>

#include "results/store/json_values.h"

namespace approx {
namespace {

Json environment_entry(const Json& environment, const char* key) {
  if (!environment.is_object()) return nullptr;
  for (const char* part : {"engine", "environment"}) {
    const auto it = environment.find(part);
    if (it != environment.end() && it->is_object() && it->contains(key)) return (*it)[key];
  }
  return environment.contains(key) ? environment[key] : Json(nullptr);
}

std::string environment_text(const Json& environment, const char* key,
                             const std::string& fallback) {
  const Json value = environment_entry(environment, key);
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? fallback : json_text(value);
}

int64_t environment_integer(const Json& environment, const char* key) {
  const Json value = environment_entry(environment, key);
  return whole_number(value).value_or(0);
}

int64_t now_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

int64_t host_id(SQLite::Database& db, const Json& environment) {
  const std::string hostname = environment_text(environment, "hostname", "unknown");
  const std::string cpu = environment_text(environment, "cpu_model", "unknown");
  const int64_t cores = environment_integer(environment, "n_cores");
  const std::string gpu = environment_text(environment, "gpu_model", "");
  const std::string machine =
      environment_text(environment, "fingerprint", fmt::format("{}/{}/{}", hostname, cpu, cores));
  // One machine with another accelerator is another machine to a clock, and so it is with another
  // driver, other limits or memory that checks itself.
  const Json described = environment_entry(environment, "gpu");
  const std::string fingerprint = described.is_object() ? machine + "/" + json_text(described)
                                  : gpu.empty()         ? machine
                                                        : machine + "/" + gpu;
  return find_or_add(db, "host", {{"fingerprint", fingerprint}},
                     {{"hostname", hostname},
                      {"cpu_model", cpu},
                      {"n_cores", cores},
                      {"ram_bytes", environment_integer(environment, "ram_bytes")},
                      {"gpu_model", gpu},
                      {"detail",
                       {{"instruction_sets", environment_entry(environment, "instruction_sets")},
                        {"kernel", environment_entry(environment, "kernel")},
                        {"gpu", described}}}});
}

int64_t build_id(SQLite::Database& db, const Json& environment) {
  const auto text = [&environment](const char* key, const char* fallback) {
    return environment_text(environment, key, fallback);
  };
  return find_or_add(db, "build",
                     {{"git_sha", text("git_sha", "unknown")},
                      {"dirty", environment_flag(environment, "dirty", false)},
                      {"compiler", text("compiler", "unknown")},
                      {"flags", text("flags", "")},
                      {"torch", text("torch", "")},
                      {"cuda", text("cuda", "")},
                      {"cudnn", text("cudnn", "")}});
}

}  // namespace

std::string utc_of(int64_t ns) {
  const auto seconds = static_cast<std::time_t>(ns / 1'000'000'000);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

std::string utc_now() { return utc_of(now_ns()); }

std::string new_uid(std::string_view last) {
  constexpr size_t kTimeDigits = 16;
  int64_t time = now_ns(), before = 0;
  const auto digits = last.substr(0, kTimeDigits);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), before, /*base=*/16);
  if (error == std::errc() && digits.size() == kTimeDigits &&
      end == digits.data() + digits.size() && before >= time &&
      before < std::numeric_limits<int64_t>::max()) {
    time = before + 1;
  }
  std::random_device random;
  return fmt::format("{:016x}-{:08x}{:08x}{:08x}{:08x}", time, random(), random(), random(),
                     random());
}

Json origin_columns(SQLite::Database& db, const Json& environment) {
  const Json said = environment.is_object() ? environment : Json::object();
  return {{"environment", json_text(said)},
          {"host_id", host_id(db, environment)},
          {"build_id", build_id(db, environment)}};
}

Json dataset_id(SQLite::Database& db, const Json& environment) {
  const Json data = environment_entry(environment, "dataset");
  if (!data.is_object()) return nullptr;
  const Json lossy = data.value("lossy", Json(false));
  return find_or_add(db, "dataset",
                     {{"name", text_or(data, "name", "")},
                      {"variant", text_or(data, "variant", "")},
                      {"sha256", text_or(data, "sha256", "")}},
                     {{"n_train", integer_or_none(data, "n_train").value_or(0)},
                      {"n_test", integer_or_none(data, "n_test").value_or(0)},
                      {"lossy", lossy.is_boolean() && lossy.get<bool>()}});
}

bool environment_flag(const Json& environment, const char* key, bool fallback) {
  const Json value = environment_entry(environment, key);
  return value.is_boolean() ? value.get<bool>() : fallback;
}

}  // namespace approx
