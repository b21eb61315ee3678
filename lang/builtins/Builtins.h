//===-- Builtins.h - the table of language operations -----------------------------------------===//
// Every operation a kernel may call, by its one name: parameters with defaults, and the function
// that checks and builds it. `tl.load(p, mask=m)` in Python and `load(p, m)` in C++ are the same
// `callBuiltin("load", ...)`, so they cannot drift apart.
//
// Arguments are bound here: missing, unknown and duplicate ones are reported with the signature.
#pragma once

#include "lang/semantics/Semantics.h"

namespace sectile::lang {

struct NamedOperand {
  std::string name;
  Operand operand;
};

struct BuiltinInfo {
  std::string name;                    // "load"
  std::vector<std::string> parameters; // in order
  std::string signature;               // "load(pointer, mask=None, ...)", as in messages
  /// May be written x.name(...): the value is the first argument.
  bool isMethod = false;
  /// As a method it takes fp16 and bf16, too: it is computed in fp32, and the result rounded. (The
  /// function refuses them, as Triton's does, whose check is the function's alone.)
  bool methodTakesHalves = false;
};

/// "int32[constexpr[128]]", "pointer<fp32>[]": how Triton's static_print shows a value.
std::string tritonTypeText(const Type &type);

/// All operations in order of name.
const std::vector<BuiltinInfo> &builtins();
/// Null when there is no such operation.
const BuiltinInfo *findBuiltin(llvm::StringRef name);
/// Binds the arguments and builds the operation at the current position of `sema`.
mlir::FailureOr<Operand> callBuiltin(Semantics &sema, llvm::StringRef name,
                                     llvm::ArrayRef<Operand> positional,
                                     llvm::ArrayRef<NamedOperand> named);

} // namespace sectile::lang
