#include "backends/nvidia/NvidiaMatrix.h"

#include "lang/layout/NvidiaMatrixInstructions.h"

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace sectile::nvidia {
namespace {

using layout::MatrixElement;
using layout::MatrixInstruction;

bool isFp8(MatrixElement element) {
  return element == MatrixElement::E4M3 || element == MatrixElement::E5M2;
}

/// Four numbers of fp8 as two words of two f16, the lower ones first; exact.
std::pair<llvm::Value *, llvm::Value *> widenFp8(llvm::IRBuilderBase &builder,
                                                 MatrixElement element, llvm::Value *word) {
  std::string convert = "cvt.rn.f16x2." + nameOf(element).str() + "x2 ";
  // The upper half is shifted down: ptxas 13.0 converts the upper half of a word that it knows to
  // be zero into the number whose bits are 8.
  std::string text = "{ .reg .b16 low, high, rest; .reg .b32 upper; shr.u32 upper, $2, 16; "
                     "mov.b32 {low, rest}, $2; mov.b32 {high, rest}, upper; " +
                     convert + "$0, low; " + convert + "$1, high; }";
  llvm::Type *type = builder.getInt32Ty();
  auto *both = llvm::StructType::get(builder.getContext(), {type, type});
  auto *assembly =
      llvm::InlineAsm::get(llvm::FunctionType::get(both, {type}, false), text, "=r,=r,r", false);
  llvm::CallInst *call = builder.CreateCall(assembly, {word});
  call->setDoesNotAccessMemory(); // done once for all products that take the word
  call->setDoesNotThrow();
  return {builder.CreateExtractValue(call, 0), builder.CreateExtractValue(call, 1)};
}

/// The very instruction.
SmallVector<llvm::Value *, 4> emitMatrixProduct(llvm::IRBuilderBase &builder,
                                                const MatrixInstruction &one,
                                                ArrayRef<llvm::Value *> aWords,
                                                ArrayRef<llvm::Value *> bWords,
                                                ArrayRef<llvm::Value *> acc) {
  llvm::Type *accType = acc.front()->getType();
  bool isDouble = accType->isDoubleTy(), isInteger = accType->isIntegerTy();

  unsigned number = 0;
  auto list = [&](size_t count) {
    std::string text = "{";
    for (size_t i = 0; i < count; ++i)
      text += (i ? ", $" : "$") + std::to_string(number++);
    return text + "}";
  };
  const layout::MatrixElements &elements = one.elements;
  std::string instruction =
      llvm::formatv("mma.sync.aligned.m{0}n{1}k{2}.row.col.{3}.{4}.{5}.{3} ", one.m, one.n, one.k,
                    nameOf(elements.acc), nameOf(elements.lhs), nameOf(elements.rhs));
  instruction += list(acc.size()) + ", ";
  instruction += list(aWords.size()) + ", ";
  instruction += list(bWords.size()) + ", ";
  instruction += list(acc.size()) + ";";

  std::string constraints;
  std::string accConstraint = isDouble ? "d" : isInteger ? "r" : "f";
  for (size_t i = 0; i < acc.size(); ++i)
    constraints += (i ? ",=" : "=") + accConstraint;
  SmallVector<llvm::Value *, 16> operands;
  auto pass = [&](ArrayRef<llvm::Value *> values, StringRef constraint) {
    for (llvm::Value *value : values) {
      constraints += "," + constraint.str();
      operands.push_back(value);
    }
  };
  pass(aWords, isDouble ? "d" : "r");
  pass(bWords, isDouble ? "d" : "r");
  pass(acc, accConstraint);

  SmallVector<llvm::Type *, 16> types;
  for (llvm::Value *operand : operands)
    types.push_back(operand->getType());
  auto *result = llvm::StructType::get(builder.getContext(),
                                       SmallVector<llvm::Type *, 4>(acc.size(), accType));
  auto *assembly = llvm::InlineAsm::get(llvm::FunctionType::get(result, types, false), instruction,
                                        constraints, /*hasSideEffects=*/false);
  llvm::CallInst *call = builder.CreateCall(assembly, operands);
  // All lanes take part: never moved under a condition that only some of them meet.
  call->setConvergent();
  SmallVector<llvm::Value *, 4> sums;
  for (unsigned i = 0; i < acc.size(); ++i)
    sums.push_back(builder.CreateExtractValue(call, i));
  return sums;
}

/// Two products of f16, each of the lower or upper half of the depth. Which number of the depth
/// stands where within an instruction does not matter, as long as both operands agree.
SmallVector<llvm::Value *, 4> emitFp8ProductByF16(llvm::IRBuilderBase &builder,
                                                  const layout::MatrixElements &elements,
                                                  ArrayRef<llvm::Value *> a,
                                                  ArrayRef<llvm::Value *> b,
                                                  ArrayRef<llvm::Value *> acc) {
  const MatrixInstruction &half =
      *layout::instructionsFor(layout::mmaSyncInstructions(),
                               {MatrixElement::F16, MatrixElement::F16, MatrixElement::F32})
           .front();
  SmallVector<llvm::Value *, 4> sums(acc);
  for (unsigned step = 0; step < 2; ++step) {
    auto top = widenFp8(builder, elements.lhs, a[2 * step]),
         bottom = widenFp8(builder, elements.lhs, a[2 * step + 1]);
    auto column = widenFp8(builder, elements.rhs, b[step]);
    sums = emitMatrixProduct(builder, half, {top.first, bottom.first, top.second, bottom.second},
                             {column.first, column.second}, sums);
  }
  return sums;
}

} // namespace

bool hasFp8Products(int capability) {
  return capability >= kFp8Capability && capability != 90;
}

SmallVector<llvm::Value *, 4> NvidiaMatrixProducts::multiply(llvm::IRBuilderBase &builder,
                                                             const MatrixInstruction &instruction,
                                                             ArrayRef<llvm::Value *> a,
                                                             ArrayRef<llvm::Value *> b,
                                                             ArrayRef<llvm::Value *> acc) const {
  if (isFp8(instruction.elements.lhs) && !hasFp8Products(arch.capability))
    return emitFp8ProductByF16(builder, instruction.elements, a, b, acc);
  return emitMatrixProduct(builder, instruction, a, b, acc);
}

layout::MatrixInstructions
NvidiaMatrixProducts::instructions(const layout::MatrixElements &elements) const {
  // sm_89's conversions to f16 need no newer PTX than it does.
  bool isNative = hasFp8Products(arch.capability);
  if (isFp8(elements.lhs) &&
      (arch.capability < kFp8Capability || (isNative && arch.ptxVersion < kFp8PtxVersion)))
    return {};
  return layout::instructionsFor(layout::mmaSyncInstructions(), elements);
}

/// Whether a number was widened from f16 or bf16, in registers.
static bool wasHalf(llvm::Value *value) {
  using namespace llvm::PatternMatch;
  while (auto *same = llvm::dyn_cast<llvm::BitCastInst>(value))
    value = same->getOperand(0);
  auto *widened = llvm::dyn_cast<llvm::FPExtInst>(value);
  const bool isOfF16 = widened && widened->getSrcTy()->isHalfTy();
  return isOfF16 || match(value, m_Shl(m_Value(), m_SpecificInt(16)));
}

llvm::Value *NvidiaTf32Rounding::round(llvm::IRBuilderBase &builder, llvm::Value *value) const {
  if (wasHalf(value)) // which has no digits to lose
    return value;
  // One instruction (F2FP); ties away from zero, which older chips alone have, are four on any.
  llvm::StringRef text = capability >= 90 ? "cvt.rn.tf32.f32 $0, $1;" : "cvt.rna.tf32.f32 $0, $1;";
  auto *type = llvm::FunctionType::get(builder.getInt32Ty(), {builder.getFloatTy()}, false);
  auto *assembly = llvm::InlineAsm::get(type, text, "=r,f", false);
  return builder.CreateBitCast(builder.CreateCall(assembly, {value}), builder.getFloatTy());
}

} // namespace sectile::nvidia
