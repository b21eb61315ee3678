//===-- Driver.h - loading and launching compiled kernels
//------------------------------------------===//
// The runtime half of a back end: plain C++, no LLVM, part of libsectile.so. Each target's folder
// holds its Driver.{h,cpp}; jit/ sees only this header.
#pragma once

#include "backends/KernelImage.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace sectile::backends {

/// Programs per axis.
struct Grid {
  int64_t x = 1, y = 1, z = 1;
};

struct LaunchArguments {
  /// One 8-byte slot per argument of the image: the pointer, or the number in its low bytes.
  const uint64_t *slots = nullptr;
  /// [begin, end) in bytes of each argument, two words each; may be null unless the image checks
  /// bounds.
  const uint64_t *ranges = nullptr;
};

/// Why a launch did not finish. `None` is success.
struct LaunchFailure {
  enum class Kind : uint8_t { None, Trap, Machine };
  Kind kind = Kind::None;
  /// Of a trap: which site of the image, the linear program, the first offending address.
  int32_t site = -1;
  int64_t program = 0;
  uint64_t address = 0;
  /// Of the machine: what is wrong and the remedy.
  std::string message, help;
  bool ok() const { return kind == Kind::None; }
};

/// Gets the finished text of each device_print; called by the threads that run the kernel, one at a
/// time.
using PrintHandler = std::function<void(std::string_view text)>;

/// Code in memory, ready to run. Thread-safe: several threads may launch at once.
class LoadedKernel {
public:
  virtual ~LoadedKernel() = default;
  /// `grid` has been checked: every axis positive, the product within 2^63.
  virtual LaunchFailure launch(const Grid &grid, const LaunchArguments &arguments,
                               const PrintHandler &print) const = 0;
};

class Driver {
public:
  virtual ~Driver() = default;
  /// What the machine at hand is, in all that decides which code is right for it: goes into cache
  /// keys.
  virtual std::string hostFingerprint() const = 0;
  /// Threads of the host that run the programs of a launch, the caller's included.
  virtual unsigned threadCount() const { return 1; }
  /// May code compiled for `targetName` run here? Otherwise `reason` says what is lacking.
  virtual bool canRun(std::string_view targetName, std::string &reason) const = 0;
  /// Null with `failure` set. The image must outlive the result.
  virtual std::unique_ptr<LoadedKernel> load(const KernelImage &image, LaunchFailure &failure) = 0;
};

} // namespace sectile::backends
