// A conversion as lang/layout/Conversion.h plans it becomes instructions: registers renamed, lane
// shuffles, or stores, a barrier and loads in shared memory, in rounds where the tile is large.
#include "backends/gpu/ConvertPlan.h"
#include "backends/gpu/IndexBits.h"
#include "backends/gpu/SharedAddresses.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

using layout::ConversionKind;
using layout::ConversionPlan;
using layout::TileLayout;

//===-- Shared memory -------------------------------------------------------------------------===//

llvm::Value *GpuEmitter::sharedAddress(int64_t offset) {
  if (!shared) {
    // The launch sets its size.
    auto *bytes = llvm::ArrayType::get(builder.getInt8Ty(), 0);
    shared = new llvm::GlobalVariable(*module, bytes, /*isConstant=*/false,
                                      llvm::GlobalValue::ExternalLinkage, nullptr, "sectile_shared",
                                      nullptr, llvm::GlobalValue::NotThreadLocal, kSharedSpace);
    shared->setAlignment(llvm::Align(uint64_t(plan.alignment)));
  }
  llvm::Value *start = shared;
  if (offset >= plan.firstOfTeam && teams > 1)
    start = builder.CreateGEP(builder.getInt8Ty(), start,
                              builder.CreateMul(teamIndex(), builder.getInt32(plan.teamBytes)));
  return offset ? builder.CreateConstGEP1_64(builder.getInt8Ty(), start, offset) : start;
}

llvm::Value *GpuEmitter::barrierOfTeam() {
  if (teams > 1)
    return builder.CreateAdd(teamIndex(), builder.getInt32(1));
  return producer ? builder.getInt32(1) : nullptr;
}

void GpuEmitter::barrier() {
  target.barrier(builder, threadCount(), Ordered::Shared, barrierOfTeam());
}

void GpuEmitter::barrierOfBlock() {
  target.barrier(builder, blockThreads(), Ordered::Shared);
}

void GpuEmitter::barrierOfAllMemory() {
  target.barrier(builder, threadCount(), Ordered::All, barrierOfTeam());
}

//===-- Lane shuffles -------------------------------------------------------------------------===//

namespace {

class ShuffleEmitter {
public:
  ShuffleEmitter(GpuEmitter &emitter, const layout::ShufflePlan &plan, llvm::Type *type)
      : emitter(emitter), builder(emitter.builder), plan(plan), type(type) {}

  Registers emit(const Registers &values) {
    Registers slots;
    for (int reg : plan.sourceRegisters)
      slots.push_back(reg < 0 ? llvm::PoisonValue::get(type) : values[reg]);
    swap(slots, plan.before);
    Registers moved(plan.steps.empty() ? 0 : movedCount(), llvm::PoisonValue::get(type));
    for (const layout::ShuffleStep &step : plan.steps)
      shuffle(step, slots, moved);
    swap(moved, plan.after);
    Registers results;
    for (int slot : plan.destinationSlots)
      results.push_back(slot < 0 ? paddingOf(type) : moved[slot]);
    return results;
  }

private:
  size_t movedCount() const {
    int last = 0;
    for (const layout::ShuffleStep &step : plan.steps)
      for (int slot : step.to)
        last = std::max(last, slot);
    return last + 1;
  }

  void swap(Registers &slots, llvm::ArrayRef<layout::ConditionalSwap> swaps) {
    for (const layout::ConditionalSwap &swap : swaps) {
      if (swap.dim != layout::Dim::Lane && swap.dim != layout::Dim::Warp)
        continue;
      llvm::Value *index =
          swap.dim == layout::Dim::Lane ? emitter.laneIndex() : emitter.warpIndex();
      llvm::Value *isSet = builder.CreateICmpNE(
          builder.CreateAnd(index, builder.getInt32(1u << swap.bit)), builder.getInt32(0));
      Registers next;
      for (size_t slot = 0; slot < slots.size(); ++slot)
        next.push_back(builder.CreateSelect(isSet, slots[slot ^ swap.slotXor], slots[slot]));
      slots = std::move(next);
    }
  }

  void shuffle(const layout::ShuffleStep &step, const Registers &slots, Registers &moved) {
    if (plan.staysInLane(step)) {
      for (auto [from, to] : llvm::zip(step.from, step.to))
        moved[to] = slots[from];
      return;
    }
    unsigned bits = type->isPointerTy() ? 64 : type->getScalarSizeInBits();
    size_t perWord = bits < 32 ? 32 / std::max(bits, 8u) : 1;
    for (size_t first = 0; first < step.from.size(); first += perWord) {
      size_t count = std::min(perWord, step.from.size() - first);
      if (count == 1) {
        moved[step.to[first]] = exchange(step, slots[step.from[first]]);
        continue;
      }
      // Truth values travel as bytes.
      llvm::Type *narrow = bits == 1 ? builder.getInt8Ty() : type;
      auto *packedType = llvm::FixedVectorType::get(narrow, perWord);
      llvm::Value *packed = llvm::PoisonValue::get(packedType);
      for (size_t index = 0; index < count; ++index) {
        llvm::Value *value = slots[step.from[first + index]];
        packed = builder.CreateInsertElement(
            packed, bits == 1 ? builder.CreateZExt(value, narrow) : value, index);
      }
      // Padding among them, poison for LLVM, must not spread over the word.
      llvm::Value *word =
          exchange(step, builder.CreateBitCast(builder.CreateFreeze(packed), builder.getInt32Ty()));
      llvm::Value *unpacked = builder.CreateBitCast(word, packedType);
      for (size_t index = 0; index < count; ++index) {
        llvm::Value *value = builder.CreateExtractElement(unpacked, index);
        moved[step.to[first + index]] = bits == 1 ? builder.CreateTrunc(value, type) : value;
      }
    }
  }

  llvm::Value *exchange(const layout::ShuffleStep &step, llvm::Value *value) {
    if (plan.isButterfly())
      return emitter.target.shuffleXor(builder, value, step.laneXor);
    if (!hasLane) {
      lane = emitXor(builder, emitXorOfBases(builder, emitter.laneIndex(), plan.laneBases),
                     emitXorOfBases(builder, emitter.warpIndex(), plan.warpBases));
      if (!lane)
        lane = builder.getInt32(0);
      hasLane = true;
    }
    return emitter.target.shuffleFrom(
        builder, value,
        step.laneXor ? builder.CreateXor(lane, builder.getInt32(step.laneXor)) : lane);
  }

  GpuEmitter &emitter;
  llvm::IRBuilder<> &builder;
  const layout::ShufflePlan &plan;
  llvm::Type *type;
  llvm::Value *lane = nullptr;
  bool hasLane = false;
};

} // namespace

/// Bytes go through the plan as words of those that go the same way.
Registers GpuEmitter::moveByShuffles(const layout::ShufflePlan &plan, const Registers &values,
                                     llvm::Type *type) {
  if (type->isPointerTy() || type->getScalarSizeInBits() != 8)
    return ShuffleEmitter(*this, plan, type).emit(values);
  constexpr unsigned bits = 8;
  const layout::PackedShuffles packed = layout::packShuffles(plan, bits);
  llvm::Type *bitsType = builder.getIntNTy(bits),
             *wordType = builder.getIntNTy(bits * unsigned(packed.perWord));
  Registers words;
  for (size_t first = 0; first < packed.sources.size(); first += size_t(packed.perWord)) {
    llvm::Value *word = nullptr;
    for (int64_t element = 0; element < packed.perWord; ++element) {
      const int source = packed.sources[first + size_t(element)];
      if (source < 0)
        continue;
      // Padding among them, poison for LLVM, must not spread over the word.
      llvm::Value *value = builder.CreateFreeze(builder.CreateBitCast(values[source], bitsType));
      value = builder.CreateShl(builder.CreateZExt(value, wordType), uint64_t(element) * bits);
      word = word ? builder.CreateOr(word, value) : value;
    }
    words.push_back(word ? word : llvm::Constant::getNullValue(wordType));
  }
  const Registers moved = ShuffleEmitter(*this, packed.plan, wordType).emit(words);
  Registers results;
  for (int place : packed.destinations) {
    if (place < 0) {
      results.push_back(paddingOf(type));
      continue;
    }
    llvm::Value *word = moved[size_t(place / packed.perWord)];
    word = builder.CreateLShr(word, uint64_t(place % packed.perWord) * bits);
    results.push_back(builder.CreateBitCast(builder.CreateTrunc(word, bitsType), type));
  }
  return results;
}

//===-- Conversions ---------------------------------------------------------------------------===//

Registers GpuEmitter::convert(const Registers &values, const TileLayout &from, const TileLayout &to,
                              llvm::Type *type, int64_t scratch) {
  if (from == to)
    return values;
  ConversionPlan plan = planConversionOn(target, from, to, scratchBytesOf(type) * 8);
  Registers results(to.registersPerThread(), paddingOf(type));
  switch (plan.kind) {
  case ConversionKind::Same:
    for (auto [result, source] : llvm::zip(results, plan.registerMap))
      if (source >= 0)
        result = values[source];
    return results;
  case ConversionKind::WithinWarp:
    return moveByShuffles(plan.shuffles, values, type);
  case ConversionKind::BetweenBlocks:
    hasFailed = true;
    return results;
  case ConversionKind::ThroughShared:
    break;
  }
  SharedAddresses write(*this, plan.shared.write, type, scratch);
  SharedAddresses read(*this, plan.shared.read, type, scratch);
  if (plan.shared.isReadTransposed)
    read.loadByMatrices({2, scratchBytesOf(type) * 8, /*isTransposed=*/true});
  write.prepare();
  llvm::Value *acts = isFirstCopy(from);
  for (auto [number, round] : llvm::enumerate(plan.shared.rounds)) {
    if (number)
      barrier();
    emitIf(acts, [&] {
      for (int group : round.stores)
        write.store(group, values);
    });
    barrier();
    for (int group : round.loads)
      read.load(group, results);
  }
  return results;
}

LogicalResult GpuEmitter::emitConvert(ConvertLayoutOp op) {
  llvm::Type *type = registerType(elementTypeOf(op.getType()));
  setRegisters(op.getResult(), convert(registers(op.getSrc()), layoutOf(op.getSrc()),
                                       layoutOf(op.getResult()), type, plan.scratchOf(op)));
  if (hasFailed)
    return op->emitOpError("no conversion between these layouts: warp or lane counts differ");
  return success();
}

} // namespace sectile::gpu
