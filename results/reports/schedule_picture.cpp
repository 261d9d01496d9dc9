#include "results/reports/schedule_picture.h"

#include <algorithm>

namespace approx {

std::string stand_in_method(const Catalogue& catalogue) {
  for (const auto& info : catalogue.methods) {
    const auto& products = info.products;
    const bool fits =
        info.products_of_mode.empty() && !info.stops_blocks &&
        std::find(products.begin(), products.end(), Product::kWeightGradient) != products.end();
    if (fits) return info.name;
  }
  return "";
}

Table schedule_picture(const std::vector<Rule>& rules, const std::string& network,
                       const std::string& method, const Catalogue& catalogue,
                       const PictureExtent& extent) {
  const NetworkInfo& info = catalogue.network(parse_spec(network).name);
  const std::string stand_in = method.empty() ? stand_in_method(catalogue) : "";
  const Schedule schedule(rules, info.layers, method.empty() ? stand_in : method, catalogue,
                          extent.steps_per_epoch, extent.total_steps, extent.ranks);
  Table table;
  table.name = "schedule";
  table.columns = {"layer_index", "layer", "step", "method"};
  int64_t index = 0;
  for (size_t at = 0; at < info.layers.size(); ++at) {
    ++index;
    for (int64_t step = 0; step < extent.steps; ++step) {
      std::string text;
      const auto decision = schedule.computed_at(at, step, extent.rank);
      for (const Product product : kAllProducts) {
        const int chosen = decision.of(product);
        if (chosen == Decision::kDense) continue;
        // The name is enough for a picture; its parameters are in the schedule.
        std::string name = parse_spec(schedule.methods()[static_cast<size_t>(chosen)]).name;
        if (name == stand_in) name = kMethodOfTheRun;
        if (text.find(name) == std::string::npos) text += (text.empty() ? "" : "+") + name;
      }
      table.rows.push_back({index, info.layers[at].name, step, text});
    }
  }
  return table;
}

}  // namespace approx
