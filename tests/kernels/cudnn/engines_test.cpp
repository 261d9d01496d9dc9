#include "kernels/cudnn/engines.h"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <filesystem>

#include "base/error.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace approx::cudnn {
namespace {

using ::testing::ElementsAre, ::testing::HasSubstr, ::testing::IsEmpty;

// It lies beside the program.
std::string beside(const std::string& file) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename(file).string();
}

std::shared_ptr<const Library> fake() {
  static const auto library = Library::open(beside("fake_cudnn.so"));
  return library;
}

template <typename Function>
Function* of_fake(const char* name) {
  void* handle = dlopen(beside("fake_cudnn.so").c_str(), RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<Function*>(dlsym(handle, name));
}

Problem small(Product product = Product::kForward, ElementType element = ElementType::kFloat) {
  Problem problem;
  problem.product = product;
  problem.element = element;
  problem.n = 2, problem.ci = problem.co = 8;
  problem.h = problem.w = problem.ho = problem.wo = 4;
  problem.kh = problem.kw = 3;
  problem.geometry.padding = 1;
  return problem;
}

int one_handle;
Target target() { return {&one_handle, {}}; }

std::vector<std::string> offered(ElementType element, bool tf32) {
  const Convolution convolution(fake(), small(Product::kForward, element), target());
  std::vector<std::string> texts;
  for (const auto& config : convolution.offered(tf32).configs) texts.push_back(text_of(config));
  return texts;
}

TEST(CudnnLibrary, WithoutItThereIsNone) {
  std::string why;
  EXPECT_EQ(Library::open("libno-such-cudnn.so.9", &why), nullptr);
  EXPECT_THAT(why, HasSubstr("libno-such-cudnn.so.9"));
  EXPECT_EQ(Library::open("libm.so.6", &why), nullptr);
  EXPECT_EQ(why, "libm.so.6: no cudnnGetVersion in it");
}

TEST(CudnnLibrary, AnErrorIsOneLineThatSaysWhatAndWhy) {
  Owned tensor(fake(), Kind::kTensor);
  try {
    tensor.finalize("a tensor");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInternal);
    EXPECT_STREQ(error.what(), "cuDNN 91234: a tensor: FAKE_ERROR (attribute 901 is missing)");
  }
  Owned engine(fake(), Kind::kEngine);
  engine.set_one(Attribute::kEngineGraph, Type::kDescriptor, tensor.get());
  engine.set_one(Attribute::kEngineIndex, Type::kInt64, int64_t{8});
  try {
    engine.finalize("engine 8");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "cuDNN 91234: engine 8: FAKE_NOT_SUPPORTED (not this engine)");
  }
}

TEST(CudnnEngines, NotesDecideWhatMayBeTaken) {
  using enum ElementType;
  const auto half = kHalf, bf16 = kBFloat16, single = kFloat;
  for (const auto element : {half, bf16, single}) {
    EXPECT_TRUE(is_admissible({}, element, false));
    EXPECT_FALSE(is_admissible({Note::kNondeterministic}, element, true));
    EXPECT_FALSE(is_admissible({Note::kTensorCore, Note::kAddsInLowPrecision}, element, true));
    EXPECT_EQ(is_admissible({Note::kConvertsInputsDown}, element, true), element != single);
  }
  EXPECT_TRUE(is_admissible({Note::kTensorCore}, half, false));
  EXPECT_FALSE(is_admissible({Note::kTensorCore}, single, false));
  EXPECT_TRUE(is_admissible({Note::kTensorCore}, single, true));
}

// In the order of the heuristics, each once, the engines behind that they do not name; an engine
// that the product cannot have is none.
TEST(CudnnEngines, AllThatMayBeTakenAreOfferedOnce) {
  EXPECT_THAT(offered(ElementType::kFloat, false),
              ElementsAre("engine 0: 2=1", "engine 5", "engine 6", "engine 7", "engine 0: 2=2",
                          "engine 9"));
  EXPECT_THAT(offered(ElementType::kFloat, true),
              ElementsAre("engine 1: 2=8 13=1", "engine 0: 2=1", "engine 5", "engine 6",
                          "engine 1: 2=4 13=1", "engine 7", "engine 0: 2=2", "engine 9"));
  EXPECT_THAT(offered(ElementType::kBFloat16, false),
              ElementsAre("engine 1: 2=8 13=1", "engine 0: 2=1", "engine 2", "engine 5", "engine 6",
                          "engine 1: 2=4 13=1", "engine 7", "engine 0: 2=2", "engine 9"));
  const Convolution convolution(fake(), small(), target());
  EXPECT_EQ(convolution.offered(false).left_out, 5);
}

TEST(CudnnEngines, EveryOneIsRunOnceAndTheFastestKept) {
  for (const auto product : kAllProducts) {
    const Convolution convolution(fake(), small(product), target());
    std::vector<double> times = {70, 50, 60};
    int64_t calls = 0;
    const auto choice = fastest_engine(convolution, false, [&](const Plan& plan) {
      plan.run(&one_handle, {&times, &times, &times, nullptr});
      return times.at(static_cast<size_t>(calls++));
    });
    ASSERT_TRUE(choice);
    EXPECT_EQ(calls, 3);
    EXPECT_EQ(text_of(choice->config), "engine 0: 2=2") << name(product);
    EXPECT_EQ(choice->ns, 50);
    EXPECT_EQ(choice->second_ns, 60);
    EXPECT_EQ(choice->timed, 3);
    EXPECT_EQ(choice->not_admitted, 5);
    // One wants too much memory, one cannot be built, one does not run.
    EXPECT_EQ(choice->not_buildable, 3);
  }
  const auto ran = of_fake<const char*(int64_t)>("fake_cudnn_ran");
  EXPECT_STREQ(ran(0), "0 2=1");
  EXPECT_STREQ(ran(1), "0 2=2");
  EXPECT_STREQ(ran(2), "9");
}

TEST(CudnnEngines, ALostDeviceIsNotTakenForABadEngine) {
  const Convolution convolution(fake(), small(), target());
  const auto lost = [](const Plan&) -> double { throw Error(ErrorKind::kDevice, "lost"); };
  EXPECT_THROW(fastest_engine(convolution, false, lost), Error);
  const auto broken = [](const Plan&) -> double { throw Error(ErrorKind::kInternal, "no"); };
  EXPECT_EQ(fastest_engine(convolution, false, broken), std::nullopt);
}

TEST(CudnnEngines, NothingOfTheLibrarysIsLeftBehind) {
  const auto library = fake();
  const auto living = of_fake<int64_t()>("fake_cudnn_living");
  const int64_t before = living();
  {
    const Convolution convolution(library, small(), target());
    EXPECT_GT(living(), before);
    fastest_engine(convolution, true, [](const Plan&) { return 1.0; });
    EXPECT_THROW(Plan(convolution, {.engine = 6}), Error);
  }
  EXPECT_EQ(living(), before);
}

EngineChoice some_choice() {
  return {.config = {.engine = 38, .knobs = {{2, 8}, {12, -1}}},
          .workspace = 4096,
          .ns = 1234.5,
          .second_ns = 1300,
          .timed = 12,
          .not_admitted = 41,
          .not_buildable = 3,
          .library_ns = 2000.0};
}

TEST(CudnnChoices, SayAmongHowManyTheyWereMade) {
  EXPECT_EQ(text_of(some_choice()),
            "engine 38: 2=8 12=-1, the fastest of 12 of cuDNN's; 41 not admitted, 3 not buildable");
}

TEST(CudnnChoices, AreReadAsTheyWereWritten) {
  EngineChoices choices("gpu, cuDNN 9");
  const auto key = key_of(small(), true);
  choices.keep(key, some_choice());
  choices.keep("b", {.config = {.engine = 1}});
  EngineChoices again("gpu, cuDNN 9");
  again.read(choices.text(), "file");
  EXPECT_EQ(again.text(), choices.text());
  ASSERT_NE(again.find(key), nullptr);
  EXPECT_EQ(again.find(key)->config, some_choice().config);
  EXPECT_TRUE(again.find(key)->beats_the_library());
  EXPECT_FALSE(again.find("b")->beats_the_library());
  EXPECT_EQ(again.find("c"), nullptr);
  // Another GPU or another cuDNN numbers its engines otherwise.
  EngineChoices elsewhere("gpu, cuDNN 10");
  elsewhere.read(choices.text(), "file");
  EXPECT_TRUE(elsewhere.empty());
}

TEST(CudnnChoices, WhatDecidesAnEngineIsInTheKey) {
  std::vector<std::string> keys = {key_of(small(), false), key_of(small(), true)};
  const auto with = [&](auto change) {
    Problem problem = small();
    change(problem);
    keys.push_back(key_of(problem, false));
  };
  with([](Problem& p) { p.product = Product::kDataGradient; });
  with([](Problem& p) { p.element = ElementType::kHalf; });
  with([](Problem& p) { p.element = ElementType::kBFloat16; });
  for (const auto number : {&Problem::n, &Problem::ci, &Problem::h, &Problem::w, &Problem::co,
                            &Problem::ho, &Problem::wo, &Problem::kh, &Problem::kw}) {
    with([number](Problem& p) { ++(p.*number); });
  }
  with([](Problem& p) { p.geometry.stride.h = 2; });
  with([](Problem& p) { p.geometry.stride.w = 2; });
  with([](Problem& p) { p.geometry.padding.w = 2; });
  with([](Problem& p) { p.geometry.dilation.h = 2; });
  with([](Problem& p) { p.geometry.groups = 2; });
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::unique(keys.begin(), keys.end()), keys.end());
}

TEST(CudnnChoices, WhatIsNoListIsRefusedInOneLine) {
  for (const auto* text :
       {"", "{", "[]", R"({"schema": 3})", R"({"schema": "approxtrain.cudnn/2"})",
        R"({"schema": "approxtrain.cudnn/1", "place": "p", "choices": [1]})",
        R"({"schema": "approxtrain.cudnn/1", "place": "p", "choices": {"a": {}}})"}) {
    try {
      EngineChoices("p").read(text, "my.file");
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      EXPECT_THAT(error.what(), ::testing::StartsWith("my.file: ")) << text;
    }
  }
}

// cuDNN itself names its engines, and plans them, for a GPU that is described and not here.
constexpr const char* kDescription =
    R"({"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],)"
    R"("multiProcessorCount":132,"smClockRateKHz":1980000,"memClockRateKHz":2619000,)"
    R"("l2CacheSize":52428800,"warpSize":32,"deviceVer":900,"driverVer":13000,)"
    R"("regsPerBlock":65536,"maxSharedMemoryPerBlock":49152,)"
    R"("maxSharedMemoryPerBlockOptin":232448,"reservedSharedMemoryPerBlock":1024,)"
    R"("maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,)"
    R"("maxThreadsPerSM":2048,"totalGlobalMem":85017755648,"pciDeviceId":0,"isTccDriver":0,)"
    R"("supportCoopLaunch":1,"deviceName":"described","cudaDeviceId":0,"smVersion":900})";

TEST(CudnnItself, OffersEnginesForADescribedGpuAndPlansThem) {
#ifdef __SANITIZE_ADDRESS__
  // cuDNN keeps memory of libraries that it has unloaded again, which no list can name.
  const __lsan::ScopedDisabler not_ours;
#endif
  const auto library = Library::open(CUDNN_OF_THE_WHEEL);
  if (library == nullptr) GTEST_SKIP() << "this LibTorch came without cuDNN 9";
  Problem problem = small();
  problem.n = 128, problem.ci = problem.co = 64;
  problem.h = problem.w = problem.ho = problem.wo = 32;
  for (const auto product : kAllProducts) {
    problem.product = product;
    size_t of_float = 0;
    for (const bool tf32 : {false, true}) {
      SCOPED_TRACE(key_of(problem, tf32));
      const Convolution convolution(library, problem, {nullptr, kDescription});
      const auto offer = convolution.offered(tf32);
      EXPECT_GT(offer.left_out, 0);
      EXPECT_GT(offer.configs.size(), of_float) << "TensorFloat-32 adds engines";
      of_float = offer.configs.size();
      int64_t planned = 0;
      for (const auto& config : offer.configs) {
        const auto notes = convolution.notes_of(config.engine);
        EXPECT_TRUE(notes.supported && is_admissible(notes.notes, problem.element, tf32));
        try {
          planned += Plan(convolution, config).workspace() >= 0 ? 1 : 0;
        } catch (const Error&) {
          // An engine that must compile at run time, for which there is no device.
        }
      }
      EXPECT_GT(planned, 0);
    }
  }
}

}  // namespace
}  // namespace approx::cudnn
