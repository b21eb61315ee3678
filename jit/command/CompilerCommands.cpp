#include "jit/command/CompilerCommands.h"

namespace sectile::jit {

static constexpr CompilerCommand kCommands[] = {
    {"opt", "[--PASS ...] [FILE]: reads tile IR, runs passes, prints the result",
     R"(usage: sectile opt [--PASS ...] [FILE]

Reads tile IR, runs passes in the order given, prints the result. FILE is - (or left out) for the
standard input.

  --PASS=OPTION=VALUE,... sets options of a pass
  --verify-each           verify the IR after every pass
  --locations             print source locations
  -o FILE                 write there instead of to the standard output
)"},
    {"compile", "[FILE]: compiles tile IR, prints one stage or reports what was made",
     R"(usage: sectile compile [FILE]

Compiles tile IR, prints one stage or reports what was made. FILE is - (or left out) for the standard
input.

  --emit=STAGE            tile, tile-optimized, llvm, llvm-optimized, asm, or object; for GPUs also
                          tile-gpu, ptx
  --target=BACKEND[:ARCH] cpu, cpu:x86-64-v3, cuda:90
  --num-warps=N           of a GPU program
  --check-bounds, --debug compile options
  --remarks               print what was done and what was not: widths of accesses, loads ahead
  --time                  print the time of every step
  --repeat=N              compile N times (the first pays for loading); times are of the last
  -o FILE                 write there instead of to the standard output
)"},
    {"layout", "DESCRIPTION [DESCRIPTION]: draws which thread holds which element of a tile",
     R"(usage: sectile layout DESCRIPTION [DESCRIPTION]

Draws which thread holds which element of a tile, or where it lies in shared memory; of two tiles also
how one becomes the other. For instance "blocked 128x64 f16 warps=4", "accumulator 64x96 f16 warps=2,2",
"operand-a 64x32 f16", "shared 64x64 f16 swizzle=128".

  --rows=N, --columns=N   how much of the table is shown
)"},
    {"knobs", "lists the environment variables",
     "usage: sectile knobs\n\nLists the environment "
     "variables.\n"},
};

std::span<const CompilerCommand> compilerCommands() {
  return kCommands;
}

} // namespace sectile::jit
