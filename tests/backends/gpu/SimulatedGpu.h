//===-- SimulatedGpu.h - runs GPU code on the CPU, thread by thread ---------------------------===//
// Every thread of a block is a fibre that runs until it meets others: at a shuffle the lanes of its
// warp, at a barrier the threads of its block. Results are bit-true, and what hardware hides is
// seen: two threads that touch a byte of shared memory between two barriers (one of them writing
// something else), lanes or threads that miss a shuffle or barrier, accesses outside every array,
// bank conflicts, copies that nobody waits for.
//
//   SimulatedKernel kernel(tileText, {.warps = 4});
//   ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
//   SimulatedReport report = kernel.run({gridX}, {argument(in), argument(out)});
//   EXPECT_EQ(report.problem, "");
//   EXPECT_EQ(report.bankConflicts, 0);
#pragma once

#include "../HostKernelHarness.h"
#include "SimulatedTarget.h"

#include <array>
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
  /// Copies of boxes that the threads of the last program have started together.
  int64_t tensorCopies = 0, tensorStores = 0;
};

/// What the 128 bytes of a tensor map hold here. The first dimension is the outermost.
struct alignas(64) SimulatedTensorMap {
  static constexpr uint32_t kMagic = 0x70614d54;
  static constexpr int32_t kMaxRank = 5;
  static constexpr int64_t kPieceBytes = 16; // which change places within `swizzleBytes`
  uint64_t base = 0;
  std::array<int64_t, kMaxRank> extents{}, strides{}; // elements
  std::array<int32_t, kMaxRank> box{};
  uint32_t magic = kMagic;
  int32_t elementBytes = 0, swizzleBytes = 0, rank = 0;
};
static_assert(sizeof(SimulatedTensorMap) == 128);

SimulatedTensorMap simulatedMap(const backends::TensorMap &map,
                                const backends::TensorMapValues &values);

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
  /// The kernel's last parameters are the addresses of `maps`.
  SimulatedReport run(std::vector<int32_t> grid, const std::vector<HostArgument> &arguments,
                      const std::vector<SimulatedTensorMap> &maps = {});
  /// Two threads may write different values to one place between barriers: copies of padding do.
  bool acceptsDifferentWrites = false;
  /// Those of a program, of all the warps of its block: at first all.
  unsigned programWarps;
  /// Chooses when copies of boxes read and land; runs with the same seed are the same.
  uint64_t seed = 1;

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
  bool debug = false, fatalAsserts = false, checkBounds = false, dependentLaunch = false,
       argumentsOverlap = false;
  /// Blocks of a program, whose warps the one block has.
  int32_t blocks = 1;
  backends::Numerics numerics = backends::Numerics::Default;
  /// Blocks along x that share the programs, of a kernel whose blocks run several.
  int32_t workers = 2;
  bool persistent = true;
  /// The kernel has no tensor maps, whatever the abilities are.
  bool pointersOnly = false;
  /// Nothing is assumed of how far arrays reach, nor that integers are not negative.
  bool largeArrays = false;
  uint64_t seed = 1; // see SimulatedProgram
};

/// What NVIDIA's sm_90a can do.
inline SimulatedOptions hopperOptions() {
  SimulatedOptions options;
  options.abilities = SimulatedAbilities::all();
  options.abilities.bufferProducts = options.abilities.tensorCopies = true;
  options.abilities.producers = true;
  options.maxSharedBytes = 227 << 10;
  return options;
}

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
  /// Why no tensor map can be made for such a launch, which wants the variant with `pointersOnly`
  /// then; empty when all can be made.
  std::string mapProblem(const std::vector<HostArgument> &arguments) const;
  /// Whether such a launch wants the variant with `largeArrays`.
  bool exceedsBuffers(const std::vector<HostArgument> &arguments) const;

  int64_t sharedBytes = 0;
  /// Its sites and properties.
  backends::KernelImage image;
  /// The laid-out kernel, and the LLVM IR of one thread.
  std::string tileText, llvmText;

private:
  std::string errors;
  int32_t workers;
  std::unique_ptr<SimulatedProgram> program;
};

} // namespace sectile::testing
