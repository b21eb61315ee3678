//===-- KernelFunction.h - the func.func around a kernel's body -------------------------------===//
// Made here for both front ends, so that names, argument order and attributes agree.
#pragma once

#include "lang/plain/KernelSignature.h"
#include "lang/semantics/Semantics.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace sectile::lang {

struct KernelFunction {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  /// One per parameter of the signature: its constant, or the function argument.
  std::vector<Operand> parameters;
};

/// An empty kernel; the insertion point of `builder` is left in its body. The front end ends the
/// body with func.return.
KernelFunction createKernelFunction(mlir::OpBuilder &builder, const KernelSignature &signature,
                                    mlir::Location location);

} // namespace sectile::lang
