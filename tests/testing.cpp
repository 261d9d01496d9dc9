#include "tests/testing.h"

#include <memory>

#include "kernels/rng.h"

namespace approx {

std::ostream& operator<<(std::ostream& out, const TestShape& s) {
  return out << "N" << s.n << ",C" << s.ci << ",K" << s.co << ",H" << s.size << ",R" << s.kernel
             << ",S" << s.stride << ",P" << s.padding << ",G" << s.groups;
}

const std::vector<TestShape>& conv_shapes() {
  static const std::vector<TestShape> shapes = {
      {1, 1, 1, 1, 1, 1, 0},   {2, 3, 5, 7, 3, 1, 1},  {3, 9, 8, 17, 3, 2, 1},
      {2, 16, 7, 15, 5, 1, 2}, {1, 33, 6, 8, 7, 2, 3}, {4, 8, 4, 33, 1, 2, 0},
      {2, 7, 9, 5, 3, 1, 0},   {1, 2, 3, 1, 3, 1, 2},  {2, 8, 6, 12, 3, 1, 1, 4}};
  return shapes;
}

Operands random_operands(const TestShape& s, uint64_t seed) {
  at::manual_seed(seed);
  const int64_t out = (s.size + 2 * s.padding - s.kernel) / s.stride + 1;
  Operands o;
  o.x = at::randn({s.n, s.ci, s.size, s.size}).contiguous(at::MemoryFormat::ChannelsLast);
  o.w = at::randn({s.co, s.ci / s.groups, s.kernel, s.kernel})
            .contiguous(at::MemoryFormat::ChannelsLast);
  o.dy = at::randn({s.n, s.co, out, out}).contiguous(at::MemoryFormat::ChannelsLast);
  o.geometry = {s.stride, s.padding, 1, s.groups};
  o.product = Product::kWeightGradient;
  o.input_sizes = o.x.sizes().vec();
  return o;
}

Operands operands_with_dy(const at::Tensor& dy) {
  Operands o;
  o.dy = dy;
  o.x = at::ones({dy.size(0), 1, dy.size(2), dy.size(3)});
  o.w = at::ones({dy.size(1), 1, 1, 1});
  o.input_sizes = o.x.sizes().vec();
  return o;
}

at::Tensor double_product(Operands o) {
  for (auto* tensor : {&o.x, &o.w, &o.dy}) {
    if (tensor->defined()) *tensor = tensor->to(at::kDouble);
  }
  return run(Dense{}, o);
}

testing::AssertionResult close(const at::Tensor& a, const at::Tensor& b, double tolerance) {
  if (a.sizes() != b.sizes()) {
    return testing::AssertionFailure() << "sizes " << a.sizes() << " and " << b.sizes();
  }
  if (a.numel() == 0) return testing::AssertionSuccess();
  const auto x = a.to(at::kCPU, at::kDouble), y = b.to(at::kCPU, at::kDouble);
  const double worst = (x - y).abs().max().item<double>();
  const double scale = std::max(1e-30, y.abs().max().item<double>());
  // Written so that NaN fails.
  if (worst <= tolerance * scale) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "largest difference " << worst << " at scale " << scale;
}

LoadedDataset toy_dataset(int64_t train, int64_t test) {
  struct Storage {
    std::vector<uint8_t> pixels;
    std::vector<int64_t> labels;
  };
  const auto part = [](int64_t count, uint32_t stream) {
    auto storage = std::make_shared<Storage>();
    for (int64_t i = 0; i < count; ++i) {
      const int64_t label = i % 2;
      storage->labels.push_back(label);
      for (uint32_t p = 0; p < 64; ++p) {
        const Rng rng{.seed = 7, .step = static_cast<uint64_t>(i), .stream = stream};
        const bool bright = (p < 32) == (label == 0);
        storage->pixels.push_back(
            static_cast<uint8_t>((bright ? 120 : 60) + Rng::below(80, rng.block(p)[0])));
      }
    }
    return ImageSet{count, 8, 8, 1, storage->pixels, storage->labels, storage};
  };
  LoadedDataset dataset;
  dataset.name = "toy";
  dataset.classes = 2;
  dataset.mean = {0.5};
  dataset.stddev = {0.25};
  dataset.train = part(train, 1);
  dataset.test = part(test, 2);
  return dataset;
}

}  // namespace approx
