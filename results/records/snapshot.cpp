#include "results/records/snapshot.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "results/records/items.h"
#include "results/records/kernels.h"

namespace approx {

Snapshot::Snapshot(std::string path, SQLite::Database db)
    : path_(std::move(path)), db_(std::make_unique<SQLite::Database>(std::move(db))) {}

Snapshot::Snapshot(const std::string& path, const StoreOptions& options)
    : Snapshot(path, open_snapshot(path, options)) {}

Snapshot Snapshot::or_empty(const std::string& path) {
  std::error_code unreadable;  // who opens it says what is wrong with it
  const bool missing = !std::filesystem::exists(path, unreadable) && !unreadable;
  return missing ? Snapshot(path, empty_store()) : Snapshot(path);
}

Snapshot::Snapshot(Snapshot&&) noexcept = default;
Snapshot::~Snapshot() = default;

const StoredItems& Snapshot::items() const {
  if (items_ == nullptr) items_ = std::make_unique<StoredItems>(*db_);
  return *items_;
}

const std::vector<KernelLine>& Snapshot::kernels() const {
  if (kernels_ == nullptr) {
    kernels_ = std::make_unique<const std::vector<KernelLine>>(read_kernels(*db_));
  }
  return *kernels_;
}

const RunConfig& Snapshot::config(int64_t cell_id, const std::string& json) const {
  const auto [at, is_new] = configs_.try_emplace(cell_id);
  if (!is_new) return at->second;
  std::string why;
  try {
    at->second = Json::parse(json).get<RunConfig>();
    return at->second;
  } catch (const Json::exception&) {
    why = "malformed JSON";
  } catch (const Error& error) {
    why = error.what();
  }
  configs_.erase(at);
  throw database_error("{}: {}: configuration of cell {}; see db check", path_, why, cell_id);
}

const Measurements& Snapshot::measurements(const Catalogue* catalogue) const {
  const auto [at, is_new] = measurements_.try_emplace(catalogue);
  if (is_new) at->second = read_measurements(*db_, catalogue);
  return at->second;
}

Snapshot::Made Snapshot::kept(const std::string& key, const std::function<Made()>& make) const {
  const auto found = kept_.find(key);
  if (found != kept_.end()) return found->second;
  Made made = make();  // which may keep something itself
  kept_[key] = made;
  return made;
}

}  // namespace approx
