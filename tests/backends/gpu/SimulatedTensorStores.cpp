// Boxes that the simulated GPU's engine stores to memory (cp.async.bulk.tensor from shared memory).
// A store reads shared memory, and writes, at random times from its start on:
//
//   start            what it reads is fenced, and a barrier is behind the fences; from here on
//                    nobody may store there
//   reads            the wait of the thread that started it, for a group that it is in, is over;
//                    others learn of that at a barrier
//   writes           a wait for what is written is over; stores keep no order before that
//
// Rows are written to the end of their last 16 bytes, even if the array ends before it.
//
// An array without elements is described as one element of zeros, which all such arrays share: no
// box that is stored may have it.
//
// Threads of the program access what it writes behind that wait, those that did not wait behind a
// barrier more; copies read it behind a fence of global memory and a barrier. It writes nothing
// that a thread has stored.
#include "SimulatedThreads.h"

namespace sectile::testing {

void SimulatedBlock::claimForStore(uint64_t address) {
  Byte &byte = bytes[address];
  const auto self = int32_t(running);
  const std::string text = "thread " + std::to_string(self) + " starts a store of shared memory ";
  if (inFlight.contains(address))
    problem("race: " + text + "that an asynchronous copy is still writing");
  if (byte.isBarrier)
    problem(text + "where a memory barrier lives");
  if (isWrittenByOther(byte))
    problem("race: " + text + "that another writes, with no barrier between");
  if (byte.isUnfenced)
    problem(text + "where a thread has stored without a fence");
  else if (isFencedByOther(byte))
    problem(text + "where another has stored, with no barrier behind its fence");
  if (!knows(running, byte.arrival))
    problem("race: " + text + "that a tensor copy has filled, and has not waited for it");
  ++byte.readingStores;
  unreadStored.push_back({address, running, threads[running].storeGroup});
}

void SimulatedBlock::tensorStore(uint64_t shared, const SimulatedTensorMap *map,
                                 const int32_t *coordinates, int32_t rank, int32_t predicate) {
  if (!predicate)
    return;
  SimulatedBlock &block = *current();
  TensorCopy store = block.boxAt(map, coordinates, rank, shared, "starts a store");
  bool isOfNothing = true;
  for (auto dim = size_t(0); dim < size_t(rank); ++dim)
    isOfNothing &= store.map.extents[dim] < 1 && store.start[dim] <= 0 &&
                   store.start[dim] + store.map.box[dim] > 0;
  if (isOfNothing)
    block.problem("a tensor store writes the element that arrays without elements share");
  store.storer = int32_t(block.running);
  store.group = block.threads[block.running].storeGroup;
  store.forEachPlace([&](size_t, uint64_t address) { block.claimForStore(address); });
  store.forEachRow([&](int64_t, int64_t, int64_t count, uint64_t address) {
    if (!block.isInArray(address, count)) {
      block.problem("a tensor store writes behind the last row of an array");
      block.stop();
    }
    for (int64_t offset = 0; offset < count; ++offset) {
      const uint64_t byte = address + uint64_t(offset);
      if (block.storedGlobal.contains(byte))
        block.problem("race: a tensor store writes global memory where a thread of the program "
                      "stores");
      if (!block.unorderedStored.insert(byte).second)
        block.problem("race: two tensor stores write one place of global memory, and nobody has "
                      "waited for the first");
      block.tensorStored[byte] = {.storer = int32_t(block.running)};
      block.threads[block.running].unwritten.push_back(byte);
    }
  });
  block.tensorCopies.push_back(std::move(store));
  ++block.report.tensorStores;
}

void SimulatedBlock::readStage(TensorCopy &store) {
  store.hasRead = true;
  store.content.resize(size_t(store.rows() * store.rowBytes()));
  store.forEachPlace([&](size_t number, uint64_t address) {
    store.content[number] = *reinterpret_cast<const uint8_t *>(address);
  });
}

void SimulatedBlock::write(const TensorCopy &store) {
  store.forEachRow([&](int64_t row, int64_t first, int64_t count, uint64_t address) {
    std::memcpy(reinterpret_cast<void *>(address),
                &store.content[size_t(row * store.rowBytes() + first)], size_t(count));
  });
}

bool SimulatedBlock::areStoresDone(unsigned thread) const {
  return llvm::none_of(tensorCopies, [&](const TensorCopy &copy) {
    return copy.storer == int32_t(thread) && copy.group < threads[thread].storesAwaited &&
           (threads[thread].areWritten || !copy.hasRead);
  });
}

/// It is as if the thread had read the bytes just now, and nobody else knew.
void SimulatedBlock::endStores(unsigned thread) {
  llvm::erase_if(unreadStored, [&](const UnreadStored &stored) {
    if (stored.thread != thread || stored.group >= threads[thread].storesAwaited)
      return false;
    Byte &byte = bytes[stored.address];
    --byte.readingStores;
    noteRead(byte, int32_t(thread));
    return true;
  });
  Thread &waiting = threads[thread];
  if (!waiting.areWritten || waiting.storesAwaited != waiting.storeGroup)
    return;
  unorderedStored.clear();
  for (uint64_t address : waiting.unwritten)
    if (StoredByte &byte = tensorStored[address]; byte.storer == int32_t(thread))
      byte.written = {epoch, waiting.rounds};
  waiting.unfencedWritten.insert(waiting.unfencedWritten.end(), waiting.unwritten.begin(),
                                 waiting.unwritten.end());
  waiting.unwritten.clear();
}

void SimulatedBlock::storesCommit() {
  SimulatedBlock &block = *current();
  ++block.threads[block.running].storeGroup;
}

void SimulatedBlock::storesWait(int32_t areWritten, int32_t pending) {
  SimulatedBlock &block = *current();
  Thread &thread = block.threads[block.running];
  thread.areWritten = areWritten;
  thread.storesAwaited = thread.storeGroup - pending;
  if (block.areStoresDone(block.running))
    return block.endStores(block.running);
  thread.state = State::AtStores;
  block.wait();
}

bool SimulatedBlock::releaseStores() {
  bool moved = false;
  for (unsigned number = 0; number < threads.size(); ++number)
    if (threads[number].state == State::AtStores && areStoresDone(number)) {
      endStores(number);
      threads[number].state = State::Ready;
      moved = true;
    }
  return moved;
}

} // namespace sectile::testing
