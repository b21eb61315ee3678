#include "jit/runtime/CompileEvent.h"

#include <cstdio>

namespace sectile::jit {

CompileEvent CompileEvent::of(const KernelRequest &request, const KernelResult &result,
                              const std::string &cacheMiss, double seconds) {
  CompileEvent event;
  event.kernelName = request.signature.kernelName;
  event.variantName = request.signature.nameOfCode();
  event.target = targetOf(request.options);
  event.variant = describe(request.signature);
  event.options = describe(request.options);
  event.reason = result.reason;
  event.cacheMiss = cacheMiss;
  event.seconds = seconds;
  event.succeeded = result.kernel != nullptr;
  return event;
}

std::string CompileEvent::text() const {
  char time[32];
  std::snprintf(time, sizeof time, "%.1f ms", seconds * 1e3);
  std::string text = (succeeded ? "compiled " : "failed to compile ") + kernelName;
  if (variantName != kernelName)
    text += " (" + variantName + ")";
  text += " for " + target + " in " + time + ": " + reason + " [" + variant;
  if (!options.empty())
    text += "; " + options;
  return text + "] (disk cache: " + cacheMiss + ")";
}

Error sealedError(const VariantHistory &history, const KernelRequest &request) {
  VariantDifference difference =
      history.compare(request.sourceDigest, request.signature, request.options);
  Error error;
  error.kind = Error::Kind::Call;
  error.message = request.signature.kernelName + ": sealed, and no variant fits: ";
  error.message +=
      difference.kind == VariantDifference::Kind::First ? "there is none" : difference.text();
  error.help = "precompile it before seal(): " + describe(request.signature);
  std::string target = targetOf(request.options);
  if (target != targetOf(backends::CompileOptions()))
    error.help += "; target=" + target;
  if (std::string options = describe(request.options); !options.empty())
    error.help += "; " + options;
  for (const VariantDifference::Change &change : difference.changes)
    if (change.parameter >= 0) {
      error.parameter = change.parameter;
      break;
    }
  return error;
}

} // namespace sectile::jit
