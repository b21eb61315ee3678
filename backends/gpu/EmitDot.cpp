#include "backends/gpu/DotPlan.h"
#include "backends/gpu/MatrixOperand.h"
#include "optimizer/gpu/DotLayouts.h"

#include <map>
#include <numeric>

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {
namespace {

using layout::Coordinates;
using layout::TileLayout;

unsigned bitsOf(Type element) {
  return element.getIntOrFloatBitWidth();
}

} // namespace

LogicalResult GpuEmitter::emitDot(DotOp op) {
  Type accElement = op.getType().getElementType(), inner = optimizer::computedIn(accElement);
  Registers acc = registers(op.getAcc());
  for (llvm::Value *&value : acc)
    value = castForDot(value, accElement, inner);
  acc = op.getInstruction() ? emitMatrixProduct(op, std::move(acc))
                            : emitMultiplyAdds(op, std::move(acc), inner);
  for (llvm::Value *&value : acc)
    value = castForDot(value, inner, accElement);
  setRegisters(op.getResult(), std::move(acc));
  return success(!hasFailed);
}

/// Between what registers hold and what is computed in.
llvm::Value *GpuEmitter::castForDot(llvm::Value *value, Type from, Type to) {
  if (from == to)
    return value;
  if (isa<IntegerType>(from))
    return builder.CreateSExtOrTrunc(value, registerType(to));
  if (auto narrow = backends::narrowFloatOf(from); narrow && bitsOf(from) == 8)
    return target.math().widen(builder, value, *narrow);
  if (auto narrow = backends::narrowFloatOf(to); narrow && bitsOf(to) == 8)
    return target.math().bitsOf(builder, value, *narrow);
  return builder.CreateFPCast(value, registerType(to));
}

/// A buffer's tile that one product in the same block takes, with nothing in between that writes to
/// buffers, is left to the product: it reads the tile step by step.
bool GpuEmitter::isReadByProduct(Value tile) {
  auto load = tile.getDefiningOp<BufferLoadOp>();
  if (!load || !load->hasOneUse())
    return false;
  auto dot = dyn_cast<DotOp>(*load->user_begin());
  if (!dot || dot->getBlock() != load->getBlock() || dot.getAcc() == tile || !dot.getInstruction())
    return false;
  for (Operation *op = load->getNextNode(); op != dot; op = op->getNextNode())
    if (op->getNumRegions() || isa<AsyncCopyOp, BufferStoreOp, BarrierOp>(op))
      return false;
  return true;
}

Registers GpuEmitter::emitMatrixProduct(DotOp op, Registers acc) {
  const layout::MatrixInstruction *instruction = instructionOf(op, target);
  if (!instruction)
    return fail(op, "the target has no such matrix instruction"), acc;
  if (instruction->isOfBuffers())
    return fail(op, "its instruction reads buffers, and the product was not started"), acc;
  int rank = op.getType().getRank();
  int64_t step = instruction->k;
  Fragments accFragments(layoutOf(op.getResult()), instruction->acc);
  unsigned bits = layout::bitsOf(instruction->elements.lhs);
  WordForm form{bits == 64 ? 1 : 32 / bits,
                instruction->elements.lhs == layout::MatrixElement::Tf32};
  MatrixOperand a(*this, op.getLhs(), Fragments(layoutOf(op.getLhs()), instruction->lhs), rank - 1,
                  step, form);
  MatrixOperand b(*this, op.getRhs(), Fragments(layoutOf(op.getRhs()), instruction->rhs), rank - 2,
                  step, form);
  // f32 is one tf32 number, or the sum of two for three products.
  bool isSplit = form.isTf32 && op.getPrecision() == InputPrecision::Tf32x3;

  int64_t steps = layoutOf(op.getLhs()).paddedExtent(rank - 1) / step;
  const int64_t together = target.matrixProducts()->stepsReadTogether(*instruction);
  const int64_t ahead = readsAhead(op) ? together : 0;
  // What is wanted first is read last: shared memory answers in order, and one wait is for all.
  auto prepare = [&](int64_t first) {
    bool reads = false;
    for (int64_t k = first + together - 1; k >= first; --k) {
      reads |= a.prepare(k);
      reads |= b.prepare(k);
    }
    return reads;
  };
  if (ahead)
    prepare(0);
  bool reads = false;
  // Depth outside: neighbouring instructions do not wait for each other's sum.
  for (int64_t k = 0; k < steps; ++k) {
    if (k % together == 0) {
      reads = prepare(k + ahead);
      // Else schedulers would sink the reads to the end of the products, where they are waited for.
      if (reads && ahead)
        target.scheduleBarrier(builder);
    }
    for (auto &[place, numbers] : accFragments.byPlace) {
      Fragments::Place aPlace = place, bPlace = place;
      aPlace.back() = k;
      bPlace[rank - 2] = k;
      if (!a.has(aPlace) || !b.has(bPlace))
        return fail(op, "the layouts of a matrix product do not meet"), acc;
      Registers sums;
      for (int number : numbers)
        sums.push_back(acc[number]);
      auto add = [&](llvm::ArrayRef<llvm::Value *> left, llvm::ArrayRef<llvm::Value *> right) {
        if (instruction->isExchanged)
          std::swap(left, right);
        auto made = target.matrixProducts()->multiply(builder, *instruction, left, right, sums);
        sums.assign(made.begin(), made.end());
      };
      if (isSplit) {
        add(a.remainders(aPlace), b.words(bPlace));
        add(a.words(aPlace), b.remainders(bPlace));
      }
      add(a.words(aPlace), b.words(bPlace));
      for (auto [number, sum] : llvm::zip(numbers, sums))
        acc[number] = sum;
    }
    // Else schedulers would read all of the operands at once, or each part where it is needed.
    if (reads && (k + 1) % together == 0)
      target.scheduleBarrier(builder);
  }
  return acc;
}

/// Every thread adds up its own elements, reading both operands from shared memory.
Registers GpuEmitter::emitMultiplyAdds(DotOp op, Registers acc, Type inner) {
  int64_t scratch = plan.scratchOf(op);
  auto lhsType = op.getLhs().getType(), rhsType = op.getRhs().getType();
  int rank = lhsType.getRank();
  int64_t rows = lhsType.getDimSize(rank - 2), depth = lhsType.getDimSize(rank - 1),
          columns = rhsType.getDimSize(rank - 1);
  const MultiplyAddOperands operands(op);
  int64_t rhsScratch = scratch + operands.lhsBytes;
  storeRowMajor(op.getLhs(), scratch, operands.lhsPitch);
  storeRowMajor(op.getRhs(), rhsScratch);
  barrier();

  // Where the rows and columns of this thread start; each is needed by many registers.
  const TileLayout &layout = layoutOf(op.getResult());
  auto clamped = [&](unsigned reg, int axis, int64_t extent) {
    llvm::Value *at = coordinate(layout, reg, axis);
    if (!layout.isPadded(axis))
      return at;
    return builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, at, builder.getInt32(extent - 1));
  };
  auto batchOf = [&](unsigned reg) -> llvm::Value * {
    llvm::Value *batch = builder.getInt32(0);
    for (int axis = 0; axis + 2 < rank; ++axis)
      batch =
          builder.CreateAdd(builder.CreateMul(batch, builder.getInt32(lhsType.getDimSize(axis))),
                            clamped(reg, axis, lhsType.getDimSize(axis)));
    return batch;
  };
  // Neighbouring columns of a thread are read at once, and so are neighbouring steps of its rows.
  Type lhsElement = lhsType.getElementType(), rhsElement = rhsType.getElementType();
  int64_t width = 1;
  if (!layout.isPadded(rank - 1)) {
    width = std::min<int64_t>(layout.contiguousRegisters(rank - 1), 16 / memoryBytes(rhsElement));
    width = std::gcd(std::max<int64_t>(width, 1), columns);
  }
  constexpr int64_t kMostInLoop = 256; // multiply-adds in the loop's body
  int64_t steps = operands.steps;
  while (steps > 1 && steps * int64_t(acc.size()) > kMostInLoop)
    steps /= 2;

  using Key = std::vector<int32_t>;
  auto keyOf = [&](unsigned reg, int leftOut) {
    Coordinates at = layout.constantOf(reg);
    Key key(at.begin(), at.end());
    key.erase(key.begin() + leftOut);
    return key;
  };
  // Of the first of the columns that are read together, and which of them it is.
  auto columnOf = [&](unsigned reg) {
    Key key = keyOf(reg, rank - 2);
    const int32_t within = key.back() % int32_t(width);
    key.back() -= within;
    return std::pair(key, within);
  };
  std::map<Key, llvm::Value *> rowStarts, columnStarts;
  for (unsigned reg = 0; reg < acc.size(); ++reg) {
    llvm::Value *&row = rowStarts[keyOf(reg, rank - 1)];
    if (!row) {
      llvm::Value *number = builder.CreateAdd(
          builder.CreateMul(batchOf(reg), builder.getInt32(rows)), clamped(reg, rank - 2, rows));
      row = builder.CreateGEP(memoryType(lhsElement), sharedAddress(scratch),
                              builder.CreateMul(number, builder.getInt32(operands.lhsPitch)));
    }
    auto [columnKey, within] = columnOf(reg);
    if (within != 0)
      continue;
    llvm::Value *&column = columnStarts[columnKey];
    if (!column) {
      llvm::Value *number =
          builder.CreateAdd(builder.CreateMul(batchOf(reg), builder.getInt32(depth * columns)),
                            clamped(reg, rank - 1, columns));
      column = builder.CreateGEP(memoryType(rhsElement), sharedAddress(rhsScratch), number);
    }
  }

  llvm::BasicBlock *before = builder.GetInsertBlock();
  llvm::Function *parent = before->getParent();
  auto *body = llvm::BasicBlock::Create(builder.getContext(), "dot", parent);
  auto *after = llvm::BasicBlock::Create(builder.getContext(), "dot.done", parent);
  builder.CreateBr(body);
  builder.SetInsertPoint(body);
  auto *k = builder.CreatePHI(builder.getInt32Ty(), 2);
  k->addIncoming(builder.getInt32(0), before);
  SmallVector<llvm::PHINode *, 8> sums;
  for (llvm::Value *value : acc) {
    sums.push_back(builder.CreatePHI(value->getType(), 2));
    sums.back()->addIncoming(value, before);
  }
  auto read = [&](llvm::Value *start, Type element, llvm::Value *number, int64_t count) {
    llvm::Type *memory = memoryType(element);
    llvm::Value *address = builder.CreateGEP(memory, start, number);
    llvm::Value *loaded =
        builder.CreateAlignedLoad(count == 1 ? memory : llvm::FixedVectorType::get(memory, count),
                                  address, llvm::Align(memoryBytes(element) * count));
    Registers values;
    for (int64_t one = 0; one < count; ++one)
      values.push_back(
          castForDot(fromMemory(elementOf(builder, loaded, one), element), element, inner));
    return values;
  };
  std::map<Key, Registers> rowValues;
  for (auto &[key, start] : rowStarts)
    rowValues[key] = read(start, lhsElement, k, steps);
  Registers next(sums.begin(), sums.end());
  for (int64_t step = 0; step < steps; ++step) {
    llvm::Value *row =
        builder.CreateMul(builder.CreateAdd(k, builder.getInt32(step)), builder.getInt32(columns));
    std::map<Key, Registers> columnValues;
    for (auto &[key, start] : columnStarts)
      columnValues[key] = read(start, rhsElement, row, width);
    for (unsigned reg = 0; reg < acc.size(); ++reg) {
      auto [columnKey, within] = columnOf(reg);
      llvm::Value *a = rowValues[keyOf(reg, rank - 1)][step], *b = columnValues[columnKey][within];
      next[reg] =
          isa<IntegerType>(inner)
              ? builder.CreateAdd(next[reg], builder.CreateMul(a, b))
              : builder.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, next[reg]});
    }
  }
  for (unsigned reg = 0; reg < acc.size(); ++reg)
    sums[reg]->addIncoming(next[reg], body);
  llvm::Value *following = builder.CreateAdd(k, builder.getInt32(steps));
  k->addIncoming(following, body);
  builder.CreateCondBr(builder.CreateICmpULT(following, builder.getInt32(depth)), body, after);
  builder.SetInsertPoint(after);
  return next;
}

/// Where a register's element lies in a row-major copy of the tile at `offset` of shared memory.
llvm::Value *GpuEmitter::rowMajorAddress(Value tile, int reg, int64_t offset, int64_t pitch) {
  llvm::Value *number = rowMajorNumber(layoutOf(tile), reg);
  const int64_t row = cast<RankedTensorType>(tile.getType()).getShape().back();
  if (pitch && pitch != row) {
    llvm::Value *rows = builder.CreateUDiv(number, builder.getInt32(row));
    number = builder.CreateAdd(number, builder.CreateMul(rows, builder.getInt32(pitch - row)));
  }
  return builder.CreateGEP(memoryType(elementTypeOf(tile.getType())), sharedAddress(offset),
                           number);
}

void GpuEmitter::storeRowMajor(Value tile, int64_t offset, int64_t pitch) {
  const TileLayout &layout = layoutOf(tile);
  Type element = elementTypeOf(tile.getType());
  const Registers &values = registers(tile);
  const unsigned bytes = memoryBytes(element);
  auto shape = cast<RankedTensorType>(tile.getType()).getShape();
  const int axis = int(shape.size()) - 1;
  int64_t width = 1;
  if (!layout.isPadded(axis)) {
    width = std::min<int64_t>(layout.contiguousRegisters(axis), std::max(1u, 16 / bytes));
    width = std::gcd(std::gcd(width, shape[axis]), pitch);
    while (width > 1 && offset % (width * bytes) != 0)
      width /= 2;
  }
  SmallVector<int, 16> unique = layout.uniqueRegisters();
  emitIf(isFirstCopy(layout), [&] {
    for (const layout::RegisterGroup &group : layout.accessGroups(axis, width)) {
      const int first = group.front();
      if (layout.isPaddingRegister(first) || !llvm::is_contained(unique, first))
        continue;
      emitIf(isInside(layout, first), [&] {
        SmallVector<llvm::Value *, 16> stored;
        for (int reg : group)
          stored.push_back(toMemory(values[reg], element));
        builder.CreateAlignedStore(vectorOf(builder, stored),
                                   rowMajorAddress(tile, first, offset, pitch),
                                   llvm::Align(bytes * width));
      });
    }
  });
}

void GpuEmitter::loadRowMajor(Value tile, int64_t offset) {
  const TileLayout &layout = layoutOf(tile);
  Type element = elementTypeOf(tile.getType());
  Registers values(layout.registersPerThread(), paddingOf(registerType(element)));
  for (int reg = 0; reg < layout.registersPerThread(); ++reg) {
    if (layout.isPaddingRegister(reg))
      continue;
    // Beyond the tile there may be no shared memory.
    llvm::Value *address = rowMajorAddress(tile, reg, offset);
    if (llvm::Value *inside = isInside(layout, reg))
      address = builder.CreateSelect(inside, address, sharedAddress(offset));
    values[reg] = fromMemory(
        builder.CreateAlignedLoad(memoryType(element), address, llvm::Align(memoryBytes(element))),
        element);
  }
  setRegisters(tile, std::move(values));
}

} // namespace sectile::gpu
