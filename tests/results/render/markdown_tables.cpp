// Reads a JSON list of tables ({"title", "columns", "rows", "notes"}, all texts) from standard
// input and writes each as render() makes Markdown of it, with a line "%%" behind each.
// markdown_test.py holds what a renderer makes of that to the texts.
#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "results/render/table.h"

int main() {
  const auto tables = nlohmann::json::parse(std::cin);
  for (const auto& json : tables) {
    approx::Table table;
    json.at("title").get_to(table.title);
    json.at("columns").get_to(table.text_columns);
    json.at("rows").get_to(table.text_rows);
    json.at("notes").get_to(table.notes);
    std::cout << approx::render(table, "md") << "%%\n";
  }
}
