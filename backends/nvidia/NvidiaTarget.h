//===-- NvidiaTarget.h - the instructions of NVIDIA GPUs --------------------------------------===//
//   std::optional<NvidiaArch> arch = NvidiaArch::parse("sm_90a");
//   NvidiaTarget target(*arch);
#pragma once

#include "backends/gpu/GpuTarget.h"
#include "backends/nvidia/NvidiaArch.h"
#include "backends/nvidia/NvidiaMath.h"
#include "backends/nvidia/NvidiaMatrix.h"
#include "backends/nvidia/NvidiaTensorCopies.h"
#include "backends/nvidia/NvidiaWarpgroup.h"

namespace sectile::nvidia {

class NvidiaTarget final : public gpu::GpuTarget {
public:
  explicit NvidiaTarget(NvidiaArch arch);
  const NvidiaArch &arch() const { return architecture; }

  llvm::StringRef name() const override { return architecture.name; }
  llvm::StringRef triple() const override { return "nvptx64-nvidia-cuda"; }
  void declareKernel(llvm::Function &kernel, unsigned threads,
                     const backends::CompileOptions &options) const override;
  const backends::MathTarget &math() const override { return mathematics; }

  llvm::Value *threadIndex(llvm::IRBuilderBase &builder) const override;
  llvm::Value *oneLane(llvm::IRBuilderBase &builder) const override;
  llvm::Value *programIndex(llvm::IRBuilderBase &builder, unsigned axis) const override;
  llvm::Value *programCount(llvm::IRBuilderBase &builder, unsigned axis) const override;
  llvm::Value *clock(llvm::IRBuilderBase &builder) const override;
  llvm::Value *processor(llvm::IRBuilderBase &builder) const override;
  llvm::Value *shuffleXor(llvm::IRBuilderBase &builder, llvm::Value *value,
                          unsigned mask) const override;
  llvm::Value *combineLanes(llvm::IRBuilderBase &builder, tile::RmwKind kind,
                            llvm::Value *value) const override;
  llvm::Value *shuffleFrom(llvm::IRBuilderBase &builder, llvm::Value *value,
                           llvm::Value *source) const override;
  /// Orders all memory of the block, always.
  void barrier(llvm::IRBuilderBase &builder, unsigned threads, gpu::Ordered ordered,
               llvm::Value *barrier) const override;
  llvm::Value *anyThread(llvm::IRBuilderBase &builder, llvm::Value *truth, unsigned threads,
                         llvm::Value *scratch, llvm::Value *barrier) const override;
  /// By CUDA's own `assert`, whose text the driver prints (`__assertfail`, NVIDIA's PTX writer's
  /// guide).
  void failAssertion(llvm::IRBuilderBase &builder, llvm::StringRef message,
                     const lang::SourcePlace &place) const override;
  int64_t voteBytes(int64_t warps) const override { return 0; }
  layout::SharedBanks sharedBanks() const override { return {}; }
  bool takesAssembly() const override { return true; }
  const gpu::AsyncCopies *asyncCopies() const override;
  const gpu::MatrixProducts *matrixProducts() const override { return &products; }
  /// Hopper alone.
  const gpu::BufferProducts *bufferProducts() const override {
    return architecture.capability == 90 ? &warpgroupProducts : nullptr;
  }
  /// Hopper alone, so far.
  const gpu::TensorCopies *tensorCopies() const override {
    return architecture.capability == 90 ? &engine : nullptr;
  }
  const gpu::MatrixLoads *matrixLoads() const override;
  const gpu::Tf32Rounding *tf32Rounding() const override { return &rounding; }
  /// From sm_90 on.
  const gpu::DependentLaunches *dependentLaunches() const override;
  llvm::Value *load(llvm::IRBuilderBase &builder, const gpu::GlobalAccess &access,
                    llvm::Value *other) const override;
  void store(llvm::IRBuilderBase &builder, const gpu::GlobalAccess &access,
             llvm::Value *value) const override;
  unsigned atomicWidth(tile::RmwKind kind, mlir::Type element) const override;
  llvm::Value *atomicRmw(llvm::IRBuilderBase &builder, const gpu::AtomicAccess &access,
                         tile::RmwKind kind, llvm::Value *value, mlir::Type element,
                         bool isUsed) const override;
  llvm::Value *atomicCas(llvm::IRBuilderBase &builder, const gpu::AtomicAccess &access,
                         llvm::Value *expected, llvm::Value *desired,
                         mlir::Type element) const override;
  llvm::StringRef syncScope(tile::MemoryScope scope) const override;

private:
  llvm::Value *atomicExtremum(llvm::IRBuilderBase &builder, const gpu::AtomicAccess &access,
                              tile::RmwKind kind, llvm::Value *value, mlir::Type element,
                              bool isUsed) const;
  NvidiaArch architecture;
  NvidiaMath mathematics;
  NvidiaMatrixProducts products;
  NvidiaWarpgroupProducts warpgroupProducts;
  NvidiaTensorCopies engine;
  NvidiaTf32Rounding rounding;
};

} // namespace sectile::nvidia
