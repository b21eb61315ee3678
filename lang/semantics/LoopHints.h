//===-- LoopHints.h - what a kernel wishes of one loop ----------------------------------------===//
// tl.range(..., num_stages=4), and LoopHints of the C++ headers: a wish is an attribute of the
// scf.for or scf.while. Each is obeyed by a pass, or the compiler answers it by a remark of the
// kind "hint" (optimizer/UnheededHints.h), which st.inspect and `sectile compile --remarks` show.
//
//   num_stages                  PipelineLoops, PrefetchLoads (GPUs)
//   loop_unroll_factor          UnrollLoops
//   disable_licm                HoistInvariants, and LLVM's pass of that name
//   disallow_acc_multi_buffer   an accumulator never has more than one buffer
//   flatten, warp_specialize    a remark
#pragma once

#include "lang/semantics/Semantics.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace sectile::lang {

struct LoopHint {
  llvm::StringLiteral name, attribute;
  /// The largest number that the hint takes; 1 means that it is a truth value.
  int64_t most;
};

/// Returns all hints, in the order of the parameters of tl.range.
llvm::ArrayRef<LoopHint> loopHints();
/// Returns null when no hint has that name.
const LoopHint *findLoopHint(llvm::StringRef name);

/// The attribute of a hint; none for None, and for False of a truth value. Reports what is
/// no number for it; `operation` names the caller.
mlir::FailureOr<std::optional<mlir::NamedAttribute>> loopHintAttribute(Semantics &sema,
                                                                       const LoopHint &hint,
                                                                       const Constant &number,
                                                                       llvm::StringRef operation);

} // namespace sectile::lang
