#include "lang/tile/KernelText.h"

#include "lang/tile/DiscardableAttributes.h"

#include "llvm/ADT/StringSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace sectile::tile {

static bool isLetter(char c) {
  return llvm::isAlpha(c) || c == '_';
}

static bool isPartOfName(char c) {
  return llvm::isAlnum(c) || llvm::StringRef("_$.-").contains(c);
}

static bool isName(StringRef text) {
  return !text.empty() && isLetter(text.front()) && llvm::all_of(text, isPartOfName);
}

/// Calls `found` for each name of a value, with the text since the one before; returns the text
/// behind the last one.
static StringRef forEachName(StringRef text, llvm::function_ref<void(StringRef, StringRef)> found) {
  size_t end = 0, at = 0;
  while ((at = text.find_first_of("%\"", at)) != StringRef::npos) {
    if (text[at] == '"') { // a string, in which quotes are escaped by numbers
      at = text.find('"', at + 1);
      if (at == StringRef::npos)
        break;
      ++at;
      continue;
    }
    StringRef name = text.substr(at + 1).take_while(isPartOfName);
    found(text.slice(end, at), name);
    at = end = at + 1 + name.size();
  }
  return text.substr(end);
}

std::string kernelText(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  auto functions = module.getOps<func::FuncOp>();
  if (!llvm::hasSingleElement(functions)) // the arguments of each are numbered from 0
    return text;
  func::FuncOp function = *functions.begin();

  llvm::StringSet<> used;
  forEachName(text, [&](StringRef, StringRef name) { used.insert(name); });
  llvm::StringMap<StringRef> names;
  for (unsigned number = 0; number < function.getNumArguments(); ++number)
    if (auto name = function.getArgAttrOfType<StringAttr>(number, kArgumentNameAttr))
      if (isName(name) && used.insert(name).second)
        names["arg" + std::to_string(number)] = name;
  std::string named;
  StringRef rest = forEachName(text, [&](StringRef before, StringRef name) {
    auto entry = names.find(name);
    named += before;
    named += '%';
    named += entry == names.end() ? name : entry->second;
  });
  named += rest;
  return named;
}

} // namespace sectile::tile
