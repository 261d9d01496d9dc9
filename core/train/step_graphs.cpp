#include "core/train/step_graphs.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <exception>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "core/train/optimizer.h"

namespace approx {
namespace {

template <typename Number>
std::vector<Number> values_of(const std::vector<Number*>& counts) {
  std::vector<Number> values;
  values.reserve(counts.size());
  for (const auto* count : counts) values.push_back(*count);
  return values;
}

template <typename Number>
void set(const std::vector<Number*>& counts, const std::vector<Number>& values) {
  for (size_t i = 0; i < counts.size(); ++i) *counts[i] = values[i];
}

// The counts that have changed since they were `before`.
template <typename Change, typename Number>
std::vector<Change> changes(const std::vector<Number*>& counts, const std::vector<Number>& before) {
  std::vector<Change> changed;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (*counts[i] != before[i]) changed.push_back({counts[i], *counts[i] - before[i]});
  }
  return changed;
}

// What the changes make of the counts as they are.
template <typename Changes>
auto changed(const Changes& changes) {
  std::vector<decltype(changes.front().by)> values;
  values.reserve(changes.size());
  for (const auto& change : changes) values.push_back(*change.count + change.by);
  return values;
}

}  // namespace

StepGraphs::StepGraphs(std::unique_ptr<StepRecorder> recorder, at::Device device, HostCounts counts,
                       bool must, AllHave all_have)
    : recorder_(std::move(recorder)),
      counts_(std::move(counts)),
      must_(must),
      all_have_(std::move(all_have)),
      step_(at::zeros({}, at::TensorOptions().dtype(at::kLong).device(device))),
      learning_rate_(at::zeros({}, at::TensorOptions().dtype(rate_type(device)).device(device))) {}

void StepGraphs::begin_step(int64_t step, double learning_rate) {
  step_.fill_(step);
  learning_rate_.fill_(learning_rate);
}

const uint64_t* StepGraphs::step_at() const {
  return reinterpret_cast<const uint64_t*>(step_.const_data_ptr<int64_t>());
}

Batch StepGraphs::placed(const Batch& batch) {
  auto& place = batches_[batch.x.sizes().vec()];
  const auto copy = [](at::Tensor& to, const at::Tensor& from) {
    if (!from.defined()) return;
    if (!to.defined()) to = at::empty_like(from);
    to.copy_(from);
  };
  copy(place.x, batch.x);
  copy(place.labels, batch.labels);
  copy(place.ids, batch.ids);
  copy(place.weights, batch.weights);
  return place;
}

void StepGraphs::run(const StepRow& row, const std::string& why_not,
                     const std::function<void()>& step) {
  auto& known = rows_[row];
  const auto plainly = [&](const std::string& why) {
    ++steps_[why];
    step();
  };
  if (!why_not.empty()) return plainly(why_not);
  if (known.recorded == nullptr) {
    if (!known.failure.empty()) return plainly(known.failure);
    if (known.steps_before < kStepsBefore) {
      ++known.steps_before;
      return plainly("before capture");
    }
    if (graphs_ == kMostGraphs) {
      return plainly(fmt::format("{} other rows are captured, which is the most", kMostGraphs));
    }
    capture(known, step);
    if (known.recorded == nullptr) return plainly(known.failure);
  }
  replay(known);
  ++steps_["replayed"];
}

void StepGraphs::capture(Row& row, const std::function<void()>& step) {
  const auto whole = values_of(counts_.whole);
  const auto real = values_of(counts_.real);
  try {
    row.recorded = recorder_->record(step);
    row.whole = changes<Change<int64_t>>(counts_.whole, whole);
    row.real = changes<Change<double>>(counts_.real, real);
  } catch (const std::exception& error) {
    row.failure = fmt::format("could not be captured: {}", first_line(error.what()));
  }
  set(counts_.whole, whole);
  set(counts_.real, real);
  if (all_have_ && !all_have_(row.recorded != nullptr) && row.failure.empty()) {
    row.failure = "could not be captured: another rank could not";
    row.recorded.reset();
  }
  if (row.recorded != nullptr) ++graphs_;
  if (failed_capture_.empty()) failed_capture_ = row.failure;
  if (must_ && !row.failure.empty()) {
    throw Error(ErrorKind::kDevice, fmt::format("graphs = on: a step {}", row.failure));
  }
}

void StepGraphs::replay(Row& row) {
  const auto whole = changed(row.whole);
  const auto real = changed(row.real);
  row.recorded->replay();
  for (size_t i = 0; i < whole.size(); ++i) *row.whole[i].count = whole[i];
  for (size_t i = 0; i < real.size(); ++i) *row.real[i].count = real[i];
}

void StepGraphs::forget() {
  rows_.clear();
  graphs_ = 0;
}

GraphReport StepGraphs::report() const {
  return {static_cast<int64_t>(rows_.size()), graphs_, steps_, failed_capture_};
}

}  // namespace approx
