// Ranks whose exchanges are those of a device each, as far as a machine without one can tell.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/engine.h"
#include "core/parallel/collectives.h"

namespace approx {

class AsOnDevice final : public Collectives {
 public:
  explicit AsOnDevice(std::shared_ptr<Collectives> host)
      : Collectives(host->world()), host_(std::move(host)) {}

  bool is_of_device() const override { return true; }
  void watch() override {
    ++watched;
    if (!failure.empty()) throw LostRank(failure);
  }
  void close() override { host_->close(); }
  Json description() const override { return host_->description(); }

  int64_t watched = 0;
  std::string failure;  // of the device, from now on

 private:
  std::unique_ptr<Pending> do_start_sums(std::vector<Sum> sums) override {
    return host_->start_sums(std::move(sums));
  }
  std::unique_ptr<Pending> do_start_gather(const at::Tensor& own, const at::Tensor& all) override {
    return host_->start_gather(own, all);
  }
  void do_broadcast(const at::Tensor& values) override { host_->broadcast(values); }

  std::shared_ptr<Collectives> host_;
};

}  // namespace approx
