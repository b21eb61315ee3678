#include "backends/gpu/ScanPlan.h"

#include "lang/layout/Builders.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <map>

namespace sectile::gpu {

using namespace layout;

size_t ScanPlan::runCount() const {
  size_t count = 0;
  for (const auto &runs : lines)
    count = std::max(count, runs.size());
  return count;
}

ScanPlan planScan(const TileLayout &layout, int axisNumber) {
  const LinearLayout &block = layout.block();
  ScanPlan plan;
  struct Holder {
    Dim dim = Dim::Block;
    unsigned bit = 0;
  };
  std::vector<std::optional<Holder>> holders(block.outBits(axis(axisNumber)));
  for (Dim dim : {Dim::Register, Dim::Lane, Dim::Warp})
    for (unsigned bit = 0; bit < block.inBits(dim); ++bit) {
      Coordinates basis = block.basis(dim, bit);
      int32_t step = basis[axisNumber];
      if (step == 0)
        continue;
      basis[axisNumber] = 0;
      bool isAlone = llvm::all_of(basis, [](int32_t other) { return other == 0; });
      if (!isAlone || !llvm::isPowerOf2_32(step) || holders[llvm::Log2_32(step)])
        return plan;
      holders[llvm::Log2_32(step)] = Holder{dim, bit};
    }

  // Registers, lanes, warps, registers: the stage never goes back.
  int stage = 0;
  unsigned runBits = 0;
  plan.placeOfWarp.resize(block.inBits(Dim::Warp), 0);
  for (const std::optional<Holder> &holder : holders) {
    if (!holder)
      return plan;
    int wanted = holder->dim == Dim::Lane ? 1 : holder->dim == Dim::Warp ? 2 : stage > 0 ? 3 : 0;
    if (wanted < stage)
      return plan;
    stage = wanted;
    if (stage == 0) {
      ++runBits;
    } else if (stage == 1) {
      plan.laneMasks.push_back(1u << holder->bit);
    } else if (stage == 2) {
      plan.placeOfWarp[holder->bit] = plan.warpCount;
      plan.warpCount *= 2;
    }
  }
  plan.isDirect = true;

  TileLayout slice = sliceOf(layout, axisNumber);
  std::map<Coordinates, int> lineOf;
  for (int reg = 0; reg < slice.registersPerThread(); ++reg)
    lineOf[slice.constantOf(reg)] = reg;
  // [line][run] coordinate -> register
  std::vector<std::map<int64_t, std::map<int64_t, int>>> sorted(slice.registersPerThread());
  for (int reg : layout.uniqueRegisters()) {
    if (layout.isPaddingRegister(reg))
      continue;
    Coordinates constant = layout.constantOf(reg);
    int64_t coordinate = constant[axisNumber];
    constant.erase(constant.begin() + axisNumber);
    int64_t run = plan.isWithinThread() ? 0 : coordinate >> runBits;
    sorted[lineOf.at(constant)][run][coordinate] = reg;
  }
  for (auto &runs : sorted) {
    auto &line = plan.lines.emplace_back();
    for (auto &[number, registers] : runs)
      line.emplace_back(llvm::make_second_range(registers));
  }
  return plan;
}

} // namespace sectile::gpu
