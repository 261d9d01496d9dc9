// The interface between the command-line program and libapproxtrain.so. The program opens the
// library with dlopen only for commands that compute, so that everything else starts at once. The
// two share only this header and the torch-free code under core/config and core/data.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/params.h"
#include "core/config/catalogue.h"
#include "core/config/run_config.h"
#include "products/candidate.h"
#include "products/rules.h"

namespace approx {

// The machine or its device ran out of memory. The program's side of the interface does not know
// LibTorch's own types. It knows std::bad_alloc, which may be thrown unchanged.
class OutOfMemory : public Error {
 public:
  explicit OutOfMemory(const std::string& message) : Error(ErrorKind::kInternal, message) {}
};

// Other processes that train the same network have ended or do not connect.
class LostRank : public Error {
 public:
  explicit LostRank(const std::string& message) : Error(ErrorKind::kInternal, message) {}
};

// Receives what a running computation reports: one JSON object per event, fields in
// docs/internals/events.md. Called from the computing thread.
using EventSink = std::function<void(const Json& event)>;

// Where and how often an accuracy run saves a checkpoint (core/train/checkpoint.h). It also looks
// for one there when it begins.
struct Checkpoints {
  std::string folder;        // for this run alone; "": no checkpoints
  int64_t every_ns = 0;      // 0: not by time
  int64_t every_epochs = 0;  // 0: not by epochs
};

// At which steps an accuracy run saves the operands of its layers (core/train/operand_file.h), and
// where.
struct Recording {
  std::string folder;        // "": nowhere
  std::string run_key;       // of the run that is recorded
  int64_t every_epochs = 0;  // in the last step of every so many epochs; 0: not by epochs
  int64_t every_steps = 0;   // every so many steps; 0: not by steps
};

// Paths and other settings that do not change a result.
struct Place {
  std::string data_dir;
  bool verify_data = true;
  Checkpoints checkpoints;
  Recording recording;
  int64_t rank_timeout_ns = 300'000'000'000;  // how long a rank waits in one exchange
};

// The training that operands were recorded in.
struct OperandOrigin {
  std::string path;  // of the file with the operands
  std::string run_key, network, method, layer;
  int64_t step = 0;
  double epoch = 0;           // at the end of that step
  bool reads_images = false;  // whether the layer does: it has no data gradient
};

// A layer shape of `bench-kernel`.
struct ConvShape {
  std::string label;
  int64_t batch = 128, in_channels = 1, out_channels = 1, size = 1, kernel = 3, stride = 1,
          padding = 1, groups = 1;
  std::optional<OperandOrigin> recorded = std::nullopt;  // nothing: its operands are random
};

// The device, precision and other settings that kernel cases run with.
struct KernelSetting {
  std::string device = "cpu";
  Precision precision = Precision::kFp32;  // recorded operands: kFp32 only
  int64_t threads = 1;
  bool cold = false;          // calls start with cold caches
  bool graphs = true;         // cuda: calls are captured and replayed, as those of a step are
  std::string cudnn_choices;  // the file that stores choices among cuDNN's engines; "": none
};

// The peak rates of a device, each measured by work that needs nothing else; 0: not measured.
struct Roofline {
  double flops = 0;  // floating-point operations a second, two a multiply-add
  double bytes = 0;  // a second, read from memory and written to it
  // The L2 cache that a GPU's multiprocessors share: its bytes, and the bytes read and written a
  // second while all of them stay in it.
  double l2_size = 0, l2_bytes = 0;
};

// One timed computation. `run` starts it once; it is complete when `wait` returns. `wait` is empty
// if `run` completes it. `check` compares the result with the definition in double precision. It
// returns the largest absolute error, and that error relative to the largest magnitude. `slowed_by`
// says why the device is slower now than it could be; empty if that is not known. `clock_mhz` is
// the clock of the core that calls it, or of the GPU's multiprocessors; nothing if it is not known.
// All throw Error, and Error(kDevice) if nothing more can be computed.
struct KernelCase {
  std::string op;       // "weight_gradient"
  std::string method;   // "dense", "topk_position:k=1"
  std::string variant;  // "simd", "densify", which exact path
  ConvShape shape;
  Precision precision = Precision::kFp32;  // of the operands and the result
  bool chosen = false;                     // whether a layer takes this variant for this plan
  double dense_flops = 0;                  // 2 x multiply-accumulates of the exact product
  double flops = 0;                        // of the work really done
  double bytes = 0;                        // that the plan must move at least (kernels/traffic.h)
  std::function<void()> run, wait;
  // Nanoseconds of one complete `run` with cold caches. Empty if calls are to find the data in the
  // caches that the call before has left there.
  std::function<double()> cold_ns;
  std::function<void()> plan;  // the method's planning alone; empty for dense
  std::string waits_for;       // reason to wait for the device before the product; empty: none
  std::function<std::pair<double, double>()> check;
  // A remark on the variant, available after it was checked and timed; empty: none.
  std::function<std::string()> remark;
  std::function<std::vector<std::string>()> slowed_by;
  std::function<std::optional<double>()> clock_mhz;
};

// The variants among which a layer chooses for one product, and its choice.
struct KernelChoice {
  std::string op;
  std::string method;  // "dense", or the text of a method
  ConvShape shape;
  std::string plan;    // kind of the plan that the method made: "PrunedDY"
  double density = 1;  // the share of the exact product's multiply-adds that the plan keeps
  std::vector<VariantCandidate> candidates;  // ordered by rank
};

// Used in place of a method's text: dY with entries zeroed at random, with about this density
// ("pruned_at_random:density=0.3"). Both gradients of a shape use the same entries. They are chosen
// before the timing, so that a case times the product alone.
inline constexpr std::string_view kPrunedAtRandom = "pruned_at_random";

inline std::string pruned_at_random_text(double density) {
  return fmt::format("{}:density={}", kPrunedAtRandom, density);
}

// The arguments of a study (core/studies/study.h).
struct StudyRequest {
  Params params;
  std::optional<Recipe> recipe;      // to train the study's network; nothing: plain SGD
  std::vector<std::string> methods;  // full texts
  Place place;
};

// A network that trains for a given number of steps: used to compare step times with other programs
// in turns.
class Stepper {
 public:
  virtual ~Stepper() = default;
  virtual int64_t parameters() const = 0;
  virtual int64_t run(int64_t steps) = 0;  // nanoseconds that the steps took
  virtual double mean_loss() = 0;          // over the steps since the last call
  // Shares of the time of the last `run`, by phase (core/nn/phases.h). They need not sum to 1: some
  // time is in no phase.
  virtual Json phases() const = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;

  virtual Catalogue catalogue() const = 0;

  // Versions and capabilities of the platform: LibTorch, CUDA, instruction sets, ...
  virtual Json environment() const = 0;

  // Does one accuracy or timing run. Returns when the run ends or diverges, or after the current
  // step once `stop` is set. The last event is always "final". Throws Error; OutOfMemory or
  // std::bad_alloc if memory ran out.
  virtual void train(const RunConfig& config, const Place& place, const EventSink& sink,
                     const std::atomic<bool>& stop) = 0;

  // A network that trains for a given number of steps. With `phases` layers compute their gradients
  // one after the other, which costs some time, so that each phase has its own time.
  virtual std::unique_ptr<Stepper> stepper(const RunConfig& config, const Place& place,
                                           bool phases) = 0;

  // The layers whose operands are in the files of a folder, sorted by run, step and place in the
  // network. Reads all files. Throws Error(kData) for the first file that is damaged, and if there
  // is no file.
  virtual std::vector<ConvShape> recorded_shapes(const std::string& folder) = 0;

  // Ready-to-run cases for one shape: every exact path ("dense"), then every variant of every
  // method, each on the operands that a layer gives it. Throws Error.
  virtual std::vector<KernelCase> kernel_cases(const ConvShape& shape, Product product,
                                               const std::vector<std::string>& methods,
                                               const KernelSetting& setting) = 0;

  // The choices among those cases, for the exact product and for each method, without computing
  // them. Throws Error.
  virtual std::vector<KernelChoice> kernel_choices(const ConvShape& shape, Product product,
                                                   const std::vector<std::string>& methods,
                                                   const KernelSetting& setting) = 0;

  // A variant with a rule and its rival, ready to run on a random plan that keeps about `density`
  // of the product. The cases have no `plan` and no `check`. Empty if one of the two cannot compute
  // the shape. Throws Error.
  virtual std::vector<KernelCase> rule_cases(const ConvShape& shape, const RuledVariant& variant,
                                             double density, int64_t threads) = 0;

  // The peak rates of the device in the precision and on the threads of `setting`. It measures them
  // now, in a second or so. Throws Error.
  virtual Roofline roofline(const KernelSetting& setting) = 0;

  // The result of a study, {"columns": [...], "rows": [[...], ...]}. Throws Error.
  virtual Json study(const std::string& name, const StudyRequest& request, int64_t threads) = 0;
};

}  // namespace approx

// The symbols looked up in the library. The object lives as long as the library is open.
extern "C" approx::Engine* approxtrain_engine();
// The text of the source that the library was built from (APPROX_SOURCE). The program may be of
// another build: it must compare the texts before it uses anything else of the engine.
extern "C" const char* approxtrain_source();
