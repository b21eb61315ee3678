// The laws of IndexAnalysis.h as a property: builds random expressions, evaluates them, and checks
// every fact claimed of every value.
#include "lang/tile/TileDialect.h"
#include "optimizer/IndexAnalysis.h"

#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace sectile;
using optimizer::DimensionFacts;
using optimizer::IndexAnalysis;
using optimizer::IndexFacts;

namespace {

/// A tile's elements in row-major order.
using Numbers = std::vector<int64_t>;

int64_t wrap(__int128 value, unsigned width, bool &overflowed) {
  if (width == 1)
    return int64_t(value) & 1;
  __int128 half = __int128(1) << (width - 1);
  if (value < -half || value >= half)
    overflowed = true;
  unsigned __int128 bits = (unsigned __int128)(value) & (((unsigned __int128)(1) << width) - 1);
  __int128 result = __int128(bits);
  return int64_t(result >= half ? result - 2 * half : result);
}

uint64_t asUnsigned(int64_t value, unsigned width) {
  return width >= 64 ? uint64_t(value) : uint64_t(value) & ((uint64_t(1) << width) - 1);
}

/// Runs the operations of a straight-line function on numbers.
class Interpreter {
public:
  std::map<const void *, Numbers> values;
  /// Something happened of which facts that are assumed say that it does not.
  bool brokeAssumption = false;
  bool isUndefined = false;

  Numbers &of(Value value) { return values[value.getAsOpaquePointer()]; }

  void run(Operation *op) {
    if (op->getNumResults() != 1)
      return;
    Value result = op->getResult(0);
    auto shape = tile::shapeOf(result.getType());
    int64_t count = 1;
    for (int64_t extent : shape)
      count *= extent;
    Numbers out(count);
    auto a = [&](int64_t i) { return of(op->getOperand(0))[i]; };
    auto b = [&](int64_t i) { return of(op->getOperand(1))[i]; };
    auto c = [&](int64_t i) { return of(op->getOperand(2))[i]; };
    for (int64_t i = 0; i < count; ++i)
      out[i] = element(op, i, shape, a, b, c);
    of(result) = std::move(out);
  }

private:
  template <class A, class B, class C>
  int64_t element(Operation *op, int64_t i, ArrayRef<int64_t> shape, A a, B b, C c) {
    auto width = [](Value value) {
      return cast<IntegerType>(tile::elementTypeOf(value.getType())).getWidth();
    };
    unsigned bits = width(op->getResult(0));
    auto wrapped = [&](__int128 value) { return wrap(value, bits, brokeAssumption); };
    auto divisor = [&]() -> int64_t {
      if (b(i) == 0)
        isUndefined = true;
      brokeAssumption |= b(i) < 0;
      return b(i) == 0 ? 1 : b(i);
    };
    auto shift = [&]() -> int64_t {
      if (b(i) < 0 || b(i) >= bits)
        isUndefined = true;
      return b(i) & (bits - 1);
    };
    auto u = [&](int64_t value) { return asUnsigned(value, bits); };
    bool ignored = false;
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      if (auto integer = dyn_cast<IntegerAttr>(constant.getValue()))
        return integer.getInt();
      return cast<DenseElementsAttr>(constant.getValue()).getValues<APInt>()[i].getSExtValue();
    }
    if (auto arange = dyn_cast<tile::ArangeOp>(op))
      return int32_t(arange.getStart()) + i;
    if (isa<tile::SplatOp>(op))
      return a(0);
    if (isa<tile::ReshapeOp, tile::ExpandDimsOp>(op))
      return a(i);
    if (auto broadcast = dyn_cast<tile::BroadcastOp>(op)) {
      auto from = tile::shapeOf(broadcast.getSrc().getType());
      return a(from[0] == 1 ? (from[1] == 1 ? 0 : i % shape[1])
                            : (from[1] == 1 ? i / shape[1] : i));
    }
    if (isa<tile::TransposeOp>(op))
      return a((i % shape[1]) * shape[0] + i / shape[1]);
    if (auto flip = dyn_cast<tile::FlipOp>(op)) {
      if (shape.size() == 1)
        return a(shape[0] - 1 - i);
      int64_t row = i / shape[1], column = i % shape[1];
      return flip.getAxis() == 0 ? a((shape[0] - 1 - row) * shape[1] + column)
                                 : a(row * shape[1] + shape[1] - 1 - column);
    }
    if (isa<arith::AddIOp>(op))
      return wrapped(__int128(a(i)) + b(i));
    if (isa<arith::SubIOp>(op))
      return wrapped(__int128(a(i)) - b(i));
    if (isa<arith::MulIOp>(op))
      return wrapped(__int128(a(i)) * b(i));
    if (isa<arith::DivSIOp>(op))
      return wrapped(__int128(a(i)) / divisor());
    if (isa<arith::RemSIOp>(op))
      return wrapped(__int128(a(i)) % divisor());
    if (isa<arith::DivUIOp>(op))
      return wrap(u(a(i)) / u(divisor()), bits, ignored);
    if (isa<arith::RemUIOp>(op))
      return wrap(u(a(i)) % u(divisor()), bits, ignored);
    if (isa<arith::FloorDivSIOp>(op)) {
      __int128 d = divisor(), q = __int128(a(i)) / d;
      return int64_t(q - (a(i) % d != 0 && (a(i) < 0) != (d < 0)));
    }
    if (isa<arith::ShLIOp>(op))
      return wrapped(__int128(a(i)) * (__int128(1) << shift()));
    if (isa<arith::ShRSIOp>(op))
      return a(i) >> shift();
    if (isa<arith::ShRUIOp>(op))
      return wrap(u(a(i)) >> shift(), bits, ignored);
    if (isa<arith::AndIOp>(op))
      return a(i) & b(i);
    if (isa<arith::OrIOp>(op))
      return a(i) | b(i);
    if (isa<arith::XOrIOp>(op))
      return a(i) ^ b(i);
    if (isa<arith::MinSIOp>(op))
      return std::min(a(i), b(i));
    if (isa<arith::MaxSIOp>(op))
      return std::max(a(i), b(i));
    if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
      unsigned from = width(compare.getLhs());
      return arith::applyCmpPredicate(compare.getPredicate(), APInt(from, a(i), true, true),
                                      APInt(from, b(i), true, true));
    }
    if (isa<arith::SelectOp>(op))
      return a(i) ? b(i) : c(i);
    if (auto extension = dyn_cast<arith::ExtSIOp>(op))
      return width(extension.getIn()) == 1 ? -a(i) : a(i);
    if (auto extension = dyn_cast<arith::ExtUIOp>(op))
      return int64_t(asUnsigned(a(i), width(extension.getIn())));
    if (isa<arith::TruncIOp>(op))
      return wrapped(a(i));
    ADD_FAILURE() << "no meaning for " << op->getName().getStringRef().str();
    return 0;
  }
};

std::string print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream(text) << *op;
  return text;
}

/// Checks the laws; `mayAssume` when no index arithmetic overflowed and no divisor was negative.
void checkFacts(const IndexFacts &facts, ArrayRef<int64_t> shape, const Numbers &numbers,
                const std::function<int64_t(Value)> &scalar, bool mayAssume,
                const std::function<std::string()> &about) {
  SmallVector<int64_t> extents(shape);
  if (extents.empty())
    extents.push_back(1);
  ASSERT_EQ(facts.dimensions.size(), extents.size());
  for (int64_t number : numbers) {
    ASSERT_LE(facts.low, number) << about();
    ASSERT_GE(facts.high, number) << about();
  }
  // Modulo 2^modulusBits.
  auto reduced = [&](int64_t number) {
    return facts.modulusBits ? asUnsigned(number, facts.modulusBits) : uint64_t(number);
  };
  auto divides = [&](int64_t divisor, int64_t number) {
    if (facts.modulusBits) // only its power of two is left
      divisor = facts.modulusBits >= 63 ? divisor & -divisor
                                        : std::gcd(divisor, int64_t(1) << facts.modulusBits);
    return number % divisor == 0;
  };
  for (int64_t number : numbers) {
    ASSERT_TRUE(!facts.isNonNegative || number >= 0 || !mayAssume) << about();
    ASSERT_TRUE(!facts.isNonNegative || number >= 0 || facts.low < 0) << about();
    if (facts.scalar)
      ASSERT_EQ(number, scalar(facts.scalar)) << about();
  }
  if ((facts.isOffset || facts.isAssumed) && !mayAssume)
    return;
  for (int64_t number : numbers)
    ASSERT_TRUE(divides(facts.commonDivisor(), number)) << about();
  int64_t step = 1; // between neighbours of the dimension, in row-major order
  for (int d = int(extents.size()) - 1; d >= 0; --d) {
    const DimensionFacts &dim = facts.dimensions[d];
    ASSERT_EQ(dim.extent, extents[d]) << about();
    ASSERT_GE(dim.run, 1) << about();
    ASSERT_LE(dim.run, dim.extent) << about();
    auto stride =
        int64_t(uint64_t(dim.stride) * uint64_t(dim.strideSymbol ? scalar(dim.strideSymbol) : 1));
    for (int64_t i = 0; i < int64_t(numbers.size()); ++i) {
      int64_t index = i / step % extents[d];
      if (index % dim.run == 0)
        ASSERT_TRUE(divides(dim.divisibility, numbers[i]))
            << about() << "\nelement " << i << " dimension " << d << " divisor "
            << dim.divisibility;
      else
        ASSERT_EQ(reduced(int64_t(uint64_t(numbers[i]) - uint64_t(numbers[i - step]))),
                  reduced(stride))
            << about() << "\nelement " << i << " dimension " << d << " run " << dim.run;
      if (dim.isPrefix && index > 0)
        ASSERT_GE(numbers[i - step], numbers[i]) << about() << "\nelement " << i;
    }
    step *= extents[d];
  }
}

class RandomExpressions {
public:
  explicit RandomExpressions(uint32_t seed)
      : random(seed), context(MLIRContext::Threading::DISABLED), builder(&context) {
    context.loadDialect<tile::TileDialect>();
    location = builder.getUnknownLoc();
    i32 = builder.getI32Type();
    module = ModuleOp::create(location);
    builder.setInsertionPointToEnd(module->getBody());
    function =
        func::FuncOp::create(builder, location, "k", builder.getFunctionType({i32, i32, i32}, {}));
    function.setArgAttr(0, tile::kDivisibilityAttr, builder.getI64IntegerAttr(16));
    function.setArgAttr(1, tile::kDivisibilityAttr, builder.getI64IntegerAttr(4));
    builder.setInsertionPointToEnd(function.addEntryBlock());
    // Extents that are powers of two and not.
    const int64_t extents[] = {1, 4, 8, 12, 16, 24, 30, 32};
    rows = extents[pick(8)], columns = extents[pick(8)];
    build();
    func::ReturnOp::create(builder, location);
  }

  void check() {
    IndexAnalysis analysis(function);
    for (int sample = 0; sample < 4; ++sample) {
      Interpreter interpreter;
      const int64_t units[] = {16, 4, 1};
      for (auto [argument, unit] : llvm::zip(function.getArguments(), units))
        interpreter.of(argument) = {unit * (int64_t(pick(41)) - (sample < 2 ? 0 : 20))};
      for (Operation &op : function.getBody().front()) {
        interpreter.run(&op);
        if (op.getNumResults() != 1 || interpreter.isUndefined)
          continue;
        Value value = op.getResult(0);
        checkFacts(
            analysis.of(value), tile::shapeOf(value.getType()), interpreter.of(value),
            [&](Value scalar) { return interpreter.of(scalar).front(); },
            !interpreter.brokeAssumption, [&] { return print(&op) + "\nin\n" + print(function); });
        if (testing::Test::HasFatalFailure())
          return;
      }
    }
  }

private:
  uint32_t pick(uint32_t count) { return random() % count; }
  Value any(std::vector<Value> &pool) { return pool[pick(pool.size())]; }

  Value number(Type type) {
    const int64_t numbers[] = {0,  1,  2,  3,  4,  5,   7,   8,   12,  15,
                               16, 31, 32, -1, -4, -16, 120, 128, 250, 256};
    // What makes sums, products and shifts wrap.
    const int64_t large[] = {2147483647, 2147483632, -2147483648, 1 << 30, 1 << 26,
                             -(1 << 27), 1103515245, 40503,       65536,   -2147483600};
    int64_t value = pick(4) ? numbers[pick(20)] : large[pick(10)];
    Attribute attribute = IntegerAttr::get(element(type), value);
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      attribute = DenseElementsAttr::get(tensor, attribute);
    return arith::ConstantOp::create(builder, location, cast<TypedAttr>(attribute));
  }

  Value binary(Value a, Value b) {
    switch (pick(16)) {
    case 0:
    case 1:
    case 2:
      return arith::AddIOp::create(builder, location, a, b);
    case 3:
      return arith::SubIOp::create(builder, location, a, b);
    case 4:
    case 5:
      return arith::MulIOp::create(builder, location, a, b);
    case 6:
      return arith::DivSIOp::create(builder, location, a, b);
    case 7:
      return arith::DivUIOp::create(builder, location, a, b);
    case 8:
      return arith::RemSIOp::create(builder, location, a, b);
    case 9:
      return arith::RemUIOp::create(builder, location, a, b);
    case 10:
      return arith::AndIOp::create(builder, location, a, b);
    case 11:
      return arith::OrIOp::create(builder, location, a, b);
    case 12:
      return arith::MinSIOp::create(builder, location, a, b);
    case 13:
      return arith::MaxSIOp::create(builder, location, a, b);
    case 14:
      return arith::XOrIOp::create(builder, location, a, b);
    default:
      return arith::FloorDivSIOp::create(builder, location, a, b);
    }
  }

  static Type element(Type type) { return tile::elementTypeOf(type); }
  Attribute amountOf(Value a) {
    return IntegerAttr::get(element(a.getType()), pick(4) ? pick(5) : pick(31));
  }

  Value shift(Value a) {
    Value amount = arith::ConstantOp::create(
        builder, location,
        cast<TypedAttr>(isa<RankedTensorType>(a.getType())
                            ? Attribute(DenseElementsAttr::get(cast<RankedTensorType>(a.getType()),
                                                               amountOf(a)))
                            : amountOf(a)));
    switch (pick(3)) {
    case 0:
      return arith::ShLIOp::create(builder, location, a, amount);
    case 1:
      return arith::ShRSIOp::create(builder, location, a, amount);
    default:
      return arith::ShRUIOp::create(builder, location, a, amount);
    }
  }

  Value choice(Value a, Value b, std::vector<Value> &masks) {
    Value mask = arith::CmpIOp::create(builder, location, arith::CmpIPredicate(pick(10)), a, b);
    masks.push_back(mask);
    if (masks.size() > 1) {
      Value other = any(masks);
      masks.push_back(pick(2) ? arith::AndIOp::create(builder, location, mask, other).getResult()
                              : arith::OrIOp::create(builder, location, mask, other).getResult());
    }
    return arith::SelectOp::create(builder, location, any(masks), a, b);
  }

  /// a and back again by way of more bits, where something may be computed.
  Value throughWideCast(Value a, Value b) {
    Type wide = tile::withElementType(a.getType(), builder.getI64Type());
    auto widened = [&](Value value) -> Value {
      if (pick(2))
        return arith::ExtSIOp::create(builder, location, wide, value);
      return arith::ExtUIOp::create(builder, location, wide, value);
    };
    Value large = widened(a);
    for (uint32_t i = pick(3); i > 0; --i)
      large = pick(4) == 0 ? shift(large) : binary(large, pick(2) ? number(wide) : widened(b));
    return arith::TruncIOp::create(builder, location, a.getType(), large);
  }

  /// a and back again by way of fewer bits, where something may be computed.
  Value throughCast(Value a, Value b) {
    if (pick(2))
      return throughWideCast(a, b);
    const unsigned widths[] = {8, 8, 16};
    Type narrow = tile::withElementType(a.getType(), builder.getIntegerType(widths[pick(3)]));
    Value small = arith::TruncIOp::create(builder, location, narrow, a);
    if (pick(2))
      small = binary(small, arith::TruncIOp::create(builder, location, narrow, b));
    if (pick(2))
      return arith::ExtSIOp::create(builder, location, a.getType(), small);
    return arith::ExtUIOp::create(builder, location, a.getType(), small);
  }

  void step(std::vector<Value> &pool, std::vector<Value> &masks) {
    Value a = any(pool), b = pick(3) == 0 ? number(a.getType()) : any(pool);
    switch (pick(8)) {
    case 0:
      pool.push_back(shift(a));
      break;
    case 1:
      pool.push_back(choice(a, b, masks));
      break;
    case 2:
      pool.push_back(throughCast(a, b));
      break;
    default:
      pool.push_back(binary(a, b));
      break;
    }
  }

  Value expanded(Value vector, int64_t axis) {
    SmallVector<int64_t> shape(tile::shapeOf(vector.getType()));
    shape.insert(shape.begin() + axis, 1);
    Value wide = tile::ExpandDimsOp::create(builder, location, RankedTensorType::get(shape, i32),
                                            vector, int32_t(axis));
    return tile::BroadcastOp::create(builder, location, RankedTensorType::get({rows, columns}, i32),
                                     wide);
  }

  void build() {
    std::vector<Value> scalars(function.getArguments().begin(), function.getArguments().end());
    std::vector<Value> scalarMasks;
    for (int i = 0; i < 3; ++i)
      step(scalars, scalarMasks);
    auto vectorOf = [&](int64_t extent) {
      auto type = RankedTensorType::get({extent}, i32);
      std::vector<Value> pool{
          tile::ArangeOp::create(builder, location, type, 0, int32_t(extent)),
          tile::ArangeOp::create(builder, location, type, 8, int32_t(extent + 8)),
          tile::SplatOp::create(builder, location, type, any(scalars)),
          tile::SplatOp::create(builder, location, type, any(scalars)), number(type)};
      std::vector<Value> masks;
      for (int i = 0; i < 5; ++i)
        step(pool, masks);
      if (pick(3) == 0)
        pool.push_back(tile::FlipOp::create(builder, location, type, pool.back(), 0));
      return pool.back();
    };
    auto type = RankedTensorType::get({rows, columns}, i32);
    std::vector<Value> pool{
        expanded(vectorOf(rows), 1), expanded(vectorOf(columns), 0),
        tile::ReshapeOp::create(builder, location, type, vectorOf(rows * columns)),
        tile::TransposeOp::create(
            builder, location, type,
            tile::ReshapeOp::create(builder, location, RankedTensorType::get({columns, rows}, i32),
                                    vectorOf(rows * columns)),
            ArrayRef<int32_t>{1, 0})};
    std::vector<Value> masks;
    for (int i = 0; i < 5; ++i)
      step(pool, masks);
    tile::ReshapeOp::create(builder, location, RankedTensorType::get({rows * columns}, i32),
                            pool.back());
    tile::ReshapeOp::create(builder, location, RankedTensorType::get({columns, rows}, i32),
                            pool.back());
    tile::FlipOp::create(builder, location, type, pool.back(), int32_t(pick(2)));
  }

  std::mt19937 random;
  MLIRContext context;
  OpBuilder builder;
  Location location = UnknownLoc::get(&context);
  Type i32;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  int64_t rows, columns;
};

TEST(IndexFacts, hold_of_random_expressions) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    RandomExpressions(seed).check();
    if (HasFatalFailure())
      FAIL() << "seed " << seed;
  }
}

} // namespace
