// A cuDNN for tests (kernels/cudnn/): descriptors that must be whole before they are finalized, and
// engines whose notes and faults are those of the table below. What it was asked to run is told by
// the functions at its end.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "kernels/cudnn/interface.h"

namespace {

using approx::cudnn::Attribute;
using approx::cudnn::HeuristicsMode;
using approx::cudnn::Kind;
using approx::cudnn::Note;

struct Engine {
  std::vector<Note> notes;
  int64_t workspace = 0;
  bool is_supported = true, builds = true, runs = true;
};

const std::vector<Engine> kEngines = {
    {.notes = {}},
    {.notes = {Note::kTensorCore}},
    {.notes = {Note::kTensorCore, Note::kConvertsInputsDown}},
    {.notes = {Note::kNondeterministic}},
    {.notes = {Note::kAddsInLowPrecision}},
    {.notes = {}, .workspace = int64_t{2} << 30},
    {.notes = {}, .builds = false},
    {.notes = {}, .runs = false},
    {.notes = {}, .is_supported = false},
    {.notes = {}, .workspace = 4096},  // that no heuristics name
};

struct Suggestion {
  int64_t engine;
  std::vector<std::pair<int, int64_t>> knobs;
};
const std::map<int, std::vector<Suggestion>> kSuggested = {
    {static_cast<int>(HeuristicsMode::kA),
     {{1, {{2, 8}, {13, 1}}}, {0, {{2, 1}}}, {2, {}}, {3, {}}, {4, {}}, {5, {}}, {6, {}}}},
    {static_cast<int>(HeuristicsMode::kB), {{1, {{2, 8}, {13, 1}}}, {1, {{2, 4}, {13, 1}}}}},
    {static_cast<int>(HeuristicsMode::kFallback), {{7, {}}, {0, {{2, 1}}}, {0, {{2, 2}}}, {8, {}}}},
};

constexpr int kNotSupported = 3000, kBadParameter = 2000, kNotFinalized = 2004, kFailed = 5000;

struct Node {
  Kind kind;
  bool finalized = false;
  std::map<int, std::vector<unsigned char>> values;
  std::map<int, int64_t> counts;

  template <typename Value>
  std::vector<Value> of(Attribute attribute) const {
    const auto found = values.find(static_cast<int>(attribute));
    if (found == values.end()) return {};
    // Values may be pointers. NOLINTNEXTLINE(bugprone-sizeof-expression)
    std::vector<Value> list(found->second.size() / sizeof(Value));
    std::memcpy(list.data(), found->second.data(), found->second.size());
    return list;
  }
  Node* part(Attribute attribute) const {
    const auto list = of<Node*>(attribute);
    return list.empty() ? nullptr : list[0];
  }
};

std::string said;                 // of the last error
int64_t living = 0, handles = 0;  // descriptors, handles
std::vector<std::string> ran;     // engines and knobs
void* stream_set = nullptr;

int fail(int status, const std::string& text) {
  said = text;
  return status;
}

size_t size_of(int type) {
  switch (static_cast<approx::cudnn::Type>(type)) {
    case approx::cudnn::Type::kChar:
      return 1;
    case approx::cudnn::Type::kDataType:
    case approx::cudnn::Type::kFloat:
    case approx::cudnn::Type::kConvolutionMode:
    case approx::cudnn::Type::kHeuristicsMode:
    case approx::cudnn::Type::kKnobType:
    case approx::cudnn::Type::kNote:
      return 4;
    default:
      return 8;
  }
}

const Engine& engine_of(const Node& node) {
  return kEngines[static_cast<size_t>(node.of<int64_t>(Attribute::kEngineIndex).at(0))];
}

// What an object must have before it is one.
std::vector<Attribute> needed(Kind kind) {
  using A = Attribute;
  switch (kind) {
    case Kind::kTensor:
      return {A::kTensorType, A::kTensorSizes, A::kTensorStrides, A::kTensorId,
              A::kTensorAlignment};
    case Kind::kConvolution:
      return {A::kConvolutionComputesIn, A::kConvolutionMode,         A::kConvolutionDimensions,
              A::kConvolutionStrides,    A::kConvolutionPaddingAfter, A::kConvolutionPaddingBefore,
              A::kConvolutionDilations};
    case Kind::kForward:
      return {A::kForwardAlpha, A::kForwardBeta, A::kForwardConvolution,
              A::kForwardW,     A::kForwardX,    A::kForwardY};
    case Kind::kDataGradient:
      return {A::kDataAlpha, A::kDataBeta, A::kDataConvolution, A::kDataW, A::kDataDx, A::kDataDy};
    case Kind::kWeightGradient:
      return {A::kWeightAlpha, A::kWeightBeta, A::kWeightConvolution,
              A::kWeightDw,    A::kWeightX,    A::kWeightDy};
    case Kind::kOperationGraph:
      return {A::kGraphOperations};
    case Kind::kHeuristics:
      return {A::kHeuristicsGraph, A::kHeuristicsMode};
    case Kind::kEngine:
      return {A::kEngineGraph, A::kEngineIndex};
    case Kind::kEngineConfig:
      return {A::kConfigEngine};
    case Kind::kKnobChoice:
      return {A::kKnobType, A::kKnobValue};
    case Kind::kExecutionPlan:
      return {A::kPlanConfig, A::kPlanHandle};
    case Kind::kVariantPack:
      return {A::kPackIds, A::kPackPointers, A::kPackWorkspace};
    case Kind::kDeviceProperties:
      return {A::kDeviceText};
  }
  return {};
}

template <typename Value>
int give(const std::vector<Value>& list, int64_t room, int64_t* count, void* values) {
  *count = room == 0 ? static_cast<int64_t>(list.size())
                     : std::min<int64_t>(room, static_cast<int64_t>(list.size()));
  if (room > 0) std::copy_n(list.data(), *count, static_cast<Value*>(values));
  return 0;
}

template <typename Value>
void put(Node& node, Attribute attribute, const Value& value) {
  auto& bytes = node.values[static_cast<int>(attribute)];
  bytes.resize(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
}

}  // namespace

// The names are the library's. NOLINTBEGIN(readability-identifier-naming)
extern "C" {

size_t cudnnGetVersion() { return 91234; }
const char* cudnnGetErrorString(int status) {
  return status == kNotSupported ? "FAKE_NOT_SUPPORTED" : "FAKE_ERROR";
}
void cudnnGetLastErrorString(char* text, size_t size) {
  std::strncpy(text, said.c_str(), size - 1);
}
int cudnnCreate(void** handle) {
  *handle = &handles;
  ++handles;
  return 0;
}
int cudnnDestroy(void* /*handle*/) { return --handles, 0; }
int cudnnSetStream(void* /*handle*/, void* stream) { return stream_set = stream, 0; }

int cudnnBackendCreateDescriptor(int kind, void** descriptor) {
  ++living;
  *descriptor = new Node{.kind = static_cast<Kind>(kind)};
  return 0;
}
int cudnnBackendDestroyDescriptor(void* descriptor) {
  --living;
  delete static_cast<Node*>(descriptor);
  return 0;
}

int cudnnBackendSetAttribute(void* descriptor, int attribute, int type, int64_t count,
                             const void* values) {
  auto& node = *static_cast<Node*>(descriptor);
  if (node.finalized) return fail(kBadParameter, "it is finalized already");
  const auto* bytes = static_cast<const unsigned char*>(values);
  node.values[attribute].assign(bytes, bytes + static_cast<size_t>(count) * size_of(type));
  return 0;
}

int cudnnBackendFinalize(void* descriptor) {
  auto& node = *static_cast<Node*>(descriptor);
  for (const auto attribute : needed(node.kind)) {
    if (!node.values.contains(static_cast<int>(attribute))) {
      return fail(kNotFinalized,
                  "attribute " + std::to_string(static_cast<int>(attribute)) + " is missing");
    }
  }
  if (node.kind == Kind::kEngine && !engine_of(node).is_supported) {
    return fail(kNotSupported, "not this engine\nand a second line");
  }
  if (node.kind == Kind::kExecutionPlan) {
    const Engine& engine =
        engine_of(*node.part(Attribute::kPlanConfig)->part(Attribute::kConfigEngine));
    if (!engine.builds) return fail(kNotSupported, "not here");
    put(node, Attribute::kPlanWorkspace, engine.workspace);
    // What it is made of may go before it is run.
    const auto* config = node.part(Attribute::kPlanConfig);
    std::string text = std::to_string(
        config->part(Attribute::kConfigEngine)->of<int64_t>(Attribute::kEngineIndex)[0]);
    for (const auto* choice : config->of<Node*>(Attribute::kConfigKnobs)) {
      text += " " + std::to_string(choice->of<int>(Attribute::kKnobType)[0]) + "=" +
              std::to_string(choice->of<int64_t>(Attribute::kKnobValue)[0]);
    }
    node.values[-1].assign(text.begin(), text.end());
    node.values[-2].assign(1, engine.runs ? 1 : 0);
  }
  node.finalized = true;
  return 0;
}

int cudnnBackendGetAttribute(void* descriptor, int attribute, int /*type*/, int64_t room,
                             int64_t* count, void* values) {
  auto& node = *static_cast<Node*>(descriptor);
  const auto wanted = static_cast<Attribute>(attribute);
  if (wanted == Attribute::kGraphEngines) {
    return give(std::vector<int64_t>{static_cast<int64_t>(kEngines.size())}, room, count, values);
  }
  if (wanted == Attribute::kEngineNotes) return give(engine_of(node).notes, room, count, values);
  if (wanted == Attribute::kHeuristicsResults) {
    const auto found = kSuggested.find(node.of<int>(Attribute::kHeuristicsMode)[0]);
    *count = static_cast<int64_t>(found->second.size());
    auto* const* parts = static_cast<Node* const*>(values);
    for (int64_t i = 0; i < std::min(room, *count); ++i) {
      parts[i]->values[-3] = {
          static_cast<unsigned char>(node.of<int>(Attribute::kHeuristicsMode)[0]),
          static_cast<unsigned char>(i)};
      parts[i]->finalized = true;
    }
    return 0;
  }
  if (node.kind == Kind::kEngineConfig && node.values.contains(-3)) {
    const auto& place = node.values[-3];
    const Suggestion& suggestion = kSuggested.at(place[0])[place[1]];
    auto* const* parts = static_cast<Node* const*>(values);
    if (wanted == Attribute::kConfigEngine) {
      *count = 1;
      if (room > 0) put(*parts[0], Attribute::kEngineIndex, suggestion.engine);
      return 0;
    }
    // As cuDNN does: of knobs it counts what it writes.
    *count = std::min<int64_t>(room, static_cast<int64_t>(suggestion.knobs.size()));
    for (int64_t i = 0; i < *count; ++i) {
      put(*parts[i], Attribute::kKnobType, suggestion.knobs[static_cast<size_t>(i)].first);
      put(*parts[i], Attribute::kKnobValue, suggestion.knobs[static_cast<size_t>(i)].second);
    }
    return 0;
  }
  const auto found = node.values.find(attribute);
  if (found == node.values.end()) return fail(kBadParameter, "no such attribute");
  const size_t size = wanted == Attribute::kKnobType ? 4 : 8;
  *count = static_cast<int64_t>(found->second.size() / size);
  if (room > 0) std::memcpy(values, found->second.data(), found->second.size());
  return 0;
}

int cudnnBackendExecute(void* handle, void* plan, void* pack) {
  const auto& made = *static_cast<Node*>(plan);
  const auto& memory = *static_cast<Node*>(pack);
  if (handle == nullptr || !made.finalized || !memory.finalized)
    return fail(kBadParameter, "not whole");
  if (made.values.at(-2)[0] == 0) return fail(kFailed, "it does not run");
  const auto& text = made.values.at(-1);
  ran.emplace_back(text.begin(), text.end());
  for (const void* pointer : memory.of<void*>(Attribute::kPackPointers)) {
    if (pointer == nullptr) return fail(kBadParameter, "a null pointer");
  }
  return 0;
}

int64_t fake_cudnn_living() { return living; }
const char* fake_cudnn_ran(int64_t i) {
  return i < static_cast<int64_t>(ran.size()) ? ran[static_cast<size_t>(i)].c_str() : nullptr;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
