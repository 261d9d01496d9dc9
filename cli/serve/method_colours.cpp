#include "cli/serve/method_colours.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <string_view>

namespace approx {
namespace {

// As base_colour() in plots/style.gp.
constexpr std::array<uint32_t, 8> kHues = {0x0072B2, 0xD55E00, 0x009E73, 0xCC79A7,
                                           0xE69F00, 0x56B4E9, 0x000000, 0x8C6D46};
constexpr size_t kLongest = 60;  // characters of a label that count

bool says(std::string_view label, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](auto word) { return label.find(word) != label.npos; });
}

bool begins(std::string_view label, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](auto word) { return label.starts_with(word); });
}

// letter_sum() there.
size_t letter_sum(std::string_view label) {
  constexpr std::string_view kLetters =
      "_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  size_t sum = 0;
  for (size_t i = std::min(label.size(), kLongest); i-- > 0;) {
    const size_t at = kLetters.find(label[i]);
    sum = (7 * sum + (at == kLetters.npos ? 0 : at + 1)) % 6;
  }
  return sum;
}

uint32_t hue(std::string_view label) {
  const size_t place =
      begins(label, {"dense", "Dense", "exact", "Exact", "Baseline", "Full Gradient"}) ? 7
      : says(label, {"random", "Random", "Rnd."})                                      ? 6
      : says(label, {"zero", "Zero", "No weight gradient"})                            ? 2
      : says(label, {"position", "Approx"})                                            ? 1
      : says(label, {"tochastic", "p = "})                                             ? 3
      : says(label, {"sdgp", "2:4", "Mag.", "n = ", "m/n"})                            ? 5
      : says(label, {"Top-k", "topk", "CRS", "crs"})                                   ? 4
      : says(label, {"meprop", "meProp", "smaller", ", exact"})                        ? 8
                                                                : letter_sum(label) + 1;
  return kHues[place - 1];
}

size_t digit_sum(std::string_view label) {
  size_t sum = 0;
  for (const char c : label.substr(0, kLongest)) {
    if (c >= '1' && c <= '9') sum += static_cast<size_t>(c - '0');
  }
  return sum;
}

uint32_t blended(uint32_t colour, uint32_t with, double share) {
  uint32_t out = 0;
  for (const int shift : {16, 8, 0}) {
    const double part = colour >> shift & 0xFF;
    out |= static_cast<uint32_t>(part + (with - part) * share) << shift;
  }
  return out;
}

uint32_t shade(uint32_t colour, size_t k) {
  const size_t which = k % 3;
  if (which == 0) return colour;
  if (colour == 0) return blended(colour, 255, 0.2 + 0.15 * static_cast<double>(which));
  return which == 1 ? blended(colour, 0, 0.4) : blended(colour, 255, 0.3);
}

}  // namespace

std::map<std::string, std::string> method_colours(const std::vector<std::string>& labels) {
  std::map<std::string, std::string> colours;
  std::set<uint32_t> taken;
  for (const auto& label : labels) {
    if (colours.contains(label)) continue;
    uint32_t tint = 0;
    for (size_t k = 0; k < 4; ++k) {
      tint = shade(hue(label), k + digit_sum(label));
      if (!taken.contains(tint)) break;
    }
    taken.insert(tint);
    colours[label] = fmt::format("#{:06x}", tint);
  }
  return colours;
}

}  // namespace approx
