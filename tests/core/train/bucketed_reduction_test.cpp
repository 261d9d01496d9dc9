#include "core/train/bucketed_reduction.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/core/parallel/thread_collectives.h"
#include "tests/testing.h"

namespace approx {
namespace {

// Parameters of several sizes and layouts, and a loss whose gradients depend on the rank.
struct Toy {
  std::vector<NamedTensor> parameters, buffers;

  Toy() {
    for (const auto& sizes : std::vector<std::vector<int64_t>>{{3}, {4, 5, 3, 3}, {2, 7}, {1}}) {
      auto tensor = at::ones(sizes);
      if (sizes.size() == 4) tensor = tensor.contiguous(at::MemoryFormat::ChannelsLast);
      parameters.emplace_back(std::to_string(parameters.size()), tensor.requires_grad_(true));
    }
    buffers = {{"mean", at::zeros({2, 3})}, {"count", at::zeros({}, at::kLong)}};
  }

  // Of parameter i in step s: numbers of its own.
  static at::Tensor gradient(size_t i, const at::Tensor& like, int64_t rank, int step) {
    const auto numbers = at::arange(like.numel(), at::kFloat).view(like.sizes());
    return numbers * static_cast<double>(rank + 1) + static_cast<double>(step) * 100.0 +
           static_cast<double>(i);
  }

  void backward(int64_t rank, int step, size_t left_out) const {
    at::Tensor loss = at::zeros({});
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (i == left_out) continue;
      const auto& tensor = parameters[i].second;
      loss = loss + (tensor * gradient(i, tensor, rank, step)).sum();
    }
    loss.backward();
  }
};

constexpr size_t kNone = 99;

TEST(BucketedReduction, GivesEachParameterItsMeanWhateverTheBuckets) {
  for (const int64_t bucket_bytes : {1, 100, 1 << 20}) {
    as_ranks(3, [bucket_bytes](const std::shared_ptr<ThreadCollectives>& ranks) {
      Toy toy;
      BucketedReduction reduction(ranks, toy.parameters, toy.buffers, bucket_bytes);
      for (int step = 0; step < 3; ++step) {
        // Of the second step one parameter has no gradient.
        const size_t left_out = step == 1 ? 2 : kNone;
        for (const auto& [name, tensor] : toy.parameters) tensor.mutable_grad().reset();
        reduction.begin_step();
        toy.backward(ranks->world().rank, step, left_out);
        reduction.reduce(toy.parameters);
        for (size_t i = 0; i < toy.parameters.size(); ++i) {
          const auto& tensor = toy.parameters[i].second;
          if (i == left_out) {
            EXPECT_FALSE(tensor.grad().defined());
            continue;
          }
          const auto mean = (Toy::gradient(i, tensor, 0, step) + Toy::gradient(i, tensor, 1, step) +
                             Toy::gradient(i, tensor, 2, step)) /
                            3;
          EXPECT_TRUE(close(tensor.grad(), mean, 1e-6)) << i << " in step " << step;
        }
      }
    });
  }
}

TEST(BucketedReduction, SendsABucketAsSoonAsItIsComplete) {
  as_ranks(2, [](const std::shared_ptr<ThreadCollectives>& ranks) {
    Toy toy;
    BucketedReduction reduction(ranks, toy.parameters, toy.buffers, /*bucket_bytes=*/1);
    reduction.begin_step();
    toy.backward(ranks->world().rank, 0, kNone);
    EXPECT_EQ(ranks->sums, 4) << "each parameter by itself, before anybody asked for it";
    reduction.reduce(toy.parameters);
    EXPECT_EQ(ranks->sums, 5) << "and the rest";
    // Another backward pass is nobody else's.
    for (const auto& [name, tensor] : toy.parameters) tensor.mutable_grad().reset();
    toy.backward(ranks->world().rank, 1, kNone);
    EXPECT_EQ(ranks->sums, 5);
  });
}

TEST(BucketedReduction, AveragesRunningStatisticsAndLeavesCountsAlone) {
  as_ranks(2, [](const std::shared_ptr<ThreadCollectives>& ranks) {
    Toy toy;
    BucketedReduction reduction(ranks, toy.parameters, toy.buffers);
    const auto rank = static_cast<double>(ranks->world().rank);
    toy.buffers[0].second.fill_(1 + 2 * rank);
    toy.buffers[1].second.fill_(7);
    reduction.begin_step();
    reduction.reduce(toy.parameters);
    EXPECT_TRUE(at::equal(toy.buffers[0].second, at::full({2, 3}, 2.0)));
    EXPECT_EQ(toy.buffers[1].second.item<int64_t>(), 7);
  });
}

TEST(BucketedReduction, AWishOfOneIsOneOfAllAfterTheNextStep) {
  as_ranks(2, [](const std::shared_ptr<ThreadCollectives>& ranks) {
    Toy toy;
    BucketedReduction reduction(ranks, toy.parameters, toy.buffers);
    const auto step = [&] {
      reduction.begin_step();
      reduction.reduce(toy.parameters);
    };
    const bool is_last = ranks->world().rank == 1;
    EXPECT_FALSE(reduction.agree({.stop = is_last}).stop) << "the others do not know it yet";
    step();
    const auto agreed = reduction.agree({.save = !is_last});
    EXPECT_TRUE(agreed.stop);
    EXPECT_FALSE(agreed.save);
    step();
    EXPECT_TRUE(reduction.agree({}).save);
    EXPECT_FALSE(reduction.agree({}).stop);
  });
}

}  // namespace
}  // namespace approx
