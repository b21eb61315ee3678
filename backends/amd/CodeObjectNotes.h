//===-- CodeObjectNotes.h - what a code object says of its kernels ----------------------------===//
//   llvm::Expected<CodeObjectNotes> notes = CodeObjectNotes::read(bytes, "softmax");
//
// (LLVM's AMDGPUUsage, "Code Object V5 Metadata".)
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>

namespace sectile::amd {

struct CodeObjectNotes {
  int64_t vectorRegisters = 0; // those for accumulation among them
  int64_t accumulationRegisters = 0, scalarRegisters = 0;
  int64_t vectorSpills = 0, scalarSpills = 0;
  int64_t sharedBytes = 0, scratchBytes = 0, argumentBytes = 0; // scratch: of a work-item
  int64_t laneCount = 0;

  static llvm::Expected<CodeObjectNotes> read(llvm::StringRef codeObject, llvm::StringRef kernel);
};

} // namespace sectile::amd
