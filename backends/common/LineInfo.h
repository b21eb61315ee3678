//===-- LineInfo.h - which line of the user's source an instruction is from -------------------===//
// For profilers and debuggers, which show a kernel's source beside its instructions. Only places
// are given: no types, no variables. PTX has them as directives (.file, .loc), host code as a
// table.
//
//   LineInfo lines(module, kernel, function.getLoc(), LineInfo::Form::Directives,
//                  LineInfo::Folders::Named);
//   builder.SetCurrentDebugLocation(lines.at(op->getLoc()));
//   lines.finish();
//
// A function called by the kernel has been inlined: its lines are its own, with the place of the
// call.
#pragma once

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/Function.h"
#include "mlir/IR/Location.h"

namespace sectile::backends {

class LineInfo {
public:
  enum class Form { Directives, Table };
  /// Code for archives is the same wherever its source lay.
  enum class Folders { Named, LeftOut };
  /// `location` is the kernel's in its source. Where it is unknown, no place is given.
  LineInfo(llvm::Module &module, llvm::Function &kernel, mlir::Location location, Form form,
           Folders folders);
  ~LineInfo();
  llvm::DebugLoc at(mlir::Location location);
  /// Before the module is used.
  void finish();

private:
  llvm::DIFile *fileOf(llvm::StringRef path);
  llvm::DILocalScope *scopeOf(mlir::Location location, bool isKernel);
  llvm::DILocation *place(mlir::Location location, llvm::DILocation *caller);

  const Folders folders;
  llvm::DIBuilder builder;
  llvm::DICompileUnit *unit = nullptr;
  llvm::DISubprogram *kernelScope = nullptr;
  std::string kernelFile;
  llvm::DenseMap<mlir::Location, llvm::DILocation *> known;
  llvm::StringMap<llvm::DILocalScope *> scopes;
};

} // namespace sectile::backends
