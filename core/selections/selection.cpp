#include "core/selections/selection.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace approx {

at::Tensor BatchSource::choose(const BatchCall& /*call*/) {
  throw Error(ErrorKind::kInternal, "this source does not choose in steps");
}

std::unique_ptr<BatchSource> make_selection(std::string_view text) {
  const Spec spec = parse_spec(text);
  const auto& entry = Registry<SelectionEntry>::instance().find(spec.name);
  return entry.make(Params(entry.params, spec));
}

std::vector<SelectionInfo> library_selections() {
  std::vector<SelectionInfo> infos;
  for (const auto* entry : Registry<SelectionEntry>::instance().all()) infos.push_back(*entry);
  return infos;
}

int64_t kept_per_step(int64_t kept, int64_t steps, int64_t batch) {
  const int64_t most = std::min(batch, kept / steps);
  const int64_t unit = std::max<int64_t>(1, batch / 16);
  // A batch that is no multiple of the unit is one of the sizes all the same.
  return most < unit || most == batch ? most : most / unit * unit;
}

void check_leaves_batches(const BatchSource& source, std::string_view text,
                          const SourceSizes& sizes) {
  if (source.least_kept(sizes) >= 1) return;
  throw usage_error(
      "selection = {} may keep none of the {} candidates of a step; let it keep more, or use a "
      "larger batch_size",
      text, sizes.batch);
}

void check_plan(const EpochPlan& plan, std::string_view text, int64_t epoch, int64_t count) {
  std::vector<bool> seen(static_cast<size_t>(count));
  for (const int64_t id : plan.ids) {
    if (id < 0 || id >= count) {
      throw Error(ErrorKind::kInternal,
                  fmt::format("selection = {}: epoch {} has example {}, and there are {}", text,
                              epoch, id, count));
    }
    if (seen[static_cast<size_t>(id)]) {
      throw Error(
          ErrorKind::kInternal,
          fmt::format("selection = {}: epoch {} has example {} twice; let plan() keep each once",
                      text, epoch, id));
    }
    seen[static_cast<size_t>(id)] = true;
  }
  if (!plan.weights.empty() && plan.weights.size() != plan.ids.size()) {
    throw Error(ErrorKind::kInternal,
                fmt::format("selection = {}: epoch {} has {} examples and {} weights", text, epoch,
                            plan.ids.size(), plan.weights.size()));
  }
}

ParamSpec ratio_param(double fallback) {
  return {.name = "ratio",
          .fallback = fallback,
          .help = "share of a step's candidates that it trains on",
          .min = 0,
          .max = 1,
          .choices = {}};
}

int64_t share_of(double ratio, int64_t batch) {
  // 0.29 * 100 is a little less than 29.
  return static_cast<int64_t>(std::floor(ratio * static_cast<double>(batch) + 1e-9));
}

bool trains_on_everything(const EpochCall& call, double delta) {
  return std::min(static_cast<double>(call.epoch + 1), call.epochs) > delta * call.epochs;
}

EpochPlan prune_well_learnt(const EpochCall& call, const std::vector<bool>& well, double r) {
  const auto is_well = [&](int64_t id) { return well[static_cast<size_t>(id)]; };
  const int64_t learnt = std::ranges::count_if(call.order, is_well);
  const int64_t staying = least_kept_of_pruned(learnt, r);
  // The well-learnt examples that stay are the first in a random order drawn for this. `order` is
  // that of training: its first ones would always come early in an epoch.
  std::vector<std::pair<uint32_t, int64_t>> drawn;
  for (const int64_t id : call.order) {
    if (!is_well(id)) continue;
    const auto words = call.rng.block(static_cast<uint32_t>(id / 4));
    drawn.emplace_back(words[static_cast<size_t>(id % 4)], id);
  }
  std::ranges::sort(drawn);
  std::vector<bool> left_out(well.size());
  for (size_t i = static_cast<size_t>(staying); i < drawn.size(); ++i) {
    left_out[static_cast<size_t>(drawn[i].second)] = true;
  }
  EpochPlan plan;
  const auto count = static_cast<double>(call.order.size());
  const double share = (count - static_cast<double>(learnt - staying)) / count;
  for (const int64_t id : call.order) {
    if (left_out[static_cast<size_t>(id)]) continue;
    plan.ids.push_back(id);
    plan.weights.push_back(static_cast<float>(is_well(id) ? share / (1 - r) : share));
  }
  return plan;
}

ParamSpec prune_param() {
  return {.name = "r",
          .fallback = 0.5,
          .help = "share of the well-learnt examples that an epoch leaves out",
          .min = 0,
          .max = 0.99,
          .choices = {}};
}

ParamSpec until_param() {
  return {.name = "delta",
          .fallback = 0.875,
          .help = "share of the epochs that are pruned; the others train on everything",
          .min = 0,
          .max = 1,
          .choices = {}};
}

int64_t least_kept_of_pruned(int64_t count, double r) { return share_of(1 - r, count); }

}  // namespace approx
