#include "core/config/layer_selector.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "core/config/slice_union.h"

namespace approx {
namespace {

constexpr size_t kMaxText = 4096;

using What = LayerTerm::What;

// The selectors that have a pattern, by their key.
constexpr std::array kPatterns = std::to_array<std::pair<std::string_view, What>>(
    {{"kind", What::kKind}, {"name", What::kName}, {"block", What::kBlock}});
constexpr std::string_view kPatternTexts = "kind=GLOB, name=GLOB or block=GLOB";

std::string_view key_of(What what) {
  const auto* found =
      std::ranges::find(kPatterns, what, &std::pair<std::string_view, What>::second);
  return found->first;
}

const std::string& text_of(const LayerInfo& layer, What what) {
  return what == What::kKind ? layer.kind : what == What::kName ? layer.name : layer.block;
}

// Said of a term that selects nothing: what there is to select.
std::string available(const LayerTerm& term, const std::vector<LayerInfo>& layers) {
  if (term.what == What::kSlice) {
    const auto convolutions = std::count_if(layers.begin(), layers.end(),
                                            [](const LayerInfo& layer) { return layer.is_conv(); });
    if (convolutions == 0) return "the network has no convolutions";
    return fmt::format("the network has convolutions 1 to {}", convolutions);
  }
  std::vector<std::string> known;
  for (const auto& layer : layers) {
    const auto& text = text_of(layer, term.what);
    if (text.empty()) continue;
    if (std::find(known.begin(), known.end(), text) == known.end()) known.push_back(text);
  }
  if (known.empty()) return "the network has no residual blocks";
  const auto hint = did_you_mean(term.glob, known);
  constexpr size_t kShown = 8;
  const bool more = known.size() > kShown;
  if (more) known.resize(kShown);
  return fmt::format("the network has {}{}{}", fmt::join(known, ", "), more ? ", ..." : "", hint);
}

}  // namespace

bool LayerTerm::matches(const LayerInfo& layer) const {
  switch (what) {
    case What::kSlice:
      return layer.is_conv() && slice.contains(layer.index);
    case What::kKind:
      if (layer.is_conv() && layer.index == 1) return false;
      return fnmatch(glob.c_str(), layer.kind.c_str(), 0) == 0;
    case What::kName:
      return fnmatch(glob.c_str(), layer.name.c_str(), 0) == 0;
    case What::kBlock:
      return !layer.block.empty() && fnmatch(glob.c_str(), layer.block.c_str(), 0) == 0;
  }
  return false;
}

std::string LayerTerm::to_string() const {
  if (what == What::kSlice) return to_text(slice);
  return fmt::format("{}={}", key_of(what), glob);
}

std::vector<LayerTerm> parse_layers(std::string_view text) {
  if (text.size() > kMaxText) {
    throw usage_error("layers: {} characters; at most {}", text.size(), kMaxText);
  }
  std::vector<LayerTerm> terms;
  for (const auto part : split(text, ",+")) {
    const auto term = trim(part);
    const auto equals = term.find('=');
    if (term.empty()) {
      throw usage_error(
          "layers = {}: an empty term; expected start:stop:step, a number, {}, joined by , or +",
          quote(text), kPatternTexts);
    }
    if (equals == std::string_view::npos) {
      Slice slice;
      try {
        slice = parse_slice(term, /*default_start=*/2);
      } catch (const Error& error) {
        const bool is_word = std::any_of(term.begin(), term.end(),
                                         [](unsigned char c) { return std::isalpha(c) != 0; });
        throw usage_error("layers = {}: {}{}{}", quote(text), error.what(), is_word ? ", " : "",
                          is_word ? kPatternTexts : "");
      }
      if (slice.start == 0) {
        throw usage_error("layers = {}: convolutions count from 1; write 1 for the first",
                          quote(text));
      }
      terms.push_back({What::kSlice, slice, ""});
      continue;
    }
    const std::string key{trim(term.substr(0, equals))};
    const std::string glob{trim(term.substr(equals + 1))};
    const auto* const known =
        std::ranges::find(kPatterns, key, &std::pair<std::string_view, What>::first);
    if (known == kPatterns.end()) {
      throw usage_error("layers = {}: unknown selector \"{}\"{}; expected {}", quote(text), key,
                        did_you_mean(key, {"kind", "name", "block"}), kPatternTexts);
    }
    if (glob.empty()) throw usage_error("layers = {}: {}= needs a pattern", quote(text), key);
    terms.push_back({known->second, {}, glob});
  }
  return terms;
}

std::string canonical_layers(std::string_view text) {
  std::vector<Slice> slices;
  std::set<std::string> patterns;
  for (const auto& term : parse_layers(text)) {
    if (term.what == What::kSlice) {
      slices.push_back(term.slice);
    } else {
      patterns.insert(term.to_string());
    }
  }
  std::vector<std::string> terms;
  if (!slices.empty()) {
    for (const auto& slice : canonical_union(slices)) terms.push_back(to_text(slice));
  }
  terms.insert(terms.end(), patterns.begin(), patterns.end());
  return fmt::format("{}", fmt::join(terms, "+"));
}

std::vector<bool> select_layers(std::string_view text, const std::vector<LayerInfo>& layers) {
  std::vector<bool> selected(layers.size(), false);
  for (const auto& term : parse_layers(text)) {
    bool any = false;
    for (size_t i = 0; i < layers.size(); ++i) {
      if (!term.matches(layers[i])) continue;
      selected[i] = true;
      any = true;
    }
    if (!any) {
      throw usage_error("layers = {}: {} matches no layer; {}", quote(text), term.to_string(),
                        available(term, layers));
    }
  }
  return selected;
}

}  // namespace approx
