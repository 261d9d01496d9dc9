#include "cli/flags.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/numbers.h"
#include "base/range.h"

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

// What stands between commas, each value of a range, none twice. `parse` throws for what is no
// number.
template <typename Number, typename Parse>
std::vector<Number> numbers_in(const std::string& text, const std::string& name,
                               const Parse& parse) {
  std::vector<Number> list;
  std::vector<std::string> parts;
  for (const auto& piece : split_list(text)) {
    try {
      for (auto& part : range_values(piece)) parts.push_back(std::move(part));
    } catch (const Error& error) {
      throw error.in(name);
    }
  }
  for (const auto& part : parts) {
    const Number number = parse(part);
    if (std::find(list.begin(), list.end(), number) != list.end()) {
      throw usage_error("{}: {} is given twice", name, number);
    }
    list.push_back(number);
  }
  if (list.empty()) throw usage_error("{}: no number in it", name);
  return list;
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
                      values = numbers_in<int64_t>(text, name, [&](const std::string& part) {
                        const auto parsed = parse_integer(part, min, max);
                        if (parsed) return *parsed;
                        throw usage_error("{}: \"{}\" is not a whole number from {} to {}", name,
                                          printable(part), min, max);
                      });
                    });
}

CLI::Option* add_reals(CLI::App& app, const std::string& flag, std::vector<double>& values,
                       double min, double max, const std::string& help) {
  return add_parsed(app, flag, "X,...", help,
                    [&values, min, max](const std::string& text, const std::string& name) {
                      values = numbers_in<double>(text, name, [&](const std::string& part) {
                        const auto parsed = parse_real(part, min, max);
                        if (parsed) return *parsed;
                        throw usage_error("{}: \"{}\" is not a number from {} to {}", name,
                                          printable(part), min, max);
                      });
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

CLI::Option* add_size(CLI::App& app, const std::string& flag, int64_t& bytes,
                      const std::string& help) {
  return add_parsed(app, flag, "SIZE", help,
                    [&bytes](const std::string& text, const std::string& name) {
                      bytes = parse_size(text, name);
                    });
}

CLI::Option* add_duration(CLI::App& app, const std::string& flag, Nanoseconds& value,
                          const std::string& help) {
  return add_parsed(app, flag, "TIME", help,
                    [&value](const std::string& text, const std::string& name) {
                      value = parse_duration(text, name);
                    });
}

CLI::Option* add_require_clean(CLI::App& app, bool& value) {
  return app.add_flag("--require-clean", value,
                      "start nothing if the program was built from uncommitted sources, or if its "
                      "experiment files have changed since. Such results are marked as dirty in "
                      "reports");
}

}  // namespace approx
