#include <fmt/format.h>

#include "kernels/sampled/channels_gpu.h"
#include "tests/gpu_checks/checks.h"

namespace approx {
namespace {

template <typename Number>
std::string channels_agree(uint64_t seed) {
  Draws draw(seed);
  const int64_t rows = 1 + draw.below(draw.below(2) == 0 ? 9 : 300);
  const int64_t channels = 1 + draw.below(draw.below(2) == 0 ? 10 : 100);
  std::vector<int64_t> index;
  const int64_t one_in = 1 + draw.below(4);
  for (int64_t c = 0; c < channels; ++c) {
    if (draw.below(one_in) == 0) index.push_back(c);
  }
  const auto kept = static_cast<int64_t>(index.size());
  const auto factors = draw.numbers(kept);
  const bool multiplies = draw.below(2) == 0, puts = draw.below(2) == 0;
  const ChannelPart which{channels, kept, index.data(), multiplies ? factors.data() : nullptr};
  std::vector<Number> from;
  for (const float value : draw.numbers(rows * (puts ? kept : channels))) {
    from.push_back(Number(value));
  }
  std::vector<Number> wanted(static_cast<size_t>(rows * (puts ? channels : kept))), got;
  const auto definition = puts ? put_channels_reference<Number> : take_channels_reference<Number>;
  definition(which, from.data(), wanted.data(), 0, rows);

  const GpuArray<int64_t> there_index(index);
  const GpuArray<float> there_factor(factors);
  const GpuArray<Number> there(from);
  std::string wrong = in_all_orders<std::vector<Number>>(
      [&](Order order, std::vector<Number>& results) {
        GpuArray<Number> to(static_cast<int64_t>(wanted.size()));
        MoveChannels<Number> on{which, rows, there.data(), to.data(), puts};
        on.which.index = there_index.data();
        if (multiplies) on.which.factor = there_factor.data();
        std::string failed = puts ? emulate(PutChannels<Number>{on}, order)
                                  : emulate(TakeChannels<Number>{on}, order);
        if (!to.intact()) failed = "it wrote elsewhere";
        results = to.values();
        return failed;
      },
      got);
  if (wrong.empty() && !same_bits(got, wanted)) {
    wrong = "other bits than the definition's";
  }
  return wrong.empty() ? wrong
                       : fmt::format("{} ({} of {} channels, {} rows{}{})", wrong, kept, channels,
                                     rows, puts ? ", put" : "", multiplies ? ", times" : "");
}

std::vector<Agreement> channels_on_gpu() {
  return {{"channels of floats", channels_agree<float>},
          {"channels of bfloat16", channels_agree<BFloat16>},
          {"channels of float16", channels_agree<Float16>}};
}

const GpuChecks kChecks{channels_on_gpu};

}  // namespace

}  // namespace approx
