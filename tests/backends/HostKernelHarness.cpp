#include "HostKernelHarness.h"

#include "optimizer/Pipeline.h"

#include "mlir/Parser/Parser.h"

#include <atomic>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace sectile::testing {

HostKernelUnderTest::HostKernelUnderTest(llvm::StringRef tileText, backends::CompileOptions options,
                                         backends::StageObserver observe,
                                         backends::StepTimer time) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<tile::TileDialect>();
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    errors += diagnostic.str() + "\n";
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(tileText, &context);
  if (!module)
    return;
  if (mlir::failed(optimizer::optimize(*module)))
    return;
  auto backend = backends::createBackend("cpu");
  backends::CompileContext compile;
  compile.options = std::move(options);
  compile.observe = std::move(observe);
  compile.time = std::move(time);
  compile.verifyCode = true;
  auto made = backend->compile(*module, compile);
  if (mlir::failed(made))
    return;
  image = std::move(*made);
  file = memfd_create("kernel", MFD_CLOEXEC);
  size_t written = 0;
  while (written < image.binary.size())
    written += write(file, image.binary.data() + written, image.binary.size() - written);
  std::string path = "/proc/self/fd/" + std::to_string(file);
  // Two libraries of one path are one to dlopen: the file stays open as long as the library.
  // RTLD_NOW: an undefined symbol fails here.
  library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    errors += dlerror();
    return;
  }
  entry = reinterpret_cast<cpu::HostKernel>(dlsym(library, image.entryPoint.c_str()));
}

HostKernelUnderTest::~HostKernelUnderTest() {
  if (library)
    dlclose(library);
  if (file >= 0)
    close(file);
}

int HostKernelUnderTest::run(std::vector<int32_t> grid,
                             const std::vector<HostArgument> &arguments) {
  EXPECT_TRUE(entry) << errors;
  if (!entry)
    return -1;
  grid.resize(3, 1);
  std::vector<uint64_t> slots, ranges;
  for (const HostArgument &argument : arguments) {
    slots.push_back(argument.slot);
    ranges.push_back(argument.begin);
    ranges.push_back(argument.end);
  }
  // Scratch starts as garbage, so that a read before a write shows.
  std::vector<uint8_t> scratch(image.scratchBytes + 64, 0xcb);
  static const cpu::HostServices services{
      [](void *launch, int32_t site, int64_t program, uint64_t address) {
        static_cast<HostKernelUnderTest *>(launch)->traps.push_back({site, program, address});
      },
      [](void *launch, int32_t site, int64_t program, const void *data) {
        auto *self = static_cast<HostKernelUnderTest *>(launch);
        size_t bytes = 0;
        for (const auto &operand : self->image.printSites[site].operands) {
          size_t elements = 1;
          for (int64_t extent : operand.shape)
            elements *= extent;
          bytes = (bytes + 7) / 8 * 8 + elements * operand.dtype.bytes();
        }
        auto *begin = static_cast<const uint8_t *>(data);
        self->prints.push_back({site, program, {begin, begin + bytes}});
      },
      [](void *) { return int32_t(0); },
      [] {
        static std::atomic<int64_t> now{0};
        return now += 10;
      },
      [] { return int32_t(3); }};
  static constexpr uint32_t kNoAttention = 0;
  cpu::HostCall call{};
  call.attention = &kNoAttention;
  call.arguments = slots.data();
  call.gridX = grid[0];
  call.gridY = grid[1];
  call.gridZ = grid[2];
  call.scratch =
      reinterpret_cast<uint8_t *>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) & ~63ull);
  call.services = &services;
  call.launch = this;
  call.argumentRanges = ranges.data();
  return entry(&call, 0, int64_t(grid[0]) * grid[1] * grid[2]);
}

} // namespace sectile::testing
