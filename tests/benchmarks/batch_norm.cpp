// Batch norm with its tail against the same by LibTorch's operators, forward and backward, for the
// shapes of ResNet-20 and larger networks, in turns. Usage: batch_norm_benchmark [THREADS]
#include <ATen/Parallel.h>
#include <fmt/ranges.h>
#include <torch/torch.h>

#include <chrono>

#include "core/nn/norm.h"
#include "core/train/device.h"

namespace {

double milliseconds(const std::function<void()>& run) {
  const auto before = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before)
      .count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  approx::configure_threads(argc > 1 ? std::stoi(argv[1]) : 2);
  fmt::print("| N,C,H,W | tail | LibTorch ms | fused ms | ratio |\n|---|---|---|---|---|\n");
  const std::vector<std::vector<int64_t>> shapes = {
      {128, 16, 32, 32}, {128, 32, 16, 16}, {128, 64, 8, 8}, {128, 64, 32, 32}, {128, 512, 4, 4}};
  for (const auto& shape : shapes) {
    for (const bool add : {false, true}) {
      const auto map = [&] { return at::randn(shape).contiguous(at::MemoryFormat::ChannelsLast); };
      const auto x = map().requires_grad_(), residual = map().requires_grad_(), dy = map();
      approx::BatchNorm norm(shape[1]);
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
        const double a = milliseconds([&] { once(false); }), b = milliseconds([&] { once(true); });
        if (i < 4) continue;
        plain.push_back(a);
        fused.push_back(b);
      }
      fmt::print("| {} | {} | {:.2f} | {:.2f} | {:.2f} |\n", fmt::join(shape, ","),
                 add ? "add, ReLU" : "ReLU", median(plain), median(fused),
                 median(plain) / median(fused));
    }
  }
}
