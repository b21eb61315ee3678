//===-- SimulatedGpu.h - runs GPU code on the CPU, thread by thread ---------------------------===//
// Every thread of a block is a fibre that runs until it meets others: at a shuffle the lanes of its
// warp, at a barrier the threads of its block. Results are bit-true, and what hardware hides is
// seen: two threads that touch a byte of shared memory between two barriers (one of them writing
// something else), lanes or threads that miss a shuffle or barrier, accesses outside every array,
// bank conflicts.
//
//   SimulatedKernel kernel(tileText, {.warps = 4});
//   ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
//   SimulatedReport report = kernel.run({gridX}, {argument(in), argument(out)});
//   EXPECT_EQ(report.problem, "");
//   EXPECT_EQ(report.bankConflicts, 0);
#pragma once

#include "../HostKernelHarness.h"
#include "SimulatedTarget.h"

#include <map>

namespace sectile::testing {

/// Of all programs of a launch, except where said.
struct SimulatedReport {
  /// The first thing that went wrong; empty when all is well.
  std::string problem;
  /// Per thread of the last program.
  int64_t barriers = 0, barriersOfAllMemory = 0, shuffles = 0;
  /// Instructions of one warp, counted once per warp.
  int64_t sharedLoads = 0, sharedStores = 0;
  /// Wavefronts beyond what an access without conflicts takes.
  int64_t bankConflicts = 0;
  /// Per thread of the last program; predicated ones that did nothing count too.
  int64_t globalLoads = 0, globalStores = 0;
};

class HostLibrary;

/// A kernel's module, compiled for the host.
class SimulatedProgram {
public:
  SimulatedProgram(llvm::Module &module, llvm::StringRef kernel, unsigned warps, unsigned lanes,
                   int64_t sharedBytes, layout::SharedBanks banks = {});
  ~SimulatedProgram();
  SimulatedProgram(const SimulatedProgram &) = delete;

  /// Why it did not compile; empty when it did.
  const std::string &error() const { return message; }
  SimulatedReport run(std::vector<int32_t> grid, const std::vector<HostArgument> &arguments);
  /// Two threads may write different values to one place between barriers: copies of padding do.
  bool acceptsDifferentWrites = false;

private:
  void compile(llvm::Module &module, llvm::StringRef kernel);

  unsigned warps, lanes;
  layout::SharedBanks banks;
  int64_t sharedBytes;
  std::string message;
  std::unique_ptr<HostLibrary> library;
};

struct SimulatedOptions {
  unsigned warps = 4, lanes = 32, stages = 3;
  SimulatedAbilities abilities = {};
  layout::SharedBanks banks = {};
  /// See SimulatedProgram; for kernels with tiles of any extents.
  bool acceptsDifferentWrites = false;
  int64_t maxSharedBytes = 1 << 20;
  /// Registers that a thread may have; they are counted only to choose how a loop loads.
  int64_t threadWords = 255;
  bool debug = false, checkBounds = false, dependentLaunch = false, argumentsOverlap = false;
  /// Blocks of a program, whose warps the one block has.
  int32_t blocks = 1;
  backends::Numerics numerics = backends::Numerics::Default;
};

/// Tile IR text, compiled by the code that all GPUs share. Tiles without layouts are given some by
/// the passes; text that says layouts is taken as it stands.
class SimulatedKernel {
public:
  explicit SimulatedKernel(llvm::StringRef tileText, SimulatedOptions options = {});
  ~SimulatedKernel();
  bool compiled() const { return program != nullptr; }
  /// Of a compile that failed: every diagnostic and note, a line each.
  const std::string &diagnostics() const { return errors; }
  SimulatedReport run(std::vector<int32_t> grid, const std::vector<HostArgument> &arguments);

  int64_t sharedBytes = 0;
  /// Its sites and properties.
  backends::KernelImage image;
  /// The laid-out kernel, and the LLVM IR of one thread.
  std::string tileText, llvmText;

private:
  std::string errors;
  std::unique_ptr<SimulatedProgram> program;
};

} // namespace sectile::testing
