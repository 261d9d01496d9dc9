// An item of a paper and a store with some of its runs.
#pragma once

#include <gtest/gtest.h>

#include "results/papers/table.h"
#include "results/records/items.h"
#include "results/rows/rows.h"
#include "tests/results/filled_store.h"

namespace approx {

inline ReportedValue accuracy_value() {
  ReportedValue value;
  value.quantity = PaperQuantity::kAccuracy;
  value.unit = "%";
  value.tolerance = 0.5;
  return value;
}

inline std::vector<PlannedRun>& trainings_of(Experiment& experiment) {
  return std::get<Trainings>(experiment.work).runs;
}

class PaperReport : public testing::Test {
 protected:
  // Dense at 90 % and zero two points below it, with some spread that is the same in both.
  void fill(const Experiment& experiment, int64_t seeds, bool lossy = false) {
    RunStore store(path_, RunStore::Mode::kWrite);
    store.add_experiment(experiment, "sweep");
    const auto environment = environment_of("box", false, lossy);
    for (const auto& run : experiment.runs()) {
      if (run.config.seed >= seeds) continue;
      const double base = 0.90 + 0.002 * static_cast<double>(run.config.seed % 3);
      const double accuracy = run.method_label == "dense" ? base : base - 0.02;
      const auto id = store.begin(run.key, environment, folder_ / ("r" + run.key.substr(9)));
      if (!id) continue;  // it has a result
      std::vector<Json> events = {environment};
      for (auto& event : accuracy_events({accuracy - 0.1, accuracy})) events.push_back(event);
      store.finish(*id, events, {});
    }
  }

  static Experiment item(int64_t seeds) {
    std::vector<PlannedRun> runs;
    for (int64_t seed = 0; seed < seeds; ++seed) {
      for (const char* method : {"dense", "zero", "random"}) {
        runs.push_back(planned(method, seed));
        auto& key = runs.back().key;
        std::replace(key.begin() + 9, key.end(), '/', '-');
      }
    }
    Experiment experiment = experiment_of(std::move(runs), "paper:table");
    experiment.item = experiment.id;
    experiment.paper.item = "Table 1";
    ReportedValue value = accuracy_value();
    value.paper = {{{"92.0%", 92.0}}, {{"90.1", 90.1}}, {{"85", 85.0}}};
    experiment.paper.values = {value};
    return experiment;
  }

  // The value of `column` in the row of (label, quantity), as text.
  static std::string at(const Table& table, const std::string& label, const std::string& quantity,
                        const std::string& column) {
    const auto index = [&](const std::string& name) {
      const auto found = std::find(table.columns.begin(), table.columns.end(), name);
      EXPECT_NE(found, table.columns.end()) << name;
      return static_cast<size_t>(found - table.columns.begin());
    };
    for (const auto& row : table.rows) {
      if (std::get<std::string>(row[index("row")]) != label ||
          std::get<std::string>(row[index("quantity")]) != quantity) {
        continue;
      }
      const auto& field = row[index(column)];
      if (const auto* text = std::get_if<std::string>(&field)) return *text;
      if (const auto* real = std::get_if<double>(&field)) return fmt::format("{:.3f}", *real);
      if (const auto* integer = std::get_if<int64_t>(&field)) return std::to_string(*integer);
      return "";
    }
    return "no such row";
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "store.db";
};

inline Json timing_metric(const std::string& name, const std::string& split, int64_t step,
                          double value) {
  return {{"event", "metric"}, {"name", name},  {"split", split}, {"step", step},
          {"epoch", 0.5},      {"train_ns", 1}, {"value", value}};
}

// An item without runs of its own at its scales.
inline ItemAtScale at_scale(Experiment& layout) {
  return [&layout](Scale scale) -> const Experiment& {
    layout.id =
        scale == Scale::kFull ? layout.item : fmt::format("{}:{}", layout.item, name(scale));
    return layout;
  };
}

}  // namespace approx
