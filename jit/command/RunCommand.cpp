#include "jit/command/RunCommand.h"

#include "jit/BuildId.h"
#include "jit/command/CacheCommand.h"
#include "jit/command/Commands.h"
#include "jit/runtime/Knobs.h"
#include "jit/runtime/Runtime.h"
#include "lang/plain/Diagnostics.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace sectile::jit {
namespace {

void print(const std::string &text) {
  std::fputs(text.c_str(), stdout);
}

/// Prints the error above the usage, and again below it, where a long usage does not push it away.
int misuse(const std::string &message, const std::string &usage) {
  std::fprintf(stderr, "%s\n\n%s\n%s\n", message.c_str(), usage.c_str(), message.c_str());
  return 2;
}

int unknownCommand(const std::string &name) {
  std::vector<std::string> known;
  for (const Command &command : commands())
    known.push_back(command.name);
  std::string closest = lang::closestName(name, known);
  return misuse("sectile: unknown command '" + name + "'" +
                    (closest.empty() ? "" : "; did you mean '" + closest + "'?"),
                commandsUsage());
}

int listKnobs(const std::vector<std::string> &arguments) {
  if (arguments == std::vector<std::string>{"--markdown"}) {
    print(knobsMarkdown() + "\n");
    return 0;
  }
  if (!arguments.empty())
    return misuse("sectile knobs: unknown option '" + arguments.front() + "'",
                  findCommand("knobs")->usage);
  for (const KnobDescription &knob : knobTable()) {
    const char *value = std::getenv(knob.name);
    print(std::string(knob.name) + " (" + knob.kind + "; default: " + knob.initial + ")" +
          (value ? " = '" + std::string(value) + "'" : "") + "\n    " + knob.meaning + "\n");
  }
  return 0;
}

int runCompiler(const std::vector<std::string> &words) {
  Status status;
  Compiler *compiler = Runtime::instance().compiler(status);
  if (compiler)
    return compiler->commandLine(words);
  std::fprintf(stderr, "sectile: %s\n", status.error().text().c_str());
  return 1;
}

int run(const std::vector<std::string> &words) {
  std::string name = words.empty() ? "help" : words.front();
  if (name == "help" || name == "-h" || name == "--help") {
    print(commandsUsage());
    return words.empty() ? 2 : 0;
  }
  const Command *command = findCommand(name == "--version" ? "version" : name);
  if (!command)
    return unknownCommand(name);
  std::vector<std::string> arguments(words.begin() + 1, words.end());
  bool wantsHelp = std::ranges::any_of(
      arguments, [](const std::string &word) { return word == "--help" || word == "-h"; });
  // The compiler adds to its help what only it knows: the passes.
  if (wantsHelp && command->usage && command->owner != Command::Owner::Compiler) {
    print(command->usage);
    return 0;
  }
  switch (command->owner) {
  case Command::Owner::Compiler:
    return runCompiler(words);
  case Command::Owner::Python:
    std::fprintf(stderr,
                 "sectile: `%s` is a command of the Python package: `pip install opus-sectile`, "
                 "then `python -m sectile %s`\n",
                 command->name, command->name);
    return 2;
  case Command::Owner::Runtime:
    break;
  }
  if (std::string_view(command->name) == "cache")
    return cacheCommand(arguments);
  if (std::string_view(command->name) == "knobs")
    return listKnobs(arguments);
  print(std::string("sectile ") + version() + ", build " + buildId() + "\n");
  return 0;
}

} // namespace

int runCommand(const std::vector<std::string> &words) {
  int status = run(words);
  std::fflush(stdout); // the caller may have a buffer of its own
  return status;
}

} // namespace sectile::jit
