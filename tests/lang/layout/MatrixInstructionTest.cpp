// Matrix instructions: AMD's tables against the calculator's text, and what holds of all tables.
#include "lang/layout/MatrixInstruction.h"

#include "lang/layout/AmdMatrixInstructions.h"
#include "lang/layout/NvidiaMatrixInstructions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <fstream>
#include <gtest/gtest.h>
#include <map>

using namespace sectile::layout;

namespace {

const char *const kChips[] = {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"};

/// All tables, by a name.
std::vector<std::pair<std::string, llvm::ArrayRef<MatrixInstruction>>> allTables() {
  std::vector<std::pair<std::string, llvm::ArrayRef<MatrixInstruction>>> tables = {
      {"mma.sync", mmaSyncInstructions()}};
  for (std::string chip : kChips) {
    tables.push_back({chip, amdMatrixInstructions(chip)});
    tables.push_back({chip + " as products take them", amdProductInstructions(chip)});
  }
  return tables;
}

//===-- The calculator's text -----------------------------------------------------------------===//

/// Elements by register, then lane.
using Elements = std::vector<std::vector<Coordinates>>;

Elements elementsOf(const LinearLayout &matrix) {
  Elements elements(matrix.inSize(Dim::Register));
  for (int64_t reg = 0; reg < int64_t(elements.size()); ++reg)
    for (int64_t lane = 0; lane < matrix.inSize(Dim::Lane); ++lane)
      elements[reg].push_back(matrix.apply({{Dim::Register, reg}, {Dim::Lane, lane}}));
  return elements;
}

int digit(char letter) {
  return letter <= '9' ? letter - '0' : letter - 'a' + 10;
}

std::vector<Coordinates> cellsOf(llvm::StringRef line) {
  llvm::SmallVector<llvm::StringRef> words;
  llvm::SplitString(line, words);
  std::vector<Coordinates> cells;
  for (llvm::StringRef word : words)
    if (word == "+")
      for (size_t lane = 0, half = cells.size(); lane < half; ++lane)
        cells.push_back(Coordinates(cells[lane]));
    else
      cells.push_back({digit(word[0]), digit(word[1])});
  return cells;
}

/// By "A gfx942 mfma.m16n16k16.f32.f16.f16".
std::map<std::string, Elements> readCalculator() {
  std::ifstream file(SECTILE_SOURCE_DIR "/tests/lang/layout/amd_matrix_layouts.txt");
  std::map<std::string, Elements> tables;
  llvm::SmallVector<std::string> holders;
  for (std::string line; std::getline(file, line);) {
    llvm::StringRef text(line);
    if (text.empty() || text.starts_with("#")) {
      holders.clear();
    } else if (text.substr(1, 2) == ": ") {
      llvm::SmallVector<llvm::StringRef> names;
      text.substr(3).split(names, ", ");
      for (llvm::StringRef name : names) // ... and the calculator's name
        holders.push_back((text.take_front(1) + " " + name.rsplit(' ').first).str());
    } else {
      for (const std::string &holder : holders)
        tables[holder].push_back(cellsOf(text));
    }
  }
  return tables;
}

TEST(MatrixInstructions, of_amd_are_what_its_calculator_prints) {
  std::map<std::string, Elements> calculator = readCalculator();
  size_t compared = 0;
  for (std::string chip : {"gfx90a", "gfx942", "gfx1100", "gfx1201"})
    for (const MatrixInstruction &instruction : amdMatrixInstructions(chip))
      for (auto [matrix, layout] :
           {std::pair("A", &instruction.lhs), {"B", &instruction.rhs}, {"D", &instruction.acc}}) {
        std::string name = matrix + (" " + chip + " " + instruction.name);
        SCOPED_TRACE(name);
        ASSERT_TRUE(calculator.count(name));
        EXPECT_EQ(calculator[name], elementsOf(*layout));
        ++compared;
      }
  EXPECT_EQ(compared, calculator.size());
}

// The calculator does not know gfx950. Its instructions that gfx942 has, too, are those. Of its
// own, public kernels take lane l's number i of A to be row l mod 16 and k = i + 8 (l / 16), for
// 16x16x32, and results to be as before.
TEST(MatrixInstructions, of_gfx950_are_deeper_ones_of_gfx942) {
  auto before = amdMatrixInstructions("gfx942");
  int own = 0;
  for (const MatrixInstruction &instruction : amdMatrixInstructions("gfx950")) {
    SCOPED_TRACE(instruction.name);
    const auto *same = llvm::find_if(before, [&](const MatrixInstruction &other) {
      return other.m == instruction.m && other.elements.acc == instruction.elements.acc;
    });
    ASSERT_NE(same, before.end());
    EXPECT_EQ(instruction.acc, same->acc);
    if (const MatrixInstruction *known = instructionNamed(before, instruction.name)) {
      EXPECT_EQ(instruction.lhs, known->lhs);
      continue;
    }
    int64_t lanesAlongDepth = 64 / instruction.m, numbers = instruction.k / lanesAlongDepth;
    for (int64_t lane = 0; lane < 64; ++lane)
      for (int64_t i = 0; i < numbers; ++i)
        EXPECT_EQ(
            instruction.lhs.apply({{Dim::Register, i}, {Dim::Lane, lane}}),
            (Coordinates{int(lane % instruction.m), int(i + numbers * (lane / instruction.m))}));
    own += bitsOf(instruction.elements.lhs) == 16 || instruction.elements.lhs == MatrixElement::I8;
  }
  EXPECT_EQ(own, 6);
}

//===-- What holds of all ---------------------------------------------------------------------===//

TEST(MatrixInstructions, cover_their_matrices) {
  for (auto &[table, instructions] : allTables())
    for (const MatrixInstruction &one : instructions) {
      SCOPED_TRACE(table + " " + one.name);
      EXPECT_EQ(llvm::ArrayRef(one.acc.outExtents()), llvm::ArrayRef<int64_t>({one.m, one.n}));
      EXPECT_EQ(llvm::ArrayRef(one.lhs.outExtents()), llvm::ArrayRef<int64_t>({one.m, one.k}));
      EXPECT_EQ(llvm::ArrayRef(one.rhs.outExtents()), llvm::ArrayRef<int64_t>({one.k, one.n}));
      // A result is in one place only; operands may be held twice.
      EXPECT_TRUE(one.acc.isInvertible());
      for (const LinearLayout *layout : {&one.lhs, &one.rhs}) {
        EXPECT_TRUE(layout->isSurjective());
        EXPECT_EQ(layout->inSize(Dim::Lane), one.laneCount());
        EXPECT_EQ(layout->inSize(Dim::Warp), one.warpCount());
        EXPECT_EQ(layout->freeVariableMask(Dim::Register), 0u);
      }
    }
}

TEST(MatrixInstructions, have_names_of_their_own) {
  for (auto &[table, instructions] : allTables()) {
    EXPECT_FALSE(instructions.empty()) << table;
    for (const MatrixInstruction &one : instructions)
      EXPECT_EQ(instructionNamed(instructions, one.name), &one) << table << " " << one.name;
  }
  EXPECT_EQ(instructionNamed(mmaSyncInstructions(), "mma.m16n8k17.f32.f16.f16"), nullptr);
  EXPECT_TRUE(amdMatrixInstructions("gfx906").empty());
}

TEST(MatrixInstructions, are_found_by_their_elements) {
  using enum MatrixElement;
  auto names = [](llvm::ArrayRef<MatrixInstruction> table, MatrixElements elements) {
    std::vector<std::string> found;
    for (const MatrixInstruction *one : instructionsFor(table, elements))
      found.push_back(one->name);
    return found;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(mmaSyncInstructions(), {E4M3, E5M2, F32}), Names{"mma.m16n8k32.f32.e4m3.e5m2"});
  EXPECT_EQ(names(mmaSyncInstructions(), {F16, BF16, F32}), Names{});
  // The deepest first: of two with one result it is the one that is taken.
  EXPECT_EQ(names(amdMatrixInstructions("gfx950"), {F16, F16, F32}),
            (Names{"mfma.m16n16k32.f32.f16.f16", "mfma.m32n32k16.f32.f16.f16",
                   "mfma.m16n16k16.f32.f16.f16", "mfma.m32n32k8.f32.f16.f16"}));
  // Who may round need not.
  EXPECT_EQ(names(amdMatrixInstructions("gfx942"), {Tf32, Tf32, F32}).front(),
            "mfma.m16n16k8.f32.tf32.tf32");
  EXPECT_EQ(names(amdMatrixInstructions("gfx90a"), {Tf32, Tf32, F32}).front(),
            "mfma.m16n16k4.f32.f32.f32");
  EXPECT_EQ(names(amdProductInstructions("gfx1100"), {F16, F16, F32}),
            (Names{"wmma.m16n16k16.f32.f16.f16.exchanged", "wmma.m16n16k16.f32.f16.f16"}));
}

TEST(MatrixInstructions, exchanged_twice_are_themselves) {
  for (auto &[table, instructions] : allTables())
    for (const MatrixInstruction &one : instructions) {
      MatrixInstruction other = exchanged(one), again = exchanged(other);
      EXPECT_EQ(other.m, one.n);
      EXPECT_NE(other.isExchanged, one.isExchanged);
      for (int64_t lane = 0; lane < one.laneCount(); lane += 5)
        for (int64_t reg = 0; reg < one.acc.inSize(Dim::Register); ++reg) {
          Coordinates here = one.acc.apply({{Dim::Register, reg}, {Dim::Lane, lane}});
          Coordinates there = other.acc.apply({{Dim::Register, reg}, {Dim::Lane, lane}});
          EXPECT_EQ(there, (Coordinates{here[1], here[0]}));
        }
      EXPECT_EQ(again.acc, one.acc);
      EXPECT_EQ(again.lhs, one.lhs);
      EXPECT_EQ(again.rhs, one.rhs);
      EXPECT_EQ(again.elements, one.elements);
    }
}

// What the exchange is for: a lane stores neighbours of a row.
TEST(MatrixInstructions, exchanged_ones_of_amd_give_neighbours_of_a_row) {
  for (std::string chip : {"gfx90a", "gfx942", "gfx950", "gfx1201"})
    for (const MatrixInstruction &one : amdProductInstructions(chip)) {
      if (one.elements.acc == MatrixElement::F64)
        continue;
      int64_t neighbours = one.acc.numConsecutive(Dim::Register, axis(1));
      EXPECT_EQ(neighbours, one.isExchanged ? (chip == "gfx1201" ? 8 : 4) : 1)
          << chip << " " << one.name;
    }
}

TEST(MatrixInstructions, of_one_number_along_k_hold_the_same_numbers_in_other_places) {
  for (std::string chip : kChips)
    for (const MatrixInstruction &one : amdMatrixInstructions(chip)) {
      SCOPED_TRACE(chip + " " + one.name);
      MatrixInstruction other = withNeighboursAlongDepth(one);
      EXPECT_EQ(neighboursAlongDepth(other, MatrixSide::Lhs), other.lhs.inSize(Dim::Register));
      EXPECT_EQ(neighboursAlongDepth(other, MatrixSide::Rhs), other.rhs.inSize(Dim::Register));
      // k of A and k of B went the same way.
      std::map<int, int> moved;
      for (auto [before, after, depth] :
           {std::tuple(&one.lhs, &other.lhs, 1), std::tuple(&one.rhs, &other.rhs, 0)})
        for (Word in = 0; in < Word(1) << before->totalInBits(); ++in) {
          Coordinates from = before->unpackAxes(before->apply(in));
          Coordinates to = after->unpackAxes(after->apply(in));
          EXPECT_EQ(from[1 - depth], to[1 - depth]);
          auto [place, isNew] = moved.try_emplace(from[depth], to[depth]);
          EXPECT_EQ(place->second, to[depth]);
        }
      EXPECT_EQ(moved.size(), size_t(one.k));
    }
}

//===-- Tiles ---------------------------------------------------------------------------------===//

// Each warp has the rows of A and the columns of B that its part of the result needs, odd
// repetition included, whatever the instruction.
TEST(MatrixInstructions, operands_and_accumulator_meet_in_the_same_warp) {
  for (auto &[table, instructions] : allTables())
    for (const MatrixInstruction &one : instructions) {
      SCOPED_TRACE(table + " " + one.name);
      int64_t m = 6 * one.m, n = 2 * one.n, k = 3 * one.k;
      Extents groups = {2, 2};
      TileLayout c = accumulatorOf(one, {m, n}, groups);
      TileLayout a = operandOf(one, MatrixSide::Lhs, {m, k}, groups);
      TileLayout b = operandOf(one, MatrixSide::Rhs, {k, n}, groups);
      EXPECT_EQ(groupsOf(one, c), groups);
      for (int warp = 0; warp < 4; ++warp)
        for (int64_t row = 0; row < m; row += 2 * one.m)
          for (int64_t inner = 0; inner < k; inner += one.k) {
            auto ra = a.registerHolding({int32_t(row), int32_t(inner)});
            auto rb = b.registerHolding({int32_t(inner), 0});
            auto rc = c.registerHolding({int32_t(row), 0});
            ASSERT_TRUE(ra && rb && rc);
            Coordinates inA = a.elementOf(*ra, 0, warp), inB = b.elementOf(*rb, 0, warp),
                        inC = c.elementOf(*rc, 0, warp);
            EXPECT_EQ(inC,
                      (Coordinates{int32_t(row + warp % 2 * one.m), int32_t(warp / 2 * one.n)}));
            EXPECT_EQ(inA, (Coordinates{inC[0], int32_t(inner)}));
            EXPECT_EQ(inB, (Coordinates{int32_t(inner), inC[1]}));
          }
    }
}

TEST(MatrixInstructions, know_their_accumulators) {
  const MatrixInstruction &small =
      *instructionNamed(amdProductInstructions("gfx942"), "mfma.m16n16k16.f32.f16.f16.exchanged");
  const MatrixInstruction &large =
      *instructionNamed(amdProductInstructions("gfx942"), "mfma.m32n32k8.f32.f16.f16.exchanged");
  const MatrixInstruction &plain =
      *instructionNamed(amdProductInstructions("gfx942"), "mfma.m16n16k16.f32.f16.f16");
  for (auto [groups, shape] : {std::pair(Extents{1, 4}, Extents{64, 64}),
                               {{4, 1}, {16, 16}},
                               {{2, 4}, {96, 80}},
                               {{2, 2, 1}, {4, 32, 64}}}) {
    TileLayout acc = accumulatorOf(small, shape, groups);
    EXPECT_EQ(groupsOf(small, acc), groups);
    EXPECT_EQ(groupsOf(large, acc), std::nullopt);
    EXPECT_EQ(groupsOf(plain, acc), std::nullopt);
  }
}

// Four warps that act together, as wgmma's: rows of 16 for each, in order; operands from registers
// or shared memory.
TEST(MatrixInstructions, of_several_warps_spread_in_groups) {
  const MatrixInstruction &warp =
      *instructionNamed(mmaSyncInstructions(), "mma.m16n8k16.f32.f16.f16");
  MatrixInstruction group = warp;
  group.name = "group", group.m = 64;
  group.acc = warp.acc * LinearLayout::identity1D(4, Dim::Warp, axis(0));
  group.lhs = warp.lhs * LinearLayout::identity1D(4, Dim::Warp, axis(0));
  group.rhs = {};
  group.rhsPlaces = {.registers = false, .sharedMemory = true};
  EXPECT_EQ(group.warpCount(), 4);
  TileLayout acc = accumulatorOf(group, {128, 64}, {2, 1});
  EXPECT_EQ(acc.warpCount(), 8);
  EXPECT_EQ(acc.elementOf(0, 0, 5), (Coordinates{80, 0}));
  EXPECT_EQ(groupsOf(group, acc), (Extents{2, 1}));
  // The same distribution as by eight instructions of a warp: only a name tells them apart.
  EXPECT_EQ(acc, accumulatorOf(warp, {128, 64}, {8, 1}));
  EXPECT_EQ(groupsOf(group, accumulatorOf(warp, {128, 64}, {2, 4})), std::nullopt);
  TileLayout lhs = operandOf(group, MatrixSide::Lhs, {128, 32}, {2, 1});
  EXPECT_EQ(lhs, operandOf(warp, MatrixSide::Lhs, {128, 32}, {8, 1}));
}

} // namespace
