#include "jit/compiler/MlirDiagnostics.h"

#include "backends/Backend.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace sectile::jit {
namespace {

/// A place and the function it is in: NameLoc(function, file:line:column).
void readPlace(Location location, lang::SourceRange &range, std::string &function) {
  if (auto name = dyn_cast<NameLoc>(location)) {
    function = name.getName().str();
    return readPlace(name.getChildLoc(), range, function);
  }
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    for (Location part : fused.getLocations())
      if (!range.isKnown())
        readPlace(part, range, function);
    return;
  }
  if (auto place = dyn_cast<FileLineColRange>(location)) {
    range.file = place.getFilename().str();
    range.line = int(place.getStartLine());
    range.column = int(place.getStartColumn());
    range.endLine = place.getEndLine() ? int(place.getEndLine()) : range.line;
    range.endColumn = place.getEndColumn() > place.getStartColumn() ? int(place.getEndColumn())
                                                                    : range.column + 1;
  }
}

} // namespace

void setPlace(lang::Diagnostic &diagnostic, Location location) {
  // CallSite(CallSite(place, caller), caller of the caller)
  while (auto call = dyn_cast<CallSiteLoc>(location)) {
    lang::CallSite site;
    readPlace(call.getCaller(), site.range, site.function);
    diagnostic.callers.insert(diagnostic.callers.begin(), std::move(site));
    location = call.getCallee();
  }
  readPlace(location, diagnostic.range, diagnostic.function);
}

MlirDiagnostics::MlirDiagnostics(MLIRContext &context)
    : handler(&context, [this](Diagnostic &reported) {
        lang::Diagnostic diagnostic;
        switch (reported.getSeverity()) {
        case DiagnosticSeverity::Error:
          diagnostic.severity = lang::Diagnostic::Severity::Error;
          break;
        case DiagnosticSeverity::Warning:
          diagnostic.severity = lang::Diagnostic::Severity::Warning;
          break;
        default:
          diagnostic.severity = lang::Diagnostic::Severity::Note;
          break;
        }
        diagnostic.message = reported.str();
        // The first note of an error is its remedy.
        if (auto notes = reported.getNotes(); notes.begin() != notes.end())
          diagnostic.help = notes.begin()->str();
        setPlace(diagnostic, reported.getLocation());
        all.push_back(std::move(diagnostic));
        return success();
      }) {}

bool MlirDiagnostics::hasErrors() const {
  return llvm::any_of(all, [](const lang::Diagnostic &diagnostic) {
    return diagnostic.severity == lang::Diagnostic::Severity::Error;
  });
}

std::string MlirDiagnostics::internalError() const {
  for (const lang::Diagnostic &diagnostic : all) {
    llvm::StringRef message = diagnostic.message;
    bool isOfCompiler = (message.starts_with("'") && message.contains("' op ")) ||
                        message.starts_with("code generation failed") ||
                        message.starts_with("linking failed");
    if (diagnostic.severity == lang::Diagnostic::Severity::Error && isOfCompiler)
      return diagnostic.message;
  }
  return {};
}

} // namespace sectile::jit
