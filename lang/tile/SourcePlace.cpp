#include "lang/tile/SourcePlace.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace sectile::lang {

/// Null: unknown. `function`: the name of the innermost there is; may be null.
static FileLineColLoc fileLineOf(Location location, std::string *function = nullptr) {
  while (!isa<FileLineColLoc>(location)) {
    if (auto call = dyn_cast<CallSiteLoc>(location)) {
      location = call.getCallee();
    } else if (auto name = dyn_cast<NameLoc>(location)) {
      if (function)
        *function = name.getName().str();
      location = name.getChildLoc();
    } else if (auto fused = dyn_cast<FusedLoc>(location); fused && !fused.getLocations().empty()) {
      location = fused.getLocations().front();
    } else {
      return {};
    }
  }
  return cast<FileLineColLoc>(location);
}

SourcePlace sourcePlaceOf(Location location) {
  SourcePlace place;
  if (FileLineColLoc file = fileLineOf(location, &place.function)) {
    place.file = file.getFilename().str();
    place.line = int32_t(file.getLine());
    place.column = int32_t(file.getColumn());
  }
  return place;
}

void addRemark(Remarks &remarks, Location location, llvm::StringRef kind, std::string text,
               std::initializer_list<std::pair<const char *, int64_t>> numbers) {
  SourcePlace place = sourcePlaceOf(location);
  Remark remark;
  remark.kind = kind.str();
  remark.text = std::move(text);
  remark.file = std::move(place.file);
  remark.function = std::move(place.function);
  remark.line = place.line;
  remark.column = place.column;
  for (auto [name, number] : numbers)
    remark.numbers.emplace(name, number);
  if (!llvm::is_contained(remarks, remark))
    remarks.push_back(std::move(remark));
}

OperationPlaces::OperationPlaces(ModuleOp module) {
  module.walk<WalkOrder::PreOrder>([&](Operation *op) { places.push_back(op->getLoc()); });
}

void OperationPlaces::number(Remarks &remarks) const {
  for (Remark &remark : remarks)
    for (auto [number, location] : llvm::enumerate(places))
      if (FileLineColLoc place = fileLineOf(location);
          place && place.getLine() == unsigned(remark.line) &&
          place.getColumn() == unsigned(remark.column) && place.getFilename() == remark.file) {
        remark.operation = int32_t(number);
        break;
      }
}

std::vector<Remark> OperationPlaces::all() const {
  std::vector<Remark> result(places.size());
  for (auto [remark, location] : llvm::zip(result, places)) {
    SourcePlace place = sourcePlaceOf(location);
    remark.file = std::move(place.file);
    remark.function = std::move(place.function);
    remark.line = place.line;
    remark.column = place.column;
  }
  return result;
}

} // namespace sectile::lang
