#include "cli/process/core_pool.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace approx {
namespace {

using Chosen = std::vector<size_t>;  // positions of places

}  // namespace

std::string cpu_list(const std::vector<int>& cpus) {
  std::vector<std::string> parts;
  for (size_t first = 0; first < cpus.size();) {
    size_t last = first;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    parts.push_back(first == last ? fmt::format("{}", cpus[first])
                                  : fmt::format("{}-{}", cpus[first], cpus[last]));
    first = last + 1;
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

CorePool::CorePool(std::vector<Core> cores, int64_t jobs, std::optional<double> cpu_limit,
                   Claim claim)
    : claim_(std::move(claim)) {
  for (auto& core : cores) places_.push_back({std::move(core)});
  share_ = std::max<int64_t>(1, static_cast<int64_t>(places_.size()) / std::max<int64_t>(1, jobs));
  if (cpu_limit) most_threads_ = static_cast<int64_t>(std::floor(*cpu_limit));
}

CorePool::Lease CorePool::take(int64_t threads) {
  Lease lease;
  if (most_threads_ && threads_ + threads > *most_threads_) return lease;
  Chosen free;
  std::vector<Hold> holds(places_.size());
  for (size_t i = 0; i < places_.size(); ++i) {
    if (places_[i].taken) continue;
    if (claim_ && !(holds[i] = claim_(places_[i].core))) continue;
    free.push_back(i);
  }
  std::map<int, Chosen> packages;
  for (const size_t i : free) packages[places_[i].core.package].push_back(i);
  // Where it fits with the least left over; across packages last.
  std::vector<Chosen> sets;
  for (auto& [package, places] : packages) sets.push_back(std::move(places));
  std::stable_sort(sets.begin(), sets.end(),
                   [](const Chosen& a, const Chosen& b) { return a.size() < b.size(); });
  sets.push_back(free);

  // The first of `set` that are `least` cores and have a hardware thread for each thread.
  const auto choose = [&](const Chosen& set, int64_t least) -> Chosen {
    Chosen chosen;
    int64_t cpus = 0;
    for (const size_t i : set) {
      if (static_cast<int64_t>(chosen.size()) >= least && cpus >= threads) break;
      chosen.push_back(i);
      cpus += static_cast<int64_t>(places_[i].core.cpus.size());
    }
    if (static_cast<int64_t>(chosen.size()) < least || cpus < threads) return {};
    return chosen;
  };
  for (const int64_t least : {std::min(threads, share_), int64_t{1}}) {
    for (const auto& set : sets) {
      lease.cores_ = choose(set, least);
      if (!lease.cores_.empty()) break;
    }
    if (!lease.cores_.empty()) break;
  }
  if (lease.cores_.empty()) return lease;
  lease.pool_ = this;
  lease.threads_ = threads;
  threads_ += threads;
  for (const size_t i : lease.cores_) {
    places_[i].taken = true;
    lease.holds_.push_back(std::move(holds[i]));
    lease.cpus_.insert(lease.cpus_.end(), places_[i].core.cpus.begin(), places_[i].core.cpus.end());
  }
  std::sort(lease.cpus_.begin(), lease.cpus_.end());
  return lease;
}

CorePool::Lease::~Lease() {
  if (pool_ == nullptr) return;
  for (const size_t i : cores_) pool_->places_[i].taken = false;
  pool_->threads_ -= threads_;
}

std::vector<std::vector<int>> CorePool::Lease::parts(int64_t ranks) const {
  std::vector<int> by_core;
  for (const size_t i : cores_) {
    const auto& cpus = pool_->places_[i].core.cpus;
    by_core.insert(by_core.end(), cpus.begin(), cpus.end());
  }
  std::vector<std::vector<int>> parts;
  if (by_core.empty()) return parts;
  const auto count = static_cast<int64_t>(by_core.size());
  for (int64_t rank = 0; rank < ranks; ++rank) {
    parts.emplace_back(by_core.begin() + rank * count / ranks,
                       by_core.begin() + (rank + 1) * count / ranks);
    std::sort(parts.back().begin(), parts.back().end());
  }
  return parts;
}

void CorePool::Lease::swap(Lease& other) noexcept {
  std::swap(pool_, other.pool_);
  cores_.swap(other.cores_);
  holds_.swap(other.holds_);
  cpus_.swap(other.cpus_);
  std::swap(threads_, other.threads_);
}

}  // namespace approx
