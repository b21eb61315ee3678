#include "backends/gpu/RegisterAddress.h"

#include "lang/layout/PowersOfTwo.h"

namespace sectile::gpu {

using layout::TileLayout;
using optimizer::DimensionFacts;

/// The first constant along the axis that lies in one run with `constant` for every thread.
static int32_t startOfRun(const TileLayout &layout, const DimensionFacts &facts, int axis,
                          const layout::RegisterPart &part) {
  int32_t constant = part.inBlock[axis] + part.offset[axis];
  // Otherwise the register's bits are xored into the thread's.
  if (facts.run <= 1 || (layout.threadBits(axis) & part.inBlock[axis]))
    return constant;
  if (facts.isStrided())
    return 0;
  // Runs of a power of two start where the bits below are clear, whatever the thread adds there.
  auto run = int32_t(layout::lowestBit(facts.run));
  return constant & ~(run - 1);
}

RegisterAddress relativeAddress(const TileLayout &layout, const optimizer::IndexFacts &pointer,
                                int64_t elementBytes, int reg) {
  RegisterAddress address;
  address.base = reg;
  layout::RegisterPart part = layout.coordinateOf(reg);
  layout::Coordinates base = layout.constantOf(reg);
  for (int axis = 0; axis < layout.rank(); ++axis) {
    const DimensionFacts &facts = pointer.dimensions[axis];
    int32_t constant = base[axis];
    base[axis] = startOfRun(layout, facts, axis, part);
    if (base[axis] == constant)
      continue;
    auto holder = layout.registerHolding(base);
    int64_t bytes = elementBytes * (constant - base[axis]);
    if (!holder || __builtin_mul_overflow(bytes, facts.stride, &bytes)) {
      base[axis] = constant;
      continue;
    }
    address.base = *holder;
    if (facts.strideSymbol)
      address.scaled.push_back({facts.strideSymbol, bytes});
    else
      address.bytes += bytes;
  }
  return address;
}

llvm::SmallVector<int, 16> equalRegisters(const TileLayout &layout,
                                          const optimizer::IndexFacts &facts) {
  auto equal = llvm::to_vector<16>(llvm::seq<int>(0, int(layout.registersPerThread())));
  if (llvm::all_of(facts.dimensions, [](const auto &dim) { return dim.constancy() == 1; }))
    return equal;
  for (int &reg : equal) {
    layout::RegisterPart part = layout.coordinateOf(reg);
    layout::Coordinates base = layout.constantOf(reg);
    for (int axis = 0; axis < layout.rank(); ++axis) {
      if (facts.dimensions[axis].constancy() == 1)
        continue;
      int32_t constant = base[axis];
      base[axis] = startOfRun(layout, facts.dimensions[axis], axis, part);
      if (auto holder = layout.registerHolding(base))
        reg = *holder;
      else
        base[axis] = constant;
    }
  }
  return equal;
}

} // namespace sectile::gpu
