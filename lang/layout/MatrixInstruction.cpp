#include "lang/layout/MatrixInstruction.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

namespace sectile::layout {

unsigned bitsOf(MatrixElement element) {
  switch (element) {
  case MatrixElement::F16:
  case MatrixElement::BF16:
    return 16;
  case MatrixElement::Tf32:
  case MatrixElement::F32:
  case MatrixElement::I32:
    return 32;
  case MatrixElement::F64:
    return 64;
  case MatrixElement::E4M3:
  case MatrixElement::E5M2:
  case MatrixElement::E4M3Fnuz:
  case MatrixElement::E5M2Fnuz:
  case MatrixElement::I8:
    return 8;
  }
  llvm_unreachable("all elements are handled");
}

llvm::StringRef nameOf(MatrixElement element) {
  switch (element) {
  case MatrixElement::F16:
    return "f16";
  case MatrixElement::BF16:
    return "bf16";
  case MatrixElement::Tf32:
    return "tf32";
  case MatrixElement::F32:
    return "f32";
  case MatrixElement::F64:
    return "f64";
  case MatrixElement::E4M3:
    return "e4m3";
  case MatrixElement::E5M2:
    return "e5m2";
  case MatrixElement::E4M3Fnuz:
    return "e4m3fnuz";
  case MatrixElement::E5M2Fnuz:
    return "e5m2fnuz";
  case MatrixElement::I8:
    return "s8";
  case MatrixElement::I32:
    return "s32";
  }
  llvm_unreachable("all elements are handled");
}

//===-- Tiles ---------------------------------------------------------------------------------===//

namespace {

/// A matrix's layout as one of the last two of `rank` axes, those in front of extent 1.
LinearLayout onLastAxes(const LinearLayout &matrix, int rank) {
  DimList outs;
  for (const DimBits &out : matrix.outDims())
    outs.push_back({axis(axisIndex(out.dim) + rank - 2), out.bits});
  LinearLayout moved =
      LinearLayout::fromColumns(DimList(matrix.inDims()), outs, Words(matrix.columns()));
  for (int index = 0; index < rank; ++index)
    moved = moved * LinearLayout::identity1D(1, Dim::Register, axis(index));
  return moved;
}

/// Instructions side by side, one for each group of warps; those along `missingAxis` hold copies.
TileLayout spread(const LinearLayout &matrix, llvm::ArrayRef<int64_t> shape,
                  llvm::ArrayRef<int64_t> groups, int missingAxis) {
  LinearLayout block = onLastAxes(matrix, shape.size());
  for (int index = 0; index < int(shape.size()); ++index)
    block = block * (index == missingAxis
                         ? LinearLayout::zeros1D(groups[index], Dim::Warp, axis(index))
                         : LinearLayout::identity1D(groups[index], Dim::Warp, axis(index)));
  return TileLayout(std::move(block), shape);
}

/// `matrix` with every step along `depthAxis` beyond `own` neighbours `factor` times as long, and
/// new registers for the steps in between.
LinearLayout withMoreNeighbours(const LinearLayout &matrix, int depthAxis, int64_t own,
                                int64_t factor) {
  llvm::SmallVector<int64_t, 4> extents = matrix.outExtents();
  extents[depthAxis] *= factor;
  llvm::SmallVector<LinearLayout::NamedBases, 3> bases;
  for (const DimBits &in : matrix.inDims()) {
    auto &[dim, steps] = bases.emplace_back(in.dim, llvm::SmallVector<Coordinates, 8>());
    for (unsigned bit = 0; bit < in.bits; ++bit) {
      Coordinates step = matrix.basis(in.dim, bit);
      if (step[depthAxis] >= own)
        step[depthAxis] *= int32_t(factor);
      steps.push_back(step);
    }
    if (in.dim != Dim::Register)
      continue;
    auto *behindOwn = steps.begin() + llvm::Log2_64(own);
    for (int64_t step = own; step < own * factor; step *= 2) {
      Coordinates added(2, 0);
      added[depthAxis] = int32_t(step);
      behindOwn = steps.insert(behindOwn, added) + 1;
    }
  }
  return LinearLayout::fromBases(extents, bases);
}

int depthAxisOf(MatrixSide side) {
  return side == MatrixSide::Lhs ? 1 : 0;
}

} // namespace

bool canBeSpread(const MatrixInstruction &instruction, llvm::ArrayRef<int64_t> shape,
                 llvm::ArrayRef<int64_t> groups) {
  return instruction.accRepeats == 1 || (groups.back() == 1 && shape.back() % instruction.n == 0);
}

TileLayout accumulatorOf(const MatrixInstruction &instruction, llvm::ArrayRef<int64_t> shape,
                         llvm::ArrayRef<int64_t> groups) {
  return spread(instruction.acc, shape, groups, /*missingAxis=*/-1);
}

int64_t neighboursAlongDepth(const MatrixInstruction &instruction, MatrixSide side) {
  return instruction.operand(side).numConsecutive(Dim::Register, axis(depthAxisOf(side)));
}

TileLayout operandOf(const MatrixInstruction &instruction, MatrixSide side,
                     llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> groups,
                     int64_t neighbours) {
  int depthAxis = depthAxisOf(side), missingAxis = int(shape.size()) - 2 + depthAxis;
  const LinearLayout &matrix = instruction.operand(side);
  assert(matrix.outRank() == 2 && "the operand can lie in registers");
  int64_t own = neighboursAlongDepth(instruction, side);
  if (neighbours <= own)
    return spread(matrix, shape, groups, missingAxis);
  return spread(withMoreNeighbours(matrix, depthAxis, own, neighbours / own), shape, groups,
                missingAxis);
}

std::optional<Extents> groupsOf(const MatrixInstruction &instruction, const TileLayout &acc) {
  int rank = acc.rank();
  Extents groups;
  for (int index = 0; index < rank; ++index) {
    int bits = llvm::popcount(acc.contributionMask(Dim::Warp, index));
    if (int matrixAxis = index - (rank - 2); matrixAxis >= 0)
      bits -= llvm::popcount(instruction.acc.contributionMask(Dim::Warp, axis(matrixAxis)));
    if (bits < 0)
      return std::nullopt;
    groups.push_back(int64_t(1) << bits);
  }
  if (rank < 2 || !canBeSpread(instruction, acc.shape(), groups) ||
      accumulatorOf(instruction, acc.shape(), groups) != acc)
    return std::nullopt;
  return groups;
}

//===-- Other ways to use an instruction ------------------------------------------------------===//

MatrixInstruction exchanged(const MatrixInstruction &instruction) {
  assert(instruction.accRepeats == 1);
  MatrixInstruction result = instruction;
  result.name += ".exchanged";
  std::swap(result.m, result.n);
  result.elements.lhs = instruction.elements.rhs;
  result.elements.rhs = instruction.elements.lhs;
  result.acc = instruction.acc.transposeOuts({1, 0});
  result.lhs = instruction.rhs.transposeOuts({1, 0});
  result.rhs = instruction.lhs.transposeOuts({1, 0});
  std::swap(result.lhsPlaces, result.rhsPlaces);
  result.isExchanged = !instruction.isExchanged;
  return result;
}

MatrixInstruction withNeighboursAlongDepth(const MatrixInstruction &instruction) {
  // Bits of k in the order in which registers, then lanes, step through them.
  llvm::SmallVector<int32_t, 8> newStep(llvm::Log2_64(instruction.k) + 1, 0);
  int32_t next = 1;
  for (const DimBits &in : instruction.lhs.inDims())
    for (unsigned bit = 0; bit < in.bits; ++bit)
      if (int32_t step = instruction.lhs.basis(in.dim, bit, axis(1))) {
        assert(llvm::isPowerOf2_32(uint32_t(step)) && "steps along k are single bits");
        newStep[llvm::Log2_32(uint32_t(step))] = next;
        next *= 2;
      }
  auto renumbered = [&](const LinearLayout &matrix, int depthAxis) {
    llvm::SmallVector<LinearLayout::NamedBases, 3> bases;
    for (const DimBits &in : matrix.inDims()) {
      auto &[dim, steps] = bases.emplace_back(in.dim, llvm::SmallVector<Coordinates, 8>());
      for (unsigned bit = 0; bit < in.bits; ++bit) {
        Coordinates step = matrix.basis(in.dim, bit);
        if (step[depthAxis])
          step[depthAxis] = newStep[llvm::Log2_32(uint32_t(step[depthAxis]))];
        steps.push_back(step);
      }
    }
    return LinearLayout::fromBases(matrix.outExtents(), bases);
  };
  MatrixInstruction result = instruction;
  result.lhs = renumbered(instruction.lhs, 1);
  result.rhs = renumbered(instruction.rhs, 0);
  return result;
}

//===-- Tables --------------------------------------------------------------------------------===//

MatrixInstructions instructionsFor(llvm::ArrayRef<MatrixInstruction> table,
                                   const MatrixElements &elements) {
  MatrixInstructions found;
  for (const MatrixInstruction &instruction : table)
    if (instruction.elements == elements)
      found.push_back(&instruction);
  MatrixElements exact{MatrixElement::F32, MatrixElement::F32, elements.acc};
  if (found.empty() &&
      elements == MatrixElements{MatrixElement::Tf32, MatrixElement::Tf32, exact.acc})
    return instructionsFor(table, exact);
  return found;
}

const MatrixInstruction *instructionNamed(llvm::ArrayRef<MatrixInstruction> table,
                                          llvm::StringRef name) {
  const auto *found = llvm::find_if(
      table, [&](const MatrixInstruction &instruction) { return instruction.name == name; });
  return found == table.end() ? nullptr : found;
}

} // namespace sectile::layout
