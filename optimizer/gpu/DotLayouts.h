//===-- DotLayouts.h - layouts of the tiles of a matrix product -------------------------------===//
// By matrix instructions: the accumulator is one instruction's, spread over the warps in some
// rectangle, and that fixes the operands. By multiply-adds: the accumulator is blocked, the
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

/// The type that a product with an accumulator of this type is summed up in.
mlir::Type computedIn(mlir::Type acc);

/// The elements that an instruction for this product must have; nullopt when there can be none.
std::optional<layout::MatrixElements> matrixElements(tile::DotOp dot);

/// The instructions that the product can be done by: the target has them, the kernel's warps can
/// carry them out, and the depth is whole. Empty: it is done by multiply-adds.
///
/// Those that read shared memory themselves (MatrixInstruction::isOfBuffers) need extents that are
/// powers of two, a split of the warps that leaves each group whole ones, room for operands in
/// shared memory and for sums in registers, and are left out where sums may not depend on the
/// number of warps or must be exact.
layout::MatrixInstructions matrixInstructions(tile::DotOp dot, const GpuShape &shape);
/// Those that layouts are chosen for: of one kind. It is the kind that reads shared memory if loads
/// bring operands there in an order that the instruction takes.
layout::MatrixInstructions wantedInstructions(tile::DotOp dot, const GpuShape &shape,
                                              const IndexAnalysis &analysis);

/// Every way to spread the warps over the accumulator, the best balanced first, for each of the
/// instructions.
LayoutList matrixAccumulators(tile::DotOp dot, const layout::MatrixInstructions &instructions,
                              const GpuShape &shape);
/// Accumulators for multiply-adds: rectangles of several rows and columns per thread.
LayoutList multiplyAddAccumulators(tile::DotOp dot, const GpuShape &shape);

/// An instruction, and how many groups of warps lie along each axis of the accumulator.
struct SpreadInstruction {
  const layout::MatrixInstruction *instruction;
  layout::Extents groups;

  layout::TileLayout operand(layout::MatrixSide side, llvm::ArrayRef<int64_t> shape) const {
    return layout::operandOf(*instruction, side, shape, groups);
  }
};

mlir::TypedValue<mlir::RankedTensorType> operandOf(tile::DotOp dot, layout::MatrixSide side);

/// Whether the instruction reads that operand of the product out of shared memory: it must, or it
/// can and the tile is loaded, perhaps transposed. What is computed stays in registers.
bool isReadFromBuffer(const layout::MatrixInstruction &instruction, layout::MatrixSide side,
                      tile::DotOp dot);

/// What goes with an accumulator of matrixAccumulators; nullopt when it is none of them.
std::optional<SpreadInstruction> instructionOf(const layout::MatrixInstructions &instructions,
                                               const layout::TileLayout &accumulator);

} // namespace sectile::optimizer
