#include "kernels/dense/cudnn.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "kernels/gpu/facts.h"
#include "kernels/gpu/start.h"
#include "kernels/kernel.h"
#include "kernels/plan.h"
#include "kernels/probe/copy_rounds.h"
#include "kernels/variant.h"

namespace approx {
namespace {

constexpr int64_t kMostChoiceBytes = int64_t{16} << 20;

bool takes_tf32() { return at::globalContext().allowTF32CuDNN(); }

bool tf32_of(const Problem& p) { return p.element == ElementType::kFloat && takes_tf32(); }

// Keeps a device busy with little of its memory, so that what is asked of it meanwhile waits.
class Busy {
 public:
  explicit Busy(c10::Device device) : device_(device) {
    constexpr int64_t kNumbers = 1024;  // one block's
    const auto options = at::TensorOptions().device(device);
    from_ = at::zeros({kNumbers}, options), to_ = at::zeros({kNumbers}, options);
    copy_ = {.count = kNumbers,
             .rounds = 128,
             .from = from_.const_data_ptr<float>(),
             .to = to_.mutable_data_ptr<float>()};
  }

  void start() const {
    if (can_start<CopyRoundsArgs>(device_)) approx::start(copy_, device_);
  }

  // For twice as long from now on. Whether it can be.
  bool lengthen() {
    constexpr int64_t kMost = 1 << 20;
    if (!can_start<CopyRoundsArgs>(device_) || copy_.rounds > kMost) return false;
    copy_.rounds *= 2;
    return true;
  }

 private:
  c10::Device device_;
  at::Tensor from_, to_;
  CopyRoundsArgs copy_;
};

// Nanoseconds that the device takes for what `work` asks of it in the current stream: the least of
// a few, after one that nobody counts. All of it is asked for while the device is busy with
// something else, since what the host takes to ask would else be counted with it: ten microseconds
// by LibTorch and one by a plan, of products that take as long.
template <typename Work>
double nanoseconds_of(c10::Device device, const Work& work) {
  constexpr int kTimes = 3;
  const c10::impl::VirtualGuardImpl guard(device.type());
  const auto stream = guard.getStream(device);
  work();
  Busy busy(device);
  double least = 0;
  for (int i = 0; i < kTimes;) {
    c10::Event begin(device.type(), c10::EventFlag::BACKEND_DEFAULT);
    c10::Event end(device.type(), c10::EventFlag::BACKEND_DEFAULT);
    busy.start();
    begin.record(stream);
    work();
    end.record(stream);
    const bool waited = begin.query();  // the device, for the host
    end.synchronize();
    if (waited && busy.lengthen()) continue;
    const double ns = 1e6 * begin.elapsedTime(end);
    if (i == 0 || ns < least) least = ns;
    ++i;
  }
  return least;
}

// What engines read and write: channels last, from where they may.
at::Tensor laid_out(const at::Tensor& tensor) {
  constexpr uintptr_t kAlignment = 16;
  auto last = tensor.contiguous(at::MemoryFormat::ChannelsLast);
  const auto address = reinterpret_cast<uintptr_t>(last.const_data_ptr());
  return address % kAlignment == 0 ? last : last.clone(at::MemoryFormat::ChannelsLast);
}

// The operands of one call and its result.
class Call {
 public:
  explicit Call(const Operands& o)
      : product_(o.product),
        x_(o.product == Product::kDataGradient ? at::Tensor() : laid_out(o.x)),
        w_(o.product == Product::kWeightGradient ? at::Tensor() : laid_out(o.w)),
        y_(o.product == Product::kForward ? at::Tensor() : laid_out(o.dy)) {
    const auto options = o.w.options().memory_format(at::MemoryFormat::ChannelsLast);
    result_ = at::empty(result_sizes(problem_of(o)), options);
    slot() = result_;
  }

  const at::Tensor& result() const { return result_; }

  void run(const cudnn::Plan& plan, cudnn::Handle handle) const {
    const auto workspace = at::empty(
        {plan.workspace()}, result_.options().dtype(at::kByte).memory_format(c10::nullopt));
    plan.run(handle, {.x = x_.const_data_ptr(),
                      .w = w_.const_data_ptr(),
                      .y = y_.const_data_ptr(),
                      .workspace = workspace.mutable_data_ptr()});
  }

 private:
  at::Tensor& slot() {
    switch (product_) {
      case Product::kForward:
        return y_;
      case Product::kDataGradient:
        return x_;
      case Product::kWeightGradient:
        break;
    }
    return w_;
  }

  Product product_;
  at::Tensor x_, w_, y_, result_;
};

// Where choices are kept beyond the process.
struct ChoiceFile {
  std::string path;
  bool adds = false;
};
ChoiceFile& choice_file() {
  static ChoiceFile file;
  return file;
}

// What a plan is made of stays with it.
struct Ready {
  Ready(const std::shared_ptr<const cudnn::Library>& library, const Problem& problem,
        cudnn::Handle handle, const cudnn::EngineConfig& config)
      : convolution(library, problem, {handle, {}}), plan(convolution, config) {}

  cudnn::Convolution convolution;
  cudnn::Plan plan;
};

// The library with what a process has of it. One thread at a time, since a handle serves no more,
// and the backward pass has threads of its own.
class Cudnn {
 public:
  // Null where there is none; `why` is told the reason. Looked for once.
  static Cudnn* here(std::string* why = nullptr) {
    static std::string reason;
    static const std::unique_ptr<Cudnn> found = [] {
      auto library = cudnn::Library::open(cudnn::kLibraryFile, &reason);
      return library == nullptr ? nullptr : std::unique_ptr<Cudnn>(new Cudnn(std::move(library)));
    }();
    if (why != nullptr) *why = reason;
    return found.get();
  }

  at::Tensor product(const Operands& o) {
    const std::lock_guard lock(mutex_);
    const c10::DeviceGuard current(o.w.device());
    const auto handle = handle_of(o.w.device());
    const Call call(o);
    call.run(plan_of(o, handle), handle);
    return call.result();
  }

  cudnn::EngineChoice choice(const Operands& o) {
    const std::lock_guard lock(mutex_);
    const c10::DeviceGuard current(o.w.device());
    return chosen(o, handle_of(o.w.device()));
  }

  // By a file of choices, without making one.
  bool pays(const Problem& problem) {
    if (choice_file().path.empty()) return false;
    const std::lock_guard lock(mutex_);
    const auto* known = choices_.find(cudnn::key_of(problem, tf32_of(problem)));
    return known != nullptr && known->beats_the_library();
  }

  // The choices of such a GPU that are in the file.
  void read(const ChoiceFile& file, c10::Device device) {
    const std::lock_guard lock(mutex_);
    const auto model =
        gpu_facts_reader() == nullptr ? "?" : gpu_facts_reader()(device.index()).model;
    choices_ = cudnn::EngineChoices(fmt::format("{}, cuDNN {}", model, library_->version()));
    plans_.clear();
    std::error_code unreadable;
    if (!std::filesystem::exists(file.path, unreadable)) return;
    const auto bytes = read_file(file.path, kMostChoiceBytes);
    choices_.read({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.path);
  }

 private:
  explicit Cudnn(std::shared_ptr<const cudnn::Library> library) : library_(std::move(library)) {}

  // Of a device that is current, with its current stream; kept as long as the process.
  cudnn::Handle handle_of(c10::Device device) {
    auto& handle = handles_[device.index()];
    if (handle == nullptr) library_->check(library_->call.create(&handle), "a handle");
    const c10::impl::VirtualGuardImpl guard(device.type());
    void* stream = guard.getStreamNativeHandle(guard.getStream(device));
    library_->check(library_->call.set_stream(handle, stream), "a stream");
    return handle;
  }

  cudnn::EngineChoice chosen(const Operands& o, cudnn::Handle handle) {
    const Problem problem = problem_of(o);
    const bool tf32 = tf32_of(problem);
    const std::string key = cudnn::key_of(problem, tf32);
    if (const auto* known = choices_.find(key)) return *known;
    const cudnn::Convolution convolution(library_, problem, {handle, {}});
    const Call call(o);
    const auto device = o.w.device();
    auto best = cudnn::fastest_engine(convolution, tf32, [&](const cudnn::Plan& plan) {
      return nanoseconds_of(device, [&] { call.run(plan, handle); });
    });
    if (!best) {
      throw Error(ErrorKind::kInternal,
                  fmt::format("cuDNN {}: no engine computes {}", library_->version(), key));
    }
    best->library_ns = nanoseconds_of(device, [&] { run(Dense{}, o, kLibTorch); });
    choices_.keep(key, *best);
    if (choice_file().adds) write_file(choice_file().path, choices_.text());
    return *best;
  }

  const cudnn::Plan& plan_of(const Operands& o, cudnn::Handle handle) {
    const Problem problem = problem_of(o);
    const auto key = std::pair(o.w.device().index(), cudnn::key_of(problem, tf32_of(problem)));
    if (const auto found = plans_.find(key); found != plans_.end()) return found->second.plan;
    const auto config = chosen(o, handle).config;
    return plans_.try_emplace(key, library_, problem, handle, config).first->second.plan;
  }

  std::shared_ptr<const cudnn::Library> library_;
  std::mutex mutex_;
  std::map<c10::DeviceIndex, cudnn::Handle> handles_;
  cudnn::EngineChoices choices_;
  std::map<std::pair<c10::DeviceIndex, std::string>, Ready> plans_;
};

at::Tensor cudnn_product(const Dense& /*plan*/, const Operands& o) {
  return Cudnn::here()->product(o);
}

REGISTER_KERNEL(Dense, std::string(kCudnn), cudnn_product)
    .on({Hardware::kCuda})
    .reads({ElementType::kFloat, ElementType::kHalf, ElementType::kBFloat16})
    .lies({MapLayout::kChannelsLast})
    .where([](const Problem& p) { return p.one_group() && Cudnn::here() != nullptr; })
    .pays([](const Problem& p) {
      return p.device == Hardware::kCuda && Cudnn::here() != nullptr && Cudnn::here()->pays(p);
    })
    .rank(4);

}  // namespace

void use_cudnn_choices(const std::string& file, bool adds, c10::Device device) {
  std::error_code unreadable;
  if (!file.empty() && !adds && !std::filesystem::exists(file, unreadable)) {
    throw usage_error("{}: there is no such list of cuDNN's engines; bench-kernel writes it", file);
  }
  choice_file() = {file, adds && !file.empty()};
  if (!file.empty() && Cudnn::here() != nullptr) Cudnn::here()->read(choice_file(), device);
}

cudnn::EngineChoice cudnn_choice(const Operands& o) {
  std::string why;
  auto* cudnn = Cudnn::here(&why);
  if (cudnn == nullptr) throw Error(ErrorKind::kInternal, fmt::format("no cuDNN: {}", why));
  return cudnn->choice(o);
}

}  // namespace approx
