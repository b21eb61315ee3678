//===-- Commands.h - the commands of `sectile` ------------------------------------------------===//
// One table for both command lines called `sectile`, that of the Python package and that of a C++
// installation: names, what they do, what `sectile NAME --help` prints. Plain data, so that listing
// them loads neither the compiler nor Python.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sectile::jit {

struct Command {
  const char *name;
  const char *summary; // of one line
  const char *usage;   // what `sectile NAME --help` prints; null for a flag
  /// What runs it: libsectile.so, the compiler library, or the Python package.
  enum class Owner : uint8_t { Runtime, Compiler, Python };
  Owner owner;
};

std::span<const Command> commands();
/// Null for an unknown name.
const Command *findCommand(std::string_view name);
/// "usage: sectile COMMAND ..." and a line for each command.
std::string commandsUsage();

} // namespace sectile::jit
