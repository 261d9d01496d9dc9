// A method decides what to compute for one product of one layer: operands in, plan out.
//
// One object per layer and method text; its members are its memory between the calls of a step and
// between steps. It knows no device, no schedule and no step number: what it needs of randomness
// comes with the call. To add one, write core/methods/<name>.cpp that ends in REGISTER_METHOD; the
// build finds it, and `list`, the experiment files, the completion and the contract test see it.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "base/params.h"
#include "base/registry.h"
#include "core/config/catalogue.h"
#include "kernels/operands.h"
#include "kernels/plan.h"

namespace approx {

// A product's result, and, where finishing it dropped entries, how many are left: [] int64 on the
// device of the result, else undefined.
struct Finished {
  at::Tensor result;
  at::Tensor kept;
};

class Method {
 public:
  virtual ~Method() = default;

  // The plan for `operands.product`, one of the products that the method registered. Operands are
  // as kernels/operands.h says. Equal calls with equal `rng` give equal plans.
  virtual Plan plan(const Operands& operands, const Rng& rng) = 0;

  // The result of that product as the layer hands it on. `result` is what the plan gave.
  virtual Finished finish(const Operands& /*operands*/, at::Tensor result, const Rng& /*rng*/) {
    return {std::move(result), {}};
  }

  // What the weight gradient needs of x. The layer lets the rest go after the forward pass.
  enum class Keep {
    kInput,   // all of it
    kSample,  // the channels that the forward product sampled; all, where it was exact
    kNothing  // `operands.x` is undefined then
  };
  virtual Keep keep() const { return Keep::kInput; }

  // What the method remembers from step to step, to be saved and to be set: a tensor, undefined
  // before the first step. Null for methods that remember nothing.
  virtual at::Tensor* memory() { return nullptr; }
};

struct MethodEntry : MethodInfo {
  static constexpr const char* kWhat = "method";
  std::function<std::unique_ptr<Method>(const Params&)> make;

  // Chained onto REGISTER_METHOD.
  MethodEntry& about(std::string text) { return summary = std::move(text), *this; }
  MethodEntry& from_paper(std::string id, std::string at) {
    return paper = std::move(id), paper_at = std::move(at), *this;
  }
  MethodEntry& approximates(std::initializer_list<Product> list) { return products = list, *this; }
  // The products under each choice of the parameter `mode`, in the order of the choices.
  MethodEntry& modes(std::vector<std::vector<Product>> list) {
    return products_of_mode = std::move(list), *this;
  }
  // Takes a choice of `mode` away again.
  MethodEntry& without_mode(std::string_view choice);
  // What several methods declare alike.
  MethodEntry& with(void (*declare)(MethodEntry&)) { return declare(*this), *this; }
  MethodEntry& keeps_memory() { return remembers = true, *this; }
  MethodEntry& param(ParamSpec spec) { return params.push_back(std::move(spec)), *this; }
};

// The method of `name:key=value,...`. Throws Error(kUsage).
std::unique_ptr<Method> make_method(std::string_view text);

template <typename Type>
MethodEntry& register_method(std::string name) {
  auto& entry = Registry<MethodEntry>::instance().add(std::move(name));
  entry.make = [](const Params& params) { return std::make_unique<Type>(params); };
  return entry;
}

}  // namespace approx

#define REGISTER_METHOD(NAME, TYPE)                                             \
  [[maybe_unused]] static ::approx::MethodEntry& APPROX_UNIQUE(method_entry_) = \
      ::approx::register_method<TYPE>(NAME)
