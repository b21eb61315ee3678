// DS: local memory of the work-group, and permutations through its crossbar.
#include "MemoryAccess.h"
#include "Semantics.h"

namespace sectile::amdisa {
namespace {

Lds::Access accessOf(const Wave &wave, bool isAtomic = false) {
  return {wave.id, Stream::Lds, isAtomic};
}

bool readLds(Wave &wave, unsigned lane, uint32_t address, uint8_t *bytes, unsigned count,
             bool isAtomic = false) {
  std::string problem =
      wave.group->lds.read(address, bytes, count, accessOf(wave, isAtomic), wave.group->progress);
  if (!problem.empty())
    wave.failLane(lane, problem);
  return problem.empty();
}

bool writeLds(Wave &wave, unsigned lane, uint32_t address, const uint8_t *bytes, unsigned count,
              bool isAtomic = false) {
  std::string problem =
      wave.group->lds.write(address, bytes, count, accessOf(wave, isAtomic), wave.group->progress);
  if (!problem.empty())
    wave.failLane(lane, problem);
  return problem.empty();
}

/// Reads one value, or two whose distances from the address count in elements of `width * stride`.
template <Width width, unsigned count, unsigned stride>
void read(Wave &wave, const Instruction &instruction) {
  wave.issue(Stream::Lds, instruction);
  const Modifiers &modifiers = instruction.modifiers;
  // The address may lie in a register that the load overwrites.
  uint32_t addresses[64];
  std::copy_n(wave.row(instruction.operands[1].index), wave.lanes, addresses);
  uint64_t exec = wave.exec();
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    if (!(exec >> lane & 1))
      continue;
    for (unsigned place = 0; place < count; ++place) {
      int32_t offset = count == 1 ? modifiers.offset
                                  : (place ? modifiers.offset1 : modifiers.offset0) *
                                        int32_t(width.bytes * stride);
      uint8_t bytes[16];
      if (!readLds(wave, lane, addresses[lane] + uint32_t(offset), bytes, width.bytes))
        return;
      Operand target = instruction.operands[0];
      target.index += uint16_t(place * width.bytes / 4);
      putLoaded<width>(wave, target, lane, bytes);
    }
  }
}

template <Width width, unsigned count, unsigned stride>
void write(Wave &wave, const Instruction &instruction) {
  wave.issue(Stream::Lds, instruction);
  const Modifiers &modifiers = instruction.modifiers;
  const uint32_t *addresses = wave.row(instruction.operands[0].index);
  uint64_t exec = wave.exec();
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    if (!(exec >> lane & 1))
      continue;
    for (unsigned place = 0; place < count; ++place) {
      int32_t offset = count == 1 ? modifiers.offset
                                  : (place ? modifiers.offset1 : modifiers.offset0) *
                                        int32_t(width.bytes * stride);
      uint8_t bytes[16];
      takeStored<width>(wave, instruction.operands[1 + place], lane, bytes);
      if (!writeLds(wave, lane, addresses[lane] + uint32_t(offset), bytes, width.bytes))
        return;
    }
  }
}

/// The reads of gfx950 that transpose. Sixteen neighbouring lanes together supply rows of sixteen
/// elements, 8 bytes from each of their addresses, and get columns, one each:
///
///   lane i of the sixteen reads    row i / n, columns from w (i mod n) on, w of them
///   lane i then holds              column i, rows 0 to w - 1
///
/// with w elements in 8 bytes and n = 16 / w lanes to a row. (CDNA4's manual, 11.4, "MFMA transpose
/// load from LDS", which wants all lanes to be on.)
template <unsigned elementBytes>
void readTransposed(Wave &wave, const Instruction &instruction) {
  constexpr unsigned rowLanes = 16, width = 8 / elementBytes, inRow = rowLanes / width;
  wave.issue(Stream::Lds, instruction);
  if (wave.exec() != wave.allLanes())
    return wave.fail("a read that transposes needs all lanes");
  const uint32_t *addresses = wave.row(instruction.operands[1].index);
  uint8_t rows[64][8], columns[64][8];
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    const uint32_t address = addresses[lane] + uint32_t(instruction.modifiers.offset);
    if (address % 8 != 0)
      return wave.failLane(lane, "a read that transposes needs an address that 8 divides");
    if (!readLds(wave, lane, address, rows[lane], 8))
      return;
  }
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    for (unsigned row = 0; row < width; ++row) {
      const unsigned column = lane % rowLanes, from = lane - column + inRow * row + column / width;
      std::memcpy(columns[lane] + row * elementBytes, rows[from] + column % width * elementBytes,
                  elementBytes);
    }
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    putLoaded<Width{8}>(wave, instruction.operands[0], lane, columns[lane]);
}

template <class T>
T valueOf(Wave &wave, const Operand &operand, unsigned lane) {
  Raw<T> raw = wave.row(operand.index)[lane];
  if constexpr (isWide<T>)
    raw |= uint64_t(wave.row(operand.index + 1)[lane]) << 32;
  return decode<T>(raw);
}

/// Replaces a value by F of it for each lane in turn. F gets the lane's operands behind the
/// address.
template <class T, bool returns, class Function>
void update(Wave &wave, const Instruction &instruction, Function function) {
  wave.issue(Stream::Lds, instruction);
  constexpr unsigned first = returns ? 1 : 0;
  Space<T> result;
  uint64_t exec = wave.exec();
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    if (!(exec >> lane & 1))
      continue;
    uint32_t address =
        wave.row(instruction.operands[first].index)[lane] + uint32_t(instruction.modifiers.offset);
    uint8_t bytes[8];
    if (!readLds(wave, lane, address, bytes, sizeof(T), true))
      return;
    T old;
    std::memcpy(&old, bytes, sizeof old);
    T updated = function(old, lane);
    std::memcpy(bytes, &updated, sizeof updated);
    if (!writeLds(wave, lane, address, bytes, sizeof(T), true))
      return;
    result.values[lane] = encode<T>(old);
  }
  if (returns)
    store<T>(wave, instruction, instruction.operands[0], 0, result.values);
}

template <class T, auto F, bool returns>
void atomic(Wave &wave, const Instruction &instruction) {
  const Operand &data = instruction.operands[returns ? 2 : 1];
  update<T, returns>(wave, instruction,
                     [&](T old, unsigned lane) { return F(old, valueOf<T>(wave, data, lane)); });
}

/// The order of the new value and of the one compared with changed with gfx11.
template <class T, bool returns, bool newComesFirst>
void compareAndSwap(Wave &wave, const Instruction &instruction) {
  constexpr unsigned first = returns ? 2 : 1;
  const Operand &updated = instruction.operands[first + (newComesFirst ? 0 : 1)];
  const Operand &expected = instruction.operands[first + (newComesFirst ? 1 : 0)];
  update<T, returns>(wave, instruction, [&](T old, unsigned lane) {
    return old == valueOf<T>(wave, expected, lane) ? valueOf<T>(wave, updated, lane) : old;
  });
}

/// "ADD_U32" -> "ADD_RTN_U32".
std::string returningName(std::string name) {
  return name.insert(name.rfind('_'), "_RTN");
}

template <class T>
void addCompareAndSwap(Semantics &table, const std::string &type) {
  table.add("DS_CMPST_" + type, compareAndSwap<T, false, false>);
  table.add("DS_CMPST_RTN_" + type, compareAndSwap<T, true, false>);
  table.add("DS_CMPSTORE_" + type, compareAndSwap<T, false, true>);
  table.add("DS_CMPSTORE_RTN_" + type, compareAndSwap<T, true, true>);
}

/// Fills `result` with what each lane gets from another; -1 for none, which gives 0.
template <class Source>
void exchange(Wave &wave, const Instruction &instruction, const Operand &data, Source source) {
  wave.issue(Stream::Lds, instruction);
  Space<uint32_t> result;
  const uint32_t *values = wave.row(data.index);
  uint64_t exec = wave.exec();
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    int from = source(lane);
    result.values[lane] = from >= 0 && (exec >> from & 1) ? values[from] : 0;
  }
  storeWords(wave, instruction.operands[0].index, result.values, exec);
}

void bpermute(Wave &wave, const Instruction &instruction) {
  const uint32_t *addresses = wave.row(instruction.operands[1].index);
  exchange(wave, instruction, instruction.operands[2], [&](unsigned lane) {
    return int((addresses[lane] + uint32_t(instruction.modifiers.offset)) / 4 % wave.lanes);
  });
}

void permute(Wave &wave, const Instruction &instruction) {
  const uint32_t *addresses = wave.row(instruction.operands[1].index);
  int sources[64];
  std::fill_n(sources, 64, -1);
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    if (wave.exec() >> lane & 1)
      sources[(addresses[lane] + uint32_t(instruction.modifiers.offset)) / 4 % wave.lanes] =
          int(lane);
  exchange(wave, instruction, instruction.operands[2],
           [&](unsigned lane) { return sources[lane]; });
}

/// The offset's bits: quads as they are (15 set), or and, or, xor of the lane's number within 32.
int swizzled(uint32_t bits, int lane) {
  if (bits >= 0xc000) // rotation by bits 9:5, to the left with bit 10, of what the mask leaves
  {
    int mask = int(bits & 31), shift = int(bits >> 5 & 31), local = lane & 31;
    int moved = bits >> 10 & 1 ? local - shift : local + shift;
    return (lane & ~31) | ((local & mask) | (moved & 31 & ~mask));
  }
  if (bits & 0x8000)
    return (lane & ~3) + int(bits >> (2 * (lane & 3)) & 3);
  int local = ((lane & 31 & int(bits & 31)) | int(bits >> 5 & 31)) ^ int(bits >> 10 & 31);
  return (lane & ~31) | local;
}

void swizzle(Wave &wave, const Instruction &instruction) {
  auto bits = uint32_t(instruction.immediates[0]);
  if (bits >= 0xe000)
    return wave.fail("the FFT mode of ds_swizzle is not modelled");
  exchange(wave, instruction, instruction.operands[1],
           [&](unsigned lane) { return swizzled(bits, int(lane)); });
}

template <Width width>
void addReads(Semantics &table, const std::string &type) {
  table.add("DS_READ_" + type, read<width, 1, 1>);
}
template <Width width>
void addWrites(Semantics &table, const std::string &type) {
  table.add("DS_WRITE_" + type, write<width, 1, 1>);
}

void addMoves(Semantics &table) {
  addReads<Width{1}>(table, "U8");
  addReads<Width{1, true}>(table, "I8");
  addReads<Width{2}>(table, "U16");
  addReads<Width{2, true}>(table, "I16");
  addReads<Width{4}>(table, "B32");
  addReads<Width{8}>(table, "B64");
  addReads<Width{12}>(table, "B96");
  addReads<Width{16}>(table, "B128");
  addReads<Width{1, false, Half::Low}>(table, "U8_D16");
  addReads<Width{1, false, Half::High}>(table, "U8_D16_HI");
  addReads<Width{1, true, Half::Low}>(table, "I8_D16");
  addReads<Width{1, true, Half::High}>(table, "I8_D16_HI");
  addReads<Width{2, false, Half::Low}>(table, "U16_D16");
  addReads<Width{2, false, Half::High}>(table, "U16_D16_HI");
  addWrites<Width{1}>(table, "B8");
  addWrites<Width{1, false, Half::High}>(table, "B8_D16_HI");
  addWrites<Width{2}>(table, "B16");
  addWrites<Width{2, false, Half::High}>(table, "B16_D16_HI");
  addWrites<Width{4}>(table, "B32");
  addWrites<Width{8}>(table, "B64");
  addWrites<Width{12}>(table, "B96");
  addWrites<Width{16}>(table, "B128");
  table.add("DS_READ2_B32", read<Width{4}, 2, 1>);
  table.add("DS_READ2_B64", read<Width{8}, 2, 1>);
  table.add("DS_READ2ST64_B32", read<Width{4}, 2, 64>);
  table.add("DS_READ2ST64_B64", read<Width{8}, 2, 64>);
  table.add("DS_READ_B64_TR_B16", readTransposed<2>);
  table.add("DS_READ_B64_TR_B8", readTransposed<1>);
  table.add("DS_WRITE2_B32", write<Width{4}, 2, 1>);
  table.add("DS_WRITE2_B64", write<Width{8}, 2, 1>);
  table.add("DS_WRITE2ST64_B32", write<Width{4}, 2, 64>);
  table.add("DS_WRITE2ST64_B64", write<Width{8}, 2, 64>);
}

} // namespace

void addLds(Semantics &table) {
  addMoves(table);
  forEachAtomic([&]<class T, auto F>(const char *, const char *name) {
    if (std::string(name) != "WRXCHG_B32" && std::string(name) != "WRXCHG_B64")
      table.add("DS_" + std::string(name), atomic<T, F, false>);
    table.add("DS_" + returningName(name), atomic<T, F, true>);
  });
  addCompareAndSwap<uint32_t>(table, "B32");
  addCompareAndSwap<uint64_t>(table, "B64");
  addCompareAndSwap<float>(table, "F32");
  addCompareAndSwap<double>(table, "F64");
  table.add("DS_BPERMUTE_B32", bpermute);
  table.add("DS_PERMUTE_B32", permute);
  table.add("DS_SWIZZLE_B32", swizzle);
}

} // namespace sectile::amdisa
