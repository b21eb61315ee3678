// sectile_amd_simulator: runs code objects in the interpreter, one launch for each line of its
// input (RunLine.h), and answers a line for each.
#include "RunLine.h"

#include <iostream>

int main() {
  for (std::string line; std::getline(std::cin, line);)
    std::cout << sectile::amdisa::runLine(line) << std::endl;
}
