//===-- Launcher.h - kernel[grid](arguments) from Python --------------------------------------===//
// Two heap types of the C API, because a launch must cost no more than a few hundred nanoseconds
// here:
//
//   KernelBase  what @sectile.jit's JITFunction derives from; kernel[grid] gives a
//   Launcher    whose vectorcall binds the arguments, classifies them, finds the variant, runs it
//
//   kernel[grid](x, y, n, BLOCK=64)
//     bind -> watches hold? -> readArgument each -> Specializer::bind -> KernelTable::find -> launch
//                  | no                                                      | none
//           Python: _snapshot()                                       VariantCompiler.cpp
//
// Everything runs under the GIL up to Kernel::launch; where there is none, what changes in a
// KernelState has a mutex of its own (FreeThreading.h).
#pragma once

#include "Arguments.h"
#include "LaunchOptions.h"
#include "PositionalLaunch.h"
#include "SourceState.h"
#include "VariantReads.h"
#include "jit/launch/BoundLaunch.h"
#include "jit/launch/MemoryFacts.h"

#include <atomic>
#include <unordered_map>

namespace sectile::bindings {

/// A variant that a launch, or a warmup, has obtained.
struct Variant {
  std::shared_ptr<const jit::Kernel> kernel;
  /// Parameter -> "*fp32:16", "i32" or its constant: sectile.compile() takes it.
  py::dict signature;
  /// Keywords of the launch that were not the usual ones.
  py::dict options;
  /// What its code was compiled for, for launches without the JITFunction, and for archives.
  KernelParameters parameters;
  std::shared_ptr<const lang::KernelSignature> codeSignature;
  std::string target;
  /// "compiled", "disk", "memory", "same ir".
  const char *origin = "";
  uint64_t sourceVersion = 0;
  /// What it depends on beyond the source's digest; null: it depends on nothing else, or this has
  /// moved to KernelState::checked.
  VariantReadsRef reads;
  bool isChecked = false;
};

/// What a KernelBase object knows; made by its _configure method.
struct KernelState {
  std::string name;
  std::vector<std::string> parameterNames;
  std::vector<py::object> internedNames;
  /// The Python function, whose defaults a launch uses as a call of the function would: they may be
  /// replaced at any time.
  py::object function;
  /// Parameters from here on are keyword-only.
  size_t positionalCount = 0;
  std::unique_ptr<jit::Specializer> specializer;
  LaunchOptions options;
  /// A list of functions that are called with the arguments of each launch.
  py::object preRunHooks;

  jit::KernelTable table;
  /// By the key of the table: where several kernels share a key, or one has reads to be checked.
  std::unordered_map<std::string, std::shared_ptr<CheckedVariants>> checked;
  std::atomic<bool> hasChecked = false;
  /// Guards what follows, and the map above.
  StateMutex mutex;
  /// The Python face of each variant.
  std::unordered_map<const jit::Kernel *, py::object> compiled;
  /// The options that launches of it gave and that change nothing, which its remarks name
  /// (LaunchOptions::ignored).
  std::unordered_map<const jit::Kernel *, uint64_t> ignored;
  /// In the order in which they were obtained.
  std::vector<Variant> variants;
  /// Adds one, or puts it in the place of the same one without its stages; returns where it is.
  size_t keepVariant(Variant variant);

  /// The state of the source and all it refers to when it was last digested; null before.
  /// Replaced, never changed: another thread may be comparing it.
  std::shared_ptr<const SourceState> source;
  /// Numbers the digests seen.
  std::unordered_map<std::string, uint64_t> versions;
};

/// A launch as Python wrote it.
struct LaunchCall {
  PyObject *kernel; // the JITFunction
  PyObject *grid;   // null in a warmup without one
  PyObject *const *arguments;
  size_t positionalCount;
  PyObject *keywordNames; // tuple or null
  bool isWarmup;
  /// Of a warmup: LaunchOptions::isForArchive.
  bool isForArchive = false;
};

/// Runs it. Returns a new reference to the compiled kernel, or null with the Python error set.
PyObject *launch(KernelState &state, const LaunchCall &call) noexcept;

/// Gives every parameter its argument: by position, by name, by default. The references are
/// borrowed: from the call, and from `held`, which keeps defaults alive.
/// `options`: those of the decorator; those of the call and of the environment are added.
void bindParameters(const KernelState &state, const LaunchCall &call, PyObject **bound,
                    LaunchOptions &options, HeldResources &held);

/// The number of parameters when there is none of that name.
size_t parameterIndex(const KernelState &state, PyObject *keyword);
/// "the parameters are x, y, n", for messages.
std::string listParameters(const KernelState &state);

/// A call whose arguments have been read.
struct ReadCall {
  PyObject *kernel;
  const ReadArguments &read;
  const LaunchOptions &options;
  const StreamSource &stream;
  bool isWarmup = false;
};

/// Finds the variant, or makes it; fills in all of `result` but the grid. Returns the Python
/// object of the variant; of a warmup for an archive a list of them, for every memory that launches
/// may have, the usual first.
py::object selectVariant(KernelState &state, const ReadCall &call, jit::BoundLaunch &result);

/// Without the GIL where that is worth it; throws what goes wrong.
void runLaunch(const jit::BoundLaunch &ready, void *stream);

/// Parameter -> argument.
py::dict argumentsByName(const KernelState &state, PyObject *const *bound);

/// On a miss: gets the variant from the runtime. The GIL is given up meanwhile.
Variant getVariant(KernelState &state, const LaunchedKernel &launched, jit::MemoryFacts memory,
                   const LaunchOptions &options, int32_t device);

/// Returns the sectile.CompiledKernel of a variant that `owner`, a JITFunction, has obtained.
py::object wrapCompiledKernel(const Variant &variant, PyObject *owner);

/// The state behind a JITFunction; null for any other object.
KernelState *kernelStateOf(PyObject *object);

/// `kernel[grid].bind(...)`: the launch with its arguments, to be run many times. BoundKernel.cpp.
py::object bindLaunch(KernelState &state, const LaunchCall &call);

void registerLauncherTypes(py::module_ &module);
void registerBoundKernel(py::module_ &module);
void registerCompiledKernel(py::module_ &module);
void registerArchives(py::module_ &module);

/// A variant of an archive to be: the kernel's code, and what it was compiled for. `code` is a
/// KernelCode; throws a TypeError for one out of a pickle, which does not know.
struct ArchivableCode {
  std::shared_ptr<const jit::Kernel> kernel;
  std::shared_ptr<const lang::KernelSignature> signature;
  static ArchivableCode of(py::handle code);
};

} // namespace sectile::bindings
