// Products of several warps that read shared memory themselves: which bytes each instruction reads,
// and the wait for its sums.
#include "backends/gpu/DotPlan.h"
#include "backends/gpu/MatrixOperand.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

using layout::Dim;
using layout::MatrixSide;

namespace {

/// An operand in shared memory, in pieces of one instruction.
class OperandInBuffer {
public:
  OperandInBuffer(GpuEmitter &emitter, Value buffer, MatrixSide side,
                  const layout::MatrixInstruction &instruction,
                  const layout::TileLayout &accumulator)
      : emitter(emitter), shared(cast<BufferType>(buffer.getType()).getLayout().getLayout()),
        bytes(emitter.memoryBytes(cast<BufferType>(buffer.getType()).getElement())),
        depthAxis(side == MatrixSide::Lhs ? 1 : 0),
        outer(side == MatrixSide::Lhs ? instruction.m : instruction.n), depth(instruction.k),
        found(layout::bufferOperandOf(shared, depthAxis, unsigned(bytes * 8))) {
    if (!found)
      return;
    start = emitter.bufferAddress(buffer);
    // Groups of warps have rows, or columns, of their own.
    unsigned ownBits = llvm::Log2_64(uint64_t(instruction.warpCount()));
    for (unsigned bit = ownBits; bit < accumulator.block().inBits(Dim::Warp); ++bit)
      if (int32_t step = accumulator.block().basis(Dim::Warp, bit, layout::axis(1 - depthAxis)))
        addForWarps(bit, offsetOf(step, 0));
  }

  bool isReadable() const { return found.has_value(); }

  BufferProducts::Operand at(int64_t outerNumber, int64_t step) {
    return {start, offsetOf(outerNumber * outer, step * depth), *found, {}};
  }

private:
  int64_t offsetOf(int64_t outerIndex, int64_t depthIndex) const {
    layout::Coordinates at(2, 0);
    at[depthAxis] = int32_t(depthIndex);
    at[1 - depthAxis] = int32_t(outerIndex);
    return shared.offsetOf(at) * bytes;
  }

  void addForWarps(unsigned bit, int64_t offset) {
    llvm::IRBuilderBase &builder = emitter.builder;
    llvm::Value *isSet =
        builder.CreateAnd(builder.CreateLShr(emitter.uniformWarpIndex(), builder.getInt32(bit)), 1);
    start = builder.CreateGEP(builder.getInt8Ty(), start,
                              builder.CreateMul(isSet, builder.getInt32(uint32_t(offset))));
  }

  GpuEmitter &emitter;
  const layout::SharedLayout &shared;
  const int64_t bytes;
  const int depthAxis;
  const int64_t outer, depth;
  std::optional<layout::BufferOperand> found;
  llvm::Value *start = nullptr;
};

} // namespace

/// Whether all elements are zeros, none of them a negative one.
static bool isZero(Value tile) {
  return matchPattern(tile, m_Zero()) || matchPattern(tile, m_PosZeroFloat());
}

LogicalResult GpuEmitter::emitDotAsync(DotAsyncOp op) {
  const BufferProducts *products = target.bufferProducts();
  const layout::MatrixInstruction *instruction = instructionOf(op, target);
  if (!products || !instruction)
    return fail(op, "the target has no such matrix instruction"), failure();
  const layout::TileLayout &accLayout = layoutOf(op.getResult());
  const auto [from, to] = op.depthRange();
  const int64_t firstStep = from / instruction->k, steps = (to - from) / instruction->k;

  std::optional<OperandInBuffer> aBuffer;
  std::optional<MatrixOperand> aRegisters;
  if (isa<BufferType>(op.getLhs().getType())) {
    aBuffer.emplace(*this, op.getLhs(), MatrixSide::Lhs, *instruction, accLayout);
  } else {
    const layout::MatrixElement element = instruction->elements.lhs;
    WordForm form{32 / layout::bitsOf(element), element == layout::MatrixElement::Tf32};
    aRegisters.emplace(*this, op.getLhs(), Fragments(layoutOf(op.getLhs()), instruction->lhs),
                       /*depthAxis=*/1, instruction->k, form);
  }
  OperandInBuffer b(*this, op.getRhs(), MatrixSide::Rhs, *instruction, accLayout);
  if ((aBuffer && !aBuffer->isReadable()) || !b.isReadable())
    return fail(op, "its instruction cannot read a buffer of that layout"), failure();

  // What comes into the products in registers is made before the first of them. Sums that another
  // product is adding to, or that a loop carries, are where products want them.
  Registers acc = registers(op.getAcc());
  Registers &kept = keptForProducts[op.getResult()];
  Fragments fragments(accLayout, instruction->acc, instruction->accRepeats);
  if (aRegisters)
    for (auto &[place, numbers] : fragments.byPlace)
      for (int64_t k = 0; k < steps && place[1] == fragments.byPlace.begin()->first[1]; ++k) {
        Fragments::Place here{place[0], int32_t(firstStep + k)};
        if (!aRegisters->has(here))
          return fail(op, "the layouts of a matrix product do not meet"), failure();
        kept.append(aRegisters->words(here));
      }
  Operation *made = op.getAcc().getDefiningOp();
  const bool isFresh = isZero(op.getAcc());
  const bool isMadeBefore = made && !isFresh && !isa<DotAsyncOp, DotWaitOp>(made);
  Registers entering(kept);
  if (isMadeBefore)
    entering.append(acc);
  auto entered = products->begin(builder, entering);
  kept.assign(entered.begin(), entered.begin() + ptrdiff_t(kept.size()));
  if (isMadeBefore)
    acc.assign(entered.end() - ptrdiff_t(acc.size()), entered.end());

  const size_t wordsOfStep = aRegisters ? instruction->lhs.inSize(Dim::Register) *
                                              layout::bitsOf(instruction->elements.lhs) / 32
                                        : 0;
  std::map<int32_t, size_t> firstWords; // by row of instructions
  for (auto &[place, numbers] : fragments.byPlace)
    firstWords.try_emplace(place[0], firstWords.size() * size_t(steps) * wordsOfStep);
  for (auto &[place, numbers] : fragments.byPlace) {
    Registers sums;
    for (int number : numbers)
      sums.push_back(acc[number]);
    for (int64_t k = 0; k < steps; ++k) {
      BufferProducts::Operand a;
      if (aBuffer)
        a = aBuffer->at(place[0], firstStep + k);
      else
        a.words =
            llvm::ArrayRef(kept).slice(firstWords[place[0]] + size_t(k) * wordsOfStep, wordsOfStep);
      auto made = products->start(builder, *instruction, a, b.at(place[1], firstStep + k), sums,
                                  isFresh && k == 0);
      sums.assign(made.begin(), made.end());
    }
    for (auto [number, sum] : llvm::zip(numbers, sums))
      acc[number] = sum;
  }
  products->commit(builder);
  setRegisters(op.getResult(), std::move(acc));
  return success(!hasFailed);
}

LogicalResult GpuEmitter::emitDotWait(DotWaitOp op) {
  const BufferProducts *products = target.bufferProducts();
  if (!products)
    return fail(op, "this GPU has no products to wait for"), failure();
  // The registers that the products read are kept until here, too.
  SmallVector<llvm::Value *, 8> values;
  for (Value value : op.getValues())
    values.append(registers(value));
  for (Value value : op.getValues())
    values.append(keptForProducts.lookup(value));
  auto waited = products->wait(builder, op.getPending(), values, op.getPinned());
  ArrayRef<llvm::Value *> rest = waited;
  for (auto [value, result] : llvm::zip(op.getValues(), op.getResults())) {
    size_t count = registers(value).size();
    setRegisters(result, Registers(rest.take_front(count)));
    rest = rest.drop_front(count);
  }
  return success();
}

LogicalResult GpuEmitter::emitProxyFence(ProxyFenceOp op) {
  if (const TensorCopies *copies = target.tensorCopies())
    copies->fence(builder, op.getGlobal());
  else if (const BufferProducts *products = target.bufferProducts())
    products->fence(builder);
  else
    return fail(op, "nothing on this GPU reads or writes shared memory by itself"), failure();
  return success();
}

} // namespace sectile::gpu
