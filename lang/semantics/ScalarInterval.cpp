#include "lang/semantics/ScalarInterval.h"

#include "lang/tile/TileDialect.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace sectile::lang {
namespace {

/// Numbers of so many bits, read as signed ones.
Interval signedOf(unsigned bits) {
  return {-(Int(1) << (bits - 1)), (Int(1) << (bits - 1)) - 1};
}
Interval unsignedOf(unsigned bits) {
  return {0, (Int(1) << bits) - 1};
}

/// Between which numbers the bits of `value` lie, read as a signed number. `budget` bounds the
/// operations looked at: a shared operand is met once for each use.
Interval bitsOf(mlir::Value value, int &budget) {
  unsigned width = value.getType().getIntOrFloatBitWidth();
  Interval any = signedOf(width);
  Operation *op = value.getDefiningOp();
  if (!op || --budget < 0)
    return any;
  auto unlessWrapped = [&](Int low, Int high) {
    Interval made{low, high};
    return any.contains(made) ? made : any;
  };
  auto operand = [&](unsigned index) { return bitsOf(op->getOperand(index), budget); };
  return llvm::TypeSwitch<Operation *, Interval>(op)
      .Case([&](arith::ConstantOp constant) {
        auto number = dyn_cast<IntegerAttr>(constant.getValue());
        if (!number)
          return any;
        Int known = number.getValue().getSExtValue();
        return Interval{known, known};
      })
      // A grid has at most 2^31 - 1 programs along each axis.
      .Case([&](tile::ProgramIdOp) { return Interval{0, signedOf(32).high}; })
      .Case([&](tile::NumProgramsOp) { return Interval{1, signedOf(32).high}; })
      .Case([&](tile::HintOp) { return operand(0); })
      .Case([&](arith::ExtSIOp) { return operand(0); })
      .Case([&](arith::ExtUIOp) {
        Interval source = operand(0);
        unsigned narrow = op->getOperand(0).getType().getIntOrFloatBitWidth();
        return source.low >= 0 ? source : unsignedOf(narrow);
      })
      .Case([&](arith::TruncIOp) {
        Interval source = operand(0);
        return unlessWrapped(source.low, source.high);
      })
      .Case([&](arith::AddIOp) {
        Interval x = operand(0), y = operand(1);
        return unlessWrapped(x.low + y.low, x.high + y.high);
      })
      .Case([&](arith::SubIOp) {
        Interval x = operand(0), y = operand(1);
        return unlessWrapped(x.low - y.high, x.high - y.low);
      })
      .Case([&](arith::MulIOp) {
        // Products of two numbers of 64 bits fit 128.
        Interval x = operand(0), y = operand(1);
        auto [low, high] =
            std::minmax({x.low * y.low, x.low * y.high, x.high * y.low, x.high * y.high});
        return unlessWrapped(low, high);
      })
      .Case([&](arith::DivSIOp) {
        Interval x = operand(0), y = operand(1);
        return x.low >= 0 && y.low > 0 ? Interval{x.low / y.high, x.high / y.low} : any;
      })
      .Case([&](arith::MaxSIOp) {
        Interval x = operand(0), y = operand(1);
        return Interval{std::max(x.low, y.low), std::max(x.high, y.high)};
      })
      .Case([&](arith::MinSIOp) {
        Interval x = operand(0), y = operand(1);
        return Interval{std::min(x.low, y.low), std::min(x.high, y.high)};
      })
      .Default(any);
}

} // namespace

Interval Interval::of(DType dtype) {
  return dtype.isSignedInt() ? signedOf(dtype.bits()) : unsignedOf(dtype.bits());
}

Interval intervalOf(const Value &scalar) {
  DType dtype = scalar.type.dtype;
  int budget = 64;
  Interval bits = bitsOf(scalar.ir, budget);
  if (dtype.isSignedInt() || bits.low >= 0)
    return bits;
  // A constant from the upper half.
  if (bits.low == bits.high && bits.high < 0) {
    Int number = bits.low + (Int(1) << dtype.bits());
    return {number, number};
  }
  return Interval::of(dtype);
}

} // namespace sectile::lang
