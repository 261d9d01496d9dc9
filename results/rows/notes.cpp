#include "results/rows/notes.h"

#include <algorithm>

namespace approx {

const NoteText kNoteTexts[kNotes] = {
    {"few seeds", "fewer than 5 seeds; one seed has no interval"},
    {"diverged", "means are over the runs that did not diverge"},
    {"unpaired seeds",
     "the difference leaves out seeds without a finished dense run on the same data"},
    {"lossy data", "lossy data: the images went through JPEG"},
    {"dirty build", "built from sources with uncommitted changes"},
    {"not isolated", "images/s of runs that may have shared the machine"},
    {"mixed hosts", "runs of several machines"},
    {"tainted timing",
     "timing runs that were disturbed or shared the machine are left out: sweep --rerun "
     "tainted times them again"},
    {"resumed runs",
     "runs that were interrupted and went on from a checkpoint: their times are from several "
     "processes"},
    {"timed against another network", "its speedup is over the exact training of another network"},
    {"few processes",
     "its speedup was timed in fewer than 5 processes; one process has no interval"},
    {"above its ceiling",
     "its whole speedup interval lies above its own ceiling, which no saving can reach: no verdict "
     "rests on it"},
    {"pairs of different builds",
     "in some pairs the dense run was made by another build of the program"},
    {"stock step of another build",
     "the stock step was timed by another build of the program, whose exact step may differ"},
    {"earlier kernel rules", "its speedup was timed with an earlier table of kernel rules"},
    {"stopped at a target",
     "runs that ended as soon as they reached a target: they have a time to it and no accuracy of "
     "their own"},
    {"pairs of different machines",
     "in some pairs the dense run was made on another machine: same weights, images and draws, "
     "other rounding"},
    {"timed by several builds", "its speedup was timed by several builds of the program"},
    {"times of another machine",
     "its trainings ran on another machine than the exact ones: its seconds must not be "
     "compared with theirs"},
    {"approximated nothing",
     "no product of some run was approximated: it was exact training under another name"},
    {"seconds too short",
     "trained on a GPU by an older program that did not wait for the device: its seconds are too "
     "short, and not compared"},
    {"earlier version",
     "some runs are by an earlier version of their method, which differs only by rounding"},
    {"interpreted method",
     "its method is in Python: its seconds are the interpreter's too, and not compared"},
    {"target of few runs", "its target rests on fewer than 10 dense runs"},
    {"ends by a patience",
     "runs that end when they gain no more: they have times to targets and no accuracy of their "
     "own"},
};

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
    names += std::string(names.empty() ? "" : "; ") + kNoteTexts[note].name;
  }
  return names;
}

std::vector<std::string> NoteLetters::lines() const {
  std::vector<std::string> lines;
  for (int note = 0; note < kNotes; ++note) {
    if (!letters_[note].empty()) lines.push_back(letters_[note] + ": " + kNoteTexts[note].text);
  }
  return lines;
}

}  // namespace approx
