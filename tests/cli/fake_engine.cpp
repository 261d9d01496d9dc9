// An engine that computes nothing and misbehaves on demand: the program's tests open it in place
// of libapproxtrain.so (APPROXTRAIN_ENGINE).
//
// APPROXTRAIN_FAKE is a list of `SEED=WORD`, or `*=WORD` for every other seed, joined by `;`:
//   finish      the default: five steps, a metric, a final event
//   slow        the same in 2 s (APPROXTRAIN_FAKE_STEP_MS: milliseconds of each step)
//   compute     computes all the time in steps of that length
//   diverge     a final event that says so
//   disturbed   a final event that says that something disturbed it
//   hoard       asks for 2 GiB and does not touch them, then finishes; hoard-noexcept: where nobody
//               can be told that there are none
//   throw, throw-data, throw-device, throw-lost, throw-oom, throw-unknown
//   abort, segv, kill, exit0, exit3, early (exits before the start event)
//   garbage     lines that are no events, broken UTF-8, NUL, half a line, then finishes
//   flood       64 MB of output without a line feed, then finishes
//   deep        an event that nests 100,000 deep, then finishes
//   wrong       events whose fields have the wrong types
//   late-segv   segv after its steps
//   talk        writes lines on stdout and stderr, then fails
//   hang        no event any more; ignores being stopped
//   stubborn    goes on with events; ignores being stopped
//   no-final    returns without a final event
//   once:WORD   WORD in the first attempt (told by APPROXTRAIN_FAKE_MARK, a path), then finishes
//   rankN:WORD  of a run of several ranks rank N does WORD, the others are slow
// Ranks do not wait for each other. Rank 0 keeps a checkpoint: the step that it has come to. Each
// prints where it computes, which goes to its log.
// APPROXTRAIN_FAKE_LIBRARY is a file that holds the build id it gives itself.
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <new>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "base/error.h"
#include "core/engine/engine.h"
#include "generated/build_info.h"

namespace approx {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string behaviour(int64_t seed) {
  std::istringstream list(variable("APPROXTRAIN_FAKE"));
  std::string item, other = "finish";
  while (std::getline(list, item, ';')) {
    const auto equals = item.find('=');
    if (item.substr(0, equals) == std::to_string(seed)) return item.substr(equals + 1);
    if (item.substr(0, equals) == "*") other = item.substr(equals + 1);
  }
  return other;
}

// Of this process, by its launcher; -1: it is alone.
int64_t own_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK"}) {
    const std::string text = variable(name);
    if (!text.empty()) return std::stoll(text);
  }
  return -1;
}

// "rank1:kill" is "kill" to rank 1.
std::string word_for(int64_t rank, const std::string& word) {
  if (rank < 0 || word.rfind("rank", 0) != 0) return word;
  const auto colon = word.find(':');
  return word.substr(0, colon) == "rank" + std::to_string(rank) ? word.substr(colon + 1) : "slow";
}

// Where a run of several ranks has come to.
struct FakeCheckpoint {
  std::string path;  // "": none

  int64_t read() const {
    int64_t step = 0;
    if (!path.empty()) std::ifstream(path) >> step;
    return step;
  }
  void write(int64_t step) const {
    if (path.empty()) return;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path + ".new") << step;
    std::filesystem::rename(path + ".new", path);
  }
};

void pause(int64_t milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

// The same, and never off its core.
void compute(int64_t milliseconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

// The CPUs that this process may use.
Json mask() {
  cpu_set_t set;
  Json cpus = Json::array();
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

// To the descriptor of the events, past the program.
void raw(const std::string& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = write(3, bytes.data() + done, bytes.size() - done);
    if (written <= 0) return;
    done += static_cast<size_t>(written);
  }
}

class FakeEngine final : public Engine {
 public:
  Catalogue catalogue() const override { return {}; }

  std::unique_ptr<Stepper> stepper(const RunConfig& /*config*/, const Place& /*place*/,
                                   bool /*phases*/) override {
    throw usage_error("the fake engine has no stepper");
  }

  Json environment() const override {
    Json environment = {{"torch", "none"}, {"fake", true}, {"mask", mask()}};
    std::string library;
    if (std::ifstream(variable("APPROXTRAIN_FAKE_LIBRARY")) >> library) {
      environment["library"] = library;
    }
    return environment;
  }

  void train(const RunConfig& config, const Place& place, const EventSink& sink,
             const std::atomic<bool>& stop) override {
    const int64_t rank = own_rank();
    std::string word = word_for(rank, behaviour(config.seed));
    FakeCheckpoint checkpoint;
    if (rank >= 0) {
      std::cout << "rank " << rank << " on " << mask().dump() << ", waits "
                << place.rank_timeout_ns / 1'000'000 << " ms" << std::endl;
    }
    if (rank == 0 && !place.checkpoints.folder.empty()) {
      checkpoint.path = place.checkpoints.folder + "/step";
    }
    if (word.rfind("once:", 0) == 0) {
      const std::string mark =
          variable("APPROXTRAIN_FAKE_MARK") + "." + std::to_string(config.seed);
      const bool again = std::filesystem::exists(mark);
      std::ofstream(mark) << word;
      word = again ? "finish" : word.substr(5);
    }
    if (word == "early") _exit(9);
    sink({{"event", "start"},
          {"parameters", 10},
          {"macs", 1000},
          {"steps_per_epoch", 5},
          {"total_steps", 5},
          {"approximated_share", 0.25},
          {"dataset",
           {{"name", config.dataset},
            {"variant", "fake"},
            {"sha256", "fake"},
            {"n_train", 100},
            {"n_test", 10},
            {"lossy", false}}}});
    misbehave(word);
    const std::string step_text = variable("APPROXTRAIN_FAKE_STEP_MS");
    const int64_t step_ms = !step_text.empty() ? std::stoll(step_text) : word == "slow" ? 400 : 1;
    const bool stoppable = word != "stubborn";
    int64_t step = checkpoint.read();
    if (step > 0) {
      sink({{"event", "note"}, {"message", "goes on after step " + std::to_string(step)}});
    }
    std::string state = word == "diverge" ? "diverged" : "finished";
    Json step_ns(static_cast<size_t>(step), 1'000'000 + config.seed);
    for (; step < (stoppable ? 5 : 1'000'000); ++step) {
      if (stoppable && stop) {
        state = "interrupted";
        break;
      }
      word == "compute" ? compute(step_ms) : pause(step_ms);
      step_ns.push_back(1'000'000 + config.seed);
      sink({{"event", "progress"},
            {"epoch", 1},
            {"step", step + 1},
            {"total_steps", 5},
            {"loss", 1.0 / static_cast<double>(step + 1)},
            {"images_per_s", 1000.0}});
      checkpoint.write(step + 1);
    }
    if (word == "late-segv") raise(SIGSEGV);
    // The same numbers for the same run, whenever it is done.
    const double accuracy = 0.5 + 0.01 * static_cast<double>(config.seed % 10);
    const bool diverged = state == "diverged";
    for (const char* split : {"holdout", "test"}) {
      Json metric = {{"event", "metric"}, {"name", "accuracy"}, {"split", split},
                     {"step", step},      {"epoch", 1.0},       {"train_ns", 5'000'000},
                     {"value", accuracy}};
      sink(metric);
    }
    sink({{"event", "metric"},
          {"name", "loss"},
          {"split", "train"},
          {"step", step},
          {"epoch", 1.0},
          {"train_ns", 5'000'000},
          {"value", diverged ? Json(nullptr) : Json(0.25)},
          {"special", diverged ? Json("nan") : Json(nullptr)}});
    if (word == "no-final") return;
    sink({{"event", "final"},
          {"state", state},
          {"taint", word == "disturbed" ? Json::array({"load"}) : Json::array()},
          {"steps", step},
          {"warmup_steps", 0},
          {"train_ns", 5'000'000},
          {"eval_ns", 1'000'000},
          {"wall_ns", 7'000'000},
          {"warmup_ns", 0},
          {"step_ns", step_ns},
          {"peak_rss_bytes", 1 << 20},
          {"diverged_step", diverged ? Json(3) : Json(nullptr)},
          {"diverged_layer", diverged ? Json("conv1") : Json(nullptr)}});
  }

  // One layer at two epochs.
  std::vector<ConvShape> recorded_shapes(const std::string& folder) override {
    if (folder == "nothing") throw data_error("nothing: no recorded operands in it");
    std::vector<ConvShape> shapes;
    for (const int64_t epoch : {2, 4}) {
      shapes.push_back({.label = "small_cnn conv 1",
                        .batch = 2,
                        .in_channels = 4,
                        .out_channels = 4,
                        .size = 8,
                        .recorded = OperandOrigin{.path = folder + "/a",
                                                  .run_key = std::string(64, 'a'),
                                                  .network = "small_cnn",
                                                  .method = "zero",
                                                  .layer = "conv1",
                                                  .step = 5 * epoch - 1,
                                                  .epoch = static_cast<double>(epoch),
                                                  .reads_images = true}});
    }
    return shapes;
  }

  std::vector<KernelCase> kernel_cases(const ConvShape& shape, Product product,
                                       const std::vector<std::string>& methods,
                                       const KernelSetting& setting) override {
    std::vector<KernelCase> cases;
    const auto add = [&](const std::string& method, int64_t loops) {
      KernelCase kernel;
      kernel.op = name(product);
      kernel.method = method;
      kernel.variant = "fake";
      kernel.chosen = true;
      kernel.shape = shape;
      kernel.precision = setting.precision;
      kernel.dense_flops = 1e6;
      kernel.flops = method == "dense" ? 1e6 : 2.5e5;
      kernel.run = [loops] {
        volatile double sum = 0;
        for (int64_t i = 0; i < loops; ++i) sum = sum + std::sqrt(static_cast<double>(i));
      };
      kernel.bytes = 2e3;
      // Every one takes as long as the calls that it is told of.
      if (setting.cold) kernel.cold_ns = [method] { return method == "dense" ? 4e6 : 1e6; };
      if (method != "dense") kernel.plan = [] { pause(0); };
      kernel.check = [] { return std::pair(1e-6, 1e-7); };
      cases.push_back(std::move(kernel));
    };
    add("dense", 20'000);
    for (const auto& method : methods) {
      add(method, 5'000);
      if (!method.starts_with("sdgp") && !method.starts_with("topk_crs")) continue;
      add(method, 6'000);
      cases.back().variant = "late";
      cases.back().chosen = false;
    }
    return cases;
  }

  std::vector<KernelChoice> kernel_choices(const ConvShape& shape, Product product,
                                           const std::vector<std::string>& methods,
                                           const KernelSetting& /*setting*/) override {
    const auto choice = [&](const std::string& method) {
      return KernelChoice{.op = std::string(name(product)),
                          .method = method,
                          .shape = shape,
                          .plan = method == "dense" ? "Dense" : "Fake",
                          .density = method == "dense" ? 1 : 0.25,
                          .candidates = {{.name = "narrow", .limit = Limit::kDevice},
                                         {.name = "slow", .has_rule = true, .pays = false},
                                         {.name = "fake", .chosen = true},
                                         {.name = "late"},
                                         {.name = "reference", .is_definition = true}}};
    };
    std::vector<KernelChoice> choices = {choice("dense")};
    for (const auto& method : methods) choices.push_back(choice(method));
    return choices;
  }

  // The variant takes as long as its rival at a density of 0.4, and computes no 1x1 kernels.
  std::vector<KernelCase> rule_cases(const ConvShape& shape, const RuledVariant& variant,
                                     double density, int64_t /*threads*/) override {
    if (shape.kernel == 1) return {};
    std::vector<KernelCase> cases(2);
    const double ratio = variant.pays == Pays::kBelow ? density / 0.4 : 0.4 / density;
    for (const bool is_rival : {false, true}) {
      cases[is_rival].run = [loops = static_cast<int64_t>(is_rival ? 2e4 : 2e4 * ratio)] {
        volatile double sum = 0;
        for (int64_t i = 0; i < loops; ++i) sum = sum + std::sqrt(static_cast<double>(i));
      };
    }
    return cases;
  }

  Roofline roofline(const KernelSetting& setting) override {
    const bool has_ceiling = !is_half(setting.precision), has_l2 = setting.device == "cuda";
    return {.flops = has_ceiling ? 1e9 * static_cast<double>(setting.threads) : 0,
            .bytes = 5e9,
            .l2_size = has_l2 ? 3e6 : 0,
            .l2_bytes = has_l2 ? 20e9 : 0};
  }

  Json study(const std::string& name, const StudyRequest& request, int64_t threads) override {
    Json rows = Json::array({Json::array({name, threads, 0.5, nullptr})});
    for (const auto& method : request.methods) rows.push_back({method, 1, 1e-9, true});
    return {{"columns", {"what", "number", "value", "none"}}, {"rows", rows}};
  }

 private:
  // By the system's allocator alone, so that the compiler cannot leave it out.
  static void hoard() { ::operator delete(::operator new (size_t{2} << 30)); }

  static void misbehave(const std::string& word) {
    if (word == "throw") throw std::runtime_error("the fake engine\nfails");
    if (word == "throw-data") throw data_error("the fake data are gone");
    if (word == "throw-device") throw Error(ErrorKind::kDevice, "the fake device is lost");
    if (word == "throw-lost") throw LostRank("no answer from another rank for a while");
    if (word == "throw-oom") throw std::bad_alloc();
    if (word == "hoard") hoard();
    if (word == "hoard-noexcept") []() noexcept { hoard(); }();
    if (word == "throw-unknown") throw 42;
    if (word == "abort") std::abort();
    if (word == "segv") raise(SIGSEGV);
    if (word == "kill") raise(SIGKILL);
    if (word == "exit0") _exit(0);
    if (word == "exit3") _exit(3);
    if (word == "garbage") {
      raw("not json\n{\"event\":5}\n{\"event\":\"unknown\"}\n[1,2]\n\n\xff\xfe{\n");
      raw(std::string("{\"event\":\"metric\",\"name\":\"\xc3(\"}\n\0\0\n", 34));
      raw("{\"event\":\"pro");
      raw("\n");
    }
    if (word == "flood") {
      const std::string block(1 << 20, 'x');
      for (int i = 0; i < 64; ++i) {
        raw(block);
        if (write(STDOUT_FILENO, block.data(), block.size()) < 0) return;
      }
      raw("\n");
    }
    if (word == "deep") raw("{\"event\":\"metric\",\"x\":" + std::string(100'000, '[') + "\n");
    if (word == "wrong") raw("{\"event\":\"metric\",\"name\":5,\"step\":\"x\",\"value\":{}}\n");
    if (word == "talk") {
      const std::string text = "a line on stdout\n\xff broken UTF-8 \x1b[31m\nlast words\n";
      if (write(STDOUT_FILENO, text.data(), text.size()) > 0) _exit(4);
    }
    if (word == "hang") {
      while (true) pause(1000);
    }
  }
};

}  // namespace
}  // namespace approx

// APPROXTRAIN_FAKE_SOURCE is what it says that it was built from.
extern "C" const char* approxtrain_source() {
  const char* other = std::getenv("APPROXTRAIN_FAKE_SOURCE");
  return other != nullptr ? other : APPROX_SOURCE;
}

extern "C" approx::Engine* approxtrain_engine() {
  static approx::FakeEngine engine;
  return &engine;
}
