#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "kernels/select/select.h"
#include "kernels/trials/gathered.h"
#include "kernels/trials/two_of_four.h"
#include "tests/reference.h"
#include "tests/testing.h"

namespace approx {
namespace {

using ::testing::AllOf, ::testing::HasSubstr, ::testing::Not;

// Beside the program, as the other libraries of tests.
std::string fake_library() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fake_cusparselt.so")
      .string();
}

int calls(const char* function) {
  static void* const library = dlopen(fake_library().c_str(), RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<int (*)(const char*)>(dlsym(library, "fake_cusparselt_calls"))(function);
}

Operands half_operands(const TestShape& shape, at::ScalarType type) {
  auto o = random_operands(shape);
  o.product = Product::kDataGradient;
  for (auto* tensor : {&o.x, &o.w, &o.dy}) *tensor = tensor->to(type);
  return o;
}

at::Tensor pruned(const at::Tensor& dy) { return nm_pruned(dy, {.n = 2, .m = 4}, {}).dy; }

// What plain loops make of the same numbers.
at::Tensor wanted(const Operands& o, const at::Tensor& dy) {
  auto exact = o;
  exact.dy = dy;
  for (auto* tensor : {&exact.x, &exact.w, &exact.dy}) *tensor = tensor->to(at::kFloat);
  return reference::product(exact).tensor();
}

TEST(CusparseLt, ADataGradientIsItsProductOfGatheredRows) {
  at::manual_seed(91);
  CusparseLt library(fake_library());
  // Examples, channels, size, channels out, kernel, stride, padding.
  for (const auto& shape : {TestShape{1, 16, 4, 32, 1, 1, 0}, TestShape{4, 16, 6, 64, 3, 1, 1},
                            TestShape{4, 32, 6, 16, 3, 1, 0}, TestShape{2, 16, 8, 16, 5, 1, 2},
                            TestShape{1, 16, 4, 16, 1, 1, 1}, TestShape{16, 48, 1, 16, 1, 1, 0}}) {
    for (const auto type : {at::kBFloat16, at::kHalf}) {
      SCOPED_TRACE(testing::Message() << shape << " " << toString(type));
      const auto o = half_operands(shape, type);
      ASSERT_TRUE(takes_gathered(problem_of(o)));
      const auto dy = pruned(o.dy);
      const auto got = prepare_gathered(library, dy, o)();
      EXPECT_EQ(got.scalar_type(), type);
      EXPECT_TRUE(close(got.to(at::kFloat), wanted(o, dy), 1e-2));
    }
  }
}

TEST(CusparseLt, RowsAreGatheredUnderADilation) {
  auto o = half_operands({2, 16, 8, 16, 3, 1, 2}, at::kBFloat16);
  o.geometry.dilation = {2, 1};
  o.geometry.padding = {2, 0};
  const Problem p = problem_of(o);
  o.dy = at::randn({p.n, p.co, p.ho, p.wo}).to(at::kBFloat16);
  const auto rows = gathered_rows(o.dy, p).to(at::kFloat);
  const auto w = o.w.permute({2, 3, 0, 1}).reshape({-1, p.ci}).to(at::kFloat);
  const auto dx = rows.matmul(w).view({p.n, p.h, p.w, p.ci}).permute({0, 3, 1, 2});
  EXPECT_TRUE(close(dx, wanted(o, o.dy), 1e-4));
}

TEST(CusparseLt, PlansAreKeptByShape) {
  CusparseLt library(fake_library());
  const auto o = half_operands({1, 16, 4, 32, 1, 1, 0}, at::kBFloat16);
  const int plans = calls("cusparseLtMatmulPlanInit"), handles = calls("cusparseLtInit");
  const int products = calls("cusparseLtMatmul"), compressions = calls("cusparseLtSpMMACompress2");
  const auto once = prepare_gathered(library, pruned(o.dy), o);
  for (int i = 0; i < 3; ++i) once();
  prepare_gathered(library, pruned(o.dy), o)();
  EXPECT_EQ(calls("cusparseLtMatmulPlanInit"), plans + 1);
  EXPECT_EQ(calls("cusparseLtSpMMACompress2"), compressions + 2);
  EXPECT_EQ(calls("cusparseLtMatmul"), products + 4);
  const auto other = half_operands({2, 16, 4, 32, 1, 1, 0}, at::kBFloat16);
  prepare_gathered(library, pruned(other.dy), other)();
  EXPECT_EQ(calls("cusparseLtMatmulPlanInit"), plans + 2);
  EXPECT_EQ(calls("cusparseLtInit"), handles + 1) << "one handle for the device";
}

TEST(CusparseLt, WhatWasMadeIsGivenBack) {
  const int made = calls("cusparseLtStructuredDescriptorInit") +
                   calls("cusparseLtDenseDescriptorInit") - calls("cusparseLtMatDescriptorDestroy");
  const int plans = calls("cusparseLtMatmulPlanInit") - calls("cusparseLtMatmulPlanDestroy");
  const int handles = calls("cusparseLtInit") - calls("cusparseLtDestroy");
  {
    CusparseLt library(fake_library());
    const auto o = half_operands({1, 16, 4, 32, 1, 1, 0}, at::kHalf);
    prepare_gathered(library, pruned(o.dy), o)();
  }
  EXPECT_EQ(calls("cusparseLtStructuredDescriptorInit") + calls("cusparseLtDenseDescriptorInit") -
                calls("cusparseLtMatDescriptorDestroy"),
            made);
  EXPECT_EQ(calls("cusparseLtMatmulPlanInit") - calls("cusparseLtMatmulPlanDestroy"), plans);
  EXPECT_EQ(calls("cusparseLtInit") - calls("cusparseLtDestroy"), handles);
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDevice);
    return error.what();
  }
  return "no error";
}

TEST(CusparseLt, AFailureSaysWhatFailedAndAtWhichShape) {
  const auto o = half_operands({1, 16, 4, 32, 1, 1, 0}, at::kBFloat16);
  for (const char* function : {"cusparseLtInit", "cusparseLtStructuredDescriptorInit",
                               "cusparseLtMatmulPlanInit", "cusparseLtMatmul"}) {
    CusparseLt library(fake_library());
    setenv("FAKE_CUSPARSELT_FAILS", function, 1);
    const auto said = error_of([&] { prepare_gathered(library, pruned(o.dy), o)(); });
    const bool multiplies_alone = std::string(function) == "cusparseLtMatmul";
    EXPECT_EQ(library.has_plan(at::kCPU, 16, 32, 32, at::kBFloat16), multiplies_alone);
    unsetenv("FAKE_CUSPARSELT_FAILS");
    EXPECT_TRUE(library.has_plan(at::kCPU, 16, 32, 32, at::kBFloat16));
    EXPECT_THAT(said, AllOf(HasSubstr(function), HasSubstr("operation not supported (status 10)"),
                            Not(HasSubstr("\n"))));
    if (std::string(function) != "cusparseLtInit") {
      EXPECT_THAT(said, HasSubstr("[16,32] x [32,16]"));
    }
    // What failed is not kept.
    EXPECT_NO_THROW(prepare_gathered(library, pruned(o.dy), o)());
  }
  CusparseLt library(fake_library());
  EXPECT_THAT(error_of([&] { prepare_gathered(library, o.dy, o)(); }),
              HasSubstr("cusparseLtSpMMACompress2 of [16,32] x [32,16]: invalid value (status 3)"))
      << "what is not pruned";
}

TEST(CusparseLt, ALibraryThatIsNotThereOrIsAnotherIsAnError) {
  EXPECT_THAT(error_of([] { CusparseLt library("no_such_library.so"); }),
              HasSubstr("cuSPARSELt cannot be opened: no_such_library.so"));
  const auto other = std::filesystem::path(fake_library()).replace_filename("fake_nvml.so");
  EXPECT_THAT(error_of([&] { CusparseLt library(other.string()); }),
              HasSubstr("has no cusparseLtInit"));
}

TEST(CusparseLt, TakesShapesInSixteens) {
  const auto takes = [](const TestShape& shape) {
    return takes_gathered(problem_of(half_operands(shape, at::kBFloat16)));
  };
  EXPECT_TRUE(takes({1, 16, 4, 32, 3, 1, 1}));
  EXPECT_FALSE(takes({1, 16, 3, 32, 3, 1, 1})) << "nine pixels";
  EXPECT_FALSE(takes({1, 24, 4, 32, 3, 1, 1}));
  EXPECT_FALSE(takes({1, 16, 4, 24, 3, 1, 1}));
  EXPECT_FALSE(takes({1, 16, 8, 32, 3, 2, 1})) << "a stride";
}

TEST(TwoOfFour, TakesWholeFoursOfHalfTheChannels) {
  auto problem = [](int64_t ci, int64_t co, int64_t group, double density) {
    return Problem{.product = Product::kDataGradient,
                   .n = 2,
                   .ci = ci,
                   .co = co,
                   .element = ElementType::kBFloat16,
                   .density = density,
                   .group = group};
  };
  EXPECT_TRUE(takes_two_of_four(problem(64, 128, 4, 0.5)));
  EXPECT_TRUE(takes_two_of_four(problem(8, 64, 4, 0.25)));
  EXPECT_TRUE(takes_two_of_four(problem(8, 64, 2, 0.5)));
  EXPECT_FALSE(takes_two_of_four(problem(64, 128, 4, 0.75))) << "three of four";
  EXPECT_FALSE(takes_two_of_four(problem(64, 128, 8, 0.25))) << "both may be in one four or none";
  EXPECT_FALSE(takes_two_of_four(problem(64, 96, 4, 0.5)));
  EXPECT_FALSE(takes_two_of_four(problem(12, 64, 4, 0.5)));
  auto other = problem(64, 128, 4, 0.5);
  other.element = ElementType::kFloat;
  EXPECT_FALSE(takes_two_of_four(other)) << "TensorFloat-32 keeps one of two";
  other = problem(64, 128, 4, 0.5);
  other.geometry.groups = 2;
  EXPECT_FALSE(takes_two_of_four(other));
}

}  // namespace
}  // namespace approx
