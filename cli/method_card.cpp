#include "cli/method_card.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/tables.h"
#include "cli/text.h"
#include "results/reports/report.h"

namespace approx {

// Each page behind a line "<!-- page NAME -->".
extern const char* const kMethodPages;

namespace {

constexpr std::string_view kPage = "<!-- page ";

// [text](target) becomes text: the targets are files that need not be here.
std::string without_links(std::string_view text) {
  std::string plain;
  for (size_t at = 0; at < text.size();) {
    const auto open = text.find('[', at);
    const auto close = text.find("](", open == text.npos ? text.size() : open);
    const auto end = text.find(')', close == text.npos ? text.size() : close);
    if (end == text.npos) return plain.append(text.substr(at));
    // The bracket next to the target: an interval before a link has brackets too.
    const auto bracket = text.rfind('[', close);
    plain.append(text.substr(at, bracket - at));
    plain.append(text.substr(bracket + 1, close - bracket - 1));
    at = end + 1;
  }
  return plain;
}

// The sections of a page, each with its heading; the first is what stands before any.
std::vector<std::string_view> sections_of(std::string_view page) {
  std::vector<std::string_view> sections;
  for (size_t at = 0; at != page.npos;) {
    const auto next = page.find("\n## ", at + 1);
    sections.push_back(page.substr(at, next - at));
    at = next == page.npos ? next : next + 1;
  }
  return sections;
}

std::string parameters_table(const Json& params) {
  if (params.empty()) return "It has no parameters.\n";
  std::vector<TextRow> rows;
  for (const auto& param : params) {
    const auto bound = [&](const char* key) {
      return param.contains(key) ? shortest(param[key].get<double>()) : std::string();
    };
    std::string values =
        param.contains("choices")
            ? fmt::format("{}", fmt::join(param["choices"].get<std::vector<std::string>>(), ", "))
            : bound("min");
    if (param.contains("min") || param.contains("max")) values += " to " + bound("max");
    const Json& fallback = param.at("default");
    rows.push_back({param.at("name"),
                    fallback.is_string() ? fallback.get<std::string>() : fallback.dump(), values,
                    param.at("help")});
  }
  return rows_text({"parameter", "default", "values", "meaning"}, rows, {.format = "md"});
}

}  // namespace

std::string method_page(std::string_view method) {
  const std::string_view all = kMethodPages;
  for (auto at = all.find(kPage); at != all.npos; at = all.find(kPage, at + 1)) {
    const auto body = all.substr(all.find('\n', at) + 1);
    const auto page = body.substr(0, body.find(kPage));
    // "# `zero`", or several names of one page.
    if (first_line(page).find(fmt::format("`{}`", method)) == std::string_view::npos) continue;
    std::string text;
    for (const auto section : sections_of(page)) {
      if (section.starts_with("## Parameters")) continue;
      const auto kept = section.starts_with("# ") ? section.substr(section.find('\n')) : section;
      text += without_links(kept) + "\n";
    }
    const auto begin = text.find_first_not_of('\n'), end = text.find_last_not_of('\n');
    return begin == text.npos ? "" : text.substr(begin, end - begin + 1) + "\n";
  }
  return "";
}

Json method_card(const MethodInfo& info, const Snapshot& snapshot) {
  Json card = {{"method", info}, {"page", method_page(info.name)}, {"results", nullptr}};
  const Table cards = Registry<Report>::instance().find("cards").make(snapshot, {});
  const auto at = std::ranges::find(cards.columns, "method") - cards.columns.begin();
  for (const auto& row : cards.rows) {
    if (text_of(row.at(static_cast<size_t>(at))) != info.name) continue;
    for (size_t i = 0; i < row.size(); ++i) {
      card["results"][cards.columns[i]] = std::visit(
          [](const auto& value) -> Json {
            if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
              return nullptr;
            } else {
              return value;
            }
          },
          row[i]);
    }
  }
  return card;
}

std::string card_text(const Json& card) {
  const Json& method = card.at("method");
  const auto text = [&](const char* key) { return method.at(key).get<std::string>(); };
  std::string out = fmt::format("# `{}`\n\n{}", text("name"), text("summary"));
  if (!text("paper").empty()) {
    out += fmt::format(" ({}{}{})", text("paper"), text("paper_at").empty() ? "" : ", ",
                       text("paper_at"));
  }
  out += "\n\n" + parameters_table(method.at("params"));
  if (const auto page = card.at("page").get<std::string>(); !page.empty()) out += "\n" + page;
  out += "\n## In this database\n\n";
  const Json& results = card.at("results");
  if (results.is_null()) return out + "It has no results of this method.\n";
  const std::vector<std::pair<const char*, const char*>> lines = {
      {"faster", "its steps are faster"}, {"slower", "its steps are slower"},
      {"no_change", "neither was shown"}, {"seeds", "seeds beside dense"},
      {"processes", "timed processes"},   {"needs", "its card needs"}};
  std::vector<TextRow> rows;
  for (const auto& [key, label] : lines) {
    const Json& value = results.at(key);
    std::string cell = value.is_string() ? value.get<std::string>() : value.dump();
    rows.push_back({label, cell.empty() ? "–" : cell});
  }
  return out + rows_text({"", ""}, rows, {.format = "md"});
}

}  // namespace approx
