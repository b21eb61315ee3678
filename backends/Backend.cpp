#include "backends/Backend.h"

#include "backends/amd/AmdBackend.h"
#include "backends/cpu/CpuBackend.h"
#include "backends/nvidia/NvidiaBackend.h"

namespace sectile::backends {

std::unique_ptr<Backend> createBackend(llvm::StringRef name) {
  if (name == "cpu")
    return std::make_unique<cpu::CpuBackend>();
  if (name == "cuda")
    return std::make_unique<nvidia::NvidiaBackend>();
  if (name == "hip")
    return std::make_unique<amd::AmdBackend>();
  return nullptr;
}

} // namespace sectile::backends
