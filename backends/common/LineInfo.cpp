#include "backends/common/LineInfo.h"

#include "lang/tile/SourcePlace.h"

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace sectile::backends {

using lang::SourcePlace;

LineInfo::LineInfo(llvm::Module &module, llvm::Function &kernel, Location location, Form form,
                   Folders folders)
    : folders(folders), builder(module) {
  SourcePlace place = lang::sourcePlaceOf(location);
  if (!place.isKnown())
    return;
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  kernelFile = place.file;
  llvm::DIFile *file = fileOf(kernelFile);
  unit =
      builder.createCompileUnit(llvm::DISourceLanguageName(llvm::dwarf::DW_LANG_C), file, "sectile",
                                /*isOptimized=*/true, "", 0, "",
                                form == Form::Directives ? llvm::DICompileUnit::DebugDirectivesOnly
                                                         : llvm::DICompileUnit::LineTablesOnly);
  kernelScope = builder.createFunction(
      file, kernel.getName(), kernel.getName(), file, unsigned(place.line),
      builder.createSubroutineType({}), unsigned(place.line), llvm::DINode::FlagZero,
      llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
  kernel.setSubprogram(kernelScope);
}

LineInfo::~LineInfo() = default;

void LineInfo::finish() {
  if (unit)
    builder.finalize();
}

llvm::DIFile *LineInfo::fileOf(llvm::StringRef path) {
  return builder.createFile(llvm::sys::path::filename(path),
                            folders == Folders::Named ? llvm::sys::path::parent_path(path) : "");
}

/// Returns the scope of the innermost function that the location is in.
llvm::DILocalScope *LineInfo::scopeOf(Location location, bool isKernel) {
  SourcePlace place = lang::sourcePlaceOf(location);
  if (isKernel && (!place.isKnown() || place.file == kernelFile))
    return kernelScope;
  llvm::DILocalScope *&scope = scopes[place.file + ":" + (isKernel ? "" : place.function)];
  if (scope)
    return scope;
  llvm::DIFile *file = fileOf(place.file);
  if (isKernel)
    return scope = builder.createLexicalBlockFile(kernelScope, file);
  return scope = builder.createFunction(
             file, place.function, place.function, file, unsigned(place.line),
             builder.createSubroutineType({}), unsigned(place.line), llvm::DINode::FlagZero,
             llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
}

llvm::DILocation *LineInfo::place(Location location, llvm::DILocation *caller) {
  if (auto call = dyn_cast<CallSiteLoc>(location)) {
    llvm::DILocation *site = place(call.getCaller(), caller);
    return place(call.getCallee(), site ? site : caller);
  }
  SourcePlace where = lang::sourcePlaceOf(location);
  if (!where.isKnown())
    return caller;
  return llvm::DILocation::get(kernelScope->getContext(), unsigned(where.line),
                               unsigned(where.column), scopeOf(location, caller == nullptr),
                               caller);
}

llvm::DebugLoc LineInfo::at(Location location) {
  if (!unit)
    return {};
  auto [found, isNew] = known.try_emplace(location, nullptr);
  if (isNew)
    found->second = place(location, nullptr);
  return llvm::DebugLoc(found->second);
}

} // namespace sectile::backends
