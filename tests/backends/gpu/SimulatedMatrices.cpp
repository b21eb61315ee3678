// mma.sync, cp.async and ldmatrix of the simulated GPU: emitted as calls, and what they do (PTX
// ISA, "Matrix Fragments for mma.m16n8k*"). Copies land at the wait for them and not before, and
// until then nobody may touch their bytes: code that waits too little is found whatever the
// hardware does.
#include "SimulatedThreads.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/IR/Module.h"

namespace sectile::testing {
namespace {

std::optional<SimulatedElement> elementOf(mlir::Type type) {
  if (type.isF16())
    return SimulatedElement::F16;
  if (type.isBF16())
    return SimulatedElement::BF16;
  if (type.isF32())
    return SimulatedElement::Tf32;
  if (type.isF64())
    return SimulatedElement::F64;
  if (mlir::isa<mlir::Float8E4M3FNType>(type))
    return SimulatedElement::E4M3;
  if (mlir::isa<mlir::Float8E5M2Type>(type))
    return SimulatedElement::E5M2;
  if (type.isInteger(8))
    return SimulatedElement::S8;
  return std::nullopt;
}

unsigned bitsOf(SimulatedElement element) {
  switch (element) {
  case SimulatedElement::F16:
  case SimulatedElement::BF16:
    return 16;
  case SimulatedElement::E4M3:
  case SimulatedElement::E5M2:
  case SimulatedElement::S8:
    return 8;
  case SimulatedElement::F64:
    return 64;
  default:
    return 32;
  }
}

double decoded(uint64_t bits, SimulatedElement element) {
  auto by = [&](const llvm::fltSemantics &semantics) {
    bool inexact = false;
    llvm::APFloat value(semantics, llvm::APInt(bitsOf(element), bits, false, true));
    value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    return value.convertToDouble();
  };
  switch (element) {
  case SimulatedElement::F16:
    return by(llvm::APFloat::IEEEhalf());
  case SimulatedElement::BF16:
    return by(llvm::APFloat::BFloat());
  case SimulatedElement::E4M3:
    return by(llvm::APFloat::Float8E4M3FN());
  case SimulatedElement::E5M2:
    return by(llvm::APFloat::Float8E5M2());
  case SimulatedElement::F64:
    return by(llvm::APFloat::IEEEdouble());
  case SimulatedElement::Tf32: // the lowest 13 bits are not looked at
    return llvm::bit_cast<float>(uint32_t(bits) & 0xffffe000u);
  case SimulatedElement::F32:
    return llvm::bit_cast<float>(uint32_t(bits));
  case SimulatedElement::S8:
    return int8_t(bits);
  case SimulatedElement::S32:
    return int32_t(bits);
  }
  return 0;
}

uint64_t encoded(double value, SimulatedElement element) {
  if (element == SimulatedElement::F64)
    return llvm::bit_cast<uint64_t>(value);
  if (element == SimulatedElement::S32)
    return uint32_t(int64_t(value));
  return llvm::bit_cast<uint32_t>(float(value));
}

/// Where an element of a fragment is.
struct Place {
  unsigned lane, reg;
};

struct FragmentShape {
  unsigned m, n, k, v;
  unsigned lhsCount, rhsCount, accCount;
  explicit FragmentShape(unsigned bits) {
    bool isDouble = bits == 64;
    m = isDouble ? 8 : 16, n = 8, v = isDouble ? 1 : 32 / bits, k = isDouble ? 4 : 8 * v;
    lhsCount = isDouble ? 1 : 4 * v, rhsCount = isDouble ? 1 : 2 * v, accCount = isDouble ? 2 : 4;
  }
  Place lhs(unsigned row, unsigned at) const {
    return {row % 8 * 4 + at / v % 4, at % v + v * (row / 8) + 2 * v * (at / (4 * v))};
  }
  Place rhs(unsigned at, unsigned column) const {
    return {column * 4 + at / v % 4, at % v + v * (at / (4 * v))};
  }
  Place acc(unsigned row, unsigned column) const {
    return {row % 8 * 4 + column / 2, row / 8 * 2 + column % 2};
  }
};

llvm::Value *localArray(llvm::IRBuilderBase &builder, llvm::Type *type, unsigned count) {
  llvm::IRBuilder<>::InsertPointGuard guard(builder);
  llvm::BasicBlock &entry = builder.GetInsertBlock()->getParent()->getEntryBlock();
  builder.SetInsertPoint(&entry, entry.begin());
  return builder.CreateAlloca(llvm::ArrayType::get(type, count));
}

llvm::Value *plainPointer(llvm::IRBuilderBase &builder, llvm::Value *pointer) {
  return builder.CreateAddrSpaceCast(pointer, builder.getPtrTy());
}

//===-- Emission ------------------------------------------------------------------------------===//

class SimulatedProducts final : public gpu::MatrixProducts {
public:
  bool has(mlir::Type lhs, mlir::Type rhs, mlir::Type acc,
           tile::InputPrecision precision) const override {
    auto left = elementOf(lhs), right = elementOf(rhs);
    if (!left || !right)
      return false;
    if (*left == SimulatedElement::S8)
      return *right == *left && acc.isInteger(32);
    if (*left == SimulatedElement::F64)
      return *right == *left && acc.isF64();
    if (!acc.isF32())
      return false;
    if (*left == SimulatedElement::Tf32)
      return *right == *left &&
             (precision == tile::InputPrecision::Tf32 || precision == tile::InputPrecision::Tf32x3);
    return bitsOf(*left) == 8 ? bitsOf(*right) == 8 && *right != SimulatedElement::S8
                              : *left == *right;
  }

  llvm::SmallVector<llvm::Value *, 4> multiply(llvm::IRBuilderBase &builder, mlir::Type lhs,
                                               mlir::Type rhs, llvm::ArrayRef<llvm::Value *> a,
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
    SimulatedElement accElement = accType->isDoubleTy()    ? SimulatedElement::F64
                                  : accType->isIntegerTy() ? SimulatedElement::S32
                                                           : SimulatedElement::F32;
    auto number = [&](SimulatedElement element) { return builder.getInt32(int32_t(element)); };
    emitSimulatedCall(builder, SimulatedCall::Matrix, builder.getVoidTy(),
                      {array, number(*elementOf(lhs)), number(*elementOf(rhs)), number(accElement),
                       nextSite(*builder.GetInsertBlock()->getModule())});
    llvm::SmallVector<llvm::Value *, 4> sums;
    for (unsigned i = 0; i < acc.size(); ++i) {
      llvm::Value *bits = builder.CreateLoad(word, slot(next - acc.size() + i));
      auto *narrow = builder.getIntNTy(accType->getPrimitiveSizeInBits());
      sums.push_back(builder.CreateBitCast(builder.CreateTrunc(bits, narrow), accType));
    }
    return sums;
  }
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
  void copy(llvm::IRBuilderBase &builder, llvm::Value *shared, llvm::Value *global, unsigned bytes,
            llvm::Value *predicate) const override {
    llvm::Value *truth = predicate ? builder.CreateZExt(predicate, builder.getInt32Ty())
                                   : (llvm::Value *)builder.getInt32(1);
    emitSimulatedCall(builder, SimulatedCall::AsyncCopy, builder.getVoidTy(),
                      {plainPointer(builder, shared), plainPointer(builder, global),
                       builder.getInt32(bytes), truth});
  }

  void commit(llvm::IRBuilderBase &builder) const override {
    emitSimulatedCall(builder, SimulatedCall::AsyncCommit, builder.getVoidTy(), {});
  }

  void wait(llvm::IRBuilderBase &builder, unsigned pending) const override {
    emitSimulatedCall(builder, SimulatedCall::AsyncWait, builder.getVoidTy(),
                      {builder.getInt32(pending)});
  }
};

class SimulatedLoads final : public gpu::MatrixLoads {
public:
  llvm::SmallVector<llvm::Value *, 4> load(llvm::IRBuilderBase &builder, llvm::Value *row,
                                           unsigned matrices, bool isTransposed) const override {
    llvm::Type *word = builder.getInt32Ty();
    llvm::Value *array = localArray(builder, word, matrices);
    emitSimulatedCall(builder, SimulatedCall::LoadMatrices, builder.getVoidTy(),
                      {plainPointer(builder, row), builder.getInt32(matrices),
                       builder.getInt32(isTransposed), array,
                       nextSite(*builder.GetInsertBlock()->getModule())});
    llvm::SmallVector<llvm::Value *, 4> words;
    for (unsigned i = 0; i < matrices; ++i)
      words.push_back(builder.CreateLoad(word, builder.CreateConstGEP1_32(word, array, i)));
    return words;
  }
};

} // namespace

const gpu::AsyncCopies *SimulatedTarget::asyncCopies() const {
  static const SimulatedCopies copies;
  return abilities.asyncCopies ? &copies : nullptr;
}

const gpu::MatrixProducts *SimulatedTarget::matrixProducts() const {
  static const SimulatedProducts products;
  return abilities.matrixProducts ? &products : nullptr;
}

const gpu::MatrixLoads *SimulatedTarget::matrixLoads() const {
  static const SimulatedLoads loads;
  return abilities.matrixLoads ? &loads : nullptr;
}

const gpu::Tf32Rounding *SimulatedTarget::tf32Rounding() const {
  static const SimulatedRounding rounding;
  return abilities.tf32Rounding ? &rounding : nullptr;
}

//===-- What they do --------------------------------------------------------------------------===//

void SimulatedBlock::matrix(uint64_t *fragments, int32_t lhs, int32_t rhs, int32_t acc,
                            int32_t site) {
  Thread &thread = current()->threads[current()->running];
  thread.words = fragments;
  thread.elements = {lhs, rhs, acc};
  thread.site = site;
  thread.state = State::AtMatrix;
  current()->wait();
}

void SimulatedBlock::multiply(Thread *lanes) {
  auto [lhs, rhs, acc] = lanes[0].elements;
  auto left = SimulatedElement(lhs), right = SimulatedElement(rhs), sum = SimulatedElement(acc);
  FragmentShape shape(bitsOf(left));
  std::vector<double> a(shape.m * shape.k), b(shape.k * shape.n);
  // A lane's words of 32 bits (64 for f64), `v` elements each: a's, b's, then acc's one by one.
  unsigned bits = bitsOf(left), lhsWords = shape.lhsCount / shape.v,
           rhsWords = shape.rhsCount / shape.v;
  auto operand = [&](const Thread &lane, unsigned firstWord, unsigned reg,
                     SimulatedElement element) {
    uint64_t word = lane.words[firstWord + reg / shape.v] >> reg % shape.v * bits;
    return decoded(bits == 64 ? word : word & ((uint64_t(1) << bits) - 1), element);
  };
  for (unsigned k = 0; k < shape.k; ++k) {
    for (unsigned row = 0; row < shape.m; ++row) {
      Place place = shape.lhs(row, k);
      a[row * shape.k + k] = operand(lanes[place.lane], 0, place.reg, left);
    }
    for (unsigned column = 0; column < shape.n; ++column) {
      Place place = shape.rhs(k, column);
      b[k * shape.n + column] = operand(lanes[place.lane], lhsWords, place.reg, right);
    }
  }
  for (unsigned row = 0; row < shape.m; ++row)
    for (unsigned column = 0; column < shape.n; ++column) {
      Place place = shape.acc(row, column);
      uint64_t &word = lanes[place.lane].words[lhsWords + rhsWords + place.reg];
      double total = decoded(word, sum);
      for (unsigned k = 0; k < shape.k; ++k)
        total += a[row * shape.k + k] * b[k * shape.n + column];
      word = encoded(total, sum);
    }
}

void SimulatedBlock::asyncCopy(uint64_t shared, uint64_t global, int32_t bytes, int32_t predicate) {
  SimulatedBlock &block = *current();
  block.touchGlobal(global, bytes, false, predicate);
  auto *content = reinterpret_cast<uint8_t *>(shared);
  std::memset(content, 0xcd, bytes);
  block.touchShared(shared, bytes, true, -1);
  for (int32_t offset = 0; offset < bytes; ++offset)
    block.inFlight.insert(shared + offset);
  PendingCopy copy{shared, std::vector<uint8_t>(bytes)};
  if (predicate)
    std::memcpy(copy.content.data(), reinterpret_cast<const void *>(global), bytes);
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
  if (int32_t(block.running % block.launch.lanes) < 8 * matrices)
    block.touchShared(row, 16, false, site);
  thread.row = row;
  thread.rows = words;
  thread.elements = {matrices, isTransposed, 0};
  thread.site = site;
  thread.state = State::AtMatrices;
  block.wait();
}

void SimulatedBlock::readMatrices(Thread *lanes) {
  auto [matrices, isTransposed, unused] = lanes[0].elements;
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
