//===-- SourcePlace.h - where an op stands in the user's source -------------------------------===//
//   SourcePlace place = sourcePlaceOf(op->getLoc());
//   place.file, place.line, place.column     "kernel.py", 12, 5
//
// Within functions called by the kernel: the place in the one called, not that of the call.
#pragma once

#include "lang/plain/Remark.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sectile::lang {

struct SourcePlace {
  std::string file, function;
  int32_t line = 0, column = 0;
  bool isKnown() const { return line > 0; }
};

SourcePlace sourcePlaceOf(mlir::Location location);

using Remarks = std::vector<Remark>;

/// Records a remark about the op at `location`. Equal remarks are recorded once, because one op may
/// be emitted several times.
void addRemark(Remarks &remarks, mlir::Location location, llvm::StringRef kind, std::string text,
               std::initializer_list<std::pair<const char *, int64_t>> numbers = {});

/// The places of a kernel's operations, by the number of the operation (Remark::operation).
/// To be made before anything changes the IR; costs nothing but pointers.
class OperationPlaces {
public:
  OperationPlaces() = default;
  explicit OperationPlaces(mlir::ModuleOp module);

  /// Sets Remark::operation of each.
  void number(Remarks &remarks) const;
  /// File, function, line and column of each operation; nothing else is set.
  std::vector<Remark> all() const;

private:
  std::vector<mlir::Location> places;
};

} // namespace sectile::lang
