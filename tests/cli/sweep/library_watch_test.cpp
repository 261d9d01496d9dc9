#include "cli/sweep/library_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace approx {
namespace {

Json start_by(const std::string& id) { return {{"event", "start"}, {"engine", {{"library", id}}}}; }

TEST(LibraryWatch, AnotherBuildThanTheFirstIsAProblem) {
  LibraryWatch watch;
  EXPECT_EQ(watch.at_start({{"event", "start"}}), "");
  EXPECT_EQ(watch.at_start(start_by("0123456789abcdef")), "");
  EXPECT_EQ(watch.at_start(start_by("0123456789abcdef")), "");
  EXPECT_EQ(watch.at_start(start_by("fedcba9876543210")),
            "the library was replaced by another build during the sweep (0123456789ab, then "
            "fedcba987654)");
  EXPECT_EQ(watch.at_start(start_by("0123456789abcdef")), "");  // it is back
}

const FileState kOld{.path = "/lib.so", .device = 1, .inode = 5, .size = 100, .changed_ns = 7};

FileState with_inode(ino_t inode) {
  FileState file = kOld;
  file.inode = inode, file.changed_ns = 8;
  return file;
}

const Observed kFinished{.last = {{"event", "final"}, {"state", "finished"}}};
const Observed kCrashed{.process = {.signal = SIGBUS}};

TEST(LibraryWatch, AResultBesideAFileThatWasReplacedIsAResult) {
  EXPECT_EQ(LibraryWatch::at_end(kFinished, kOld, kOld), "");
  EXPECT_EQ(LibraryWatch::at_end(kFinished, kOld, with_inode(6)), "");
  EXPECT_EQ(LibraryWatch::at_end(kFinished, kOld, {}), "");
  EXPECT_EQ(LibraryWatch::at_end(kFinished, kOld, with_inode(5)),
            "/lib.so was overwritten while a run computed with it");
}

TEST(LibraryWatch, ACrashIsTheRunsUnlessTheFileWasReplaced) {
  EXPECT_EQ(LibraryWatch::at_end(kCrashed, kOld, kOld), "");
  const std::string why = "/lib.so was replaced while a run was at work, whose worker crashed";
  EXPECT_EQ(LibraryWatch::at_end(kCrashed, kOld, with_inode(6)), why);
  EXPECT_EQ(LibraryWatch::at_end(kCrashed, kOld, {}), why);
  EXPECT_EQ(LibraryWatch::at_end(kCrashed, {}, kOld), why);
  Observed killed = kCrashed;
  killed.asked_to_stop = true;
  EXPECT_EQ(LibraryWatch::at_end(killed, kOld, with_inode(6)), "");
  killed = kCrashed;
  killed.overdue.why = "no sign of life";
  EXPECT_EQ(LibraryWatch::at_end(killed, kOld, with_inode(6)), "");
}

TEST(LibraryWatch, WhatTheWorkerSaysOfItsLibrary) {
  Observed worker{.last = {{"event", "error"}, {"message", "it is\nnot whole"}}};
  EXPECT_EQ(LibraryWatch::at_end(worker, kOld, kOld), "");
  worker.last["library"] = true;
  EXPECT_EQ(LibraryWatch::at_end(worker, kOld, kOld), "it is\\x0anot whole");
  worker.last["message"] = 5;
  EXPECT_EQ(LibraryWatch::at_end(worker, kOld, kOld), "the library does not open");
}

TEST(LibraryWatch, FilesAsTheyAre) {
  namespace fs = std::filesystem;
  const fs::path path = fs::temp_directory_path() / ("library-" + std::to_string(::getpid()));
  EXPECT_EQ(file_state(path), FileState());
  EXPECT_EQ(file_state(""), FileState());
  std::ofstream(path) << "one";
  const FileState first = file_state(path);
  EXPECT_EQ(first, file_state(path));
  std::ofstream(path, std::ios::app) << "more";
  EXPECT_TRUE(first.is_overwritten(file_state(path)));
  fs::rename(path, path.string() + ".old");
  std::ofstream(path) << "two";
  EXPECT_NE(first, file_state(path));
  EXPECT_FALSE(first.is_overwritten(file_state(path)));
  fs::remove(path);
  fs::remove(path.string() + ".old");
  EXPECT_FALSE(first.is_overwritten(file_state(path)));
}

}  // namespace
}  // namespace approx
