// Host code as a compiler would make it, for tests of the runtime: a shared object with several
// entry points. FakeCompiler.h reads the object's bytes and writes a value of its choice over
// `patchedValue`.
#include "backends/cpu/HostAbi.h"

using sectile::cpu::HostCall;

namespace {
/// Found in the file by its bytes.
volatile const uint64_t patchedValue[2] = {0x53454354494c4531, 0};

template <class T>
T *pointer(const HostCall *call, int index) {
  return reinterpret_cast<T *>(call->arguments[index]);
}
} // namespace

#define ENTRY(name)                                                                                \
  extern "C" __attribute__((visibility("default"))) int32_t name(const HostCall *call,             \
                                                                 int64_t first, int64_t last)

/// out[program] += value
ENTRY(addValue) {
  auto *out = pointer<int64_t>(call, 0);
  for (int64_t program = first; program < last; ++program)
    out[program] += static_cast<int64_t>(patchedValue[1]);
  return 0;
}

/// As addValue; traps at program arguments[1], at site 0, with address arguments[2].
ENTRY(trapAt) {
  auto *out = pointer<int64_t>(call, 0);
  for (int64_t program = first; program < last; ++program) {
    if (program == static_cast<int64_t>(call->arguments[1])) {
      call->services->trap(call->launch, 0, program, call->arguments[2]);
      return 1;
    }
    out[program] += 1;
  }
  return 0;
}

/// Prints two i32 of each program.
ENTRY(printProgram) {
  for (int64_t program = first; program < last; ++program) {
    int32_t data[2] = {static_cast<int32_t>(program), -7};
    call->services->print(call->launch, 0, program, data);
  }
  return 0;
}

/// Fills its scratch with the program's number, then sums it into out[program].
ENTRY(useScratch) {
  constexpr int64_t kWords = 1024;
  auto *out = pointer<int64_t>(call, 0);
  auto *scratch = reinterpret_cast<volatile int64_t *>(call->scratch);
  if (reinterpret_cast<uintptr_t>(call->scratch) % sectile::cpu::kScratchAlignment != 0)
    return 1;
  for (int64_t program = first; program < last; ++program) {
    for (int64_t i = 0; i < kWords; ++i)
      scratch[i] = program;
    int64_t sum = 0;
    for (int64_t i = 0; i < kWords; ++i)
      sum += scratch[i];
    out[program] = sum;
  }
  return 0;
}
