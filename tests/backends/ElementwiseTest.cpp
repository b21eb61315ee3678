// Every elementwise operation on every element type, through the whole CPU back end: as tiles of an
// odd extent and as scalars, at every CPU level, against exact integers and doubles. Numbers of
// narrow types are made and read by llvm::APFloat, not by our own conversions.
#include "HostCode.h"
#include "HostKernelHarness.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/APSInt.h"

#include <cmath>
#include <functional>
#include <limits>
#include <random>

using namespace sectile;
using namespace sectile::testing;
using llvm::APFloat;
using llvm::APInt;

namespace {

struct Type {
  const char *name;
  unsigned bits;
  const llvm::fltSemantics *semantics; // null: an integer
  bool isFloat() const { return semantics; }
  unsigned bytes() const { return bits == 1 ? 1 : bits / 8; }
};

const Type i1{"i1", 1, nullptr};
const Type integers[] = {
    {"i8", 8, nullptr}, {"i16", 16, nullptr}, {"i32", 32, nullptr}, {"i64", 64, nullptr}};
const Type floats[] = {{"f64", 64, &APFloat::IEEEdouble()},
                       {"f32", 32, &APFloat::IEEEsingle()},
                       {"f16", 16, &APFloat::IEEEhalf()},
                       {"bf16", 16, &APFloat::BFloat()},
                       {"f8E4M3FN", 8, &APFloat::Float8E4M3FN()},
                       {"f8E5M2", 8, &APFloat::Float8E5M2()},
                       {"f8E4M3FNUZ", 8, &APFloat::Float8E4M3FNUZ()},
                       {"f8E5M2FNUZ", 8, &APFloat::Float8E5M2FNUZ()}};

void PrintTo(const Type &type, std::ostream *out) {
  *out << type.name;
}

double decode(const Type &type, uint64_t bits) {
  APFloat value(*type.semantics, APInt(type.bits, bits));
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}
uint64_t encode(const Type &type, double number) {
  APFloat value(number);
  bool losesInfo;
  value.convert(*type.semantics, APFloat::rmNearestTiesToEven, &losesInfo);
  if (type.bits == 8 && !std::isnan(number) && !value.isFinite()) // fp8 saturates
    value = APFloat::getLargest(*type.semantics, std::signbit(number));
  return value.bitcastToAPInt().getZExtValue();
}

/// Elements as bit patterns, stored densely.
struct Array {
  Type type;
  std::vector<uint8_t> bytes;
  Array(const Type &type, size_t count) : type(type), bytes(count * type.bytes(), 0xa5) {}
  uint64_t get(size_t k) const {
    uint64_t bits = 0;
    memcpy(&bits, bytes.data() + k * type.bytes(), type.bytes());
    return bits;
  }
  void set(size_t k, uint64_t bits) {
    memcpy(bytes.data() + k * type.bytes(), &bits, type.bytes());
  }
};

struct Op {
  std::string text; // "arith.addi %x, %y : T"; the result is %r, or the second of %r0, %r
  Type result;
  /// From the operands' bits to the result's.
  std::function<uint64_t(uint64_t, uint64_t, uint64_t)> reference;
  /// Of float results, in units in the last place of the result's type.
  double tolerance = 0;
};

std::string replaceAll(std::string text, const std::string &from, const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

constexpr int kExtent = 37; // two vectors and a bit, on every machine

/// One kernel with all the ops: three inputs, one output each.
std::string kernelText(const Type &source, const std::vector<Op> &ops, bool isTile) {
  std::string text = "func.func @k(%xp: !tile.ptr<S>, %yp: !tile.ptr<S>, %zp: !tile.ptr<S>";
  for (size_t n = 0; n < ops.size(); ++n)
    text += ", %o" + std::to_string(n) + ": !tile.ptr<" + ops[n].result.name + ">";
  text += ") attributes {tile.kernel} {\n  %pid = tile.program_id 0\n";
  std::string extent = std::to_string(kExtent);
  auto shaped = [&](const std::string &element) {
    return isTile ? "tensor<" + extent + "x" + element + ">" : element;
  };
  if (isTile)
    text += "  %c = arith.constant " + extent +
            " : i32\n  %start = arith.muli %pid, %c : i32\n"
            "  %a = tile.arange 0, " +
            extent + " : tensor<" + extent +
            "xi32>\n"
            "  %s = tile.splat %start : i32 -> tensor<" +
            extent +
            "xi32>\n"
            "  %i = arith.addi %s, %a : tensor<" +
            extent + "xi32>\n";
  auto address = [&](const std::string &pointer, const std::string &element) {
    std::string type = "!tile.ptr<" + element + ">", made;
    if (!isTile)
      return "  " + pointer + "q = tile.ptr_add " + pointer + ", %pid : " + type + ", i32\n";
    return "  " + pointer + "s = tile.splat " + pointer + " : " + type + " -> " + shaped(type) +
           "\n  " + pointer + "q = tile.ptr_add " + pointer + "s, %i : " + shaped(type) + ", " +
           shaped("i32") + "\n";
  };
  for (const char *name : {"x", "y", "z"}) {
    std::string pointer = std::string("%") + name + "p";
    text += address(pointer, "S") + "  %" + name + " = tile.load " + pointer +
            "q : " + shaped("!tile.ptr<S>") + "\n";
  }
  for (size_t n = 0; n < ops.size(); ++n) {
    std::string number = std::to_string(n), pointer = "%o" + number;
    std::string op = replaceAll(ops[n].text, "%r", "%r" + number + "_");
    op = replaceAll(op, " T", " " + shaped(source.name));
    op = replaceAll(op, " R", " " + shaped(ops[n].result.name));
    op = replaceAll(op, " C(", isTile ? " dense<" : " ");
    op = replaceAll(op, ")C", isTile ? ">" : "");
    op = replaceAll(op, " I1", " " + shaped("i1"));
    op = replaceAll(op, "%t", "%t" + number + "_");
    text += "  " + op + "\n" + address(pointer, ops[n].result.name) + "  tile.store " + pointer +
            "q, %r" + number +
            "_ : " + shaped(std::string("!tile.ptr<") + ops[n].result.name + ">") + "\n";
  }
  text += "  return\n}";
  return replaceAll(replaceAll(text, "<S>", std::string("<") + source.name + ">"), "xS>",
                    std::string("x") + source.name + ">");
}

double ulpOf(const Type &type, double reference) {
  int minExponent = APFloat::semanticsMinExponent(*type.semantics);
  int precision = APFloat::semanticsPrecision(*type.semantics);
  int exponent = reference == 0 ? minExponent : std::max(std::ilogb(reference), minExponent);
  return std::ldexp(1.0, exponent - precision + 1);
}

bool matches(const Op &op, uint64_t actual, uint64_t expected) {
  if (!op.result.isFloat())
    return actual == expected;
  double a = decode(op.result, actual), e = decode(op.result, expected);
  if (std::isnan(a) || std::isnan(e))
    return std::isnan(a) && std::isnan(e);
  if (a == e)
    return true;
  // With tolerance, the largest number and infinity are neighbours.
  return op.tolerance && std::isfinite(e) && std::isfinite(a) &&
         std::fabs(a - e) <= op.tolerance * ulpOf(op.result, e);
}

void check(const Type &source, const std::vector<Op> &ops, const std::vector<uint64_t> &special,
           const std::function<uint64_t(std::mt19937_64 &)> &draw) {
  size_t count = (special.size() * special.size() + 200 + kExtent - 1) / kExtent * kExtent;
  Array x(source, count), y(source, count), z(source, count);
  std::mt19937_64 random(1);
  for (size_t k = 0; k < count; ++k) {
    size_t n = special.size();
    bool isSpecial = k < n * n;
    x.set(k, isSpecial ? special[k % n] : draw(random));
    y.set(k, isSpecial ? special[k / n] : draw(random));
    z.set(k, isSpecial ? special[(k * 7) % n] : draw(random));
  }
  for (const cpu::HostFeatures &host : runnableLevels())
    for (bool isTile : {true, false}) {
      backends::CompileOptions options;
      if (llvm::StringRef(host.name).starts_with("x86-64"))
        options.arch = host.name;
      SCOPED_TRACE(std::string(source.name) + (isTile ? " tiles " : " scalars ") + host.name);
      std::string text = kernelText(source, ops, isTile);
      HostKernelUnderTest kernel(text, options);
      ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics() << text;
      std::vector<Array> outputs;
      std::vector<HostArgument> arguments = {argument(x.bytes), argument(y.bytes),
                                             argument(z.bytes)};
      for (const Op &op : ops)
        outputs.emplace_back(op.result, count);
      for (Array &output : outputs)
        arguments.push_back(argument(output.bytes));
      ASSERT_EQ(kernel.run({int32_t(isTile ? count / kExtent : count)}, arguments), 0);
      for (auto [op, output] : llvm::zip(ops, outputs))
        for (size_t k = 0; k < count; ++k) {
          uint64_t expected = op.reference(x.get(k), y.get(k), z.get(k));
          if (matches(op, output.get(k), expected))
            continue;
          ADD_FAILURE() << op.text << " of " << x.get(k) << ", " << y.get(k) << ", " << z.get(k)
                        << " gave " << output.get(k) << ", not " << expected
                        << (source.isFloat()
                                ? " (x = " + std::to_string(decode(source, x.get(k))) +
                                      ", y = " + std::to_string(decode(source, y.get(k))) + ")"
                                : "");
          break;
        }
    }
}

//===-- integers ------------------------------------------------------------------------------===//

class IntegerElementwise : public ::testing::TestWithParam<Type> {};

std::vector<uint64_t> specialIntegers(const Type &t) {
  uint64_t mask = t.bits == 64 ? ~uint64_t(0) : (uint64_t(1) << t.bits) - 1, top = uint64_t(1)
                                                                                   << (t.bits - 1);
  return {0, 1, 2, 3, 7, mask, mask - 1, top, top - 1, top + 1, 10, mask - 9};
}
uint64_t drawInteger(const Type &t, std::mt19937_64 &random) {
  uint64_t bits = random() >> (random() % t.bits);
  return t.bits == 64 ? bits : bits & ((uint64_t(1) << t.bits) - 1);
}

/// The quotient or the remainder: of a division by zero all ones and the dividend, of the smallest
/// number by -1 that number and 0.
APInt divided(const APInt &x, const APInt &y, bool isSigned, bool wantsRemainder) {
  if (y.isZero())
    return wantsRemainder ? x : APInt::getAllOnes(x.getBitWidth());
  if (isSigned && x.isMinSignedValue() && y.isAllOnes())
    return wantsRemainder ? APInt(x.getBitWidth(), 0) : x;
  if (wantsRemainder)
    return isSigned ? x.srem(y) : x.urem(y);
  return isSigned ? x.sdiv(y) : x.udiv(y);
}

TEST_P(IntegerElementwise, operations) {
  const Type t = GetParam();
  std::vector<Op> ops;
  auto binary = [&](const std::string &name, std::function<APInt(APInt, APInt)> reference) {
    ops.push_back({"%r = " + name + " %x, %y : T", t, [=](uint64_t x, uint64_t y, uint64_t) {
                     return reference(APInt(t.bits, x), APInt(t.bits, y)).getZExtValue();
                   }});
  };
  auto unary = [&](const std::string &name, std::function<APInt(APInt)> reference) {
    ops.push_back({"%r = " + name + " %x : T", t, [=](uint64_t x, uint64_t, uint64_t) {
                     return reference(APInt(t.bits, x)).getZExtValue();
                   }});
  };
  auto compare = [&](const std::string &name, std::function<bool(APInt, APInt)> reference) {
    ops.push_back(
        {"%r = arith.cmpi " + name + ", %x, %y : T", i1, [=](uint64_t x, uint64_t y, uint64_t) {
           return uint64_t(reference(APInt(t.bits, x), APInt(t.bits, y)));
         }});
  };
  binary("arith.addi", [](APInt x, APInt y) { return x + y; });
  binary("arith.subi", [](APInt x, APInt y) { return x - y; });
  binary("arith.muli", [](APInt x, APInt y) { return x * y; });
  binary("arith.andi", [](APInt x, APInt y) { return x & y; });
  binary("arith.ori", [](APInt x, APInt y) { return x | y; });
  binary("arith.xori", [](APInt x, APInt y) { return x ^ y; });
  binary("arith.divsi", [](APInt x, APInt y) { return divided(x, y, true, false); });
  binary("arith.remsi", [](APInt x, APInt y) { return divided(x, y, true, true); });
  binary("arith.divui", [](APInt x, APInt y) { return divided(x, y, false, false); });
  binary("arith.remui", [](APInt x, APInt y) { return divided(x, y, false, true); });
  binary("arith.maxsi", [](APInt x, APInt y) { return x.sgt(y) ? x : y; });
  binary("arith.minsi", [](APInt x, APInt y) { return x.slt(y) ? x : y; });
  binary("arith.maxui", [](APInt x, APInt y) { return x.ugt(y) ? x : y; });
  binary("arith.minui", [](APInt x, APInt y) { return x.ult(y) ? x : y; });
  unary("math.absi", [](APInt x) { return x.abs(); });
  unary("math.ctpop", [](APInt x) { return APInt(x.getBitWidth(), x.popcount()); });
  unary("math.ctlz", [](APInt x) { return APInt(x.getBitWidth(), x.countl_zero()); });
  unary("math.cttz", [](APInt x) { return APInt(x.getBitWidth(), x.countr_zero()); });
  compare("eq", [](APInt x, APInt y) { return x == y; });
  compare("ne", [](APInt x, APInt y) { return x != y; });
  compare("slt", [](APInt x, APInt y) { return x.slt(y); });
  compare("sge", [](APInt x, APInt y) { return x.sge(y); });
  compare("ult", [](APInt x, APInt y) { return x.ult(y); });
  compare("ugt", [](APInt x, APInt y) { return x.ugt(y); });
  check(t, ops, specialIntegers(t), [&](auto &random) { return drawInteger(t, random); });
}

TEST_P(IntegerElementwise, shifts_products_and_choices) {
  const Type t = GetParam();
  std::vector<Op> ops;
  auto product = [&](const std::string &name, bool isSigned) {
    ops.push_back({"%r0, %r = " + name + " %x, %y : T", t, [=](uint64_t x, uint64_t y, uint64_t) {
                     unsigned wide = 2 * t.bits;
                     APInt a(t.bits, x), b(t.bits, y);
                     APInt p = isSigned ? a.sext(wide) * b.sext(wide) : a.zext(wide) * b.zext(wide);
                     return p.lshr(t.bits).trunc(t.bits).getZExtValue();
                   }});
  };
  product("arith.mulsi_extended", true);
  product("arith.mului_extended", false);
  ops.push_back({"%t = arith.cmpi slt, %x, %y : T\n  %r = arith.select %t, %y, %z : I1, T", t,
                 [=](uint64_t x, uint64_t y, uint64_t z) {
                   return APInt(t.bits, x).slt(APInt(t.bits, y)) ? y : z;
                 }});
  // Amounts below the width: half the set bits of y, or of z.
  for (auto [name, kind] : {std::pair("arith.shli", 0), {"arith.shrsi", 1}, {"arith.shrui", 2}})
    ops.push_back({"%t0 = arith.xori %x, %x : T\n  %t1 = math.ctpop %y : T\n  %t2 = arith.cmpi eq, "
                   "%y, %t0 : T\n"
                   "  %t3 = math.ctpop %z : T\n  %t4 = arith.select %t2, %t3, %t1 : I1, T\n"
                   "  %t5 = arith.shrui %t4, %tone : T\n  %r = " +
                       std::string(name) + " %x, %t5 : T",
                   t, [=, kind = kind](uint64_t x, uint64_t y, uint64_t z) {
                     APInt a(t.bits, x);
                     unsigned amount = unsigned(APInt(t.bits, y ? y : z).popcount()) >> 1;
                     return (kind == 0   ? a.shl(amount)
                             : kind == 1 ? a.ashr(amount)
                                         : a.lshr(amount))
                         .getZExtValue();
                   }});
  for (Op &op : ops) // a tile of ones
    op.text = op.text.find("%tone") == std::string::npos
                  ? op.text
                  : "%tall = arith.subi %x, %x : T\n  %tn = arith.cmpi eq, %tall, %tall : T\n"
                    "  %tone = arith.extui %tn : I1 to T\n  " +
                        op.text;
  check(t, ops, specialIntegers(t), [&](auto &random) { return drawInteger(t, random); });
}

// Zero, too, must neither trap nor spoil other lanes.
TEST_P(IntegerElementwise, division_by_constants) {
  const Type t = GetParam();
  std::vector<Op> ops;
  for (int64_t divisor : {0, 1, -1, 2, 7, -10, 64, 100, -128})
    for (auto [name, kind] : {std::pair("divsi", 0), {"remsi", 1}, {"divui", 2}, {"remui", 3}})
      ops.push_back({"%tc = arith.constant C(" + std::to_string(divisor) + ")C : T\n  %r = arith." +
                         name + " %x, %tc : T",
                     t, [=, kind = kind](uint64_t bits, uint64_t, uint64_t) {
                       APInt x(t.bits, bits), y(t.bits, uint64_t(divisor), true, true);
                       return divided(x, y, kind < 2, kind % 2).getZExtValue();
                     }});
  check(t, ops, specialIntegers(t), [&](auto &random) { return drawInteger(t, random); });
}

// Amounts of the width and more shift everything out.
TEST_P(IntegerElementwise, shifts_by_any_amount) {
  const Type t = GetParam();
  std::vector<Op> ops;
  for (auto [name, kind] : {std::pair("shli", 0), {"shrsi", 1}, {"shrui", 2}}) {
    auto reference = [=, kind = kind](uint64_t x, uint64_t amount) {
      APInt a(t.bits, x);
      unsigned by = unsigned(std::min<uint64_t>(amount, t.bits));
      return (kind == 0 ? a.shl(by) : kind == 1 ? a.ashr(by) : a.lshr(by)).getZExtValue();
    };
    ops.push_back({std::string("%r = arith.") + name + " %x, %y : T", t,
                   [=](uint64_t x, uint64_t y, uint64_t) { return reference(x, y); }});
    for (unsigned amount : {1u, t.bits - 1, t.bits, t.bits + 1})
      ops.push_back({"%tc = arith.constant C(" + std::to_string(amount) + ")C : T\n  %r = arith." +
                         name + " %x, %tc : T",
                     t, [=](uint64_t x, uint64_t, uint64_t) { return reference(x, amount); }});
  }
  check(t, ops, specialIntegers(t), [&](auto &random) { return drawInteger(t, random); });
}

TEST_P(IntegerElementwise, casts) {
  const Type t = GetParam();
  std::vector<Op> ops;
  for (const Type &to : integers) {
    if (to.bits < t.bits)
      ops.push_back({"%r = arith.trunci %x : T to R", to, [=](uint64_t x, uint64_t, uint64_t) {
                       return APInt(t.bits, x).trunc(to.bits).getZExtValue();
                     }});
    if (to.bits > t.bits)
      for (bool isSigned : {true, false})
        ops.push_back({std::string("%r = arith.ext") + (isSigned ? "s" : "u") + "i %x : T to R", to,
                       [=](uint64_t x, uint64_t, uint64_t) {
                         APInt a(t.bits, x);
                         return (isSigned ? a.sext(to.bits) : a.zext(to.bits)).getZExtValue();
                       }});
  }
  for (const Type &to : floats)
    for (bool isSigned : {true, false})
      ops.push_back(
          {std::string("%r = arith.") + (isSigned ? "s" : "u") + "itofp %x : T to R", to,
           [=](uint64_t x, uint64_t, uint64_t) {
             APFloat value(*to.semantics);
             value.convertFromAPInt(APInt(t.bits, x), isSigned, APFloat::rmNearestTiesToEven);
             if (to.bits == 8 && !value.isFinite()) // fp8 saturates
               value =
                   APFloat::getLargest(*to.semantics, isSigned && APInt(t.bits, x).isNegative());
             return value.bitcastToAPInt().getZExtValue();
           }});
  check(t, ops, specialIntegers(t), [&](auto &random) { return drawInteger(t, random); });
}

//===-- floats --------------------------------------------------------------------------------===//

class FloatElementwise : public ::testing::TestWithParam<Type> {};

std::vector<uint64_t> specialFloats(const Type &t) {
  std::vector<uint64_t> result;
  const double infinity = std::numeric_limits<double>::infinity();
  for (double x : {0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -2.5, 1e30, -1e-3, 100.0, infinity, -infinity,
                   std::nan("")})
    result.push_back(encode(t, x));
  result.push_back(1); // the smallest subnormal number
  result.push_back(APFloat::getLargest(*t.semantics).bitcastToAPInt().getZExtValue());
  return result;
}
uint64_t drawFloat(const Type &t, std::mt19937_64 &random) {
  std::uniform_real_distribution<double> unit(-2, 2);
  return encode(t, std::ldexp(unit(random), int(random() % 12) - 6));
}

TEST_P(FloatElementwise, operations) {
  const Type t = GetParam();
  std::vector<Op> ops;
  auto binary = [&](const std::string &name, std::function<double(double, double)> reference,
                    double tolerance = 0) {
    ops.push_back({"%r = " + name + " %x, %y : T", t,
                   [=](uint64_t x, uint64_t y, uint64_t) {
                     return encode(t, reference(decode(t, x), decode(t, y)));
                   },
                   tolerance});
  };
  auto compare = [&](const std::string &name, std::function<bool(double, double)> reference) {
    ops.push_back(
        {"%r = arith.cmpf " + name + ", %x, %y : T", i1, [=](uint64_t x, uint64_t y, uint64_t) {
           return uint64_t(reference(decode(t, x), decode(t, y)));
         }});
  };
  auto anyNan = [](double x, double y) { return std::isnan(x) || std::isnan(y); };
  binary("arith.addf", [](double x, double y) { return x + y; });
  binary("arith.subf", [](double x, double y) { return x - y; });
  binary("arith.mulf", [](double x, double y) { return x * y; });
  binary("arith.divf", [](double x, double y) { return x / y; });
  binary("arith.remf", [](double x, double y) { return std::fmod(x, y); });
  binary("arith.maximumf",
         [=](double x, double y) { return anyNan(x, y) ? std::nan("") : std::fmax(x, y); });
  binary("arith.minimumf",
         [=](double x, double y) { return anyNan(x, y) ? std::nan("") : std::fmin(x, y); });
  binary("arith.maxnumf", [](double x, double y) { return std::fmax(x, y); });
  binary("arith.minnumf", [](double x, double y) { return std::fmin(x, y); });
  binary("math.copysign", [](double x, double y) { return std::copysign(x, y); });
  ops.push_back({"%r = arith.negf %x : T", t,
                 [=](uint64_t x, uint64_t, uint64_t) { return encode(t, -decode(t, x)); }});
  compare("oeq", [](double x, double y) { return x == y; });
  compare("one", [=](double x, double y) { return x < y || x > y; });
  compare("une", [](double x, double y) { return x != y; });
  compare("olt", [](double x, double y) { return x < y; });
  compare("ole", [](double x, double y) { return x <= y; });
  compare("ogt", [](double x, double y) { return x > y; });
  compare("oge", [](double x, double y) { return x >= y; });
  compare("uno", anyNan);
  compare("ult", [](double x, double y) { return !(x >= y); });
  check(t, ops, specialFloats(t), [&](auto &random) { return drawFloat(t, random); });
}

TEST_P(FloatElementwise, functions) {
  const Type t = GetParam();
  std::vector<Op> ops;
  // In narrow types a result near a tie may round either way.
  double slack = t.bits == 64 ? 4 : t.bits == 32 ? 2.5 : 1;
  auto unary = [&](const std::string &name, std::function<double(double)> reference,
                   double tolerance) {
    ops.push_back(
        {"%r = math." + name + " %x : T", t,
         [=](uint64_t x, uint64_t, uint64_t) { return encode(t, reference(decode(t, x))); },
         tolerance});
  };
  unary("exp", [](double x) { return std::exp(x); }, slack);
  unary("exp2", [](double x) { return std::exp2(x); }, slack);
  unary("expm1", [](double x) { return std::expm1(x); }, slack);
  unary("log", [](double x) { return std::log(x); }, slack);
  unary("log2", [](double x) { return std::log2(x); }, slack);
  unary("log10", [](double x) { return std::log10(x); }, slack);
  unary("log1p", [](double x) { return std::log1p(x); }, slack);
  unary("sin", [](double x) { return std::sin(x); }, slack);
  unary("cos", [](double x) { return std::cos(x); }, slack);
  unary("tan", [](double x) { return std::tan(x); }, slack);
  unary("asin", [](double x) { return std::asin(x); }, slack);
  unary("acos", [](double x) { return std::acos(x); }, slack);
  unary("atan", [](double x) { return std::atan(x); }, slack);
  unary("sinh", [](double x) { return std::sinh(x); }, slack);
  unary("cosh", [](double x) { return std::cosh(x); }, slack);
  unary("tanh", [](double x) { return std::tanh(x); }, slack);
  unary("asinh", [](double x) { return std::asinh(x); }, slack);
  unary("acosh", [](double x) { return std::acosh(x); }, slack);
  unary("atanh", [](double x) { return std::atanh(x); }, slack);
  unary("erf", [](double x) { return std::erf(x); }, slack);
  unary("erfc", [](double x) { return std::erfc(x); }, slack);
  unary("cbrt", [](double x) { return std::cbrt(x); }, slack);
  unary("rsqrt", [](double x) { return 1 / std::sqrt(x); }, slack);
  unary("sqrt", [](double x) { return std::sqrt(x); }, 0);
  unary("absf", [](double x) { return std::fabs(x); }, 0);
  unary("floor", [](double x) { return std::floor(x); }, 0);
  unary("ceil", [](double x) { return std::ceil(x); }, 0);
  unary("trunc", [](double x) { return std::trunc(x); }, 0);
  unary("round", [](double x) { return std::round(x); }, 0);
  unary("roundeven", [](double x) { return std::nearbyint(x); }, 0);
  auto predicate = [&](const std::string &name, std::function<bool(double)> reference) {
    ops.push_back({"%r = math." + name + " %x : T", i1, [=](uint64_t x, uint64_t, uint64_t) {
                     return uint64_t(reference(decode(t, x)));
                   }});
  };
  predicate("isnan", [](double x) { return std::isnan(x); });
  predicate("isinf", [](double x) { return std::isinf(x); });
  predicate("isfinite", [](double x) { return std::isfinite(x); });
  auto binary = [&](const std::string &name, std::function<double(double, double)> reference) {
    ops.push_back({"%r = math." + name + " %x, %y : T", t,
                   [=](uint64_t x, uint64_t y, uint64_t) {
                     return encode(t, reference(decode(t, x), decode(t, y)));
                   },
                   slack});
  };
  binary("powf", [](double x, double y) { return std::pow(x, y); });
  binary("atan2", [](double x, double y) { return std::atan2(x, y); });
  // Of f64 without the instruction, results that underflow are rounded twice.
  ops.push_back({"%r = math.fma %x, %y, %z : T", t,
                 [=](uint64_t x, uint64_t y, uint64_t z) {
                   if (t.bits == 32)
                     return encode(t, std::fma(float(decode(t, x)), float(decode(t, y)),
                                               float(decode(t, z))));
                   return encode(t, std::fma(decode(t, x), decode(t, y), decode(t, z)));
                 },
                 t.bits == 32 ? 0.0 : 1.0});
  check(t, ops, specialFloats(t), [&](auto &random) { return drawFloat(t, random); });
}

TEST_P(FloatElementwise, casts) {
  const Type t = GetParam();
  std::vector<Op> ops;
  for (const Type &to : floats)
    if (to.bits != t.bits)
      ops.push_back({to.bits > t.bits ? "%r = arith.extf %x : T to R"
                     : to.bits == 8   ? "%r = tile.narrow %x : T -> R"
                                      : "%r = arith.truncf %x : T to R",
                     to, [=](uint64_t x, uint64_t, uint64_t) { return encode(to, decode(t, x)); }});
  for (const Type &to : integers) {
    for (bool isSigned : {true, false})
      ops.push_back({std::string("%r = arith.fpto") + (isSigned ? "s" : "u") + "i %x : T to R", to,
                     [=](uint64_t x, uint64_t, uint64_t) {
                       double value = decode(t, x);
                       llvm::APSInt result(to.bits, !isSigned);
                       bool isExact;
                       if (std::isnan(value))
                         return uint64_t(0);
                       APFloat(value).convertToInteger(result, APFloat::rmTowardZero,
                                                       &isExact); // saturates
                       return result.getZExtValue();
                     }});
    if (to.bits == t.bits)
      ops.push_back({"%r = arith.bitcast %x : T to R", to, [=](uint64_t x, uint64_t, uint64_t) {
                       // Narrow NaNs pass through f32 and may change their payload.
                       return x;
                     }});
  }
  std::vector<uint64_t> special = specialFloats(t);
  if (t.bits < 32) // bitcast: see above
    llvm::erase_if(special, [&](uint64_t bits) { return std::isnan(decode(t, bits)); });
  check(t, ops, special, [&](auto &random) { return drawFloat(t, random); });
}

// Lanes past a tile's extent compute whatever they like, but may not read.
TEST(MaskedLoads, lanes_past_the_extent_read_nothing) {
  HostKernelUnderTest kernel(R"(
func.func @k(%p: !tile.ptr<f32>, %out: !tile.ptr<f32>, %n: i32) attributes {tile.kernel} {
  %i = tile.arange 0, 37 : tensor<37xi32>
  %ns = tile.splat %n : i32 -> tensor<37xi32>
  %m = arith.cmpi sge, %i, %ns : tensor<37xi32>
  %other = arith.constant dense<5.0> : tensor<37xf32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<37x!tile.ptr<f32>>
  %x = tile.load %ps, %m, %other : tensor<37x!tile.ptr<f32>>
  %q = tile.ptr_add %ps, %i : tensor<37x!tile.ptr<f32>>, tensor<37xi32>
  %y = tile.load %q, %m, %other : tensor<37x!tile.ptr<f32>>
  %s = arith.addf %x, %y : tensor<37xf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<37x!tile.ptr<f32>>
  %oq = tile.ptr_add %os, %i : tensor<37x!tile.ptr<f32>>, tensor<37xi32>
  tile.store %oq, %s : tensor<37x!tile.ptr<f32>>
  return
})");
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  std::vector<float> out(40, -7.0f);
  ASSERT_EQ(kernel.run({1}, {argument(uint64_t(0)), argument(out), argument(int32_t(37))}), 0);
  for (int k = 0; k < 40; ++k)
    EXPECT_EQ(out[k], k < 37 ? 10.0f : -7.0f) << k;
}

auto nameOf = [](const auto &info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Cpu, IntegerElementwise, ::testing::ValuesIn(integers), nameOf);
INSTANTIATE_TEST_SUITE_P(Cpu, FloatElementwise, ::testing::ValuesIn(floats), nameOf);

} // namespace
