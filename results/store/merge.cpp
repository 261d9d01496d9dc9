// A row is known by its key: of a run its name, of a machine what it is, of a cell its run key.
// References between rows are keys instead of numbers while several stores are looked at; what a
// store is made of is then a set, and merging is to unite sets. At the end the rows get numbers
// again, in an order that is that of time where they have one.
#include "results/store/merge.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <stdexcept>

#include "results/store/database.h"
#include "results/store/ending.h"
#include "results/store/journal.h"
#include "results/store/journal_entries.h"
#include "results/store/run_store.h"

namespace approx {
namespace {

// As part of a key.
std::string text_of(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_number_integer()) return fmt::format("{}", value.get<int64_t>());
  if (value.is_number()) return fmt::format("{}", value.get<double>());
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return fmt::format("{}:{}", text.size(), text);
  }
  const auto& bytes = value.get_binary();
  return fmt::format("{}:{}", bytes.size(), std::string(bytes.begin(), bytes.end()));
}

enum Name {
  kHost,
  kBuild,
  kDataset,
  kExperiment,
  kCell,
  kMember,
  kRun,
  kKernelRun,
  kKernelCase,
  kStudy,
  kTables
};

// A table whose rows have a number, its first column, TABLE_id. `key`: by which columns a row is
// known; none: by all others. `order`: which decide the order of the rows before the key does.
struct Table {
  std::string name;
  std::vector<std::string> key, order;

  std::string number() const { return name + "_id"; }
};

// Those that are referred to come before those that refer to them.
const std::array<Table, kTables>& tables() {
  static const std::array<Table, kTables> all = {{
      {"host", {"fingerprint"}, {}},
      {"build", {}, {}},
      {"dataset", {"name", "variant", "sha256"}, {}},
      {"experiment", {"name"}, {"created_utc", "name"}},
      {"cell", {"run_key"}, {}},
      {"experiment_cell", {"experiment_id", "cell_id"}, {}},
      {"run", {"uid"}, {}},
      {"kernel_run", {"uid"}, {}},
      {"kernel_case", {}, {}},
      {"study_run", {"uid"}, {}},
  }};
  return all;
}

// Rows that belong to a run or a benchmark, and have no number of their own.
constexpr std::array<std::pair<const char*, Name>, 6> kParts = {{{"metric", kRun},
                                                                 {"layer_metric", kRun},
                                                                 {"layer_variant", kRun},
                                                                 {"layer_traffic", kRun},
                                                                 {"timing_block", kRun},
                                                                 {"kernel_result", kKernelRun}}};

// The columns of a table as this program makes it: others, in a file that somebody else made, are
// not looked at.
std::vector<std::string> columns_of(const std::string& table) {
  static SQLite::Database empty = empty_store();
  std::vector<std::string> columns;
  for_each_row(
      empty, "SELECT name FROM pragma_table_info(?) ORDER BY cid",
      [&](SQLite::Statement& row) { columns.push_back(text_at(row, 0)); }, table);
  return columns;
}

// The table that a column refers to, if any.
std::optional<Name> referred(const std::string& column, const std::string& own_number) {
  if (column == own_number) return std::nullopt;
  for (size_t i = 0; i < kTables; ++i) {
    if (column == tables()[i].number()) return static_cast<Name>(i);
  }
  return std::nullopt;
}

// A row without its number, its references by key, and the store that it is of.
struct Row {
  std::vector<Json> values;
  size_t source = 0;
};

// Throws Json::exception where something else is there.
const std::string& text_in(const Row& row, size_t column) {
  return row.values[column].get_ref<const std::string&>();
}

// All rows of a table, of whichever store, by their keys.
struct Rows {
  std::vector<std::string> columns;  // without the number
  std::map<std::string, Row> by_key;

  size_t at(const std::string& column) const {
    const auto found = std::find(columns.begin(), columns.end(), column);
    return static_cast<size_t>(found - columns.begin());
  }
};

using Numbers = std::array<std::map<int64_t, std::string>, kTables>;  // the keys of a store's rows

class Union {
 public:
  // A store, which outlives the union, from that file. What is running there is left out. Throws
  // Error(kDatabase) where it contradicts itself.
  void add(SQLite::Database& db, const std::string& path) {
    sources_.push_back(&db);
    paths_.push_back(path);
    keys_.emplace_back();
    try {
      for (size_t i = 0; i < kTables; ++i) add_table(db, static_cast<Name>(i));
    } catch (const SQLite::Exception& error) {
      throw_database_error(path, error);
    } catch (const std::logic_error&) {  // no row has the number that another refers to
      throw contradiction(path);
    } catch (const Json::exception&) {  // a text for a number, or the other way
      throw contradiction(path);
    }
  }

  // How many things that were computed it has of its stores, the first `but` of them left out.
  int64_t computed(size_t but = 0) const {
    int64_t count = 0;
    for (const Name name : {kRun, kKernelRun, kStudy}) {
      count += std::ranges::count_if(rows_[name].by_key,
                                     [but](const auto& row) { return row.second.source >= but; });
    }
    return count;
  }

  // Makes all of it the content of a store of this program's schema.
  void write(SQLite::Database& db) {
    for (const auto& [part, of] : kParts) db.exec(fmt::format("DELETE FROM {}", part));
    for (size_t i = kTables; i-- > 0;) db.exec(fmt::format("DELETE FROM {}", tables()[i].name));
    count_attempts();
    for (size_t i = 0; i < kTables; ++i) write_table(db, static_cast<Name>(i));
    for (const auto& [part, of] : kParts) write_parts(db, part, of);
  }

 private:
  static Error contradiction(const std::string& path) {
    return database_error("{}: its rows do not fit together; `approxtrain db check` says where",
                          path);
  }

  void add_table(SQLite::Database& db, Name name) {
    const Table& table = tables()[name];
    Rows& rows = rows_[name];
    Numbers& keys = keys_.back();
    rows.columns = columns_of(table.name);
    rows.columns.erase(rows.columns.begin());
    const char* where = name == kRun ? "WHERE state <> 'running'" : "";
    for_each_row(db,
                 fmt::format("SELECT {}, {} FROM {} {}", table.number(),
                             fmt::join(rows.columns, ", "), table.name, where),
                 [&](SQLite::Statement& found) {
                   Row row{.values = {}, .source = sources_.size() - 1};
                   for (size_t i = 0; i < rows.columns.size(); ++i) {
                     Json value = value_at(found, static_cast<int>(i) + 1);
                     const auto to = referred(rows.columns[i], table.number());
                     if (to && value.is_number_integer())
                       value = keys[*to].at(value.get<int64_t>());
                     row.values.push_back(std::move(value));
                   }
                   // Of no row itself: it is counted anew.
                   if (name == kRun) row.values[rows.at("attempt")] = 0;
                   const std::string key = key_of(name, rows, row);
                   keys[name][found.getColumn(0).getInt64()] = key;
                   take(name, key, std::move(row));
                 });
  }

  static std::string key_of(Name name, const Rows& rows, const Row& row) {
    auto columns = tables()[name].key;
    // What an experiment leaves out has no cell, and is known by all that is said of it.
    if (name == kMember && row.values[rows.at("cell_id")].is_null()) {
      columns.clear();
    }
    if (columns == std::vector<std::string>{"uid"}) {
      const auto& uid = text_in(row, rows.at("uid"));
      if (uid.empty()) throw database_error("a row of {} has no name", tables()[name].name);
      return uid;
    }
    std::string key;
    for (const auto& column : columns.empty() ? rows.columns : columns) {
      key += text_of(row.values[rows.at(column)]) + ' ';
    }
    return key;
  }

  // Of two rows with one key the one of the higher rank, else the lesser, so that it does not
  // matter which came first.
  void take(Name name, const std::string& key, Row row) {
    Rows& rows = rows_[name];
    const auto [place, is_new] = rows.by_key.try_emplace(key, row);
    if (is_new) return;
    Row& held = place->second;
    const Json now = rank_of(name, rows, row), before = rank_of(name, rows, held);
    if (now == before ? row.values < held.values : before < now) held = std::move(row);
  }

  // Of an experiment when its text was recorded. Of a run how much its end says: a copy of a store,
  // or one made anew, may hold it for lost that came to a result where it ran.
  static Json rank_of(Name name, const Rows& rows, const Row& row) {
    if (name == kExperiment) return row.values[rows.at("created_utc")];
    if (name != kRun) return {};
    const RunState state = stored_run_state(text_in(row, rows.at("state")));
    return is_result(state) ? 2 : is_done_again(state) ? 0 : 1;
  }

  // One cell may be attempted on several machines; names are in the order of time. What is to be
  // done again goes before what is not: where one machine was interrupted, another's result is one.
  void count_attempts() {
    Rows& rows = rows_[kRun];
    const size_t cell = rows.at("cell_id"), attempt = rows.at("attempt"), state = rows.at("state");
    std::map<std::string, int64_t> attempts;
    for (const bool again : {true, false}) {
      for (auto& [key, row] : rows.by_key) {
        const auto ended = stored_run_state(text_in(row, state));
        if (is_done_again(ended) != again) continue;
        row.values[attempt] = ++attempts[text_in(row, cell)];
      }
    }
  }

  // The keys of a table in the order in which its rows are numbered.
  std::vector<std::string> in_order(Name name) const {
    const Rows& rows = rows_[name];
    std::vector<std::pair<std::vector<Json>, std::string>> order;
    const auto first_places =
        name == kCell ? places_of_cells() : std::map<std::string, std::vector<Json>>();
    for (const auto& [key, row] : rows.by_key) {
      std::vector<Json> by;
      for (const auto& column : tables()[name].order) by.push_back(row.values[rows.at(column)]);
      if (name == kCell) by = first_places.at(key);
      if (name == kMember) by = place_of_member(row);
      order.emplace_back(std::move(by), key);
    }
    std::ranges::sort(order);
    std::vector<std::string> keys;
    for (auto& [by, key] : order) keys.push_back(std::move(key));
    return keys;
  }

  // Of an experiment's cell: when the experiment was recorded, and where in it the cell is.
  std::vector<Json> place_of_member(const Row& member) const {
    const Rows &members = rows_[kMember], &experiments = rows_[kExperiment];
    const auto& experiment = experiments.by_key.at(text_in(member, members.at("experiment_id")));
    return {experiment.values[experiments.at("created_utc")],
            experiment.values[experiments.at("name")], member.values[members.at("position")]};
  }

  // As they were asked for first.
  std::map<std::string, std::vector<Json>> places_of_cells() const {
    std::map<std::string, std::vector<Json>> places;
    for (const auto& [key, row] : rows_[kCell].by_key) places[key] = {"~"};
    const Rows& members = rows_[kMember];
    for (const auto& [key, row] : members.by_key) {
      if (row.values[members.at("cell_id")].is_null()) continue;
      auto& known = places[text_in(row, members.at("cell_id"))];
      known = std::min(known, place_of_member(row));
    }
    return places;
  }

  void write_table(SQLite::Database& db, Name name) {
    const Table& table = tables()[name];
    const Rows& rows = rows_[name];
    int64_t number = 0;
    for (const auto& key : in_order(name)) {
      const Row& held = rows.by_key.at(key);
      Json row;
      row[table.number()] = numbers_[name][key] = ++number;
      for (size_t i = 0; i < rows.columns.size(); ++i) {
        const auto to = referred(rows.columns[i], table.number());
        const bool refers = to && held.values[i].is_string();
        row[rows.columns[i]] = refers ? Json(numbers_[*to].at(text_in(held, i))) : held.values[i];
      }
      insert_row(db, "INSERT INTO " + table.name, row);
    }
  }

  // From the store that the run was taken from: they are many, and are not held.
  void write_parts(SQLite::Database& db, const std::string& part, Name of) {
    const auto columns = columns_of(part);
    const std::vector<const char*> places(columns.size(), "?");
    SQLite::Statement insert(db, fmt::format("INSERT INTO {}({}) VALUES({})", part,
                                             fmt::join(columns, ", "), fmt::join(places, ", ")));
    for (size_t source = 0; source < sources_.size(); ++source) {
      for_each_row(*sources_[source],
                   fmt::format("SELECT {} FROM {}", fmt::join(columns, ", "), part),
                   [&](SQLite::Statement& row) {
                     try {
                       if (bind_part(insert, row, columns, source, of)) insert.exec();
                     } catch (const Json::exception&) {  // a text for a number
                       throw contradiction(paths_[source]);
                     }
                     insert.reset();
                   });
    }
  }

  // Whether the row belongs to a run that was taken from this store.
  bool bind_part(SQLite::Statement& insert, SQLite::Statement& row,
                 const std::vector<std::string>& columns, size_t source, Name of) const {
    for (size_t i = 0; i < columns.size(); ++i) {
      Json value = value_at(row, static_cast<int>(i));
      if (const auto to = referred(columns[i], "")) {
        const auto& keys = keys_[source][*to];
        const auto key = keys.find(value.get<int64_t>());
        if (key == keys.end()) return false;
        if (*to == of && rows_[of].by_key.at(key->second).source != source) return false;
        value = numbers_[*to].at(key->second);
      }
      bind_value(insert, static_cast<int>(i) + 1, value);
    }
    return true;
  }

  std::array<Rows, kTables> rows_;
  std::array<std::map<std::string, int64_t>, kTables> numbers_;  // in the result
  std::vector<SQLite::Database*> sources_;
  std::vector<std::string> paths_;  // of them
  std::vector<Numbers> keys_;       // of each of them
};

}  // namespace

MergeCounts merge_stores(const std::string& into, const std::vector<std::string>& from) {
  MergeCounts counts;
  std::vector<SQLite::Database> others;
  Union offered;
  others.reserve(from.size());
  for (const auto& path : from) {
    others.push_back(open_snapshot(path));
    counts.running +=
        first_integer(others.back(), "SELECT count(*) FROM run WHERE state = 'running'");
    offered.add(others.back(), path);
  }
  // Settles what a sweep that died left as running there.
  RunStore(into, RunStore::Mode::kWrite).recover();
  const StoreOptions options;
  auto db = open_for_writing(into, options);
  Journal journal(into);
  journal.write(db, options, [&] {
    expect_no_sweep(db, into);
    auto own = open_snapshot(into);  // as it is, since nobody else writes to it now
    Union all;
    all.add(own, into);
    for (size_t i = 0; i < from.size(); ++i) all.add(others[i], from[i]);
    counts.added = all.computed(/*but=*/1);
    counts.present = offered.computed() - counts.added;
    all.write(db);
    journal.add(rewritten_entry(from));
  });
  // The next journal begins with all of it.
  journal.write(db, options, [&] { journal.begin_anew(db); });
  return counts;
}

}  // namespace approx
