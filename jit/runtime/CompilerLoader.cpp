#include "jit/runtime/CompilerLoader.h"

#include "jit/BuildId.h"

#include <dlfcn.h>
#include <unistd.h>

namespace sectile::jit {

std::string defaultCompilerLibrary() {
  Dl_info here;
  std::string folder;
  if (::dladdr(reinterpret_cast<void *>(&defaultCompilerLibrary), &here) && here.dli_fname) {
    std::string path = here.dli_fname;
    if (size_t slash = path.rfind('/'); slash != std::string::npos)
      folder = path.substr(0, slash + 1);
  }
  return folder + "libsectile-compiler.so";
}

std::shared_ptr<Compiler> loadCompiler(const std::string &chosenLibrary, Status &status) {
  std::string path = chosenLibrary.empty() ? defaultCompilerLibrary() : chosenLibrary;
  auto fail = [&](std::string message, std::string help) {
    status = Status::fail(Error::Kind::Machine, std::move(message), std::move(help));
    return nullptr;
  };
  void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = ::dlerror();
    bool isMissing = ::access(path.c_str(), F_OK) != 0;
    return fail(isMissing ? "compiler: " + path + " is missing, and a kernel has to be compiled"
                          : "compiler: " + std::string(why ? why : path + " cannot be loaded"),
                "install Sectile with its compiler, or name the library in "
                "SECTILE_COMPILER_LIBRARY; kernels in the cache run without it");
  }
  auto create = reinterpret_cast<CreateCompiler>(::dlsym(library, kCompilerEntryPoint));
  if (!create)
    return fail("compiler: " + path + " is not a compiler library of Sectile",
                "unset SECTILE_COMPILER_LIBRARY, or install Sectile again");
  std::shared_ptr<Compiler> compiler(create());
  // Only buildId() may be called before this: anything else exchanges types that may differ.
  if (!compiler || compiler->buildId() != buildId())
    return fail("compiler: " + path + " is of another build than the runtime",
                "install both from one package, or build both again");
  return compiler;
}

} // namespace sectile::jit
