// What threads do with shared memory, and launches with each other, beyond what every GPU can:
// asynchronous copies, matrices, dependent launches (PTX ISA, "cp.async", "ldmatrix",
// "griddepcontrol"); and registers that LLVM may not take for constants.
#include "backends/nvidia/NvidiaTarget.h"

#include "llvm/IR/InlineAsm.h"

namespace sectile::nvidia {

namespace {

llvm::CallInst *emitAssembly(llvm::IRBuilderBase &builder, llvm::Type *result,
                             const std::string &text, const std::string &constraints,
                             llvm::ArrayRef<llvm::Value *> operands) {
  llvm::SmallVector<llvm::Type *, 4> types;
  for (llvm::Value *operand : operands)
    types.push_back(operand->getType());
  auto *assembly = llvm::InlineAsm::get(llvm::FunctionType::get(result, types, false), text,
                                        constraints, /*hasSideEffects=*/true);
  return builder.CreateCall(assembly, operands);
}

class CopiesByCpAsync final : public gpu::AsyncCopies {
public:
  optimizer::AsyncKind kind() const override { return optimizer::AsyncKind::PerLane; }

  void copy(llvm::IRBuilderBase &builder, llvm::Value *shared, const gpu::GlobalAccess &access,
            unsigned bytes, llvm::Value *validBytes) const override {
    std::string size = std::to_string(bytes);
    // Only whole 16 bytes may pass by the first-level cache.
    std::string text = std::string("cp.async.") + (bytes == 16 ? "cg" : "ca") +
                       ".shared.global [$0], [$1], " + size;
    llvm::SmallVector<llvm::Value *, 3> operands{shared, access.address};
    std::string constraints = "r,l";
    if (access.predicate)
      validBytes =
          builder.CreateSelect(access.predicate, builder.getInt32(bytes), builder.getInt32(0));
    if (validBytes) {
      text += ", $2";
      constraints += ",r";
      operands.push_back(validBytes);
    }
    emitAssembly(builder, builder.getVoidTy(), text + ";", constraints + ",~{memory}", operands);
  }

  llvm::AAMDNodes aliasingOfReads(llvm::LLVMContext &) const override { return llvm::AAMDNodes(); }

  void commit(llvm::IRBuilderBase &builder) const override {
    emitAssembly(builder, builder.getVoidTy(), "cp.async.commit_group;", "~{memory}", {});
  }

  void wait(llvm::IRBuilderBase &builder, unsigned pending) const override {
    emitAssembly(builder, builder.getVoidTy(),
                 "cp.async.wait_group " + std::to_string(pending) + ";", "~{memory}", {});
  }
};

class LoadsByLdmatrix final : public gpu::MatrixLoads {
public:
  std::optional<layout::MatrixAccess> access(const layout::TileLayout &tile,
                                             const layout::SharedLayout &shared,
                                             unsigned elementBits) const override {
    return layout::accessSharedMatrices(tile, shared, elementBits);
  }

  llvm::SmallVector<llvm::Value *, 4> load(llvm::IRBuilderBase &builder, llvm::Value *row,
                                           Kind kind) const override {
    const unsigned matrices = kind.words;
    std::string list, constraints;
    for (unsigned i = 0; i < matrices; ++i) {
      list += (i ? ", $" : "$") + std::to_string(i);
      constraints += i ? ",=r" : "=r";
    }
    llvm::Type *word = builder.getInt32Ty();
    llvm::Type *result = word;
    if (matrices > 1)
      result = llvm::StructType::get(builder.getContext(),
                                     llvm::SmallVector<llvm::Type *, 4>(matrices, word));
    llvm::CallInst *call = emitAssembly(builder, result,
                                        "ldmatrix.sync.aligned.m8n8.x" + std::to_string(matrices) +
                                            (kind.isTransposed ? ".trans" : "") + ".shared.b16 {" +
                                            list + "}, [$" + std::to_string(matrices) + "];",
                                        constraints + ",r,~{memory}", {row});
    call->setConvergent();
    llvm::SmallVector<llvm::Value *, 4> words;
    for (unsigned i = 0; i < matrices; ++i)
      words.push_back(matrices == 1 ? call : builder.CreateExtractValue(call, i));
    return words;
  }
};

class LaunchesByGridDependency final : public gpu::DependentLaunches {
public:
  void wait(llvm::IRBuilderBase &builder) const override {
    emitAssembly(builder, builder.getVoidTy(), "griddepcontrol.wait;", "~{memory}", {});
  }
  void launchDependents(llvm::IRBuilderBase &builder) const override {
    emitAssembly(builder, builder.getVoidTy(), "griddepcontrol.launch_dependents;", "~{memory}",
                 {});
  }
};

} // namespace

llvm::Value *NvidiaTarget::clock(llvm::IRBuilderBase &builder) const {
  return emitAssembly(builder, builder.getInt64Ty(), "mov.u64 $0, %globaltimer;", "=l,~{memory}",
                      {});
}

llvm::Value *NvidiaTarget::processor(llvm::IRBuilderBase &builder) const {
  return emitAssembly(builder, builder.getInt32Ty(), "mov.u32 $0, %smid;", "=r", {});
}

const gpu::AsyncCopies *NvidiaTarget::asyncCopies() const {
  static const CopiesByCpAsync copies;
  return &copies;
}

const gpu::MatrixLoads *NvidiaTarget::matrixLoads() const {
  static const LoadsByLdmatrix loads;
  return &loads;
}

const gpu::DependentLaunches *NvidiaTarget::dependentLaunches() const {
  static const LaunchesByGridDependency launches;
  return architecture.hasDependentLaunch() ? &launches : nullptr;
}

} // namespace sectile::nvidia
