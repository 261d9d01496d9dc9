// What a GPU must agree with the CPU in. Skipped where there is none; scripts/gpu-suite runs these
// where there is one.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>

#include "core/config/named_schedule.h"
#include "core/library/cold.h"
#include "core/library/roofline.h"
#include "core/nn/kept_before.h"
#include "core/train/device.h"
#include "core/train/evaluation.h"
#include "core/train/gpu_monitor.h"
#include "core/train/precision.h"
#include "core/train/session.h"
#include "kernels/dense/cudnn.h"
#include "kernels/draws.h"
#include "kernels/gpu/start.h"
#include "kernels/norm/fused_norm.h"
#include "kernels/select/select.h"
#include "products/rules.h"
#include "tests/gpu_checks/dense_tile.h"
#include "tests/reference.h"
#include "tests/testing.h"

namespace approx {
namespace {

// The device, or why there is none: asked for once, since it opens half of LibTorch.
const std::optional<at::Device>& cuda(std::string* reason = nullptr) {
  static std::string why;
  static const auto device = []() -> std::optional<at::Device> {
    try {
      return open_device(DeviceKind::kCuda);
    } catch (const Error& error) {
      why = error.what();
      return std::nullopt;
    }
  }();
  if (reason != nullptr) *reason = why;
  return device;
}

// Phi^-1(0.95) sqrt(pi / 2): the threshold of p = 0.9 over the mean magnitude.
constexpr double kNinetyOfMean = 1.6448536269514722 * 1.2533141373155003;

#define SKIP_WITHOUT_CUDA() \
  std::string reason;       \
  if (!cuda(&reason)) {     \
    GTEST_SKIP() << reason; \
  }

Operands on_device(Operands o) {
  for (auto* tensor : {&o.x, &o.w, &o.dy}) *tensor = tensor->to(*cuda());
  return o;
}

TEST(Cuda, EveryMethodGivesWhatItGivesOnTheCpu) {
  SKIP_WITHOUT_CUDA();
  for (const auto* entry : Registry<MethodEntry>::instance().all()) {
    for (const auto product : entry->products) {
      for (const auto& shape : conv_shapes()) {
        SCOPED_TRACE(testing::Message() << entry->name << " " << name(product) << " " << shape);
        auto operands = random_operands(shape);
        operands.product = product;
        const Rng rng{.seed = 11, .layer = 3, .step = 5, .product = product};
        auto there = on_device(operands);
        const auto method = make_method(entry->name), twin = make_method(entry->name);
        const auto far = plan_as_layer(*method, entry->products, there, rng).plan;
        const auto near = plan_as_layer(*twin, entry->products, operands, rng).plan;
        // TensorFloat-32 may stand in for float in a convolution there.
        EXPECT_TRUE(close(run(far, there), run(near, operands), 5e-3));
      }
    }
  }
}

TEST(Cuda, TiesOfThePositionsAreTheCpus) {
  SKIP_WITHOUT_CUDA();
  const auto dy = at::randint(-2, 3, {4, 33, 5, 5}).to(at::kFloat);
  const auto here = operands_with_dy(dy), there = on_device(here);
  for (const auto* text : {"topk_position", "topk_position:k=3,scale=none"}) {
    const auto a = std::get<SparseDY>(make_method(text)->plan(here, {}));
    const auto b = std::get<SparseDY>(make_method(text)->plan(there, {}));
    EXPECT_TRUE(at::equal(a.position, b.position.cpu())) << text;
  }
}

TEST(Cuda, ThePositionsAndWhatTheyCarryAreTheCpus) {
  SKIP_WITHOUT_CUDA();
  auto dy = at::randint(-3, 4, {4, 33, 7, 5}).to(at::kFloat) / 4;
  dy.index_put_({1, 2, 3, 1}, std::nanf(""));
  const auto here = operands_with_dy(dy), there = on_device(here);
  for (const int64_t k : {2, 3, 4, 7, 8, 100}) {
    for (const auto* scale : {"equal", "signed", "l1", "none"}) {
      const auto text = fmt::format("topk_position:k={},scale={},factor=0.5", k, scale);
      const auto near = std::get<SparseDY>(make_method(text)->plan(here, {}));
      const auto far = std::get<SparseDY>(make_method(text)->plan(there, {}));
      EXPECT_TRUE(at::equal(near.position, far.position.cpu())) << text;
      EXPECT_TRUE(at::allclose(far.value.cpu(), near.value, 1e-5, 1e-5, /*equal_nan=*/true))
          << text;
    }
  }
}

TEST(Cuda, TheLargestScoresAreTheCpus) {
  SKIP_WITHOUT_CUDA();
  for (const int64_t count : {1, 31, 64, 1000, 1025, 4096, 5000}) {
    auto scores = at::randint(0, 50, {count}).to(at::kDouble);
    scores[count / 2] = std::nan("");
    for (const int64_t k : {int64_t{1}, count / 3, count}) {
      EXPECT_TRUE(at::equal(largest(scores.to(*cuda()), k).cpu(), largest(scores, k)))
          << k << " of " << count;
    }
  }
}

// The fastest of cuDNN's engines agrees with the definition, TensorFloat-32 only where it is asked
// for, and is the same afterwards and by a file.
TEST(Cuda, CudnnsEnginesAgreeWithTheDefinition) {
  SKIP_WITHOUT_CUDA();
  const auto file = testing::TempDir() + "/cudnn_choices.json";
  std::filesystem::remove(file);
  use_cudnn_choices(file, /*adds=*/true, *cuda());
  for (const auto product : kAllProducts) {
    for (const auto precision :
         {Precision::kFp32, Precision::kTf32, Precision::kBf16, Precision::kFp16}) {
      SCOPED_TRACE(testing::Message() << name(product) << " " << name(precision));
      set_float_products(*cuda(), precision);
      auto near = random_operands({4, 32, 9, 16, 3, 1, 1});
      near.product = product;
      auto far = on_device(near);
      for (auto* tensor : {&far.x, &far.w, &far.dy}) *tensor = tensor->to(operand_type(precision));
      const auto result = run(Dense{}, far, "cudnn");
      const double tolerance = precision == Precision::kFp32   ? 1e-5
                               : precision == Precision::kBf16 ? 2e-2
                                                               : 3e-3;
      EXPECT_TRUE(close(result.cpu().to(at::kFloat), run(Dense{}, near, kReference), tolerance));
      const auto choice = cudnn_choice(far);
      EXPECT_GT(choice.ns, 0);
      EXPECT_GE(choice.timed, 1);
      EXPECT_TRUE(at::equal(run(Dense{}, far, "cudnn"), result)) << "the same bits every time";
    }
  }
  set_float_products(*cuda(), Precision::kFp32);
  use_cudnn_choices(file, /*adds=*/false, *cuda());
  EXPECT_GT(std::filesystem::file_size(file), 0u);
  use_cudnn_choices("", /*adds=*/false, *cuda());
}

TEST(Cuda, ColdCallsAreTimedByTheDevice) {
  SKIP_WITHOUT_CUDA();
  CacheFlush flush(*cuda());
  const auto numbers = at::ones({1 << 20}, at::TensorOptions().device(*cuda()));
  EXPECT_GT(cold_nanoseconds(*cuda(), flush, [&] { numbers.add_(1); }), 0);
  EXPECT_EQ(numbers.sum().item<float>(), 2 << 20);
  const auto roofline = roofline_of(*cuda(), Precision::kBf16);
  EXPECT_GT(roofline.flops, 1e12);
  EXPECT_GT(roofline.bytes, 1e11);
  EXPECT_GT(roofline.l2_size, 1e6);
  EXPECT_GT(roofline.l2_bytes, roofline.bytes) << "a cache is faster than what it caches";
}

RunConfig toy_run(const std::string& network) {
  RunConfig config;
  config.network = network;
  config.dataset = "toy";
  config.device = DeviceKind::kCuda;
  config.batch_size = 16;
  return config;
}

// Under fp16 what is reduced is still scaled, so that all ranks see the same overflow.
TEST(Cuda, GradientsAreReducedBeforeTheyAreUnscaled) {
  SKIP_WITHOUT_CUDA();
  class Largest final : public GradientReduction {
   public:
    explicit Largest(double& largest) : largest_(largest) {}
    void reduce(const std::vector<NamedTensor>& parameters) override {
      largest_ = 0;
      for (const auto& [name, parameter] : parameters) {
        largest_ = std::max(largest_, parameter.grad().abs().max().item<double>());
      }
    }

   private:
    double& largest_;
  };
  const auto dataset = toy_dataset();
  auto config = toy_run("small_cnn:width=4");
  config.recipe.learning_rate = 0.05;
  double plain = 0, scaled = 0;
  Session(config, dataset, nullptr, std::make_unique<Largest>(plain)).step();
  config.precision = Precision::kFp16;
  Session(config, dataset, nullptr, std::make_unique<Largest>(scaled)).step();
  EXPECT_GT(scaled, 1000 * plain);
}

TEST(Cuda, AGpuIsDescribed) {
  SKIP_WITHOUT_CUDA();
  const Json gpu = gpu_description(*cuda());
  EXPECT_EQ(gpu.at("uuid").get<std::string>().size(), std::string("GPU-").size() + 36);
  EXPECT_GE(gpu.at("capability"), 80);
  EXPECT_GT(gpu.at("l2_bytes"), 0);
  EXPECT_NE(gpu.at("driver"), "");
  EXPECT_GT(gpu.at("limits").at("sm_mhz"), 0);
  ASSERT_NE(monitor_of(*cuda()), nullptr);
  EXPECT_TRUE(monitor_of(*cuda())->joules().has_value());
}

TEST(Cuda, DrawsAreTheCpusBitForBit) {
  SKIP_WITHOUT_CUDA();
  for (const Rng& rng : {Rng{}, Rng{.seed = ~0ull, .layer = 0xFFFF, .step = (1ull << 48) - 1},
                         Rng{.seed = 3, .layer = 2, .step = 9, .rank = 5}}) {
    EXPECT_TRUE(at::equal(uniform_draws(rng, {3, 5, 2, 7}, *cuda()).cpu(),
                          uniform_draws(rng, {3, 5, 2, 7}, at::kCPU)));
    EXPECT_TRUE(
        at::equal(random_words(rng, 1000, *cuda()).cpu(), random_words(rng, 1000, at::kCPU)));
  }
}

TEST(Cuda, EntriesOfASparseGradientAgreeWithTheirDefinition) {
  SKIP_WITHOUT_CUDA();
  for (const auto& shape : conv_shapes()) {
    SCOPED_TRACE(testing::Message() << shape);
    auto operands = random_operands(shape);
    operands.product = Product::kWeightGradient;
    const auto there = on_device(operands);
    for (const auto* text : {"topk_position", "topk_position:k=3,scale=signed"}) {
      const auto near = make_method(text)->plan(operands, {});
      const auto far = make_method(text)->plan(there, {});
      EXPECT_TRUE(close(run(far, there, "entries_cuda"), run(near, operands, kReference), 1e-4));
    }
    for (const auto& [type, variant] : {std::pair(at::kBFloat16, "entries_cuda_bf16"),
                                        std::pair(at::kHalf, "entries_cuda_fp16")}) {
      auto half = there, exact = operands;
      for (auto* tensor : {&half.x, &half.w, &half.dy}) *tensor = tensor->to(type);
      for (auto* tensor : {&exact.x, &exact.w, &exact.dy})
        *tensor = tensor->to(type).to(at::kFloat);
      const auto far = make_method("topk_position")->plan(half, {});
      const auto near = make_method("topk_position")->plan(exact, {});
      EXPECT_TRUE(
          close(run(far, half, variant).to(at::kFloat), run(near, exact, kReference), 1e-2));
    }
  }
}

TEST(Cuda, NormsOfSlicesAreTheCpus) {
  SKIP_WITHOUT_CUDA();
  for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    for (const int64_t channels : {1, 6, 64}) {
      const auto tensor = at::randn({5, channels, 9, 7}).to(type);
      for (const int64_t dim : {0, 1}) {
        const auto norms = slice_norms(tensor.to(*cuda()), dim);
        EXPECT_TRUE(close(norms, slice_norms(tensor, dim, Choosing::kTensors), 1e-5));
      }
    }
  }
}

TEST(Cuda, StochasticPruningGivesTheCpusBits) {
  SKIP_WITHOUT_CUDA();
  const Rng rng{.seed = 5, .layer = 2, .step = 7};
  const auto tau = at::full({}, 0.7F);
  for (const int64_t channels : {1, 3, 64}) {
    const auto dy = at::randn({5, channels, 7, 9}).contiguous(at::MemoryFormat::ChannelsLast);
    const auto wanted = stochastic_pruned(dy, tau, rng);
    for (const auto how : {Choosing::kFastest, Choosing::kTensors}) {
      const auto got = stochastic_pruned(dy.to(*cuda()), tau.to(*cuda()), rng, how);
      EXPECT_TRUE(at::equal(got.dy.cpu(), wanted.dy));
      EXPECT_EQ(got.kept.item<int64_t>(), wanted.kept.item<int64_t>());
    }
    const auto over = stochastic_pruned_over(dy.to(*cuda()), tau.to(*cuda()), rng);
    EXPECT_TRUE(at::equal(over.dy.cpu(), wanted.dy));
    EXPECT_NEAR(mean_magnitude(dy.to(*cuda())).item<float>(), mean_magnitude(dy).item<float>(),
                1e-5);
  }
}

// In the pass that writes dX: the bits of a pass of its own.
TEST(Cuda, StochasticPruningIsDoneWhileANormWrites) {
  SKIP_WITHOUT_CUDA();
  for (const int64_t channels : {3, 64}) {
    for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf}) {
      SCOPED_TRACE(testing::Message() << channels << " channels, " << toString(type));
      const auto map = [&] {
        return at::randn({5, channels, 7, 9})
            .to(*cuda(), type)
            .contiguous(at::MemoryFormat::ChannelsLast);
      };
      const auto x = map();
      const auto weight = at::rand({channels}).to(*cuda()) + 0.5,
                 bias = at::randn({channels}).to(*cuda());
      const auto statistics = norm_statistics(x, 1e-5);
      const auto method = make_method("stochastic_pruning:p=0.9,statistics=previous");
      at::Tensor mean;
      for (const uint64_t step : {1, 2, 3}) {
        const auto dy = map();
        const auto written = [&](GradientVisitor* visitor) {
          return norm_backward(dy, {}, x, weight, bias, statistics.mean,
                               statistics.inverse_deviation, NormTail::kRelu, visitor)
              .dx;
        };
        const Rng rng{.seed = 5, .layer = 2, .step = step, .product = Product::kDataGradient};
        MethodCall call{.rng = rng, .norm_follows = true};
        MagnitudeVisitor visitor(method->look(call).value());
        const auto whole = written(nullptr), dx = written(&visitor);
        const auto seen = visitor.seen();
        call.seen = &seen;
        auto operands = operands_with_dy(dx);
        operands.product = Product::kDataGradient;
        const auto plan = std::get<PrunedDY>(method->plan(operands, call));
        if (step > 1) {
          const auto wanted = stochastic_pruned(whole, mean * kNinetyOfMean, rng);
          EXPECT_TRUE(at::equal(dx, wanted.dy));
          EXPECT_TRUE(plan.dy.is_same(dx));
          EXPECT_EQ(plan.kept.item<int64_t>(), wanted.kept.item<int64_t>());
        }
        mean = method->memory()->clone();
        EXPECT_TRUE(close(mean, mean_magnitude(whole), 1e-5));
      }
    }
  }
}

TEST(Cuda, EntriesOfAPrunedGradientAgreeWithTheirDefinition) {
  SKIP_WITHOUT_CUDA();
  for (const auto& shape : conv_shapes()) {
    for (const auto& [type, suffix] : {std::pair(at::kFloat, ""), std::pair(at::kBFloat16, "_bf16"),
                                       std::pair(at::kHalf, "_fp16")}) {
      auto here = random_operands(shape);
      for (auto* tensor : {&here.x, &here.w, &here.dy}) *tensor = tensor->to(type).to(at::kFloat);
      auto there = on_device(here);
      for (auto* tensor : {&there.x, &there.w, &there.dy}) *tensor = tensor->to(type);
      for (const double density : {0.0, 0.05, 0.5}) {
        const auto stays = at::rand(here.dy.sizes()) < density;
        const auto near = counted(here.dy * stays), far = counted(there.dy * stays.to(*cuda()));
        for (const auto& [product, names] :
             {std::pair(Product::kDataGradient, std::pair("sparse_rows_cuda", "block_rows_cuda")),
              std::pair(Product::kWeightGradient,
                        std::pair("sparse_lists_cuda", "block_lists_cuda"))}) {
          here.product = there.product = product;
          const auto wanted = run(near, here, kReference);
          for (const auto* name : {names.first, names.second}) {
            SCOPED_TRACE(testing::Message() << shape << " " << name << suffix << " " << density);
            const auto got = run(far, there, std::string(name) + suffix);
            EXPECT_TRUE(close(got.to(at::kFloat), wanted, type == at::kFloat ? 1e-4 : 1e-2));
            EXPECT_TRUE(at::equal(run(far, there, std::string(name) + suffix), got));
          }
        }
      }
    }
  }
}

// What is taken goes by the exact share of the step before.
TEST(Cuda, EntriesArePlannedByTheShareOfTheStepBefore) {
  SKIP_WITHOUT_CUDA();
  const auto operands = on_device(random_operands({4, 64, 8, 64, 3, 1, 1}));
  const auto method = make_method("stochastic_pruning:p=0.9,placement=output");
  KeptBefore before;
  const auto planned = [&](uint64_t step) {
    auto plan = method->plan(operands, {.rng = {.step = step}, .norm_follows = true});
    before.tell(plan, operands);
    return std::get<PrunedDY>(plan);
  };
  EXPECT_EQ(planned(1).expected_density, 1) << "no rule asks";
  use_kernel_rules("sparse_lists_cuda * * * * * * ..0.9");
  const auto first = planned(2), second = planned(3);
  use_kernel_rules("");
  EXPECT_EQ(first.expected_density, 1) << "nothing was counted before";
  EXPECT_EQ(second.expected_density,
            first.kept.item<double>() / static_cast<double>(first.dy.numel()));
}

TEST(Cuda, StructuredPruningGivesTheCpusBits) {
  SKIP_WITHOUT_CUDA();
  const Rng rng{.seed = 6, .layer = 1, .step = 3};
  const auto dy = at::randn({3, 64, 5, 7}).contiguous(at::MemoryFormat::ChannelsLast);
  for (const int64_t m : {2, 4, 8, 16, 32}) {
    for (const bool random : {false, true}) {
      for (const auto rescaling : {Rescaling::kNone, Rescaling::kGroup, Rescaling::kPlane}) {
        const NmChoice choice{.n = m / 2, .m = m, .random = random, .rescaling = rescaling};
        const auto wanted = nm_pruned(dy, choice, rng),
                   got = nm_pruned(dy.to(*cuda()), choice, rng);
        // Sums of planes are added in another order.
        EXPECT_TRUE(rescaling == Rescaling::kPlane ? close(got.dy, wanted.dy, 1e-5)
                                                   : at::equal(got.dy.cpu(), wanted.dy));
        EXPECT_EQ(got.kept.item<int64_t>(), wanted.kept.item<int64_t>());
      }
    }
  }
}

// Bytes there, and back.
template <typename T>
at::Tensor there_of(const std::vector<T>& values) {
  auto bytes = at::empty({static_cast<int64_t>(values.size() * sizeof(T))}, at::kByte);
  std::memcpy(bytes.mutable_data_ptr(), values.data(), values.size() * sizeof(T));
  return bytes.to(*cuda());
}
template <typename T>
std::vector<T> back_from(const at::Tensor& bytes) {
  const auto here = bytes.cpu();
  std::vector<T> values(static_cast<size_t>(here.numel()) / sizeof(T));
  std::memcpy(values.data(), here.const_data_ptr(), values.size() * sizeof(T));
  return values;
}
template <typename T>
T* pointer_of(const at::Tensor& bytes) {
  return static_cast<T*>(bytes.mutable_data_ptr());
}

// Where each number of a fragment lies, and what each pair of indices says: the emulator has it
// from PTX's description (tests/gpu_checks/warp_products.cpp), the device alone knows it.
template <typename Number>
void expect_fragments_where_they_are_described() {
  ASSERT_TRUE(can_start<SparseTilesArgs<Number>>(*cuda()));
  const auto tiles = tiles_of_single_numbers();
  for (const int selector : {0, 1}) {
    const TileRegisters registers = registers_of<Number>(tiles, selector);
    const auto a = there_of(registers.a), b = there_of(registers.b);
    const auto indices = there_of(registers.indices), sum = there_of(registers.sum);
    start<SparseTilesArgs<Number>>(
        {static_cast<int64_t>(tiles.size()), selector, pointer_of<Registers>(a),
         pointer_of<Registers>(b), pointer_of<uint32_t>(indices), pointer_of<Floats<4>>(sum)},
        *cuda());
    EXPECT_EQ(wrong_tile(tiles, back_from<Floats<4>>(sum)), "") << "selector " << selector;
  }
}

TEST(Cuda, StoredFragmentsOfASparseProductAreWhereTheyAreDescribed) {
  SKIP_WITHOUT_CUDA();
  expect_fragments_where_they_are_described<BFloat16>();
  expect_fragments_where_they_are_described<Float16>();
}

template <typename Number>
void expect_dense_fragments_where_they_are_described() {
  ASSERT_TRUE(can_start<DenseTilesArgs<Number>>(*cuda()));
  const auto tiles = dense_tiles_of_single_numbers();
  const TileRegisters registers = registers_of<Number>(tiles);
  const auto a = there_of(registers.a), b = there_of(registers.b), sum = there_of(registers.sum);
  start<DenseTilesArgs<Number>>({static_cast<int64_t>(tiles.size()), pointer_of<Registers>(a),
                                 pointer_of<Registers>(b), pointer_of<Floats<4>>(sum)},
                                *cuda());
  EXPECT_EQ(wrong_tile(tiles, back_from<Floats<4>>(sum)), "");
}

TEST(Cuda, StoredFragmentsOfAProductAreWhereTheyAreDescribed) {
  SKIP_WITHOUT_CUDA();
  expect_dense_fragments_where_they_are_described<BFloat16>();
  expect_dense_fragments_where_they_are_described<Float16>();
}

TEST(Cuda, StoredMatricesAreLoadedAsTheyAreDescribed) {
  SKIP_WITHOUT_CUDA();
  ASSERT_TRUE(can_start<LoadedMatricesArgs>(*cuda()));
  std::vector<uint16_t> numbers(256);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<uint16_t>(i);
  const auto matrices = there_of(numbers);
  const auto plain = there_of(std::vector<Registers>(kWarp)),
             transposed = there_of(std::vector<Registers>(kWarp));
  start<LoadedMatricesArgs>({pointer_of<uint16_t>(matrices), pointer_of<Registers>(plain),
                             pointer_of<Registers>(transposed)},
                            *cuda());
  const auto loaded = back_from<Registers>(plain), turned = back_from<Registers>(transposed);
  for (uint32_t lane = 0; lane < kWarp; ++lane) {
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t row = lane / 4, two = lane % 4 * 2, first = 64 * i;
      EXPECT_EQ(loaded[lane].v[i], (first + 8 * row + two) | (first + 8 * row + two + 1) << 16);
      EXPECT_EQ(turned[lane].v[i], (first + 8 * two + row) | (first + 8 * (two + 1) + row) << 16);
    }
  }
}

TEST(Cuda, StructuredGradientsOfSparseTensorCoresAgreeWithTheirDefinition) {
  SKIP_WITHOUT_CUDA();
  const Rng rng{.seed = 7, .layer = 3, .step = 2};
  std::vector<StructuredDY> plans = {
      {{.n = 1, .m = 2}, rng}, {{.n = 1, .m = 4}, rng}, {{.n = 2, .m = 4, .random = true}, rng}};
  for (const auto rescaling : {Rescaling::kNone, Rescaling::kGroup, Rescaling::kPlane}) {
    plans.push_back({{.n = 2, .m = 4, .rescaling = rescaling}, rng});
  }
  // Examples, channels, size, channels out, kernel, stride, padding.
  for (const auto& shape :
       {TestShape{2, 64, 8, 64, 1, 1, 0}, TestShape{16, 64, 9, 128, 3, 1, 1},
        TestShape{4, 72, 7, 64, 3, 2, 1}, TestShape{4, 8, 8, 192, 1, 2, 0},
        TestShape{16, 48, 1, 64, 1, 1, 0}, TestShape{1, 128, 12, 64, 5, 1, 2}}) {
    for (const auto type : {at::kBFloat16, at::kHalf}) {
      auto exact = random_operands(shape);
      exact.product = Product::kDataGradient;
      for (auto* tensor : {&exact.x, &exact.w, &exact.dy}) {
        *tensor = tensor->to(type).to(at::kFloat);
      }
      auto half = on_device(exact);
      for (auto* tensor : {&half.x, &half.w, &half.dy}) *tensor = tensor->to(type);
      for (const auto& plan : plans) {
        SCOPED_TRACE(testing::Message() << shape << " " << toString(type) << " " << plan.choice.n
                                        << " of " << plan.choice.m);
        const auto wanted = run(plan, exact, kReference);
        const auto all = variants(plan, half);
        ASSERT_NE(std::find(all.begin(), all.end(), "mma_sp"), all.end());
        for (const char* variant : {"mma_sp", "cusparselt"}) {
          if (std::find(all.begin(), all.end(), variant) == all.end()) continue;
          const auto got = run(plan, half, variant);
          // What is rescaled is rounded to sixteen bits before it is multiplied.
          EXPECT_TRUE(close(got.to(at::kFloat), wanted, 2e-2)) << variant;
          EXPECT_TRUE(at::equal(prepared(plan, half, variant)(), got)) << variant;
        }
        EXPECT_TRUE(at::equal(run(plan, half, "mma_sp"), run(plan, half, "mma_sp")));
      }
    }
  }
}

TEST(Cuda, StoredSamplesAreReadThroughTheirList) {
  SKIP_WITHOUT_CUDA();
  // Examples, channels, size, channels out, kernel, stride, padding.
  for (const auto& shape : {TestShape{2, 64, 8, 64, 1, 1, 0}, TestShape{3, 256, 7, 72, 1, 1, 0},
                            TestShape{50, 784, 1, 504, 1, 1, 0}, TestShape{1, 8, 1, 8, 1, 1, 0},
                            TestShape{5, 400, 9, 296, 1, 1, 0}}) {
    for (const auto& [type, variant] : {std::pair(at::kBFloat16, "fused_gather_bf16"),
                                        std::pair(at::kHalf, "fused_gather_fp16")}) {
      auto exact = random_operands(shape);
      for (auto* tensor : {&exact.x, &exact.w, &exact.dy}) {
        *tensor = tensor->to(type).to(at::kFloat);
      }
      auto half = on_device(exact);
      for (auto* tensor : {&half.x, &half.w, &half.dy}) *tensor = tensor->to(type);
      for (const auto& [product, axis] :
           {std::pair(Product::kForward, Axis::kInputChannels),
            std::pair(Product::kDataGradient, Axis::kInputChannels),
            std::pair(Product::kDataGradient, Axis::kOutputChannels)}) {
        exact.product = half.product = product;
        const int64_t length = axis == Axis::kInputChannels ? shape.ci : shape.co;
        for (const int64_t kept : {int64_t{1}, length / 2, length}) {
          SCOPED_TRACE(testing::Message() << shape << " " << variant << " " << name(product)
                                          << " axis " << int(axis) << " " << kept);
          const auto index = std::get<0>(at::randperm(length).narrow(0, 0, kept).sort());
          const auto scale = at::rand({kept}) + 0.5;
          const auto wanted = run(Sampled{axis, index, scale}, exact, kReference);
          const Sampled there{axis, index.to(*cuda()), scale.to(*cuda())};
          const auto got = run(there, half, variant);
          // Scaled weights are rounded to sixteen bits before they are multiplied.
          EXPECT_TRUE(close(got.to(at::kFloat), wanted, 2e-2));
          EXPECT_TRUE(close(got.to(at::kFloat), run(there, half, "gather").to(at::kFloat), 2e-2));
          EXPECT_TRUE(at::equal(run(there, half, variant), got));
        }
      }
    }
  }
}

TEST(Cuda, ABatchNormIsTheCpus) {
  SKIP_WITHOUT_CUDA();
  for (const int64_t channels : {3, 64}) {
    for (const auto tail : {NormTail::kNone, NormTail::kRelu, NormTail::kAddRelu, NormTail::kGelu,
                            NormTail::kCelu, NormTail::kAddGelu}) {
      for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf}) {
        SCOPED_TRACE(testing::Message()
                     << channels << " channels, tail " << int(tail) << ", " << toString(type));
        // Numbers that the type has, in float: the CPU's norm of which is held against.
        const auto map = [&] {
          return at::randn({5, channels, 7, 9})
              .to(type)
              .to(at::kFloat)
              .contiguous(at::MemoryFormat::ChannelsLast);
        };
        const double rounding = type == at::kFloat ? 0 : type == at::kHalf ? 1e-3 : 8e-3;
        const auto x = map(), dy = map(), residual = map();
        const auto weight = at::rand({channels}) + 0.5, bias = at::randn({channels});
        const auto there = [](const at::Tensor& tensor) { return tensor.to(*cuda()); };
        const auto stored = [&](const at::Tensor& tensor) { return there(tensor).to(type); };
        const auto as_float = [](const at::Tensor& tensor) { return tensor.to(at::kFloat); };
        ASSERT_TRUE(fused_norm_fits(stored(x)));
        const auto near = norm_statistics(x, 1e-5), far = norm_statistics(stored(x), 1e-5);
        EXPECT_TRUE(close(far.mean, near.mean, 1e-5) && close(far.variance, near.variance, 1e-5));
        const auto y =
            norm_forward(x, weight, bias, near.mean, near.inverse_deviation, tail, residual)
                .to(type)
                .to(at::kFloat);
        const auto far_y = norm_forward(stored(x), there(weight), there(bias), there(near.mean),
                                        there(near.inverse_deviation), tail, stored(residual));
        EXPECT_TRUE(close(as_float(far_y), y, 1e-5 + rounding));
        const auto& kept = tail == NormTail::kAddGelu ? residual : y;
        const auto wanted =
            norm_backward(dy, kept, x, weight, bias, near.mean, near.inverse_deviation, tail);
        const auto got =
            norm_backward(stored(dy), stored(kept), stored(x), there(weight), there(bias),
                          there(near.mean), there(near.inverse_deviation), tail);
        EXPECT_TRUE(close(as_float(got.dx), wanted.dx, 1e-4 + rounding));
        EXPECT_TRUE(close(got.dweight, wanted.dweight, 1e-4));
        EXPECT_TRUE(close(got.dbias, wanted.dbias, 1e-4));
        if (tail == NormTail::kAddRelu) {
          EXPECT_TRUE(at::equal(as_float(got.dresidual).cpu(), wanted.dresidual));
        }
        if (tail == NormTail::kAddGelu) {
          EXPECT_TRUE(close(as_float(got.dresidual), wanted.dresidual, 1e-5 + rounding));
        }
      }
    }
  }
}

TEST(Cuda, NormalDrawsAreTheCpusToRounding) {
  SKIP_WITHOUT_CUDA();
  auto here = random_operands({2, 5, 6, 7, 3, 1, 1});
  here.product = Product::kWeightGradient;
  const Gaussian plan{.mean = 0.5, .stddev = 2, .rng = {.seed = 9}};
  EXPECT_TRUE(close(run(plan, on_device(here), "cuda"), run(plan, here, kReference), 1e-5));
}

// Under fp16 the optimizer divides by the loss scale, so the draws of `random` have it in them.
TEST(Cuda, RandomGradientsAreScaledWithTheLoss) {
  SKIP_WITHOUT_CUDA();
  class Deviation final : public GradientReduction {
   public:
    explicit Deviation(double& deviation) : deviation_(deviation) {}
    void reduce(const std::vector<NamedTensor>& parameters) override {
      for (const auto& [name, parameter] : parameters) {
        if (name == "conv2.weight") deviation_ = parameter.grad().std().item<double>();
      }
    }

   private:
    double& deviation_;
  };
  const auto dataset = toy_dataset();
  auto config = toy_run("small_cnn:width=16");
  config.method = "random";
  config.schedule = make_schedule("slice:layers=2");
  double plain = 0, scaled = 0;
  Session(config, dataset, nullptr, std::make_unique<Deviation>(plain)).step();
  config.precision = Precision::kFp16;
  Session(config, dataset, nullptr, std::make_unique<Deviation>(scaled)).step();
  ASSERT_GT(plain, 0);
  EXPECT_NEAR(scaled / plain, 65536, 65536 * 1e-3);
}

TEST(Cuda, ATrainingStepRuns) {
  SKIP_WITHOUT_CUDA();
  const auto dataset = toy_dataset();
  for (const auto* method : {"zero", "random", "topk_position"}) {
    auto config = toy_run("small_cnn:width=4");
    config.threads = 1;
    config.method = method;
    config.schedule = make_schedule("slice:steps=::2");
    config.recipe.learning_rate = 0.05;
    Session session(config, dataset);
    for (int64_t i = 0; i < 30; ++i) session.step();
    EXPECT_LT(session.take_mean_loss(), 1.0) << method;
    Evaluation evaluation(config, dataset, session);
    EXPECT_GT(evaluation.score(session.split().test).accuracy, 0.9) << method;
  }
}

}  // namespace
}  // namespace approx
