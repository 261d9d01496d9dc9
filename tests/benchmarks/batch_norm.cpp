// Batch norm with its tail against the same by LibTorch's operators, forward and backward, for the
// shapes of ResNet-20 and larger networks, in turns. Usage: layer_benchmarks batch_norm [THREADS]
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/ranges.h>

#include <chrono>

#include "core/nn/norm.h"
#include "core/train/device.h"
#include "tests/benchmarks/benchmarks.h"

namespace approx {
namespace {

double milliseconds_of(const std::function<void()>& run) {
  const auto before = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before)
      .count();
}

}  // namespace

int benchmark_batch_norm(const CommandLine& arguments) {
  configure_threads(arguments.empty() ? 2 : std::stoi(arguments[0]));
  fmt::print("| N,C,H,W | tail | LibTorch ms | fused ms | ratio |\n|---|---|---|---|---|\n");
  const std::vector<std::vector<int64_t>> shapes = {
      {128, 16, 32, 32}, {128, 32, 16, 16}, {128, 64, 8, 8}, {128, 64, 32, 32}, {128, 512, 4, 4}};
  for (const auto& shape : shapes) {
    for (const bool add : {false, true}) {
      const auto map = [&] { return at::randn(shape).contiguous(at::MemoryFormat::ChannelsLast); };
      const auto x = map().requires_grad_(), residual = map().requires_grad_(), dy = map();
      BatchNorm norm(shape[1]);
      const auto once = [&](bool fused) {
        at::Tensor y;
        if (fused) {
          y = add ? norm->add_relu(x, residual) : norm->relu(x);
        } else {
          y = at::batch_norm(x, norm->weight, norm->bias, norm->running_mean,
                             norm->running_variance, true, 0.1, 1e-5, true);
          y = add ? y.add_(residual).relu_() : y.relu_();
        }
        y.backward(dy);
        x.mutable_grad() = residual.mutable_grad() = at::Tensor();
        norm->zero_grad();
      };
      std::vector<double> plain, fused;
      for (int i = 0; i < 24; ++i) {
        const double a = milliseconds_of([&] { once(false); }),
                     b = milliseconds_of([&] { once(true); });
        if (i < 4) continue;
        plain.push_back(a);
        fused.push_back(b);
      }
      fmt::print("| {} | {} | {:.2f} | {:.2f} | {:.2f} |\n", fmt::join(shape, ","),
                 add ? "add, ReLU" : "ReLU", median(plain), median(fused),
                 median(plain) / median(fused));
    }
  }
  return 0;
}

}  // namespace approx
