// One compile: the compiler's answer becomes a kernel, or an error.
#include "jit/BuildId.h"
#include "jit/runtime/CompileEvent.h"
#include "jit/runtime/RuntimeState.h"
#include "jit/runtime/ThreadEnd.h"
#include "jit/runtime/TimeTable.h"

#include <ctime>

namespace sectile::jit {
namespace {

/// The error of a compile that gave no code.
Error errorOf(CompileResult &made, const std::string &kernelName, const std::string &stopAfter) {
  if (!made.internalError.empty())
    return {Error::Kind::Internal,
            kernelName + ": " + made.internalError,
            "this is a fault of the compiler, not of the kernel",
            std::move(made.diagnostics),
            std::move(made.reproducer),
            -1};
  if (!made.diagnostics.empty()) {
    std::string message = made.diagnostics.front().message;
    auto kind = made.isOutOfResources ? Error::Kind::Resources : Error::Kind::Kernel;
    return {kind, std::move(message), {}, std::move(made.diagnostics), {}, -1};
  }
  if (!stopAfter.empty())
    return {Error::Kind::Machine,
            kernelName + ": compiling stopped after stage '" + stopAfter + "'",
            "unset SECTILE_STOP_AFTER",
            {},
            {},
            -1};
  return {Error::Kind::Internal,
          kernelName + ": the compiler gave neither code nor a reason",
          {},
          {},
          {},
          -1};
}

} // namespace

/// The steps of one compile, in their order.
class Runtime::VariantCompile {
public:
  VariantCompile(State &state, const Wanted &wanted, const std::string &cacheMiss,
                 double cacheSeconds)
      : state(state), request(wanted.request), key(wanted.key), context(wanted.context),
        driver(wanted.driver), cacheMiss(cacheMiss), cacheSeconds(cacheSeconds) {}

  KernelResult run() {
    if (isSealed && !key.empty())
      return fail(sealedError(state.history, request));
    if (hasThreadEnded())
      return fail(endedThreadError(name()));
    result.reason =
        state.history.compare(request.sourceDigest, request.signature, request.options).text();
    if (!askCompiler())
      return fail(std::move(result.status.error()));
    describeEntry();
    bool isDone = same ? useSame() : made.image ? useImage() : explain();
    if (!isDone)
      return fail(std::move(result.status.error()));
    keep();
    return std::move(result);
  }

private:
  const std::string &name() const { return request.signature.kernelName; }
  bool refuse(Error error) {
    result.status = Status(std::move(error));
    return false;
  }
  KernelResult fail(Error error) {
    {
      std::lock_guard lock(state.mutex);
      ++state.counts.failedCompiles;
    }
    result.status = Status(std::move(error));
    if (isCompiling)
      state.report(request, result, cacheMiss, seconds);
    return std::move(result);
  }
  void time(const char *step, Clock::time_point from) {
    times.emplace_back(step, secondsSince(from));
  }

  /// Whether asking the host, or evaluation, was interrupted: then nothing is kept.
  bool isInterrupted() {
    std::optional<Error> interruption = interruptionOf(request);
    return interruption && !refuse(std::move(*interruption));
  }

  /// Fills in `made`, or `same` when code of equal IR is at hand.
  bool askCompiler() {
    std::shared_ptr<Compiler> used = state.compiler(result.status);
    const double libraryLoading = secondsSince(entered);
    if (!used || isInterrupted())
      return false;
    CompileRequest compileRequest;
    compileRequest.signature = request.signature;
    compileRequest.options = request.options;
    compileRequest.wantStages = context.wantStages;
    compileRequest.forkShield = [] { return std::make_shared<ForkShield>(); };
    if (Status status = request.makeCompileRequest(compileRequest); !status.ok())
      return refuse(std::move(status.error()));
    // Code that is shared names the files of the source that it was made of first; the bytes of an
    // archive depend on no other compile.
    if (!request.options.forElsewhere)
      compileRequest.hasIr = [&](const std::string &irDigest) { return hasIr(irDigest); };
    isCompiling = true;
    start = Clock::now();
    markThread();
    made = used->compile(compileRequest);
    markThread();
    isTraced = bool(compileRequest.trace);
    seconds = secondsSince(start);
    if (isInterrupted())
      return false;
    for (const std::string &notice : made.notices)
      state.warnOnceOf(notice);
    if (held->isTimed()) {
      times = made.times;
      if (libraryLoading > 1e-4) // the first compile of the process
        times.insert(times.begin(), {"load compiler", libraryLoading});
    }
    return true;
  }

  bool hasIr(const std::string &irDigest) {
    std::string secondKey = irKey(irDigest, request.options, context);
    same = state.findIr(secondKey, context, driver);
    if (same || !key.empty() || !held->readsDisk || isSealed)
      return same != nullptr;
    claim = held->disk->claim(secondKey);
    while (!same && claim->next() == CacheClaim::Answer::LookAgain)
      same = state.findIr(secondKey, context, driver);
    return same != nullptr;
  }

  void describeEntry() {
    entry.buildId = context.buildId;
    entry.sourceKey = key;
    if (!made.irDigest.empty())
      entry.irKey = irKey(made.irDigest, request.options, context);
    entry.hostFingerprint = context.hostFingerprint;
    if (request.reads)
      entry.reads = request.reads->recorded();
    entry.sourceFiles = request.sourceFiles;
    entry.provenance = {request.sourceDigest,      describe(request.signature),
                        describe(request.options), jit::version(),
                        std::time(nullptr),        seconds};
  }
  const std::string &entryKey() const { return key.empty() ? entry.irKey : key; }

  /// Neither code nor image. Without any reason of the compiler's it was an exception of the
  /// user's own that ended the recording of a C++ function.
  bool explain() {
    const std::string &stopAfter = held->knobs.stopAfter;
    result.functionThrew =
        isTraced && made.internalError.empty() && made.diagnostics.empty() && stopAfter.empty();
    if (result.functionThrew)
      return refuse(
          {Error::Kind::Kernel, name() + ": its function threw an exception", {}, {}, {}, -1});
    return refuse(errorOf(made, name(), stopAfter));
  }

  /// Code of equal IR, made for other source.
  bool useSame() {
    entry.image = same->image();
    // The code is the same, but its remarks name other lines: it gets a kernel object of its own.
    if (relocate(entry.image.remarks, made.places)) {
      Provenance provenance = same->provenance();
      std::shared_ptr<Kernel> here = state.load(entry.image, driver, result.status);
      if (!here)
        return false;
      State::setOrigin(*here, std::move(provenance), entryKey(), context);
      same = std::move(here);
    }
    entry.provenance = same->provenance();
    entry.provenance.sourceDigest = request.sourceDigest;
    entry.provenance.variant = describe(request.signature);
    result.kernel = same;
    result.origin = KernelResult::Origin::SameIr;
    return true;
  }

  /// Code that was made just now.
  bool useImage() {
    if (isSealed)
      return refuse(sealedError(state.history, request));
    auto finishing = Clock::now();
    if (backends::LaunchFailure failure; !driver.finish(*made.image, failure))
      return refuse(std::move(statusOf(std::move(failure)).error()));
    if (request.options.backend != "cpu") {
      made.times.emplace_back("assemble", secondsSince(finishing));
      time("assemble", finishing);
    }
    entry.image = *made.image;
    auto loading = Clock::now();
    std::shared_ptr<Kernel> kernel =
        state.load(std::move(*made.image), driver, result.status, &made);
    if (!kernel)
      return false;
    time("load", loading);
    entry.provenance.compileSeconds = seconds = secondsSince(start);
    State::setOrigin(*kernel, entry.provenance, entryKey(), context);
    result.kernel = std::move(kernel);
    result.origin = KernelResult::Origin::Compiled;
    return true;
  }

  /// On disk, in memory, in the tables of times and in the log.
  void keep() {
    auto storing = Clock::now();
    if (!key.empty() || result.origin == KernelResult::Origin::Compiled)
      held->disk->store(entry);
    if (held->isTimed()) {
      times.emplace_back("cache", cacheSeconds + secondsSince(storing));
      printTimeTable(
          name() + " for " + targetOf(request.options) + " [" + describe(request.signature) + "]",
          times, cacheSeconds + secondsSince(entered), held->knobs.timing == Knobs::Timing::Passes);
    }
    if (!key.empty())
      state.store.remember(key, result.kernel, std::move(entry.reads), request.sourceFiles);
    if (!entry.irKey.empty())
      state.store.remember(entry.irKey, result.kernel, {}, {});
    {
      std::lock_guard lock(state.mutex);
      ++(same ? state.counts.sameIrHits : state.counts.compiles);
    }
    if (!same)
      state.report(request, result, cacheMiss, seconds);
  }

  State &state;
  const KernelRequest &request;
  const std::string &key;
  const KeyContext &context;
  backends::Driver &driver;
  const std::string &cacheMiss;
  const double cacheSeconds;
  const std::shared_ptr<const Settings> held = state.now(); // outlives the claim
  const bool isSealed = state.isSealedNow();
  const Clock::time_point entered = Clock::now();

  Clock::time_point start;
  bool isCompiling = false;
  /// A C++ function was recorded.
  bool isTraced = false;
  double seconds = 0;
  StepTimes times; // of SECTILE_TIME
  CompileResult made;
  std::shared_ptr<const Kernel> same;
  std::unique_ptr<CacheClaim> claim; // of a kernel that only its IR names
  CacheEntry entry;
  KernelResult result;
};

KernelResult Runtime::State::compile(const Wanted &wanted, const std::string &cacheMiss,
                                     double cacheSeconds) {
  return VariantCompile(*this, wanted, cacheMiss, cacheSeconds).run();
}

} // namespace sectile::jit
