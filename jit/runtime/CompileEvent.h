//===-- CompileEvent.h - compiles, and those refused, in words --------------------------------===//
// CompileEvent itself is in Runtime.h.
#pragma once

#include "jit/runtime/Runtime.h"
#include "jit/runtime/VariantHistory.h"

namespace sectile::jit {

/// After seal(): names the argument, or option, by which the request differs from the nearest
/// variant.
Error sealedError(const VariantHistory &history, const KernelRequest &request);

} // namespace sectile::jit
