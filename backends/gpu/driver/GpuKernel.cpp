#include "backends/gpu/driver/GpuKernel.h"

#include <algorithm>
#include <new>

namespace sectile::gpu {

using backends::DeviceStatus;
using backends::Grid;
using backends::KernelImage;
using backends::LaunchArguments;
using backends::LaunchFailure;
using backends::PrintHandler;
using Kind = LaunchFailure::Kind;

namespace {

[[gnu::cold]] LaunchFailure failure(Kind kind, std::string message, std::string help) {
  LaunchFailure result;
  result.kind = kind;
  result.message = std::move(message);
  result.help = std::move(help);
  return result;
}
[[gnu::cold]] LaunchFailure failure(DeviceStatus status) {
  return failure(Kind::Machine, std::move(status.message), std::move(status.help));
}
/// Returns the architecture of the image's code: "sm_90a", "gfx942".
std::string_view archOf(const KernelImage &image, const GpuSystem &system) {
  return std::string_view(image.targetName).substr(system.names.targetPrefix.size());
}

std::array<uint32_t, 3> programsOf(const Grid &grid) {
  return {static_cast<uint32_t>(grid.x), static_cast<uint32_t>(grid.y),
          static_cast<uint32_t>(grid.z)};
}

/// Returns how many blocks run the programs of each row of a grid, one after another, on a device
/// that runs `workers` blocks at a time: as many as fit at once, or one for each program where
/// that leaves so much of the device idle that they would take longer.
int64_t blocksAlongX(const Grid &grid, int64_t workers) {
  const int64_t rows = std::max<int64_t>(1, grid.y * grid.z);
  const int64_t blocks = workers / rows;
  if (blocks < 1 || grid.x <= blocks)
    return grid.x;
  const int64_t rounds = (grid.x + blocks - 1) / blocks,
                leastRounds = (grid.x * rows + workers - 1) / workers;
  return rounds > leastRounds ? grid.x : blocks;
}

} // namespace

GpuKernel::GpuKernel(const KernelImage &image, std::shared_ptr<GpuSystem> system,
                     std::shared_ptr<const GpuKernelOptions> options)
    : image(image), system(std::move(system)), options(std::move(options)),
      identity(std::make_shared<KernelIdentity>(KernelIdentity{image.kernelName, image.arguments})),
      threads(static_cast<unsigned>(image.gpu.threads)),
      sharedBytes(this->system->names.codeReservesShared
                      ? 0
                      : static_cast<unsigned>(image.gpu.sharedBytes)),
      clusterSize(static_cast<unsigned>(image.gpu.clusterBlocks)),
      isCooperative(image.gpu.isCooperative), isDependent(image.gpu.isDependent),
      hidden(image.gpu.hiddenParameters),
      notedSlots(std::min(image.arguments.size(), LaunchHistory::kArguments)),
      tensorMaps(image.tensorMaps.empty() ? nullptr
                                          : std::make_unique<const LaunchTensorMaps>(image)) {}

GpuKernel::~GpuKernel() {
  // A child of fork() must not touch the device, nor its locks.
  bool isUnloadable = !system->isForked() && !wasCaptured.load(std::memory_order_relaxed);
  for (std::atomic<const Loaded *> &each : loaded) {
    std::unique_ptr<const Loaded> on(each.load(std::memory_order_acquire));
    if (!on || !isUnloadable)
      continue;
    try {
      on->device->deadModules.add(on->module);
    } catch (const std::bad_alloc &) { // it stays loaded
    }
  }
}

backends::KernelResources GpuKernel::resources() const {
  const std::string_view arch = archOf(image, *system);
  std::string reason;
  const auto &devices = system->devices(reason);
  for (size_t i = 0; i < std::min(devices.size(), kMostDevices); ++i) {
    LaunchFailure ignored;
    bool isOurs = loaded[i].load(std::memory_order_acquire) || devices[i]->info.arch == arch;
    if (const Loaded *on = isOurs ? loadedOn(static_cast<int32_t>(i), ignored) : nullptr)
      return {on->facts.registers, on->facts.localBytes};
  }
  // The device of this code is not here: what the assembler reported.
  return {std::max(image.gpu.registers, 0), std::max(image.gpu.localBytes, 0)};
}

bool GpuKernel::combinesInDeviceMemory(const LaunchArguments &arguments) const {
  DeviceStatus ignored;
  const GpuDevice *device = system->device(arguments.device, ignored); // null in a child of fork()
  return device &&
         std::all_of(image.atomicArguments.begin(), image.atomicArguments.end(),
                     [&](uint32_t argument) {
                       return device->api.isMemoryOf(device->ordinal, arguments.slots[argument]);
                     });
}

bool GpuKernel::canMapArrays(const LaunchArguments &arguments) const {
  if (!tensorMaps)
    return true;
  DeviceStatus ignored;
  // Without a device, and in a child of fork(), the launch says what is wrong.
  GpuDevice *device = system->device(arguments.device, ignored);
  GpuTensorMap made[backends::kMostTensorMaps]; // are kept: the launch finds them
  return !device || tensorMaps->make(*device, arguments.slots, made);
}

const GpuKernel::Loaded *GpuKernel::loadedOn(int32_t ordinal, LaunchFailure &why) const {
  auto index = static_cast<size_t>(ordinal);
  if (index < kMostDevices) [[likely]]
    if (const Loaded *present = loaded[index].load(std::memory_order_acquire)) [[likely]]
      return present;
  return loadOn(ordinal, why);
}

const GpuKernel::Loaded *GpuKernel::loadOn(int32_t ordinal, LaunchFailure &why) const {
  DeviceStatus status;
  GpuDevice *device = system->device(ordinal, status);
  auto index = static_cast<size_t>(ordinal);
  if (!device || index >= kMostDevices) {
    if (device)
      status = {"device " + device->name() + " is beyond the 64 that are supported",
                "name fewer in " + std::string(system->names.visibleDevices)};
    status.message = image.kernelName + ": " + status.message;
    why = failure(std::move(status));
    return nullptr;
  }
  std::lock_guard lock(loading);
  if (const Loaded *present = loaded[index].load(std::memory_order_relaxed))
    return present;

  const GpuApi &api = device->api;
  auto fail = [&](const char *what, GpuResult result) {
    why = failure(explain(*device, image.kernelName + ": " + what, result));
    return nullptr;
  };
  const std::string_view arch = archOf(image, *system);
  if (!api.runs(arch, device->info)) {
    why = failure(Kind::Machine,
                  image.kernelName + ": the code is for " + std::string(arch) + ", and " +
                      device->name() + " is " + device->info.arch,
                  "compile it for that device: leave arch= out");
    return nullptr;
  }
  DeviceScope scope(*device);
  if (scope.result() != kGpuSuccess)
    return fail("the device cannot be used", scope.result());
  GpuLoadedCode code;
  GpuResult result = api.load(image.binary, code);
  if (result != kGpuSuccess) {
    why = failure(explain(*device, image.kernelName + ": the code cannot be loaded", result));
    if (!code.log.empty())
      why.message += "\n" + code.log;
    if (code.isRejected)
      why.kind = Kind::Internal;
    return nullptr;
  }
  // Loading has found no graph being captured.
  device->deadModules.unloadBatch(api);
  GpuFunction function = nullptr;
  result = api.find(code.module, image.entryPoint.c_str(), function);
  if (result != kGpuSuccess) {
    (void)api.unload(code.module);
    fail("its entry point is missing", result);
    why.kind = Kind::Internal;
    return nullptr;
  }
  const GpuFunctionFacts facts = api.describeFunction(function);
  if (!fits(*device, facts, why)) {
    (void)api.unload(code.module);
    return nullptr;
  }
  result = api.prepare(function, shapeOf({}, nullptr));
  if (result != kGpuSuccess) {
    (void)api.unload(code.module);
    return fail("shared memory cannot be reserved", result);
  }
  auto *made = new Loaded{device, code.module, function, facts, api.mostPrograms(threads)};
  if (isPersistent())
    made->workers = int64_t{device->info.multiprocessorCount} *
                    api.residentBlocks(function, shapeOf({}, nullptr));
  loaded[index].store(made, std::memory_order_release);
  return made;
}

/// Does the device have what every program needs?
bool GpuKernel::fits(const GpuDevice &device, const GpuFunctionFacts &facts,
                     LaunchFailure &why) const {
  int64_t shared = sharedBytes + facts.sharedBytes;
  if (shared > device.info.sharedBytesPerBlock) {
    why = failure(Kind::Resources,
                  image.kernelName + ": needs " + std::to_string(shared) +
                      " bytes of shared memory, and " + device.info.name + " offers " +
                      std::to_string(device.info.sharedBytesPerBlock) + " to a program",
                  "use smaller blocks, or a smaller num_stages");
    return false;
  }
  const int lanes = image.gpu.lanes;
  if (static_cast<int>(threads) > device.info.maxThreadsPerBlock) {
    why = failure(
        Kind::Resources,
        image.kernelName + ": num_warps = " + std::to_string(static_cast<int>(threads) / lanes) +
            " are " + std::to_string(threads) + " threads, and " + device.info.name +
            " runs at most " + std::to_string(device.info.maxThreadsPerBlock) + " in a program",
        "use num_warps = " + std::to_string(device.info.maxThreadsPerBlock / lanes) + " or less");
    return false;
  }
  // What the compiled code allows: registers bound it.
  if (facts.mostThreads > 0 && static_cast<int>(threads) > facts.mostThreads) {
    why = failure(Kind::Resources,
                  image.kernelName + ": " + std::to_string(threads) + " threads of " +
                      std::to_string(facts.registers) + " registers each, and " + device.info.name +
                      " has " + std::to_string(device.info.registersPerBlock) +
                      " registers for a program",
                  "use smaller blocks or fewer warps, or limit registers with maxnreg");
    return false;
  }
  return true;
}

LaunchFailure GpuKernel::tooManyToShare(const Grid &grid) const {
  return failure(Kind::Call,
                 image.kernelName + ": a grid of " + std::to_string(grid.x) + " x " +
                     std::to_string(grid.y) + " x " + std::to_string(grid.z) +
                     " programs has more than the 2^31 - 1 that blocks of threads can share",
                 "launch it with persistent=False, or in several parts");
}

LaunchFailure GpuKernel::tooLarge(const Grid &grid, const GpuGridLimits &limits) const {
  const bool isX = grid.x > limits.x, isY = !isX && grid.y > limits.y;
  auto text = [&](const char *axis, int64_t programs, int64_t most) {
    return failure(Kind::Call,
                   image.kernelName + ": grid axis " + axis + " has " + std::to_string(programs) +
                       " programs of " + std::to_string(threads) + " threads, and " +
                       std::string(system->names.gpu) + "s run at most " + std::to_string(most) +
                       " along it",
                   std::string(limits.remedy));
  };
  return isX   ? text("x", grid.x, limits.x)
         : isY ? text("y", grid.y, limits.y)
               : text("z", grid.z, limits.z);
}

GpuLaunchShape GpuKernel::shapeOf(const Grid &grid, GpuStream stream, int64_t workers) const {
  GpuLaunchShape shape;
  const Grid shared = sharedGrid(grid);
  const int64_t blocks = isPersistent() ? blocksAlongX(shared, workers) : shared.x;
  shape.grid[0] = static_cast<unsigned>(blocks) * clusterSize;
  shape.grid[1] = static_cast<unsigned>(shared.y);
  shape.grid[2] = static_cast<unsigned>(shared.z);
  shape.threads = threads;
  shape.sharedBytes = sharedBytes;
  shape.clusterBlocks = clusterSize;
  shape.isCooperative = isCooperative;
  shape.isDependent = isDependent;
  shape.stream = stream;
  return shape;
}

LaunchFailure GpuKernel::start(const Loaded &on, const Grid &grid, const LaunchArguments &arguments,
                               const Additional &additional) const {
  constexpr size_t kUsual = 32, kOthers = 5 + backends::kMostTensorMaps;
  size_t count = image.arguments.size();
  void *usual[kUsual + kOthers];
  std::unique_ptr<void *[]> many;
  void **parameters = usual;
  if (count > kUsual) [[unlikely]] {
    many = std::make_unique<void *[]>(count + kOthers);
    parameters = many.get();
  }
  for (size_t i = 0; i < count; ++i)
    parameters[i] = const_cast<uint64_t *>(&arguments.slots[i]);
  GpuAddress ranges = 0, buffer = 0;
  if (const Records *records = additional.records) [[unlikely]] {
    ranges = records->rangeAddress();
    buffer = records->bufferAddress();
    if (hidden & backends::kHiddenRanges)
      parameters[count++] = &ranges;
    if (hidden & backends::kHiddenRecords)
      parameters[count++] = &buffer;
  }
  auto programs = programsOf(grid);
  for (size_t axis = 0; axis < toldAxes(); ++axis)
    parameters[count++] = &programs[axis];
  if (additional.maps)
    for (size_t i = 0; i < tensorMaps->count(); ++i)
      parameters[count++] = &additional.maps[i];

  const GpuResult result =
      begin(on, grid, arguments.slots, shapeOf(grid, arguments.stream, on.workers), parameters);
  return result == kGpuSuccess ? LaunchFailure() : refused(*on.device, result);
}

GpuResult GpuKernel::begin(const Loaded &on, const Grid &grid, const uint64_t *slots,
                           const GpuLaunchShape &shape, void **parameters) const {
  GpuDevice &device = *on.device;
  GpuApi &api = device.api;
  // The default stream cannot be captured.
  bool isCapturing = false;
  if (shape.stream && !wasCaptured.load(std::memory_order_relaxed) &&
      api.isCapturing(shape.stream, isCapturing) == kGpuSuccess && isCapturing) [[unlikely]]
    wasCaptured.store(true, std::memory_order_relaxed);
  device.history.note(identity, grid, shape.stream, slots, notedSlots);

  DeviceScope scope(device);
  if (scope.result() != kGpuSuccess) [[unlikely]]
    return scope.result();
  return api.launch(on.function, shape, parameters);
}

LaunchFailure GpuKernel::refused(const GpuDevice &device, GpuResult result) const {
  return failure(explain(device, image.kernelName + ": launch", result));
}

LaunchFailure GpuKernel::refuseForked() const {
  DeviceStatus status = system->forkedStatus();
  status.message = image.kernelName + ": " + status.message;
  return failure(std::move(status));
}

/// All that the driver is given, where one launch after the other finds it.
class GpuKernel::Prepared final : public backends::PreparedLaunch {
public:
  Prepared(const GpuKernel &kernel, const Loaded &on, const Grid &grid, const uint64_t *slots)
      : kernel(kernel), on(on), slots(slots), shape(kernel.shapeOf(grid, nullptr, on.workers)),
        grid(grid), programs(programsOf(grid)) {
    const size_t mapCount = kernel.tensorMaps ? kernel.tensorMaps->count() : 0;
    maps.resize(mapCount);
    for (size_t i = 0; i < kernel.image.arguments.size(); ++i)
      parameters.push_back(const_cast<uint64_t *>(&slots[i]));
    for (size_t axis = 0; axis < kernel.toldAxes(); ++axis)
      parameters.push_back(&programs[axis]);
    for (GpuTensorMap &map : maps)
      parameters.push_back(&map);
  }
  /// False where an array cannot be mapped.
  bool makeMaps() {
    return maps.empty() || kernel.tensorMaps->make(*on.device, slots, maps.data());
  }
  std::unique_ptr<LaunchFailure> run(void *stream) const override {
    if (kernel.system->isForked()) [[unlikely]]
      return failed(kernel.refuseForked());
    GpuLaunchShape inStream = shape;
    inStream.stream = stream;
    const GpuResult result =
        kernel.begin(on, grid, slots, inStream, const_cast<void **>(parameters.data()));
    if (result == kGpuSuccess) [[likely]]
      return nullptr;
    return failed(kernel.refused(*on.device, result));
  }

private:
  [[gnu::cold, gnu::noinline]] static std::unique_ptr<LaunchFailure> failed(LaunchFailure why) {
    return std::make_unique<LaunchFailure>(std::move(why));
  }

  const GpuKernel &kernel;
  const Loaded &on;
  const uint64_t *const slots;
  const GpuLaunchShape shape;
  const Grid grid;
  std::array<uint32_t, 3> programs;
  std::vector<void *> parameters;
  std::vector<GpuTensorMap> maps;
};

std::unique_ptr<backends::PreparedLaunch>
GpuKernel::prepare(const Grid &grid, const LaunchArguments &arguments) const {
  LaunchFailure ignored; // launch() comes to the same
  const Loaded *on =
      system->isForked() || reports() ? nullptr : loadedOn(arguments.device, ignored);
  if (!on || !on->limits.allows(grid) || sharedGrid(grid).x > INT32_MAX)
    return nullptr;
  auto prepared = std::make_unique<Prepared>(*this, *on, grid, arguments.slots);
  return prepared->makeMaps() ? std::move(prepared) : nullptr;
}

LaunchFailure GpuKernel::launch(const Grid &grid, const LaunchArguments &arguments,
                                const PrintHandler &print) const {
  if (system->isForked()) [[unlikely]]
    return refuseForked();
  LaunchFailure why;
  const Loaded *on = loadedOn(arguments.device, why);
  if (!on) [[unlikely]]
    return why;
  if (!on->limits.allows(grid)) [[unlikely]]
    return tooLarge(grid, on->limits);
  if (sharedGrid(grid).x > INT32_MAX) [[unlikely]]
    return tooManyToShare(grid);
  if (tensorMaps)
    return launchWithMaps(*on, grid, arguments, print);
  if (reports()) [[unlikely]]
    return launchWithRecords(*on, grid, arguments, print, nullptr);
  return start(*on, grid, arguments, {});
}

LaunchFailure GpuKernel::launchWithMaps(const Loaded &on, const Grid &grid,
                                        const LaunchArguments &arguments,
                                        const PrintHandler &print) const {
  // The driver copies parameters when it queues the kernel.
  GpuTensorMap maps[backends::kMostTensorMaps];
  if (!tensorMaps->make(*on.device, arguments.slots, maps)) [[unlikely]]
    return failure(Kind::Call,
                   image.kernelName + ": " + tensorMaps->problem(*on.device, arguments.slots),
                   "this variant reads arrays by tensor maps; launch the one that was compiled "
                   "with pointers_only");
  if (reports()) [[unlikely]]
    return launchWithRecords(on, grid, arguments, print, maps);
  return start(on, grid, arguments, {nullptr, maps});
}

LaunchFailure GpuKernel::launchWithRecords(const Loaded &on, const Grid &grid,
                                           const LaunchArguments &arguments,
                                           const PrintHandler &print, GpuTensorMap *maps) const {
  GpuDevice &device = *on.device;
  const GpuApi &api = device.api;
  auto fail = [&](const char *what, GpuResult result) {
    return failure(explain(device, image.kernelName + ": " + what, result));
  };
  DeviceScope scope(device);
  if (scope.result() != kGpuSuccess)
    return fail("launch", scope.result());
  GpuStream stream = arguments.stream;
  bool isCapturing = false;
  if (api.isCapturing(stream, isCapturing) == kGpuSuccess && isCapturing)
    return failure(Kind::Call,
                   image.kernelName + ": a kernel that prints, asserts or checks bounds cannot be "
                                      "captured into a graph",
                   "capture it without device_print, debug=True and SECTILE_CHECK; with "
                   "fatal_asserts=True assertions can be captured, and end the context");
  GpuResult result = kGpuSuccess;
  size_t rangeWords = hidden & backends::kHiddenRanges ? 2 * image.arguments.size() : 0;
  size_t recordBytes = image.printSites.empty() ? 0 : options->recordBytes.load();
  std::unique_ptr<Records> records = device.records.take(api, recordBytes, rangeWords, result);
  if (!records)
    return fail("no pinned memory for its reports", result);
  for (size_t i = 0; i < rangeWords; ++i)
    records->ranges()[i] = arguments.ranges ? arguments.ranges[i] : i % 2 ? ~uint64_t{0} : 0;

  LaunchFailure why = start(on, grid, arguments, {records.get(), maps});
  if (why.ok()) {
    result = api.synchronize(stream);
    // What it printed before it crashed shows where it was.
    why = readRecords(image, grid, records->buffer(),
                      {options->printElements, options->printsAsTriton}, print);
    if (result != kGpuSuccess)
      why = fail("stopped", result);
  }
  if (result == kGpuSuccess)
    device.records.giveBack(std::move(records));
  else
    (void)records.release(); // the device may still write to it
  return why;
}

} // namespace sectile::gpu
