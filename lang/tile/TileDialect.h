//===-- TileDialect.h - the tile dialect: types, attributes, operations -----------------------===//
// The IR between front ends and optimiser. Everything here is described in TileDialect.td and
// TileOps.td; `elementTypeOf` and `shapeOf` let code treat scalars as tiles of rank zero.
#pragma once

#include "lang/layout/SharedLayout.h"
#include "lang/tile/DiscardableAttributes.h"
#include "lang/tile/TileDialect.h.inc"
#include "lang/tile/TileEnums.h.inc"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#define GET_ATTRDEF_CLASSES
#include "lang/tile/TileAttributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "lang/tile/TileTypes.h.inc"

namespace sectile::tile {

/// The extent of an axis of a block's array that ends nowhere: no number of 32 bits is beyond it.
inline constexpr int64_t kEndlessAxis = int64_t(1) << 31;
/// The longest other axis of an array that a copy engine accesses. Blocks that begin beyond numbers
/// of 32 bits are put there, with room for all of the block.
inline constexpr int64_t kLongestAxis = kEndlessAxis - (1 << 16);
/// The most dimensions of an array that a copy engine knows.
inline constexpr size_t kMostMapDimensions = 5;

/// A tile, not a scalar.
inline bool isTile(mlir::Value value) {
  return mlir::isa<mlir::RankedTensorType>(value.getType());
}

/// The type of one element of a scalar or tile.
inline mlir::Type elementTypeOf(mlir::Type type) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  return tensor ? tensor.getElementType() : type;
}

/// The extents of a tile; empty for a scalar.
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Type type) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  return tensor ? tensor.getShape() : llvm::ArrayRef<int64_t>();
}

/// A tile of `shape`, or the scalar itself when `shape` is empty.
inline mlir::Type tileOf(llvm::ArrayRef<int64_t> shape, mlir::Type element) {
  return shape.empty() ? element : mlir::RankedTensorType::get(shape, element);
}

/// The same shape and layout with another element type.
inline mlir::Type withElementType(mlir::Type type, mlir::Type element) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  return tensor ? mlir::Type(tensor.clone(element)) : element;
}

/// The layout of a laid-out tile; null for scalars and for tiles that have none yet.
inline const layout::TileLayout *layoutOf(mlir::Type type) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  auto attribute = tensor ? mlir::dyn_cast_or_null<LayoutAttr>(tensor.getEncoding()) : LayoutAttr();
  return attribute ? &attribute.getLayout() : nullptr;
}

/// The type without its layout, if it has one.
inline mlir::Type withoutLayout(mlir::Type type) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  return tensor ? mlir::Type(tensor.dropEncoding()) : type;
}

/// What a pointer, or tile of pointers, points to, in the same shape.
inline mlir::Type pointeeOf(mlir::Type type) {
  auto ptr = mlir::dyn_cast<PtrType>(elementTypeOf(type));
  return ptr ? withElementType(type, ptr.getPointee()) : mlir::Type();
}

/// `value` as `type`, rounded once; conversions to fp8 saturate as tile.narrow says.
llvm::APFloat convertFloat(llvm::APFloat value, mlir::FloatType type,
                           llvm::RoundingMode rounding = llvm::RoundingMode::NearestTiesToEven);

/// The type of a mask over values of `type`.
inline mlir::Type maskOf(mlir::Type type) {
  return withElementType(type, mlir::IntegerType::get(type.getContext(), 1));
}

} // namespace sectile::tile

#define GET_OP_CLASSES
#include "lang/tile/TileOps.h.inc"

namespace sectile::tile {

/// Whether the regions of an operation are functions of single elements, not parts of the program.
inline bool hasElementRegion(mlir::Operation *op) {
  return mlir::isa<ReduceOp, ScanOp, MapOp>(op);
}
/// The teams of a block, where programs share one.
inline constexpr int64_t kTeams = 2;
/// How many programs share a block of threads of the kernel.
inline int64_t teamsOf(mlir::Operation *function) {
  auto teams = function->getAttrOfType<mlir::IntegerAttr>(kTeamsAttr);
  return teams ? teams.getInt() : 1;
}

/// The warps of a block beside its program, where there is a producer: registers are handed out by
/// so many.
inline constexpr int64_t kProducerWarps = 4;
/// The producer of a kernel; null: there is none.
ProducerOp producerOf(mlir::Operation *function);
/// The warps of a block of threads, whose programs have so many each.
int64_t warpsOfBlock(mlir::Operation *function, int64_t ofProgram);

/// Whether the operation has no effect but on shared memory, its own products and copies under way:
/// accesses of global memory may change places with it.
inline bool touchesOnlySharedMemory(mlir::Operation *op) {
  if (auto barrier = mlir::dyn_cast<BarrierOp>(op))
    return barrier.getSharedOnly();
  return mlir::isa<BufferAllocOp, BufferLoadOp, BufferStoreOp, DotAsyncOp, DotWaitOp, ProxyFenceOp,
                   AsyncCommitOp, AsyncWaitOp, MBarrierAllocOp, MBarrierInitOp, MBarrierEndOp,
                   MBarrierExpectOp, MBarrierArriveOp, MBarrierWaitOp, TensorStoreWaitOp>(op);
}
/// Whether what is built in the block is for one element at a time: in the function of a reduction,
/// a scan or a map, in its branches and loops as well. Such functions have no effects of the
/// compiler's own, assertions among them.
inline bool isForElements(mlir::Block *block) {
  for (mlir::Operation *op = block->getParentOp(); op; op = op->getParentOp())
    if (hasElementRegion(op))
      return true;
  return false;
}

} // namespace sectile::tile
