#include "core/parallel/gpu_of_rank.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"

namespace approx {
namespace {

// As CUDA reads them: what follows an entry that is none is not seen.
std::vector<std::string> entries_of(const std::string& visible) {
  std::vector<std::string> entries;
  for (const auto part : split(visible, ",")) {
    const auto entry = trim(part);
    if (entry.empty() || entry.starts_with('-')) break;
    entries.emplace_back(entry);
  }
  return entries;
}

}  // namespace

std::optional<LocalRank> local_rank(
    const std::function<std::optional<std::string>(const char* name)>& variable) {
  const auto number = [&](const char* name) -> std::optional<int64_t> {
    const auto text = variable(name);
    return text ? parse_integer(*text, 0) : std::nullopt;
  };
  if (const auto rank = number("OMPI_COMM_WORLD_LOCAL_RANK")) {
    return LocalRank{.rank = *rank, .size = number("OMPI_COMM_WORLD_LOCAL_SIZE").value_or(0)};
  }
  if (const auto rank = number("SLURM_LOCALID")) return LocalRank{.rank = *rank, .by_slurm = true};
  return std::nullopt;
}

std::string gpu_of_rank(const LocalRank& local, const std::optional<std::string>& visible,
                        const std::optional<int64_t>& gpus) {
  const int64_t needed = std::max(local.size, local.rank + 1);
  std::vector<std::string> entries;
  if (visible) entries = entries_of(*visible);
  const auto count = visible ? static_cast<int64_t>(entries.size()) : gpus.value_or(needed);
  if (visible && local.by_slurm && count > 0 && count < needed) {
    return entries[static_cast<size_t>(local.rank % count)];
  }
  if (count < needed) {
    throw Error(ErrorKind::kDevice,
                fmt::format("device cuda: {} ranks on this machine need a GPU each, and {} {} here"
                            "{}: give fewer ranks",
                            needed, count, count == 1 ? "is" : "are",
                            visible ? fmt::format(" (CUDA_VISIBLE_DEVICES={})", *visible) : ""));
  }
  return visible ? entries[static_cast<size_t>(local.rank)] : fmt::format("{}", local.rank);
}

}  // namespace approx
