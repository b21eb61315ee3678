#include "lang/semantics/LoopHints.h"

#include "lang/tile/DiscardableAttributes.h"

using namespace mlir;

namespace sectile::lang {

ArrayRef<LoopHint> loopHints() {
  static constexpr LoopHint hints[] = {
      {"num_stages", tile::kStagesAttr, 64},
      // Copies of a body take their time to compile.
      {"loop_unroll_factor", tile::kUnrollAttr, 1024},
      {"disallow_acc_multi_buffer", tile::kOneAccumulatorAttr, 1},
      {"flatten", tile::kFlattenAttr, 1},
      {"warp_specialize", tile::kWarpSpecializeAttr, 1},
      {"disable_licm", tile::kKeepInvariantsAttr, 1},
  };
  return hints;
}

const LoopHint *findLoopHint(StringRef name) {
  for (const LoopHint &hint : loopHints())
    if (hint.name == name)
      return &hint;
  return nullptr;
}

FailureOr<std::optional<NamedAttribute>> loopHintAttribute(Semantics &sema, const LoopHint &hint,
                                                           const Constant &number,
                                                           StringRef operation) {
  if (number.isNone())
    return std::optional<NamedAttribute>();
  std::string what = (operation + ": '" + hint.name + "'").str();
  auto *truth = number.as<bool>();
  auto *integer = number.as<Int>();
  if (!truth && !integer)
    return sema.error(what + " must be an integer or a truth value, not " + number.repr());
  Int asked = truth ? Int(*truth) : *integer;
  if (asked < 0 || (hint.most > 1 && asked > hint.most))
    return sema.error(what + " must be from 0 to " + std::to_string(hint.most) + ", not " +
                      number.repr());
  bool isTruth = hint.most == 1;
  if (isTruth && asked == 0)
    return std::optional<NamedAttribute>();
  Attribute value = isTruth ? Attribute(sema.builder.getUnitAttr())
                            : sema.builder.getI64IntegerAttr(int64_t(asked));
  return std::optional(NamedAttribute(sema.builder.getStringAttr(hint.attribute), value));
}

} // namespace sectile::lang
