// A compiler library that takes long to load, as the real one does on a cold disk, and then fails
// every kernel.
#include "jit/BuildId.h"
#include "jit/CompilerInterface.h"

#include <chrono>
#include <cstdlib>
#include <thread>

namespace {
const bool isLoaded = [] {
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  return true;
}();

class SlowCompiler final : public sectile::jit::Compiler {
  std::string buildId() const override { return sectile::jit::buildId(); }
  sectile::jit::CompileResult compile(const sectile::jit::CompileRequest &) override {
    sectile::jit::CompileResult result;
    result.diagnostics.emplace_back().message = "slowly refused";
    return result;
  }
  int commandLine(const std::vector<std::string> &) override { return isLoaded; }
};
} // namespace

extern "C" __attribute__((visibility("default"))) sectile::jit::Compiler *
sectile_create_compiler() {
  return new SlowCompiler;
}
