#include "backends/Backend.h"

#include "backends/cpu/CpuBackend.h"

namespace sectile::backends {

std::unique_ptr<Backend> createBackend(llvm::StringRef name) {
  if (name == "cpu")
    return std::make_unique<cpu::CpuBackend>();
  return nullptr;
}

} // namespace sectile::backends
