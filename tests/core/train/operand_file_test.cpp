#include "core/train/operand_file.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "core/library/kernel_cases.h"
#include "core/train/accuracy_run.h"
#include "core/train/operand_probe.h"
#include "core/train/session.h"
#include "core/train/tensor_file.h"
#include "tests/core/train/toy_run.h"
#include "tests/testing.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

class OperandFolder {
 public:
  OperandFolder() {
    std::string path = (fs::temp_directory_path() / "operands_XXXXXX").string();
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    path_ = path;
  }
  ~OperandFolder() { fs::remove_all(path_); }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// A layer of 4 and 6 channels in 2 groups, its dY with the channels first.
RecordedOperands recorded_example() {
  RecordedOperands recorded{.run_key = std::string(64, 'c'),
                            .network = "resnet20",
                            .dataset = "cifar10",
                            .method = "sdgp:n=2,m=4",
                            .seed = 3,
                            .step = 41,
                            .epoch = 2.5,
                            .position = 7,
                            .layer = {},
                            .operands = random_operands({2, 4, 5, 6, 3, 2, 1, 2})};
  recorded.layer.name = "stage1.conv2";
  recorded.layer.kind = "conv3x3";
  recorded.layer.index = 6;
  recorded.layer.stride = 2;
  recorded.layer.padding = 1;
  recorded.layer.groups = 2;
  recorded.layer.norm_follows = true;
  recorded.operands.dy = recorded.operands.dy.contiguous();
  return recorded;
}

std::string bytes_at(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// What is wrong with a file, after its name, which the one line of the error begins with.
std::string complaint(const std::string& path) {
  try {
    load_operands(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    const std::string text = error.what();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    EXPECT_EQ(text.find(path + ": "), 0u) << text;
    return text.substr(std::min(text.size(), path.size() + 2));
  }
  return "";
}

TEST(OperandFile, ReadsBackWhatWasWritten) {
  const OperandFolder folder;
  const auto written = recorded_example();
  const auto path = save_operands(folder / "made/on/the/way", written);
  EXPECT_EQ(path, folder / "made/on/the/way/cccccccccccc-step00000041-layer007.operands");
  const auto back = load_operands(path);
  EXPECT_EQ(back.run_key, written.run_key);
  EXPECT_EQ(back.network, "resnet20");
  EXPECT_EQ(back.dataset, "cifar10");
  EXPECT_EQ(back.method, "sdgp:n=2,m=4");
  EXPECT_EQ(back.seed, 3);
  EXPECT_EQ(back.step, 41);
  EXPECT_EQ(back.epoch, 2.5);
  EXPECT_EQ(back.position, 7);
  EXPECT_EQ(back.layer.name, "stage1.conv2");
  EXPECT_EQ(back.layer.kind, "conv3x3");
  EXPECT_EQ(back.layer.index, 6);
  EXPECT_EQ(back.layer.in_channels, 4);
  EXPECT_EQ(back.layer.out_channels, 6);
  EXPECT_EQ(back.layer.kernel, 3);
  EXPECT_EQ(back.layer.in_size, 5);
  EXPECT_EQ(back.layer.out_size, 3);
  EXPECT_EQ(back.layer.macs, 3 * 3 * 6 * 2 * 3 * 3);
  EXPECT_TRUE(back.layer.norm_follows);
  EXPECT_FALSE(back.layer.reads_images);
  const auto &a = written.operands, &b = back.operands;
  for (const auto& [tensor, read] : {std::pair(a.x, b.x), std::pair(a.w, b.w), {a.dy, b.dy}}) {
    EXPECT_TRUE(at::equal(tensor, read));
    EXPECT_EQ(tensor.strides(), read.strides()) << "its layout in memory";
  }
  EXPECT_EQ(b.geometry.stride, a.geometry.stride);
  EXPECT_EQ(b.geometry.padding, a.geometry.padding);
  EXPECT_EQ(b.geometry.groups, 2);
  EXPECT_EQ(b.input_sizes, a.input_sizes);
}

TEST(OperandFile, AFolderListsItsFilesByRunStepAndLayer) {
  const OperandFolder folder;
  EXPECT_THROW(operand_files(folder.path()), Error) << "none in it";
  EXPECT_THROW(operand_files(folder / "missing"), Error);
  auto recorded = recorded_example();
  std::vector<std::string> wanted;
  for (const int64_t step : {9, 100}) {
    for (const int64_t position : {2, 10}) {
      recorded.step = step;
      recorded.position = position;
      wanted.push_back(save_operands(folder.path(), recorded));
    }
  }
  put_bytes(wanted[0] + ".1234", "what a process that died on the way has left");
  EXPECT_EQ(operand_files(folder.path()), wanted);
  save_operands(folder.path(), recorded);
  EXPECT_EQ(operand_files(folder.path()), wanted) << "the same step again takes its own place";
}

// Every byte flipped and every length cut: an error, never a crash and never other operands.
TEST(OperandFile, AnyDamageIsNoticed) {
  const OperandFolder folder;
  auto small = recorded_example();
  small.operands = random_operands({1, 2, 2, 2, 1, 2, 1, 2});
  const std::string whole = bytes_at(save_operands(folder.path(), small));
  const std::string path = folder / "damaged.operands";
  put_bytes(path, whole);
  EXPECT_EQ(complaint(path), "");
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string bytes = whole;
    bytes[i] = static_cast<char>(bytes[i] ^ (1 << i % 8));
    put_bytes(path, bytes);
    EXPECT_NE(complaint(path), "") << "byte " << i;
    put_bytes(path, whole.substr(0, i));
    EXPECT_NE(complaint(path), "") << "cut at " << i;
  }
  put_bytes(path, whole + "x");
  EXPECT_NE(complaint(path), "");
}

TEST(OperandFile, WhatIsNoFileOrTooLargeIsRefusedUnread) {
  const OperandFolder folder;
  EXPECT_NE(complaint(folder / "missing.operands"), "");
  fs::create_directory(folder / "folder.operands");
  EXPECT_NE(complaint(folder / "folder.operands"), "");
  put_bytes(folder / "large.operands", "");
  fs::resize_file(folder / "large.operands", kLargestOperandFile + 1);  // takes no disk
  EXPECT_NE(complaint(folder / "large.operands").find("at most 4294967296 bytes"),
            std::string::npos);
}

TEST(OperandFile, ACheckpointIsNotTakenForOne) {
  const OperandFolder folder;
  put_bytes(folder / "a.operands", encode_tensors({"APTXCKPT", "the checkpoint"}, {}));
  EXPECT_EQ(complaint(folder / "a.operands"),
            "the file of operands is damaged: it does not begin as one");
}

// Under a checksum that is right, content that lies.
TEST(OperandFile, EveryFieldIsChecked) {
  const OperandFolder folder;
  constexpr TensorFileKind kOperands{.magic = "APTXOPER", .what = "the file of operands"};
  const std::string whole = bytes_at(save_operands(folder.path(), recorded_example()));
  const std::string path = folder / "forged.operands";
  const auto forged = [&](const std::function<void(TensorContent&)>& lie) {
    TensorContent content = decode_tensors(kOperands, whole);
    lie(content);
    put_bytes(path, encode_tensors(kOperands, content));
    return complaint(path);
  };
  EXPECT_EQ(forged([](TensorContent&) {}), "");
  const std::vector<std::pair<const char*, Json>> lies = {
      {"run_key", "abc"},   {"run_key", std::string(64, 'G')},
      {"run_key", 7},       {"network", nullptr},
      {"network", "a\nb"},  {"dataset", std::string(5000, 'a')},
      {"method", Json()},   {"seed", -1},
      {"step", -1},         {"step", 1.5},
      {"step", UINT64_MAX}, {"epoch", -0.5},
      {"epoch", "2"},       {"position", 0},
      {"layer", 1},         {"kind", Json::array()},
      {"index", 0},         {"stride", 0},
      {"stride", 1},        {"padding", -1},
      {"padding", 1 << 20}, {"padding", int64_t{1} << 40},
      {"groups", 0},        {"groups", 3},
      {"groups", 1},        {"norm_follows", 1},
      {"reads_images", ""}, {"channels_last", "x"}};
  for (const auto& [key, value] : lies) {
    const auto key_and_value = std::pair(key, value);
    EXPECT_NE(
        forged([&](TensorContent& c) { c.state[key_and_value.first] = key_and_value.second; }), "")
        << key << " = " << value;
    EXPECT_NE(forged([&](TensorContent& c) { c.state.erase(key_and_value.first); }), "") << key;
  }
  EXPECT_NE(forged([](TensorContent& c) { c.state = Json::array(); }), "");
  EXPECT_NE(forged([](TensorContent& c) { c.tensors.pop_back(); }), "");
  EXPECT_NE(forged([](TensorContent& c) { c.tensors.push_back(c.tensors[0]); }), "");
  EXPECT_NE(forged([](TensorContent& c) { c.tensors[0].first = "y"; }), "");
  for (size_t i = 0; i < 3; ++i) {
    const auto with = [&](const at::Tensor& tensor) {
      return forged([&](TensorContent& c) { c.tensors[i].second = tensor; });
    };
    EXPECT_NE(with(at::zeros({2, 4, 5})), "");
    EXPECT_NE(with(at::zeros({0, 4, 5, 5})), "");
    EXPECT_NE(with(at::zeros({2, 4, 5, 6})), "");
    EXPECT_NE(with(at::zeros({3, 4, 5, 5})), "");
    EXPECT_NE(with(at::zeros({2, 4, 4, 4}, at::kDouble)), "");
  }
}

RunConfig recorded_run(const std::string& method) {
  return toy_run(method, method == "dense" ? "" : "slice:layers=1::1", 4);
}

const LoadedDataset& recorded_data() {
  static const LoadedDataset dataset = toy_dataset();
  return dataset;
}

std::vector<Json> recorded_events(const RunConfig& config, const Recording& recording) {
  std::vector<Json> events;
  const std::atomic<bool> stop = false;
  run_accuracy(
      config, recorded_data(), {},
      [&](Json event) {
        for (const char* clock :
             {"train_ns", "eval_ns", "wall_ns", "warmup_ns", "step_ns", "start_ns", "aside_ns"}) {
          event.erase(clock);
        }
        event.erase("peak_rss_bytes");
        const std::string kind = event["event"];
        if (kind != "progress" && event.value("name", "") != "energy") events.push_back(event);
      },
      stop, recording);
  return events;
}

Recording recording_in(const std::string& folder, int64_t epochs, int64_t steps = 0) {
  return {.folder = folder,
          .run_key = std::string(64, 'a'),
          .every_epochs = epochs,
          .every_steps = steps};
}

TEST(Recorder, RecordsTheLastStepOfTheEpochsAndChangesNothing) {
  const OperandFolder folder;
  const auto config = recorded_run("stochastic_pruning:p=0.9");
  const auto recorded = recorded_events(config, recording_in(folder.path(), 2));
  EXPECT_EQ(recorded, recorded_events(config, {}));
  const int64_t per_epoch = recorded.front()["steps_per_epoch"];
  std::set<std::tuple<double, int64_t, std::string>> found;
  for (const auto& path : operand_files(folder.path())) {
    const auto each = load_operands(path);
    EXPECT_EQ(each.run_key, std::string(64, 'a'));
    EXPECT_EQ(each.network, config.network);
    EXPECT_EQ(each.method, config.method);
    EXPECT_EQ(each.layer.reads_images, each.position == 1);
    EXPECT_EQ(each.layer.norm_follows, each.layer.is_conv());
    found.insert({each.epoch, each.step, each.layer.name});
  }
  decltype(found) wanted;
  for (const int64_t epoch : {2, 4}) {
    for (const char* layer : {"conv1", "conv2", "conv3", "linear"}) {
      wanted.insert({static_cast<double>(epoch), epoch * per_epoch - 1, layer});
    }
  }
  EXPECT_EQ(found, wanted);
}

TEST(Recorder, CountsBatchesToo) {
  const OperandFolder folder;
  recorded_events(recorded_run("dense"), recording_in(folder.path(), 0, 20));
  std::set<int64_t> steps;
  for (const auto& path : operand_files(folder.path())) steps.insert(load_operands(path).step);
  EXPECT_EQ(*steps.begin(), 19);
  EXPECT_EQ(*std::next(steps.begin()), 39);
}

TEST(Recorder, RefusesWhatItCannotRecord) {
  const OperandFolder folder;
  EXPECT_THROW(recorded_events(recorded_run("dense"), recording_in(folder.path(), 5)), Error)
      << "the run has 4 epochs";
  auto half = recorded_run("dense");
  half.precision = Precision::kBf16;
  EXPECT_THROW(recorded_events(half, recording_in(folder.path(), 1)), Error);
}

TEST(Recorder, AFolderThatCannotBeWrittenIsNotedAndCostsNoRun) {
  const OperandFolder folder;
  put_bytes(folder / "file", "");
  const auto events =
      recorded_events(recorded_run("dense"), recording_in(folder / "file/folder", 4));
  EXPECT_EQ(events.back()["state"], "finished");
  int64_t notes = 0;
  for (const auto& event : events) notes += event["event"] == "note";
  EXPECT_EQ(notes, 1);
}

// What a step leaves to be recorded, in files.
std::vector<std::string> record_a_step(Session& session, const RunConfig& config,
                                       const std::string& folder) {
  OperandProbe probe;
  session.step(&probe);
  RecordedOperands recorded{.run_key = std::string(64, 'a'),
                            .network = config.network,
                            .dataset = config.dataset,
                            .method = config.method,
                            .seed = config.seed,
                            .step = session.steps_done() - 1};
  for (auto& [layer, operands] : probe.take()) {
    recorded.layer = layer;
    recorded.operands = operands;
    save_operands(folder, recorded);
    ++recorded.position;
  }
  return operand_files(folder);
}

// The plans of a benchmark are those of the step: the same entries kept, to the last one.
TEST(Recorder, DensityOnRecordedOperandsIsThatOfTheStep) {
  const OperandFolder folder;
  const auto config = recorded_run("stochastic_pruning:p=0.9");
  Session session(config, recorded_data());
  for (int i = 0; i < 5; ++i) session.step();
  session.take_densities();
  record_a_step(session, config, folder.path());
  std::map<std::string, double> of_step;
  for (const auto& [where, density] : session.take_densities()) of_step[where] = density;
  int64_t compared = 0;
  for (const auto& shape : recorded_shapes_of(folder.path())) {
    ASSERT_TRUE(shape.recorded);
    for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
      const auto found = of_step.find(fmt::format("{}:{}", shape.recorded->layer, name(product)));
      if (found == of_step.end()) continue;  // the gradient of the images, or no norm follows
      for (const auto& kernel : kernel_cases_of(shape, product, {config.method}, at::kCPU)) {
        if (kernel.method == "dense") continue;
        EXPECT_DOUBLE_EQ(kernel.flops / kernel.dense_flops, found->second) << found->first;
        EXPECT_LT(kernel.check().second, 1e-5);
        ++compared;
      }
      const auto choices = kernel_choices_of(shape, product, {config.method}, at::kCPU);
      EXPECT_DOUBLE_EQ(choices.back().density, found->second);
    }
  }
  EXPECT_GE(compared, 4);
}

// A sample of the forward product is drawn as in the step, and the gradients go by it.
TEST(Recorder, ASampleIsThatOfTheStep) {
  const OperandFolder folder;
  const auto config = recorded_run("bernoulli_crs:ratio=0.5");
  Session session(config, recorded_data());
  record_a_step(session, config, folder.path());
  std::map<std::pair<std::string, std::string>, double> macs;  // by layer and product
  for (const auto& event : session.layer_events()) {
    if (event["event"] != "layer" || event["method"] == "dense") continue;
    macs[{event["layer"], event["product"]}] = event["macs_done"];
  }
  ASSERT_FALSE(macs.empty());
  for (const auto& shape : recorded_shapes_of(folder.path())) {
    for (const auto product : kAllProducts) {
      const auto found = macs.find({shape.recorded->layer, std::string(name(product))});
      if (found == macs.end()) continue;
      const auto cases = kernel_cases_of(shape, product, {config.method}, at::kCPU);
      EXPECT_DOUBLE_EQ(cases.back().flops, 2 * found->second) << shape.label;
    }
  }
}

// The update comes after the products.
TEST(Recorder, WeightsAreThoseThatTheStepUsed) {
  const OperandFolder folder;
  const auto config = recorded_run("dense");
  Session session(config, recorded_data());
  session.step();
  std::vector<at::Tensor> before;
  for (const auto& [layer, operands] : record_exact_pass(session)) before.push_back(operands.w);
  const auto files = record_a_step(session, config, folder.path());
  ASSERT_EQ(files.size(), before.size());
  for (size_t i = 0; i < files.size(); ++i) {
    EXPECT_TRUE(at::equal(load_operands(files[i]).operands.w, before[i])) << i;
  }
}

}  // namespace
}  // namespace approx
