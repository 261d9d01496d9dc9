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

// The first column of the only row of a query.
template <typename... Args>
std::optional<int64_t> find_id(SQLite::Database& db, const char* sql, const Args&... args) {
  std::optional<int64_t> id;
  for_each_row(
      db, sql, [&](SQLite::Statement& row) { id = row.getColumn(0).getInt64(); }, args...);
  return id;
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

bool environment_flag(const Json& environment, const char* key, bool fallback) {
  const Json value = environment_entry(environment, key);
  return value.is_boolean() ? value.get<bool>() : fallback;
}

std::string environment_column(const Json& environment) {
  return json_text(environment.is_object() ? environment : Json::object());
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
  execute(db,
          "INSERT INTO host(fingerprint, hostname, cpu_model, n_cores, ram_bytes, gpu_model, "
          "detail) VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
          fingerprint, hostname, cpu, cores, environment_integer(environment, "ram_bytes"), gpu,
          json_text({{"instruction_sets", environment_entry(environment, "instruction_sets")},
                     {"kernel", environment_entry(environment, "kernel")},
                     {"gpu", described}}));
  return find_id(db, "SELECT host_id FROM host WHERE fingerprint = ?", fingerprint).value_or(0);
}

int64_t build_id(SQLite::Database& db, const Json& environment) {
  const std::string git_sha = environment_text(environment, "git_sha", "unknown");
  const bool dirty = environment_flag(environment, "dirty", false);
  const std::string compiler = environment_text(environment, "compiler", "unknown");
  const std::string flags = environment_text(environment, "flags", "");
  const std::string torch = environment_text(environment, "torch", "");
  const std::string cuda = environment_text(environment, "cuda", "");
  const std::string cudnn = environment_text(environment, "cudnn", "");
  execute(db,
          "INSERT INTO build(git_sha, dirty, compiler, flags, torch, cuda, cudnn) "
          "VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
          git_sha, dirty, compiler, flags, torch, cuda, cudnn);
  return find_id(db,
                 "SELECT build_id FROM build WHERE git_sha = ? AND dirty = ? AND compiler = ? "
                 "AND flags = ? AND torch = ? AND cuda = ? AND cudnn = ?",
                 git_sha, dirty, compiler, flags, torch, cuda, cudnn)
      .value_or(0);
}

std::optional<int64_t> dataset_id(SQLite::Database& db, const Json& environment) {
  const Json data = environment_entry(environment, "dataset");
  if (!data.is_object()) return std::nullopt;
  const std::string name = text_or(data, "name", ""), variant = text_or(data, "variant", ""),
                    sha256 = text_or(data, "sha256", "");
  const Json lossy = data.value("lossy", Json(false));
  execute(db,
          "INSERT INTO dataset(name, variant, sha256, n_train, n_test, lossy) "
          "VALUES(?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
          name, variant, sha256, integer_or_none(data, "n_train").value_or(0),
          integer_or_none(data, "n_test").value_or(0), lossy.is_boolean() && lossy.get<bool>());
  return find_id(db, "SELECT dataset_id FROM dataset WHERE name = ? AND variant = ? AND sha256 = ?",
                 name, variant, sha256);
}

}  // namespace approx
