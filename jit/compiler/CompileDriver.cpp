#include "jit/compiler/CompileDriver.h"

#include "backends/RunSafely.h"
#include "frontend/cpp/Trace.h"
#include "frontend/python/Evaluate.h"
#include "jit/compiler/IrDigest.h"
#include "jit/compiler/KernelArguments.h"
#include "jit/compiler/MlirDiagnostics.h"
#include "jit/compiler/Reproducer.h"
#include "jit/compiler/Stages.h"
#include "jit/runtime/Knobs.h"
#include "lang/tile/KernelText.h"
#include "lang/tile/SourcePlace.h"
#include "lang/tile/TileDialect.h"
#include "optimizer/Pipeline.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <chrono>

using namespace mlir;

namespace sectile::jit {
namespace {

using Clock = std::chrono::steady_clock;

std::string lineOf(const CompileRequest &request, const lang::SourceRange &range);

/// All that one compile knows. It outlives a crash of the code working on it, and is then leaked:
/// its objects may be in any state.
class Compilation {
public:
  Compilation(const CompileRequest &request, const CompileDriver::BackendFactory &createBackend)
      : request(request), createBackend(createBackend), knobs(Knobs::fromEnvironment()),
        stages(knobs, request.wantStages) {}

  void run();
  /// After a crash, or an error of the compiler's own.
  void reportFailure(const std::string &reason, const std::string &buildId);
  void finish();

  void takeShield() {
    if (request.forkShield)
      shield = request.forkShield();
  }

  const CompileRequest &request;
  const CompileDriver::BackendFactory &createBackend;
  Knobs knobs;
  Stages stages;
  CompileResult result;
  /// LLVM takes locks of its own, and makes tables on first use. Given up only while Python answers
  /// (OpenEnvironment).
  std::shared_ptr<void> shield;
  /// What is being done; named in internal errors.
  const char *step = "set-up";

private:
  bool evaluate();
  bool verifyInput();
  bool optimizeTile();
  bool generateCode();

  /// Runs one step under its name and its time.
  template <class Function>
  auto timed(const char *name, Function function) {
    step = name;
    auto start = Clock::now();
    auto value = function();
    result.times.emplace_back(name, std::chrono::duration<double>(Clock::now() - start).count());
    return value;
  }
  void takeDiagnostics();
  lang::SourceRange definition() const;

  std::unique_ptr<MLIRContext> context;
  std::unique_ptr<MlirDiagnostics> reported;
  OwningOpRef<ModuleOp> module;
  lang::DiagnosticSink sink;
  std::string tileText;
  lang::OperationPlaces places;
  bool isVerified = false;
};

/// Gives the shield up while the host's environment answers, because Python, with its one lock, may
/// be waiting for the thread that forks.
class OpenEnvironment final : public python::Environment {
public:
  OpenEnvironment(python::Environment &host, Compilation &compilation)
      : host(host), compilation(compilation) {}

  // Precedes its users, because its return type is deduced.
  template <class Ask>
  auto open(Ask ask) {
    compilation.shield.reset();
    auto again = llvm::scope_exit([&] { compilation.takeShield(); });
    return ask();
  }

  Answer lookUp(const lang::FunctionRef &function, const std::string &name) override {
    return open([&] { return host.lookUp(function, name); });
  }
  std::vector<std::string> visibleNames(const lang::FunctionRef &function) override {
    return open([&] { return host.visibleNames(function); });
  }
  Answer attribute(const lang::Constant &object, const std::string &name) override {
    return open([&] { return host.attribute(object, name); });
  }
  std::vector<std::string> attributeNames(const lang::Constant &object) override {
    return open([&] { return host.attributeNames(object); });
  }
  std::string helpForAttribute(const std::string &name) override {
    return open([&] { return host.helpForAttribute(name); });
  }
  Answer item(const lang::Constant &object, const lang::Constant &key) override {
    return open([&] { return host.item(object, key); });
  }
  Answer call(const lang::Constant &callee, const std::vector<lang::Constant> &positional,
              const std::vector<std::pair<std::string, lang::Constant>> &named) override {
    return open([&] { return host.call(callee, positional, named); });
  }
  void compared(const lang::Constant &lhs, const lang::Constant &rhs) override {
    host.compared(lhs, rhs); // only records the comparison, without calling Python
  }
  NamedTupleClass namedTupleClass(const lang::Constant &callee) override {
    return open([&] { return host.namedTupleClass(callee); });
  }
  std::shared_ptr<const python::ast::Function> function(const lang::FunctionRef &function,
                                                        std::string &error) override {
    return open([&] { return host.function(function, error); });
  }
  void print(const std::string &line) override {
    open([&] { host.print(line); });
  }

private:
  python::Environment &host;
  Compilation &compilation;
};

void Compilation::run() {
  timed("context", [&] {
    context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
    context->loadDialect<tile::TileDialect>();
    context->printOpOnDiagnostic(false);
    reported = std::make_unique<MlirDiagnostics>(*context);
    return true;
  });
  stages.setKernel(request.signature.kernelName.empty() ? "kernel" : request.signature.kernelName);
  (void)(timed("front end", [&] { return evaluate(); }) &&
         timed("verify", [&] { return verifyInput(); }) &&
         timed("optimize", [&] { return optimizeTile(); }) &&
         timed("backend", [&] { return generateCode(); }));
  takeDiagnostics();
}

bool Compilation::evaluate() {
  lang::KernelSignature signature = request.signature;
  signature.sanitizeOverflow = request.options.debug && request.options.sanitizeOverflow;
  if (request.options.dotPrecision != backends::DotPrecision::Default)
    signature.dotPrecision =
        wordsOf(request.options.dotPrecision)[size_t(request.options.dotPrecision)];
  // An unknown back end is reported when there is code to generate.
  if (std::unique_ptr<backends::Backend> backend = createBackend(request.options.backend)) {
    backends::TargetFacts facts = backend->facts(request.options);
    signature.warpCount = facts.warpCount;
    signature.cudaCapability = facts.cudaCapability;
  }
  signature.printsAsTriton = knobs.printsAsTriton;
  if (request.function) {
    OpenEnvironment environment(*request.environment, *this);
    module = python::evaluateKernel(*context, *request.function, signature, environment, sink);
  } else if (request.trace) {
    module = cpp::traceKernel(*context, request.trace, signature, request.where, sink);
  } else {
    module = parseSourceString<ModuleOp>(request.tileText, context.get(), "tile IR");
  }
  return module && !sink.hasErrors();
}

bool Compilation::verifyInput() {
  // Printed before verifying, so that a reproducer has the text even if verification crashes.
  tileText = tile::kernelText(*module);
  result.irDigest = irDigest(*module, tileText, request.signature, request.options);
  stages.keep("tile", tileText);
  if (failed(verify(*module))) {
    // Text written by hand is the user's.
    if (request.tileText.empty() && reported->internalError().empty())
      emitError(module->getLoc(), "'builtin.module' op does not verify");
    return false;
  }
  isVerified = true;
  places = lang::OperationPlaces(*module);
  if (request.hasIr && request.hasIr(result.irDigest)) {
    result.places = places.all();
    return false;
  }
  return !stages.isStopped();
}

bool Compilation::optimizeTile() {
  optimizer::Options options;
  options.verifyEachPass = knobs.verifyEachPass;
  if (std::unique_ptr<backends::Backend> backend = createBackend(request.options.backend))
    options.keepsBlocks = backend->facts(request.options).hasTensorCopies;
  options.exactMath = request.options.numerics == backends::Numerics::Strict;
  options.fixedOrders = request.options.numerics == backends::Numerics::Reproducible;
  auto record = [&](llvm::StringRef pass, double seconds) {
    result.times.emplace_back("optimize/" + pass.str(), seconds);
  };
  if (failed(optimizer::optimize(*module, options, record)))
    return false;
  stages.observe("tile-optimized", [&] { return tile::kernelText(*module); });
  return !stages.isStopped();
}

bool Compilation::generateCode() {
  std::unique_ptr<backends::Backend> backend = createBackend(request.options.backend);
  if (!backend) {
    lang::Diagnostic diagnostic;
    diagnostic.message = "backend: unknown name '" + request.options.backend + "'";
    diagnostic.help = "use 'cpu', 'cuda' or 'hip'";
    sink.report(std::move(diagnostic));
    return false;
  }
  backends::CompileContext backendContext;
  backendContext.options = request.options;
  backendContext.options.warpCount = backend->facts(request.options).warpCount;
  backendContext.verifyCode = knobs.verifyEachPass;
  backendContext.observe = [&](llvm::StringRef stage, llvm::function_ref<std::string()> text) {
    stages.observe(stage, text);
  };
  backendContext.noteOutOfResources = [&] { result.isOutOfResources = true; };
  backendContext.time = [&](llvm::StringRef name, double seconds) {
    result.times.emplace_back("backend/" + name.str(), seconds);
  };
  // The IR is the backend's once it starts.
  std::vector<backends::KernelArgument> arguments = kernelArguments(*module, request.signature);
  FailureOr<backends::KernelImage> image = backend->compile(*module, backendContext);
  if (failed(image)) {
    if (!reported->hasErrors())
      emitError(module->getLoc(), "'builtin.module' op failed without a diagnostic");
    return false;
  }
  if (stages.isStopped())
    return true;
  result.image = std::move(*image);
  backends::KernelImage &made = *result.image;
  made.arguments = std::move(arguments);
  places.number(made.remarks);
  made.backend = request.options.backend;
  for (backends::TrapSite &site : made.trapSites)
    if (site.sourceLine.empty())
      site.sourceLine =
          lineOf(request, {site.file, site.line, site.column, site.line, site.column});
  const std::string &kernelName = request.signature.kernelName;
  made.kernelName = kernelName.empty() ? made.variantName : kernelName; // empty: it is tile IR
  made.options = request.options;
  return true;
}

/// The line of a file, for carets; of the kernel's source when that is at hand.
std::string lineOf(const CompileRequest &request, const lang::SourceRange &range) {
  if (request.function && request.function->file == range.file) {
    int index = range.line - request.function->firstLine;
    if (index >= 0 && index < int(request.function->lines.size()))
      return llvm::StringRef(request.function->lines[index]).rtrim("\r\n").str();
  }
  auto file = llvm::MemoryBuffer::getFile(range.file, /*IsText=*/true);
  if (!file)
    return {};
  llvm::StringRef text = (*file)->getBuffer();
  for (int line = 1; line < range.line && !text.empty(); ++line)
    text = text.split('\n').second;
  return text.split('\n').first.rtrim('\r').str();
}

lang::SourceRange Compilation::definition() const {
  lang::SourceRange range = request.where;
  if (request.function) {
    range.file = request.function->file;
    range.line = request.function->firstLine;
    range.column = 1;
  }
  return range;
}

void Compilation::takeDiagnostics() {
  result.diagnostics = sink.take();
  if (!reported)
    return;
  // When text written by hand does not verify, its author is wrong, not the compiler.
  if (isVerified || request.tileText.empty())
    result.internalError = reported->internalError();
  for (lang::Diagnostic &diagnostic : reported->all) {
    if (!diagnostic.range.isKnown())
      diagnostic.range = definition();
    if (diagnostic.range.isKnown() && diagnostic.sourceLine.empty())
      diagnostic.sourceLine = lineOf(request, diagnostic.range);
    result.diagnostics.push_back(std::move(diagnostic));
  }
  reported->all.clear();
}

void Compilation::reportFailure(const std::string &reason, const std::string &buildId) {
  result.image.reset();
  CompilerFailure failure{step, reason, tileText};
  std::string problem;
  result.reproducer =
      writeReproducer(request, failure, buildId, knobs.reproducerDirectory, problem);
  result.internalError = std::string(step) + ": " + reason;
  if (!problem.empty())
    result.internalError += " (" + problem + ")";
}

void Compilation::finish() {
  if (result.image) {
    result.image->stages = std::move(stages.texts);
  } else if (stages.isStopped() && result.internalError.empty()) {
    lang::Diagnostic diagnostic;
    diagnostic.message = "compile: stopped after stage '" + knobs.stopAfter + "'";
    diagnostic.help = "unset SECTILE_STOP_AFTER to compile to the end";
    diagnostic.range = definition();
    result.diagnostics.push_back(std::move(diagnostic));
    result.stages = std::move(stages.texts);
  }
  result.notices = std::move(stages.problems);
}

} // namespace

CompileResult CompileDriver::compile(const CompileRequest &request) {
  auto compilation = std::make_unique<Compilation>(request, createBackend);
  auto start = Clock::now();
  compilation->takeShield();
  std::string crash = backends::runSafely([&] { compilation->run(); });
  compilation->shield.reset();
  if (!crash.empty())
    compilation->reportFailure(crash, build);
  else if (!compilation->result.internalError.empty())
    compilation->reportFailure(compilation->result.internalError, build);
  double total = std::chrono::duration<double>(Clock::now() - start).count();
  compilation->result.times.emplace_back("total", total);
  compilation->finish();
  CompileResult result = std::move(compilation->result);
  if (!crash.empty())
    (void)compilation.release();
  return result;
}

} // namespace sectile::jit
