#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>

#include "base/error.h"
#include "kernels/gpu/launch.cuh"
#include "tests/gpu_lab/lab.h"

namespace approx::lab {
namespace {

constexpr size_t kZone = 4096;
constexpr unsigned char kZoneByte = 0xA5;
constexpr int kLaunches = 20;  // of a captured graph
constexpr int kReplays = 7;    // timed, after one that is not

__global__ void fill_numbers(BFloat16* to, int64_t count, uint32_t seed) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count;
       i += int64_t{blockDim.x} * gridDim.x) {
    const uint64_t word =
        (static_cast<uint64_t>(i) + seed * 0x9E3779B97F4A7C15ull) * 0xBF58476D1CE4E5B9ull;
    const auto high = static_cast<uint32_t>((word ^ (word >> 29)) * 0x94D049BB133111EBull >> 32);
    to[i] = BFloat16(static_cast<float>(high) * (2.0f / 4294967296.0f) - 1.0f);
  }
}

__global__ void fill_positive(float* to, int64_t count, uint32_t seed) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count;
       i += int64_t{blockDim.x} * gridDim.x) {
    const auto word = static_cast<uint32_t>(i + seed) * 2654435761u;
    to[i] = 0.5f + static_cast<float>(word >> 8) / 16777216.0f;
  }
}

__global__ void copy_sixteens(const uint4* from, uint4* to, int64_t count) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count;
       i += int64_t{blockDim.x} * gridDim.x) {
    to[i] = from[i];
  }
}

__global__ void nothing() {}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Times {
  double median, least, most;  // microseconds of one launch
};

// A graph of kLaunches launches that takes the instances in turn, replayed.
Times time_of(const std::vector<std::function<void(cudaStream_t)>>& runs) {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream), "cudaStreamCreate");
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "begin of a capture");
  for (int i = 0; i < kLaunches; ++i) runs[static_cast<size_t>(i) % runs.size()](stream);
  check(cudaStreamEndCapture(stream, &graph), "end of a capture");
  cudaGraphExec_t replay = nullptr;
  check(cudaGraphInstantiate(&replay, graph, 0), "cudaGraphInstantiate");
  cudaEvent_t begin = nullptr, end = nullptr;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  std::vector<double> times;
  for (int i = 0; i <= kReplays; ++i) {
    check(cudaEventRecord(begin, stream), "cudaEventRecord");
    check(cudaGraphLaunch(replay, stream), "cudaGraphLaunch");
    check(cudaEventRecord(end, stream), "cudaEventRecord");
    check(cudaEventSynchronize(end), "cudaEventSynchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
    if (i > 0) times.push_back(double{milliseconds} * 1000 / kLaunches);
  }
  check(cudaEventDestroy(begin), "cudaEventDestroy");
  check(cudaEventDestroy(end), "cudaEventDestroy");
  check(cudaGraphExecDestroy(replay), "cudaGraphExecDestroy");
  check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  check(cudaStreamDestroy(stream), "cudaStreamDestroy");
  return {median(times), *std::min_element(times.begin(), times.end()),
          *std::max_element(times.begin(), times.end())};
}

// As many instances that together they are three times the L2, at most 16, at least two.
std::vector<Instance> instances_beyond_cache(const Case& one, int64_t cache_bytes) {
  std::vector<Instance> sets;
  size_t bytes = 0;
  for (uint32_t seed = 1; seed <= 16 && (seed <= 2 || bytes < 3 * size_t(cache_bytes)); ++seed) {
    sets.push_back(one.make(/*checked=*/false, seed));
    for (const auto& buffer : sets.back().buffers) bytes += buffer->bytes();
  }
  return sets;
}

// "kernel,variant,size,microseconds" a line.
std::map<std::string, double> read_predictions(const std::string& path) {
  std::map<std::string, double> found;
  std::ifstream file(path);
  if (!file) throw usage_error("gpu_lab: {} cannot be read", path);
  for (std::string line; std::getline(file, line);) {
    const auto comma = line.rfind(',');
    if (line.empty() || line[0] == '#' || comma == std::string::npos) continue;
    found[line.substr(0, comma)] = std::strtod(line.c_str() + comma + 1, nullptr);
  }
  return found;
}

std::string name_of(const Case& one) { return one.kernel + "," + one.variant + "," + one.size; }

int run_all(const std::string& only, const std::string& predictions_path, bool list,
            bool check_only) {
  std::vector<Case> cases;
  add_norms(cases);
  add_selections(cases);
  add_positions(cases);
  if (!only.empty()) {
    std::erase_if(cases,
                  [&](const Case& one) { return name_of(one).find(only) == std::string::npos; });
  }
  if (list) {
    for (const auto& one : cases) std::printf("%s,%.0f\n", name_of(one).c_str(), one.bytes);
    return 0;
  }
  std::map<std::string, double> predictions;
  if (!predictions_path.empty()) predictions = read_predictions(predictions_path);

  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  // The two rates that others are held against: a copy in memory, and launches that do nothing.
  double copied = 0;
  {
    const size_t bytes = size_t{1} << 30;
    Instance a;
    Buffer& from = a.add(bytes, Fill::kNumbers);
    Buffer& to = a.add(bytes, Fill::kPoison);
    const auto run = [&](cudaStream_t stream) {
      copy_sixteens<<<device.multiProcessorCount * 8, 512, 0, stream>>>(
          from.as<uint4>(), to.as<uint4>(), static_cast<int64_t>(bytes / 16));
    };
    copied = 2.0 * double(bytes) / time_of({run}).median;  // bytes a microsecond
  }
  const double empty = time_of({[](cudaStream_t s) { nothing<<<1, 32, 0, s>>>(); }}).median;
  std::printf(
      "{\"card\":\"%s\",\"multiprocessors\":%d,\"l2_bytes\":%d,\"copy_tb_per_s\":%.3f,"
      "\"empty_launch_us\":%.3f}\n",
      device.name, device.multiProcessorCount, device.l2CacheSize, copied / 1e6, empty);
  std::fflush(stdout);

  int failed = 0;
  for (const auto& one : cases) {
    std::string wrong;
    double error = 0;
    Times times{};
    try {
      Instance checked = one.make(/*checked=*/true, 1);
      checked.run(nullptr);
      check(cudaDeviceSynchronize(), "a checked launch");
      error = checked.compare();
      if (!(error <= one.tolerance)) wrong = "differs";
      for (const auto& buffer : checked.buffers) {
        if (!buffer->zones_are_intact()) wrong = "writes outside its arrays";
      }
      if (!check_only) {
        auto sets = instances_beyond_cache(one, device.l2CacheSize);
        std::vector<std::function<void(cudaStream_t)>> runs;
        for (auto& set : sets) runs.push_back(set.run);
        times = time_of(runs);
      }
    } catch (const std::exception& failure) {
      wrong = failure.what();
    }
    if (!wrong.empty()) ++failed;
    std::printf("{\"kernel\":\"%s\",\"variant\":\"%s\",\"size\":\"%s\",\"ok\":%s,",
                one.kernel.c_str(), one.variant.c_str(), one.size.c_str(),
                wrong.empty() ? "true" : "false");
    if (!wrong.empty()) std::printf("\"wrong\":\"%s\",", wrong.c_str());
    const double floor = one.bytes / copied;
    std::printf("\"error\":%.3g,\"us\":%.3f,\"least_us\":%.3f,\"most_us\":%.3f,\"floor_us\":%.3f",
                std::isfinite(error) ? error : -1, times.median, times.least, times.most, floor);
    const auto predicted = predictions.find(name_of(one));
    if (predicted != predictions.end()) {
      std::printf(",\"predicted_us\":%.3f,\"over_prediction\":%.3f", predicted->second,
                  times.median / predicted->second);
    }
    std::printf("}\n");
    std::fflush(stdout);
    // A kernel that broke the context leaves nothing to measure.
    if (cudaPeekAtLastError() != cudaSuccess) break;
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace

void check(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  throw Error(ErrorKind::kDevice, fmt::format("{}: {}", call, cudaGetErrorString(result)));
}

Buffer::Buffer(size_t bytes, Fill how, uint32_t seed) : bytes_(bytes) {
  const size_t padded = (bytes + 15) / 16 * 16;
  check(cudaMalloc(&whole_, padded + 2 * kZone), "cudaMalloc");
  data_ = whole_ + kZone;
  check(cudaMemset(whole_, kZoneByte, padded + 2 * kZone), "cudaMemset");
  fill(how, seed);
}

Buffer::~Buffer() { cudaFree(whole_); }

void Buffer::fill(Fill how, uint32_t seed) const {
  switch (how) {
    case Fill::kPoison:
      return check(cudaMemset(data_, 0xFF, bytes_), "cudaMemset");
    case Fill::kZero:
      return check(cudaMemset(data_, 0, bytes_), "cudaMemset");
    case Fill::kNumbers:
      fill_numbers<<<1024, 256>>>(as<BFloat16>(), static_cast<int64_t>(bytes_ / 2), seed);
      return check(cudaGetLastError(), "fill_numbers");
    case Fill::kPositive:
      fill_positive<<<256, 256>>>(as<float>(), static_cast<int64_t>(bytes_ / 4), seed);
      return check(cudaGetLastError(), "fill_positive");
  }
}

void Buffer::upload(const void* from) const {
  check(cudaMemcpy(data_, from, bytes_, cudaMemcpyHostToDevice), "cudaMemcpy");
}

void Buffer::download_to(void* to) const {
  check(cudaMemcpy(to, data_, bytes_, cudaMemcpyDeviceToHost), "cudaMemcpy");
}

bool Buffer::zones_are_intact() const {
  std::vector<unsigned char> zone(kZone);
  for (const char* from : {whole_, data_ + (bytes_ + 15) / 16 * 16}) {
    check(cudaMemcpy(zone.data(), from, kZone, cudaMemcpyDeviceToHost), "cudaMemcpy");
    for (const unsigned char byte : zone) {
      if (byte != kZoneByte) return false;
    }
  }
  return true;
}

Buffer& Instance::add(size_t bytes, Fill fill, uint32_t seed) {
  return *buffers.emplace_back(std::make_unique<Buffer>(bytes, fill, seed));
}

double largest_difference(const std::vector<double>& found, const std::vector<double>& expected) {
  if (found.size() != expected.size()) return std::numeric_limits<double>::quiet_NaN();
  double largest = 0, scale = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const double difference = std::abs(found[i] - expected[i]);
    if (difference != difference) return difference;
    largest = std::max(largest, difference);
    scale = std::max(scale, std::abs(expected[i]));
  }
  return scale > 0 ? largest / scale : largest;
}

std::vector<double> as_doubles(const std::vector<BFloat16>& numbers) {
  std::vector<double> all;
  for (const auto& number : numbers) all.push_back(static_cast<double>(static_cast<float>(number)));
  return all;
}
std::vector<double> as_doubles(const std::vector<float>& numbers) {
  return {numbers.begin(), numbers.end()};
}

}  // namespace approx::lab

int main(int count, char** words) {
  std::string only, predictions;
  bool list = false, check_only = false;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--list") {
      list = true;
    } else if (word == "--check") {
      check_only = true;
    } else if (word == "--only" && i + 1 < count) {
      only = words[++i];
    } else if (word == "--predictions" && i + 1 < count) {
      predictions = words[++i];
    } else {
      std::fputs(
          "Usage: gpu_lab [--only TEXT] [--predictions FILE] [--check | --list]\n"
          "Checks and times single kernels on the first GPU; prints one JSON line a case.\n"
          "  --only TEXT         cases with this in \"kernel,variant,size\"\n"
          "  --predictions FILE  lines \"kernel,variant,size,microseconds\" to compare with\n"
          "  --check             check results and time nothing\n"
          "  --list              print the cases and their bytes; needs no GPU\n"
          "Exit codes: 0 all right, 1 a result is wrong, 2 usage, 7 no GPU.\n",
          stderr);
      return 2;
    }
  }
  try {
    return approx::lab::run_all(only, predictions, list, check_only);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "gpu_lab: %s\n", failure.what());
    return 7;
  }
}
