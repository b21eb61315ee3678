// MFMA and WMMA. Products of numbers up to 16 bits are exact and are added in double precision with
// one rounding at the end; the hardware's order and roundings are not documented. Products of float
// and double are a chain of fused multiply-adds in the order of k.
#include "Lanes.h"
#include "MatrixLayouts.h"
#include "Semantics.h"

#include "llvm/ADT/StringMap.h"

#include <memory>

namespace sectile::amdisa {
namespace {

/// Where every element of an instruction's operands lies, by element and lane.
struct Placed {
  MatrixInstruction instruction;
  std::vector<Place> a, b, d;
};

std::vector<Place> places(const MatrixLayout &layout, unsigned lanes) {
  std::vector<Place> result;
  for (unsigned element = 0; element < 1u << layout.elements.size(); ++element)
    for (unsigned lane = 0; lane < lanes; ++lane)
      result.push_back(layout.at(element, lane));
  return result;
}

const Placed *placedInstruction(const Wave &wave, const Instruction &instruction) {
  thread_local llvm::StringMap<std::unique_ptr<Placed>> known;
  unsigned words = instruction.operands[0].words;
  std::string key =
      instruction.name + "/" + std::to_string(wave.chip->generation) + "/" + std::to_string(words);
  auto [place, isNew] = known.try_emplace(key);
  if (!isNew)
    return place->second.get();
  auto found = matrixInstruction(instruction.name, wave.chip->generation, words);
  if (found)
    place->second = std::make_unique<Placed>(Placed{*found, places(found->a, wave.lanes),
                                                    places(found->b, wave.lanes),
                                                    places(found->d, wave.lanes)});
  return place->second.get();
}

/// The bits of an element in the registers of an operand.
uint64_t elementBits(Wave &wave, const Operand &operand, unsigned bits, unsigned element,
                     unsigned lane) {
  if (bits == 64)
    return wave.row(operand.index + 2 * element)[lane] |
           uint64_t(wave.row(operand.index + 2 * element + 1)[lane]) << 32;
  unsigned perWord = 32 / bits;
  uint32_t word = wave.row(operand.index + element / perWord)[lane];
  if (bits == 32)
    return word;
  return word >> (bits * (element % perWord)) & ((1u << bits) - 1);
}

double flushed(double value, bool flushes, double smallestNormal) {
  return flushes && std::fabs(value) < smallestNormal ? 0 : value;
}

double numberFrom(uint64_t bits, Number number, const Wave &wave, bool isSigned) {
  bool flushes = wave.chip->isGfx90a; // whose products of small numbers have no denormal operands
  switch (number) {
  case Number::F16:
    return flushed(halfToFloat(uint16_t(bits)), flushes, 0x1p-14);
  case Number::BF16:
    return flushed(bfloatToFloat(uint16_t(bits)), flushes, 0x1p-126);
  case Number::F32:
    return std::bit_cast<float>(uint32_t(bits));
  case Number::XF32: // ten bits of fraction count
    return roundToFormat(std::bit_cast<float>(uint32_t(bits)), 10, -126);
  case Number::F64:
    return std::bit_cast<double>(bits);
  case Number::I8:
    return int8_t(bits);
  case Number::IU8:
    return isSigned ? double(int8_t(bits)) : double(uint8_t(bits));
  case Number::FP8:
    return smallToFloat(wave.chip->hasFnuz ? kE4M3Fnuz : kE4M3, uint8_t(bits));
  case Number::BF8:
    return smallToFloat(wave.chip->hasFnuz ? kE5M2Fnuz : kE5M2, uint8_t(bits));
  case Number::I32:
    return int32_t(bits);
  }
  return 0;
}

/// The matrices of one block, row by row; b is transposed: k by n.
struct Matrices {
  std::vector<double> a, b, d;
};

class Product {
public:
  Product(Wave &wave, const Instruction &instruction, const Placed &placed)
      : wave(wave), instruction(instruction), placed(placed), shape(placed.instruction),
        blocks(shape.blocks) {
    for (Matrices &block : blocks) {
      block.a.assign(shape.m * shape.k, 0);
      block.b.assign(shape.k * shape.n, 0);
      block.d.assign(shape.m * shape.n, 0);
    }
  }

  void run() {
    loadOperands();
    loadSums();
    for (Matrices &block : blocks)
      multiply(block);
    storeSums();
  }

private:
  void loadOperands() {
    unsigned lanes = wave.lanes;
    for (size_t index = 0; index < placed.a.size(); ++index) {
      Place place = placed.a[index];
      blocks[place.block].a[place.major * shape.k + place.minor] =
          operandAt(1, shape.lhs, unsigned(index / lanes), unsigned(index % lanes));
    }
    for (size_t index = 0; index < placed.b.size(); ++index) {
      Place place = placed.b[index];
      blocks[place.block].b[place.minor * shape.n + place.major] =
          operandAt(2, shape.rhs, unsigned(index / lanes), unsigned(index % lanes));
    }
  }

  double operandAt(unsigned number, Number kind, unsigned element, unsigned lane) {
    const Operand &operand = instruction.operands[number];
    uint64_t bits = elementBits(wave, operand, bitsOfNumber(kind), element, lane);
    if (shape.repeatsOperands && lane >= 16 &&
        bits != elementBits(wave, operand, bitsOfNumber(kind), element, lane - 16))
      wave.failLane(lane, "holds another matrix element than lane " + std::to_string(lane - 16) +
                              "; operands of this instruction are repeated");
    bool isSigned = instruction.modifiers.negLo >> (number - 1) & 1;
    return numberFrom(bits, kind, wave, isSigned);
  }

  /// Element and lane of a sum lie in this register, or, of small sums, in a part of it.
  unsigned sumElement(unsigned element) const {
    return shape.usesHalfOfRegister ? 2 * element + (instruction.modifiers.opSel >> 2 & 1)
                                    : element;
  }

  void loadSums() {
    const Operand &operand = instruction.operands[3];
    unsigned bits = bitsOfNumber(shape.result);
    bool isReal = shape.result != Number::I32;
    for (size_t index = 0; index < placed.d.size(); ++index) {
      Place place = placed.d[index];
      unsigned element = unsigned(index / wave.lanes), lane = unsigned(index % wave.lanes);
      uint64_t raw = operand.isVector()
                         ? elementBits(wave, operand, bits, sumElement(element), lane)
                         : constantBits(operand, bits, isReal);
      blocks[place.block].d[place.major * shape.n + place.minor] =
          numberFrom(raw, shape.result, wave, true);
    }
  }

  void multiply(Matrices &block) {
    bool isFused = shape.lhs == Number::F32 || shape.lhs == Number::F64;
    for (unsigned row = 0; row < shape.m; ++row) {
      double *sums = block.d.data() + row * shape.n;
      for (unsigned k = 0; k < shape.k; ++k) {
        double left = block.a[row * shape.k + k];
        const double *right = block.b.data() + k * shape.n;
        if (isFused)
          for (unsigned column = 0; column < shape.n; ++column)
            sums[column] =
                shape.lhs == Number::F64
                    ? std::fma(left, right[column], sums[column])
                    : double(std::fma(float(left), float(right[column]), float(sums[column])));
        else
          for (unsigned column = 0; column < shape.n; ++column)
            sums[column] += left * right[column];
      }
    }
  }

  uint64_t sumBits(double value) const {
    switch (shape.result) {
    case Number::F16:
      return halfFromDouble(value);
    case Number::BF16:
      return bfloatFromFloat(float(value));
    case Number::F64:
      return std::bit_cast<uint64_t>(value);
    case Number::I32:
      if (instruction.modifiers.clamp)
        value = std::clamp(value, double(INT32_MIN), double(INT32_MAX));
      return uint32_t(int64_t(value));
    default:
      return std::bit_cast<uint32_t>(float(value));
    }
  }

  void storeSums() {
    const Operand &operand = instruction.operands[0];
    unsigned bits = bitsOfNumber(shape.result);
    for (size_t index = 0; index < placed.d.size(); ++index) {
      Place place = placed.d[index];
      unsigned element = sumElement(unsigned(index / wave.lanes)),
               lane = unsigned(index % wave.lanes);
      uint64_t raw = sumBits(blocks[place.block].d[place.major * shape.n + place.minor]);
      if (bits == 64) {
        wave.row(operand.index + 2 * element)[lane] = uint32_t(raw);
        wave.row(operand.index + 2 * element + 1)[lane] = uint32_t(raw >> 32);
      } else if (bits == 32) {
        wave.row(operand.index + element)[lane] = uint32_t(raw);
      } else {
        uint32_t &word = wave.row(operand.index + element / 2)[lane];
        unsigned shift = 16 * (element % 2);
        word = (word & ~(0xffffu << shift)) | uint32_t(raw) << shift;
      }
    }
  }

  Wave &wave;
  const Instruction &instruction;
  const Placed &placed;
  const MatrixInstruction &shape;
  std::vector<Matrices> blocks;
};

void multiplyMatrices(Wave &wave, const Instruction &instruction) {
  const Placed *placed = placedInstruction(wave, instruction);
  if (!placed)
    return wave.fail("the layout of this matrix instruction is not modelled");
  const Modifiers &modifiers = instruction.modifiers;
  bool hasSigns = placed->instruction.lhs == Number::IU8;
  if (modifiers.cbsz || modifiers.abid || modifiers.blgp || modifiers.negHi ||
      (modifiers.negLo && !hasSigns))
    return wave.fail("broadcast and negated operands of matrix instructions are not modelled");
  if (wave.chip->generation != 9 && wave.exec() != wave.allLanes())
    return wave.fail("a matrix instruction with lanes that are off");
  Product(wave, instruction, *placed).run();
}

} // namespace

void addMatrix(Semantics &table) {
  for (const char *name : {"F32_32X32X8F16",       "F32_16X16X16F16",      "F32_32X32X4F16",
                           "F32_16X16X4F16",       "F32_4X4X4F16",         "F32_32X32X8BF16_1K",
                           "F32_16X16X16BF16_1K",  "F32_32X32X4BF16_1K",   "F32_16X16X4BF16_1K",
                           "F32_4X4X4BF16_1K",     "F32_32X32X4BF16",      "F32_16X16X8BF16",
                           "F32_32X32X2F32",       "F32_16X16X4F32",       "F32_32X32X1F32",
                           "F32_16X16X1F32",       "F32_4X4X1F32",         "F32_16X16X8XF32",
                           "F32_32X32X4XF32",      "F64_16X16X4F64",       "F64_4X4X4F64",
                           "I32_32X32X4I8",        "I32_16X16X4I8",        "I32_4X4X4I8",
                           "F32_32X32X2BF16",      "F32_16X16X2BF16",      "F32_4X4X2BF16",
                           "I32_32X32X16I8",       "I32_16X16X32I8",       "I32_32X32X8I8",
                           "I32_16X16X16I8",       "I32_32X32X32_I8",      "I32_16X16X64_I8",
                           "F32_16X16X32_F16",     "F32_32X32X16_F16",     "F32_16X16X32_BF16",
                           "F32_32X32X16_BF16",    "F32_16X16X32_FP8_FP8", "F32_16X16X32_FP8_BF8",
                           "F32_16X16X32_BF8_FP8", "F32_16X16X32_BF8_BF8", "F32_32X32X16_FP8_FP8",
                           "F32_32X32X16_FP8_BF8", "F32_32X32X16_BF8_FP8", "F32_32X32X16_BF8_BF8"})
    table.add(std::string("V_MFMA_") + name, multiplyMatrices);
  for (const char *name : {"F32_16X16X16_F16", "F32_16X16X16_BF16", "F16_16X16X16_F16",
                           "BF16_16X16X16_BF16", "I32_16X16X16_IU8", "F32_16X16X16_FP8_FP8",
                           "F32_16X16X16_FP8_BF8", "F32_16X16X16_BF8_FP8", "F32_16X16X16_BF8_BF8"})
    table.add(std::string("V_WMMA_") + name, multiplyMatrices);
}

} // namespace sectile::amdisa
