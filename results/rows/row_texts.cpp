// The numbers of rows as texts.
#include <algorithm>

#include "results/rows/rows.h"

namespace approx {

std::string fixed(double value, int digits) {
  std::string text = fmt::format("{:.{}f}", value, digits);
  if (text.starts_with("-") && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);
  return text;
}

std::string with_interval(const Summary& summary, int digits) {
  if (summary.n == 0) return "–";
  return fixed(summary.mean, digits) + spread_text(summary, digits);
}

std::string spread_text(const Summary& of_runs, int digits) {
  if (of_runs.n == 0) return "";
  if (!of_runs.half) return fmt::format(" (n={})", of_runs.n);
  return " ± " + fixed(*of_runs.half, digits);
}

std::string ratio_text(const Ratio& ratio) {
  if (ratio.n == 0) return "–";
  const std::string value = fmt::format("{:.2f}×", ratio.ratio);
  // Two processes may give an interval from 0.02 to 60: their number says more.
  constexpr double kWidest = 10;
  if (!ratio.lo || *ratio.hi > kWidest * *ratio.lo) {
    return fmt::format("{} (n={})", value, ratio.n);
  }
  return fmt::format("{} [{:.2f}, {:.2f}]", value, *ratio.lo, *ratio.hi);
}

std::string realisation_text(const std::optional<Realisation>& realisation) {
  if (!realisation) return "–";
  const std::string value = fixed(realisation->value, 2);
  if (!realisation->lo) return fmt::format("{} (n={})", value, realisation->n);
  return fmt::format("{} [{}, {}]", value, fixed(*realisation->lo, 2), fixed(*realisation->hi, 2));
}

std::string seeds_text(int64_t n) { return fmt::format("{} {}", n, n == 1 ? "seed" : "seeds"); }

std::string holm_note(const std::string& over, int64_t tests) {
  return fmt::format(
      "p: exact sign-flip test against no difference from dense, Holm-adjusted over {}, which "
      "takes {} seeds before any can be below 0.05",
      over, pairs_for_holm(tests));
}

std::string p_text(std::optional<double> p, int64_t pairs, int64_t tests) {
  if (!p || pairs < pairs_for_holm(tests)) return "";
  return fmt::format("{:.2g}", *p);
}

std::string loss_p_text(std::optional<double> p, int64_t pairs, int64_t tests) {
  const std::string text = p_text(p, pairs, tests);
  return text.empty() ? "" : "p=" + text;
}

std::string RowSet::loss_p_text(const Row& row) const {
  return approx::loss_p_text(row.loss_p_holm, row.loss.n, declared_losses_);
}

std::string RowSet::holm_note() const {
  const auto tests =
      std::ranges::count_if(rows_, [](const Row& row) { return row.loss_p_holm.has_value(); });
  if (tests == 0) return "";
  std::string over = declared_losses_ == 1
                         ? "the one loss that was declared"
                         : fmt::format("the {} losses that were declared", declared_losses_);
  if (tests < declared_losses_) {
    over += tests == 1 ? ", of which one is here" : fmt::format(", of which {} are here", tests);
  }
  return approx::holm_note(over, declared_losses_);
}

std::string method_text(const Cell& cell) {
  return cell.schedule_label.empty() ? cell.method_label
                                     : cell.method_label + ", " + cell.schedule_label;
}

}  // namespace approx
