#include "lang/SourcePlace.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <map>
#include <tuple>

using namespace mlir;

namespace sectile::lang {

SourcePlace sourcePlaceOf(Location location) {
  SourcePlace place;
  while (!isa<FileLineColLoc>(location)) {
    if (auto call = dyn_cast<CallSiteLoc>(location)) {
      location = call.getCallee();
    } else if (auto name = dyn_cast<NameLoc>(location)) {
      place.function = name.getName().str();
      location = name.getChildLoc();
    } else if (auto fused = dyn_cast<FusedLoc>(location); fused && !fused.getLocations().empty()) {
      location = fused.getLocations().front();
    } else {
      return place;
    }
  }
  auto file = cast<FileLineColLoc>(location);
  place.file = file.getFilename().str();
  place.line = int32_t(file.getLine());
  place.column = int32_t(file.getColumn());
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
  if (remarks.empty())
    return;
  using Place = std::tuple<std::string, int32_t, int32_t>;
  std::map<Place, int32_t> first;
  llvm::DenseSet<Location> seen;
  for (auto [number, location] : llvm::enumerate(places)) {
    if (!seen.insert(location).second)
      continue;
    SourcePlace place = sourcePlaceOf(location);
    first.try_emplace({std::move(place.file), place.line, place.column}, int32_t(number));
  }
  for (Remark &remark : remarks)
    if (auto found = first.find({remark.file, remark.line, remark.column});
        remark.line > 0 && found != first.end())
      remark.operation = found->second;
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
