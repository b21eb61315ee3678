//===-- NvidiaTensorCopies.h - boxes of arrays by Hopper's copy engine ------------------------===//
// The tensor memory accelerator (PTX ISA, "cp.async.bulk.tensor") and the memory barriers that know
// when it is done ("mbarrier").
#pragma once

#include "backends/gpu/GpuAbilities.h"

namespace sectile::nvidia {

/// From CUDA 12.5 on, of this PTX, assemblers take strides of edited maps as they are; older ones
/// want them in pieces of 16 bytes.
inline constexpr int kEditingPtxVersion = 85;

class NvidiaTensorCopies final : public gpu::TensorCopies {
public:
  explicit NvidiaTensorCopies(int ptxVersion) : ptxVersion(ptxVersion) {}
  void declareMap(llvm::Function &kernel, unsigned parameter) const override;
  void initBarrier(llvm::IRBuilderBase &builder, llvm::Value *barrier, uint32_t arrivals,
                   llvm::Value *predicate) const override;
  void arrive(llvm::IRBuilderBase &builder, llvm::Value *barrier,
              llvm::Value *predicate) const override;
  void endBarrier(llvm::IRBuilderBase &builder, llvm::Value *barrier,
                  llvm::Value *predicate) const override;
  void fence(llvm::IRBuilderBase &builder, bool isGlobal) const override;
  void expect(llvm::IRBuilderBase &builder, llvm::Value *barrier, int64_t bytes,
              llvm::Value *predicate) const override;
  void copy(llvm::IRBuilderBase &builder, llvm::Value *shared, llvm::Value *map,
            llvm::ArrayRef<llvm::Value *> coordinates, llvm::Value *barrier,
            llvm::Value *predicate) const override;
  void wait(llvm::IRBuilderBase &builder, llvm::Value *barrier, llvm::Value *parity,
            llvm::Value *predicate) const override;
  void store(llvm::IRBuilderBase &builder, llvm::Value *map,
             llvm::ArrayRef<llvm::Value *> coordinates, llvm::Value *shared,
             llvm::Value *predicate) const override;
  void commitStores(llvm::IRBuilderBase &builder) const override;
  void waitForStores(llvm::IRBuilderBase &builder, bool areWritten,
                     unsigned pending) const override;
  gpu::RegisterShares shareRegisters(int64_t registers, int64_t threads, int64_t others,
                                     bool othersEditMaps, int64_t wanted) const override;
  void setRegisters(llvm::IRBuilderBase &builder, int64_t words, bool areMore) const override;
  bool editsMaps() const override { return ptxVersion >= kEditingPtxVersion; }
  llvm::Value *claimMaps(llvm::IRBuilderBase &builder, unsigned count, unsigned threads,
                         const gpu::CopyingWarp &warp) const override;
  void editMap(llvm::IRBuilderBase &builder, llvm::Value *map, llvm::Value *scratch,
               const gpu::ArrayDescription &array, llvm::Value *isFirst,
               const gpu::CopyingWarp &warp) const override;
  void fenceMap(llvm::IRBuilderBase &builder, llvm::Value *map,
                const gpu::CopyingWarp &warp) const override;
  void releaseMaps(llvm::IRBuilderBase &builder, llvm::Value *memory, unsigned count,
                   unsigned threads, const gpu::CopyingWarp &warp) const override;

private:
  int ptxVersion;
};

} // namespace sectile::nvidia
