#include "core/scheduled_layers.h"

namespace approx {

ScheduledLayers::ScheduledLayers(std::vector<Layer*> layers, Schedule schedule, uint64_t seed)
    : schedule_(std::move(schedule)), seed_(seed) {
  const size_t methods = schedule_.methods().size();
  for (auto* layer : layers) {
    layer->slot = LayerSlot{};
    layer->slot.norm_follows = layer->info.norm_follows;
    PerLayer entry;
    entry.layer = layer;
    entry.methods.resize(methods);
    entry.approximated.resize(methods);
    layers_.push_back(std::move(entry));
  }
}

void ScheduledLayers::begin_step(int64_t step) {
  for (size_t i = 0; i < layers_.size(); ++i) {
    auto& entry = layers_[i];
    const Decision decision = schedule_.at(i, step);
    auto& slot = entry.layer->slot;
    slot.seed = seed_;
    slot.step = static_cast<uint64_t>(step);
    for (const auto product : kAllProducts) {
      const auto p = static_cast<size_t>(product);
      const int index = decision.of(product);
      if (index == Decision::kDense) {
        slot.use[p] = {};
        ++entry.exact[p];
        continue;
      }
      auto& method = entry.methods[static_cast<size_t>(index)];
      if (method == nullptr) method = make_method(schedule_.methods()[static_cast<size_t>(index)]);
      slot.use[p] = {method.get(), &entry.approximated[static_cast<size_t>(index)][p]};
    }
  }
}

std::vector<ScheduledLayers::Density> ScheduledLayers::take_densities() {
  std::vector<Density> densities;
  for (auto& entry : layers_) {
    for (const auto product : kAllProducts) {
      const auto p = static_cast<size_t>(product);
      double kept = 0, entries = 0;
      for (const auto& counts : entry.approximated) {
        if (counts[p].entries == 0) continue;
        kept += counts[p].kept();
        entries += counts[p].entries;
      }
      const double more = entries - entry.seen_entries[p];
      if (more == 0) continue;
      densities.push_back({entry.layer->info.name, product, (kept - entry.seen_kept[p]) / more});
      entry.seen_kept[p] = kept;
      entry.seen_entries[p] = entries;
    }
  }
  return densities;
}

std::vector<Json> ScheduledLayers::events(int64_t batch_size) const {
  std::vector<Json> events;
  for (const auto& entry : layers_) {
    const auto& [layer, methods, approximated, exact, seen_kept, seen_entries] = entry;
    const double macs = static_cast<double>(layer->info.macs * batch_size);
    for (const auto product : kAllProducts) {
      const auto p = static_cast<size_t>(product);
      const Json common{
          {"event", "layer"}, {"layer", layer->info.name}, {"product", name(product)}};
      const auto add = [&](const std::string& method, int64_t calls, double done, Json density) {
        Json event = common;
        event.update({{"method", method},
                      {"calls", calls},
                      {"exact_calls", exact[p]},
                      {"macs_dense", macs * static_cast<double>(calls)},
                      {"macs_done", done},
                      {"density", std::move(density)}});
        events.push_back(std::move(event));
      };
      for (size_t m = 0; m < approximated.size(); ++m) {
        const auto& count = approximated[m][p];
        if (count.calls == 0) continue;
        const Json density = count.entries == 0 ? Json() : Json(count.density());
        add(schedule_.methods()[m], count.calls, count.macs(), density);
      }
      if (exact[p] > 0) {
        add("dense", exact[p], macs * static_cast<double>(exact[p]), Json());
      }
    }
  }
  return events;
}

}  // namespace approx
