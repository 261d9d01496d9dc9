// A method decides what to compute for one product of one layer: operands in, plan out.
//
// There is one object per layer and method text. Its members are its memory between the calls of a
// step and between steps. It knows no device, no schedule and no step number. Random draws come
// with the call. To add a method, write core/methods/<name>.cpp that ends in REGISTER_METHOD. The
// build finds the file. `list`, experiment files, the completion and the contract test then see the
// method.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/params.h"
#include "base/registry.h"
#include "core/config/catalogue.h"
#include "core/methods/alive_rows.h"
#include "kernels/operands.h"
#include "kernels/plan.h"
#include "kernels/select/magnitude_visitor.h"

namespace approx {

// A product's result. If finishing it dropped entries, `kept` is the number of entries kept: []
// int64 on the device of the result. Else `kept` is undefined.
struct Finished {
  at::Tensor result;
  at::Tensor kept;
};

// The facts about a product that a method gets beside its operands. Outside of a layer a stream of
// draws is enough: `{.rng = stream}`.
struct MethodCall {
  Rng rng = {};

  // Whether a batch normalisation follows the layer.
  bool norm_follows = false;
  // Gradients only: the plan of the forward product; null if that was exact.
  const Plan* forward = nullptr;
  // Gradients only: the answer to the method's `look`, after all of dY was seen; null if nobody
  // looked.
  const SeenGradient* seen = nullptr;
  // Gradients only: the examples outside of which dY is zero; null: unknown.
  const AliveRows* alive = nullptr;
  // Gradients only: whether the method may overwrite dY, as nobody else reads it any more.
  bool may_overwrite = false;
  // Gradients only: the loss scale, [] float on the gradients' device; undefined: 1. Every gradient
  // of this pass is multiplied by it, and the optimizer divides by it. It changes from step to
  // step. A method whose plan is proportional to dY can ignore it. A method with numbers of its
  // own, such as draws or a memory of earlier gradients, must convert them to these units
  // (`scaled`).
  at::Tensor loss_scale = {};

  // A gradient of this pass divided by the loss scale; in float if its own precision is lower.
  at::Tensor unscaled(const at::Tensor& gradient) const;
  // A gradient multiplied by the loss scale, and then rounded to `type`.
  at::Tensor scaled(const at::Tensor& gradient, at::ScalarType type) const;
};

class Method {
 public:
  virtual ~Method() = default;

  // The plan for `operands.product`, one of the products that the method registered.
  // kernels/operands.h describes the operands. Equal calls with equal draws give equal plans.
  virtual Plan plan(const Operands& operands, const MethodCall& call) = 0;

  // The work to do on the dY of a pass while it is being written, before `plan` is called. Nothing:
  // dY is not looked at. `call` is that of the data gradient, whichever products the method plans.
  virtual std::optional<GradientRequest> look(const MethodCall& /*call*/) { return std::nullopt; }

  // The result of the product `operands.product` as the layer passes it on. `result` is the plan's
  // result.
  virtual Finished finish(const Operands& /*operands*/, at::Tensor result,
                          const MethodCall& /*call*/) {
    return {std::move(result), {}};
  }

  // Whether the plan of a gradient depends on dY alone. Such a method can plan a gradient without a
  // layer around it.
  virtual bool looks_at_dy_alone() const { return false; }

  // Whether both gradients of a pass use one plan, which then depends on dY alone. A layer asks for
  // that plan once.
  virtual bool plans_once() const { return false; }

  // Whether a plan follows from the weights alone. Then all ranks that train one network make equal
  // plans, whatever their examples are.
  virtual bool follows_weights() const { return false; }

  // Whether the weight gradient carries no information from any example and can be left out. If
  // other ranks train the network too, the mean is over the ranks that have computed the gradient.
  virtual bool abstains() const { return false; }

  // Set by a method that leaves out whole examples and lets no batch norm bring them back. It is
  // the share of the examples that the method keeps. An example whose gradient is zero behind a
  // norm is then zero before it, too.
  virtual std::optional<double> drops_examples() const { return std::nullopt; }

  // Whether the gradient of a residual block's output is sampled, too. `plan` is then asked for a
  // data gradient of which only dY is given. Only a Sampled plan over the examples counts.
  virtual bool samples_blocks() const { return false; }

  // Used for methods that stop blocks (MethodInfo::stops_blocks). The factor on the gradient of a
  // kept branch, if it is stopped at the share `chance` of the steps.
  virtual double kept_scale(double /*chance*/) const { return 1; }

  // The part of x that the weight gradient needs. The layer frees the rest after the forward pass.
  enum class Keep {
    kInput,   // all of it
    kSample,  // the channels that the forward product sampled; all if that was exact
    kNothing  // no part: `operands.x` is undefined
  };
  virtual Keep keep() const { return Keep::kInput; }

  // The method's memory from step to step, for checkpoints to read and to set. It is one tensor,
  // undefined before the first step. Null for methods without a memory.
  virtual at::Tensor* memory() { return nullptr; }

  // The quantity that the host must wait for in every step, in words: "how many pairs its draws
  // take". Later shapes depend on it. Such a step cannot be captured as a graph
  // (core/train/step_graphs.h). Empty for a method that never waits. Such a method must also suit a
  // graph that is replayed:
  // - it passes equal scalars to its operators in every step;
  // - its memory stays at one address;
  // - it takes the step number from the call's draws alone, which read it from memory.
  virtual std::string_view waits_for() const { return {}; }
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
  // Declares the parameter kMode. Its choices approximate fewer products than the method can; the
  // first is its default.
  MethodEntry& modes(std::vector<Mode> list, std::string help);
  // Removes one of the modes again.
  MethodEntry& without_mode(std::string_view choice);
  // Applies a declaration that several methods share.
  MethodEntry& with(void (*declare)(MethodEntry&)) { return declare(*this), *this; }
  // The random control that `sweep --controls random` adds to this method
  // (MethodInfo::random_twin).
  MethodEntry& controlled_by(std::string text) { return random_twin = std::move(text), *this; }
  // The method stops the backward pass of residual branches (MethodInfo::stops_blocks).
  MethodEntry& of_blocks() { return stops_blocks = true, *this; }
  MethodEntry& at_its_density() { return twin_by_density = true, *this; }
  // The version of its results, from 1. Raise it when they change.
  MethodEntry& in_version(int64_t number) { return version = number, *this; }
  // The version of its results under bf16 and fp16, from 1. Raise it when they change there.
  MethodEntry& in_half_version(int64_t number) { return half_version = number, *this; }
  // Versions from `number` on differ from the current one by rounding alone
  // (MethodInfo::rounding_since). 1 <= number < version.
  MethodEntry& rounding_from(int64_t number) { return rounding_since = number, *this; }
  // As rounding_from, for the versions under bf16 and fp16.
  MethodEntry& half_rounding_from(int64_t number) { return half_rounding_since = number, *this; }
  MethodEntry& param(ParamSpec spec) { return params.push_back(std::move(spec)), *this; }
};

// The method of `name:key=value,...`. Throws Error(kUsage).
std::unique_ptr<Method> make_method(std::string_view text);

// The methods registered in this library, as a catalogue.
Catalogue library_methods();

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
