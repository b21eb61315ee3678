// Counter-based random numbers: Philox (Salmon et al., "Parallel random numbers: as easy as 1, 2,
// 3", SC 2011), and its conversions to uniform and normal floats. The same seeds and offsets give
// the same numbers as Triton.
#include "lang/builtins/BuiltinTable.h"
#include "lang/tile/TileDialect.h"

using namespace mlir;

namespace sectile::lang {
namespace {

const DType kUInt32 = DType::scalar(ScalarKind::UInt32);
const DType kUInt64 = DType::scalar(ScalarKind::UInt64);

/// Chains of operations that stop computing after the first failure.
class Computation {
public:
  explicit Computation(Semantics &sema) : sema(sema) {}

  Value binary(BinaryOperator op, const Operand &lhs, const Operand &rhs) {
    return keep(hasFailed ? FailureOr<Value>(failure()) : sema.arithmetic(op, lhs, rhs));
  }
  Value cast(const Value &value, DType to, bool bitcast = false) {
    return keep(hasFailed ? FailureOr<Value>(failure()) : sema.cast(value, to, bitcast));
  }
  Value call(StringRef name, ArrayRef<Operand> operands) {
    if (hasFailed)
      return {};
    FailureOr<Operand> result = callBuiltin(sema, name, operands, {});
    return keep(failed(result) ? FailureOr<Value>(failure()) : FailureOr<Value>(*result->value()));
  }
  Value negate(const Value &value) {
    if (hasFailed)
      return {};
    FailureOr<Operand> result = sema.unary(UnaryOperator::Negate, value);
    return keep(failed(result) ? FailureOr<Value>(failure()) : FailureOr<Value>(*result->value()));
  }
  bool failing() const { return hasFailed; }

  Semantics &sema;

private:
  Value keep(FailureOr<Value> value) {
    hasFailed = failed(value);
    return hasFailed ? Value() : *value;
  }
  bool hasFailed = false;
};

struct PhiloxConstants {
  uint64_t keyA, keyB, roundA, roundB;
};
constexpr PhiloxConstants kPhilox32 = {0x9E3779B9, 0xBB67AE85, 0xD2511F53, 0xCD9E8D57};
constexpr PhiloxConstants kPhilox64 = {0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B, 0xD2E7470EE14C6C93,
                                       0xCA5A826395121157};

using Counters = std::array<Value, 4>;

/// Low and high half of factor * value.
std::pair<Value, Value> wideProduct(Semantics &sema, uint64_t factor, const Value &value) {
  Value by = sema.splatConstant(Constant::integer(Int(factor)), value.type);
  auto product = arith::MulUIExtendedOp::create(sema.builder, sema.location(), by.ir, value.ir);
  return {{product.getLow(), value.type}, {product.getHigh(), value.type}};
}

/// `rounds` rounds on four counters of one unsigned type under a two-word key.
FailureOr<Counters> philoxRounds(Semantics &sema, Counters c, Value k0, Value k1, int64_t rounds) {
  Computation compute(sema);
  // A scalar key stays scalar; the rounds broadcast counters of different shapes.
  const PhiloxConstants &constants = c[0].type.dtype == kUInt32 ? kPhilox32 : kPhilox64;
  auto raise = [&](const Value &key, uint64_t by) {
    return compute.binary(BinaryOperator::Add, key, Constant::integer(Int(by)));
  };
  for (int64_t round = 0; round < rounds && !compute.failing(); ++round) {
    auto [lowB, highB] = wideProduct(sema, constants.roundB, c[2]);
    auto [lowA, highA] = wideProduct(sema, constants.roundA, c[0]);
    Value first = compute.binary(BinaryOperator::BitXor, highB, c[1]);
    first = compute.binary(BinaryOperator::BitXor, first, k0);
    Value third = compute.binary(BinaryOperator::BitXor, highA, c[3]);
    third = compute.binary(BinaryOperator::BitXor, third, k1);
    c = {first, lowB, third, lowA};
    if (round + 1 < rounds) {
      k0 = raise(k0, constants.keyA);
      k1 = raise(k1, constants.keyB);
    }
  }
  if (compute.failing())
    return failure();
  return c;
}

FailureOr<int64_t> roundCount(Arguments &args, size_t index) {
  FailureOr<int64_t> rounds = args.integer(index);
  if (succeeded(rounds) && (*rounds < 1 || *rounds > 100))
    return args.error("n_rounds is " + Twine(*rounds), "10 is the usual number");
  return rounds;
}

FailureOr<Counters> philox(Arguments &args, const Operand &seedOperand, Counters c,
                           int64_t rounds) {
  Semantics &sema = args.sema;
  FailureOr<Value> seed = sema.toValue(seedOperand, (args.operation + ": `seed`").str());
  if (failed(seed))
    return failure();
  if (!seed->type.dtype.isInt())
    return args.error("`seed` should be an integer, not " + args.sema.nameOf(seed->type));
  for (const Value &counter : c)
    if (!counter.type.dtype.isInt() || counter.type.dtype.bits() != c[0].type.dtype.bits() ||
        counter.type.dtype.bits() < 32)
      return args.error("counters should be 32- or 64-bit integers of one width, found " +
                        args.sema.nameOf(counter.type));
  Computation compute(sema);
  Value wide = compute.cast(*seed, kUInt64);
  bool isNarrow = c[0].type.dtype.bits() == 32;
  Value k0 = wide, k1;
  if (isNarrow) {
    Value high = compute.binary(BinaryOperator::ShiftRight, wide, Constant::integer(32));
    k1 = compute.cast(high, kUInt32);
    k0 = compute.cast(wide, kUInt32);
  } else {
    k1 = sema.zero(wide.type);
  }
  for (Value &counter : c)
    counter = compute.cast(counter, isNarrow ? kUInt32 : kUInt64, /*bitcast=*/true);
  if (compute.failing())
    return failure();
  return philoxRounds(sema, c, k0, k1, rounds);
}

/// The counters for `offset`: its low and high word, then zeros.
FailureOr<Counters> randomCounters(Arguments &args) {
  Semantics &sema = args.sema;
  FailureOr<int64_t> rounds = roundCount(args, 2);
  if (failed(rounds))
    return failure();
  FailureOr<Value> offset = args.value(1);
  if (failed(offset))
    return failure();
  if (!offset->type.dtype.isInt())
    return args.error("`offset` should hold integers, not " + args.sema.nameOf(offset->type));
  Computation compute(sema);
  Value low = compute.cast(*offset, kUInt32);
  Value zero = sema.zero(low.type), high = zero;
  if (offset->type.dtype.bits() > 32)
    high = compute.cast(compute.binary(BinaryOperator::ShiftRight, *offset, Constant::integer(32)),
                        kUInt32);
  if (compute.failing())
    return failure();
  return philox(args, args[0], {low, high, zero, zero}, *rounds);
}

/// Uniform in [0, 1): the integer as signed, its sign folded, scaled so that the largest stays
/// below 1.
Value uniform(Computation &compute, Value x) {
  bool isNarrow = x.type.dtype.bits() == 32;
  x = compute.cast(x, DType::scalar(isNarrow ? ScalarKind::Int32 : ScalarKind::Int64), true);
  double scale = isNarrow ? 4.6566127342e-10 : 1.0842020432385337e-19;
  Value isNegative = compute.binary(BinaryOperator::Less, x, Constant::integer(0));
  Value folded = compute.binary(BinaryOperator::Subtract, compute.negate(x), Constant::integer(1));
  Value magnitude = compute.call("where", {isNegative, folded, x});
  return compute.binary(BinaryOperator::Multiply, magnitude, Constant{scale});
}

/// Box and Muller's transform.
std::pair<Value, Value> normals(Computation &compute, Value u1, const Value &u2) {
  u1 = compute.call("maximum", {Operand(Constant{1.0e-7}), u1});
  Value angle = compute.binary(BinaryOperator::Multiply, Constant{6.283185307179586}, u2);
  Value logarithm = compute.call("log", {u1});
  Value radius =
      compute.call("sqrt", {compute.binary(BinaryOperator::Multiply, Constant{-2.0}, logarithm)});
  Value cosine = compute.call("cos", {angle});
  Value first = compute.binary(BinaryOperator::Multiply, radius, cosine);
  Value sine = compute.call("sin", {angle});
  return {first, compute.binary(BinaryOperator::Multiply, radius, sine)};
}

FailureOr<Operand> finish(const Computation &compute, std::vector<Operand> results) {
  if (compute.failing())
    return failure();
  return results.size() == 1 ? results.front() : Operand::tuple(std::move(results));
}

/// randint and friends: counters, then `convert` on the first of them.
FailureOr<Operand> random(Arguments &args,
                          std::vector<Operand> (*convert)(Computation &, const Counters &)) {
  FailureOr<Counters> counters = randomCounters(args);
  if (failed(counters))
    return failure();
  Computation compute(args.sema);
  std::vector<Operand> results = convert(compute, *counters);
  return finish(compute, std::move(results));
}

std::vector<Operand> allIntegers(Computation &, const Counters &c) {
  return {c[0], c[1], c[2], c[3]};
}
std::vector<Operand> oneInteger(Computation &, const Counters &c) {
  return {c[0]};
}
std::vector<Operand> oneUniform(Computation &compute, const Counters &c) {
  return {uniform(compute, c[0])};
}
std::vector<Operand> allUniforms(Computation &compute, const Counters &c) {
  std::vector<Operand> results;
  for (const Value &counter : c)
    results.push_back(uniform(compute, counter));
  return results;
}
std::vector<Operand> oneNormal(Computation &compute, const Counters &c) {
  Value u1 = uniform(compute, c[0]);
  Value u2 = uniform(compute, c[1]);
  return {normals(compute, u1, u2).first};
}
std::vector<Operand> allNormals(Computation &compute, const Counters &c) {
  std::array<Value, 4> u;
  for (size_t i = 0; i < 4; ++i)
    u[i] = uniform(compute, c[i]);
  auto [n1, n2] = normals(compute, u[0], u[1]);
  auto [n3, n4] = normals(compute, u[2], u[3]);
  return {n1, n2, n3, n4};
}

FailureOr<Operand> philoxOp(Arguments &args) {
  FailureOr<int64_t> rounds = roundCount(args, 5);
  if (failed(rounds))
    return failure();
  Counters c;
  for (size_t i = 0; i < 4; ++i) {
    FailureOr<Value> counter = args.value(i + 1);
    if (failed(counter))
      return failure();
    c[i] = *counter;
  }
  FailureOr<Counters> result = philox(args, args[0], c, *rounds);
  if (failed(result))
    return failure();
  Computation compute(args.sema);
  return finish(compute, allIntegers(compute, *result));
}

FailureOr<Operand> philoxImplementation(Arguments &args) {
  FailureOr<int64_t> rounds = roundCount(args, 6);
  if (failed(rounds))
    return failure();
  std::array<Value, 6> words;
  for (size_t i = 0; i < 6; ++i) {
    FailureOr<Value> word = args.value(i);
    if (failed(word))
      return failure();
    words[i] = *word;
    if (words[i].type.dtype != words[0].type.dtype ||
        (words[0].type.dtype != kUInt32 && words[0].type.dtype != kUInt64))
      return args.error("counters and keys should all be u32, or all u64, found " +
                        args.sema.nameOf(words[i].type));
  }
  FailureOr<Counters> result = philoxRounds(args.sema, {words[0], words[1], words[2], words[3]},
                                            words[4], words[5], *rounds);
  if (failed(result))
    return failure();
  Computation compute(args.sema);
  return finish(compute, allIntegers(compute, *result));
}

} // namespace

void addRandomOps(BuiltinTable &table) {
  table.add("philox(seed, c0, c1, c2, c3, n_rounds=10)", philoxOp);
  table.add("philox_impl(c0, c1, c2, c3, k0, k1, n_rounds=10)", philoxImplementation);
  table.add("randint(seed, offset, n_rounds=10)",
            [](Arguments &args) { return random(args, oneInteger); });
  table.add("randint4x(seed, offset, n_rounds=10)",
            [](Arguments &args) { return random(args, allIntegers); });
  table.add("rand(seed, offset, n_rounds=10)",
            [](Arguments &args) { return random(args, oneUniform); });
  table.add("rand4x(seed, offsets, n_rounds=10)",
            [](Arguments &args) { return random(args, allUniforms); });
  table.add("randn(seed, offset, n_rounds=10)",
            [](Arguments &args) { return random(args, oneNormal); });
  table.add("randn4x(seed, offset, n_rounds=10)",
            [](Arguments &args) { return random(args, allNormals); });
  table.add("uint_to_uniform_float(x)", [](Arguments &args) -> FailureOr<Operand> {
    FailureOr<Value> x = args.value(0);
    if (failed(x))
      return failure();
    if (!x->type.dtype.isInt() || x->type.dtype.bits() < 32)
      return args.error("32- or 64-bit integers expected, found " + args.sema.nameOf(x->type));
    Computation compute(args.sema);
    Value result = uniform(compute, *x);
    return finish(compute, {result});
  });
  table.add("pair_uniform_to_normal(u1, u2)", [](Arguments &args) -> FailureOr<Operand> {
    FailureOr<Value> u1 = args.value(0);
    if (failed(u1))
      return failure();
    FailureOr<Value> u2 = args.value(1);
    if (failed(u2))
      return failure();
    Computation compute(args.sema);
    auto [first, second] = normals(compute, *u1, *u2);
    return finish(compute, {first, second});
  });
}

} // namespace sectile::lang
