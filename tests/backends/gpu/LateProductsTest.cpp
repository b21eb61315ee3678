// Of two products in a chain the second runs a round late, on the simulated GPU, with a producer
// beside the program and without.
#include "../TileText.h"
#include "SimulatedGpu.h"

#include <gtest/gtest.h>
#include <random>

using namespace sectile;
using namespace sectile::testing;

namespace {

constexpr int64_t kChain = 64;
constexpr int64_t kChainRows = 128;

/// acc = acc * 0.5 + f16(x y') z, for `rounds` tiles y and z that follow each other, which the copy
/// engine brings; the second product of a round may run under the next one. Where `isNested`, that
/// as often as a loop around says, each time of the next rounds; the results are added up. Where it
/// is `ofPrograms`, each program has an x and a result of its own, and the copy engine may bring x
/// where `isBlock`.
std::string chainedLoopText(bool isNested = false, bool ofPrograms = false, bool isBlock = false) {
  const std::string n = std::to_string(kChain), rows = std::to_string(kChainRows);
  std::string half = tileType({kChain, kChain}, "f16"),
              tall = tileType({kChainRows, kChain}, "f16"),
              full = tileType({kChainRows, kChain}, "f32");
  auto aligned = [](const std::string &name, const std::string &element) {
    return pointer(name, element) + " {tile.divisibility = 16 : i64}, ";
  };
  auto block = [&](const std::string &array, const std::string &row, const std::string &type) {
    return "tile.block_load %" + array + "[%" + row +
           ", %zero64] of [%end, %width] by [%width, %one64] checked = [true, true] : "
           "!tile.ptr<f16> -> " +
           type + "\n";
  };
  return kernelText(
      aligned("a", "f16") + aligned("b", "f16") + aligned("c", "f16") + aligned("out", "f32") +
          "%n: i32" + (isNested ? ", %times: i32" : ""),
      "%zero = arith.constant 0 : i32\n%one = arith.constant 1 : i32\n%zero64 = arith.constant 0 : "
      "i64\n"
      "%one64 = arith.constant 1 : i64\n%size = arith.constant " +
          n + " : i32\n%width = arith.constant " + n +
          " : i64\n%end = arith.constant 4096 : i64\n" + "%none = arith.constant dense<0.0> : " +
          full + "\n%half = arith.constant dense<0.5> : " + full +
          "\n%last = arith.muli %n, %size : i32\n" +
          (ofPrograms ? "%program = tile.program_id 0\n%elements = arith.constant " +
                            std::to_string(kChainRows * kChain) +
                            " : i32\n%skipped = arith.muli %program, %elements : i32\n"
                            "%own_a = tile.ptr_add %a, %skipped : !tile.ptr<f16>, i32\n"
                            "%own_out = tile.ptr_add %out, %skipped : !tile.ptr<f32>, i32\n"
                      : "") +
          (isBlock ? "%tall = arith.constant " + rows +
                         " : i32\n%skip = arith.muli %program, %tall : i32\n"
                         "%own = arith.extsi %skip : i32 to i64\n%x = " +
                         block("a", "own", tall)
                   : loadTile("x", ofPrograms ? "own_a" : "a", {kChainRows, kChain}, "f16")) +
          (isNested
               ? "%p, %behind = scf.for %turn = %zero to %times step %one iter_args(%all = %none, "
                 "%begin = %zero) -> (" +
                     full + ", i32) : i32 {\n"
               : "") +
          "%q = scf.for %k = %zero to %last step %size iter_args(%sum = %none) -> (" + full +
          ") : i32 {\n%place = arith.addi %k, %" + (isNested ? "begin" : "zero") +
          " : i32\n%row = arith.extsi %place : i32 to i64\n%y = " + block("b", "row", half) +
          "%z = " + block("c", "row", half) + "%t = tile.transpose %y [1, 0] : " + half + " -> " +
          half + "\n%s = tile.dot %x, %t, %none : " + tall + " * " + half + " -> " + full +
          "\n%h = arith.truncf %s : " + full + " to " + tall +
          "\n%w = arith.mulf %sum, %half : " + full + "\n%next = tile.dot %h, %z, %w : " + tall +
          " * " + half + " -> " + full + "\nscf.yield %next : " + full + "\n}\n" +
          (isNested ? "%more = arith.addf %all, %q : " + full +
                          "\n%later = arith.addi %begin, %last : i32\nscf.yield %more, %later : " +
                          full + ", i32\n}\n"
                    : "") +
          storeTile(isNested ? "p" : "q", ofPrograms ? "own_out" : "out", {kChainRows, kChain},
                    "f32"));
}

/// A GPU with room for one program.
SimulatedOptions chainOptions(unsigned stages, uint64_t seed = 1) {
  SimulatedOptions options = hopperOptions();
  options.abilities.producers = false;
  options.warps = 8;
  options.stages = stages;
  options.maxSharedBytes = 16384 + int64_t(stages) * 16384 + 8192 + 256;
  options.seed = seed;
  return options;
}

/// One whose blocks may have a producer.
SimulatedOptions producerOptions(unsigned stages, uint64_t seed = 1) {
  SimulatedOptions options = chainOptions(stages, seed);
  options.abilities.producers = true;
  options.maxSharedBytes += 1024;
  return options;
}

/// What a kernel of chained products comes to: a problem, "wrong", or nothing. `times`: of the loop
/// around, 0 where there is none. `programs`: that have rows of their own.
std::string outcomeOfChain(SimulatedKernel &kernel, int32_t rounds, int32_t times = 0,
                           int32_t programs = 1) {
  constexpr int64_t n = kChain;
  const int64_t rows = kChainRows * programs;
  std::mt19937 random(11);
  auto numbers = [&](int64_t count, int most) {
    std::vector<_Float16> made(size_t(count), _Float16(0));
    for (_Float16 &number : made)
      number = _Float16(int(random() % unsigned(2 * most + 1)) - most);
    return made;
  };
  auto queries = numbers(rows * n, 4), keys = numbers(4096 * n, 4), values = numbers(4096 * n, 1);
  std::vector<float> out(size_t(rows * n), 77), expected(size_t(rows * n), 0.0f);
  std::vector<float> added(size_t(rows * n), 0.0f);
  for (int32_t round = 0; round < rounds * (times ? std::max(times, 0) : 1); ++round) {
    if (round % rounds == 0)
      std::fill(expected.begin(), expected.end(), 0.0f);
    for (int64_t row = 0; row < rows; ++row) {
      std::vector<float> scores(n);
      for (int64_t key = 0; key < n; ++key) {
        float sum = 0;
        for (int64_t k = 0; k < n; ++k)
          sum += float(queries[row * n + k]) * float(keys[(round * n + key) * n + k]);
        scores[key] = float(_Float16(sum));
      }
      for (int64_t column = 0; column < n; ++column) {
        float sum = expected[row * n + column] * 0.5f;
        for (int64_t key = 0; key < n; ++key)
          sum += scores[key] * float(values[(round * n + key) * n + column]);
        expected[row * n + column] = sum;
      }
    }
    if (round % rounds == rounds - 1)
      for (size_t number = 0; number < added.size(); ++number)
        added[number] += expected[number];
  }
  std::vector<HostArgument> arguments = {argument(queries), argument(keys), argument(values),
                                         argument(out), argument(rounds)};
  if (times)
    arguments.push_back(argument(times));
  SimulatedReport report = kernel.run({programs}, arguments);
  if (!report.problem.empty())
    return report.problem;
  return out == added ? "" : "wrong";
}

TEST(GpuLateProducts, the_second_product_of_a_chain_runs_a_round_late) {
  for (unsigned stages : {2, 3, 4})
    for (uint64_t seed : {1, 2, 3}) {
      SimulatedKernel kernel(chainedLoopText(), chainOptions(stages, seed));
      ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
      EXPECT_NE(kernel.tileText.find("dot_wait 0 pinned"), std::string::npos) << kernel.tileText;
      for (int32_t rounds : {0, 1, 2, 3, 4, 7})
        EXPECT_EQ(outcomeOfChain(kernel, rounds), "")
            << stages << " stages, " << rounds << " rounds";
    }
}

TEST(GpuLateProducts, a_thread_beside_the_program_starts_its_copies) {
  for (unsigned stages : {2, 3})
    for (uint64_t seed : {1, 2, 3}) {
      SimulatedKernel kernel(chainedLoopText(), producerOptions(stages, seed));
      ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
      EXPECT_NE(kernel.tileText.find("tile.producer"), std::string::npos) << kernel.tileText;
      EXPECT_EQ(kernel.image.gpu.threads, 32 * (8 + 4));
      for (int32_t rounds : {0, 1, 2, 3, 7})
        EXPECT_EQ(outcomeOfChain(kernel, rounds), "")
            << stages << " stages, " << rounds << " rounds";
    }
}

TEST(GpuLateProducts, a_producer_goes_through_the_loop_around) {
  for (unsigned stages : {2, 3})
    for (uint64_t seed : {1, 2, 3}) {
      SimulatedKernel kernel(chainedLoopText(/*isNested=*/true), producerOptions(stages, seed));
      ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
      EXPECT_NE(kernel.tileText.find("tile.producer"), std::string::npos) << kernel.tileText;
      for (auto [rounds, times] :
           {std::pair(1, 1), {1, 5}, {2, 3}, {3, 2}, {5, 4}, {0, 3}, {3, -1}})
        EXPECT_EQ(outcomeOfChain(kernel, rounds, times), "")
            << stages << " stages, " << rounds << " rounds, " << times << " times";
    }
}

/// The producer copies what the next program begins with while this one ends.
TEST(GpuLateProducts, a_producer_goes_through_the_programs_of_a_block) {
  for (bool isBlock : {false, true})
    for (int32_t workers : {1, 2}) {
      const unsigned stages = 3 + unsigned(workers);
      SimulatedOptions options = producerOptions(stages, uint64_t(workers));
      options.workers = workers;
      options.maxSharedBytes += 32 << 10; // for what is stored beside the stages
      const std::string text = chainedLoopText(/*isNested=*/false, /*ofPrograms=*/true, isBlock);
      SimulatedKernel kernel(text, options);
      ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
      EXPECT_NE(kernel.tileText.find("tile.producer"), std::string::npos) << kernel.tileText;
      EXPECT_NE(kernel.tileText.find("tile.num_workers"), std::string::npos) << kernel.tileText;
      const llvm::StringRef ofLoop = llvm::StringRef(kernel.tileText).split("tile.producer").second;
      EXPECT_EQ(ofLoop.count("tile.tensor_copy"), isBlock ? 3u : 2u);
      for (auto [rounds, programs] : {std::pair(1, 1), {1, 5}, {2, 3}, {3, 4}, {7, 2}, {0, 3}})
        EXPECT_EQ(outcomeOfChain(kernel, rounds, 0, programs), "")
            << stages << " stages, " << rounds << " rounds, " << programs << " programs";
      // Without a producer other programs on the multiprocessor hide the waits.
      options.abilities.producers = false;
      SimulatedKernel alone(text, options);
      EXPECT_EQ(alone.tileText.find("tile.num_workers"), std::string::npos);
    }
}

/// With room for several programs, or none for a third stage, it runs in its own round.
TEST(GpuLateProducts, a_chain_stays_as_it_is_where_running_late_would_not_pay) {
  SimulatedOptions roomy = chainOptions(2), narrow = chainOptions(2);
  roomy.maxSharedBytes = 1 << 20;
  narrow.maxSharedBytes = 16384 + 2 * 16384 + 64;
  for (const SimulatedOptions &options : {roomy, narrow}) {
    SimulatedKernel kernel(chainedLoopText(), options);
    ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
    EXPECT_EQ(kernel.tileText.find("pinned"), std::string::npos) << kernel.tileText;
    EXPECT_TRUE(llvm::any_of(kernel.image.remarks, [](const lang::Remark &remark) {
      return remark.kind == "not-overlapped";
    }));
    for (int32_t rounds : {0, 1, 4})
      EXPECT_EQ(outcomeOfChain(kernel, rounds), "") << rounds << " rounds";
  }
}

/// What is changed in a chain's laid-out text is seen.
TEST(GpuLateProducts, what_a_late_product_needs_is_not_left_out) {
  const SimulatedKernel whole(chainedLoopText(), chainOptions(2));
  auto outcomeOf = [&](const std::string &from, const std::string &to) {
    std::string text = whole.tileText;
    size_t loop = text.find("scf.for"), at = text.find(from, loop);
    EXPECT_NE(at, std::string::npos) << text;
    if (at == std::string::npos)
      return std::string("not found");
    std::string result;
    for (uint64_t seed = 1; seed <= 8 && result.empty(); ++seed) {
      std::string changed = text;
      SimulatedKernel kernel(changed.replace(at, from.size(), to), chainOptions(2, seed));
      EXPECT_TRUE(kernel.compiled()) << kernel.diagnostics();
      result = kernel.compiled() ? outcomeOfChain(kernel, 5) : "not compiled";
    }
    return result;
  };
  EXPECT_EQ(outcomeOf("scf.for", "scf.for"), "");
  // The first product is not done where two may be under way.
  EXPECT_EQ(outcomeOf("tile.dot_wait 1", "tile.dot_wait 2"), "wrong");
  // The copies of the next round begin while some warps are in the round before.
  const std::string text = whole.tileText;
  size_t loop = text.find("scf.for"),
         wait = text.rfind("tile.mbarrier_wait", text.find("of_copies", loop));
  EXPECT_NE(outcomeOf(text.substr(wait, text.find('\n', wait) - wait), ""), "");
  // Warps say that a round is over while they read what it copied.
  size_t arrive = text.find("tile.mbarrier_arrive", loop);
  const std::string line = text.substr(arrive, text.find('\n', arrive) - arrive);
  size_t first = text.find("tile.dot_wait 1", loop), before = text.rfind('\n', first) + 1;
  std::string early = text;
  early.erase(arrive, line.size()).insert(before, line + "\n");
  std::string problem;
  for (uint64_t seed = 1; seed <= 8 && problem.empty(); ++seed) {
    SimulatedKernel kernel(early, chainOptions(2, seed));
    ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
    problem = outcomeOfChain(kernel, 5);
  }
  EXPECT_NE(problem, "");
}

/// Each wait of a producer, and each of the program for it, is needed, and so is that the program
/// says of the keys that they are read when they are.
TEST(GpuLateProducts, what_a_producer_needs_is_not_left_out) {
  const std::string text = SimulatedKernel(chainedLoopText(), producerOptions(2)).tileText;
  auto outcomeOf = [&](const std::string &changed) {
    std::string result;
    for (uint64_t seed = 1; seed <= 8 && result.empty(); ++seed) {
      SimulatedKernel kernel(changed, producerOptions(2, seed));
      EXPECT_TRUE(kernel.compiled()) << kernel.diagnostics();
      result = kernel.compiled() ? outcomeOfChain(kernel, 7) : "not compiled";
    }
    return result;
  };
  auto lineAt = [&](size_t at) {
    const size_t begin = text.rfind('\n', at) + 1;
    return std::pair(begin, text.find('\n', at) + 1 - begin);
  };
  auto without = [&](size_t at) {
    auto [begin, size] = lineAt(at);
    return std::string(text).erase(begin, size);
  };
  EXPECT_EQ(outcomeOf(text), "");
  // The producer's loop, that of its rounds behind the first one's, and the program's.
  const size_t producer = text.find("tile.producer"), program = text.find("tile.dot_wait 1");
  const size_t inLoop = text.rfind("scf.for", program);
  auto waitBehind = [&](size_t at) { return text.find("tile.mbarrier_wait", at); };
  for (size_t from : {producer, inLoop}) {
    const size_t first = waitBehind(from), second = waitBehind(first + 1);
    EXPECT_NE(outcomeOf(without(first)), "") << text.substr(first, 60);
    EXPECT_NE(outcomeOf(without(second)), "") << text.substr(second, 60);
  }
  const size_t early = text.find("tile.mbarrier_arrive", program);
  EXPECT_NE(outcomeOf(without(early)), "");
  auto [begin, size] = lineAt(early);
  std::string moved = text;
  moved.erase(begin, size).insert(lineAt(program).first, text.substr(begin, size));
  EXPECT_NE(outcomeOf(moved), "");
  const size_t late = text.find("tile.mbarrier_arrive", early + 1),
               wait = text.find("tile.dot_wait 0", program);
  std::tie(begin, size) = lineAt(late);
  moved = text;
  moved.erase(begin, size).insert(lineAt(wait).first, text.substr(begin, size));
  EXPECT_NE(outcomeOf(moved), "");
}

/// The producer waits until the products of a program are through with its x, these wait for the
/// bytes, and say when they have been read.
TEST(GpuLateProducts, what_is_copied_once_for_a_program_is_waited_for) {
  SimulatedOptions options = producerOptions(4);
  options.workers = 1;
  options.maxSharedBytes += 32 << 10;
  const std::string text = SimulatedKernel(chainedLoopText(false, true, true), options).tileText;
  auto outcomeOf = [&](const std::string &changed) {
    std::string result;
    for (options.seed = 1; options.seed <= 8 && result.empty(); ++options.seed) {
      SimulatedKernel kernel(changed, options);
      EXPECT_TRUE(kernel.compiled()) << kernel.diagnostics();
      result = kernel.compiled() ? outcomeOfChain(kernel, 3, 0, 3) : "not compiled";
    }
    return result;
  };
  EXPECT_EQ(outcomeOf(text), "");
  int tried = 0;
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(text).split(lines, '\n');
  for (llvm::StringRef line : lines)
    if ((line.contains("tile.mbarrier_wait") || line.contains("tile.mbarrier_arrive")) &&
        line.ends_with(" : <1>")) {
      std::string changed = text;
      changed.erase(size_t(line.data() - text.data()), line.size());
      EXPECT_NE(outcomeOf(changed), "") << line.str();
      ++tried;
    }
  EXPECT_EQ(tried, 3);
}

} // namespace
