// The output of a worker: its first part in a file of the run directory, its last lines in memory.
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
  // The file is created at the first output.
  explicit OutputLog(std::string path) : path_(std::move(path)) {}

  void add(std::string_view bytes);

  // The last lines, made printable; an unfinished line ends here.
  std::vector<std::string> tail();

 private:
  void end_line();

  std::string path_, line_;
  std::ofstream file_;
  size_t written_ = 0;
  std::deque<std::string> tail_;
};

}  // namespace approx
