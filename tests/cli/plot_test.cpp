#include "cli/plot.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "base/error.h"
#include "base/files.h"
#include "tests/results/filled_store.h"

namespace approx {
namespace {

// A gnuplot that says its version and otherwise never comes to an end.
TEST(Plot, ADrawingThatTakesTooLongIsEnded) {
  const TemporaryFolder folder;
  const std::string gnuplot = folder / "gnuplot";
  write_file(gnuplot, "#!/bin/sh\n[ \"$1\" = --version ] || exec sleep 600\n");
  ::chmod(gnuplot.c_str(), 0755);
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", ((folder / "") + ":" + path).c_str(), 1);
  std::string said;
  try {
    draw("curves", "a,b\n", "svg", std::chrono::milliseconds(200));
  } catch (const Error& error) {
    said = error.what();
  }
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(said, "gnuplot took more than 1 s on curves.gp and was ended; take --format csv");
}

}  // namespace
}  // namespace approx
