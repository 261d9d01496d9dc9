#include "core/parallel/collectives.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "kernels/library.h"

namespace approx {
namespace {

constexpr const char* kMpi = "libapproxtrain_mpi.so";
constexpr const char* kNccl = "libapproxtrain_nccl.so";

// Room for so many bytes in entries of int64, filled with those of `text` and then with zeros.
at::Tensor packed(const std::string& text, int64_t bytes) {
  auto entries = at::zeros({(bytes + 7) / 8}, at::kLong);
  std::ranges::copy(text, static_cast<char*>(entries.mutable_data_ptr()));
  return entries;
}

std::string unpacked(const at::Tensor& entries, int64_t bytes) {
  return {static_cast<const char*>(entries.const_data_ptr()), static_cast<size_t>(bytes)};
}

std::string shown(const std::string& text) {
  constexpr size_t kMost = 40;
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

}  // namespace

double bytes_of_sum(int64_t bytes, int64_t over, int64_t ranks) {
  if (over == 0) return 0;
  return static_cast<double>(bytes) * static_cast<double>(over + ranks - 2) /
         static_cast<double>(ranks);
}

double bytes_of_gather(int64_t bytes, int64_t ranks) {
  return static_cast<double>(bytes) * static_cast<double>(ranks - 1);
}

double bytes_of_broadcast(int64_t bytes, int64_t ranks) { return bytes_of_sum(bytes, 1, ranks); }

std::unique_ptr<Collectives::Pending> Collectives::start_sums(std::vector<Sum> sums) {
  for (const auto& sum : sums) {
    const auto over = sum.ranks.empty() ? world_.size : static_cast<int64_t>(sum.ranks.size());
    bytes_sent_ += bytes_of_sum(static_cast<int64_t>(sum.values.nbytes()), over, world_.size);
  }
  return do_start_sums(std::move(sums));
}

std::unique_ptr<Collectives::Pending> Collectives::start_sum(const at::Tensor& values) {
  return start_sums({{.values = values, .ranks = {}}});
}

std::unique_ptr<Collectives::Pending> Collectives::start_gather(const at::Tensor& own,
                                                                const at::Tensor& all) {
  bytes_sent_ += bytes_of_gather(static_cast<int64_t>(own.nbytes()), world_.size);
  return do_start_gather(own, all);
}

void Collectives::broadcast(const at::Tensor& values) {
  bytes_sent_ += bytes_of_broadcast(static_cast<int64_t>(values.nbytes()), world_.size);
  do_broadcast(values);
}

at::Tensor Collectives::gathered(const at::Tensor& own) {
  auto sizes = own.sizes().vec();
  sizes.insert(sizes.begin(), world_.size);
  auto all = at::empty(sizes, own.options());
  start_gather(own, all)->wait();
  return all;
}

double Collectives::mean(double value) {
  const auto one = at::full({1}, value, at::kDouble);
  sum(one);
  return one.item<double>() / static_cast<double>(world_.size);
}

bool Collectives::any(bool value) {
  const auto one = at::full({1}, value ? 1 : 0, at::kLong);
  sum(one);
  return one.item<int64_t>() > 0;
}

int64_t Collectives::of_first(int64_t value) {
  const auto one = at::full({1}, value, at::kLong);
  broadcast(one);
  return one.item<int64_t>();
}

std::string Collectives::of_first(const std::string& text) {
  const int64_t bytes = of_first(static_cast<int64_t>(text.size()));
  auto entries = packed(world_.rank == 0 ? text : std::string(), bytes);
  if (entries.numel() > 0) broadcast(entries);
  return unpacked(entries, bytes);
}

std::vector<std::string> Collectives::of_all(const std::string& text) {
  const auto bytes = gathered(at::full({1}, static_cast<int64_t>(text.size()), at::kLong));
  const auto own = packed(text, bytes.max().item<int64_t>());
  std::vector<std::string> texts(static_cast<size_t>(world_.size));
  if (own.numel() == 0) return texts;
  const auto all = gathered(own);
  for (int64_t rank = 0; rank < world_.size; ++rank) {
    texts[static_cast<size_t>(rank)] = unpacked(all[rank], bytes[rank].item<int64_t>());
  }
  return texts;
}

void Collectives::require_same(std::string_view what, const std::string& text,
                               std::string_view advice) {
  const auto texts = of_all(text);
  for (size_t rank = 1; rank < texts.size(); ++rank) {
    if (texts[rank] == texts[0]) continue;
    throw usage_error("rank {} has another {} than rank 0 ({}, {}): {}", rank, what,
                      shown(texts[rank]), shown(texts[0]), advice);
  }
}

MakeCollectives& collectives_maker() {
  static MakeCollectives maker = nullptr;
  return maker;
}

std::shared_ptr<Collectives> open_collectives(int64_t ranks, std::chrono::milliseconds limit) {
  if (!open_beside(kMpi) || collectives_maker() == nullptr) {
    throw Error(ErrorKind::kDevice,
                fmt::format("ranks = {}: {} is not beside this library, which was built without "
                            "MPI; install Open MPI (scripts/setup) and build again",
                            ranks, kMpi));
  }
  auto collectives = collectives_maker()(limit);
  const auto size = collectives->world().size;
  if (size != ranks) {
    throw usage_error(
        "ranks = {}, and the launcher started {}: is its mpirun of the Open MPI that "
        "this program was built with?",
        ranks, size);
  }
  return collectives;
}

MakeDeviceCollectives& device_collectives_maker() {
  static MakeDeviceCollectives maker = nullptr;
  return maker;
}

namespace {

Error no_device_collectives(int64_t ranks) {
  return {ErrorKind::kDevice,
          fmt::format("ranks = {} with device = cuda: {} is not beside this library, which was "
                      "built without NCCL; build again where nvcc and nccl.h are "
                      "(docs/install.md), or set device = cpu",
                      ranks, kNccl)};
}

}  // namespace

void require_device_collectives(int64_t ranks) {
  if (!is_beside(kNccl)) throw no_device_collectives(ranks);
}

std::shared_ptr<Collectives> open_device_collectives(std::shared_ptr<Collectives> host,
                                                     c10::Device device,
                                                     std::chrono::milliseconds limit) {
  if (!open_beside(kNccl) || device_collectives_maker() == nullptr) {
    throw no_device_collectives(host->world().size);
  }
  return device_collectives_maker()(std::move(host), device, limit);
}

}  // namespace approx
