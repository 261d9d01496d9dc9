// One exact product of a convolution as cuDNN knows it: its operation graph, the engines that could
// compute it, and a plan for one of them.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cudnn/library.h"
#include "products/problem.h"

namespace approx::cudnn {

// The device that engines are asked for.
struct Target {
  Handle handle = nullptr;  // on the device that was current when it was made
  // Where there is no handle: what the device is, as cuDNN writes that down. Plans for it can be
  // made on a machine without one, and not be run.
  std::string description;
};

// An engine and how its knobs are set; knobs that are not named stand where the engine has them.
struct EngineConfig {
  struct Knob {
    int64_t type = 0, value = 0;
    auto operator<=>(const Knob&) const = default;
  };
  int64_t engine = 0;
  std::vector<Knob> knobs;

  auto operator<=>(const EngineConfig&) const = default;
};

// "engine 38: 2=8 13=1"
std::string text_of(const EngineConfig& config);

// Whether products of these elements may be computed by an engine with such notes: not if it gives
// other numbers in every run; not if it adds in a lower precision than float; of float only if it
// keeps them float, or, under `tf32`, rounds them to TensorFloat-32 on tensor cores.
bool is_admissible(const std::vector<Note>& notes, ElementType element, bool tf32);

// All tensors lie with the channels last, densely, from an address that 16 divides. Sums are float.
class Convolution {
 public:
  // `problem.element` is kFloat, kHalf or kBFloat16. Throws Error(kInternal), as everything here
  // does, with cuDNN's reason where it knows no such product.
  Convolution(std::shared_ptr<const Library> library, const Problem& problem, Target target);

  // What its heuristics offer first, then, by their numbers, the engines that they left out with
  // their knobs as they are; each once. Those that `is_admissible` are left, and counted otherwise.
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
  std::vector<Owned> parts_;  // of the graph, which refers to them
  Owned graph_;
};

// One engine's way to compute a product, ready to be run.
class Plan {
 public:
  // Throws Error(kInternal) where the engine does not take this product on this device.
  Plan(const Convolution& convolution, const EngineConfig& config);

  int64_t workspace() const { return workspace_; }  // bytes of the device's memory

  // Starts it in the stream of the handle. `x`, `w` and `y` are what the product reads and writes:
  // of the data gradient y is dY, x the result; of the weight gradient w.
  struct Memory {
    const void* x = nullptr;
    const void* w = nullptr;
    const void* y = nullptr;
    void* workspace = nullptr;  // of at least so many bytes
  };
  void run(Handle handle, const Memory& memory) const;

 private:
  std::shared_ptr<const Library> library_;
  std::vector<Owned> parts_;
  Owned plan_;
  int64_t workspace_ = 0;
};

}  // namespace approx::cudnn
