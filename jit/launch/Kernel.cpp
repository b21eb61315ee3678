#include "jit/launch/Kernel.h"

#include "backends/plain/BufferArguments.h"
#include "jit/launch/PrintTarget.h"
#include "jit/launch/Specialization.h"

#include <cinttypes>
#include <cstdio>

namespace sectile::jit {
namespace {

constexpr int64_t kLargestAxis = INT32_MAX;

std::string hexadecimal(uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%" PRIx64, number);
  return text;
}

/// Error, or ok for a grid that can be run. An empty one can.
Status checkGrid(const std::string &kernelName, const Grid &grid) {
  const std::pair<char, int64_t> axes[] = {{'x', grid.x}, {'y', grid.y}, {'z', grid.z}};
  for (auto [name, extent] : axes) {
    if (extent < 0)
      return Status::fail(Error::Kind::Call, kernelName + ": grid axis " + name +
                                                 " is negative: " + std::to_string(extent));
    if (extent > kLargestAxis)
      return Status::fail(Error::Kind::Call,
                          kernelName + ": grid axis " + name + " has " + std::to_string(extent) +
                              " programs, at most " + std::to_string(kLargestAxis) +
                              " are possible",
                          "use larger blocks, or spread the programs over several axes");
  }
  __int128 programs = static_cast<__int128>(grid.x) * grid.y * grid.z;
  if (programs > INT64_MAX)
    return Status::fail(Error::Kind::Call, kernelName + ": the grid has more than 2^63 programs",
                        "use larger blocks");
  return {};
}

} // namespace

Kernel::Kernel() = default;
Kernel::~Kernel() = default;

Status statusOf(backends::LaunchFailure failure) {
  using Kind = backends::LaunchFailure::Kind;
  Error::Kind kind = failure.kind == Kind::Call          ? Error::Kind::Call
                     : failure.kind == Kind::Resources   ? Error::Kind::Resources
                     : failure.kind == Kind::Internal    ? Error::Kind::Internal
                     : failure.kind == Kind::Kernel      ? Error::Kind::Kernel
                     : failure.kind == Kind::Interrupted ? Error::Kind::Interrupted
                                                         : Error::Kind::Machine;
  return Status::fail(kind, std::move(failure.message), std::move(failure.help));
}

Status Kernel::launch(const Grid &grid, const uint64_t *slots, const uint64_t *ranges) const {
  return run(grid, {slots, ranges});
}

Status Kernel::run(const Grid &grid, const backends::LaunchArguments &arguments) const {
  constexpr auto isOrdinary = [](int64_t extent) { return extent > 0 && extent <= 1 << 20; };
  if (!isOrdinary(grid.x) || !isOrdinary(grid.y) || !isOrdinary(grid.z)) [[unlikely]] {
    if (Status status = checkGrid(kernelImage.kernelName, grid); !status.ok())
      return status;
    if (grid.x == 0 || grid.y == 0 || grid.z == 0)
      return {};
  }
  if (needsRanges && !arguments.ranges) [[unlikely]]
    return Status::fail(Error::Kind::Call,
                        kernelImage.kernelName +
                            ": a kernel that checks bounds needs the extents of its arguments");
  backends::LaunchFailure failure = code->launch(grid, arguments, print->current());
  if (failure.ok()) [[likely]]
    return {};
  return renderFailure(failure, grid, arguments);
}

Status Kernel::launch(const Grid &grid, const BoundArguments &arguments) const {
  return launch(grid, arguments, arguments.stream);
}

Status Kernel::checkArguments(const BoundArguments &arguments) const {
  if (arguments.slots.size() != kernelImage.arguments.size()) [[unlikely]]
    return Status::fail(Error::Kind::Internal, kernelImage.kernelName + ": compiled for " +
                                                   std::to_string(kernelImage.arguments.size()) +
                                                   " arguments, launched with " +
                                                   std::to_string(arguments.slots.size()));
  if (arguments.anyReadOnly) [[unlikely]]
    for (size_t i = 0; i < kernelImage.arguments.size(); ++i)
      if (kernelImage.arguments[i].isWritten && (arguments.readOnly[i / 64] >> i % 64 & 1)) {
        const backends::KernelArgument &argument = kernelImage.arguments[i];
        Error error{Error::Kind::Call,
                    kernelImage.kernelName + ": argument '" + argument.name +
                        "' is read-only, and the kernel stores to it",
                    "pass a writable copy",
                    {},
                    {},
                    static_cast<int32_t>(argument.parameterIndex)};
        return error;
      }
  return {};
}

Status Kernel::launch(const Grid &grid, const BoundArguments &arguments, void *stream) const {
  if (Status status = checkArguments(arguments); !status.ok()) [[unlikely]]
    return status;
  return run(grid, {arguments.slots.data(), arguments.ranges.data(), arguments.device, stream});
}

std::unique_ptr<backends::PreparedLaunch> Kernel::prepare(const Grid &grid,
                                                          const BoundArguments &arguments) const {
  if (!checkArguments(arguments).ok() || !checkGrid(kernelImage.kernelName, grid).ok() ||
      grid.x == 0 || grid.y == 0 || grid.z == 0)
    return nullptr;
  return code->prepare(
      grid, {arguments.slots.data(), arguments.ranges.data(), arguments.device, arguments.stream});
}

bool Kernel::combinesInDeviceMemory(const BoundArguments &arguments) const {
  return arguments.device >= 0 && arguments.slots.size() == kernelImage.arguments.size() &&
         code->combinesInDeviceMemory(
             {arguments.slots.data(), arguments.ranges.data(), arguments.device, arguments.stream});
}

bool Kernel::canMapArrays(const BoundArguments &arguments) const {
  return arguments.device < 0 || arguments.slots.size() != kernelImage.arguments.size() ||
         code->canMapArrays(
             {arguments.slots.data(), arguments.ranges.data(), arguments.device, arguments.stream});
}

bool Kernel::fitBuffers(const BoundArguments &arguments) const {
  // A launch with another number of arguments is refused.
  return arguments.slots.size() != kernelImage.arguments.size() ||
         backends::fitsBuffers(kernelImage, arguments.slots.data(), arguments.ranges.data());
}

Status Kernel::renderFailure(const backends::LaunchFailure &failure, const Grid &grid,
                             const backends::LaunchArguments &arguments) const {
  if (failure.kind != backends::LaunchFailure::Kind::Trap)
    return statusOf(failure);
  if (failure.site < 0 || static_cast<size_t>(failure.site) >= kernelImage.trapSites.size())
    return Status::fail(Error::Kind::Internal,
                        kernelImage.kernelName + ": stopped at an unknown place");

  const backends::TrapSite &site = kernelImage.trapSites[failure.site];
  int64_t x = failure.program % grid.x, y = failure.program / grid.x % grid.y,
          z = failure.program / grid.x / grid.y;
  std::string program = "program (" + std::to_string(x) + ", " + std::to_string(y) + ", " +
                        std::to_string(z) + ") of " + kernelImage.kernelName;
  lang::Diagnostic diagnostic;
  diagnostic.range = {site.file, site.line, site.column, site.line, site.column + 1};
  diagnostic.function = site.function.empty() ? kernelImage.kernelName : site.function;
  diagnostic.sourceLine = site.sourceLine;
  using Kind = backends::TrapSite::Kind;
  if (site.kind == Kind::Assertion) {
    diagnostic.message = "assertion failed in " + program;
    if (!site.message.empty())
      diagnostic.message += ": " + site.message;
  } else if (site.kind == Kind::Gather) {
    diagnostic.message = "gather: out of bounds in " + program + ": index " +
                         std::to_string(static_cast<int64_t>(failure.address)) + " of " +
                         site.message;
    diagnostic.help = "clamp the index to the extent: a gather reads no element beyond it";
  } else {
    const char *access = site.kind == Kind::Load    ? "load"
                         : site.kind == Kind::Store ? "store"
                                                    : "atomic";
    diagnostic.message = std::string(access) + ": out of bounds in " + program + ": ";
    if (site.argument >= 0 && arguments.ranges) {
      const backends::KernelArgument &argument = kernelImage.arguments[site.argument];
      uint64_t begin = arguments.ranges[2 * site.argument],
               end = arguments.ranges[2 * site.argument + 1];
      // Counted from the pointer that was passed: what the kernel calls element 0.
      uint64_t base = arguments.slots[site.argument];
      auto bytes = static_cast<int64_t>(argument.dtype.pointee().bytes());
      if (bytes == 0)
        bytes = 1;
      auto index = [&](uint64_t address) {
        auto distance = static_cast<int64_t>(address - base);
        return distance >= 0 ? distance / bytes : -((-distance + bytes - 1) / bytes);
      };
      int64_t first = index(begin), last = index(end);
      diagnostic.message += "index " + std::to_string(index(failure.address)) + " of argument '" +
                            argument.name + "', which has ";
      if (first == 0)
        diagnostic.message += std::to_string(last) + (last == 1 ? " element" : " elements");
      else
        diagnostic.message +=
            "elements " + std::to_string(first) + " to " + std::to_string(last - 1);
    } else {
      diagnostic.message += "address " + hexadecimal(failure.address) + " is in no argument";
    }
    diagnostic.help = "mask the access with index < size";
  }
  Error error;
  error.kind = Error::Kind::Trap;
  error.message = diagnostic.message;
  error.diagnostics.push_back(std::move(diagnostic));
  return error;
}

} // namespace sectile::jit
