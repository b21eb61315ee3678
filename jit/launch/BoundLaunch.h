//===-- BoundLaunch.h - a launch that is ready to run -----------------------------------------===//
// A kernel with its grid and its arguments in the form that the device takes, for Python and C++
// alike. What a call of kernel[grid](...) comes to, and what a bound handle keeps: running it again
// costs nothing but the launch.
//
//   BoundLaunch launch;
//   specializer.bind(values, launch.arguments); launch.kernel = table.find(launch.arguments);
//   Status status = launch.run();
//
// One that is kept and run again is prepared first, which leaves only the device's own call.
//
// It owns neither the kernel, which its table keeps, nor the memory that arguments point to.
#pragma once

#include "jit/launch/Specialization.h"

namespace sectile::jit {

struct BoundLaunch {
  const Kernel *kernel = nullptr;
  Grid grid;
  BoundArguments arguments;

  Status run() const { return runOn(arguments.stream); }
  Status runOn(void *stream) const {
    if (!prepared)
      return kernel->launch(grid, arguments, stream);
    std::unique_ptr<backends::LaunchFailure> failure = prepared->run(stream);
    if (!failure) [[likely]]
      return {};
    return statusOf(std::move(*failure));
  }
  /// Before it is run, and not moved or changed afterwards. What would be refused is refused when
  /// it is run.
  void prepare() { prepared = kernel->prepare(grid, arguments); }
  /// Whether prepare() found something to do ahead: runs of it return at once.
  bool isPrepared() const { return prepared != nullptr; }

private:
  std::unique_ptr<backends::PreparedLaunch> prepared;
};

} // namespace sectile::jit
