//===-- Wave.h - the state of a wave and of its work-group ------------------------------------===//
#pragma once

#include "Instruction.h"
#include "Memory.h"

#include <bit>
#include <memory>
#include <string>
#include <vector>

namespace sectile::amdisa {

/// What differs between the chips, beyond what LLVM's opcodes say.
struct Chip {
  std::string name;
  int generation = 9;   // 9: gfx90a, gfx942, gfx950; 11; 12
  bool hasFnuz = false; // the numbers of 8 bits of gfx942
  bool isGfx90a = false;
  unsigned lanes = 64;
};

/// A kernel, decoded.
struct Program {
  std::string kernel;
  Chip chip;
  std::vector<Instruction> instructions;
  uint64_t begin = 0;          // address of the first instruction
  std::vector<int32_t> atWord; // index of the instruction at each word from `begin`, or -1
  const Instruction *at(uint64_t address) const {
    uint64_t word = (address - begin) / 4;
    if (address < begin || address % 4 || word >= atWord.size() || atWord[word] < 0)
      return nullptr;
    return &instructions[atWord[word]];
  }
};

struct Wave;

/// What the waves of a work-group share.
struct WorkGroup {
  Lds lds;
  StoreShadow stores;
  std::vector<WaveProgress> progress;
  std::vector<std::unique_ptr<Wave>> waves;
  uint32_t phase = 0; // barriers that all have passed
  /// Opens the barrier once every wave that has not ended has arrived.
  void openBarrier();
};

/// Floating-point behaviour: FLOAT_MODE of the descriptor, changed by s_setreg.
struct FloatMode {
  uint8_t round32 = 0, round64 = 0;
  bool flushes32 = false, flushes64 = false; // 64: of 16 and 64 bits
  bool saturatesFp16 = false;
};

struct Wave {
  const Program *program = nullptr;
  WorkGroup *group = nullptr;
  const Buffers *buffers = nullptr;
  const Chip *chip = nullptr;
  uint8_t id = 0;
  unsigned lanes = 64;
  uint32_t pc = 0;
  bool hasEnded = false;
  uint32_t passes = 0;      // barriers this wave has waited for
  uint32_t arrivedFor = 0;  // the barrier it arrived at last, counted from 1
  bool isSuspended = false; // gives the turn to another wave
  uint64_t seed = 0;        // of approximate results
  uint64_t clock = 0;
  FloatMode mode;
  std::string error;

  std::array<uint32_t, kScalarCount> scalar{};
  std::vector<uint32_t> vectors; // kVectorCount rows of 64
  std::vector<uint8_t> scratch;  // of each lane in turn
  uint32_t scratchBytes = 0;

  /// The operation that will fill a register: its serial number in its stream; 0 for none.
  struct Arrival {
    uint32_t serial = 0;
    Stream stream = Stream::Load;
  };
  std::array<Arrival, kVectorCount> vectorArrivals{};
  std::array<Arrival, kScalarCount> scalarArrivals{};
  bool hasArrivals = false; // some operation is under way

  uint32_t *row(unsigned index) { return vectors.data() + index * 64; }
  WaveProgress &progress() { return group->progress[id]; }

  uint64_t allLanes() const { return lanes == 64 ? ~uint64_t(0) : 0xffffffff; }
  uint64_t pair(unsigned index) const { return scalar[index] | uint64_t(scalar[index + 1]) << 32; }
  void setPair(unsigned index, uint64_t value) {
    scalar[index] = uint32_t(value);
    scalar[index + 1] = uint32_t(value >> 32);
  }
  uint64_t mask(unsigned index) const { return lanes == 64 ? pair(index) : scalar[index]; }
  void setMask(unsigned index, uint64_t value) {
    scalar[index] = uint32_t(value);
    if (lanes == 64)
      scalar[index + 1] = uint32_t(value >> 32);
  }
  uint64_t exec() const { return mask(kExec); }

  void fail(std::string message) {
    if (error.empty())
      error = std::move(message);
  }
  void failLane(unsigned lane, const std::string &message) {
    fail("lane " + std::to_string(lane) + ": " + message);
  }

  /// Records a memory operation whose results go to what the instruction writes.
  void issue(Stream stream, const Instruction &instruction);
  /// Waits until at most `count` operations of the stream's counter are under way.
  void wait(Stream stream, unsigned count);
  /// Fails where the instruction touches a register that an operation under way will fill.
  void checkArrivals(const Instruction &instruction);
  bool isLive(Arrival arrival) {
    return arrival.serial > progress()[unsigned(arrival.stream)].completed;
  }
};

} // namespace sectile::amdisa
