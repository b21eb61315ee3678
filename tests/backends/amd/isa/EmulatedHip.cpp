// libsectile_emulated_hip.so: the functions of AMD's HIP runtime that Sectile's driver uses, over
// the interpreter. It takes the place of libamdhip64.so (SECTILE_HIP), so that programs run on AMD
// GPUs that are not there, through all of Sectile's own launch path:
//
//   SECTILE_HIP=build/.../libsectile_emulated_hip.so python softmax.py
//
// The devices are EMULATED_HIP_CHIPS, "gfx942,gfx1100", or else one of each chip. Their memory
// is the host's, and kernels may touch what was allocated and nothing else. Launches are over when
// they return; one that the interpreter finds fault with is hipErrorLaunchFailure, whose text says
// what it is.
#include "Machine.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/BinaryFormat/ELF.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace sectile::amdisa {
namespace {

using Result = int;
enum : Result {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kNoBinaryForGpu = 209,
  kNotFound = 500,
  kLaunchFailure = 719,
};

struct DeviceKind {
  const char *arch;
  int lanes, units, sharedBytes;
};
constexpr DeviceKind kChips[] = {{"gfx90a", 64, 110, 65536},
                                 {"gfx942", 64, 304, 65536},
                                 {"gfx950", 64, 256, 163840},
                                 {"gfx1100", 32, 96, 65536},
                                 {"gfx1201", 32, 64, 65536}};

struct Function {
  const CodeObject *object;
  std::string name;
  int device;
};

struct Module {
  std::unique_ptr<CodeObject> object;
  int device;
  std::map<std::string, std::unique_ptr<Function>> functions;
};

/// As HIP numbers them from 6.0 on.
enum class MemoryKind : int { Unregistered = 0, Host = 1, Device = 2, Managed = 3 };

struct Allocation {
  uint64_t bytes;
  int device;
  void *base; // of the host's memory that it lies in
  MemoryKind kind;
  unsigned flags; // that it was asked for with
};

/// hipPointerAttribute_t.
struct PointerAttributes {
  MemoryKind kind;
  int device;
  void *devicePointer, *hostPointer;
  int isManaged;
  unsigned flags;
};

struct Event {
  std::chrono::steady_clock::time_point time;
};

struct Machine {
  std::recursive_mutex guard;
  std::vector<DeviceKind> devices;
  std::map<uint64_t, Allocation> allocations; // by address
  std::string problem = "unspecified launch failure";

  Machine() {
    const char *given = std::getenv("EMULATED_HIP_CHIPS");
    llvm::SmallVector<llvm::StringRef> names;
    llvm::StringRef(given ? given : "").split(names, ',', -1, /*KeepEmpty=*/false);
    if (names.empty())
      devices.assign(std::begin(kChips), std::end(kChips));
    for (llvm::StringRef name : names)
      for (const DeviceKind &chip : kChips)
        if (name == chip.arch)
          devices.push_back(chip);
  }

  bool has(int device) const { return device >= 0 && size_t(device) < devices.size(); }

  /// Memory whose address is `lead` modulo 256.
  void *allocate(size_t bytes, size_t lead, int device, MemoryKind kind = MemoryKind::Device,
                 unsigned flags = 0) {
    // Whole words around it may be read, as in a device's pages.
    const size_t room = ((lead + bytes) / 256 + 1) * 256;
    void *base = std::aligned_alloc(256, room);
    if (!base)
      return nullptr;
    // What a program finds in new memory must not look like a result.
    std::memset(base, 0xa5, room);
    void *memory = static_cast<char *>(base) + lead;
    std::lock_guard lock(guard);
    allocations[uint64_t(memory)] = {bytes, device, base, kind, flags};
    return memory;
  }

  /// The allocation that the address lies in; null for none.
  const Allocation *find(const void *memory) {
    auto next = allocations.upper_bound(uint64_t(memory));
    if (next == allocations.begin())
      return nullptr;
    const auto &[begin, allocation] = *std::prev(next);
    bool isInside = uint64_t(memory) < begin + std::max<uint64_t>(allocation.bytes, 1);
    return isInside ? &allocation : nullptr;
  }

  Result release(void *memory) {
    std::lock_guard lock(guard);
    auto found = allocations.find(uint64_t(memory));
    if (found == allocations.end())
      return memory ? kInvalidValue : kSuccess;
    std::free(found->second.base);
    allocations.erase(found);
    return kSuccess;
  }
};

Machine &machine() {
  static auto *made = new Machine; // launches may come after static destructors
  return *made;
}

thread_local int currentDevice = 0;

/// The bytes of a linked object, whose length is given by its own headers.
size_t elfBytes(const void *image) {
  llvm::ELF::Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  size_t end = header.e_shoff + size_t(header.e_shnum) * header.e_shentsize;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    llvm::ELF::Elf64_Shdr section;
    std::memcpy(&section,
                static_cast<const char *>(image) + header.e_shoff + i * header.e_shentsize,
                sizeof section);
    if (section.sh_type != llvm::ELF::SHT_NOBITS)
      end = std::max<size_t>(end, section.sh_offset + section.sh_size);
  }
  return end;
}

Result load(Module **module, const void *image) {
  Machine &here = machine();
  if (!here.has(currentDevice))
    return kInvalidDevice;
  if (std::memcmp(image, llvm::ELF::ElfMagic, 4) != 0)
    return kInvalidImage;
  auto object =
      CodeObject::load(llvm::StringRef(static_cast<const char *>(image), elfBytes(image)));
  std::lock_guard lock(here.guard);
  if (!object) {
    here.problem = llvm::toString(object.takeError());
    return kInvalidImage;
  }
  if ((*object)->chip().name != here.devices[size_t(currentDevice)].arch)
    return kNoBinaryForGpu;
  *module = new Module{std::move(*object), currentDevice, {}};
  return kSuccess;
}

/// Loops for atomics of 16 bits load the word that has the neighbour, too, which another wave may
/// store: what a kernel with exchanges in loops reads is not compared with stores.
bool hasExchangeLoops(const Kernel &kernel) {
  return llvm::any_of(kernel.program.instructions, [](const Instruction &each) {
    return llvm::StringRef(each.name).contains("ATOMIC_CMPSWAP");
  });
}

Result launch(Function *function, const std::array<uint32_t, 3> &groups,
              const std::array<uint32_t, 3> &items, uint32_t sharedBytes, void **parameters) {
  Machine &here = machine();
  std::lock_guard lock(here.guard);
  auto fail = [&](std::string why) {
    here.problem = std::move(why);
    return kLaunchFailure;
  };
  if (function->device != currentDevice)
    return fail("a function of device " + std::to_string(function->device) +
                " was launched while device " + std::to_string(currentDevice) + " was current");
  const Kernel *kernel = function->object->kernel(function->name);
  std::vector<Argument> arguments;
  for (const Parameter &parameter : kernel->parameters) {
    if (parameter.isHidden())
      continue;
    Argument &argument = arguments.emplace_back();
    argument.count = parameter.bytes;
    std::memcpy(argument.bytes.data(), parameters[arguments.size() - 1], parameter.bytes);
  }
  Buffers buffers;
  for (const auto &[address, allocation] : here.allocations)
    buffers.addPadded(reinterpret_cast<const void *>(address), allocation.bytes);
  RunOptions how;
  how.seed = 0; // LLVM's division is correctly rounded with the reciprocals that chips compute
  how.readsUnwrittenLds = true; // layouts pad tiles smaller than a matrix instruction
  how.allowsGlobalRaces = hasExchangeLoops(*kernel);
  auto done = run(*function->object, function->name,
                  {.groups = groups, .items = items, .dynamicLdsBytes = sharedBytes}, arguments,
                  buffers, how);
  return done ? kSuccess : fail(llvm::toString(done.takeError()));
}

int attributeOf(const DeviceKind &chip, int attribute) {
  switch (attribute) {
  case 5: // clock rate, kHz
    return 2100000;
  case 19: // L2
    return 4 << 20;
  case 23: // major and minor number of the architecture
    return chip.lanes == 64 ? 9 : chip.arch[3] == '1' && chip.arch[4] == '1' ? 11 : 12;
  case 61:
    return 0;
  case 56: // threads of a block
    return 1024;
  case 57: // of a compute unit
    return 2048;
  case 59: // bits of the memory's bus, and its clock
    return 8192;
  case 60:
    return 1300000;
  case 63:
    return chip.units;
  case 71: // registers of a block
    return 65536;
  case 74:
  case 10002:
    return chip.sharedBytes;
  case 87:
    return chip.lanes;
  default:
    return -1;
  }
}

} // namespace
} // namespace sectile::amdisa

using namespace sectile::amdisa;

#pragma GCC visibility push(default)
extern "C" {

Result hipInit(unsigned) {
  return machine().devices.empty() ? kInvalidDevice : kSuccess;
}
Result hipRuntimeGetVersion(int *version) {
  *version = 70151831;
  return kSuccess;
}
Result hipGetDeviceCount(int *count) {
  *count = int(machine().devices.size());
  return kSuccess;
}
Result hipDeviceGetAttribute(int *value, int attribute, int device) {
  if (!machine().has(device))
    return kInvalidDevice;
  *value = attributeOf(machine().devices[size_t(device)], attribute);
  return *value < 0 ? kInvalidValue : kSuccess;
}
Result hipDeviceGetName(char *name, int size, int device) {
  if (!machine().has(device))
    return kInvalidDevice;
  std::snprintf(name, size_t(size), "emulated %s", machine().devices[size_t(device)].arch);
  return kSuccess;
}
Result hipDeviceTotalMem(size_t *bytes, int) {
  *bytes = size_t(1) << 34;
  return kSuccess;
}
/// As hipDeviceProp_t is laid out from 6.0 on, of which the name and the architecture are filled
/// in.
Result hipGetDevicePropertiesR0600(void *properties, int device) {
  if (!machine().has(device))
    return kInvalidDevice;
  std::memset(properties, 0, 1472);
  std::strcpy(static_cast<char *>(properties), "an emulated device");
  std::snprintf(static_cast<char *>(properties) + 1160, 256, "%s:sramecc+:xnack-",
                machine().devices[size_t(device)].arch);
  return kSuccess;
}
Result hipGetDevice(int *device) {
  *device = currentDevice;
  return kSuccess;
}
Result hipSetDevice(int device) {
  if (!machine().has(device))
    return kInvalidDevice;
  currentDevice = device;
  return kSuccess;
}
Result hipDeviceSynchronize() {
  return kSuccess;
}
Result hipModuleLoadData(Module **module, const void *image) {
  return load(module, image);
}
Result hipModuleUnload(Module *module) {
  delete module;
  return kSuccess;
}
Result hipModuleGetFunction(Function **function, Module *module, const char *name) {
  if (!module->object->kernel(name))
    return kNotFound;
  std::unique_ptr<Function> &found = module->functions[name];
  if (!found)
    found = std::make_unique<Function>(Function{module->object.get(), name, module->device});
  *function = found.get();
  return kSuccess;
}
Result hipFuncGetAttribute(int *value, int attribute, Function *function) {
  const Kernel &kernel = *function->object->kernel(function->name);
  switch (attribute) {
  case 0:
    *value = 1024;
    return kSuccess;
  case 1:
    *value = int(std::max<int64_t>(kernel.notes.sharedBytes, 0));
    return kSuccess;
  case 3:
    *value = int(std::max<int64_t>(kernel.notes.scratchBytes, 0));
    return kSuccess;
  case 4:
    *value = int(std::max<int64_t>(kernel.notes.vectorRegisters, 0));
    return kSuccess;
  default:
    return kInvalidValue;
  }
}
Result hipModuleLaunchKernel(Function *function, unsigned gridX, unsigned gridY, unsigned gridZ,
                             unsigned blockX, unsigned blockY, unsigned blockZ,
                             unsigned sharedBytes, void *, void **parameters, void **) {
  return launch(function, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes, parameters);
}
Result hipModuleLaunchCooperativeKernel(Function *function, unsigned gridX, unsigned gridY,
                                        unsigned gridZ, unsigned blockX, unsigned blockY,
                                        unsigned blockZ, unsigned sharedBytes, void *,
                                        void **parameters) {
  return launch(function, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes, parameters);
}
Result hipMalloc(void **memory, size_t bytes) {
  *memory = machine().allocate(bytes, 0, currentDevice);
  return *memory ? kSuccess : kOutOfMemory;
}
/// For tests: as hipMalloc, at an address that is `lead` modulo 256.
void *sectile_emulated_malloc(size_t bytes, size_t lead) {
  return machine().allocate(bytes, lead, currentDevice);
}
Result hipFree(void *memory) {
  return machine().release(memory);
}
Result hipMemcpyHtoDAsync(void *target, const void *source, size_t bytes, void *) {
  std::memcpy(target, source, bytes);
  return kSuccess;
}
Result hipMemcpyDtoHAsync(void *target, void *source, size_t bytes, void *) {
  std::memcpy(target, source, bytes);
  return kSuccess;
}
Result hipMemsetD8Async(void *address, unsigned char byte, size_t bytes, void *) {
  std::memset(address, byte, bytes);
  return kSuccess;
}
static Result allocate(void **memory, size_t bytes, MemoryKind kind, unsigned flags) {
  *memory = machine().allocate(bytes, 0, currentDevice, kind, flags);
  return *memory ? kSuccess : kOutOfMemory;
}
Result hipHostMalloc(void **memory, size_t bytes, unsigned flags) {
  return allocate(memory, bytes, MemoryKind::Host, flags);
}
Result hipMallocManaged(void **memory, size_t bytes, unsigned flags) {
  return allocate(memory, bytes, MemoryKind::Managed, flags);
}
Result hipExtMallocWithFlags(void **memory, size_t bytes, unsigned flags) {
  return allocate(memory, bytes, MemoryKind::Device, flags);
}
Result hipHostFree(void *memory) {
  return machine().release(memory);
}
Result hipHostGetDevicePointer(void **address, void *memory, unsigned) {
  *address = memory;
  return kSuccess;
}
Result hipPointerGetAttribute(void *value, int attribute, void *address) {
  constexpr int kDeviceOrdinal = 9;
  Machine &here = machine();
  std::lock_guard lock(here.guard);
  const Allocation *found = here.find(address);
  if (attribute != kDeviceOrdinal || !found)
    return kInvalidValue;
  *static_cast<int *>(value) = found->device;
  return kSuccess;
}
Result hipPointerGetAttributes(PointerAttributes *attributes, void *address) {
  if (!address)
    return kInvalidValue;
  Machine &here = machine();
  std::lock_guard lock(here.guard);
  const Allocation *found = here.find(address);
  constexpr int kNoDevice = -2;
  *attributes = {MemoryKind::Unregistered, kNoDevice, nullptr, nullptr, 0, 0};
  if (found)
    *attributes = {found->kind,
                   found->device,
                   address,
                   found->kind == MemoryKind::Device ? nullptr : address,
                   found->kind == MemoryKind::Managed,
                   found->flags};
  return kSuccess;
}
Result hipStreamCreateWithFlags(void **stream, unsigned) {
  *stream = new char;
  return kSuccess;
}
Result hipStreamDestroy(void *stream) {
  delete static_cast<char *>(stream);
  return kSuccess;
}
Result hipStreamSynchronize(void *) {
  return kSuccess;
}
Result hipStreamIsCapturing(void *, int *status) {
  *status = 0;
  return kSuccess;
}
Result hipEventCreateWithFlags(Event **event, unsigned) {
  *event = new Event;
  return kSuccess;
}
Result hipEventDestroy(Event *event) {
  delete event;
  return kSuccess;
}
Result hipEventRecord(Event *event, void *) {
  event->time = std::chrono::steady_clock::now();
  return kSuccess;
}
Result hipEventSynchronize(Event *) {
  return kSuccess;
}
Result hipEventElapsedTime(float *milliseconds, Event *from, Event *to) {
  *milliseconds = std::chrono::duration<float, std::milli>(to->time - from->time).count();
  return kSuccess;
}
const char *hipGetErrorName(Result result) {
  switch (result) {
  case kInvalidValue:
    return "hipErrorInvalidValue";
  case kOutOfMemory:
    return "hipErrorOutOfMemory";
  case kInvalidDevice:
    return "hipErrorInvalidDevice";
  case kInvalidImage:
    return "hipErrorInvalidImage";
  case kNoBinaryForGpu:
    return "hipErrorNoBinaryForGpu";
  case kNotFound:
    return "hipErrorNotFound";
  case kLaunchFailure:
    return "hipErrorLaunchFailure";
  default:
    return nullptr;
  }
}
const char *hipGetErrorString(Result result) {
  return result == kLaunchFailure || result == kInvalidImage ? machine().problem.c_str()
                                                             : "an error of the emulated runtime";
}
}
#pragma GCC visibility pop
