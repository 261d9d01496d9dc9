#include "kernels/cudnn/engines.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"

namespace approx::cudnn {
namespace {

constexpr int kFormat = 1;

std::string_view element_text(ElementType element) {
  switch (element) {
    case ElementType::kHalf:
      return "fp16";
    case ElementType::kBFloat16:
      return "bf16";
    case ElementType::kFloat:
    case ElementType::kDouble:
    case ElementType::kOther:
      break;
  }
  return "float";
}

Json json_of(const EngineChoice& choice) {
  Json knobs = Json::array();
  for (const auto& [type, value] : choice.config.knobs) knobs.push_back({type, value});
  return {{"engine", choice.config.engine},
          {"knobs", knobs},
          {"workspace", choice.workspace},
          {"ns", choice.ns},
          {"second_ns", choice.second_ns},
          {"timed", choice.timed},
          {"not_admitted", choice.not_admitted},
          {"not_buildable", choice.not_buildable},
          {"library_ns", choice.library_ns ? Json(*choice.library_ns) : Json(nullptr)}};
}

// Throws nlohmann's exceptions.
EngineChoice choice_of(const Json& json) {
  EngineChoice choice;
  choice.config.engine = json.at("engine").get<int64_t>();
  for (const auto& knob : json.at("knobs")) {
    choice.config.knobs.push_back({knob.at(0).get<int64_t>(), knob.at(1).get<int64_t>()});
  }
  choice.workspace = json.at("workspace").get<int64_t>();
  choice.ns = json.at("ns").get<double>();
  choice.second_ns = json.value("second_ns", 0.0);
  choice.timed = json.value("timed", int64_t{0});
  choice.not_admitted = json.value("not_admitted", int64_t{0});
  choice.not_buildable = json.value("not_buildable", int64_t{0});
  const auto& library = json.at("library_ns");
  if (!library.is_null()) choice.library_ns = library.get<double>();
  return choice;
}

}  // namespace

std::string text_of(const EngineChoice& choice) {
  return fmt::format("{}, the fastest of {} of cuDNN's; {} not admitted, {} not buildable",
                     text_of(choice.config), choice.timed, choice.not_admitted,
                     choice.not_buildable);
}

std::optional<EngineChoice> fastest_engine(const Convolution& convolution, bool tf32,
                                           const TimePlan& time) {
  EngineChoice best;
  const auto offer = convolution.offered(tf32);
  best.not_admitted = offer.left_out;
  for (const auto& config : offer.configs) {
    try {
      const Plan plan(convolution, config);
      if (plan.workspace() > kMostWorkspace) {
        ++best.not_buildable;
        continue;
      }
      const double ns = time(plan);
      const bool first = best.timed++ == 0;
      if (!first && ns >= best.ns) {
        if (best.second_ns == 0 || ns < best.second_ns) best.second_ns = ns;
        continue;
      }
      best.second_ns = first ? 0 : best.ns;
      best.ns = ns;
      best.config = config;
      best.workspace = plan.workspace();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kDevice) throw;
      ++best.not_buildable;
    }
  }
  return best.timed == 0 ? std::nullopt : std::optional(best);
}

std::string key_of(const Problem& p, bool tf32) {
  const auto& g = p.geometry;
  return fmt::format(
      "{} {}{} n{} c{} {}x{} k{} {}x{} taps {}x{} stride {}x{} padding {}x{} dilation {}x{} groups "
      "{}",
      name(p.product), element_text(p.element), tf32 ? " tf32" : "", p.n, p.ci, p.h, p.w, p.co,
      p.ho, p.wo, p.kh, p.kw, g.stride.h, g.stride.w, g.padding.h, g.padding.w, g.dilation.h,
      g.dilation.w, g.groups);
}

const EngineChoice* EngineChoices::find(const std::string& key) const {
  const auto found = choices_.find(key);
  return found == choices_.end() ? nullptr : &found->second;
}

std::string EngineChoices::text() const {
  Json json = {{"schema", fmt::format("approxtrain.cudnn/{}", kFormat)},
               {"place", place_},
               {"choices", Json::object()}};
  for (const auto& [key, choice] : choices_) json["choices"][key] = json_of(choice);
  return json_text(json, 1) + "\n";
}

void EngineChoices::read(std::string_view text, const std::string& name) {
  try {
    const Json json = Json::parse(text);
    const auto schema = json.at("schema").get<std::string>();
    if (schema != fmt::format("approxtrain.cudnn/{}", kFormat)) {
      throw usage_error("{}: {} is no list of cuDNN's engines that is known here", name, schema);
    }
    if (json.at("place").get<std::string>() != place_) return;
    for (const auto& [key, choice] : json.at("choices").items()) keep(key, choice_of(choice));
  } catch (const Json::exception&) {
    throw usage_error("{}: not a list of cuDNN's engines, as bench-kernel writes it", name);
  }
}

}  // namespace approx::cudnn
