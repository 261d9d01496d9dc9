#include "core/data/fetch.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <memory>

#include "base/digest.h"
#include "base/files.h"
#include "core/data/bytes.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

// Whether the URL may be fetched without encryption; throws for one that may not be fetched.
bool is_loopback(const std::string& url) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> parsed(curl_url(), &curl_url_cleanup);
  if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) {
    throw data_error("{}: expected a URL, found something else", url);
  }
  const auto part = [&](CURLUPart which) {
    char* text = nullptr;
    curl_url_get(parsed.get(), which, &text, 0);
    std::string value = text ? text : "";
    curl_free(text);
    return value;
  };
  const auto scheme = part(CURLUPART_SCHEME);
  const auto host = part(CURLUPART_HOST);
  if (scheme == "https") return false;
  if (scheme == "http" && (host == "127.0.0.1" || host == "[::1]" || host == "localhost")) {
    return true;
  }
  throw data_error("{}: expected an https URL, found {}", url, scheme);
}

struct Transfer {
  const RemoteFile& file;
  const FetchOptions& options;
  int64_t limit;
  int64_t done;  // bytes in the partial file
  OutputFile out;
  std::exception_ptr failure;  // thrown below libcurl's C frames, kept for above them
};

size_t on_bytes(char* bytes, size_t size, size_t count, void* client) {
  auto& transfer = *static_cast<Transfer*>(client);
  try {
    const auto n = static_cast<int64_t>(size * count);
    if (transfer.done + n > transfer.limit) {
      throw data_error("{}: expected at most {} bytes, found more", transfer.file.url,
                       transfer.limit);
    }
    transfer.out.write({reinterpret_cast<const uint8_t*>(bytes), size * count}, transfer.limit);
    transfer.done += n;
    return size * count;
  } catch (...) {
    transfer.failure = std::current_exception();
    return 0;
  }
}

int on_progress(void* client, curl_off_t total, curl_off_t /*now*/, curl_off_t /*up_total*/,
                curl_off_t /*up_now*/) {
  auto& transfer = *static_cast<Transfer*>(client);
  if (transfer.options.progress) {
    transfer.options.progress(transfer.file, transfer.done,
                              transfer.file.bytes > 0 ? transfer.file.bytes : total);
  }
  return 0;
}

// One request that appends to `part`. Returns false when the server cannot continue a download.
bool request(const RemoteFile& file, const std::string& part, int64_t start,
             const FetchOptions& options) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(),
                                                                 &curl_easy_cleanup);
  if (initialised != CURLE_OK || !curl) {
    throw Error(ErrorKind::kInternal, "libcurl cannot be initialised");
  }
  Transfer transfer{file,
                    options,
                    file.bytes > 0 ? file.bytes : options.max_bytes,
                    start,
                    OutputFile(part, O_WRONLY | O_CREAT | (start > 0 ? O_APPEND : O_TRUNC)),
                    nullptr};
  char message[CURL_ERROR_SIZE] = "";
  const bool loopback = is_loopback(file.url);
  const auto set = [&](CURLoption option, auto value) {
    curl_easy_setopt(curl.get(), option, value);
  };
  set(CURLOPT_URL, file.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, loopback ? "http,https" : "https");
  set(CURLOPT_REDIR_PROTOCOLS_STR, "https");
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_MAXREDIRS, 5L);
  set(CURLOPT_FAILONERROR, 1L);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT, 30L);
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, 60L);
  set(CURLOPT_USERAGENT, "approxtrain");
  set(CURLOPT_ERRORBUFFER, message);
  set(CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(start));
  set(CURLOPT_WRITEFUNCTION, &on_bytes);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&transfer));
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &on_progress);
  set(CURLOPT_XFERINFODATA, static_cast<void*>(&transfer));
  if (loopback) set(CURLOPT_PROXY, "");
  const CURLcode code = curl_easy_perform(curl.get());
  if (transfer.failure) std::rethrow_exception(transfer.failure);
  transfer.out.sync_and_close();
  if (code == CURLE_OK) return true;
  if (start > 0 && (code == CURLE_RANGE_ERROR || code == CURLE_BAD_DOWNLOAD_RESUME)) return false;
  throw data_error("{}: {}{}", file.url, *message ? message : curl_easy_strerror(code),
                   transfer.done > 0
                       ? fmt::format("; {} bytes are kept in {}, the same command continues",
                                     transfer.done, part)
                       : std::string());
}

// What is wrong with the content of a file, "" when it is the publisher's.
std::string difference(const RemoteFile& file, const std::string& path) {
  for (const auto& [algorithm, expected] : {std::pair{"sha256", file.sha256}, {"md5", file.md5}}) {
    if (expected.empty()) continue;
    const auto found = file_digest_hex(algorithm, path);
    if (found != expected) {
      return fmt::format("expected {} {}, found {} in {} bytes", algorithm, expected, found,
                         fs::file_size(path));
    }
  }
  return "";
}

}  // namespace

std::string fetch_file(const RemoteFile& file, const std::string& folder,
                       const FetchOptions& options) {
  if (file.md5.empty() && file.sha256.empty()) {
    throw Error(ErrorKind::kInternal, fmt::format("{}: no checksum is known", file.url));
  }
  auto from = file;
  if (!options.mirror.empty()) {
    from.url = options.mirror;
    if (!from.url.ends_with('/')) from.url += '/';
    from.url += file.file_name;
  }
  is_loopback(from.url);
  make_folder(folder);
  auto path = (fs::path(folder) / file.file_name).string();
  const auto part = path + ".part";
  std::error_code error;
  if (fs::is_regular_file(path, error) && difference(from, path).empty()) return path;

  int64_t start = 0;
  if (const auto size = fs::file_size(part, error); !error) start = static_cast<int64_t>(size);
  const bool complete = from.bytes > 0 && start == from.bytes;
  if (from.bytes > 0 && start > from.bytes) start = 0;
  const bool resumed = start > 0;
  bool restarted = !resumed;
  if (!complete && !request(from, part, start, options)) {
    restarted = true;
    request(from, part, 0, options);
  }
  auto wrong = difference(from, part);
  if (!wrong.empty() && !restarted) {  // what was continued may not have been this file
    request(from, part, 0, options);
    wrong = difference(from, part);
  }
  if (!wrong.empty()) {
    fs::remove(part, error);
    throw data_error("{}: {}; the download is removed", from.url, wrong);
  }
  if ((error = rename_durably(part, path))) throw data_error("{}: {}", path, error.message());
  return path;
}

LoadedDataset fetch_dataset(std::string_view name, const std::string& data_dir,
                            const FetchOptions& options) {
  const auto& entry = Registry<DatasetEntry>::instance().find(name);
  if (entry.files.empty()) {
    throw usage_error("data set {} has no files to fetch{}", name,
                      entry.embedded ? ": it comes with the program" : "");
  }
  packed_path(name, data_dir);  // says where there is no folder
  const auto folder = (fs::path(data_dir) / "downloads" / std::string(name)).string();
  std::string path;
  for (const auto& file : entry.files) {
    try {
      path = fetch_file(file, folder, options);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kData) throw;
      throw data_error("{}; {}if you have the files: approxtrain data import {} PATH", error.what(),
                       options.mirror.empty() ? "--mirror URL takes them from elsewhere; " : "",
                       name);
    }
  }
  return import_dataset(name, entry.files.size() == 1 ? path : folder, data_dir);
}

}  // namespace approx
