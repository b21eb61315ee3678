//===-- LineInfo.h - which line of the user's source an instruction is from -------------------===//
// For profilers and debuggers, which show a kernel's source beside its instructions. Only places
// are given: no types, no variables. PTX has them as directives (.file, .loc), host code as a
// table.
//
//   LineInfo lines(module, kernel, function.getLoc(), LineInfo::Form::Directives, options);
//   builder.SetCurrentDebugLocation(lines.at(op->getLoc()));
//   lines.finish();
//
// A function called by the kernel has been inlined: its lines are its own, with the place of the
// call.
#pragma once

#include "backends/plain/CompileOptions.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/Function.h"
#include "mlir/IR/Location.h"

namespace sectile::backends {

class LineInfo {
public:
  enum class Form { Directives, Table };
  /// `location` is the kernel's in its source. Where it is unknown, no place is given. Of code for
  /// archives (CompileOptions::forElsewhere) folders are left out: it is the same wherever its
  /// source lay.
  LineInfo(llvm::Module &module, llvm::Function &kernel, mlir::Location location, Form form,
           const CompileOptions &options);
  ~LineInfo();
  llvm::DebugLoc at(mlir::Location location);
  /// Before the module is used.
  void finish();

private:
  llvm::DIFile *fileOf(llvm::StringRef path);
  llvm::DILocalScope *scopeOf(mlir::Location location, bool isKernel);
  llvm::DILocation *place(mlir::Location location, llvm::DILocation *caller);

  const bool namesFolders;
  llvm::DIBuilder builder;
  llvm::DICompileUnit *unit = nullptr;
  llvm::DISubprogram *kernelScope = nullptr;
  std::string kernelFile;
  llvm::DenseMap<mlir::Location, llvm::DILocation *> known;
  llvm::StringMap<llvm::DILocalScope *> scopes;
};

} // namespace sectile::backends
