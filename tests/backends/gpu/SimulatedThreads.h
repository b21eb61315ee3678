//===-- SimulatedThreads.h - the threads of one block as fibres -------------------------------===//
// Behind SimulatedGpu.h. A fibre runs until it waits; when no fibre can run, those that wait are
// released where all that should meet have come, and if there are none the block is stuck.
#pragma once

#include "SimulatedGpu.h"
#include "lang/layout/BufferOperand.h"

#include <array>
#include <deque>
#include <random>
#include <ucontext.h>
#include <unordered_map>
#include <unordered_set>

namespace sectile::testing {

class SimulatedBlock {
public:
  /// Parts of a block that meet by themselves: two programs, and a producer.
  static constexpr size_t kParts = 3;

  using Entry = void (*)(void *table, uint64_t *slots);
  struct Launch {
    Entry entry = nullptr;
    uint64_t *slots = nullptr;
    unsigned warps = 1, lanes = 32;
    unsigned programWarps = 1; // the others of the block are another program's, or a producer's
    layout::SharedBanks banks = {};
    std::array<int32_t, 3> grid{1, 1, 1}, program{0, 0, 0};
    std::vector<std::pair<uint64_t, uint64_t>> arrays;
    std::pair<uint64_t, uint64_t> shared; // begin, end
    bool acceptsDifferentWrites = false;
    bool hasTensorMaps = false; // the host has made some
    uint64_t seed = 1;
  };
  SimulatedBlock(const Launch &launch, SimulatedReport &report);
  ~SimulatedBlock();
  void run();

private:
  enum class State : uint8_t {
    Ready,
    AtExchange,
    AtMatrix,
    AtMatrices,
    AtProduct,
    AtBarrier,
    AtMemoryBarrier,
    AtStores,
    Done
  };
  /// An operand of a product of several warps, in shared memory (0: in registers).
  struct ProductOperand {
    uint64_t start = 0;
    layout::BufferOperand place;
  };
  /// A product that several warps have started together.
  struct Product {
    const layout::MatrixInstruction *instruction;
    ProductOperand operands[2];
    /// As they were when it was started, row by row.
    std::vector<double> values[2];
    /// What comes out, row by row.
    std::shared_ptr<std::vector<double>> sums;
    /// The last thread for which it was done, and when; -2: several at that time.
    int32_t finisher = -1;
    int64_t finishEpoch = -1;
  };
  /// Sums of a product that is done.
  struct ProductSums {
    const layout::MatrixInstruction *instruction;
    std::shared_ptr<const std::vector<double>> values;
  };
  struct PendingCopy {
    uint64_t address;
    std::vector<uint8_t> content;
  };
  struct Thread {
    ucontext_t context;
    State state = State::Ready;
    int32_t site = 0, meeting = 0, barrier = 0;
    uint64_t value = 0, result = 0;
    int32_t source = 0;
    const layout::MatrixInstruction *instruction = nullptr;
    int32_t matrices = 0, isTransposed = 0;
    uint64_t *words = nullptr;
    uint64_t row = 0;
    uint32_t *rows = nullptr;
    std::vector<PendingCopy> copies;
    std::deque<std::vector<PendingCopy>> groups;
    int64_t exchanges = 0, barriers = 0, barriersOfAllMemory = 0, loads = 0, stores = 0;
    std::unordered_map<int32_t, int64_t> visits; // of each access to shared memory
    ProductOperand operands[2];
    /// By number; those that are done for this thread are null.
    std::vector<std::shared_ptr<Product>> products;
    /// Those that a wait for others has found done, until what they gave is asked for.
    std::unordered_map<unsigned, ProductSums> doneUnnamed;
    std::vector<unsigned> uncommitted;
    std::deque<std::vector<unsigned>> productGroups;
    bool hasBegun = false;
    std::vector<uint64_t> unfenced; // bytes of shared memory that it has stored
    std::vector<uint64_t> unfencedGlobal;
    /// Bytes of global memory that its tensor stores write: those that it has not waited for, and
    /// those that it has, without a fence behind.
    std::vector<uint64_t> unwritten, unfencedWritten;
    uint64_t memoryBarrier = 0; // that it waits at
    int32_t parity = 0;
    /// How often it has been at mbarrier_arrive, and how often, as it knows, all others of each
    /// part of the block have.
    int64_t rounds = 0;
    std::array<int64_t, kParts> roundsKnown{-1, -1, -1};
    bool areWritten = false; // what it waits for: its tensor stores are written, not read only
    /// Groups of its tensor stores: which it adds to, and the first that it does not wait for.
    int64_t storeGroup = 0, storesAwaited = 0;
  };
  /// Who of a part of the block has read a byte since its last barrier.
  struct Reads {
    int64_t epoch = -1;
    int64_t round = -1;  // Thread::rounds of the reader that has most
    int32_t reader = -1; // -2: several
  };
  /// What happened to a byte of shared memory since the last barrier.
  struct Byte {
    int64_t writeEpoch = -1;
    std::array<Reads, kParts> reads = {};
    int32_t writer = -1;
    uint8_t value = 0;
    bool isUnfenced = false; // for products that read it
    int64_t fenceEpoch = -1;
    int32_t readingProducts = 0, readingStores = 0;
    int32_t arrival = -1;    // which of `arrivals` has brought it
    bool isBarrier = false;  // of a memory barrier that is alive
    bool wasBarrier = false; // of one that has ended, and nobody has stored there since
  };
  /// 8 bytes of shared memory that count what copies of boxes bring.
  struct MemoryBarrier {
    bool isAlive = false;
    int32_t maker = -1; // the thread that has initialised it
    int64_t madeEpoch = -1;
    bool isFenced = false; // the engine sees it, and copies that others start in later epochs
    int64_t fenceEpoch = -1;
    struct Use {
      int32_t user = -1; // the last thread that has used it; -2: several in that epoch
      int64_t epoch = -1;
    };
    std::array<Use, kParts> uses = {}; // of threads of each part
    int64_t phase = 0;
    int32_t arrivals = 1, pendingArrivals = 1;
    /// The threads of a warp that are at mbarrier_arrive, how many of them arrive for all, and the
    /// fewest rounds that one of them has ended.
    struct Warp {
      unsigned threads = 0;
      int32_t arrivals = 0;
      int64_t rounds = 0;
    };
    std::map<unsigned, Warp> warps = {};
    /// The fewest rounds that threads of each part have ended which arrived in this phase, and in
    /// one that is over; -1: none.
    std::array<int64_t, kParts> rounds{-1, -1, -1}, roundsEnded{-1, -1, -1};
    int64_t pendingBytes = 0;
    int32_t arrival = -1;             // of the phase; -1: no copy has landed in it
    std::vector<int32_t> ended = {};  // arrivals of phases that have ended
    std::vector<int32_t> passed = {}; // that warps have seen which arrived in this phase
  };
  /// What copies have brought in one phase of a memory barrier, and the threads that know that it
  /// is there: they have waited for the phase, or met one that knew it.
  struct Arrival {
    std::vector<bool> knows;
    size_t knowing = 0;
  };
  /// When a thread has done something: the epoch, and its rounds; -1: it has not.
  struct Moment {
    int64_t epoch = -1, round = -1;
  };
  /// Who has stored a byte of global memory last, and when it was fenced.
  struct GlobalByte {
    int32_t writer = -1;
    Moment fenced = {};
  };
  /// The thread whose tensor store has written a byte of global memory last, when it had waited for
  /// that, and when it was fenced.
  struct StoredByte {
    int32_t storer = -1;
    Moment written = {}, fenced = {};
  };
  /// A copy or a store of a box that is under way: first it reads, then it lands.
  struct TensorCopy {
    const SimulatedTensorMap *by = nullptr;
    SimulatedTensorMap map;
    std::array<int64_t, SimulatedTensorMap::kMaxRank> start;
    uint64_t shared, barrier;
    int64_t phase;       // of the barrier when it was started
    int32_t storer = -1; // the thread that has started a store; -1: a copy to shared memory
    int64_t group = 0;   // of that thread's stores
    bool hasRead = false;
    std::vector<uint8_t> content; // row by row
    int64_t rows() const;
    int64_t rowBytes() const;
    /// Calls `visit(row, first byte of it, bytes, address)` for what of each row lies in the array,
    /// or is written.
    template <class Visit>
    void forEachRow(Visit visit) const;
    /// Calls `visit(number in content, address)` for each byte of shared memory.
    template <class Visit>
    void forEachPlace(Visit visit) const;
  };
  struct Access {
    uint64_t address;
    int32_t bytes;
    int32_t lane;
  };

  void start(unsigned thread);
  void wait();
  bool release();
  bool releaseWarps();
  bool releaseBarriers();
  bool releaseMemoryBarriers();
  bool isOver() const;
  std::string stuckText() const;
  void problem(const std::string &what);
  /// The running thread never goes on: that could end the process.
  void stop();
  /// Returns the part of the block that the thread is in; programs that share a block have one
  /// each, and a program and its producer.
  size_t partOf(int32_t thread) const {
    return std::min(size_t(thread) / (launch.programWarps * launch.lanes), kParts - 1);
  }
  /// Whether no barrier since that epoch has been of threads of that part, and of the running one.
  bool isOpen(int64_t then, size_t part) const {
    return then >= (part == partOf(int32_t(running)) ? metEpochs[part] : metEpoch);
  }
  Moment now() const { return {epoch, threads[running].rounds}; }
  /// Whether another thread has done that, and neither a barrier nor a memory barrier, at which it
  /// has arrived since and the running thread has waited, is between.
  bool isOpenOfOther(const Moment &then, int32_t thread) const {
    const size_t part = partOf(thread);
    return thread != int32_t(running) && isOpen(then.epoch, part) &&
           then.round >= threads[running].roundsKnown[part];
  }
  /// Whether another thread has written the byte, and no barrier is between.
  bool isWrittenByOther(const Byte &byte) const {
    return byte.writer >= 0 && byte.writer != int32_t(running) &&
           isOpen(byte.writeEpoch, partOf(byte.writer));
  }
  bool isFencedByOther(const Byte &byte) const {
    return byte.writer >= 0 && byte.writer != int32_t(running) &&
           isOpen(byte.fenceEpoch, partOf(byte.writer));
  }
  /// The thread, or one of several, has read the byte.
  void noteRead(Byte &byte, int32_t thread, bool isOneOfSeveral = false);
  void touchShared(uint64_t address, int32_t bytes, bool isWritten, int32_t site);
  void touchGlobal(uint64_t address, int32_t bytes, bool isWritten, bool predicate);
  bool isInArray(uint64_t address, int64_t bytes) const;
  void countConflicts();

  // The table.
  static int32_t threadIndex();
  static int32_t programIndex(int32_t axis);
  static int64_t clock();
  static int32_t programCount(int32_t axis);
  static uint64_t exchange(uint64_t value, int32_t source, int32_t site);
  static void barrier(int32_t threads, int32_t ordersAll, int32_t barrier, int32_t site);
  static void failAssertion(const char *message);
  static int32_t anyThread(int32_t truth, int32_t threads, int32_t barrier, int32_t site);
  static void global(uint64_t address, int32_t bytes, int32_t isWritten, int32_t predicate,
                     int32_t site);
  static void shared(uint64_t address, int32_t bytes, int32_t isWritten, int32_t site);
  static void matrix(uint64_t *fragments, const layout::MatrixInstruction *instruction,
                     int32_t site);
  static void asyncCopy(uint64_t shared, uint64_t global, int32_t bytes, int32_t valid);
  static void asyncCommit();
  static void asyncWait(int32_t pending);
  static void loadMatrices(uint64_t row, int32_t matrices, int32_t isTransposed, uint32_t *words,
                           int32_t site);
  static void productBegin();
  static void productStart(uint64_t *words, const layout::MatrixInstruction *instruction,
                           uint64_t a, uint64_t b, uint64_t placeOfA, uint64_t placeOfB,
                           int32_t site);
  static void productCommit();
  static void productWait(uint64_t *words, int32_t count, int32_t pending);
  static void proxyFence(int32_t isGlobal);
  static void barrierInit(uint64_t barrier, int32_t arrivals, int32_t predicate);
  static void barrierArrive(uint64_t barrier, int32_t predicate);
  static void barrierEnd(uint64_t barrier, int32_t predicate);
  static void barrierExpect(uint64_t barrier, int64_t bytes, int32_t predicate);
  static void barrierWait(uint64_t barrier, int32_t parity, int32_t predicate);
  static void tensorCopy(uint64_t shared, const SimulatedTensorMap *map, const int32_t *coordinates,
                         int32_t rank, uint64_t barrier, int32_t predicate);
  static void tensorStore(uint64_t shared, const SimulatedTensorMap *map,
                          const int32_t *coordinates, int32_t rank, int32_t predicate);
  static uint64_t mapsClaim(int32_t count, int32_t isHere);
  static void mapEdit(SimulatedTensorMap *map, uint64_t shared, const void *array, int32_t isFirst,
                      int32_t isHere);
  static void mapFence(SimulatedTensorMap *map, int32_t isHere);
  static void mapsRelease(SimulatedTensorMap *maps, int32_t count, int32_t isFirst);
  static void storesCommit();
  static void storesWait(int32_t areWritten, int32_t pending);
  static void trampoline();
  /// Code calls back without a context of its own.
  static SimulatedBlock *&current();

  void multiply(Thread *lanes);
  static void readMatrices(llvm::MutableArrayRef<Thread> lanes);
  bool releaseProducts();
  /// Returns the sums of a product that is under way, or done and not asked for; of others nothing.
  static ProductSums sumsOf(const Thread &thread, unsigned product);
  void startProduct(llvm::MutableArrayRef<Thread> group);
  void finishProduct(Thread &thread, unsigned number);
  /// Calls `visit(number, address)` for the elements of an operand, row by row.
  template <class Visit>
  static void forEachPlace(const Product &product, layout::MatrixSide side, Visit visit);
  double readElement(uint64_t address, layout::MatrixElement element);

  std::string placeText(uint64_t address) const;
  /// Returns the memory barrier that the running thread uses; where there is none the thread stops.
  MemoryBarrier &usedBarrier(uint64_t address, const char *use);
  void noteUse(MemoryBarrier &barrier, int32_t thread);
  void endPhaseIfDone(MemoryBarrier &barrier);
  bool knows(unsigned thread, int32_t arrival) const;
  void learn(unsigned thread, int32_t arrival);
  void learnPhases(unsigned thread, const MemoryBarrier &barrier);
  /// The threads have met: each knows what any of them knew.
  void shareArrivals(const std::vector<Thread *> &group);
  /// The thread must have stored and read nothing there that the engine could miss or disturb.
  void claimForCopy(uint64_t address);
  bool advanceCopies(bool mustMove);
  /// Returns the box that the running thread names, which is one that the engine can do; otherwise
  /// the thread stops. `text` is what it does.
  TensorCopy boxAt(const SimulatedTensorMap *map, const int32_t *coordinates, int32_t rank,
                   uint64_t shared, const std::string &text);
  /// What threads have stored in the box is fenced, if `isStart` with a barrier behind.
  void checkStoresIn(const TensorCopy &copy, bool isStart);
  void readBox(TensorCopy &copy);
  void land(const TensorCopy &copy);
  // SimulatedEditedMaps.cpp
  bool isUnderWay(const SimulatedTensorMap *map) const;
  /// Whether the running thread is one of the warp that starts copies in its part of the block.
  bool isOfCopyingWarp() const;
  // SimulatedTensorStores.cpp
  void claimForStore(uint64_t address);
  void readStage(TensorCopy &store);
  void write(const TensorCopy &store);
  /// Whether the thread's stores are as far as it waits for.
  bool areStoresDone(unsigned thread) const;
  void endStores(unsigned thread);
  bool releaseStores();
  void checkEnd();

  const Launch &launch;
  SimulatedReport &report;
  std::vector<Thread> threads;
  ucontext_t scheduler;
  unsigned running = 0;
  /// Counts barriers; that of the last one of the whole block, and of the last ones that threads of
  /// each part have come past.
  int64_t epoch = 0, metEpoch = 0;
  std::array<int64_t, kParts> metEpochs{0, 0, 0};
  std::unordered_map<uint64_t, Byte> bytes;
  std::unordered_set<uint64_t> inFlight;            // bytes that asynchronous copies will write
  std::map<uint64_t, MemoryBarrier> memoryBarriers; // by their addresses
  std::vector<Arrival> arrivals;
  std::vector<int32_t> openArrivals; // those that some threads do not know
  std::vector<TensorCopy> tensorCopies;
  std::unordered_map<uint64_t, GlobalByte> storedGlobal; // where there are tensor maps
  /// Maps that a program has claimed, or a producer; none: it has given them back.
  struct EditedMaps {
    std::unique_ptr<SimulatedTensorMap[]> maps;
    bool areReleased = false;
  };
  std::map<size_t, EditedMaps> editedMaps; // by the part of the block
  /// What tensor stores write: the bytes, and those that no thread has seen written.
  std::unordered_map<uint64_t, StoredByte> tensorStored;
  std::unordered_set<uint64_t> unorderedStored;
  /// What tensor stores read, and nobody has waited for, with the thread that has started them.
  struct UnreadStored {
    uint64_t address;
    unsigned thread;
    int64_t group;
  };
  std::vector<UnreadStored> unreadStored;
  std::mt19937_64 random;
  /// By (site, warp, how often the thread has been there): what the lanes touch together.
  std::map<std::tuple<int32_t, int32_t, int64_t>, std::vector<Access>> accesses;
  std::map<int32_t, bool> isStoreSite;
  uint8_t *stacks = nullptr;
};

template <class Visit>
void SimulatedBlock::TensorCopy::forEachRow(Visit visit) const {
  const auto last = size_t(map.rank - 1);
  const int64_t begin = std::max<int64_t>(0, -start[last]),
                // The engine of an H200 writes rows to the end of their last 16 bytes.
      piece = storer < 0 ? 1 : SimulatedTensorMap::kPieceBytes / map.elementBytes,
                end = std::min<int64_t>(
                    map.box[last], (map.extents[last] + piece - 1) / piece * piece - start[last]);
  if (begin >= end)
    return;
  for (int64_t row = 0; row < rows(); ++row) {
    int64_t rest = row, element = start[last] + begin;
    bool isInside = true;
    for (size_t dim = last; dim-- > 0;) {
      int64_t coordinate = start[dim] + rest % map.box[dim];
      rest /= map.box[dim];
      isInside &= coordinate >= 0 && coordinate < map.extents[dim];
      element += coordinate * map.strides[dim];
    }
    if (isInside)
      visit(row, begin * map.elementBytes, (end - begin) * map.elementBytes,
            map.base + uint64_t(element * map.elementBytes));
  }
}

/// Rows lie one after another, each in as many bytes as pieces change places within; the engine
/// xors the number of a piece by the address alone.
template <class Visit>
void SimulatedBlock::TensorCopy::forEachPlace(Visit visit) const {
  const auto pieces = uint64_t(map.swizzleBytes / SimulatedTensorMap::kPieceBytes);
  for (int64_t row = 0; row < rows(); ++row)
    for (int64_t byte = 0; byte < rowBytes(); ++byte) {
      uint64_t address = shared + uint64_t(row * map.swizzleBytes + byte);
      address ^= (address >> 7 & (pieces - 1)) << 4;
      visit(size_t(row * rowBytes() + byte), address);
    }
}

/// The number that an element's bits stand for, and the bits of a sum.
double decoded(uint64_t bits, layout::MatrixElement element);
uint64_t encoded(double value, layout::MatrixElement element);

} // namespace sectile::testing
