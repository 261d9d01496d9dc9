#include <cmath>
#include <thread>

#include "tests/parallel_checks/checks.h"

namespace approx {
namespace {

// Over every choice of ranks, several sums at once, and twice: groups are made once.
void sums_over_some(Collectives& ranks, at::Device device) {
  const auto [rank, size] = ranks.world();
  const auto own = [device](int64_t count, int64_t of) {
    return at::arange(count, at::TensorOptions().dtype(at::kFloat).device(device)).remainder(1000) *
           static_cast<double>(of + 1);
  };
  for (const int64_t count : {1, 1000, 65'537}) {
    std::vector<Collectives::Sum> sums;
    for (int64_t choice = 1; choice < int64_t{1} << size; ++choice) {
      std::vector<int64_t> some;
      for (int64_t one = 0; one < size; ++one) {
        if ((choice >> one & 1) != 0) some.push_back(one);
      }
      // Of those that are not among them nothing is looked at.
      const bool is_in = (choice >> rank & 1) != 0;
      sums.push_back({is_in ? own(count, rank) : at::full({count}, NAN, device), some});
    }
    const double before = ranks.bytes_sent();
    ranks.start_sums(sums)->wait();
    double bytes = 0;
    for (const auto& [values, some] : sums) {
      auto expected = at::zeros({count}, device);
      for (const int64_t one : some) expected += own(count, one);
      expect(at::equal(values, expected),
             fmt::format("sum over {} ranks of {}", some.size(), count));
      bytes += bytes_of_sum(4 * count, static_cast<int64_t>(some.size()), size);
    }
    expect(std::abs(ranks.bytes_sent() - before - bytes) < 1, "what was sent is counted");
  }
}

}  // namespace

// Sizes around what algorithms and messages change at.
void exchanges(Collectives& ranks, at::Device device) {
  const auto [rank, size] = ranks.world();
  for (const int64_t count : {1, 2, 3, 7, 64, 1000, 4096, 65'537, 1'000'000}) {
    for (const auto type : {at::kFloat, at::kDouble, at::kInt, at::kLong}) {
      const auto numbers =
          at::arange(count, at::TensorOptions().dtype(type).device(device)).remainder(1000);
      const auto own = numbers * (rank + 1);
      const auto what = fmt::format("{} {}", count, c10::toString(type));
      auto sum = own.clone();
      ranks.sum(sum);
      expect(at::equal(sum, numbers * (size * (size + 1) / 2)), "sum of " + what);
      const auto all = ranks.gathered(own);
      for (int64_t other = 0; other < size; ++other) {
        expect(at::equal(all[other], numbers * (other + 1)), "gather of " + what);
      }
      auto first = own.clone();
      ranks.broadcast(first);
      expect(at::equal(first, numbers), "broadcast of " + what);
    }
  }
  sums_over_some(ranks, device);
  // Several at once, and bits that do not depend on who comes when.
  std::vector<at::Tensor> results;
  const auto own =
      at::rand({100'000}, at::TensorOptions().device(device)) + static_cast<double>(rank);
  for (int64_t turn = 0; turn < 2 * size; ++turn) {
    if (turn == rank) std::this_thread::sleep_for(std::chrono::milliseconds(30));
    auto one = own.clone(), other = own.narrow(0, 0, 777).clone();
    const auto first = ranks.start_sum(one), second = ranks.start_sum(other);
    second->wait();
    first->wait();
    results.push_back(one);
    expect(at::equal(results.front(), one), "equal sums have equal bits");
  }
  const auto everybodys = ranks.gathered(results.front());
  for (int64_t other = 1; other < size; ++other) {
    expect(at::equal(everybodys[other], everybodys[0]), "all ranks have the same bits");
  }
}

}  // namespace approx
