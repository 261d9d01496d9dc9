// Gradients of several ranks, averaged while the backward pass still computes others.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/parallel/collectives.h"
#include "core/train/gradient_reduction.h"

namespace approx {

// Parameters are dealt to buckets in the order in which a backward pass comes to them, from the
// last to the first. As soon as all of a bucket have their gradients it is sent; what is missing at
// the end of the pass (of a frozen skip nothing comes) goes without. Buckets are sent in one order
// on all ranks, whichever is complete first. With the last of them go the buffers, and what a rank
// wishes to happen.
class BucketedReduction final : public GradientReduction {
 public:
  // `parameters` are floats, all of the network's; `buffers` what steps change beside them and each
  // rank computes of its own images: running statistics, of which all ranks have the mean after
  // each step. Both are watched as long as this object lives, and share memory with the network's.
  BucketedReduction(std::shared_ptr<Collectives> ranks, const std::vector<NamedTensor>& parameters,
                    const std::vector<NamedTensor>& buffers,
                    int64_t bucket_bytes = int64_t{1} << 20);
  ~BucketedReduction() override;

  void begin_step() override;
  void reduce(const std::vector<NamedTensor>& parameters) override;
  Wishes agree(Wishes own) override;

 private:
  struct Bucket {
    std::vector<size_t> members;                     // of parameters_
    size_t missing = 0;                              // gradients of this step
    at::Tensor flat;                                 // of those that are sent, one after the other
    std::vector<std::pair<size_t, int64_t>> places;  // of parameters in it
    std::unique_ptr<Collectives::Pending> sum;
  };

  void arrived(size_t parameter);
  void send(Bucket& bucket);
  void send_rest();
  void take(Bucket& bucket);
  void take_rest();

  const std::shared_ptr<Collectives> ranks_;
  std::vector<at::Tensor> parameters_, buffers_;
  std::vector<size_t> bucket_of_;  // by parameter
  std::vector<Bucket> buckets_;
  std::vector<bool> has_gradient_;  // in this step, by parameter
  size_t next_ = 0;                 // the bucket that is sent next
  bool in_step_ = false;            // other backward passes are nobody's but this rank's
  at::Tensor rest_;                 // buffers and wishes
  std::unique_ptr<Collectives::Pending> rest_sum_;
  Wishes own_, agreed_;
};

}  // namespace approx
