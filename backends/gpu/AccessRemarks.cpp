// How wide each access to global memory is, and what keeps it from being wider.
#include "backends/gpu/GpuEmitter.h"
#include "optimizer/gpu/AccessWidth.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

using layout::TileLayout;
using optimizer::AccessLimit;
using optimizer::DimensionFacts;
using optimizer::MemoryOperands;

static std::string nameOf(Value scalar) {
  auto argument = dyn_cast<BlockArgument>(scalar);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : nullptr;
  auto name =
      function ? function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kArgumentNameAttr)
               : nullptr;
  return name ? name.getValue().str() : "";
}

/// Explains why accesses along a dimension without neighbours are of one element.
static std::string whyScattered(const DimensionFacts &facts) {
  if (facts.extent == 1)
    return "the tile has one element";
  if (facts.isConstant())
    return "all elements are the same one";
  if (facts.run > 1 && facts.strideSymbol) {
    std::string name = nameOf(facts.strideSymbol);
    return name.empty() ? "the stride between elements is not known to be 1"
                        : "elements are " + name + " apart, which is not known to be 1";
  }
  if (facts.run > 1)
    return "elements are " + std::to_string(facts.stride) + " apart";
  return "it is not known that elements follow each other in memory";
}

/// Describes the limit in terms that a user can act on.
static std::string wordsOf(AccessLimit limit, int64_t elementBytes, int64_t extent) {
  std::string number = std::to_string(limit.elements);
  switch (limit.reason) {
  case AccessLimit::Reason::Extent:
    return "a row has " + number + " elements";
  case AccessLimit::Reason::Neighbours:
    return number + " elements at a time are known to follow each other";
  case AccessLimit::Reason::Alignment:
    return "addresses are known to be multiples of " +
           std::to_string(limit.elements * elementBytes) + " bytes only";
  case AccessLimit::Reason::Mask:
    return limit.elements == 1 ? "the mask may change at every element"
                               : "the mask may change every " + number + " elements";
  case AccessLimit::Reason::RowEnd:
    return "a row of " + std::to_string(extent) + " ends within more";
  case AccessLimit::Reason::Registers:
    return "a thread holds " + number + " neighbours of the tile at a time";
  case AccessLimit::Reason::Instruction:
    break;
  }
  return "";
}

/// The limits that are least, of those below `most`.
static std::string whyNarrow(const optimizer::IndexAnalysis &analysis, const TileLayout &layout,
                             const MemoryOperands &access, int64_t most, optimizer::Masks masks) {
  const auto &dimensions = analysis.of(access.pointer).dimensions;
  int axis = -1;
  for (int each = layout.rank(); each-- > 0;)
    if (dimensions[each].extent > 1 &&
        (axis < 0 || dimensions[each].contiguity() > dimensions[axis].contiguity()))
      axis = each;
  if (axis < 0)
    return whyScattered(DimensionFacts());
  const DimensionFacts &facts = dimensions[axis];
  if (facts.contiguity() == 1)
    return whyScattered(facts);

  // Lists all limits that tie: lifting only one does not widen the access.
  int64_t least = most;
  std::string reasons;
  for (AccessLimit limit :
       optimizer::accessAlong(access, axis, most, &layout, analysis, masks).limits) {
    if (limit.elements > least || limit.elements >= most)
      continue;
    // The layout follows from the other limits; it is a reason only where they would allow more.
    const bool isLess = limit.elements < least || reasons.empty();
    if (!isLess && limit.reason == AccessLimit::Reason::Registers)
      continue;
    std::string words = wordsOf(limit, access.bytes, facts.extent);
    reasons = isLess ? std::move(words) : reasons + "; " + words;
    least = limit.elements;
  }
  return reasons;
}

/// Returns which masks the access was decided for.
static optimizer::Masks masksOf(Operation *op) {
  auto store = dyn_cast<StoreOp>(op);
  auto copy = dyn_cast<AsyncCopyOp>(op);
  const bool isPartial = (store && store.getAccessAttr() && store.getAccessAttr().getPartial()) ||
                         (copy && copy.getPartial());
  return isPartial ? optimizer::Masks::Prefixes : optimizer::Masks::Whole;
}

void GpuEmitter::noteAccess(Operation *op, StringRef kind, int64_t elements, unsigned maxBytes) {
  const MemoryOperands access = optimizer::memoryOperandsOf(op);
  int64_t most = std::max<int64_t>(1, maxBytes / access.bytes);
  std::string text;
  if (!isa<RankedTensorType>(access.pointer.getType()))
    text = "one number for the whole program";
  else if (elements < most)
    text = whyNarrow(indexFacts(), layoutOf(access.pointer), access, most, masksOf(op));
  if (!provenance)
    provenance.emplace(function);
  auto argument = provenance->argumentOf(access.pointer);
  addRemark(image.remarks, op->getLoc(), kind, std::move(text),
            {{"bytes", elements * access.bytes},
             {"element_bytes", access.bytes},
             {"argument", argument ? int64_t(*argument) : -1},
             {"is_masked", access.mask != nullptr}});
}

void GpuEmitter::noteBoxes(Operation *op, StringRef kind, Value map) {
  auto type = cast<TensorMapType>(map.getType());
  const int64_t bytes = memoryBytes(type.getElement());
  auto byHost = map.getDefiningOp<TensorMapOp>();
  addRemark(image.remarks, op->getLoc(), kind, "by the copy engine",
            {{"bytes", ShapedType::getNumElements(type.getBox()) * bytes},
             {"element_bytes", bytes},
             {"argument", byHost ? cast<BlockArgument>(byHost.getBase()).getArgNumber() : -1},
             {"is_masked", 0}});
}

} // namespace sectile::gpu
