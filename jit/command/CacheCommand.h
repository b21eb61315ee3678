//===-- CacheCommand.h - `sectile cache ...` --------------------------------------------------===//
//   sectile cache ls                    what there is, and how it was made
//   sectile cache export kernels.sectile; sectile cache import kernels.sectile
//
// For people: what it prints may change. `ls --json` may not.
#pragma once

#include "jit/Api.h"

#include <string>
#include <vector>

namespace sectile::jit {

/// `arguments` without "cache". Returns the exit status: 0, 1 (damage found, or something failed),
/// 2 (misuse).
SECTILE_API int cacheCommand(const std::vector<std::string> &arguments);

} // namespace sectile::jit
