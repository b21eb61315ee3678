//===-- MatrixLayouts.h - which lane and register of a matrix instruction holds what ----------===//
// Each layout is linear over bits: element e of lane l holds the exclusive or of the bases of e's
// and l's bits. Facts: AMD's matrix instruction calculator, and the ISA manuals of CDNA3, RDNA3 and
// RDNA4.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sectile::amdisa {

enum class Number : uint8_t { F16, BF16, F32, XF32, F64, I8, IU8, FP8, BF8, I32 };

unsigned bitsOfNumber(Number number);

/// A place in a matrix: of A (row, k), of B (column, k), of D (row, column). Small instructions
/// multiply several blocks of matrices.
struct Place {
  uint16_t major = 0, minor = 0, block = 0;
};

struct MatrixLayout {
  std::vector<Place> elements, lanes; // bases
  Place at(unsigned element, unsigned lane) const;
};

struct MatrixInstruction {
  unsigned m, n, k, blocks;
  Number lhs, rhs, result;
  MatrixLayout a, b, d;
  /// The number of result elements in a register: f16 results of gfx11 leave every second half
  /// alone.
  bool usesHalfOfRegister = false;
  bool repeatsOperands = false; // the lanes 16 to 31 have to hold what 0 to 15 do
};

/// "V_MFMA_F32_32X32X8F16" with the registers of its result; nothing for a name that is not
/// modelled. `generation` is 9 (MFMA), 11 or 12 (WMMA).
std::optional<MatrixInstruction> matrixInstruction(llvm::StringRef name, int generation,
                                                   unsigned resultWords);

} // namespace sectile::amdisa
