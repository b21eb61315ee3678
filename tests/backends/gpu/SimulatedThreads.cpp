#include "SimulatedThreads.h"

#include <atomic>
#include <set>
#include <sys/mman.h>

namespace sectile::testing {
namespace {

constexpr size_t kStackBytes = 1 << 20;

} // namespace

SimulatedBlock *&SimulatedBlock::current() {
  static SimulatedBlock *block = nullptr;
  return block;
}

SimulatedBlock::SimulatedBlock(const Launch &launch, SimulatedReport &report)
    : launch(launch), report(report), threads(launch.warps * launch.lanes),
      random(launch.seed * 1000003 +
             uint64_t((launch.program[2] * launch.grid[1] + launch.program[1]) * launch.grid[0] +
                      launch.program[0])) {
  // Touched where it is used only.
  stacks =
      static_cast<uint8_t *>(mmap(nullptr, kStackBytes * threads.size(), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
}

SimulatedBlock::~SimulatedBlock() {
  munmap(stacks, kStackBytes * threads.size());
}

void SimulatedBlock::problem(const std::string &what) {
  if (report.problem.empty())
    report.problem = what;
}

void SimulatedBlock::trampoline() {
  static const std::array<void *, size_t(SimulatedCall::Count)> table = {
      reinterpret_cast<void *>(threadIndex),   reinterpret_cast<void *>(programIndex),
      reinterpret_cast<void *>(programCount),  reinterpret_cast<void *>(exchange),
      reinterpret_cast<void *>(barrier),       reinterpret_cast<void *>(anyThread),
      reinterpret_cast<void *>(failAssertion), reinterpret_cast<void *>(global),
      reinterpret_cast<void *>(shared),        reinterpret_cast<void *>(matrix),
      reinterpret_cast<void *>(asyncCopy),     reinterpret_cast<void *>(asyncCommit),
      reinterpret_cast<void *>(asyncWait),     reinterpret_cast<void *>(loadMatrices),
      reinterpret_cast<void *>(clock),         reinterpret_cast<void *>(productBegin),
      reinterpret_cast<void *>(productStart),  reinterpret_cast<void *>(productCommit),
      reinterpret_cast<void *>(productWait),   reinterpret_cast<void *>(proxyFence),
      reinterpret_cast<void *>(barrierInit),   reinterpret_cast<void *>(barrierEnd),
      reinterpret_cast<void *>(barrierExpect), reinterpret_cast<void *>(barrierArrive),
      reinterpret_cast<void *>(barrierWait),   reinterpret_cast<void *>(tensorCopy),
      reinterpret_cast<void *>(tensorStore),   reinterpret_cast<void *>(storesCommit),
      reinterpret_cast<void *>(storesWait),    reinterpret_cast<void *>(mapsClaim),
      reinterpret_cast<void *>(mapEdit),       reinterpret_cast<void *>(mapFence),
      reinterpret_cast<void *>(mapsRelease)};
  SimulatedBlock &block = *current();
  block.launch.entry(const_cast<void **>(table.data()), block.launch.slots);
  block.threads[block.running].state = State::Done;
  swapcontext(&block.threads[block.running].context, &block.scheduler);
}

void SimulatedBlock::run() {
  current() = this;
  report.tensorCopies = report.tensorStores = 0;
  for (unsigned number = 0; number < threads.size(); ++number) {
    ucontext_t &context = threads[number].context;
    getcontext(&context);
    context.uc_stack.ss_sp = stacks + kStackBytes * number;
    context.uc_stack.ss_size = kStackBytes;
    context.uc_link = nullptr;
    makecontext(&context, trampoline, 0);
  }
  do {
    for (unsigned number = 0; number < threads.size(); ++number)
      if (threads[number].state == State::Ready) {
        running = number;
        swapcontext(&scheduler, &threads[number].context);
      }
  } while (report.problem.empty() && !isOver() && release());
  if (isOver())
    checkEnd();
  else
    problem(stuckText());
  countConflicts();
  const Thread &first = threads.front();
  report.barriers = first.barriers;
  report.barriersOfAllMemory = first.barriersOfAllMemory;
  report.shuffles = first.exchanges;
  report.globalLoads = first.loads;
  report.globalStores = first.stores;
  current() = nullptr;
}

bool SimulatedBlock::isOver() const {
  return llvm::all_of(threads, [](const Thread &thread) { return thread.state == State::Done; });
}

void SimulatedBlock::wait() {
  swapcontext(&threads[running].context, &scheduler);
}

bool SimulatedBlock::release() {
  bool warpsMoved = releaseWarps(); // both: a warp may wait while the rest of the block goes on
  bool productsMoved = releaseProducts();
  bool phasesMoved = releaseMemoryBarriers();
  bool storesMoved = releaseStores();
  bool moved = releaseBarriers() || warpsMoved || productsMoved || phasesMoved || storesMoved;
  return advanceCopies(/*mustMove=*/!moved) || moved;
}

bool SimulatedBlock::releaseWarps() {
  bool moved = false;
  for (unsigned warp = 0; warp < launch.warps; ++warp) {
    Thread *lanes = &threads[warp * launch.lanes];
    bool together = lanes[0].state == State::AtExchange || lanes[0].state == State::AtMatrix ||
                    lanes[0].state == State::AtMatrices;
    for (unsigned lane = 0; lane < launch.lanes; ++lane)
      together &= lanes[lane].state == lanes[0].state && lanes[lane].site == lanes[0].site;
    if (!together)
      continue;
    State meeting = lanes[0].state;
    if (meeting == State::AtMatrix)
      multiply(lanes);
    if (meeting == State::AtMatrices)
      readMatrices({lanes, launch.lanes});
    for (unsigned lane = 0; lane < launch.lanes; ++lane) {
      Thread &thread = lanes[lane];
      if (meeting == State::AtMatrix || meeting == State::AtMatrices)
        break;
      if (unsigned(thread.source) < launch.lanes)
        thread.result = lanes[thread.source].value;
      else
        problem("a shuffle reads lane " + std::to_string(thread.source));
    }
    for (unsigned lane = 0; lane < launch.lanes; ++lane)
      lanes[lane].state = State::Ready;
    moved = true;
  }
  return moved;
}

bool SimulatedBlock::releaseBarriers() {
  std::map<int32_t, std::vector<Thread *>> waiting;
  for (Thread &thread : threads)
    if (thread.state == State::AtBarrier)
      waiting[thread.barrier].push_back(&thread);
  bool moved = false;
  for (auto &[number, group] : waiting) {
    size_t expected = group.front()->meeting ? group.front()->meeting : threads.size();
    if (group.size() < expected)
      continue;
    if (group.size() > expected)
      problem("more threads came to a barrier than it is for");
    bool any = false;
    for (Thread *thread : group)
      any |= thread->value != 0;
    // A producer has code of its own, and so a place of its own.
    std::array<int32_t, kParts> sites{-1, -1, -1};
    for (Thread *thread : group) {
      thread->result = any;
      int32_t &site = sites[partOf(int32_t(thread - threads.data()))];
      if (site >= 0 && thread->site != site)
        problem("threads meet at different barriers");
      site = thread->site;
      thread->state = State::Ready;
    }
    shareArrivals(group);
    ++epoch;
    if (group.size() == threads.size())
      metEpoch = epoch;
    for (const Thread *thread : group)
      metEpochs[partOf(int32_t(thread - threads.data()))] = epoch;
    moved = true;
  }
  return moved;
}

int32_t SimulatedBlock::threadIndex() {
  return current()->running;
}
/// Different in every thread and at every call, so that a kernel that takes it for the same is
/// seen.
int64_t SimulatedBlock::clock() {
  static std::atomic<int64_t> now{0};
  return now += 10;
}

int32_t SimulatedBlock::programIndex(int32_t axis) {
  return current()->launch.program[axis];
}
int32_t SimulatedBlock::programCount(int32_t axis) {
  return current()->launch.grid[axis];
}

uint64_t SimulatedBlock::exchange(uint64_t value, int32_t source, int32_t site) {
  Thread &thread = current()->threads[current()->running];
  thread.value = value;
  thread.source = source;
  thread.site = site;
  thread.state = State::AtExchange;
  ++thread.exchanges;
  current()->wait();
  return thread.result;
}

void SimulatedBlock::barrier(int32_t meeting, int32_t ordersAll, int32_t barrier, int32_t site) {
  Thread &thread = current()->threads[current()->running];
  thread.value = 0;
  thread.meeting = meeting;
  thread.barrier = barrier;
  thread.site = site;
  thread.state = State::AtBarrier;
  ++thread.barriers;
  thread.barriersOfAllMemory += ordersAll;
  current()->wait();
}

int32_t SimulatedBlock::anyThread(int32_t truth, int32_t meeting, int32_t barrier, int32_t site) {
  Thread &thread = current()->threads[current()->running];
  thread.value = truth;
  thread.meeting = meeting;
  thread.barrier = barrier;
  thread.site = site;
  thread.state = State::AtBarrier;
  ++thread.barriers;
  current()->wait();
  return thread.result;
}

void SimulatedBlock::failAssertion(const char *message) {
  SimulatedBlock &block = *current();
  block.problem(message);
  block.threads[block.running].state = State::Done;
  swapcontext(&block.threads[block.running].context, &block.scheduler);
}

void SimulatedBlock::global(uint64_t address, int32_t bytes, int32_t isWritten, int32_t predicate,
                            int32_t) {
  current()->touchGlobal(address, bytes, isWritten, predicate);
}

void SimulatedBlock::shared(uint64_t address, int32_t bytes, int32_t isWritten, int32_t site) {
  current()->touchShared(address, bytes, isWritten, site);
}

void SimulatedBlock::touchGlobal(uint64_t address, int32_t bytes, bool isWritten, bool predicate) {
  Thread &thread = threads[running];
  ++(isWritten ? thread.stores : thread.loads);
  if (!predicate)
    return;
  if (address % bytes)
    problem("a global access of " + std::to_string(bytes) + " bytes is not aligned");
  if (!isInArray(address, bytes)) {
    problem("thread " + std::to_string(running) + (isWritten ? " writes" : " reads") +
            " outside every array");
    stop();
  }
  for (int32_t offset = 0; !tensorStored.empty() && offset < bytes; ++offset)
    if (const auto found = tensorStored.find(address + uint64_t(offset));
        found != tensorStored.end() && (found->second.written.epoch < 0 ||
                                        isOpenOfOther(found->second.written, found->second.storer)))
      problem("race: thread " + std::to_string(running) + (isWritten ? " writes" : " reads") +
              " global memory where a tensor store of the program writes");
  if (isWritten && (launch.hasTensorMaps || !editedMaps.empty()))
    for (int32_t offset = 0; offset < bytes; ++offset) {
      storedGlobal[address + uint64_t(offset)] = {.writer = int32_t(running)};
      thread.unfencedGlobal.push_back(address + uint64_t(offset));
    }
}

bool SimulatedBlock::isInArray(uint64_t address, int64_t bytes) const {
  return llvm::any_of(launch.arrays, [&](auto array) {
    return address >= array.first && address + uint64_t(bytes) <= array.second;
  });
}

void SimulatedBlock::stop() {
  Thread &thread = threads[running];
  thread.state = State::AtBarrier;
  thread.barrier = -1;
  thread.meeting = 1 << 30;
  wait();
}

void SimulatedBlock::noteRead(Byte &byte, int32_t thread, bool isOneOfSeveral) {
  const size_t part = partOf(thread);
  Reads &reads = byte.reads[part];
  isOneOfSeveral |= reads.epoch >= metEpochs[part] && reads.reader != thread;
  reads.reader = isOneOfSeveral ? -2 : thread;
  reads.epoch = epoch;
  reads.round = std::max(reads.round, threads[thread].rounds);
}

/// Stores are reported after, loads before they are done.
void SimulatedBlock::touchShared(uint64_t address, int32_t count, bool isWritten, int32_t site) {
  Thread &thread = threads[running];
  if (address < launch.shared.first || address + uint64_t(count) > launch.shared.second) {
    problem("thread " + std::to_string(running) + (isWritten ? " writes" : " reads") + " byte " +
            std::to_string(int64_t(address - launch.shared.first)) + " of the " +
            std::to_string(launch.shared.second - launch.shared.first) + " bytes of shared memory");
    stop();
  }
  if (address % count)
    problem("an access of " + std::to_string(count) + " bytes to shared memory is not aligned");
  int32_t self = running;
  auto *content = reinterpret_cast<const uint8_t *>(address);
  for (int32_t offset = 0; offset < count; ++offset) {
    Byte &byte = bytes[address + offset];
    if (inFlight.contains(address + offset))
      problem("race: thread " + std::to_string(self) +
              " touches shared memory that an asynchronous copy is still writing");
    if (byte.isBarrier)
      problem("thread " + std::to_string(self) + (isWritten ? " writes" : " reads") + " byte " +
              placeText(address + uint64_t(offset)) + " of shared memory, where a memory barrier " +
              "lives");
    if (!knows(running, byte.arrival))
      problem("race: thread " + std::to_string(self) + (isWritten ? " writes" : " reads") +
              " shared memory that a tensor copy has filled, and has not waited for it");
    const bool wrote = isWrittenByOther(byte);
    bool read = false;
    for (size_t part = 0; part < kParts; ++part)
      read |= isOpen(byte.reads[part].epoch, part) && byte.reads[part].reader != self;
    if (isWritten) {
      if (read)
        problem("race: thread " + std::to_string(self) +
                " writes shared memory that another reads, with no barrier between");
      if (wrote && byte.value != content[offset] &&
          (byte.wasBarrier || !launch.acceptsDifferentWrites))
        problem("race: threads " + std::to_string(self) + " and " + std::to_string(byte.writer) +
                " write different values to one place of shared memory");
      if (byte.readingProducts)
        problem("race: thread " + std::to_string(self) +
                " writes shared memory that a product under way reads");
      if (byte.readingStores)
        problem("race: thread " + std::to_string(self) +
                " writes shared memory that a tensor store may still read");
      byte.writeEpoch = epoch;
      byte.writer = self;
      byte.value = content[offset];
      byte.isUnfenced = true;
      byte.arrival = -1;
      byte.wasBarrier = false;
      thread.unfenced.push_back(address + offset);
    } else {
      if (wrote)
        problem("race: thread " + std::to_string(self) +
                " reads shared memory that another writes, with no barrier between");
      noteRead(byte, self);
    }
  }
  if (site < 0) // not an instruction of the thread
    return;
  accesses[{site, self / int32_t(launch.lanes), thread.visits[site]++}].push_back(
      {address, count, self % int32_t(launch.lanes)});
  isStoreSite[site] = isWritten;
}

/// The lanes that act at once take a wavefront for each word of one bank.
void SimulatedBlock::countConflicts() {
  for (auto &[key, group] : accesses) {
    bool isStore = isStoreSite[std::get<0>(key)];
    ++(isStore ? report.sharedStores : report.sharedLoads);
    layout::BitSpan atOnce(launch.banks.lanesAtOnce(launch.lanes, group.front().bytes,
                                                    isStore ? layout::SharedDirection::Write
                                                            : layout::SharedDirection::Read));
    std::map<layout::Word, std::map<uint64_t, std::set<uint64_t>>> parts;
    for (const Access &access : group)
      for (int32_t offset = 0; offset < std::max(access.bytes, 4); offset += 4) {
        uint64_t word = (access.address + offset) / 4;
        parts[atOnce.smallest(layout::Word(access.lane))][word % launch.banks.count].insert(word);
      }
    for (auto &[part, byBank] : parts) {
      size_t wavefronts = 0;
      for (auto &[bank, words] : byBank)
        wavefronts = std::max(wavefronts, words.size());
      report.bankConflicts += wavefronts - 1;
    }
  }
}

} // namespace sectile::testing
