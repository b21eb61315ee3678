//===-- AmdTarget.h - the instructions of AMD GPUs --------------------------------------------===//
//   std::optional<AmdArch> arch = AmdArch::parse("gfx942");
//   AmdTarget target(*arch);
#pragma once

#include "backends/amd/AmdArch.h"
#include "backends/amd/AmdMath.h"
#include "backends/amd/AmdMatrix.h"
#include "backends/gpu/GpuTarget.h"

namespace sectile::amd {

/// Copies of 16 bytes a lane into LDS, those of a wave behind each other, without registers.
class AmdCopies final : public gpu::AsyncCopies {
public:
  explicit AmdCopies(const AmdArch &arch) : arch(arch) {}
  optimizer::AsyncKind kind() const override { return optimizer::AsyncKind::WholeWarps; }
  void copy(llvm::IRBuilderBase &builder, llvm::Value *shared, const gpu::GlobalAccess &access,
            unsigned bytes, llvm::Value *validBytes) const override;
  llvm::AAMDNodes aliasingOfReads(llvm::LLVMContext &context) const override;
  /// There are no groups: all copies are waited for.
  void commit(llvm::IRBuilderBase &) const override {}
  void wait(llvm::IRBuilderBase &builder, unsigned pending) const override;

private:
  const AmdArch &arch;
};

/// gfx950's reads of LDS that transpose, 8 bytes a lane.
class AmdTransposingReads final : public gpu::MatrixLoads {
public:
  std::optional<layout::MatrixAccess> access(const layout::TileLayout &tile,
                                             const layout::SharedLayout &shared,
                                             unsigned elementBits) const override {
    return layout::accessSharedTransposed(tile, shared, elementBits);
  }
  llvm::SmallVector<llvm::Value *, 4> load(llvm::IRBuilderBase &builder, llvm::Value *row,
                                           Kind kind) const override;
};

class AmdTarget final : public gpu::GpuTarget {
public:
  /// `matrixExtent`: rows and columns of matrix instructions that are preferred, 0 for the best.
  explicit AmdTarget(AmdArch arch, int32_t matrixExtent = 0);
  const AmdArch &arch() const { return architecture; }

  llvm::StringRef name() const override { return architecture.name; }
  llvm::StringRef triple() const override { return "amdgcn-amd-amdhsa"; }
  /// Sets the module's data layout as well: local variables lie in an address space of their own.
  void declareKernel(llvm::Function &kernel, unsigned threads,
                     const backends::CompileOptions &options) const override;
  const backends::MathTarget &math() const override { return mathematics; }

  llvm::Value *threadIndex(llvm::IRBuilderBase &builder) const override;
  llvm::Value *programIndex(llvm::IRBuilderBase &builder, unsigned axis) const override;
  llvm::Value *programCount(llvm::IRBuilderBase &builder, unsigned axis) const override;
  llvm::Value *clock(llvm::IRBuilderBase &builder) const override;
  /// Numbers of compute units are unique, and have gaps.
  llvm::Value *processor(llvm::IRBuilderBase &builder) const override;
  llvm::Value *shuffleXor(llvm::IRBuilderBase &builder, llvm::Value *value,
                          unsigned mask) const override;
  llvm::Value *shuffleFrom(llvm::IRBuilderBase &builder, llvm::Value *value,
                           llvm::Value *source) const override;
  void barrier(llvm::IRBuilderBase &builder, unsigned threads, gpu::Ordered ordered,
               llvm::Value *barrier) const override;
  /// Empty text that may access all memory: LLVM moves no access across it. No instruction.
  static void keepAccessesInOrder(llvm::IRBuilderBase &b);
  void scheduleBarrier(llvm::IRBuilderBase &builder) const override;
  /// By a trap, which has no text.
  void failAssertion(llvm::IRBuilderBase &b, llvm::StringRef message,
                     const lang::SourcePlace &place) const override;
  llvm::Value *anyThread(llvm::IRBuilderBase &builder, llvm::Value *truth, unsigned threads,
                         llvm::Value *scratch, llvm::Value *barrier) const override;
  /// A word for each wave's answer.
  int64_t voteBytes(int64_t warps) const override { return warps > 1 ? 4 * warps : 0; }
  layout::SharedBanks sharedBanks() const override { return architecture.banks; }
  bool takesAssembly() const override { return false; }
  bool hasScalarLoads() const override { return true; }
  bool hasBuffers() const override { return true; }
  const gpu::AsyncCopies *asyncCopies() const override {
    return architecture.hasWideCopies() ? &copies : nullptr;
  }
  const gpu::MatrixProducts *matrixProducts() const override { return &products; }
  const gpu::MatrixLoads *matrixLoads() const override {
    return architecture.banks.transposes ? &transposingReads : nullptr;
  }
  llvm::Value *load(llvm::IRBuilderBase &builder, const gpu::GlobalAccess &access,
                    llvm::Value *other) const override;
  void store(llvm::IRBuilderBase &builder, const gpu::GlobalAccess &access,
             llvm::Value *value) const override;
  llvm::StringRef syncScope(tile::MemoryScope scope) const override;
  unsigned atomicWidth(tile::RmwKind kind, mlir::Type element) const override;
  bool wantsDeviceMemory(tile::RmwKind kind, mlir::Type element,
                         tile::MemoryScope scope) const override;
  llvm::Value *atomicRmw(llvm::IRBuilderBase &builder, const gpu::AtomicAccess &access,
                         tile::RmwKind kind, llvm::Value *value, mlir::Type element,
                         bool isUsed) const override;

private:
  void waitForMemory(llvm::IRBuilderBase &builder, gpu::Ordered ordered) const;
  /// The number of the lane in its wave, i32.
  llvm::Value *lane(llvm::IRBuilderBase &builder) const;

  AmdArch architecture;
  AmdMath mathematics;
  AmdMatrixProducts products;
  AmdCopies copies;
  AmdTransposingReads transposingReads;
};

} // namespace sectile::amd
