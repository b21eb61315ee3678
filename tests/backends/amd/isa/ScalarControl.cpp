// SALU and SOPP: branches, waits, barriers, mode registers; and what has no effect here.
#include "Semantics.h"
#include "Wave.h"

#include <string>

namespace sectile::amdisa {
namespace {

template <auto kTest>
void branchIf(Wave &wave, const Instruction &instruction) {
  if (kTest(wave))
    wave.pc = uint32_t(instruction.target);
}

void addBranches(Semantics &table) {
  table.add("S_BRANCH", branchIf<[](Wave &) { return true; }>);
  table.add("S_CBRANCH_SCC0", branchIf<[](Wave &w) { return w.scalar[kScc] == 0; }>);
  table.add("S_CBRANCH_SCC1", branchIf<[](Wave &w) { return w.scalar[kScc] != 0; }>);
  table.add("S_CBRANCH_VCCZ", branchIf<[](Wave &w) { return w.mask(kVcc) == 0; }>);
  table.add("S_CBRANCH_VCCNZ", branchIf<[](Wave &w) { return w.mask(kVcc) != 0; }>);
  table.add("S_CBRANCH_EXECZ", branchIf<[](Wave &w) { return w.exec() == 0; }>);
  table.add("S_CBRANCH_EXECNZ", branchIf<[](Wave &w) { return w.exec() != 0; }>);
  table.add("S_ENDPGM", [](Wave &wave, const Instruction &) { wave.hasEnded = true; });
}

uint64_t nextAddress(const Wave &wave) {
  return wave.program->instructions[wave.pc].address; // the counter has moved on already
}

void jump(Wave &wave, uint64_t address) {
  const Instruction *found = wave.program->at(address);
  if (!found)
    return wave.fail("jumps out of the kernel");
  wave.pc = uint32_t(found - wave.program->instructions.data());
}

void addJumps(Semantics &table) {
  table.add("S_GETPC_B64", [](Wave &wave, const Instruction &instruction) {
    wave.setPair(instruction.operands[0].index, nextAddress(wave));
  });
  table.add("S_SETPC_B64", [](Wave &wave, const Instruction &instruction) {
    jump(wave, wave.pair(instruction.operands[0].index));
  });
  table.add("S_SWAPPC_B64", [](Wave &wave, const Instruction &instruction) {
    uint64_t goal = wave.pair(instruction.operands[1].index);
    wave.setPair(instruction.operands[0].index, nextAddress(wave));
    jump(wave, goal);
  });
}

/// A counter at its largest value is not waited for.
void waitUnless(Wave &wave, std::initializer_list<Stream> streams, unsigned count,
                unsigned largest) {
  if (count < largest)
    for (Stream stream : streams)
      wave.wait(stream, count);
}

void waitForLoads(Wave &wave, unsigned count) {
  waitUnless(wave, {Stream::Load, Stream::Flat}, count, 63);
}
void waitForLds(Wave &wave, unsigned count, unsigned largest) {
  waitUnless(wave, {Stream::Lds, Stream::Scalar, Stream::Message}, count, largest);
}

/// The last immediate of s_wait... is the count.
unsigned countOf(const Instruction &instruction) {
  return unsigned(instruction.immediates.back()) & 0xffff;
}

void addWaits(Semantics &table) {
  table.add("S_WAITCNT", [](Wave &wave, const Instruction &instruction) {
    unsigned bits = countOf(instruction);
    if (wave.chip->generation == 9) { // vmcnt 15:14, 3:0; lgkmcnt 11:8
      waitForLoads(wave, (bits & 15) | (bits >> 14 & 3) << 4);
      waitForLds(wave, bits >> 8 & 15, 15);
    } else { // vmcnt 15:10, lgkmcnt 9:4
      waitForLoads(wave, bits >> 10 & 63);
      waitForLds(wave, bits >> 4 & 63, 63);
    }
  });
  table.add("S_WAITCNT_VMCNT", [](Wave &wave, const Instruction &instruction) {
    waitForLoads(wave, countOf(instruction));
  });
  table.add("S_WAITCNT_LGKMCNT", [](Wave &wave, const Instruction &instruction) {
    waitForLds(wave, countOf(instruction), 63);
  });
  table.add("S_WAITCNT_VSCNT", [](Wave &wave, const Instruction &instruction) {
    waitUnless(wave, {Stream::Store}, countOf(instruction), 63);
  });
  table.add("S_WAIT_LOADCNT", [](Wave &wave, const Instruction &instruction) {
    waitForLoads(wave, countOf(instruction));
  });
  table.add("S_WAIT_STORECNT", [](Wave &wave, const Instruction &instruction) {
    waitUnless(wave, {Stream::Store}, countOf(instruction), 63);
  });
  table.add("S_WAIT_DSCNT", [](Wave &wave, const Instruction &instruction) {
    waitUnless(wave, {Stream::Lds}, countOf(instruction), 63);
  });
  table.add("S_WAIT_KMCNT", [](Wave &wave, const Instruction &instruction) {
    waitUnless(wave, {Stream::Scalar, Stream::Message}, countOf(instruction), 31);
  });
  table.add("S_WAIT_LOADCNT_DSCNT", [](Wave &wave, const Instruction &instruction) {
    waitForLoads(wave, countOf(instruction) >> 8 & 63);
    waitUnless(wave, {Stream::Lds}, countOf(instruction) & 63, 63);
  });
  table.add("S_WAIT_STORECNT_DSCNT", [](Wave &wave, const Instruction &instruction) {
    waitUnless(wave, {Stream::Store}, countOf(instruction) >> 8 & 63, 63);
    waitUnless(wave, {Stream::Lds}, countOf(instruction) & 63, 63);
  });
}

void arrive(Wave &wave) {
  wave.arrivedFor = wave.group->phase + 1;
  for (Progress &stream : wave.progress()) {
    stream.arrived = stream.completed;
    stream.issuedAtArrival = stream.issued;
  }
  wave.group->openBarrier();
}

/// Stays at this instruction until the barrier that the wave has arrived at is open.
void passOrStay(Wave &wave) {
  if (wave.group->phase < wave.arrivedFor) {
    --wave.pc;
    wave.isSuspended = true;
    return;
  }
  wave.arrivedFor = 0;
}

void addBarriers(Semantics &table) {
  table.add("S_BARRIER", [](Wave &wave, const Instruction &) {
    if (wave.arrivedFor == 0)
      arrive(wave);
    passOrStay(wave);
  });
  table.add("S_BARRIER_SIGNAL_IMM", [](Wave &wave, const Instruction &instruction) {
    if (instruction.immediates.back() != -1)
      return wave.fail("only barrier -1, of the work-group, is modelled");
    if (wave.arrivedFor != 0)
      return wave.fail("signals a barrier twice without waiting for it");
    arrive(wave);
  });
  table.add("S_BARRIER_WAIT", [](Wave &wave, const Instruction &instruction) {
    if (int16_t(instruction.immediates.back()) != -1)
      return wave.fail("only barrier -1, of the work-group, is modelled");
    if (wave.arrivedFor == 0)
      return wave.fail("waits for a barrier that it has not signalled");
    passOrStay(wave);
  });
}

constexpr unsigned kModeRegister = 1;

uint32_t modeBits(const FloatMode &mode) {
  return mode.round32 | mode.round64 << 2 | (mode.flushes32 ? 0 : 3) << 4 |
         (mode.flushes64 ? 0 : 3) << 6 | uint32_t(mode.saturatesFp16) << 23;
}

void setMode(Wave &wave, uint32_t bits) {
  wave.mode.round32 = bits & 3;
  wave.mode.round64 = bits >> 2 & 3;
  wave.mode.flushes32 = (bits >> 4 & 3) == 0;
  wave.mode.flushes64 = (bits >> 6 & 3) == 0;
  wave.mode.saturatesFp16 = bits >> 23 & 1;
  if ((bits & 15) != 0)
    wave.fail("rounding other than to the nearest number is not modelled");
  if (wave.mode.flushes64)
    wave.fail("flushing denormal numbers of 16 and 64 bits is not modelled");
}

void setRegister(Wave &wave, uint32_t place, uint32_t value) {
  unsigned number = place & 63, offset = place >> 6 & 31, width = (place >> 11 & 31) + 1;
  if (number != kModeRegister)
    return;
  uint32_t field = width == 32 ? ~0u : ((1u << width) - 1) << offset;
  setMode(wave, (modeBits(wave.mode) & ~field) | (value << offset & field));
}

void addModes(Semantics &table) {
  table.add("S_SETREG_IMM32_B32", [](Wave &wave, const Instruction &instruction) {
    setRegister(wave, uint32_t(instruction.immediates[1]), uint32_t(instruction.immediates[0]));
  });
  table.add("S_SETREG_B32", [](Wave &wave, const Instruction &instruction) {
    setRegister(wave, uint32_t(instruction.immediates[0]),
                wave.scalar[instruction.operands[0].index]);
  });
  table.add("S_GETREG_B32", [](Wave &wave, const Instruction &instruction) {
    uint32_t place = uint32_t(instruction.immediates[0]);
    unsigned offset = place >> 6 & 31, width = (place >> 11 & 31) + 1;
    uint32_t value = (place & 63) == kModeRegister ? modeBits(wave.mode) : uint32_t(wave.clock);
    value >>= offset;
    wave.scalar[instruction.operands[0].index] = width == 32 ? value : value & ((1u << width) - 1);
  });
  table.add("S_DENORM_MODE", [](Wave &wave, const Instruction &instruction) {
    setMode(wave, (modeBits(wave.mode) & ~0xf0u) | (instruction.immediates[0] & 15) << 4);
  });
  table.add("S_ROUND_MODE", [](Wave &wave, const Instruction &instruction) {
    setMode(wave, (modeBits(wave.mode) & ~0xfu) | (instruction.immediates[0] & 15));
  });
}

} // namespace

void addScalarControl(Semantics &table) {
  addBranches(table);
  addJumps(table);
  addWaits(table);
  addBarriers(table);
  addModes(table);
  auto nothing = [](Wave &, const Instruction &) {};
  // Times, priorities, caches and dependencies between ALUs: the hardware's, or not modelled.
  for (const char *name : {"S_NOP",
                           "S_CLAUSE",
                           "S_DELAY_ALU",
                           "S_WAIT_ALU",
                           "S_WAITCNT_DEPCTR",
                           "S_WAITCNT_EXPCNT",
                           "S_WAIT_EXPCNT",
                           "S_WAIT_IDLE",
                           "S_SETPRIO",
                           "S_INST_PREFETCH",
                           "S_SET_INST_PREFETCH_DISTANCE",
                           "S_SENDMSG",
                           "S_ICACHE_INV",
                           "S_DCACHE_INV",
                           "S_DCACHE_WB",
                           "S_DCACHE_INV_VOL",
                           "S_GL1_INV",
                           "S_CODE_END",
                           "S_TTRACEDATA",
                           "S_TTRACEDATA_IMM",
                           "S_WAIT_SAMPLECNT",
                           "S_WAIT_BVHCNT",
                           "BUFFER_INV",
                           "BUFFER_WBL2",
                           "BUFFER_WBINVL1",
                           "BUFFER_WBINVL1_VOL",
                           "BUFFER_INVL2",
                           "BUFFER_GL0_INV",
                           "BUFFER_GL1_INV",
                           "GLOBAL_INV",
                           "GLOBAL_WB",
                           "GLOBAL_WBINV",
                           "V_NOP",
                           "S_PREFETCH_INST",
                           "S_PREFETCH_INST_PC_REL",
                           "S_PREFETCH_DATA",
                           "S_PREFETCH_DATA_PC_REL"})
    table.add(name, nothing);
  table.add("S_SLEEP", [](Wave &wave, const Instruction &) { wave.isSuspended = true; });
  table.add("S_TRAP", [](Wave &wave, const Instruction &) { wave.fail("the kernel trapped"); });
}

} // namespace sectile::amdisa
