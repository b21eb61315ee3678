//===-- ApartArrays.h - whether arrays share memory, asked by the program itself ---------------===//
// What a program reads ahead, and what it stores late, it must not store or read meanwhile. Of
// arrays that begin at arguments the launch knows whether they share memory (LoopWrites.h). Of
// those whose addresses are loaded the program finds it out where it knows them: where two end and
// begin.
//
//   std::optional<ArraysApart> apart = ArraysApart::of(loop, {ArrayDescribed(block)}, analysis);
//   if (apart) { Value are = apart->emit(builder); ... }     // in front of the loop
#pragma once

#include "lang/tile/TileDialect.h"
#include "optimizer/IndexAnalysis.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

#include <optional>
#include <vector>

namespace sectile::optimizer {

/// An array as an access's block says, or the map that the copy engine has of it.
struct ArrayDescribed {
  explicit ArrayDescribed(tile::BlockAtOp block)
      : base(block.getBase()), shape(block.getShape()), strides(block.getStrides()) {}
  explicit ArrayDescribed(tile::TensorMapOp map)
      : base(map.getBase()), shape(map.getShape()), strides(map.getStrides()) {}

  mlir::Value base;
  llvm::SmallVector<mlir::Value> shape, strides;
};

class ArraysApart {
public:
  /// The arrays that a loop stores to, and some that it reads. Nothing where they are not all known
  /// in front of the loop, or it writes to memory otherwise.
  static std::optional<ArraysApart> of(mlir::LoopLikeOpInterface loop,
                                       llvm::ArrayRef<ArrayDescribed> read,
                                       const IndexAnalysis &analysis);

  /// Memory from one address to another one; i64.
  struct Bytes {
    mlir::Value begin, end;
  };
  /// Emits what an access of a number goes to.
  static Bytes bytesOf(mlir::OpBuilder &builder, mlir::Value pointer);
  /// Emits whether both have memory in common; i1.
  static mlir::Value meet(mlir::OpBuilder &builder, const Bytes &one, const Bytes &other);

  /// Emits whether none of those that are read has memory in common with one that is written; i1.
  /// False also of arrays with rows further apart than kFarthestRows.
  mlir::Value emit(mlir::OpBuilder &builder) const;
  /// The opposite, by what `there` has for what describes them, whether one of those that are read
  /// has memory in common with `others`, and from where to where those that are written go: all of
  /// memory where rows are that far apart.
  struct Comparison {
    mlir::Value meetWritten, meetOthers; // i1
    Bytes written;
  };
  Comparison compare(mlir::OpBuilder &builder, const mlir::IRMapping &there,
                     const Bytes &others) const;
  /// Returns what describes all of them.
  llvm::SmallVector<mlir::Value> numbers() const;

  /// Bytes; with more, sums of what arrays reach over might not fit 64 bits.
  static constexpr int64_t kFarthestRows = int64_t(1) << 29;

private:
  static Bytes bytesOf(mlir::OpBuilder &builder, const ArrayDescribed &array,
                       const mlir::IRMapping &there, mlir::Value &isNear);

  std::vector<ArrayDescribed> readOnes, writtenOnes;
};

} // namespace sectile::optimizer
