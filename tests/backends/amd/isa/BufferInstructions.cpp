// BUFFER: memory behind a descriptor that knows its size. What lies outside reads as zero and is
// not written.
#include "MemoryAccess.h"
#include "Semantics.h"

namespace sectile::amdisa {
namespace {

struct Resource {
  uint64_t base;
  uint32_t stride, records;
  bool isScratch; // swizzled, which only the compiler's own private memory is
};

Resource resourceOf(const Wave &wave, const Operand &operand) {
  uint32_t high = wave.scalar[operand.index + 1];
  return {wave.pair(operand.index) & 0xffffffffffff, high >> 16 & 0x3fff,
          wave.scalar[operand.index + 2], (high >> 31) != 0};
}

/// Address, resource and scalar offset behind the data: "v1, off|v0, s[0:3], 0".
struct BufferAccess {
  Resource resource;
  const Operand *address;
  uint32_t scalarOffset, instructionOffset;
  bool hasOffset, hasIndex;
};

BufferAccess accessOf(const Wave &wave, const Instruction &instruction, unsigned first) {
  const Operand &scalar = instruction.operands[first + 2];
  return {resourceOf(wave, instruction.operands[first + 1]),
          &instruction.operands[first],
          uint32_t(readScalar(wave, scalar, 32)),
          uint32_t(instruction.modifiers.offset),
          instruction.modifiers.usesOffsetRegister,
          instruction.modifiers.usesIndexRegister};
}

/// The host memory of one dword or less of a lane's access; null for what the descriptor leaves out
/// or, with an error, for what no buffer holds.
char *place(Wave &wave, const BufferAccess &access, unsigned lane, unsigned skipped, unsigned bytes,
            bool writes) {
  uint32_t index = 0, offset = access.instructionOffset + skipped;
  if (access.hasIndex)
    index = wave.row(access.address->index)[lane];
  if (access.hasOffset)
    offset += wave.row(access.address->index + (access.hasIndex ? 1 : 0))[lane];
  if (access.resource.isScratch) {
    uint64_t at = uint64_t(offset) + access.scalarOffset;
    if (at + bytes > wave.scratchBytes) {
      wave.failLane(lane, "byte " + std::to_string(at) + " of " +
                              std::to_string(wave.scratchBytes) + " of private memory");
      return nullptr;
    }
    return reinterpret_cast<char *>(wave.scratch.data()) + uint64_t(lane) * wave.scratchBytes + at;
  }
  bool isInside = access.resource.stride
                      ? index < access.resource.records && offset < access.resource.stride
                      : uint64_t(offset) + access.scalarOffset + bytes <= access.resource.records;
  if (!isInside)
    return nullptr;
  uint64_t address = access.resource.base + uint64_t(index) * access.resource.stride + offset +
                     access.scalarOffset;
  char *found = wave.buffers->find(address, bytes, writes);
  if (!found)
    wave.failLane(lane, (writes ? "writes to " : "reads from ") + wave.buffers->describe(address));
  return found;
}

template <Width width>
void readLane(Wave &wave, const BufferAccess &access, unsigned lane, uint8_t *bytes) {
  constexpr unsigned step = width.bytes < 4 ? width.bytes : 4;
  for (unsigned at = 0; at < width.bytes; at += step) {
    const char *found = place(wave, access, lane, at, step, false);
    if (found && !access.resource.isScratch)
      mayRead(wave, lane, reinterpret_cast<uint64_t>(found), step);
    if (found)
      std::memcpy(bytes + at, found, step);
    else
      std::memset(bytes + at, 0, step);
  }
}

/// Operands of a load to LDS begin with the address: there is no data.
template <Width width>
void loadToLds(Wave &wave, const Instruction &instruction) {
  BufferAccess access = accessOf(wave, instruction, 0);
  uint64_t exec = wave.exec();
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    if (!(exec >> lane & 1))
      continue;
    uint8_t bytes[16] = {};
    readLane<width>(wave, access, lane, bytes);
    constexpr unsigned step = width.bytes < 4 ? 4 : width.bytes;
    uint32_t target = wave.scalar[kM0] + uint32_t(instruction.modifiers.offset) + lane * step;
    std::string problem = wave.group->lds.write(target, bytes, step, {wave.id, Stream::Load, false},
                                                wave.group->progress);
    if (!problem.empty())
      return wave.failLane(lane, problem);
  }
}

template <Width width>
void load(Wave &wave, const Instruction &instruction) {
  wave.issue(Stream::Load, instruction);
  if (instruction.modifiers.toLds)
    return loadToLds<width>(wave, instruction);
  BufferAccess access = accessOf(wave, instruction, 1);
  // The address may lie in a register that the load overwrites.
  std::vector<std::array<uint8_t, 16>> loaded(wave.lanes);
  uint64_t exec = wave.exec();
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    if (exec >> lane & 1)
      readLane<width>(wave, access, lane, loaded[lane].data());
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    if (exec >> lane & 1)
      putLoaded<width>(wave, instruction.operands[0], lane, loaded[lane].data());
}

template <Width width>
void storeLanes(Wave &wave, const Instruction &instruction) {
  wave.issue(storeStream(wave), instruction);
  BufferAccess access = accessOf(wave, instruction, 1);
  uint64_t exec = wave.exec();
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    if (!(exec >> lane & 1))
      continue;
    uint8_t bytes[16];
    takeStored<width>(wave, instruction.operands[0], lane, bytes);
    constexpr unsigned step = width.bytes < 4 ? width.bytes : 4;
    for (unsigned at = 0; at < width.bytes; at += step)
      if (char *found = place(wave, access, lane, at, step, true)) {
        if (!access.resource.isScratch)
          wave.group->stores.store(reinterpret_cast<uint64_t>(found), found, bytes + at, step,
                                   wave.id, storeStream(wave), wave.group->progress);
        std::memcpy(found, bytes + at, step);
      }
  }
}

/// The data register is the result, too.
template <class T, class Function>
void update(Wave &wave, const Instruction &instruction, Function function) {
  bool returns = instruction.modifiers.returnsValue;
  wave.issue(returns ? Stream::Load : storeStream(wave), instruction);
  BufferAccess access = accessOf(wave, instruction, 1);
  const Operand &data = instruction.operands[0];
  Space<T> result;
  uint64_t exec = wave.exec();
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    if (!(exec >> lane & 1))
      continue;
    char *found = place(wave, access, lane, 0, sizeof(T), true);
    T old{};
    if (found) {
      std::memcpy(&old, found, sizeof old);
      T updated = function(old, data, lane);
      std::memcpy(found, &updated, sizeof updated);
    }
    result.values[lane] = encode<T>(old);
  }
  if (returns)
    store<T>(wave, instruction, data, 0, result.values);
}

template <class T>
T valueOf(Wave &wave, const Operand &operand, unsigned lane, unsigned word = 0) {
  Raw<T> raw = wave.row(operand.index + word)[lane];
  if constexpr (isWide<T>)
    raw |= uint64_t(wave.row(operand.index + word + 1)[lane]) << 32;
  return decode<T>(raw);
}

template <class T, auto F>
void atomic(Wave &wave, const Instruction &instruction) {
  update<T>(wave, instruction, [&](T old, const Operand &data, unsigned lane) {
    return T(F(old, valueOf<T>(wave, data, lane)));
  });
}

template <class T>
void compareAndSwap(Wave &wave, const Instruction &instruction) {
  update<T>(wave, instruction, [&](T old, const Operand &data, unsigned lane) {
    return old == valueOf<T>(wave, data, lane, sizeof(T) / 4) ? valueOf<T>(wave, data, lane) : old;
  });
}

} // namespace

void addBuffer(Semantics &table) {
  forEachLoad([&]<Width width>(const char *name) {
    table.add(std::string("BUFFER_LOAD_") + name, load<width>);
  });
  forEachStore([&]<Width width>(const char *name) {
    table.add(std::string("BUFFER_STORE_") + name, storeLanes<width>);
  });
  forEachAtomic([&]<class T, auto F>(const char *name, const char *) {
    if (name)
      table.add(std::string("BUFFER_ATOMIC_") + name, atomic<T, F>);
  });
  table.add("BUFFER_ATOMIC_CMPSWAP", compareAndSwap<uint32_t>);
  table.add("BUFFER_ATOMIC_CMPSWAP_X2", compareAndSwap<uint64_t>);
}

} // namespace sectile::amdisa
