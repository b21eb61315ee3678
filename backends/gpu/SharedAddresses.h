//===-- SharedAddresses.h - a thread's accesses to shared memory, as instructions -------------===//
// Addresses and vector accesses for what layout::accessShared says. What is constant in an offset
// becomes part of the instruction; an xor is left only where a swizzle needs one.
//
//   SharedAddresses scratch(emitter, access, type, offset);
//   scratch.store(group, values);
//   scratch.load(group, values);
#pragma once

#include "backends/gpu/GpuEmitter.h"
#include "lang/layout/SharedLayout.h"

namespace sectile::gpu {

/// What a register's value is stored as: bytes for truth values, integers for pointers.
llvm::Type *scratchType(llvm::Type *type);
unsigned scratchBytesOf(llvm::Type *type);

class SharedAddresses {
public:
  /// `type` is a register's. `offset`: bytes into shared memory.
  SharedAddresses(GpuEmitter &emitter, layout::SharedAccess access, llvm::Type *type,
                  int64_t offset);
  /// Whose places are computed: each lane's, or of a warp whose lanes' places follow each other
  /// that of the first, in registers which all lanes share.
  enum class Of : uint8_t { EachLane, FirstLanes };
  /// From an address on.
  SharedAddresses(GpuEmitter &emitter, layout::SharedAccess access, llvm::Type *type,
                  llvm::Value *start, Of of = Of::EachLane);

  const layout::SharedAccess &access() const { return accesses; }
  /// Notes what loads are known to be apart from.
  void setAliasing(llvm::AAMDNodes nodes) { aliasing = nodes; }
  /// Loads are the target's `matrixLoads`.
  void loadByMatrices(MatrixLoads::Kind kind) { matrix = kind; }
  bool areMatrices() const { return matrix.has_value(); }
  /// What a load by matrices gives, i32 each, in the order of the group's registers.
  llvm::SmallVector<llvm::Value *, 4> loadWords(unsigned group);
  /// Computes here what several accesses share, so that branches may contain the accesses.
  void prepare();
  /// The address of the first element of a group, plus `more` bytes, which may be null.
  llvm::Value *address(unsigned group, llvm::Value *more = nullptr);
  /// Registers of the group, from or to `values`, which has one for each register of the tile.
  void store(unsigned group, const Registers &values, llvm::Value *more = nullptr);
  void load(unsigned group, Registers &values, llvm::Value *more = nullptr);
  /// Stores of all groups, each place once.
  void storeAll(const Registers &values, llvm::Value *more = nullptr);
  void loadAll(Registers &values, llvm::Value *more = nullptr);

private:
  int64_t swizzleOf(const layout::SharedAccessGroup &group) const;
  llvm::Value *base(int64_t swizzle);
  llvm::Value *threadOffset();
  llvm::Value *emitIndexed(llvm::ArrayRef<int64_t> laneBases, llvm::ArrayRef<int64_t> warpBases);

  GpuEmitter &emitter;
  llvm::IRBuilder<> &builder;
  layout::SharedAccess accesses;
  llvm::Type *type;
  llvm::Value *start;
  Of of;
  int64_t elementBytes;
  llvm::Value *thread = nullptr;
  bool hasThread = false;
  int64_t threadBits = 0;
  llvm::AAMDNodes aliasing;
  std::optional<MatrixLoads::Kind> matrix;
  llvm::DenseMap<int64_t, llvm::Value *> byXor;
};

} // namespace sectile::gpu
