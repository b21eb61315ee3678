//===-- DotLayouts.h - layouts of the tiles of a matrix product -------------------------------===//
// By matrix instructions: the accumulator is one instruction's, spread over the warps, or groups of
// warps, in some rectangle, and that fixes the operands, but for those that the instruction reads
// in shared memory, which may have any layout. By multiply-adds: the accumulator is blocked, the
// operands may have any layout.
//
// Which of several instructions it is follows from the accumulator's layout, and of those that
// share it the one comes that the target prefers; RewriteLayouts writes its name on the product.
#pragma once

#include "lang/layout/TileLayout.h"
#include "optimizer/IndexAnalysis.h"
#include "optimizer/gpu/GpuShape.h"

namespace sectile::optimizer {

using LayoutList = llvm::SmallVector<layout::TileLayout, 8>;

/// Returns the type that a product with an accumulator of this type is summed up in.
mlir::Type computedIn(mlir::Type acc);

/// Returns the elements that an instruction for this product must have; nullopt when there can be
/// none.
std::optional<layout::MatrixElements> matrixElements(tile::DotOp dot);

/// Whether a number of the type is taken for such an element: f32 for tf32, too.
bool isHeldAs(mlir::Type type, layout::MatrixElement element);

/// Returns the instructions that the product can be done by: the target has them, the kernel's
/// warps can carry them out, and the depth is whole. Empty: it is done by multiply-adds.
///
/// Those that read shared memory themselves (MatrixInstruction::isOfBuffers) are among them where
///   - the product is of two axes;
///   - there is a split of the warps that leaves each group of them whole instructions;
///   - a thread has registers for its sums, which are of the accumulator's own type, and for those
///     that are kept apart from them (sumsApart);
///   - sums may depend on the number of warps (not GpuShape::fixedOrders);
///   - operands are not of fp8, or sums may lose digits: not GpuShape::exactSums, and the product's
///     max_num_imprecise_acc is not given or allows as many as an instruction adds;
///   - the operands that are read there fit shared memory, also beside those of other products that
///     lie still while a loop runs;
///   - f32 is not multiplied as tf32x3.
layout::MatrixInstructions matrixInstructions(tile::DotOp dot, const GpuShape &shape);
/// Whether a thread has registers for so many times a product's sums, by an instruction that
/// reads shared memory itself. All of them stay there: ptxas refuses an instruction that has too
/// few beside its own, and where sums are spilled instructions of one warp are faster.
bool holdsSums(mlir::RankedTensorType sums, int64_t times, const GpuShape &shape);
/// Returns how much of the depth is added up apart from the accumulator, and then added to it, if
/// the product is done by the instruction, which reads buffers: what max_num_imprecise_acc allows,
/// in whole instructions. nullopt: nothing is kept apart.
std::optional<int64_t> sumsApart(tile::DotOp dot, const layout::MatrixInstruction &instruction);
/// Returns those of them that layouts are chosen for, which are of one kind. It is the kind that
/// reads shared memory if the instruction takes each operand as it comes: from registers, or in the
/// order in which it is loaded.
layout::MatrixInstructions wantedInstructions(tile::DotOp dot, const GpuShape &shape,
                                              const IndexAnalysis &analysis);

/// Returns the accumulators of every way to spread the warps, the best balanced first, for each of
/// the instructions. Of those that read shared memory each group of warps takes the widest that
/// fits.
LayoutList matrixAccumulators(tile::DotOp dot, const layout::MatrixInstructions &instructions,
                              const GpuShape &shape);
/// Returns accumulators for multiply-adds: rectangles of several rows and columns per thread.
LayoutList multiplyAddAccumulators(tile::DotOp dot, const GpuShape &shape);

/// An instruction, and how many groups of warps lie along each axis of the accumulator.
struct SpreadInstruction {
  const layout::MatrixInstruction *instruction;
  layout::Extents groups;

  layout::TileLayout operand(layout::MatrixSide side, llvm::ArrayRef<int64_t> shape) const {
    return layout::operandOf(*instruction, side, shape, groups);
  }
};

/// What a tile is with its axes in another order, in whatever layouts: axis i of the tile is axis
/// order[i] of `source`, which is the tile itself where nothing was transposed.
struct TurnedTile {
  explicit TurnedTile(mlir::Value tile);

  mlir::Value source;
  llvm::SmallVector<int, 2> order;
};

/// Returns the product's operand of that side.
mlir::TypedValue<mlir::RankedTensorType> operandOf(tile::DotOp dot, layout::MatrixSide side);

/// Whether the instruction reads the operand out of shared memory: because it must, or because it
/// can and the tile is loaded, perhaps transposed. What is computed stays in registers where the
/// instruction takes it there.
bool isReadFromBuffer(const layout::MatrixInstruction &instruction, layout::MatrixSide side,
                      tile::DotOp dot);

/// Returns what goes with an accumulator of matrixAccumulators; nullopt when it is none of them.
std::optional<SpreadInstruction> instructionOf(const layout::MatrixInstructions &instructions,
                                               const layout::TileLayout &accumulator);

} // namespace sectile::optimizer
