//===-- CompileDriver.h - one compile, from source to image -----------------------------------===//
// Behind jit/CompilerInterface.h: front end -> verify -> optimise -> backend. Each step is timed,
// each stage's text can be kept, and two kinds of errors are kept apart:
//   the kernel is wrong    -> diagnostics, with places in the user's source
//   the compiler is wrong  -> internalError and the path of a reproducer; the process lives on
//
// Every compile has its own MLIRContext (threads off, the tile dialect and those it needs), so
// compiles may run on any number of threads.
#pragma once

#include "backends/Backend.h"
#include "jit/CompilerInterface.h"

namespace sectile::jit {

class CompileDriver final : public Compiler {
public:
  using BackendFactory = std::function<std::unique_ptr<backends::Backend>(llvm::StringRef name)>;

  CompileDriver(std::string buildId, BackendFactory createBackend)
      : build(std::move(buildId)), createBackend(std::move(createBackend)) {}

  std::string buildId() const override { return build; }
  CompileResult compile(const CompileRequest &request) override;
  int commandLine(const std::vector<std::string> &arguments) override;

private:
  std::string build;
  BackendFactory createBackend;
};

} // namespace sectile::jit
