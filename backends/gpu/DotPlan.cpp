#include "backends/gpu/DotPlan.h"

#include "lang/layout/MmaLayouts.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

using layout::TileLayout;

static unsigned bitsOf(Type element) {
  return element.getIntOrFloatBitWidth();
}

/// Warps per axis of an accumulator.
static SmallVector<int64_t, 3> warpsOf(const TileLayout &acc) {
  SmallVector<int64_t, 3> warps;
  for (int axis = 0; axis < acc.rank(); ++axis)
    warps.push_back(int64_t(1) << llvm::popcount(acc.contributionMask(layout::Dim::Warp, axis)));
  return warps;
}

Type computedIn(Type acc) {
  if (acc.isF64())
    return acc;
  if (auto integer = dyn_cast<IntegerType>(acc))
    return integer.getWidth() < 32 ? IntegerType::get(acc.getContext(), 32) : Type(acc);
  return Float32Type::get(acc.getContext());
}

int64_t operandBytes(RankedTensorType type) {
  int64_t bytes = std::max(1u, bitsOf(type.getElementType()) / 8);
  return llvm::alignTo(type.getNumElements() * bytes, 16);
}

bool hasMatrixInstructions(DotOp op, const GpuTarget &target) {
  Type lhs = op.getLhs().getType().getElementType(), rhs = op.getRhs().getType().getElementType();
  const MatrixProducts *products = target.matrixProducts();
  if (!products || (lhs.isF32() && !target.tf32Rounding()))
    return false;
  unsigned bits = bitsOf(lhs);
  // Fragments that end within the depth would add up padding.
  return bits == bitsOf(rhs) && bits >= 8 &&
         op.getLhs().getType().getShape().back() % layout::mmaShape(bits).k == 0 &&
         products->has(lhs, rhs, computedIn(op.getType().getElementType()), op.getPrecision());
}

bool usesMatrixInstructions(DotOp op, const GpuTarget &target) {
  const TileLayout *a = layoutOf(op.getLhs().getType()), *b = layoutOf(op.getRhs().getType()),
                   *acc = layoutOf(op.getType());
  if (!a || !b || !acc || !hasMatrixInstructions(op, target))
    return false;
  unsigned bits = bitsOf(op.getLhs().getType().getElementType());
  auto warps = warpsOf(*acc);
  return *acc == layout::mmaAccumulator(acc->shape(), warps, bits) &&
         *a == layout::mmaOperand(layout::MmaOperand::A, a->shape(), warps, bits) &&
         *b == layout::mmaOperand(layout::MmaOperand::B, b->shape(), warps, bits);
}

int64_t dotScratchBytes(DotOp op, const GpuTarget &target) {
  if (usesMatrixInstructions(op, target))
    return 0;
  return operandBytes(op.getLhs().getType()) + operandBytes(op.getRhs().getType());
}

} // namespace sectile::gpu
