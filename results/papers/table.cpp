#include "results/papers/table.h"

#include "results/papers/grid.h"
#include "results/papers/kernels.h"
#include "results/papers/runs.h"
#include "results/papers/study.h"
#include "results/papers/unmeasured.h"
#include "results/records/contents.h"

namespace approx {

Table report_paper(const Snapshot& snapshot, const Experiment& layout, const Experiment& shown,
                   const PaperOptions& options) {
  if (layout.as<KernelItem>()) return paper_kernels_table(snapshot, layout, shown);
  if (layout.as<StudyItem>()) return paper_study_table(snapshot, layout, shown);
  if (const auto* picture = layout.as<PictureItem>()) return paper_picture_table(layout, *picture);
  if (const auto* not_run = layout.as<NotRunItem>()) return paper_not_run_table(layout, *not_run);
  return paper_runs_table(PaperGrid(layout, shown),
                          read_item_contents(snapshot, shown, options.catalogue),
                          options.include_tainted);
}

}  // namespace approx
