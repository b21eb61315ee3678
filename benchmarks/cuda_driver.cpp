// What the NVIDIA driver of this build costs, on the GPU of this machine:
//
//   sectile_bench_cuda_driver [--arch sm_90a] FILE.ptx...
//
// For each file: milliseconds to assemble by libcuda and by ptxas, alone and eight at a time, and
// the registers and bytes of local memory that either gives. Then: microseconds of a launch.
#include "PtxKernels.h"
#include "backends/nvidia/Assembler.h"
#include "backends/nvidia/CudaGpu.h"
#include "backends/nvidia/Driver.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

using namespace sectile;
using namespace sectile::nvidia;
using Clock = std::chrono::steady_clock;

namespace {

double secondsOf(const std::function<void()> &work) {
  auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// Different text each time: no cache of the driver's may help.
std::string renamed(const std::string &ptx, int number) {
  return ptx + "\n// " + std::to_string(number) + "\n.visible .func unused" +
         std::to_string(number) + "() { ret; }\n";
}

void compareAssemblers(gpu::GpuDevice &device, const std::string &ptxas, const std::string &arch,
                       const std::string &file) {
  std::ifstream stream(file);
  std::string ptx(std::istreambuf_iterator<char>(stream), {});
  int number = 0;
  struct Way {
    const char *name;
    std::function<Assembled(const AssemblyRequest &)> assemble;
  } ways[] = {{"libcuda", [&](const AssemblyRequest &r) { return assembleWithDriver(device, r); }},
              {"ptxas", [&](const AssemblyRequest &r) { return assembleWithPtxas(ptxas, r); }}};
  for (Way &way : ways) {
    Assembled plain = way.assemble({ptx, arch});
    if (!plain.isGood()) {
      std::printf("%-34s %-8s %s %s\n", file.c_str(), way.name, plain.error.c_str(),
                  plain.log.c_str());
      continue;
    }
    std::vector<double> alone;
    for (int i = 0; i < 5; ++i) {
      std::string text = renamed(ptx, number++);
      alone.push_back(secondsOf([&] { (void)way.assemble({text, arch}); }));
    }
    double together = secondsOf([&] {
      std::vector<std::thread> threads;
      for (int t = 0; t < 8; ++t)
        threads.emplace_back(
            [&, text = renamed(ptx, number++)] { (void)way.assemble({text, arch}); });
      for (std::thread &thread : threads)
        thread.join();
    });
    std::string warning;
    for (const char *mark : {"warning", "serialized", "setmaxnreg"})
      if (plain.log.find(mark) != std::string::npos)
        warning += std::string(" ") + mark;
    std::printf(
        "%-34s %-8s alone %7.1f ms, 8 at once %7.1f ms; %3d registers, %4d local, %6zu B%s\n",
        file.substr(file.rfind('/') + 1).c_str(), way.name, median(alone) * 1e3, together * 1e3,
        plain.registers, plain.localBytes, plain.cubin.size(), warning.c_str());
    std::fflush(stdout);
  }
}

const char *const kEmptyPtx = R"(
.visible .entry empty() { ret; }
.visible .entry eight(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d,
                      .param .u64 e, .param .u64 f, .param .u64 g, .param .u64 h) { ret; }
)";

void measureLaunches(backends::Driver &driver, gpu::GpuDevice &device) {
  for (unsigned count : {0u, 8u}) {
    std::vector<backends::KernelArgument> arguments(
        count, {"p", lang::DType::pointer(lang::ScalarKind::Float32), 0, true});
    backends::KernelImage image = test::ptxImage(count ? "eight" : "empty", kEmptyPtx, arguments);
    backends::LaunchFailure failure;
    auto kernel = driver.load(image, failure);
    void *stream = nullptr;
    if (!kernel || !driver.services()->makeStream(0, stream).ok()) {
      std::printf("%s\n", failure.message.c_str());
      return;
    }
    uint64_t slots[8] = {};
    gpu::DeviceScope scope(device);
    const CudaApi &cuda = static_cast<CudaGpu &>(device.api).api;
    CudaModule module;
    CudaFunction function;
    (void)cuda.moduleLoadDataEx(&module, image.binary.c_str(), 0, nullptr, nullptr);
    (void)cuda.moduleGetFunction(&function, module, image.entryPoint.c_str());
    void *parameters[8];
    for (int i = 0; i < 8; ++i)
      parameters[i] = &slots[i];
    CudaLaunchConfig config{1, 1, 1, 128, 1, 1, 0, static_cast<CudaStream>(stream), nullptr, 0};
    constexpr int kRounds = 41, kLaunches = 200;
    std::vector<double> bare, ours;
    for (int round = 0; round < kRounds; ++round) {
      bare.push_back(secondsOf([&] {
                       for (int i = 0; i < kLaunches; ++i)
                         (void)cuda.launchKernelEx(&config, function, parameters, nullptr);
                     }) /
                     kLaunches);
      (void)cuda.streamSynchronize(static_cast<CudaStream>(stream));
      ours.push_back(secondsOf([&] {
                       for (int i = 0; i < kLaunches; ++i)
                         (void)kernel->launch({1, 1, 1}, {slots, nullptr, 0, stream}, {});
                     }) /
                     kLaunches);
      (void)cuda.streamSynchronize(static_cast<CudaStream>(stream));
    }
    std::printf(
        "launch, %u arguments: cuLaunchKernelEx alone %.3f us, LoadedKernel::launch %.3f us\n",
        count, median(bare) * 1e6, median(ours) * 1e6);
  }
}

} // namespace

int main(int argc, char **argv) {
  std::string reason;
  gpu::GpuSystem system(kCudaNames, [](std::string &why) -> std::unique_ptr<gpu::GpuApi> {
    const CudaApi *api = CudaApi::load(why);
    return api ? std::make_unique<CudaGpu>(*api) : nullptr;
  });
  const auto &devices = system.devices(reason);
  if (devices.empty()) {
    std::printf("%s\n", reason.c_str());
    return 1;
  }
  gpu::GpuDevice &device = *devices[0];
  std::string ptxas = findPtxas(""), arch = device.info.arch;
  double context = secondsOf([&] { gpu::DeviceScope scope(device); });
  std::printf("%s, driver of CUDA %d, context %.0f ms, ptxas %s\n", device.info.name.c_str(),
              system.driverVersion(), context * 1e3, ptxas.c_str());
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--arch" && i + 1 < argc)
      arch = argv[++i];
    else
      compareAssemblers(device, ptxas, arch, argv[i]);
  }
  std::unique_ptr<backends::Driver> driver = createDriver({});
  measureLaunches(*driver, device);
}
