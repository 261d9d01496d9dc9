// What a layer of ours costs more than torch::nn::Conv2d where nothing is approximated. Two stacks
// of the same twenty small convolutions, ours and LibTorch's, train in alternating blocks of random
// order; the difference of a pair of blocks, by layer and step, has an interval. Sizes are small,
// so that the difference is not lost in the arithmetic, which both do alike.
//
//   layer_benchmarks dense_layer [PAIRS] [STEP_MS]   STEP_MS: a training step to compare with
//   (default 400)
#include <torch/nn/modules/conv.h>

#include <boost/math/distributions/students_t.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "core/nn/layers.h"
#include "tests/benchmarks/benchmarks.h"

namespace approx {
namespace {

constexpr int kLayers = 20, kSteps = 200, kChannels = 8, kSize = 4;

at::Tensor input_of_ones() {
  return at::ones({1, kChannels, kSize, kSize}).contiguous(at::MemoryFormat::ChannelsLast);
}

template <typename Layers>
double block(Layers& layers, const at::Tensor& x) {
  const auto before = std::chrono::steady_clock::now();
  for (int step = 0; step < kSteps; ++step) {
    at::Tensor y = x;
    for (auto& layer : layers) y = layer->forward(y);
    y.backward(at::ones_like(y));
    for (auto& layer : layers) layer->weight.mutable_grad().reset();
  }
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - before;
  return taken.count() / (kSteps * kLayers);
}

}  // namespace

int benchmark_dense_layer(const CommandLine& arguments) {
  const int pairs = arguments.empty() ? 60 : std::stoi(arguments[0]);
  const double step_ms = arguments.size() < 2 ? 400 : std::stod(arguments[1]);
  if (pairs < 2 || !(step_ms > 0)) {
    std::fprintf(stderr, "usage: layer_benchmarks dense_layer [PAIRS >= 2] [STEP_MS > 0]\n");
    return 2;
  }
  at::set_num_threads(1);
  std::vector<Conv> ours;
  std::vector<torch::nn::Conv2d> plain;
  for (int i = 0; i < kLayers; ++i) {
    ours.emplace_back(
        ConvOptions{.in_channels = kChannels, .out_channels = kChannels, .padding = 1});
    plain.emplace_back(torch::nn::Conv2dOptions(kChannels, kChannels, 3).padding(1).bias(false));
    plain.back()->weight.set_data(ours.back()->weight.detach().clone());
  }
  const auto x = input_of_ones();
  block(ours, x);
  block(plain, x);
  std::mt19937 order(1);
  std::vector<double> differences, base;
  for (int pair = 0; pair < pairs; ++pair) {
    const bool ours_first = order() & 1;
    double a = 0, b = 0;
    for (int turn = 0; turn < 2; ++turn) {
      if (ours_first == (turn == 0)) {
        a = block(ours, x);
      } else {
        b = block(plain, x);
      }
    }
    differences.push_back(a - b);
    base.push_back(b);
  }
  double mean = 0, squares = 0, plain_ns = 0;
  for (size_t i = 0; i < differences.size(); ++i) {
    mean += differences[i] / pairs;
    plain_ns += base[i] / pairs;
  }
  for (const double d : differences) squares += (d - mean) * (d - mean);
  const double half = boost::math::quantile(boost::math::students_t(pairs - 1), 0.975) *
                      std::sqrt(squares / (pairs - 1) / pairs);
  // ResNet-20 has 19 convolutions.
  const auto share = [&](double ns) { return 100 * 19 * ns / (1e6 * step_ms); };
  std::printf(
      "torch::nn::Conv2d %.0f ns a layer and step; ours %+.0f ns [%+.0f, %+.0f] more (95 %%, %d "
      "pairs)\nof a ResNet-20 step of %g ms, 19 convolutions: %+.4f %% [%+.4f, %+.4f]\n",
      plain_ns, mean, mean - half, mean + half, pairs, step_ms, share(mean), share(mean - half),
      share(mean + half));
  return 0;
}

}  // namespace approx
