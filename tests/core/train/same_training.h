// Two trainings that must not differ.
#pragma once

#include <ATen/ATen.h>

#include "core/train/session.h"
#include "tests/testing.h"

namespace approx {

// Trains both for so many steps.
inline void train_both(Session& a, Session& b, int64_t steps) {
  for (int64_t i = 0; i < steps; ++i) {
    a.step();
    b.step();
  }
}

// All of a training that steps change; counts of the host among it.
inline void expect_same(const Session& a, const Session& b) {
  const auto left = a.save(), right = b.save();
  EXPECT_EQ(left.state, right.state);
  ASSERT_EQ(left.tensors.size(), right.tensors.size());
  for (size_t i = 0; i < left.tensors.size(); ++i) {
    ASSERT_EQ(left.tensors[i].first, right.tensors[i].first);
    EXPECT_TRUE(at::equal(left.tensors[i].second, right.tensors[i].second))
        << left.tensors[i].first;
  }
  EXPECT_EQ(a.layer_events(), b.layer_events());
}

}  // namespace approx
