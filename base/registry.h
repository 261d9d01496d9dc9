// A list that fills itself. Each method, schedule, network and data set is one .cpp whose REGISTER_
// macro adds an entry before main. (A static archive would drop such files, hence CMake's OBJECT
// libraries.)
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace approx {

// `Entry` has a member `name` and a static constexpr `kWhat` ("method") for messages.
template <typename Entry>
class Registry {
 public:
  static Registry& instance() {
    static Registry registry;
    return registry;
  }

  // A deque, because the builder that REGISTER_ chains on holds a reference to its entry.
  Entry& add(std::string name) {
    Entry& entry = entries_.emplace_back();
    entry.name = std::move(name);
    return entry;
  }

  // All entries, in no reliable order.
  const std::deque<Entry>& entries() const { return entries_; }

  // All entries, sorted by name: the linker decides the order of static initialisation.
  std::vector<const Entry*> all() const {
    std::vector<const Entry*> sorted;
    for (const auto& entry : entries_) sorted.push_back(&entry);
    std::sort(sorted.begin(), sorted.end(),
              [](const Entry* a, const Entry* b) { return a->name < b->name; });
    return sorted;
  }

  // The entry of a name. Throws Error(kUsage) with the nearest name for an unknown one.
  const Entry& find(std::string_view name) const {
    for (const auto& entry : entries_) {
      if (entry.name == name) return entry;
    }
    std::vector<std::string> names;
    for (const auto* entry : all()) names.push_back(entry->name);
    throw usage_error("unknown {} \"{}\"{}; known: {}", Entry::kWhat, name,
                      did_you_mean(name, names), fmt::join(names, ", "));
  }

 private:
  std::deque<Entry> entries_;
};

}  // namespace approx

// A unique name for the variable that a REGISTER_ macro needs.
#define APPROX_CONCAT_(a, b) a##b
#define APPROX_CONCAT(a, b) APPROX_CONCAT_(a, b)
#define APPROX_UNIQUE(prefix) APPROX_CONCAT(prefix, __COUNTER__)
