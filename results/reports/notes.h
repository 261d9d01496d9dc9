// What a reader of a row must know besides its numbers.
#pragma once

namespace approx {

// What a row of the table must be read with, in the order of the letters.
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
  kNotes
};

extern const char* const kNoteNames[kNotes];  // "few seeds", for programs
extern const char* const kNoteTexts[kNotes];  // a line each, for people

}  // namespace approx
