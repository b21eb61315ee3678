#include "jit/runtime/Knobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

using sectile::jit::Knobs;
using sectile::jit::readChecks;
using testing::ElementsAre;

namespace {

Knobs knobsOf(const std::map<std::string, std::string> &variables) {
  return Knobs::from([&](const char *name) -> const char * {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Knobs, unset_variables_leave_defaults) {
  Knobs knobs = knobsOf({});
  EXPECT_TRUE(knobs.problems.empty());
  EXPECT_FALSE(knobs.dumps("tile"));
  EXPECT_FALSE(knobs.cacheDirectory.has_value());
  EXPECT_EQ(knobs.cacheBytes, uint64_t(2) << 30);
  EXPECT_EQ(knobs.threadCount, 0u);
}

TEST(Knobs, reads_every_kind) {
  Knobs knobs = knobsOf({{"SECTILE_DUMP", "tile,asm:/tmp/d:e"},
                         {"SECTILE_STOP_AFTER", "llvm"},
                         {"SECTILE_TIME", "1"},
                         {"SECTILE_CACHE_DIR", ""},
                         {"SECTILE_CACHE_SIZE", "512M"},
                         {"SECTILE_CHECK", "bounds"},
                         {"SECTILE_NUM_THREADS", "3"}});
  EXPECT_TRUE(knobs.problems.empty());
  EXPECT_TRUE(knobs.dumps("tile"));
  EXPECT_TRUE(knobs.dumps("asm"));
  EXPECT_FALSE(knobs.dumps("llvm"));
  EXPECT_EQ(knobs.dumpDirectory, "/tmp/d:e");
  EXPECT_EQ(knobs.stopAfter, "llvm");
  EXPECT_EQ(knobs.timing, Knobs::Timing::Steps);
  EXPECT_EQ(knobs.cacheDirectory, "");
  EXPECT_EQ(knobs.cacheBytes, uint64_t(512) << 20);
  EXPECT_TRUE(knobs.checkBounds);
  EXPECT_EQ(knobs.threadCount, 3u);
}

TEST(Knobs, time_is_one_knob_of_two_names) {
  using Timing = Knobs::Timing;
  EXPECT_EQ(knobsOf({{"SECTILE_TIME", "0"}}).timing, Timing::None);
  EXPECT_EQ(knobsOf({{"SECTILE_TIME", "passes"}}).timing, Timing::Passes);
  EXPECT_EQ(knobsOf({{"SECTILE_TIME_PASSES", "1"}}).timing, Timing::Passes);
  EXPECT_EQ(knobsOf({{"SECTILE_TIME", "1"}, {"SECTILE_TIME_PASSES", "1"}}).timing, Timing::Passes);
  EXPECT_EQ(knobsOf({{"SECTILE_TIME", "1"}, {"SECTILE_TIME_PASSES", "0"}}).timing, Timing::Steps);
  EXPECT_THAT(knobsOf({{"SECTILE_TIME", "all"}}).problems,
              ElementsAre("SECTILE_TIME: expected 0, 1 or passes, found 'all'"));
}

TEST(Knobs, several_checks_may_be_asked_for) {
  bool bounds, strides;
  EXPECT_TRUE(readChecks("bounds", bounds, strides));
  EXPECT_TRUE(bounds && !strides);
  EXPECT_TRUE(readChecks("strides", bounds, strides));
  EXPECT_TRUE(!bounds && strides);
  EXPECT_TRUE(readChecks("bounds,strides", bounds, strides));
  EXPECT_TRUE(bounds && strides);
  EXPECT_TRUE(readChecks("", bounds, strides));
  EXPECT_TRUE(!bounds && !strides);
  EXPECT_FALSE(readChecks("bounds;strides", bounds, strides));
}

TEST(Knobs, what_is_not_understood_is_said_and_ignored) {
  Knobs knobs = knobsOf({{"SECTILE_DUMP", "tile,cubin:/tmp/d"},
                         {"SECTILE_CACHE_SIZE", "big"},
                         {"SECTILE_NUM_THREADS", "0"},
                         {"SECTILE_CHECK", "everything"}});
  EXPECT_THAT(
      knobs.problems,
      ElementsAre("SECTILE_DUMP: expected stages and a folder such as tile,llvm:/tmp/dumps, "
                  "found 'tile,cubin:/tmp/d'",
                  "SECTILE_CHECK: expected bounds, strides, or both with a comma between them, "
                  "found 'everything'",
                  "SECTILE_CACHE_SIZE: expected a size such as 512M, found 'big'",
                  "SECTILE_NUM_THREADS: expected a number from 1 to 4096, found '0'"));
  EXPECT_FALSE(knobs.dumps("tile"));
  EXPECT_FALSE(knobs.checkBounds);
  EXPECT_EQ(knobs.cacheBytes, uint64_t(2) << 30);
}

TEST(Knobs, a_dump_has_stages_and_a_folder) {
  for (const char *wrong : {"tile", ":/tmp/d", "tile:", ":::", ":"})
    EXPECT_EQ(knobsOf({{"SECTILE_DUMP", wrong}}).problems.size(), 1u) << wrong;
  Knobs empty = knobsOf({{"SECTILE_DUMP", ""}});
  EXPECT_TRUE(empty.problems.empty());
  EXPECT_TRUE(empty.dumpStages.empty());
}

TEST(Knobs, what_only_python_acts_on_is_checked_too) {
  EXPECT_THAT(knobsOf({{"SECTILE_AUTOTUNE", "frosen"}, {"SECTILE_TUNING_BUDGET", "2.5"}}).problems,
              ElementsAre("SECTILE_AUTOTUNE: expected on, off, force or frozen, found 'frosen'"));
  EXPECT_EQ(
      knobsOf({{"SECTILE_TUNING_BUDGET", "soon"}, {"SECTILE_TUNING_THREADS", "0"}}).problems.size(),
      2u);
}

TEST(Knobs, unknown_names_have_a_known_neighbour) {
  using sectile::jit::problemOfName;
  EXPECT_EQ(problemOfName("SECTILE_CHEK"),
            "SECTILE_CHEK is no variable of Sectile's; did you mean SECTILE_CHECK?");
  EXPECT_EQ(problemOfName("SECTILE_QWERTZ"),
            "SECTILE_QWERTZ is no variable of Sectile's; `sectile knobs` lists them");
  for (const auto &knob : sectile::jit::knobTable())
    EXPECT_EQ(problemOfName(knob.name), "");
  for (const char *other : {"SECTILE_TEST_DUMP", "SECTILE_UPDATE_GOLDEN", "PATH", "TRITON_DEBUG"})
    EXPECT_EQ(problemOfName(other), "");
}

TEST(Knobs, the_table_names_each_once) {
  std::map<std::string, int> seen;
  for (const auto &knob : sectile::jit::knobTable()) {
    EXPECT_EQ(std::string(knob.name).rfind("SECTILE_", 0), 0u);
    EXPECT_EQ(seen[knob.name]++, 0);
    EXPECT_NE(std::string(knob.meaning), "");
  }
  EXPECT_GE(seen.size(), 10u);
}

} // namespace
