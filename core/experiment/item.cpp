#include "core/experiment/item.h"

#include <cmath>

#include "core/experiment/toml_source.h"

namespace approx {
namespace {

constexpr size_t kMostNumbers = 10'000;

const Names& known_kinds() {
  static const Names kinds = {"table",  "curves", "heat",    "bars",
                              "points", "study",  "kernels", "schedule"};
  return kinds;
}

const Names& known_axes() {
  static const Names axes = {"method", "network", "schedule", "dataset", "shape"};
  return axes;
}

// Reads the entries of one table into members, each at most once.
class TableReader {
 public:
  TableReader(const TomlSource& source, const toml::table& table, std::string path)
      : source_(source), table_(table), path_(std::move(path)) {}

  const toml::node* node(const char* key) const { return table_.get(key); }
  std::string at(const char* key) const { return path_ + "." + key; }

  void text(const char* key, std::string& member) const {
    const auto* found = node(key);
    if (found == nullptr) return;
    // A unit may be none.
    const auto value = found->value_exact<std::string>();
    member = value && value->empty() ? "" : source_.text(*found, at(key));
  }

  void one_of(const char* key, std::string& member, const Names& known) const {
    text(key, member);
    if (node(key) == nullptr || contains(known, member)) return;
    throw source_.error(*node(key), at(key), "\"{}\"{}; known: {}", member,
                        did_you_mean(member, known), fmt::join(known, ", "));
  }

  std::optional<double> number(const char* key) const {
    const auto* found = node(key);
    if (found == nullptr) return std::nullopt;
    const auto value = found->value<double>();
    if (!value || !std::isfinite(*value) || found->is_boolean()) {
      throw source_.error(*found, at(key), "expected a number, got {}", type_name(*found));
    }
    return value;
  }

  std::optional<int64_t> count(const char* key) const {
    const auto* found = node(key);
    if (found == nullptr) return std::nullopt;
    const auto value = found->value_exact<int64_t>();
    if (!value || *value < 1) {
      throw source_.error(*found, at(key), "expected an integer of at least 1");
    }
    return value;
  }

  Names texts(const char* key) const {
    return node(key) == nullptr ? Names() : source_.texts(*node(key), at(key));
  }

 private:
  const TomlSource& source_;
  const toml::table& table_;
  const std::string path_;
};

// "91.8", a number; or a text that is no number and so has no value.
ReportedNumber read_number(const TomlSource& source, const toml::node& node,
                           const std::string& path) {
  if (const auto text = node.value_exact<std::string>()) {
    return {text->empty() ? "" : source.text(node, path), std::nullopt};
  }
  const auto value = node.value<double>();
  if (!value || !std::isfinite(*value) || node.is_boolean()) {
    throw source.error(node, path, "expected a number or a text, got {}", type_name(node));
  }
  const auto integer = node.value_exact<int64_t>();
  return {integer ? fmt::format("{}", *integer) : shortest(*value), value};
}

std::vector<std::vector<ReportedNumber>> read_numbers(const TomlSource& source,
                                                      const toml::node& node,
                                                      const std::string& path, bool has_columns) {
  std::vector<std::vector<ReportedNumber>> rows;
  const auto* array = node.as_array();
  if (array == nullptr) throw source.error(node, path, "expected a list of the paper's numbers");
  size_t count = 0;
  for (size_t i = 0; i < array->size(); ++i) {
    const auto& item = *array->get(i);
    const std::string at = fmt::format("{}[{}]", path, i);
    auto& row = rows.emplace_back();
    const auto* cells = item.as_array();
    if (has_columns != (cells != nullptr)) {
      throw source.error(item, at, "{}",
                         has_columns ? "expected a list with a number for each column"
                                     : "expected a number; lists of lists are for columns");
    }
    if (cells == nullptr) {
      row.push_back(read_number(source, item, at));
    } else {
      for (size_t j = 0; j < cells->size(); ++j) {
        row.push_back(read_number(source, *cells->get(j), fmt::format("{}[{}]", at, j)));
      }
    }
    count += row.size();
    if (count > kMostNumbers) {
      throw source.error(node, path, "more than {} numbers", kMostNumbers);
    }
  }
  return rows;
}

// All but the one that no paper prints.
Names quantities_of_files() {
  Names quantities = names_of_enum<PaperQuantity>();
  std::erase(quantities, name(PaperQuantity::kRealisation));
  return quantities;
}

ReportedValue read_value(const TomlSource& source, const toml::node& node, const std::string& path,
                         bool has_columns) {
  static const Names keys = {"quantity",  "definition", "unit",  "basis",   "hardware", "note",
                             "tolerance", "n_runs",     "paper", "printed", "not_run",  "against"};
  const auto& table = source.table(node, path);
  source.check_keys(table, path, keys);
  const TableReader reader(source, table, path);
  ReportedValue value;
  std::string quantity, basis(name(value.basis));
  reader.one_of("quantity", quantity, quantities_of_files());
  if (quantity.empty()) throw source.error(node, path, "quantity is missing");
  value.quantity = parse<PaperQuantity>(quantity, "quantity");
  std::string definition;
  reader.text("definition", definition);
  value.definition = Definition(std::move(definition));
  reader.text("unit", value.unit);
  reader.one_of("basis", basis, names_of_enum<Basis>());
  value.basis = parse<Basis>(basis, "basis");
  reader.text("hardware", value.hardware);
  reader.text("against", value.against);
  reader.text("note", value.note);
  reader.text("not_run", value.not_run);
  value.tolerance = reader.number("tolerance");
  if (value.tolerance && *value.tolerance < 0) {
    throw source.error(*reader.node("tolerance"), reader.at("tolerance"), "must not be negative");
  }
  value.n_runs = reader.count("n_runs");
  if (const auto* paper = reader.node("paper")) {
    value.paper = read_numbers(source, *paper, reader.at("paper"), has_columns);
  }
  const auto* printed = reader.node("printed");
  if (printed == nullptr) return value;
  const std::string at = reader.at("printed");
  const auto texts = read_numbers(source, *printed, at, has_columns);
  if (value.paper.empty()) value.paper.resize(texts.size());
  if (texts.size() != value.paper.size()) {
    throw source.error(*printed, at, "{} rows, but paper has {}", texts.size(), value.paper.size());
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    auto& row = value.paper[i];
    if (row.empty()) row.resize(texts[i].size());
    if (texts[i].size() != row.size()) {
      throw source.error(*printed, fmt::format("{}[{}]", at, i), "{} numbers, but paper has {}",
                         texts[i].size(), row.size());
    }
    for (size_t j = 0; j < row.size(); ++j) {
      if (!texts[i][j].printed.empty()) row[j].printed = texts[i][j].printed;
    }
  }
  return value;
}

StatedDeparture read_departure(const TomlSource& source, const toml::node& node,
                               const std::string& path) {
  const auto& table = source.table(node, path);
  source.check_keys(table, path, {"method", "schedule", "network", "reason"});
  const TableReader reader(source, table, path);
  StatedDeparture departure;
  departure.methods = reader.texts("method");
  departure.schedules = reader.texts("schedule");
  departure.networks = reader.texts("network");
  reader.text("reason", departure.reason);
  if (departure.reason.empty()) throw source.error(node, path, "reason is missing");
  return departure;
}

}  // namespace

Definition::Definition(std::string words) : text(std::move(words)) {
  measure = text == "final"                        ? Measure::kFinal
            : text.starts_with("best")             ? Measure::kBest
            : text == "of the approximated layers" ? Measure::kOfApproximatedLayers
            : text == "dense"                      ? Measure::kDense
            : text == "approximated"               ? Measure::kApproximated
                                                   : Measure::kAsDescribed;
}

Scale parse_scale(std::string_view text) { return parse<Scale>(text, "scale:"); }

ItemReport read_item_report(const TomlSource& source) {
  static const Names keys = {"item",    "kind",   "rows",  "columns", "value",    "labels",
                             "finding", "margin", "paper", "departs", "reencoded"};
  ItemReport report;
  const auto* node = source.root().get("report");
  if (node == nullptr) return report;
  const auto& table = source.table(*node, "report");
  source.check_keys(table, "report", keys);
  const TableReader reader(source, table, "report");
  reader.text("item", report.item);
  reader.one_of("kind", report.kind, known_kinds());
  reader.one_of("rows", report.rows, known_axes());
  reader.one_of("columns", report.columns, known_axes());
  reader.text("finding", report.finding);
  reader.text("reencoded", report.reencoded);
  report.labels = reader.texts("labels");
  if (const auto margin = reader.number("margin")) report.margin = *margin;
  if (report.margin <= 0) {
    throw source.error(*reader.node("margin"), reader.at("margin"), "must be above 0");
  }
  if (report.columns == report.rows) {
    throw source.error(*reader.node("columns"), reader.at("columns"),
                       "the rows are already by this axis; choose another");
  }
  const bool has_columns = !report.columns.empty();
  if (const auto* values = reader.node("value")) {
    source.each(*values, "report.value", [&](const toml::node& item, const std::string& at) {
      report.values.push_back(read_value(source, item, at, has_columns));
    });
  }
  if (const auto* departures = reader.node("departs")) {
    source.each(*departures, "report.departs", [&](const toml::node& item, const std::string& at) {
      report.departures.push_back(read_departure(source, item, at));
    });
  }
  // With one value its numbers may stand beside it.
  if (const auto* paper = reader.node("paper")) {
    if (report.values.size() != 1 || !report.values[0].paper.empty()) {
      throw source.error(*paper, "report.paper",
                         "needs exactly one value, without numbers of its own");
    }
    report.values[0].paper = read_numbers(source, *paper, "report.paper", has_columns);
  }
  return report;
}

namespace {

// The numbers of one list; a flat one has one column.
void check_list(const TomlSource& source, const toml::node& node, const std::string& path,
                const TableShape& shape) {
  const auto& rows = *node.as_array();
  const auto check = [&](const toml::array& list, const std::string& at, const char* what,
                         size_t most) {
    if (list.size() <= most) return;
    throw source.error(*list.get(most), fmt::format("{}[{}]", at, most),
                       "{} numbers, and the table has {} {}{}", list.size(), most, what,
                       most == 1 ? "" : "s");
  };
  check(rows, path, "row", shape.rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (const auto* row = rows[i].as_array()) {
      check(*row, fmt::format("{}[{}]", path, i), "column", shape.columns);
    }
  }
}

}  // namespace

void check_numbers(const TomlSource& source, const TableShape& shape) {
  const auto* report = source.root().get("report");
  if (report == nullptr) return;
  const auto& table = *report->as_table();
  if (const auto* paper = table.get("paper")) check_list(source, *paper, "report.paper", shape);
  const auto* values = table.get("value");
  if (values == nullptr) return;
  source.each(*values, "report.value", [&](const toml::node& value, const std::string& at) {
    for (const char* key : {"paper", "printed"}) {
      const auto* list = value.as_table()->get(key);
      if (list != nullptr) check_list(source, *list, fmt::format("{}.{}", at, key), shape);
    }
  });
}

StudyItem read_study_item(const TomlSource& source) {
  const auto& table = source.table(*source.root().get("study"), "study");
  source.check_keys(table, "study", {"name", "method", "params"});
  const TableReader reader(source, table, "study");
  StudyItem item;
  reader.text("name", item.name);
  if (item.name.empty()) {
    throw source.error(table, "study", "name is missing; `approxtrain study --help` lists them");
  }
  item.methods = reader.texts("method");
  const auto* params = reader.node("params");
  if (params == nullptr) return item;
  for (const auto& [key, value] : source.table(*params, "study.params")) {
    const std::string path = fmt::format("study.params.{}", key.str());
    const Json json = to_json_value(value);
    if (json.is_structured() || json.is_null()) {
      throw source.error(value, path, "expected a single value, got {}", type_name(value));
    }
    item.params.emplace_back(std::string(key.str()), json.is_string() ? source.text(value, path)
                                                     : json.is_number_float()
                                                         ? shortest(json.get<double>())
                                                         : json.dump());
  }
  return item;
}

KernelItem read_kernel_item(const TomlSource& source) {
  const auto& table = source.table(*source.root().get("kernels"), "kernels");
  source.check_keys(
      table, "kernels",
      {"op", "shapes", "shape", "method", "threads", "repetitions", "device", "precision"});
  const TableReader reader(source, table, "kernels");
  KernelItem item;
  reader.one_of("op", item.op, {"forward", "data_gradient", "weight_gradient"});
  reader.text("shapes", item.shapes);
  item.shape_texts = reader.texts("shape");
  if (item.shapes.empty() == item.shape_texts.empty()) {
    throw source.error(table, "kernels", "needs either shapes (a list's name) or shape (a list)");
  }
  item.methods = reader.texts("method");
  item.threads = reader.count("threads").value_or(item.threads);
  item.repetitions = reader.count("repetitions").value_or(item.repetitions);
  std::string device(name(item.device));
  reader.one_of("device", device, names_of_enum<DeviceKind>());
  item.device = parse<DeviceKind>(device, "kernels.device");
  if (const auto* node = reader.node("precision")) {
    item.precisions.clear();
    for (const auto& text : reader.texts("precision")) {
      try {
        item.precisions.push_back(parse<Precision>(text, "unknown precision"));
        check_precision(item.precisions.back(), item.device);
      } catch (const Error& error) {
        throw source.error(*node, "kernels.precision", "{}", error.what());
      }
    }
  }
  if (item.repetitions < 2) {
    throw source.error(*reader.node("repetitions"), "kernels.repetitions", "must be at least 2");
  }
  return item;
}

}  // namespace approx
