// VALU: values that move between lanes other than by DPP.
#include "Lanes.h"
#include "Semantics.h"

namespace sectile::amdisa {
namespace {

using u32 = uint32_t;

unsigned firstLane(const Wave &wave) {
  uint64_t exec = wave.exec();
  return exec ? unsigned(std::countr_zero(exec)) : 0;
}

void readFirstLane(Wave &wave, const Instruction &instruction) {
  const Operand &source = instruction.operands[1];
  u32 value = source.isVector() ? wave.row(source.index)[firstLane(wave)]
                                : u32(readScalar(wave, source, 32));
  writeScalar(wave, instruction.operands[0], 1, value);
}

void readLane(Wave &wave, const Instruction &instruction) {
  unsigned lane = unsigned(readScalar(wave, instruction.operands[2], 32)) & (wave.lanes - 1);
  writeScalar(wave, instruction.operands[0], 1, wave.row(instruction.operands[1].index)[lane]);
}

void writeLane(Wave &wave, const Instruction &instruction) {
  unsigned lane = unsigned(readScalar(wave, instruction.operands[2], 32)) & (wave.lanes - 1);
  wave.row(instruction.operands[0].index)[lane] =
      u32(readScalar(wave, instruction.operands[1], 32));
}

/// Gathers within rows of 16 lanes: the selector of 64 bits has 4 bits for each lane. `crosses`
/// takes the other row of each pair. op_sel[0] reads lanes that are off, op_sel[1] makes the others
/// zero.
template <bool crosses>
void permuteRows(Wave &wave, const Instruction &instruction) {
  Space<u32> space, result;
  const u32 *source = fetch<u32>(wave, instruction, instruction.operands[1], 0, space.values);
  uint64_t selector = (readScalar(wave, instruction.operands[2], 32) & 0xffffffff) |
                      readScalar(wave, instruction.operands[3], 32) << 32;
  bool readsInactive = instruction.modifiers.opSel & 1,
       zeroes = instruction.modifiers.opSel >> 1 & 1;
  uint64_t exec = wave.exec();
  u32 *row = wave.row(instruction.operands[0].index);
  std::copy_n(row, wave.lanes, result.values);
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    unsigned from = (lane & ~15u) ^ (crosses ? 16 : 0);
    from += unsigned(selector >> (4 * (lane & 15)) & 15);
    if (readsInactive || (exec >> from & 1))
      result.values[lane] = source[from];
    else if (zeroes)
      result.values[lane] = 0;
  }
  storeWords(wave, instruction.operands[0].index, result.values, exec);
}

/// The same with a selector in each lane.
template <bool crosses>
void permuteRowsByLane(Wave &wave, const Instruction &instruction) {
  Space<u32> spaces[2], result;
  const u32 *source = fetch<u32>(wave, instruction, instruction.operands[1], 0, spaces[0].values);
  const u32 *selector = fetch<u32>(wave, instruction, instruction.operands[2], 1, spaces[1].values);
  bool readsInactive = instruction.modifiers.opSel & 1,
       zeroes = instruction.modifiers.opSel >> 1 & 1;
  uint64_t exec = wave.exec();
  std::copy_n(wave.row(instruction.operands[0].index), wave.lanes, result.values);
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    unsigned from = ((lane & ~15u) ^ (crosses ? 16 : 0)) + (selector[lane] & 15);
    if (readsInactive || (exec >> from & 1))
      result.values[lane] = source[from];
    else if (zeroes)
      result.values[lane] = 0;
  }
  storeWords(wave, instruction.operands[0].index, result.values, exec);
}

/// Swaps the odd rows of `distance` lanes of the first operand with the even ones of the second.
template <unsigned distance>
void swapRows(Wave &wave, const Instruction &instruction) {
  u32 *first = wave.row(instruction.operands[0].index);
  u32 *second = wave.row(instruction.operands[1].index);
  uint64_t exec = wave.exec();
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    if (!(lane & distance) && (exec >> lane & 1) && (exec >> (lane + distance) & 1))
      std::swap(first[lane + distance], second[lane]);
}

void swapHalvesOfWave(Wave &wave, const Instruction &instruction) {
  Space<u32> result;
  const u32 *source = wave.row(instruction.operands[1].index);
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    result.values[lane] = source[wave.lanes == 64 ? lane ^ 32 : lane];
  storeWords(wave, instruction.operands[0].index, result.values, wave.exec());
}

void swapRegisters(Wave &wave, const Instruction &instruction) {
  u32 *first = wave.row(instruction.operands[0].index);
  u32 *second = wave.row(instruction.operands[1].index);
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    if (wave.exec() >> lane & 1)
      std::swap(first[lane], second[lane]);
}

void swapHalves(Wave &wave, const Instruction &instruction) {
  const Operand &a = instruction.operands[0], &b = instruction.operands[1];
  unsigned shiftA = a.half == Half::High ? 16 : 0, shiftB = b.half == Half::High ? 16 : 0;
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    if (!(wave.exec() >> lane & 1))
      continue;
    u32 &wordA = wave.row(a.index)[lane], &wordB = wave.row(b.index)[lane];
    u32 halfA = wordA >> shiftA & 0xffff, halfB = wordB >> shiftB & 0xffff;
    wordA = (wordA & ~(0xffffu << shiftA)) | halfB << shiftA;
    wordB = (wordB & ~(0xffffu << shiftB)) | halfA << shiftB;
  }
}

} // namespace

void addCrossLane(Semantics &table) {
  table.add("V_READFIRSTLANE_B32", readFirstLane);
  table.add("V_READLANE_B32", readLane);
  table.add("V_WRITELANE_B32", writeLane);
  table.add("V_PERMLANE16_B32", permuteRows<false>);
  table.add("V_PERMLANEX16_B32", permuteRows<true>);
  table.add("V_PERMLANE16_VAR_B32", permuteRowsByLane<false>);
  table.add("V_PERMLANEX16_VAR_B32", permuteRowsByLane<true>);
  table.add("V_PERMLANE64_B32", swapHalvesOfWave);
  table.add("V_PERMLANE16_SWAP_B32", swapRows<16>);
  table.add("V_PERMLANE32_SWAP_B32", swapRows<32>);
  table.add("V_SWAP_B32", swapRegisters);
  table.add("V_SWAP_B16", swapHalves);
}

} // namespace sectile::amdisa
