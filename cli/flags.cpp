#include "cli/flags.h"

#include <algorithm>

#include "base/error.h"
#include "base/numbers.h"

namespace approx {
namespace {

// A callback on the option's text instead of CLI11's own conversions: those read 010 as octal and
// cut numbers that do not fit.
template <typename Parse>
CLI::Option* add_parsed(CLI::App& app, const std::string& flag, const std::string& type,
                        const std::string& help, Parse parse) {
  return app
      .add_option_function<std::string>(
          flag, [flag, parse](const std::string& text) { parse(text, flag); }, help)
      ->type_name(type);
}

}  // namespace

CLI::Option* add_integer(CLI::App& app, const std::string& flag, int64_t& value, int64_t min,
                         int64_t max, const std::string& help) {
  return add_parsed(app, flag, "N", help,
                    [&value, min, max](const std::string& text, const std::string& name) {
                      const auto parsed = parse_integer(text, min, max);
                      if (!parsed) {
                        throw usage_error("{}: \"{}\" is not a whole number from {} to {}", name,
                                          printable(text), min, max);
                      }
                      value = *parsed;
                    });
}

CLI::Option* add_integers(CLI::App& app, const std::string& flag, std::vector<int64_t>& values,
                          int64_t min, int64_t max, const std::string& help) {
  return add_parsed(app, flag, "N,...", help,
                    [&values, min, max](const std::string& text, const std::string& name) {
                      std::vector<int64_t> list;
                      for (const auto& part : split_list(text)) {
                        const auto parsed = parse_integer(part, min, max);
                        if (!parsed) {
                          throw usage_error("{}: \"{}\" is not a whole number from {} to {}", name,
                                            printable(part), min, max);
                        }
                        if (std::find(list.begin(), list.end(), *parsed) != list.end()) {
                          throw usage_error("{}: {} is given twice", name, *parsed);
                        }
                        list.push_back(*parsed);
                      }
                      if (list.empty()) throw usage_error("{}: no number in it", name);
                      values = std::move(list);
                    });
}

CLI::Option* add_real(CLI::App& app, const std::string& flag, double& value, double min, double max,
                      const std::string& help) {
  return add_parsed(app, flag, "X", help,
                    [&value, min, max](const std::string& text, const std::string& name) {
                      const auto parsed = parse_real(text, min, max);
                      if (!parsed) {
                        throw usage_error("{}: \"{}\" is not a number from {} to {}", name,
                                          printable(text), min, max);
                      }
                      value = *parsed;
                    });
}

CLI::Option* add_choice(CLI::App& app, const std::string& flag, std::string& value,
                        const std::vector<std::string>& choices, const std::string& help) {
  return add_parsed(app, flag, fmt::format("{}", fmt::join(choices, "|")), help,
                    [&value, choices](const std::string& text, const std::string& name) {
                      if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
                        throw usage_error("{}: unknown value \"{}\"{}; expected {}", name,
                                          printable(text), did_you_mean(text, choices),
                                          fmt::join(choices, ", "));
                      }
                      value = text;
                    });
}

CLI::Option* add_duration(CLI::App& app, const std::string& flag, Nanoseconds& value,
                          const std::string& help) {
  return add_parsed(app, flag, "TIME", help,
                    [&value](const std::string& text, const std::string& name) {
                      value = parse_duration(text, name);
                    });
}

}  // namespace approx
