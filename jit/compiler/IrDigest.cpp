#include "jit/compiler/IrDigest.h"

#include "lang/tile/TileDialect.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace sectile::jit {

/// Lines of instructions (GPUs), or of what stops a launch.
static bool codeNamesPlaces(ModuleOp module, const backends::CompileOptions &options) {
  return options.backend != "cpu" || options.checkBounds ||
         module
             .walk([](Operation *op) {
               return isa<tile::AssertOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
             })
             .wasInterrupted();
}

static std::string placesOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::DenseMap<Location, size_t> numbers;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto [known, isNew] = numbers.try_emplace(op->getLoc(), numbers.size());
    if (isNew)
      stream << op->getLoc();
    stream << ' ' << known->second;
  });
  return text;
}

std::string irDigest(ModuleOp module, llvm::StringRef text, const lang::KernelSignature &signature,
                     const backends::CompileOptions &options) {
  llvm::SHA256 hash;
  hash.update(text);
  if (!signature.variantName.empty()) // the text knows the name of the variant alone
    hash.update(signature.kernelName);
  if (codeNamesPlaces(module, options))
    hash.update(placesOf(module));
  lang::forEachLeaf(signature, [&](const lang::KernelParameter &parameter, size_t) {
    hash.update(parameter.name);
    hash.update(parameter.constant ? llvm::StringRef(" constant\n")
                                   : llvm::StringRef(" argument\n"));
  });
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

} // namespace sectile::jit
