// A store at one moment: what everything that is made of it together reads.
#pragma once

#include <cstdint>
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

// Copies what is committed into memory once. What is asked of it is read from the copy at the first
// call and kept, so that all tables of a page are of one moment.
class Snapshot {
 public:
  // Throws Error(kDatabase) as open_snapshot does.
  explicit Snapshot(const std::string& path, const StoreOptions& options = {});

  // The same; where there is no such file, a store in which nothing was measured.
  static Snapshot or_empty(const std::string& path);

  Snapshot(Snapshot&&) noexcept;
  ~Snapshot();

  const std::string& path() const { return path_; }
  SQLite::Database& db() const { return *db_; }  // the copy, which nobody else writes

  // What it has of experiments (results/records/items.h). Throws Error(kDatabase).
  const StoredItems& items() const;

  // All results of its kernel benchmarks (results/records/kernels.h). Throws Error(kDatabase).
  const std::vector<KernelLine>& kernels() const;

  // What a cell runs, which the store has as `json`. Throws Error(kDatabase) where that is no
  // configuration of ours.
  const RunConfig& config(int64_t cell_id, const std::string& json) const;

  // What its runs measured. `catalogue`: knows which layers read the images; may be null. Throws
  // Error(kDatabase) for numbers that nothing measures.
  const Measurements& measurements(const Catalogue* catalogue) const;

 private:
  Snapshot(std::string path, SQLite::Database db);

  const std::string path_;
  std::unique_ptr<SQLite::Database> db_;
  mutable std::unique_ptr<StoredItems> items_;
  mutable std::unique_ptr<const std::vector<KernelLine>> kernels_;
  mutable std::map<int64_t, RunConfig> configs_;  // by cell
  mutable std::map<const Catalogue*, Measurements> measurements_;
};

}  // namespace approx
