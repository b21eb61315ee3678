#include "lang/layout/NvidiaMatrixInstructions.h"

#include "lang/layout/PowersOfTwo.h"

#include "llvm/Support/FormatVariadic.h"

namespace sectile::layout {

namespace {

constexpr int kRows = 0, kColumns = 1;

/// Steps 1, 2, 4, ... of `count` indices.
LinearLayout steps(int64_t count, Dim in, int axisNumber) {
  return LinearLayout::identity1D(count, in, axis(axisNumber));
}

/// 16 rows are 8 by lanes, twice; k is v neighbours, 4 lanes of them, twice. One of f64 is a half
/// of all that.
LinearLayout operand(MatrixSide side, unsigned bits) {
  bool isLhs = side == MatrixSide::Lhs, isDouble = bits == 64;
  int depth = isLhs ? kColumns : kRows, outer = isLhs ? kRows : kColumns;
  LinearLayout layout = steps(isDouble ? 1 : 32 / bits, Dim::Register, depth) *
                        steps(4, Dim::Lane, depth) * steps(8, Dim::Lane, outer);
  if (isDouble)
    return layout;
  if (isLhs)
    layout = layout * steps(2, Dim::Register, outer);
  return layout * steps(2, Dim::Register, depth);
}

MatrixInstruction mmaSync(MatrixElement lhs, MatrixElement rhs, MatrixElement acc) {
  MatrixInstruction made;
  unsigned bits = bitsOf(lhs);
  bool isDouble = bits == 64;
  made.m = isDouble ? 8 : 16, made.n = 8, made.k = isDouble ? 4 : 256 / bits;
  made.elements = {lhs, rhs, acc};
  made.acc = steps(2, Dim::Register, kColumns) * steps(4, Dim::Lane, kColumns) *
             steps(8, Dim::Lane, kRows);
  if (!isDouble)
    made.acc = made.acc * steps(2, Dim::Register, kRows);
  made.lhs = operand(MatrixSide::Lhs, bits);
  made.rhs = operand(MatrixSide::Rhs, bits);
  made.name = llvm::formatv("mma.m{0}n{1}k{2}.{3}.{4}.{5}", made.m, made.n, made.k, nameOf(acc),
                            nameOf(lhs), nameOf(rhs));
  return made;
}

/// The fragments are mma.sync's, for four warps that have 16 rows each. Eight columns after eight
/// columns have registers of their own, also where their number is no power of two.
MatrixInstruction wgmma(const MatrixElements &elements, int64_t columns) {
  MatrixInstruction made;
  unsigned bits = bitsOf(elements.lhs);
  const int64_t repeated = lowestBit(columns);
  made.m = 64, made.n = columns, made.k = 256 / bits;
  made.elements = elements;
  made.acc = steps(2, Dim::Register, kColumns) * steps(4, Dim::Lane, kColumns) *
             steps(8, Dim::Lane, kRows) * steps(2, Dim::Register, kRows) *
             steps(repeated / 8, Dim::Register, kColumns) * steps(4, Dim::Warp, kRows);
  made.accRepeats = columns / repeated;
  made.lhs = operand(MatrixSide::Lhs, bits) * steps(4, Dim::Warp, kRows);
  made.lhsPlaces = {.registers = true, .sharedMemory = true, .acrossDepth = bits == 16};
  made.rhsPlaces = {.registers = false, .sharedMemory = true, .acrossDepth = bits == 16};
  made.name = llvm::formatv("wgmma.m{0}n{1}k{2}.{3}.{4}.{5}", made.m, made.n, made.k,
                            nameOf(elements.acc), nameOf(elements.lhs), nameOf(elements.rhs));
  return made;
}

} // namespace

llvm::ArrayRef<MatrixInstruction> wgmmaInstructions() {
  static const std::vector<MatrixInstruction> table = [] {
    using enum MatrixElement;
    std::vector<MatrixInstruction> made;
    for (MatrixElements elements : std::initializer_list<MatrixElements>{{F16, F16, F32},
                                                                         {BF16, BF16, F32},
                                                                         {Tf32, Tf32, F32},
                                                                         {I8, I8, I32},
                                                                         {E4M3, E4M3, F32},
                                                                         {E4M3, E5M2, F32},
                                                                         {E5M2, E4M3, F32},
                                                                         {E5M2, E5M2, F32}})
      for (int64_t columns = 256; columns >= 16; columns -= 16)
        made.push_back(wgmma(elements, columns));
    return made;
  }();
  return table;
}

llvm::ArrayRef<MatrixInstruction> mmaSyncInstructions() {
  using enum MatrixElement;
  static const std::vector<MatrixInstruction> table = {
      mmaSync(F16, F16, F32),   mmaSync(BF16, BF16, F32), mmaSync(Tf32, Tf32, F32),
      mmaSync(F64, F64, F64),   mmaSync(I8, I8, I32),     mmaSync(E4M3, E4M3, F32),
      mmaSync(E4M3, E5M2, F32), mmaSync(E5M2, E4M3, F32), mmaSync(E5M2, E5M2, F32),
  };
  return table;
}

} // namespace sectile::layout
