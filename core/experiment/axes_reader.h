// Axes, extras and exclusions of a grid, read from TOML.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/config/catalogue.h"
#include "core/experiment/grid.h"
#include "core/experiment/overrides.h"
#include "core/experiment/toml_source.h"

namespace approx {

// What the functions below read from and check against. They throw Error(kUsage) as
// `file:line:column: key: what is wrong`.
struct AxesContext {
  const TomlSource& source;
  const Catalogue& catalogue;
  const Overridden& overridden;
};

// Reads the axes that `table` has into `axes`, leaving the others as they are. `path` is "" or ends
// in a dot. A value of an axis may be a table with a `when`, which selects cells as an exclusion
// does: the others have not that value.
void read_axes(const AxesContext& context, const toml::table& table, const std::string& path,
               Axes& axes);

// A further block: what `table` does not say itself is that of blocks[0]. Of an axis that the
// command line replaced and the table gives itself, it keeps what both name; nothing comes back
// where that is nothing, or where the axis is method, schedule, network or recipe: rows that were
// not asked for.
std::optional<Axes> read_extra(const AxesContext& context, const toml::table& table,
                               const std::string& path, const std::vector<Axes>& blocks);

// Methods and networks are named by label or text, schedules by label, and must be in a block.
Exclusion read_exclusion(const AxesContext& context, const toml::table& table,
                         const std::string& path, const std::vector<Axes>& blocks);

}  // namespace approx
