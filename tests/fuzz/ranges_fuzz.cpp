// Short texts of files and flags: ranges, slices, layer selectors, positions, durations, sizes and
// lists.
#include "base/range.h"
#include "cli/text.h"
#include "core/config/layer_selector.h"
#include "core/config/position.h"
#include "core/config/slice.h"
#include "tests/core/config/test_catalogue.h"
#include "tests/fuzz/fuzz.h"

namespace approx::fuzz {
namespace {

constexpr ErrorKind kRefused = ErrorKind::kUsage;

void check_slice(std::string_view text) {
  accepted(kRefused, [&] {
    const Slice slice = parse_slice(text, /*default_start=*/2);
    expect(slice.step >= 1 && slice.start >= 0, "a slice goes forward from 0 on");
    expect(parse_slice(to_text(slice), 0) == slice, "a slice as text and back is the same");
    slice.contains(INT64_MAX);
  });
}

void check_layers(std::string_view text) {
  accepted(kRefused, [&] {
    std::string again;
    for (const auto& term : parse_layers(text)) {
      again += (again.empty() ? "" : ",") + term.to_string();
    }
    std::string twice;
    for (const auto& term : parse_layers(again)) {
      twice += (twice.empty() ? "" : ",") + term.to_string();
    }
    expect(again == twice, "layers have one spelling");
  });
  accepted(kRefused, [&] { select_layers(text, test_catalogue().network("resnet20").layers); });
}

void check_position(std::string_view text) {
  accepted(kRefused, [&] {
    const Position position = parse_position(text);
    expect(parse_position(to_text(position)) == position, "a position as text and back");
    expect(position.step(1000, 100'000) >= 0, "a position lies in the training or behind it");
  });
}

}  // namespace

void run(Bytes input) {
  const auto text = text_of(input);
  accepted(kRefused, [&] {
    expect(parse_range(text).size() <= 1'000'000, "a range has at most a million values");
  });
  accepted(kRefused, [&] {
    const auto values = range_values(text);
    expect(!values.empty() && values.size() <= kMaxRangeValues, "a range has a thousand values");
    for (const auto& value : values) {
      if (values.size() == 1) break;
      expect(range_values(value) == std::vector{value}, "a value of a range is no range");
    }
  });
  check_slice(text);
  accepted(kRefused, [&] { parse_steps(text); });
  check_layers(text);
  check_position(text);
  accepted(kRefused, [&] {
    const auto duration = parse_duration(text, "--timeout");
    expect(duration.count() >= 0, "a duration is not negative");
    format_duration(duration);
  });
  accepted(kRefused, [&] { format_size(parse_size(text, "--memory")); });
  const std::string shown = printable(text);
  expect(printable(shown) == shown, "what was made printable is");
  expect(shown.find('\n') == std::string::npos, "what was made printable is one line");
  split_list(text);
  split_methods(std::string(text));
}

std::vector<Buffer> seeds() {
  std::vector<Buffer> all;
  for (const char* text : {"0-9",
                           "1,2,5-7",
                           "0-99+10",
                           "1-1024*2",
                           "-1",
                           "0.1-0.9+0.2",
                           "1e-05-1e-02*10",
                           "-3--1+0.5",
                           "::1",
                           "2::4",
                           "3:10:2",
                           "5",
                           "0:1000",
                           "kind=conv3x3",
                           "name=stage*.conv[12]",
                           "1,3+kind=linear",
                           "name=fc",
                           "300ba",
                           "10ep",
                           "0.25dur",
                           "plateau:patience=5,delta=0.001",
                           "plateau",
                           "90",
                           "30m",
                           "1.5h",
                           "250ms",
                           "512M",
                           "1.5GiB",
                           "topk_position:k=1,scale=none,zero",
                           "a, b,c",
                           "\xc3\xa4\xff\x1b[0m"}) {
    all.push_back(buffer_of(text));
  }
  return all;
}

}  // namespace approx::fuzz
