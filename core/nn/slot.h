// The orders of a layer for a step, as the schedule gives them, and where its counts go.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <memory>

#include "core/methods/method.h"
#include "core/nn/counts.h"
#include "core/nn/kept_before.h"

namespace approx {

struct LayerOrders {
  std::array<Method*, 3> methods{};   // by Product; null: exact
  std::array<KeptBefore*, 3> kept{};  // by Product, of its method; null: no rule needs it
  uint64_t seed = 0;
  uint64_t step = 0;
  const uint64_t* step_at = nullptr;  // see Rng
  uint32_t rank = 0;                  // of this process, see Rng
  bool norm_follows = false;          // see MethodCall
  at::Tensor loss_scale;              // see MethodCall
  std::shared_ptr<Method> owner;      // keeps the methods alive if no schedule does

  bool exact() const { return !methods[0] && !methods[1] && !methods[2]; }
  Method* of(Product product) const { return methods[static_cast<size_t>(product)]; }

  KeptBefore* kept_before(Product product) const { return kept[static_cast<size_t>(product)]; }

  // The random draws of one product of the layer with number `layer`.
  Rng draws(uint32_t layer, Product product) const {
    return {.seed = seed,
            .layer = layer,
            .step = step,
            .product = product,
            .rank = rank,
            .step_at = step_at};
  }
};

struct LayerSlot {
  LayerOrders orders;
  LayerCounts counts;
};

}  // namespace approx
