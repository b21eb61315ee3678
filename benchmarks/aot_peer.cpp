// Kernel::launch beside sectile_launch: the same kernel of the same archive, found beforehand.
#include "jit/aot/Archive.h"
#include "jit/launch/BoundLaunch.h"

using namespace sectile;
using jit::ArgumentValue;

namespace {
struct Peer {
  std::shared_ptr<const jit::Archive> archive;
  jit::BoundLaunch launch;
};
} // namespace

/// Null where something fails.
extern "C" void *peer_bind(const char *path, int isGpu, void *out, void *x, long n, long block) {
  jit::Status status;
  auto made = std::make_unique<Peer>();
  made->archive = jit::Archive::open(path, status);
  if (!made->archive)
    return nullptr;
  const lang::DType floats = lang::DType::pointer(lang::ScalarKind::Float32);
  ArgumentValue values[] = {ArgumentValue::pointer(floats, out), ArgumentValue::pointer(floats, x),
                            ArgumentValue::integer(n), ArgumentValue::integer(block)};
  const int32_t device = isGpu ? 0 : ArgumentValue::kHost;
  for (ArgumentValue &value : values)
    value.device = static_cast<int16_t>(device);
  for (const auto &kernel : made->archive->kernels()) {
    if (kernel->entry().name != "add")
      continue;
    jit::ArchivedLaunch launch{values, jit::Grid{1, 1, 1}, isGpu ? "cuda" : "cpu", 0, nullptr};
    return kernel->bind(launch, made->launch).ok() ? made.release() : nullptr;
  }
  return nullptr;
}

extern "C" int peer_launch(const void *bound) {
  const jit::BoundLaunch &launch = static_cast<const Peer *>(bound)->launch;
  return !launch.kernel->launch(launch.grid, launch.arguments).ok();
}
