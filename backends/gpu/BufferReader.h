//===-- BufferReader.h - a tile out of a buffer, instruction by instruction -------------------===//
//   BufferReader reader(emitter, load);
//   for (unsigned group = 0; group < reader.groupCount(); ++group)
//     reader.read(group, values);
//
// By the target's matrix loads (ldmatrix, reads that transpose) where layouts allow, else by vector
// loads as wide as can be. A caller that needs only some registers at a time reads only their
// groups.
#pragma once

#include "backends/gpu/SharedAddresses.h"

namespace sectile::gpu {

class BufferReader {
public:
  BufferReader(GpuEmitter &emitter, tile::BufferLoadOp load);

  unsigned groupCount() const { return places->access().groups.size(); }
  /// What one instruction fills.
  llvm::ArrayRef<int> registersOf(unsigned group) const {
    return places->access().groups[group].registers;
  }
  /// The registers of the group, in `values`, which has one for each register of the tile.
  void read(unsigned group, Registers &values);
  /// Groups come as words of 32 bits of neighbouring registers.
  bool givesWords() const { return places->areMatrices(); }
  /// i32 each, in the order of the group's registers.
  llvm::SmallVector<llvm::Value *, 4> readWords(unsigned group) { return places->loadWords(group); }

private:
  GpuEmitter &emitter;
  mlir::Type element;
  std::optional<SharedAddresses> places;
};

} // namespace sectile::gpu
