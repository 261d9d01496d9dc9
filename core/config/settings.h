// Settings as data: one declaration for each member of a struct. Its JSON, its checks, its help and
// its completion follow from the declaration.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/enum_text.h"
#include "base/error.h"
#include "base/params.h"
#include "base/range.h"

namespace approx {

// One setting of an `Owner`. Its default is the default of the struct. Values pass through
// ParamSpec, so that one place checks types, ranges, choices and names, and words the errors.
template <typename Owner>
struct Setting {
  ParamSpec spec;
  std::function<Json(const Owner&)> get;
  std::function<void(Owner&, const Params&)> set;
  bool is_late = false;

  // Marks a setting that was added after results had been stored. It is not written at its default,
  // so that keys and checkpoints of older runs do not change.
  Setting late() && {
    is_late = true;
    return std::move(*this);
  }

  bool at_default(const Owner& owner) const { return get(owner) == get(Owner()); }
};

template <typename Owner, typename T>
Setting<Owner> number_setting(const char* name, T Owner::*member, const char* help, double min,
                              double max) {
  return {{name, Value(Owner().*member), help, min, max, {}},
          [member](const Owner& owner) { return Json(owner.*member); },
          [member, name](Owner& owner, const Params& params) {
            if constexpr (std::is_same_v<T, double>) {
              owner.*member = params.real(name) + 0.0;  // -0 and 0 are one value
            } else {
              owner.*member = params.integer(name);
            }
          }};
}

template <typename Owner>
Setting<Owner> flag_setting(const char* name, bool Owner::*member, const char* help) {
  return {
      {.name = name, .fallback = Owner().*member, .help = help, .choices = {}},
      [member](const Owner& owner) { return Json(owner.*member); },
      [member, name](Owner& owner, const Params& params) { owner.*member = params.flag(name); }};
}

template <typename Owner>
Setting<Owner> text_setting(const char* name, std::string Owner::*member, const char* help) {
  return {
      {.name = name, .fallback = Owner().*member, .help = help, .choices = {}},
      [member](const Owner& owner) { return Json(owner.*member); },
      [member, name](Owner& owner, const Params& params) { owner.*member = params.text(name); }};
}

template <typename Owner, NamedEnum E>
Setting<Owner> choice_setting(const char* name, E Owner::*member, const char* help) {
  return {{.name = name,
           .fallback = std::string(approx::name(Owner().*member)),
           .help = help,
           .choices = names_of_enum<E>()},
          [member](const Owner& owner) { return Json(approx::name(owner.*member)); },
          [member, name](Owner& owner, const Params& params) {
            owner.*member = parse<E>(params.text(name), name);
          }};
}

// A setting of integers, written as a text such as "60,120,160".
template <typename Owner>
Setting<Owner> list_setting(const char* name, std::vector<int64_t> Owner::*member,
                            const char* help) {
  return {{.name = name, .fallback = std::string(), .help = help, .choices = {}},
          [member](const Owner& owner) {
            return Json(fmt::format("{}", fmt::join(owner.*member, ",")));
          },
          [member, name](Owner& owner, const Params& params) {
            const auto& text = params.text(name);
            owner.*member = text.empty() ? std::vector<int64_t>() : parse_range(text);
          }};
}

template <typename Owner>
std::vector<ParamSpec> specs_of(const std::vector<Setting<Owner>>& settings) {
  std::vector<ParamSpec> specs;
  for (const auto& setting : settings) specs.push_back(setting.spec);
  return specs;
}

// Every setting but late ones at their defaults; with `late_too` every setting.
template <typename Owner>
Json settings_to_json(const Owner& owner, const std::vector<Setting<Owner>>& settings,
                      bool late_too = false) {
  Json json = Json::object();
  for (const auto& setting : settings) {
    if (late_too || !setting.is_late || !setting.at_default(owner)) {
      json[setting.spec.name] = setting.get(owner);
    }
  }
  return json;
}

// The text of one JSON value for Params. Throws Error(kUsage) if the setting cannot have the type
// of the value.
std::string setting_text(const ParamSpec& spec, const Json& value, const std::string& what);

// Reads the settings of `owner` that are in `json`, and keeps the others. Throws Error(kUsage) that
// begins with `what` for an unknown key, a wrong type or a value out of range.
template <typename Owner>
void settings_from_json(const Json& json, Owner& owner, const std::vector<Setting<Owner>>& settings,
                        const std::string& what) {
  if (!json.is_object()) throw usage_error("{}: expected a table, got {}", what, json.type_name());
  Spec given{what, {}};
  for (const auto& [key, value] : json.items()) {
    const auto setting =
        std::find_if(settings.begin(), settings.end(),
                     [&key = key](const auto& known) { return known.spec.name == key; });
    // For an unknown name, Params lists the known ones.
    given.arguments.emplace_back(
        key, setting == settings.end() ? "" : setting_text(setting->spec, value, what));
  }
  const Params params(specs_of(settings), given);
  for (const auto& setting : settings) {
    if (json.contains(setting.spec.name)) setting.set(owner, params);
  }
}

}  // namespace approx
