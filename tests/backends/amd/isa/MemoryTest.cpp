// LDS, global memory, buffers, private memory: widths, addresses, atomics, and what may not be
// touched.
#include "Numbers.h"
#include "TestWave.h"

#include "llvm/ADT/StringExtras.h"

#include <numeric>

namespace sectile::amdisa {
namespace {

TEST(AmdIsaLds, widths_and_signs) {
  TestWave wave("gfx942");
  wave.setVector(1, [](unsigned lane) { return lane * 16; });
  wave.setVector(4, [](unsigned lane) { return 0x8001ff80u + (lane << 16); });
  wave.setAll(5, 0x11111111u);
  wave.setAll(6, 0x22222222u);
  wave.setAll(7, 0x33333333u);
  ASSERT_EQ(
      wave.run("ds_write_b128 v1, v[4:7]\nds_read_u8 v10, v1\nds_read_i8 v11, v1\n"
               "ds_read_u16 v12, v1\nds_read_i16 v13, v1\nds_read_b64 v[14:15], v1 offset:4\n"
               "ds_read2_b32 v[16:17], v1 offset0:3 offset1:1\nds_read_b96 v[18:20], v1 offset:4\n"
               "s_waitcnt lgkmcnt(0)\nds_write_b8 v1, v6 offset:1\n"
               "ds_write_b16_d16_hi v1, v4 offset:4\nds_read_b64 v[22:23], v1\n"
               "s_waitcnt lgkmcnt(0)"),
      "");
  for (unsigned lane : {0u, 5u, 63u}) {
    EXPECT_EQ(wave.vector(10, lane), 0x80u);
    EXPECT_EQ(wave.vector(11, lane), 0xffffff80u);
    EXPECT_EQ(wave.vector(12, lane), 0xff80u);
    EXPECT_EQ(wave.vector(13, lane), 0xffffff80u);
    EXPECT_EQ(wave.wide(14, lane), 0x2222222211111111u);
    EXPECT_EQ(wave.vector(16, lane), 0x33333333u);
    EXPECT_EQ(wave.vector(17, lane), 0x11111111u);
    EXPECT_EQ(wave.vector(20, lane), 0x33333333u);
    EXPECT_EQ(wave.vector(22, lane), (0x80012280u + (lane << 16)));
    EXPECT_EQ(wave.vector(23, lane), 0x11118001u + lane);
  }
}

TEST(AmdIsaLds, halves_of_registers) {
  TestWave old("gfx942"), recent("gfx1100");
  for (TestWave *wave : {&old, &recent}) {
    wave->setAll(1, 0u);
    wave->setAll(2, 0x12345678u);
    wave->setAll(3, 0xaaaabbbbu);
    wave->setAll(4, 0xaaaabbbbu);
  }
  ASSERT_EQ(recent.run("ds_store_b32 v1, v2\nds_load_u16_d16 v3, v1\nds_load_u16_d16_hi v4, v1\n"
                       "s_waitcnt lgkmcnt(0)"),
            "");
  EXPECT_EQ(recent.vector(3), 0xaaaa5678u);
  EXPECT_EQ(recent.vector(4), 0x5678bbbbu);
  ASSERT_EQ(old.run("ds_write_b32 v1, v2\nds_read_u16_d16_hi v4, v1\ns_waitcnt lgkmcnt(0)"), "");
  EXPECT_EQ(old.vector(4), 0x56780000u); // registers with error correction lose the other half
}

TEST(AmdIsaLds, atomics) {
  TestWave wave("gfx942");
  wave.setAll(1, 0u);
  wave.setAll(2, 3u);
  wave.setVector(3, [](unsigned lane) { return lane; });
  wave.setAll(4, 0.5f);
  ASSERT_EQ(wave.run("v_mov_b32 v10, 0\nds_write_b32 v1, v10\nds_write_b32 v1, v10 offset:4\n"
                     "ds_write_b32 v1, v10 offset:8\nds_write_b32 v1, v10 offset:12\n"
                     "ds_add_rtn_u32 v5, v1, v2\nds_max_i32 v1, v3 offset:4\n"
                     "ds_add_f32 v1, v4 offset:8\nds_cmpst_rtn_b32 v6, v1, v10, v2 offset:12\n"
                     "ds_read_b128 v[12:15], v1\ns_waitcnt lgkmcnt(0)"),
            "");
  EXPECT_EQ(wave.vector(5, 10), 30u);
  EXPECT_EQ(wave.vector(6, 0), 0u);
  EXPECT_EQ(wave.vector(6, 1), 3u);
  EXPECT_EQ(wave.vector(12), 192u);
  EXPECT_EQ(wave.vector(13), 63u);
  EXPECT_EQ(wave.real(14), 32.0f);
  EXPECT_EQ(wave.vector(15), 3u);
}

TEST(AmdIsaLds, compare_and_store_of_gfx11_has_the_new_value_first) {
  TestWave wave("gfx1100");
  wave.setAll(1, 0u);
  wave.setAll(2, 5u);
  wave.setAll(3, 9u);
  ASSERT_EQ(wave.run("ds_store_b32 v1, v2\nds_cmpstore_rtn_b32 v4, v1, v3, v2\nds_load_b32 v5, v1\n"
                     "s_waitcnt lgkmcnt(0)"),
            "");
  EXPECT_EQ(wave.vector(4, 0), 5u);
  EXPECT_EQ(wave.vector(5), 9u);
}

/// A wave whose LDS has in each unit of 16 (8) bits the number of the unit.
struct NumberedLds : TestWave {
  explicit NumberedLds(unsigned elementBits) : TestWave("gfx950", 4096) {
    const unsigned perWord = 32 / elementBits;
    setVector(1, [](unsigned lane) { return 4 * lane; });
    for (unsigned part = 0; part < 16; ++part) {
      setVector(2, [&](unsigned lane) {
        uint32_t word = 0;
        for (unsigned i = 0; i < perWord; ++i)
          word |= (((part * 64 + lane) * perWord + i) & ((1u << elementBits) - 1))
                  << (i * elementBits);
        return word;
      });
      EXPECT_EQ(run("ds_write_b32 v1, v2 offset:" + std::to_string(part * 256) +
                    "\ns_waitcnt lgkmcnt(0)"),
                "");
    }
  }
};

TEST(AmdIsaLds, reads_of_16_bits_transpose_four_rows_of_sixteen) {
  NumberedLds wave(16);
  // Rows of 128 bytes; each sixteen lanes have four rows of their own, 16 columns further right.
  auto rowStart = [](unsigned sixteen, unsigned row) {
    return (4 * sixteen + row) * 128 + sixteen * 32;
  };
  wave.setVector(3, [&](unsigned lane) {
    return uint32_t(rowStart(lane / 16, lane % 16 / 4) + lane % 4 * 8);
  });
  ASSERT_EQ(wave.run("ds_read_b64_tr_b16 v[4:5], v3 offset:512\ns_waitcnt lgkmcnt(0)"), "");
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned row = 0; row < 4; ++row)
      EXPECT_EQ(wave.wide(4, lane) >> (16 * row) & 0xffff,
                (rowStart(lane / 16, row) + 512) / 2 + lane % 16)
          << lane << ' ' << row;
}

TEST(AmdIsaLds, reads_of_8_bits_transpose_eight_rows_of_sixteen) {
  NumberedLds wave(8);
  // Neighbouring rows lie in reverse order, and 16 bytes of 24.
  auto rowStart = [](unsigned sixteen, unsigned row) { return 1024 - 24 * (8 * sixteen + row); };
  wave.setVector(3, [&](unsigned lane) {
    return uint32_t(rowStart(lane / 16, lane % 16 / 2) + lane % 2 * 8);
  });
  ASSERT_EQ(wave.run("ds_read_b64_tr_b8 v[4:5], v3\ns_waitcnt lgkmcnt(0)"), "");
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned row = 0; row < 8; ++row)
      EXPECT_EQ(wave.wide(4, lane) >> (8 * row) & 0xff,
                (rowStart(lane / 16, row) + lane % 16) & 0xff)
          << lane << ' ' << row;
}

TEST(AmdIsaLds, reads_that_transpose_take_part_in_what_is_checked) {
  const std::string read = "ds_read_b64_tr_b16 v[4:5], v3";
  NumberedLds wave(16);
  wave.setVector(3, [](unsigned lane) { return 8 * lane; });
  EXPECT_EQ(wave.run(read + "\nv_mov_b32 v6, v5"),
            "v5 is read before the memory operation that fills it was waited for");
  EXPECT_EQ(wave.run("s_waitcnt lgkmcnt(0)\n" + read + " offset:3592"),
            "lane 63: LDS address 4096 lies outside the 4096 bytes of the work-group");
  wave.setVector(7, [](unsigned lane) { return 8 * lane + 4 * (lane == 9); });
  EXPECT_EQ(wave.run("s_waitcnt lgkmcnt(0)\nds_read_b64_tr_b16 v[4:5], v7"),
            "lane 9: a read that transposes needs an address that 8 divides");
  EXPECT_EQ(wave.run("s_waitcnt lgkmcnt(0)\ns_mov_b32 exec_hi, 0\n" + read),
            "a read that transposes needs all lanes");
  TestWave empty("gfx950");
  empty.setVector(3, [](unsigned lane) { return 8 * lane; });
  EXPECT_EQ(empty.run(read), "lane 0: LDS byte 0 is read before anything was written to it");
  EXPECT_NE(TestWave("gfx942").run(read), "");
}

TEST(AmdIsaLds, what_may_not_be_read) {
  TestWave wave("gfx942", 256);
  wave.setVector(1, [](unsigned lane) { return lane * 4; });
  EXPECT_EQ(wave.run("ds_read_b32 v2, v1"),
            "lane 0: LDS byte 0 is read before anything was written to it");
  EXPECT_EQ(wave.run("ds_write_b32 v1, v1 offset:4"),
            "lane 63: LDS address 256 lies outside the 256 bytes of the work-group");
}

TEST(AmdIsaGlobal, addresses) {
  std::vector<uint32_t> data(256);
  std::iota(data.begin(), data.end(), 0);
  for (const char *chip : {"gfx90a", "gfx942", "gfx1100", "gfx1201"}) {
    TestWave wave(chip);
    wave.buffers.add(data.data(), 1024);
    auto base = reinterpret_cast<uint64_t>(data.data());
    wave.wave().setPair(0, base + 64);
    wave.setVector(2, [&](unsigned lane) { return base + 4 * lane + 256; });
    wave.setVector(4, [](unsigned lane) { return 8 * lane; });
    std::string wait =
        chip[3] == '9' || chip[4] == '1' ? "\ns_waitcnt vmcnt(0)" : "\ns_wait_loadcnt 0";
    ASSERT_EQ(wave.run("global_load_dword v10, v[2:3], off offset:-16\n"
                       "global_load_dwordx2 v[12:13], v4, s[0:1] offset:4\n"
                       "global_load_ubyte v11, v4, s[0:1]" +
                       wait),
              "")
        << chip;
    for (unsigned lane = 0; lane < wave.wave().lanes; ++lane) {
      EXPECT_EQ(wave.vector(10, lane), lane + 60) << chip;
      EXPECT_EQ(wave.vector(12, lane), 16 + 2 * lane + 1);
      EXPECT_EQ(wave.vector(13, lane), 16 + 2 * lane + 2);
      EXPECT_EQ(wave.vector(11, lane), 16 + 2 * lane);
    }
  }
}

TEST(AmdIsaGlobal, stores_and_atomics) {
  std::vector<uint32_t> data(64, 100);
  std::vector<uint64_t> wide(4, 1);
  TestWave wave("gfx942");
  wave.buffers.add(data.data(), 256);
  wave.buffers.add(wide.data(), 32);
  wave.wave().setPair(0, reinterpret_cast<uint64_t>(data.data()));
  wave.wave().setPair(2, reinterpret_cast<uint64_t>(wide.data()));
  wave.setVector(1, [](unsigned lane) { return 4 * lane; });
  wave.setAll(2, 0u);
  wave.setAll(4, uint64_t(5));
  wave.setAll(6, 2.0f);
  wave.setVector(7, [](unsigned lane) { return lane; });
  wave.setAll(8, 1.5);
  wave.wave().setMask(kExec, 0xf);
  ASSERT_EQ(wave.run("global_store_short v1, v7, s[0:1] offset:2\n"
                     "global_atomic_add v10, v2, v7, s[0:1] offset:32 sc0\n"
                     "global_atomic_add_x2 v2, v[4:5], s[2:3]\n"
                     "global_atomic_umax v2, v7, s[0:1] offset:36\n"
                     "global_atomic_add_f64 v2, v[8:9], s[2:3] offset:8\n"
                     "s_waitcnt vmcnt(0)"),
            "");
  EXPECT_EQ(data[3], 100u | 3 << 16);
  EXPECT_EQ(data[8], 106u);
  EXPECT_EQ(data[9], 100u);
  EXPECT_EQ(wave.vector(10, 3), 103u);
  EXPECT_EQ(wide[0], 21u);
  EXPECT_EQ(std::bit_cast<double>(wide[1]), 6.0);
}

static uint32_t pairOf(float low, float high) {
  return halfFromFloat(low) | uint32_t(halfFromFloat(high)) << 16;
}

TEST(AmdIsaGlobal, atomics_on_floating_point_numbers) {
  struct {
    const char *chip, *scalarCache, *wait;
    bool hasHalves, hasBfloats;
  } cases[] = {
      {"gfx90a", " glc", "s_waitcnt vmcnt(0)", true, false},
      {"gfx942", " sc0", "s_waitcnt vmcnt(0)", true, true},
      {"gfx950", " sc0", "s_waitcnt vmcnt(0)", true, true},
      {"gfx1100", " glc", "s_waitcnt vmcnt(0)\ns_waitcnt_vscnt null, 0", false, false},
      {"gfx1201", " th:TH_ATOMIC_RETURN", "s_wait_loadcnt 0\ns_wait_storecnt 0", true, true}};
  for (const auto &[chip, returning, wait, hasHalves, hasBfloats] : cases) {
    std::vector<uint32_t> data(16, 0);
    auto numbers = reinterpret_cast<float *>(data.data());
    numbers[0] = 1.5f, numbers[1] = -2;
    data[2] = pairOf(1, -2);
    data[3] = bfloatFromFloat(1) | uint32_t(bfloatFromFloat(-2)) << 16;
    TestWave wave(chip);
    wave.buffers.add(data.data(), 64);
    wave.wave().setPair(0, reinterpret_cast<uint64_t>(data.data()));
    wave.wave().setMask(kExec, 7);
    wave.setAll(1, 0u);
    wave.setAll(2, 0.25f);
    wave.setAll(3, pairOf(0.5f, 3));
    wave.setAll(4, uint32_t(bfloatFromFloat(0.5f)) | uint32_t(bfloatFromFloat(3)) << 16);
    std::string text = "global_atomic_add_f32 v1, v2, s[0:1]\n"
                       "global_atomic_add_f32 v10, v1, v2, s[0:1] offset:4" +
                       std::string(returning) + "\n";
    if (hasHalves)
      text += "global_atomic_pk_add_f16 v1, v3, s[0:1] offset:8\n";
    if (hasBfloats)
      text += "global_atomic_pk_add_bf16 v1, v4, s[0:1] offset:12\n";
    ASSERT_EQ(wave.run(text + wait), "") << chip;
    EXPECT_EQ(numbers[0], 2.25f) << chip;
    EXPECT_EQ(numbers[1], -1.25f) << chip;
    EXPECT_EQ(wave.real(10, 0), -2.0f) << chip;
    EXPECT_EQ(wave.real(10, 2), -1.5f) << chip;
    EXPECT_EQ(data[2], hasHalves ? pairOf(2.5f, 7) : pairOf(1, -2)) << chip;
    if (hasBfloats)
      EXPECT_EQ(data[3], bfloatFromFloat(2.5f) | uint32_t(bfloatFromFloat(7)) << 16) << chip;
  }
}

TEST(AmdIsaGlobal, buffers_end_softly_and_memory_does_not) {
  std::vector<uint32_t> data(64);
  std::iota(data.begin(), data.end(), 1);
  TestWave wave("gfx942");
  wave.buffers.add(data.data(), 256);
  wave.wave().setPair(0, reinterpret_cast<uint64_t>(data.data()));
  wave.scalar(2) = 40; // bytes
  wave.scalar(3) = 0x27000;
  wave.setVector(1, [](unsigned lane) { return 4 * lane; });
  wave.setAll(2, 77u);
  ASSERT_EQ(wave.run("buffer_load_dword v10, v1, s[0:3], 0 offen\n"
                     "buffer_load_dwordx2 v[12:13], off, s[0:3], 0 offset:36\n"
                     "buffer_store_dword v2, v1, s[0:3], 0 offen offset:4\ns_waitcnt vmcnt(0)"),
            "");
  EXPECT_EQ(wave.vector(10, 9), 10u);
  EXPECT_EQ(wave.vector(10, 10), 0u);
  EXPECT_EQ(wave.vector(12), 10u);
  EXPECT_EQ(wave.vector(13), 0u);
  EXPECT_EQ(data[0], 1u);
  EXPECT_EQ(data[9], 77u);
  EXPECT_EQ(data[10], 11u);
  wave.scalar(2) = 1024;
  std::string problem = wave.run("buffer_load_dword v10, v1, s[0:3], 0 offen offset:252");
  EXPECT_NE(problem.find("lane 1: reads from address"), std::string::npos) << problem;
  EXPECT_NE(problem.find("is byte 256 of a buffer of 256 bytes"), std::string::npos) << problem;
}

TEST(AmdIsaGlobal, private_memory_belongs_to_a_lane) {
  TestWave wave("gfx942");
  wave.setVector(1, [](unsigned lane) { return lane; });
  wave.setAll(2, 8u);
  wave.setVector(6, [](unsigned) { return uint64_t(0x20000) << 32 | 8; });
  ASSERT_EQ(wave.run("s_mov_b32 s0, 4\nscratch_store_dword off, v1, s0 offset:4\n"
                     "scratch_load_dword v3, v2, off\nflat_load_dword v4, v[6:7]\n"
                     "s_waitcnt vmcnt(0) lgkmcnt(0)"),
            "");
  EXPECT_EQ(wave.vector(3, 9), 9u);
  EXPECT_EQ(wave.vector(4, 9), 9u);
  EXPECT_EQ(wave.run("scratch_load_dword v3, v2, off offset:56"),
            "lane 0: byte 64 of 64 of private memory");
}

TEST(AmdIsaGlobal, loads_to_lds_have_to_be_waited_for) {
  std::vector<uint32_t> data(64);
  std::iota(data.begin(), data.end(), 5);
  for (bool waits : {true, false}) {
    TestWave wave("gfx942");
    wave.buffers.add(data.data(), 256);
    wave.wave().setPair(0, reinterpret_cast<uint64_t>(data.data()));
    wave.setVector(1, [](unsigned lane) { return 4 * lane; });
    std::string problem =
        wave.run(std::string("s_mov_b32 m0, 128\nglobal_load_lds_dword v1, s[0:1]\n") +
                 (waits ? "s_waitcnt vmcnt(0)\n" : "") + "ds_read_b32 v2, v1 offset:128\n" +
                 "s_waitcnt lgkmcnt(0)");
    if (waits) {
      EXPECT_EQ(problem, "");
      EXPECT_EQ(wave.vector(2, 63), 68u);
    } else {
      EXPECT_EQ(problem, "lane 0: LDS byte 128 is read while it is being written by wave 0");
    }
  }
}

class AmdIsaHazards : public ::testing::Test {
protected:
  AmdIsaHazards() : data(64, 3) {}
  std::string run(const char *chip, const std::string &text) {
    TestWave wave(chip);
    wave.buffers.add(data.data(), 256);
    wave.wave().setPair(0, reinterpret_cast<uint64_t>(data.data()));
    wave.setVector(1, [](unsigned lane) { return lane % 32 * 4; });
    return wave.run(text);
  }
  std::vector<uint32_t> data;
};

TEST_F(AmdIsaHazards, results_are_read_too_early) {
  const char *load = "global_load_dword v2, v1, s[0:1]\nglobal_load_dword v3, v1, s[0:1]\n";
  const char *message = "v2 is read before the memory operation that fills it was waited for";
  EXPECT_EQ(run("gfx942", std::string(load) + "v_mov_b32 v4, v2"), message);
  EXPECT_EQ(run("gfx942", std::string(load) + "s_waitcnt vmcnt(1)\nv_mov_b32 v4, v2"), "");
  EXPECT_EQ(run("gfx942", std::string(load) + "s_waitcnt vmcnt(2)\nv_mov_b32 v4, v2"), message);
  EXPECT_EQ(run("gfx942", std::string(load) + "s_waitcnt vmcnt(1)\nv_mov_b32 v4, v3"),
            "v3 is read before the memory operation that fills it was waited for");
  EXPECT_EQ(run("gfx942", std::string(load) + "s_waitcnt lgkmcnt(0)\nv_mov_b32 v4, v2"), message);
  EXPECT_EQ(run("gfx942", std::string(load) + "v_mov_b32 v2, 0"),
            "v2 is overwritten while a memory operation that was not waited for fills it");
  EXPECT_EQ(run("gfx942", std::string(load) + "global_load_dword v2, v1, s[0:1]"), "");
}

TEST_F(AmdIsaHazards, a_full_counter_holds_loads_back) {
  std::string loads;
  for (int number = 0; number < 63; ++number)
    loads += "global_load_dword v" + std::to_string(10 + number) + ", v1, s[0:1]\n";
  const std::string read = "v_mov_b32 v4, v10", one = "global_load_dword v80, v1, s[0:1]\n";
  for (const char *chip : {"gfx942", "gfx1100", "gfx1201"}) {
    EXPECT_EQ(run(chip, loads + read),
              "v10 is read before the memory operation that fills it was waited for");
    EXPECT_EQ(run(chip, loads + one + read), "");
    EXPECT_EQ(run(chip, loads + one + "v_mov_b32 v4, v11"),
              "v11 is read before the memory operation that fills it was waited for");
  }
}

TEST_F(AmdIsaHazards, gfx9_counts_stores_with_loads) {
  std::string text = "global_load_dword v2, v1, s[0:1]\nglobal_store_dword v1, v1, s[0:1]\n";
  EXPECT_EQ(run("gfx942", text + "s_waitcnt vmcnt(1)\nv_mov_b32 v4, v2"), "");
  EXPECT_NE(run("gfx1100", text + "s_waitcnt vmcnt(1)\nv_mov_b32 v4, v2"), "");
  EXPECT_EQ(run("gfx1100", text + "s_waitcnt vmcnt(0)\nv_mov_b32 v4, v2"), "");
  EXPECT_NE(run("gfx1100", text + "s_waitcnt_vscnt null, 0\nv_mov_b32 v4, v2"), "");
}

TEST_F(AmdIsaHazards, scalar_loads_come_in_no_order) {
  std::string text = "s_load_dword s4, s[0:1], 0\ns_load_dword s5, s[0:1], 4\n";
  EXPECT_EQ(run("gfx942", text + "s_waitcnt lgkmcnt(1)\ns_mov_b32 s6, s4"),
            "s4 is read before the memory operation that fills it was waited for");
  EXPECT_EQ(run("gfx942", text + "s_waitcnt lgkmcnt(0)\ns_mov_b32 s6, s4"), "");
  std::string mixed = "ds_write_b32 v1, v1\nds_read_b32 v2, v1\ns_load_dword s4, s[0:1], 0\n";
  EXPECT_NE(run("gfx942", mixed + "s_waitcnt lgkmcnt(1)\nv_mov_b32 v4, v2"), "");
  EXPECT_EQ(run("gfx942", mixed + "s_waitcnt lgkmcnt(0)\nv_mov_b32 v4, v2"), "");
}

TEST_F(AmdIsaHazards, counters_of_gfx12) {
  std::string text = "ds_store_b32 v1, v1\nds_load_b32 v2, v1\nglobal_load_b32 v3, v1, s[0:1]\n"
                     "s_load_b32 s4, s[0:1], 0\n";
  EXPECT_EQ(run("gfx1201", text + "s_wait_dscnt 0\nv_mov_b32 v4, v2"), "");
  EXPECT_NE(run("gfx1201", text + "s_wait_dscnt 0\nv_mov_b32 v4, v3"), "");
  EXPECT_EQ(run("gfx1201", text + "s_wait_loadcnt 0\nv_mov_b32 v4, v3"), "");
  EXPECT_EQ(run("gfx1201", text + "s_wait_kmcnt 0\ns_mov_b32 s5, s4"), "");
  EXPECT_NE(run("gfx1201", text + "s_wait_loadcnt_dscnt 0\ns_mov_b32 s5, s4"), "");
  EXPECT_EQ(run("gfx1201", text + "s_wait_loadcnt_dscnt 0\nv_add_f32 v4, v2, v3"), "");
}

TEST_F(AmdIsaHazards, two_instructions_in_one_read_before_they_write) {
  TestWave wave("gfx1100");
  wave.setAll(1, 5u);
  wave.setAll(2, 6u);
  ASSERT_EQ(wave.run("v_dual_mov_b32 v1, v2 :: v_dual_mov_b32 v2, v1"), "");
  EXPECT_EQ(wave.vector(1), 6u);
  EXPECT_EQ(wave.vector(2), 5u);
}

} // namespace
} // namespace sectile::amdisa
