#include "results/stats/pareto.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"

namespace approx {
namespace {

ParetoPoint exact(double speedup, double loss) {
  return {{speedup, speedup, speedup}, {loss, loss, loss}};
}

std::vector<bool> on_front(const std::vector<ParetoPoint>& points) {
  std::vector<bool> result;
  for (const auto& place : pareto_places(points)) result.push_back(place.on_front);
  return result;
}

// By the definition (Ehrgott 2005, Multicriteria optimization, definition 2.1): 0 and 2 trade speed
// for loss, 1 is slower than 2 and loses as much, 3 is worse than 2 in both, 4 is best in speed.
TEST(Pareto, FrontByTheDefinition) {
  const std::vector<ParetoPoint> points = {exact(1.0, 0.0), exact(1.2, 0.5), exact(1.5, 0.5),
                                           exact(1.4, 0.6), exact(2.0, 3.0)};
  EXPECT_EQ(on_front(points), (std::vector<bool>{true, false, true, false, true}));
}

// Equal points keep each other; a tie in one coordinate is decided by the other.
TEST(Pareto, Ties) {
  EXPECT_EQ(on_front({exact(1, 1), exact(1, 1)}), (std::vector<bool>{true, true}));
  EXPECT_EQ(on_front({exact(1, 1), exact(1, 2)}), (std::vector<bool>{true, false}));
  EXPECT_EQ(on_front({exact(1, 1), exact(2, 1)}), (std::vector<bool>{false, true}));
}

// All are dominated by the first; how surely hangs on the ends.
TEST(Pareto, DominatedWithConfidenceNeedsBothCoordinates) {
  const ParetoPoint better = {{2.0, 1.8, 2.2}, {0.1, 0.0, 0.2}};
  const ParetoPoint apart = {{1.5, 1.3, 1.7}, {0.5, 0.3, 0.7}};
  const ParetoPoint speeds_overlap = {{1.5, 1.1, 1.9}, {0.5, 0.3, 0.7}};
  const ParetoPoint losses_overlap = {{1.5, 1.3, 1.7}, {0.5, 0.1, 0.9}};
  const ParetoPoint speeds_touch = {{1.5, 1.3, 1.8}, {0.5, 0.3, 0.7}};
  const ParetoPoint losses_touch = {{1.5, 1.3, 1.7}, {0.5, 0.2, 0.7}};
  const std::vector<ParetoPoint> points = {better,         apart,        speeds_overlap,
                                           losses_overlap, speeds_touch, losses_touch};
  EXPECT_EQ(on_front(points), (std::vector<bool>{true, false, false, false, false, false}));
  const auto places = pareto_places(points);
  EXPECT_FALSE(places[0].surely_dominated);
  EXPECT_TRUE(places[1].surely_dominated);
  EXPECT_FALSE(places[1].perhaps_on_front());
  for (size_t i = 2; i < points.size(); ++i) {
    EXPECT_FALSE(places[i].surely_dominated) << i;
    EXPECT_TRUE(places[i].perhaps_on_front()) << i;
  }
}

// The two coordinates must be beaten by one and the same point.
TEST(Pareto, TwoPointsTogetherDominateNothing) {
  const std::vector<ParetoPoint> points = {exact(3, 3), exact(1, 1), exact(2, 2)};
  EXPECT_EQ(on_front(points), (std::vector<bool>{true, true, true}));
  for (const auto& place : pareto_places(points)) EXPECT_FALSE(place.surely_dominated);
}

// One seed: dominated by its middle, but never surely; nor does it surely dominate.
TEST(Pareto, AMissingEndIsNeverSure) {
  const ParetoPoint good = exact(2, 0), bad = exact(1, 1);
  for (int missing = 0; missing < 4; ++missing) {
    ParetoPoint vague_bad = bad, vague_good = good;
    if (missing == 0) vague_bad.speedup.hi.reset();
    if (missing == 1) vague_bad.loss.lo.reset();
    if (missing == 2) vague_good.speedup.lo.reset();
    if (missing == 3) vague_good.loss.hi.reset();
    const auto places = pareto_places(std::vector<ParetoPoint>{vague_good, vague_bad});
    EXPECT_FALSE(places[1].on_front) << missing;
    EXPECT_FALSE(places[1].surely_dominated) << missing;
  }
  const ParetoPoint bare_good = {{2, 2.0, {}}, {0, {}, 0.0}},
                    bare_bad = {{1, {}, 1.0}, {1, 1.0, {}}};
  EXPECT_TRUE(pareto_places(std::vector<ParetoPoint>{bare_good, bare_bad})[1].surely_dominated);
}

TEST(Pareto, NoneAndOne) {
  EXPECT_TRUE(pareto_places({}).empty());
  const std::vector<ParetoPoint> one = {{{1, {}, {}}, {-0.5, {}, {}}}};
  EXPECT_TRUE(pareto_places(one)[0].on_front);
  EXPECT_TRUE(pareto_places(one)[0].perhaps_on_front());
}

TEST(Pareto, RefusesWhatIsNotFiniteOrNotInOrder) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  const std::vector<Estimate> broken = {{nan, {}, {}},      {infinity, {}, {}}, {1, nan, 2.0},
                                        {1, 0.0, infinity}, {1, 1.5, 2.0},      {1, 0.0, 0.5}};
  for (const Estimate& estimate : broken) {
    const Estimate fine{1, 0.5, 1.5};
    EXPECT_THROW(pareto_places(std::vector<ParetoPoint>{{estimate, fine}}), Error);
    EXPECT_THROW(pareto_places(std::vector<ParetoPoint>{{fine, estimate}}), Error);
  }
}

}  // namespace
}  // namespace approx
