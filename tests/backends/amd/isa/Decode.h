//===-- Decode.h - machine code of an AMD GPU to instructions ---------------------------------===//
#pragma once

#include "Wave.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace sectile::amdisa {

/// LLVM's disassembler for one chip.
class Decoder {
public:
  static llvm::Expected<std::unique_ptr<Decoder>> create(llvm::StringRef chip);
  virtual ~Decoder() = default;
  /// Decodes all of `code`, which begins at `address`. Bytes that are no instruction of this chip,
  /// and instructions that the interpreter does not model, are errors that name kernel and address.
  virtual llvm::Expected<Program> decode(llvm::StringRef kernel, llvm::ArrayRef<uint8_t> code,
                                         uint64_t address) = 0;
};

/// "V_ADD_F32" for "V_ADD_F32_e64_dpp_gfx11", "GLOBAL_LOAD_DWORD" for "GLOBAL_LOAD_DWORD_SADDR_vi".
std::string semanticName(llvm::StringRef opcode);
/// One operand as LLVM's printer writes it; false when `text` is none.
bool parseOperand(llvm::StringRef text, Operand &operand);
/// One modifier: "offset:16", "op_sel:[1,0]", "clamp". False for one that is not known.
bool parseModifier(llvm::StringRef text, Modifiers &modifiers);

} // namespace sectile::amdisa
