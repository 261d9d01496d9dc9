// Everything that is in a store.
#pragma once

#include <filesystem>
#include <string>

#include "results/reports/export.h"
#include "tests/results/filled_store.h"

namespace approx {

// As its tables' CSV files.
inline std::string content_of(const std::string& db) {
  const TemporaryFolder folder;
  std::string all;
  for (const auto& path : export_store(Snapshot(db), folder / "tables")) {
    all += std::filesystem::path(path).filename().string() + "\n" + file_bytes(path);
  }
  return all;
}

}  // namespace approx
