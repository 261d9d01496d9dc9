#include "core/experiment/item.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "core/experiment/experiment.h"
#include "tests/core/config/test_catalogue.h"

namespace approx {
namespace {

constexpr const char* kGrid = R"(
id = "wang2019:tableX"
network = "small_cnn"
dataset = "mnist14"
method = ["dense", "zero"]
schedule = "wang2019_cnn2"
seeds = "0-9"

[scale.reduced]
seeds = "0-1"

[scale.smoke]
seeds = 0
network = "wang_cnn2"

[report]
item = "Table X"
rows = "method"
margin = 0.5

[[report.departs]]
method = "zero"
reason = "the paper's runs freeze the layer"

[[report.value]]
quantity = "accuracy"
unit = "%"
paper = [91, 90.5]
printed = ["91 %", ""]
tolerance = 0.3
)";

Experiment parse_item(const std::string& text, Scale scale = Scale::kFull) {
  Overrides overrides;
  overrides.scale = scale;
  return parse_experiment(text, "x.toml", overrides, test_catalogue(),
                          [](const std::string& name) { return "sha of " + name; });
}

std::string item_message(const std::string& text, Scale scale = Scale::kFull) {
  try {
    parse_item(text, scale);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage) << error.what();
    return error.what();
  }
  return "no error";
}

TEST(Scale, ReplacesKeysOfTheFile) {
  const auto full = parse_item(kGrid);
  EXPECT_EQ(full.id, "wang2019:tableX");
  EXPECT_EQ(full.runs().size(), 20u);
  EXPECT_EQ(full.scales, (std::vector<Scale>{Scale::kFull, Scale::kReduced, Scale::kSmoke}));

  const auto reduced = parse_item(kGrid, Scale::kReduced);
  EXPECT_EQ(reduced.id, "wang2019:tableX:reduced");
  EXPECT_EQ(reduced.item, "wang2019:tableX");
  EXPECT_EQ(reduced.runs().size(), 4u);
  // The runs of a smaller scale are runs of the full one where nothing else differs.
  EXPECT_EQ(reduced.runs()[0].key, full.runs()[0].key);

  const auto smoke = parse_item(kGrid, Scale::kSmoke);
  ASSERT_EQ(smoke.runs().size(), 2u);
  EXPECT_EQ(smoke.runs()[0].network_label, "wang_cnn2");
}

TEST(Scale, MistakesInItKeepTheirPlace) {
  const std::string grid = kGrid;
  const auto replaced = [&grid](const std::string& what, const std::string& with) {
    auto text = grid;
    return text.replace(text.find(what), what.size(), with);
  };
  // What is smaller is derived, not typed.
  EXPECT_EQ(item_message(replaced("seeds = \"0-1\"", "note = \"two seeds\"")).substr(0, 45),
            "x.toml:10:1: scale.reduced.note: unknown key;");
  EXPECT_EQ(item_message(replaced("seeds = \"0-1\"", "sedes = 1")),
            "x.toml:10:1: scale.reduced.sedes: unknown key (did you mean \"seeds\"?)");
  // A value of a scale is only read when it is used; then it says where it stands.
  const auto wrong = replaced("network = \"wang_cnn2\"", "network = \"small_cmm\"");
  EXPECT_EQ(item_message(wrong), "no error");
  EXPECT_NE(item_message(wrong, Scale::kSmoke).find("x.toml:14:11: network"), std::string::npos)
      << item_message(wrong, Scale::kSmoke);
  EXPECT_NE(item_message("network = \"small_cnn\"\ndataset = \"mnist14\"\nmethod = \"dense\"",
                         Scale::kReduced)
                .find("scale.reduced: is not declared"),
            std::string::npos);
  EXPECT_THROW(parse_scale("redused"), Error);
}

TEST(ItemReport, ReadsWhatThePaperPrintsAndWhatItMeans) {
  const auto paper = parse_item(kGrid).paper;
  EXPECT_EQ(paper.item, "Table X");
  EXPECT_EQ(paper.margin, 0.5);
  ASSERT_EQ(paper.values.size(), 1u);
  const auto& value = paper.values[0];
  EXPECT_EQ(value.quantity, PaperQuantity::kAccuracy);
  EXPECT_EQ(value.basis, Basis::kEndToEnd);
  EXPECT_EQ(value.tolerance, 0.3);
  ASSERT_EQ(value.paper.size(), 2u);
  ASSERT_EQ(paper.departures.size(), 1u);
  EXPECT_EQ(paper.departures[0].methods, std::vector<std::string>{"zero"});
  EXPECT_EQ(paper.departures[0].reason, "the paper's runs freeze the layer");
  EXPECT_EQ(value.paper[0][0].printed, "91 %");
  EXPECT_EQ(value.paper[0][0].value, 91);
  EXPECT_EQ(value.paper[1][0].printed, "90.5");  // "" says nothing else is printed
}

TEST(ItemReport, RefusesNumbersThatDoNotFitItsShape) {
  const auto report = [](const std::string& text) {
    return item_message("network = \"small_cnn\"\ndataset = \"mnist14\"\nmethod = \"dense\"\n" +
                        text);
  };
  const std::string value = "[[report.value]]\nquantity = \"accuracy\"\n";
  EXPECT_NE(report("[report]\n" + value + "paper = [[1]]\n").find("lists of lists are for columns"),
            std::string::npos);
  EXPECT_NE(report("[report]\ncolumns = \"schedule\"\n" + value + "paper = [1]\n")
                .find("report.value[0].paper[0]: expected a list with a number for each column"),
            std::string::npos);
  EXPECT_NE(report("[report]\n" + value + "paper = [1]\nprinted = [\"a\", \"b\"]\n")
                .find("2 rows, but paper has 1"),
            std::string::npos);
  EXPECT_NE(report("[report]\n[[report.value]]\nquantity = \"acuracy\"\n")
                .find("did you mean \"accuracy\"?"),
            std::string::npos);
  EXPECT_NE(report("[report]\n" + value + "basis = \"guessed\"\n").find("known: measured-e2e"),
            std::string::npos);
  EXPECT_NE(report("[report]\nrows = \"method\"\ncolumns = \"method\"\n")
                .find("the rows are already by this axis"),
            std::string::npos);
  EXPECT_NE(report("[report]\n[[report.departs]]\nmethod = \"dense\"\n").find("reason is missing"),
            std::string::npos);
  EXPECT_NE(report("[report]\n" + value + "paper = [true]\n").find("expected a number or a text"),
            std::string::npos);
}

// A number that no row or column has would be in no table, and nobody would miss it.
TEST(ItemReport, RefusesNumbersOfNoRowAndNoColumn) {
  const auto report = [](const std::string& text, const std::string& more = "") {
    return item_message(
        "network = [\"small_cnn\", \"wang_cnn2\"]\ndataset = \"mnist14\"\n"
        "method = [\"dense\", \"zero\"]\n" +
        more + "[report]\nrows = \"network\"\n" + text);
  };
  const std::string value = "[[report.value]]\nquantity = \"accuracy\"\n";
  EXPECT_EQ(report(value + "paper = [1, 2]\n"), "no error");
  EXPECT_EQ(report(value + "paper = [1]\n"), "no error") << "the rest of it was not printed";
  EXPECT_EQ(report(value + "paper = [1, 2, 3]\n"),
            "x.toml:8:16: report.value[0].paper[2]: 3 numbers, and the table has 2 rows");
  EXPECT_EQ(report(value + "printed = [\"1\", \"2\", \"3\"]\n"),
            "x.toml:8:22: report.value[0].printed[2]: 3 numbers, and the table has 2 rows");
  EXPECT_EQ(report("paper = [1, 2, 3]\n" + value),
            "x.toml:6:16: report.paper[2]: 3 numbers, and the table has 2 rows");
  const std::string columns = "columns = \"method\"\n";
  EXPECT_EQ(report(columns + value + "paper = [[1, 2], [3]]\n"), "no error");
  EXPECT_EQ(report(columns + value + "paper = [[1, 2], [3, 4, 5]]\n"),
            "x.toml:9:25: report.value[0].paper[1][2]: 3 numbers, and the table has 2 columns");
  // Columns of schedules: the exact runs have none, and are no column.
  const std::string schedules = "schedule = [\"wang2019_cnn2\", \"slice\"]\n";
  EXPECT_EQ(report("columns = \"schedule\"\n" + value + "paper = [[1, 2]]\n", schedules),
            "no error");
  EXPECT_NE(report("columns = \"schedule\"\n" + value + "paper = [[1, 2, 3]]\n", schedules)
                .find("3 numbers, and the table has 2 columns"),
            std::string::npos);
}

TEST(ItemKind, IsReadFromWhatTheFileHas) {
  const auto study = parse_item("[study]\nname = \"matmul-error\"\nparams = { runs = 10 }\n");
  ASSERT_NE(study.as<StudyItem>(), nullptr);
  EXPECT_EQ(study.as<StudyItem>()->params,
            (std::vector<std::pair<std::string, std::string>>{{"runs", "10"}}));
  const auto kernels = parse_item("[kernels]\nshape = [\"N1,C1,K1,H3\"]\nmethod = \"zero\"\n");
  ASSERT_NE(kernels.as<KernelItem>(), nullptr);
  EXPECT_EQ(kernels.as<KernelItem>()->shape_texts.size(), 1u);
  EXPECT_EQ(kernels.as<KernelItem>()->device, DeviceKind::kCpu);
  const auto there = parse_item(
      "[kernels]\nshapes = \"a\"\ndevice = \"cuda\"\nprecision = [\"tf32\", \"bf16\"]\n");
  EXPECT_EQ(there.as<KernelItem>()->device, DeviceKind::kCuda);
  EXPECT_EQ(there.as<KernelItem>()->precisions,
            (std::vector<Precision>{Precision::kTf32, Precision::kBf16}));
  const auto missing = parse_item("not_run = \"no machine of that kind\"\n");
  ASSERT_NE(missing.as<NotRunItem>(), nullptr);
  EXPECT_EQ(missing.as<NotRunItem>()->why, "no machine of that kind");
  const auto picture =
      parse_item("picture = \"schedule\"\nnetwork = \"small_cnn\"\nschedule = \"wang2019_cnn2\"\n");
  ASSERT_NE(picture.as<PictureItem>(), nullptr);
  EXPECT_EQ(picture.as<PictureItem>()->schedules.size(), 1u);

  EXPECT_NE(item_message("not_run = \"why\"\n[study]\nname = \"x\"\n")
                .find("cannot stand beside study; leave one out"),
            std::string::npos);
  EXPECT_NE(
      item_message("not_run = \"why\"\nmethod = \"zero\"\n").find("no meaning beside not_run"),
      std::string::npos);
  EXPECT_NE(item_message("[kernels]\nop = \"weight_gradient\"\n").find("needs either shapes"),
            std::string::npos);
  EXPECT_NE(item_message("[kernels]\nshapes = \"a\"\nrepetitions = 1\n").find("at least 2"),
            std::string::npos);
  EXPECT_NE(item_message("[kernels]\nshapes = \"a\"\nprecision = [\"tf32\"]\n")
                .find("kernels.precision: precision = tf32 needs device = cuda"),
            std::string::npos);
  EXPECT_NE(item_message("[kernels]\nshapes = \"a\"\nprecision = [\"fp23\"]\n").find("fp32"),
            std::string::npos);
  EXPECT_NE(item_message("[kernels]\nshapes = \"a\"\ndevice = \"tpu\"\n").find("known: cpu, cuda"),
            std::string::npos);
  EXPECT_NE(item_message("[study]\nparams = {}\n").find("name is missing"), std::string::npos);
}

TEST(Definition, SaysWhatReportsDecideBy) {
  const auto of = [](const char* words) { return Definition(words).measure; };
  EXPECT_EQ(of("final"), Measure::kFinal);
  EXPECT_EQ(of("best on validation"), Measure::kBest);
  EXPECT_EQ(of("of the approximated layers"), Measure::kOfApproximatedLayers);
  EXPECT_EQ(of("dense"), Measure::kDense);
  EXPECT_EQ(of("approximated"), Measure::kApproximated);
  for (const char* words : {"", "finally", "the best", "dense over approximated"}) {
    EXPECT_EQ(of(words), Measure::kAsDescribed) << words;
    EXPECT_EQ(Definition(words).text, words);
  }
}

}  // namespace
}  // namespace approx
