// Copies of boxes and memory barriers of the simulated GPU, by kernels written here instruction by
// instruction: what is right is right whenever copies land, and each misuse is reported. Where
// pieces of 16 bytes lie is compared with the tables of the PTX ISA, "Swizzling modes".
#include "TensorCode.h"

#include <gmock/gmock.h>

using namespace sectile;
using namespace sectile::testing;
using ::testing::AllOf;
using ::testing::HasSubstr;

namespace {

/// Returns the first problem; empty when there was none.
std::string problemOf(Code &code, uint64_t seed = 1) {
  Arrays arrays;
  code.finish(kSharedBytes);
  return code.run(arrays.in, arrays.out, arrays.map, seed).problem;
}

/// A ring of two stages: box k is waited for, put out, and box k + 2 started in its place.
struct Ring {
  bool waits = true, expects = true, meets = true, fences = true;
  unsigned copier = 0;
  int32_t firstParity = 0;
};

void emitRing(Code &code, Ring ring) {
  auto barrierOf = [](int64_t box) { return box % 2 ? kSecondBarrier : kBarrier; };
  auto start = [&](int64_t box) {
    if (ring.expects)
      code.expect(barrierOf(box), kBoxBytes, ring.copier);
    code.copy(box % 2 * kBoxBytes, {box * kRows, 0}, barrierOf(box), ring.copier);
  };
  code.initBarrier(kBarrier);
  code.initBarrier(kSecondBarrier);
  if (ring.fences)
    code.fence();
  code.meet();
  start(0);
  start(1);
  for (int64_t box = 0; box < kBoxes; ++box) {
    if (ring.waits)
      code.wait(barrierOf(box), int32_t(box / 2 % 2) ^ ring.firstParity);
    llvm::Value *read =
        code.load(code.builder.CreateAdd(placeOfWord(code), code.word(box % 2 * kBoxBytes)));
    code.put(code.builder.CreateAdd(code.thread, code.word(box * kThreads)), read);
    if (box + 2 >= kBoxes)
      continue;
    if (ring.meets)
      code.meet();
    start(box + 2);
  }
  code.meet();
  code.endBarrier(kBarrier);
  code.endBarrier(kSecondBarrier);
}

std::string problemOf(Ring ring) {
  Code code;
  emitRing(code, ring);
  return problemOf(code);
}

TEST(GpuTensorCopies, a_ring_brings_all_boxes_whenever_they_land) {
  for (unsigned copier : {0u, 70u}) {
    Code code;
    emitRing(code, {.copier = copier});
    code.finish(kSharedBytes);
    for (uint64_t seed = 1; seed < 30; ++seed) {
      Arrays arrays;
      SimulatedReport report = code.run(arrays.in, arrays.out, arrays.map, seed);
      ASSERT_EQ(report.problem, "") << seed;
      ASSERT_EQ(arrays.out, arrays.in) << seed;
      EXPECT_EQ(report.tensorCopies, kBoxes);
    }
  }
}

TEST(GpuTensorCopies, what_is_not_waited_for_is_not_there) {
  EXPECT_THAT(problemOf(Ring{.waits = false}),
              HasSubstr("touches shared memory that an asynchronous copy is still writing"));
  // Phase -1 has ended always.
  EXPECT_THAT(problemOf(Ring{.firstParity = 1}),
              HasSubstr("touches shared memory that an asynchronous copy is still writing"));
}

TEST(GpuTensorCopies, a_stage_is_filled_again_when_all_have_read_it) {
  EXPECT_THAT(problemOf(Ring{.meets = false}), HasSubstr("race: "));
  EXPECT_THAT(problemOf(Ring{.meets = false, .copier = kThreads - 1}),
              HasSubstr("race: thread 127 starts a copy to shared memory that another reads, with "
                        "no barrier between"));
}

TEST(GpuTensorCopies, bytes_that_nobody_expects) {
  EXPECT_THAT(problemOf(Ring{.expects = false}),
              AllOf(HasSubstr("a copy brings 512 bytes, and the memory barrier at byte 10"),
                    HasSubstr(" expects 0 in this phase")));
}

TEST(GpuTensorCopies, the_engine_sees_barriers_behind_a_fence) {
  EXPECT_THAT(problemOf(Ring{.fences = false}), HasSubstr("whose initialisation is not fenced"));
}

TEST(GpuTensorCopies, a_phase_that_never_ends_is_reported_with_all_barriers) {
  Code code;
  emitRing(code, {});
  code.makeBarrier(kBarrier);
  code.makeBarrier(kSecondBarrier);
  code.expect(kSecondBarrier, 2 * kBoxBytes);
  code.copy(kBoxBytes, {0, 0}, kSecondBarrier);
  code.branch(code.isThread(5), [&] { code.wait(kBarrier, 0); });
  code.branch(code.builder.CreateICmpUGT(code.thread, code.word(63)),
              [&] { code.wait(kSecondBarrier, 0); });
  EXPECT_EQ(
      problemOf(code),
      "stuck: a thread waits for others that have ended or wait elsewhere"
      "; memory barrier at byte 1024: phase 0, 1 arrivals and 0 bytes pending, threads 5 to 5 "
      "wait for parity 0"
      "; memory barrier at byte 1032: phase 0, 0 arrivals and 512 bytes pending, threads 64 "
      "to 127 wait for parity 0");
}

//===-- Who knows that a box is there ---------------------------------------------------------===//

TEST(GpuTensorCopies, a_thread_that_has_waited_tells_those_it_meets) {
  Code code;
  code.makeBarrier(kBarrier);
  code.expect(kBarrier, kBoxBytes);
  code.copy(0, {0, 0}, kBarrier);
  code.branch(code.isThread(0), [&] { code.wait(kBarrier, 0); });
  code.meet();
  code.put(code.thread, code.load(placeOfWord(code)));
  EXPECT_EQ(problemOf(code), "");
}

TEST(GpuTensorCopies, a_thread_that_has_not_waited_reads_too_early_even_when_the_box_is_there) {
  Code code;
  code.makeBarrier(kBarrier);
  code.makeBarrier(kSecondBarrier);
  code.expect(kBarrier, kBoxBytes);
  code.copy(0, {0, 0}, kBarrier);
  code.branch(code.isThread(0), [&] {
    code.wait(kBarrier, 0);
    code.copies().expect(code.builder, code.at(kSecondBarrier), 0, code.builder.getTrue());
  });
  // The phase of the other barrier ends behind the box; the wait says nothing of the first one's.
  code.wait(kSecondBarrier, 0);
  code.put(code.thread, code.load(placeOfWord(code)));
  EXPECT_THAT(problemOf(code),
              HasSubstr("race: thread 1 reads shared memory that a tensor copy has "
                        "filled, and has not waited for it"));
}

TEST(GpuTensorCopies, a_box_on_top_of_one_that_nobody_has_waited_for) {
  Code code;
  code.makeBarrier(kBarrier);
  code.makeBarrier(kSecondBarrier);
  code.expect(kBarrier, kBoxBytes);
  code.copy(0, {0, 0}, kBarrier);
  code.expect(kSecondBarrier, kBoxBytes);
  code.copy(0, {kRows, 0}, kSecondBarrier);
  EXPECT_THAT(problemOf(code), HasSubstr("that an asynchronous copy is still writing"));
}

TEST(GpuTensorCopies, copies_that_outlive_the_program) {
  Code code;
  code.makeBarrier(kBarrier);
  code.expect(kBarrier, kBoxBytes);
  code.copy(0, {0, 0}, kBarrier);
  EXPECT_THAT(problemOf(code), HasSubstr("a copy is still under way when the program ends"));
  // It has landed, which the next run need not bring about.
  Code late;
  late.makeBarrier(kBarrier);
  late.expect(kBarrier, kBoxBytes);
  late.copy(0, {0, 0}, kBarrier);
  for (int64_t times = 0; times < 64; ++times)
    late.meet();
  EXPECT_EQ(problemOf(late),
            "a copy is still under way when the program ends: nobody has waited for it");
}

//===-- What threads store, and the engine ----------------------------------------------------===//

enum class Stored { Unfenced, FencedLate, Fenced };

std::string problemOf(Stored stored) {
  Code code;
  code.makeBarrier(kBarrier);
  code.store(code.builder.CreateMul(code.thread, code.word(4)), code.thread);
  if (stored == Stored::FencedLate)
    code.meet();
  if (stored != Stored::Unfenced)
    code.fence();
  if (stored != Stored::FencedLate)
    code.meet();
  code.expect(kBarrier, kBoxBytes, kThreads - 1);
  code.copy(0, {0, 0}, kBarrier, kThreads - 1);
  code.wait(kBarrier, 0);
  return problemOf(code);
}

TEST(GpuTensorCopies, stores_are_fenced_before_a_box_takes_their_place) {
  EXPECT_EQ(problemOf(Stored::Fenced), "");
  EXPECT_THAT(problemOf(Stored::Unfenced), HasSubstr("where a thread has stored without a fence"));
  EXPECT_THAT(problemOf(Stored::FencedLate),
              HasSubstr("where another has stored, with no barrier behind its fence"));
}

TEST(GpuTensorCopies, the_array_of_a_map_is_not_stored_to) {
  Code code;
  code.makeBarrier(kBarrier);
  code.put(code.thread, code.thread, /*argument=*/0);
  code.meet();
  code.expect(kBarrier, kBoxBytes);
  code.copy(0, {0, 0}, kBarrier);
  code.wait(kBarrier, 0);
  EXPECT_THAT(problemOf(code), HasSubstr("reads global memory where a thread of the program "
                                         "stores"));
}

//===-- Memory barriers -----------------------------------------------------------------------===//

/// Returns the problem of a kernel that `emit` writes.
std::string problemOf(llvm::function_ref<void(Code &)> emit) {
  Code code;
  emit(code);
  return problemOf(code);
}

TEST(GpuTensorCopies, barriers_are_seen_behind_a_barrier_of_the_threads) {
  EXPECT_EQ(problemOf([](Code &code) {
              code.initBarrier(kBarrier);
              code.fence();
              code.wait(kBarrier, 1);
            }),
            "thread 1 waits at the memory barrier at byte 1024, and no barrier of the threads "
            "stands behind its initialisation");
  EXPECT_EQ(problemOf([](Code &code) { code.wait(kBarrier, 1); }),
            "thread 0 waits at byte 1024 of shared memory, where there is no memory barrier");
  EXPECT_THAT(problemOf([](Code &code) {
                code.initBarrier(kBarrier, 3);
                code.meet();
                code.fence();
                code.expect(kBarrier, kBoxBytes, 7);
                code.copy(0, {0, 0}, kBarrier, 7);
              }),
              HasSubstr("with no barrier of the threads behind the fence of its initialisation"));
}

TEST(GpuTensorCopies, barriers_live_once_and_alone) {
  EXPECT_EQ(problemOf([](Code &code) {
              code.makeBarrier(kBarrier);
              code.initBarrier(kBarrier);
            }),
            "thread 0 initialises the memory barrier at byte 1024, which is alive");
  EXPECT_EQ(problemOf([](Code &code) { code.initBarrier(kBarrier + 4); }),
            "thread 0 initialises a memory barrier at byte 1028, which is not aligned to 8 bytes");
  EXPECT_EQ(problemOf([](Code &code) { code.initBarrier(kSharedBytes); }),
            "thread 0 initialises a memory barrier at byte 1040, which is outside shared memory");
  EXPECT_EQ(problemOf([](Code &code) {
              code.makeBarrier(kBarrier);
              code.store(code.word(kBarrier + 4), code.thread);
            }),
            "thread 0 writes byte 1028 of shared memory, where a memory barrier lives");
  EXPECT_EQ(problemOf([](Code &code) {
              code.makeBarrier(kBarrier);
              code.put(code.thread, code.load(code.word(kBarrier)));
            }),
            "thread 0 reads byte 1024 of shared memory, where a memory barrier lives");
  EXPECT_EQ(problemOf([](Code &code) {
              code.makeBarrier(64);
              code.expect(64, kBoxBytes);
              code.copy(0, {0, 0}, 64);
            }),
            "thread 0 starts a copy to shared memory where a memory barrier lives");
}

TEST(GpuTensorCopies, barriers_end_when_nobody_uses_them) {
  EXPECT_EQ(problemOf([](Code &code) {
              code.makeBarrier(kBarrier);
              code.branch(code.isThread(9), [&] { code.wait(kBarrier, 0); });
              code.endBarrier(kBarrier, 12);
            }),
            "thread 12 ends the memory barrier at byte 1024, at which thread 9 waits");
  EXPECT_EQ(problemOf([](Code &code) {
              code.makeBarrier(kBarrier);
              code.wait(kBarrier, 1);
              code.endBarrier(kBarrier, kThreads - 1);
            }),
            "race: thread 127 ends the memory barrier at byte 1024 that another uses, with no "
            "barrier between");
  EXPECT_EQ(problemOf([](Code &code) {
              code.makeBarrier(kBarrier);
              code.expect(kBarrier, kBoxBytes);
              code.copy(0, {0, 0}, kBarrier);
              code.endBarrier(kBarrier);
            }),
            "thread 0 ends the memory barrier at byte 1024, and a copy that it counts is under "
            "way");
  EXPECT_EQ(problemOf([](Code &code) {
              code.makeBarrier(kBarrier);
              code.endBarrier(kBarrier);
              code.meet();
              code.wait(kBarrier, 1);
            }),
            "thread 0 waits at byte 1024 of shared memory, where the memory barrier has ended");
  // What threads store there has to be behind a barrier of theirs.
  auto storeBehindEnd = [](Code &code, bool meets) {
    code.makeBarrier(kBarrier);
    code.endBarrier(kBarrier);
    if (meets)
      code.meet();
    code.branch(code.isThread(1), [&] { code.store(code.word(kBarrier), code.thread); });
  };
  EXPECT_EQ(problemOf([&](Code &code) { storeBehindEnd(code, true); }), "");
  EXPECT_THAT(problemOf([&](Code &code) { storeBehindEnd(code, false); }),
              HasSubstr("write different values to one place of shared memory"));
}

/// Phases end when all warps have arrived; the first one's threads alone wait for the second.
TEST(GpuTensorCopies, warps_arrive_once_in_a_phase) {
  auto problem = [](llvm::function_ref<void(Code &)> emit) {
    return problemOf([&](Code &code) {
      code.makeWarpsBarrier(kBarrier);
      emit(code);
      code.meet();
      code.endBarrier(kBarrier);
    });
  };
  EXPECT_EQ(problem([](Code &code) {
              code.arrive(kBarrier);
              code.wait(kBarrier, 0);
              code.arrive(kBarrier);
              code.copies().wait(code.builder, code.at(kBarrier), code.word(1),
                                 code.builder.CreateICmpULT(code.thread, code.word(kLanes)));
            }),
            "");
  EXPECT_THAT(problem([](Code &code) { code.arrive(kBarrier, code.builder.getTrue()); }),
              HasSubstr("32 threads of a warp arrive at the memory barrier at byte 1024"));
  // What does not exist is no arrival.
  EXPECT_THAT(problem([](Code &code) {
                code.arrive(kBarrier, code.builder.getFalse());
                code.wait(kBarrier, 0);
              }),
              HasSubstr("phase 0, 4 arrivals and 0 bytes pending"));
  EXPECT_THAT(problem([](Code &code) { code.wait(kBarrier, 0); }),
              HasSubstr("phase 0, 4 arrivals and 0 bytes pending"));
}

TEST(GpuTensorCopies, phases_have_one_arrival_and_all_bytes) {
  EXPECT_EQ(problemOf([](Code &code) {
              code.makeBarrier(kBarrier);
              code.copies().expect(code.builder, code.at(kBarrier), kBoxBytes,
                                   code.builder.getTrue());
            }),
            "thread 1 arrives at the memory barrier at byte 1024, at which one has arrived in this "
            "phase");
  EXPECT_EQ(problemOf([](Code &code) {
              code.makeBarrier(kBarrier);
              code.expect(kBarrier, kBoxBytes / 2);
              code.copy(0, {0, 0}, kBarrier);
              code.wait(kBarrier, 0);
            }),
            "a copy brings 512 bytes, and the memory barrier at byte 1024 expects 256 in this "
            "phase");
  EXPECT_THAT(problemOf([](Code &code) {
                code.makeBarrier(kBarrier);
                code.expect(kBarrier, kBoxBytes);
                code.copy(0, {0, 0}, kBarrier);
                code.copy(kBoxBytes, {kRows, 0}, kBarrier);
                code.wait(kBarrier, 0);
                code.wait(kBarrier, 1);
              }),
              HasSubstr("a copy lands behind the phase of the memory barrier at byte 1024"));
  EXPECT_THAT(problemOf([](Code &code) {
                code.makeBarrier(kBarrier);
                code.expect(kBarrier, 1 << 20);
              }),
              HasSubstr("can count"));
  EXPECT_EQ(problemOf([](Code &code) {
              code.makeBarrier(kBarrier);
              code.wait(kBarrier, 2);
            }),
            "a parity is 2, not 0 or 1");
}

//===-- Boxes ---------------------------------------------------------------------------------===//

/// Returns the problem of copying the first box that `map` describes to byte `to` of shared memory.
std::string problemOf(SimulatedTensorMap map, int64_t to, std::vector<uint32_t> &in) {
  Code code;
  constexpr int64_t kLast = 8192;
  code.makeBarrier(kLast);
  code.expect(kLast, map.box[0] * map.box[1] * map.elementBytes);
  code.copy(to, {0, 0}, kLast);
  code.wait(kLast, 0);
  code.finish(kLast + 8);
  std::vector<uint32_t> out(1);
  return code.run(in, out, map).problem;
}

TEST(GpuTensorCopies, boxes_are_aligned_and_not_wider_than_their_swizzle) {
  std::vector<uint32_t> in(64 * 64);
  auto box = [&](std::vector<int32_t> extents, int32_t swizzle) {
    return mapOf(in.data(), {64, 64}, std::move(extents), 4, swizzle);
  };
  for (int32_t swizzle : {32, 64, 128}) {
    EXPECT_EQ(problemOf(box({8, swizzle / 4}, swizzle), 8 * swizzle, in), "");
    EXPECT_THAT(problemOf(box({8, swizzle / 4}, swizzle), 4 * swizzle, in),
                HasSubstr("which is not aligned to " + std::to_string(8 * swizzle) + " bytes"));
    EXPECT_THAT(problemOf(box({8, swizzle / 2}, swizzle), 0, in),
                HasSubstr("of rows of " + std::to_string(2 * swizzle) + " bytes, which swizzle " +
                          std::to_string(swizzle)));
  }
  EXPECT_THAT(problemOf(box({8, 3}, 64), 0, in), HasSubstr("of rows of 12 bytes"));
  EXPECT_THAT(problemOf(box({0, 16}, 64), 0, in), HasSubstr("of a box with an extent of 0"));
  EXPECT_THAT(problemOf(box({8, 16}, 64), 8192, in), HasSubstr("which ends outside shared memory"));
  EXPECT_THAT(problemOf(box({8, 4}, 16), 0, in), HasSubstr("that swizzles 16 bytes"));
  SimulatedTensorMap none = box({8, 16}, 64);
  none.magic = 0;
  EXPECT_THAT(problemOf(none, 0, in), HasSubstr("by what is no tensor map"));
  SimulatedTensorMap wide = box({8, 16}, 64);
  wide.rank = 3;
  EXPECT_THAT(problemOf(wide, 0, in), HasSubstr("of an array of rank 3 by 2 coordinates"));
  in.resize(32 * 64);
  EXPECT_THAT(problemOf(mapOf(&in[31 * 64], {64, 64}, {8, 16}, 4, 64), 0, in),
              HasSubstr("outside every array"));
}

/// Returns the tables of the PTX ISA, "Swizzling modes": lines of 128 bytes, with the number of the
/// piece that lies in each place.
std::vector<std::string> swizzleLines(int32_t swizzleBytes) {
  if (swizzleBytes == 32)
    return {"01234567", "10325476"};
  if (swizzleBytes == 64)
    return {"01234567", "10325476", "23016745", "32107654"};
  return {"01234567", "10325476", "23016745", "32107654",
          "45670123", "54761032", "67452301", "76543210"};
}

/// Checks boxes of 16 rows, some of which reach beyond the array, one behind another.
void checkBoxes(int32_t swizzle, int32_t elementBytes) {
  SCOPED_TRACE(std::to_string(swizzle) + " bytes, elements of " + std::to_string(elementBytes));
  constexpr int64_t kBoxRows = 16, kArrayRows = 21;
  const int64_t columns = swizzle / elementBytes, extent = columns + 16 / elementBytes + 1,
                stride = 2 * columns, oneBox = kBoxRows * swizzle;
  std::vector<uint8_t> in(size_t(kArrayRows * stride * elementBytes));
  for (size_t number = 0; number < in.size(); ++number)
    in[number] = uint8_t(number % 251 + 1);
  SimulatedTensorMap map = mapOf(in.data(), {kArrayRows, extent}, {kBoxRows, int32_t(columns)},
                                 elementBytes, swizzle, {stride, 1});
  const std::vector<std::vector<int64_t>> starts = {{0, 0},   {3, 5},    {-2, 0}, {7, columns / 2},
                                                    {30, -1}, {-20, 90}, {19, -3}};
  const auto boxes = int64_t(starts.size()), barrier = boxes * oneBox;
  Code code;
  code.makeBarrier(barrier);
  code.expect(barrier, boxes * oneBox);
  for (int64_t box = 0; box < boxes; ++box)
    code.copy(box * oneBox, starts[size_t(box)], barrier);
  code.wait(barrier, 0);
  code.putShared(0, barrier);
  code.finish(barrier + 8);
  std::vector<uint32_t> out(size_t(barrier / 4), 77);
  ASSERT_EQ(code.run(in, out, map).problem, "");
  auto *got = reinterpret_cast<const uint8_t *>(out.data());
  const std::vector<std::string> lines = swizzleLines(swizzle);
  for (int64_t box = 0; box < boxes; ++box)
    for (int64_t byte = 0; byte < oneBox; ++byte) {
      int64_t line = byte / 128, piece = lines[size_t(line) % lines.size()][byte % 128 / 16] - '0';
      int64_t ofBox = line * 128 + piece * 16 + byte % 16; // without the swizzle
      int64_t row = starts[size_t(box)][0] + ofBox / swizzle,
              column = starts[size_t(box)][1] + ofBox % swizzle / elementBytes;
      bool isInside = row >= 0 && row < kArrayRows && column >= 0 && column < extent;
      int wanted =
          isInside ? in[size_t((row * stride + column) * elementBytes + ofBox % elementBytes)] : 0;
      ASSERT_EQ(int(got[box * oneBox + byte]), wanted) << "byte " << byte << " of box " << box;
    }
}

TEST(GpuTensorCopies, boxes_lie_as_the_manual_says_and_are_zero_outside_the_array) {
  for (int32_t swizzle : {32, 64, 128})
    for (int32_t elementBytes : {1, 2, 4, 8})
      checkBoxes(swizzle, elementBytes);
}

TEST(GpuTensorCopies, boxes_of_three_dimensions) {
  constexpr int64_t kPlanes = 3, kArrayRows = 6, kWords = 16;
  std::vector<uint32_t> in(kPlanes * kArrayRows * kWords);
  for (size_t number = 0; number < in.size(); ++number)
    in[number] = uint32_t(number + 1);
  // The first two dimensions are exchanged: planes of the map are rows of the array.
  SimulatedTensorMap map = mapOf(in.data(), {kArrayRows, kPlanes, kWords}, {2, 4, 8}, 4, 32,
                                 {kWords, kArrayRows * kWords, 1});
  Code code;
  code.makeBarrier(256);
  code.expect(256, 256);
  code.copy(0, {3, 1, 8}, 256);
  code.wait(256, 0);
  code.putShared(0, 256);
  code.finish(264);
  std::vector<uint32_t> out(64, 77);
  ASSERT_EQ(code.run(in, out, map).problem, "");
  for (int64_t word = 0; word < 64; ++word) {
    int64_t first = 3 + word / 32, plane = 1 + word / 8 % 4;
    // Words 32 and up lie in the second line, whose pieces change places.
    int64_t place = word < 32 ? word : word ^ 4;
    uint32_t wanted = plane < kPlanes
                          ? in[size_t(plane * kArrayRows * kWords + first * kWords + 8 + word % 8)]
                          : 0;
    EXPECT_EQ(out[size_t(place)], wanted) << word;
  }
}

//===-- Products of what copies bring ---------------------------------------------------------===//

/// A product of 64 x 16 and 16 x 16, both contiguous along the depth: ten boxes of 8 x 16 halves.
struct ProductCase {
  enum class Wait { All, One, None } wait = Wait::All;
  bool copiesEarly = false, copiesUnmet = false, meetsBeforeWait = false;
};

std::string outcome(ProductCase one) {
  using Operand = gpu::BufferProducts::Operand;
  constexpr int64_t kBox = 8 * 32, kBoxCount = 10, kSums = 8, kProductBarrier = kBoxCount * kBox;
  std::vector<_Float16> in(kBoxCount * 8 * 16);
  for (size_t number = 0; number < in.size(); ++number)
    in[number] = _Float16(int(number * 7 % 11) - 5);
  Code code;
  code.makeBarrier(kProductBarrier);
  code.makeBarrier(kProductBarrier + 8);
  code.expect(kProductBarrier, kBoxCount * kBox);
  for (int64_t box = 0; box < kBoxCount; ++box)
    code.copy(box * kBox, {box * 8, 0}, kProductBarrier);
  if (one.wait == ProductCase::Wait::All)
    code.wait(kProductBarrier, 0);
  if (one.wait == ProductCase::Wait::One) {
    code.branch(code.isThread(0), [&] {
      code.wait(kProductBarrier, 0);
      code.copies().expect(code.builder, code.at(kProductBarrier + 8), 0, code.builder.getTrue());
    });
    code.wait(kProductBarrier + 8, 0);
  }
  const gpu::BufferProducts &products = *code.target.bufferProducts();
  const auto *instruction = products.named("wgmma.m64n16k16.f32.f16.f16");
  if (!instruction)
    return "there is no such instruction";
  llvm::SmallVector<llvm::Value *> zeros(kSums,
                                         llvm::ConstantFP::get(code.builder.getFloatTy(), 0.0));
  Operand a{code.at(int64_t(0)), 0, {32, 64 * 32, true}, {}},
      b{code.at(int64_t(0)), 8 * kBox, {32, 16 * 32, true}, {}};
  auto sums = products.begin(code.builder, zeros);
  sums = products.start(code.builder, *instruction, a, b, sums, /*isFresh=*/false);
  products.commit(code.builder);
  if (one.meetsBeforeWait)
    code.meet();
  auto copyAgain = [&] {
    code.expect(kProductBarrier, kBox, kThreads - 1);
    code.copy(kBox, {0, 0}, kProductBarrier, kThreads - 1);
  };
  if (one.copiesEarly)
    copyAgain();
  sums = products.wait(code.builder, 0, sums, /*isPinned=*/false);
  if (!one.copiesUnmet)
    code.meet();
  copyAgain();
  code.wait(kProductBarrier, 1);
  for (unsigned reg = 0; reg < kSums; ++reg)
    code.put(code.builder.CreateAdd(code.thread, code.word(reg * kThreads)),
             code.builder.CreateBitCast(sums[reg], code.builder.getInt32Ty()));
  code.finish(kProductBarrier + 16);
  std::vector<uint32_t> out(kSums * kThreads, 77);
  SimulatedReport report = code.run(in, out, mapOf(in.data(), {kBoxCount * 8, 16}, {8, 16}, 2, 32));
  if (!report.problem.empty())
    return report.problem;
  for (unsigned thread = 0; thread < kThreads; ++thread)
    for (unsigned reg = 0; reg < kSums; ++reg) {
      unsigned row = thread / 32 * 16 + thread % 32 / 4 + reg / 2 % 2 * 8,
               column = reg / 4 * 8 + thread % 4 * 2 + reg % 2;
      float wanted = 0;
      for (unsigned k = 0; k < 16; ++k)
        wanted += float(in[row * 16 + k]) * float(in[(64 + column) * 16 + k]);
      if (llvm::bit_cast<float>(out[reg * kThreads + thread]) != wanted)
        return "wrong";
    }
  return "";
}

TEST(GpuTensorCopies, products_read_boxes_without_a_fence) {
  EXPECT_EQ(outcome({}), "");
  EXPECT_EQ(outcome({.meetsBeforeWait = true}), "");
}

TEST(GpuTensorCopies, products_read_boxes_that_all_their_threads_have_waited_for) {
  EXPECT_THAT(outcome({.wait = ProductCase::Wait::None}),
              HasSubstr("a product reads shared memory that an asynchronous copy is writing"));
  EXPECT_THAT(outcome({.wait = ProductCase::Wait::One}),
              HasSubstr("and not all its threads have waited for it"));
}

TEST(GpuTensorCopies, boxes_come_when_the_products_that_read_their_place_are_done) {
  EXPECT_THAT(outcome({.copiesEarly = true}), HasSubstr("that a product under way reads"));
  // Each thread knows of its own part of a product only.
  for (bool meetsBeforeWait : {false, true})
    EXPECT_THAT(outcome({.copiesUnmet = true, .meetsBeforeWait = meetsBeforeWait}),
                HasSubstr("that another reads, with no barrier between"));
}

} // namespace
