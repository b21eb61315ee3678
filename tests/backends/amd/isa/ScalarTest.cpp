// SALU: carries, edges of shifts and fields, EXEC, branches, modes.
#include "TestWave.h"

namespace sectile::amdisa {
namespace {

TEST(AmdIsaScalar, sums_set_carry_or_overflow) {
  TestWave wave("gfx942");
  wave.scalar(1) = 0xffffffff;
  wave.scalar(2) = 1;
  wave.scalar(3) = 0x7fffffff;
  ASSERT_EQ(wave.run("s_add_u32 s10, s1, s2\ns_addc_u32 s11, 0, 0\ns_sub_u32 s12, s2, s1\n"
                     "s_subb_u32 s13, 5, 0\ns_add_i32 s14, s3, s2\ns_cselect_b32 s15, 1, 0\n"
                     "s_add_i32 s16, s1, s2\ns_cselect_b32 s17, 1, 0"),
            "");
  EXPECT_EQ(wave.scalar(10), 0u);
  EXPECT_EQ(wave.scalar(11), 1u);
  EXPECT_EQ(wave.scalar(12), 2u);
  EXPECT_EQ(wave.scalar(13), 4u);
  EXPECT_EQ(wave.scalar(14), 0x80000000u);
  EXPECT_EQ(wave.scalar(15), 1u);
  EXPECT_EQ(wave.scalar(16), 0u);
  EXPECT_EQ(wave.scalar(17), 0u);
}

TEST(AmdIsaScalar, halves) {
  TestWave wave("gfx1201");
  wave.scalar(1) = 0x3c00; // 1
  wave.scalar(2) = 0xc200; // -3
  wave.scalar(3) = 0x7e00; // NaN
  wave.scalar(4) = 0x42003c00;
  wave.scalar(5) = 0x3f801fff; // 1 + 2^-10 * 0.9998...
  wave.scalar(10) = 0x4400;    // 4
  ASSERT_EQ(
      wave.run("s_fmac_f16 s10, s1, s2\ns_min_num_f16 s11, s1, s2\ns_max_num_f16 s12, s2, s3\n"
               "s_minimum_f16 s13, s1, s3\ns_maximum_f16 s14, s1, s2\n"
               "s_cvt_hi_f32_f16 s15, s4\ns_cvt_pk_rtz_f16_f32 s16, s5, s15"),
      "");
  EXPECT_EQ(wave.scalar(10), 0x3c00u);
  EXPECT_EQ(wave.scalar(11), 0xc200u);
  EXPECT_EQ(wave.scalar(12), 0xc200u);
  EXPECT_EQ(wave.scalar(13) & 0x7c00u, 0x7c00u);
  EXPECT_NE(wave.scalar(13) & 0x3ffu, 0u);
  EXPECT_EQ(wave.scalar(14), 0x3c00u);
  EXPECT_EQ(wave.scalar(15), 0x40400000u); // 3
  EXPECT_EQ(wave.scalar(16), 0x42003c00u);
}

TEST(AmdIsaScalar, fields_and_counts) {
  TestWave wave("gfx1100");
  wave.scalar(0) = 0x80f0;
  wave.scalar(1) = 0;
  wave.scalar(2) = 0xffff0000;
  ASSERT_EQ(wave.run("s_bfe_u32 s10, s0, 0x40004\ns_bfe_i32 s11, s0, 0x40004\n"
                     "s_bfe_u32 s12, s0, 0x200000\ns_brev_b32 s13, s0\ns_ctz_i32_b32 s14, s0\n"
                     "s_ctz_i32_b32 s15, s1\ns_clz_i32_u32 s16, s0\ns_cls_i32 s17, s2\n"
                     "s_bcnt1_i32_b32 s18, s0\ns_sext_i32_i16 s19, s0\ns_bfm_b32 s20, 4, 8\n"
                     "s_cls_i32 s21, s1"),
            "");
  EXPECT_EQ(wave.scalar(10), 15u);
  EXPECT_EQ(wave.scalar(11), ~0u);
  EXPECT_EQ(wave.scalar(12), 0x80f0u);
  EXPECT_EQ(wave.scalar(13), 0x0f010000u);
  EXPECT_EQ(wave.scalar(14), 4u);
  EXPECT_EQ(wave.scalar(15), ~0u);
  EXPECT_EQ(wave.scalar(16), 16u);
  EXPECT_EQ(wave.scalar(17), 16u);
  EXPECT_EQ(wave.scalar(18), 5u);
  EXPECT_EQ(wave.scalar(19), 0xffff80f0u);
  EXPECT_EQ(wave.scalar(20), 0xf00u);
  EXPECT_EQ(wave.scalar(21), ~0u);
}

TEST(AmdIsaScalar, words_of_64_bits) {
  TestWave wave("gfx942");
  wave.wave().setPair(0, 0x8000000000000001);
  ASSERT_EQ(wave.run("s_lshl_b64 s[10:11], s[0:1], 4\ns_ashr_i64 s[12:13], s[0:1], 4\n"
                     "s_not_b64 s[14:15], s[0:1]\ns_ff1_i32_b64 s16, s[0:1]\n"
                     "s_flbit_i32_b64 s17, s[0:1]\ns_cmp_eq_u64 s[0:1], s[0:1]\n"
                     "s_cselect_b64 s[18:19], -1, 0\ns_mul_hi_u32 s20, s1, s1\n"
                     "s_mul_hi_i32 s21, s1, s1\ns_bfe_i64 s[22:23], s[0:1], 0x10003f\n"
                     "s_mov_b64 s[24:25], 0x80000000"),
            "");
  EXPECT_EQ(wave.wave().pair(10), 0x10u);
  EXPECT_EQ(wave.wave().pair(12), 0xf800000000000000u);
  EXPECT_EQ(wave.wave().pair(14), 0x7ffffffffffffffeu);
  EXPECT_EQ(wave.scalar(16), 0u);
  EXPECT_EQ(wave.scalar(17), 0u);
  EXPECT_EQ(wave.wave().pair(18), ~uint64_t(0));
  EXPECT_EQ(wave.scalar(20), 0x40000000u);
  EXPECT_EQ(wave.scalar(21), 0x40000000u);
  EXPECT_EQ(wave.wave().pair(22), ~uint64_t(0));
  EXPECT_EQ(wave.wave().pair(24), 0x80000000u);
}

TEST(AmdIsaScalar, execution_masks) {
  TestWave wave("gfx942");
  wave.wave().setMask(kExec, 0xff00ff00ff00ff00);
  wave.wave().setPair(0, 0xf0f0f0f0f0f0f0f0);
  ASSERT_EQ(wave.run("s_and_saveexec_b64 s[2:3], s[0:1]\ns_mov_b64 s[4:5], exec\n"
                     "s_cselect_b32 s6, 1, 0\ns_andn2_b64 exec, s[2:3], exec\n"
                     "s_mov_b64 s[8:9], exec\ns_or_b64 exec, exec, s[4:5]"),
            "");
  EXPECT_EQ(wave.wave().pair(2), 0xff00ff00ff00ff00u);
  EXPECT_EQ(wave.wave().pair(4), 0xf000f000f000f000u);
  EXPECT_EQ(wave.scalar(6), 1u);
  EXPECT_EQ(wave.wave().pair(8), 0x0f000f000f000f00u);
  EXPECT_EQ(wave.wave().exec(), 0xff00ff00ff00ff00u);
}

TEST(AmdIsaScalar, masks_of_32_lanes_leave_the_next_register_alone) {
  TestWave wave("gfx1100");
  wave.scalar(3) = 77;
  wave.setVector(1, [](unsigned lane) { return lane; });
  ASSERT_EQ(wave.run("v_cmp_gt_u32_e64 s2, 3, v1"), "");
  EXPECT_EQ(wave.scalar(2), 7u);
  EXPECT_EQ(wave.scalar(3), 77u);
}

TEST(AmdIsaScalar, a_loop) {
  for (const char *chip : {"gfx942", "gfx1201"}) {
    TestWave wave(chip);
    ASSERT_EQ(wave.run("s_mov_b32 s0, 10\ns_mov_b32 s1, 0\nagain:\ns_add_i32 s1, s1, s0\n"
                       "s_add_i32 s0, s0, -1\ns_cmp_lg_u32 s0, 0\ns_cbranch_scc1 again\ns_endpgm"),
              "");
    EXPECT_EQ(wave.scalar(1), 55u);
  }
}

TEST(AmdIsaScalar, constants_of_16_bits_have_the_sign_of_the_comparison) {
  TestWave wave("gfx942");
  wave.scalar(0) = 0xffff8000;
  ASSERT_EQ(wave.run("s_cmpk_eq_i32 s0, 0x8000\ns_cselect_b32 s1, 1, 0\n"
                     "s_cmpk_eq_u32 s0, 0x8000\ns_cselect_b32 s2, 1, 0\ns_movk_i32 s3, 0x8000\n"
                     "s_addk_i32 s0, 0xffff"),
            "");
  EXPECT_EQ(wave.scalar(1), 1u);
  EXPECT_EQ(wave.scalar(2), 0u);
  EXPECT_EQ(wave.scalar(3), 0xffff8000u);
  EXPECT_EQ(wave.scalar(0), 0xffff7fffu);
}

TEST(AmdIsaScalar, numbers_of_gfx12) {
  TestWave wave("gfx1201");
  wave.scalar(0) = std::bit_cast<uint32_t>(2.5f);
  ASSERT_EQ(wave.run("s_mul_f32 s1, s0, -2.0\ns_cvt_i32_f32 s2, s1\ns_cmp_lt_f32 s1, s0\n"
                     "s_cselect_b32 s3, 1, 0\nv_s_rcp_f32 s4, 4.0\ns_add_nc_u64 s[6:7], -1, -1\n"
                     "s_mul_u64 s[8:9], s[6:7], s[6:7]"),
            "");
  EXPECT_EQ(std::bit_cast<float>(wave.scalar(1)), -5.0f);
  EXPECT_EQ(wave.scalar(2), uint32_t(-5));
  EXPECT_EQ(wave.scalar(3), 1u);
  EXPECT_EQ(std::bit_cast<float>(wave.scalar(4)), 0.25f);
  EXPECT_EQ(wave.wave().pair(6), uint64_t(-2));
  EXPECT_EQ(wave.wave().pair(8), 4u);
}

TEST(AmdIsaScalar, modes) {
  TestWave wave("gfx1100");
  wave.wave().mode = {};
  wave.setAll(1, 0x00400000u); // denormal
  ASSERT_EQ(wave.run("v_add_f32 v2, v1, v1\ns_denorm_mode 12\nv_add_f32 v3, v1, v1\n"
                     "v_add_u32 v4, v1, 0\ns_getreg_b32 s0, hwreg(HW_REG_MODE, 4, 4)"),
            "");
  EXPECT_EQ(wave.vector(2), 0x00800000u);
  EXPECT_EQ(wave.vector(3), 0u);
  EXPECT_EQ(wave.vector(4), 0x00400000u);
  EXPECT_EQ(wave.scalar(0), 12u);
  EXPECT_EQ(wave.run("s_round_mode 1"),
            "rounding other than to the nearest number is not modelled");
}

TEST(AmdIsaScalar, a_jump_out_of_the_code_is_an_error) {
  TestWave wave("gfx942");
  EXPECT_EQ(wave.run("s_mov_b64 s[0:1], 64\ns_setpc_b64 s[0:1]\ns_endpgm"),
            "jumps out of the kernel");
}

} // namespace
} // namespace sectile::amdisa
