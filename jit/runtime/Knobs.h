//===-- Knobs.h - the environment variables, all of them --------------------------------------===//
// One table: name, kind, default, meaning. Plain C++, read by the runtime and by the compiler;
// `sectile knobs` prints it, and Python's st.knobs takes its texts from it. Nothing else reads a
// SECTILE_ variable; those that only Python acts on are in the table, too.
//
//   Knobs knobs = Knobs::fromEnvironment();
//   if (knobs.dumps("llvm")) ...                     // SECTILE_DUMP=tile,llvm:/tmp/dumps
//
// A value that cannot be understood leaves the default and is reported in `problems`: a knob never
// fails a compile.
#pragma once

#include "backends/plain/CompileOptions.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::jit {

struct Knobs {
  /// Stages to write to files ("tile", "tile-optimized", "llvm", "llvm-optimized", "asm"; of GPUs
  /// "tile-gpu" and "ptx"; or "all") and the folder they go to.
  std::vector<std::string> dumpStages;
  std::string dumpDirectory;
  /// Compiling ends after this stage; empty: at the end.
  std::string stopAfter;
  /// Where the time of every compile goes is printed to stderr: by steps, or by passes, too.
  enum class Timing : uint8_t { None, Steps, Passes };
  Timing timing = Timing::None;
  /// The IR is verified after every pass instead of once after the front end, LLVM's after every
  /// step of a back end.
  bool verifyEachPass = false;
  /// Text of every stage is kept in the kernel (.asm[...]), not only that which costs nothing.
  bool keepStages = false;
  /// Every load and store is checked against the argument arrays; views without their strides are
  /// refused.
  bool checkBounds = false, checkStrides = false;
  /// device_assert is active.
  bool debug = false;
  /// What every kernel's numbers may depend on where a launch does not say.
  backends::Numerics numerics = backends::Numerics::Default;
  /// The input_precision of products where neither they nor a launch say.
  backends::DotPrecision dotPrecision{};
  /// Where compiled kernels are kept; "" switches the disk cache off; unset: the user's cache
  /// folder.
  std::optional<std::string> cacheDirectory;
  /// Upper limit of that folder.
  uint64_t cacheBytes = uint64_t(2) << 30;
  /// Folders of compiled kernels that are only read, after the user's own.
  std::vector<std::string> cacheLayers;
  /// How long a process waits for another that compiles the same kernel; 0: not at all.
  uint64_t cacheWaitSeconds = 30;
  /// Every compile goes to stderr, with its reason and time.
  bool logsCompiles = false;
  /// Threads that run programs of the grid on the CPU; 0: as many as this process may use.
  uint32_t threadCount = 0;
  /// Where the code of CPU kernels is put into files, for profilers; empty: in memory only.
  std::string codeDirectory;
  std::string hipLibrary;
  /// NVIDIA: the ptxas to use; empty: looked for. And which assembler is asked first: "driver",
  /// "ptxas", "none"; empty: whichever is better.
  std::string ptxas, assembler;
  /// Room for what one launch on a GPU prints.
  uint64_t printBufferBytes = uint64_t(16) << 20;
  /// Elements that device_print shows of a tile, larger ones being cut short; 0: all.
  uint64_t printElements = 1024;
  /// Prints are formatted as Triton's are.
  bool printsAsTriton = false;
  /// libsectile-compiler.so to load; empty: the one beside libsectile.so.
  std::string compilerLibrary;
  /// Folder of reproducers of compiler failures; empty: the system's temporary folder.
  std::string reproducerDirectory;

  /// What could not be understood: "SECTILE_CACHE_SIZE: expected a size such as 512M, found 'big'".
  std::vector<std::string> problems;
  /// Variables that are none of the table's: "SECTILE_CHEK is unknown; did you mean
  /// SECTILE_CHECK?". Reported, and never refused.
  std::vector<std::string> unknown;

  bool dumps(std::string_view stage) const;

  static Knobs fromEnvironment();
  /// The same from any source of variables (tests). `lookUp` returns nullptr for an unset one.
  static Knobs from(const std::function<const char *(const char *)> &lookUp);
};

/// What is wrong with a name that begins with SECTILE_; "" when it is in the table, or names what
/// is the build's or the tests'.
std::string problemOfName(std::string_view name);

/// "bounds", "strides", both with a comma, or nothing; false when `text` is something else.
bool readChecks(std::string_view text, bool &bounds, bool &strides);

/// "512M"; false when `text` is no size.
bool readSize(std::string_view text, uint64_t &bytes);

struct KnobDescription {
  const char *name;    // "SECTILE_DUMP"
  const char *kind;    // "stages:folder"
  const char *initial; // the default, in words
  const char *meaning;
  const char *attribute; // in Python's st.knobs: "compilation.dump"
};

std::span<const KnobDescription> knobTable();
/// The table as the documentation has it.
std::string knobsMarkdown();

} // namespace sectile::jit
