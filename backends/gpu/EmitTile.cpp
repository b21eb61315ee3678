// Ops on tiles that move no data between threads: elementwise ones, those that make positions, and
// those that only say differently which element is where.
#include "backends/gpu/GpuEmitter.h"
#include "backends/gpu/RegisterAddress.h"
#include "lang/layout/Builders.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

using layout::Coordinates;
using layout::TileLayout;

/// Do the bits of lanes and warps mean the same, but for axes that `map` drops?
static bool sameThreads(const TileLayout &from, const TileLayout &to,
                        llvm::function_ref<Coordinates(Coordinates)> map) {
  for (layout::Dim dim : {layout::Dim::Lane, layout::Dim::Warp}) {
    unsigned bits = to.block().inBits(dim);
    if (from.block().inBits(dim) != bits)
      return false;
    for (unsigned bit = 0; bit < bits; ++bit) {
      Coordinates mapped = map(to.block().basis(dim, bit));
      if (mapped != from.block().basis(dim, bit))
        return false;
    }
  }
  return true;
}

bool GpuEmitter::mapRegisters(Value from, Value to, CoordinateMap map) {
  const TileLayout &source = layoutOf(from), &result = layoutOf(to);
  if (!sameThreads(source, result, map))
    return false;
  const Registers &values = registers(from);
  Registers mapped;
  for (int reg = 0; reg < result.registersPerThread(); ++reg) {
    auto found = source.registerHolding(map(result.constantOf(reg)));
    if (found)
      mapped.push_back(values[*found]);
    else if (result.isPaddingRegister(reg))
      mapped.push_back(paddingOf(values.front()->getType()));
    else
      return false;
  }
  setRegisters(to, std::move(mapped));
  return true;
}

/// Registers known to hold equal numbers are computed once.
void GpuEmitter::emitElementwiseTile(Operation *op, ArrayRef<Registers> operands) {
  Value result = op->getResult(0);
  const TileLayout &layout = layoutOf(result);
  auto mayShare = [&](const optimizer::IndexFacts &facts) {
    return op->getNumResults() == 1 && (!facts.isAssumed || optimizer::servesAddressesOnly(result));
  };
  const optimizer::IndexFacts &facts = indexFacts().of(result);
  auto equal = mayShare(facts)
                   ? equalRegisters(layout, facts)
                   : llvm::to_vector<16>(llvm::seq<int>(0, int(layout.registersPerThread())));
  SmallVector<int, 16> computed, place(equal.size());
  for (auto [reg, first] : llvm::enumerate(equal))
    if (int(reg) == first) {
      place[reg] = computed.size();
      computed.push_back(reg);
    }
  SmallVector<Registers, 3> given;
  for (const Registers &operand : operands) {
    Registers &some = given.emplace_back();
    if (operand.size() == 1)
      some = operand;
    else
      for (int reg : computed)
        some.push_back(operand[reg]);
  }
  for (auto [value, some] :
       llvm::zip(op->getResults(), emitElementwise(op, given, computed.size()))) {
    Registers all;
    for (int first : equal)
      all.push_back(some[place[first]]);
    setRegisters(value, std::move(all));
  }
}

bool GpuEmitter::emitTileOp(Operation *op) {
  if (op->getNumResults() == 0)
    return false;
  Value result = op->getResult(0);
  bool isTile = isa<RankedTensorType>(result.getType());
  Type element = elementTypeOf(result.getType());
  if (backends::ElementwiseEmitter::isElementwise(op)) {
    SmallVector<Registers, 3> operands;
    for (Value operand : op->getOperands())
      operands.push_back(valuesOf(operand));
    if (!isTile) {
      for (auto [value, all] : llvm::zip(op->getResults(), emitElementwise(op, operands, 1)))
        setValues(value, std::move(all));
      return true;
    }
    emitElementwiseTile(op, operands);
    return true;
  }

  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](arith::ConstantOp constant) {
        if (!isTile)
          return false;
        auto elements = dyn_cast<SplatElementsAttr>(constant.getValue());
        if (!elements)
          return false;
        setRegisters(result, Registers(layoutOf(result).registersPerThread(),
                                       constantOf(elements.getSplatValue<Attribute>(), element)));
        return true;
      })
      .Case([&](ArangeOp arange) {
        const TileLayout &layout = layoutOf(result);
        Registers positions;
        for (int reg = 0; reg < layout.registersPerThread(); ++reg) {
          llvm::Value *at = coordinate(layout, reg, 0);
          if (int64_t start = arange.getStart())
            at = builder.CreateAdd(at, builder.getInt32(uint32_t(start)), "", false, true);
          positions.push_back(builder.CreateSExtOrTrunc(at, registerType(element)));
        }
        setRegisters(result, std::move(positions));
        return true;
      })
      .Case([&](SplatOp splat) {
        setRegisters(result,
                     Registers(layoutOf(result).registersPerThread(), scalar(splat.getSrc())));
        return true;
      })
      .Case([&](BroadcastOp broadcast) {
        auto from = shapeOf(broadcast.getSrc().getType()), to = shapeOf(result.getType());
        return mapRegisters(broadcast.getSrc(), result, [&](Coordinates at) {
          for (size_t axis = 0; axis < from.size(); ++axis)
            if (from[axis] == 1 && to[axis] != 1) // padding of an axis that stays is where it was
              at[axis] = 0;
          return at;
        });
      })
      .Case([&](ExpandDimsOp expand) {
        return mapRegisters(expand.getSrc(), result, [&](Coordinates at) {
          at.erase(at.begin() + expand.getAxis());
          return at;
        });
      })
      .Case([&](TransposeOp transpose) {
        auto order = transpose.getOrder();
        return mapRegisters(transpose.getSrc(), result, [&](Coordinates at) {
          Coordinates from(at.size());
          for (size_t axis = 0; axis < at.size(); ++axis)
            from[order[axis]] = at[axis];
          return from;
        });
      })
      .Case([&](ReshapeOp reshape) {
        auto same = layout::reshape(layoutOf(reshape.getSrc()), shapeOf(result.getType()));
        if (!same || *same != layoutOf(result))
          return false;
        setRegisters(result, registers(reshape.getSrc()));
        return true;
      })
      .Case([&](JoinOp join) {
        if (layoutOf(result) != layout::join(layoutOf(join.getLhs())))
          return false;
        Registers pairs;
        for (auto [lhs, rhs] : llvm::zip(registers(join.getLhs()), registers(join.getRhs()))) {
          pairs.push_back(lhs);
          pairs.push_back(rhs);
        }
        setRegisters(result, std::move(pairs));
        return true;
      })
      .Case([&](SplitOp split) {
        auto half = [&](Value to, int32_t which) {
          return mapRegisters(split.getSrc(), to, [&](Coordinates at) {
            at.push_back(which);
            return at;
          });
        };
        // Threads contribute nothing along the last axis, or the halves are not in registers.
        if (layoutOf(split.getSrc())
                .contributionMask(layout::Dim::Lane, shapeOf(result.getType()).size()) ||
            layoutOf(split.getSrc())
                .contributionMask(layout::Dim::Warp, shapeOf(result.getType()).size()))
          return false;
        return half(split.getLhs(), 0) && half(split.getRhs(), 1);
      })
      .Default([](Operation *) { return false; });
}

} // namespace sectile::gpu
