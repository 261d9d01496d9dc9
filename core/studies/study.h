// A study computes numbers about methods without a training, or with a few steps of one. Each has
// one .cpp in core/studies/ that ends in REGISTER_STUDY. `approxtrain study` finds it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/registry.h"
#include "core/config/catalogue.h"
#include "core/engine/engine.h"
#include "core/methods/method.h"

namespace approx {

// A table that a study fills: named columns, rows of numbers and texts.
class StudyTable {
 public:
  explicit StudyTable(std::vector<std::string> columns) : columns_(std::move(columns)) {}
  void add(std::vector<Json> row);  // numbers that are not finite become null
  Json json() const;                // {"columns": [...], "rows": [[...], ...]}

 private:
  std::vector<std::string> columns_;
  Json rows_ = Json::array();
};

struct StudyEntry : StudyInfo {
  static constexpr const char* kWhat = "study";
  std::function<StudyTable(const StudyRequest&)> run;

  StudyEntry& about(std::string text) { return summary = std::move(text), *this; }
  StudyEntry& from_paper(std::string id, std::string at) {
    return paper = std::move(id), paper_at = std::move(at), *this;
  }
  // Declares that the study takes methods. `list` has those that it uses if none are named.
  StudyEntry& by_methods(std::vector<std::string> list) { return methods = std::move(list), *this; }
  StudyEntry& param(ParamSpec spec) { return params.push_back(std::move(spec)), *this; }
  // Parameters that several studies share.
  StudyEntry& with(void (*declare)(StudyEntry&)) { return declare(*this), *this; }
};

// The method's text with the parameters in `more`, which replace its own of equal names.
std::string with_params(std::string_view method,
                        const std::vector<std::pair<std::string, std::string>>& more);

// A mean and the half width of its 95 % interval (normal quantile: studies average over many runs).
struct Mean {
  double value = 0, half = 0;
};
Mean mean_of(const std::vector<double>& values);

inline StudyEntry& register_study(std::string name, StudyTable (*run)(const StudyRequest&)) {
  auto& entry = Registry<StudyEntry>::instance().add(std::move(name));
  entry.run = run;
  return entry;
}

}  // namespace approx

#define REGISTER_STUDY(NAME, RUN)                                             \
  [[maybe_unused]] static ::approx::StudyEntry& APPROX_UNIQUE(study_entry_) = \
      ::approx::register_study(NAME, RUN)
