// The `sectile` command of a C++ installation.
#include "jit/command/RunCommand.h"

int main(int count, char **words) {
  return sectile::jit::runCommand(std::vector<std::string>(words + 1, words + count));
}
