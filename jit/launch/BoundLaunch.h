//===-- BoundLaunch.h - a launch that is ready to run -----------------------------------------===//
// A kernel with its grid and its arguments in the form that the device takes, for Python and C++
// alike. What a call of kernel[grid](...) comes to, and what a bound handle keeps: running it again
// costs nothing but the launch.
//
//   BoundLaunch launch;
//   specializer.bind(values, launch.arguments); launch.kernel = table.find(launch.arguments);
//   Status status = launch.run();
//
// It owns neither the kernel, which its table keeps, nor the memory that arguments point to.
#pragma once

#include "jit/launch/Specialization.h"

namespace sectile::jit {

struct BoundLaunch {
  const Kernel *kernel = nullptr;
  Grid grid;
  BoundArguments arguments;

  Status run() const { return kernel->launch(grid, arguments); }
  Status runOn(void *stream) const { return kernel->launch(grid, arguments, stream); }
};

} // namespace sectile::jit
