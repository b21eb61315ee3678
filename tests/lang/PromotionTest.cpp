// The dtype in which two operands meet, for every pair: the language's documented rules as a table.
#include "tests/lang/KernelBuilder.h"

using namespace sectile::lang;

namespace {

constexpr const char *kDTypes[] = {"i1",       "i8",   "i16",  "i32",     "i64",     "u8",
                                   "u16",      "u32",  "u64",  "fp8e4nv", "fp8e4b8", "fp8e5",
                                   "fp8e5b16", "fp16", "bf16", "fp32",    "fp64"};

struct Row {
  const char *lhs, *results; // one per dtype above, as right operand; "-" for an error
};

constexpr Row kArithmetic[] = {
    {"i1", "i1 i8 i16 i32 i64 u8 u16 u32 u64 - - - - fp16 fp32 fp32 fp64"},
    {"i8", "i8 i8 i16 i32 i64 u8 u16 u32 u64 - - - - fp16 fp32 fp32 fp64"},
    {"i16", "i16 i16 i16 i32 i64 i16 u16 u32 u64 - - - - fp16 fp32 fp32 fp64"},
    {"i32", "i32 i32 i32 i32 i64 i32 i32 u32 u64 - - - - fp16 fp32 fp32 fp64"},
    {"i64", "i64 i64 i64 i64 i64 i64 i64 i64 u64 - - - - fp16 fp32 fp32 fp64"},
    {"u8", "u8 u8 i16 i32 i64 u8 u16 u32 u64 - - - - fp16 fp32 fp32 fp64"},
    {"u16", "u16 u16 u16 i32 i64 u16 u16 u32 u64 - - - - fp16 fp32 fp32 fp64"},
    {"u32", "u32 u32 u32 u32 i64 u32 u32 u32 u64 - - - - fp16 fp32 fp32 fp64"},
    {"u64", "u64 u64 u64 u64 u64 u64 u64 u64 u64 - - - - fp16 fp32 fp32 fp64"},
    {"fp8e4nv", "- - - - - - - - - fp8e4nv fp16 fp16 fp16 fp16 fp32 fp32 fp64"},
    {"fp8e4b8", "- - - - - - - - - fp16 fp8e4b8 fp16 fp16 fp16 fp32 fp32 fp64"},
    {"fp8e5", "- - - - - - - - - fp16 fp16 fp8e5 fp16 fp16 fp32 fp32 fp64"},
    {"fp8e5b16", "- - - - - - - - - fp16 fp16 fp16 fp8e5b16 fp16 fp32 fp32 fp64"},
    {"fp16",
     "fp16 fp16 fp16 fp16 fp16 fp16 fp16 fp16 fp16 fp16 fp16 fp16 fp16 fp16 fp16 fp32 fp64"},
    {"bf16",
     "fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp16 bf16 fp32 fp64"},
    {"fp32",
     "fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp64"},
    {"fp64",
     "fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64"},
};

constexpr Row kDivision[] = {
    {"i1", "i1 - - - - u8 u16 u32 u64 - - - - fp32 fp32 fp32 fp64"},
    {"i8", "- i8 i16 i32 i64 - - - - - - - - fp32 fp32 fp32 fp64"},
    {"i16", "- i16 i16 i32 i64 - - - - - - - - fp32 fp32 fp32 fp64"},
    {"i32", "- i32 i32 i32 i64 - - - - - - - - fp32 fp32 fp32 fp64"},
    {"i64", "- i64 i64 i64 i64 - - - - - - - - fp32 fp32 fp32 fp64"},
    {"u8", "u8 - - - - u8 u16 u32 u64 - - - - fp32 fp32 fp32 fp64"},
    {"u16", "u16 - - - - u16 u16 u32 u64 - - - - fp32 fp32 fp32 fp64"},
    {"u32", "u32 - - - - u32 u32 u32 u64 - - - - fp32 fp32 fp32 fp64"},
    {"u64", "u64 - - - - u64 u64 u64 u64 - - - - fp32 fp32 fp32 fp64"},
    {"fp8e4nv", "- - - - - - - - - fp8e4nv fp16 fp16 fp16 fp32 fp32 fp32 fp64"},
    {"fp8e4b8", "- - - - - - - - - fp16 fp8e4b8 fp16 fp16 fp32 fp32 fp32 fp64"},
    {"fp8e5", "- - - - - - - - - fp16 fp16 fp8e5 fp16 fp32 fp32 fp32 fp64"},
    {"fp8e5b16", "- - - - - - - - - fp16 fp16 fp16 fp8e5b16 fp32 fp32 fp32 fp64"},
    {"fp16",
     "fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp64"},
    {"bf16",
     "fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp64"},
    {"fp32",
     "fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp64"},
    {"fp64",
     "fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64"},
};

/// With a literal on the right: True, 3, 2.5, 1e300.
constexpr Row kLiteral[] = {
    {"i1", "i1 i32 fp32 fp64"},           {"i8", "i8 i8 fp32 fp64"},
    {"i16", "i16 i16 fp32 fp64"},         {"i32", "i32 i32 fp32 fp64"},
    {"i64", "i64 i64 fp32 fp64"},         {"u8", "u8 u8 fp32 fp64"},
    {"u16", "u16 u16 fp32 fp64"},         {"u32", "u32 u32 fp32 fp64"},
    {"u64", "u64 u64 fp32 fp64"},         {"fp8e4nv", "fp8e4nv fp8e4nv fp8e4nv fp8e4nv"},
    {"fp8e5", "fp8e5 fp8e5 fp8e5 fp8e5"}, {"fp16", "fp16 fp16 fp16 fp16"},
    {"bf16", "bf16 bf16 bf16 bf16"},      {"fp32", "fp32 fp32 fp32 fp32"},
    {"fp64", "fp64 fp64 fp64 fp64"},
};
constexpr Row kLiteralDivision[] = {
    {"i1", "i1 - fp32 fp64"},        {"i8", "i8 i8 fp32 fp64"},
    {"u32", "u32 u32 fp32 fp64"},    {"fp16", "fp32 fp32 fp32 fp32"},
    {"bf16", "fp32 fp32 fp32 fp32"}, {"fp32", "fp32 fp32 fp32 fp32"},
    {"fp64", "fp64 fp64 fp64 fp64"}, {"fp8e5", "fp8e5 fp8e5 fp8e5 fp8e5"},
};

std::vector<std::string> words(const char *text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

/// The parameter of that dtype; one kernel has one of each.
struct AllDTypes : KernelBuilder {
  AllDTypes()
      : KernelBuilder{kDTypes[0],  kDTypes[1],  kDTypes[2],  kDTypes[3],  kDTypes[4],  kDTypes[5],
                      kDTypes[6],  kDTypes[7],  kDTypes[8],  kDTypes[9],  kDTypes[10], kDTypes[11],
                      kDTypes[12], kDTypes[13], kDTypes[14], kDTypes[15], kDTypes[16]} {}
  const Operand &of(const std::string &dtype) const {
    return (*this)[std::find(std::begin(kDTypes), std::end(kDTypes), dtype) - kDTypes];
  }
  std::string meet(const Operand &lhs, const Operand &rhs, bool isDivision) {
    auto dtype = sema.promote(lhs, rhs, "+", isDivision);
    EXPECT_EQ(mlir::failed(dtype), sink.hasErrors());
    (void)sink.take();
    return mlir::failed(dtype) ? "-" : dtype->name();
  }
};

void checkPairs(llvm::ArrayRef<Row> table, bool isDivision) {
  AllDTypes k;
  ASSERT_EQ(table.size(), std::size(kDTypes));
  for (const Row &row : table) {
    auto expected = words(row.results);
    ASSERT_EQ(expected.size(), std::size(kDTypes)) << row.lhs;
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(k.meet(k.of(row.lhs), k.of(kDTypes[i]), isDivision), expected[i])
          << row.lhs << " with " << kDTypes[i];
  }
}

void checkLiterals(llvm::ArrayRef<Row> table, bool isDivision) {
  AllDTypes k;
  const Operand literals[] = {Constant{true}, k.number(3), k.real(2.5), k.real(1e300)};
  for (const Row &row : table) {
    auto expected = words(row.results);
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(k.meet(k.of(row.lhs), literals[i], isDivision), expected[i]) << row.lhs << " " << i;
      EXPECT_EQ(k.meet(literals[i], k.of(row.lhs), isDivision), expected[i]) << i << " " << row.lhs;
    }
  }
}

TEST(Promotion, of_two_values) {
  checkPairs(kArithmetic, false);
}
TEST(Promotion, of_two_values_divided) {
  checkPairs(kDivision, true);
}
TEST(Promotion, with_a_literal) {
  checkLiterals(kLiteral, false);
}
TEST(Promotion, with_a_literal_divided) {
  checkLiterals(kLiteralDivision, true);
}

TEST(Promotion, typed_literals) {
  KernelBuilder k{};
  auto typed = [&](Operand literal) {
    auto value = k.sema.toValue(literal);
    return mlir::failed(value) ? "-" : value->type.name();
  };
  auto integer = [](Int value) { return Operand(Constant::integer(value)); };
  Int one = 1;
  EXPECT_EQ(typed(integer(-(one << 31))), "i32");
  EXPECT_EQ(typed(integer((one << 31) - 1)), "i32");
  EXPECT_EQ(typed(integer(one << 31)), "u32");
  EXPECT_EQ(typed(integer((one << 32) - 1)), "u32");
  EXPECT_EQ(typed(integer(one << 32)), "i64");
  EXPECT_EQ(typed(integer(-(one << 31) - 1)), "i64");
  EXPECT_EQ(typed(integer(one << 63)), "u64");
  EXPECT_EQ(typed(integer((one << 64) - 1)), "u64");
  EXPECT_EQ(typed(Constant{true}), "i1");
  EXPECT_EQ(typed(k.real(3.4e38)), "fp32");
  EXPECT_EQ(typed(k.real(3.5e38)), "fp64");
  EXPECT_EQ(typed(k.real(1e-39)), "fp64");
  EXPECT_EQ(typed(k.real(-INFINITY)), "fp32");
  EXPECT_EQ(typed(k.real(NAN)), "fp32");
  EXPECT_EQ(k.errors(), "");
  EXPECT_EQ(typed(integer(one << 64)), "-");
  EXPECT_EQ(k.errors(), "operand 18446744073709551616 does not fit 64 bits\n");
}

TEST(Promotion, refuses_literals_that_do_not_fit) {
  KernelBuilder k{"u32", "i8", "*fp32"};
  k.binary(BinaryOperator::Add, k[0], k.number(-1));
  k.binary(BinaryOperator::Add, k[1], k.number(128));
  k.binary(BinaryOperator::Divide, k[2], k.number(2));
  k.binary(BinaryOperator::Multiply, k[0], k[2]);
  k.binary(BinaryOperator::FloorDivide, k[0], k[1]);
  EXPECT_EQ(k.errors(), R"(+: negative number -1 with unsigned u32 | cast one side explicitly
+: 128 is out of range for i8 | it holds -128 to 127
/: not defined for pointers: lhs is *fp32, rhs is int | 'c' is a pointer here: it was given an array; read its elements first, with tl.load
*: not defined for pointers: lhs is u32, rhs is *fp32 | 'c' is a pointer here: it was given an array; read its elements first, with tl.load
//: u32 and i8 differ in signedness | cast one side, for example with .to(tl.uint32), so that it is clear which division is meant
)");
}

} // namespace
