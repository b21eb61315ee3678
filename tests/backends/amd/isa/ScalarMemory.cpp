// SMEM: loads into scalar registers, which arrive in any order.
#include "Lanes.h"
#include "Semantics.h"

namespace sectile::amdisa {
namespace {

uint64_t offsetOf(const Wave &wave, const Instruction &instruction) {
  int64_t offset = instruction.modifiers.offset;
  if (instruction.operands.size() > 2) {
    const Operand &operand = instruction.operands[2];
    offset += operand.isScalar() ? wave.scalar[operand.index] : operand.integer;
  }
  return uint64_t(offset);
}

template <unsigned kWords>
void fill(Wave &wave, const Instruction &instruction, uint64_t address, uint64_t inRange) {
  wave.issue(Stream::Scalar, instruction);
  const Operand &target = instruction.operands[0];
  for (unsigned word = 0; word < kWords; ++word) {
    uint32_t value = 0;
    if (4 * word + 4 <= inRange) {
      const char *place = wave.buffers->find(address + 4 * word, 4, false);
      if (!place)
        return wave.fail(wave.buffers->describe(address + 4 * word));
      std::memcpy(&value, place, 4);
    }
    if (target.isScalar())
      wave.scalar[target.index + word] = value;
  }
}

template <unsigned kWords>
void load(Wave &wave, const Instruction &instruction) {
  uint64_t address = wave.pair(instruction.operands[1].index) + offsetOf(wave, instruction);
  fill<kWords>(wave, instruction, address & ~uint64_t(3), ~uint64_t(0));
}

/// What lies behind the end of the buffer reads as zero.
template <unsigned kWords>
void loadFromBuffer(Wave &wave, const Instruction &instruction) {
  unsigned resource = instruction.operands[1].index;
  uint64_t base = wave.pair(resource) & 0xffffffffffff;
  uint64_t records = wave.scalar[resource + 2], stride = wave.scalar[resource + 1] >> 16 & 0x3fff;
  uint64_t bytes = stride ? records * stride : records;
  uint64_t offset = offsetOf(wave, instruction) & ~uint64_t(3);
  fill<kWords>(wave, instruction, base + offset, offset < bytes ? bytes - offset : 0);
}

template <class T>
void loadPart(Wave &wave, const Instruction &instruction) {
  wave.issue(Stream::Scalar, instruction);
  uint64_t address = wave.pair(instruction.operands[1].index) + offsetOf(wave, instruction);
  const char *place = wave.buffers->find(address, sizeof(T), false);
  if (!place)
    return wave.fail(wave.buffers->describe(address));
  T value;
  std::memcpy(&value, place, sizeof value);
  wave.scalar[instruction.operands[0].index] = uint32_t(int32_t(value));
}

template <unsigned kWords>
void addLoads(Semantics &table, const std::string &suffix) {
  for (const std::string &width : {"DWORD" + suffix, "B" + std::to_string(32 * kWords)}) {
    table.add("S_LOAD_" + width, load<kWords>);
    table.add("S_BUFFER_LOAD_" + width, loadFromBuffer<kWords>);
  }
}

void readClock(Wave &wave, const Instruction &instruction) {
  wave.issue(Stream::Scalar, instruction);
  wave.setPair(instruction.operands[0].index, wave.clock);
}

/// Of the messages that are answered only the one for the clock is modelled.
void sendAnsweredMessage(Wave &wave, const Instruction &instruction) {
  constexpr int64_t kRealTime = 0x83;
  if (instruction.immediates.empty() || instruction.immediates.front() != kRealTime)
    return wave.fail("a message that is not modelled");
  readClock(wave, instruction);
}

} // namespace

void addScalarMemory(Semantics &table) {
  addLoads<1>(table, "");
  addLoads<2>(table, "X2");
  addLoads<3>(table, "X3");
  addLoads<4>(table, "X4");
  addLoads<8>(table, "X8");
  addLoads<16>(table, "X16");
  table.add("S_LOAD_U8", loadPart<uint8_t>);
  table.add("S_LOAD_I8", loadPart<int8_t>);
  table.add("S_LOAD_U16", loadPart<uint16_t>);
  table.add("S_LOAD_I16", loadPart<int16_t>);
  table.add("S_MEMTIME", readClock);
  table.add("S_MEMREALTIME", readClock);
  table.add("S_SENDMSG_RTN_B64", sendAnsweredMessage);
}

} // namespace sectile::amdisa
