//===-- TensorCode.h - kernels for the simulated GPU's copy engine, by instructions -----------===//
//   Code code;
//   code.makeBarrier(kBarrier);
//   code.expect(kBarrier, kBoxBytes);
//   code.copy(0, {0, 0}, kBarrier);
//   code.wait(kBarrier, 0);
//   code.finish(kSharedBytes);
//   Arrays arrays;
//   SimulatedReport report = code.run(arrays.in, arrays.out, arrays.map);
#pragma once

#include "SimulatedGpu.h"

#include "llvm/IR/Module.h"

namespace sectile::testing {

constexpr unsigned kWarps = 4, kLanes = 32, kThreads = kWarps * kLanes;

/// Returns the tensor map of a dense array of two dimensions, or of more whose strides are given.
inline SimulatedTensorMap mapOf(const void *base, std::vector<int64_t> extents,
                                std::vector<int32_t> box, int32_t elementBytes,
                                int32_t swizzleBytes, std::vector<int64_t> strides = {}) {
  backends::TensorMap map;
  map.elementBytes = elementBytes;
  map.box = std::move(box);
  map.swizzleBytes = swizzleBytes;
  if (strides.empty())
    strides = {extents.back(), 1};
  backends::TensorMapValues values{};
  values.base = reinterpret_cast<uint64_t>(base);
  values.rank = extents.size();
  std::copy_n(extents.begin(), std::min(extents.size(), values.extents.size()),
              values.extents.begin());
  std::copy_n(strides.begin(), std::min(strides.size(), values.strides.size()),
              values.strides.begin());
  return simulatedMap(map, values);
}

/// The code of one thread: void k(in, out, map). Words are of 32 bits, addresses of shared memory
/// count from its begin.
class Code {
public:
  Code() {
    auto *global = llvm::PointerType::get(context, gpu::kGlobalSpace);
    auto *type = llvm::FunctionType::get(
        builder.getVoidTy(), {global, global, llvm::PointerType::get(context, 0)}, false);
    kernel = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "k", module);
    auto *bytes = llvm::ArrayType::get(builder.getInt8Ty(), 128);
    kernel->addParamAttr(2, llvm::Attribute::getWithByValType(context, bytes));
    kernel->addParamAttr(2, llvm::Attribute::getWithAlignment(context, llvm::Align(64)));
    builder.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", kernel));
    sharedArray =
        new llvm::GlobalVariable(module, llvm::ArrayType::get(builder.getInt8Ty(), 0), false,
                                 llvm::GlobalValue::ExternalLinkage, nullptr, "shared", nullptr,
                                 llvm::GlobalValue::NotThreadLocal, gpu::kSharedSpace);
    thread = target.threadIndex(builder);
  }

  llvm::Value *word(int64_t number) { return builder.getInt32(uint32_t(number)); }
  llvm::Value *at(llvm::Value *byte) {
    return builder.CreateGEP(builder.getInt8Ty(), sharedArray, byte);
  }
  llvm::Value *at(int64_t byte) { return at(word(byte)); }
  llvm::Value *isThread(unsigned number) { return builder.CreateICmpEQ(thread, word(number)); }

  void initBarrier(int64_t byte, unsigned by = 0) {
    copies().initBarrier(builder, at(byte), 1, isThread(by));
  }
  /// Initialises a barrier at which all warps arrive.
  void makeWarpsBarrier(int64_t byte) {
    copies().initBarrier(builder, at(byte), kWarps, isThread(0));
    fence();
    meet();
  }
  /// All warps arrive, by their first thread or by as many as `predicate` says.
  void arrive(int64_t barrier, llvm::Value *predicate = nullptr) {
    llvm::Value *lane = builder.CreateURem(thread, word(kLanes));
    copies().arrive(builder, at(barrier),
                    predicate ? predicate : builder.CreateICmpEQ(lane, word(0)));
  }
  void endBarrier(int64_t byte, unsigned by = 0) {
    copies().endBarrier(builder, at(byte), isThread(by));
  }
  void fence(bool isGlobal = false) { copies().fence(builder, isGlobal); }
  void meet() { target.barrier(builder, kThreads, gpu::Ordered::Shared, 0); }
  /// Initialises a barrier as it should be.
  void makeBarrier(int64_t byte) {
    initBarrier(byte);
    fence();
    meet();
  }
  void expect(int64_t barrier, int64_t bytes, unsigned by = 0) {
    copies().expect(builder, at(barrier), bytes, isThread(by));
  }
  void copy(int64_t byte, std::vector<int64_t> start, int64_t barrier, unsigned by = 0) {
    llvm::SmallVector<llvm::Value *> coordinates;
    for (int64_t coordinate : start)
      coordinates.push_back(word(coordinate));
    copies().copy(builder, at(byte), kernel->getArg(2), coordinates, at(barrier), isThread(by));
  }
  /// Stores the box at `byte` of shared memory.
  void storeBox(int64_t byte, std::vector<int64_t> start, unsigned by = 0) {
    llvm::SmallVector<llvm::Value *> coordinates;
    for (int64_t coordinate : start)
      coordinates.push_back(word(coordinate));
    copies().store(builder, kernel->getArg(2), coordinates, at(byte), isThread(by));
  }
  void commitStores() { copies().commitStores(builder); }
  /// For all that the thread has started.
  void waitForStores(bool areWritten = false) {
    commitStores();
    copies().waitForStores(builder, areWritten, 0);
  }
  void wait(int64_t barrier, int32_t parity) {
    copies().wait(builder, at(barrier), word(parity), nullptr);
  }
  /// Emits what `body` does for the threads whose `truth` is true.
  void branch(llvm::Value *truth, llvm::function_ref<void()> body) {
    auto *then = llvm::BasicBlock::Create(context, "then", kernel),
         *next = llvm::BasicBlock::Create(context, "next", kernel);
    builder.CreateCondBr(truth, then, next);
    builder.SetInsertPoint(then);
    body();
    builder.CreateBr(next);
    builder.SetInsertPoint(next);
  }

  llvm::Value *load(llvm::Value *byte) {
    return builder.CreateLoad(builder.getInt32Ty(), at(byte));
  }
  void store(llvm::Value *byte, llvm::Value *value) { builder.CreateStore(value, at(byte)); }
  /// Stores a word to element `index` of out, or of in.
  void put(llvm::Value *index, llvm::Value *value, unsigned argument = 1) {
    llvm::Value *address = builder.CreateGEP(builder.getInt32Ty(), kernel->getArg(argument), index);
    target.store(builder, {.address = address, .type = builder.getInt32Ty()}, value);
  }
  /// Puts all words of shared memory from `begin` on, in their order.
  void putShared(int64_t begin, int64_t bytes) {
    for (int64_t word = 0; word < bytes / 4; word += kThreads) {
      llvm::Value *index = builder.CreateAdd(thread, this->word(word));
      branch(builder.CreateICmpULT(index, this->word(bytes / 4)), [&] {
        put(index,
            load(builder.CreateAdd(this->word(begin), builder.CreateMul(index, this->word(4)))));
      });
    }
  }

  /// No more code may be added then.
  void finish(int64_t sharedBytes) {
    builder.CreateRetVoid();
    program = std::make_unique<SimulatedProgram>(module, "k", kWarps, kLanes, sharedBytes);
    ASSERT_EQ(program->error(), "");
  }
  template <class In>
  SimulatedReport run(std::vector<In> &in, std::vector<uint32_t> &out,
                      const SimulatedTensorMap &map, uint64_t seed = 1) {
    program->seed = seed;
    return program->run({1}, {argument(in), argument(out)}, {map});
  }

  const gpu::TensorCopies &copies() const { return *target.tensorCopies(); }

  SimulatedTarget target{kLanes, [] {
                           SimulatedAbilities abilities = SimulatedAbilities::all();
                           abilities.bufferProducts = abilities.tensorCopies = true;
                           return abilities;
                         }()};
  llvm::LLVMContext context;
  llvm::Module module{"copies", context};
  llvm::IRBuilder<> builder{context};
  llvm::Function *kernel = nullptr;
  llvm::Value *thread = nullptr;

private:
  llvm::GlobalVariable *sharedArray = nullptr;
  std::unique_ptr<SimulatedProgram> program;
};

//===-- Boxes of 8 x 16 words -----------------------------------------------------------------===//

constexpr int64_t kRows = 8, kColumns = 16, kBoxBytes = kRows * kColumns * 4, kBoxes = 5;
constexpr int32_t kSwizzle = 64;
constexpr int64_t kBarrier = 2 * kBoxBytes, kSecondBarrier = kBarrier + 8,
                  kSharedBytes = kBarrier + 16;

/// Boxes that follow each other in an array, and what the kernel puts out.
struct Arrays {
  std::vector<uint32_t> in = std::vector<uint32_t>(kBoxes * kRows * kColumns),
                        out = std::vector<uint32_t>(kBoxes * kRows * kColumns, 77);
  SimulatedTensorMap map;
  Arrays() {
    for (size_t number = 0; number < in.size(); ++number)
      in[number] = uint32_t(number * 2654435761u);
    map = mapOf(in.data(), {kBoxes * kRows, kColumns}, {kRows, kColumns}, 4, kSwizzle);
  }
};

/// Returns the byte of a box where its word number `thread` lies.
inline llvm::Value *placeOfWord(Code &code) {
  llvm::IRBuilderBase &b = code.builder;
  llvm::Value *byte = b.CreateMul(code.thread, code.word(4));
  llvm::Value *line = b.CreateAnd(b.CreateLShr(byte, 7), 3);
  return b.CreateXor(byte, b.CreateShl(line, 4));
}

} // namespace sectile::testing
