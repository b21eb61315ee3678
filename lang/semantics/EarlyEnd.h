//===-- EarlyEnd.h - a conditional loop that a turn may end -----------------------------------===//
// What CountedLoop::endEarly is for scf.for, this is for scf.while:
//
//   scf.while (carried...) {          scf.while (%goes = true, carried...) {
//     scf.condition(test) carried       scf.condition(%goes and test) carried...
//   } do {                      ==>   } do {
//     ... the body                      ... the body
//   }                                   scf.yield !leaves, next...
//                                     }
//
// A test that has effects, or is a loop, is not evaluated again after a turn that leaves.
#pragma once

#include "lang/semantics/Semantics.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace sectile::lang {

/// Whether an operation may run where its result is not needed: it has no effects, is defined for
/// all operands, and is no loop.
bool isFreeToCompute(mlir::Operation &op);

/// Makes the loop over into one that ends after a turn where `leaves`. The builder stands at the
/// end of the body, which has no terminator. Values that turned out to be carried while the body
/// was made come last, by what they are before the loop and after a turn.
mlir::scf::WhileOp endEarly(Semantics &sema, mlir::scf::WhileOp loop, mlir::Value leaves,
                            llvm::ArrayRef<mlir::Value> next,
                            llvm::ArrayRef<mlir::Value> furtherInitial = {},
                            llvm::ArrayRef<mlir::Value> furtherNext = {});

} // namespace sectile::lang
