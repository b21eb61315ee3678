// Layouts of matrix instructions against AMD's calculator, and products against the host's.
#include "MatrixLayouts.h"
#include "Numbers.h"
#include "Semantics.h"
#include "TestWave.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <map>

namespace sectile::amdisa {
namespace {

std::string textOf(const std::vector<Place> &bases) {
  std::string text;
  for (const Place &base : bases) {
    text +=
        (text.empty() ? "" : " ") + std::to_string(base.major) + "," + std::to_string(base.minor);
    if (base.block)
      text += "," + std::to_string(base.block);
  }
  return text;
}

std::string textOf(const MatrixLayout &layout) {
  return textOf(layout.elements) + " | " + textOf(layout.lanes);
}

struct Expected {
  std::string chip, mnemonic, name, a, b, d;
  unsigned resultWords() const {
    unsigned elements = 1;
    for (char c : llvm::StringRef(d).split('|').first.trim())
      elements *= c == ' ' ? 2 : 1;
    bool hasElements = !llvm::StringRef(d).split('|').first.trim().empty();
    unsigned count = hasElements ? elements * 2 : 1;
    if (llvm::StringRef(name).contains("F64_"))
      return 2 * count;
    bool isHalf =
        llvm::StringRef(name).contains("WMMA_F16_") || llvm::StringRef(name).contains("WMMA_BF16_");
    return isHalf && chip == "gfx1201" ? count / 2 : count;
  }
};

std::vector<Expected> expectedLayouts() {
  auto file = llvm::MemoryBuffer::getFile(SECTILE_SOURCE_DIR
                                          "/tests/backends/amd/isa/MatrixLayouts.expected");
  if (!file)
    return {};
  std::vector<Expected> all;
  llvm::SmallVector<llvm::StringRef> lines;
  (*file)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    if (line.starts_with("#"))
      continue;
    auto [head, layouts] = line.split(": ");
    llvm::SmallVector<llvm::StringRef> words, parts;
    head.split(words, ' ');
    layouts.split(parts, "; ");
    auto layout = [&](unsigned index) { return parts[index].drop_front(2).str(); };
    all.push_back(
        {words[0].str(), words[1].str(), words[2].str(), layout(0), layout(1), layout(2)});
  }
  return all;
}

int generationOf(const std::string &chip) {
  return chip == "gfx1100" ? 11 : chip == "gfx1201" ? 12 : 9;
}

TEST(AmdIsaMatrix, layouts_are_those_of_the_calculator) {
  std::vector<Expected> all = expectedLayouts();
  EXPECT_EQ(all.size(), 73u);
  for (const Expected &expected : all) {
    auto found =
        matrixInstruction(expected.name, generationOf(expected.chip), expected.resultWords());
    ASSERT_TRUE(found) << expected.name;
    EXPECT_EQ(textOf(found->a), expected.a) << expected.chip << " " << expected.name;
    EXPECT_EQ(textOf(found->b), expected.b) << expected.chip << " " << expected.name;
    EXPECT_EQ(textOf(found->d), expected.d) << expected.chip << " " << expected.name;
    EXPECT_TRUE(semantics().find(expected.name)) << expected.name;
  }
}

/// The bits of a small integer as a matrix element.
uint64_t bitsFor(Number number, int value, bool isFnuz) {
  switch (number) {
  case Number::F16:
    return halfFromFloat(float(value));
  case Number::BF16:
    return bfloatFromFloat(float(value));
  case Number::F64:
    return std::bit_cast<uint64_t>(double(value));
  case Number::FP8:
    return smallFromFloat(isFnuz ? kE4M3Fnuz : kE4M3, float(value), false);
  case Number::BF8:
    return smallFromFloat(isFnuz ? kE5M2Fnuz : kE5M2, float(value), false);
  case Number::I8:
  case Number::IU8:
    return uint8_t(value);
  case Number::I32:
    return uint32_t(value);
  default:
    return std::bit_cast<uint32_t>(float(value));
  }
}

/// A matrix instruction with small integers in its operands: a from v16, b from v48, sums from v80.
class Multiplication {
public:
  Multiplication(const std::string &chip, const std::string &name, unsigned resultWords)
      : wave(chip), shape(*matrixInstruction(name, generationOf(chip), resultWords)),
        isFnuz(chip == "gfx942"), resultWords(resultWords) {
    fill(16, shape.a, shape.lhs,
         [](Place p) { return (p.major * 3 + p.minor * 5 + p.block) % 7 - 3; });
    fill(48, shape.b, shape.rhs, [](Place p) { return (p.major * 5 + p.minor * 2 + p.block) % 4; });
    fill(80, shape.d, shape.result, [](Place p) { return (p.major + 2 * p.minor) % 5; });
  }

  std::string run(const std::string &mnemonic) {
    auto range = [](unsigned first, unsigned words) {
      return words == 1
                 ? "v" + std::to_string(first)
                 : "v[" + std::to_string(first) + ":" + std::to_string(first + words - 1) + "]";
    };
    auto words = [&](const MatrixLayout &layout, Number number) {
      return std::max(1u, (1u << layout.elements.size()) * bitsOfNumber(number) / 32);
    };
    std::string sums = range(80, resultWords);
    std::string problem =
        wave.run(mnemonic + " " + sums + ", " + range(16, words(shape.a, shape.lhs)) + ", " +
                 range(48, words(shape.b, shape.rhs)) + ", " + sums +
                 (shape.lhs == Number::IU8 ? " neg_lo:[1,1,0]" : ""));
    return problem.empty() ? compare() : problem;
  }

private:
  template <class Value>
  void fill(unsigned first, const MatrixLayout &layout, Number number, Value value) {
    unsigned bits = bitsOfNumber(number);
    for (unsigned element = 0; element < 1u << layout.elements.size(); ++element)
      for (unsigned lane = 0; lane < wave.wave().lanes; ++lane) {
        Place place = layout.at(element, lane);
        values[{first, place.block, place.major, place.minor}] = value(place);
        uint64_t raw = bitsFor(number, value(place), isFnuz);
        unsigned slot = first == 80 && shape.usesHalfOfRegister ? 2 * element : element;
        if (bits == 64) {
          wave.wave().row(first + 2 * slot)[lane] = uint32_t(raw);
          wave.wave().row(first + 2 * slot + 1)[lane] = uint32_t(raw >> 32);
          continue;
        }
        uint32_t &word = wave.wave().row(first + slot * bits / 32)[lane];
        unsigned shift = slot * bits % 32;
        uint32_t field = bits == 32 ? ~0u : (1u << bits) - 1;
        word = (word & ~(field << shift)) | uint32_t(raw) << shift;
      }
  }

  std::string compare() {
    unsigned bits = bitsOfNumber(shape.result);
    for (unsigned element = 0; element < 1u << shape.d.elements.size(); ++element)
      for (unsigned lane = 0; lane < wave.wave().lanes; ++lane) {
        Place place = shape.d.at(element, lane);
        int sum = values[{80, place.block, place.major, place.minor}];
        for (unsigned k = 0; k < shape.k; ++k)
          sum +=
              values[{16, place.block, place.major, k}] * values[{48, place.block, place.minor, k}];
        unsigned slot = shape.usesHalfOfRegister ? 2 * element : element;
        uint64_t found = bits == 64 ? wave.wide(80 + 2 * slot, lane)
                                    : wave.vector(80 + slot * bits / 32, lane) >> slot * bits % 32 &
                                          (bits == 32 ? ~0u : (1u << bits) - 1);
        if (found != bitsFor(shape.result, sum, isFnuz))
          return "element " + std::to_string(element) + " of lane " + std::to_string(lane);
      }
    return "";
  }

  TestWave wave;
  MatrixInstruction shape;
  bool isFnuz;
  unsigned resultWords;
  std::map<std::array<unsigned, 4>, int> values;
};

TEST(AmdIsaMatrix, products) {
  for (const Expected &expected : expectedLayouts())
    EXPECT_EQ(
        Multiplication(expected.chip, expected.name, expected.resultWords()).run(expected.mnemonic),
        "")
        << expected.chip << " " << expected.mnemonic;
}

// The calculator does not know gfx950; its new shapes follow the rule of the others.
TEST(AmdIsaMatrix, products_of_gfx950) {
  for (auto [mnemonic, name, words] :
       {std::tuple{"v_mfma_f32_16x16x32_f16", "V_MFMA_F32_16X16X32_F16", 4u},
        {"v_mfma_f32_32x32x16_bf16", "V_MFMA_F32_32X32X16_BF16", 16u},
        {"v_mfma_i32_16x16x64_i8", "V_MFMA_I32_16X16X64_I8", 4u},
        {"v_mfma_f32_32x32x16_fp8_bf8", "V_MFMA_F32_32X32X16_FP8_BF8", 16u}})
    EXPECT_EQ(Multiplication("gfx950", name, words).run(mnemonic), "") << mnemonic;
}

TEST(AmdIsaMatrix, what_is_refused) {
  TestWave eleven("gfx1100");
  for (unsigned index = 0; index < 16; ++index)
    eleven.setAll(index, 0u);
  eleven.setVector(3, [](unsigned lane) { return lane == 20 ? 1u : 0u; });
  EXPECT_EQ(eleven.run("v_wmma_f32_16x16x16_f16 v[16:23], v[0:7], v[8:15], 0"),
            "lane 20: holds another matrix element than lane 4; operands of this instruction are "
            "repeated");
  eleven.setAll(3, 0u);
  EXPECT_EQ(eleven.run("v_wmma_f32_16x16x16_f16 v[16:23], v[0:7], v[8:15], 0"), "");
  EXPECT_EQ(eleven.vector(20), 0u);
  EXPECT_EQ(
      eleven.run("s_mov_b32 exec_lo, 1\nv_wmma_f32_16x16x16_f16 v[16:23], v[0:7], v[8:15], 0"),
      "a matrix instruction with lanes that are off");
  TestWave nine("gfx942");
  EXPECT_EQ(nine.run("v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], 0 cbsz:1"),
            "broadcast and negated operands of matrix instructions are not modelled");
}

} // namespace
} // namespace sectile::amdisa
