#include "kernels/select/pruned.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <atomic>

#include "kernels/draws.h"
#include "kernels/gpu/start.h"
#include "kernels/select/magnitude.h"
#include "kernels/select/select.h"

namespace approx {
namespace {

constexpr auto kLast = at::MemoryFormat::ChannelsLast;
constexpr int64_t kGrain = int64_t{16} * 1024;  // numbers worth waking another thread for

bool loops(const at::Tensor& dy) { return dy.is_cpu() && dy.scalar_type() == at::kFloat; }

PrunedDY in_precision(PrunedDY pruned, at::ScalarType precision) {
  pruned.dy = pruned.dy.to(precision);
  return pruned;
}

// Draws for the elements of dy, in the order of the channels-last memory.
at::Tensor draws_like(const at::Tensor& dy, const Rng& rng) {
  return uniform_draws(rng, {dy.size(0), dy.size(2), dy.size(3), dy.size(1)}, dy.device())
      .permute({0, 3, 1, 2});
}

// The sum of what `loop` returns for ranges of `count` elements that begin at multiples of `unit`.
template <typename Loop>
at::Tensor counted_in_parallel(int64_t count, int64_t unit, Loop loop) {
  std::atomic<int64_t> kept = 0;
  at::parallel_for(
      0, (count + unit - 1) / unit, std::max<int64_t>(1, kGrain / unit),
      [&](int64_t begin, int64_t end) { kept += loop(begin * unit, std::min(end * unit, count)); });
  return at::scalar_tensor(kept.load(), at::TensorOptions().dtype(at::kLong));
}

// Whether an image's elements are a range that nm_simd takes.
bool rescaled_by_image(const at::Tensor& dy, const NmChoice& choice) {
  return dy.numel() > 0 && dy.size(1) % choice.m == 0 &&
         dy.size(1) * dy.size(2) * dy.size(3) % 4 == 0;
}

// N:M pruning of one image after another, each multiplied by what keeps the sums of its planes
// while it is in the cache. Returns how many entries stay.
at::Tensor prune_by_image(const NmArgs& args, int64_t images) {
  const int64_t plane = args.pixels / images, image = plane * args.channels;
  return counted_in_parallel(images * image, image, [&](int64_t begin, int64_t end) {
    std::vector<float> all(static_cast<size_t>(args.channels)), factor(all.size());
    int64_t kept = 0;
    for (int64_t at = begin; at < end; at += image) {
      kept += nm_simd(args, at, at + image);
      float* own = args.pruned + at;
      plane_magnitude_simd({1, plane, args.channels, args.dy + at, all.data()}, 0, 1);
      plane_magnitude_simd({1, plane, args.channels, own, factor.data()}, 0, 1);
      for (size_t c = 0; c < factor.size(); ++c) factor[c] = factor[c] > 0 ? all[c] / factor[c] : 1;
      scale_channels_simd({plane, args.channels, factor.data(), own});
    }
    return kept;
  });
}

// From `source` into `pruned`, which may be the same: [N,C,H,W] floats with the channels last.
PrunedDY stochastic_by_loop(const at::Tensor& source, at::Tensor pruned, const at::Tensor& tau,
                            const Rng& rng, decltype(stochastic_simd)* loop) {
  const StochasticArgs args{source.numel(), source.const_data_ptr<float>(),
                            pruned.mutable_data_ptr<float>(), *tau.const_data_ptr<float>(), rng};
  auto kept = counted_in_parallel(
      args.count, 4, [&](int64_t begin, int64_t end) { return loop(args, begin, end); });
  return {std::move(pruned), std::move(kept)};
}

template <typename Args>
bool launches(const at::Tensor& dy) {
  return can_start<Args>(dy.device()) && dy.scalar_type() == at::kFloat;
}

// Whether there is a kernel for such groups (kernels/select/nm_gpu.h).
bool nm_launches(const at::Tensor& dy, const NmChoice& choice) {
  const bool fours = choice.m == 2 || choice.m == 4;
  const bool lanes = choice.m == 8 || choice.m == 16 || choice.m == 32;
  return launches<NmOnGpu>(dy) && dy.numel() > 0 &&
         ((fours && dy.size(1) % 4 == 0) || (lanes && dy.size(1) % choice.m == 0));
}

at::Tensor nothing_kept(const at::Tensor& like) {
  return at::zeros({}, at::TensorOptions().dtype(at::kLong).device(like.device()));
}

// From `source` into `pruned`, floats with the channels last.
NmArgs nm_args(const at::Tensor& source, const at::Tensor& pruned, const NmChoice& choice,
               const Rng& rng) {
  return {.pixels = source.size(0) * source.size(2) * source.size(3),
          .channels = source.size(1),
          .n = choice.n,
          .m = choice.m,
          .random = choice.random,
          .rescale_group = choice.rescaling == Rescaling::kGroup,
          .dy = source.const_data_ptr<float>(),
          .pruned = pruned.mutable_data_ptr<float>(),
          .rng = rng};
}

PrunedDY nm_by_launch(const at::Tensor& dy, const NmChoice& choice, const Rng& rng) {
  const auto source = dy.contiguous(kLast);
  auto pruned = at::empty_like(source), kept = nothing_kept(dy);
  const NmArgs args = nm_args(source, pruned, choice, rng);
  start<NmOnGpu>(
      {args, dy.size(0), choice.rescaling == Rescaling::kPlane, kept.mutable_data_ptr<int64_t>()},
      dy.device());
  return {std::move(pruned), std::move(kept)};
}

// The same on a GPU.
PrunedDY stochastic_by_launch(const at::Tensor& source, at::Tensor pruned, const at::Tensor& tau,
                              const Rng& rng) {
  auto kept = nothing_kept(source);
  const StochasticArgs args{.count = source.numel(),
                            .dy = source.const_data_ptr<float>(),
                            .pruned = pruned.mutable_data_ptr<float>(),
                            .rng = rng};
  start<StochasticOnGpu>({args, tau.const_data_ptr<float>(), kept.mutable_data_ptr<int64_t>()},
                         source.device());
  return {std::move(pruned), std::move(kept)};
}

}  // namespace

bool loops_as_floats(const at::Tensor& dy) {
  return dy.is_cpu() && (dy.scalar_type() == at::kBFloat16 || dy.scalar_type() == at::kHalf);
}

PrunedDY counted(at::Tensor pruned) {
  auto kept = pruned.count_nonzero();
  return {std::move(pruned), std::move(kept)};
}

PrunedDY stochastic_pruned(const at::Tensor& dy, const at::Tensor& tau, const Rng& rng,
                           Choosing how) {
  if (how != Choosing::kTensors && loops(dy)) {
    const auto source = dy.contiguous(kLast);
    return stochastic_by_loop(source, at::empty_like(source), tau, rng,
                              how == Choosing::kFastest ? stochastic_simd : stochastic_reference);
  }
  if (how == Choosing::kFastest && launches<StochasticOnGpu>(dy)) {
    const auto source = dy.contiguous(kLast);
    return stochastic_by_launch(source, at::empty_like(source), tau, rng);
  }
  // As the result can hold it. What stays with probability |g| / tau must become that very tau.
  const auto written = tau.to(dy.scalar_type()).to(at::kFloat);
  const auto g = dy.to(at::kFloat);
  if (how != Choosing::kTensors && loops_as_floats(dy)) {
    return in_precision(stochastic_pruned(g, written, rng, how), dy.scalar_type());
  }
  const auto size = g.abs();
  const auto stays = size > draws_like(dy, rng) * written;
  const auto small = at::where(stays, at::copysign(written, g), at::zeros_like(g));
  return counted(at::where(size < written, small, g).to(dy.scalar_type()).contiguous(kLast));
}

PrunedDY stochastic_pruned_over(at::Tensor dy, const at::Tensor& tau, const Rng& rng) {
  if (dy.is_contiguous(kLast) && launches<StochasticOnGpu>(dy)) {
    return stochastic_by_launch(dy, dy, tau, rng);
  }
  if (!loops(dy) || !dy.is_contiguous(kLast)) return stochastic_pruned(dy, tau, rng);
  return stochastic_by_loop(dy, dy, tau, rng, stochastic_simd);
}

PrunedDY nm_pruned(const at::Tensor& dy, const NmChoice& choice, const Rng& rng, Choosing how) {
  if (how != Choosing::kTensors && loops_as_floats(dy)) {
    return in_precision(nm_pruned(dy.to(at::kFloat), choice, rng, how), dy.scalar_type());
  }
  if (how == Choosing::kFastest && nm_launches(dy, choice)) return nm_by_launch(dy, choice, rng);
  if (choice.rescaling == Rescaling::kPlane &&
      !(how == Choosing::kFastest && loops(dy) && rescaled_by_image(dy, choice))) {
    auto plain = choice;
    plain.rescaling = Rescaling::kNone;
    auto pruned = nm_pruned(dy, plain, rng, how);
    pruned.dy.mul_(rescaling_factor(plane_magnitude(dy, how), plane_magnitude(pruned.dy, how)));
    return pruned;
  }
  if (how != Choosing::kTensors && loops(dy)) {
    const auto source = dy.contiguous(kLast);
    auto pruned = at::empty_like(source);
    const NmArgs args = nm_args(source, pruned, choice, rng);
    if (choice.rescaling == Rescaling::kPlane) return {pruned, prune_by_image(args, dy.size(0))};
    if (how == Choosing::kFastest && args.channels % args.m == 0) {
      return {pruned, counted_in_parallel(dy.numel(), 4 * args.m, [&](int64_t begin, int64_t end) {
                return nm_simd(args, begin, end);
              })};
    }
    const int64_t channels = std::max<int64_t>(1, args.channels);
    return {pruned, counted_in_parallel(dy.numel(), channels, [&](int64_t begin, int64_t end) {
              return nm_reference(args, begin / channels, end / channels);
            })};
  }
  // Groups of m as the last dimension, filled up with keys below all others.
  const int64_t channels = dy.size(1), groups = (channels + choice.m - 1) / choice.m;
  const auto grouped = [&](const at::Tensor& nchw, double fill) {
    const auto last = at::constant_pad_nd(nchw.permute({0, 2, 3, 1}).to(at::kFloat),
                                          {0, groups * choice.m - channels}, fill);
    return last.reshape({dy.size(0), dy.size(2), dy.size(3), groups, choice.m});
  };
  const auto key = grouped(choice.random ? draws_like(dy, rng) : dy.abs(), -1);
  const auto first = std::get<1>(key.sort(/*stable=*/true, -1, /*descending=*/true))
                         .narrow(-1, 0, choice.n);  // of a group: the channels that stay
  const auto mask = at::zeros_like(key).scatter_(-1, first, 1);
  const auto all = grouped(dy, 0);
  auto kept = at::where(mask > 0, all, at::zeros_like(all));
  if (choice.rescaling == Rescaling::kGroup) {
    const auto left = kept.abs().sum(-1, true);
    kept = kept * at::where(left > 0, all.abs().sum(-1, true) / left, at::ones_like(left));
  }
  return counted(kept.flatten(3)
                     .narrow(-1, 0, channels)
                     .permute({0, 3, 1, 2})
                     .to(dy.scalar_type())
                     .contiguous(kLast));
}

PrunedDY largest_of_each_example(const at::Tensor& dy, int64_t k) {
  const auto size = dy.flatten(1).abs();  // [N, C*H*W]
  k = std::min(k, size.size(1));
  if (size.numel() == 0 || k == size.size(1)) return counted(dy);
  const auto least = std::get<0>(size.topk(k, 1)).narrow(1, k - 1, 1);
  const auto larger = size > least, equal = size == least;
  const auto room = k - larger.sum(1, true);
  const auto stays =
      larger.logical_or(equal.logical_and(equal.cumsum(1) <= room)).logical_or(size.isnan());
  return counted(at::where(stays.view(dy.sizes()), dy, at::zeros_like(dy)));
}

}  // namespace approx
