#include "kernels/pooled/pooled.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <optional>

#include "kernels/kernel.h"
#include "kernels/loop_memory.h"
#include "kernels/plan.h"

namespace approx {

template <typename Real>
at::Tensor Arguments<Pooled, Real>::run(const Work<Pooled, Real>& work, const Pooled& plan,
                                        const Operands& o) {
  LoopMemory<Real> memory(o, place_of(work, o));
  Arguments args{memory.arrays(o.x, o.w, o.dy)};
  args.r = plan.r;
  complete<Pooled, Real>(work, args, memory.place());
  return memory.finished();
}

template struct Arguments<Pooled, float>;
template struct Arguments<Pooled, double>;

namespace {

constexpr auto kNeighbours = at::MemoryFormat::ChannelsLast;

// One direction of a map in cells of `size` pixels. Cell 0 begins at pixel `first`, 0 or less.
struct Cells {
  int64_t size = 1, count = 0, first = 0;
};

Cells cells_of_outputs(const Patches& p) { return {p.r, p.count, p.first}; }

// A map narrowed to the pixels [begin, end) of one direction, as far as it has them.
at::Tensor narrowed(const at::Tensor& map, int64_t dim, int64_t begin, int64_t end) {
  begin = std::max<int64_t>(begin, 0);
  end = std::min(end, map.size(dim));
  return begin == 0 && end == map.size(dim) ? map : map.narrow(dim, begin, end - begin);
}

// [N,C,H,W] -> [N,C,cells down,cells across]: the sum of the pixels of each cell over `divisor`;
// without one, their mean.
at::Tensor pooled_map(const at::Tensor& map, const Cells& down, const Cells& across,
                      std::optional<int64_t> divisor) {
  const auto pool = [&](const at::Tensor& from, std::array<int64_t, 2> padding) {
    return at::avg_pool2d(from, {down.size, across.size}, {down.size, across.size}, padding,
                          /*ceil_mode=*/false, /*count_include_pad=*/false, divisor);
  };
  // How many pixels are missing behind a map.
  const auto behind = [&](const Cells& cells, int64_t dim) {
    return cells.first + cells.count * cells.size - map.size(dim);
  };
  // LibTorch pads both sides alike, and by half a cell at most.
  const auto takes = [&](const Cells& cells, int64_t dim) {
    return -2 * cells.first <= cells.size && behind(cells, dim) <= -cells.first;
  };
  if (takes(down, 2) && takes(across, 3)) {
    return narrowed(narrowed(pool(map, {-down.first, -across.first}), 2, 0, down.count), 3, 0,
                    across.count);
  }
  const std::array<int64_t, 4> zeros = {-across.first, behind(across, 3), -down.first,
                                        behind(down, 2)};
  return pool(at::constant_pad_nd(map, zeros), {0, 0});
}

// The opposite: every pixel of a map of `height` times `width` pixels has the value of its cell.
// `cells` [N,C,cells down,cells across]; the result has the channels last.
at::Tensor spread(const at::Tensor& cells, const Cells& down, const Cells& across, int64_t height,
                  int64_t width) {
  const int64_t n = cells.size(0), channels = cells.size(1);
  const int64_t all_down = down.count * down.size, all_across = across.count * across.size;
  auto whole =
      at::empty({n, channels, all_down, all_across}, cells.options().memory_format(kNeighbours));
  whole.permute({0, 2, 3, 1})
      .view({n, down.count, down.size, across.count, across.size, channels})
      .copy_(cells.permute({0, 2, 3, 1}).unsqueeze(3).unsqueeze(2));
  if (all_down == height && all_across == width) return whole;
  return at::constant_pad_nd(whole, {across.first, width - across.first - all_across, down.first,
                                     height - down.first - all_down})
      .contiguous(kNeighbours);
}

at::Tensor means_of_patches(const at::Tensor& dy, const PatchGrid& grid) {
  return pooled_map(dy, cells_of_outputs(grid.down), cells_of_outputs(grid.across), {});
}

// The inputs of a direction that are those of some output, [begin, end) of the map.
struct Covered {
  int64_t begin, end;
  explicit Covered(const Patches& p)
      : begin(std::max<int64_t>(p.shift, 0)),
        end(std::clamp(p.shift + p.outputs * p.stride, begin, p.inputs)) {}
};

// The inputs of the patches, as cells of the covered inputs.
Cells cells_of_inputs(const Patches& p) {
  return {p.r * p.stride, p.count, p.first * p.stride + p.shift - Covered(p).begin};
}

int64_t inputs_of_an_output(const Geometry& g) { return g.stride.h * g.stride.w; }

// [N,Ci,H,W] -> [N,Ci,patches down,patches across]
at::Tensor sums_of_patches(const at::Tensor& x, const PatchGrid& grid, const Geometry& g) {
  const Covered down(grid.down), across(grid.across);
  const auto covered = narrowed(narrowed(x, 2, down.begin, down.end), 3, across.begin, across.end);
  return pooled_map(covered, cells_of_inputs(grid.down), cells_of_inputs(grid.across),
                    inputs_of_an_output(g));
}

// [Co,Ci/groups,Kh,Kw] -> [Co,Ci/groups,1,1], over the inputs of an output. Rounded once.
at::Tensor taps_summed(const at::Tensor& w, const Geometry& g) {
  const bool half = w.scalar_type() == at::kHalf || w.scalar_type() == at::kBFloat16;
  const auto sum = w.sum({2, 3}, /*keepdim=*/true, half ? at::kFloat : w.scalar_type());
  const auto inputs = static_cast<double>(inputs_of_an_output(g));
  return (inputs == 1 ? sum : sum / inputs).to(w.scalar_type());
}

// dX [N,Ci,H,W] from that of the patches.
at::Tensor data_gradient_of(const at::Tensor& of_patches, const PatchGrid& grid) {
  const Covered down(grid.down), across(grid.across);
  const auto covered = spread(of_patches, cells_of_inputs(grid.down), cells_of_inputs(grid.across),
                              down.end - down.begin, across.end - across.begin);
  const int64_t height = grid.down.inputs, width = grid.across.inputs;
  if (covered.size(2) == height && covered.size(3) == width) return covered;
  return at::constant_pad_nd(covered,
                             {across.begin, width - across.end, down.begin, height - down.end})
      .contiguous(kNeighbours);
}

// The gradients of a 1x1 convolution with one pixel for each patch, by the exact product that is
// chosen for it.
at::Tensor pooled_product(const Pooled& plan, const Operands& o) {
  const PatchGrid grid(problem_of(o), plan.r);
  Operands small{
      .x = {},
      .w = {},
      .dy = means_of_patches(o.dy, grid),
      .geometry = {.groups = o.geometry.groups},
      .product = o.product,
      .input_sizes = {o.input_sizes[0], o.input_sizes[1], grid.down.count, grid.across.count}};
  if (o.product == Product::kDataGradient) {
    small.w = taps_summed(o.w, o.geometry);
    return data_gradient_of(run(Dense{}, small), grid);
  }
  small.x = sums_of_patches(o.x, grid, o.geometry);
  small.w = o.w.narrow(2, 0, 1).narrow(3, 0, 1);  // its sizes are asked for
  auto of_taps = at::empty(o.w.sizes(), o.w.options().memory_format(kNeighbours));
  return of_taps.copy_(run(Dense{}, small));
}

REGISTER_KERNEL(Pooled, "pool", pooled_product)
    .computes({Product::kDataGradient, Product::kWeightGradient})
    .rank(1);

}  // namespace

int64_t PlanTraits<Pooled>::macs(const Pooled& plan, const Operands& o) {
  const Problem p = problem_of(o);
  return p.n * PatchGrid(p, plan.r).count() * p.co * p.group_inputs();
}

PrunedGradient PlanTraits<Pooled>::pruned(const Pooled& plan, const Operands& o) {
  const Problem p = problem_of(o);
  return {.replaces = true,
          .values = {},
          .kept = p.n * p.co * PatchGrid(p, plan.r).count(),
          .on_device = {}};
}

at::Tensor PlanTraits<Pooled>::gradient(const Pooled& plan, const at::Tensor& dy) {
  // (A layer of these outputs and as many inputs.)
  const Patches down(dy.size(2), dy.size(2), 1, plan.r), across(dy.size(3), dy.size(3), 1, plan.r);
  const auto of_down = cells_of_outputs(down), of_across = cells_of_outputs(across);
  return spread(pooled_map(dy, of_down, of_across, {}), of_down, of_across, dy.size(2), dy.size(3));
}

}  // namespace approx
