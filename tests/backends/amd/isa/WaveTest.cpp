// The parts that all instructions share: names, operands, EXEC, DPP, SDWA, errors.
#include "TestWave.h"

namespace sectile::amdisa {
namespace {

TEST(AmdIsaDecode, names_lose_encodings_and_targets) {
  EXPECT_EQ(semanticName("V_ADD_F32_e64_dpp_gfx11"), "V_ADD_F32");
  EXPECT_EQ(semanticName("GLOBAL_LOAD_DWORDX2_SADDR_vi"), "GLOBAL_LOAD_DWORDX2");
  EXPECT_EQ(semanticName("V_MFMA_F32_32X32X8F16_gfx940_vcd"), "V_MFMA_F32_32X32X8F16");
  EXPECT_EQ(semanticName("V_CVT_F16_F32V_CVT_F16_F32_t16_e64_gfx11"), "V_CVT_F16_F32");
  EXPECT_EQ(semanticName("BUFFER_LOAD_DWORD_LDS_OFFEN_vi"), "BUFFER_LOAD_DWORD");
  EXPECT_EQ(semanticName("S_ANDN2_SAVEEXEC_B64_gfx11"), "S_ANDN2_SAVEEXEC_B64");
}

TEST(AmdIsaDecode, operands) {
  Operand operand;
  ASSERT_TRUE(parseOperand("-|v7|", operand));
  EXPECT_TRUE(operand.isVector() && operand.negates && operand.takesAbsolute);
  EXPECT_EQ(operand.index, 7);
  ASSERT_TRUE(parseOperand("a[4:7]", operand));
  EXPECT_EQ(operand.index, kAccumulators + 4);
  EXPECT_EQ(operand.words, 4);
  ASSERT_TRUE(parseOperand("v3.h", operand));
  EXPECT_EQ(operand.half, Half::High);
  ASSERT_TRUE(parseOperand("vcc", operand));
  EXPECT_EQ(operand.index, kVcc);
  EXPECT_EQ(operand.words, 2);
  ASSERT_TRUE(parseOperand("-4.0", operand));
  EXPECT_EQ(operand.number, -4.0);
  EXPECT_FALSE(operand.negates);
  ASSERT_TRUE(parseOperand("0x3f800000", operand));
  EXPECT_TRUE(operand.isLiteral);
  ASSERT_TRUE(parseOperand("-16", operand));
  EXPECT_EQ(operand.integer, -16);
  EXPECT_FALSE(parseOperand("clamp", operand));
  EXPECT_FALSE(parseOperand("v256", operand));
  EXPECT_FALSE(parseOperand("s[105:106]", operand));
}

TEST(AmdIsaDecode, what_is_not_modelled_is_an_error_with_a_place) {
  TestWave wave("gfx942");
  EXPECT_EQ(wave.run("s_nop 0\nv_mqsad_pk_u16_u8 v[0:1], v[2:3], v4, v[6:7]"),
            "test at 0x4: `v_mqsad_pk_u16_u8 v[0:1], v[2:3], v4, v[6:7]` is not modelled "
            "(V_MQSAD_PK_U16_U8)");
  EXPECT_EQ(wave.run(".long 0xffffffff"), "test at 0x0: bytes are no instruction of gfx942");
}

TEST(AmdIsaWave, lanes_that_are_off_keep_their_values) {
  for (const char *chip : {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"}) {
    TestWave wave(chip);
    wave.setVector(1, [](unsigned lane) { return lane; });
    wave.setAll(0, 77u);
    wave.wave().setMask(kExec, 0xaaaaaaaaaaaaaaaa & wave.wave().allLanes());
    ASSERT_EQ(wave.run("v_add_f32 v2, v1, v1\nv_lshlrev_b32 v0, 1, v1"), "");
    for (unsigned lane = 0; lane < wave.wave().lanes; ++lane)
      EXPECT_EQ(wave.vector(0, lane), lane % 2 ? 2 * lane : 77u) << chip << " " << lane;
  }
}

TEST(AmdIsaWave, constants_are_what_the_operand_makes_of_them) {
  TestWave wave("gfx942");
  ASSERT_EQ(wave.run("v_mov_b32 v0, 1.0\nv_mov_b32 v1, -1\nv_mov_b64 v[2:3], 1.0\n"
                     "v_mov_b64 v[4:5], -1\nv_add_f64 v[6:7], 0.5, 0.5\nv_mov_b32 v8, 0x12345678\n"
                     "v_add_f16 v9, 1.0, 2.0\nv_mov_b64 v[10:11], 0x80000000"),
            "");
  EXPECT_EQ(wave.vector(0), 0x3f800000u);
  EXPECT_EQ(wave.vector(1), ~0u);
  EXPECT_EQ(wave.realWide(2), 1.0);
  EXPECT_EQ(wave.wide(4), ~uint64_t(0));
  EXPECT_EQ(wave.realWide(6), 1.0);
  EXPECT_EQ(wave.vector(8), 0x12345678u);
  EXPECT_EQ(wave.vector(9), 0x4200u);
}

TEST(AmdIsaWave, literal_of_double_is_its_high_half) {
  TestWave wave("gfx1100");
  ASSERT_EQ(wave.run("v_add_f64 v[0:1], 0x40240000, 1.0"), "");
  EXPECT_EQ(wave.realWide(0), 11.0);
}

TEST(AmdIsaWave, clamp_and_omod) {
  TestWave wave("gfx942");
  wave.setAll(1, 0.75f);
  wave.setAll(2, std::numeric_limits<float>::quiet_NaN());
  ASSERT_EQ(wave.run("v_add_f32 v3, v1, v1 clamp\nv_add_f32 v4, v1, v1 mul:4\n"
                     "v_add_f32 v5, v1, v2 clamp\nv_mul_f32 v6, v1, -v1 div:2\n"
                     "v_mov_b32 v7, -1\nv_add_u32 v8, v7, v7 clamp\nv_sub_u32 v9, 3, 5 clamp"),
            "");
  EXPECT_EQ(wave.real(3), 1.0f);
  EXPECT_EQ(wave.real(4), 6.0f);
  EXPECT_EQ(wave.real(5), 0.0f);
  EXPECT_EQ(wave.real(6), -0.28125f);
  EXPECT_EQ(wave.vector(8), ~0u);
  EXPECT_EQ(wave.vector(9), 0u);
}

} // namespace
} // namespace sectile::amdisa
