//===-- HostKernelHarness.h - tile IR text to a function that tests call ----------------------===//
// Compiles a kernel with the CPU back end, loads the shared object and runs programs on this
// thread.
//
//   HostKernelUnderTest kernel(R"(func.func @k(...) attributes {tile.kernel} { ... })");
//   kernel.run({gridX}, {argument(pointer), argument(int32_t(5))});
#pragma once

#include "backends/Backend.h"
#include "backends/cpu/HostAbi.h"
#include "lang/tile/TileDialect.h"

#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace sectile::testing {

struct HostArgument {
  uint64_t slot = 0;
  uint64_t begin = 0, end = 0; // of an array, for checked kernels
};

template <typename T>
HostArgument argument(std::vector<T> &array) {
  HostArgument made;
  made.slot = reinterpret_cast<uint64_t>(array.data());
  made.begin = made.slot;
  made.end = made.slot + array.size() * sizeof(T);
  return made;
}
template <typename T>
  requires std::is_arithmetic_v<T>
HostArgument argument(T number) {
  HostArgument made;
  std::memcpy(&made.slot, &number, sizeof number);
  return made;
}

struct HostTrap {
  int32_t site = -1;
  int64_t program = -1;
  uint64_t address = 0;
};
struct HostPrint {
  int32_t site;
  int64_t program;
  std::vector<uint8_t> data;
};

class HostKernelUnderTest {
public:
  explicit HostKernelUnderTest(llvm::StringRef tileText, backends::CompileOptions options = {},
                               backends::StageObserver observe = {}, backends::StepTimer time = {});
  ~HostKernelUnderTest();
  bool compiled() const { return entry != nullptr; }
  /// Of a compile that failed: every diagnostic, a line each.
  const std::string &diagnostics() const { return errors; }
  /// What the kernel returned.
  int run(std::vector<int32_t> grid, const std::vector<HostArgument> &arguments);

  backends::KernelImage image;
  std::vector<HostTrap> traps;
  std::vector<HostPrint> prints;

private:
  std::string errors;
  int file = -1;
  void *library = nullptr;
  cpu::HostKernel entry = nullptr;
};

} // namespace sectile::testing
