#include "kernels/select/pruned.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <atomic>
#include <limits>
#include <optional>

#include "kernels/draws.h"
#include "kernels/gpu/start.h"
#include "kernels/numbers_of.h"
#include "kernels/select/nm_image.h"
#include "kernels/select/select.h"

namespace approx {
namespace {

constexpr auto kLast = at::MemoryFormat::ChannelsLast;
constexpr int64_t kGrain = int64_t{16} * 1024;  // numbers worth waking another thread for

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

// N:M pruning of one image after another (kernels/select/nm_image.h). Returns how many entries
// stay.
template <typename Number>
at::Tensor prune_by_image(const NmArgs<Number>& args, int64_t images) {
  const int64_t plane = args.pixels / images, image = plane * args.channels;
  return counted_in_parallel(images * image, image, [&](int64_t begin, int64_t end) {
    int64_t kept = 0;
    for (int64_t at = begin; at < end; at += image) kept += nm_image_simd(args, plane, at);
    return kept;
  });
}

at::Tensor nothing_kept(const at::Tensor& like) {
  return at::zeros({}, at::TensorOptions().dtype(at::kLong).device(like.device()));
}

// As the result can hold it: what stays with probability |g| / tau must become that very tau.
at::Tensor as_written(const at::Tensor& tau, const at::Tensor& dy) {
  const auto type = dy.scalar_type();
  if (type == at::kFloat || type == at::kDouble) return tau.to(type);
  return tau.to(type).to(at::kFloat);
}

// From `source` into `pruned`, which may be the same: [N,C,H,W] with the channels last.
PrunedDY stochastic_by_loop(const at::Tensor& source, at::Tensor pruned, const at::Tensor& tau,
                            const Rng& rng, Choosing how) {
  at::Tensor kept;
  of_two_types(source.scalar_type(), [&]<typename Number>(Number) {
    const float written = *as_written(tau, source).const_data_ptr<float>();
    const StochasticArgs<Number> args{source.numel(), numbers_of<Number>(source),
                                      mutable_numbers_of<Number>(pruned),
                                      threshold_of<Number>(written), rng};
    kept = counted_in_parallel(args.count, 4, [&](int64_t begin, int64_t end) {
      return how == Choosing::kFastest ? stochastic_simd(args, begin, end)
                                       : stochastic_reference(args, begin, end);
    });
  });
  return {std::move(pruned), std::move(kept)};
}

// The same on a GPU; nothing where it has no kernel.
std::optional<PrunedDY> stochastic_by_launch(const at::Tensor& source, const at::Tensor& pruned,
                                             const at::Tensor& tau, const Rng& rng) {
  std::optional<PrunedDY> result;
  of_three_types(source.scalar_type(), [&]<typename Number>(Number) {
    if (!can_start<StochasticOnGpu<Number>>(source.device())) return;
    result = {pruned, nothing_kept(source)};
    const auto written = as_written(tau, source);
    start<StochasticOnGpu<Number>>({{.count = source.numel(),
                                     .dy = numbers_of<Number>(source),
                                     .pruned = mutable_numbers_of<Number>(pruned),
                                     .rng = rng},
                                    written.const_data_ptr<float>(),
                                    result->kept.mutable_data_ptr<int64_t>()},
                                   source.device());
  });
  return result;
}

// From `source` into `pruned`, which have the channels last.
template <typename Number>
NmArgs<Number> nm_args(const at::Tensor& source, const at::Tensor& pruned, const NmChoice& choice,
                       const Rng& rng) {
  return {.pixels = source.size(0) * source.size(2) * source.size(3),
          .channels = source.size(1),
          .n = choice.n,
          .m = choice.m,
          .random = choice.random,
          .rescale_group = choice.rescaling == Rescaling::kGroup,
          .dy = numbers_of<Number>(source),
          .pruned = mutable_numbers_of<Number>(pruned),
          .rng = rng};
}

PrunedDY nm_by_loop(const at::Tensor& dy, const NmChoice& choice, const Rng& rng, Choosing how) {
  const auto source = dy.contiguous(kLast);
  PrunedDY result{at::empty_like(source), {}};
  of_two_types(dy.scalar_type(), [&]<typename Number>(Number) {
    const auto args = nm_args<Number>(source, result.dy, choice, rng);
    if (choice.rescaling == Rescaling::kPlane) {
      result.kept = prune_by_image(args, dy.size(0));
    } else if (how == Choosing::kFastest && args.channels % args.m == 0) {
      result.kept = counted_in_parallel(dy.numel(), 4 * args.m, [&](int64_t begin, int64_t end) {
        return nm_simd(args, begin, end);
      });
    } else {
      const int64_t channels = std::max<int64_t>(1, args.channels);
      result.kept = counted_in_parallel(dy.numel(), channels, [&](int64_t begin, int64_t end) {
        return nm_reference(args, begin / channels, end / channels);
      });
    }
  });
  return result;
}

// Whether a GPU's kernel takes such groups (kernels/select/nm_gpu.h).
bool launched_groups(const at::Tensor& dy, const NmChoice& choice) {
  const bool fours = choice.m == 2 || choice.m == 4;
  const bool lanes = choice.m == 8 || choice.m == 16 || choice.m == 32;
  return dy.numel() > 0 &&
         ((fours && dy.size(1) % 4 == 0) || (lanes && dy.size(1) % choice.m == 0));
}

// On a GPU; nothing where it has no kernel.
std::optional<PrunedDY> nm_by_launch(const at::Tensor& dy, const NmChoice& choice, const Rng& rng) {
  std::optional<PrunedDY> result;
  if (!launched_groups(dy, choice)) return result;
  of_three_types(dy.scalar_type(), [&]<typename Number>(Number) {
    if (!can_start<NmOnGpu<Number>>(dy.device())) return;
    const auto source = dy.contiguous(kLast);
    result = {at::empty_like(source), nothing_kept(dy)};
    start<NmOnGpu<Number>>(
        {nm_args<Number>(source, result->dy, choice, rng), dy.size(0),
         choice.rescaling == Rescaling::kPlane, result->kept.mutable_data_ptr<int64_t>()},
        dy.device());
  });
  return result;
}

}  // namespace

bool loops(const at::Tensor& dy) {
  return dy.is_cpu() && (dy.scalar_type() == at::kFloat || dy.scalar_type() == at::kBFloat16);
}

PrunedDY counted(at::Tensor pruned) {
  auto kept = pruned.count_nonzero();
  return {std::move(pruned), std::move(kept)};
}

PrunedDY stochastic_pruned(const at::Tensor& dy, const at::Tensor& tau, const Rng& rng,
                           Choosing how) {
  if (how != Choosing::kTensors && loops(dy)) {
    const auto source = dy.contiguous(kLast);
    return stochastic_by_loop(source, at::empty_like(source), tau, rng, how);
  }
  if (how == Choosing::kFastest && dy.is_cuda()) {
    const auto source = dy.contiguous(kLast);
    auto pruned = stochastic_by_launch(source, at::empty_like(source), tau, rng);
    if (pruned.has_value()) return *std::move(pruned);
  }
  // What the precision of dy holds at most: see threshold_of.
  const double most = dy.scalar_type() == at::kDouble     ? std::numeric_limits<double>::max()
                      : dy.scalar_type() == at::kFloat    ? threshold_of<float>(INFINITY)
                      : dy.scalar_type() == at::kBFloat16 ? threshold_of<BFloat16>(INFINITY)
                                                          : threshold_of<Float16>(INFINITY);
  const auto written = as_written(tau, dy).clamp_max(most), g = dy.to(written.scalar_type()),
             size = g.abs();
  const auto stays = size > draws_like(dy, rng).to(g.scalar_type()) * written;
  const auto small = at::where(stays, at::copysign(written, g), at::zeros_like(g));
  return counted(at::where(size < written, small, g).to(dy.scalar_type()).contiguous(kLast));
}

PrunedDY stochastic_pruned_over(at::Tensor dy, const at::Tensor& tau, const Rng& rng) {
  if (dy.is_contiguous(kLast)) {
    if (auto pruned = stochastic_by_launch(dy, dy, tau, rng); pruned.has_value()) return *pruned;
    if (loops(dy)) return stochastic_by_loop(dy, dy, tau, rng, Choosing::kFastest);
  }
  return stochastic_pruned(dy, tau, rng);
}

PrunedDY nm_pruned(const at::Tensor& dy, const NmChoice& choice, const Rng& rng, Choosing how) {
  if (how == Choosing::kFastest && dy.is_cuda()) {
    if (auto pruned = nm_by_launch(dy, choice, rng); pruned.has_value()) return *pruned;
  }
  if (choice.rescaling == Rescaling::kPlane &&
      !(how == Choosing::kFastest && loops(dy) && rescaled_by_image(dy, choice))) {
    auto plain = choice;
    plain.rescaling = Rescaling::kNone;
    auto pruned = nm_pruned(dy, plain, rng, how);
    rescale(pruned.dy, plane_magnitude(dy, how), plane_magnitude(pruned.dy, how));
    return pruned;
  }
  if (how != Choosing::kTensors && loops(dy)) return nm_by_loop(dy, choice, rng, how);
  // Groups of m as the last dimension, filled up with keys below all others.
  const int64_t channels = dy.size(1), groups = (channels + choice.m - 1) / choice.m;
  const auto type = dy.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const auto grouped = [&](const at::Tensor& nchw, double fill) {
    const auto last = at::constant_pad_nd(nchw.permute({0, 2, 3, 1}).to(type),
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
    const auto factor = [&](double scale) {
      return rescaling_factor((all.abs() * scale).sum(-1, true),
                              (kept.abs() * scale).sum(-1, true));
    };
    const auto is_large = all.abs().sum(-1, true) > std::numeric_limits<float>::max();
    kept = kept * at::where(is_large, factor(kGroupScale), factor(1));
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
