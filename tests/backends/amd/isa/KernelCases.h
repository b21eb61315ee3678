//===-- KernelCases.h - the test kernels with inputs and what has to come out -----------------===//
#pragma once

#include "Machine.h"
#include "TestKernels.h"

#include <functional>

namespace sectile::amdisa {

/// A kernel with data. `check` runs a code object of it; "" when the results are right, else what
/// is wrong.
struct KernelCase {
  std::string name;
  std::string ir;
  std::function<std::string(const CodeObject &)> check;
  /// True where every wait, barrier and mask matters to the result. "abi" waits after volatile
  /// accesses for the sake of other waves and begins with code for older firmware; maxima in
  /// "exchange" may be taken twice.
  bool isTight = true;
};

std::vector<KernelCase> kernelCases(const ChipUnderTest &chip);

/// Links, loads and checks; errors of every step are text.
std::string checkObject(const KernelCase &test, llvm::Expected<std::string> relocatable);

} // namespace sectile::amdisa
