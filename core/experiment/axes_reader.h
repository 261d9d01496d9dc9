// Reads the axes, extras and exclusions of a grid from TOML.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/config/catalogue.h"
#include "core/experiment/grid.h"
#include "core/experiment/overrides.h"
#include "core/experiment/toml_source.h"

namespace approx {

// The inputs of the functions below. These throw Error(kUsage) as `file:line:column: key: what is
// wrong`.
struct AxesContext {
  const TomlSource& source;
  const Catalogue& catalogue;
  const Overridden& overridden;
};

// Reads the axes that `table` has into `axes`, and leaves the others as they are. `path` is "" or
// ends in a dot. A value of an axis may be a table with a `when`. It selects cells as an exclusion
// does, and only these cells have the value.
void read_axes(const AxesContext& context, const toml::table& table, const std::string& path,
               Axes& axes);

// Reads a further block. Keys that `table` omits are those of blocks[0]. The table may give an axis
// that the command line replaced. The block then keeps the values that both name. Returns nothing,
// as no such row was asked for, if there are no such values, or if that axis is method, schedule,
// network or recipe.
std::optional<Axes> read_extra(const AxesContext& context, const toml::table& table,
                               const std::string& path, const std::vector<Axes>& blocks);

// Reads an exclusion. It names methods and networks by label or text, and schedules by label. They
// must be in a block.
Exclusion read_exclusion(const AxesContext& context, const toml::table& table,
                         const std::string& path, const std::vector<Axes>& blocks);

}  // namespace approx
