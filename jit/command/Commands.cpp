#include "jit/command/Commands.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sectile::jit {
namespace {

using enum Command::Owner;

constexpr Command kCommands[] = {
    {"doctor", "which devices, drivers and libraries were found, and why one is not used",
     R"(usage: sectile doctor [--verbose]

Shows which devices, drivers and libraries were found, and why one is not used. The exit status is 1
when kernels cannot be compiled.

  --verbose               also names that are long: of the build, of the processor
)",
     Python},
    {"cache", "ls|path|verify|prune|clear|export|import: the disk cache",
     R"(usage: sectile cache [--dir FOLDER] ACTION

  ls [--json]           the entries and how they were made; layers, too
  path                  the folder
  verify [--delete]     reads every entry; status 1 when one is damaged
  prune [--older-than 30d] [--to-size 500M] [--other-builds]
                        deletes what was not used for so long, what is longest unused beyond a size
                        (without options: SECTILE_CACHE_SIZE), what another build of Sectile made
  clear                 deletes everything
  export FILE [--kernel NAME]...
                        writes entries of this build to one file, to take elsewhere
  import FILE [--shared]
                        adds the entries of such a file, if it is undamaged and nobody else could have
                        changed it; --shared: readable by all users, for SECTILE_CACHE_LAYERS

  --dir FOLDER          not the user's own cache but this folder
)",
     Runtime},
    {"run", "--as-triton SCRIPT ...: runs a program written for Triton",
     R"(usage: sectile run [--as-triton] SCRIPT [ARGUMENTS ...]
       sectile run [--as-triton] -m MODULE [ARGUMENTS ...]

Runs SCRIPT or MODULE with its ARGUMENTS, as python would.

  --as-triton     `import triton` gives Sectile's package, in this process and in those it starts
)",
     Python},
    {"tune", "SCRIPT ...: runs a program and tunes its kernels",
     R"(usage: sectile tune [OPTIONS] SCRIPT [ARGUMENTS ...]

Runs SCRIPT with its ARGUMENTS. Each launch of an autotuned kernel whose best configuration is not known
is measured, and the choice is kept for all later runs.

  --force         measure also what is known
  --budget S      seconds for each tuning at most
  --plot FOLDER   write a plot of each tuning there (needs matplotlib)
  --details       the whole table of each tuning, not only its winner
)",
     Python},
    {"aot",
     "FILE.py -o PREFIX --target LIST: compiles kernels into an archive, for C, C++ and Python",
     R"(usage: sectile aot FILE.py ... -o PREFIX [--target LIST] [--archive] [--static] [--shared]

Runs FILE.py, compiles the kernels that it exports (@st.aot.export) for each target, and writes

  PREFIX.sectile          the archive                              (--archive; without --static and --shared)
  PREFIX.h, PREFIX.hpp    a typed function for each kernel, in C99 and in C++17
  PREFIX.a                the archive as an object to link         (--static)
  libPREFIX.so            a library that has it, with functions for Apache TVM's FFI       (--shared)

Needs none of the targets' devices. Equal input gives equal bytes.

  --target LIST   cpu:x86-64-v3 (without it), cpu:x86-64-v4-amx, cpu (this very processor), cuda:80, cuda:90,
                  cuda:90+ptx (assembled by the driver, on later GPUs, too), hip:gfx942; separated by commas
  -q, --quiet     no line for each variant
  --depfile FILE  writes there which modules the kernels came with, as make reads it

C++: c++ main.cpp nn.a $(sectile --cflags --libs); CMake: sectile_add_kernels(target kernels.py TARGETS ...).
)",
     Python},
    {"layout", "DESCRIPTION [DESCRIPTION]: draws which thread holds which element of a tile",
     R"(usage: sectile layout DESCRIPTION [DESCRIPTION]

Draws which thread holds which element of a tile, or where it lies in shared memory; of two tiles also
how one becomes the other. For instance "blocked 128x64 f16 warps=4", "accumulator 64x96 f16 warps=2,2",
"operand-a 64x32 f16", "operand-a 64x32 f16 gfx942", "shared 64x64 f16 swizzle=128".

  --rows=N, --columns=N   how much of the table is shown
  --svg                   as a picture, by the command of the Python package
)",
     Compiler},
    {"opt", "[--PASS ...] [FILE]: reads tile IR, runs passes, prints the result",
     R"(usage: sectile opt [--PASS ...] [FILE]

Reads tile IR, runs passes in the order given, prints the result. FILE is - (or left out) for the
standard input.

  --PASS=OPTION=VALUE,... sets options of a pass
  --verify-each           verify the IR after every pass
  --locations             print source locations
  -o FILE                 write there instead of to the standard output
)",
     Compiler},
    {"compile", "[FILE]: compiles tile IR, prints one stage or reports what was made",
     R"(usage: sectile compile [FILE]

Compiles tile IR, prints one stage or reports what was made. FILE is - (or left out) for the standard
input.

  --emit=STAGE            tile, tile-optimized, llvm, llvm-optimized, asm, or object; for GPUs also
                          tile-gpu, ptx
  --target=BACKEND[:ARCH] cpu, cpu:x86-64-v3, cuda:90
  --remarks               print what was done and what was not: widths of accesses, loads ahead
  --time                  print the time of every step
  --repeat=N              compile N times (the first pays for loading); times are of the last
  -o FILE                 write there instead of to the standard output

and, with the meaning they have at a launch:
)",
     Compiler},
    {"knobs", "the environment variables and what they mean",
     R"(usage: sectile knobs [--markdown]

Lists the environment variables, what they mean, and those that are set.

  --markdown              as a table, with the attribute of each in Python's st.knobs
)",
     Runtime},
    {"version", "version and build", R"(usage: sectile version

Prints the version, and the build, which kernels in the disk cache are bound to.
)",
     Runtime},
    {"--cflags", "with --libs, for C++ programs: c++ add.cpp -o add $(sectile --cflags --libs)",
     nullptr, Python},
    {"--libs", "the same", nullptr, Python},
    {"--cmake-dir", "the folder for CMake: -DSectile_DIR=\"$(sectile --cmake-dir)\"", nullptr,
     Python},
    {"--include-dir", "the folder of the C++ headers", nullptr, Python},
};

} // namespace

std::span<const Command> commands() {
  return kCommands;
}

const Command *findCommand(std::string_view name) {
  auto found = std::ranges::find(
      kCommands, name, [](const Command &command) { return std::string_view(command.name); });
  return found == std::end(kCommands) ? nullptr : found;
}

std::string commandsUsage() {
  std::string text = "usage: sectile COMMAND ...\n\n";
  size_t width = 0;
  for (const Command &command : kCommands)
    width = std::max(width, std::strlen(command.name));
  bool hasFlags = false;
  for (const Command &command : kCommands) {
    if (!command.usage && !std::exchange(hasFlags, true))
      text += "\n";
    std::string name = command.name;
    name.resize(width, ' ');
    text += "  " + name + "  " + command.summary + "\n";
  }
  return text + "\n`sectile COMMAND --help` says more of one.\n";
}

} // namespace sectile::jit
