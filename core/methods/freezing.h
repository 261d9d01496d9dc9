// The common part of methods that freeze layers. In a training, nothing of a layer trains at the
// steps of such a method: neither its weight nor its bias has a gradient. If all layers up to some
// place are frozen, so are norms and all other parameters before the first layer that trains
// (core/train/frozen_parameters.h). The backward pass ends there.
//
// A layer by itself, as studies have it, gets a weight gradient of zero.
#pragma once

#include "core/methods/method.h"

namespace approx {

class FreezingMethod : public Method {
 public:
  Plan plan(const Operands&, const MethodCall&) final { return Skip{}; }
  Keep keep() const final { return Keep::kNothing; }
  bool abstains() const final { return true; }
};

}  // namespace approx
