#include "core/train/operand_file.h"

#include <ATen/ATen.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "base/error.h"
#include "base/files.h"
#include "core/train/tensor_file.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

constexpr TensorFileKind kOperandKind{.magic = "APTXOPER", .what = "the file of operands"};
constexpr size_t kKeyDigits = 64;
constexpr size_t kLongestText = 4096;
constexpr int64_t kLargestNumber = std::numeric_limits<int32_t>::max();

template <typename... Arguments>
Error wrong(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return data_error("{} is damaged: {}", kOperandKind.what,
                    fmt::format(format, std::forward<Arguments>(arguments)...));
}

bool channels_last(const at::Tensor& tensor) {
  return tensor.is_contiguous(at::MemoryFormat::ChannelsLast);
}

TensorContent content_of(const RecordedOperands& recorded) {
  const LayerInfo& layer = recorded.layer;
  TensorContent content;
  content.state = {{"run_key", recorded.run_key},
                   {"network", recorded.network},
                   {"dataset", recorded.dataset},
                   {"method", recorded.method},
                   {"seed", recorded.seed},
                   {"step", recorded.step},
                   {"epoch", recorded.epoch},
                   {"position", recorded.position},
                   {"layer", layer.name},
                   {"kind", layer.kind},
                   {"index", layer.index},
                   {"stride", layer.stride},
                   {"padding", layer.padding},
                   {"groups", layer.groups},
                   {"norm_follows", layer.norm_follows},
                   {"reads_images", layer.reads_images},
                   {"channels_last", Json::array()}};
  const Operands& o = recorded.operands;
  for (const auto& [name, tensor] : {std::pair("x", o.x), std::pair("w", o.w), {"dy", o.dy}}) {
    content.tensors.emplace_back(name, tensor);
    if (channels_last(tensor)) content.state["channels_last"].push_back(name);
  }
  return content;
}

std::string text_at(const Json& state, const char* key) {
  auto text = state.at(key).get<std::string>();
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
  });
  if (!plain || text.size() > kLongestText) throw wrong("\"{}\" is no text of one line", key);
  return text;
}

int64_t number_at(const Json& state, const char* key, int64_t min, int64_t max) {
  const Json& value = state.at(key);
  if (value.is_number_integer()) {
    const auto number = value.get<int64_t>();
    if (number >= min && number <= max) return number;
  }
  throw wrong("\"{}\" is {}, expected a whole number from {} to {}", key, value.dump(), min, max);
}

// The tensor of that name, in the layout that it had.
at::Tensor tensor_of(const TensorContent& content, const std::string& name) {
  const auto found = std::find_if(content.tensors.begin(), content.tensors.end(),
                                  [&](const auto& tensor) { return tensor.first == name; });
  if (found == content.tensors.end()) throw wrong("there is no {}", name);
  const at::Tensor& tensor = found->second;
  if (tensor.scalar_type() != at::kFloat || tensor.dim() != 4 || tensor.numel() == 0) {
    throw wrong("{} is {} {}, expected a float tensor of 4 sizes from 1", name,
                c10::toString(tensor.scalar_type()), c10::str(tensor.sizes()));
  }
  const auto last = content.state.at("channels_last").get<std::vector<std::string>>();
  const bool was_last = std::find(last.begin(), last.end(), name) != last.end();
  return was_last ? tensor.contiguous(at::MemoryFormat::ChannelsLast) : tensor;
}

// Maps and kernels of networks are square, and the three tensors are of one layer.
void check_layer(const Operands& o) {
  const auto& [stride, padding, dilation, groups] = o.geometry;
  const auto x = o.x.sizes(), w = o.w.sizes(), dy = o.dy.sizes();
  const bool square = x[2] == x[3] && w[2] == w[3] && dy[2] == dy[3];
  const bool grouped = x[1] % groups == 0 && w[0] % groups == 0 && w[1] == x[1] / groups;
  const bool fits = w[2] <= x[2] + 2 * padding.h &&
                    dy[2] == output_size(x[2], w[2], stride.h, padding.h) && dy[0] == x[0] &&
                    dy[1] == w[0];
  if (square && grouped && fits) return;
  throw wrong("x {}, w {} and dy {} are no layer of stride {}, padding {} and {} groups",
              c10::str(x), c10::str(w), c10::str(dy), stride.h, padding.h, groups);
}

RecordedOperands recorded_in(const TensorContent& content) {
  const Json& state = content.state;
  RecordedOperands recorded;
  recorded.run_key = text_at(state, "run_key");
  if (recorded.run_key.size() != kKeyDigits ||
      recorded.run_key.find_first_not_of("0123456789abcdef") != std::string::npos) {
    throw wrong("\"{}\" is no run key", recorded.run_key);
  }
  recorded.network = text_at(state, "network");
  recorded.dataset = text_at(state, "dataset");
  recorded.method = text_at(state, "method");
  constexpr auto kMost = std::numeric_limits<int64_t>::max();
  recorded.seed = number_at(state, "seed", 0, kMost);
  recorded.step = number_at(state, "step", 0, kMost);
  recorded.epoch = state.at("epoch").get<double>();
  if (!std::isfinite(recorded.epoch) || recorded.epoch < 0) throw wrong("\"epoch\" is no epoch");
  recorded.position = number_at(state, "position", 1, kLargestNumber);

  LayerInfo& layer = recorded.layer;
  layer.name = text_at(state, "layer");
  layer.kind = text_at(state, "kind");
  layer.index = number_at(state, "index", 1, kLargestNumber);
  layer.stride = number_at(state, "stride", 1, kLargestNumber);
  layer.padding = number_at(state, "padding", 0, kLargestNumber);
  layer.groups = number_at(state, "groups", 1, kLargestNumber);
  layer.norm_follows = state.at("norm_follows").get<bool>();
  layer.reads_images = state.at("reads_images").get<bool>();

  Operands& o = recorded.operands;
  if (content.tensors.size() != 3) throw wrong("{} tensors, expected 3", content.tensors.size());
  o.x = tensor_of(content, "x");
  o.w = tensor_of(content, "w");
  o.dy = tensor_of(content, "dy");
  o.geometry = {layer.stride, layer.padding, 1, layer.groups};
  o.input_sizes = o.x.sizes().vec();
  check_layer(o);
  layer.in_channels = o.x.size(1);
  layer.out_channels = o.w.size(0);
  layer.kernel = o.w.size(2);
  layer.in_size = o.x.size(2);
  layer.out_size = o.dy.size(2);
  layer.macs = o.dy.numel() / o.dy.size(0) * (o.w.numel() / o.w.size(0));
  return recorded;
}

// By name they sort by run, step and place.
std::string file_name(const RecordedOperands& recorded) {
  return fmt::format("{}-step{:08}-layer{:03}{}", recorded.run_key.substr(0, 12), recorded.step,
                     recorded.position, kOperandFileSuffix);
}

}  // namespace

std::string save_operands(const std::string& folder, const RecordedOperands& recorded) {
  const std::string bytes = encode_tensors(kOperandKind, content_of(recorded));
  std::string path = (fs::path(folder) / file_name(recorded)).string();
  if (static_cast<int64_t>(bytes.size()) > kLargestOperandFile) {
    throw data_error("{}: would have {} bytes, more than {}; record with a smaller batch", path,
                     bytes.size(), kLargestOperandFile);
  }
  make_folder(folder);
  const std::string unfinished = fmt::format("{}.{}", path, ::getpid());
  if (const auto error = write_synced(unfinished, to_bytes(bytes))) {
    std::error_code ignored;
    fs::remove(unfinished, ignored);
    throw data_error("{}: {} ({} bytes to write); free some space and record again", path,
                     error.message(), bytes.size());
  }
  if (const auto error = rename_durably(unfinished, path)) {
    throw data_error("{}: {}", path, error.message());
  }
  return path;
}

RecordedOperands load_operands(const std::string& path) {
  const auto bytes = read_file(path, kLargestOperandFile);
  try {
    return recorded_in(decode_tensors(
        kOperandKind, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())));
  } catch (const Json::exception& error) {
    throw wrong("{}", error.what()).in(path);
  } catch (const Error& error) {
    throw error.in(path);
  }
}

std::vector<std::string> operand_files(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> files;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == kOperandFileSuffix) files.push_back(entry->path().string());
  }
  if (error) throw data_error("{}: {}", folder, error.message());
  if (files.empty()) {
    throw data_error("{}: no recorded operands (*{}) in it; train --record writes them", folder,
                     kOperandFileSuffix);
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace approx
