//===-- Machine.h - runs a kernel of a code object --------------------------------------------===//
//   auto object = CodeObject::load(bytes);
//   Buffers buffers;
//   buffers.add(x.data(), x.size() * 4);
//   auto done = run(**object, "softmax", {.groups = {16}, .items = {256}},
//                   {Argument::of(x.data()), Argument::of(int32_t(17))}, buffers);
//
// Work-groups run one after another, their waves in turns of random length. An error names the
// kernel, the work-group, the wave, the instruction and its address.
#pragma once

#include "CodeObject.h"

namespace sectile::amdisa {

struct Shape {
  std::array<uint32_t, 3> groups{1, 1, 1}; // work-groups of the grid
  std::array<uint32_t, 3> items{64, 1, 1}; // work-items of a work-group
  uint32_t dynamicLdsBytes = 0;
};

/// The bytes of one argument.
struct Argument {
  std::array<uint8_t, 16> bytes{};
  uint32_t count = 0;

  template <class T>
  static Argument of(T value) {
    static_assert(sizeof(T) <= 16);
    Argument argument;
    std::memcpy(argument.bytes.data(), &value, sizeof value);
    argument.count = sizeof value;
    return argument;
  }
};

struct RunOptions {
  /// Decides how waves take turns, what registers hold before they are written, and on which side
  /// approximate results lie; 0 rounds these correctly.
  uint64_t seed = 1;
  /// More instructions of one wave than this are an endless loop.
  uint64_t maxInstructions = 100'000'000;
  /// Reading LDS that was never written gives what differs from seed to seed, instead of an error.
  bool readsUnwrittenLds = false;
  /// Loads may see what another wave of the work-group stores with no barrier between, as the
  /// loops for atomics of 16 bits do: they load the word that has the neighbour, too.
  bool allowsGlobalRaces = false;
};

struct Statistics {
  uint64_t instructions = 0; // of all waves
  uint64_t waves = 0;
};

llvm::Expected<Statistics> run(const CodeObject &object, llvm::StringRef kernel, const Shape &shape,
                               llvm::ArrayRef<Argument> arguments, const Buffers &buffers,
                               const RunOptions &options = {});

/// Executes the next instruction of a wave.
void step(Wave &wave);

} // namespace sectile::amdisa
