// What a checkpoint has of the layers under a schedule.
#include <tuple>

#include "base/error.h"
#include "core/train/scheduled_layers.h"

namespace approx {
namespace {

// Names in a checkpoint of what belongs to a method of a layer.
std::string memory_name(const std::string& layer, const std::string& method) {
  return fmt::format("memory:{}:{}", layer, method);
}

std::string kept_name(const std::string& layer, const std::string& method, Product product) {
  return fmt::format("kept:{}:{}:{}", layer, method, name(product));
}

// The rows of all ranks, one rank's after the other's, as the images of a batch are dealt to them.
// A number becomes a row of numbers.
at::Tensor of_whole_batch(const at::Tensor& memory, Collectives& ranks) {
  const auto all = ranks.gathered(memory.contiguous().cpu());
  return memory.dim() == 0 ? all : all.flatten(0, 1);
}

// A rank's number of those of `numbers`, or, of another number of ranks, their mean.
at::Tensor own_number(const at::Tensor& numbers, World world) {
  if (numbers.dim() == 0) return numbers.clone();  // of one process
  return numbers.size(0) == world.size ? numbers[world.rank].clone() : numbers.mean();
}

// A rank's rows of those of `rows`. Throws Error(kData).
at::Tensor own_rows(const at::Tensor& rows, World world) {
  if (rows.size(0) % world.size != 0) {
    throw data_error("what is remembered of {} images cannot be shared by {} ranks", rows.size(0),
                     world.size);
  }
  const int64_t share = rows.size(0) / world.size;
  return rows.narrow(0, world.rank * share, share).clone();
}

}  // namespace

void ScheduledLayers::save(Checkpoint& checkpoint, Collectives* ranks) const {
  Json layers = Json::object();
  for (const auto& entry : layers_) {
    const std::string& layer = entry.layer->info.name;
    Json methods = Json::object();
    for (size_t m = 0; m < entry.methods.size(); ++m) {
      if (entry.methods[m] == nullptr) continue;
      const std::string& text = schedule_.methods()[m];
      Json counts = Json::array();
      for (const auto product : kAllProducts) {
        const auto& count = entry.approximated[m][static_cast<size_t>(product)];
        counts.push_back({count.calls, count.dense_macs, count.host_macs, count.entries,
                          count.host_kept, count.macs_per_kept});
        if (!count.device_kept.defined()) continue;
        checkpoint.add(kept_name(layer, text, product), count.device_kept);
      }
      methods[text]["counts"] = counts;
      const at::Tensor* memory = entry.methods[m]->memory();
      if (memory == nullptr || !memory->defined()) continue;
      checkpoint.add(memory_name(layer, text),
                     ranks == nullptr ? *memory : of_whole_batch(*memory, *ranks));
      // Values are saved in the order of their indices; how they lie in memory decides which
      // kernels take them.
      if (memory->dim() == 0) methods[text]["is_number"] = true;
      methods[text]["channels_last"] =
          memory->dim() == 4 && memory->is_contiguous(at::MemoryFormat::ChannelsLast);
    }
    Json variants = Json::array();
    for (const auto product : kAllProducts) variants.push_back(entry.variant_calls(product));
    layers[layer] = {{"exact", entry.exact},
                     {"exact_macs", entry.exact_macs},
                     {"variants", variants},
                     {"seen_kept", entry.seen_kept},
                     {"seen_entries", entry.seen_entries},
                     {"methods", methods}};
  }
  checkpoint.state["layers"] = layers;
  checkpoint.state["observed"] = observed_;
  if (!sensitivities_.empty()) checkpoint.state["sensitivities"] = sensitivities_;
  if (controlled_ >= 0) {
    checkpoint.state["control"] = {{"ratios", control_.state()},
                                   {"measured_from", measured_from_},
                                   {"measured_macs", measured_macs_}};
  }
}

void ScheduledLayers::restore(const Checkpoint& checkpoint, at::Device device) {
  for (const auto& [accuracy, steps_done] :
       checkpoint.state.at("observed").get<std::vector<std::pair<double, int64_t>>>()) {
    observe(accuracy, steps_done);
  }
  if (checkpoint.state.contains("sensitivities")) {
    set_sensitivities(checkpoint.state["sensitivities"].get<std::map<std::string, double>>());
  }
  for (auto& entry : layers_) {
    const std::string& layer = entry.layer->info.name;
    const Json& saved = checkpoint.state.at("layers").at(layer);
    saved.at("exact").get_to(entry.exact);
    saved.at("exact_macs").get_to(entry.exact_macs);
    saved.at("seen_kept").get_to(entry.seen_kept);
    saved.at("seen_entries").get_to(entry.seen_entries);
    entry.variants = {};
    // A checkpoint of before variants were counted is no worse to go on from.
    if (saved.contains("variants")) saved["variants"].get_to(entry.earlier_variants);
    for (size_t m = 0; m < entry.methods.size(); ++m) {
      const std::string& text = schedule_.methods()[m];
      if (!saved.at("methods").contains(text)) continue;
      const Json& method = saved["methods"][text];
      entry.methods[m] = make_method(text);
      entry.kept_before[m] = {};
      for (const auto product : kAllProducts) {
        const auto p = static_cast<size_t>(product);
        auto& count = entry.approximated[m][p];
        std::tie(count.calls, count.dense_macs, count.host_macs, count.entries, count.host_kept,
                 count.macs_per_kept) =
            method.at("counts")
                .at(p)
                .get<std::tuple<int64_t, double, double, double, double, double>>();
        const auto kept = kept_name(layer, text, product);
        if (checkpoint.has(kept)) count.device_kept = checkpoint.tensor(kept).to(device);
      }
      const auto remembered = memory_name(layer, text);
      if (!checkpoint.has(remembered)) continue;
      const bool channels_last = method.at("channels_last").get<bool>();
      const auto& saved_memory = checkpoint.tensor(remembered);
      const bool is_number = saved_memory.dim() == 0 || method.value("is_number", false);
      *entry.methods[m]->memory() =
          (is_number ? own_number(saved_memory, world_) : own_rows(saved_memory, world_))
              .to(device)
              .contiguous(channels_last ? at::MemoryFormat::ChannelsLast
                                        : at::MemoryFormat::Contiguous);
    }
  }
  if (controlled_ >= 0) {
    const Json& control = checkpoint.state.at("control");
    control_.restore(control.at("ratios"));
    control.at("measured_from").get_to(measured_from_);
    control.at("measured_macs").get_to(measured_macs_);
    apply_ratios();
  }
}

}  // namespace approx
