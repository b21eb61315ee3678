// What a nest has to say of itself: how it is vectorised, and of which kind its accesses are.
#include "backends/cpu/NestEmitter.h"
#include "lang/tile/SourcePlace.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::cpu {

void NestEmitter::noteNest(unsigned copies, bool isBounded) {
  const Root &root = nest.roots.front();
  Location location = root.op ? root.op->getLoc() : root.value.getLoc();
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "loops over ";
  llvm::interleave(nest.shape, stream, "x");
  if (lanes == 1)
    stream << ", one element at a time";
  else
    stream << ", vectors of " << lanes << " elements along dimension " << vectorDimension;
  if (copies > 1)
    stream << ", " << copies << " at a time";
  if (isBounded)
    stream << ", without masks up to where the row's mask ends";
  addRemark(kernel.image.remarks, location, "nest", std::move(text),
            {{"lanes", lanes},
             {"unroll", copies},
             {"vector_dimension", vectorDimension},
             {"extent", nest.shape.empty() ? 1 : nest.shape[vectorDimension]},
             {"operations", int64_t(nest.roots.size())}});
}

void NestEmitter::noteAccess(Operation *op, StringRef kind, Value pointer, Access access,
                             std::optional<int64_t> step, bool isMasked) {
  // The main loop comes first; what follows are its ends.
  if (!noted.insert(op).second)
    return;
  unsigned elementBytes =
      kernel.memoryBytes(cast<PtrType>(elementTypeOf(pointer.getType())).getPointee());
  const bool isVector = access == Access::Vector;
  std::string text;
  if (access == Access::Single)
    text = lanes > 1 ? "one element for all lanes" : "one element at a time";
  else if (access == Access::EachLane)
    text = step && *step != 1 ? "lanes are " + std::to_string(*step) + " elements apart"
                              : "how addresses change from lane to lane is not known";
  else if (isMasked && !body.laneMask)
    text = "masked, because the mask is not known to be true up to some place and false behind it";
  if (isVector && lanes * elementBytes < 16)
    text += (text.empty() ? "" : "; ") + ("a row has " + std::to_string(lanes) + " elements");
  auto argument = kernel.plan.provenance->argumentOf(pointer);
  addRemark(kernel.image.remarks, op->getLoc(), kind, std::move(text),
            {{"bytes", int64_t(isVector ? lanes : 1) * elementBytes},
             {"element_bytes", elementBytes},
             {"lanes", access == Access::Single ? 1 : lanes},
             {"argument", argument ? int64_t(*argument) : -1},
             {"is_masked", isMasked}});
}

} // namespace sectile::cpu
