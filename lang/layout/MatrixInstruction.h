//===-- MatrixInstruction.h - products of small matrices by one instruction ---------------===//
// What code generation must know of an instruction that adds the product of an m x k and a k x n
// matrix to an m x n one: which register of which lane holds which element. Three linear layouts
// say it, so there is nothing to be known by heart, neither of one maker nor of one shape:
//
//   mma.sync m16n8k16 of f16      register bit 0 -> (0, 1)   lane bit 0 -> (0, 2)
//     acc (row, column)           register bit 1 -> (8, 0)   lane bit 1 -> (0, 4)
//                                                            lane bit 2 -> (1, 0) ...
//
// Registers hold one element each here, in the order in which the instruction takes them: elements
// of 16 and 8 bits share words of 32 bits, the first in the lowest bits. A lane bit that
// contributes nothing to an operand says that both lanes must hold the same (WMMA of gfx11).
// Instructions that several warps carry out together have bits of `Dim::Warp`, the lowest of the
// kernel's.
//
//   const MatrixInstruction &one =
//       *instructionNamed(mmaSyncInstructions(), "mma.m16n8k16.f32.f16.f16");
//   TileLayout acc = accumulatorOf(one, {128, 128}, /*groups=*/{2, 2});
//   TileLayout lhs = operandOf(one, MatrixSide::Lhs, {128, 64}, {2, 2});
//
// A tile is laid out by instructions side by side: groups of warps first, one instruction's rows
// (columns) apart, the first axis fastest; the rest is repetition in registers.
#pragma once

#include "lang/layout/TileLayout.h"

namespace sectile::layout {

/// What the elements of a matrix are. Tf32: f32, of which the instruction reads 19 bits.
enum class MatrixElement : uint8_t {
  F16,
  BF16,
  Tf32,
  F32,
  F64,
  E4M3,
  E5M2,
  E4M3Fnuz,
  E5M2Fnuz,
  I8,
  I32
};
unsigned bitsOf(MatrixElement element);
llvm::StringRef nameOf(MatrixElement element); // "f16", ..., "e4m3", "s8"

/// The elements of a product.
struct MatrixElements {
  MatrixElement lhs, rhs, acc;
  bool operator==(const MatrixElements &) const = default;
};

/// Where an instruction can take an operand from.
struct OperandPlaces {
  bool registers = true, sharedMemory = false;
  /// In shared memory it may be contiguous along the axis that is not summed over, too.
  bool acrossDepth = false;
};

enum class MatrixSide : uint8_t { Lhs, Rhs };

struct MatrixInstruction {
  /// What the IR calls it; no two instructions of one target share a name.
  std::string name;
  int64_t m, n, k;
  MatrixElements elements;
  /// From (register, lane, warp of the group) to the elements of m x n, m x k and k x n. The layout
  /// of an operand that cannot lie in registers is empty.
  LinearLayout acc, lhs, rhs;
  /// How often `acc`, which then covers a part of n, is repeated along the columns, each time in
  /// further registers: odd, as what is not makes n a power of two.
  int64_t accRepeats = 1;
  OperandPlaces lhsPlaces = {}, rhsPlaces = {};
  /// The hardware multiplies the transposes: its first operand is rhs, its second lhs.
  bool isExchanged = false;

  int64_t accRegisters() const { return acc.inSize(Dim::Register) * accRepeats; }
  int64_t laneCount() const { return acc.inSize(Dim::Lane); }
  /// How many warps carry it out together.
  int64_t warpCount() const { return acc.inSize(Dim::Warp); }
  /// It reads an operand out of shared memory that it cannot take from registers, and its sums are
  /// there only after a wait.
  bool isOfBuffers() const { return !rhsPlaces.registers; }
  const OperandPlaces &places(MatrixSide side) const {
    return side == MatrixSide::Lhs ? lhsPlaces : rhsPlaces;
  }
  const LinearLayout &operand(MatrixSide side) const { return side == MatrixSide::Lhs ? lhs : rhs; }
  MatrixElement elementOf(MatrixSide side) const {
    return side == MatrixSide::Lhs ? elements.lhs : elements.rhs;
  }
};

//===-- Tiles ---------------------------------------------------------------------------------===//

/// Whether accumulatorOf may be asked. Where accRepeats is not 1, N is a number of whole
/// instructions, and one group of warps lies along it: groups lie a power of two apart.
bool canBeSpread(const MatrixInstruction &instruction, llvm::ArrayRef<int64_t> shape,
                 llvm::ArrayRef<int64_t> groups);
/// The accumulator of a product: `shape` is [batch ...] x M x N; `groups` has a power of two for
/// each axis, how many groups of warps lie along it.
TileLayout accumulatorOf(const MatrixInstruction &instruction, llvm::ArrayRef<int64_t> shape,
                         llvm::ArrayRef<int64_t> groups);

/// An operand in registers: `shape` is [batch ...] x M x K or [batch ...] x K x N, `groups` are the
/// accumulator's. Groups along the axis that the operand lacks hold copies.
///
/// With `neighbours`, a thread holds so many along k, as memory or a conversion from narrower
/// elements likes it; 0 is the instruction's own number v. That makes neighbours / v instructions:
/// number n takes the registers with (i mod neighbours) / v == n. Both operands must have the same
/// number: k is then permuted alike, and a sum does not mind.
TileLayout operandOf(const MatrixInstruction &instruction, MatrixSide side,
                     llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> groups,
                     int64_t neighbours = 0);
/// The instruction's own number of neighbours along k in a thread.
int64_t neighboursAlongDepth(const MatrixInstruction &instruction, MatrixSide side);

/// The groups for which accumulatorOf gives `acc`; nullopt when `acc` is no accumulator of the
/// instruction.
std::optional<Extents> groupsOf(const MatrixInstruction &instruction, const TileLayout &acc);

//===-- Other ways to use an instruction ------------------------------------------------------===//

/// The instruction with its operands exchanged, and rows for columns: n x m of the product of the
/// transposes. Where a lane held neighbours of a column, it holds those of a row then, which is how
/// tiles lie in memory. Its name has ".exchanged" behind.
MatrixInstruction exchanged(const MatrixInstruction &instruction);

/// The instruction with k renumbered, in both operands alike, so that a thread's registers hold
/// neighbours along it: wider accesses to memory, and the same sums.
MatrixInstruction withNeighboursAlongDepth(const MatrixInstruction &instruction);

//===-- Tables --------------------------------------------------------------------------------===//

using MatrixInstructions = llvm::SmallVector<const MatrixInstruction *, 2>;

/// Those of a table for such elements, in its order. Where f32 may be rounded to tf32 and no
/// instruction of the table does it, those of f32.
MatrixInstructions instructionsFor(llvm::ArrayRef<MatrixInstruction> table,
                                   const MatrixElements &elements);
/// Null when the table has none of that name.
const MatrixInstruction *instructionNamed(llvm::ArrayRef<MatrixInstruction> table,
                                          llvm::StringRef name);

} // namespace sectile::layout
