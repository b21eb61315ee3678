//===-- CompilerCommands.h - the commands of the compiler library ----------------------------===//
// One table: `sectile` in C++ and in Python list these, pass them on, and print their help. Plain
// data in the runtime, so that listing them loads no compiler.
#pragma once

#include <span>

namespace sectile::jit {

struct CompilerCommand {
  const char *name;
  const char *summary; // of one line
  const char *usage;   // what `sectile NAME --help` prints
};

std::span<const CompilerCommand> compilerCommands();

} // namespace sectile::jit
