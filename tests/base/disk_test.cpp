#include "base/disk.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace approx::testing {
namespace {

namespace fs = std::filesystem;

// A folder of its own, with what it holds.
struct Place {
  Place() { fs::create_directories(folder / "inner"); }
  ~Place() { fs::remove_all(folder); }
  void write(const std::string& name, size_t bytes) const {
    std::ofstream(folder / name) << std::string(bytes, 'x');
  }

  fs::path folder = fs::temp_directory_path() / ("approxtrain-disk-" + std::to_string(::getpid()));
};

TEST(Disk, StoredBytesAreThoseOfAFileOrOfAllFilesOfAFolder) {
  const Place place;
  place.write("a", 10);
  EXPECT_EQ(stored_bytes(place.folder / "a"), 10);
  EXPECT_EQ(stored_bytes(place.folder / "inner"), 0) << "an empty folder";
  place.write("inner/b", 32);
  EXPECT_EQ(stored_bytes(place.folder), 42) << "at any depth";
  EXPECT_EQ(stored_bytes(place.folder / "none"), std::nullopt);
}

TEST(Disk, TheFolderThatIsThereIsTheNearestAbove) {
  const Place place;
  EXPECT_EQ(existing_folder(place.folder / "none/at/all"), place.folder.string());
  EXPECT_EQ(existing_folder(place.folder), place.folder.string());
}

TEST(Disk, WhatIsLeftIsKnownOfAFolderThatIsThere) {
  const Place place;
  EXPECT_TRUE(free_bytes(place.folder.string()));
  EXPECT_EQ(free_bytes((place.folder / "none").string()), std::nullopt);
}

}  // namespace
}  // namespace approx::testing
