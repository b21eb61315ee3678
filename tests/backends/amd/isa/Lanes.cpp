#include "Lanes.h"

namespace sectile::amdisa {

uint64_t constantBits(const Operand &operand, unsigned bits, bool isReal, bool isBfloat) {
  if (operand.kind == Operand::Kind::Float) {
    if (bits == 64)
      return std::bit_cast<uint64_t>(operand.number);
    if (bits == 16)
      return isBfloat ? bfloatFromFloat(float(operand.number)) : halfFromDouble(operand.number);
    return std::bit_cast<uint32_t>(float(operand.number));
  }
  if (operand.kind != Operand::Kind::Integer)
    return 0;
  auto value = uint64_t(operand.integer);
  if (bits == 64)
    return isReal && operand.isLiteral ? value << 32 : value;
  return bits == 16 ? uint16_t(value) : uint32_t(value);
}

uint64_t readScalar(const Wave &wave, const Operand &operand, unsigned bits, bool isReal) {
  if (!operand.isScalar())
    return constantBits(operand, bits, isReal);
  return bits == 64 && operand.words == 2 ? wave.pair(operand.index) : wave.scalar[operand.index];
}

void writeScalar(Wave &wave, const Operand &operand, unsigned words, uint64_t value) {
  if (!operand.isScalar())
    return;
  wave.scalar[operand.index] = uint32_t(value);
  if (words == 2)
    wave.scalar[operand.index + 1] = uint32_t(value >> 32);
}

void storeMask(Wave &wave, const Operand &operand, uint64_t mask) {
  if (operand.isScalar())
    wave.setMask(operand.index, mask);
}

void flushDenormals(uint32_t *values, unsigned lanes) {
  for (unsigned lane = 0; lane < lanes; ++lane)
    if ((values[lane] & 0x7f800000) == 0)
      values[lane] &= 0x80000000;
}

static int sourceLane(const Modifiers &modifiers, int lane, int lanes) {
  int row = lane & ~15, inRow = lane & 15, count = modifiers.lanes[0];
  auto within = [&](int source) { return source >= 0 && source < 16 ? row + source : -1; };
  auto inWave = [&](int source) { return source >= 0 && source < lanes ? source : -1; };
  switch (modifiers.move) {
  case LaneMove::None:
    return lane;
  case LaneMove::QuadPerm:
    return (lane & ~3) + modifiers.lanes[lane & 3];
  case LaneMove::RowShiftLeft:
    return within(inRow + count);
  case LaneMove::RowShiftRight:
    return within(inRow - count);
  case LaneMove::RowRotateRight:
    return row + ((inRow - count) & 15);
  case LaneMove::WaveShiftLeft:
    return inWave(lane + 1);
  case LaneMove::WaveRotateLeft:
    return (lane + 1) % lanes;
  case LaneMove::WaveShiftRight:
    return inWave(lane - 1);
  case LaneMove::WaveRotateRight:
    return (lane + lanes - 1) % lanes;
  case LaneMove::RowMirror:
    return row + 15 - inRow;
  case LaneMove::RowHalfMirror:
    return (lane & ~7) + 7 - (lane & 7);
  case LaneMove::RowBroadcast15: // the last lane of each row to the next row
    return row == 0 ? -1 : row - 1;
  case LaneMove::RowBroadcast31: // lane 31 to the rows 2 and 3
    return lane < 32 ? -1 : 31;
  case LaneMove::RowNewBroadcast:
    return row + count;
  case LaneMove::RowXorMask:
    return row + (inRow ^ count);
  case LaneMove::Lanes8:
    return (lane & ~7) + modifiers.lanes[lane & 7];
  }
  return -1;
}

void laneSources(const Wave &wave, const Modifiers &modifiers, int8_t *sources) {
  uint64_t exec = wave.exec();
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    int source = sourceLane(modifiers, int(lane), int(wave.lanes));
    bool isOff = source >= 0 && !(exec >> source & 1) && !modifiers.fetchInactive;
    sources[lane] = int8_t(isOff ? -1 : source);
  }
}

void applyDpp(const Wave &wave, const Instruction &instruction, uint32_t *values) {
  int8_t sources[64];
  laneSources(wave, instruction.modifiers, sources);
  uint32_t old[64];
  std::copy_n(values, wave.lanes, old);
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    values[lane] = sources[lane] < 0 ? 0 : old[sources[lane]];
}

uint64_t writtenLanes(Wave &wave, const Instruction &instruction) {
  uint64_t written = wave.exec();
  const Modifiers &modifiers = instruction.modifiers;
  if (modifiers.move == LaneMove::None)
    return written;
  int8_t sources[64];
  laneSources(wave, modifiers, sources);
  bool zeroes = modifiers.boundControl || modifiers.move == LaneMove::Lanes8;
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    bool isOn =
        (modifiers.rowMask >> (lane / 16) & 1) && (modifiers.bankMask >> (lane / 4 % 4) & 1);
    if (!isOn || (sources[lane] < 0 && !zeroes))
      written &= ~(uint64_t(1) << lane);
  }
  return written;
}

void applySelect(Select select, bool isSigned, uint32_t *values, unsigned lanes) {
  if (select == Select::Dword)
    return;
  bool isByte = select <= Select::Byte3;
  unsigned shift = isByte ? 8 * (unsigned(select) - unsigned(Select::Byte0))
                          : 16 * (unsigned(select) - unsigned(Select::Word0));
  for (unsigned lane = 0; lane < lanes; ++lane) {
    uint32_t part = values[lane] >> shift;
    values[lane] = isByte ? (isSigned ? uint32_t(int8_t(part)) : uint8_t(part))
                          : (isSigned ? uint32_t(int16_t(part)) : uint16_t(part));
  }
}

void storeWords(Wave &wave, unsigned index, const uint32_t *values, uint64_t written) {
  uint32_t *row = wave.row(index);
  if (written == wave.allLanes()) {
    std::copy_n(values, wave.lanes, row);
    return;
  }
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    row[lane] = written >> lane & 1 ? values[lane] : row[lane];
}

void storeHalves(Wave &wave, const Instruction &instruction, const Operand &operand,
                 unsigned sources, const uint32_t *values, uint64_t written) {
  const Modifiers &modifiers = instruction.modifiers;
  bool toHigh =
      operand.half == Half::High || (modifiers.hasOpSel && (modifiers.opSel >> sources & 1));
  // On gfx9 most instructions of 16 bits clear the other half; later it stays.
  uint32_t kept = toHigh                                                      ? 0xffff
                  : wave.chip->generation == 9 && !instruction.keepsOtherHalf ? 0
                                                                              : 0xffff0000;
  uint32_t *row = wave.row(operand.index);
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    if (written >> lane & 1)
      row[lane] = (row[lane] & kept) | (values[lane] & 0xffff) << (toHigh ? 16 : 0);
}

void storeSelected(Wave &wave, const Instruction &instruction, const uint32_t *values,
                   uint64_t written) {
  const Modifiers &modifiers = instruction.modifiers;
  uint32_t *row = wave.row(instruction.operands[0].index);
  Select select = modifiers.destination;
  bool isByte = select >= Select::Byte0 && select <= Select::Byte3;
  unsigned width = select == Select::Dword ? 32 : isByte ? 8 : 16;
  unsigned shift = isByte                    ? 8 * (unsigned(select) - unsigned(Select::Byte0))
                   : select == Select::Dword ? 0
                                             : 16 * (unsigned(select) - unsigned(Select::Word0));
  uint32_t field = width == 32 ? ~0u : (1u << width) - 1;
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    if (!(written >> lane & 1))
      continue;
    uint32_t value = values[lane] & field, other = 0;
    if (modifiers.unused == Unused::Preserve)
      other = row[lane] & ~(field << shift);
    else if (modifiers.unused == Unused::Sext && shift + width < 32 && (value >> (width - 1) & 1))
      other = ~0u << (shift + width);
    row[lane] = other | value << shift;
  }
}

} // namespace sectile::amdisa
