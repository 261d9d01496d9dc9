#include "results/papers/table.h"

#include <filesystem>

#include "results/papers/grid.h"
#include "results/papers/kernels.h"
#include "results/papers/runs.h"
#include "results/papers/study.h"
#include "results/papers/unmeasured.h"
#include "results/records/contents.h"

namespace approx {

Table report_paper(const std::string& db, const Experiment& layout, const Experiment& shown,
                   const PaperOptions& options) {
  if (layout.as<KernelItem>()) return paper_kernels_table(db, layout, shown);
  if (layout.as<StudyItem>()) return paper_study_table(db, layout, shown);
  if (const auto* picture = layout.as<PictureItem>()) return paper_picture_table(layout, *picture);
  if (const auto* not_run = layout.as<NotRunItem>()) return paper_not_run_table(layout, *not_run);
  const Members members = members_of(shown, db, options.catalogue);
  Contents contents;
  if (std::filesystem::exists(db)) {
    contents = read_item_contents(db, shown, members, options.catalogue);
  }
  return paper_runs_table(PaperGrid(layout, shown), std::move(contents), options.include_tainted);
}

}  // namespace approx
