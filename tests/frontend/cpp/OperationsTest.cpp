//===-- OperationsTest.cpp - every operation of the headers, recorded ---------------------===//
// Each is recorded in a kernel of its own, so that a failure names the operation; the IR must
// verify and contain what the operation is made of.
#include "tests/frontend/cpp/Record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sectile::test {
namespace {
using testing::HasSubstr;

struct Operands {
  Value x, y;    // f32[16]
  Value m, n;    // f32[16x16]
  Value i, j;    // i32[16]
  Value b;       // i1[16]
  Ptr<f32> p;    // f32
  Value ps, ips; // pointers to f32[16], i32[16]
};
struct Case {
  const char *name;
  std::function<void(Operands)> run;
  const char *ir; // part of what is recorded
};

void PrintTo(const Case &test, std::ostream *stream) {
  *stream << test.name;
}

class CppOperation : public testing::TestWithParam<Case> {};

TEST_P(CppOperation, IsRecorded) {
  Recorded kernel = record(
      {"p", "q"},
      [](Ptr<f32> p, Ptr<i32> q) {
        auto i = arange(0, 16);
        auto ps = p + i;
        auto wide = ps[{all, none}] + i[{none, all}];
        auto j = load(q + i);
        GetParam().run(
            {load(ps), load(ps + 16), load(wide), load(wide + 1), i, j, i < 8, p, ps, q + i});
      },
      any, any);
  EXPECT_EQ(kernel.error, "");
  EXPECT_THAT(kernel.ir, HasSubstr(GetParam().ir));
  EXPECT_THAT(kernel.ir, testing::Not(HasSubstr("does not verify")));
}

#define OP(name, ir, ...)                                                                          \
  Case {                                                                                           \
    name, [](Operands o) { __VA_ARGS__; }, ir                                                      \
  }

INSTANTIATE_TEST_SUITE_P(
    Operators, CppOperation,
    testing::Values(OP("add", "arith.addf", store(o.ps, o.x + o.y)),
                    OP("sub", "arith.subf", store(o.ps, 1.0f - o.x)),
                    OP("mul", "arith.mulf", store(o.ps, 2 * o.x)),
                    OP("div", "arith.divf", store(o.ps, o.x / o.y)),
                    OP("div_int", "arith.divsi", store(o.ips, o.i / o.j)),
                    OP("rem", "arith.remsi", store(o.ips, o.i % 3)),
                    OP("and", "arith.andi", store(o.ips, o.i & o.j)),
                    OP("or", "arith.ori", store(o.ips, o.i | 1)),
                    OP("xor", "arith.xori", store(o.ips, 7 ^ o.i)),
                    OP("shl", "arith.shli", store(o.ips, o.i << 2)),
                    OP("shr", "arith.shrsi", store(o.ips, o.i >> 2)),
                    OP("eq", "cmpf oeq", store(o.ps, o.x, o.x == o.y)),
                    OP("ne", "cmpf une", store(o.ps, o.x, o.x != 0)),
                    OP("lt", "cmpf olt", store(o.ps, o.x, o.x < 0)),
                    OP("le", "cmpf ole", store(o.ps, o.x, o.x <= 0)),
                    OP("gt", "cmpf ogt", store(o.ps, o.x, o.x > 0)),
                    OP("ge", "cmpf oge", store(o.ps, o.x, o.x >= 0)),
                    OP("both", "arith.andi", store(o.ps, o.x, o.b &&o.x > 0)),
                    OP("either", "arith.ori", store(o.ps, o.x, o.b || o.x > 0)),
                    OP("both_number", "arith.andi", store(o.ps, o.x, o.b && true)),
                    OP("number_either", "arith.ori", store(o.ps, o.x, Const{false} || o.b)),
                    OP("neg", "arith.negf", store(o.ps, -o.x)),
                    OP("not", "arith.xori", store(o.ps, o.x, !o.b)),
                    OP("inv", "arith.xori", store(o.ips, ~o.i)),
                    OP("assign", "arith.mulf", Value x = o.x; x += o.y; x *= 2; store(o.ps, x))));

INSTANTIATE_TEST_SUITE_P(
    Creation, CppOperation,
    testing::Values(OP("program_id", "tile.program_id 1", store(o.ips, program_id(1) + o.i)),
                    OP("num_programs", "tile.num_programs 0", store(o.ips, num_programs(0) + o.i)),
                    OP("arange", "tile.arange 16, 32", store(o.ips, arange(16, 32))),
                    OP("full", "dense<2.5", store(o.ps, full<f32>({16}, 2.5))),
                    OP("zeros", "dense<0.0", store(o.ps, zeros<f32>({16}))),
                    OP("zeros_like", "dense<0.0", store(o.ps, zeros_like(o.x))),
                    OP("to", "arith.truncf", store(o.ps, to<f16>(o.x))),
                    OP("to_dtype", "arith.sitofp", store(o.ps, to(o.i, o.p.elementType()))),
                    OP("rounding", "toward_zero", store(o.ps, to<f16>(o.x, Rounding::TowardZero))),
                    OP("cast", "arith.fptosi", store(o.ips, cast<i32>(o.x))),
                    OP("bitcast", "arith.bitcast", store(o.ips, bitcast<i32>(o.x)))));

INSTANTIATE_TEST_SUITE_P(
    Memory, CppOperation,
    testing::Values(
        OP("load", "tile.load", store(o.ps, load(o.ps + 1))),
        OP("load_options", "cache = cg evict = evict_last",
           store(o.ps,
                 load(o.ps, o.b, 0.0f, {.cache_modifier = "cg", .eviction_policy = "evict_last"}))),
        OP("volatile", "volatile", store(o.ps, load(o.ps, none, none, {.is_volatile = true}))),
        OP("store", "tile.store", store(o.ps, 1, o.b)),
        OP("store_options", "cache = wt", store(o.ps, 1, none, {.cache_modifier = ".wt"})),
        OP("atomic_add", "atomic_rmw fadd, acq_rel, gpu", atomic_add(o.ps, o.x, o.b)),
        OP("atomic_relaxed", "atomic_rmw add, relaxed, sys",
           atomic_add(o.ips, 1, none, {.sem = "relaxed", .scope = "sys"})),
        OP("atomic_max", "atomic_rmw max", atomic_max(o.ips, o.i)),
        OP("atomic_min", "atomic_rmw min", atomic_min(o.ips, o.i)),
        OP("atomic_and", "atomic_rmw and", atomic_and(o.ips, o.i)),
        OP("atomic_or", "atomic_rmw or", atomic_or(o.ips, o.i)),
        OP("atomic_xor", "atomic_rmw xor", atomic_xor(o.ips, o.i)),
        OP("atomic_xchg", "atomic_rmw xchg", atomic_xchg(o.ps, o.x)),
        OP("atomic_cas", "atomic_cas", atomic_cas(o.ips, 0, 1))));

INSTANTIATE_TEST_SUITE_P(
    Math, CppOperation,
    testing::Values(OP("exp", "math.exp ", store(o.ps, exp(o.x))),
                    OP("exp2", "math.exp2", store(o.ps, exp2(o.x))),
                    OP("log", "math.log ", store(o.ps, log(o.x))),
                    OP("log2", "math.log2", store(o.ps, log2(o.x))),
                    OP("sin", "math.sin", store(o.ps, sin(o.x))),
                    OP("cos", "math.cos", store(o.ps, cos(o.x))),
                    OP("tanh", "math.tanh", store(o.ps, tanh(o.x))),
                    OP("erf", "math.erf", store(o.ps, erf(o.x))),
                    OP("sqrt", "math.sqrt", store(o.ps, sqrt(o.x))),
                    OP("sqrt_rn", "math.sqrt", store(o.ps, sqrt_rn(o.x))),
                    OP("rsqrt", "math.rsqrt", store(o.ps, rsqrt(o.x))),
                    OP("floor", "math.floor", store(o.ps, floor(o.x))),
                    OP("ceil", "math.ceil", store(o.ps, ceil(o.x))),
                    OP("abs", "math.absf", store(o.ps, abs(o.x))),
                    OP("sigmoid", "math.exp", store(o.ps, sigmoid(o.x))),
                    OP("div_rn", "arith.divf", store(o.ps, div_rn(o.x, o.y))),
                    OP("umulhi", "arith.mului_extended", store(o.ips, umulhi(o.i, o.j))),
                    OP("fdiv", "arith.divf", store(o.ps, fdiv(o.x, o.y))),
                    OP("fma", "math.fma", store(o.ps, fma(o.x, o.y, 1.0f))),
                    OP("minimum", "arith.minnumf", store(o.ps, minimum(o.x, o.y))),
                    OP("maximum", "arith.maximumf",
                       store(o.ps, maximum(o.x, 0.0f, PropagateNan::All))),
                    OP("clamp", "arith.m", store(o.ps, clamp(o.x, 0.0f, 1.0f))),
                    OP("where", "arith.select", store(o.ps, where(o.b, o.x, 0.0f))),
                    OP("cdiv", "arith.divsi", store(o.ips, cdiv(o.j, 3)))));

INSTANTIATE_TEST_SUITE_P(
    Libdevice, CppOperation,
    testing::Values(OP("acos", "math.acos", store(o.ps, acos(o.x))),
                    OP("acosh", "math.acosh", store(o.ps, acosh(o.x))),
                    OP("asin", "math.asin", store(o.ps, asin(o.x))),
                    OP("asinh", "math.asinh", store(o.ps, asinh(o.x))),
                    OP("atan", "math.atan", store(o.ps, atan(o.x))),
                    OP("atanh", "math.atanh", store(o.ps, atanh(o.x))),
                    OP("cbrt", "math.cbrt", store(o.ps, cbrt(o.x))),
                    OP("cosh", "math.cosh", store(o.ps, cosh(o.x))),
                    OP("erfc", "math.erfc", store(o.ps, erfc(o.x))),
                    OP("expm1", "math.expm1", store(o.ps, expm1(o.x))),
                    OP("log10", "math.log10", store(o.ps, log10(o.x))),
                    OP("log1p", "math.log1p", store(o.ps, log1p(o.x))),
                    OP("sinh", "math.sinh", store(o.ps, sinh(o.x))),
                    OP("tan", "math.tan", store(o.ps, tan(o.x))),
                    OP("trunc", "math.trunc", store(o.ps, trunc(o.x))),
                    OP("round", "math.round", store(o.ps, round(o.x))),
                    OP("exp10", "math.exp2", store(o.ps, exp10(o.x))),
                    OP("nearbyint", "math.roundeven", store(o.ps, nearbyint(o.x))),
                    OP("rint", "math.roundeven", store(o.ps, rint(o.x))),
                    OP("cospi", "math.roundeven", store(o.ps, cospi(o.x))),
                    OP("sinpi", "math.roundeven", store(o.ps, sinpi(o.x))),
                    OP("normcdf", "math.exp", store(o.ps, normcdf(o.x))),
                    OP("signbit", "arith.bitcast", store(o.ips, signbit(o.x))),
                    OP("rcbrt", "math.cbrt", store(o.ps, rcbrt(o.x))),
                    OP("llrint", "math.roundeven", store(o.ips, llrint(o.x))),
                    OP("llround", "math.round", store(o.ips, llround(o.x))),
                    OP("isnan", "math.isnan", store(o.ips, isnan(o.x))),
                    OP("isinf", "math.isinf", store(o.ips, isinf(o.x))),
                    OP("isfinite", "math.isfinite", store(o.ips, isfinite(o.x))),
                    OP("clz", "math.ctlz", store(o.ips, clz(o.j))),
                    OP("popc", "math.ctpop", store(o.ips, popc(o.j))),
                    OP("ffs", "math.cttz", store(o.ips, ffs(o.j))),
                    OP("atan2", "math.atan2", store(o.ps, atan2(o.x, o.y))),
                    OP("copysign", "math.copysign", store(o.ps, copysign(o.x, o.y))),
                    OP("pow", "math.powf", store(o.ps, pow(o.x, 2.5f))),
                    OP("fmod", "arith.remf", store(o.ps, fmod(o.x, o.y))),
                    OP("fdim", "arith.subf", store(o.ps, fdim(o.x, o.y))),
                    OP("hypot", "math.sqrt", store(o.ps, hypot(o.x, o.y))),
                    OP("mulhi", "arith.mulsi_extended", store(o.ips, mulhi(o.i, o.j))),
                    OP("rand4x", "arith.xori", auto [a, b, c, d] = rand4x(7, o.i);
                       store(o.ps, a + b + c + d))));

INSTANTIATE_TEST_SUITE_P(
    LibdeviceFunctions, CppOperation,
    testing::Values(
        OP("logb", "arith.bitcast", store(o.ps, logb(o.x))),
        OP("rsqrt_rn", "math.sqrt", store(o.ps, rsqrt_rn(o.x))),
        OP("tgamma", "math.copysign", store(o.ps, tgamma(o.x))),
        OP("lgamma", "math.log2", store(o.ps, lgamma(o.x))),
        OP("erfinv", "arith.sitofp", store(o.ps, erfinv(o.x))),
        OP("erfcinv", "arith.sitofp", store(o.ps, erfcinv(o.x))),
        OP("erfcx", "math.exp ", store(o.ps, erfcx(o.x))),
        OP("normcdfinv", "arith.sitofp", store(o.ps, normcdfinv(o.x))),
        OP("cyl_bessel_i0", "math.exp ", store(o.ps, cyl_bessel_i0(o.x))),
        OP("cyl_bessel_i1", "math.exp ", store(o.ps, cyl_bessel_i1(o.x))),
        OP("j0", "math.roundeven", store(o.ps, j0(o.x))),
        OP("j1", "math.roundeven", store(o.ps, j1(o.x))),
        OP("y0", "arith.sitofp", store(o.ps, y0(o.x))),
        OP("y1", "arith.sitofp", store(o.ps, y1(o.x))),
        OP("saturatef", "arith.select", store(o.ps, saturatef(o.x))),
        OP("rcp_rn", "arith.divf", store(o.ps, rcp_rn(o.x))),
        OP("rcp_rz", "arith.divf", store(o.ps, rcp_rz(o.x))),
        OP("rcp_rd", "arith.divf", store(o.ps, rcp_rd(o.x))),
        OP("rcp_ru", "arith.divf", store(o.ps, rcp_ru(o.x))),
        OP("sqrt_rz", "math.sqrt", store(o.ps, sqrt_rz(o.x))),
        OP("sqrt_rd", "math.sqrt", store(o.ps, sqrt_rd(o.x))),
        OP("sqrt_ru", "math.sqrt", store(o.ps, sqrt_ru(o.x))),
        OP("ilogb", "arith.bitcast", store(o.ips, ilogb(o.x))),
        OP("float_as_int", "arith.bitcast", store(o.ips, float_as_int(o.x))),
        OP("float_as_uint", "arith.bitcast", store(o.ips, float_as_uint(o.x))),
        OP("brev", "arith.shli", store(o.ips, to<i32>(brev(o.j)))),
        OP("int_as_float", "arith.bitcast", store(o.ips, to<i32>(int_as_float(o.j)))),
        OP("uint_as_float", "arith.bitcast", store(o.ips, to<i32>(uint_as_float(to<u32>(o.j))))),
        OP("hiloint2double", "arith.bitcast",
           store(o.ips, to<i32>(double_as_longlong(hiloint2double(o.i, o.j))))),
        OP("longlong_as_double", "arith.bitcast",
           store(o.ips, to<i32>(double2hiint(longlong_as_double(to<i64>(o.j)))))),
        OP("double2loint", "arith.bitcast", store(o.ips, to<i32>(double2loint(to<f64>(o.x))))),
        OP("rcp64h", "arith.bitcast", store(o.ips, to<i32>(rcp64h(to<f64>(o.x))))),
        OP("add_rn", "math.fma", store(o.ps, add_rn(o.x, sub_rn(o.x, mul_rn(o.x, o.y))))),
        OP("fma_rn", "math.fma", store(o.ps, fma_rn(o.x, o.y, 1.0f))),
        OP("double2float_rn", "arith.truncf", store(o.ps, double2float_rn(to<f64>(o.x)))),
        OP("float2int_rn", "arith.fpto", store(o.ips, to<i32>(float2int_rn(o.x)))),
        OP("int2float_rn", "arith.sitofp", store(o.ps, to<f32>(int2float_rn(o.j)))),
        OP("double2int_rn", "arith.fpto", store(o.ips, to<i32>(double2int_rn(to<f64>(o.x))))),
        OP("int2double_rn", "arith.sitofp", store(o.ps, to<f32>(int2double_rn(o.j)))),
        OP("float2uint_rn", "arith.fpto", store(o.ips, to<i32>(float2uint_rn(o.x)))),
        OP("uint2float_rn", "arith.uitofp", store(o.ps, to<f32>(uint2float_rn(to<u32>(o.j))))),
        OP("double2uint_rn", "arith.fpto", store(o.ips, to<i32>(double2uint_rn(to<f64>(o.x))))),
        OP("uint2double_rn", "arith.uitofp", store(o.ps, to<f32>(uint2double_rn(to<u32>(o.j))))),
        OP("float2ll_rn", "arith.fpto", store(o.ips, to<i32>(float2ll_rn(o.x)))),
        OP("ll2float_rn", "arith.sitofp", store(o.ps, to<f32>(ll2float_rn(to<i64>(o.j)))))));

INSTANTIATE_TEST_SUITE_P(
    LibdeviceRounding, CppOperation,
    testing::Values(
        OP("double2ll_rn", "arith.fpto", store(o.ips, to<i32>(double2ll_rn(to<f64>(o.x))))),
        OP("ll2double_rn", "arith.sitofp", store(o.ps, to<f32>(ll2double_rn(to<i64>(o.j))))),
        OP("float2ull_rn", "arith.fpto", store(o.ips, to<i32>(float2ull_rn(o.x)))),
        OP("ull2float_rn", "arith.uitofp", store(o.ps, to<f32>(ull2float_rn(to<u64>(o.j))))),
        OP("double2ull_rn", "arith.fpto", store(o.ips, to<i32>(double2ull_rn(to<f64>(o.x))))),
        OP("ull2double_rn", "arith.uitofp", store(o.ps, to<f32>(ull2double_rn(to<u64>(o.j))))),
        OP("add_rz", "math.fma", store(o.ps, add_rz(o.x, sub_rz(o.x, mul_rz(o.x, o.y))))),
        OP("fma_rz", "math.fma", store(o.ps, fma_rz(o.x, o.y, 1.0f))),
        OP("double2float_rz", "arith.truncf", store(o.ps, double2float_rz(to<f64>(o.x)))),
        OP("float2int_rz", "arith.fpto", store(o.ips, to<i32>(float2int_rz(o.x)))),
        OP("int2float_rz", "arith.uitofp", store(o.ps, to<f32>(int2float_rz(o.j)))),
        OP("double2int_rz", "arith.fpto", store(o.ips, to<i32>(double2int_rz(to<f64>(o.x))))),
        OP("float2uint_rz", "arith.fpto", store(o.ips, to<i32>(float2uint_rz(o.x)))),
        OP("uint2float_rz", "arith.uitofp", store(o.ps, to<f32>(uint2float_rz(to<u32>(o.j))))),
        OP("double2uint_rz", "arith.fpto", store(o.ips, to<i32>(double2uint_rz(to<f64>(o.x))))),
        OP("float2ll_rz", "arith.fpto", store(o.ips, to<i32>(float2ll_rz(o.x)))),
        OP("ll2float_rz", "arith.uitofp", store(o.ps, to<f32>(ll2float_rz(to<i64>(o.j))))),
        OP("double2ll_rz", "arith.fpto", store(o.ips, to<i32>(double2ll_rz(to<f64>(o.x))))),
        OP("ll2double_rz", "arith.uitofp", store(o.ps, to<f32>(ll2double_rz(to<i64>(o.j))))),
        OP("float2ull_rz", "arith.fpto", store(o.ips, to<i32>(float2ull_rz(o.x)))),
        OP("ull2float_rz", "arith.uitofp", store(o.ps, to<f32>(ull2float_rz(to<u64>(o.j))))),
        OP("double2ull_rz", "arith.fpto", store(o.ips, to<i32>(double2ull_rz(to<f64>(o.x))))),
        OP("ull2double_rz", "arith.uitofp", store(o.ps, to<f32>(ull2double_rz(to<u64>(o.j))))),
        OP("add_rd", "math.fma", store(o.ps, add_rd(o.x, sub_rd(o.x, mul_rd(o.x, o.y))))),
        OP("fma_rd", "math.fma", store(o.ps, fma_rd(o.x, o.y, 1.0f))),
        OP("double2float_rd", "arith.truncf", store(o.ps, double2float_rd(to<f64>(o.x)))),
        OP("float2int_rd", "arith.fpto", store(o.ips, to<i32>(float2int_rd(o.x)))),
        OP("int2float_rd", "arith.uitofp", store(o.ps, to<f32>(int2float_rd(o.j)))),
        OP("double2int_rd", "arith.fpto", store(o.ips, to<i32>(double2int_rd(to<f64>(o.x))))),
        OP("float2uint_rd", "arith.fpto", store(o.ips, to<i32>(float2uint_rd(o.x)))),
        OP("uint2float_rd", "arith.uitofp", store(o.ps, to<f32>(uint2float_rd(to<u32>(o.j))))),
        OP("double2uint_rd", "arith.fpto", store(o.ips, to<i32>(double2uint_rd(to<f64>(o.x))))),
        OP("float2ll_rd", "arith.fpto", store(o.ips, to<i32>(float2ll_rd(o.x)))),
        OP("ll2float_rd", "arith.uitofp", store(o.ps, to<f32>(ll2float_rd(to<i64>(o.j))))),
        OP("double2ll_rd", "arith.fpto", store(o.ips, to<i32>(double2ll_rd(to<f64>(o.x))))),
        OP("ll2double_rd", "arith.uitofp", store(o.ps, to<f32>(ll2double_rd(to<i64>(o.j))))),
        OP("float2ull_rd", "arith.fpto", store(o.ips, to<i32>(float2ull_rd(o.x)))),
        OP("ull2float_rd", "arith.uitofp", store(o.ps, to<f32>(ull2float_rd(to<u64>(o.j))))),
        OP("double2ull_rd", "arith.fpto", store(o.ips, to<i32>(double2ull_rd(to<f64>(o.x))))),
        OP("ull2double_rd", "arith.uitofp", store(o.ps, to<f32>(ull2double_rd(to<u64>(o.j))))),
        OP("add_ru", "math.fma", store(o.ps, add_ru(o.x, sub_ru(o.x, mul_ru(o.x, o.y))))),
        OP("fma_ru", "math.fma", store(o.ps, fma_ru(o.x, o.y, 1.0f))),
        OP("double2float_ru", "arith.truncf", store(o.ps, double2float_ru(to<f64>(o.x)))),
        OP("float2int_ru", "arith.fpto", store(o.ips, to<i32>(float2int_ru(o.x)))),
        OP("int2float_ru", "arith.uitofp", store(o.ps, to<f32>(int2float_ru(o.j))))));

INSTANTIATE_TEST_SUITE_P(
    LibdeviceConversions, CppOperation,
    testing::Values(
        OP("double2int_ru", "arith.fpto", store(o.ips, to<i32>(double2int_ru(to<f64>(o.x))))),
        OP("float2uint_ru", "arith.fpto", store(o.ips, to<i32>(float2uint_ru(o.x)))),
        OP("uint2float_ru", "arith.uitofp", store(o.ps, to<f32>(uint2float_ru(to<u32>(o.j))))),
        OP("double2uint_ru", "arith.fpto", store(o.ips, to<i32>(double2uint_ru(to<f64>(o.x))))),
        OP("float2ll_ru", "arith.fpto", store(o.ips, to<i32>(float2ll_ru(o.x)))),
        OP("ll2float_ru", "arith.uitofp", store(o.ps, to<f32>(ll2float_ru(to<i64>(o.j))))),
        OP("double2ll_ru", "arith.fpto", store(o.ips, to<i32>(double2ll_ru(to<f64>(o.x))))),
        OP("ll2double_ru", "arith.uitofp", store(o.ps, to<f32>(ll2double_ru(to<i64>(o.j))))),
        OP("float2ull_ru", "arith.fpto", store(o.ips, to<i32>(float2ull_ru(o.x)))),
        OP("ull2float_ru", "arith.uitofp", store(o.ps, to<f32>(ull2float_ru(to<u64>(o.j))))),
        OP("double2ull_ru", "arith.fpto", store(o.ips, to<i32>(double2ull_ru(to<f64>(o.x))))),
        OP("ull2double_ru", "arith.uitofp", store(o.ps, to<f32>(ull2double_ru(to<u64>(o.j))))),
        OP("div_rz", "arith.divf", store(o.ps, div_rz(o.x, o.y))),
        OP("div_rd", "arith.divf", store(o.ps, div_rd(o.x, o.y))),
        OP("div_ru", "arith.divf", store(o.ps, div_ru(o.x, o.y))),
        OP("rhypot", "math.sqrt", store(o.ps, rhypot(o.x, o.y))),
        OP("nextafter", "arith.bitcast", store(o.ps, nextafter(o.x, o.y))),
        OP("remainder", "arith.remf", store(o.ps, remainder(o.x, o.y))),
        OP("ldexp", "arith.shli", store(o.ps, ldexp(o.x, o.j))),
        OP("scalbn", "arith.shli", store(o.ps, scalbn(o.x, o.j))),
        OP("jn", "scf.for", store(o.ps, jn(o.j, o.x))),
        OP("yn", "scf.for", store(o.ps, yn(o.j, o.x))),
        OP("hadd", "arith.shrsi", store(o.ips, hadd(o.i, o.j))),
        OP("rhadd", "arith.shrsi", store(o.ips, rhadd(o.i, o.j))),
        OP("mul24", "arith.muli", store(o.ips, mul24(o.i, o.j))),
        OP("byte_perm", "arith.", store(o.ips, to<i32>(byte_perm(o.i, o.j, o.i)))),
        OP("sad", "arith.", store(o.ips, to<i32>(sad(o.i, o.j, o.i)))),
        OP("norm3d", "math.sqrt", store(o.ps, norm3d(o.x, o.y, 1.0f))),
        OP("rnorm3d", "math.sqrt", store(o.ps, rnorm3d(o.x, o.y, 1.0f))),
        OP("norm4d", "math.sqrt", store(o.ps, norm4d(o.x, o.y, 1.0f, o.x))),
        OP("rnorm4d", "math.sqrt", store(o.ps, rnorm4d(o.x, o.y, 1.0f, o.x)))));

INSTANTIATE_TEST_SUITE_P(
    Shape, CppOperation,
    testing::Values(
        OP("index", "tensor<16x1xf32>", store(o.ps[{all, none}], o.x[{all, none}])),
        OP("element", "tile.gather", store(o.p, o.x[3])),
        OP("element_of_two", "tensor<1x1xf32> -> tensor<1xf32>",
           store(o.p + arange(0, 1), o.m[{-1, slice(2, 3)}])),
        OP("slice", "tensor<16x4xf32>", store(o.p + zeros<i32>({16, 4}), o.m[{all, slice(3, 7)}])),
        OP("slice_open", "tensor<5xf32>", store(o.p + arange(0, 5), o.x[slice(none, 5)])),
        OP("slice_down", "tensor<8xf32>", store(o.p + arange(0, 8), o.x[slice(none, none, -2)])),
        OP("element_then_new", "tensor<1x16xf32>",
           store(o.p + zeros<i32>({1, 16}), o.m[{none, Const{2}}])),
        OP("slice_of_pointers_dim", "tensor<1x16x!", store(o.ps[{none, all}], o.x[{none, all}])),
        OP("expand_dims", "tile.expand_dims", store(o.ps[{all, none}], expand_dims(o.x, 1))),
        OP("broadcast_to", "tile.broadcast",
           store(o.p + zeros<i32>({4, 16}), broadcast_to(o.x, {4, 16}))),
        OP("broadcast", "tile.broadcast", auto [a, b] = broadcast(o.x, o.m);
           store(o.p + zeros<i32>({16, 16}), a + b)),
        OP("reshape", "tile.reshape", store(o.p + zeros<i32>({4, 4}), reshape(o.x, {4, 4}))),
        OP("view", "tile.reshape", store(o.p + zeros<i32>({2, 8}), view(o.x, {2, 8}))),
        OP("ravel", "tensor<256xf32>", store(o.p + arange(0, 256), ravel(o.m))),
        OP("trans", "tile.transpose", store(o.p + zeros<i32>({16, 16}), trans(o.m))),
        OP("trans_order", "[1, 0]", store(o.p + zeros<i32>({16, 16}), trans(o.m, {1, 0}))),
        OP("permute", "[1, 0]", store(o.p + zeros<i32>({16, 16}), permute(o.m, {1, 0}))),
        OP("flip", "tile.flip", store(o.ps, flip(o.x, 0))),
        OP("join", "tile.join", store(o.p + zeros<i32>({16, 2}), join(o.x, o.y))),
        OP("split", "tile.split", auto [a, b] = split(join(o.x, o.y)); store(o.ps, a - b)),
        OP("interleave", "tensor<32xf32>", store(o.p + arange(0, 32), interleave(o.x, o.y))),
        OP("cat", "tile.cat", store(o.p + arange(0, 32), cat(o.x, o.y))),
        OP("gather", "tile.gather", store(o.ps, gather(o.x, o.j, 0)))));

INSTANTIATE_TEST_SUITE_P(
    Reductions, CppOperation,
    testing::Values(
        OP("sum", "tile.reduce", store(o.p, sum(o.x, 0))),
        OP("sum_all", "tile.reduce", store(o.p, sum(o.m))),
        OP("sum_keep", "tensor<16x1xf32>", store(o.ps[{all, none}], sum(o.m, 1, true))),
        OP("sum_dtype", "f64", store(o.p, sum<f64>(o.x, 0))),
        OP("max", "arith.maxnumf", store(o.p, max(o.x, 0))),
        OP("min", "arith.minnumf", store(o.p, min(o.x))),
        OP("argmax", "tile.reduce", store(o.p, argmax(o.x, 0))),
        OP("argmin", "tile.reduce", store(o.p, argmin(o.x, 0))),
        OP("xor_sum", "arith.xori", store(o.p, xor_sum(o.i, 0))),
        OP("max_with_index", "(f32, i32)", auto [v, k] = max_with_index(o.x, 0); store(o.p + k, v)),
        OP("min_with_index", "(f32, i32)", auto [v, k] = min_with_index(o.x, 0); store(o.p + k, v)),
        OP("softmax", "math.exp", store(o.ps, softmax(o.x))),
        OP("reduce", "arith.mulf",
           store(o.p, reduce(o.x, 0, [](Value a, Value b) { return a * b; }))),
        OP("reduce_tuple", "(f32, i32)",
           auto [v, k] = reduce(std::tuple{o.x, o.i}, 0,
                                [](Value v, Value i, Value w, Value j) {
                                  return std::tuple{where(v > w, v, w), where(v > w, i, j)};
                                });
           store(o.p + k, v)),
        OP("scan", "reverse true",
           store(o.ps, scan(
                           o.x, 0, [](Value a, Value b) { return a * b; }, Direction::Reverse))),
        OP("scan_tuple", "tile.scan",
           auto [a, b] = scan(std::tuple{o.x, o.y}, 0,
                              [](Value a, Value b, Value c, Value d) {
                                return std::tuple{a * c, b * c + d};
                              });
           store(o.ps, a + b)),
        OP("associative_scan", "tile.scan",
           store(o.ps, associative_scan(o.x, 0, [](Value a, Value b) { return maximum(a, b); }))),
        OP("cumsum", "tile.scan", store(o.ps, cumsum(o.x, 0))),
        OP("cumprod", "reverse true", store(o.ps, cumprod(o.x, 0, Direction::Reverse))),
        OP("sort", "tile.sort", store(o.ps, sort(o.x))),
        OP("sort_descending", "axis 0", store(o.p + zeros<i32>({16, 16}), sort(o.m, 0, true))),
        OP("bitonic_merge", "bitonic", store(o.ps, bitonic_merge(o.x))),
        OP("topk", "axis 1 bitonic", store(o.p + arange(0, 4), topk(o.x, 4))),
        OP("histogram", "tile.histogram", store(o.ips, histogram(o.i, 16, o.i < 9))),
        OP("map_elementwise", "tile.map",
           store(o.ps, map_elementwise([](Value a, Value b) { return a * b + 1; }, o.x, o.y))),
        OP("map_elementwise_tuple", "tile.map",
           auto [a, b] = map_elementwise([](Value a) { return std::tuple{a + 1, a > 0}; }, o.x);
           store(o.ps, a, b)),
        OP("inline_asm_elementwise", "tile.inline_asm",
           store(o.ps, inline_asm_elementwise<f32>("add.f32 $0, $1, $2;", "=f,f,f",
                                                   std::tuple{o.x, o.y}))),
        OP("dot", "tile.dot", store(o.p + zeros<i32>({16, 16}), dot(o.m, o.n))),
        OP("dot_accumulate", "precision = ieee",
           store(o.p + zeros<i32>({16, 16}), dot(o.m, o.n, o.m, {.input_precision = "ieee"})))));

INSTANTIATE_TEST_SUITE_P(
    Others, CppOperation,
    testing::Values(OP("rand", "arith.", store(o.ps, rand(7, o.i))),
                    OP("randn", "math.cos", store(o.ps, randn(7, o.i))),
                    OP("randint", "arith.", store(o.ips, randint(7, o.i))),
                    OP("assume", "tile.assume", assume(o.j > 0)),
                    OP("multiple_of", "divisibility", store(o.ips, multiple_of(o.j, 8))),
                    OP("max_contiguous", "contiguity", store(o.ips, max_contiguous(o.j, {16}))),
                    OP("max_constancy", "constancy", store(o.ips, max_constancy(o.j, 4))),
                    OP("gdc_wait", "tile.grid_wait", gdc_wait()),
                    OP("globaltimer", "tile.clock", store(o.ips, globaltimer())),
                    OP("smid", "tile.processor", store(o.ips, smid() + o.i)),
                    OP("gdc_launch_dependents", "tile.grid_launch_dependents",
                       gdc_launch_dependents()),
                    OP("debug_barrier", "tile.barrier", debug_barrier()),
                    OP("device_print", "tile.print", device_print("x: ", o.x, o.i)),
                    OP("device_assert", "tile.assert", device_assert(o.x > 0, "positive")),
                    OP("static_print", "tile.load", static_print("x is", o.x, Const{3}))));

} // namespace
} // namespace sectile::test
