// Downloads data sets from their publishers.
#pragma once

#include <functional>
#include <string>

#include "core/data/dataset.h"

namespace approx {

struct FetchOptions {
  // Address of a folder on the web to take the files from, instead of the publisher's. The
  // checksums stay the publisher's.
  std::string mirror;
  // Called from time to time with the bytes so far and the total (0: unknown).
  std::function<void(const RemoteFile& file, int64_t done, int64_t total)> progress;
  int64_t max_bytes = int64_t{1} << 30;  // limit for a file of unknown size
};

// Downloads a file into `folder` and returns its path. Continues a partial download (<file>.part)
// of an earlier attempt. The file gets its name once its checksum is right. https only, except from
// this machine itself. Throws Error(kData) that gives the URL and the fault.
std::string fetch_file(const RemoteFile& file, const std::string& folder,
                       const FetchOptions& options);

// Downloads the files of a data set into <data_dir>/downloads/<name> and imports them. Throws
// Error(kUsage) for a data set without files to download.
LoadedDataset fetch_dataset(std::string_view name, const std::string& data_dir,
                            const FetchOptions& options);

}  // namespace approx
