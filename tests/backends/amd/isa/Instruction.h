//===-- Instruction.h - one decoded instruction of an AMD GPU ---------------------------------===//
// LLVM's disassembler decodes, its printer names every operand and modifier, and Decode.cpp turns
// that text into these values once per kernel:
//
//   v_fma_mix_f32 v0, -|v1|, 1.0, s3 op_sel:[1,0,0] clamp
//     name      "V_FMA_MIX_F32" (LLVM's opcode without the suffixes of encodings and targets)
//     operands  v0, -|v1|, 1.0, s3
//     modifiers {opSel = 1, clamp}
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sectile::amdisa {

/// The scalar registers that have names lie behind s0 to s105 in one file.
enum ScalarIndex : uint16_t {
  kVcc = 106,
  kTtmp = 108,
  kM0 = 124,
  kExec = 126,
  kScc = 128,
  kFlatScratch = 130,
  kXnackMask = 132,
  kSharedBase = 134,
  kSharedLimit = 136,
  kPrivateBase = 138,
  kPrivateLimit = 140,
  kScalarCount = 144,
};

/// Accumulation registers lie behind v0 to v255 in one file.
constexpr unsigned kAccumulators = 256;
constexpr unsigned kVectorCount = 512;

enum class Half : uint8_t { None, Low, High };

struct Operand {
  /// Null is a destination that drops what is written, and zero as a source; Off is no address.
  enum class Kind : uint8_t { Off, Null, Scalar, Vector, Integer, Float };
  Kind kind = Kind::Off;
  bool negates = false, takesAbsolute = false, extendsSign = false;
  /// True for a literal written in hexadecimal: the high half of a double.
  bool isLiteral = false;
  Half half = Half::None;
  uint8_t words = 1;
  uint16_t index = 0;
  int64_t integer = 0;
  double number = 0;

  bool isVector() const { return kind == Kind::Vector; }
  bool isScalar() const { return kind == Kind::Scalar; }
  bool isPlainVector() const { return isVector() && !negates && !takesAbsolute && !extendsSign; }
};

/// Where the lanes of the first source of a DPP instruction come from.
enum class LaneMove : uint8_t {
  None,
  QuadPerm,
  RowShiftLeft,
  RowShiftRight,
  RowRotateRight,
  WaveShiftLeft,
  WaveRotateLeft,
  WaveShiftRight,
  WaveRotateRight,
  RowMirror,
  RowHalfMirror,
  RowBroadcast15,
  RowBroadcast31,
  RowNewBroadcast, // gfx90a; row_share of gfx10 and later is the same
  RowXorMask,
  Lanes8, // dpp8
};

/// The part of a register that SDWA reads or writes.
enum class Select : uint8_t { Dword, Byte0, Byte1, Byte2, Byte3, Word0, Word1 };
enum class Unused : uint8_t { Pad, Sext, Preserve };

struct Modifiers {
  bool clamp = false;
  uint8_t omod = 0; // 1: times 2, 2: times 4, 3: divided by 2
  uint8_t opSel = 0, opSelHi = 0, negLo = 0, negHi = 0;
  bool hasOpSel = false, hasOpSelHi = false;
  LaneMove move = LaneMove::None;
  std::array<uint8_t, 8> lanes{}; // of QuadPerm (4) and Lanes8; [0] is the count of the others
  uint8_t rowMask = 15, bankMask = 15;
  bool boundControl = false, fetchInactive = false;
  bool isSdwa = false;
  Select destination = Select::Dword, sources[2] = {Select::Dword, Select::Dword};
  Unused unused = Unused::Pad;
  int32_t offset = 0, offset0 = 0, offset1 = 0;
  bool usesOffsetRegister = false, usesIndexRegister = false; // offen, idxen
  bool toLds = false;
  bool returnsValue = false; // an atomic that gives the old value
  uint8_t byte = 0;          // byte_sel of conversions from 8 bits
  uint8_t truth = 0;         // of v_bitop3: bit 4a + 2b + c
  uint8_t cbsz = 0, abid = 0, blgp = 0;
};

/// Registers that an instruction reads or writes, for hazards.
struct RegisterRange {
  bool isVector;
  uint8_t words;
  uint16_t index;
};

/// The kinds of memory operations whose results come in the order of their issue within a wave, or,
/// for Flat, Scalar and Message, in none.
enum class Stream : uint8_t { Load, Store, Flat, Lds, Scalar, Message, kCount };
constexpr unsigned kStreamCount = unsigned(Stream::kCount);

struct Wave;
struct Instruction;
using Execute = void (*)(Wave &, const Instruction &);

struct Instruction {
  Execute execute = nullptr;
  uint64_t address = 0;
  std::string name, text;
  std::vector<Operand> operands;
  std::shared_ptr<const Instruction> second; // of VOPD, which reads before either writes
  Modifiers modifiers;
  std::vector<int64_t> immediates; // as the machine has them
  std::vector<RegisterRange> reads, writes;
  int32_t target = -1;   // of a branch: an index into the program
  bool isMemory = false; // its results come later, in this stream
  Stream stream{};
  bool isPlain = true;         // neither DPP nor SDWA
  bool keepsOtherHalf = false; // of its destination, on gfx9
};

} // namespace sectile::amdisa
