//===-- CompilerInterface.h - what the runtime asks of the compiler library -------------------===//
// libsectile.so (runtime: small, no LLVM) loads libsectile-compiler.so only when something must be
// compiled, and talks to it through this header. Both come from one build: `buildId` is compared on
// loading, so plain C++ types may cross.
#pragma once

#include "backends/plain/CompileOptions.h"
#include "backends/plain/KernelImage.h"
#include "frontend/cpp/Tracer.h"
#include "frontend/python/Ast.h"
#include "lang/plain/Diagnostics.h"
#include "lang/plain/KernelSignature.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sectile::jit {

/// What to compile. Exactly one of the three sources is set.
struct CompileRequest {
  // A Python kernel ...
  std::shared_ptr<const python::ast::Function> function;
  python::Environment *environment = nullptr;
  // ... or a C++ one ...
  cpp::TraceFunction trace;
  lang::SourceRange where; // of its definition
  // ... or tile IR text.
  std::string tileText;

  lang::KernelSignature signature;
  backends::CompileOptions options;

  /// Keep the text of every stage in the image ("tile", "tile-optimized", "llvm", "llvm-optimized",
  /// "asm"); without, only "tile", which costs nothing. Printing the others takes milliseconds, so
  /// `.asm["llvm"]` of a kernel compiled without them compiles it again with this set.
  bool wantStages = false;
  /// Returns the runtime's ForkShield, which existed before the compiler library was loaded: fork()
  /// waits as long as the shield lives. Empty means no protection against forks.
  std::function<std::shared_ptr<void>()> forkShield;
  /// Called once after the front end with CompileResult::irDigest (the second key). True means that
  /// code of this very IR exists; the compile then ends, with neither image nor error.
  std::function<bool(const std::string &irDigest)> hasIr;
};

struct CompileResult {
  std::optional<backends::KernelImage> image;
  /// Diagnostics about the kernel: errors when there is no image, warnings otherwise.
  std::vector<lang::Diagnostic> diagnostics;
  /// What went wrong beside the compile and changes nothing about the kernel: a dump that cannot be
  /// written.
  std::vector<std::string> notices;
  /// The diagnostics say that the target has less than the kernel needs.
  bool isOutOfResources = false;
  /// The compiler is wrong: what happened, in which step; `reproducer` is a file to attach to a
  /// report.
  std::string internalError, reproducer;
  /// Digest of the typed IR: the second key. Equal IR need not be compiled again.
  std::string irDigest;
  /// The places of the operations of the IR, by number (lang::Remark::operation), when `hasIr`
  /// found its code, which may have been made for source elsewhere.
  std::vector<lang::Remark> places;
  /// Seconds per step, in order; "optimize/..." and "backend/..." are parts of the step after.
  std::vector<std::pair<std::string, double>> times;
  /// Text of the stages reached when SECTILE_STOP_AFTER ended the compile; else in the image.
  std::map<std::string, std::string> stages;
};

class Compiler {
public:
  virtual ~Compiler() = default;
  virtual std::string buildId() const = 0;
  /// Thread-safe; never throws, never ends the process.
  virtual CompileResult compile(const CompileRequest &request) = 0;
  /// `sectile opt|compile|...`: returns the exit status.
  virtual int commandLine(const std::vector<std::string> &arguments) = 0;
};

/// Exported by libsectile-compiler.so under this name.
inline constexpr const char *kCompilerEntryPoint = "sectile_create_compiler";
using CreateCompiler = Compiler *(*)();

} // namespace sectile::jit
