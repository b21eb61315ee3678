// VALU: integers and numbers of 32 and 64 bits, comparisons, conversions, at their edges.
#include "TestWave.h"

namespace sectile::amdisa {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(AmdIsaVector, carries_go_lane_by_lane) {
  TestWave wave("gfx942");
  wave.setVector(1, [](unsigned lane) { return lane % 2 ? 0xffffffffu : 5u; });
  wave.setAll(0, 99u);
  wave.wave().setMask(kExec, 0x3333333333333333);
  ASSERT_EQ(wave.run("v_add_co_u32 v2, vcc, 1, v1\nv_addc_co_u32 v0, vcc, 0, v0, vcc\n"
                     "v_sub_co_u32 v3, s[0:1], v1, -1\nv_subb_co_u32 v4, s[2:3], 7, v1, s[0:1]"),
            "");
  EXPECT_EQ(wave.wave().mask(kVcc), 0u);
  EXPECT_EQ(wave.wave().pair(0), 0x1111111111111111u); // 5 - 0xffffffff borrows
  for (unsigned lane = 0; lane < 64; ++lane) {
    bool isOn = lane % 4 < 2;
    EXPECT_EQ(wave.vector(0, lane), isOn && lane % 2 ? 100u : 99u) << lane;
    if (isOn) {
      EXPECT_EQ(wave.vector(2, lane), lane % 2 ? 0u : 6u);
      EXPECT_EQ(wave.vector(4, lane), lane % 2 ? 8u : 1u);
    }
  }
}

TEST(AmdIsaVector, carry_of_a_wide_product) {
  TestWave wave("gfx942");
  wave.setAll(0, ~0u);
  wave.setAll(2, ~uint64_t(0));
  ASSERT_EQ(wave.run("v_mad_u64_u32 v[4:5], s[0:1], v0, v0, v[2:3]\n"
                     "v_mad_u64_u32 v[6:7], s[2:3], v0, v0, 0\n"
                     "v_mad_i64_i32 v[8:9], s[4:5], v0, 3, -1"),
            "");
  EXPECT_EQ(wave.wide(4), 0xfffffffe00000000u);
  EXPECT_EQ(wave.wave().pair(0), ~uint64_t(0));
  EXPECT_EQ(wave.wide(6), 0xfffffffe00000001u);
  EXPECT_EQ(wave.wave().pair(2), 0u);
  EXPECT_EQ(wave.wide(8), uint64_t(-4));
}

TEST(AmdIsaVector, bits_and_fields) {
  TestWave wave("gfx950");
  wave.setAll(1, 0x12345678u);
  wave.setAll(2, 0x9abcdef0u);
  ASSERT_EQ(
      wave.run("v_mov_b32 v3, 0x07050300\nv_perm_b32 v10, v1, v2, v3\nv_mov_b32 v3, 0x0d0c0b08\n"
               "v_perm_b32 v11, v1, v2, v3\nv_alignbit_b32 v12, v1, v2, 4\n"
               "v_alignbyte_b32 v13, v1, v2, 1\nv_bfe_u32 v14, v2, 28, 4\n"
               "v_bfe_i32 v15, v2, 28, 4\nv_bfe_u32 v16, v2, 28, 8\nv_bfi_b32 v17, 15, v1, v2\n"
               "v_bfrev_b32 v18, 1\nv_ffbh_u32 v19, 0\nv_ffbh_i32 v20, -1\nv_ffbl_b32 v21, v2\n"
               "v_bcnt_u32_b32 v22, v1, 50\nv_bitop3_b32 v23, v1, v2, -1 bitop3:0x60\n"
               "v_lshl_add_u32 v24, v1, 4, 1\nv_mul_i32_i24 v25, -3, 5\n"
               "v_mul_hi_u32 v26, v2, v2\nv_sad_u8 v27, v1, v2, 1"),
      "");
  EXPECT_EQ(wave.vector(10), 0x12569af0u);
  EXPECT_EQ(wave.vector(11), 0xff0000ffu);
  EXPECT_EQ(wave.vector(12), 0x89abcdefu);
  EXPECT_EQ(wave.vector(13), 0x789abcdeu);
  EXPECT_EQ(wave.vector(14), 9u);
  EXPECT_EQ(wave.vector(15), uint32_t(-7));
  EXPECT_EQ(wave.vector(16), 9u);
  EXPECT_EQ(wave.vector(17), 0x9abcdef8u);
  EXPECT_EQ(wave.vector(18), 0x80000000u);
  EXPECT_EQ(wave.vector(19), ~0u);
  EXPECT_EQ(wave.vector(20), ~0u);
  EXPECT_EQ(wave.vector(21), 4u);
  EXPECT_EQ(wave.vector(22), 63u);
  EXPECT_EQ(wave.vector(23), 8u);
  EXPECT_EQ(wave.vector(24), 0x23456781u);
  EXPECT_EQ(wave.vector(25), uint32_t(-15));
  EXPECT_EQ(wave.vector(26), uint32_t(uint64_t(0x9abcdef0) * 0x9abcdef0 >> 32));
  EXPECT_EQ(wave.vector(27), 3u * 0x88 + 0x78 + 1);
}

TEST(AmdIsaVector, counts_of_lower_lanes) {
  TestWave wave("gfx942");
  wave.wave().setPair(0, 0xffffffff00000005);
  ASSERT_EQ(wave.run("v_mbcnt_lo_u32_b32 v0, s0, 10\nv_mbcnt_hi_u32_b32 v0, s1, v0"), "");
  EXPECT_EQ(wave.vector(0, 0), 10u);
  EXPECT_EQ(wave.vector(0, 2), 11u);
  EXPECT_EQ(wave.vector(0, 40), 20u);
}

TEST(AmdIsaVector, extrema_know_nan_and_the_sign_of_zero) {
  TestWave wave("gfx1201");
  wave.setAll(1, kNan);
  wave.setAll(2, -0.0f);
  ASSERT_EQ(wave.run("v_max_num_f32 v10, v1, 1.0\nv_min_num_f32 v11, 1.0, v1\n"
                     "v_max_num_f32 v12, v2, 0\nv_min_num_f32 v13, 0, v2\n"
                     "v_maximum_f32 v14, v1, 1.0\nv_minimum_f32 v15, 1.0, v1\n"
                     "v_med3_num_f32 v16, 1.0, 4.0, 2.0\nv_med3_num_f32 v17, v1, 4.0, 2.0\n"
                     "v_max3_num_f32 v18, v1, 1.0, -v2\nv_max_num_f64 v[20:21], 1.0, -2.0"),
            "");
  EXPECT_EQ(wave.real(10), 1.0f);
  EXPECT_EQ(wave.real(11), 1.0f);
  EXPECT_EQ(wave.vector(12), 0u);
  EXPECT_EQ(wave.vector(13), 0x80000000u);
  EXPECT_TRUE(std::isnan(wave.real(14)));
  EXPECT_TRUE(std::isnan(wave.real(15)));
  EXPECT_EQ(wave.real(16), 2.0f);
  EXPECT_EQ(wave.real(17), 2.0f);
  EXPECT_EQ(wave.real(18), 1.0f);
  EXPECT_EQ(wave.realWide(20), 1.0);
}

TEST(AmdIsaVector, comparisons_with_nan) {
  TestWave wave("gfx942");
  wave.setVector(1, [](unsigned lane) { return lane % 2 ? kNan : 1.0f; });
  wave.wave().setMask(kExec, 15);
  struct {
    const char *name;
    uint64_t lanes;
  } const cases[] = {{"eq", 5},   {"neq", 10}, {"lg", 0},   {"nlg", 15}, {"lt", 0},
                     {"nlt", 15}, {"ge", 5},   {"nge", 10}, {"o", 5},    {"u", 10}};
  for (const auto &[name, lanes] : cases) {
    ASSERT_EQ(wave.run(std::string("v_cmp_") + name + "_f32 s[0:1], 1.0, v1"), "");
    EXPECT_EQ(wave.wave().pair(0), lanes) << name;
  }
}

TEST(AmdIsaVector, comparison_to_exec) {
  for (const char *chip : {"gfx942", "gfx1100"}) {
    TestWave wave(chip);
    wave.setVector(1, [](unsigned lane) { return lane; });
    wave.wave().setMask(kExec, 0xf0);
    ASSERT_EQ(wave.run(chip[3] == '9' ? "v_cmpx_gt_u32 vcc, 6, v1" : "v_cmpx_gt_u32 6, v1"), "");
    EXPECT_EQ(wave.wave().exec(), 0x30u) << chip;
  }
}

TEST(AmdIsaVector, classes) {
  TestWave wave("gfx942");
  const float values[] = {std::bit_cast<float>(0x7fa00000),
                          kNan,
                          -kInfinity,
                          -1,
                          -1e-40f,
                          -0.0f,
                          0.0f,
                          1e-40f,
                          1,
                          kInfinity};
  wave.setVector(1, [&](unsigned lane) { return values[lane % 10]; });
  wave.wave().setMask(kExec, 1023);
  for (unsigned bit = 0; bit < 10; ++bit) {
    wave.setAll(2, 1u << bit);
    ASSERT_EQ(wave.run("v_cmp_class_f32 s[0:1], v1, v2"), "");
    EXPECT_EQ(wave.wave().pair(0), 1u << bit);
  }
}

TEST(AmdIsaVector, parts_of_numbers) {
  TestWave wave("gfx942");
  wave.setAll(1, -2.25f);
  wave.setAll(4, -149);
  ASSERT_EQ(wave.run("v_fract_f32 v10, v1\nv_floor_f32 v11, v1\nv_trunc_f32 v12, v1\n"
                     "v_mov_b32 v3, 0x40200000\nv_rndne_f32 v13, v3\n"
                     "v_ldexp_f32 v14, 1.0, v4\nv_frexp_mant_f32 v15, v1\n"
                     "v_frexp_exp_i32_f32 v16, v1\nv_frexp_exp_i32_f32 v17, 0\n"
                     "v_exp_f32 v19, 4.0\nv_log_f32 v20, 0\n"
                     "v_rsq_f32 v21, 4.0\nv_sin_f32 v22, 0.5\nv_cos_f32 v23, 0.5\n"
                     "v_fma_f64 v[24:25], 2.0, 0.5, -4.0"),
            "");
  EXPECT_EQ(wave.real(10), 0.75f);
  EXPECT_EQ(wave.real(11), -3.0f);
  EXPECT_EQ(wave.real(12), -2.0f);
  EXPECT_EQ(wave.real(13), 2.0f);
  EXPECT_EQ(wave.vector(14), 1u);
  EXPECT_EQ(wave.real(15), -0.5625f);
  EXPECT_EQ(wave.vector(16), 2u);
  EXPECT_EQ(wave.vector(17), 0u);
  EXPECT_EQ(wave.real(19), 16.0f);
  EXPECT_EQ(wave.real(20), -kInfinity);
  EXPECT_EQ(wave.real(21), 0.5f);
  EXPECT_NEAR(wave.real(22), 0, 1e-7);
  EXPECT_EQ(wave.real(23), -1.0f);
  EXPECT_EQ(wave.realWide(24), -3.0);
}

TEST(AmdIsaVector, approximations_move_with_the_seed_and_stay_near) {
  unsigned moved = 0;
  for (uint64_t seed : {1, 2, 3, 4}) {
    TestWave wave("gfx942", 0, seed);
    wave.setVector(1, [](unsigned lane) { return float(lane + 3); });
    ASSERT_EQ(wave.run("v_rcp_f32 v2, v1"), "");
    for (unsigned lane = 0; lane < 64; ++lane) {
      double exact = 1.0 / (lane + 3);
      EXPECT_NEAR(wave.real(2, lane), exact, exact * 1.2e-7);
      moved += wave.real(2, lane) != float(exact);
    }
    EXPECT_EQ(wave.real(2, 1), 0.25f); // what is exact stays
  }
  EXPECT_GT(moved, 32u);
}

TEST(AmdIsaVector, conversions_saturate) {
  TestWave wave("gfx942");
  wave.setAll(1, kNan);
  wave.setAll(2, 3e9f);
  wave.setAll(3, -1.5f);
  wave.setAll(4, 1e300);
  ASSERT_EQ(
      wave.run("v_cvt_i32_f32 v10, v1\nv_cvt_i32_f32 v11, v2\nv_cvt_u32_f32 v12, v3\n"
               "v_cvt_i32_f32 v13, v3\nv_cvt_u32_f64 v14, v[4:5]\nv_cvt_f32_f64 v15, v[4:5]\n"
               "v_cvt_f32_ubyte2 v16, 0x00ff0000\nv_cvt_pk_u16_u32 v17, -1, 5\n"
               "v_mov_b32 v6, 0x12345\nv_cvt_pk_i16_i32 v18, v6, -1\nv_cvt_flr_i32_f32 v19, v3\n"
               "v_cvt_rpi_i32_f32 v20, v3\nv_cvt_f64_u32 v[22:23], -1"),
      "");
  EXPECT_EQ(wave.vector(10), 0u);
  EXPECT_EQ(wave.vector(11), 0x7fffffffu);
  EXPECT_EQ(wave.vector(12), 0u);
  EXPECT_EQ(wave.vector(13), uint32_t(-1));
  EXPECT_EQ(wave.vector(14), ~0u);
  EXPECT_EQ(wave.real(15), kInfinity);
  EXPECT_EQ(wave.real(16), 255.0f);
  EXPECT_EQ(wave.vector(17), 0x0005ffffu);
  EXPECT_EQ(wave.vector(18), 0xffff7fffu);
  EXPECT_EQ(wave.vector(19), uint32_t(-2));
  EXPECT_EQ(wave.vector(20), uint32_t(-1));
  EXPECT_EQ(wave.realWide(22), 4294967295.0);
}

} // namespace
} // namespace sectile::amdisa
