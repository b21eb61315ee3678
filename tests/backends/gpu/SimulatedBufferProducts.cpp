// wgmma of the simulated GPU: emitted as calls, and what they do. What a product gives is a token
// until a wait gives the number, so code that takes it too early computes nonsense. Operands are
// read when the product is started; until it is done nobody may write them, and what threads have
// stored must have been fenced, with a barrier behind the fence, and for what copies of boxes have
// brought every thread of the product must have waited.
#include "SimulatedThreads.h"
#include "lang/layout/NvidiaMatrixInstructions.h"

#include "llvm/IR/Module.h"

namespace sectile::testing {

using layout::Dim;
using layout::MatrixInstruction;
using layout::MatrixSide;

namespace {

/// A quiet NaN of f32 with the number of a product, from 1 on, and that of one of its registers.
constexpr uint32_t kToken = 0x7fc00000, kTokenMask = 0x7fc00000;
constexpr unsigned kRegisterBits = 9, kProductBits = 13;

uint32_t tokenOf(unsigned product, unsigned reg) {
  return kToken | ((product + 1) & ((1u << kProductBits) - 1)) << kRegisterBits | reg;
}

struct Token {
  unsigned product, reg;
};
std::optional<Token> readToken(uint32_t word) {
  unsigned number = (word & ~kTokenMask) >> kRegisterBits;
  if ((word & kTokenMask) != kToken || !number || word >> 31)
    return std::nullopt;
  return Token{number - 1, word & ((1u << kRegisterBits) - 1)};
}

//===-- Emission ------------------------------------------------------------------------------===//

class SimulatedBufferProducts final : public gpu::BufferProducts {
public:
  using Values = llvm::SmallVector<llvm::Value *, 4>;
  explicit SimulatedBufferProducts(bool hasTurns) : hasTurns(hasTurns) {}

  layout::MatrixInstructions instructions(const layout::MatrixElements &elements) const override {
    return layout::instructionsFor(layout::wgmmaInstructions(), elements);
  }

  const MatrixInstruction *named(llvm::StringRef name) const override {
    return layout::instructionNamed(layout::wgmmaInstructions(), name);
  }

  /// Few, so that random kernels of small tiles take turns, too.
  int64_t leastTurnWords() const override { return hasTurns ? 32 : 0; }

  Values begin(llvm::IRBuilderBase &builder, llvm::ArrayRef<llvm::Value *> values) const override {
    emitSimulatedCall(builder, SimulatedCall::ProductBegin, builder.getVoidTy(), {});
    return Values(values);
  }

  Values start(llvm::IRBuilderBase &builder, const MatrixInstruction &instruction, const Operand &a,
               const Operand &b, llvm::ArrayRef<llvm::Value *> acc, bool isFresh) const override {
    llvm::SmallVector<llvm::Value *, 16> all(acc);
    all.append(a.words.begin(), a.words.end());
    llvm::Value *words = stored(builder, all);
    // The table is alive as long as the code.
    auto *which = llvm::ConstantExpr::getIntToPtr(
        builder.getInt64(reinterpret_cast<uint64_t>(&instruction)), builder.getPtrTy());
    emitSimulatedCall(builder, SimulatedCall::ProductStart, builder.getVoidTy(),
                      {words, which, addressOf(builder, a), addressOf(builder, b),
                       packed(builder, a.place), packed(builder, b.place),
                       nextSite(*builder.GetInsertBlock()->getModule())});
    return loaded(builder, words, acc);
  }

  void commit(llvm::IRBuilderBase &builder) const override {
    emitSimulatedCall(builder, SimulatedCall::ProductCommit, builder.getVoidTy(), {});
  }

  Values wait(llvm::IRBuilderBase &builder, unsigned pending, llvm::ArrayRef<llvm::Value *> values,
              bool isPinned) const override {
    llvm::Value *words = stored(builder, values);
    emitSimulatedCall(
        builder, SimulatedCall::ProductWait, builder.getVoidTy(),
        {words, builder.getInt32(uint32_t(values.size())), builder.getInt32(pending)});
    return loaded(builder, words, values);
  }

  void fence(llvm::IRBuilderBase &builder) const override {
    emitSimulatedCall(builder, SimulatedCall::ProxyFence, builder.getVoidTy(),
                      {builder.getInt32(0)});
  }

private:
  static llvm::Value *stored(llvm::IRBuilderBase &builder, llvm::ArrayRef<llvm::Value *> values) {
    llvm::Type *word = builder.getInt64Ty();
    llvm::Value *array = localArray(builder, word, std::max<unsigned>(1, values.size()));
    for (auto [number, value] : llvm::enumerate(values))
      builder.CreateStore(
          builder.CreateZExt(builder.CreateBitCast(value, builder.getInt32Ty()), word),
          builder.CreateConstGEP1_32(word, array, unsigned(number)));
    return array;
  }

  static Values loaded(llvm::IRBuilderBase &builder, llvm::Value *array,
                       llvm::ArrayRef<llvm::Value *> like) {
    llvm::Type *word = builder.getInt64Ty();
    Values values;
    for (auto [number, value] : llvm::enumerate(like)) {
      llvm::Value *bits =
          builder.CreateLoad(word, builder.CreateConstGEP1_32(word, array, unsigned(number)));
      values.push_back(
          builder.CreateBitCast(builder.CreateTrunc(bits, builder.getInt32Ty()), value->getType()));
    }
    return values;
  }

  static llvm::Value *addressOf(llvm::IRBuilderBase &builder, const Operand &operand) {
    if (!operand.start)
      return builder.getInt64(0);
    return builder.CreateAdd(
        builder.CreatePtrToInt(plainPointer(builder, operand.start), builder.getInt64Ty()),
        builder.getInt64(uint64_t(operand.offset)));
  }

  static llvm::Value *packed(llvm::IRBuilderBase &builder, const layout::BufferOperand &place) {
    return builder.getInt64(uint64_t(place.panelBytes) | uint64_t(place.isDepthContiguous) << 16 |
                            uint64_t(place.panelStride) << 32);
  }

  bool hasTurns;
};

layout::BufferOperand unpacked(uint64_t place) {
  return {.panelBytes = int64_t(place & 0xffff),
          .panelStride = int64_t(place >> 32),
          .isDepthContiguous = bool(place >> 16 & 1)};
}

} // namespace

const gpu::BufferProducts *SimulatedTarget::bufferProducts() const {
  static const SimulatedBufferProducts products(/*hasTurns=*/false), withTurns(true);
  return !abilities.bufferProducts || laneCount != 32 ? nullptr
         : abilities.turns                            ? &withTurns
                                                      : &products;
}

//===-- What they do --------------------------------------------------------------------------===//

void SimulatedBlock::productBegin() {
  current()->threads[current()->running].hasBegun = true;
}

void SimulatedBlock::productStart(uint64_t *words, const MatrixInstruction *instruction, uint64_t a,
                                  uint64_t b, uint64_t placeOfA, uint64_t placeOfB, int32_t site) {
  SimulatedBlock &block = *current();
  Thread &thread = block.threads[block.running];
  if (!thread.hasBegun)
    block.problem("a product is started, and no fence of the warps' registers stands before it");
  thread.words = words;
  thread.instruction = instruction;
  thread.operands[0] = {a, unpacked(placeOfA)};
  thread.operands[1] = {b, unpacked(placeOfB)};
  thread.site = site;
  thread.state = State::AtProduct;
  block.wait();
}

bool SimulatedBlock::releaseProducts() {
  bool moved = false;
  constexpr unsigned kWarps = 4;
  for (unsigned first = 0; first + kWarps <= launch.warps; first += kWarps) {
    llvm::MutableArrayRef<Thread> group(&threads[first * launch.lanes], kWarps * launch.lanes);
    if (!llvm::all_of(group, [&](const Thread &thread) {
          return thread.state == State::AtProduct && thread.site == group.front().site;
        }))
      continue;
    startProduct(group);
    for (Thread &thread : group)
      thread.state = State::Ready;
    moved = true;
  }
  return moved;
}

template <class Visit>
void SimulatedBlock::forEachPlace(const Product &product, MatrixSide side, Visit visit) {
  const MatrixInstruction &one = *product.instruction;
  const ProductOperand &operand = product.operands[side == MatrixSide::Rhs];
  const bool isLhs = side == MatrixSide::Lhs;
  const int64_t rows = isLhs ? one.m : one.k, columns = isLhs ? one.k : one.n;
  const int64_t bytes = layout::bitsOf(one.elementOf(side)) / 8, panel = operand.place.panelBytes;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      int64_t depth = isLhs ? column : row, outer = isLhs ? row : column;
      int64_t along = bytes * (operand.place.isDepthContiguous ? depth : outer),
              across = operand.place.isDepthContiguous ? outer : depth;
      uint64_t address = operand.start + uint64_t(along / panel * operand.place.panelStride +
                                                  across * panel + along % panel);
      // The unit swizzles by the address alone.
      address ^= (address >> 7 & uint64_t(panel / 16 - 1)) << 4;
      visit(row * columns + column, address);
    }
}

double SimulatedBlock::readElement(uint64_t address, layout::MatrixElement element) {
  unsigned bytes = layout::bitsOf(element) / 8;
  uint64_t bits = 0;
  std::memcpy(&bits, reinterpret_cast<const void *>(address), bytes);
  return decoded(bits, element);
}

SimulatedBlock::ProductSums SimulatedBlock::sumsOf(const Thread &thread, unsigned product) {
  if (const auto &started = thread.products[product])
    return {started->instruction, started->sums};
  auto found = thread.doneUnnamed.find(product);
  return found == thread.doneUnnamed.end() ? ProductSums{} : found->second;
}

/// Returns the row-major number, in m x n, of what a thread of the group has in a register.
static uint64_t sumOf(const MatrixInstruction &one, uint64_t thread, uint64_t reg) {
  const uint64_t registers = one.acc.inSize(Dim::Register), columns = one.acc.getOutDimSize(1);
  const uint64_t in = thread << one.acc.inBits(Dim::Register) | reg % registers;
  const uint64_t element = one.acc.apply(layout::Word(in));
  return element / columns * uint64_t(one.n) + reg / registers * columns + element % columns;
}

void SimulatedBlock::startProduct(llvm::MutableArrayRef<Thread> group) {
  const Thread &first = group.front();
  running = unsigned(&first - threads.data());
  auto product = std::make_shared<Product>();
  product->instruction = first.instruction;
  const MatrixInstruction &one = *product->instruction;
  for (int side : {0, 1}) {
    product->operands[side] = first.operands[side];
    for (const Thread &thread : group)
      if (thread.operands[side].start != first.operands[side].start)
        problem("the warps of a product give it different addresses");
  }
  const auto sums = unsigned(one.accRegisters());
  int32_t known = -1; // an arrival that all the threads know, or that is reported
  for (MatrixSide side : {MatrixSide::Lhs, MatrixSide::Rhs}) {
    std::vector<double> &values = product->values[side == MatrixSide::Rhs];
    layout::MatrixElement element = one.elementOf(side);
    if (product->operands[side == MatrixSide::Rhs].start) {
      forEachPlace(*product, side, [&](int64_t, uint64_t address) {
        unsigned bytes = layout::bitsOf(element) / 8;
        if (address < launch.shared.first || address + bytes > launch.shared.second)
          return problem("a product reads outside shared memory");
        for (unsigned offset = 0; offset < bytes; ++offset) {
          Byte &byte = this->bytes[address + offset];
          if (inFlight.contains(address + offset))
            problem("race: a product reads shared memory that an asynchronous copy is writing");
          if (byte.writer >= 0 && isOpen(byte.writeEpoch, partOf(byte.writer)))
            problem("race: a product reads shared memory that a thread writes, with no barrier "
                    "between");
          if (byte.isUnfenced)
            problem("a product reads what a thread has stored without a fence");
          else if (byte.writer >= 0 && isOpen(byte.fenceEpoch, partOf(byte.writer)))
            problem("a product reads what a thread has stored with no barrier behind its fence");
          if (byte.isBarrier)
            problem("a product reads shared memory where a memory barrier lives");
          if (byte.arrival != known) {
            for (const Thread &thread : group)
              if (!knows(unsigned(&thread - threads.data()), byte.arrival))
                problem("race: a product reads shared memory that a tensor copy has filled, and "
                        "not all its threads have waited for it");
            known = byte.arrival;
          }
          noteRead(byte, int32_t(running), /*isOneOfSeveral=*/true);
          ++byte.readingProducts;
        }
        values.push_back(readElement(address, element));
      });
      continue;
    }
    values.resize(size_t(1) << one.lhs.totalOutBits());
    const unsigned bits = layout::bitsOf(element), perWord = 32 / bits;
    for (auto [number, thread] : llvm::enumerate(group))
      for (unsigned reg = 0; reg < one.lhs.inSize(Dim::Register); ++reg) {
        layout::Word in = layout::Word(number) << one.lhs.inBits(Dim::Register) | reg;
        uint64_t word = thread.words[sums + reg / perWord] >> reg % perWord * bits;
        values[one.lhs.apply(in)] = decoded(word & ((uint64_t(1) << bits) - 1), element);
      }
  }
  // Sums of products under way are theirs already: of one accumulator, they are done in order.
  product->sums = std::make_shared<std::vector<double>>(size_t(one.m * one.n));
  for (auto [number, thread] : llvm::enumerate(group)) {
    unsigned own = thread.products.size();
    llvm::SmallDenseSet<unsigned> added;
    for (unsigned reg = 0; reg < sums; ++reg) {
      const uint64_t element = sumOf(one, number, reg);
      auto word = uint32_t(thread.words[reg]);
      double total = decoded(word, one.elements.acc);
      if (std::optional<Token> token = readToken(word);
          token && token->product < own && token->reg == reg) {
        ProductSums before = sumsOf(thread, token->product);
        if (before.instruction == &one) {
          total = (*before.values)[element];
          added.insert(token->product);
        }
      }
      int64_t row = int64_t(element) / one.n, column = int64_t(element) % one.n;
      for (int64_t k = 0; k < one.k; ++k)
        total += product->values[0][row * one.k + k] * product->values[1][k * one.n + column];
      (*product->sums)[element] = decoded(encoded(total, one.elements.acc), one.elements.acc);
      thread.words[reg] = tokenOf(own, reg);
    }
    for (unsigned before : added)
      thread.doneUnnamed.erase(before);
    thread.products.push_back(product);
    thread.uncommitted.push_back(own);
  }
}

void SimulatedBlock::productCommit() {
  Thread &thread = current()->threads[current()->running];
  thread.productGroups.push_back(std::move(thread.uncommitted));
  thread.uncommitted.clear();
  thread.hasBegun = false;
}

void SimulatedBlock::finishProduct(Thread &thread, unsigned number) {
  std::shared_ptr<Product> product = std::move(thread.products[number]);
  thread.products[number] = nullptr;
  auto self = int32_t(&thread - threads.data());
  const bool isFirst = product->finishEpoch < metEpochs[partOf(self)] || product->finisher == self;
  product->finisher = isFirst ? self : -2;
  product->finishEpoch = epoch;
  if (product.use_count() > 1) // other threads have not waited
    return;
  for (MatrixSide side : {MatrixSide::Lhs, MatrixSide::Rhs})
    if (product->operands[side == MatrixSide::Rhs].start)
      forEachPlace(*product, side, [&](int64_t, uint64_t address) {
        unsigned bytes = layout::bitsOf(product->instruction->elementOf(side)) / 8;
        for (unsigned offset = 0; offset < bytes; ++offset) {
          Byte &byte = this->bytes[address + offset];
          --byte.readingProducts;
          // The threads that have waited know of their own parts of it.
          noteRead(byte, self, /*isOneOfSeveral=*/product->finisher != self);
        }
      });
}

void SimulatedBlock::productWait(uint64_t *words, int32_t count, int32_t pending) {
  SimulatedBlock &block = *current();
  Thread &thread = block.threads[block.running];
  std::vector<unsigned> done;
  while (int32_t(thread.productGroups.size()) > pending) {
    done.insert(done.end(), thread.productGroups.front().begin(),
                thread.productGroups.front().end());
    thread.productGroups.pop_front();
  }
  for (unsigned number : done)
    thread.doneUnnamed[number] = sumsOf(thread, number);
  const unsigned inGroup = block.running % (4 * block.launch.lanes);
  llvm::SmallDenseSet<unsigned> named;
  for (int32_t i = 0; i < count; ++i) {
    std::optional<Token> token = readToken(uint32_t(words[i]));
    auto found = token ? thread.doneUnnamed.find(token->product) : thread.doneUnnamed.end();
    if (found == thread.doneUnnamed.end())
      continue;
    const ProductSums &sums = found->second;
    words[i] = encoded((*sums.values)[sumOf(*sums.instruction, inGroup, token->reg)],
                       sums.instruction->elements.acc);
    named.insert(token->product);
  }
  for (unsigned number : named)
    thread.doneUnnamed.erase(number);
  for (unsigned number : done)
    block.finishProduct(thread, number);
}

void SimulatedBlock::proxyFence(int32_t isGlobal) {
  SimulatedBlock &block = *current();
  Thread &thread = block.threads[block.running];
  for (uint64_t address : thread.unfenced) {
    Byte &byte = block.bytes[address];
    // Another thread may have stored there since.
    if (byte.writer != int32_t(block.running))
      continue;
    byte.isUnfenced = false;
    byte.fenceEpoch = block.epoch;
  }
  for (auto &[address, barrier] : block.memoryBarriers)
    if (barrier.maker == int32_t(block.running) && !barrier.isFenced) {
      barrier.isFenced = true;
      barrier.fenceEpoch = block.epoch;
    }
  thread.unfenced.clear();
  if (!isGlobal)
    return;
  for (uint64_t address : thread.unfencedGlobal)
    if (GlobalByte &byte = block.storedGlobal[address]; byte.writer == int32_t(block.running))
      byte.fenced = block.now();
  thread.unfencedGlobal.clear();
  for (uint64_t address : thread.unfencedWritten)
    if (StoredByte &byte = block.tensorStored[address]; byte.storer == int32_t(block.running))
      byte.fenced = block.now();
  thread.unfencedWritten.clear();
}

} // namespace sectile::testing
