//===-- KernelImage.h - a compiled kernel: code, and what launching it needs ------------------===//
// Plain C++: made by a backend, stored by the cache, loaded by the runtime. One file on disk.
#pragma once

#include "backends/plain/CompileOptions.h"
#include "backends/plain/TensorMap.h"
#include "lang/plain/DType.h"
#include "lang/plain/Remark.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sectile::backends {

/// An argument of the compiled kernel (constants of the signature are gone).
struct KernelArgument {
  std::string name;
  lang::DType dtype;
  /// Index among the parameters of the source function.
  uint32_t parameterIndex = 0;
  /// May be stored to through this pointer; a read-only array is refused at launch.
  bool isWritten = false;
};

/// The code takes the memory of two arguments to be apart. When they overlap all the same, it is
/// right only if both start at one address and `evenIfSame` is not set.
struct OverlapHazard {
  uint32_t written = 0, other = 0; // indices among the arguments
  bool evenIfSame = true;
  friend bool operator==(const OverlapHazard &, const OverlapHazard &) = default;
};

/// Two arguments of a launch that share memory.
struct ArgumentOverlap {
  uint16_t first = 0, second = 0; // indices among the arguments; first < second
  /// One address, one element type.
  bool isSame = false;
};

/// A place in the kernel that can stop a launch: a checked access, an assertion.
struct TrapSite {
  /// A Gather reports its index as the address.
  enum class Kind : uint8_t { Load, Store, Atomic, Assertion, Gather };
  Kind kind = Kind::Assertion;
  std::string message; // of an assertion; what the index of a gather should lie in
  std::string file, function, sourceLine;
  int32_t line = 0, column = 0;
  /// The argument that a checked access goes through; -1 when not known.
  int32_t argument = -1;
};

/// Formatting of one device_print.
struct PrintSite {
  std::string prefix;
  bool isHexadecimal = false;
  struct Operand {
    lang::DType dtype;
    std::vector<int64_t> shape;
    /// What the source calls it: "x", "tl.sum(x, 1)"; empty when not known.
    std::string name;
  };
  std::vector<Operand> operands;
};

/// What the launch of a GPU's kernel needs besides the arguments (DeviceAbi.h), and what the
/// assembler found.
struct GpuLaunch {
  int32_t threads = 0;     // of a block
  int32_t lanes = 32;      // of a warp
  int64_t sharedBytes = 0; // of a block: dynamic for NVIDIA, part of the code for AMD
  int32_t clusterBlocks = 1;
  int32_t hiddenParameters = 0; // HiddenParameter, or-ed
  /// All programs run at once; the launch may begin before the one before it is done.
  bool isCooperative = false, isDependent = false;
  /// 32-bit registers and bytes of local memory (spills) of a thread; -1: not known.
  int32_t registers = -1, localBytes = -1;
  friend bool operator==(const GpuLaunch &, const GpuLaunch &) = default;
};

struct KernelImage {
  /// The function, and this variant of it: KernelSignature has both. Backends know the name of the
  /// IR's function, which is the variant's.
  std::string kernelName, variantName;
  std::string backend;    // "cpu"
  std::string targetName; // "x86_64:znver5"; a kernel of another target is never loaded
  std::string entryPoint; // symbol: variantName in the letters that the target allows
  std::vector<KernelArgument> arguments;
  uint64_t scratchBytes = 0; // per thread (cpu)
  std::vector<OverlapHazard> overlapHazards;
  /// Arguments (their indices) through which the code combines atomically by loops of compare and
  /// swap, for which CompileOptions::deviceMemory gives instructions. Launches choose between the
  /// two (jit/launch/MemoryFacts.h).
  std::vector<uint32_t> atomicArguments;
  /// Arrays of which a launch makes tensor maps, in the order of the kernel's parameters behind all
  /// others (DeviceAbi.h). Where one cannot be made, the launch wants the variant that was compiled
  /// with CompileOptions::pointersOnly, which has none.
  std::vector<TensorMap> tensorMaps;
  /// Arguments (their indices) of which the code assumes that an array ends less than 2 GiB behind
  /// its pointer, or that an integer is not negative. A launch for which that is wrong wants the
  /// variant that was compiled with CompileOptions::largeArrays.
  std::vector<uint32_t> bufferArguments;
  std::vector<TrapSite> trapSites;
  std::vector<PrintSite> printSites;
  /// How it was compiled, for st.inspect and `sectile compile --remarks`.
  std::vector<lang::Remark> remarks;
  /// The options of the request.
  CompileOptions options;
  /// Only a GPU's kernel has these.
  GpuLaunch gpu;
  /// Loadable code.
  std::string binary;
  /// Text of each stage: "tile", "llvm", "asm".
  std::map<std::string, std::string> stages;
};

} // namespace sectile::backends
