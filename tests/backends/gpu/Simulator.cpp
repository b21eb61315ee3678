// sectile_simulator: runs kernels on the simulated GPU, one for each line of its input.
//
//   kernel.mlir 2 num_warps=4 num_ctas=2 numerics=strict x.bin:4 out.bin:0 i32:17
//
// is tile IR, the programs along x, or 2x3 along x and y, options by their names, and the arguments
// in order: a file whose bytes lie that many bytes behind a multiple of 16 and are written back, or
// a number. Answers a line: "right", "failed" with the diagnostics, or "wrong" with a race or
// another misdeed.
//
//   sectile_simulator --lanes 64       warps of 64 lanes, with the matrix instructions of gfx942
//   sectile_simulator --chip gfx1100   those of any chip of AMD's, and its lanes
//   sectile_simulator --chip sm_90a    wgmma beside mma.sync, and copies of boxes by tensor maps
//   sectile_simulator --chip sm_90a --shared 65536    the same with so many bytes of shared memory
#include "../FileArray.h"
#include "SimulatedGpu.h"
#include "lang/layout/AmdMatrixInstructions.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>

using namespace sectile::testing;

namespace {

HostArgument argumentOf(const FileArray &array) {
  HostArgument made;
  made.begin = made.slot = reinterpret_cast<uint64_t>(array.begin);
  made.end = made.begin + array.bytes;
  return made;
}

struct Gpu {
  unsigned lanes = 32;
  const char *chip = ""; // empty: NVIDIA's matrix instructions
  bool isHopper = false;
  int64_t sharedBytes = 227 << 10;
};

/// The options of a launch that the simulated GPU has.
SimulatedOptions simulatedOptions(const sectile::backends::CompileOptions &given, Gpu gpu) {
  SimulatedOptions options;
  options.abilities = SimulatedAbilities::all();
  options.abilities.chip = gpu.chip;
  options.abilities.votesInSharedMemory = *gpu.chip != 0;
  options.abilities.bufferProducts = gpu.isHopper;
  options.abilities.tensorCopies = options.abilities.producers = gpu.isHopper;
  options.lanes = gpu.lanes;
  options.acceptsDifferentWrites = true;
  options.maxSharedBytes = gpu.sharedBytes;
  options.warps = unsigned(given.warpCount);
  options.stages = unsigned(given.stageCount);
  options.blocks = given.ctaCount;
  options.numerics = given.numerics;
  options.argumentsOverlap = given.argumentsOverlap;
  options.pointersOnly = given.pointersOnly;
  options.largeArrays = given.largeArrays;
  options.persistent = given.persistent;
  return options;
}

std::string run(std::istringstream &line, Gpu gpu) {
  std::string path, word;
  line >> path >> word;
  std::vector<int32_t> grid;
  std::istringstream extents(word);
  for (std::string extent; std::getline(extents, extent, 'x');)
    grid.push_back(int32_t(std::strtol(extent.c_str(), nullptr, 10)));
  sectile::backends::CompileOptions given;
  while (line >> word && word.find(':') == word.npos) {
    size_t equals = word.find('=');
    if (equals == word.npos || !given.setField(word.substr(0, equals), word.substr(equals + 1)))
      return "failed: no option " + word;
  }
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  SimulatedOptions options = simulatedOptions(given, gpu);
  options.workers = 1;
  for (int32_t extent : grid)
    options.workers *= extent;
  options.workers = std::max(1, options.workers / 2);
  std::optional<SimulatedKernel> kernel(std::in_place, text, options);
  if (!kernel->compiled())
    return "failed " + oneLine(kernel->diagnostics());
  std::vector<FileArray> arrays;
  std::vector<HostArgument> arguments;
  for (; line; line >> word) {
    size_t colon = word.rfind(':');
    long number = std::strtol(word.c_str() + colon + 1, nullptr, 10);
    if (word.starts_with("i32:")) {
      arguments.push_back(argument(int32_t(number)));
    } else {
      arrays.emplace_back(word.substr(0, colon), number);
      arguments.push_back(argumentOf(arrays.back()));
    }
  }
  // As a launch does.
  const bool isUnmappable = !kernel->mapProblem(arguments).empty(),
             isLarge = kernel->exceedsBuffers(arguments);
  if (isUnmappable || isLarge) {
    options.pointersOnly |= isUnmappable;
    options.largeArrays |= isLarge;
    kernel.emplace(text, options);
    if (!kernel->compiled())
      return "failed " + oneLine(kernel->diagnostics());
  }
  SimulatedReport report = kernel->run(grid, arguments);
  for (const FileArray &array : arrays)
    array.writeBack();
  return report.problem.empty() ? "right" : "wrong " + oneLine(report.problem);
}

} // namespace

/// nullopt when the arguments are not understood.
std::optional<Gpu> gpuOf(int argc, char **argv) {
  if (argc == 1)
    return Gpu();
  if (argc == 5 && std::string(argv[3]) == "--shared") {
    std::optional<Gpu> gpu = gpuOf(3, argv);
    if (gpu)
      gpu->sharedBytes = std::strtol(argv[4], nullptr, 10);
    return gpu && gpu->sharedBytes > 0 ? gpu : std::nullopt;
  }
  if (argc != 3)
    return std::nullopt;
  std::string option = argv[1], value = argv[2];
  if (option == "--lanes" && value == "32")
    return Gpu();
  if (option == "--lanes" && value == "64")
    return Gpu{64, "gfx942"};
  if (option == "--chip" && value == "sm_90a")
    return Gpu{.isHopper = true};
  auto instructions = sectile::layout::amdProductInstructions(value);
  if (option != "--chip" || instructions.empty())
    return std::nullopt;
  return Gpu{unsigned(instructions.front().laneCount()), argv[2]};
}

int main(int argc, char **argv) {
  std::optional<Gpu> gpu = gpuOf(argc, argv);
  if (!gpu) {
    std::cerr
        << "usage: sectile_simulator [--lanes 32|64 | --chip gfx942|sm_90a] [--shared BYTES]\n";
    return 1;
  }
  for (std::string text; std::getline(std::cin, text);) {
    std::istringstream line(text);
    std::cout << run(line, *gpu) << std::endl;
  }
}
