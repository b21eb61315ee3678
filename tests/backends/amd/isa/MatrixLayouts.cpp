#include "MatrixLayouts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace sectile::amdisa {
namespace {

std::optional<Number> numberOf(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<Number>>(name)
      .Case("F16", Number::F16)
      .Cases({"BF16", "BF16_1K"}, Number::BF16)
      .Case("F32", Number::F32)
      .Case("XF32", Number::XF32)
      .Case("F64", Number::F64)
      .Case("I8", Number::I8)
      .Case("IU8", Number::IU8)
      .Case("FP8", Number::FP8)
      .Case("BF8", Number::BF8)
      .Case("I32", Number::I32)
      .Default(std::nullopt);
}

unsigned log2Of(unsigned number) {
  unsigned result = 0;
  while ((1u << result) < number)
    ++result;
  return result;
}

enum class Axis { Major, Minor, Block };

/// Bases that count through `count` of an axis from `first` in doubling steps.
void append(std::vector<Place> &bases, Axis axis, unsigned first, unsigned count) {
  for (unsigned bit = 0; bit < log2Of(count); ++bit) {
    Place place;
    uint16_t step = uint16_t(first << bit);
    (axis == Axis::Major ? place.major : axis == Axis::Minor ? place.minor : place.block) = step;
    bases.push_back(place);
  }
}

struct Name {
  unsigned m, n, k;
  Number lhs, rhs, result;
};

/// "F32_32X32X8F16", "F32_16X16X32_FP8_BF8".
std::optional<Name> parseName(llvm::StringRef text) {
  Name name;
  auto [result, rest] = text.split('_');
  auto resultNumber = numberOf(result);
  if (!resultNumber || rest.consumeInteger(10, name.m) || !rest.consume_front("X") ||
      rest.consumeInteger(10, name.n) || !rest.consume_front("X") ||
      rest.consumeInteger(10, name.k))
    return std::nullopt;
  rest.consume_front("_");
  auto lhs = numberOf(rest), rhs = lhs;
  if (!lhs) {
    lhs = numberOf(rest.split('_').first);
    rhs = numberOf(rest.split('_').second);
  }
  if (!lhs || !rhs)
    return std::nullopt;
  name.lhs = *lhs, name.rhs = *rhs, name.result = *resultNumber;
  return name;
}

constexpr unsigned kWave = 64;

/// A lane has neighbours along k; the lanes go through the rows, then blocks, then the rest of k.
MatrixLayout mfmaOperand(unsigned rows, unsigned k, unsigned blocks) {
  unsigned perLane = rows * k * blocks / kWave;
  MatrixLayout layout;
  append(layout.elements, Axis::Minor, 1, perLane);
  append(layout.lanes, Axis::Major, 1, rows);
  append(layout.lanes, Axis::Block, 1, blocks);
  append(layout.lanes, Axis::Minor, perLane, k / perLane);
  return layout;
}

/// A lane has four rows, then those behind what the other lanes have of this column, then blocks.
MatrixLayout mfmaResult(unsigned m, unsigned n, unsigned blocks, bool isDouble) {
  MatrixLayout layout;
  append(layout.lanes, Axis::Minor, 1, n);
  unsigned lanesOfRows = std::min(kWave / n, std::max(1u, m / 4));
  if (isDouble && m == 4) { // one element, blocks before rows
    append(layout.lanes, Axis::Block, 1, blocks);
    append(layout.lanes, Axis::Major, 1, m);
    return layout;
  }
  if (isDouble) { // rows go through the lanes first
    append(layout.lanes, Axis::Major, 1, lanesOfRows);
    append(layout.elements, Axis::Major, lanesOfRows, m / lanesOfRows);
    return layout;
  }
  append(layout.elements, Axis::Major, 1, 4);
  append(layout.lanes, Axis::Major, 4, lanesOfRows);
  append(layout.elements, Axis::Major, 4 * lanesOfRows, m / (4 * lanesOfRows));
  unsigned lanesOfBlocks = kWave / n / lanesOfRows;
  append(layout.lanes, Axis::Block, 1, lanesOfBlocks);
  append(layout.elements, Axis::Block, lanesOfBlocks, blocks / lanesOfBlocks);
  return layout;
}

MatrixInstruction mfma(const Name &name, unsigned resultWords) {
  bool isDouble = name.result == Number::F64;
  unsigned blocks = resultWords * kWave / (isDouble ? 2 : 1) / (name.m * name.n);
  return {name.m,
          name.n,
          name.k,
          blocks,
          name.lhs,
          name.rhs,
          name.result,
          mfmaOperand(name.m, name.k, blocks),
          mfmaOperand(name.n, name.k, blocks),
          mfmaResult(name.m, name.n, blocks, isDouble)};
}

MatrixInstruction wmma11(const Name &name) {
  MatrixLayout operand, result;
  append(operand.elements, Axis::Minor, 1, name.k);
  append(operand.lanes, Axis::Major, 1, 16);
  operand.lanes.push_back({}); // the upper lanes are a copy
  append(result.elements, Axis::Major, 2, 8);
  append(result.lanes, Axis::Minor, 1, 16);
  append(result.lanes, Axis::Major, 1, 2);
  bool isHalf = bitsOfNumber(name.result) == 16;
  return {16,          16,      name.k,  1,      name.lhs, name.rhs,
          name.result, operand, operand, result, isHalf,   true};
}

MatrixInstruction wmma12(const Name &name) {
  MatrixLayout operand, result;
  append(operand.lanes, Axis::Major, 1, 16);
  if (bitsOfNumber(name.lhs) == 16) {
    append(operand.elements, Axis::Minor, 1, 4);
    append(operand.elements, Axis::Minor, 8, 2);
    append(operand.lanes, Axis::Minor, 4, 2);
  } else {
    append(operand.elements, Axis::Minor, 1, 8);
    append(operand.lanes, Axis::Minor, 8, 2);
  }
  append(result.elements, Axis::Major, 1, 8);
  append(result.lanes, Axis::Minor, 1, 16);
  append(result.lanes, Axis::Major, 8, 2);
  return {16, 16, name.k, 1, name.lhs, name.rhs, name.result, operand, operand, result};
}

} // namespace

unsigned bitsOfNumber(Number number) {
  switch (number) {
  case Number::F16:
  case Number::BF16:
    return 16;
  case Number::F32:
  case Number::XF32:
  case Number::I32:
    return 32;
  case Number::F64:
    return 64;
  case Number::I8:
  case Number::IU8:
  case Number::FP8:
  case Number::BF8:
    return 8;
  }
  return 0;
}

Place MatrixLayout::at(unsigned element, unsigned lane) const {
  Place place;
  auto add = [&](const std::vector<Place> &bases, unsigned index) {
    for (auto [bit, base] : llvm::enumerate(bases))
      if (index >> bit & 1) {
        place.major ^= base.major;
        place.minor ^= base.minor;
        place.block ^= base.block;
      }
  };
  add(elements, element);
  add(lanes, lane);
  return place;
}

std::optional<MatrixInstruction> matrixInstruction(llvm::StringRef name, int generation,
                                                   unsigned resultWords) {
  bool isMfma = name.consume_front("V_MFMA_");
  if (isMfma != (generation == 9) || (!isMfma && !name.consume_front("V_WMMA_")))
    return std::nullopt;
  auto parsed = parseName(name);
  if (!parsed)
    return std::nullopt;
  if (isMfma)
    return mfma(*parsed, resultWords);
  return generation == 11 ? wmma11(*parsed) : wmma12(*parsed);
}

} // namespace sectile::amdisa
