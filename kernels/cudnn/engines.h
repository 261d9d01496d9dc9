// Which of cuDNN's engines is the fastest for a product: found by timing all of them once, kept for
// the process, and written down where somebody wants to keep it longer.
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

// Engines that want more memory than this beside the operands are not tried.
inline constexpr int64_t kMostWorkspace = int64_t{1} << 30;

struct EngineChoice {
  EngineConfig config;
  int64_t workspace = 0;
  double ns = 0;              // of one call
  double second_ns = 0;       // of the second fastest; 0: there was none
  int64_t timed = 0;          // configurations
  int64_t not_admitted = 0;   // for what they do to the numbers (is_admissible)
  int64_t not_buildable = 0;  // not on this device after all, or in no kMostWorkspace
  // Of what LibTorch takes by itself, timed likewise; nothing: not timed.
  std::optional<double> library_ns = std::nullopt;

  bool beats_the_library() const { return library_ns && ns < *library_ns; }
};

// "engine 38: 2=8 13=1, the fastest of 97 of cuDNN's; 41 not admitted, 3 not buildable"
std::string text_of(const EngineChoice& choice);

// Nanoseconds of one call of a plan. May throw Error: the engine is then none.
using TimePlan = std::function<double(const Plan& plan)>;

// Nothing where none can be built and run. An Error(kDevice) of `time` goes on to the caller: the
// device is lost.
std::optional<EngineChoice> fastest_engine(const Convolution& convolution, bool tf32,
                                           const TimePlan& time);

// "forward float tf32 n128 c64 32x32 k64 32x32 taps 3x3 stride 1x1 padding 1x1 dilation 1x1 groups
// 1"
std::string key_of(const Problem& problem, bool tf32);

// Choices of one kind of device and one version of cuDNN.
class EngineChoices {
 public:
  // "NVIDIA H100 80GB HBM3, cuDNN 91900"
  explicit EngineChoices(std::string place = {}) : place_(std::move(place)) {}

  const EngineChoice* find(const std::string& key) const;
  void keep(const std::string& key, EngineChoice choice) { choices_[key] = std::move(choice); }
  bool empty() const { return choices_.empty(); }

  // As a text that `read` understands; the same choices give the same text.
  std::string text() const;
  // Takes those of a text in. Those of another place are none of this one's. Throws Error(kUsage)
  // that begins with `name` where the text is no list of choices.
  void read(std::string_view text, const std::string& name);

 private:
  std::string place_;
  std::map<std::string, EngineChoice> choices_;
};

}  // namespace approx::cudnn
