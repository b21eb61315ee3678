// A compiler library of another build, which the runtime must refuse.
#include "jit/CompilerInterface.h"

namespace {
class StubCompiler final : public sectile::jit::Compiler {
  std::string buildId() const override { return "another build"; }
  sectile::jit::CompileResult compile(const sectile::jit::CompileRequest &) override { return {}; }
  int commandLine(const std::vector<std::string> &) override { return 1; }
};
} // namespace

extern "C" __attribute__((visibility("default"))) sectile::jit::Compiler *
sectile_create_compiler() {
  return new StubCompiler;
}
