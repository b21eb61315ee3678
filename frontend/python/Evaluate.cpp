// Entry of the evaluator; names, errors and limits.
#include "frontend/python/Evaluate.h"

#include "frontend/python/Evaluator.h"
#include "frontend/python/LoopCarried.h"
#include "lang/semantics/KernelFunction.h"

using namespace sectile::lang;

namespace sectile::python {
namespace {

/// Deeper syntax than this is refused, so that neither this evaluator nor any pass over the nested
/// regions can run out of stack.
constexpr int kDeepestNesting = 450;
/// The same over all functions inlined into each other.
constexpr int kDeepestTotal = 600;
/// Expressions and statements evaluated per kernel, unrolled loops included.
constexpr int64_t kMostWork = 2'000'000;
constexpr size_t kMostErrors = 20;

} // namespace

mlir::OwningOpRef<mlir::ModuleOp> evaluateKernel(mlir::MLIRContext &context,
                                                 const ast::Function &kernel,
                                                 const KernelSignature &signature,
                                                 Environment &environment, DiagnosticSink &sink) {
  mlir::OpBuilder builder(&context);
  Semantics sema(builder, sink);
  Evaluator evaluator(sema, environment, sink);
  sema.function = kernel.name;
  sema.sanitizeOverflow = signature.sanitizeOverflow;
  sema.dotPrecision = signature.dotPrecision;
  sema.warpCount = signature.warpCount;
  sema.cudaCapability = signature.cudaCapability;
  sema.printsAsTriton = signature.printsAsTriton;
  sema.sourceLine = [&](const std::string &file, int line) {
    return evaluator.sourceLine(file, line);
  };
  const ast::Position &position = kernel.position;
  sema.at({kernel.file, position.line, position.column, position.endLine, position.endColumn});
  KernelFunction function = createKernelFunction(builder, signature, sema.location());

  evaluator.evaluateKernel(kernel, signature, function.parameters);
  if (sink.hasErrors())
    return nullptr;
  sema.at({kernel.file, position.line, position.column, position.endLine, position.endColumn});
  mlir::func::ReturnOp::create(builder, sema.location());
  return std::move(function.module);
}

void Evaluator::evaluateKernel(const ast::Function &kernel, const KernelSignature &signature,
                               llvm::ArrayRef<Operand> parameters) {
  frames.push_back({&kernel, localNames(kernel)});
  sources.push_back(&kernel);
  std::vector<Operand> rest;
  for (size_t i = 0; i < signature.parameters.size() && i < parameters.size(); ++i) {
    const std::string &name = signature.parameters[i].name;
    auto declared =
        llvm::find_if(kernel.parameters, [&](const ast::Parameter &p) { return p.name == name; });
    if (declared != kernel.parameters.end())
      assign(name, parameters[i], declared->position);
    else
      rest.push_back(parameters[i]);
  }
  if (kernel.varArgs)
    assign(*kernel.varArgs, makeTuple(rest), kernel.position);
  for (const ast::Parameter &parameter : kernel.parameters) {
    if (scope.find(parameter.name))
      continue;
    if (parameter.defaultValue)
      assign(parameter.name, *parameter.defaultValue, parameter.position);
    else
      (void)error(parameter.position, "argument '" + parameter.name + "' is missing",
                  "pass it in the call of the kernel");
  }

  Exit exit = evaluateBlock(kernel.body, BlockEnd::ReturnsNone);
  if (!exit.returned.isNone() && !sink.hasErrors()) {
    sema.at(exit.returnRange);
    (void)sema.error("kernel returns a value", "write it to memory with tl.store");
  }
}

//-- where we are ----------------------------------------------------------------------------------

SourceRange Evaluator::rangeOf(const ast::Position &position) const {
  return {frames.back().function->file, position.line, position.column, position.endLine,
          position.endColumn};
}

mlir::LogicalResult Evaluator::error(const ast::Position &position, std::string message,
                                     std::string help) {
  at(position);
  return sema.error(std::move(message), std::move(help));
}

mlir::LogicalResult Evaluator::enter(const ast::Position &position) {
  if (gaveUp)
    return mlir::failure();
  if (sink.all().size() >= kMostErrors) {
    gaveUp = true;
    return mlir::failure();
  }
  if (depth - frames.back().depthAtEntry > kDeepestNesting || depth > kDeepestTotal) {
    gaveUp = true;
    return error(position,
                 "kernel is nested more than " + std::to_string(kDeepestNesting) + " deep",
                 "give intermediate results a name, or move a part into another @jit function");
  }
  if (++work > kMostWork) {
    gaveUp = true;
    return error(position, "kernel is too large: it unrolls to more than 2 million expressions",
                 "use tl.range instead of tl.static_range where the turns are alike");
  }
  return mlir::success();
}

std::string Evaluator::sourceLine(const std::string &file, int line) const {
  for (const ast::Function *function : sources) {
    size_t index = size_t(line - function->firstLine);
    if (function->file == file && line >= function->firstLine && index < function->lines.size())
      return function->lines[index];
  }
  return "";
}

std::string Evaluator::sourceText(const ast::Position &position) const {
  constexpr size_t kLongest = 60;
  const ast::Function &function = *frames.back().function;
  std::string text;
  for (int line = position.line; line <= position.endLine; ++line) {
    size_t index = size_t(line - function.firstLine);
    if (line < function.firstLine || index >= function.lines.size())
      return "";
    llvm::StringRef part = function.lines[index];
    if (line == position.endLine)
      part = part.take_front(size_t(std::max(position.endColumn - 1, 0)));
    if (line == position.line)
      part = part.drop_front(std::min(part.size(), size_t(std::max(position.column - 1, 0))));
    text += (text.empty() ? "" : " ") + part.trim().str();
  }
  if (text.size() > kLongest) {
    size_t end = kLongest - 3;
    while (end > 0 && (text[end] & 0xC0) == 0x80) // not within a character
      --end;
    text = text.substr(0, end) + "...";
  }
  return text;
}

//-- names -----------------------------------------------------------------------------------------

std::string Evaluator::suggestion(const std::string &name, const std::vector<std::string> &known,
                                  std::string otherwise) const {
  std::string closest = closestName(name, known);
  return closest.empty() ? otherwise : "did you mean '" + closest + "'?";
}

Evaluator::Result Evaluator::lookUp(const ast::Expr &expr) {
  const std::string &name = expr.text;
  if (frames.back().constructed && name == frames.back().self)
    return constructedSelf(expr.position);
  if (const Binding *binding = scope.find(name)) {
    if (binding->state == Binding::State::Poisoned)
      return mlir::failure();
    if (binding->state == Binding::State::Unknown)
      return error(expr.position, "'" + name + "' " + binding->reason, binding->help);
    return binding->operand;
  }
  const ast::Function &function = *frames.back().function;
  if (llvm::is_contained(frames.back().locals, name))
    return error(expr.position, "'" + name + "' is used before it is assigned",
                 "assign it on every path that leads here");

  Environment::Answer answer = environment.lookUp(function.reference, name);
  if (answer.value)
    return Operand(std::move(*answer.value));
  if (!answer.error.empty())
    return error(expr.position, answer.error, answer.help);
  std::vector<std::string> known = environment.visibleNames(function.reference);
  known.insert(known.begin(), frames.back().locals.begin(), frames.back().locals.end());
  return error(expr.position, "name '" + name + "' is not defined", suggestion(name, known));
}

void Evaluator::assign(llvm::StringRef name, Operand operand, const ast::Position &position) {
  Binding binding;
  binding.operand = std::move(operand);
  binding.range = rangeOf(position);
  binding.version = nextVersion++;
  scope.set(name, std::move(binding));
}

void Evaluator::poison(llvm::ArrayRef<std::string> names) {
  for (const std::string &name : names) {
    Binding binding;
    binding.state = Binding::State::Poisoned;
    binding.version = nextVersion++;
    scope.set(name, std::move(binding));
  }
}

void Evaluator::forget(llvm::StringRef name, std::string reason, std::string help) {
  Binding binding;
  binding.state = Binding::State::Unknown;
  binding.reason = std::move(reason);
  binding.help = std::move(help);
  binding.version = nextVersion++;
  scope.set(name, std::move(binding));
}

} // namespace sectile::python
