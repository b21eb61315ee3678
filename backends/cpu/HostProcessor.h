//===-- HostProcessor.h - may this code run here? ---------------------------------------------===//
// The runtime's view of the processor, from CPUID alone (the code generator asks LLVM, which the
// runtime has not got). Two processors with one fingerprint get the same code.
#pragma once

#include <string>
#include <string_view>

namespace sectile::cpu {

/// Vendor, family, model and every feature the system lets programs use, as text.
std::string hostFingerprint();

/// True when a processor of this name ("x86-64-v3"; any other: the machine that compiled, which the
/// fingerprint covers) is covered by this one. Otherwise `reason` says what is lacking.
bool hostCovers(std::string_view processor, std::string &reason);

} // namespace sectile::cpu
