// added_study: the closed form of the mean of 1 .. n, beside the sum itself.
#include "core/studies/study.h"

namespace approx {
namespace {

StudyTable added_study(const StudyRequest& request) {
  StudyTable table({"n", "mean", "closed_form"});
  const int64_t most = request.params.integer("most");
  double sum = 0;
  for (int64_t n = 1; n <= most; ++n) {
    sum += static_cast<double>(n);
    table.add({n, sum / static_cast<double>(n), static_cast<double>(n + 1) / 2});
  }
  return table;
}

REGISTER_STUDY("added-study", added_study)
    .about("means of the first whole numbers")
    .param({"most", int64_t{3}, "the last number", 1, 100});

}  // namespace
}  // namespace approx
