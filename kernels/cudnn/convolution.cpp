#include "kernels/cudnn/convolution.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"

namespace approx::cudnn {
namespace {

// The names of the three tensors in a graph.
constexpr int64_t kX = 1, kW = 2, kY = 3;

DataType data_type(ElementType element) {
  switch (element) {
    case ElementType::kHalf:
      return DataType::kHalf;
    case ElementType::kBFloat16:
      return DataType::kBFloat16;
    case ElementType::kFloat:
    case ElementType::kDouble:
    case ElementType::kOther:
      break;
  }
  return DataType::kFloat;
}

Owned tensor_of(const std::shared_ptr<const Library>& library, int64_t id, DataType type,
                const std::vector<int64_t>& sizes) {
  constexpr int64_t kAlignment = 16;
  const int64_t c = sizes[1], h = sizes[2], w = sizes[3];
  Owned tensor(library, Kind::kTensor);
  tensor.set_one(Attribute::kTensorType, Type::kDataType, type);
  tensor.set(Attribute::kTensorSizes, Type::kInt64, sizes);
  tensor.set(Attribute::kTensorStrides, Type::kInt64, std::vector<int64_t>{h * w * c, 1, w * c, c});
  tensor.set_one(Attribute::kTensorId, Type::kInt64, id);
  tensor.set_one(Attribute::kTensorAlignment, Type::kInt64, kAlignment);
  tensor.finalize("a tensor");
  return tensor;
}

Owned convolution_of(const std::shared_ptr<const Library>& library, const Geometry& g) {
  const auto pair = [](const Spatial& s) { return std::vector<int64_t>{s.h, s.w}; };
  Owned convolution(library, Kind::kConvolution);
  convolution.set_one(Attribute::kConvolutionComputesIn, Type::kDataType, DataType::kFloat);
  convolution.set_one(Attribute::kConvolutionMode, Type::kConvolutionMode,
                      ConvolutionMode::kCrossCorrelation);
  convolution.set_one(Attribute::kConvolutionDimensions, Type::kInt64, int64_t{2});
  convolution.set(Attribute::kConvolutionStrides, Type::kInt64, pair(g.stride));
  convolution.set(Attribute::kConvolutionDilations, Type::kInt64, pair(g.dilation));
  convolution.set(Attribute::kConvolutionPaddingBefore, Type::kInt64, pair(g.padding));
  convolution.set(Attribute::kConvolutionPaddingAfter, Type::kInt64, pair(g.padding));
  convolution.finalize("a convolution");
  return convolution;
}

// Under which names an operation has its parts.
struct OperationNames {
  Kind kind;
  Attribute convolution, x, w, y, alpha, beta;
};

OperationNames names_of(Product product) {
  switch (product) {
    case Product::kForward:
      return {Kind::kForward,         Attribute::kForwardConvolution, Attribute::kForwardX,
              Attribute::kForwardW,   Attribute::kForwardY,           Attribute::kForwardAlpha,
              Attribute::kForwardBeta};
    case Product::kDataGradient:
      return {Kind::kDataGradient, Attribute::kDataConvolution, Attribute::kDataDx,
              Attribute::kDataW,   Attribute::kDataDy,          Attribute::kDataAlpha,
              Attribute::kDataBeta};
    case Product::kWeightGradient:
      break;
  }
  return {Kind::kWeightGradient, Attribute::kWeightConvolution, Attribute::kWeightX,
          Attribute::kWeightDw,  Attribute::kWeightDy,          Attribute::kWeightAlpha,
          Attribute::kWeightBeta};
}

// Tensors x, w and y, the convolution, and the operation that refers to them.
std::vector<Owned> parts_of(const std::shared_ptr<const Library>& library, const Problem& p) {
  const DataType type = data_type(p.element);
  std::vector<Owned> parts;
  parts.push_back(tensor_of(library, kX, type, {p.n, p.ci, p.h, p.w}));
  parts.push_back(tensor_of(library, kW, type, {p.co, p.group_inputs(), p.kh, p.kw}));
  parts.push_back(tensor_of(library, kY, type, {p.n, p.co, p.ho, p.wo}));
  parts.push_back(convolution_of(library, p.geometry));
  const OperationNames names = names_of(p.product);
  Owned operation(library, names.kind);
  operation.set_descriptor(names.x, parts[0]);
  operation.set_descriptor(names.w, parts[1]);
  operation.set_descriptor(names.y, parts[2]);
  operation.set_descriptor(names.convolution, parts[3]);
  operation.set_one(names.alpha, Type::kFloat, 1.0f);
  operation.set_one(names.beta, Type::kFloat, 0.0f);
  operation.finalize(name(p.product));
  parts.push_back(std::move(operation));
  return parts;
}

// Empty but where a device is described: the description.
std::vector<Owned> described(const std::shared_ptr<const Library>& library, const Target& target) {
  std::vector<Owned> device;
  if (target.handle != nullptr || target.description.empty()) return device;
  Owned properties(library, Kind::kDeviceProperties);
  std::vector<char> text(target.description.begin(), target.description.end());
  text.push_back('\0');
  properties.set(Attribute::kDeviceText, Type::kChar, text);
  properties.finalize("the description of a device");
  device.push_back(std::move(properties));
  return device;
}

Owned graph_of(const std::shared_ptr<const Library>& library, const Owned& operation,
               const Target& target) {
  Owned graph(library, Kind::kOperationGraph);
  graph.set_descriptor(Attribute::kGraphOperations, operation);
  if (target.handle != nullptr)
    graph.set_one(Attribute::kGraphHandle, Type::kHandle, target.handle);
  graph.finalize("a graph of one operation");
  return graph;
}

// How an engine's knobs are set in a configuration.
std::vector<EngineConfig::Knob> knobs_of(const Owned& config) {
  std::vector<EngineConfig::Knob> knobs;
  for (const auto& choice : config.descriptors(Attribute::kConfigKnobs, Kind::kKnobChoice)) {
    const auto type = choice.values<int>(Attribute::kKnobType, Type::kKnobType, 1);
    const auto value = choice.values<int64_t>(Attribute::kKnobValue, Type::kInt64, 1);
    if (!type.empty() && !value.empty()) knobs.push_back({type[0], value[0]});
  }
  return knobs;
}

}  // namespace

std::string text_of(const EngineConfig& config) {
  std::string text = fmt::format("engine {}", config.engine);
  const char* separator = ": ";
  for (const auto& [type, value] : config.knobs) {
    text += fmt::format("{}{}={}", std::exchange(separator, " "), type, value);
  }
  return text;
}

bool is_admissible(const std::vector<Note>& notes, ElementType element, bool tf32) {
  const auto has = [&](Note note) { return std::ranges::find(notes, note) != notes.end(); };
  if (has(Note::kNondeterministic) || has(Note::kAddsInLowPrecision)) return false;
  if (element != ElementType::kFloat) return true;
  return !has(Note::kConvertsInputsDown) && (tf32 || !has(Note::kTensorCore));
}

Convolution::Convolution(std::shared_ptr<const Library> library, const Problem& problem,
                         Target target)
    : library_(std::move(library)),
      problem_(problem),
      target_(std::move(target)),
      parts_(parts_of(library_, problem_)),
      graph_(graph_of(library_, parts_.back(), target_)) {}

Owned Convolution::engine_of(int64_t engine) const {
  Owned owned(library_, Kind::kEngine);
  owned.set_descriptor(Attribute::kEngineGraph, graph_);
  owned.set_one(Attribute::kEngineIndex, Type::kInt64, engine);
  for (const auto& device : described(library_, target_)) {
    owned.set_descriptor(Attribute::kEngineDevice, device);
  }
  return owned;
}

Convolution::Notes Convolution::notes_of(int64_t engine) const {
  constexpr int64_t kMostNotes = 64;
  Owned owned = engine_of(engine);
  if (!owned.can_finalize()) return {};
  return {true, owned.values<Note>(Attribute::kEngineNotes, Type::kNote, kMostNotes)};
}

std::vector<EngineConfig> Convolution::suggested(HeuristicsMode mode) const {
  const auto device = described(library_, target_);
  Owned heuristics(library_, Kind::kHeuristics);
  heuristics.set_descriptor(Attribute::kHeuristicsGraph, graph_);
  heuristics.set_one(Attribute::kHeuristicsMode, Type::kHeuristicsMode, mode);
  for (const auto& one : device) heuristics.set_descriptor(Attribute::kHeuristicsDevice, one);
  // A mode that has nothing for such a product is none the less one that others may follow.
  if (!heuristics.can_finalize()) return {};
  std::vector<EngineConfig> configs;
  for (const auto& config :
       heuristics.descriptors(Attribute::kHeuristicsResults, Kind::kEngineConfig)) {
    for (const auto& engine : config.descriptors(Attribute::kConfigEngine, Kind::kEngine)) {
      const auto index = engine.values<int64_t>(Attribute::kEngineIndex, Type::kInt64, 1);
      if (!index.empty()) configs.push_back({index[0], knobs_of(config)});
    }
  }
  return configs;
}

Convolution::Offer Convolution::offered(bool tf32) const {
  std::vector<EngineConfig> all;
  std::set<int64_t> engines;
  for (const auto mode : {HeuristicsMode::kA, HeuristicsMode::kB, HeuristicsMode::kFallback}) {
    for (auto& config : suggested(mode)) {
      engines.insert(config.engine);
      all.push_back(std::move(config));
    }
  }
  const auto count = graph_.values<int64_t>(Attribute::kGraphEngines, Type::kInt64, 1);
  for (int64_t engine = 0; !count.empty() && engine < count[0]; ++engine) {
    if (engines.insert(engine).second) all.push_back({engine, {}});
  }
  Offer offer;
  std::set<EngineConfig> seen;
  std::set<int64_t> admitted, refused;
  for (const int64_t engine : engines) {
    const Notes notes = notes_of(engine);
    if (!notes.supported) continue;
    (is_admissible(notes.notes, problem_.element, tf32) ? admitted : refused).insert(engine);
  }
  for (auto& config : all) {
    if (!seen.insert(config).second) continue;
    offer.left_out += refused.contains(config.engine) ? 1 : 0;
    if (admitted.contains(config.engine)) offer.configs.push_back(std::move(config));
  }
  return offer;
}

Plan::Plan(const Convolution& convolution, const EngineConfig& config)
    : library_(convolution.library_), plan_(library_, Kind::kExecutionPlan) {
  const auto what = text_of(config);
  parts_.push_back(convolution.engine_of(config.engine));
  parts_.front().finalize(what);
  Owned set(library_, Kind::kEngineConfig);
  set.set_descriptor(Attribute::kConfigEngine, parts_.front());
  std::vector<Descriptor> choices;
  for (const auto& [type, value] : config.knobs) {
    Owned choice(library_, Kind::kKnobChoice);
    choice.set_one(Attribute::kKnobType, Type::kKnobType, static_cast<int>(type));
    choice.set_one(Attribute::kKnobValue, Type::kInt64, value);
    choice.finalize(what);
    choices.push_back(choice.get());
    parts_.push_back(std::move(choice));
  }
  if (!choices.empty()) set.set(Attribute::kConfigKnobs, Type::kDescriptor, choices);
  set.finalize(what);
  const Target& target = convolution.target_;
  if (target.handle != nullptr) plan_.set_one(Attribute::kPlanHandle, Type::kHandle, target.handle);
  for (auto& device : described(library_, target)) {
    plan_.set_descriptor(Attribute::kPlanDevice, device);
    parts_.push_back(std::move(device));
  }
  plan_.set_descriptor(Attribute::kPlanConfig, set);
  plan_.finalize(what);
  parts_.push_back(std::move(set));
  const auto bytes = plan_.values<int64_t>(Attribute::kPlanWorkspace, Type::kInt64, 1);
  workspace_ = bytes.empty() ? 0 : bytes[0];
}

void Plan::run(Handle handle, const Memory& memory) const {
  Owned pack(library_, Kind::kVariantPack);
  pack.set(Attribute::kPackIds, Type::kInt64, std::vector<int64_t>{kX, kW, kY});
  pack.set(Attribute::kPackPointers, Type::kPointer,
           std::vector<const void*>{memory.x, memory.w, memory.y});
  pack.set_one(Attribute::kPackWorkspace, Type::kPointer, memory.workspace);
  pack.finalize("what a plan computes on");
  library_->check(library_->call.execute(handle, plan_.get(), pack.get()), "a plan");
}

}  // namespace approx::cudnn
