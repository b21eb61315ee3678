// The `sectile` command: hands its arguments to the compiler library, those about the cache
// excepted.
#include "jit/command/CacheCommand.h"
#include "jit/runtime/Runtime.h"

#include <cstdio>

int main(int count, char **words) {
  if (count > 1 && std::string(words[1]) == "cache")
    return sectile::jit::cacheCommand(std::vector<std::string>(words + 2, words + count));
  sectile::jit::Status status;
  sectile::jit::Compiler *compiler = sectile::jit::Runtime::instance().compiler(status);
  if (!compiler) {
    std::fprintf(stderr, "sectile: %s\n", status.error().text().c_str());
    return 1;
  }
  return compiler->commandLine(std::vector<std::string>(words + 1, words + count));
}
