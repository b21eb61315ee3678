//===-- CodeObject.h - an AMDGPU code object, loaded and decoded ------------------------------===//
#pragma once

#include "Decode.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/AMDHSAKernelDescriptor.h"

namespace sectile::amdisa {

/// An argument as the metadata describes it.
struct Parameter {
  uint32_t offset, bytes;
  std::string kind; // "global_buffer", "by_value", "hidden_block_count_x", ...
  bool isHidden() const { return kind.starts_with("hidden_"); }
};

struct Kernel {
  std::string name;
  llvm::amdhsa::kernel_descriptor_t descriptor;
  std::vector<Parameter> parameters;
  uint32_t kernargBytes = 0;
  unsigned lanes = 64; // of a wave, by the descriptor
  /// What the metadata says that the descriptor or the code says, too; -1 where it says nothing.
  struct Notes {
    int64_t lanes = -1, sharedBytes = -1, scratchBytes = -1, vectorRegisters = -1,
            accumulationRegisters = -1;
  } notes;
  Program program;

  unsigned field(uint32_t word, unsigned shift, unsigned width) const {
    return word >> shift & ((1u << width) - 1);
  }
};

class CodeObject {
public:
  /// Reads, places and decodes a linked code object of version 5 or 6. Every kernel in it is
  /// decoded, so an instruction that is not modelled is found here, and so is metadata that the
  /// descriptor or the code contradicts.
  static llvm::Expected<std::unique_ptr<CodeObject>> load(llvm::StringRef bytes);

  /// Null when the object has no kernel of this name.
  const Kernel *kernel(llvm::StringRef name) const;
  Kernel *kernel(llvm::StringRef name);
  std::vector<std::string> kernelNames() const;
  const Chip &chip() const { return chipOfObject; }
  /// The object's own memory: code and constants.
  llvm::ArrayRef<uint8_t> image() const { return {memory.get(), imageBytes}; }

private:
  llvm::Error read(llvm::StringRef bytes);
  llvm::Error readMetadata(llvm::ArrayRef<uint8_t> note);
  llvm::Error addKernel(llvm::StringRef name, uint64_t descriptor, Decoder &decoder);

  Chip chipOfObject;
  std::unique_ptr<uint8_t[]> memory;
  uint64_t imageBytes = 0;
  llvm::StringMap<uint64_t> symbols, symbolSizes;
  llvm::StringMap<Kernel> kernels;
};

} // namespace sectile::amdisa
