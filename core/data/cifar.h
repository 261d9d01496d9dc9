// The binary version of CIFAR-10 and CIFAR-100: records of one or two label bytes and 3072 pixels,
// [3,32,32] uint8.
#pragma once

#include <string>
#include <vector>

#include "core/data/bytes.h"
#include "core/data/image_buffer.h"

namespace approx {

// The bytes of a record's label, and the number of classes. CIFAR-100 has the coarse label first,
// the fine one second.
struct CifarRecord {
  int64_t label_bytes = 1;
  int64_t classes = 10;
};

// Appends the records of one file, converted to [H,W,C], to `buffer`. Throws Error(kData) for a
// size other than `count` records or a label out of range. The message gives `name`, the offset,
// and the expected and the found value.
void append_cifar(Bytes bytes, const std::string& name, const CifarRecord& record, int64_t count,
                  ImageBuffer& buffer);

// The files of each part, in the order of their records, and the records in each file.
struct CifarFiles {
  std::vector<std::string> train, test;
  int64_t train_count = 10000, test_count = 10000;
};

// Reads these files from a folder, or from the official .tar.gz (or a .tar). Other files beside
// them are ignored. Throws Error(kData) if a file is missing, is there twice, or lies in another
// folder than the others: parts of two copies may differ.
LoadedDataset read_cifar(const std::string& path, const CifarFiles& files,
                         const CifarRecord& record, DatasetFacts facts);

}  // namespace approx
