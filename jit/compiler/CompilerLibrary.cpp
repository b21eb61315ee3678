// The one exported function of libsectile-compiler.so.
#include "backends/Backend.h"
#include "jit/BuildId.h"
#include "jit/compiler/CompileDriver.h"

extern "C" __attribute__((visibility("default"))) sectile::jit::Compiler *
sectile_create_compiler() {
  return new sectile::jit::CompileDriver(sectile::jit::buildId(), sectile::backends::createBackend);
}
