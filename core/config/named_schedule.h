// Schedules by name: `wang2019_s2`, `slice:layers=2::2`. Each has one .cpp in
// core/config/schedules/ that ends in REGISTER_SCHEDULE.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/params.h"
#include "base/registry.h"
#include "core/config/catalogue.h"
#include "core/config/rule.h"

namespace approx {

// A function from parameters to rules.
struct ScheduleEntry : EntryInfo {
  static constexpr const char* kWhat = "schedule";
  std::vector<Rule> (*make)(const Params&) = nullptr;

  ScheduleEntry& about(std::string text) { return summary = std::move(text), *this; }
  ScheduleEntry& from_paper(std::string id, std::string at) {
    return paper = std::move(id), paper_at = std::move(at), *this;
  }
  ScheduleEntry& param(ParamSpec spec) { return params.push_back(std::move(spec)), *this; }

  // The parameters that schedules of one rule share: its layers; its first step and its end.
  ScheduleEntry& param_layers() {
    return param(
        {"layers", std::string("::1"),
         "start:stop:step over the convolutions, kind=GLOB, name=GLOB, block=GLOB, joined by +"});
  }
  ScheduleEntry& params_window() {
    return param({"from", std::string(),
                  "first step: 300ba, 10ep, 0.25dur, plateau or plateau:patience=3"})
        .param({"until", std::string(),
                "step after the last one: 300ba, 10ep, 0.25dur, plateau or plateau:patience=3"});
  }
};

inline ScheduleEntry& register_schedule(std::string name,
                                        std::vector<Rule> (*make)(const Params&)) {
  auto& entry = Registry<ScheduleEntry>::instance().add(std::move(name));
  entry.make = make;
  return entry;
}

// The rules of `name:key=value,...`. Throws Error(kUsage).
std::vector<Rule> make_schedule(std::string_view text);

}  // namespace approx

#define REGISTER_SCHEDULE(NAME, MAKE)                                               \
  [[maybe_unused]] static ::approx::ScheduleEntry& APPROX_UNIQUE(schedule_entry_) = \
      ::approx::register_schedule(NAME, MAKE)
