// Values that move between lanes: DPP, permlane, ds_swizzle, ds_bpermute, SDWA's parts.
#include "TestWave.h"

namespace sectile::amdisa {
namespace {

/// A wave whose v1 holds 100 + lane and v0 holds 7.
class CrossLane : public ::testing::Test {
protected:
  static TestWave make(const char *chip) {
    TestWave wave(chip);
    wave.setVector(1, [](unsigned lane) { return 100 + lane; });
    wave.setAll(0, 7u);
    return wave;
  }
};

using AmdIsaCrossLane = CrossLane;

TEST_F(AmdIsaCrossLane, dpp_controls) {
  struct {
    const char *control;
    int (*source)(int lane); // -1: the old value stays
  } const cases[] = {{"quad_perm:[1,0,3,2]", [](int lane) { return lane ^ 1; }},
                     {"quad_perm:[0,0,3,1]",
                      [](int lane) {
                        return (lane & ~3) + (lane % 4 < 2 ? 0 : lane % 4 == 2 ? 3 : 1);
                      }},
                     {"row_shl:3", [](int lane) { return lane % 16 < 13 ? lane + 3 : -1; }},
                     {"row_shr:1", [](int lane) { return lane % 16 ? lane - 1 : -1; }},
                     {"row_ror:4", [](int lane) { return (lane & ~15) + (lane + 12) % 16; }},
                     {"wave_shl:1", [](int lane) { return lane < 63 ? lane + 1 : -1; }},
                     {"wave_rol:1", [](int lane) { return (lane + 1) % 64; }},
                     {"wave_shr:1", [](int lane) { return lane - 1; }},
                     {"row_mirror", [](int lane) { return lane ^ 15; }},
                     {"row_half_mirror", [](int lane) { return lane ^ 7; }},
                     {"row_bcast:15", [](int lane) { return lane < 16 ? -1 : (lane & ~15) - 1; }},
                     {"row_bcast:31", [](int lane) { return lane < 32 ? -1 : 31; }},
                     {"row_newbcast:5", [](int lane) { return (lane & ~15) + 5; }}};
  for (const auto &[control, source] : cases)
    for (bool zeroes : {false, true}) {
      TestWave wave = make("gfx942");
      ASSERT_EQ(wave.run(std::string("v_mov_b32_dpp v0, v1 ") + control +
                         " row_mask:0xf bank_mask:0xf" + (zeroes ? " bound_ctrl:1" : "")),
                "");
      for (int lane = 0; lane < 64; ++lane) {
        int from = source(lane);
        EXPECT_EQ(wave.vector(0, unsigned(lane)), from >= 0 ? 100u + unsigned(from)
                                                  : zeroes  ? 0u
                                                            : 7u)
            << control << " lane " << lane;
      }
    }
}

TEST_F(AmdIsaCrossLane, dpp_masks_rows_and_banks) {
  TestWave wave = make("gfx90a");
  ASSERT_EQ(wave.run("v_mov_b32_dpp v0, v1 row_mirror row_mask:0xa bank_mask:0x3"), "");
  for (unsigned lane = 0; lane < 64; ++lane)
    EXPECT_EQ(wave.vector(0, lane), lane / 16 % 2 && lane / 4 % 4 < 2 ? 100 + (lane ^ 15) : 7u);
}

TEST_F(AmdIsaCrossLane, dpp_sees_no_lanes_that_are_off) {
  for (const char *chip : {"gfx942", "gfx1100"}) {
    TestWave wave = make(chip);
    wave.wave().setMask(kExec, 0x5555555555555555 & wave.wave().allLanes());
    std::string name = chip[3] == '9' ? "v_add_u32_dpp" : "v_add_nc_u32_dpp";
    ASSERT_EQ(wave.run(name + " v0, v1, v1 quad_perm:[1,1,2,2] row_mask:0xf bank_mask:0xf"), "");
    EXPECT_EQ(wave.vector(0, 0), 7u) << chip;   // its source, lane 1, is off
    EXPECT_EQ(wave.vector(0, 2), 204u) << chip; // only the first operand moves
    EXPECT_EQ(wave.vector(0, 1), 7u) << chip;
  }
}

TEST_F(AmdIsaCrossLane, controls_of_gfx11) {
  TestWave wave = make("gfx1100");
  ASSERT_EQ(wave.run("v_mov_b32_dpp v2, v1 row_xmask:5 row_mask:0xf bank_mask:0xf\n"
                     "v_mov_b32_dpp v3, v1 row_share:2 row_mask:0xf bank_mask:0xf\n"
                     "v_mov_b32_dpp v4, v1 dpp8:[7,6,5,4,3,2,1,0]\n"
                     "v_cmp_eq_u32_e64_dpp s0, v1, v1 dpp8:[0,1,2,3,4,5,6,0]"),
            "");
  for (unsigned lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(wave.vector(2, lane), 100 + (lane ^ 5));
    EXPECT_EQ(wave.vector(3, lane), 100 + (lane & 16) + 2);
    EXPECT_EQ(wave.vector(4, lane), 100 + (lane ^ 7));
  }
  EXPECT_EQ(wave.scalar(0), 0x7f7f7f7fu);
}

TEST_F(AmdIsaCrossLane, permutations_of_rows) {
  TestWave wave = make("gfx1201");
  wave.scalar(0) = 0x89abcdef;
  wave.scalar(1) = 0x01234567;
  wave.setVector(2, [](unsigned lane) { return 15 - lane % 16; });
  ASSERT_EQ(wave.run("v_permlane16_b32 v10, v1, s0, s1\nv_permlanex16_b32 v11, v1, s0, s1\n"
                     "v_permlanex16_b32 v12, v1, -1, 0x76543210\n"
                     "v_permlane16_var_b32 v13, v1, v2"),
            "");
  for (unsigned lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(wave.vector(10, lane), 100 + (lane ^ 15));
    EXPECT_EQ(wave.vector(11, lane), 100 + (lane ^ 31));
    EXPECT_EQ(wave.vector(12, lane), 100 + ((lane & 16) ^ 16) + (lane % 16 < 8 ? 15 : lane % 8));
    EXPECT_EQ(wave.vector(13, lane), 100 + (lane ^ 15));
  }
}

TEST_F(AmdIsaCrossLane, swaps_of_gfx950) {
  TestWave wave = make("gfx950");
  wave.setVector(2, [](unsigned lane) { return 200 + lane; });
  ASSERT_EQ(wave.run("v_mov_b32 v3, v1\nv_mov_b32 v4, v2\nv_permlane32_swap_b32 v1, v2\n"
                     "v_permlane16_swap_b32 v3, v4"),
            "");
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(wave.vector(1, lane), lane < 32 ? 100 + lane : 200 + lane - 32);
    EXPECT_EQ(wave.vector(2, lane), lane < 32 ? 100 + lane + 32 : 200 + lane);
    EXPECT_EQ(wave.vector(3, lane), lane & 16 ? 200 + lane - 16 : 100 + lane);
    EXPECT_EQ(wave.vector(4, lane), lane & 16 ? 200 + lane : 100 + lane + 16);
  }
}

TEST_F(AmdIsaCrossLane, single_lanes) {
  TestWave wave = make("gfx942");
  wave.wave().setMask(kExec, 0xff00);
  wave.scalar(5) = 63;
  ASSERT_EQ(wave.run("v_readfirstlane_b32 s0, v1\nv_readlane_b32 s1, v1, s5\n"
                     "v_writelane_b32 v0, s1, 3\ns_mov_b64 exec, 0\nv_readfirstlane_b32 s2, v1"),
            "");
  EXPECT_EQ(wave.scalar(0), 108u);
  EXPECT_EQ(wave.scalar(1), 163u);
  EXPECT_EQ(wave.vector(0, 3), 163u);
  EXPECT_EQ(wave.vector(0, 4), 7u);
  EXPECT_EQ(wave.scalar(2), 100u);
}

TEST_F(AmdIsaCrossLane, swizzles) {
  struct {
    const char *offset;
    unsigned (*source)(unsigned lane);
  } const cases[] = {{"swizzle(SWAP,4)", [](unsigned lane) { return lane ^ 4; }},
                     {"swizzle(REVERSE,8)", [](unsigned lane) { return lane ^ 7; }},
                     {"swizzle(BROADCAST,32,3)", [](unsigned lane) { return (lane & 32) + 3; }},
                     {"swizzle(QUAD_PERM,3,2,1,0)", [](unsigned lane) { return lane ^ 3; }},
                     {"swizzle(BITMASK_PERM,\"01pi0\")",
                      [](unsigned lane) { return (lane & 32) + 8 + (lane & 4) + (~lane & 2); }}};
  for (const auto &[offset, source] : cases) {
    TestWave wave = make("gfx942");
    ASSERT_EQ(
        wave.run(std::string("ds_swizzle_b32 v2, v1 offset:") + offset + "\ns_waitcnt lgkmcnt(0)"),
        "");
    for (unsigned lane = 0; lane < 64; ++lane)
      EXPECT_EQ(wave.vector(2, lane), 100 + source(lane)) << offset << " " << lane;
  }
}

TEST_F(AmdIsaCrossLane, permutations_by_address) {
  TestWave wave = make("gfx942");
  wave.setVector(2, [](unsigned lane) { return 4 * ((lane * 5 + 1) % 64) + 256; });
  wave.wave().setMask(kExec, ~uint64_t(1));
  ASSERT_EQ(wave.run("ds_bpermute_b32 v3, v2, v1\nds_permute_b32 v4, v2, v1\ns_waitcnt lgkmcnt(0)"),
            "");
  for (unsigned lane = 1; lane < 64; ++lane) {
    unsigned from = (lane * 5 + 1) % 64;
    EXPECT_EQ(wave.vector(3, lane), from ? 100 + from : 0u);
    if (from)
      EXPECT_EQ(wave.vector(4, from), 100 + lane);
  }
  EXPECT_EQ(wave.vector(4, 1), 0u); // nobody sent there: lane 0 is off
}

TEST_F(AmdIsaCrossLane, parts_of_sdwa) {
  TestWave wave = make("gfx942");
  wave.setAll(1, 0x80ff1234u);
  wave.setAll(2, 0x00000010u);
  wave.setAll(0, 0xaaaaaaaau);
  wave.setAll(3, 0xbbbbbbbbu);
  wave.setAll(4, 0xccccccccu);
  ASSERT_EQ(
      wave.run(
          "v_add_u32_sdwa v0, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_1 "
          "src1_sel:DWORD\n"
          "v_add_u32_sdwa v3, sext(v1), v2 dst_sel:DWORD src0_sel:BYTE_2 src1_sel:BYTE_0\n"
          "v_add_u32_sdwa v4, v1, v2 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_3 "
          "src1_sel:BYTE_0"),
      "");
  EXPECT_EQ(wave.vector(0), 0x0022aaaau);
  EXPECT_EQ(wave.vector(3), 15u);
  EXPECT_EQ(wave.vector(4), 0xffff9000u);
}

} // namespace
} // namespace sectile::amdisa
