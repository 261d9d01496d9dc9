#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "core/studies/study.h"
#include "tests/testing.h"

namespace approx {
namespace {

// The rows of a study as objects.
std::vector<Json> rows_of(const std::string& name, const std::string& arguments,
                          std::vector<std::string> methods = {},
                          std::optional<Recipe> recipe = std::nullopt) {
  const auto& entry = Registry<StudyEntry>::instance().find(name);
  StudyRequest request;
  request.params = Params(entry.params, parse_spec(name + ":" + arguments));
  request.methods = methods.empty() ? entry.methods : methods;
  request.recipe = std::move(recipe);
  const Json table = entry.run(request).json();
  std::vector<Json> rows;
  for (const auto& row : table["rows"]) {
    auto& object = rows.emplace_back();
    for (size_t i = 0; i < row.size(); ++i) object[table["columns"][i].get<std::string>()] = row[i];
  }
  return rows;
}

// Means over 1000 runs of 100x100 matrices that were computed elsewhere with the same definitions:
// here over 30 runs, with the interval of the 30.
TEST(MatmulErrorStudy, GivesTheKnownErrorsAndTheClosedForms) {
  const std::map<std::tuple<std::string, std::string, int>, double> known = {
      {{"mean 1 x mean 1", "topk_crs", 10}, .447},
      {{"mean 1 x mean 1", "crs", 10}, .269},
      {{"mean 1 x mean 1", "bernoulli_crs", 10}, .293},
      {{"mean 1 x mean 1", "topk_crs", 50}, .234},
      {{"mean 1 x mean 1", "crs", 50}, .121},
      {{"mean 1 x mean 1", "bernoulli_crs", 50}, .097},
      {{"mean 0 x mean 1", "topk_crs", 50}, .065},
      {{"mean 0 x mean 1", "crs", 50}, .140},
      {{"mean 0 x mean 1", "bernoulli_crs", 50}, .099},
      {{"mean 0 x mean 1", "crs", 90}, .104}};
  size_t found = 0;
  for (const auto& row : rows_of("matmul-error", "runs=30")) {
    const auto expected = known.find({row["matrices"], row["method"], row["k"].get<int>()});
    if (expected != known.end()) {
      ++found;
      // Twice the interval is four standard errors, and the known figures are rounded.
      EXPECT_NEAR(row["error"], expected->second, 2 * row["error_half"].get<double>() + 0.0006)
          << row.dump();
    }
    if (row["rms_closed_form"].is_number()) {
      // Two intervals, since eighteen of them are looked at.
      EXPECT_LE(std::abs(row["gap"].get<double>()), 2 * row["gap_half"].get<double>())
          << row.dump();
      EXPECT_NEAR(row["rms"], row["rms_closed_form"], 0.25 * row["rms"].get<double>())
          << row.dump();
    }
  }
  EXPECT_EQ(found, known.size());
}

// The closed form and k are those of the method as it was asked for, not of its defaults.
TEST(MatmulErrorStudy, GoesByTheParametersOfItsMethods) {
  const std::vector<std::string> methods = {"crs:min_k=10", "bernoulli_crs:mix=0.5",
                                            "crs:share=0.5", "topk_crs:min_k=20"};
  std::map<std::string, int> seen;
  for (const auto& row : rows_of("matmul-error", "size=20,runs=100", methods)) {
    SCOPED_TRACE(row.dump());
    const std::string text = row["method"];
    for (const auto& method : methods) seen[method] += text.starts_with(method);
    const auto by_ratio = static_cast<int64_t>(std::floor(row["ratio"].get<double>() * 20));
    if (text.starts_with("crs:share")) {
      EXPECT_TRUE(row["k"].is_null() && row["rms_closed_form"].is_null() && row["gap"].is_null());
    } else if (text.starts_with("topk_crs")) {
      EXPECT_EQ(row["k"], 20) << "all pairs: exact";
      EXPECT_EQ(row["rms_closed_form"], 0);
      EXPECT_TRUE(row["gap"].is_null());
    } else {
      const bool has_least = text.starts_with("crs:min_k");
      EXPECT_EQ(row["k"], has_least ? std::max<int64_t>(by_ratio, 10) : by_ratio);
      // Three intervals are six standard errors: of a p or k that is not its own it is off by more.
      EXPECT_LE(std::abs(row["gap"].get<double>()), 3 * row["gap_half"].get<double>());
    }
  }
  for (const auto& method : methods) EXPECT_EQ(seen[method], 18) << method;
}

TEST(RegressionStudy, MeasuresWhatTheEquationsPredict) {
  double bias = 0;
  std::map<std::string, double> errors;
  for (const auto& row : rows_of("regression", "runs=20000,products=50")) {
    if (row["part"] == "theorem 2") {
      errors[row["method"]] = row["measured"];
      continue;
    }
    // 2.5 half widths are 5 standard errors; 30 gradients.
    EXPECT_NEAR(row["measured"], row["predicted"], 2.5 * row["half"].get<double>()) << row.dump();
    if (row["method"].get<std::string>().find("crs:") == 0 &&
        row["method"].get<std::string>().find("both") != std::string::npos) {
      bias += std::abs(row["predicted"].get<double>() - row["exact"].get<double>());
    }
  }
  EXPECT_GT(bias, 0.1) << "Eq. 11: under crs the gradient is biased";
  ASSERT_EQ(errors.size(), 6u);
  for (const auto& [name, error] : errors) {
    if (name == "the k largest") continue;
    EXPECT_GT(error, errors["the k largest"]) << name;
  }
}

TEST(GradientErrorStudy, TellsBiasFromNoise) {
  const std::string small = "steps=3,draws=40,batch-size=32";
  size_t seen = 0;
  for (const auto& row : rows_of("gradient-error", small,
                                 {"exact", "zero", "crs:mode=backward", "stochastic_pruning",
                                  "topk_crs:mode=backward,ratio=0.3"})) {
    ++seen;
    const std::string method = row["method"];
    const double bias = row["bias"], noise = row["bias_noise"], work = row["work"];
    if (method == "exact") {
      EXPECT_EQ(work, 1) << row.dump();
      EXPECT_LT(bias, 1e-5);
      EXPECT_EQ(row["draws"], 1);
    } else if (method == "zero") {
      EXPECT_EQ(work, 0) << row.dump();
      EXPECT_NEAR(bias, 1, 1e-12);
      EXPECT_TRUE(row["cosine"].is_null());
    } else if (method.starts_with("topk")) {
      EXPECT_EQ(row["draws"], 1);
      EXPECT_GT(bias, 0.05) << row.dump();
      // Three of ten, rounded to whole channels or examples.
      EXPECT_NEAR(work, 0.3, 0.05) << row.dump();
    } else {
      EXPECT_GT(work, 0) << row.dump();
      EXPECT_LE(work, 1) << row.dump();
      // |mean - exact| of an unbiased method has a mean near `noise` and varies little around it,
      // being a norm over many elements; small layers vary more.
      EXPECT_LT(bias, 2.5 * noise + 1e-6) << row.dump();
    }
  }
  EXPECT_GT(seen, 20u);
}

TEST(DensitiesStudy, CountsWhatStays) {
  size_t densities = 0, bins = 0;
  for (const auto& row : rows_of("densities", "steps=3,batch-size=32")) {
    if (row["part"] == "histogram") {
      ++bins;
      continue;
    }
    ++densities;
    EXPECT_LE(row["kept"].get<double>(), row["nonzero_before"].get<double>());
    EXPECT_GT(row["kept"].get<double>(), 0);
  }
  EXPECT_EQ(densities, 4u * 6u);
  EXPECT_EQ(bins, 4u * 40u);
}

TEST(LayerTimesStudy, HasEveryProductOfEveryLayerAndSharesOfOne) {
  double of_layers = 0, of_products = 0, of_method = 0, sum_of_method = 0;
  size_t products = 0, by_method = 0;
  std::map<std::string, double> data_gradient_ms;
  for (const auto& row : rows_of("layer-times", "steps=1,batch-size=8,rounds=3")) {
    EXPECT_GT(row["ms"].get<double>(), 0);
    const std::string layer = row["layer"];
    if (row["method"] == "dense") {
      EXPECT_TRUE(row["estimated_ms"].is_null());
      if (row["product"] == "data_gradient") data_gradient_ms[layer] = row["ms"];
    } else {
      EXPECT_EQ(row["product"], "data_gradient");
      EXPECT_TRUE(row["share"].is_null()) << "shares are of the exact products";
      // Two of four channels are half of the work, less where what is kept was zero.
      if (row["kind"] == "conv3x3") {
        const double of_exact = row["estimated_ms"].get<double>() / data_gradient_ms[layer];
        EXPECT_LE(of_exact, 0.5 + 1e-9) << layer;
        EXPECT_GT(of_exact, 0.4) << layer;
      }
      (layer == "all layers" ? sum_of_method : of_method) += row["ms"].get<double>();
      by_method += layer != "all layers";
      continue;
    }
    if (row["layer"] == "all layers") {
      of_products += row["share"].get<double>();
      continue;
    }
    ++products;
    of_layers += row["share"].get<double>();
    EXPECT_LE(row["lo"].get<double>(), row["ms"].get<double>());
    EXPECT_GE(row["hi"].get<double>(), row["ms"].get<double>());
    EXPECT_FALSE(row["layer_index"] == 1 && row["product"] == "data_gradient")
        << "the images have no gradient";
  }
  EXPECT_EQ(by_method, 3u);
  EXPECT_NEAR(of_method, sum_of_method, 1e-9);
  EXPECT_EQ(products, 4u * 3u - 1);
  EXPECT_NEAR(of_layers, 1, 1e-9);
  EXPECT_NEAR(of_products, 1, 1e-9);
}

// Every way to compute a pruned product has a line of its own, and where the multiplication is
// apart from the choice before it, its time.
TEST(LayerTimesStudy, TimesEachWayToComputeAPrunedProduct) {
  const std::string few = "steps=1,batch-size=8,rounds=3,variants=";
  std::map<std::string, double> exact, chosen, masked;
  std::set<std::string> ways;
  double sum = 0, multiply_sum = 0;
  for (const auto& row : rows_of("layer-times", few + "all")) {
    if (row["product"] != "data_gradient") continue;
    const std::string layer = row["layer"];
    if (row["method"] == "dense") {
      exact[layer] = row["ms"];
    } else if (row["variant"].is_null()) {
      chosen[layer] = row["ms"];
      EXPECT_TRUE(row["multiply_ms"].is_null());
    } else {
      ways.insert(row["variant"].get<std::string>());
      if (row["variant"] != "masked") continue;
      masked[layer] = row["ms"];
      EXPECT_GT(row["multiply_ms"].get<double>(), 0);
      if (row["layer_index"] != 0) {
        sum += row["ms"].get<double>();
        multiply_sum += row["multiply_ms"].get<double>();
      } else {
        EXPECT_NEAR(row["multiply_ms"].get<double>(), multiply_sum, 1e-9);
      }
    }
    EXPECT_EQ(row["exact_ms"], exact[layer]);
  }
  EXPECT_TRUE(ways.contains("masked"));
  EXPECT_FALSE(ways.contains("reference"));
  ASSERT_EQ(masked.size(), chosen.size()) << "all layers among them";
  EXPECT_NEAR(masked["all layers"], sum, 1e-9);

  ways.clear();
  for (const auto& row : rows_of("layer-times", few + "masked,precision=bf16")) {
    if (!row["variant"].is_null()) ways.insert(row["variant"].get<std::string>());
  }
  EXPECT_EQ(ways, std::set<std::string>{"masked"});

  try {
    rows_of("layer-times", few + "maskd");
    ADD_FAILURE() << "nothing is computed by that";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("\"maskd\" (did you mean \"masked\"?)"),
              std::string::npos)
        << error.what();
  }
}

TEST(PrunedChannelsStudy, ShowsWhatEachPruningLeaves) {
  std::map<std::string, double> zeros, l1;
  std::map<std::string, size_t> pixels;
  const std::string random = "sdgp:rank=random,rescale=none", magnitude = "sdgp:rescale=none";
  for (const auto& row : rows_of("pruned-channels", "steps=3,batch-size=16,layer=2")) {
    const std::string method = row["method"];
    if (row["part"] == "pixel") {
      ++pixels[method];
      EXPECT_LE(std::abs(row["value"].get<double>()), 3) << "in units of the largest";
    } else {
      zeros[method] = row["zeros"], l1[method] = row["l1_ratio"];
    }
  }
  ASSERT_EQ(zeros.size(), 4u);
  for (const auto& [method, count] : pixels) EXPECT_EQ(count, pixels["exact"]) << method;
  // Two of four are kept at most; magnitude keeps more than chance, rescaling all of the sum.
  for (const auto& method : {random, magnitude, std::string("sdgp")}) {
    EXPECT_GE(zeros[method], 0.5) << method;
  }
  EXPECT_EQ(l1["exact"], 1);
  EXPECT_LT(l1[random], l1[magnitude]);
  EXPECT_LT(l1[magnitude], 1);
  EXPECT_NEAR(l1["sdgp"], 1, 0.02);
}

TEST(Studies, TrainByTheRecipeTheyAreGiven) {
  const std::string few = "steps=3,batch-size=8";
  const auto tau = [](const std::vector<Json>& rows) { return rows.at(0).at("tau").get<double>(); };
  const double plain = tau(rows_of("densities", few));
  // Without one: SGD at 0.05, which a recipe that says the same gives too.
  Recipe recipe;
  recipe.learning_rate = 0.05;
  EXPECT_EQ(tau(rows_of("densities", few, {}, recipe)), plain);
  recipe.optimizer = UpdateRule::kAdam;
  recipe.learning_rate = 1e-3;
  const double adam = tau(rows_of("densities", few, {}, recipe));
  EXPECT_NE(adam, plain);
  EXPECT_NE(tau(rows_of("densities", few + ",learning-rate=0.01", {}, recipe)), adam);
  EXPECT_EQ(tau(rows_of("densities", few + ",learning-rate=0.001", {}, recipe)), adam);
  // One epoch of mnist14 in batches of 1000 has fewer than ten steps.
  EXPECT_THROW(rows_of("densities", "steps=10,batch-size=1000", {}, recipe), Error);
  EXPECT_THROW(rows_of("densities", few + ",device=tpu"), Error);
}

TEST(Studies, RefuseWhatTheyCannotDo) {
  EXPECT_THROW(rows_of("pruned-channels", "steps=0,layer=99"), Error);
  EXPECT_THROW(rows_of("pruned-channels", "steps=0,layer=4"), Error);  // linear
  EXPECT_THROW(rows_of("pruned-channels", "steps=0,layer=2", {"zero"}), Error);
  EXPECT_THROW(rows_of("regression", "features=4,k=4"), Error);
  EXPECT_THROW(rows_of("matmul-error", "runs=0"), Error);
  try {
    rows_of("matmul-error", "runs=3", {"sdgp"});
    ADD_FAILURE() << "it samples no product";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_STREQ(
        error.what(),
        "study matmul-error: \"sdgp\" samples no product; give crs, bernoulli_crs or such");
  }
  EXPECT_THROW(rows_of("gradient-error", "network=none"), Error);
}

}  // namespace
}  // namespace approx
