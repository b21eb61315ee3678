// How wide each access to global memory is, and what keeps it from being wider.
#include "backends/gpu/GpuEmitter.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

using layout::TileLayout;
using optimizer::DimensionFacts;

static std::string nameOf(Value scalar) {
  auto argument = dyn_cast<BlockArgument>(scalar);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : nullptr;
  auto name =
      function ? function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kArgumentNameAttr)
               : nullptr;
  return name ? name.getValue().str() : "";
}

/// Of a dimension without neighbours.
static std::string whyScattered(const DimensionFacts &facts) {
  if (facts.extent == 1)
    return "the tile has one element";
  if (facts.isConstant())
    return "all elements are the same one";
  if (facts.run > 1 && facts.strideSymbol) {
    std::string name = nameOf(facts.strideSymbol);
    return "elements are " + (name.empty() ? "a number of elements" : name) +
           " apart, which is not known to be 1";
  }
  if (facts.run > 1)
    return "elements are " + std::to_string(facts.stride) + " apart";
  return "it is not known that elements follow each other in memory";
}

/// Neighbours that are all on or all off, where runs start at multiples of powers of two.
static int64_t longestRun(const DimensionFacts &facts) {
  int64_t run = facts.constancy();
  return run == facts.extent ? run : run & -run;
}

/// In the words of a user, who can do something about each of them.
static std::string whyNarrow(const optimizer::IndexAnalysis &analysis, const TileLayout &layout,
                             Value pointer, Value mask, unsigned bytes, int64_t most) {
  const auto &dimensions = analysis.of(pointer).dimensions;
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

  // Whoever widens one of several needs to know of the others.
  int64_t least = most;
  std::string reasons;
  auto limit = [&](int64_t elements, std::string reason) {
    if (elements > least || elements >= most)
      return;
    reasons = elements < least || reasons.empty() ? std::move(reason) : reasons + "; " + reason;
    least = elements;
  };
  auto number = [](int64_t value) { return std::to_string(value); };
  limit(facts.extent, "a row has " + number(facts.extent) + " elements");
  limit(facts.contiguity(),
        number(facts.contiguity()) + " elements at a time are known to follow each other");
  int64_t alignment = std::max<int64_t>(bytes, analysis.alignment(pointer, axis));
  limit(alignment / bytes,
        "addresses are known to be multiples of " + number(alignment) + " bytes only");
  if (mask) {
    int64_t run = longestRun(analysis.of(mask).dimensions[axis]);
    limit(run, run == 1 ? "the mask may change at every element"
                        : "the mask may change every " + number(run) + " elements");
  }
  if (layout.isPadded(axis))
    limit(facts.extent & -facts.extent, "a row of " + number(facts.extent) + " ends within more");
  // The layout follows from these; it is a reason only where they would allow more.
  if (int64_t held = layout.contiguousRegisters(axis); held < least) {
    reasons.clear();
    limit(held, "a thread holds " + number(held) + " neighbours of the tile at a time");
  }
  return reasons;
}

void GpuEmitter::noteAccess(Operation *op, StringRef kind, Value pointer, Value mask,
                            int64_t elements, unsigned maxBytes) {
  unsigned bytes = memoryBytes(cast<PtrType>(elementTypeOf(pointer.getType())).getPointee());
  int64_t most = std::max(1u, maxBytes / bytes);
  std::string text;
  if (!isa<RankedTensorType>(pointer.getType()))
    text = "one number for the whole program";
  else if (elements < most)
    text = whyNarrow(indexFacts(), layoutOf(pointer), pointer, mask, bytes, most);
  if (!provenance)
    provenance.emplace(function);
  auto argument = provenance->argumentOf(pointer);
  addRemark(image.remarks, op->getLoc(), kind, std::move(text),
            {{"bytes", elements * bytes},
             {"element_bytes", bytes},
             {"argument", argument ? int64_t(*argument) : -1},
             {"is_masked", mask != nullptr}});
}

} // namespace sectile::gpu
