#include "base/build_id.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdio>

namespace approx {
namespace {

TEST(BuildId, IsThatOfTheObjectThatHoldsTheAddress) {
  const std::string own = build_id_at(reinterpret_cast<const void*>(&build_id_at));
  EXPECT_EQ(own.size(), 40u) << "a sha1, see cmake/options.cmake";
  EXPECT_TRUE(
      std::all_of(own.begin(), own.end(), [](unsigned char c) { return std::isxdigit(c); }));
  EXPECT_NE(build_id_at(reinterpret_cast<const void*>(&std::puts)), own) << "the C library's";
  const int here = 0;
  EXPECT_EQ(build_id_at(&here), "") << "the stack is of no object";
}

}  // namespace
}  // namespace approx
