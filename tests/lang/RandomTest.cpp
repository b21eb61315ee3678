// Random numbers, computed by folding the IR on constants, against Philox-4x32-10 written from the
// paper and against its authors' published test vectors.
#include "tests/lang/KernelBuilder.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <array>
#include <cmath>

using namespace sectile::lang;

namespace {

using Words = std::array<uint32_t, 4>;

Words philoxReference(Words c, std::array<uint32_t, 2> key, int rounds = 10) {
  for (int round = 0; round < rounds; ++round) {
    uint64_t p0 = uint64_t(0xD2511F53) * c[0], p1 = uint64_t(0xCD9E8D57) * c[2];
    c = {uint32_t(p1 >> 32) ^ c[1] ^ key[0], uint32_t(p1), uint32_t(p0 >> 32) ^ c[3] ^ key[1],
         uint32_t(p0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return c;
}

/// The IR for `operands` folded to constants.
std::vector<mlir::Attribute> folded(KernelBuilder &k, const std::vector<Operand> &operands) {
  // A print keeps them alive and in order.
  k.call("device_print", [&] {
    std::vector<Operand> arguments = {k.text("x")};
    arguments.insert(arguments.end(), operands.begin(), operands.end());
    return arguments;
  }());
  EXPECT_EQ(k.errors(), "");
  mlir::func::ReturnOp::create(k.builder, k.builder.getUnknownLoc());
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*k.kernel.module)));
  EXPECT_TRUE(mlir::succeeded(mlir::applyPatternsGreedily(*k.kernel.module, {})));
  std::vector<mlir::Attribute> results;
  k.kernel.function.walk([&](sectile::tile::PrintOp print) {
    for (mlir::Value value : print.getArgs()) {
      mlir::Attribute attribute;
      EXPECT_TRUE(mlir::matchPattern(value, mlir::m_Constant(&attribute)));
      results.push_back(attribute);
    }
  });
  return results;
}

uint32_t bits(mlir::Attribute attribute) {
  auto integer = mlir::dyn_cast_or_null<mlir::IntegerAttr>(attribute);
  return integer ? uint32_t(integer.getValue().getZExtValue()) : 0;
}

Operand u32(KernelBuilder &k, uint32_t value) {
  return k.sema.constant(Constant::integer(value), DType::scalar(ScalarKind::UInt32));
}

TEST(Random, philox_gives_the_published_vectors) {
  struct Vector {
    Words counter;
    std::array<uint32_t, 2> key;
    Words expected;
  } const vectors[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const Vector &vector : vectors) {
    EXPECT_EQ(philoxReference(vector.counter, vector.key), vector.expected);
    KernelBuilder k{};
    std::vector<Operand> arguments;
    for (uint32_t word : vector.counter)
      arguments.push_back(u32(k, word));
    for (uint32_t word : vector.key)
      arguments.push_back(u32(k, word));
    Operand result = k.call("philox_impl", arguments);
    ASSERT_TRUE(result.items()) << k.errors();
    auto values = folded(k, *result.items());
    ASSERT_EQ(values.size(), 4u);
    for (size_t i = 0; i < 4; ++i)
      EXPECT_EQ(bits(values[i]), vector.expected[i]);
  }
}

TEST(Random, integers_uniforms_and_normals_follow_from_seed_and_offset) {
  const std::pair<int64_t, int64_t> cases[] = {
      {0, 0}, {1, 7}, {-5, 12345}, {0x123456789abc, 99}, {42, 0x1000000005}};
  for (auto [seed, offset] : cases) {
    auto wideSeed = uint64_t(seed);
    Words expected = philoxReference({uint32_t(offset), uint32_t(uint64_t(offset) >> 32), 0, 0},
                                     {uint32_t(wideSeed), uint32_t(wideSeed >> 32)});
    KernelBuilder k{};
    std::vector<Operand> arguments = {k.number(seed), k.number(offset)};
    Operand integers = k.call("randint4x", arguments);
    Operand uniforms = k.call("rand4x", arguments);
    Operand normal = k.call("randn", arguments);
    EXPECT_EQ(k.call("randint", arguments).kindName(), "u32");
    ASSERT_TRUE(integers.items() && uniforms.items()) << k.errors();
    EXPECT_EQ(normal.kindName(), "fp32");
    std::vector<Operand> all = *integers.items();
    all.insert(all.end(), uniforms.items()->begin(), uniforms.items()->end());
    auto values = folded(k, all);
    ASSERT_EQ(values.size(), 8u);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(bits(values[i]), expected[i]);
      auto folding = int32_t(expected[i]);
      float magnitude = float(folding < 0 ? -folding - 1 : folding);
      float uniform = magnitude * 4.6566127342e-10f;
      EXPECT_EQ(mlir::cast<mlir::FloatAttr>(values[4 + i]).getValueAsDouble(), uniform);
      EXPECT_GE(uniform, 0.0f);
      EXPECT_LT(uniform, 1.0f);
    }
  }
}

TEST(Random, tiles_of_offsets_give_tiles) {
  KernelBuilder k{"i32"};
  Operand offsets = k.call("arange", {k.number(0), k.number(96)});
  EXPECT_EQ(k.call("rand", {k[0], offsets}).kindName(), "fp32[96]");
  EXPECT_EQ(k.call("randint", {k.number(7), offsets}, {{"n_rounds", k.number(6)}}).kindName(),
            "u32[96]");
  EXPECT_EQ(k.call("randn4x", {k[0], offsets}).items()->size(), 4u);
  EXPECT_EQ(k.errors(), "");
  k.body();
}

} // namespace
