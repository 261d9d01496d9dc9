// Findings about a machine, to read before measuring on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_text.h"
#include "cli/machine.h"

namespace approx {

// kFault: something will not work. kNote: something will be slower, less exact or not there.
enum class Severity { kFine, kNote, kFault };

constexpr auto enum_texts(Severity) {
  return std::to_array<EnumText<Severity>>(
      {{Severity::kFine, "fine"}, {Severity::kNote, "note"}, {Severity::kFault, "fault"}});
}

struct Finding {
  Severity severity = Severity::kFine;
  std::string what;   // "clock"
  std::string found;  // "governor powersave"
  std::string fix;    // what to do about it; "" where nothing is wrong
};

// Findings about the machine's processor, clock, load and memory.
std::vector<Finding> machine_findings(const Machine& machine);

// The free space in a folder that this program writes to, where it is known.
Finding disk_finding(const std::string& what, const std::string& folder,
                     std::optional<int64_t> free_bytes);

}  // namespace approx
