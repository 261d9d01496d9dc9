// A store at one moment. All tables of a page read one snapshot.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/config/catalogue.h"
#include "core/config/run_config.h"
#include "results/records/measurements.h"
#include "results/store/database.h"

namespace approx {

class StoredItems;
struct KernelLine;

// Copies the committed content into memory once. Each part is read from the copy at the first call
// and kept, so that all tables of a page show one moment.
class Snapshot {
 public:
  // Throws Error(kDatabase) as open_snapshot does.
  explicit Snapshot(const std::string& path, const StoreOptions& options = {});

  // As the constructor, but a missing file gives a store without measurements.
  static Snapshot or_empty(const std::string& path);

  Snapshot(Snapshot&&) noexcept;
  ~Snapshot();

  const std::string& path() const { return path_; }
  SQLite::Database& db() const { return *db_; }  // the copy; nobody else writes to it

  // The results of each experiment (results/records/items.h). Throws Error(kDatabase).
  const StoredItems& items() const;

  // The results of all kernel benchmarks (results/records/kernels.h). Throws Error(kDatabase).
  const std::vector<KernelLine>& kernels() const;

  // The configuration of a cell; the store has it as `json`. Throws Error(kDatabase) where `json`
  // is not a configuration of this program.
  const RunConfig& config(int64_t cell_id, const std::string& json) const;

  // The measurements of all runs. `catalogue` tells which layers read the images; it may be null.
  // Throws Error(kDatabase) for numbers that no measurement can give.
  const Measurements& measurements(const Catalogue* catalogue) const;

  // The result of `make` for this snapshot. It is made at the first call for `key` and kept as long
  // as the snapshot, for rows that several reports of one page need. A key has one type only.
  using Made = std::shared_ptr<const void>;
  Made kept(const std::string& key, const std::function<Made()>& make) const;

 private:
  Snapshot(std::string path, SQLite::Database db);

  const std::string path_;
  std::unique_ptr<SQLite::Database> db_;
  mutable std::unique_ptr<StoredItems> items_;
  mutable std::unique_ptr<const std::vector<KernelLine>> kernels_;
  mutable std::map<int64_t, RunConfig> configs_;  // by cell
  mutable std::map<const Catalogue*, Measurements> measurements_;
  mutable std::map<std::string, Made> kept_;
};

}  // namespace approx
