#include "lang/builtins/Indexing.h"

#include "lang/builtins/Builtins.h"

using mlir::failed;
using mlir::failure;
using mlir::FailureOr;

namespace sectile::lang {

FailureOr<SliceRange> resolveSlice(Semantics &sema, const Slice &slice, Int size,
                                   const SourceRange &where) {
  Int step = slice.step.value_or(1);
  if (step == 0) {
    sema.at(where);
    return sema.error("slice step is zero");
  }
  auto clamp = [&](Int bound) {
    Int low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    if (bound < 0)
      bound += size;
    return bound < low ? low : bound > high ? high : bound;
  };
  Int first = slice.lower ? clamp(*slice.lower) : step > 0 ? 0 : size - 1;
  Int last = slice.upper ? clamp(*slice.upper) : step > 0 ? size : -1;
  // A step past either end is the same as one of the whole length; keeps the sum below in range.
  step = step > size ? size + 1 : step < -size ? -size - 1 : step;
  Int distance = step > 0 ? last - first : first - last, width = step > 0 ? step : -step;
  return SliceRange{first, step, distance > 0 ? (distance + width - 1) / width : 0};
}

/// What one part picks of a dimension of `extent` elements.
static FailureOr<SliceRange> resolvePart(Semantics &sema, const IndexPart &part, size_t dim,
                                         int64_t extent) {
  const std::string elements =
      "dimension " + std::to_string(dim) + " has " + std::to_string(extent) + " elements";
  if (auto *slice = std::get_if<Slice>(&part.what)) {
    FailureOr<SliceRange> range = resolveSlice(sema, *slice, extent, part.where);
    if (failed(range) || range->count > 0)
      return range;
    sema.at(part.where);
    return sema.error("the slice is empty: " + elements);
  }
  Int number = std::get<Int>(part.what), place = number < 0 ? number + extent : number;
  if (place >= 0 && place < extent)
    return SliceRange{place, 1, 1};
  sema.at(part.where);
  return sema.error("index " + Constant::integer(number).repr() + " is out of range: " + elements);
}

FailureOr<Operand> indexTile(Semantics &sema, const Value &tile, llvm::ArrayRef<IndexPart> index) {
  const SourceRange place = sema.range();
  llvm::ArrayRef<int64_t> shape = tile.type.shape;
  auto number = [](Int value) { return Operand(Constant::integer(value)); };
  Operand taken(tile);
  llvm::SmallVector<bool> isNew; // of the dimensions that stay, and the new ones
  llvm::SmallVector<int64_t, 4> kept;
  size_t dim = 0;
  for (const IndexPart &part : index) {
    const bool isNewDimension = std::holds_alternative<IndexPart::NewDimension>(part.what);
    const bool isElement = std::holds_alternative<Int>(part.what);
    if (isNewDimension || (dim >= shape.size() && !isElement)) {
      isNew.push_back(isNewDimension); // one slice too many is reported with all of the index
      continue;
    }
    if (dim >= shape.size()) {
      sema.at(part.where);
      return sema.error("indexing: too many indices for a tile of " + tile.type.shapeName());
    }
    FailureOr<SliceRange> range = resolvePart(sema, part, dim, shape[dim]);
    if (failed(range))
      return failure();
    sema.at(place);
    FailureOr<Operand> picked = callBuiltin(
        sema, "tile.slice",
        {taken, number(Int(dim)), number(range->first), number(range->count), number(range->step)},
        {});
    if (failed(picked))
      return failure();
    taken = *picked;
    if (!isElement) {
      isNew.push_back(false);
      kept.push_back(int64_t(range->count));
    }
    ++dim;
  }
  sema.at(place);
  kept.append(shape.begin() + ptrdiff_t(std::min(dim, shape.size())), shape.end());
  if (kept.size() != shape.size()) { // dimensions that a number picked are gone
    std::vector<Constant> extents;
    for (int64_t extent : kept)
      extents.push_back(Constant::integer(extent));
    FailureOr<Operand> left =
        callBuiltin(sema, "reshape", {taken, Constant::tuple(std::move(extents))}, {});
    if (failed(left))
      return failure();
    taken = *left;
  }
  return sema.expandByIndex(*taken.value(), isNew);
}

mlir::LogicalResult refuseIndexAtRunTime(Semantics &sema, const Operand &index) {
  const Vocabulary &words = sema.words;
  return sema.error("a tile cannot be indexed by " +
                        (index.value() ? sema.nameOf(index.value()->type) : index.kindName()),
                    "an index is known at compile time; other elements are reached with " +
                        words.operation("gather") + ", or " + words.operation("sum") + "(" +
                        words.operation("where") + "(...))");
}

} // namespace sectile::lang
