// VALU: halves, packed pairs, mixed precision, dot products, numbers of 8 bits.
#include "../../HostCode.h"
#include "Numbers.h"
#include "TestWave.h"
#include "backends/common/math/NumberConversion.h"

#include <algorithm>
#include <vector>

namespace sectile::amdisa {
namespace {

using backends::NarrowFloat;

uint32_t pairOf(float low, float high) {
  return halfFromFloat(low) | uint32_t(halfFromFloat(high)) << 16;
}

TEST(AmdIsaHalf, conversions_to_half_round_to_even) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = halfToFloat(uint16_t(bits));
    if (std::isnan(value))
      continue;
    ASSERT_EQ(halfFromFloat(value), bits);
    ASSERT_EQ(halfFromDouble(value), bits);
  }
  for (float value : {1.00048828125f, 1.00146484375f, 65519.99f, 65520.0f, 2.98e-8f, 2.99e-8f,
                      1e-10f, 6.1e-5f, 6.09e-5f, 0.333333f}) {
    EXPECT_EQ(halfFromFloat(value), halfFromDouble(value)) << value;
    EXPECT_EQ(halfFromFloat(-value), halfFromDouble(-value)) << value;
  }
  EXPECT_EQ(halfFromFloat(1.00048828125f), 0x3c00);
  EXPECT_EQ(halfFromFloat(1.00146484375f), 0x3c02);
  EXPECT_EQ(halfFromFloat(65520.0f), 0x7c00);
}

TEST(AmdIsaHalf, the_other_half_is_cleared_on_gfx9_and_kept_later) {
  TestWave old("gfx942"), recent("gfx1100");
  for (TestWave *wave : {&old, &recent})
    wave->setAll(0, 0xabcd1234u);
  ASSERT_EQ(old.run("v_add_u16 v0, 1, v0"), "");
  EXPECT_EQ(old.vector(0), 0x00001235u);
  ASSERT_EQ(recent.run("v_add_nc_u16 v0.l, 1, v0.l\nv_add_nc_u16 v0.h, 1, v0.h"), "");
  EXPECT_EQ(recent.vector(0), 0xabce1235u);
}

TEST(AmdIsaHalf, what_came_with_gfx9_keeps_the_other_half) {
  TestWave wave("gfx942");
  for (unsigned index : {0, 1})
    wave.setAll(index, 0xabcd0000u);
  ASSERT_EQ(wave.run("v_mad_u16 v0, 2, 3, 4\nv_mad_legacy_u16 v1, 2, 3, 4"), "");
  EXPECT_EQ(wave.vector(0), 0xabcd000au);
  EXPECT_EQ(wave.vector(1), 0x0000000au);
}

TEST(AmdIsaHalf, saturation) {
  TestWave wave("gfx942");
  wave.setAll(1, 0x7fffu);
  ASSERT_EQ(wave.run("v_add_i16 v2, v1, v1 clamp\nv_add_u16 v3, v1, v1 clamp\n"
                     "v_sub_u16 v4, 1, v1 clamp\nv_pk_add_u16 v5, v1, v1\n"
                     "v_add_f16 v6, 1.0, 1.0 clamp"),
            "");
  EXPECT_EQ(wave.vector(2) & 0xffff, 0x7fffu);
  EXPECT_EQ(wave.vector(3), 0xfffeu);
  EXPECT_EQ(wave.vector(4), 0u);
  EXPECT_EQ(wave.vector(5), 0xfffeu);
  EXPECT_EQ(wave.vector(6), 0x3c00u);
}

TEST(AmdIsaHalf, packed_operations_choose_halves_and_signs) {
  for (const char *chip : {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"}) {
    TestWave wave(chip);
    wave.setAll(1, pairOf(1, 2));
    wave.setAll(2, pairOf(10, 20));
    wave.setAll(3, 0x00010002u);
    ASSERT_EQ(wave.run("v_pk_add_f16 v10, v1, v2\n"
                       "v_pk_add_f16 v11, v1, v2 op_sel:[1,0] op_sel_hi:[0,1]\n"
                       "v_pk_mul_f16 v12, v1, v2 neg_lo:[1,0] neg_hi:[0,1]\n"
                       "v_pk_fma_f16 v13, v1, v2, 1.0 op_sel_hi:[1,1,0]\n"
                       "v_pk_lshlrev_b16 v14, v3, v3\nv_pk_sub_i16 v15, v3, -1\n"
                       "v_pk_max_i16 v16, v3, -1"),
              "");
    EXPECT_EQ(wave.vector(10), pairOf(11, 22)) << chip;
    EXPECT_EQ(wave.vector(11), pairOf(12, 21)) << chip;
    EXPECT_EQ(wave.vector(12), pairOf(-10, -40)) << chip;
    EXPECT_EQ(wave.vector(13), pairOf(11, 41)) << chip;
    EXPECT_EQ(wave.vector(14), 0x00020008u) << chip;
    EXPECT_EQ(wave.vector(15), 0x00020003u) << chip;
    EXPECT_EQ(wave.vector(16), 0x00010002u) << chip;
  }
}

TEST(AmdIsaHalf, packed_words) {
  TestWave wave("gfx942");
  wave.setAll(0, 1.0f);
  wave.setAll(1, 2.0f);
  wave.setAll(2, 10.0f);
  wave.setAll(3, 20.0f);
  ASSERT_EQ(wave.run("v_pk_add_f32 v[10:11], v[0:1], v[2:3]\n"
                     "v_pk_mul_f32 v[12:13], v[0:1], v[2:3] op_sel:[1,0] op_sel_hi:[0,1]\n"
                     "v_pk_fma_f32 v[14:15], v[0:1], v[2:3], v[2:3] neg_lo:[0,0,1]\n"
                     "v_pk_mov_b32 v[0:1], v[0:1], v[2:3] op_sel:[1,0]"),
            "");
  EXPECT_EQ(wave.real(10), 11.0f);
  EXPECT_EQ(wave.real(11), 22.0f);
  EXPECT_EQ(wave.real(12), 20.0f);
  EXPECT_EQ(wave.real(13), 20.0f);
  EXPECT_EQ(wave.real(14), 0.0f);
  EXPECT_EQ(wave.real(15), 60.0f);
  EXPECT_EQ(wave.real(0), 2.0f);
  EXPECT_EQ(wave.real(1), 10.0f);
}

TEST(AmdIsaHalf, mixed_precision) {
  TestWave wave("gfx1100");
  wave.setAll(1, pairOf(3, 5));
  wave.setAll(2, 7.0f);
  wave.setAll(4, 0xffffffffu);
  wave.setAll(5, 0xffffffffu);
  ASSERT_EQ(wave.run("v_fma_mix_f32 v3, v1, -v2, 1.0 op_sel:[1,0,0] op_sel_hi:[1,0,0]\n"
                     "v_fma_mixlo_f16 v4, v1, v2, v1 op_sel_hi:[1,0,1]\n"
                     "v_fma_mixhi_f16 v5, |v2|, v2, v2"),
            "");
  EXPECT_EQ(wave.real(3), -34.0f);
  EXPECT_EQ(wave.vector(4), 0xffff0000u | halfFromFloat(24));
  EXPECT_EQ(wave.vector(5), 0xffffu | uint32_t(halfFromFloat(56)) << 16);
}

TEST(AmdIsaHalf, dot_products) {
  TestWave wave("gfx1100");
  wave.setAll(1, 0x80ff0201u);
  wave.setAll(2, 0x01020304u);
  wave.setAll(3, pairOf(1, 2));
  wave.setAll(4, pairOf(3, 4));
  wave.setAll(5, 100.0f);
  ASSERT_EQ(wave.run("v_dot4_i32_iu8 v10, v1, v2, 5 neg_lo:[1,1,0]\nv_dot4_i32_iu8 v11, v1, v2, 5\n"
                     "v_dot4_u32_u8 v12, v1, v2, 0\nv_dot2_f32_f16 v13, v3, v4, 0.5\n"
                     "v_dot2acc_f32_f16 v5, v3, v4"),
            "");
  EXPECT_EQ(wave.vector(10), uint32_t(-128 - 2 + 6 + 4 + 5));
  EXPECT_EQ(wave.vector(11), 128u + 510 + 6 + 4 + 5);
  EXPECT_EQ(wave.vector(12), 128u + 510 + 6 + 4);
  EXPECT_EQ(wave.real(13), 11.5f);
  EXPECT_EQ(wave.real(5), 111.0f);
}

TEST(AmdIsaHalf, conversions_toward_zero) {
  TestWave wave("gfx942");
  wave.setAll(1, 1.0009f);
  wave.setAll(2, -65519.0f);
  ASSERT_EQ(wave.run("v_cvt_pkrtz_f16_f32 v3, v1, v2\nv_cvt_f16_f32 v4, v1\nv_cvt_f32_f16 v5, v4"),
            "");
  EXPECT_EQ(wave.vector(3), 0xfbff3c00u);
  EXPECT_EQ(wave.vector(4), 0x3c01u);
}

TEST(AmdIsaHalf, numbers_of_8_bits) {
  for (SmallFormat format : {kE4M3, kE5M2, kE4M3Fnuz, kE5M2Fnuz})
    for (unsigned bits = 0; bits < 256; ++bits) {
      float value = smallToFloat(format, uint8_t(bits));
      if (!std::isnan(value) && bits != 0x80) {
        EXPECT_EQ(smallFromFloat(format, value, false), bits) << bits;
      }
    }
  EXPECT_EQ(smallToFloat(kE4M3, 0x7e), 448.0f);
  EXPECT_EQ(smallToFloat(kE4M3Fnuz, 0x7f), 240.0f);
  EXPECT_EQ(smallToFloat(kE5M2, 0x7b), 57344.0f);
  EXPECT_EQ(smallToFloat(kE5M2Fnuz, 0x7f), 57344.0f);
  EXPECT_EQ(smallFromFloat(kE4M3, 1000, true), 0x7e);
  EXPECT_EQ(smallFromFloat(kE4M3, 1000, false), 0x7f);
  EXPECT_EQ(smallFromFloat(kE4M3Fnuz, -0.0f, false), 0);
  EXPECT_EQ(smallFromFloat(kE4M3, 17, false), smallFromFloat(kE4M3, 16, false)); // ties to even
}

TEST(AmdIsaHalf, pairs_of_8_bits_go_where_op_sel_says) {
  for (const char *chip : {"gfx942", "gfx950", "gfx1201"}) {
    TestWave wave(chip);
    wave.setAll(1, 1.5f);
    wave.setAll(2, -2.0f);
    wave.setAll(3, 0xdddddddd);
    ASSERT_EQ(wave.run("v_cvt_pk_fp8_f32 v3, v1, v2 op_sel:[0,0,1]"), "");
    bool isFnuz = std::string(chip) == "gfx942";
    SmallFormat format = isFnuz ? kE4M3Fnuz : kE4M3;
    uint32_t pair = smallFromFloat(format, 1.5f, false) | smallFromFloat(format, -2.0f, false) << 8;
    EXPECT_EQ(wave.vector(3), 0xdddd | pair << 16) << chip;
    ASSERT_EQ(wave.run(wave.wave().lanes == 64
                           ? "v_cvt_pk_f32_fp8_sdwa v[4:5], v3 src0_sel:WORD_1\n"
                             "v_cvt_f32_fp8_sdwa v6, v3 src0_sel:BYTE_3"
                           : "v_cvt_pk_f32_fp8_e64 v[4:5], v3 op_sel:[1,0]\nv_cvt_f32_fp8_e64 v6, "
                             "v3 byte_sel:3"),
              "")
        << chip;
    EXPECT_EQ(wave.real(4), 1.5f) << chip;
    EXPECT_EQ(wave.real(5), -2.0f) << chip;
    EXPECT_EQ(wave.real(6), -2.0f) << chip;
  }
}

/// The project's own arithmetic for a kind of 8 bits, run on this machine.
std::vector<float> widenedBySoftware(NarrowFloat kind, const std::vector<uint8_t> &bits) {
  auto code = testing::compileLanes(
      cpu::HostFeatures::detect(), 1, {testing::Element::I8}, testing::Element::F32,
      [&](llvm::IRBuilderBase &b, llvm::ArrayRef<llvm::Value *> values) {
        return backends::emitWiden(b, backends::ArithmeticFeatures(), values[0], kind);
      });
  EXPECT_EQ(code->error(), "");
  std::vector<float> result(bits.size());
  (*code)(bits.data(), result.data(), int64_t(bits.size()));
  return result;
}

std::vector<uint8_t> narrowedBySoftware(NarrowFloat kind, const std::vector<float> &numbers) {
  auto code = testing::compileLanes(
      cpu::HostFeatures::detect(), 1, {testing::Element::F32}, testing::Element::I8,
      [&](llvm::IRBuilderBase &b, llvm::ArrayRef<llvm::Value *> values) {
        return backends::emitNarrow(b, backends::ArithmeticFeatures(), values[0], kind);
      });
  EXPECT_EQ(code->error(), "");
  std::vector<uint8_t> result(numbers.size());
  (*code)(numbers.data(), result.data(), int64_t(numbers.size()));
  return result;
}

// The arithmetic is tested against definitions of the formats (NumberConversionTest) and against
// ml_dtypes (test_conversions.py), so the interpreter cannot be wrong together with the back end.
TEST(AmdIsaHalf, numbers_of_8_bits_are_those_of_the_arithmetic) {
  struct {
    const char *chip, *name;
    NarrowFloat kind;
  } cases[] = {
      {"gfx942", "fp8", NarrowFloat::F8E4M3FNUZ}, {"gfx942", "bf8", NarrowFloat::F8E5M2FNUZ},
      {"gfx950", "fp8", NarrowFloat::F8E4M3FN},   {"gfx950", "bf8", NarrowFloat::F8E5M2},
      {"gfx1201", "fp8", NarrowFloat::F8E4M3FN},  {"gfx1201", "bf8", NarrowFloat::F8E5M2}};
  for (const auto &[chip, name, kind] : cases) {
    SCOPED_TRACE(std::string(chip) + " " + name);
    TestWave wave(chip);
    const unsigned lanes = wave.wave().lanes;
    std::vector<uint8_t> patterns(256);
    for (unsigned bits = 0; bits < 256; ++bits)
      patterns[bits] = uint8_t(bits);
    std::vector<float> values = widenedBySoftware(kind, patterns);
    for (unsigned first = 0; first < 256; first += lanes) {
      wave.setVector(1, [&](unsigned lane) { return 0xdddddd00 | (first + lane); });
      ASSERT_EQ(wave.run(std::string("v_cvt_f32_") + name + " v2, v1"), "");
      for (unsigned lane = 0; lane < lanes; ++lane) {
        float expected = values[first + lane];
        if (std::isnan(expected))
          EXPECT_TRUE(std::isnan(wave.real(2, lane))) << first + lane;
        else
          EXPECT_EQ(wave.vector(2, lane), std::bit_cast<uint32_t>(expected)) << first + lane;
      }
    }

    // Each number, the points between two of them, and the f32 next to both. What is larger than
    // the largest number depends on a mode, and the back end keeps it away.
    std::vector<float> numbers;
    for (float value : values)
      if (std::isfinite(value))
        numbers.push_back(value);
    std::sort(numbers.begin(), numbers.end());
    const float largest = numbers.back();
    for (size_t i = 0, count = numbers.size(); i + 1 < count; ++i)
      numbers.push_back((numbers[i] + numbers[i + 1]) / 2);
    for (size_t i = 0, count = numbers.size(); i < count; ++i)
      for (float to : {-INFINITY, INFINITY})
        numbers.push_back(std::clamp(std::nextafter(numbers[i], to), -largest, largest));
    for (float special : {0.0f, -0.0f, 1e-45f, -1e-45f, std::nanf("")})
      numbers.push_back(special);
    numbers.resize((numbers.size() + 63) / 64 * 64, 1.0f);
    std::vector<uint8_t> expected = narrowedBySoftware(kind, numbers);
    for (size_t first = 0; first < numbers.size(); first += lanes) {
      wave.setVector(1, [&](unsigned lane) { return numbers[first + lane]; });
      wave.setAll(2, 0u);
      ASSERT_EQ(wave.run(std::string("v_cvt_pk_") + name + "_f32 v2, v1, v1"), "");
      for (unsigned lane = 0; lane < lanes; ++lane) {
        float number = numbers[first + lane];
        if (std::isnan(number))
          EXPECT_TRUE(std::isnan(widenedBySoftware(kind, {uint8_t(wave.vector(2, lane))})[0]));
        else
          EXPECT_EQ(wave.vector(2, lane), expected[first + lane] * 0x101u) << number;
      }
    }
  }
}

} // namespace
} // namespace sectile::amdisa
