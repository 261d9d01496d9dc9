#include "core/data/photo_import.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>

#include "core/data/archive.h"
#include "core/data/folder_layout.h"
#include "core/data/packed_photos.h"
#include "core/data/source_text.h"

namespace approx {
namespace {

// Room for all of ImageNet as it is published.
constexpr ArchiveLimits kPhotoLimits{
    .entries = 2'000'000, .entry_bytes = int64_t{1} << 26, .content_bytes = int64_t{1} << 40};

// Sums of the pixels of many images, exact: 2^64 is enough for 10^13 pixels.
struct PixelSums {
  std::array<uint64_t, 3> sum{}, squares{};
  uint64_t pixels = 0;

  void add(const Raster& raster) {
    for (size_t i = 0; i < raster.pixels.size(); i += 3) {
      for (size_t c = 0; c < 3; ++c) {
        const uint64_t value = raster.pixels[i + c];
        sum[c] += value;
        squares[c] += value * value;
      }
    }
    pixels += raster.pixels.size() / 3;
  }
  void add(const PixelSums& other) {
    for (size_t c = 0; c < 3; ++c) {
      sum[c] += other.sum[c];
      squares[c] += other.squares[c];
    }
    pixels += other.pixels;
  }
};

// A file that is read and not yet converted.
struct Job {
  int64_t number = 0;  // in the order of reading
  std::string place, class_name, file;
  bool is_test = false;
  std::vector<uint8_t> content;
};

// Converts on threads of its own what the reading thread hands in, and collects the results.
class Conversion {
 public:
  Conversion(PhotoLimit limit, const ImportOptions& options, const std::string& packed_path)
      : limit_(limit),
        options_(options),
        spool_(fmt::format("{}.files.{}", packed_path, ::getpid()), O_RDWR | O_CREAT | O_EXCL) {
    // Without a name it is gone when this process is, however that ends.
    ::unlink(fmt::format("{}.files.{}", packed_path, ::getpid()).c_str());
    const auto threads = std::max(1u, std::thread::hardware_concurrency());
    try {
      for (unsigned i = 0; i < threads; ++i) workers_.emplace_back([this] { work(); });
    } catch (...) {
      stop();  // a thread that nobody waits for ends the process
      throw;
    }
  }

  ~Conversion() { stop(); }
  Conversion(const Conversion&) = delete;
  Conversion& operator=(const Conversion&) = delete;

  // Waits while enough is waiting already. False once a file was refused.
  bool add(Job job) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return jobs_.size() < 2 * workers_.size() || failure_; });
    if (failure_) return false;
    job.number = next_number_++;
    jobs_.push_back(std::move(job));
    work_.notify_one();
    return true;
  }

  // Waits for the last file; throws what was thrown for the first one that was refused.
  void finish() {
    stop();
    if (failure_) std::rethrow_exception(failure_);
    std::sort(skipped_.begin(), skipped_.end());
    if (options_.on_skipped) {
      for (const auto& message : skipped_) options_.on_skipped(message);
    }
  }

  struct Part {
    FiledImages by_class;  // positions in `photos`
    std::vector<SpooledPhoto> photos;
    int64_t skipped = 0;
  };
  Part train, test;
  PixelSums sums;  // of the training part
  bool rewrote = false;
  int64_t shorter_side = 0;  // that no stored image exceeds

  int spool() const { return spool_.descriptor(); }

 private:
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      work_.notify_all();
    }
    for (auto& worker : workers_) worker.join();
    workers_.clear();
  }

  void work() {
    std::optional<PhotoConverter> converter;  // there may be no memory for one
    PixelSums own;
    bool rewrote_any = false;
    int64_t largest = 0;
    while (true) {
      Job job;
      {
        std::unique_lock lock(mutex_);
        work_.wait(lock, [this] { return !jobs_.empty() || closed_ || failure_; });
        if (jobs_.empty() || failure_) break;
        job = std::move(jobs_.front());
        jobs_.pop_front();
        room_.notify_one();
      }
      try {
        if (!converter) converter.emplace(limit_);
        const auto converted = converted_unless_damaged(*converter, job);
        if (!converted) continue;
        const Raster& raster = converter->raster();
        if (!job.is_test) own.add(raster);
        rewrote_any |= converter->rewrote();
        largest = std::max(largest, std::min(raster.height, raster.width));
        store(job, *converted);
      } catch (...) {
        fail(job);
      }
    }
    const std::lock_guard lock(mutex_);
    sums.add(own);
    rewrote |= rewrote_any;
    shorter_side = std::max(shorter_side, largest);
  }

  // Nothing of a damaged file that is to be left out.
  std::optional<Bytes> converted_unless_damaged(PhotoConverter& converter, const Job& job) {
    try {
      return converter.convert(job.content, job.place);
    } catch (const Error& error) {
      if (!options_.skip_damaged || error.kind() != ErrorKind::kData) throw;
      skip(job, error.what());
      return std::nullopt;
    }
  }

  Part& part_of(const Job& job) { return job.is_test ? test : train; }

  void store(const Job& job, Bytes converted) {
    const auto bytes = static_cast<int64_t>(converted.size());
    const std::lock_guard lock(mutex_);
    spool_.write(converted, spooled_ + bytes);
    auto& part = part_of(job);
    part.by_class[job.class_name].push_back({job.file, part.photos.size()});
    part.photos.push_back({.offset = spooled_, .bytes = bytes});
    spooled_ += bytes;
  }

  void skip(const Job& job, const std::string& message) {
    const std::lock_guard lock(mutex_);
    ++part_of(job).skipped;
    skipped_.push_back(message);
  }

  // Of several refused files the first in the order of reading is the one to be named.
  void fail(const Job& job) {
    const std::lock_guard lock(mutex_);
    if (!failure_ || job.number < failed_number_) {
      failure_ = std::current_exception();
      failed_number_ = job.number;
    }
    room_.notify_all();
    work_.notify_all();
  }

  const PhotoLimit limit_;
  const ImportOptions& options_;
  OutputFile spool_;
  int64_t spooled_ = 0;
  std::vector<std::thread> workers_;
  std::mutex mutex_;  // of everything that is changed below and in the public part
  std::condition_variable work_, room_;
  std::deque<Job> jobs_;
  int64_t next_number_ = 0, failed_number_ = 0;
  std::vector<std::string> skipped_;
  std::exception_ptr failure_;
  bool closed_ = false;
};

std::vector<SpooledPhoto> photos_in_order(Conversion::Part part,
                                          const std::vector<std::string>& classes) {
  std::vector<SpooledPhoto> photos;
  photos.reserve(part.photos.size());
  for (const auto& image : in_class_order(std::move(part.by_class), classes)) {
    photos.push_back(part.photos[image.position]);
    photos.back().label = image.label;
  }
  return photos;
}

void set_normalisation(const PixelSums& sums, LoadedDataset& dataset) {
  const auto n = static_cast<double>(sums.pixels);
  for (size_t c = 0; c < 3; ++c) {
    const double mean = static_cast<double>(sums.sum[c]) / n;
    const double variance = static_cast<double>(sums.squares[c]) / n - mean * mean;
    dataset.mean.push_back(mean / 255);
    // As for images of one size: a channel of one value is divided by 1.
    dataset.stddev.push_back(variance > 0 ? std::sqrt(variance) / 255 : 1.0);
  }
}

}  // namespace

Bytes PhotoConverter::convert(Bytes file, const std::string& place) {
  const auto header = read_photo_header(file, place);
  const auto height = static_cast<double>(header.height), width = static_cast<double>(header.width);
  const int64_t side =
      limit_.of_longer ? std::max(header.height, header.width) : header.shorter_side();
  const bool too_large = limit_.side > 0 && side > limit_.side;
  const double scale =
      too_large ? static_cast<double>(limit_.side) / static_cast<double>(side) : 1.0;
  const int64_t shrink =
      too_large ? photo_shrink(header, height, width, height * scale, width * scale) : 1;
  decode_photo(file, header, place, shrink, decoded_);
  raster_ = &decoded_;
  if (too_large) {
    const auto by = static_cast<double>(shrink);
    // Of one that is long and thin something is left.
    const auto new_height = std::max<int64_t>(1, std::lround(height * scale));
    const auto new_width = std::max<int64_t>(1, std::lround(width * scale));
    reduced_.resize(new_height, new_width);
    resample_(decoded_, {0, 0, height / by, width / by}, new_height, new_width, /*mirrored=*/false,
              reduced_.pixels.data());
    raster_ = &reduced_;
  }
  using Kind = PhotoHeader::Kind;
  // Without a limit even the few files of other kinds stay as their publisher has them.
  const bool is_other =
      limit_.side > 0 && (header.kind != Kind::kGreyJpeg && header.kind != Kind::kColourJpeg);
  rewrote_ = too_large || is_other;
  return rewrote_ ? encoder_.encode(*raster_, place) : file;
}

int64_t import_photos(const std::string& path, const DatasetEntry& entry,
                      const std::string& packed_path, const ImportOptions& options,
                      const std::function<void(const LoadedDataset&)>& check) {
  const auto& folder = *entry.photos;
  const auto data_dir = std::filesystem::path(packed_path).parent_path();
  if (!data_dir.empty()) make_folder(data_dir.string());
  const auto limit = options.limit.value_or(PhotoLimit{.side = folder.shorter_side});
  Conversion conversion(limit, options, packed_path);
  FolderLayout layout(folder.classes);
  const int64_t junk = visit_files(
      path, kPhotoLimits, [](std::string_view name) { return parse_folder_name(name).has_value(); },
      [&](const std::string& place, std::string_view name, Bytes content) {
        const auto parsed = layout.check(place, name);
        return conversion.add({.place = place,
                               .class_name = std::string(parsed.class_name),
                               .file = std::string(parsed.file),
                               .is_test = parsed.is_test,
                               .content = {content.begin(), content.end()}});
      });
  conversion.finish();

  LoadedDataset dataset;
  dataset.name = entry.name;
  dataset.source = source_text(path);
  dataset.class_names =
      class_names(conversion.train.by_class, conversion.test.by_class, folder.classes, path);
  dataset.classes = static_cast<int64_t>(dataset.class_names.size());
  dataset.shorter_side = limit.side > 0 && !limit.of_longer ? limit.side : conversion.shorter_side;
  // Files as they were are as good as the publisher's; written anew they have lost a little.
  dataset.lossy = conversion.rewrote;
  dataset.variant = conversion.rewrote ? fmt::format("{} side {}, JPEG quality {}",
                                                     limit.of_longer ? "longer" : "shorter",
                                                     limit.side, PhotoEncoder::kQuality)
                                       : "original files";
  set_normalisation(conversion.sums, dataset);
  for (const auto& [part, converted] :
       {std::pair{&dataset.train, &conversion.train}, {&dataset.test, &conversion.test}}) {
    part->count = static_cast<int64_t>(converted->photos.size());
    part->height = entry.height;
    part->width = entry.width;
    part->channels = 3;
    part->skipped = converted->skipped;
  }
  check(dataset);
  const Mapping spool(conversion.spool(), packed_path);
  const auto classes = dataset.class_names;
  write_packed_photos(dataset, photos_in_order(std::move(conversion.train), classes),
                      photos_in_order(std::move(conversion.test), classes), spool.bytes(),
                      packed_path);
  return junk;
}

}  // namespace approx
