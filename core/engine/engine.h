// The door between the command-line program and libapproxtrain.so. The program opens the library
// with dlopen only for commands that compute, so that everything else starts at once; this header
// is all the two share beside the torch-free code under core/config and core/data.
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

// Memory ran out, of the machine or of its device. LibTorch's own types are unknown on the
// program's side of the door; std::bad_alloc is not, and may come through as it is.
class OutOfMemory : public Error {
 public:
  explicit OutOfMemory(const std::string& message) : Error(ErrorKind::kInternal, message) {}
};

// Other processes that train the same network are gone or do not come.
class LostRank : public Error {
 public:
  explicit LostRank(const std::string& message) : Error(ErrorKind::kInternal, message) {}
};

// What a running computation reports: one JSON object per event, fields in
// docs/internals/events.md. Called from the computing thread.
using EventSink = std::function<void(const Json& event)>;

// Where and how often an accuracy run saves what it would go on from (core/train/checkpoint.h), and
// where it looks for it when it begins.
struct Checkpoints {
  std::string folder;        // of this run alone; "": none
  int64_t every_ns = 0;      // 0: not by time
  int64_t every_epochs = 0;  // 0: not by epochs
};

// At which steps an accuracy run saves the operands of its layers (core/train/operand_file.h), and
// where.
struct Recording {
  std::string folder;        // "": nowhere
  std::string run_key;       // of the run that is recorded
  int64_t every_epochs = 0;  // in the last step of each so many; 0: not by epochs
  int64_t every_steps = 0;   // likewise; 0: not by steps
};

// Where things are: settings that do not change a result.
struct Place {
  std::string data_dir;
  bool verify_data = true;
  Checkpoints checkpoints;
  Recording recording;
  int64_t rank_timeout_ns = 300'000'000'000;  // that a rank waits for the others in one exchange
};

// The training that operands were recorded in.
struct OperandOrigin {
  std::string path;  // of the file that they are in
  std::string run_key, network, method, layer;
  int64_t step = 0;
  double epoch = 0;           // when that step is done
  bool reads_images = false;  // the layer: nobody computes its data gradient
};

// A layer shape of `bench-kernel`.
struct ConvShape {
  std::string label;
  int64_t batch = 128, in_channels = 1, out_channels = 1, size = 1, kernel = 3, stride = 1,
          padding = 1, groups = 1;
  std::optional<OperandOrigin> recorded = std::nullopt;  // nothing: its operands are random
};

// On what kernel cases compute, and in what.
struct KernelSetting {
  std::string device = "cpu";
  Precision precision = Precision::kFp32;  // recorded operands are in no other
  int64_t threads = 1;
  bool cold = false;          // calls find nothing in the caches
  bool graphs = true;         // cuda: calls are captured and replayed, as those of a step are
  std::string cudnn_choices;  // the file that choices among cuDNN's engines are kept in; "": none
};

// What a device does at most, each by work that asks for nothing else; 0 where it is not measured.
struct Roofline {
  double flops = 0;  // floating-point operations a second, two a multiply-add
  double bytes = 0;  // a second, read from memory and written to it
  // The cache that a GPU's multiprocessors share: its bytes, and how many bytes a second are read
  // and written while all of them stay there.
  double l2_size = 0, l2_bytes = 0;
};

// One timed computation: `run` starts it once, and what was started is complete when `wait`
// returns, which is empty where `run` completes it. `check` compares its result with the definition
// in double precision: the largest absolute error, and that relative to the largest magnitude.
// `slowed_by` says why the device is slower now than it would be by itself; empty where nobody
// knows. All throw Error; Error(kDevice) where nothing more can be computed.
struct KernelCase {
  std::string op;       // "weight_gradient"
  std::string method;   // "dense", "topk_position:k=1"
  std::string variant;  // "simd", "densify", which exact path
  ConvShape shape;
  Precision precision = Precision::kFp32;  // of the operands and the result
  bool chosen = false;                     // whether a layer takes this variant for this plan
  double dense_flops = 0;                  // 2 x multiply-accumulates of the exact product
  double flops = 0;                        // of what is really computed
  double bytes = 0;                        // that the plan must move at least (kernels/traffic.h)
  std::function<void()> run, wait;
  // Nanoseconds of one `run` that finds nothing in the caches, complete; empty where calls are to
  // find what the call before has left there.
  std::function<double()> cold_ns;
  std::function<void()> plan;  // the method's planning alone; empty for dense
  std::string waits_for;       // the device, before the product is asked for; empty: nothing
  std::function<std::pair<double, double>()> check;
  // What is to be known of the variant, once it was checked and timed; empty: nothing.
  std::function<std::string()> remark;
  std::function<std::vector<std::string>()> slowed_by;
};

// Among which variants a layer chooses for one product, and what it takes.
struct KernelChoice {
  std::string op;
  std::string method;  // "dense", or the text of a method
  ConvShape shape;
  std::string plan;    // the kind of what the method made of the operands: "PrunedDY"
  double density = 1;  // the share of the exact product's multiply-adds that the plan keeps
  std::vector<VariantCandidate> candidates;  // in the order of their ranks
};

// Stands where the text of a method stands, and names none: dY with entries zeroed at random, so
// that about this share of them is left ("pruned_at_random:density=0.3"). The same entries for both
// gradients of a shape; they are chosen beforehand, so that a case times the product alone.
inline constexpr std::string_view kPrunedAtRandom = "pruned_at_random";

inline std::string pruned_at_random_text(double density) {
  return fmt::format("{}:density={}", kPrunedAtRandom, density);
}

// What a study is to compute (core/studies/study.h).
struct StudyRequest {
  Params params;
  std::optional<Recipe> recipe;      // that a study's network is trained by; nothing: plain SGD
  std::vector<std::string> methods;  // full texts
  Place place;
};

// A network that trains for as many steps as it is told to: for comparing step times with other
// programs in turns.
class Stepper {
 public:
  virtual ~Stepper() = default;
  virtual int64_t parameters() const = 0;
  virtual int64_t run(int64_t steps) = 0;  // nanoseconds that they took
  virtual double mean_loss() = 0;          // over the steps since the last call
  // Shares of the time of the last `run`, by phase (core/nn/phases.h); what is left belongs to
  // none.
  virtual Json phases() const = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;

  virtual Catalogue catalogue() const = 0;

  // Versions and capabilities of what the engine runs on: LibTorch, CUDA, instruction sets, ...
  virtual Json environment() const = 0;

  // One accuracy or timing run. Returns when it ends, is stopped (`stop` set: after the current
  // step) or diverges; the last event is always "final". Throws Error;
  // OutOfMemory or std::bad_alloc where memory ran out.
  virtual void train(const RunConfig& config, const Place& place, const EventSink& sink,
                     const std::atomic<bool>& stop) = 0;

  // With `phases` its steps are taken apart, which costs a little: layers compute their gradients
  // one after the other.
  virtual std::unique_ptr<Stepper> stepper(const RunConfig& config, const Place& place,
                                           bool phases) = 0;

  // The layers whose operands are in the files of a folder, by run, step and place in the network.
  // Reads all of them. Throws Error(kData) for the first file that is damaged, and where there is
  // none.
  virtual std::vector<ConvShape> recorded_shapes(const std::string& folder) = 0;

  // Ready-to-run cases for one shape: every exact path ("dense"), then every variant of every
  // method, each on the operands that a layer gives it. Throws Error.
  virtual std::vector<KernelCase> kernel_cases(const ConvShape& shape, Product product,
                                               const std::vector<std::string>& methods,
                                               const KernelSetting& setting) = 0;

  // What is chosen from there, exactly and by each method; nothing is computed. Throws Error.
  virtual std::vector<KernelChoice> kernel_choices(const ConvShape& shape, Product product,
                                                   const std::vector<std::string>& methods,
                                                   const KernelSetting& setting) = 0;

  // A variant with a rule and its rival, ready to run on a random plan that keeps about `density`
  // of the product; without `plan` and `check`. Empty where either cannot compute the shape. Throws
  // Error.
  virtual std::vector<KernelCase> rule_cases(const ConvShape& shape, const RuledVariant& variant,
                                             double density, int64_t threads) = 0;

  // What the device can do at most in that precision, on so many threads: measured now, in a second
  // or so. Throws Error.
  virtual Roofline roofline(const KernelSetting& setting) = 0;

  // {"columns": [...], "rows": [[...], ...]} of a study. Throws Error.
  virtual Json study(const std::string& name, const StudyRequest& request, int64_t threads) = 0;
};

}  // namespace approx

// The symbols looked up in the library. The object lives as long as the library is open.
extern "C" approx::Engine* approxtrain_engine();
// What the library was built from (APPROX_SOURCE), for a program that may be of another
// build: nothing of the engine may be used before it is known to be the same.
extern "C" const char* approxtrain_source();
