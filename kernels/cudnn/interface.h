// The parts of cuDNN's C interface (its "backend", version 9) that are used here. They have our own
// names, so that a build needs none of its files. A test compares the numbers with cuDNN's header
// where that is installed (tests/kernels/cudnn/interface_test.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

namespace approx::cudnn {

using Handle = void*;
using Descriptor = void*;

enum class Kind : int {
  kConvolution = 1,
  kEngine = 2,
  kEngineConfig = 3,
  kHeuristics = 4,
  kExecutionPlan = 5,
  kKnobChoice = 7,
  kForward = 10,
  kWeightGradient = 11,
  kDataGradient = 12,
  kOperationGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
  kDeviceProperties = 38,
};

enum class Attribute : int {
  kConvolutionComputesIn = 100,
  kConvolutionMode = 101,
  kConvolutionDilations = 102,
  kConvolutionStrides = 103,
  kConvolutionPaddingAfter = 104,
  kConvolutionPaddingBefore = 105,
  kConvolutionDimensions = 106,

  kHeuristicsMode = 200,
  kHeuristicsGraph = 201,
  kHeuristicsResults = 202,
  kHeuristicsDevice = 204,

  kConfigEngine = 300,
  kConfigKnobs = 302,

  kPlanHandle = 400,
  kPlanConfig = 401,
  kPlanWorkspace = 402,
  kPlanDevice = 407,

  kKnobType = 600,
  kKnobValue = 601,

  kForwardAlpha = 700,
  kForwardBeta = 701,
  kForwardConvolution = 702,
  kForwardW = 703,
  kForwardX = 704,
  kForwardY = 705,
  kDataAlpha = 706,
  kDataBeta = 707,
  kDataConvolution = 708,
  kDataW = 709,
  kDataDx = 710,
  kDataDy = 711,
  kWeightAlpha = 712,
  kWeightBeta = 713,
  kWeightConvolution = 714,
  kWeightDw = 715,
  kWeightX = 716,
  kWeightDy = 717,

  kGraphHandle = 800,
  kGraphOperations = 801,
  kGraphEngines = 802,

  kTensorAlignment = 900,
  kTensorType = 901,
  kTensorSizes = 902,
  kTensorStrides = 903,
  kTensorId = 906,

  kPackIds = 1000,
  kPackPointers = 1001,
  kPackWorkspace = 1003,

  kEngineGraph = 1300,
  kEngineIndex = 1301,
  kEngineNotes = 1303,
  kEngineDevice = 1307,

  kDeviceText = 2702,
};

// The type of the values of an attribute.
enum class Type : int {
  kHandle = 0,
  kDataType = 1,
  kInt64 = 3,
  kFloat = 4,
  kPointer = 6,
  kConvolutionMode = 7,
  kHeuristicsMode = 8,
  kKnobType = 9,
  kNote = 11,
  kDescriptor = 15,
  kChar = 24,
};

enum class DataType : int { kFloat = 0, kHalf = 2, kBFloat16 = 9 };
enum class ConvolutionMode : int { kCrossCorrelation = 1 };
enum class HeuristicsMode : int { kB = 1, kFallback = 2, kA = 3 };

// A property of an engine's numbers.
enum class Note : int {
  kTensorCore = 0,
  kConvertsInputsDown = 1,
  kAddsInLowPrecision = 2,
  kNondeterministic = 4,
};

// Its functions. All but the first and those that give texts return 0 on success.
struct Functions {
  size_t (*version)() = nullptr;
  const char* (*error_name)(int status) = nullptr;
  void (*last_error)(char* text, size_t size) = nullptr;  // null before 9.0
  int (*create)(Handle* handle) = nullptr;
  int (*destroy)(Handle handle) = nullptr;
  int (*set_stream)(Handle handle, void* stream) = nullptr;
  int (*create_descriptor)(int kind, Descriptor* descriptor) = nullptr;
  int (*destroy_descriptor)(Descriptor descriptor) = nullptr;
  int (*finalize)(Descriptor descriptor) = nullptr;
  int (*set)(Descriptor descriptor, int attribute, int type, int64_t count,
             const void* values) = nullptr;
  int (*get)(Descriptor descriptor, int attribute, int type, int64_t room, int64_t* count,
             void* values) = nullptr;
  int (*execute)(Handle handle, Descriptor plan, Descriptor pack) = nullptr;
};

}  // namespace approx::cudnn
