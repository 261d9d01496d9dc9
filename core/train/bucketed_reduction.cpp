#include "core/train/bucketed_reduction.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "core/train/scattered.h"

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

// The first entries of what goes with the last bucket: two wishes, and what was sampled.
constexpr int64_t kStop = 0, kSave = 1, kChannels = 2, kFirst = 3;

// A float holds the sum of so many for as many ranks.
constexpr int64_t kDigest = 4093;

std::string module_of(const std::string& parameter) {
  const auto dot = parameter.rfind('.');
  return dot == std::string::npos ? "" : parameter.substr(0, dot);
}

constexpr const char* kState = "reduction";

}  // namespace

BucketedReduction::BucketedReduction(std::shared_ptr<Collectives> ranks,
                                     std::vector<ReducedParameter> parameters,
                                     const std::vector<NamedTensor>& buffers, int64_t bucket_bytes)
    : ranks_(std::move(ranks)),
      asks_host_(!ranks_->is_of_device()),
      parameters_(std::move(parameters)) {
  for (const auto& [name, tensor, part] : parameters_) {
    if (tensor.scalar_type() != at::kFloat) {
      throw Error(ErrorKind::kInternal, fmt::format("{}: no float", name));
    }
    const auto known = std::ranges::find(traffic_, module_of(name), &Traffic::module);
    module_of_.push_back(static_cast<size_t>(known - traffic_.begin()));
    if (known == traffic_.end()) traffic_.push_back({.module = module_of(name)});
  }
  traffic_.push_back({.module = ""});
  first_buffer_ = asks_host_ ? kFirst + static_cast<int64_t>(parameters_.size()) : 1;
  int64_t rest = first_buffer_;
  for (const auto& [name, tensor] : buffers) {
    if (!tensor.is_floating_point()) continue;  // a count of steps is the same on all
    buffers_.push_back(tensor);
    rest += tensor.numel();
  }
  const auto options =
      at::TensorOptions()
          .dtype(at::kFloat)
          .device(parameters_.empty() ? at::Device(at::kCPU) : parameters_.front().tensor.device());
  rest_ = at::zeros({rest}, options);
  if (!asks_host_) {
    own_channels_ = at::zeros({1}, options);
    differing_ = at::zeros({1}, options);
  }
  bucket_of_.resize(parameters_.size());
  has_gradient_.resize(parameters_.size());
  counted_.resize(parameters_.size());
  expected_.resize(parameters_.size());
  int64_t filled = bucket_bytes;
  for (size_t i = parameters_.size(); i-- > 0;) {
    if (filled >= bucket_bytes) {
      buckets_.emplace_back();
      filled = 0;
    }
    buckets_.back().members.push_back(i);
    bucket_of_[i] = buckets_.size() - 1;
    filled += static_cast<int64_t>(parameters_[i].tensor.nbytes());
    torch::autograd::impl::set_post_acc_grad_hooks(
        parameters_[i].tensor, std::make_unique<ArrivalHook>([this, i] { arrived(i); }));
  }
  for (auto& bucket : buckets_) {
    int64_t entries = 0;
    for (const size_t i : bucket.members) entries += parameters_[i].tensor.numel();
    bucket.flat = at::zeros({entries}, options);
  }
}

BucketedReduction::~BucketedReduction() {
  for (const auto& parameter : parameters_) {
    torch::autograd::impl::set_post_acc_grad_hooks(parameter.tensor, nullptr);
  }
}

void BucketedReduction::begin_step() {
  in_step_ = true;
  next_ = 0;
  channels_ = 0;
  sampled_.clear();
  has_gradient_.assign(parameters_.size(), false);
  counted_.assign(parameters_.size(), 0);
  for (auto& bucket : buckets_) {
    bucket.missing = bucket.members.size();
    bucket.sums.reset();  // of a capture that went wrong
  }
  sent_before_ = ranks_->bytes_sent();
  sent_in_step_ = 0;
}

void BucketedReduction::arrived(size_t parameter) {
  if (!in_step_) return;
  // A backward pass comes to a frozen one too, without a gradient.
  has_gradient_[parameter] = parameters_[parameter].tensor.grad().defined();
  --buckets_[bucket_of_[parameter]].missing;
  while (next_ < buckets_.size() && buckets_[next_].missing == 0) send(buckets_[next_++]);
}

void BucketedReduction::count_sent(size_t parameter, double bytes) {
  traffic_[module_of_[parameter]].bytes += bytes;
  sent_in_step_ += bytes;
}

// Whole, in the order of the parameter's memory, whatever that of the gradient is.
at::Tensor BucketedReduction::placed(const Bucket& bucket, size_t parameter, int64_t at) const {
  const auto& tensor = parameters_[parameter].tensor;
  return bucket.flat.as_strided(tensor.sizes(), tensor.strides(), at);
}

// All ranks take the same way, by what all of them know.
BucketedReduction::Way BucketedReduction::way_of(size_t parameter) const {
  const auto* part = parameters_[parameter].part;
  if (part == nullptr || (part->is_alike && part->is_of_all)) {
    // A frozen skip has none, nor has what no loss depends on.
    if (!has_gradient_[parameter]) return Way::kNone;
    if (part == nullptr) return Way::kWhole;
    if (part->kind == GradientPart::Kind::kChannels) return Way::kChannels;
    return room_for(parameter) > 0 ? Way::kScattered : Way::kWhole;
  }
  // Where nobody has computed it and some leave it undefined, it is zero for all.
  return part->is_alike && part->ranks.empty() ? Way::kNone : Way::kWhole;
}

int64_t BucketedReduction::room_for(size_t parameter) const {
  const auto& [name, tensor, part] = parameters_[parameter];
  if (!asks_host_ || part->kind != GradientPart::Kind::kScattered) return 0;
  return scattered_room(expected_[parameter], tensor.numel(), ranks_->world().size);
}

void BucketedReduction::send(Bucket& bucket) {
  const at::NoGradGuard no_grad;
  const auto size = ranks_->world().size;
  bucket.messages.clear();
  bucket.scattered.clear();
  for (const size_t i : bucket.members) {
    const auto& [name, tensor, part] = parameters_[i];
    const auto bytes = static_cast<int64_t>(tensor.nbytes());
    traffic_[module_of_[i]].bytes_dense += bytes_of_sum(bytes, size, size);
    const auto way = way_of(i);
    if (way == Way::kNone) continue;
    if (way == Way::kScattered) {
      bucket.scattered.push_back({.parameter = i, .all = {}, .gather = {}});
      continue;
    }
    const auto ranks = part == nullptr ? std::vector<int64_t>() : part->ranks;
    auto message = std::ranges::find(bucket.messages, ranks, &Message::ranks);
    if (message == bucket.messages.end()) {
      const auto over = ranks.empty() ? size : static_cast<int64_t>(ranks.size());
      message = bucket.messages.insert(message, {.ranks = ranks, .over = over, .pieces = {}});
    }
    message->pieces.push_back({.parameter = i, .is_channels = way == Way::kChannels});
  }
  int64_t at = 0;
  std::vector<Collectives::Sum> sums;
  for (auto& message : bucket.messages) {
    const int64_t begin = at;
    for (auto& piece : message.pieces) {
      piece.at = at;
      piece.values = filled(bucket, message, piece);
      at += piece.values.numel();
      count_sent(piece.parameter,
                 bytes_of_sum(static_cast<int64_t>(piece.values.nbytes()), message.over, size));
    }
    message.all = bucket.flat.narrow(0, begin, at - begin);
    sums.push_back({message.all, message.ranks});
  }
  if (!sums.empty()) bucket.sums = ranks_->start_sums(std::move(sums));
  for (auto& scattered : bucket.scattered) {
    scattered.at = at;
    at += parameters_[scattered.parameter].tensor.numel();
    send_scattered(bucket, scattered);
  }
}

// What is sent of a gradient, in its place.
at::Tensor BucketedReduction::filled(const Bucket& bucket, const Message& message,
                                     const Piece& piece) {
  const auto& [name, tensor, part] = parameters_[piece.parameter];
  const auto& gradient = tensor.grad();
  if (piece.is_channels) {
    note_channels(part->channels);
    const auto own = gradient.index_select(1, part->channels);
    return bucket.flat.narrow(0, piece.at, own.numel()).view(own.sizes()).copy_(own);
  }
  auto values = placed(bucket, piece.parameter, piece.at);
  if (!gradient.defined()) return values.zero_();
  if (message.ranks.empty() || std::ranges::count(message.ranks, ranks_->world().rank) > 0) {
    values.copy_(gradient);
  }
  if (asks_host_ && part != nullptr && part->is_alike &&
      part->kind == GradientPart::Kind::kScattered) {
    counted_[piece.parameter] =
        static_cast<double>(nonzero_entries(bucket.flat.narrow(0, piece.at, tensor.numel())));
  }
  return values;
}

void BucketedReduction::send_scattered(const Bucket& bucket, Scattered& scattered) {
  const size_t i = scattered.parameter;
  const auto& tensor = parameters_[i].tensor;
  placed(bucket, i, scattered.at).copy_(tensor.grad());
  const auto own =
      packed_scattered(bucket.flat.narrow(0, scattered.at, tensor.numel()), room_for(i));
  counted_[i] = own[0].item<int32_t>();
  scattered.all = at::empty({ranks_->world().size, own.numel()}, own.options());
  scattered.gather = ranks_->start_gather(own, scattered.all);
  count_sent(i, bytes_of_gather(static_cast<int64_t>(own.nbytes()), ranks_->world().size));
}

void BucketedReduction::note_channels(const at::Tensor& channels) {
  if (!asks_host_) {
    sampled_.push_back(channels);
    return;
  }
  const auto* index = channels.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < channels.numel(); ++i) {
    channels_ = (channels_ * 31 + index[i] + 1) % kDigest;
  }
}

// A number below kDigest made of the channels of this step and of their order, [1] float.
at::Tensor BucketedReduction::channels_on_device() {
  if (sampled_.empty()) return at::zeros_like(own_channels_);
  const auto all = at::cat(sampled_);
  sampled_.clear();
  const auto place = at::arange(1, all.numel() + 1, all.options()).mul_(31).remainder_(kDigest);
  return place.mul_(all + 1).sum().remainder_(kDigest).to(at::kFloat).view({1});
}

void BucketedReduction::put_numbers_of_host() {
  auto* first = rest_.mutable_data_ptr<float>();
  first[kStop] = own_.stop ? 1 : 0;
  first[kSave] = own_.save ? 1 : 0;
  first[kChannels] = static_cast<float>(channels_);
  for (size_t i = 0; i < counted_.size(); ++i) {
    first[kFirst + static_cast<int64_t>(i)] = static_cast<float>(counted_[i]);
  }
}

void BucketedReduction::send_rest() {
  const at::NoGradGuard no_grad;
  if (asks_host_) {
    put_numbers_of_host();
  } else {
    own_channels_.copy_(channels_on_device());
    rest_.narrow(0, 0, 1).copy_(own_channels_);
  }
  int64_t at = first_buffer_;
  for (const auto& buffer : buffers_) {
    rest_.narrow(0, at, buffer.numel()).view(buffer.sizes()).copy_(buffer);
    at += buffer.numel();
  }
  rest_sum_ = ranks_->start_sum(rest_);
}

void BucketedReduction::take(Bucket& bucket) {
  if (bucket.sums != nullptr) {
    bucket.sums->wait();
    bucket.sums.reset();
  }
  for (const auto& message : bucket.messages) {
    message.all.div_(static_cast<double>(message.over));
    for (const auto& piece : message.pieces) {
      const auto& [name, tensor, part] = parameters_[piece.parameter];
      if (piece.is_channels) {
        tensor.grad().index_copy_(1, part->channels, piece.values);
      } else {
        // The bucket's own memory: nobody asks for it before the next backward pass has let it go.
        tensor.mutable_grad() = piece.values;
      }
    }
  }
  for (const auto& scattered : bucket.scattered) take_scattered(bucket, scattered);
}

void BucketedReduction::take_scattered(const Bucket& bucket, const Scattered& scattered) {
  const auto& tensor = parameters_[scattered.parameter].tensor;
  const auto size = ranks_->world().size;
  const auto flat = bucket.flat.narrow(0, scattered.at, tensor.numel());
  scattered.gather->wait();
  if (!sum_scattered(scattered.all, flat)) {
    ranks_->sum(flat);
    count_sent(scattered.parameter, bytes_of_sum(static_cast<int64_t>(flat.nbytes()), size, size));
  }
  flat.div_(static_cast<double>(size));
  tensor.mutable_grad() = placed(bucket, scattered.parameter, scattered.at);
}

namespace {

Error sampled_differently() {
  return {ErrorKind::kInternal,
          "the ranks have sampled different channels by their weights, which should be the same on "
          "all; are their processors alike?"};
}

}  // namespace

void BucketedReduction::take_numbers_of_host() {
  const auto size = static_cast<float>(ranks_->world().size);
  const auto* first = rest_.const_data_ptr<float>();
  agreed_ = {.stop = first[kStop] > 0, .save = first[kSave] > 0};
  if (first[kChannels] != size * static_cast<float>(channels_)) throw sampled_differently();
  for (size_t i = 0; i < expected_.size(); ++i) {
    const float counted = first[kFirst + static_cast<int64_t>(i)];
    if (counted > 0) expected_[i] = static_cast<double>(counted / size);
  }
}

void BucketedReduction::take_rest() {
  rest_sum_->wait();
  rest_sum_.reset();
  const auto size = static_cast<double>(ranks_->world().size);
  if (asks_host_) {
    take_numbers_of_host();
  } else {
    differing_.add_(rest_.narrow(0, 0, 1).ne(own_channels_ * size));
  }
  int64_t at = first_buffer_;
  for (const auto& buffer : buffers_) {
    const auto mean = rest_.narrow(0, at, buffer.numel()).view(buffer.sizes());
    buffer.copy_(mean / size);
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
  const double beside = ranks_->bytes_sent() - sent_before_ - sent_in_step_;
  traffic_.back().bytes += beside;
  traffic_.back().bytes_dense += beside;
  ++steps_;
}

Wishes BucketedReduction::agree(Wishes own) {
  if (!asks_host_) return agree_among_hosts(own);
  own_ = own;
  return agreed_;
}

// What was begun at the last call is long there, and what is begun now has a step's time.
Wishes BucketedReduction::agree_among_hosts(Wishes own) {
  Wishes agreed;
  if (wishes_sum_ != nullptr) {
    wishes_sum_->wait();
    const auto* sums = wishes_.const_data_ptr<int64_t>();
    agreed = {.stop = sums[0] > 0, .save = sums[1] > 0};
  }
  wishes_ = at::tensor({own.stop ? 1 : 0, own.save ? 1 : 0}, at::kLong);
  const double before = ranks_->bytes_sent();
  wishes_sum_ = ranks_->start_sum(wishes_);
  traffic_.back().bytes += ranks_->bytes_sent() - before;
  traffic_.back().bytes_dense += ranks_->bytes_sent() - before;
  return agreed;
}

void BucketedReduction::check() const {
  const bool differs = !asks_host_ && differing_.item<float>() > 0;
  ranks_->watch();
  if (differs) throw sampled_differently();
}

HostCounts BucketedReduction::host_counts() {
  HostCounts counts{.whole = {&steps_}, .real = {ranks_->sent_count()}};
  for (auto& traffic : traffic_) {
    counts.real.insert(counts.real.end(), {&traffic.bytes, &traffic.bytes_dense});
  }
  return counts;
}

std::vector<Json> BucketedReduction::events() const {
  check();
  std::vector<Json> events;
  if (steps_ == 0) return events;
  for (const auto& [module, bytes, bytes_dense] : traffic_) {
    events.push_back({{"event", "traffic"},
                      {"layer", module},
                      {"calls", steps_},
                      {"bytes", std::llround(bytes)},
                      {"bytes_dense", std::llround(bytes_dense)}});
  }
  return events;
}

void BucketedReduction::save(Checkpoint& checkpoint) const {
  check();
  Json modules = Json::array();
  for (const auto& [module, bytes, bytes_dense] : traffic_) modules.push_back({bytes, bytes_dense});
  checkpoint.state[kState] = {{"expected", expected_}, {"steps", steps_}, {"traffic", modules}};
}

void BucketedReduction::restore(const Checkpoint& checkpoint) {
  // One process alone has none to save.
  if (!checkpoint.state.contains(kState)) return;
  const Json& state = checkpoint.state[kState];
  auto expected = state.at("expected").get<std::vector<double>>();
  const auto modules = state.at("traffic").get<std::vector<std::pair<double, double>>>();
  if (expected.size() != expected_.size() || modules.size() != traffic_.size()) {
    throw data_error("the checkpoint is of a network of {} parameters, this one has {}",
                     expected.size(), expected_.size());
  }
  expected_ = std::move(expected);
  state.at("steps").get_to(steps_);
  for (size_t i = 0; i < modules.size(); ++i) {
    std::tie(traffic_[i].bytes, traffic_[i].bytes_dense) = modules[i];
  }
}

}  // namespace approx
