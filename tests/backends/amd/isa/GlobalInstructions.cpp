// GLOBAL, FLAT and SCRATCH: memory by addresses of 64 bits, and the private memory of lanes.
#include "MemoryAccess.h"
#include "Semantics.h"

namespace sectile::amdisa {
namespace {

enum class Segment { Global, Flat, Scratch };

/// Where the lanes of an access point to.
struct Addresses {
  uint64_t values[64];
};

Addresses addressesOf(Wave &wave, const Instruction &instruction, const Operand &vector,
                      const Operand *scalar) {
  Addresses result;
  auto offset = uint64_t(int64_t(instruction.modifiers.offset));
  if (scalar && scalar->isScalar())
    offset += scalar->words == 2 ? wave.pair(scalar->index) : wave.scalar[scalar->index];
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    uint64_t address = 0;
    if (vector.isVector())
      address = wave.row(vector.index)[lane];
    if (vector.words == 2)
      address |= uint64_t(wave.row(vector.index + 1)[lane]) << 32;
    result.values[lane] = address + offset;
  }
  return result;
}

char *scratchPlace(Wave &wave, unsigned lane, uint64_t address, unsigned bytes) {
  auto offset = uint32_t(address);
  if (uint64_t(offset) + bytes > wave.scratchBytes) {
    wave.failLane(lane, "byte " + std::to_string(offset) + " of " +
                            std::to_string(wave.scratchBytes) + " of private memory");
    return nullptr;
  }
  return reinterpret_cast<char *>(wave.scratch.data()) + uint64_t(lane) * wave.scratchBytes +
         offset;
}

bool liesIn(const Wave &wave, uint64_t address, ScalarIndex base) {
  return address >> 32 == wave.scalar[base + 1];
}

/// The host memory of a lane's access; null with an error where there is none.
template <Segment segment>
char *place(Wave &wave, unsigned lane, uint64_t address, unsigned bytes, bool writes) {
  if constexpr (segment == Segment::Scratch)
    return scratchPlace(wave, lane, address, bytes);
  if (segment == Segment::Flat && liesIn(wave, address, kPrivateBase))
    return scratchPlace(wave, lane, address, bytes);
  char *found = wave.buffers->find(address, bytes, writes);
  if (!found)
    wave.failLane(lane, (writes ? "writes to " : "reads from ") + wave.buffers->describe(address));
  return found;
}

template <Segment segment>
bool isLds(const Wave &wave, uint64_t address) {
  return segment == Segment::Flat && liesIn(wave, address, kSharedBase);
}

template <Segment segment>
bool readBytes(Wave &wave, unsigned lane, uint64_t address, uint8_t *bytes, unsigned count,
               bool isAtomic = false) {
  if (isLds<segment>(wave, address)) {
    std::string problem = wave.group->lds.read(
        uint32_t(address), bytes, count, {wave.id, Stream::Flat, isAtomic}, wave.group->progress);
    if (!problem.empty())
      wave.failLane(lane, problem);
    return problem.empty();
  }
  const char *found = place<segment>(wave, lane, address, count, false);
  if (!found || (segment != Segment::Scratch && !isAtomic && !mayRead(wave, lane, address, count)))
    return false;
  std::memcpy(bytes, found, count);
  return true;
}

template <Segment segment>
bool writeBytes(Wave &wave, unsigned lane, uint64_t address, const uint8_t *bytes, unsigned count,
                bool isAtomic = false) {
  if (isLds<segment>(wave, address)) {
    std::string problem = wave.group->lds.write(
        uint32_t(address), bytes, count, {wave.id, Stream::Flat, isAtomic}, wave.group->progress);
    if (!problem.empty())
      wave.failLane(lane, problem);
    return problem.empty();
  }
  char *found = place<segment>(wave, lane, address, count, true);
  if (!found)
    return false;
  if (segment != Segment::Scratch && !isAtomic)
    wave.group->stores.store(address, found, bytes, count, wave.id,
                             segment == Segment::Flat ? Stream::Flat : storeStream(wave),
                             wave.group->progress);
  std::memcpy(found, bytes, count);
  return true;
}

/// The scalar base, which FLAT lacks.
const Operand *scalarOf(const Instruction &instruction, unsigned number) {
  return number < instruction.operands.size() ? &instruction.operands[number] : nullptr;
}

template <Segment segment>
Stream loadStream() {
  return segment == Segment::Flat ? Stream::Flat : Stream::Load;
}

template <Segment segment, Width width>
void load(Wave &wave, const Instruction &instruction) {
  wave.issue(loadStream<segment>(), instruction);
  Addresses addresses =
      addressesOf(wave, instruction, instruction.operands[1], scalarOf(instruction, 2));
  uint64_t exec = wave.exec();
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    if (!(exec >> lane & 1))
      continue;
    uint8_t bytes[16];
    if (!readBytes<segment>(wave, lane, addresses.values[lane], bytes, width.bytes))
      return;
    putLoaded<width>(wave, instruction.operands[0], lane, bytes);
  }
}

template <Segment segment, Width width>
void storeLanes(Wave &wave, const Instruction &instruction) {
  wave.issue(segment == Segment::Flat ? Stream::Flat : storeStream(wave), instruction);
  Addresses addresses =
      addressesOf(wave, instruction, instruction.operands[0], scalarOf(instruction, 2));
  uint64_t exec = wave.exec();
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    if (!(exec >> lane & 1))
      continue;
    uint8_t bytes[16];
    takeStored<width>(wave, instruction.operands[1], lane, bytes);
    if (!writeBytes<segment>(wave, lane, addresses.values[lane], bytes, width.bytes))
      return;
  }
}

template <class T>
T valueOf(Wave &wave, const Operand &operand, unsigned lane, unsigned word = 0) {
  Raw<T> raw = wave.row(operand.index + word)[lane];
  if constexpr (isWide<T>)
    raw |= uint64_t(wave.row(operand.index + word + 1)[lane]) << 32;
  return decode<T>(raw);
}

/// Replaces memory by a function of it for each lane in turn. Operands: [result,] address, data [,
/// base].
template <Segment segment, class T, class Function>
void update(Wave &wave, const Instruction &instruction, Function function) {
  bool returns = instruction.modifiers.returnsValue;
  unsigned first = returns ? 1 : 0;
  Stream stream = segment == Segment::Flat ? Stream::Flat
                  : returns                ? Stream::Load
                                           : storeStream(wave);
  wave.issue(stream, instruction);
  Addresses addresses =
      addressesOf(wave, instruction, instruction.operands[first], scalarOf(instruction, first + 2));
  const Operand &data = instruction.operands[first + 1];
  Space<T> result;
  uint64_t exec = wave.exec();
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    if (!(exec >> lane & 1))
      continue;
    uint64_t address = addresses.values[lane];
    if (address % sizeof(T) != 0)
      return wave.failLane(lane, "an atomic at " + wave.buffers->describe(address) +
                                     ", which is not aligned");
    uint8_t bytes[8];
    if (!readBytes<segment>(wave, lane, address, bytes, sizeof(T), true))
      return;
    T old;
    std::memcpy(&old, bytes, sizeof old);
    T updated = function(old, data, lane);
    std::memcpy(bytes, &updated, sizeof updated);
    if (!writeBytes<segment>(wave, lane, address, bytes, sizeof(T), true))
      return;
    result.values[lane] = encode<T>(old);
  }
  if (returns)
    store<T>(wave, instruction, instruction.operands[0], 0, result.values);
}

template <Segment segment, class T, auto F>
void atomic(Wave &wave, const Instruction &instruction) {
  update<segment, T>(wave, instruction, [&](T old, const Operand &data, unsigned lane) {
    return T(F(old, valueOf<T>(wave, data, lane)));
  });
}

/// The data is the new value, then the one compared with.
template <Segment segment, class T>
void compareAndSwap(Wave &wave, const Instruction &instruction) {
  update<segment, T>(wave, instruction, [&](T old, const Operand &data, unsigned lane) {
    return old == valueOf<T>(wave, data, lane, sizeof(T) / 4) ? valueOf<T>(wave, data, lane) : old;
  });
}

/// Loads that put each lane's bytes into LDS, at M0 and the offset, lane after lane.
template <unsigned kBytes>
void loadToLds(Wave &wave, const Instruction &instruction) {
  wave.issue(Stream::Load, instruction);
  Addresses addresses =
      addressesOf(wave, instruction, instruction.operands[0], scalarOf(instruction, 1));
  uint64_t exec = wave.exec();
  uint32_t base = wave.scalar[kM0] + uint32_t(instruction.modifiers.offset);
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    if (!(exec >> lane & 1))
      continue;
    uint8_t bytes[16] = {};
    if (!readBytes<Segment::Global>(wave, lane, addresses.values[lane], bytes, kBytes))
      return;
    constexpr unsigned step = kBytes < 4 ? 4 : kBytes;
    std::string problem = wave.group->lds.write(
        base + lane * step, bytes, step, {wave.id, Stream::Load, false}, wave.group->progress);
    if (!problem.empty())
      return wave.failLane(lane, problem);
  }
}

template <Segment segment>
void addMoves(Semantics &table, const std::string &prefix) {
  forEachLoad([&]<Width width>(const char *name) {
    table.add(prefix + "LOAD_" + name, load<segment, width>);
  });
  forEachStore([&]<Width width>(const char *name) {
    table.add(prefix + "STORE_" + name, storeLanes<segment, width>);
  });
}

template <Segment segment>
void addAtomics(Semantics &table, const std::string &prefix) {
  forEachAtomic([&]<class T, auto F>(const char *name, const char *) {
    if (name)
      table.add(prefix + "ATOMIC_" + name, atomic<segment, T, F>);
  });
  table.add(prefix + "ATOMIC_CMPSWAP", compareAndSwap<segment, uint32_t>);
  table.add(prefix + "ATOMIC_CMPSWAP_X2", compareAndSwap<segment, uint64_t>);
}

} // namespace

void addGlobal(Semantics &table) {
  addMoves<Segment::Global>(table, "GLOBAL_");
  addMoves<Segment::Flat>(table, "FLAT_");
  addMoves<Segment::Scratch>(table, "SCRATCH_");
  addAtomics<Segment::Global>(table, "GLOBAL_");
  addAtomics<Segment::Flat>(table, "FLAT_");
  table.add("GLOBAL_LOAD_LDS_UBYTE", loadToLds<1>);
  table.add("GLOBAL_LOAD_LDS_USHORT", loadToLds<2>);
  table.add("GLOBAL_LOAD_LDS_DWORD", loadToLds<4>);
  table.add("GLOBAL_LOAD_LDS_DWORDX3", loadToLds<12>);
  table.add("GLOBAL_LOAD_LDS_DWORDX4", loadToLds<16>);
}

} // namespace sectile::amdisa
