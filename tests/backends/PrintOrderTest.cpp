#include "backends/cpu/PrintOrder.h"

#include <gtest/gtest.h>

using sectile::cpu::PrintOrder;

namespace {

TEST(PrintOrder, the_first_chunk_prints_at_once_and_others_wait_for_it) {
  std::string said;
  PrintOrder order([&](std::string_view text) { said += text; });
  order.begin(4, 8);
  order.print(5, "5 ");
  order.begin(0, 4);
  order.begin(8, 12);
  order.print(9, "9 ");
  EXPECT_EQ(said, "");
  order.print(1, "1 ");
  EXPECT_EQ(said, "1 ");
  order.end(8);
  order.print(3, "3 ");
  EXPECT_EQ(said, "1 3 ");
  order.end(0);
  EXPECT_EQ(said, "1 3 5 "); // the second chunk is the first now
  order.print(7, "7 ");
  EXPECT_EQ(said, "1 3 5 7 ");
  order.end(4);
  EXPECT_EQ(said, "1 3 5 7 9 ");
  order.finish();
  EXPECT_EQ(said, "1 3 5 7 9 ");
}

TEST(PrintOrder, nothing_is_lost_behind_a_chunk_that_never_ran) {
  std::string said;
  PrintOrder order([&](std::string_view text) { said += text; });
  order.begin(8, 12);
  order.begin(4, 8);
  order.print(9, "9 ");
  order.print(4, "4 ");
  order.end(4);
  order.end(8);
  EXPECT_EQ(said, "");
  order.finish();
  EXPECT_EQ(said, "4 9 ");
}

} // namespace
