// regnetx_400mf: RegNetX-400MF of Radosavovic et al. 2020 as torchvision has it; McDanel et al.
// 2022 train it. A 3x3 stem of stride 2 with 32 channels, four stages of bottlenecks without a
// bottleneck (ratio 1), each stage of stride 2, with 3x3 convolutions in groups of 16 channels.
// Depths and widths below are what the paper's rule (its section 3.3) makes of d = 22, w_0 = 24,
// w_a = 24.48 and w_m = 2.54. For `blurpool` see ConvNorm in blocks.h. Convolutions start as
// torchvision's do (init = "fan_out"); the classifier, which is normal of 0.01 there, as PyTorch's.
#include <ATen/ATen.h>

#include "core/networks/blocks.h"
#include "core/networks/network.h"

namespace approx {
namespace {

class RegNetX400MF final : public Network {
 public:
  RegNetX400MF(const Params& params, const NetworkInput& input)
      : stem_(*this, "stem",
              {.in_channels = input.channels, .out_channels = 32, .stride = 2, .padding = 1}) {
    static constexpr int64_t kDepths[] = {1, 2, 7, 12};
    static constexpr int64_t kWidths[] = {32, 64, 160, 400};
    int64_t channels = 32;
    for (size_t stage = 0; stage < 4; ++stage) {
      const int64_t width = kWidths[stage];
      for (int64_t block = 1; block <= kDepths[stage]; ++block) {
        blocks_.push_back(register_module(
            fmt::format("stage{}_block{}", stage + 1, block),
            std::make_shared<Bottleneck>(BlockShape{.in_channels = channels,
                                                    .width = width,
                                                    .out_channels = width,
                                                    .stride = block == 1 ? 2 : 1,
                                                    .groups = width / 16,
                                                    .blur = params.flag("blurpool")})));
        channels = width;
      }
    }
    linear_ = register_module("linear", Linear(channels, input.classes));
  }

  at::Tensor forward(at::Tensor x) override {
    x = stem_.relu(x);
    for (const auto& block : blocks_) x = block->forward(x);
    return linear_(x.mean({2, 3}));
  }

 private:
  ConvNorm stem_;
  std::vector<std::shared_ptr<Bottleneck>> blocks_;
  Linear linear_{nullptr};
};

REGISTER_NETWORK("regnetx_400mf", RegNetX400MF)
    .about("RegNetX-400MF: bottlenecks with grouped convolutions, for photographs")
    .from_paper("radosavovic2020", "")
    .described_for({.channels = 3, .size = 224, .classes = 1000})
    .param({"blurpool", false, "low-pass filter before convolutions of stride 2, as in FFCV"});

}  // namespace
}  // namespace approx
