// Matrix instructions, cp.async and ldmatrix of the simulated GPU: emitted as calls, and what they
// do. Matrix instructions are those of lang/layout's tables, which tests compare with the makers'
// documents. Copies land at the wait for them and not before, and
// until then nobody may touch their bytes: code that waits too little is found whatever the
// hardware does.
#include "SimulatedThreads.h"
#include "lang/layout/AmdMatrixInstructions.h"
#include "lang/layout/NvidiaMatrixInstructions.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/IR/Module.h"

namespace sectile::testing {

using layout::Dim;
using layout::MatrixElement;
using layout::MatrixInstruction;
using layout::MatrixSide;

llvm::Value *localArray(llvm::IRBuilderBase &builder, llvm::Type *type, unsigned count) {
  llvm::IRBuilder<>::InsertPointGuard guard(builder);
  llvm::BasicBlock &entry = builder.GetInsertBlock()->getParent()->getEntryBlock();
  builder.SetInsertPoint(&entry, entry.begin());
  return builder.CreateAlloca(llvm::ArrayType::get(type, count));
}

llvm::Value *plainPointer(llvm::IRBuilderBase &builder, llvm::Value *pointer) {
  return builder.CreateAddrSpaceCast(pointer, builder.getPtrTy());
}

double decoded(uint64_t bits, MatrixElement element) {
  auto by = [&](const llvm::fltSemantics &semantics) {
    bool inexact = false;
    llvm::APFloat value(semantics, llvm::APInt(layout::bitsOf(element), bits, false, true));
    value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    return value.convertToDouble();
  };
  switch (element) {
  case MatrixElement::F16:
    return by(llvm::APFloat::IEEEhalf());
  case MatrixElement::BF16:
    return by(llvm::APFloat::BFloat());
  case MatrixElement::E4M3:
    return by(llvm::APFloat::Float8E4M3FN());
  case MatrixElement::E5M2:
    return by(llvm::APFloat::Float8E5M2());
  case MatrixElement::E4M3Fnuz:
    return by(llvm::APFloat::Float8E4M3FNUZ());
  case MatrixElement::E5M2Fnuz:
    return by(llvm::APFloat::Float8E5M2FNUZ());
  case MatrixElement::F64:
    return by(llvm::APFloat::IEEEdouble());
  case MatrixElement::Tf32: // the lowest 13 bits are not looked at
    return llvm::bit_cast<float>(uint32_t(bits) & 0xffffe000u);
  case MatrixElement::F32:
    return llvm::bit_cast<float>(uint32_t(bits));
  case MatrixElement::I8:
    return int8_t(bits);
  case MatrixElement::I32:
    return int32_t(bits);
  }
  return 0;
}

uint64_t encoded(double value, MatrixElement element) {
  if (element == MatrixElement::F64)
    return llvm::bit_cast<uint64_t>(value);
  if (element == MatrixElement::I32)
    return uint32_t(int64_t(value));
  return llvm::bit_cast<uint32_t>(float(value));
}

namespace {

//===-- Emission ------------------------------------------------------------------------------===//

class SimulatedProducts final : public gpu::MatrixProducts {
public:
  explicit SimulatedProducts(llvm::ArrayRef<MatrixInstruction> table) : table(table) {}

  layout::MatrixInstructions instructions(const layout::MatrixElements &elements) const override {
    return layout::instructionsFor(table, elements);
  }
  bool keepsSubnormals() const override { return true; }

  llvm::SmallVector<llvm::Value *, 4> multiply(llvm::IRBuilderBase &builder,
                                               const MatrixInstruction &instruction,
                                               llvm::ArrayRef<llvm::Value *> a,
                                               llvm::ArrayRef<llvm::Value *> b,
                                               llvm::ArrayRef<llvm::Value *> acc) const override {
    llvm::Type *word = builder.getInt64Ty(), *accType = acc.front()->getType();
    llvm::Value *array = localArray(builder, word, a.size() + b.size() + acc.size());
    unsigned next = 0;
    auto slot = [&](unsigned number) { return builder.CreateConstGEP1_32(word, array, number); };
    for (llvm::ArrayRef<llvm::Value *> values : {a, b, acc})
      for (llvm::Value *value : values) {
        auto *bits = builder.getIntNTy(value->getType()->getPrimitiveSizeInBits());
        builder.CreateStore(builder.CreateZExt(builder.CreateBitCast(value, bits), word),
                            slot(next++));
      }
    // The table is alive as long as the code.
    auto *which = llvm::ConstantExpr::getIntToPtr(
        builder.getInt64(reinterpret_cast<uint64_t>(&instruction)), builder.getPtrTy());
    emitSimulatedCall(builder, SimulatedCall::Matrix, builder.getVoidTy(),
                      {array, which, nextSite(*builder.GetInsertBlock()->getModule())});
    llvm::SmallVector<llvm::Value *, 4> sums;
    for (unsigned i = 0; i < acc.size(); ++i) {
      llvm::Value *bits = builder.CreateLoad(word, slot(next - acc.size() + i));
      auto *narrow = builder.getIntNTy(accType->getPrimitiveSizeInBits());
      sums.push_back(builder.CreateBitCast(builder.CreateTrunc(bits, narrow), accType));
    }
    return sums;
  }

private:
  llvm::ArrayRef<MatrixInstruction> table;
};

class SimulatedRounding final : public gpu::Tf32Rounding {
public:
  llvm::Value *round(llvm::IRBuilderBase &builder, llvm::Value *value) const override {
    llvm::Value *bits = builder.CreateBitCast(value, builder.getInt32Ty());
    bits = builder.CreateAnd(builder.CreateAdd(bits, builder.getInt32(0x1000)), 0xffffe000u);
    return builder.CreateBitCast(bits, builder.getFloatTy());
  }
};

class SimulatedCopies final : public gpu::AsyncCopies {
public:
  SimulatedCopies(const SimulatedTarget &target, bool areOfWarps)
      : target(target), areOfWarps(areOfWarps) {}

  optimizer::AsyncKind kind() const override {
    return areOfWarps ? optimizer::AsyncKind::WholeWarps : optimizer::AsyncKind::PerLane;
  }

  void copy(llvm::IRBuilderBase &builder, llvm::Value *shared, const gpu::GlobalAccess &access,
            unsigned bytes, llvm::Value *validBytes) const override {
    if (areOfWarps) {
      llvm::Value *lane =
          builder.CreateURem(target.threadIndex(builder), builder.getInt32(target.laneCount));
      shared = builder.CreatePtrAdd(shared, builder.CreateMul(lane, builder.getInt32(bytes)));
    }
    if (access.predicate)
      validBytes =
          builder.CreateSelect(access.predicate, builder.getInt32(bytes), builder.getInt32(0));
    else if (!validBytes)
      validBytes = builder.getInt32(bytes);
    emitSimulatedCall(builder, SimulatedCall::AsyncCopy, builder.getVoidTy(),
                      {plainPointer(builder, shared),
                       plainPointer(builder, globalAddress(builder, access)),
                       builder.getInt32(bytes), validBytes});
  }

  llvm::AAMDNodes aliasingOfReads(llvm::LLVMContext &) const override { return llvm::AAMDNodes(); }

  void commit(llvm::IRBuilderBase &builder) const override {
    emitSimulatedCall(builder, SimulatedCall::AsyncCommit, builder.getVoidTy(), {});
  }

  void wait(llvm::IRBuilderBase &builder, unsigned pending) const override {
    emitSimulatedCall(builder, SimulatedCall::AsyncWait, builder.getVoidTy(),
                      {builder.getInt32(pending)});
  }

private:
  const SimulatedTarget &target;
  bool areOfWarps;
};

class SimulatedLoads final : public gpu::MatrixLoads {
public:
  explicit SimulatedLoads(bool areSixteens) : areSixteens(areSixteens) {}

  std::optional<layout::MatrixAccess> access(const layout::TileLayout &tile,
                                             const layout::SharedLayout &shared,
                                             unsigned elementBits) const override {
    return areSixteens ? layout::accessSharedTransposed(tile, shared, elementBits)
                       : layout::accessSharedMatrices(tile, shared, elementBits);
  }

  llvm::SmallVector<llvm::Value *, 4> load(llvm::IRBuilderBase &builder, llvm::Value *row,
                                           Kind kind) const override {
    const unsigned matrices = kind.words;
    llvm::Type *word = builder.getInt32Ty();
    llvm::Value *array = localArray(builder, word, matrices);
    emitSimulatedCall(builder, SimulatedCall::LoadMatrices, builder.getVoidTy(),
                      {plainPointer(builder, row), builder.getInt32(matrices),
                       builder.getInt32(areSixteens ? kind.elementBits : kind.isTransposed), array,
                       nextSite(*builder.GetInsertBlock()->getModule())});
    llvm::SmallVector<llvm::Value *, 4> words;
    for (unsigned i = 0; i < matrices; ++i)
      words.push_back(builder.CreateLoad(word, builder.CreateConstGEP1_32(word, array, i)));
    return words;
  }

private:
  bool areSixteens; // reads that transpose (SharedBanks::transposes), instead of ldmatrix
};

} // namespace

std::unique_ptr<gpu::MatrixProducts> simulatedProducts(const SimulatedAbilities &abilities) {
  llvm::StringRef chip = abilities.chip;
  if (chip.empty())
    return std::make_unique<SimulatedProducts>(layout::mmaSyncInstructions());
  return std::make_unique<SimulatedProducts>(abilities.asInManual
                                                 ? layout::amdMatrixInstructions(chip)
                                                 : layout::amdProductInstructions(chip));
}

std::unique_ptr<gpu::AsyncCopies> simulatedCopies(const SimulatedTarget &target, bool areOfWarps) {
  return std::make_unique<SimulatedCopies>(target, areOfWarps);
}

const gpu::AsyncCopies *SimulatedTarget::asyncCopies() const {
  return abilities.asyncCopies ? copies.get() : nullptr;
}

const gpu::MatrixProducts *SimulatedTarget::matrixProducts() const {
  return abilities.matrixProducts ? products.get() : nullptr;
}

const gpu::MatrixLoads *SimulatedTarget::matrixLoads() const {
  static const SimulatedLoads loads(/*areSixteens=*/false), sixteens(/*areSixteens=*/true);
  if (banks.transposes)
    return &sixteens;
  return abilities.matrixLoads && laneCount == 32 ? &loads : nullptr;
}

const gpu::Tf32Rounding *SimulatedTarget::tf32Rounding() const {
  static const SimulatedRounding rounding;
  return abilities.tf32Rounding ? &rounding : nullptr;
}

//===-- What they do --------------------------------------------------------------------------===//

void SimulatedBlock::matrix(uint64_t *fragments, const MatrixInstruction *instruction,
                            int32_t site) {
  Thread &thread = current()->threads[current()->running];
  thread.words = fragments;
  thread.instruction = instruction;
  thread.site = site;
  thread.state = State::AtMatrix;
  current()->wait();
}

namespace {

/// A lane's words of 32 bits (64 for f64): those of the hardware's first operand, of its second,
/// then the accumulator's, one for each element.
struct FragmentWords {
  const MatrixInstruction &instruction;

  /// Elements that share a word.
  static unsigned perWord(MatrixElement element) {
    return std::max(1u, 32 / layout::bitsOf(element));
  }
  unsigned count(MatrixSide side) const {
    return instruction.operand(side).inSize(Dim::Register) / perWord(instruction.elementOf(side));
  }
  unsigned begin(MatrixSide side) const {
    MatrixSide first = instruction.isExchanged ? MatrixSide::Rhs : MatrixSide::Lhs;
    return side == first ? 0 : count(first);
  }
  unsigned accBegin() const { return count(MatrixSide::Lhs) + count(MatrixSide::Rhs); }

  double operand(const uint64_t *words, MatrixSide side, unsigned reg) const {
    MatrixElement element = instruction.elementOf(side);
    unsigned bits = layout::bitsOf(element);
    uint64_t word = words[begin(side) + reg / perWord(element)] >> reg % perWord(element) * bits;
    return decoded(bits == 64 ? word : word & ((uint64_t(1) << bits) - 1), element);
  }
};

/// Calls `visit(lane, register, element)` for all that the lanes of a warp hold; elements are
/// numbered row by row.
template <class Visit>
void forEachElement(const layout::LinearLayout &matrix, Visit visit) {
  for (unsigned lane = 0; lane < matrix.inSize(Dim::Lane); ++lane)
    for (unsigned reg = 0; reg < matrix.inSize(Dim::Register); ++reg)
      visit(lane, reg, matrix.apply(layout::Word(lane) << matrix.inBits(Dim::Register) | reg));
}

} // namespace

void SimulatedBlock::multiply(Thread *lanes) {
  const MatrixInstruction &one = *lanes[0].instruction;
  FragmentWords words{one};
  auto matrixOf = [&](MatrixSide side) {
    std::vector<std::optional<double>> matrix(size_t(1) << one.operand(side).totalOutBits());
    forEachElement(one.operand(side), [&](unsigned lane, unsigned reg, uint64_t number) {
      double value = words.operand(lanes[lane].words, side, reg);
      std::optional<double> &element = matrix[number];
      // NaN is not equal to itself.
      if (element && *element != value && (*element == *element || value == value))
        problem(one.name + ": lanes hold different copies of an operand's element");
      element = value;
    });
    return matrix;
  };
  auto a = matrixOf(MatrixSide::Lhs), b = matrixOf(MatrixSide::Rhs);
  forEachElement(one.acc, [&](unsigned lane, unsigned reg, uint64_t number) {
    int64_t row = int64_t(number) / one.n, column = int64_t(number) % one.n;
    uint64_t &word = lanes[lane].words[words.accBegin() + reg];
    double total = decoded(word, one.elements.acc);
    for (int64_t k = 0; k < one.k; ++k)
      total += *a[row * one.k + k] * *b[k * one.n + column];
    word = encoded(total, one.elements.acc);
  });
}

void SimulatedBlock::asyncCopy(uint64_t shared, uint64_t global, int32_t bytes, int32_t valid) {
  SimulatedBlock &block = *current();
  // What is not copied may lie outside, and the whole is aligned.
  if (valid && global % uint64_t(bytes) != 0)
    block.problem("an asynchronous copy of " + std::to_string(bytes) + " bytes is not aligned");
  if (valid == 0 || valid == bytes)
    block.touchGlobal(global, bytes, false, valid != 0);
  else
    for (int32_t byte = 0; byte < valid; ++byte)
      block.touchGlobal(global + uint64_t(byte), 1, false, true);
  auto *content = reinterpret_cast<uint8_t *>(shared);
  std::memset(content, 0xcd, bytes);
  block.touchShared(shared, bytes, true, -1);
  for (int32_t offset = 0; offset < bytes; ++offset)
    block.inFlight.insert(shared + offset);
  PendingCopy copy{shared, std::vector<uint8_t>(bytes)};
  std::memcpy(copy.content.data(), reinterpret_cast<const void *>(global), size_t(valid));
  block.threads[block.running].copies.push_back(std::move(copy));
}

void SimulatedBlock::asyncCommit() {
  Thread &thread = current()->threads[current()->running];
  thread.groups.push_back(std::move(thread.copies));
  thread.copies.clear();
}

void SimulatedBlock::asyncWait(int32_t pending) {
  SimulatedBlock &block = *current();
  Thread &thread = block.threads[block.running];
  while (int32_t(thread.groups.size()) > pending) {
    for (PendingCopy &copy : thread.groups.front()) {
      for (size_t offset = 0; offset < copy.content.size(); ++offset)
        block.inFlight.erase(copy.address + offset);
      std::memcpy(reinterpret_cast<void *>(copy.address), copy.content.data(), copy.content.size());
      block.touchShared(copy.address, copy.content.size(), true, -1);
    }
    thread.groups.pop_front();
  }
}

void SimulatedBlock::loadMatrices(uint64_t row, int32_t matrices, int32_t isTransposed,
                                  uint32_t *words, int32_t site) {
  SimulatedBlock &block = *current();
  Thread &thread = block.threads[block.running];
  if (isTransposed > 1)
    block.touchShared(row, 8, false, site);
  else if (int32_t(block.running % block.launch.lanes) < 8 * matrices)
    block.touchShared(row, 16, false, site);
  thread.row = row;
  thread.rows = words;
  thread.matrices = matrices, thread.isTransposed = isTransposed;
  thread.site = site;
  thread.state = State::AtMatrices;
  block.wait();
}

void SimulatedBlock::readMatrices(llvm::MutableArrayRef<Thread> lanes) {
  int32_t matrices = lanes[0].matrices, isTransposed = lanes[0].isTransposed;
  if (isTransposed > 1) {
    // Sixteen lanes supply rows of 8 bytes each, and get columns.
    const unsigned bytes = unsigned(isTransposed) / 8, width = 8 / bytes;
    for (unsigned lane = 0; lane < lanes.size(); ++lane)
      for (unsigned row = 0; row < width; ++row) {
        const unsigned column = lane % 16, from = lane - column + 16 / width * row + column / width;
        std::memcpy(reinterpret_cast<uint8_t *>(lanes[lane].rows) + row * bytes,
                    reinterpret_cast<const uint8_t *>(lanes[from].row) + column % width * bytes,
                    bytes);
      }
    return;
  }
  for (unsigned lane = 0; lane < 32; ++lane)
    for (int32_t i = 0; i < matrices; ++i) {
      auto element = [&](unsigned row, unsigned column) {
        return uint32_t(reinterpret_cast<const uint16_t *>(lanes[8 * i + row].row)[column]);
      };
      unsigned outer = lane / 4, inner = lane % 4 * 2;
      lanes[lane].rows[i] = isTransposed ? element(inner, outer) | element(inner + 1, outer) << 16
                                         : element(outer, inner) | element(outer, inner + 1) << 16;
    }
}

} // namespace sectile::testing
