// Gradients of several ranks, averaged while the backward pass still computes others.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/nn/gradient_part.h"
#include "core/parallel/collectives.h"
#include "core/train/gradient_reduction.h"

namespace approx {

// A parameter, and what of its gradient is there; null: all, of all ranks.
struct ReducedParameter {
  std::string name;
  at::Tensor tensor;
  const GradientPart* part = nullptr;
};

// Parameters are dealt to buckets in the order in which a backward pass comes to them, from the
// last to the first. As soon as all of a bucket have their gradients it is sent; what is missing at
// the end of the pass goes without. Buckets are sent in one order on all ranks, whichever is
// complete first. With the last of them go the buffers, and what a rank wishes to happen.
//
// Over ranks with a device each (Collectives::is_of_device) a step asks the host for nothing, so
// that it can be captured and replayed: wishes go by themselves, among hosts and between two steps;
// gradients with zeros anywhere go whole, since how many entries are there is not asked; and that
// all have sampled alike is seen on the device, and looked at by check(), events() and save().
//
// What is not there is not sent (GradientPart):
//   of channels that all ranks have sampled alike, those channels alone;
//   of a gradient in which few entries were not zero the last time, values and positions
//   (core/train/scattered.h), and the whole where they are more than expected;
//   of a rank that has left the gradient out, nothing: the mean is over those that have computed
//   it, and is told to the others. Where nobody has, there is nothing to be sent, and each keeps
//   what it has, zeros or nothing.
class BucketedReduction final : public GradientReduction {
 public:
  // Parameters are floats, all of the network's; `buffers` what steps change beside them and each
  // rank computes of its own images: running statistics, of which all ranks have the mean after
  // each step. Both are watched as long as this object lives, and share memory with the network's.
  BucketedReduction(std::shared_ptr<Collectives> ranks, std::vector<ReducedParameter> parameters,
                    const std::vector<NamedTensor>& buffers,
                    int64_t bucket_bytes = int64_t{1} << 20);
  ~BucketedReduction() override;

  void begin_step() override;
  // Throws Error(kInternal) where ranks have sampled other channels than each other: their weights
  // are not the same then. Of one such step in four thousand that is not seen.
  void reduce(const std::vector<NamedTensor>& parameters) override;
  Wishes agree(Wishes own) override;
  // The same of any step so far.
  void check() const override;
  HostCounts host_counts() override;
  std::vector<Json> events() const override;
  void save(Checkpoint& checkpoint) const override;
  void restore(const Checkpoint& checkpoint) override;

 private:
  // How a gradient goes to the other ranks.
  enum class Way { kNone, kWhole, kChannels, kScattered };

  // A gradient in a message, or some of its channels.
  struct Piece {
    size_t parameter;
    bool is_channels = false;
    int64_t at = 0;     // of the bucket's entries
    at::Tensor values;  // there
  };
  // What is summed over some ranks.
  struct Message {
    std::vector<int64_t> ranks;  // empty: all
    int64_t over;                // how many these are
    std::vector<Piece> pieces;
    at::Tensor all;  // of the bucket's
  };
  struct Scattered {
    size_t parameter;
    int64_t at = 0;  // of the bucket's entries, where the whole gradient lies
    at::Tensor all;  // what all ranks have packed
    std::unique_ptr<Collectives::Pending> gather;
  };
  struct Bucket {
    std::vector<size_t> members;  // of parameters_
    size_t missing = 0;           // gradients of this step
    at::Tensor flat;              // of those that are sent, one after the other
    std::vector<Message> messages;
    std::unique_ptr<Collectives::Pending> sums;  // of them
    std::vector<Scattered> scattered;
  };
  // What was sent of the parameters of one module.
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
  size_t next_ = 0;                 // the bucket that is sent next
  bool in_step_ = false;            // other backward passes are nobody's but this rank's
  // What was sampled in this step, as one number; and where nobody asks the host, the channels, the
  // number, and how many steps had different ones so far, [1] float on the device.
  int64_t channels_ = 0;
  std::vector<at::Tensor> sampled_;
  at::Tensor own_channels_, differing_;
  // By parameter, of those whose gradients may have zeros anywhere, how many entries are not zero:
  // in this step, and the mean over the ranks when they were counted last.
  std::vector<double> counted_, expected_;
  at::Tensor rest_;           // wishes, channels, counts and buffers; or channels and buffers
  int64_t first_buffer_ = 0;  // of its entries
  std::unique_ptr<Collectives::Pending> rest_sum_;
  Wishes own_, agreed_;
  at::Tensor wishes_;  // on their way among hosts
  std::unique_ptr<Collectives::Pending> wishes_sum_;

  std::vector<Traffic> traffic_;  // by module, and the last of what goes along, over all steps
  int64_t steps_ = 0;
  double sent_before_ = 0, sent_in_step_ = 0;  // bytes in all before this step; of gradients in it
};

}  // namespace approx
