// Operands and modifiers as LLVM's printer writes them (AMDGPUOperandSyntax and
// AMDGPUModifierSyntax of LLVM's documentation).
#include "Decode.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace sectile::amdisa {
namespace {

constexpr int kUnknown = -1;

int namedScalar(llvm::StringRef name) {
  return llvm::StringSwitch<int>(name)
      .Cases({"vcc", "vcc_lo"}, kVcc)
      .Case("vcc_hi", kVcc + 1)
      .Cases({"exec", "exec_lo"}, kExec)
      .Case("exec_hi", kExec + 1)
      .Case("m0", kM0)
      .Cases({"scc", "src_scc"}, kScc)
      .Cases({"flat_scratch", "flat_scratch_lo"}, kFlatScratch)
      .Case("flat_scratch_hi", kFlatScratch + 1)
      .Cases({"xnack_mask", "xnack_mask_lo"}, kXnackMask)
      .Case("xnack_mask_hi", kXnackMask + 1)
      .Cases({"src_shared_base", "src_shared_base_lo"}, kSharedBase)
      .Cases({"src_shared_limit", "src_shared_limit_lo"}, kSharedLimit)
      .Cases({"src_private_base", "src_private_base_lo"}, kPrivateBase)
      .Cases({"src_private_limit", "src_private_limit_lo"}, kPrivateLimit)
      .Default(kUnknown);
}

bool isPair(llvm::StringRef name) {
  return name == "vcc" || name == "exec" || name == "flat_scratch" || name == "xnack_mask" ||
         (name.starts_with("src_") && name != "src_scc" && !name.ends_with("_lo"));
}

/// "v12", "v[2:5]", "a3", "s[0:1]", "ttmp9", "v3.h".
bool parseRegister(llvm::StringRef text, Operand &operand) {
  if (text.consume_back(".l"))
    operand.half = Half::Low;
  else if (text.consume_back(".h"))
    operand.half = Half::High;
  unsigned base, limit;
  bool isVector = false;
  if (text.consume_front("ttmp")) {
    base = kTtmp, limit = 16;
  } else if (text.consume_front("v")) {
    base = 0, limit = 256, isVector = true;
  } else if (text.consume_front("a")) {
    base = kAccumulators, limit = 256, isVector = true;
  } else if (text.consume_front("s")) {
    base = 0, limit = kVcc;
  } else {
    return false;
  }
  unsigned first, last;
  if (text.consume_front("[")) {
    if (!text.consume_back("]"))
      return false;
    auto [low, high] = text.split(':');
    if (low.getAsInteger(10, first) || (high.empty() ? low : high).getAsInteger(10, last))
      return false;
  } else {
    if (text.getAsInteger(10, first))
      return false;
    last = first;
  }
  if (last < first || last >= limit)
    return false;
  operand.kind = isVector ? Operand::Kind::Vector : Operand::Kind::Scalar;
  operand.index = uint16_t(base + first);
  operand.words = uint8_t(last - first + 1);
  return true;
}

bool parseNumber(llvm::StringRef text, Operand &operand) {
  // A literal that would be an inline constant, too.
  if (text.consume_front("lit(") && !text.consume_back(")"))
    return false;
  llvm::StringRef digits = text;
  bool isNegative = digits.consume_front("-");
  if (digits.empty() || !llvm::isDigit(digits.front()))
    return false;
  if (digits.starts_with("0x")) {
    uint64_t bits;
    if (digits.getAsInteger(0, bits))
      return false;
    operand.kind = Operand::Kind::Integer;
    operand.isLiteral = true;
    operand.integer = int64_t(isNegative ? -bits : bits);
    return true;
  }
  if (digits.contains('.')) {
    operand.kind = Operand::Kind::Float;
    return !text.getAsDouble(operand.number);
  }
  operand.kind = Operand::Kind::Integer;
  return !text.getAsInteger(10, operand.integer);
}

/// The numbers of "[1,0,3]".
bool parseList(llvm::StringRef text, llvm::SmallVectorImpl<unsigned> &numbers) {
  if (!text.consume_front("[") || !text.consume_back("]"))
    return false;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  for (llvm::StringRef part : parts)
    if (part.trim().getAsInteger(0, numbers.emplace_back()))
      return false;
  return true;
}

bool parseBits(llvm::StringRef text, uint8_t &bits) {
  llvm::SmallVector<unsigned> numbers;
  if (!parseList(text, numbers))
    return false;
  for (auto [place, number] : llvm::enumerate(numbers))
    bits |= uint8_t(number << place);
  return true;
}

bool parseSelect(llvm::StringRef text, Select &select) {
  int number = llvm::StringSwitch<int>(text)
                   .Case("DWORD", int(Select::Dword))
                   .Case("BYTE_0", int(Select::Byte0))
                   .Case("BYTE_1", int(Select::Byte1))
                   .Case("BYTE_2", int(Select::Byte2))
                   .Case("BYTE_3", int(Select::Byte3))
                   .Case("WORD_0", int(Select::Word0))
                   .Case("WORD_1", int(Select::Word1))
                   .Default(kUnknown);
  select = Select(number);
  return number != kUnknown;
}

bool parseMove(llvm::StringRef name, llvm::StringRef value, Modifiers &modifiers) {
  modifiers.move = llvm::StringSwitch<LaneMove>(name)
                       .Case("quad_perm", LaneMove::QuadPerm)
                       .Case("row_shl", LaneMove::RowShiftLeft)
                       .Case("row_shr", LaneMove::RowShiftRight)
                       .Case("row_ror", LaneMove::RowRotateRight)
                       .Case("wave_shl", LaneMove::WaveShiftLeft)
                       .Case("wave_rol", LaneMove::WaveRotateLeft)
                       .Case("wave_shr", LaneMove::WaveShiftRight)
                       .Case("wave_ror", LaneMove::WaveRotateRight)
                       .Case("row_mirror", LaneMove::RowMirror)
                       .Case("row_half_mirror", LaneMove::RowHalfMirror)
                       .Cases({"row_newbcast", "row_share"}, LaneMove::RowNewBroadcast)
                       .Case("row_xmask", LaneMove::RowXorMask)
                       .Case("dpp8", LaneMove::Lanes8)
                       .Default(LaneMove::None);
  if (name == "row_bcast")
    modifiers.move = value == "15" ? LaneMove::RowBroadcast15 : LaneMove::RowBroadcast31;
  if (modifiers.move == LaneMove::None)
    return false;
  if (value.starts_with("[")) {
    llvm::SmallVector<unsigned> numbers;
    if (!parseList(value, numbers) || numbers.size() > 8)
      return false;
    std::copy(numbers.begin(), numbers.end(), modifiers.lanes.begin());
    return true;
  }
  return value.empty() || !value.getAsInteger(10, modifiers.lanes[0]);
}

bool parseSdwa(llvm::StringRef name, llvm::StringRef value, Modifiers &modifiers) {
  if (name == "dst_sel")
    return parseSelect(value, modifiers.destination);
  if (name == "src0_sel")
    return parseSelect(value, modifiers.sources[0]);
  if (name == "src1_sel")
    return parseSelect(value, modifiers.sources[1]);
  int number = llvm::StringSwitch<int>(value)
                   .Case("UNUSED_PAD", int(Unused::Pad))
                   .Case("UNUSED_SEXT", int(Unused::Sext))
                   .Case("UNUSED_PRESERVE", int(Unused::Preserve))
                   .Default(kUnknown);
  modifiers.unused = Unused(number);
  return name == "dst_unused" && number != kUnknown;
}

/// Caches are not modelled, so what an access asks of them has no effect.
bool isCacheWord(llvm::StringRef text) {
  return text == "sc0" || text == "sc1" || text == "nt" || text == "glc" || text == "slc" ||
         text == "dlc" || text.starts_with("th:") || text.starts_with("scope:");
}

bool parseWord(llvm::StringRef text, Modifiers &modifiers) {
  bool *flag = llvm::StringSwitch<bool *>(text)
                   .Case("clamp", &modifiers.clamp)
                   .Case("offen", &modifiers.usesOffsetRegister)
                   .Case("idxen", &modifiers.usesIndexRegister)
                   .Case("lds", &modifiers.toLds)
                   .Default(nullptr);
  if (flag)
    *flag = true;
  return flag || isCacheWord(text);
}

} // namespace

bool parseOperand(llvm::StringRef text, Operand &operand) {
  operand = {};
  if (text.consume_front("sext(")) {
    operand.extendsSign = true;
    text.consume_back(")");
  } else if (text.consume_front("neg(")) {
    operand.negates = true;
    text.consume_back(")");
  } else if (text.starts_with("-") && text.size() > 1 && !llvm::isDigit(text[1])) {
    operand.negates = true;
    text = text.drop_front();
  }
  if (text.starts_with("|") && text.ends_with("|") && text.size() > 2) {
    operand.takesAbsolute = true;
    text = text.drop_front().drop_back();
  }
  if (text == "off")
    return true;
  if (text == "null") {
    operand.kind = Operand::Kind::Null;
    return true;
  }
  if (int index = namedScalar(text); index != kUnknown) {
    operand.kind = Operand::Kind::Scalar;
    operand.index = uint16_t(index);
    operand.words = isPair(text) ? 2 : 1;
    return true;
  }
  return parseNumber(text, operand) || parseRegister(text, operand);
}

bool parseModifier(llvm::StringRef text, Modifiers &modifiers) {
  if (parseWord(text, modifiers))
    return true;
  auto [name, value] = text.split(':');
  if (name == "op_sel") {
    modifiers.hasOpSel = true;
    return parseBits(value, modifiers.opSel);
  }
  if (name == "op_sel_hi") {
    modifiers.hasOpSelHi = true;
    return parseBits(value, modifiers.opSelHi);
  }
  if (name == "neg_lo" || name == "neg")
    return parseBits(value, modifiers.negLo);
  if (name == "neg_hi")
    return parseBits(value, modifiers.negHi);
  if (name == "mul" || name == "div") {
    modifiers.omod = name == "div" ? 3 : value == "2" ? 1 : 2;
    return true;
  }
  if (name == "row_mask")
    return !value.getAsInteger(0, modifiers.rowMask);
  if (name == "bank_mask")
    return !value.getAsInteger(0, modifiers.bankMask);
  if (name == "bound_ctrl" || name == "fi") {
    (name == "fi" ? modifiers.fetchInactive : modifiers.boundControl) = value != "0";
    return true;
  }
  if (name == "offset")
    return !value.getAsInteger(0, modifiers.offset) || value.starts_with("swizzle(");
  if (name == "offset0")
    return !value.getAsInteger(0, modifiers.offset0);
  if (name == "offset1")
    return !value.getAsInteger(0, modifiers.offset1);
  if (name == "byte_sel")
    return !value.getAsInteger(0, modifiers.byte);
  if (name == "bitop3")
    return !value.getAsInteger(0, modifiers.truth);
  if (name == "cbsz")
    return !value.getAsInteger(0, modifiers.cbsz);
  if (name == "abid")
    return !value.getAsInteger(0, modifiers.abid);
  if (name == "blgp")
    return !value.getAsInteger(0, modifiers.blgp);
  return parseMove(name, value, modifiers) || parseSdwa(name, value, modifiers);
}

} // namespace sectile::amdisa
