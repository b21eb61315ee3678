#include "backends/cpu/Driver.h"

#include "backends/cpu/HostAbi.h"
#include "backends/cpu/HostProcessor.h"
#include "backends/cpu/Interrupts.h"
#include "backends/cpu/PrintOrder.h"
#include "backends/cpu/Scratch.h"
#include "backends/cpu/SharedObject.h"
#include "backends/cpu/ThreadPool.h"
#include "backends/cpu/TilePermission.h"
#include "backends/plain/ForkSafeMutex.h"
#include "backends/plain/PrintFormat.h"
#include "backends/plain/ProcessorLevels.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <ctime>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <sched.h>

namespace sectile::cpu {
namespace {

using backends::Grid;
using backends::KernelImage;
using backends::LaunchArguments;
using backends::LaunchFailure;
using backends::PrintHandler;

/// One launch: what kernels get back as HostCall::launch.
struct LaunchState {
  const KernelImage &image;
  const Grid &grid;
  HostKernel entry;
  backends::PrintStyle printStyle;
  Interrupts::Watch watch;
  HostCall call = {};
  /// Only kernels that print have it.
  std::optional<PrintOrder> prints = {};
  std::atomic<bool> hasFailed{false};
  LaunchFailure failure = {};

  /// True for the first to fail: later failures may follow from it.
  bool isFirstFailure() { return !hasFailed.exchange(true); }

  /// In any thread of the launch; true when it is to stop.
  bool attend() {
    if (watch.attend() && isFirstFailure())
      failure.kind = LaunchFailure::Kind::Interrupted;
    return hasFailed.load(std::memory_order_relaxed);
  }

  /// Memory was refused to a thread of the launch, which then stops: launch() throws once all its
  /// threads have ended. Nothing can be thrown where it happened: the pool's threads have nobody to
  /// catch it, and compiled kernels cannot be unwound.
  std::atomic<bool> isRefusedMemory{false};
  void noteRefusal() {
    isRefusedMemory.store(true, std::memory_order_relaxed);
    (void)isFirstFailure();
  }

  /// Part of the grid, on whichever thread took it.
  bool run(int64_t first, int64_t last) noexcept {
    try {
      return runChunk(first, last);
    } catch (const std::bad_alloc &) {
      noteRefusal();
      return false;
    }
  }

private:
  bool runChunk(int64_t first, int64_t last) {
    ScratchLease scratch(image.scratchBytes);
    if (!scratch.data()) {
      if (isFirstFailure()) {
        failure.kind = LaunchFailure::Kind::Resources;
        failure.message = image.kernelName + ": no memory for " +
                          std::to_string(image.scratchBytes) + " bytes of scratch per thread";
        failure.help = "use smaller blocks, or fewer threads (SECTILE_NUM_THREADS)";
      }
      return false;
    }
    HostCall mine = call;
    mine.scratch = scratch.data();
    if (!prints)
      return entry(&mine, first, last) == 0;
    prints->begin(first, last);
    bool hasRun = entry(&mine, first, last) == 0;
    prints->end(first);
    return hasRun;
  }
};

void reportTrap(void *launch, int32_t site, int64_t program, uint64_t address) {
  auto &state = *static_cast<LaunchState *>(launch);
  if (!state.isFirstFailure())
    return;
  state.failure.kind = LaunchFailure::Kind::Trap;
  state.failure.site = site;
  state.failure.program = program;
  state.failure.address = address;
}

void print(void *launch, int32_t site, int64_t program, const void *data) {
  auto &state = *static_cast<LaunchState *>(launch);
  if (site < 0 || static_cast<size_t>(site) >= state.image.printSites.size())
    return;
  try {
    state.prints->print(program,
                        backends::formatPrint(state.image.printSites[site], program, state.grid.x,
                                              state.grid.y, data, state.printStyle));
  } catch (const std::bad_alloc &) {
    state.noteRefusal();
  }
}

int32_t attend(void *launch) {
  return static_cast<LaunchState *>(launch)->attend();
}

int64_t nanoseconds() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

int32_t processor() {
  return std::max(sched_getcpu(), 0); // -1 where the system does not know
}

constexpr HostServices kServices = {reportTrap, print, attend, nanoseconds, processor};

/// The current settings of launches. Pools once made stay, because launches may be at work in them;
/// setting an earlier number of threads again reuses its pool.
class LaunchSettings {
public:
  explicit LaunchSettings(const backends::DriverSettings &settings) { set(settings); }
  ThreadPool &pool() const { return *current.load(std::memory_order_acquire); }
  backends::PrintStyle printStyle() const {
    return {shownElements.load(std::memory_order_relaxed),
            printsAsTriton.load(std::memory_order_relaxed)};
  }

  std::string codeDirectory() const {
    std::lock_guard lock(mutex);
    return codeFolder;
  }

  void set(const backends::DriverSettings &wanted) {
    unsigned count = usableThreadCount(wanted.threadCount);
    auto fresh = std::make_unique<ThreadPool>(count); // starts threads when it has work
    shownElements = wanted.printElements;
    printsAsTriton = wanted.printsAsTriton;
    std::lock_guard lock(mutex);
    codeFolder = wanted.codeDirectory;
    auto known = pools.try_emplace(count, std::move(fresh)).first;
    current.store(known->second.get(), std::memory_order_release);
  }
  Interrupts &interrupts() const { return watched; }

private:
  std::atomic<ThreadPool *> current{nullptr};
  std::atomic<uint64_t> shownElements{0};
  std::atomic<bool> printsAsTriton{false};
  mutable Interrupts watched;
  mutable ForkSafeMutex mutex; // guards what follows
  std::map<unsigned, std::unique_ptr<ThreadPool>> pools;
  std::string codeFolder;
};

class CpuKernel final : public backends::LoadedKernel {
public:
  CpuKernel(const KernelImage &image, std::unique_ptr<SharedObject> object, HostKernel entry,
            std::shared_ptr<const LaunchSettings> settings)
      : image(image), object(std::move(object)), entry(entry), settings(std::move(settings)) {}

  LaunchFailure launch(const Grid &grid, const LaunchArguments &arguments,
                       const PrintHandler &print) const override {
    LaunchState state{image, grid, entry, settings->printStyle(),
                      Interrupts::Watch(settings->interrupts())};
    if (!image.printSites.empty())
      state.prints.emplace([&](std::string_view text) {
        if (print)
          print(text);
        else
          std::fwrite(text.data(), 1, text.size(), stdout);
      });
    state.call.arguments = arguments.slots;
    state.call.gridX = static_cast<int32_t>(grid.x);
    state.call.gridY = static_cast<int32_t>(grid.y);
    state.call.gridZ = static_cast<int32_t>(grid.z);
    state.call.services = &kServices;
    state.call.launch = &state;
    state.call.argumentRanges = arguments.ranges;
    state.call.attention = state.watch.attention();
    auto runChunk = [](void *context, int64_t first, int64_t last) {
      return static_cast<LaunchState *>(context)->run(first, last);
    };
    auto wait = [](void *context) {
      auto *launch = static_cast<LaunchState *>(context);
      if (launch->watch.wantsAttention())
        (void)launch->attend();
    };
    settings->pool().run(grid.x * grid.y * grid.z, estimate, runChunk, &state, wait);
    if (state.prints)
      state.prints->finish();
    if (state.isRefusedMemory.load(std::memory_order_relaxed)) [[unlikely]]
      throw std::bad_alloc();
    return std::move(state.failure);
  }

private:
  const KernelImage &image;
  std::unique_ptr<SharedObject> object;
  HostKernel entry;
  std::shared_ptr<const LaunchSettings> settings;
  mutable CostEstimate estimate{0};
};

static LaunchFailure foreign(const KernelImage &image, const std::string &reason) {
  LaunchFailure failure;
  failure.kind = LaunchFailure::Kind::Machine;
  failure.message = image.kernelName + ": compiled for " + image.targetName +
                    ", which this machine cannot run: " + reason;
  failure.help = "compile it here, or for a target that this machine covers";
  return failure;
}

/// Code for another processor, which can be looked at and put into an archive.
class ForeignKernel final : public backends::LoadedKernel {
public:
  ForeignKernel(const KernelImage &image, std::string reason)
      : image(image), reason(std::move(reason)) {}
  LaunchFailure launch(const Grid & /*grid*/, const LaunchArguments & /*arguments*/,
                       const PrintHandler & /*print*/) const override {
    return foreign(image, reason);
  }

private:
  const KernelImage &image;
  const std::string reason;
};

class CpuDriver final : public backends::Driver {
public:
  explicit CpuDriver(const backends::DriverSettings &settings)
      : fingerprint(cpu::hostFingerprint()), settings(std::make_shared<LaunchSettings>(settings)) {}

  std::string hostFingerprint() const override { return fingerprint; }
  unsigned threadCount() const override { return settings->pool().threadCount(); }
  void configure(const backends::DriverSettings &wanted) override { settings->set(wanted); }

  void setInterruptCheck(backends::InterruptCheck check) override {
    settings->interrupts().setCheck(check);
  }

  bool canRun(std::string_view targetName, std::string &reason) const override {
    size_t colon = targetName.find(':');
    std::string_view architecture = targetName.substr(0, colon);
    if (std::string_view(fingerprint).substr(0, fingerprint.find(':')) != architecture) {
      reason = "the code is for " + std::string(architecture) + " processors";
      return false;
    }
    return colon == std::string_view::npos || hostCovers(targetName.substr(colon + 1), reason);
  }

  int suitability(std::string_view targetName, bool /*isMachineCode*/,
                  int32_t /*device*/) override {
    std::string reason;
    if (!canRun(targetName, reason))
      return 0;
    const std::string_view processor =
        targetName.substr(std::min(targetName.find(':') + 1, targetName.size()));
    // What is compiled for the very processor uses all it has.
    return 1 + backends::processorLevelOf(processor);
  }

  std::unique_ptr<backends::LoadedKernel> load(const KernelImage &image,
                                               LaunchFailure &failure) override {
    auto fail = [&](std::string message, std::string help) {
      failure.kind = LaunchFailure::Kind::Machine;
      failure.message = image.kernelName + ": " + std::move(message);
      failure.help = std::move(help);
      return nullptr;
    };
    std::string reason;
    if (!canRun(image.targetName, reason))
      return std::make_unique<ForeignKernel>(image, reason);
    if (uint64_t limit = scratchLimit(threadCount()); image.scratchBytes > limit)
      return fail("tiles need " + std::to_string(image.scratchBytes >> 20) +
                      " MiB of scratch memory per thread, and this machine can give " +
                      std::to_string(limit >> 20),
                  "use smaller blocks, or fewer threads (SECTILE_NUM_THREADS)");
    std::string error;
    std::unique_ptr<SharedObject> object =
        SharedObject::load(image.binary, image.variantName, settings->codeDirectory(), error);
    if (!object)
      return fail("compiled code cannot be loaded: " + error,
                  "memory files or the folder TMPDIR must allow executable code");
    const std::string &entryPoint = image.entryPoint.empty() ? kEntryPoint : image.entryPoint;
    auto entry = reinterpret_cast<HostKernel>(object->symbol(entryPoint.c_str()));
    if (!entry)
      return fail("compiled code has no symbol " + entryPoint, "");
    if (object->symbol(kTileRegistersSymbol) && !mayUseTileRegisters())
      return fail(
          "compiled for tile registers (AMX), which the system does not let this process use",
          "signal stacks (sigaltstack) of less than 16 KiB stand in the way; or compile it "
          "for cpu:x86-64-v4");
    return std::make_unique<CpuKernel>(image, std::move(object), entry, settings);
  }

private:
  std::string fingerprint;
  const std::shared_ptr<LaunchSettings> settings;
};

} // namespace

std::unique_ptr<backends::Driver> createDriver(const backends::DriverSettings &settings) {
  return std::make_unique<CpuDriver>(settings);
}

} // namespace sectile::cpu
