//===-- RecordedIr.h - what crosses between the two sides of Record.h ---------------------===//
#pragma once

#include "frontend/cpp/Tracer.h"
#include "lang/plain/KernelSignature.h"

namespace sectile::test {

struct RecordedIr {
  std::string text;
  std::vector<lang::Diagnostic> diagnostics;
};
RecordedIr recordToIr(const cpp::TraceFunction &trace, const lang::KernelSignature &signature);

} // namespace sectile::test
