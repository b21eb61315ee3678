// Boxes that the simulated GPU's engine stores to memory, by kernels written here instruction by
// instruction: what is right is right whenever the engine reads and writes, and each misuse is
// reported.
#include "TensorCode.h"

#include <gmock/gmock.h>

using namespace sectile;
using namespace sectile::testing;
using ::testing::HasSubstr;

namespace {

/// Threads store the words of a box, each another number for each box, and the engine takes them to
/// the array.
struct Stores {
  bool fences = true, meetsBehindFences = true, waits = true, meetsBehindWaits = true;
  bool areWritten = false;
  unsigned storer = 0;
  /// The boxes of the array that are stored to, one after the other.
  std::vector<int64_t> boxes = {0, 1, 2, 3, 4};
};

uint32_t wordOf(size_t turn, size_t thread) {
  return uint32_t((turn + 1) * 1000 + thread);
}

void emitStores(Code &code, const Stores &stores) {
  for (size_t turn = 0; turn < stores.boxes.size(); ++turn) {
    code.store(placeOfWord(code),
               code.builder.CreateAdd(code.thread, code.word((turn + 1) * 1000)));
    if (stores.fences)
      code.fence();
    if (stores.meetsBehindFences)
      code.meet();
    code.storeBox(0, {stores.boxes[turn] * kRows, 0}, stores.storer);
    if (stores.waits)
      code.waitForStores(stores.areWritten);
    if (stores.meetsBehindWaits)
      code.meet();
  }
}

/// The array that the map describes is written.
std::string problemOf(Code &code, uint64_t seed = 1) {
  Arrays arrays;
  code.finish(kSharedBytes);
  return code.run(arrays.in, arrays.out, arrays.map, seed).problem;
}

std::string problemOf(const Stores &stores) {
  Code code;
  emitStores(code, stores);
  return problemOf(code);
}

TEST(GpuTensorStores, boxes_are_in_the_array_whenever_they_are_written) {
  for (bool areWritten : {false, true}) {
    Code code;
    Stores stores{.areWritten = areWritten, .boxes = {3, 0, 4, 1, 2}};
    emitStores(code, stores);
    code.finish(kSharedBytes);
    for (uint64_t seed = 1; seed < 30; ++seed) {
      Arrays arrays;
      SimulatedReport report = code.run(arrays.in, arrays.out, arrays.map, seed);
      ASSERT_EQ(report.problem, "") << seed;
      EXPECT_EQ(report.tensorStores, kBoxes);
      for (size_t turn = 0; turn < stores.boxes.size(); ++turn)
        for (size_t word = 0; word < kThreads; ++word)
          ASSERT_EQ(arrays.in[size_t(stores.boxes[turn]) * kThreads + word], wordOf(turn, word))
              << seed;
    }
  }
}

TEST(GpuTensorStores, what_is_outside_the_array_is_not_written) {
  using Place = std::pair<int64_t, int64_t>;
  for (auto [row, column] :
       {Place(-3, 0), Place(kBoxes * kRows - 2, 0), Place(0, 8), Place(5, -4), Place(1000, 0)}) {
    Code code;
    code.store(placeOfWord(code), code.builder.CreateAdd(code.thread, code.word(1000)));
    code.fence();
    code.meet();
    code.storeBox(0, {row, column});
    code.waitForStores();
    code.finish(kSharedBytes);
    Arrays arrays;
    std::vector<uint32_t> expected = arrays.in;
    for (int64_t i = 0; i < kRows; ++i)
      for (int64_t j = 0; j < kColumns; ++j)
        if (row + i >= 0 && row + i < kBoxes * kRows && column + j >= 0 && column + j < kColumns)
          expected[size_t((row + i) * kColumns + column + j)] = wordOf(0, size_t(i * kColumns + j));
    EXPECT_EQ(code.run(arrays.in, arrays.out, arrays.map).problem, "");
    EXPECT_EQ(arrays.in, expected) << row << " " << column;
  }
}

/// As on an H200, where an array's rows end within a piece of 16 bytes.
TEST(GpuTensorStores, rows_are_written_to_the_end_of_their_last_16_bytes) {
  Code code;
  code.store(placeOfWord(code), code.builder.CreateAdd(code.thread, code.word(1000)));
  code.fence();
  code.meet();
  code.storeBox(0, {kRows, 0});
  code.waitForStores();
  code.finish(kSharedBytes);
  constexpr int64_t kShort = kColumns - 6;
  Arrays arrays;
  SimulatedTensorMap map = mapOf(arrays.in.data(), {kBoxes * kRows, kShort},
                                 {int32_t(kRows), int32_t(kColumns)}, 4, kSwizzle, {kColumns, 1});
  std::vector<uint32_t> expected = arrays.in;
  for (int64_t row = 0; row < kRows; ++row)
    for (int64_t column = 0; column < kColumns - 4; ++column)
      expected[size_t((kRows + row) * kColumns + column)] =
          wordOf(0, size_t(row * kColumns + column));
  EXPECT_EQ(code.run(arrays.in, arrays.out, map).problem, "");
  EXPECT_EQ(arrays.in, expected);
}

TEST(GpuTensorStores, the_engine_sees_what_is_fenced_in_front_of_a_barrier) {
  EXPECT_THAT(problemOf(Stores{.fences = false}), HasSubstr("stored without a fence"));
  EXPECT_THAT(problemOf(Stores{.meetsBehindFences = false, .storer = kThreads - 1, .boxes = {0}}),
              HasSubstr("shared memory that another writes, with no barrier between"));
  Code code;
  code.store(placeOfWord(code), code.thread);
  code.meet();
  code.fence();
  code.storeBox(0, {0, 0}, kThreads - 1);
  code.waitForStores();
  EXPECT_THAT(problemOf(code), HasSubstr("with no barrier behind its fence"));
}

/// Stores boxes through so many stages, and waits for all groups but the last `pending` before
/// each.
std::string problemOfGroups(int64_t stages, unsigned pending) {
  Code code;
  for (int64_t turn = 0; turn < 5; ++turn) {
    if (turn >= stages) {
      code.copies().waitForStores(code.builder, /*areWritten=*/false, pending);
      code.meet();
    }
    const int64_t stage = turn % stages * kBoxBytes;
    code.store(code.builder.CreateAdd(placeOfWord(code), code.word(stage)), code.thread);
    code.fence();
    code.meet();
    code.storeBox(stage, {turn * kRows, 0});
    code.commitStores();
  }
  code.copies().waitForStores(code.builder, false, 0);
  return problemOf(code);
}

TEST(GpuTensorStores, a_stage_is_free_when_its_group_is_read) {
  EXPECT_EQ(problemOfGroups(1, 0), "");
  EXPECT_EQ(problemOfGroups(2, 1), "");
  EXPECT_EQ(problemOfGroups(2, 0), "");
  EXPECT_THAT(problemOfGroups(1, 1),
              HasSubstr("writes shared memory that a tensor store may still read"));
  EXPECT_THAT(problemOfGroups(2, 2),
              HasSubstr("writes shared memory that a tensor store may still read"));
}

TEST(GpuTensorStores, nobody_waits_for_a_store_of_no_group) {
  Code code;
  code.store(placeOfWord(code), code.thread);
  code.fence();
  code.meet();
  code.storeBox(0, {0, 0});
  code.copies().waitForStores(code.builder, false, 0);
  EXPECT_THAT(problemOf(code), HasSubstr("may still read shared memory when the program ends"));
}

TEST(GpuTensorStores, the_stage_stays_until_it_is_read) {
  EXPECT_THAT(problemOf(Stores{.waits = false}),
              HasSubstr("writes shared memory that a tensor store may still read"));
  // One thread has waited, and nobody else knows.
  EXPECT_THAT(problemOf(Stores{.meetsBehindWaits = false}),
              HasSubstr("race: thread 1 writes shared memory that a tensor store may still read"));
  EXPECT_THAT(problemOf(Stores{.waits = false, .boxes = {0}}),
              HasSubstr("may still read shared memory when the program ends"));
  Code code;
  emitStores(code, {.waits = false, .boxes = {0}});
  code.makeBarrier(kBarrier);
  code.expect(kBarrier, kBoxBytes);
  code.copy(0, {2 * kRows, 0}, kBarrier);
  EXPECT_THAT(problemOf(code), HasSubstr("a copy to shared memory that a tensor store may still"));
}

TEST(GpuTensorStores, a_wait_of_another_thread_is_none) {
  Code code;
  emitStores(code, {.waits = false, .boxes = {0}});
  code.branch(code.isThread(1), [&] { code.waitForStores(); });
  EXPECT_THAT(problemOf(code), HasSubstr("may still read shared memory when the program ends"));
}

TEST(GpuTensorStores, stores_to_one_place_wait_for_what_is_written) {
  EXPECT_THAT(problemOf(Stores{.boxes = {1, 1}}),
              HasSubstr("race: two tensor stores write one place of global memory"));
  for (uint64_t seed = 1; seed < 20; ++seed) {
    Code code;
    emitStores(code, {.areWritten = true, .boxes = {1, 1, 1}});
    code.finish(kSharedBytes);
    Arrays arrays;
    EXPECT_EQ(code.run(arrays.in, arrays.out, arrays.map, seed).problem, "");
    for (size_t word = 0; word < kThreads; ++word)
      ASSERT_EQ(arrays.in[kThreads + word], wordOf(2, word)) << seed;
  }
}

TEST(GpuTensorStores, what_the_engine_writes_is_accessed_in_time) {
  Code after;
  emitStores(after, {.meetsBehindWaits = false, .areWritten = true, .boxes = {0}});
  after.put(after.thread, after.word(1), /*argument=*/0);
  EXPECT_THAT(problemOf(after),
              HasSubstr("writes global memory where a tensor store of the program writes"));
  Code before;
  before.put(before.thread, before.word(1), /*argument=*/0);
  emitStores(before, {.boxes = {0}});
  EXPECT_THAT(problemOf(before), HasSubstr("a tensor store writes global memory where a thread"));
  Code copied;
  emitStores(copied, {.areWritten = true, .boxes = {0}});
  copied.makeBarrier(kBarrier);
  copied.expect(kBarrier, kBoxBytes);
  copied.copy(0, {0, 0}, kBarrier);
  copied.wait(kBarrier, 0);
  EXPECT_THAT(problemOf(copied),
              HasSubstr("race: a tensor copy reads global memory where a tensor store"));
  for (bool isFenced : {false, true})
    for (bool meets : {false, true}) {
      Code later;
      emitStores(later, {.areWritten = true, .boxes = {0}});
      later.makeBarrier(kBarrier);
      later.fence(/*isGlobal=*/isFenced);
      if (meets)
        later.meet();
      later.expect(kBarrier, kBoxBytes, /*by=*/1);
      later.copy(0, {0, 0}, kBarrier, /*by=*/1);
      later.wait(kBarrier, 0);
      EXPECT_EQ(problemOf(later).empty(), isFenced && meets) << isFenced << meets;
      Code read;
      const bool areWritten = isFenced;
      emitStores(read, {.meetsBehindWaits = meets, .areWritten = areWritten, .boxes = {0}});
      read.put(read.thread, read.word(1), /*argument=*/0);
      EXPECT_EQ(problemOf(read).empty(), areWritten && meets) << areWritten << meets;
    }
}

TEST(GpuTensorStores, boxes_come_from_where_they_may_lie) {
  Code code;
  code.storeBox(64, {0, 0});
  code.waitForStores();
  EXPECT_THAT(problemOf(code), HasSubstr("starts a store at byte 64 of shared memory, which is "
                                         "not aligned to 512 bytes"));
}

} // namespace
