#include "optimizer/UnheededHints.h"

using namespace mlir;

namespace sectile::optimizer {
namespace {

struct Answer {
  StringLiteral attribute, text;
};

/// The answers that are the same for every target.
constexpr Answer kAnswers[] = {
    {tile::kFlattenAttr,
     "flatten: nested loops stay nested; copies by an engine go on across them"},
    {tile::kWarpSpecializeAttr,
     "warp_specialize: where a thread beside the program starts copies the compiler decides"},
    {tile::kOneAccumulatorAttr,
     "disallow_acc_multi_buffer: an accumulator has one buffer as it is"},
};

/// A loop over a range with a break or a return in it has become a while loop.
constexpr StringLiteral kUncounted =
    "the turns of a while loop, and of one that may end early, are not known ahead";

/// Explains why a loop that asks for stages has none; empty when it may have some.
std::string withoutStages(Operation *loop, LoadsAhead ahead) {
  if (ahead == LoadsAhead::Never)
    return "loads do not run ahead on this target";
  if (!isa<scf::ForOp>(loop))
    return kUncounted.str();
  for (tile::LoadOp load : loop->getRegion(0).getOps<tile::LoadOp>())
    if (isa<RankedTensorType>(load.getType()))
      return {};
  return "the loop itself loads no tiles";
}

} // namespace

void noteSumsTogether(tile::DotOp product, SumsApart apart, lang::Remarks &remarks) {
  auto element = dyn_cast<FloatType>(product.getLhs().getType().getElementType());
  if (!element || element.getWidth() != 8 || !product.getMaxImpreciseAcc().value_or(0))
    return;
  addRemark(remarks, product.getLoc(), "hint",
            apart == SumsApart::Never
                ? "max_num_imprecise_acc: no partial sums are kept apart; on this target none is "
                  "added by wgmma, whose sums keep fewer digits"
                : "max_num_imprecise_acc: no partial sums are kept apart, as this product does "
                  "without wgmma, whose sums keep fewer digits; of 32 products and more it would "
                  "do them, with room for a thread's sums twice in its registers");
}

void noteUnheededHints(func::FuncOp function, LoadsAhead ahead, SumsApart apart,
                       lang::Remarks &remarks) {
  auto note = [&](Operation *op, std::string text) {
    addRemark(remarks, op->getLoc(), "hint", std::move(text));
  };
  function.walk([&](Operation *op) {
    if (auto product = dyn_cast<tile::DotOp>(op); product && apart == SumsApart::Never)
      noteSumsTogether(product, apart, remarks);
    for (const Answer &answer : kAnswers)
      if (op->hasAttr(answer.attribute))
        note(op, answer.text.str());
    if (auto factor = op->getAttrOfType<IntegerAttr>(tile::kUnrollAttr);
        factor && isa<scf::WhileOp>(op))
      note(op, "loop_unroll_factor=" + std::to_string(factor.getInt()) + ": " + kUncounted.str());
    auto stages = op->getAttrOfType<IntegerAttr>(tile::kStagesAttr);
    if (!stages || stages.getInt() < 2)
      return;
    if (std::string why = withoutStages(op, ahead); !why.empty())
      note(op, "num_stages=" + std::to_string(stages.getInt()) + ": " + why);
  });
}

} // namespace sectile::optimizer
