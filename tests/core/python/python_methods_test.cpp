#include "core/python/python_methods.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/digest.h"
#include "base/error.h"

namespace approx {
namespace {

// `params`: of pairs, which Json would take for an object if they stood in braces.
PythonMethods described(const std::vector<Json>& params) {
  Json method = {{"name", "mine"},
                 {"summary", "one line"},
                 {"products", {"weight_gradient"}},
                 {"params", params}};
  return {.file = {.path = "my.py", .text = "text", .executable = "python3", .worker = "w.py"},
          .description = {{"python", "3.11.7"},
                          {"pytorch", "2.11.0+cpu"},
                          {"methods", Json::array({std::move(method)})}}};
}

Json pair(const char* name, Json value) { return Json::array({name, std::move(value)}); }

TEST(PythonMethods, HaveTheParametersOfTheFunctionAndThoseOfTheKey) {
  const auto infos = infos_of(described({pair("share", 0.25), pair("even", true), pair("k", 3)}));
  ASSERT_EQ(infos.size(), 1u);
  const auto& info = infos[0];
  EXPECT_TRUE(is_python(info));
  EXPECT_EQ(info.products, std::vector{Product::kWeightGradient});
  const Params params(info.params, parse_spec("mine:k=5"));
  EXPECT_EQ(params.to_string(), "mine:k=5");
  EXPECT_EQ(params.full_text(), "mine:share=0.25,even=true,k=5,file=" + sha256_hex("text") +
                                    ",python=3.11.7,pytorch=2.11.0+cpu");
  EXPECT_EQ(text_for_python(info, params), "mine:share=0.25,even=true,k=5");
}

TEST(PythonMethods, OfNoParameterHaveATextForPython) {
  const auto info = infos_of(described({}))[0];
  EXPECT_EQ(text_for_python(info, Params(info.params, parse_spec("mine"))), "mine");
}

TEST(PythonMethods, OfAnotherFileAreNotSpelt) {
  const auto info = infos_of(described({}))[0];
  EXPECT_THROW(Params(info.params, parse_spec("mine:file=" + sha256_hex("other"))), Error);
  EXPECT_THROW(Params(info.params, parse_spec("mine:python=3.12.0")), Error);
}

TEST(PythonMethods, RefuseParametersThatTheKeyHas) {
  for (const char* name : {kPythonFileParam, kPythonParam, kPytorchParam}) {
    EXPECT_THROW(infos_of(described({pair(name, 1)})), Error) << name;
  }
  EXPECT_THROW(infos_of(described({pair("list", Json::array({1}))})), Error);
}

TEST(PythonMethods, AreReadAsTheyWereWritten) {
  const auto methods = described({pair("share", 0.25)});
  const auto read = Json::parse(Json(methods).dump()).get<PythonMethods>();
  EXPECT_EQ(Json(read), Json(methods));
  EXPECT_EQ(infos_of(read)[0].params.size(), 4u);
}

TEST(PythonMethods, AreToldFromBuiltInOnes) {
  MethodInfo info;
  EXPECT_FALSE(is_python(info));
  info.params = {{"file", std::string("x"), ""}, {"k", int64_t{1}, ""}, {"m", int64_t{1}, ""}};
  EXPECT_FALSE(is_python(info));
}

TEST(PythonMethods, AFileThatIsNotThereIsNamed) {
  try {
    describe_python("/no/such/my.py", "python3", "w.py");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("/no/such/my.py"), std::string::npos) << error.what();
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  }
}

}  // namespace
}  // namespace approx
