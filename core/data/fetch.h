// Downloads of data sets from their publishers.
#pragma once

#include <functional>
#include <string>

#include "core/data/dataset.h"

namespace approx {

struct FetchOptions {
  // Takes the files from this folder of the web instead of the publisher's; the checksums stay
  // the publisher's.
  std::string mirror;
  // Called now and then with the bytes there are and the bytes there will be (0: unknown).
  std::function<void(const RemoteFile& file, int64_t done, int64_t total)> progress;
  int64_t max_bytes = int64_t{1} << 30;  // of a file whose size is unknown
};

// Downloads a file into `folder` and returns its path. A partial download (<file>.part) of an
// earlier attempt is continued; the file gets its name when its checksum is right. https only,
// except from this machine itself. Error(kData) names the URL and what was wrong with it.
std::string fetch_file(const RemoteFile& file, const std::string& folder,
                       const FetchOptions& options);

// Downloads the files of a data set into <data_dir>/downloads/<name> and imports them.
// Error(kUsage) for a data set without files to download.
LoadedDataset fetch_dataset(std::string_view name, const std::string& data_dir,
                            const FetchOptions& options);

}  // namespace approx
