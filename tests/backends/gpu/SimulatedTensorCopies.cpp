// Memory barriers and copies of boxes (cp.async.bulk.tensor) of the simulated GPU: emitted as
// calls, and what they do. A copy reads and lands at random times between its start and the end of
// the phase that counts its bytes, so code that waits too little or starts it too early is found:
//
//   start          bytes are in flight: nobody may touch them
//   reads, lands   the phase of the memory barrier has them
//   phase ends     threads that wait for it, and those that meet such a thread, may touch them
//
// Stores the other way are in SimulatedTensorStores.cpp.
//
// The engine sees what threads have stored only behind a fence of theirs and a barrier.
#include "SimulatedThreads.h"

#include "llvm/IR/Module.h"

namespace sectile::testing {
namespace {

constexpr int64_t kBarrierBytes = 8, kMaxBox = 256;
/// A phase counts less.
constexpr int64_t kMaxPhaseBytes = 1 << 20;

//===-- Emission ------------------------------------------------------------------------------===//

class SimulatedTensorCopies final : public gpu::TensorCopies {
public:
  explicit SimulatedTensorCopies(bool hasProducers) : hasProducers(hasProducers) {}
  void declareMap(llvm::Function &, unsigned) const override {}
  void initBarrier(llvm::IRBuilderBase &builder, llvm::Value *barrier, uint32_t arrivals,
                   llvm::Value *predicate) const override {
    emitSimulatedCall(
        builder, SimulatedCall::BarrierInit, builder.getVoidTy(),
        {plainPointer(builder, barrier), builder.getInt32(arrivals), truth(builder, predicate)});
  }

  void arrive(llvm::IRBuilderBase &builder, llvm::Value *barrier,
              llvm::Value *predicate) const override {
    emitSimulatedCall(builder, SimulatedCall::BarrierArrive, builder.getVoidTy(),
                      {plainPointer(builder, barrier), truth(builder, predicate)});
  }

  void endBarrier(llvm::IRBuilderBase &builder, llvm::Value *barrier,
                  llvm::Value *predicate) const override {
    emitSimulatedCall(builder, SimulatedCall::BarrierEnd, builder.getVoidTy(),
                      {plainPointer(builder, barrier), truth(builder, predicate)});
  }

  void fence(llvm::IRBuilderBase &builder, bool isGlobal) const override {
    emitSimulatedCall(builder, SimulatedCall::ProxyFence, builder.getVoidTy(),
                      {builder.getInt32(isGlobal)});
  }

  void expect(llvm::IRBuilderBase &builder, llvm::Value *barrier, int64_t bytes,
              llvm::Value *predicate) const override {
    emitSimulatedCall(builder, SimulatedCall::BarrierExpect, builder.getVoidTy(),
                      {plainPointer(builder, barrier), builder.getInt64(uint64_t(bytes)),
                       truth(builder, predicate)});
  }

  void copy(llvm::IRBuilderBase &builder, llvm::Value *shared, llvm::Value *map,
            llvm::ArrayRef<llvm::Value *> coordinates, llvm::Value *barrier,
            llvm::Value *predicate) const override {
    emitSimulatedCall(builder, SimulatedCall::TensorCopy, builder.getVoidTy(),
                      {plainPointer(builder, shared), plainPointer(builder, map),
                       arrayOf(builder, coordinates),
                       builder.getInt32(uint32_t(coordinates.size())),
                       plainPointer(builder, barrier), truth(builder, predicate)});
  }

  void wait(llvm::IRBuilderBase &builder, llvm::Value *barrier, llvm::Value *parity,
            llvm::Value *predicate) const override {
    emitSimulatedCall(builder, SimulatedCall::BarrierWait, builder.getVoidTy(),
                      {plainPointer(builder, barrier), parity,
                       truth(builder, predicate ? predicate : builder.getTrue())});
  }

  void store(llvm::IRBuilderBase &builder, llvm::Value *map,
             llvm::ArrayRef<llvm::Value *> coordinates, llvm::Value *shared,
             llvm::Value *predicate) const override {
    emitSimulatedCall(builder, SimulatedCall::TensorStore, builder.getVoidTy(),
                      {plainPointer(builder, shared), plainPointer(builder, map),
                       arrayOf(builder, coordinates),
                       builder.getInt32(uint32_t(coordinates.size())), truth(builder, predicate)});
  }

  void commitStores(llvm::IRBuilderBase &builder) const override {
    emitSimulatedCall(builder, SimulatedCall::StoresCommit, builder.getVoidTy(), {});
  }

  void waitForStores(llvm::IRBuilderBase &builder, bool areWritten,
                     unsigned pending) const override {
    emitSimulatedCall(builder, SimulatedCall::StoresWait, builder.getVoidTy(),
                      {builder.getInt32(areWritten), builder.getInt32(pending)});
  }

  gpu::RegisterShares shareRegisters(int64_t, int64_t, int64_t, bool, int64_t) const override {
    return {.first = hasProducers};
  }
  void setRegisters(llvm::IRBuilderBase &, int64_t, bool) const override {}
  bool editsMaps() const override { return true; }

  llvm::Value *claimMaps(llvm::IRBuilderBase &builder, unsigned count, unsigned threads,
                         const gpu::CopyingWarp &warp) const override {
    llvm::Value *address =
        emitSimulatedCall(builder, SimulatedCall::MapsClaim, builder.getInt64Ty(),
                          {builder.getInt32(count), truth(builder, warp.isHere)});
    return builder.CreateIntToPtr(address, builder.getPtrTy());
  }

  void editMap(llvm::IRBuilderBase &builder, llvm::Value *map, llvm::Value *scratch,
               const gpu::ArrayDescription &array, llvm::Value *isFirst,
               const gpu::CopyingWarp &warp) const override {
    emitSimulatedCall(builder, SimulatedCall::MapEdit, builder.getVoidTy(),
                      {map, plainPointer(builder, scratch), described(builder, array),
                       truth(builder, isFirst ? isFirst : builder.getTrue()),
                       truth(builder, warp.isHere)});
  }

  void fenceMap(llvm::IRBuilderBase &builder, llvm::Value *map,
                const gpu::CopyingWarp &warp) const override {
    emitSimulatedCall(builder, SimulatedCall::MapFence, builder.getVoidTy(),
                      {map, truth(builder, warp.isHere)});
  }

  void releaseMaps(llvm::IRBuilderBase &builder, llvm::Value *memory, unsigned count,
                   unsigned threads, const gpu::CopyingWarp &warp) const override {
    emitSimulatedCall(builder, SimulatedCall::MapsRelease, builder.getVoidTy(),
                      {memory, builder.getInt32(count), truth(builder, warp.isFirst)});
  }

private:
  bool hasProducers;
  /// Returns the address of a SimulatedTensorMap on the thread's stack.
  static llvm::Value *described(llvm::IRBuilderBase &builder, const gpu::ArrayDescription &array) {
    using Map = SimulatedTensorMap;
    llvm::Type *wide = builder.getInt64Ty(), *word = builder.getInt32Ty();
    llvm::Value *memory = localArray(builder, wide, sizeof(Map) / 8);
    auto put = [&](size_t byte, llvm::Value *value) {
      builder.CreateStore(value, builder.CreateConstGEP1_64(builder.getInt8Ty(), memory, byte));
    };
    auto constant = [&](int64_t value) { return llvm::ConstantInt::get(word, uint64_t(value)); };
    put(offsetof(Map, base), builder.CreatePtrToInt(array.base, wide));
    for (size_t dim = 0; dim < array.box.size(); ++dim) {
      put(offsetof(Map, extents) + dim * 8, array.extents[dim]);
      put(offsetof(Map, strides) + dim * 8, array.strides[dim]);
      put(offsetof(Map, box) + dim * 4, constant(array.box[dim]));
    }
    put(offsetof(Map, elementBytes), constant(array.elementBytes));
    put(offsetof(Map, swizzleBytes), constant(array.swizzleBytes));
    put(offsetof(Map, rank), constant(int64_t(array.box.size())));
    return memory;
  }
  static llvm::Value *arrayOf(llvm::IRBuilderBase &builder,
                              llvm::ArrayRef<llvm::Value *> coordinates) {
    llvm::Type *word = builder.getInt32Ty();
    llvm::Value *array = localArray(builder, word, std::max<unsigned>(1, coordinates.size()));
    for (auto [number, coordinate] : llvm::enumerate(coordinates))
      builder.CreateStore(coordinate, builder.CreateConstGEP1_32(word, array, unsigned(number)));
    return array;
  }
  static llvm::Value *truth(llvm::IRBuilderBase &builder, llvm::Value *predicate) {
    return predicate ? builder.CreateZExt(predicate, builder.getInt32Ty())
                     : (llvm::Value *)builder.getInt32(1);
  }
};

} // namespace

const gpu::TensorCopies *SimulatedTarget::tensorCopies() const {
  static const SimulatedTensorCopies copies(/*hasProducers=*/false), withProducers(true);
  return !abilities.tensorCopies ? nullptr : abilities.producers ? &withProducers : &copies;
}

SimulatedTensorMap simulatedMap(const backends::TensorMap &map,
                                const backends::TensorMapValues &values) {
  SimulatedTensorMap made;
  made.base = values.base;
  made.elementBytes = map.elementBytes;
  made.swizzleBytes = map.swizzleBytes;
  made.rank = int32_t(map.box.size());
  // Copies refuse what is wrong here; too many dimensions are cut off.
  for (size_t dim = 0; dim < made.box.size() && dim < map.box.size(); ++dim) {
    made.box[dim] = map.box[dim];
    made.extents[dim] = dim < values.extents.size() ? values.extents[dim] : 0;
    made.strides[dim] = dim < values.strides.size() ? values.strides[dim] : 0;
  }
  return made;
}

//===-- Memory barriers -----------------------------------------------------------------------===//

std::string SimulatedBlock::placeText(uint64_t address) const {
  return std::to_string(int64_t(address - launch.shared.first));
}

bool SimulatedBlock::knows(unsigned thread, int32_t arrival) const {
  return arrival < 0 || arrivals[size_t(arrival)].knows[thread];
}

void SimulatedBlock::learn(unsigned thread, int32_t arrival) {
  if (knows(thread, arrival))
    return;
  Arrival &learnt = arrivals[size_t(arrival)];
  learnt.knows[thread] = true;
  ++learnt.knowing;
}

void SimulatedBlock::learnPhases(unsigned thread, const MemoryBarrier &barrier) {
  for (size_t part = 0; part < kParts; ++part)
    threads[thread].roundsKnown[part] =
        std::max(threads[thread].roundsKnown[part], barrier.roundsEnded[part]);
  for (int32_t arrival : barrier.ended)
    learn(thread, arrival);
}

void SimulatedBlock::shareArrivals(const std::vector<Thread *> &group) {
  auto numberOf = [&](const Thread *thread) { return unsigned(thread - threads.data()); };
  for (int32_t arrival : openArrivals)
    if (llvm::any_of(group, [&](const Thread *one) { return knows(numberOf(one), arrival); }))
      for (const Thread *thread : group)
        learn(numberOf(thread), arrival);
  auto isKnownToAll = [&](int32_t arrival) {
    return arrivals[size_t(arrival)].knowing == threads.size();
  };
  llvm::erase_if(openArrivals, isKnownToAll);
  for (auto &[address, barrier] : memoryBarriers)
    llvm::erase_if(barrier.ended, isKnownToAll);
}

void SimulatedBlock::noteUse(MemoryBarrier &barrier, int32_t thread) {
  const size_t part = partOf(thread);
  MemoryBarrier::Use &use = barrier.uses[part];
  use.user = use.epoch >= metEpochs[part] && use.user != thread ? -2 : thread;
  use.epoch = epoch;
}

SimulatedBlock::MemoryBarrier &SimulatedBlock::usedBarrier(uint64_t address, const char *use) {
  const std::string self = "thread " + std::to_string(running) + " " + use + " ";
  auto found = memoryBarriers.find(address);
  if (found == memoryBarriers.end() || !found->second.isAlive) {
    problem(self + "byte " + placeText(address) + " of shared memory, where " +
            (found == memoryBarriers.end() ? "there is no memory barrier"
                                           : "the memory barrier has ended"));
    stop();
  }
  MemoryBarrier &barrier = found->second;
  if (barrier.maker != int32_t(running) && isOpen(barrier.madeEpoch, partOf(barrier.maker)))
    problem(self + "the memory barrier at byte " + placeText(address) +
            ", and no barrier of the threads stands behind its initialisation");
  return barrier;
}

void SimulatedBlock::barrierInit(uint64_t address, int32_t arrivals, int32_t predicate) {
  if (!predicate)
    return;
  SimulatedBlock &block = *current();
  const std::string self = "thread " + std::to_string(block.running);
  if (address % kBarrierBytes || address < block.launch.shared.first ||
      address + kBarrierBytes > block.launch.shared.second) {
    block.problem(self + " initialises a memory barrier at byte " + block.placeText(address) +
                  (address % kBarrierBytes ? ", which is not aligned to 8 bytes"
                                           : ", which is outside shared memory"));
    block.stop();
  }
  MemoryBarrier &barrier = block.memoryBarriers[address];
  if (barrier.isAlive)
    block.problem(self + " initialises the memory barrier at byte " + block.placeText(address) +
                  ", which is alive");
  std::memset(reinterpret_cast<void *>(address), 0xb1, kBarrierBytes);
  block.touchShared(address, kBarrierBytes, true, -1);
  barrier = {.isAlive = true, .maker = int32_t(block.running), .madeEpoch = block.epoch};
  barrier.arrivals = barrier.pendingArrivals = arrivals;
  for (int64_t offset = 0; offset < kBarrierBytes; ++offset)
    block.bytes[address + uint64_t(offset)].isBarrier = true;
}

void SimulatedBlock::barrierEnd(uint64_t address, int32_t predicate) {
  if (!predicate)
    return;
  SimulatedBlock &block = *current();
  MemoryBarrier &barrier = block.usedBarrier(address, "ends");
  const std::string text = "thread " + std::to_string(block.running) +
                           " ends the memory barrier at byte " + block.placeText(address);
  for (const Thread &thread : block.threads)
    if (thread.state == State::AtMemoryBarrier && thread.memoryBarrier == address)
      block.problem(text + ", at which thread " + std::to_string(&thread - block.threads.data()) +
                    " waits");
  for (const TensorCopy &copy : block.tensorCopies)
    if (copy.barrier == address)
      block.problem(text + ", and a copy that it counts is under way");
  for (size_t part = 0; part < kParts; ++part)
    if (const MemoryBarrier::Use &use = barrier.uses[part];
        block.isOpen(use.epoch, part) && use.user != int32_t(block.running))
      block.problem("race: " + text + " that another uses, with no barrier between");
  barrier.isAlive = false;
  for (int64_t offset = 0; offset < kBarrierBytes; ++offset)
    block.bytes[address + uint64_t(offset)].isBarrier = false;
  std::memset(reinterpret_cast<void *>(address), 0xb2, kBarrierBytes);
  block.touchShared(address, kBarrierBytes, true, -1);
  for (int64_t offset = 0; offset < kBarrierBytes; ++offset)
    block.bytes[address + uint64_t(offset)].wasBarrier = true;
}

void SimulatedBlock::barrierExpect(uint64_t address, int64_t bytes, int32_t predicate) {
  if (!predicate)
    return;
  SimulatedBlock &block = *current();
  MemoryBarrier &barrier = block.usedBarrier(address, "arrives at");
  block.noteUse(barrier, int32_t(block.running));
  const std::string place = " the memory barrier at byte " + block.placeText(address);
  if (bytes < 0 || barrier.pendingBytes + bytes >= kMaxPhaseBytes)
    block.problem(std::to_string(bytes) + " bytes are more than" + place + " can count");
  if (!barrier.pendingArrivals)
    block.problem("thread " + std::to_string(block.running) + " arrives at" + place +
                  ", at which one has arrived in this phase");
  else
    --barrier.pendingArrivals;
  barrier.pendingBytes += bytes;
  block.endPhaseIfDone(barrier);
}

/// The warp has arrived when the last of its threads is here: the one that does so for all may not
/// be ahead of others.
void SimulatedBlock::barrierArrive(uint64_t address, int32_t predicate) {
  SimulatedBlock &block = *current();
  MemoryBarrier &barrier = block.usedBarrier(address, "arrives at");
  block.noteUse(barrier, int32_t(block.running));
  Thread &thread = block.threads[block.running];
  ++thread.rounds;
  MemoryBarrier::Warp &warp = barrier.warps[block.running / block.launch.lanes];
  warp.rounds = warp.threads ? std::min(warp.rounds, thread.rounds) : thread.rounds;
  warp.arrivals += predicate != 0;
  if (++warp.threads < block.launch.lanes)
    return;
  const std::string place = " the memory barrier at byte " + block.placeText(address);
  if (!warp.arrivals) { // it does not exist
    warp = {};
    return;
  }
  if (warp.arrivals != 1)
    block.problem(std::to_string(warp.arrivals) + " threads of a warp arrive at" + place +
                  " instead of one");
  if (!barrier.pendingArrivals)
    block.problem("thread " + std::to_string(block.running) + " arrives at" + place +
                  ", at which enough have arrived in this phase");
  else
    --barrier.pendingArrivals;
  int64_t &fewest = barrier.rounds[block.partOf(int32_t(block.running))];
  fewest = fewest < 0 ? warp.rounds : std::min(fewest, warp.rounds);
  // What the warp has seen those see that wait for this phase.
  const unsigned first = block.running / block.launch.lanes * block.launch.lanes;
  for (int32_t arrival : block.openArrivals) {
    bool isKnown = true;
    for (unsigned lane = 0; lane < block.launch.lanes; ++lane)
      isKnown &= block.knows(first + lane, arrival);
    if (isKnown && !llvm::is_contained(barrier.passed, arrival))
      barrier.passed.push_back(arrival);
  }
  warp = {};
  block.endPhaseIfDone(barrier);
}

void SimulatedBlock::endPhaseIfDone(MemoryBarrier &barrier) {
  if (barrier.pendingArrivals || barrier.pendingBytes)
    return;
  if (barrier.arrival >= 0)
    barrier.ended.push_back(barrier.arrival);
  llvm::append_range(barrier.ended, barrier.passed);
  barrier.passed.clear();
  barrier.arrival = -1;
  barrier.pendingArrivals = barrier.arrivals;
  for (size_t part = 0; part < kParts; ++part)
    barrier.roundsEnded[part] = std::max(barrier.roundsEnded[part], barrier.rounds[part]);
  barrier.rounds = {-1, -1, -1};
  ++barrier.phase;
}

/// mbarrier.try_wait.parity is true when the phase under way has the other parity.
void SimulatedBlock::barrierWait(uint64_t address, int32_t parity, int32_t predicate) {
  if (!predicate)
    return;
  SimulatedBlock &block = *current();
  MemoryBarrier &barrier = block.usedBarrier(address, "waits at");
  block.noteUse(barrier, int32_t(block.running));
  if (parity != 0 && parity != 1)
    block.problem("a parity is " + std::to_string(parity) + ", not 0 or 1");
  if ((barrier.phase & 1) != (parity & 1))
    return block.learnPhases(block.running, barrier);
  Thread &thread = block.threads[block.running];
  thread.memoryBarrier = address;
  thread.parity = parity & 1;
  thread.state = State::AtMemoryBarrier;
  block.wait();
}

bool SimulatedBlock::releaseMemoryBarriers() {
  bool moved = false;
  for (unsigned number = 0; number < threads.size(); ++number) {
    Thread &thread = threads[number];
    if (thread.state != State::AtMemoryBarrier)
      continue;
    MemoryBarrier &barrier = memoryBarriers[thread.memoryBarrier];
    if ((barrier.phase & 1) == thread.parity)
      continue;
    learnPhases(number, barrier);
    noteUse(barrier, int32_t(number));
    thread.state = State::Ready;
    moved = true;
  }
  return moved;
}

std::string SimulatedBlock::stuckText() const {
  std::string text = "stuck: a thread waits for others that have ended or wait elsewhere";
  for (const auto &[address, barrier] : memoryBarriers) {
    if (!barrier.isAlive)
      continue;
    text += "; memory barrier at byte " + placeText(address) + ": phase " +
            std::to_string(barrier.phase) + ", " + std::to_string(barrier.pendingArrivals) +
            " arrivals and " + std::to_string(barrier.pendingBytes) + " bytes pending";
    auto waits = [&, here = address](size_t number, int32_t parity) {
      return number < threads.size() && threads[number].state == State::AtMemoryBarrier &&
             threads[number].memoryBarrier == here && threads[number].parity == parity;
    };
    for (int32_t parity : {0, 1})
      for (size_t first = 0; first < threads.size(); ++first) {
        if (!waits(first, parity))
          continue;
        size_t last = first;
        while (waits(last + 1, parity))
          ++last;
        text += ", threads " + std::to_string(first) + " to " + std::to_string(last) +
                " wait for parity " + std::to_string(parity);
        first = last;
      }
  }
  return text;
}

//===-- Copies --------------------------------------------------------------------------------===//

int64_t SimulatedBlock::TensorCopy::rows() const {
  int64_t count = 1;
  for (int32_t dim = 0; dim + 1 < map.rank; ++dim)
    count *= map.box[size_t(dim)];
  return count;
}

int64_t SimulatedBlock::TensorCopy::rowBytes() const {
  return int64_t(map.box[size_t(map.rank - 1)]) * map.elementBytes;
}

void SimulatedBlock::claimForCopy(uint64_t address) {
  const Byte &byte = bytes[address];
  const auto self = int32_t(running);
  const std::string text = "thread " + std::to_string(self) + " starts a copy to shared memory ";
  if (inFlight.contains(address))
    problem("race: " + text + "that an asynchronous copy is still writing");
  if (byte.isBarrier)
    problem(text + "where a memory barrier lives");
  if (byte.readingProducts)
    problem("race: " + text + "that a product under way reads");
  if (byte.readingStores)
    problem("race: " + text + "that a tensor store may still read");
  for (size_t part = 0; part < kParts; ++part)
    if (const Reads &reads = byte.reads[part]; isOpen(reads.epoch, part) && reads.reader != self &&
                                               reads.round >= threads[running].roundsKnown[part])
      problem("race: " + text + "that another reads, with no barrier between");
  if (isWrittenByOther(byte))
    problem("race: " + text + "that another writes, with no barrier between");
  if (byte.isUnfenced)
    problem(text + "where a thread has stored without a fence");
  else if (isFencedByOther(byte))
    problem(text + "where another has stored, with no barrier behind its fence");
  if (!knows(running, byte.arrival))
    problem("race: " + text + "that a tensor copy has filled, and has not waited for it");
}

SimulatedBlock::TensorCopy SimulatedBlock::boxAt(const SimulatedTensorMap *map,
                                                 const int32_t *coordinates, int32_t rank,
                                                 uint64_t shared, const std::string &text) {
  auto refuse = [&](const std::string &why) {
    problem("thread " + std::to_string(running) + " " + text + " " + why);
    stop();
  };
  if (reinterpret_cast<uint64_t>(map) % 64 || map->magic != SimulatedTensorMap::kMagic)
    refuse("by what is no tensor map");
  if (map->rank < 1 || map->rank > SimulatedTensorMap::kMaxRank || map->rank != rank)
    refuse("of an array of rank " + std::to_string(map->rank) + " by " + std::to_string(rank) +
           " coordinates");
  TensorCopy copy{.by = map,
                  .map = *map,
                  .start = {},
                  .shared = shared,
                  .barrier = 0,
                  .phase = 0,
                  .content = {}};
  for (auto dim = size_t(0); dim < size_t(rank); ++dim) {
    copy.start[dim] = coordinates[dim];
    if (map->box[dim] < 1 || map->box[dim] > kMaxBox)
      refuse("of a box with an extent of " + std::to_string(map->box[dim]));
  }
  const int64_t swizzle = map->swizzleBytes;
  if (swizzle != 32 && swizzle != 64 && swizzle != 128)
    refuse("that swizzles " + std::to_string(swizzle) + " bytes");
  if (copy.rowBytes() % SimulatedTensorMap::kPieceBytes || copy.rowBytes() > swizzle)
    refuse("of rows of " + std::to_string(copy.rowBytes()) + " bytes, which swizzle " +
           std::to_string(swizzle));
  if (shared % uint64_t(8 * swizzle))
    refuse("at byte " + placeText(shared) + " of shared memory, which is not aligned to " +
           std::to_string(8 * swizzle) + " bytes");
  if (shared < launch.shared.first ||
      shared + uint64_t(copy.rows() * swizzle) > launch.shared.second)
    refuse("at byte " + placeText(shared) + ", which ends outside shared memory");
  copy.forEachRow([&](int64_t, int64_t, int64_t bytes, uint64_t address) {
    if (!isInArray(address, bytes))
      refuse("of what is outside every array");
  });
  return copy;
}

void SimulatedBlock::tensorCopy(uint64_t shared, const SimulatedTensorMap *map,
                                const int32_t *coordinates, int32_t rank, uint64_t barrierAddress,
                                int32_t predicate) {
  if (!predicate)
    return;
  SimulatedBlock &block = *current();
  MemoryBarrier &barrier = block.usedBarrier(barrierAddress, "starts a copy counted by");
  block.noteUse(barrier, int32_t(block.running));
  if (!barrier.isFenced)
    block.problem("thread " + std::to_string(block.running) +
                  " starts a copy counted by the memory barrier at byte " +
                  block.placeText(barrierAddress) + ", whose initialisation is not fenced");
  else if (block.isOpen(barrier.fenceEpoch, block.partOf(barrier.maker)) &&
           barrier.maker != int32_t(block.running))
    block.problem("thread " + std::to_string(block.running) +
                  " starts a copy counted by the memory barrier at byte " +
                  block.placeText(barrierAddress) +
                  ", with no barrier of the threads behind the fence of its initialisation");

  TensorCopy copy = block.boxAt(map, coordinates, rank, shared, "starts a copy");
  copy.barrier = barrierAddress;
  copy.phase = barrier.phase;
  block.checkStoresIn(copy, /*isStart=*/true);
  copy.forEachPlace([&](size_t, uint64_t address) {
    block.claimForCopy(address);
    block.inFlight.insert(address);
    *reinterpret_cast<uint8_t *>(address) = 0xcd;
  });
  block.tensorCopies.push_back(std::move(copy));
  ++block.report.tensorCopies;
}

bool SimulatedBlock::advanceCopies(bool mustMove) {
  bool moved = false;
  auto advance = [&](size_t number) {
    moved = true;
    TensorCopy &copy = tensorCopies[number];
    const bool isStore = copy.storer >= 0;
    if (!copy.hasRead)
      return isStore ? readStage(copy) : readBox(copy);
    isStore ? write(copy) : land(copy);
    tensorCopies.erase(tensorCopies.begin() + ptrdiff_t(number));
  };
  for (size_t number = tensorCopies.size(); number-- > 0;)
    if (random() % 4 == 0)
      advance(number);
  if (mustMove && !moved && !tensorCopies.empty())
    advance(random() % tensorCopies.size());
  return moved;
}

void SimulatedBlock::checkStoresIn(const TensorCopy &copy, bool isStart) {
  copy.forEachRow([&](int64_t, int64_t, int64_t count, uint64_t address) {
    for (int64_t offset = 0; offset < count; ++offset) {
      const uint64_t place = address + uint64_t(offset);
      const auto found = storedGlobal.find(place);
      const bool isSeen = found == storedGlobal.end() ||
                          (found->second.fenced.epoch >= 0 &&
                           !(isStart && isOpenOfOther(found->second.fenced, found->second.writer)));
      if (!isSeen)
        problem("race: a tensor copy reads global memory where a thread of the program stores");
      const auto stored = tensorStored.find(place);
      if (stored != tensorStored.end() &&
          (stored->second.fenced.epoch < 0 ||
           (isStart && isOpenOfOther(stored->second.fenced, stored->second.storer))))
        problem("race: a tensor copy reads global memory where a tensor store of the program "
                "writes");
    }
  });
}

void SimulatedBlock::readBox(TensorCopy &copy) {
  copy.hasRead = true;
  checkStoresIn(copy, /*isStart=*/false);
  copy.content.assign(size_t(copy.rows() * copy.rowBytes()), 0);
  copy.forEachRow([&](int64_t row, int64_t first, int64_t count, uint64_t address) {
    std::memcpy(&copy.content[size_t(row * copy.rowBytes() + first)],
                reinterpret_cast<const void *>(address), size_t(count));
  });
}

void SimulatedBlock::land(const TensorCopy &copy) {
  MemoryBarrier &barrier = memoryBarriers[copy.barrier];
  const std::string place = "the memory barrier at byte " + placeText(copy.barrier);
  const auto count = int64_t(copy.content.size());
  if (!barrier.isAlive)
    return problem("a copy lands, and " + place + ", which counts it, has ended");
  if (barrier.phase != copy.phase)
    problem("a copy lands behind the phase of " + place +
            " in which it was started: fewer bytes were expected there than came");
  else if (barrier.pendingBytes < count)
    problem("a copy brings " + std::to_string(count) + " bytes, and " + place + " expects " +
            std::to_string(barrier.pendingBytes) + " in this phase");
  if (barrier.arrival < 0) {
    barrier.arrival = int32_t(arrivals.size());
    openArrivals.push_back(barrier.arrival);
    arrivals.push_back({std::vector<bool>(threads.size()), 0});
  }
  copy.forEachPlace([&](size_t number, uint64_t address) {
    inFlight.erase(address);
    *reinterpret_cast<uint8_t *>(address) = copy.content[number];
    // What was there before is behind the copy's start.
    bytes[address] = {.arrival = barrier.arrival};
  });
  barrier.pendingBytes -= count;
  endPhaseIfDone(barrier);
}

void SimulatedBlock::checkEnd() {
  if (!unreadStored.empty())
    problem("a tensor store may still read shared memory when the program ends");
  // Memory is written some time after the program.
  llvm::erase_if(tensorCopies, [&](const TensorCopy &copy) {
    if (copy.storer >= 0 && copy.hasRead)
      write(copy);
    return copy.storer >= 0;
  });
  if (!tensorCopies.empty())
    problem("a copy is still under way when the program ends");
  if (llvm::any_of(editedMaps, [](const auto &each) { return !each.second.areReleased; }))
    problem("the program has not given the memory of its maps back");
  for (const Arrival &arrival : arrivals)
    if (!arrival.knowing)
      problem("a copy is still under way when the program ends: nobody has waited for it");
}

} // namespace sectile::testing
