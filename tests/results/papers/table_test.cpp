// Tables of papers: which number of ours stands beside one of the paper, and how it is judged.
#include <gtest/gtest.h>

#include "results/render/verdict.h"
#include "tests/results/papers/paper_report_test.h"

namespace approx {
namespace {

TEST_F(PaperReport, WithoutAStoreNothingIsRunAndThePaperIsThere) {
  const auto experiment = item(2);
  const auto table = report_paper(Snapshot::or_empty(folder_ / "none.db"), experiment, experiment);
  EXPECT_EQ(at(table, "dense", "accuracy", "verdict"), name(Verdict::kNotRun));
  EXPECT_EQ(at(table, "dense", "accuracy", "printed"), "92.0%");
  EXPECT_EQ(at(table, "zero", "accuracy", "reason"), "no finished run in the store");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "none.db"));
}

TEST_F(PaperReport, JudgesAccuraciesAndTheirDifferencesFromDense) {
  auto experiment = item(6);
  std::erase_if(trainings_of(experiment),
                [](const auto& run) { return run.method_label == "random"; });
  const auto layout = item(6);
  fill(experiment, 6);
  const auto table = report_paper(Snapshot::or_empty(path_), layout, experiment);
  // 90.2 % against 92 with a tolerance of half a point.
  EXPECT_EQ(at(table, "dense", "accuracy", "verdict"), name(Verdict::kDiffers));
  EXPECT_EQ(at(table, "dense", "accuracy", "n"), "6");
  // Two points in ours, 1.9 in the paper: within its tolerance.
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "measured"), "2.000");
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "reported"), "1.900");
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "verdict"), name(Verdict::kReproduced));
  EXPECT_EQ(at(table, "dense", "accuracy_loss", "verdict"), "");  // the reference itself
  EXPECT_EQ(at(table, "random", "accuracy_loss", "verdict"), name(Verdict::kNotRun));
  EXPECT_EQ(at(table, "random", "accuracy", "reason"), "not part of the full scale");
  // The same bytes from the same store.
  EXPECT_EQ(render(table, "md"),
            render(report_paper(Snapshot::or_empty(path_), layout, experiment), "md"));
}

TEST_F(PaperReport, RunsThatASmallerScaleLeavesAsThePaperHasThemAreJudged) {
  const auto layout = item(6);
  auto shown = item(6);
  shown.scale = Scale::kReduced;
  for (auto& run : trainings_of(shown)) {
    if (run.method_label == "zero") run.key.front() = 'x';  // another setting
  }
  fill(shown, 6);
  const auto table = report_paper(Snapshot::or_empty(path_), layout, shown);
  EXPECT_EQ(at(table, "dense", "accuracy", "verdict"), name(Verdict::kDiffers));
  EXPECT_EQ(at(table, "zero", "accuracy", "reason"),
            "reduced scale: only differences from dense are judged");
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "verdict"), name(Verdict::kReproduced));
}

TEST_F(PaperReport, FewSeedsAndLossyDataHaveNoVerdict) {
  const auto experiment = item(3);
  fill(experiment, 3, /*lossy=*/true);
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  EXPECT_NE(at(table, "dense", "accuracy", "reason").find("lossy data"), std::string::npos);
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "reason"), "n = 3: fewer than 6 seeds");
  EXPECT_NE(at(table, "zero", "accuracy_loss", "notes").find("few seeds; lossy data"),
            std::string::npos);
  const std::string text = render(table, "md");
  EXPECT_NE(text.find("lossy data: the images went through JPEG"), std::string::npos) << text;
}

// Photographs that the paper's own loader writes anew are no worse than the paper's.
TEST_F(PaperReport, DataEncodedAsThePapersOwnLoaderDoesAreJudged) {
  auto experiment = item(6);
  fill(experiment, 6, /*lossy=*/true);
  EXPECT_EQ(at(report_paper(Snapshot::or_empty(path_), experiment, experiment), "dense", "accuracy",
               "reason"),
            "lossy data: only differences from dense are judged");
  experiment.paper.reencoded = "full";  // the variant of the stored data
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  EXPECT_EQ(at(table, "dense", "accuracy", "verdict"), name(Verdict::kDiffers));
  EXPECT_NE(at(table, "dense", "accuracy", "notes").find("lossy data"), std::string::npos);
  experiment.paper.reencoded = "longer side 500, JPEG quality 90";
  EXPECT_EQ(at(report_paper(Snapshot::or_empty(path_), experiment, experiment), "dense", "accuracy",
               "verdict"),
            name(Verdict::kNotComparable));
}

TEST_F(PaperReport, AnItemThatCannotRunSaysWhy) {
  Experiment experiment = experiment_of({}, "paper:figure5");
  experiment.item = experiment.id;
  experiment.work = NotRunItem{"training on several machines is not written"};
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  const std::string text = render(table, "md");
  EXPECT_NE(text.find("NOT RUN: training on several machines is not written"), std::string::npos);
}

}  // namespace
}  // namespace approx
