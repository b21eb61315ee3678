// SECTILE_TIME: steps, their passes, and what no step accounts for.
#include "jit/runtime/TimeTable.h"

#include <gtest/gtest.h>

using sectile::jit::StepTimes;
using sectile::jit::timeTable;

namespace {

const StepTimes kTimes = {{"front end", 0.010},
                          {"optimize/cse", 0.001},
                          {"optimize/canonicalize", 0.002},
                          {"optimize", 0.004},
                          {"backend/lay out tiles/cse", 0.005},
                          {"backend/lay out tiles", 0.020},
                          {"backend/link", 0.026},
                          {"backend", 0.046},
                          {"total", 0.060}};

TEST(TimeTable, shows_each_step_once_and_what_is_left) {
  EXPECT_EQ(timeTable(kTimes, 0.100, /*withPasses=*/false), "     10.00 ms   10 %  front end\n"
                                                            "      4.00 ms    4 %  optimize\n"
                                                            "     20.00 ms   20 %  lay out tiles\n"
                                                            "     26.00 ms   26 %  link\n"
                                                            "     40.00 ms   40 %  other\n");
}

TEST(TimeTable, shows_passes_below_their_step) {
  EXPECT_EQ(timeTable(kTimes, 0.060, /*withPasses=*/true), "     10.00 ms   17 %  front end\n"
                                                           "      4.00 ms    7 %  optimize\n"
                                                           "      1.00 ms    2 %    cse\n"
                                                           "      2.00 ms    3 %    canonicalize\n"
                                                           "     20.00 ms   33 %  lay out tiles\n"
                                                           "      5.00 ms    8 %    cse\n"
                                                           "     26.00 ms   43 %  link\n");
  EXPECT_EQ(timeTable({}, 0, true), "");
}

} // namespace
