// What every variant of every kind of plan must keep: it agrees with the plan's definition, on
// shapes of any geometry.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "tests/testing.h"

namespace approx {

// Operands whose maps, kernels, strides, paddings and dilations differ from one direction to the
// other, in one group or several. `count` of them, drawn from `seed`.
inline std::vector<Operands> uneven_operands(int64_t count, uint64_t seed, bool grouped = true) {
  std::vector<Operands> all;
  for (uint64_t i = 0; static_cast<int64_t>(all.size()) < count; ++i) {
    const Rng rng{.seed = seed, .step = i};
    auto draw = [&, at = uint32_t{0}](uint32_t n) mutable {
      return int64_t{Rng::below(n, rng.block(at++)[0])};
    };
    const int64_t groups = grouped && draw(3) == 0 ? 1 + draw(3) : 1;
    const Spatial kernel{1 + draw(4), 1 + draw(4)};
    Geometry g{.stride = {1 + draw(3), 1 + draw(3)},
               .padding = {draw(3), draw(3)},
               .dilation = {1 + draw(2), 1 + draw(2)},
               .groups = groups};
    const Spatial in{g.dilation.h * (kernel.h - 1) + 1 + draw(6),
                     g.dilation.w * (kernel.w - 1) + 1 + draw(6)};
    const Spatial out = output_size(in, kernel, g);
    const int64_t n = 1 + draw(3), ci = groups * (1 + draw(9)), co = groups * (1 + draw(9));
    at::manual_seed(static_cast<int64_t>(seed * 1000 + i));
    Operands o{.x = at::randn({n, ci, in.h, in.w}),
               .w = at::randn({co, ci / groups, kernel.h, kernel.w}),
               .dy = at::randn({n, co, out.h, out.w}),
               .geometry = g};
    for (auto* tensor : {&o.x, &o.w, &o.dy}) {
      *tensor = tensor->contiguous(draw(2) == 0 ? at::MemoryFormat::ChannelsLast
                                                : at::MemoryFormat::Contiguous);
    }
    o.input_sizes = o.x.sizes().vec();
    all.push_back(std::move(o));
  }
  return all;
}

// By the definition, in double precision.
inline at::Tensor defined_result(const Plan& plan, Operands o) {
  for (auto* tensor : {&o.x, &o.w, &o.dy}) {
    if (tensor->defined()) *tensor = tensor->to(at::kDouble);
  }
  return run(plan, o, kReference);
}

// Every variant that takes the operands, the chosen one and the definition in their own precision
// agree with the definition in double precision.
inline void expect_variants_agree(const Plan& plan, const Operands& o) {
  SCOPED_TRACE(::testing::Message() << name(o.product) << " x " << o.x.sizes() << " w "
                                    << o.w.sizes() << " groups " << o.geometry.groups);
  const auto truth = defined_result(plan, o);
  const auto names = variants(plan, o);
  EXPECT_EQ(std::count(names.begin(), names.end(), kReference), 1);
  for (const auto& variant : names) {
    const auto result = run(plan, o, variant);
    ASSERT_EQ(result.defined(), truth.defined()) << variant;
    if (!truth.defined()) continue;
    EXPECT_EQ(result.scalar_type(), o.w.scalar_type()) << variant;
    EXPECT_CLOSE(result, truth) << variant;
  }
  if (truth.defined()) {
    EXPECT_CLOSE(run(plan, o), truth);
  }
}

}  // namespace approx
