#include "jit/aot/ArchiveWriter.h"

#include "backends/plain/ForkSafeMutex.h"
#include "jit/aot/ArchiveIndex.h"

#include <algorithm>

namespace sectile::jit {

struct ArchiveWriter::State {
  mutable ForkSafeMutex mutex;
  // Guarded by `mutex`:
  std::vector<ArchivedKernelEntry> kernels;
  std::vector<VariantToArchive> variants;
};

ArchiveWriter::ArchiveWriter() : state(std::make_unique<State>()) {}
ArchiveWriter::~ArchiveWriter() = default;

void ArchiveWriter::addKernel(const std::string &name,
                              std::span<const ParameterPolicy> parameters) {
  std::lock_guard lock(state->mutex);
  if (std::any_of(state->kernels.begin(), state->kernels.end(),
                  [&](const ArchivedKernelEntry &kernel) { return kernel.name == name; }))
    return;
  ArchivedKernelEntry &entry = state->kernels.emplace_back();
  entry.name = name;
  for (const ParameterPolicy &policy : parameters)
    entry.parameters.push_back({policy, false, {}, {}});
}

void ArchiveWriter::addVariant(const Kernel &kernel, lang::KernelSignature signature) {
  VariantToArchive variant = variantOf(kernel, std::move(signature));
  std::lock_guard lock(state->mutex);
  state->variants.push_back(std::move(variant));
}

std::string ArchiveWriter::bytes(std::string &problem) const {
  std::lock_guard lock(state->mutex);
  return writeArchive(state->kernels, state->variants, problem);
}

} // namespace sectile::jit
