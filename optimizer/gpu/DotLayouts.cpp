#include "optimizer/gpu/DotLayouts.h"

#include "lang/layout/Builders.h"
#include "optimizer/gpu/AccessWidth.h"

#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <numeric>

using namespace sectile::tile;

namespace sectile::optimizer {

namespace {

using Counts = llvm::SmallVector<int64_t, 3>;

/// Calls `use` with every way to write `count` as a product over the axes, batches first, the best
/// balanced first.
template <class Use>
void forEachSplit(llvm::ArrayRef<int64_t> extents, int64_t count, Use use) {
  size_t rank = extents.size();
  Counts counts(rank, 1);
  for (size_t axis = 0; axis + 2 < rank; ++axis) {
    counts[axis] = std::min<int64_t>(count, llvm::PowerOf2Ceil(uint64_t(extents[axis])));
    count /= counts[axis];
  }
  llvm::SmallVector<int64_t, 8> splits;
  for (int64_t rows = 1; rows <= count; rows *= 2)
    splits.push_back(rows);
  // What is left for each of `count` should be square: it takes the fewest rows and columns then.
  auto perimeter = [&](int64_t rows) {
    return double(extents[rank - 2]) / rows + double(extents[rank - 1]) * rows / count;
  };
  llvm::sort(splits, [&](int64_t a, int64_t b) {
    return std::pair(perimeter(a), a) < std::pair(perimeter(b), b);
  });
  for (int64_t rows : splits) {
    counts[rank - 2] = rows;
    counts[rank - 1] = count / rows;
    use(counts);
  }
}

std::optional<layout::MatrixElement> elementOf(mlir::Type type, InputPrecision precision) {
  using enum layout::MatrixElement;
  if (type.isF16())
    return F16;
  if (type.isBF16())
    return BF16;
  if (type.isF32()) {
    bool mayRound = precision == InputPrecision::Tf32 || precision == InputPrecision::Tf32x3;
    return mayRound ? Tf32 : F32;
  }
  if (type.isF64())
    return F64;
  if (mlir::isa<mlir::Float8E4M3FNType>(type))
    return E4M3;
  if (mlir::isa<mlir::Float8E5M2Type>(type))
    return E5M2;
  if (mlir::isa<mlir::Float8E4M3FNUZType>(type))
    return E4M3Fnuz;
  if (mlir::isa<mlir::Float8E5M2FNUZType>(type))
    return E5M2Fnuz;
  if (type.isInteger(8))
    return I8;
  if (type.isInteger(32))
    return I32;
  return std::nullopt;
}

} // namespace

mlir::Type computedIn(mlir::Type acc) {
  if (acc.isF64())
    return acc;
  if (auto integer = mlir::dyn_cast<mlir::IntegerType>(acc))
    return integer.getWidth() < 32 ? mlir::IntegerType::get(acc.getContext(), 32) : acc;
  return mlir::Float32Type::get(acc.getContext());
}

bool isHeldAs(mlir::Type type, layout::MatrixElement element) {
  return elementOf(type, InputPrecision::Tf32) == element ||
         elementOf(type, InputPrecision::Ieee) == element;
}

std::optional<layout::MatrixElements> matrixElements(DotOp dot) {
  auto operand = [&](mlir::TypedValue<mlir::RankedTensorType> tile) {
    return elementOf(tile.getType().getElementType(), dot.getPrecision());
  };
  auto lhs = operand(dot.getLhs()), rhs = operand(dot.getRhs());
  // Sums are never rounded to tf32.
  auto acc = elementOf(computedIn(dot.getType().getElementType()), InputPrecision::Ieee);
  if (!lhs || !rhs || !acc)
    return std::nullopt;
  return layout::MatrixElements{*lhs, *rhs, *acc};
}

//===-- Instructions that read shared memory --------------------------------------------------===//

/// Whether groups of warps, so many along each axis, have whole instructions each, and there is
/// none wider of which they have.
static bool fills(const layout::MatrixInstruction &instruction, llvm::ArrayRef<int64_t> extents,
                  llvm::ArrayRef<int64_t> groups, const layout::MatrixInstructions &all) {
  auto hasWhole = [&](const layout::MatrixInstruction &one) {
    return extents[0] % (one.m * groups[0]) == 0 && extents[1] % (one.n * groups[1]) == 0 &&
           layout::canBeSpread(one, extents, groups);
  };
  return hasWhole(instruction) && llvm::none_of(all, [&](const layout::MatrixInstruction *other) {
           return other->isOfBuffers() && other->n > instruction.n && hasWhole(*other);
         });
}

mlir::TypedValue<mlir::RankedTensorType> operandOf(DotOp dot, layout::MatrixSide side) {
  return side == layout::MatrixSide::Lhs ? dot.getLhs() : dot.getRhs();
}

TurnedTile::TurnedTile(mlir::Value tile) : source(tile) {
  order.resize(shapeOf(tile.getType()).size());
  std::iota(order.begin(), order.end(), 0);
  while (mlir::Operation *maker = source.getDefiningOp()) {
    if (auto transposed = mlir::dyn_cast<TransposeOp>(maker))
      for (int &axis : order)
        axis = transposed.getOrder()[axis];
    else if (!mlir::isa<ConvertLayoutOp>(maker))
      break;
    source = maker->getOperand(0);
  }
}

/// What a tile is that is loaded, perhaps transposed: the load, and its axis that is the tile's
/// `axis`. A null load: it is something else.
static std::pair<LoadOp, int> loadOf(mlir::Value tile, int axis) {
  const TurnedTile turned(tile);
  return {turned.source.getDefiningOp<LoadOp>(), turned.order[axis]};
}

/// Bytes of shared memory that an operand takes as a whole.
static int64_t bytesOf(DotOp dot, layout::MatrixSide side) {
  auto type = operandOf(dot, side).getType();
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

bool isReadFromBuffer(const layout::MatrixInstruction &instruction, layout::MatrixSide side,
                      DotOp dot) {
  if (!instruction.places(side).sharedMemory)
    return false;
  if (!instruction.places(side).registers)
    return true;
  return loadOf(operandOf(dot, side), 0).first != nullptr;
}

/// Whether those operands fit that the instruction reads out of shared memory.
static bool fitsInBuffers(DotOp dot, const layout::MatrixInstruction &one, const GpuShape &shape) {
  int64_t bytes = 0;
  for (layout::MatrixSide side : {layout::MatrixSide::Lhs, layout::MatrixSide::Rhs})
    if (isReadFromBuffer(one, side, dot))
      bytes += bytesOf(dot, side);
  return bytes <= shape.sharedBytes;
}

/// Whether the operands fit that lie still in shared memory while the outermost loop around the
/// product runs, those of other products included, beside what one of them takes in a round.
static bool fitTogether(DotOp dot, const GpuShape &shape) {
  mlir::Operation *loop = nullptr;
  for (mlir::Operation *op = dot->getParentOp(); op; op = op->getParentOp())
    if (mlir::isa<mlir::scf::ForOp, mlir::scf::WhileOp>(op))
      loop = op;
  if (!loop)
    return true;
  int64_t still = 0, mostInRound = 0;
  llvm::SmallDenseSet<mlir::Value, 8> counted;
  loop->walk([&](DotOp product) {
    int64_t inRound = 0;
    for (layout::MatrixSide side : {layout::MatrixSide::Lhs, layout::MatrixSide::Rhs}) {
      mlir::Value source = TurnedTile(operandOf(product, side)).source;
      if (side == layout::MatrixSide::Lhs && !source.getDefiningOp<LoadOp>())
        continue;
      if (loop->isAncestor(source.getParentBlock()->getParentOp()))
        inRound += bytesOf(product, side);
      else if (counted.insert(source).second)
        still += bytesOf(product, side);
    }
    mostInRound = std::max(mostInRound, inRound);
  });
  return still + mostInRound <= shape.sharedBytes;
}

/// Whether an instruction that reads buffers adds with fewer digits than its sums have.
static bool losesDigits(const layout::MatrixInstruction &one) {
  return bitsOf(one.elements.lhs) == 8 && one.elements.lhs != layout::MatrixElement::I8;
}

bool holdsSums(mlir::RankedTensorType sums, int64_t times, const GpuShape &shape) {
  constexpr int64_t kBesideSums = 26, kMostSums = 200;
  const int64_t count = sums.getNumElements() / shape.threadCount() * times,
                words = std::min(shape.threadWords, shape.registerWords / shape.threadCount());
  return count <= std::min(kMostSums, words - kBesideSums);
}

std::optional<int64_t> sumsApart(DotOp dot, const layout::MatrixInstruction &instruction) {
  std::optional<uint32_t> most = dot.getMaxImpreciseAcc();
  if (!most || !losesDigits(instruction))
    return std::nullopt;
  const int64_t depth = shapeOf(dot.getLhs().getType()).back(),
                part = int64_t(*most) / instruction.k * instruction.k;
  if (part < depth)
    return part;
  // A product that is added to nothing is apart as it is.
  return matchPattern(dot.getAcc(), mlir::m_PosZeroFloat()) ? std::nullopt : std::optional(depth);
}

/// Returns how many tiles like its result a thread holds for a product of which so much of the
/// depth is added up apart: the accumulator and a part; of more than two parts one that ptxas has
/// not added yet, and the sum of parts where they are not added to the accumulator.
static int64_t timesHeld(DotOp dot, std::optional<int64_t> apart) {
  if (!apart)
    return 1;
  const int64_t depth = shapeOf(dot.getLhs().getType()).back();
  return 2 + (2 * *apart < depth) + (matchPattern(dot.getAcc(), mlir::m_PosZeroFloat()) ? 1 : 0);
}

/// Whether the product can be done by an instruction that reads buffers, one of `all`.
static bool canBeOfBuffers(DotOp dot, const layout::MatrixInstruction &one,
                           const layout::MatrixInstructions &all, const GpuShape &shape) {
  auto extents = shapeOf(dot.getType());
  if (extents.size() != 2 || shape.fixedOrders ||
      computedIn(dot.getType().getElementType()) != dot.getType().getElementType())
    return false;
  const std::optional<int64_t> apart = sumsApart(dot, one);
  if (losesDigits(one) && (shape.exactSums || apart == 0))
    return false;
  if (!fitsInBuffers(dot, one, shape))
    return false;
  if (!holdsSums(dot.getType(), timesHeld(dot, apart), shape))
    return false;
  // Three products take operands that are rounded and what that leaves.
  if (dot.getPrecision() == InputPrecision::Tf32x3 &&
      one.elements.lhs == layout::MatrixElement::Tf32)
    return false;
  bool hasSplit = false;
  forEachSplit(extents, shape.warpCount / one.warpCount(), [&](llvm::ArrayRef<int64_t> groups) {
    hasSplit |= fills(one, extents, groups, all);
  });
  return hasSplit;
}

/// Whether the instruction can have the operand in the order in which it is loaded. What is
/// computed stays in registers, if the instruction takes it there.
static bool takesOrder(const layout::MatrixInstruction &one, layout::MatrixSide side, DotOp dot,
                       const GpuShape &shape, const IndexAnalysis &analysis) {
  if (one.places(side).acrossDepth)
    return true;
  auto [load, axis] = loadOf(operandOf(dot, side), side == layout::MatrixSide::Lhs ? 1 : 0);
  if (!load)
    return one.places(side).registers;
  auto widthAlong = [&, load = load](int along) {
    return accessAlong(memoryOperandsOf(load), unsigned(along), mostElements(load, shape),
                       /*layout=*/nullptr, analysis, masksOf(load, shape))
        .width;
  };
  return widthAlong(axis) > widthAlong(1 - axis);
}

layout::MatrixInstructions wantedInstructions(DotOp dot, const GpuShape &shape,
                                              const IndexAnalysis &analysis) {
  layout::MatrixInstructions all = matrixInstructions(dot, shape), ofBuffers;
  for (const layout::MatrixInstruction *one : all)
    if (one->isOfBuffers() && takesOrder(*one, layout::MatrixSide::Lhs, dot, shape, analysis) &&
        takesOrder(*one, layout::MatrixSide::Rhs, dot, shape, analysis))
      ofBuffers.push_back(one);
  if (!ofBuffers.empty())
    return ofBuffers;
  llvm::erase_if(all, [](const layout::MatrixInstruction *one) { return one->isOfBuffers(); });
  return all;
}

//===-- Candidates ----------------------------------------------------------------------------===//

layout::MatrixInstructions matrixInstructions(DotOp dot, const GpuShape &shape) {
  if (!shape.matrixInstructions)
    return {};
  layout::MatrixInstructions found = shape.matrixInstructions(dot);
  llvm::erase_if(found, [&](const layout::MatrixInstruction *instruction) {
    // Instructions that end within the depth would add up padding.
    return instruction->laneCount() != shape.laneCount ||
           instruction->warpCount() > shape.warpCount ||
           dot.getLhs().getType().getShape().back() % instruction->k != 0;
  });
  const layout::MatrixInstructions all = found;
  const bool areOfBuffers =
      llvm::any_of(all, [](const layout::MatrixInstruction *one) { return one->isOfBuffers(); });
  const bool mayBe = areOfBuffers && fitTogether(dot, shape);
  llvm::erase_if(found, [&](const layout::MatrixInstruction *one) {
    return one->isOfBuffers() && !(mayBe && canBeOfBuffers(dot, *one, all, shape));
  });
  if (shape.fixedOrders && found.size() > 1)
    found.truncate(1);
  return found;
}

LayoutList matrixAccumulators(DotOp dot, const layout::MatrixInstructions &instructions,
                              const GpuShape &shape) {
  LayoutList layouts;
  auto extents = shapeOf(dot.getType());
  for (const layout::MatrixInstruction *instruction : instructions)
    forEachSplit(
        extents, shape.warpCount / instruction->warpCount(), [&](llvm::ArrayRef<int64_t> groups) {
          if (instruction->isOfBuffers() && !fills(*instruction, extents, groups, instructions))
            return;
          layouts.push_back(layout::accumulatorOf(*instruction, extents, groups));
        });
  return layouts;
}

LayoutList multiplyAddAccumulators(DotOp dot, const GpuShape &shape) {
  LayoutList layouts;
  auto extents = shapeOf(dot.getType());
  size_t rank = extents.size();
  int64_t count = 1;
  for (int64_t extent : extents)
    count *= extent;
  llvm::SmallVector<int, 3> order;
  for (int axis = rank; axis-- > 0;)
    order.push_back(axis);
  // A thread's rectangle: k rows and k columns are read for k * k products.
  for (int64_t size : {4, 2, 1}) {
    if (size > 1 && size * size * shape.threadCount() > count)
      continue;
    Counts perThread(rank, 1), lanes(rank, 1);
    perThread[rank - 2] = perThread[rank - 1] = size;
    lanes[rank - 1] = std::min<int64_t>(8, llvm::PowerOf2Ceil(uint64_t(extents[rank - 1])));
    lanes[rank - 2] = shape.laneCount / lanes[rank - 1];
    forEachSplit(extents, shape.warpCount, [&](llvm::ArrayRef<int64_t> warps) {
      layouts.push_back(layout::blocked(extents, perThread, lanes, warps, order));
    });
  }
  return layouts;
}

std::optional<SpreadInstruction> instructionOf(const layout::MatrixInstructions &instructions,
                                               const layout::TileLayout &accumulator) {
  for (const layout::MatrixInstruction *instruction : instructions)
    if (auto groups = layout::groupsOf(*instruction, accumulator))
      return SpreadInstruction{instruction, *groups};
  return std::nullopt;
}

} // namespace sectile::optimizer
