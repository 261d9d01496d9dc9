// Numbers as they are reported and read: a paper's numbers and layout ([report] of an experiment),
// items that are no trainings, parameters `name:key=value`, targets, quantities, and the table of
// kernel rules.
#include <cmath>

#include "base/numbers.h"
#include "core/experiment/experiment.h"
#include "core/experiment/toml_source.h"
#include "products/rules.h"
#include "tests/core/config/test_catalogue.h"
#include "tests/fuzz/fuzz.h"

namespace approx::fuzz {
namespace {

constexpr ErrorKind kRefused = ErrorKind::kUsage;

void check_params(std::string_view text) {
  accepted(kRefused, [&] {
    const auto params = test_catalogue().method_params(text);
    const std::string full = params.full_text();
    expect(test_catalogue().method_params(full).full_text() == full,
           "parameters have one full text");
    expect(test_catalogue().method_params(params.to_string()).full_text() == full,
           "defaults spelled out and left out are the same");
  });
  accepted(kRefused, [&] { test_catalogue().network_params(text); });
}

void check_numbers(std::string_view text) {
  if (const auto integer = parse_integer(text)) {
    expect(parse_integer(fmt::format("{}", *integer)) == integer, "an integer as text and back");
  }
  if (const auto real = parse_real(text)) {
    expect(std::isfinite(*real), "a number is finite");
    expect(parse_real(shortest(*real)) == real, "a number as text and back");
  }
  if (const auto quantity = parse_quantity(text)) {
    expect(std::isfinite(quantity->value), "a quantity is finite");
    expect(text.ends_with(quantity->unit), "a unit is the rest of the text");
  }
  if (const auto target = parse_target(text)) {
    expect(target->value > 0 && target->value <= 1, "a target is a share");
  }
  special_value(text);
}

void check_rules(std::string_view text) {
  accepted(kRefused, [&] {
    const KernelRules rules(text, "x");
    expect(KernelRules(text_of(rules.rows()), "again").rows() == rules.rows(),
           "rules as text and back are the same");
  });
}

void check_report(std::string_view text) {
  accepted(kRefused, [&] {
    const TomlSource source("x.toml", text);
    const auto report = read_item_report(source);
    for (const auto& value : report.values) {
      for (const auto& row : value.paper) {
        for (const auto& number : row) {
          expect(!number.value || std::isfinite(*number.value), "a paper's number is finite");
        }
      }
    }
    to_json_value(source.root()).dump();
  });
  for (const auto& [key, read] :
       std::initializer_list<std::pair<const char*, void (*)(const TomlSource&)>>{
           {"study", [](const TomlSource& source) { read_study_item(source); }},
           {"kernels", [](const TomlSource& source) { read_kernel_item(source); }}}) {
    accepted(kRefused, [&, key = key, read = read] {
      const TomlSource source("x.toml", text);
      if (source.root().contains(key)) read(source);
    });
  }
}

}  // namespace

void run(Bytes input) {
  const auto text = text_of(input);
  check_params(text);
  check_numbers(text);
  check_rules(text);
  check_report(text);
}

std::vector<Buffer> seeds() {
  std::vector<Buffer> all;
  for (const char* text :
       {"topk_position:k=1,scale=none", "random:std=0.0078125", "zero:freeze=true", "sampler",
        "resnet20", " meprop : k = 3 ", "91.8", "-1e-5", "nan", "0.25dur", "accuracy>=0.915",
        "+inf", "9223372036854775807",
        "[study]\nname = \"matmul_error\"\nmethod = [\"zero\"]\nparams = {n = 3, eps = 0.5, on = "
        "true, text = \"x\"}\n",
        "[kernels]\nop = \"forward\"\nshape = [\"8x3x32k3\"]\nmethod = \"zero\"\nthreads = "
        "2\nrepetitions = 5\n",
        "[report]\nitem = \"Table 5\"\nkind = \"table\"\nrows = \"method\"\ncolumns = "
        "\"schedule\"\nfinding = \"x\"\nmargin = 0.5\nlabels = [\"a\"]\n[[report.departs]]\nmethod "
        "= \"zero\"\nreason = \"y\"\n[[report.value]]\nquantity = \"accuracy\"\ndefinition = "
        "\"final\"\nunit = \"%\"\nbasis = \"measured-e2e\"\ntolerance = 0.3\nn_runs = 5\npaper = "
        "[[91.8], [90.3, 91, \"-\"]]\nprinted = [[\"91.8 %\"], [\"\", \"\", \"\"]]\n",
        "[report]\nvalue = {quantity = \"speedup\", unit = \"x\", against = \"a\", hardware = "
        "\"h\", note = \"n\"}\npaper = [1.5, 2]\n"}) {
    all.push_back(buffer_of(text));
  }
  all.push_back(buffer_of(builtin_kernel_rules_text()));
  return all;
}

}  // namespace approx::fuzz
