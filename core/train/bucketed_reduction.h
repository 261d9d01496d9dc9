// Averages the gradients of several ranks while the backward pass still computes others.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/nn/gradient_part.h"
#include "core/parallel/collectives.h"
#include "core/train/gradient_reduction.h"

namespace approx {

// A parameter, and which part of its gradient was computed. `part` null: all of it, on all ranks.
struct ReducedParameter {
  std::string name;
  at::Tensor tensor;
  const GradientPart* part = nullptr;
};

// Parameters go into buckets in the order of the backward pass, from the last to the first. A
// bucket is sent once it has all of its gradients. Gradients that are missing at the end of the
// pass are left out. Buckets are sent in one order on all ranks, whichever is complete first. The
// last bucket carries the buffers and the ranks' wishes.
//
// If each rank has a device (Collectives::is_of_device), a step asks the host for nothing, so that
// it can be captured and replayed:
// - Wishes are exchanged apart, between hosts and between two steps.
// - Gradients with zeros anywhere are sent whole, as their counts are not read.
// - The device checks that all ranks sampled alike. check(), events() and save() read its result.
//
// Parts that were not computed are not sent (GradientPart):
// - If all ranks sampled the same channels, only these channels are sent.
// - If few entries were nonzero the last time, values and positions are sent
//   (core/train/scattered.h). If there are more than expected, the whole gradient is sent.
// - A rank that left the gradient out sends nothing. The mean is over the ranks that computed it,
//   and the others receive it. If no rank computed it, nothing is sent, and each rank keeps its
//   gradient, zero or undefined.
class BucketedReduction final : public GradientReduction {
 public:
  // `parameters` are floats, all of the network's. `buffers` are changed by steps, from each rank's
  // own images: running statistics. All ranks have their mean after each step. Both share memory
  // with the network and are watched as long as this object lives.
  BucketedReduction(std::shared_ptr<Collectives> ranks, std::vector<ReducedParameter> parameters,
                    const std::vector<NamedTensor>& buffers,
                    int64_t bucket_bytes = int64_t{1} << 20);
  ~BucketedReduction() override;

  void begin_step() override;
  // Throws Error(kInternal) if ranks have sampled different channels: their weights then differ.
  // The check misses one such step in four thousand.
  void reduce(const std::vector<NamedTensor>& parameters) override;
  Wishes agree(Wishes own) override;
  // Throws as reduce(), for any step so far.
  void check() const override;
  HostCounts host_counts() override;
  std::vector<Json> events() const override;
  void save(Checkpoint& checkpoint) const override;
  void restore(const Checkpoint& checkpoint) override;

 private:
  // How a gradient is sent to the other ranks.
  enum class Way { kNone, kWhole, kChannels, kScattered };

  // A gradient in a message, or some of its channels.
  struct Piece {
    size_t parameter;
    bool is_channels = false;
    int64_t at = 0;     // position in the bucket's entries
    at::Tensor values;  // these entries
  };
  // A sum over some ranks.
  struct Message {
    std::vector<int64_t> ranks;  // empty: all
    int64_t over;                // the number of these ranks
    std::vector<Piece> pieces;
    at::Tensor all;  // entries of the bucket
  };
  struct Scattered {
    size_t parameter;
    int64_t at = 0;  // position of the whole gradient in the bucket's entries
    at::Tensor all;  // the packed entries of all ranks
    std::unique_ptr<Collectives::Pending> gather;
  };
  struct Bucket {
    std::vector<size_t> members;  // of parameters_
    size_t missing = 0;           // gradients still missing in this step
    at::Tensor flat;              // the gradients that are sent, one after the other
    std::vector<Message> messages;
    std::unique_ptr<Collectives::Pending> sums;  // of the messages
    std::vector<Scattered> scattered;
  };
  // The bytes sent for the parameters of one module.
  struct Traffic {
    std::string module;
    double bytes = 0, bytes_dense = 0;
  };

  void arrived(size_t parameter);
  Way way_of(size_t parameter) const;
  int64_t room_for(size_t parameter) const;
  void send(Bucket& bucket);
  at::Tensor filled(const Bucket& bucket, const Message& message, const Piece& piece);
  void send_scattered(const Bucket& bucket, Scattered& scattered);
  void note_channels(const at::Tensor& channels);
  at::Tensor channels_on_device();
  void put_numbers_of_host();
  void take_numbers_of_host();
  void send_rest();
  void take(Bucket& bucket);
  void take_scattered(const Bucket& bucket, const Scattered& scattered);
  void take_rest();
  Wishes agree_among_hosts(Wishes own);
  void count_sent(size_t parameter, double bytes);
  at::Tensor placed(const Bucket& bucket, size_t parameter, int64_t at) const;

  const std::shared_ptr<Collectives> ranks_;
  const bool asks_host_;
  const std::vector<ReducedParameter> parameters_;
  std::vector<at::Tensor> buffers_;
  std::vector<size_t> bucket_of_, module_of_;  // by parameter
  std::vector<Bucket> buckets_;
  std::vector<bool> has_gradient_;  // in this step, by parameter
  size_t next_ = 0;                 // the bucket to send next
  bool in_step_ = false;            // other backward passes concern this rank alone
  // A number for the channels that were sampled in this step. If the host is not asked, also the
  // channels and the number on the device, and [1] float: how many steps so far had different ones.
  int64_t channels_ = 0;
  std::vector<at::Tensor> sampled_;
  at::Tensor own_channels_, differing_;
  // By parameter, for gradients that may have zeros anywhere. The number of nonzero entries in this
  // step, and the mean over the ranks when they were last counted.
  std::vector<double> counted_, expected_;
  at::Tensor rest_;           // wishes, channels, counts and buffers; or channels and buffers
  int64_t first_buffer_ = 0;  // its first entry with a buffer
  std::unique_ptr<Collectives::Pending> rest_sum_;
  Wishes own_, agreed_;
  at::Tensor wishes_;  // in exchange between hosts
  std::unique_ptr<Collectives::Pending> wishes_sum_;

  std::vector<Traffic> traffic_;  // by module, and last that of the rest, over all steps
  int64_t steps_ = 0;
  double sent_before_ = 0, sent_in_step_ = 0;  // bytes: before this step; for its gradients
};

}  // namespace approx
