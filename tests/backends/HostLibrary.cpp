#include "HostLibrary.h"

#include "backends/cpu/LinkSharedObject.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace sectile::testing {
namespace {

void optimize(llvm::Module &module, llvm::TargetMachine &machine, llvm::StringRef pipeline) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder passes(&machine);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(components);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager manager;
  llvm::cantFail(passes.parsePassPipeline(manager, pipeline));
  manager.run(module, modules);
}

} // namespace

std::unique_ptr<llvm::TargetMachine> hostMachine(const cpu::HostFeatures &host,
                                                 llvm::CodeGenOptLevel level) {
  static bool initialized = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    return true;
  }();
  (void)initialized;
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string message;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, message);
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, host.cpuName, host.featureString, llvm::TargetOptions(),
                                  llvm::Reloc::PIC_, std::nullopt, level));
}

HostLibrary::HostLibrary(llvm::Module &module, llvm::TargetMachine &machine,
                         llvm::StringRef pipeline) {
  llvm::raw_string_ostream complaint(error);
  if (llvm::verifyModule(module, &complaint))
    return;
  optimize(module, machine, pipeline);
  bool isDumping = getenv("SECTILE_TEST_DUMP");
  if (isDumping)
    module.print(llvm::errs(), nullptr);

  llvm::SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager codegen;
  machine.addPassesToEmitFile(codegen, stream, nullptr, llvm::CodeGenFileType::ObjectFile);
  codegen.run(module);
  objectBytes = object.size();

  llvm::Expected<std::string> image = cpu::linkSharedObject(object.str(), "test");
  if (!image) {
    error = llvm::toString(image.takeError());
    return;
  }
  file = memfd_create("test", MFD_CLOEXEC);
  if (write(file, image->data(), image->size()) != ssize_t(image->size())) {
    error = "cannot write the image";
    return;
  }
  if (isDumping) {
    FILE *copy = fopen("/tmp/sectile-test.so", "wb");
    fwrite(image->data(), 1, image->size(), copy);
    fclose(copy);
  }
  library = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  entry = library ? dlsym(library, "sectile_kernel") : nullptr;
  if (!entry)
    error = dlerror();
}

HostLibrary::~HostLibrary() {
  if (library)
    dlclose(library);
  // Only now: the loader knows libraries by path, and a closed descriptor's would come again.
  if (file >= 0)
    close(file);
}

} // namespace sectile::testing
