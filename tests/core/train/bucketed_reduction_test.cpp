#include "core/train/bucketed_reduction.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include <utility>

#include "base/error.h"
#include "tests/core/parallel/as_on_device.h"
#include "tests/core/parallel/thread_collectives.h"
#include "tests/core/train/operators.h"
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

std::vector<ReducedParameter> whole(const std::vector<NamedTensor>& parameters) {
  std::vector<ReducedParameter> reduced;
  for (const auto& [name, tensor] : parameters) reduced.push_back({name, tensor});
  return reduced;
}

TEST(BucketedReduction, GivesEachParameterItsMeanWhateverTheBuckets) {
  for (const int64_t bucket_bytes : {1, 100, 1 << 20}) {
    as_ranks(3, [bucket_bytes](const std::shared_ptr<ThreadCollectives>& ranks) {
      Toy toy;
      BucketedReduction reduction(ranks, whole(toy.parameters), toy.buffers, bucket_bytes);
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
    BucketedReduction reduction(ranks, whole(toy.parameters), toy.buffers, /*bucket_bytes=*/1);
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
    BucketedReduction reduction(ranks, whole(toy.parameters), toy.buffers);
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
    BucketedReduction reduction(ranks, whole(toy.parameters), toy.buffers);
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

// One weight of eight channels and a bias, and what of the weight's gradient is there.
struct Part {
  at::Tensor weight =
      at::ones({4, 8, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_(true);
  at::Tensor bias = at::ones({4}).requires_grad_(true);
  GradientPart part;

  std::vector<ReducedParameter> parameters() {
    return {{"conv.weight", weight, &part}, {"conv.bias", bias}};
  }

  // One step of the reduction, in which the weight's gradient is `gradient`, undefined: none. What
  // becomes of it.
  at::Tensor reduced(BucketedReduction& reduction, const at::Tensor& gradient) {
    weight.mutable_grad().reset();
    bias.mutable_grad().reset();
    reduction.begin_step();
    auto loss = (bias * 3).sum();
    if (gradient.defined()) loss = loss + (weight * gradient).sum();
    loss.backward();
    reduction.reduce({});
    EXPECT_TRUE(close(bias.grad(), at::full({4}, 3.0), 1e-6));
    return weight.grad();
  }
};

at::Tensor random_gradient(int64_t seed) {
  const auto generator = at::detail::createCPUGenerator(static_cast<uint64_t>(seed));
  return at::randn({4, 8, 3, 3}, generator);
}

double bytes_of(const BucketedReduction& reduction, const char* key = "bytes") {
  for (const auto& event : reduction.events()) {
    if (event["layer"] == "conv") return event[key].get<double>();
  }
  return -1;
}

constexpr double kBias = 4 * 4, kWeight = 4 * 8 * 9 * 4;  // bytes

TEST(BucketedReduction, SendsTheChannelsThatAllHaveSampled) {
  as_ranks(3, [](const std::shared_ptr<ThreadCollectives>& ranks) {
    Part toy;
    BucketedReduction reduction(ranks, toy.parameters(), {});
    const auto channels = at::tensor({1, 4, 6}, at::kLong);
    const auto kept = at::zeros({1, 8, 1, 1}).index_fill_(1, channels, 1);
    toy.part = {.kind = GradientPart::Kind::kChannels, .channels = channels};
    const auto found = toy.reduced(reduction, random_gradient(ranks->world().rank) * kept);
    const auto mean = (random_gradient(0) + random_gradient(1) + random_gradient(2)) * kept / 3;
    EXPECT_TRUE(close(found, mean, 1e-6));
    const double ring = 2.0 * 2 / 3;
    EXPECT_NEAR(bytes_of(reduction), ring * (kWeight * 3 / 8 + kBias), 1);
    EXPECT_NEAR(bytes_of(reduction, "bytes_dense"), ring * (kWeight + kBias), 1);
    // Who has sampled others has other weights.
    if (ranks->world().rank == 1) toy.part.channels = at::tensor({1, 4, 7}, at::kLong);
    EXPECT_THROW(toy.reduced(reduction, random_gradient(0) * kept), Error);
  });
}

TEST(BucketedReduction, SendsValuesAndPositionsOnceItKnowsThatTheyAreFew) {
  as_ranks(3, [](const std::shared_ptr<ThreadCollectives>& ranks) {
    Part toy;
    BucketedReduction reduction(ranks, toy.parameters(), {});
    toy.part = {.kind = GradientPart::Kind::kScattered, .channels = {}};
    // Of each rank about one entry in ten, and once so many as nobody has made room for.
    struct Step {
      double share;
      bool is_scattered;  // tried at least
    };
    int64_t number = 0;
    double before = 0;
    for (const auto& [share, is_scattered] :
         {Step{0.1, false}, {0.1, true}, {0.1, true}, {0.9, true}, {0.1, false}, {0.1, true}}) {
      ++number;
      const auto of_rank = [&, kept = share * 1.25](int64_t rank) {
        return random_gradient(10 * number + rank) * (random_gradient(100 + rank).abs() < kept);
      };
      const int64_t gathers = ranks->gathers;
      const auto found = toy.reduced(reduction, of_rank(ranks->world().rank));
      EXPECT_TRUE(close(found, (of_rank(0) + of_rank(1) + of_rank(2)) / 3, 1e-6)) << number;
      EXPECT_EQ(ranks->gathers - gathers, is_scattered ? 1 : 0) << number;
      const double bytes = bytes_of(reduction) - std::exchange(before, bytes_of(reduction));
      const double of_whole = 2.0 * 2 / 3 * (kWeight + kBias);
      if (is_scattered && share < 0.5) {
        EXPECT_LT(bytes, 0.9 * of_whole) << number;
      }
      if (is_scattered && share > 0.5) {
        EXPECT_GT(bytes, of_whole) << number;
      }
      if (!is_scattered) {
        EXPECT_NEAR(bytes, of_whole, 1) << number;
      }
    }
  });
}

TEST(BucketedReduction, TheMeanIsOverThoseThatHaveComputedIt) {
  // Over all choices of who computes it, the mean is that of all: it is not biased.
  auto total = at::zeros({4, 8, 3, 3}), all = at::zeros({4, 8, 3, 3});
  for (int64_t rank = 0; rank < 4; ++rank) all += random_gradient(rank) / 4;
  int64_t choices = 0;
  for (int64_t first = 0; first < 4; ++first) {
    for (int64_t second = first; second < 4; ++second) {
      const auto who = first == second ? std::vector{first} : std::vector{first, second};
      const auto expected = (random_gradient(first) + random_gradient(second)) / 2;
      as_ranks(4, [&](const std::shared_ptr<ThreadCollectives>& ranks) {
        const auto rank = ranks->world().rank;
        Part toy;
        BucketedReduction reduction(ranks, toy.parameters(), {});
        toy.part = {.is_alike = false, .is_of_all = false, .ranks = who, .channels = {}};
        const bool computes = std::ranges::count(who, rank) > 0;
        // Of the others some have zeros, and some nothing at all.
        const auto left_out = rank % 2 == 0 ? at::zeros({4, 8, 3, 3}) : at::Tensor();
        const auto found = toy.reduced(reduction, computes ? random_gradient(rank) : left_out);
        EXPECT_TRUE(close(found, expected, 1e-6)) << first << " " << second << " at " << rank;
        const auto of_bias = bytes_of_sum(16, 4, 4);
        EXPECT_NEAR(bytes_of(reduction) - of_bias,
                    kWeight * static_cast<double>(who.size() + 2) / 4, 1);
      });
      if (first == second) continue;
      total += expected;
      ++choices;
    }
  }
  EXPECT_TRUE(close(total / static_cast<double>(choices), all, 1e-6));
}

TEST(BucketedReduction, WhatNobodyHasComputedIsNotSent) {
  as_ranks(2, [](const std::shared_ptr<ThreadCollectives>& ranks) {
    Part toy;
    BucketedReduction reduction(ranks, toy.parameters(), {});
    toy.part = {.is_of_all = false, .ranks = {}, .channels = {}};
    EXPECT_FALSE(toy.reduced(reduction, {}).defined());
    EXPECT_EQ(toy.reduced(reduction, at::zeros({4, 8, 3, 3})).abs().max().item<float>(), 0);
    EXPECT_NEAR(bytes_of(reduction), 2 * kBias, 1);
    // By one rank it is frozen, by the other zero: their weights must move alike.
    toy.part.is_alike = false;
    const auto own = ranks->world().rank == 0 ? at::Tensor() : at::zeros({4, 8, 3, 3});
    const auto found = toy.reduced(reduction, own);
    ASSERT_TRUE(found.defined());
    EXPECT_EQ(found.abs().max().item<float>(), 0);
  });
}

TEST(BucketedReduction, GoesOnFromACheckpointAsItWouldHave) {
  as_ranks(2, [](const std::shared_ptr<ThreadCollectives>& ranks) {
    const auto gradient = random_gradient(ranks->world().rank) * (random_gradient(7).abs() < 0.1);
    Part toy, other;
    BucketedReduction reduction(ranks, toy.parameters(), {});
    toy.part = {.kind = GradientPart::Kind::kScattered, .channels = {}};
    toy.reduced(reduction, gradient);
    Checkpoint checkpoint;
    reduction.save(checkpoint);
    BucketedReduction next(ranks, other.parameters(), {});
    next.restore(checkpoint);
    other.part = toy.part;
    other.reduced(next, gradient);
    EXPECT_EQ(ranks->gathers, 1) << "it knows how many entries were there";
    toy.reduced(reduction, gradient);
    EXPECT_EQ(next.events(), reduction.events());
    next.restore({});  // of one process
    checkpoint.state["reduction"]["expected"].push_back(1);
    EXPECT_THROW(next.restore(checkpoint), Error);
  });
}

// As over GPUs (Collectives::is_of_device), on tensors of the host.
struct OnDevice {
  explicit OnDevice(const std::shared_ptr<ThreadCollectives>& threads)
      : ranks(std::make_shared<AsOnDevice>(threads)), reduction(ranks, toy.parameters(), {}) {}

  Part toy;
  std::shared_ptr<AsOnDevice> ranks;
  BucketedReduction reduction;
};

TEST(BucketedReduction, OnDevicesGivesTheSameMeans) {
  as_ranks(3, [](const std::shared_ptr<ThreadCollectives>& threads) {
    const auto ranks = std::make_shared<AsOnDevice>(threads);
    for (const int64_t bucket_bytes : {1, 100, 1 << 20}) {
      Toy toy, other;
      BucketedReduction on_device(ranks, whole(toy.parameters), toy.buffers, bucket_bytes),
          on_host(threads, whole(other.parameters), other.buffers, bucket_bytes);
      for (int step = 0; step < 3; ++step) {
        for (auto* one : {&toy, &other}) {
          auto& reduction = one == &toy ? on_device : on_host;
          for (const auto& [name, tensor] : one->parameters) tensor.mutable_grad().reset();
          one->buffers[0].second.fill_(step + static_cast<double>(ranks->world().rank));
          reduction.begin_step();
          one->backward(ranks->world().rank, step, step == 1 ? 2 : kNone);
          reduction.reduce(one->parameters);
        }
        for (size_t i = 0; i < toy.parameters.size(); ++i) {
          const auto& own = toy.parameters[i].second.grad();
          const auto& expected = other.parameters[i].second.grad();
          ASSERT_EQ(own.defined(), expected.defined()) << i << " in step " << step;
          if (own.defined()) {
            EXPECT_TRUE(at::equal(own, expected)) << i << " in step " << step;
          }
        }
        EXPECT_TRUE(at::equal(toy.buffers[0].second, other.buffers[0].second));
        EXPECT_EQ(toy.buffers[0].second.min().item<float>(), step + 1);
      }
    }
  });
}

TEST(BucketedReduction, OnDevicesWishesGoByThemselves) {
  as_ranks(2, [](const std::shared_ptr<ThreadCollectives>& threads) {
    OnDevice on(threads);
    auto& reduction = on.reduction;
    const bool is_last = threads->world().rank == 1;
    EXPECT_FALSE(reduction.agree({.stop = is_last}).stop) << "the others do not know it yet";
    on.toy.reduced(reduction, random_gradient(1));
    const auto agreed = reduction.agree({.save = !is_last});
    EXPECT_TRUE(agreed.stop);
    EXPECT_FALSE(agreed.save);
    EXPECT_TRUE(reduction.agree({}).save) << "whether there was a step or not";
    const auto last = reduction.agree({});
    EXPECT_FALSE(last.stop || last.save);
    // What they took is counted where it was before.
    double beside = 0;
    for (const auto& event : reduction.events()) {
      if (event["layer"].get<std::string>().empty()) beside = event["bytes"].get<double>();
    }
    EXPECT_NEAR(beside, 4 * bytes_of_sum(16, 2, 2) + bytes_of_sum(4, 2, 2), 1);
  });
}

TEST(BucketedReduction, OnDevicesAGradientWithZerosGoesWhole) {
  as_ranks(3, [](const std::shared_ptr<ThreadCollectives>& threads) {
    OnDevice on(threads);
    on.toy.part = {.kind = GradientPart::Kind::kScattered, .channels = {}};
    const auto of = [](int64_t rank) {
      return random_gradient(rank) * (random_gradient(7).abs() < 0.05);
    };
    for (int step = 1; step <= 3; ++step) {
      const auto found = on.toy.reduced(on.reduction, of(threads->world().rank));
      EXPECT_TRUE(close(found, (of(0) + of(1) + of(2)) / 3, 1e-6));
      EXPECT_NEAR(bytes_of(on.reduction), step * 2.0 * 2 / 3 * (kWeight + kBias), 1);
    }
    EXPECT_EQ(threads->gathers, 0);
  });
}

TEST(BucketedReduction, OnDevicesOtherChannelsAreSeenWhenTheHostLooks) {
  as_ranks(3, [](const std::shared_ptr<ThreadCollectives>& threads) {
    OnDevice on(threads);
    const auto channels = at::tensor({1, 4, 6}, at::kLong);
    on.toy.part = {.kind = GradientPart::Kind::kChannels, .channels = channels};
    const auto kept = at::zeros({1, 8, 1, 1}).index_fill_(1, channels, 1);
    const auto found = on.toy.reduced(on.reduction, random_gradient(threads->world().rank) * kept);
    const auto mean = (random_gradient(0) + random_gradient(1) + random_gradient(2)) * kept / 3;
    EXPECT_TRUE(close(found, mean, 1e-6));
    EXPECT_NO_THROW(on.reduction.check());
    EXPECT_NEAR(bytes_of(on.reduction), 2.0 * 2 / 3 * (kWeight * 3 / 8 + kBias), 1);
    // Others, and the same in another order, in one step of several.
    for (const auto& others :
         {at::tensor({1, 4, 7}, at::kLong), at::tensor({4, 1, 6}, at::kLong)}) {
      OnDevice next(threads);
      const bool differs = threads->world().rank == 1;
      for (const auto& own : {channels, differs ? others : channels, channels}) {
        next.toy.part = {.kind = GradientPart::Kind::kChannels, .channels = own};
        EXPECT_NO_THROW(next.toy.reduced(next.reduction, random_gradient(0)))
            << "nobody waits for the device in a step";
      }
      Checkpoint checkpoint;
      EXPECT_THROW(next.reduction.check(), Error);
      EXPECT_THROW(next.reduction.events(), Error);
      EXPECT_THROW(next.reduction.save(checkpoint), Error);
    }
  });
}

TEST(BucketedReduction, OnDevicesAStepAsksTheHostForNothing) {
  as_ranks(1, [](const std::shared_ptr<ThreadCollectives>& threads) {
    OnDevice on(threads);
    const auto waits_of = [&](const GradientPart& part) {
      on.toy.part = part;
      on.toy.reduced(on.reduction, random_gradient(1));
      on.toy.weight.mutable_grad().reset();
      on.toy.bias.mutable_grad().reset();
      const Operators operators;
      on.reduction.begin_step();
      ((on.toy.bias * 3).sum() + (on.toy.weight * random_gradient(2)).sum()).backward();
      on.reduction.reduce({});
      EXPECT_GT(Operators::calls().size(), 10u);
      return Operators::waits();
    };
    const std::vector<std::string> none;
    EXPECT_EQ(waits_of({.channels = {}}), none);
    EXPECT_EQ(waits_of({.kind = GradientPart::Kind::kScattered, .channels = {}}), none);
    EXPECT_EQ(waits_of({.kind = GradientPart::Kind::kChannels,
                        .channels = at::tensor({1, 4, 6}, at::kLong)}),
              none);
  });
}

TEST(BucketedReduction, AStepThatIsRepeatedWithoutACallIsCounted) {
  as_ranks(2, [](const std::shared_ptr<ThreadCollectives>& threads) {
    OnDevice on(threads);
    const auto counts = on.reduction.host_counts();
    std::vector<double> before, by;
    const int64_t steps = *counts.whole.at(0);
    for (const auto* count : counts.real) before.push_back(*count);
    on.toy.reduced(on.reduction, random_gradient(1));
    EXPECT_EQ(*counts.whole[0], steps + 1);
    const auto once = bytes_of(on.reduction);
    const double sent = on.ranks->bytes_sent();
    for (size_t i = 0; i < before.size(); ++i) by.push_back(*counts.real[i] - before[i]);
    for (size_t i = 0; i < by.size(); ++i) *counts.real[i] += by[i];
    EXPECT_EQ(bytes_of(on.reduction), 2 * once);
    EXPECT_EQ(on.ranks->bytes_sent(), 2 * sent);
  });
}

TEST(BucketedReduction, WhatTheDeviceSaysIsHeardWhenTheHostLooks) {
  as_ranks(1, [](const std::shared_ptr<ThreadCollectives>& threads) {
    OnDevice on(threads);
    on.toy.reduced(on.reduction, random_gradient(1));
    EXPECT_NO_THROW(on.reduction.check());
    on.ranks->failure = "a GPU hangs";
    EXPECT_THROW(on.reduction.check(), LostRank);
  });
}

}  // namespace
}  // namespace approx
