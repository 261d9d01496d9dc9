// A report: a table of the contents of a store, and the figure that shows it. Each report is one
// .cpp in results/reports/ with a REGISTER_REPORT; `approxtrain report NAME` finds it. A report
// reads one snapshot of the store. Equal contents give byte-identical tables; an empty store gives
// an empty table.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/registry.h"
#include "results/records/snapshot.h"
#include "results/render/table.h"
#include "results/rows/options.h"

namespace approx {

struct Report {
  static constexpr const char* kWhat = "report";
  std::string name;     // name of the subcommand
  std::string summary;  // shown in its --help
  std::string needs;    // the contents that it is made of, for the message when a store has none
  std::string script;   // plots/SCRIPT.gp draws its CSV; "" where there is no picture
  // Whether it is about the experiments' runs, and can be restricted to one experiment.
  bool of_experiment = true;
  // Whether its numbers depend on the images. Its table then says which data sets are lossy.
  bool of_images = true;
  // Place in --help, from 1; reports with equal places are sorted by name.
  int place = std::numeric_limits<int>::max();
  // Makes the table of a store. Throws Error(kDatabase) for a store that this program did not
  // write. Throws Error(kUsage) for options that do not fit it, and where its rows lack a
  // reference.
  std::function<Table(const Snapshot& snapshot, const ReportOptions& options)> make;

  Report& about(std::string text) { return summary = std::move(text), *this; }
  Report& made_of(std::string text) { return needs = std::move(text), *this; }
  Report& drawn_by(std::string name_of_script) { return script = std::move(name_of_script), *this; }
  Report& of_the_store() { return of_experiment = false, *this; }
  Report& without_images() { return of_images = false, *this; }
  Report& at(int position) { return place = position, *this; }
};

// All reports in the order of their places.
std::vector<const Report*> reports();

// Adds the note on lossy data to a table that has rows and no such note yet.
void note_lossy_data(const Snapshot& snapshot, const ReportOptions& options, Table& table);

// Registers a report. A table without a name gets the name of its report.
template <typename Make>
Report& register_report(const std::string& name, Make make) {
  auto& report = Registry<Report>::instance().add(name);
  report.make = [&report, name, make](const Snapshot& snapshot, const ReportOptions& options) {
    Table table = make(snapshot, options);
    if (table.name.empty()) table.name = name;
    if (report.of_images) note_lossy_data(snapshot, options, table);
    return table;
  };
  return report;
}

}  // namespace approx

#define REGISTER_REPORT(NAME, MAKE)                                        \
  [[maybe_unused]] static ::approx::Report& APPROX_UNIQUE(report_entry_) = \
      ::approx::register_report(NAME, MAKE)
