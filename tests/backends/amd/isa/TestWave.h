//===-- TestWave.h - a wave that runs a few lines of assembly, for tests ----------------------===//
//   TestWave wave("gfx942");
//   wave.setVector(1, [](unsigned lane) { return lane; });
//   EXPECT_EQ(wave.run("v_add_u32 v0, v1, 3"), "");
//   EXPECT_EQ(wave.vector(0, 5), 8u);
#pragma once

#include "Assemble.h"
#include "Machine.h"

#include <gtest/gtest.h>
#include <map>

namespace sectile::amdisa {

class TestWave {
public:
  explicit TestWave(llvm::StringRef chip, uint32_t ldsBytes = 1024, uint64_t seed = 0)
      : chip(chip) {
    group.lds.resize(ldsBytes);
    group.progress.resize(1);
    group.waves.push_back(std::make_unique<Wave>());
    Wave &wave = *group.waves.front();
    bool isWave32 = !chip.starts_with("gfx9");
    wave.group = &group;
    wave.buffers = &buffers;
    wave.lanes = isWave32 ? 32 : 64;
    wave.seed = seed;
    wave.vectors.assign(kVectorCount * 64, 0xdeadbeef);
    wave.scratchBytes = 64;
    wave.scratch.assign(wave.scratchBytes * wave.lanes, 0xcd);
    wave.setMask(kExec, wave.allLanes());
    wave.scalar[kSharedBase + 1] = 0x10000;
    wave.scalar[kPrivateBase + 1] = 0x20000;
  }

  Wave &wave() { return *group.waves.front(); }

  /// Runs all lines; what is wrong with them, or "".
  std::string run(llvm::StringRef text) {
    auto object = assemble((".text\n" + text + "\n").str(), chip);
    if (!object)
      return "assembler: " + llvm::toString(object.takeError());
    auto code = machineCode(*object);
    if (!code)
      return "no code";
    auto decoded = decoder().decode("test", *code, 0);
    if (!decoded)
      return llvm::toString(decoded.takeError());
    program = std::move(*decoded);
    Wave &wave = this->wave();
    wave.program = &program;
    wave.chip = &program.chip;
    wave.pc = 0;
    wave.error.clear();
    while (wave.pc < program.instructions.size() && wave.error.empty() && !wave.hasEnded)
      step(wave);
    return wave.error;
  }

  template <class Value>
  void setVector(unsigned index, Value value) {
    for (unsigned lane = 0; lane < wave().lanes; ++lane) {
      auto made = value(lane);
      if constexpr (sizeof made == 8) {
        auto bits = std::bit_cast<uint64_t>(made);
        wave().row(index)[lane] = uint32_t(bits);
        wave().row(index + 1)[lane] = uint32_t(bits >> 32);
      } else {
        wave().row(index)[lane] = std::bit_cast<uint32_t>(made);
      }
    }
  }
  template <class T>
  void setAll(unsigned index, T value) {
    setVector(index, [&](unsigned) { return value; });
  }
  uint32_t vector(unsigned index, unsigned lane = 0) { return wave().row(index)[lane]; }
  float real(unsigned index, unsigned lane = 0) {
    return std::bit_cast<float>(vector(index, lane));
  }
  uint64_t wide(unsigned index, unsigned lane = 0) {
    return vector(index, lane) | uint64_t(vector(index + 1, lane)) << 32;
  }
  double realWide(unsigned index, unsigned lane = 0) {
    return std::bit_cast<double>(wide(index, lane));
  }
  uint32_t &scalar(unsigned index) { return wave().scalar[index]; }

  Buffers buffers;

private:
  Decoder &decoder() {
    static std::map<std::string, std::unique_ptr<Decoder>> known;
    std::unique_ptr<Decoder> &found = known[chip];
    if (!found)
      found = llvm::cantFail(Decoder::create(chip));
    return *found;
  }

  std::string chip;
  WorkGroup group;
  Program program;
};

} // namespace sectile::amdisa
