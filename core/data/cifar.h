// The binary version of CIFAR-10 and CIFAR-100: records of one or two label bytes and 3072 pixels,
// [3,32,32] uint8.
#pragma once

#include <string>
#include <vector>

#include "core/data/bytes.h"
#include "core/data/image_buffer.h"

namespace approx {

// Where the label of a record is and how many classes there are. CIFAR-100 has the coarse label
// first, the fine one second.
struct CifarRecord {
  int64_t label_bytes = 1;
  int64_t classes = 10;
};

// Appends the records of one file, turned to [H,W,C], to `buffer`. Error(kData) names `name`, the
// offset, expected and found for a size other than `count` records or a label out of range.
void append_cifar(Bytes bytes, const std::string& name, const CifarRecord& record, int64_t count,
                  ImageBuffer& buffer);

// The files of one part in the order in which their records count, and the records in each.
struct CifarFiles {
  std::vector<std::string> train, test;
  int64_t train_count = 10000, test_count = 10000;
};

// Reads these files from a folder that holds them, or from the official .tar.gz (or a .tar).
// Other files beside them are ignored. Error(kData) when one is missing, is there twice, or lies in
// another folder than the others: parts of two copies may differ.
LoadedDataset read_cifar(const std::string& path, const CifarFiles& files,
                         const CifarRecord& record, DatasetFacts facts);

}  // namespace approx
