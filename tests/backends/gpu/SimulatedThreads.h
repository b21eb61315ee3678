//===-- SimulatedThreads.h - the threads of one block as fibres -------------------------------===//
// Behind SimulatedGpu.h. A fibre runs until it waits; when no fibre can run, those that wait are
// released where all that should meet have come, and if there are none the block is stuck.
#pragma once

#include "SimulatedGpu.h"
#include "lang/layout/BufferOperand.h"

#include <array>
#include <deque>
#include <ucontext.h>
#include <unordered_map>
#include <unordered_set>

namespace sectile::testing {

class SimulatedBlock {
public:
  using Entry = void (*)(void *table, uint64_t *slots);
  struct Launch {
    Entry entry = nullptr;
    uint64_t *slots = nullptr;
    unsigned warps = 1, lanes = 32;
    layout::SharedBanks banks = {};
    std::array<int32_t, 3> grid{1, 1, 1}, program{0, 0, 0};
    std::vector<std::pair<uint64_t, uint64_t>> arrays;
    std::pair<uint64_t, uint64_t> shared; // begin, end
    bool acceptsDifferentWrites = false;
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
    /// As they were when it was started, row by row, and what comes out.
    std::vector<double> values[2], sums;
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
    std::vector<unsigned> uncommitted;
    std::deque<std::vector<unsigned>> productGroups;
    bool hasBegun = false;
    std::vector<uint64_t> unfenced; // bytes that it has stored
  };
  /// What happened to a byte of shared memory since the last barrier.
  struct Byte {
    int64_t writeEpoch = -1, readEpoch = -1;
    int32_t writer = -1, reader = -1; // reader -2: several
    uint8_t value = 0;
    bool isUnfenced = false; // for products that read it
    int64_t fenceEpoch = -1;
    int32_t readingProducts = 0;
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
  void problem(const std::string &what);
  /// The running thread never goes on: that could end the process.
  void stop();
  void touchShared(uint64_t address, int32_t bytes, bool isWritten, int32_t site);
  void touchGlobal(uint64_t address, int32_t bytes, bool isWritten, bool predicate);
  void countConflicts();

  // The table.
  static int32_t threadIndex();
  static int32_t programIndex(int32_t axis);
  static int64_t clock();
  static int32_t programCount(int32_t axis);
  static uint64_t exchange(uint64_t value, int32_t source, int32_t site);
  static void barrier(int32_t threads, int32_t ordersAll, int32_t barrier, int32_t site);
  static int32_t anyThread(int32_t truth, int32_t threads, int32_t barrier, int32_t site);
  static void global(uint64_t address, int32_t bytes, int32_t isWritten, int32_t predicate,
                     int32_t site);
  static void shared(uint64_t address, int32_t bytes, int32_t isWritten, int32_t site);
  static void matrix(uint64_t *fragments, const layout::MatrixInstruction *instruction,
                     int32_t site);
  static void asyncCopy(uint64_t shared, uint64_t global, int32_t bytes, int32_t predicate);
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
  static void proxyFence();
  static void trampoline();
  /// Code calls back without a context of its own.
  static SimulatedBlock *&current();

  void multiply(Thread *lanes);
  static void readMatrices(Thread *lanes);
  bool releaseProducts();
  void startProduct(llvm::MutableArrayRef<Thread> group);
  void finishProduct(Thread &thread, unsigned number);
  /// Calls `visit(number, address)` for the elements of an operand, row by row.
  template <class Visit>
  static void forEachPlace(const Product &product, layout::MatrixSide side, Visit visit);
  double readElement(uint64_t address, layout::MatrixElement element);

  const Launch &launch;
  SimulatedReport &report;
  std::vector<Thread> threads;
  ucontext_t scheduler;
  unsigned running = 0;
  int64_t epoch = 0;
  std::unordered_map<uint64_t, Byte> bytes;
  std::unordered_set<uint64_t> inFlight; // bytes that asynchronous copies will write
  /// By (site, warp, how often the thread has been there): what the lanes touch together.
  std::map<std::tuple<int32_t, int32_t, int64_t>, std::vector<Access>> accesses;
  std::map<int32_t, bool> isStoreSite;
  uint8_t *stacks = nullptr;
};

/// The number that an element's bits stand for, and the bits of a sum.
double decoded(uint64_t bits, layout::MatrixElement element);
uint64_t encoded(double value, layout::MatrixElement element);

} // namespace sectile::testing
