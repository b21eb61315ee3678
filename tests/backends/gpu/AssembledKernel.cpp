#include "AssembledKernel.h"

#include "backends/nvidia/NvidiaBackend.h"
#include "lang/tile/TileDialect.h"
#include "optimizer/Pipeline.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"
#include "mlir/Parser/Parser.h"

namespace sectile::testing {

AssembledKernel::AssembledKernel(const std::string &tileText, const std::string &arch,
                                 int32_t warps, const backends::CompileOptions &options) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<sectile::tile::TileDialect>();
  context.printOpOnDiagnostic(false);
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    message += diagnostic.str() + "\n";
    return mlir::success();
  });
  backends::CompileContext compile;
  compile.options = options;
  compile.options.backend = "cuda";
  compile.options.arch = arch;
  compile.options.warpCount = warps;
  compile.verifyCode = true;
  optimizer::Options neutral;
  neutral.keepsBlocks = nvidia::NvidiaBackend().facts(compile.options).hasTensorCopies;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(tileText, &context);
  if (!module || mlir::failed(optimizer::optimize(*module, neutral)))
    return;
  auto image = nvidia::NvidiaBackend().compile(*module, compile);
  if (mlir::failed(image))
    return;
  text = image->binary;
  shared = image->gpu.sharedBytes;
  assemble(arch);
}

void AssembledKernel::assemble(const std::string &arch) {
  auto ptxas = llvm::sys::findProgramByName("ptxas");
  if (!ptxas)
    ptxas = llvm::sys::findProgramByName("ptxas", {"/usr/local/cuda/bin"});
  if (!ptxas)
    return;
  llvm::SmallString<128> input, output;
  if (llvm::sys::fs::createTemporaryFile("sectile", "ptx", input) ||
      llvm::sys::fs::createTemporaryFile("sectile", "txt", output)) {
    message = "no temporary files";
    return;
  }
  {
    std::error_code error;
    llvm::raw_fd_ostream(input, error) << text;
  }
  std::string target = "-arch=" + arch, log = output.str().str();
  llvm::StringRef arguments[] = {*ptxas, "-v", target, input, "-o", "/dev/null"};
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), llvm::StringRef(log),
                                                llvm::StringRef(log)};
  int status = llvm::sys::ExecuteAndWait(*ptxas, arguments, std::nullopt, redirects);
  std::string said;
  if (auto buffer = llvm::MemoryBuffer::getFile(log))
    said = (*buffer)->getBuffer().str();
  llvm::sys::fs::remove(input);
  llvm::sys::fs::remove(output);
  if (status != 0) {
    message = "ptxas: " + said;
    return;
  }
  // What ptxas does to products of several warps that are not as it wants them.
  if (said.find("(C75") != std::string::npos)
    message = "ptxas: " + said;
  llvm::SmallVector<llvm::StringRef> found;
  auto number = [&](const char *pattern) {
    int64_t value = 0;
    if (llvm::Regex(pattern).match(said, &found))
      (void)found[1].getAsInteger(10, value);
    return value;
  };
  registers = number("Used ([0-9]+) registers");
  spilled = number("([0-9]+) bytes spill stores") + number("([0-9]+) bytes spill loads");
}

int64_t AssembledKernel::count(const std::string &instruction) const {
  int64_t found = 0;
  for (size_t at = text.find(instruction); at != std::string::npos;
       at = text.find(instruction, at + 1))
    ++found;
  return found;
}

} // namespace sectile::testing
