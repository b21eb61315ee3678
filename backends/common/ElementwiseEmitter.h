//===-- ElementwiseEmitter.h - one elementwise op as LLVM IR ----------------------------------===//
// What a scalar, or an element of a tile, becomes under the ops of `arith` and `math` and under
// pointer arithmetic: the same on every target but for what MathTarget.h decides. Operands are
// scalars or fixed vectors, mixed; narrow floats are held as f32 and rounded after every operation,
// unless the caller turns each result into the bits of its type, which rounds.
//
//   ElementwiseEmitter elementwise(builder, mathTarget, /*enableFpFusion=*/true,
//                                  /*pointerSpace=*/0);
//   llvm::SmallVector<llvm::Value *, 2> results = elementwise.emit(op, operands);
//
// The builder stays in its block.
#pragma once

#include "backends/common/EmittedScalars.h"
#include "backends/common/MathTarget.h"
#include "lang/tile/TileDialect.h"

namespace sectile::backends {

class ElementwiseEmitter {
public:
  using Values = llvm::SmallVector<llvm::Value *, 2>;

  /// Results of narrow types in f32 are rounded to nearest by emit(), or left to the caller.
  enum class Rounding { Emitted, ByCaller };

  ElementwiseEmitter(llvm::IRBuilderBase &builder, const MathTarget &target, bool enableFpFusion,
                     unsigned pointerSpace, Rounding rounding = Rounding::Emitted)
      : builder(builder), target(target), enableFpFusion(enableFpFusion),
        pointerSpace(pointerSpace), rounding(rounding) {}

  static bool isElementwise(mlir::Operation *op);
  /// One value per result; empty for an op that is not known.
  Values emit(mlir::Operation *op, llvm::ArrayRef<llvm::Value *> operands);
  /// The body of a reduce or scan, op by op: one value per yielded element. `emitOp` emits what is
  /// no constant.
  static Values
  emitCombiner(mlir::Block &block, llvm::ArrayRef<llvm::Value *> arguments,
               ConstantMaker constantOf,
               llvm::function_ref<Values(mlir::Operation *, llvm::ArrayRef<llvm::Value *>)> emitOp);

  /// What a register holds for an element: f32 for narrower floats, iN, ptr.
  llvm::Type *registerType(mlir::Type element);
  /// What an array of the user holds: the bits of narrow floats, i8 for truth values.
  llvm::Type *memoryType(mlir::Type element);
  llvm::Constant *constantOf(mlir::Attribute attribute, mlir::Type element);

private:
  llvm::FastMathFlags fastMathOf(mlir::Operation *op);
  llvm::Value *rounded(llvm::Value *value, NarrowFloat kind,
                       FloatRounding mode = FloatRounding::NearestEven);
  llvm::Value *emitIntegerDivision(mlir::Operation *op, llvm::Value *lhs, llvm::Value *rhs,
                                   bool isSigned, bool wantsRemainder);

  llvm::IRBuilderBase &builder;
  const MathTarget &target;
  const bool enableFpFusion;
  const unsigned pointerSpace;
  const Rounding rounding;
};

} // namespace sectile::backends
