// Which operations a conversion becomes, and how constants are rounded.
#include "tests/lang/KernelBuilder.h"

using namespace sectile::lang;

namespace {

/// The operations that `build` adds to the kernel, by name and without the arguments' constants.
std::string operationsOf(KernelBuilder &k, const std::function<void()> &build) {
  size_t before = k.kernel.function.front().getOperations().size();
  build();
  std::string names;
  for (auto [index, op] : llvm::enumerate(k.kernel.function.front()))
    if (index >= before && !mlir::isa<mlir::arith::ConstantOp>(op))
      names += (names.empty() ? "" : " ") + op.getName().getStringRef().str();
  return names;
}

struct Conversion {
  const char *from, *to, *operations;
};

constexpr Conversion kConversions[] = {
    // floats
    {"fp64", "fp32", "arith.truncf"},
    {"fp64", "fp16", "arith.truncf"},
    {"fp64", "bf16", "arith.truncf"},
    {"fp64", "fp8e5", "tile.narrow"},
    {"fp32", "fp64", "arith.extf"},
    {"fp16", "fp32", "arith.extf"},
    {"fp16", "bf16", "arith.extf arith.truncf"},
    {"bf16", "fp16", "arith.extf arith.truncf"},
    {"fp8e4nv", "fp16", "arith.extf"},
    {"fp8e4nv", "fp8e5", "arith.extf tile.narrow"},
    {"fp8e4b8", "fp32", "arith.extf"},
    {"fp32", "fp32", ""},
    // There is no such type in MLIR: its bits, and those of fp16.
    {"fp8e4b15", "fp16", "arith.extsi arith.shli arith.andi arith.bitcast"},
    {"fp8e4b15", "fp32", "arith.extsi arith.shli arith.andi arith.bitcast arith.extf"},
    {"fp32", "fp8e4b15",
     "arith.truncf arith.bitcast arith.andi arith.minui arith.addi arith.shrui arith.shrui "
     "arith.andi arith.ori arith.trunci"},
    // between floats and integers
    {"fp32", "i32", "arith.fptosi"},
    {"fp32", "u8", "arith.fptoui"},
    {"fp16", "i32", "arith.extf arith.fptosi"},
    {"bf16", "u64", "arith.extf arith.fptoui"},
    {"fp8e5b16", "i8", "arith.extf arith.fptosi"},
    {"i32", "fp32", "arith.sitofp"},
    {"u32", "fp32", "arith.uitofp"},
    {"i64", "fp16", "arith.sitofp"},
    {"i32", "fp8e5", "arith.sitofp tile.narrow"},
    {"i1", "fp32", "arith.uitofp"},
    // integers
    {"i8", "i32", "arith.extsi"},
    {"i8", "u32", "arith.extsi"},
    {"u8", "i32", "arith.extui"},
    {"i1", "i32", "arith.extui"},
    {"i64", "i8", "arith.trunci"},
    {"i32", "u32", ""},
    // truth values
    {"i32", "i1", "arith.cmpi"},
    {"fp32", "i1", "arith.cmpf"},
    {"fp8e5", "i1", "arith.extf arith.extf arith.cmpf"},
    {"*fp32", "i1", "tile.ptr_to_int arith.cmpi"},
    // pointers
    {"*fp32", "i64", "tile.ptr_to_int"},
    {"u64", "*fp32", "tile.int_to_ptr"},
    {"*fp32", "*i32", "tile.ptr_cast"},
    {"*fp32", "*kfp32", ""},
    {"*i1", "*i8", ""},
};

TEST(Cast, becomes_these_operations) {
  for (const Conversion &conversion : kConversions) {
    KernelBuilder k{conversion.from};
    std::string kind;
    std::string operations =
        operationsOf(k, [&] { kind = k.call("cast", {k[0], k.dtype(conversion.to)}).kindName(); });
    EXPECT_EQ(operations, conversion.operations) << conversion.from << " to " << conversion.to;
    EXPECT_EQ(kind, conversion.to) << conversion.from;
    EXPECT_EQ(k.errors(), "");
    k.body();
  }
}

TEST(Cast, towards_zero_is_said_on_the_operation) {
  KernelBuilder k{"fp32"};
  k.call("to", {k[0], k.dtype("bf16")}, {{"fp_downcast_rounding", k.text("rtz")}});
  EXPECT_EQ(k.body(), "%0 = arith.truncf %arg0 toward_zero : f32 to bf16\n");
  KernelBuilder fp8{"fp32"};
  fp8.call("to", {fp8[0], fp8.dtype("fp8e5")}, {{"fp_downcast_rounding", fp8.text("rtz")}});
  EXPECT_EQ(fp8.body(), "%0 = tile.narrow %arg0 toward_zero : f32 -> f8E5M2\n");
}

TEST(Cast, bits_are_reinterpreted) {
  KernelBuilder k{"fp32", "u16"};
  Operand yes = Constant{true};
  EXPECT_EQ(operationsOf(k, [&] { k.call("to", {k[0], k.dtype("u32")}, {{"bitcast", yes}}); }),
            "arith.bitcast");
  EXPECT_EQ(operationsOf(k, [&] { k.call("to", {k[1], k.dtype("i16")}, {{"bitcast", yes}}); }), "");
  EXPECT_EQ(operationsOf(k, [&] { k.call("to", {k[1], k.dtype("fp16")}, {{"bitcast", yes}}); }),
            "arith.bitcast");
}

TEST(Cast, constants_are_rounded_once) {
  KernelBuilder k{};
  auto real = [&](Constant number, const char *dtype) {
    Value value = k.sema.constant(number, *DType::parse(dtype));
    auto op = value.ir.getDefiningOp<mlir::arith::ConstantOp>();
    return mlir::cast<mlir::FloatAttr>(op.getValue()).getValueAsDouble();
  };
  EXPECT_EQ(real(Constant::integer((1 << 24) + 1), "fp32"), 16777216.0);
  EXPECT_EQ(real(Constant::integer((Int(1) << 64) - 1), "fp64"), 18446744073709551616.0);
  // Through double this would round twice, to the even neighbour below.
  EXPECT_EQ(real(Constant::integer((Int(1) << 60) + (Int(1) << 36) + 1), "fp32"),
            double((Int(1) << 60) + (Int(1) << 37)));
  EXPECT_EQ(real(Constant{1.0 / 3}, "fp16"), 0.333251953125);
  EXPECT_EQ(real(Constant{1.0 / 3}, "bf16"), 0.333984375);
  EXPECT_EQ(real(Constant{3.3}, "fp8e5"), 3.5);
  EXPECT_EQ(real(Constant{true}, "fp16"), 1.0);
  // fp8 saturates, f16 does not.
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(real(Constant{1e6}, "fp16"), infinity);
  for (auto [dtype, largest] : {std::pair("fp8e4nv", 448.0), std::pair("fp8e4b8", 240.0),
                                std::pair("fp8e5", 57344.0), std::pair("fp8e5b16", 57344.0)}) {
    EXPECT_EQ(real(Constant{1e6}, dtype), largest);
    EXPECT_EQ(real(Constant{-infinity}, dtype), -largest);
    EXPECT_EQ(real(Constant::integer(-1000000), dtype), -largest);
    EXPECT_EQ(real(Constant{largest * 1.0625}, dtype), largest);
    EXPECT_TRUE(std::isnan(real(Constant{std::nan("")}, dtype)));
  }
  EXPECT_EQ(k.sema.asConstant(Operand(k.sema.constant(Constant::integer(-1), *DType::parse("u8"))))
                ->repr(),
            "255");
}

TEST(Cast, locations_name_function_place_and_caller) {
  KernelBuilder k{"fp32"};
  SourceRange range;
  range.file = "helper.py", range.line = 7, range.column = 9;
  SourceRange call;
  call.file = "k.py", call.line = 3, call.column = 5;
  k.sema.function = "scale";
  k.sema.callers = {{"k", call}};
  k.sema.at(range);
  Operand result = k.call("exp", {k[0]});
  std::string text;
  llvm::raw_string_ostream(text) << result.value()->ir.getLoc();
  EXPECT_EQ(text, R"(loc(callsite("scale"("helper.py":7:9) at "k"("k.py":3:5))))");
  k.call("exp", {k.number(1)}, {{"x", k.number(1)}});
  ASSERT_EQ(k.sink.all().size(), 1u);
  const Diagnostic &wrong = k.sink.all().front();
  EXPECT_EQ(wrong.function, "scale");
  EXPECT_EQ(wrong.range.line, 7);
  ASSERT_EQ(wrong.callers.size(), 1u);
  EXPECT_EQ(wrong.callers[0].function, "k");
}

} // namespace
