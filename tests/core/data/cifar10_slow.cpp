// The real CIFAR-10 that went through JPEG.
#include "core/data/dataset.h"
#include "tests/core/data/testing.h"

namespace approx::testing {
namespace {

TEST(Cifar10, ReadsTheRealJpegArchive) {
  if (real_data().empty()) GTEST_SKIP() << "APPROXTRAIN_TEST_DATA is not set";
  const TemporaryFolder folder;
  const auto dataset =
      import_dataset("cifar10", real_data() + "/cifar10-jpeg/cifar10-jpeg.tar.gz", folder.path());
  EXPECT_EQ(dataset.variant, "jpeg");
  EXPECT_TRUE(dataset.lossy);
  for (size_t i = 0; i < 1000; ++i)
    ASSERT_EQ(dataset.train.labels[i], static_cast<int64_t>(i % 10));
  // The means and deviations known of the original pictures; JPEG hardly moves them.
  const double mean[] = {0.4914, 0.4822, 0.4465}, stddev[] = {0.2470, 0.2435, 0.2616};
  for (size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(dataset.mean[c], mean[c], 0.003);
    EXPECT_NEAR(dataset.stddev[c], stddev[c], 0.006);
  }
}

}  // namespace
}  // namespace approx::testing
