// The `sectile` command: hands its arguments to the compiler library.
#include "jit/Runtime.h"

#include <cstdio>

int main(int count, char **words) {
  sectile::jit::Status status;
  sectile::jit::Compiler *compiler = sectile::jit::Runtime::instance().compiler(status);
  if (!compiler) {
    std::fprintf(stderr, "sectile: %s\n", status.error().text().c_str());
    return 1;
  }
  return compiler->commandLine(std::vector<std::string>(words + 1, words + count));
}
