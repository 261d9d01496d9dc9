// What a worker prints: the first part in a file of its run directory, the last lines in memory.
#pragma once

#include <cstddef>
#include <deque>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace approx {

class OutputLog {
 public:
  // The file is made when there is something to put into it.
  explicit OutputLog(std::string path) : path_(std::move(path)) {}

  void add(std::string_view bytes);

  // The last lines, printable; an unfinished one ends here.
  std::vector<std::string> tail();

 private:
  void end_line();

  std::string path_, line_;
  std::ofstream file_;
  size_t written_ = 0;
  std::deque<std::string> tail_;
};

}  // namespace approx
