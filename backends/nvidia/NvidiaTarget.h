//===-- NvidiaTarget.h - the instructions of NVIDIA GPUs --------------------------------------===//
//   std::optional<NvidiaArch> arch = NvidiaArch::parse("sm_90a");
//   NvidiaTarget target(*arch);
#pragma once

#include "backends/gpu/GpuTarget.h"
#include "backends/nvidia/NvidiaMath.h"

#include <optional>
#include <string>

namespace sectile::nvidia {

struct NvidiaArch {
  std::string name = "sm_90a";
  int capability = 90;
  /// Shared memory a block may have, in bytes (CUDA C++ Programming Guide, technical
  /// specifications per compute capability).
  int64_t maxSharedBytes = 227 << 10;
  /// The PTX version code is written in: the least that knows the architecture.
  int ptxVersion = 80;

  /// A launch may begin before the one before it in the stream is done.
  bool hasDependentLaunch() const { return capability >= 90; }

  /// "sm_80", "sm_90a"; or "80", "90" as in the target "cuda:90", which stands for all its
  /// instructions. Nothing for an architecture that is not known.
  static std::optional<NvidiaArch> parse(llvm::StringRef text);
};

class NvidiaTarget final : public gpu::GpuTarget {
public:
  explicit NvidiaTarget(NvidiaArch arch);
  const NvidiaArch &arch() const { return architecture; }

  llvm::StringRef triple() const override { return "nvptx64-nvidia-cuda"; }
  void declareKernel(llvm::Function &kernel, unsigned threads,
                     const backends::CompileOptions &options) const override;
  const backends::MathTarget &math() const override { return mathematics; }

  llvm::Value *threadIndex(llvm::IRBuilderBase &builder) const override;
  llvm::Value *programIndex(llvm::IRBuilderBase &builder, unsigned axis) const override;
  llvm::Value *programCount(llvm::IRBuilderBase &builder, unsigned axis) const override;
  llvm::Value *shuffleXor(llvm::IRBuilderBase &builder, llvm::Value *value,
                          unsigned mask) const override;
  llvm::Value *shuffleFrom(llvm::IRBuilderBase &builder, llvm::Value *value,
                           llvm::Value *source) const override;
  llvm::Value *anyLane(llvm::IRBuilderBase &builder, llvm::Value *truth) const override;
  bool hasMatrixProduct(mlir::Type lhs, mlir::Type rhs, mlir::Type acc,
                        tile::InputPrecision precision) const override;
  llvm::SmallVector<llvm::Value *, 4>
  matrixProduct(llvm::IRBuilderBase &builder, mlir::Type lhs, mlir::Type rhs,
                llvm::ArrayRef<llvm::Value *> a, llvm::ArrayRef<llvm::Value *> b,
                llvm::ArrayRef<llvm::Value *> acc) const override;
  llvm::Value *roundToTf32(llvm::IRBuilderBase &builder, llvm::Value *value) const override;
  void barrier(llvm::IRBuilderBase &builder, unsigned threads, unsigned barrier) const override;
  llvm::Value *anyThread(llvm::IRBuilderBase &builder, llvm::Value *truth, unsigned threads,
                         unsigned barrier) const override;
  void gridWait(llvm::IRBuilderBase &builder) const override;
  void gridLaunchDependents(llvm::IRBuilderBase &builder) const override;
  void asyncCopy(llvm::IRBuilderBase &builder, llvm::Value *shared, llvm::Value *global,
                 unsigned bytes, llvm::Value *predicate) const override;
  void asyncCommit(llvm::IRBuilderBase &builder) const override;
  void asyncWait(llvm::IRBuilderBase &builder, unsigned pending) const override;
  llvm::SmallVector<llvm::Value *, 4> loadMatrices(llvm::IRBuilderBase &builder, llvm::Value *row,
                                                   unsigned matrices,
                                                   bool isTransposed) const override;
  llvm::Value *load(llvm::IRBuilderBase &builder, const gpu::GlobalAccess &access,
                    llvm::Value *other) const override;
  void store(llvm::IRBuilderBase &builder, const gpu::GlobalAccess &access,
             llvm::Value *value) const override;
  unsigned atomicWidth(tile::RmwKind kind, mlir::Type element) const override;
  llvm::Value *atomicRmw(llvm::IRBuilderBase &builder, const gpu::AtomicAccess &access,
                         tile::RmwKind kind, llvm::Value *value, mlir::Type element,
                         bool isUsed) const override;
  llvm::StringRef syncScope(tile::MemoryScope scope) const override;

private:
  NvidiaArch architecture;
  NvidiaMath mathematics;
};

} // namespace sectile::nvidia
