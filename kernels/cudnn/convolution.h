// One exact product of a convolution for cuDNN: its operation graph, the engines that may compute
// it, and a plan for one of them.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cudnn/library.h"
#include "products/problem.h"

namespace approx::cudnn {

// The device for which engines are wanted.
struct Target {
  Handle handle = nullptr;  // for the device that was current when it was made
  // The description of the device in cuDNN's format, where there is no handle. Plans for it can be
  // made on a machine without the device, but not run there.
  std::string description;
};

// An engine and the settings of its knobs; knobs that are not listed keep the engine's defaults.
struct EngineConfig {
  struct Knob {
    int64_t type = 0, value = 0;
    auto operator<=>(const Knob&) const = default;
  };
  int64_t engine = 0;
  std::vector<Knob> knobs;

  auto operator<=>(const EngineConfig&) const = default;
};

// A configuration as text: "engine 38: 2=8 13=1".
std::string text_of(const EngineConfig& config);

// Whether an engine with these notes may compute products of these elements. It may not if its
// numbers differ between runs, or if it adds in a lower precision than float. For float it must
// keep the operands float or, under `tf32`, round them to TensorFloat-32 on tensor cores.
bool is_admissible(const std::vector<Note>& notes, ElementType element, bool tf32);

// All tensors are channels last, dense, at addresses divisible by 16. Sums are float.
class Convolution {
 public:
  // `problem.element` is kFloat, kHalf or kBFloat16. Throws Error(kInternal) with cuDNN's reason
  // where it does not support the product, as all functions here do.
  Convolution(std::shared_ptr<const Library> library, const Problem& problem, Target target);

  // The configurations of cuDNN: first those that its heuristics propose, then the remaining
  // engines by number, with default knobs. Each is listed once. Inadmissible ones (is_admissible)
  // are left out and counted.
  struct Offer {
    std::vector<EngineConfig> configs;
    int64_t left_out = 0;
  };
  Offer offered(bool tf32) const;

  struct Notes {
    bool supported = false;  // whether it computes this product at all
    std::vector<Note> notes;
  };
  Notes notes_of(int64_t engine) const;

 private:
  friend class Plan;

  Owned engine_of(int64_t engine) const;  // not finalized
  std::vector<EngineConfig> suggested(HeuristicsMode mode) const;

  std::shared_ptr<const Library> library_;
  Problem problem_;
  Target target_;
  std::vector<Owned> parts_;  // descriptors to which the graph refers
  Owned graph_;
};

// A plan of one engine for a product, ready to run.
class Plan {
 public:
  // Throws Error(kInternal) where the engine does not support this product on this device.
  Plan(const Convolution& convolution, const EngineConfig& config);

  int64_t workspace() const { return workspace_; }  // in bytes of the device's memory

  // Starts it in the stream of the handle. `x`, `w` and `y` are the arrays that the product reads
  // and writes. For the data gradient, y is dY and x the result; for the weight gradient, y is dY
  // and w the result.
  struct Memory {
    const void* x = nullptr;
    const void* w = nullptr;
    const void* y = nullptr;
    void* workspace = nullptr;  // at least workspace() bytes
  };
  void run(Handle handle, const Memory& memory) const;

 private:
  std::shared_ptr<const Library> library_;
  std::vector<Owned> parts_;
  Owned plan_;
  int64_t workspace_ = 0;
};

}  // namespace approx::cudnn
