#include "results/reports/report.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "results/records/contents.h"
#include "results/records/lossy_data.h"
#include "results/rows/notes.h"

namespace approx {

std::vector<const Report*> reports() {
  auto all = Registry<Report>::instance().all();
  std::stable_sort(all.begin(), all.end(),
                   [](const Report* a, const Report* b) { return a->place < b->place; });
  return all;
}

void note_lossy_data(const Snapshot& snapshot, const ReportOptions& options, Table& table) {
  if (table.rows.empty()) return;
  const std::string_view letters = kNoteTexts[kLossy].text;
  for (const auto& note : table.notes) {
    if (note.find(letters) != std::string::npos) return;
  }
  auto& db = snapshot.db();
  std::set<std::string> lossy;
  if (options.item != nullptr) {
    // Its runs may have been made under the name of another experiment.
    const auto all = lossy_datasets(db, "");
    for (const auto& run : options.item->runs()) {
      if (all.contains(run.config.dataset)) lossy.insert(run.config.dataset);
    }
  } else {
    lossy = lossy_datasets(db, experiment_name(db, options.experiment));
  }
  auto note = lossy_note(lossy);
  if (!note.empty()) table.notes.push_back(std::move(note));
}

}  // namespace approx
