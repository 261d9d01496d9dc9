#include "kernels/sampled/sampled.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/zeros.h>

#include "kernels/example_rows.h"
#include "kernels/gpu/start.h"
#include "kernels/kernel.h"
#include "kernels/loop_memory.h"
#include "kernels/numbers_of.h"
#include "kernels/plan.h"
#include "kernels/sampled/channels.h"

namespace approx {
namespace {

constexpr auto kLastInMemory = at::MemoryFormat::ChannelsLast;

// Where an axis lies in a tensor, -1 where the tensor does not have it.
struct Place {
  int64_t x, w, y;  // y: dY, or the result of the forward product
};

Place place_of(Axis axis) {
  switch (axis) {
    case Axis::kInputChannels:
      return {1, 1, -1};
    case Axis::kOutputChannels:
      return {-1, 0, 1};
    case Axis::kExamples:
      return {0, -1, 0};
  }
  return {};
}

// The dimension in which the result carries the axis, -1 where the product sums over it.
int64_t result_dim(const Sampled& plan, const Operands& o) {
  const Place place = place_of(plan.axis);
  switch (o.product) {
    case Product::kForward:
      return place.y;
    case Product::kDataGradient:
      return place.x;
    case Product::kWeightGradient:
      return place.w;
  }
  return -1;
}

at::Tensor zeros_of_result(const Operands& o) {
  const auto& like = o.product == Product::kForward ? o.x : o.dy;
  return at::zeros(result_sizes(problem_of(o)), like.options().memory_format(kLastInMemory));
}

// Whether channels are moved by loops over memory, or by a GPU's kernels.
bool moved_by_kernels(const at::Tensor& tensor, const at::Tensor& index) {
  bool has_kernels = false;
  if (tensor.is_cpu()) {
    has_kernels = of_two_types(tensor.scalar_type(), [](auto) {});
  } else {
    of_three_types(tensor.scalar_type(), [&]<typename Number>(Number) {
      has_kernels = can_start<MoveChannels<Number>>(tensor.device());
    });
  }
  return has_kernels && index.device() == tensor.device();
}

// `factor`, float, along one dimension of a tensor with four.
at::Tensor along(const at::Tensor& factor, int64_t dim) {
  std::vector<int64_t> sizes(4, 1);
  sizes[static_cast<size_t>(dim)] = factor.numel();
  return factor.view(sizes);
}

// In the precision of the tensor, rounded once: a factor that is itself rounded to eight bits would
// be wrong by the same share for all that it multiplies, and the estimate biased.
at::Tensor times(const at::Tensor& tensor, const at::Tensor& factor) {
  return at::mul(tensor, factor).to(tensor.scalar_type());
}

// Moves the rows of channels between a tensor and a part of its channels: `move` takes what to
// move, the numbers of both and a range of rows; `puts`: `source` is the part.
template <typename Move>
void move_rows(int64_t channels, const at::Tensor& index, const at::Tensor& factor, bool puts,
               const at::Tensor& source, const at::Tensor& result, const Move& move) {
  const int64_t rows = source.size(0) * source.size(2) * source.size(3);
  const auto factors = factor.defined() ? factor.contiguous() : factor;
  const ChannelPart which{channels, index.numel(), index.const_data_ptr<int64_t>(),
                          factors.defined() ? factors.const_data_ptr<float>() : nullptr};
  if (source.is_cuda()) {
    of_three_types(source.scalar_type(), [&]<typename Number>(Number) {
      start<MoveChannels<Number>>(
          {which, rows, numbers_of<Number>(source), mutable_numbers_of<Number>(result), puts},
          source.device());
    });
    return;
  }
  of_two_types(source.scalar_type(), [&]<typename Number>(Number) {
    const auto* from = numbers_of<Number>(source);
    auto* to = mutable_numbers_of<Number>(result);
    constexpr int64_t kGrain = 1 << 15;  // numbers worth waking another thread for
    at::parallel_for(0, rows, std::max<int64_t>(1, kGrain / channels),
                     [&](int64_t begin, int64_t end) { move(which, from, to, begin, end); });
  });
}

// x[:, index] times `factor` (undefined: 1) with the channels last in memory, [N,k,H,W].
at::Tensor take_channels(const at::Tensor& x, const at::Tensor& index, const at::Tensor& factor) {
  if (!moved_by_kernels(x, index)) {
    const auto taken = at::index_select(x, 1, index).contiguous(kLastInMemory);
    return factor.defined() ? times(taken, along(factor, 1)) : taken;
  }
  const auto source = x.contiguous(kLastInMemory);
  auto taken = at::empty({x.size(0), index.numel(), x.size(2), x.size(3)},
                         x.options().memory_format(kLastInMemory));
  move_rows(x.size(1), index, factor, /*puts=*/false, source, taken,
            [](const ChannelPart& which, const auto* from, auto* to, int64_t begin, int64_t end) {
              take_channels_simd(which, from, to, begin, end);
            });
  return taken;
}

// The opposite: `part` [N,k,H,W] times `factor` among zeros, [N,channels,H,W].
at::Tensor put_channels(const at::Tensor& part, const at::Tensor& index, const at::Tensor& factor,
                        int64_t channels) {
  const std::vector<int64_t> sizes = {part.size(0), channels, part.size(2), part.size(3)};
  if (!moved_by_kernels(part, index)) {
    auto whole = at::zeros(sizes, part.options().memory_format(kLastInMemory));
    whole.index_copy_(1, index, factor.defined() ? times(part, along(factor, 1)) : part);
    return whole;
  }
  const auto source = part.contiguous(kLastInMemory);
  auto whole = at::empty(sizes, part.options().memory_format(kLastInMemory));
  move_rows(channels, index, factor, /*puts=*/true, source, whole,
            [](const ChannelPart& which, const auto* from, auto* to, int64_t begin, int64_t end) {
              put_channels_simd(which, from, to, begin, end);
            });
  return whole;
}

at::Tensor take(const at::Tensor& tensor, int64_t dim, const at::Tensor& index,
                const at::Tensor& factor = {}) {
  if (dim == 1) return take_channels(tensor, index, factor);
  const auto taken = at::index_select(tensor, dim, index);
  return factor.defined() ? times(taken, along(factor, dim)) : taken;
}

at::Tensor put_back(const at::Tensor& part, int64_t dim, const Sampled& plan, const Operands& o) {
  if (dim == 1) {
    const auto channels = result_sizes(problem_of(o))[1];
    return put_channels(part, plan.index, plan.scale, channels);
  }
  if (plan.axis == Axis::kExamples) {
    return put_examples(plan.scale.defined() ? times(part, along(plan.scale, dim)) : part,
                        plan.index, o.input_sizes[0]);
  }
  auto whole = zeros_of_result(o);
  whole.index_copy_(dim, plan.index,
                    plan.scale.defined() ? times(part, along(plan.scale, dim)) : part);
  return whole;
}

// The sampled slices of x, dY or the result of the forward product.
at::Tensor take_from_map(const at::Tensor& map, int64_t dim, const Sampled& plan,
                         const at::Tensor& factor = {}) {
  if (plan.axis != Axis::kExamples) return take(map, dim, plan.index, factor);
  const auto taken = take_examples(map, plan.index);
  return factor.defined() ? times(taken, along(factor, 0)) : taken;
}

// The exact product of the sampled slices, put back among zeros where the result carries the axis.
// Its cost is that of the exact product times k over the length of the axis, and the copies.
at::Tensor gathered_product(const Sampled& plan, const Operands& o) {
  if (plan.index.numel() == 0) return zeros_of_result(o);
  const Place place = place_of(plan.axis);
  Operands part = o;
  const int64_t k = plan.index.numel();
  const bool x_is_sample = plan.axis == Axis::kInputChannels && o.x.defined() && o.x.size(1) == k &&
                           k != o.input_sizes[1];
  if (o.product == Product::kDataGradient) part.x = at::Tensor();  // its sizes are enough
  if (place.x >= 0) {
    if (part.x.defined() && !x_is_sample) part.x = take_from_map(o.x, place.x, plan);
    part.input_sizes[static_cast<size_t>(place.x)] = k;
  }
  const int64_t dim = result_dim(plan, o);
  // Where the product sums over the axis, the factors go on the smaller of the two tensors that
  // share it; examples have no part in w.
  const auto on = [&](bool smaller) { return dim < 0 && smaller ? plan.scale : at::Tensor(); };
  if (place.w >= 0) part.w = take(o.w, place.w, plan.index, on(true));
  if (place.y >= 0 && o.dy.defined()) {
    part.dy = take_from_map(o.dy, place.y, plan, on(place.w < 0));
  }
  auto result = run(Dense{}, part);
  return dim < 0 ? result : put_back(result, dim, plan, o);
}

// The length of an axis: Ci, Co or N.
int64_t axis_size(Axis axis, const Problem& p) {
  switch (axis) {
    case Axis::kInputChannels:
      return p.ci;
    case Axis::kOutputChannels:
      return p.co;
    case Axis::kExamples:
      return p.n;
  }
  return 0;
}

// The factor of every entry of the axis, zero where it was left out: [length] float.
at::Tensor factors_of(const Sampled& plan, const Operands& o) {
  auto factor =
      at::zeros({axis_size(plan.axis, problem_of(o))}, plan.index.options().dtype(at::kFloat));
  if (plan.scale.defined()) {
    factor.index_copy_(0, plan.index, plan.scale);
  } else {
    factor.index_fill_(0, plan.index, 1);
  }
  return factor;
}

// x with all its channels, zero where a layer kept the sampled ones alone.
at::Tensor whole_input(const Sampled& plan, const Operands& o) {
  if (plan.axis != Axis::kInputChannels || !o.x.defined() || o.x.size(1) == o.input_sizes[1]) {
    return o.x;
  }
  return put_channels(o.x, plan.index, {}, o.input_sizes[1]);
}

// `factors` along one dimension. Left-out entries are set to zero: multiplied, an infinity among
// them would become NaN.
at::Tensor scaled(const at::Tensor& tensor, const at::Tensor& factors, int64_t dim) {
  const auto f = along(factors, dim);
  return times(tensor, f).masked_fill_(f == 0, 0);
}

// The same by multiplying whole tensors with factors, zeros included: any group count, no saving.
at::Tensor masked_product(const Sampled& plan, const Operands& o) {
  const auto factors = factors_of(plan, o);
  const int64_t dim = result_dim(plan, o);
  Operands part = o;
  part.x = whole_input(plan, o);
  if (dim >= 0) {
    auto result = run(Dense{}, part);
    const int64_t groups = o.geometry.groups;
    if (o.product != Product::kWeightGradient || dim == 0 || groups == 1) {
      return scaled(result, factors, dim);
    }
    // The second axis of w is that of one group's input channels.
    const auto f = factors.view({groups, 1, factors.numel() / groups, 1, 1});
    const auto grouped = result.reshape(
        {groups, result.size(0) / groups, result.size(1), result.size(2), result.size(3)});
    return times(grouped, f).masked_fill_(f == 0, 0).reshape(result.sizes());
  }
  switch (o.product) {
    case Product::kForward:
      part.x = scaled(part.x, factors, 1);
      break;
    case Product::kDataGradient:
      part.dy = scaled(part.dy, factors, 1);
      break;
    case Product::kWeightGradient:
      part.dy = scaled(part.dy, factors, 0);
      break;
  }
  return run(Dense{}, part);
}

// The exact product of the whole layer with the factors on its weights, whether it sums over the
// channels that were sampled or carries them: as fast as the exact product, whatever the sample.
// Where a number of the other operand is not finite, what was left out is NaN and not zero.
at::Tensor whole_product(const Sampled& plan, const Operands& o) {
  const int64_t dim = place_of(plan.axis).w;
  if (dim < 0) return gathered_product(plan, o);  // examples have no part in w
  const auto factors = factors_of(plan, o);
  Operands part = o;
  // The data gradient needs nothing of x but its sizes.
  part.x = o.product == Product::kDataGradient ? at::Tensor() : whole_input(plan, o);
  if (o.product == Product::kWeightGradient) return scaled(run(Dense{}, part), factors, dim);
  part.w = scaled(o.w, factors, dim);
  return run(Dense{}, part);
}

REGISTER_KERNEL(Sampled, "whole", whole_product)
    .where([](const Problem& p) { return p.one_group(); })
    .ruled_against("gather", Pays::kAbove)
    .rank(0);

REGISTER_KERNEL(Sampled, "gather", gathered_product)
    .where([](const Problem& p) { return p.one_group(); })
    .rank(1);

REGISTER_KERNEL(Sampled, "mask", masked_product).rank(2);

}  // namespace

int64_t PlanTraits<Sampled>::macs(const Sampled& plan, const Operands& o) {
  const int64_t whole = axis_size(plan.axis, problem_of(o));
  return whole == 0 ? 0 : dense_macs(o) / whole * plan.index.numel();
}

double PlanTraits<Sampled>::density(const Sampled& plan, const Problem& p) {
  const int64_t whole = axis_size(plan.axis, p);
  return whole == 0 ? 1 : static_cast<double>(plan.index.numel()) / static_cast<double>(whole);
}

PrunedGradient PlanTraits<Sampled>::pruned(const Sampled& plan, const Operands& o) {
  if (plan.axis != Axis::kOutputChannels || o.product == Product::kForward) return {};
  const int64_t of_channel = o.dy.size(1) == 0 ? 0 : o.dy.numel() / o.dy.size(1);
  return {.replaces = true, .values = {}, .kept = of_channel * plan.index.numel(), .on_device = {}};
}

at::Tensor PlanTraits<Sampled>::gradient(const Sampled& plan, const at::Tensor& dy) {
  if (plan.axis != Axis::kOutputChannels) return dy;
  auto mask = at::zeros({1, dy.size(1), 1, 1}, dy.options().memory_format(c10::nullopt));
  if (plan.scale.defined()) {
    mask.index_copy_(1, plan.index, plan.scale.to(mask.options()).view({1, -1, 1, 1}));
  } else {
    mask.index_fill_(1, plan.index, 1);
  }
  return dy * mask;
}

at::Tensor sampled_input(const at::Tensor& x, const Plan& plan, const Geometry& geometry) {
  const auto* sampled = std::get_if<Sampled>(&plan);
  const bool can = sampled != nullptr && sampled->axis == Axis::kInputChannels &&
                   geometry.groups == 1 && sampled->index.numel() > 0;
  return can ? take_channels(x, sampled->index, {}) : x;
}

template <typename Real>
at::Tensor Arguments<Sampled, Real>::run(const Work<Sampled, Real>& work, const Sampled& plan,
                                         const Operands& o) {
  LoopMemory<Real> memory(o, place_of(work, o));
  Arguments args{memory.arrays(whole_input(plan, o), o.w, o.dy)};
  const auto factors = factors_of(plan, o).to(memory.place());
  const auto* of_axis = factors.template const_data_ptr<float>();
  switch (plan.axis) {
    case Axis::kInputChannels:
      args.input_channel = of_axis;
      break;
    case Axis::kOutputChannels:
      args.output_channel = of_axis;
      break;
    case Axis::kExamples:
      args.example = of_axis;
      break;
  }
  complete<Sampled, Real>(work, args, memory.place());
  return memory.finished();
}

template struct Arguments<Sampled, float>;
template struct Arguments<Sampled, double>;

}  // namespace approx
