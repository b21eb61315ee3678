#include "backends/GuardedCodegen.h"

#include "backends/RunSafely.h"

#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"

namespace sectile::backends {
namespace {

struct ErrorCollector final : llvm::DiagnosticHandler {
  explicit ErrorCollector(std::string &error) : error(error) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error)
      return true;
    llvm::raw_string_ostream stream(error);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true; // the default ends the process
  }
  std::string &error;
};

} // namespace

bool runGuarded(llvm::Module &module, std::string &error, llvm::function_ref<void()> action) {
  module.getContext().setDiagnosticHandler(std::make_unique<ErrorCollector>(error));
  std::string crash = runSafely(action);
  module.getContext().setDiagnosticHandler(std::make_unique<llvm::DiagnosticHandler>());
  if (error.empty())
    error = crash;
  return error.empty();
}

} // namespace sectile::backends
