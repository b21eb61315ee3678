#include "backends/cpu/LinkSharedObject.h"

#include "backends/LinkElf.h"

namespace sectile::cpu {

llvm::Expected<std::string> linkSharedObject(llvm::StringRef object, llvm::StringRef soName,
                                             llvm::StringRef entryPoint) {
  std::string exports = "{ global: " + entryPoint.str() + "; sectile_uses_*; local: *; };\n";
  return backends::linkElf(object,
                           {"-shared", "-Bsymbolic", "-z", "defs", "-z", "noexecstack", "-z",
                            "norelro", "--hash-style=gnu", "--build-id=none", "-O0",
                            "--no-undefined-version", "-soname", soName.str()},
                           exports);
}

} // namespace sectile::cpu
