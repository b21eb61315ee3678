#include "backends/cpu/NestEmitter.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::cpu {

NestEmitter::NestEmitter(KernelEmitter &kernel, const Nest &nest)
    : kernel(kernel), builder(kernel.builder), nest(nest) {
  for (const Root &root : nest.roots)
    if (root.kind == Root::Kind::Keep && !root.target)
      keptHere.insert(root.value);
  current.resize(nest.shape.size());
}

void NestEmitter::emit() {
  // Buffers are allocated outside every loop.
  for (const Root &root : nest.roots)
    if (root.kind == Root::Kind::Keep && !root.target)
      kernel.setBuffer(root.value, kernel.allocateFor(root.value));
  anchors.push_back(&*builder.GetInsertPoint());
  chooseVectorDimension();
  prepareReductions();
  emitOuterLoops(0);
}

//===-- Order of the loops --------------------------------------------------------------------===//

/// How many accesses of the nest are contiguous along the dimension (weighted), for choosing it.
int64_t NestEmitter::contiguityScore(unsigned dimension) {
  unsigned savedLanes = lanes;
  lanes = kernel.lanesFor(nest.shape[dimension]);
  Coordinate at(nest.shape.size());
  for (auto [dim, index] : llvm::enumerate(at)) {
    index.base = kernel.index(0);
    index.step = dim == dimension;
    index.divisor = 1 << 16;
  }
  int64_t score = 0;
  llvm::DenseSet<Value> visited;
  auto visit = [&](auto &self, Value value, const Coordinate &where) -> void {
    Operation *op = value.getDefiningOp();
    if (!op || !isa<RankedTensorType>(value.getType()) || !visited.insert(value).second)
      return;
    if (auto *buffer = kernel.buffer(value); buffer && !keptHere.contains(value)) {
      int64_t step = 0;
      for (auto [index, stride] : llvm::zip(where, buffer->strides))
        step += index.step * stride;
      score += step == 1 ? 2 : step == 0 ? 1 : 0;
      return;
    }
    if (auto load = dyn_cast<LoadOp>(op)) {
      bool isLocal = false;
      auto step = laneStep(load.getPtr(), where, isLocal);
      score += step == 1 ? 4 : step == 0 ? 1 : 0;
      return;
    }
    if (isa<BroadcastOp, ExpandDimsOp, TransposeOp>(op)) {
      self(self, op->getOperand(0), sourceCoordinate(op, 0, where));
      return;
    }
    if (KernelEmitter::isElementwise(op))
      for (Value operand : op->getOperands())
        self(self, operand, where);
  };
  for (const Root &root : nest.roots) {
    if (root.kind == Root::Kind::Store) {
      bool isLocal = false;
      auto step = laneStep(root.op->getOperand(0), at, isLocal);
      score += step == 1 ? 4 : 0;
    }
    if (root.kind == Root::Kind::Keep)
      score += dimension + 1 == nest.shape.size() ? 3 : 0;
    if (root.op)
      for (Value operand : root.op->getOperands())
        visit(visit, operand, at);
    else
      visit(visit, root.value, at);
  }
  lanes = savedLanes;
  return score;
}

void NestEmitter::chooseVectorDimension() {
  unsigned rank = nest.shape.size();
  vectorDimension = rank - 1;
  if (rank > 1 && !nest.isScalar) {
    int64_t best = -1;
    for (unsigned dim = rank; dim-- > 0;) {
      if (nest.shape[dim] == 1)
        continue;
      // A short dimension leaves lanes idle.
      int64_t score =
          4 * contiguityScore(dim) * std::min<int64_t>(nest.shape[dim], kernel.lanesFor(1 << 20));
      if (score > best) {
        best = score;
        vectorDimension = dim;
      }
    }
  }
  lanes = nest.isScalar ? 1 : kernel.lanesFor(nest.shape[vectorDimension]);
  for (unsigned dim = 0; dim < rank; ++dim) {
    if (dim == vectorDimension)
      continue;
    if (int(dim) == nest.reduceAxis)
      innerDimension = dim;
    else
      outerDimensions.push_back(dim);
  }
}

void NestEmitter::enterLoop(EmittedLoop &loop) {
  anchors.back() = loop.preheader->getTerminator();
  anchors.push_back(loop.bodyEnd);
  levels[loop.induction] = anchors.size() - 1;
  for (llvm::PHINode *phi : loop.carried)
    levels[phi] = anchors.size() - 1;
}

void NestEmitter::leaveLoop(EmittedLoop &loop) {
  anchors.pop_back();
  anchors.back() = loop.afterLoop;
}

void NestEmitter::emitOuterLoops(unsigned depth) {
  if (depth == outerDimensions.size())
    return emitVectorLoop();
  unsigned dim = outerDimensions[depth];
  if (nest.shape[dim] == 1) {
    current[dim] = {kernel.index(0), 0, nullptr, 1 << 16};
    return emitOuterLoops(depth + 1);
  }
  EmittedLoop loop = kernel.beginLoop(kernel.index(0), kernel.index(nest.shape[dim]),
                                      kernel.index(1), {}, /*mayBeEmpty=*/false);
  enterLoop(loop);
  current[dim] = {loop.induction};
  emitOuterLoops(depth + 1);
  kernel.endLoop(loop, {});
  leaveLoop(loop);
}

//===-- The vector loop -----------------------------------------------------------------------===//

int NestEmitter::bodyCost() {
  RecomputeCosts costs;
  int cost = 0;
  for (const Root &root : nest.roots) {
    if (!root.op)
      cost += costs.of(root.value).instructions;
    else
      for (Value operand : root.op->getOperands())
        if (isa<FloatType>(elementTypeOf(operand.getType())))
          cost += costs.of(operand).instructions;
  }
  return cost;
}

/// Independent copies of the body per iteration: they hide the latency of reductions and loads; a
/// body that is long hides it by itself.
unsigned NestEmitter::unrollFor(int64_t fullVectors, bool isDynamic) {
  if (nest.isScalar || lanes == 1)
    return 1;
  if (!reductions.empty() && !hasIdentities)
    return 1;
  int cost = bodyCost();
  unsigned most = cost > 60 ? 1 : cost > 12 || reductions.empty() ? 2 : 4;
  if (most > fullVectors)
    most = std::max<int64_t>(1, fullVectors);
  if (!isDynamic)
    for (unsigned copies = most; copies > 1; --copies)
      if (fullVectors % copies == 0)
        return copies;
  return most;
}

void NestEmitter::emitVectorLoop() {
  int64_t extent = nest.shape[vectorDimension], fullVectors = extent / lanes;
  bool hasPartial = extent % lanes != 0;
  current[vectorDimension] = {kernel.index(0), lanes > 1 ? 1 : 0, nullptr, 1 << 16};
  llvm::Value *bound = fullVectors && !kernel.options.checkBounds ? findPrefixBound() : nullptr;
  unsigned copies = unrollFor(fullVectors, bound != nullptr);
  accumulators = initialAccumulators(copies);
  noteNest(copies, bound != nullptr);

  int64_t width = int64_t(copies) * lanes;
  if (bound) {
    llvm::Value *mainEnd = emitAt(anchors.size() - 1, [&] {
      if (width & (width - 1))
        return builder.CreateSub(bound, builder.CreateURem(bound, kernel.index(width)), "main.end");
      return builder.CreateAnd(bound, kernel.index(-width), "main.end");
    });
    emitRange(kernel.index(0), mainEnd, copies, false, true, false, Masks::Hold);
    llvm::Value *padding = hasPartial ? nullptr : findPaddingStart();
    llvm::Value *edgeEnd = padding ? padding : kernel.index(extent);
    emitRange(mainEnd, edgeEnd, 1, false, true, hasPartial, Masks::Evaluated);
    if (padding)
      emitPadding(padding);
  } else {
    int64_t mainVectors = fullVectors / copies * copies, mainEnd = mainVectors * lanes;
    if (mainVectors)
      emitRange(kernel.index(0), kernel.index(mainEnd), copies, mainVectors == copies, false, false,
                Masks::Evaluated);
    if (int64_t rest = fullVectors - mainVectors)
      emitRange(kernel.index(mainEnd), kernel.index(fullVectors * lanes), rest, true, false, false,
                Masks::Evaluated);
    if (hasPartial)
      emitRange(kernel.index(fullVectors * lanes), kernel.index(extent), 1, true, false, true,
                Masks::Evaluated);
  }
  Coordinate outer = current;
  finishReductions(outer);
}

/// The vectors from `start` to `end`, `copies` at a time.
void NestEmitter::emitRange(llvm::Value *start, llvm::Value *end, unsigned copies, bool isSingle,
                            bool mayBeEmpty, bool needsLaneMask, Masks masks) {
  int64_t width = int64_t(copies) * lanes;
  auto emitBody = [&](llvm::Value *base) {
    body = {nullptr, masks};
    if (needsLaneMask && lanes > 1) {
      auto *type = vectorOf(builder.getInt32Ty());
      llvm::SmallVector<llvm::Constant *, 16> numbers;
      for (unsigned lane = 0; lane < lanes; ++lane)
        numbers.push_back(builder.getInt32(lane));
      body.laneMask = emitAt(levelOf(base), [&]() -> llvm::Value * {
        llvm::Value *left =
            builder.CreateTrunc(builder.CreateSub(kernel.index(nest.shape[vectorDimension]), base),
                                builder.getInt32Ty());
        return builder.CreateICmpSLT(llvm::ConstantVector::get(numbers),
                                     builder.CreateVectorSplat(type->getElementCount(), left),
                                     "lanes");
      });
    }
    emitCopies(base, lanes, copies);
    body = {};
  };
  if (isSingle)
    return emitBody(start);

  // With the reduced dimension inside, accumulators start anew for every vector.
  bool carriesAccumulators = !innerDimension;
  auto initial = carriesAccumulators ? accumulators : llvm::SmallVector<llvm::Value *, 8>();
  EmittedLoop loop = kernel.beginLoop(start, end, kernel.index(width), initial, mayBeEmpty);
  enterLoop(loop);
  if (carriesAccumulators)
    accumulators.assign(loop.carried.begin(), loop.carried.end());
  emitBody(loop.induction);
  auto results = kernel.endLoop(loop, carriesAccumulators ? ArrayRef<llvm::Value *>(accumulators)
                                                          : ArrayRef<llvm::Value *>());
  leaveLoop(loop);
  if (carriesAccumulators)
    accumulators.assign(results.begin(), results.end());
}

void NestEmitter::emitCopies(llvm::Value *base, int64_t divisor, unsigned copies) {
  if (innerDimension)
    accumulators = initialAccumulators(copies);
  EmittedLoop inner;
  bool hasInnerLoop = innerDimension && nest.shape[*innerDimension] > 1;
  if (innerDimension && !hasInnerLoop)
    current[*innerDimension] = {kernel.index(0), 0, nullptr, 1 << 16};

  // The lanes' indices belong outside the inner loop.
  SmallVector<LaneIndex, 4> vectorIndices;
  for (unsigned copy = 0; copy < copies; ++copy) {
    llvm::Value *start = base;
    if (copy)
      start = emitAt(levelOf(base), [&] {
        return builder.CreateAdd(base, kernel.index(copy * lanes), "", true, true);
      });
    vectorIndices.push_back({start, lanes > 1 ? 1 : 0, nullptr, divisor});
  }
  if (hasInnerLoop) {
    inner = kernel.beginLoop(kernel.index(0), kernel.index(nest.shape[*innerDimension]),
                             kernel.index(1), accumulators, false);
    enterLoop(inner);
    accumulators.assign(inner.carried.begin(), inner.carried.end());
    current[*innerDimension] = {inner.induction};
  }
  if (!hasIdentities) {
    llvm::Value *position = innerDimension ? current[*innerDimension].base : base;
    isFirst = emitAt(levelOf(position),
                     [&] { return builder.CreateICmpEQ(position, kernel.index(0), "first"); });
  }

  std::vector<Copy> made(copies);
  for (unsigned copy = 0; copy < copies; ++copy) {
    made[copy].at = current;
    made[copy].at[vectorDimension] = vectorIndices[copy];
    // Rule (Overlap): everything is read before anything is written.
    for (const Root &root : nest.roots) {
      llvm::SmallVector<llvm::Value *, 3> values;
      if (root.kind == Root::Kind::Keep)
        values.push_back(evaluate(root.value, made[copy].at));
      else if (root.kind == Root::Kind::Store)
        values.push_back(evaluate(root.op->getOperand(1), made[copy].at));
      else
        for (Value operand : root.op->getOperands())
          values.push_back(evaluate(operand, made[copy].at));
      made[copy].operands.push_back(std::move(values));
    }
  }
  emitRoots(made);

  if (hasInnerLoop) {
    auto results = kernel.endLoop(inner, accumulators);
    leaveLoop(inner);
    accumulators.assign(results.begin(), results.end());
  }
  if (innerDimension)
    for (const Reduction &reduction : reductions)
      for (unsigned copy = 0; copy < copies; ++copy) {
        ArrayRef<llvm::Value *> mine =
            ArrayRef<llvm::Value *>(accumulators)
                .slice(copy * accumulatorsPerCopy + reduction.firstAccumulator,
                       reduction.op.getNumResults());
        Coordinate at = made[copy].at;
        at.erase(at.begin() + *innerDimension);
        storeReduction(reduction, at, mine);
      }
}

void NestEmitter::emitRoots(ArrayRef<Copy> copies) {
  for (auto [number, copy] : llvm::enumerate(copies)) {
    unsigned nextReduction = 0;
    for (auto [root, operands] : llvm::zip(nest.roots, copy.operands)) {
      switch (root.kind) {
      case Root::Kind::Keep:
        writeBuffer(root.target ? *root.target : *kernel.buffer(root.value), copy.at, operands[0]);
        break;
      case Root::Kind::Store: {
        auto store = cast<StoreOp>(root.op);
        emitStore(store, copy.at, operands[0], accessMask(store.getMask(), copy.at));
        break;
      }
      case Root::Kind::Reduce:
        accumulate(number, reductions[nextReduction++], operands);
        break;
      case Root::Kind::Assert:
      case Root::Kind::Atomic:
        emitEffect(root.op, copy.at, operands);
        break;
      }
    }
  }
}

} // namespace sectile::cpu
