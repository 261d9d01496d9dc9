#include "results/rows/notes.h"

#include <algorithm>

namespace approx {

const char* const kNoteNames[kNotes] = {"few seeds",
                                        "diverged",
                                        "unpaired seeds",
                                        "lossy data",
                                        "dirty build",
                                        "not isolated",
                                        "mixed hosts",
                                        "tainted timing",
                                        "resumed runs",
                                        "timed against another network",
                                        "few processes",
                                        "above its ceiling",
                                        "pairs of different builds",
                                        "stock step of another build",
                                        "earlier kernel rules",
                                        "stopped at a target",
                                        "pairs of different machines",
                                        "timed by several builds",
                                        "times of another machine",
                                        "approximated nothing",
                                        "seconds too short",
                                        "earlier version"};
const char* const kNoteTexts[kNotes] = {
    "fewer than 5 seeds; one seed has no interval",
    "means are over the runs that did not diverge",
    "the difference leaves out seeds without a finished dense run on the same data",
    "lossy data: the images went through JPEG",
    "built from sources with uncommitted changes",
    "images/s of runs that may have shared the machine",
    "runs of several machines",
    ("timing runs that were disturbed or shared the machine are left out: sweep --rerun tainted "
     "times them again"),
    ("runs that were interrupted and went on from a checkpoint: their times are of several "
     "processes"),
    "its speedup is over the exact training of another network",
    "its speedup was timed in fewer than 5 processes; one process has no interval",
    ("its speedup lies wholly above its own ceiling, where no saving can bring it: no verdict "
     "rests "
     "on it"),
    "in some pairs the dense run was made by another build of the program",
    "the stock step was timed by another build of the program, whose exact step may differ",
    "its speedup was timed with an earlier table of kernel rules",
    ("runs that ended as soon as they reached a target: they have a time to it and no accuracy, "
     "which would be the target's"),
    ("in some pairs the dense run was made on another machine: from the same weights, images and "
     "draws, rounded otherwise"),
    "its speedup was timed by several builds of the program",
    ("its trainings ran on another machine than the exact ones: its seconds must not be compared "
     "with theirs"),
    "no product of some run was approximated: it was an exact one under another name",
    ("trained on a GPU by a program that left out of its seconds what the device had still to do: "
     "they are too short, and not compared"),
    "some runs are by an earlier version of their method, which differs by rounding alone"};

NoteLetters::NoteLetters(const std::vector<Notes>& lines, char first,
                         const std::set<Note>& without) {
  for (int note = 0; note < kNotes; ++note) {
    if (without.contains(static_cast<Note>(note))) continue;
    const bool used =
        std::any_of(lines.begin(), lines.end(), [&](const Notes& line) { return line[note]; });
    if (used) letters_[note] = first++;
  }
}

std::string NoteLetters::marks(const Notes& notes) const {
  std::string marks;
  for (int note = 0; note < kNotes; ++note) {
    if (!notes[note] || letters_[note].empty()) continue;
    marks += (marks.empty() ? "" : ",") + letters_[note];
  }
  return marks.empty() ? "" : " [" + marks + "]";
}

std::string NoteLetters::names(const Notes& notes) const {
  std::string names;
  for (int note = 0; note < kNotes; ++note) {
    if (!notes[note] || letters_[note].empty()) continue;
    names += std::string(names.empty() ? "" : "; ") + kNoteNames[note];
  }
  return names;
}

std::vector<std::string> NoteLetters::lines() const {
  std::vector<std::string> lines;
  for (int note = 0; note < kNotes; ++note) {
    if (!letters_[note].empty()) lines.push_back(letters_[note] + ": " + kNoteTexts[note]);
  }
  return lines;
}

}  // namespace approx
