// Scans. Along the last dimension: log2(lanes) shifted combinations in a vector, and a carry from
// vector to vector. Along another: one combination per row, vectors of the last dimension side by
// side.
#include "backends/cpu/KernelEmitter.h"
#include "backends/cpu/NestEmitter.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::cpu {
namespace {

/// Truth values are bytes in buffers.
bool isTruth(Value value) {
  return elementTypeOf(value.getType()).isInteger(1);
}

struct ScanEmitter {
  KernelEmitter &kernel;
  ScanOp op;
  SmallVector<TileBuffer *> sources, results;
  llvm::IRBuilder<> &builder = kernel.builder;
  bool isReverse = op.getReverse();
  unsigned count = op.getNumResults();

  llvm::Value *offsetOf(TileBuffer *buffer, ArrayRef<llvm::Value *> at) {
    llvm::Value *offset = kernel.index(0);
    for (auto [position, stride] : llvm::zip(at, buffer->strides))
      offset = builder.CreateAdd(offset, builder.CreateMul(position, kernel.index(stride)));
    return builder.CreateGEP(buffer->element, buffer->base, offset);
  }
  llvm::Align alignOf(TileBuffer *buffer) {
    return llvm::Align(buffer->element->isPointerTy() ? 8
                                                      : buffer->element->getScalarSizeInBits() / 8);
  }
  SmallVector<llvm::Value *, 2> read(ArrayRef<llvm::Value *> at, unsigned lanes) {
    SmallVector<llvm::Value *, 2> values;
    for (auto [buffer, value] : llvm::zip(sources, op.getSrcs())) {
      auto *type = llvm::FixedVectorType::get(buffer->element, lanes);
      llvm::Value *loaded = builder.CreateAlignedLoad(type, offsetOf(buffer, at), alignOf(buffer));
      if (isTruth(value))
        loaded = builder.CreateICmpNE(loaded, llvm::Constant::getNullValue(type));
      values.push_back(loaded);
    }
    return values;
  }
  void write(ArrayRef<llvm::Value *> at, ArrayRef<llvm::Value *> values, unsigned lanes) {
    for (auto [buffer, result, value] : llvm::zip(results, op.getResults(), values)) {
      auto *type = llvm::FixedVectorType::get(buffer->element, lanes);
      llvm::Value *stored = isTruth(result) ? builder.CreateZExt(value, type) : value;
      builder.CreateAlignedStore(stored, offsetOf(buffer, at), alignOf(buffer));
    }
  }
  /// earlier . later
  SmallVector<llvm::Value *, 2> combine(ArrayRef<llvm::Value *> earlier,
                                        ArrayRef<llvm::Value *> later) {
    SmallVector<llvm::Value *, 4> arguments(earlier.begin(), earlier.end());
    arguments.append(later.begin(), later.end());
    return kernel.emitCombiner(op.getCombiner().front(), arguments);
  }

  void emit() {
    auto shape = shapeOf(op.getSrcs().front().getType());
    unsigned axis = op.getAxis(), last = shape.size() - 1;
    SmallVector<unsigned> outer;
    for (unsigned dim = 0; dim < last; ++dim)
      if (dim != axis)
        outer.push_back(dim);
    SmallVector<llvm::Value *, 4> at(shape.size(), kernel.index(0));
    SmallVector<EmittedLoop> loops;
    for (unsigned dim : outer) {
      loops.push_back(
          kernel.beginLoop(kernel.index(0), kernel.index(shape[dim]), kernel.index(1), {}, false));
      at[dim] = loops.back().induction;
    }
    unsigned lanes = kernel.lanesFor(shape[last]);
    if (axis == last)
      alongLanes(at, shape[last], last, lanes);
    else
      acrossLanes(at, shape, axis, last, lanes);
    for (EmittedLoop &loop : llvm::reverse(loops))
      kernel.endLoop(loop, {});
  }

  void acrossLanes(SmallVector<llvm::Value *, 4> at, ArrayRef<int64_t> shape, unsigned axis,
                   unsigned last, unsigned lanes) {
    EmittedLoop columns = kernel.beginLoop(kernel.index(0), kernel.index(shape[last]),
                                           kernel.index(lanes), {}, false);
    at[last] = columns.induction;
    int64_t rows = shape[axis];
    at[axis] = kernel.index(isReverse ? rows - 1 : 0);
    auto first = read(at, lanes);
    write(at, first, lanes);
    if (rows > 1) {
      EmittedLoop loop =
          kernel.beginLoop(kernel.index(1), kernel.index(rows), kernel.index(1), first, false);
      at[axis] = isReverse ? builder.CreateSub(kernel.index(rows - 1), loop.induction)
                           : (llvm::Value *)loop.induction;
      SmallVector<llvm::Value *, 2> carried(loop.carried.begin(), loop.carried.end());
      auto next = combine(carried, read(at, lanes));
      write(at, next, lanes);
      kernel.endLoop(loop, next);
    }
    kernel.endLoop(columns, {});
  }

  /// The scan of one vector; lanes from `valid` on hold nothing.
  SmallVector<llvm::Value *, 2> scanVector(SmallVector<llvm::Value *, 2> values, unsigned lanes,
                                           unsigned valid) {
    for (unsigned distance = 1; distance < lanes; distance *= 2) {
      SmallVector<int, 16> order;
      SmallVector<llvm::Constant *, 16> has;
      for (unsigned lane = 0; lane < lanes; ++lane) {
        int partner = isReverse ? int(lane + distance) : int(lane) - int(distance);
        bool exists = partner >= 0 && partner < int(isReverse ? valid : lanes);
        order.push_back(exists ? partner : int(lane));
        has.push_back(builder.getInt1(exists));
      }
      SmallVector<llvm::Value *, 2> shifted;
      for (llvm::Value *value : values)
        shifted.push_back(builder.CreateShuffleVector(value, order));
      auto combined = combine(shifted, values);
      for (auto [value, next] : llvm::zip(values, combined))
        value = builder.CreateSelect(llvm::ConstantVector::get(has), next, value);
    }
    return values;
  }

  void alongLanes(SmallVector<llvm::Value *, 4> at, int64_t extent, unsigned last, unsigned lanes) {
    int64_t vectors = (extent + lanes - 1) / lanes;
    unsigned partial = extent % lanes;
    auto carryOf = [&](ArrayRef<llvm::Value *> values) {
      SmallVector<llvm::Value *, 2> carry;
      for (llvm::Value *value : values)
        carry.push_back(builder.CreateVectorSplat(
            lanes, builder.CreateExtractElement(value, uint64_t(isReverse ? 0 : lanes - 1))));
      return carry;
    };
    // The first vector has no carry; in reverse it is the one that may be partial.
    at[last] = kernel.index(isReverse ? (vectors - 1) * lanes : 0);
    auto values = scanVector(read(at, lanes), lanes, partial ? partial : lanes);
    write(at, values, lanes);
    if (vectors == 1)
      return;
    EmittedLoop loop = kernel.beginLoop(kernel.index(1), kernel.index(vectors), kernel.index(1),
                                        carryOf(values), false);
    llvm::Value *number = isReverse ? builder.CreateSub(kernel.index(vectors - 1), loop.induction)
                                    : (llvm::Value *)loop.induction;
    at[last] = builder.CreateMul(number, kernel.index(lanes));
    SmallVector<llvm::Value *, 2> carry(loop.carried.begin(), loop.carried.end());
    auto next = combine(carry, scanVector(read(at, lanes), lanes, lanes));
    write(at, next, lanes);
    kernel.endLoop(loop, carryOf(next));
  }
};

} // namespace

LogicalResult KernelEmitter::emitScan(ScanOp op) {
  ScanEmitter emitter{*this, op, {}, {}};
  for (Value result : op.getResults()) {
    setBuffer(result, allocateFor(result));
    emitter.results.push_back(buffer(result));
  }
  int64_t frameAtEntry = frameBytes;
  for (Value source : op.getSrcs()) {
    llvm::Type *element = registerType(elementTypeOf(source.getType()));
    emitter.sources.push_back(
        operandBuffer(source, element->isIntegerTy(1) ? builder.getInt8Ty() : element));
  }
  emitter.emit();
  frameBytes = frameAtEntry;
  return success(!hasFailed);
}

} // namespace sectile::cpu
