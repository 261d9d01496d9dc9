#include "core/train/bucketed_reduction.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <functional>
#include <utility>

#include "base/error.h"

namespace approx {
namespace {

// Called when a parameter has its gradient of a backward pass.
class ArrivalHook final : public torch::autograd::PostAccumulateGradHook {
 public:
  explicit ArrivalHook(std::function<void()> arrived) : arrived_(std::move(arrived)) {}
  void operator()(const at::Tensor& /*parameter*/) override { arrived_(); }

 private:
  std::function<void()> arrived_;
};

constexpr int64_t kWishes = 2;

}  // namespace

BucketedReduction::BucketedReduction(std::shared_ptr<Collectives> ranks,
                                     const std::vector<NamedTensor>& parameters,
                                     const std::vector<NamedTensor>& buffers, int64_t bucket_bytes)
    : ranks_(std::move(ranks)) {
  for (const auto& [name, tensor] : parameters) {
    if (tensor.scalar_type() != at::kFloat) {
      throw Error(ErrorKind::kInternal, fmt::format("{}: no float", name));
    }
    parameters_.push_back(tensor);
  }
  int64_t rest = kWishes;
  for (const auto& [name, tensor] : buffers) {
    if (!tensor.is_floating_point()) continue;  // a count of steps is the same on all
    buffers_.push_back(tensor);
    rest += tensor.numel();
  }
  rest_ = at::zeros({rest}, at::kFloat);
  bucket_of_.resize(parameters_.size());
  has_gradient_.resize(parameters_.size());
  int64_t filled = bucket_bytes;
  for (size_t i = parameters_.size(); i-- > 0;) {
    if (filled >= bucket_bytes) {
      buckets_.emplace_back();
      filled = 0;
    }
    buckets_.back().members.push_back(i);
    bucket_of_[i] = buckets_.size() - 1;
    filled += static_cast<int64_t>(parameters_[i].nbytes());
    torch::autograd::impl::set_post_acc_grad_hooks(
        parameters_[i], std::make_unique<ArrivalHook>([this, i] { arrived(i); }));
  }
  for (auto& bucket : buckets_) {
    int64_t entries = 0;
    for (const size_t i : bucket.members) entries += parameters_[i].numel();
    bucket.flat = at::zeros({entries}, at::kFloat);
  }
}

BucketedReduction::~BucketedReduction() {
  for (const auto& parameter : parameters_) {
    torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
  }
}

void BucketedReduction::begin_step() {
  in_step_ = true;
  next_ = 0;
  has_gradient_.assign(parameters_.size(), false);
  for (auto& bucket : buckets_) bucket.missing = bucket.members.size();
}

void BucketedReduction::arrived(size_t parameter) {
  if (!in_step_) return;
  // A backward pass comes to a frozen one too, without a gradient.
  has_gradient_[parameter] = parameters_[parameter].grad().defined();
  --buckets_[bucket_of_[parameter]].missing;
  while (next_ < buckets_.size() && buckets_[next_].missing == 0) send(buckets_[next_++]);
}

// Their bytes in the order of the parameter's memory, whatever that of the gradient is.
void BucketedReduction::send(Bucket& bucket) {
  const at::NoGradGuard no_grad;
  bucket.places.clear();
  int64_t at = 0;
  for (const size_t i : bucket.members) {
    if (!has_gradient_[i]) continue;
    const auto& parameter = parameters_[i];
    bucket.flat.as_strided(parameter.sizes(), parameter.strides(), at).copy_(parameter.grad());
    bucket.places.emplace_back(i, at);
    at += parameter.numel();
  }
  if (at == 0) return;
  bucket.sum = ranks_->start_sum(bucket.flat.narrow(0, 0, at));
}

void BucketedReduction::send_rest() {
  const at::NoGradGuard no_grad;
  auto* wishes = rest_.mutable_data_ptr<float>();
  wishes[0] = own_.stop ? 1 : 0;
  wishes[1] = own_.save ? 1 : 0;
  int64_t at = kWishes;
  for (const auto& buffer : buffers_) {
    rest_.narrow(0, at, buffer.numel()).view(buffer.sizes()).copy_(buffer);
    at += buffer.numel();
  }
  rest_sum_ = ranks_->start_sum(rest_);
}

void BucketedReduction::take(Bucket& bucket) {
  if (bucket.sum == nullptr) return;
  bucket.sum->wait();
  bucket.sum.reset();
  bucket.flat.div_(static_cast<double>(ranks_->world().size));
  for (const auto& [i, at] : bucket.places) {
    const auto& parameter = parameters_[i];
    // The bucket's own memory: nobody asks for it before the next backward pass has let it go.
    parameter.mutable_grad() = bucket.flat.as_strided(parameter.sizes(), parameter.strides(), at);
  }
}

void BucketedReduction::take_rest() {
  rest_sum_->wait();
  rest_sum_.reset();
  const auto* wishes = rest_.const_data_ptr<float>();
  agreed_ = {.stop = wishes[0] > 0, .save = wishes[1] > 0};
  int64_t at = kWishes;
  for (const auto& buffer : buffers_) {
    const auto mean = rest_.narrow(0, at, buffer.numel()).view(buffer.sizes());
    buffer.copy_(mean / static_cast<double>(ranks_->world().size));
    at += buffer.numel();
  }
}

void BucketedReduction::reduce(const std::vector<NamedTensor>& /*parameters*/) {
  const at::NoGradGuard no_grad;
  in_step_ = false;
  while (next_ < buckets_.size()) send(buckets_[next_++]);
  send_rest();
  for (auto& bucket : buckets_) take(bucket);
  take_rest();
}

Wishes BucketedReduction::agree(Wishes own) {
  own_ = own;
  return agreed_;
}

}  // namespace approx
