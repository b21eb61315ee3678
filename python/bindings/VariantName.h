//===-- VariantName.h - what @jit's `repr` calls a variant ------------------------------------===//
#pragma once

#include "Launcher.h"

namespace sectile::bindings {

/// Returns what the kernel's `repr` calls the variant of `signature` (Variant::signature): as in
/// Triton what follows the last dot of the text that it returns. Empty, without a call, for a
/// kernel that has no `repr`; and where it is the function's name, so that a variant has one key.
/// Throws what `repr` raises, and a CompilationError when it returns anything but a name.
std::string variantName(const KernelState &state, PyObject *kernel, const py::dict &signature);

} // namespace sectile::bindings
