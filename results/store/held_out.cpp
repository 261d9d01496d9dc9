#include "results/store/held_out.h"

#include <filesystem>
#include <map>
#include <optional>

#include "results/store/database.h"

namespace approx {

HeldOutAccuracy stored_accuracy(const std::string& path) {
  std::map<std::string, double> known;
  std::error_code unreadable;  // who opens it says what is wrong with it
  if (std::filesystem::exists(path, unreadable)) {
    auto db = open_snapshot(path);
    for_each_row(
        db,
        "SELECT c.run_key, CASE WHEN r.state = 'diverged' THEN 0.0 ELSE (SELECT m.value "
        "FROM metric m WHERE m.run_id = r.run_id AND m.name = 'accuracy' AND m.split = "
        "'holdout' ORDER BY m.step DESC LIMIT 1) END FROM cell c JOIN run r USING(cell_id) "
        "WHERE c.purpose = 'accuracy' AND r.state IN ('finished', 'diverged') "
        "ORDER BY r.attempt",
        [&](SQLite::Statement& row) {
          const auto accuracy = optional_real(row.getColumn(1));
          if (accuracy) known[text_at(row, 0)] = *accuracy;
        });
  }
  return [known](const std::string& key) {
    const auto found = known.find(key);
    return found == known.end() ? std::nullopt : std::optional(found->second);
  };
}

}  // namespace approx
