#include "core/library/python/python_method.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <memory>
#include <mutex>
#include <utility>

#include "core/methods/pruning.h"
#include "core/networks/network.h"
#include "core/nn/layer_number.h"
#include "core/python/interpreter.h"
#include "kernels/select/select.h"

namespace approx {
namespace {

// The methods of this process and the interpreter that has them.
struct InPython {
  PythonMethods methods;
  std::string network;
  std::mutex one_call;
  std::unique_ptr<Interpreter> interpreter;

  // The interpreter, started now if it is not there yet: then all settings of threads are made.
  Interpreter& started() {
    if (interpreter != nullptr) return *interpreter;
    interpreter = std::make_unique<Interpreter>(methods.file, at::get_num_threads());
    if (interpreter->description() == methods.description) return *interpreter;
    throw Error(ErrorKind::kUsage,
                fmt::format("{}: it declares other methods now, or Python or PyTorch are of other "
                            "versions, than when the run was planned: start the sweep again",
                            methods.file.path));
  }

  // The layer of a gradient for an error: by name in a network, else by the gradient's sizes.
  std::string place(const Operands& o, const Rng& rng) const {
    if (!network.empty()) {
      const auto& entry = Registry<NetworkEntry>::instance().find(parse_spec(network).name);
      const auto made = make_network(network, entry.input, /*seed=*/0);
      for (const auto* layer : made->layers()) {
        const auto& info = layer->info;
        if (layer_number(info.index, !info.is_conv()) == rng.layer) return info.name;
      }
    }
    return fmt::format("dy [{}]", fmt::join(o.dy.sizes(), ","));
  }
};

InPython& in_python() {
  static InPython one;
  return one;
}

const char* type_name(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return "float32";
    case at::kDouble:
      return "float64";
    case at::kHalf:
      return "float16";
    case at::kBFloat16:
      return "bfloat16";
    default:
      throw Error(ErrorKind::kInternal, "a gradient of a type that Python is not given");
  }
}

class PythonMethod final : public PruningMethod {
 public:
  PythonMethod(std::string text, InPython& python) : text_(std::move(text)), python_(python) {
    const std::lock_guard lock(python_.one_call);
    python_.started();
  }

  std::string_view waits_for() const override { return "what a function in Python returns"; }

 private:
  Plan prune(const Operands& o, const MethodCall& call) override {
    const auto& dy = o.dy;
    if (dy.numel() == 0) return Dense{};
    const bool channels_last =
        !dy.is_contiguous() && dy.is_contiguous(at::MemoryFormat::ChannelsLast);
    auto sizes = dy.sizes().vec();
    // Python sees the output of a linear layer as PyTorch has it. Outside a network nobody says
    // which layer it is.
    const bool is_pixel = sizes[2] * sizes[3] == 1 && o.w.size(2) * o.w.size(3) == 1;
    const bool is_linear =
        is_pixel && (python_.network.empty() || is_linear_number(call.rng.layer));
    if (is_linear) sizes.resize(2);
    // By the step as this process knows it: it waits for each call, so no step is captured.
    auto rng = call.rng;
    rng.step_at = nullptr;
    const auto words = rng.block(0);
    const auto seed = static_cast<int64_t>(words[0] >> 1) << 32 | words[1];

    const std::lock_guard lock(python_.one_call);
    auto& interpreter = python_.started();
    const auto format =
        channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
    auto shared =
        at::from_blob(interpreter.memory(dy.nbytes()), dy.sizes(),
                      at::empty(dy.sizes(), dy.options().device(at::kMeta), format).strides(),
                      dy.options().device(at::kCPU));
    shared.copy_(dy);
    try {
      interpreter.call({{"method", text_},
                        {"sizes", sizes},
                        {"type", type_name(dy.scalar_type())},
                        {"channels_last", channels_last && !is_linear},
                        {"seed", seed}});
    } catch (const Error& error) {
      throw error.in(python_.place(o, call.rng));
    }
    return counted(at::empty_like(dy).copy_(shared));
  }

  const std::string text_;  // as Python has it
  InPython& python_;
};

}  // namespace

void register_python_methods(const PythonMethods& methods, const std::string& network) {
  auto& python = in_python();
  python.methods = methods;
  python.network = network;
  for (const auto& info : infos_of(methods)) {
    auto& entry = Registry<MethodEntry>::instance().add(info.name);
    static_cast<MethodInfo&>(entry) = info;
    entry.make = [info](const Params& params) {
      return std::make_unique<PythonMethod>(text_for_python(info, params), in_python());
    };
  }
}

}  // namespace approx

extern "C" void approxtrain_use_python(const approx::PythonMethods* methods, const char* network) {
  approx::register_python_methods(*methods, network);
}
