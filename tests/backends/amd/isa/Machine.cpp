#include "Machine.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace sectile::amdisa {
namespace {

namespace hsa = llvm::amdhsa;

llvm::Error failure(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// The high halves of the addresses by which FLAT reaches LDS and private memory.
constexpr uint32_t kSharedAperture = 0x00010000, kPrivateAperture = 0x00020000;
constexpr uint32_t kResourceSwizzles = 0x80000000;

uint64_t mixed(uint64_t value) {
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccd;
  value ^= value >> 33;
  value *= 0xc4ceb9fe1a85ec53;
  return value ^ value >> 33;
}

class Execution {
public:
  Execution(const CodeObject &object, const Kernel &kernel, const Shape &shape, Buffers buffers,
            const RunOptions &options)
      : object(object), kernel(kernel), shape(shape), buffers(std::move(buffers)), options(options),
        random(options.seed) {}

  llvm::Error placeArguments(llvm::ArrayRef<Argument> arguments);
  llvm::Error runGroup(std::array<uint32_t, 3> id);

  Statistics statistics;

private:
  template <class Bits>
  unsigned property(Bits bits, unsigned shift, unsigned width) const {
    return unsigned(bits) >> shift & ((1u << width) - 1);
  }
  unsigned rsrc2(unsigned shift, unsigned width) const {
    return property(kernel.descriptor.compute_pgm_rsrc2, shift, width);
  }
  unsigned codeProperty(unsigned shift) const {
    return property(kernel.descriptor.kernel_code_properties, shift, 1);
  }
  uint64_t hiddenValue(llvm::StringRef kind) const;
  unsigned itemCount() const { return shape.items[0] * shape.items[1] * shape.items[2]; }
  unsigned waveCount() const { return (itemCount() + kernel.lanes - 1) / kernel.lanes; }

  std::unique_ptr<Wave> makeWave(WorkGroup &group, unsigned number, std::array<uint32_t, 3> id);
  void fillRegisters(Wave &wave);
  void setScalars(Wave &wave, std::array<uint32_t, 3> id);
  void setItemIds(Wave &wave);
  llvm::Error takeTurn(Wave &wave, std::array<uint32_t, 3> id);
  llvm::Error problemOf(const Wave &wave, const Instruction &instruction,
                        std::array<uint32_t, 3> id) const;
  uint64_t nextRandom() { return random = mixed(random + 0x9e3779b97f4a7c15); }

  const CodeObject &object;
  const Kernel &kernel;
  const Shape &shape;
  Buffers buffers;
  RunOptions options;
  uint64_t random;
  std::vector<uint64_t> kernarg; // aligned
  std::array<uint8_t, 64> dispatchPacket{};
};

uint64_t Execution::hiddenValue(llvm::StringRef kind) const {
  for (unsigned axis = 0; axis < 3; ++axis) {
    char letter = char('x' + axis);
    if (kind == std::string("hidden_block_count_") + letter)
      return shape.groups[axis];
    if (kind == std::string("hidden_group_size_") + letter)
      return shape.items[axis];
  }
  if (kind == "hidden_grid_dims")
    return shape.groups[2] > 1 ? 3 : shape.groups[1] > 1 ? 2 : 1;
  if (kind == "hidden_dynamic_lds_size")
    return shape.dynamicLdsBytes;
  if (kind == "hidden_private_base")
    return kPrivateAperture;
  if (kind == "hidden_shared_base")
    return kSharedAperture;
  return 0;
}

llvm::Error Execution::placeArguments(llvm::ArrayRef<Argument> arguments) {
  kernarg.assign((kernel.kernargBytes + 7) / 8 + 32,
                 0); // scalar loads may fetch more than there is
  auto *bytes = reinterpret_cast<uint8_t *>(kernarg.data());
  size_t next = 0;
  for (const Parameter &parameter : kernel.parameters) {
    if (parameter.isHidden()) {
      uint64_t value = hiddenValue(parameter.kind);
      std::memcpy(bytes + parameter.offset, &value, std::min<uint32_t>(parameter.bytes, 8));
      continue;
    }
    if (next == arguments.size() || arguments[next].count != parameter.bytes)
      return failure(llvm::formatv("{0}: argument {1} has to have {2} bytes", kernel.name, next,
                                   parameter.bytes));
    std::memcpy(bytes + parameter.offset, arguments[next++].bytes.data(), parameter.bytes);
  }
  if (next != arguments.size())
    return failure(llvm::formatv("{0}: takes {1} arguments", kernel.name, next));
  buffers.add(bytes, kernarg.size() * 8, /*isWritable=*/false);
  buffers.add(object.image().data(), object.image().size(), /*isWritable=*/false);

  uint16_t sizes[3];
  uint32_t grid[3];
  for (unsigned axis = 0; axis < 3; ++axis) {
    sizes[axis] = uint16_t(shape.items[axis]);
    grid[axis] = shape.items[axis] * shape.groups[axis];
  }
  std::memcpy(dispatchPacket.data() + 4, sizes, sizeof sizes);
  std::memcpy(dispatchPacket.data() + 12, grid, sizeof grid);
  buffers.add(dispatchPacket.data(), dispatchPacket.size(), /*isWritable=*/false);
  return llvm::Error::success();
}

/// What nobody has written differs from seed to seed, so that results which depend on it do, too.
void Execution::fillRegisters(Wave &wave) {
  uint32_t granules = property(kernel.descriptor.compute_pgm_rsrc1, 0, 6) + 1;
  unsigned count = granules * (kernel.program.chip.generation == 9 || kernel.lanes == 32 ? 8 : 4);
  uint64_t state = mixed(options.seed ^ (uint64_t(wave.id) << 32));
  auto fill = [&](uint32_t *begin, size_t number) {
    for (size_t index = 0; index < number; ++index) {
      state = state * 6364136223846793005 + 1442695040888963407;
      begin[index] = uint32_t(state >> 32);
    }
  };
  // Accumulation registers are a part of the same allocation.
  unsigned plain = std::min(count, kAccumulators);
  fill(wave.row(0), plain * 64);
  if (kernel.program.chip.generation == 9)
    fill(wave.row(kAccumulators), plain * 64);
  fill(wave.scalar.data(), kVcc + 2);
  for (size_t byte = 0; byte < wave.scratch.size(); ++byte)
    wave.scratch[byte] = uint8_t(0xa5 + byte * 37);
}

/// User SGPRs in the order of the ABI, then, up to gfx11, the work-group's ids behind all of them.
void Execution::setScalars(Wave &wave, std::array<uint32_t, 3> id) {
  unsigned next = 0;
  auto addPair = [&](bool isWanted, uint64_t value) {
    if (isWanted)
      wave.setPair(next, value), next += 2;
  };
  bool isGfx12 = kernel.program.chip.generation >= 12;
  if (codeProperty(hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER_SHIFT)) {
    wave.setPair(next, uint64_t(kResourceSwizzles) << 32);
    wave.setPair(next + 2, 0xffffffff);
    next += 4;
  }
  addPair(codeProperty(hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_DISPATCH_PTR_SHIFT),
          reinterpret_cast<uint64_t>(dispatchPacket.data()));
  addPair(codeProperty(hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_QUEUE_PTR_SHIFT), 0);
  addPair(codeProperty(hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_KERNARG_SEGMENT_PTR_SHIFT),
          reinterpret_cast<uint64_t>(kernarg.data()));
  addPair(codeProperty(hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_DISPATCH_ID_SHIFT), 0);
  addPair(codeProperty(hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_FLAT_SCRATCH_INIT_SHIFT), 0);
  if (codeProperty(hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_PRIVATE_SEGMENT_SIZE_SHIFT))
    wave.scalar[next++] = kernel.descriptor.private_segment_fixed_size;
  unsigned preloaded = property(kernel.descriptor.kernarg_preload, 0, 7);
  unsigned from = property(kernel.descriptor.kernarg_preload, 7, 9);
  auto *words = reinterpret_cast<const uint32_t *>(kernarg.data());
  for (unsigned word = 0; word < preloaded; ++word)
    wave.scalar[next++] = words[from + word];
  next = rsrc2(1, 5);
  if (isGfx12) {
    wave.scalar[kTtmp + 9] = id[0];
    wave.scalar[kTtmp + 7] = id[1] | id[2] << 16;
    wave.scalar[kTtmp + 8] = uint32_t(wave.id) << 25;
  } else {
    for (unsigned axis = 0; axis < 3; ++axis)
      if (rsrc2(7 + axis, 1))
        wave.scalar[next++] = id[axis];
    if (rsrc2(10, 1))
      wave.scalar[next++] = 0;
    if (rsrc2(0, 1)) // the wave's offset into private memory, which is its own here
      wave.scalar[next++] = 0;
  }
  wave.scalar[kSharedBase + 1] = kSharedAperture;
  wave.scalar[kPrivateBase + 1] = kPrivateAperture;
  wave.scalar[kSharedBase] = wave.scalar[kPrivateBase] = 0;
  wave.scalar[kSharedLimit] = wave.scalar[kPrivateLimit] = ~0u;
}

void Execution::setItemIds(Wave &wave) {
  unsigned first = wave.id * kernel.lanes, total = itemCount();
  uint64_t exec = 0;
  for (unsigned lane = 0; lane < kernel.lanes; ++lane) {
    unsigned item = first + lane;
    if (item >= total)
      break;
    exec |= uint64_t(1) << lane;
    uint32_t x = item % shape.items[0], y = item / shape.items[0] % shape.items[1],
             z = item / (shape.items[0] * shape.items[1]);
    wave.row(0)[lane] = x | y << 10 | z << 20; // all chips here pack them
  }
  wave.setMask(kExec, exec);
}

std::unique_ptr<Wave> Execution::makeWave(WorkGroup &group, unsigned number,
                                          std::array<uint32_t, 3> id) {
  auto wave = std::make_unique<Wave>();
  wave->program = &kernel.program;
  wave->chip = &kernel.program.chip;
  wave->group = &group;
  wave->buffers = &buffers;
  wave->id = uint8_t(number);
  wave->lanes = kernel.lanes;
  wave->seed = options.seed;
  wave->vectors.resize(kVectorCount * 64);
  wave->scratchBytes = (kernel.descriptor.private_segment_fixed_size + 15) / 16 * 16;
  wave->scratch.resize(uint64_t(wave->scratchBytes) * kernel.lanes);
  uint32_t rsrc1 = kernel.descriptor.compute_pgm_rsrc1;
  wave->mode.round32 = uint8_t(property(rsrc1, 12, 2));
  wave->mode.round64 = uint8_t(property(rsrc1, 14, 2));
  wave->mode.flushes32 = property(rsrc1, 16, 2) == 0;
  wave->mode.flushes64 = property(rsrc1, 18, 2) == 0;
  fillRegisters(*wave);
  setScalars(*wave, id);
  // Hardware that loads arguments into SGPRs itself skips the code which does it for older
  // firmware.
  if (property(kernel.descriptor.kernarg_preload, 0, 7) && kernel.program.chip.generation == 9)
    wave->pc = uint32_t(kernel.program.atWord[256 / 4]);
  setItemIds(*wave);
  return wave;
}

llvm::Error Execution::problemOf(const Wave &wave, const Instruction &instruction,
                                 std::array<uint32_t, 3> id) const {
  return failure(llvm::formatv("{0}, work-group ({1}, {2}, {3}), wave {4}, at {5:x}: `{6}`: {7}",
                               kernel.name, id[0], id[1], id[2], unsigned(wave.id),
                               instruction.address - kernel.program.begin, instruction.text,
                               wave.error));
}

llvm::Error Execution::takeTurn(Wave &wave, std::array<uint32_t, 3> id) {
  uint64_t turn = 16 + nextRandom() % 240;
  const Instruction *instructions = kernel.program.instructions.data();
  size_t count = kernel.program.instructions.size();
  wave.isSuspended = false;
  for (uint64_t taken = 0; taken < turn && !wave.hasEnded && !wave.isSuspended; ++taken) {
    if (wave.pc >= count)
      return failure(kernel.name + ": runs past its end");
    const Instruction &instruction = instructions[wave.pc];
    amdisa::step(wave);
    if (!wave.error.empty())
      return problemOf(wave, instruction, id);
    if (wave.clock > options.maxInstructions) {
      wave.error = "endless loop";
      return problemOf(wave, instruction, id);
    }
  }
  return llvm::Error::success();
}

llvm::Error Execution::runGroup(std::array<uint32_t, 3> id) {
  WorkGroup group;
  group.lds.resize(kernel.descriptor.group_segment_fixed_size + shape.dynamicLdsBytes);
  group.stores.isIgnored = options.allowsGlobalRaces;
  if (options.readsUnwrittenLds)
    group.lds.allowUnwritten(mixed(options.seed));
  unsigned waves = waveCount();
  group.progress.resize(waves);
  for (unsigned number = 0; number < waves; ++number)
    group.waves.push_back(makeWave(group, number, id));
  for (unsigned running = waves, idle = 0; running != 0;) {
    Wave &wave = *group.waves[nextRandom() % waves];
    if (wave.hasEnded)
      continue;
    uint64_t before = wave.clock;
    if (llvm::Error error = takeTurn(wave, id))
      return error;
    if (wave.hasEnded) {
      --running;
      statistics.instructions += wave.clock;
      for (Progress &stream : wave.progress())
        stream.completed = stream.arrived = stream.issued;
      group.openBarrier();
    }
    // A wave that waits repeats its barrier: one instruction a turn.
    idle = wave.isSuspended && wave.clock - before <= 1 ? idle + 1 : 0;
    if (idle > 10000 * waves)
      return failure(kernel.name + ": the waves of a work-group wait at a barrier for ever");
  }
  statistics.waves += waves;
  return llvm::Error::success();
}

/// VOPD: the second instruction sees the registers as they were before the first.
void executeBoth(Wave &wave, const Instruction &instruction) {
  unsigned first = instruction.operands[0].index;
  std::array<uint32_t, 64> old, updated;
  std::copy_n(wave.row(first), 64, old.begin());
  instruction.execute(wave, instruction);
  std::copy_n(wave.row(first), 64, updated.begin());
  std::copy_n(old.begin(), 64, wave.row(first));
  instruction.second->execute(wave, *instruction.second);
  std::copy_n(updated.begin(), 64, wave.row(first));
}

} // namespace

void step(Wave &wave) {
  const Instruction &instruction = wave.program->instructions[wave.pc];
  if (wave.hasArrivals)
    wave.checkArrivals(instruction);
  ++wave.pc;
  ++wave.clock;
  if (!wave.error.empty())
    return;
  if (instruction.second)
    executeBoth(wave, instruction);
  else
    instruction.execute(wave, instruction);
}

llvm::Expected<Statistics> run(const CodeObject &object, llvm::StringRef name, const Shape &shape,
                               llvm::ArrayRef<Argument> arguments, const Buffers &buffers,
                               const RunOptions &options) {
  const Kernel *kernel = object.kernel(name);
  if (!kernel)
    return failure("the code object has no kernel " + name);
  unsigned items = shape.items[0] * shape.items[1] * shape.items[2];
  if (items == 0 || items > 1024 || (items + kernel->lanes - 1) / kernel->lanes > kMaxWaves)
    return failure(name + ": work-groups have 1 to 1024 work-items");
  Execution execution(object, *kernel, shape, buffers, options);
  if (llvm::Error error = execution.placeArguments(arguments))
    return std::move(error);
  for (uint32_t z = 0; z < shape.groups[2]; ++z)
    for (uint32_t y = 0; y < shape.groups[1]; ++y)
      for (uint32_t x = 0; x < shape.groups[0]; ++x)
        if (llvm::Error error = execution.runGroup({x, y, z}))
          return std::move(error);
  return execution.statistics;
}

} // namespace sectile::amdisa
