// Finds the fastest of cuDNN's engines for a product. All are timed once, and the result is kept
// for the process; it can be saved to keep it longer.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "kernels/cudnn/convolution.h"

namespace approx::cudnn {

// Engines that need more memory than this, besides the operands, are not tried.
inline constexpr int64_t kMostWorkspace = int64_t{1} << 30;

struct EngineChoice {
  EngineConfig config;
  int64_t workspace = 0;
  double ns = 0;              // of one call
  double second_ns = 0;       // of the second fastest; 0: there was none
  int64_t timed = 0;          // number of configurations that were timed
  int64_t not_admitted = 0;   // left out because of their numbers (is_admissible)
  int64_t not_buildable = 0;  // not usable on this device after all, or not within kMostWorkspace
  // Nanoseconds of LibTorch's own choice, timed likewise; nothing: not timed.
  std::optional<double> library_ns = std::nullopt;

  bool beats_the_library() const { return library_ns && ns < *library_ns; }
};

// A choice as text: "engine 38: 2=8 13=1, the fastest of 97 of cuDNN's; 41 not admitted, 3 not
// buildable".
std::string text_of(const EngineChoice& choice);

// Returns the nanoseconds of one call of a plan. It may throw Error: the engine is then left out.
using TimePlan = std::function<double(const Plan& plan)>;

// Nothing where no engine can be built and run. An Error(kDevice) of `time` is passed on: the
// device is lost.
std::optional<EngineChoice> fastest_engine(const Convolution& convolution, bool tf32,
                                           const TimePlan& time);

// The key of a product: "forward float tf32 n128 c64 32x32 k64 32x32 taps 3x3 stride 1x1 padding
// 1x1 dilation 1x1 groups 1".
std::string key_of(const Problem& problem, bool tf32);

// Choices for one model of device and one version of cuDNN.
class EngineChoices {
 public:
  // `place` is such as "NVIDIA H100 80GB HBM3, cuDNN 91900".
  explicit EngineChoices(std::string place = {}) : place_(std::move(place)) {}

  const EngineChoice* find(const std::string& key) const;
  void keep(const std::string& key, EngineChoice choice) { choices_[key] = std::move(choice); }
  bool empty() const { return choices_.empty(); }

  // The choices as a text for `read`; equal choices give equal texts.
  std::string text() const;
  // Adds the choices of a text. Choices of another place are ignored. Throws Error(kUsage) that
  // begins with `name` where the text is no list of choices.
  void read(std::string_view text, const std::string& name);

 private:
  std::string place_;
  std::map<std::string, EngineChoice> choices_;
};

}  // namespace approx::cudnn
