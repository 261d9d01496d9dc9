// Notes on a row: facts that a reader must know besides its numbers.
#pragma once

#include <array>
#include <set>
#include <string>
#include <vector>

namespace approx {

// Notes on a row of a table, in the order of their letters.
enum Note {
  kFew,
  kDiverged,
  kUnpaired,
  kLossy,
  kDirty,
  kShared,
  kMixedHosts,
  kTainted,
  kResumed,
  kOtherNetwork,
  kFewProcesses,
  kAboveCeiling,
  kMixedBuilds,
  kStockBuild,
  kEarlierRules,
  kStopped,
  kPairsOfMachines,
  kTimedByBuilds,
  kTimesElsewhere,
  kIdle,
  kShortSeconds,
  kEarlierVersion,
  kInPython,
  kFewTargetRuns,
  kPatience,
  kNotes
};

using Notes = std::array<bool, kNotes>;

struct NoteText {
  const char* name;  // "few seeds", for programs
  const char* text;  // a line, for people
};
extern const NoteText kNoteTexts[kNotes];

// The remark on timings that do not count (kTainted).
inline constexpr const char* kTimingsDisturbed =
    "its timings were disturbed: sweep --rerun tainted times them again";

// Gives letters, from `first` on, to the notes that the lines of a table have, in the order of
// kNoteTexts. Notes in `without` have no meaning in that table and get none.
class NoteLetters {
 public:
  NoteLetters(const std::vector<Notes>& lines, char first, const std::set<Note>& without = {});

  std::string marks(const Notes& notes) const;  // " [a,c]", "" without notes
  std::string names(const Notes& notes) const;  // "few seeds; lossy data"
  std::vector<std::string> lines() const;       // "a: ..." for each letter

 private:
  std::string letters_[kNotes];
};

}  // namespace approx
