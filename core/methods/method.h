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
#include <optional>
#include <string>
#include <string_view>

#include "base/params.h"
#include "base/registry.h"
#include "core/config/catalogue.h"
#include "kernels/operands.h"
#include "kernels/plan.h"
#include "kernels/select/magnitude_visitor.h"

namespace approx {

// A product's result, and, where finishing it dropped entries, how many are left: [] int64 on the
// device of the result, else undefined.
struct Finished {
  at::Tensor result;
  at::Tensor kept;
};

// What a method may know of a product beside its operands. Outside of a layer that is a stream of
// draws alone: `{.rng = stream}`.
struct MethodCall {
  Rng rng = {};

  // Whether a batch normalisation follows the layer.
  bool norm_follows = false;
  // Gradients only: the plan of the forward product, null where that was exact.
  const Plan* forward = nullptr;
  // Gradients only: what was found where the method had asked for a look (`Method::look`), after
  // all of dY was seen; null where nobody looked.
  const SeenGradient* seen = nullptr;
  // Gradients only: whether dY may be written over, for nobody reads it any more.
  bool may_overwrite = false;
  // Gradients only: what every gradient of this pass is multiplied by, and the optimizer divides by
  // again; [] float on their device, undefined: 1. It changes from step to step. A method whose
  // plan follows dY in proportion need not know of it; one with numbers of its own, such as draws
  // or a memory of earlier gradients, must give them in these units (`scaled`).
  at::Tensor loss_scale = {};

  // A gradient of this pass in the units of the loss, in float where its own precision is less.
  at::Tensor unscaled(const at::Tensor& gradient) const;
  // The way back, rounded to `type` at the end.
  at::Tensor scaled(const at::Tensor& gradient, at::ScalarType type) const;
};

class Method {
 public:
  virtual ~Method() = default;

  // The plan for `operands.product`, one of the products that the method registered. Operands are
  // as kernels/operands.h says. Equal calls with equal draws give equal plans.
  virtual Plan plan(const Operands& operands, const MethodCall& call) = 0;

  // What to do to the dY of a pass while it is being written, before `plan` is asked; nothing: it
  // is not looked at. `call` is that of the data gradient, whichever products the method plans.
  virtual std::optional<GradientRequest> look(const MethodCall& /*call*/) { return std::nullopt; }

  // The result of that product as the layer hands it on. `result` is what the plan gave.
  virtual Finished finish(const Operands& /*operands*/, at::Tensor result,
                          const MethodCall& /*call*/) {
    return {std::move(result), {}};
  }

  // Whether the plan of a gradient depends on dY alone, so that it can be asked for what it makes
  // of one without a layer around it.
  virtual bool looks_at_dy_alone() const { return false; }

  // Whether both gradients of a pass go by one plan, which then depends on dY alone. A layer asks
  // for it once.
  virtual bool plans_once() const { return false; }

  // Whether a plan follows from the weights alone. Of several ranks that train one network all then
  // plan alike, whatever examples they have.
  virtual bool follows_weights() const { return false; }

  // Whether the weight gradient says nothing of any example, and is there to be done without. Where
  // other ranks train the network too, the mean is over those that have computed it.
  virtual bool abstains() const { return false; }

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

  // What the host must wait for in every step, because the shapes of what follows depend on it:
  // "how many pairs its draws take". Such a step cannot be captured as a graph
  // (core/train/step_graphs.h). Empty for a method that waits for nothing; it then also gives equal
  // scalars to the operators that it calls whatever the step, keeps its memory where it is, and
  // takes the step's number from the call's draws alone, which read it where it stands.
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
  // Declares the parameter kMode, whose choices approximate fewer products than the method can; the
  // first is its default.
  MethodEntry& modes(std::vector<Mode> list, std::string help);
  // Takes one of them away again.
  MethodEntry& without_mode(std::string_view choice);
  // What several methods declare alike.
  MethodEntry& with(void (*declare)(MethodEntry&)) { return declare(*this), *this; }
  // The method that `sweep --controls random` puts beside it (MethodInfo::random_twin).
  MethodEntry& controlled_by(std::string text) { return random_twin = std::move(text), *this; }
  MethodEntry& at_its_density() { return twin_by_density = true, *this; }
  // That its results changed, and how often counted from 1.
  MethodEntry& in_version(int64_t number) { return version = number, *this; }
  // That its results under bf16 and fp16 changed, and how often counted from 1.
  MethodEntry& in_half_version(int64_t number) { return half_version = number, *this; }
  // That the versions from `number` on differ from the current one by rounding alone
  // (MethodInfo::rounding_since); 1 <= number < version.
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
