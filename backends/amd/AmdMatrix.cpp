#include "backends/amd/AmdMatrix.h"

#include "lang/layout/AmdMatrixInstructions.h"

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/Support/FormatVariadic.h"

namespace sectile::amd {
namespace {

using layout::MatrixElement;
using V = llvm::Value *;

/// How LLVM's names of instructions call the elements of an operand.
llvm::StringRef wordOf(MatrixElement element) {
  switch (element) {
  case MatrixElement::F16:
    return "f16";
  case MatrixElement::BF16:
    return "bf16";
  case MatrixElement::Tf32:
    return "xf32";
  case MatrixElement::F32:
    return "f32";
  case MatrixElement::F64:
    return "f64";
  case MatrixElement::E4M3:
  case MatrixElement::E4M3Fnuz:
    return "fp8";
  case MatrixElement::E5M2:
  case MatrixElement::E5M2Fnuz:
    return "bf8";
  case MatrixElement::I8:
    return "i8";
  case MatrixElement::I32:
    return "i32";
  }
  llvm_unreachable("all elements are handled");
}

bool isFp8(MatrixElement element) {
  return layout::bitsOf(element) == 8 && element != MatrixElement::I8;
}

/// LLVM's name of the instruction without "llvm.amdgcn.": those of gfx942 and later have a dot
/// before the elements.
std::string intrinsicName(const layout::MatrixInstruction &one, bool isWmma) {
  MatrixElement first = one.elements.lhs, second = one.elements.rhs;
  if (one.isExchanged)
    std::swap(first, second);
  std::string shape =
      llvm::formatv("{0}.{1}x{2}x{3}", wordOf(one.elements.acc), one.m, one.n, one.k);
  std::string word = wordOf(first).str();
  if (isFp8(first))
    word += "." + wordOf(second).str();
  if (isWmma)
    return "wmma." + shape + (first == MatrixElement::I8 ? ".iu8" : "." + word);
  // Of 64 bits for an operand at most, and of one kind of element: gfx90a had them.
  int64_t laneBits = one.k * layout::bitsOf(first) * one.m / 64;
  bool isOld = !isFp8(first) && first != MatrixElement::Tf32 &&
               (first == MatrixElement::I8 ? laneBits <= 32 : laneBits <= 64);
  if (!isOld)
    return "mfma." + shape + "." + word;
  return "mfma." + shape + word + (first == MatrixElement::BF16 ? ".1k" : "");
}

/// Words of 32 bits as a value of the type.
V packed(llvm::IRBuilderBase &b, llvm::ArrayRef<V> words, llvm::Type *type) {
  if (words.size() == 1)
    return b.CreateBitCast(words.front(), type);
  V whole = llvm::PoisonValue::get(
      llvm::FixedVectorType::get(words.front()->getType(), unsigned(words.size())));
  for (auto [number, word] : llvm::enumerate(words))
    whole = b.CreateInsertElement(whole, word, uint64_t(number));
  return b.CreateBitCast(whole, type);
}

} // namespace

/// Keeps a product above the branches behind it: LLVM 22 knows of MFMA that all lanes take part,
/// but of WMMA it only knows in IR, and sinks the machine instruction into the branch of a masked
/// store, where lanes are off. Empty text that all lanes have to pass is not sunk, nor what it
/// reads.
static V keptInPlace(llvm::IRBuilderBase &b, V product) {
  auto *type = llvm::FunctionType::get(product->getType(), {product->getType()}, false);
  auto *text = llvm::InlineAsm::get(type, "", "=v,0", /*hasSideEffects=*/false);
  llvm::CallInst *call = b.CreateCall(text, {product});
  call->setConvergent();
  call->setDoesNotAccessMemory();
  return call;
}

layout::MatrixInstructions
AmdMatrixProducts::instructions(const layout::MatrixElements &elements) const {
  return layout::instructionsFor(layout::amdProductInstructions(arch.name), elements);
}

/// Threads store a few neighbours of the depth together, 8 bytes, and two such pieces at one
/// address and a constant make one ds_read2_b64: those of two steps of MFMA where a step takes 8
/// bytes of a lane.
int64_t AmdMatrixProducts::stepsReadTogether(const layout::MatrixInstruction &instruction) const {
  if (!arch.isCdna())
    return 1;
  int64_t laneBytes = instruction.m * instruction.k * layout::bitsOf(instruction.elements.lhs) /
                      (8 * instruction.laneCount());
  return std::max<int64_t>(1, 16 / std::max<int64_t>(1, laneBytes));
}

llvm::SmallVector<V, 4> AmdMatrixProducts::multiply(llvm::IRBuilderBase &b,
                                                    const layout::MatrixInstruction &instruction,
                                                    llvm::ArrayRef<V> a, llvm::ArrayRef<V> second,
                                                    llvm::ArrayRef<V> acc) const {
  const bool isWmma = !arch.isCdna();
  std::string name = "llvm.amdgcn." + intrinsicName(instruction, isWmma);
  llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(name);
  assert(id != llvm::Intrinsic::not_intrinsic && "LLVM has the instructions of the table");
  auto *sums = llvm::FixedVectorType::get(acc.front()->getType(), unsigned(acc.size()));
  const bool isInteger = instruction.elements.acc == MatrixElement::I32;
  llvm::Module &module = *b.GetInsertBlock()->getModule();

  llvm::SmallVector<llvm::Type *, 2> overloads;
  if (isWmma) {
    llvm::Type *operand = llvm::FixedVectorType::get(b.getInt32Ty(), unsigned(a.size()));
    MatrixElement element = instruction.elements.lhs;
    if (element == MatrixElement::F16)
      operand = llvm::FixedVectorType::get(b.getHalfTy(), unsigned(2 * a.size()));
    else if (element == MatrixElement::BF16)
      operand = llvm::FixedVectorType::get(b.getInt16Ty(), unsigned(2 * a.size()));
    overloads = {sums, operand};
  }
  llvm::Function *function = llvm::Intrinsic::getOrInsertDeclaration(&module, id, overloads);
  llvm::SmallVector<V, 8> arguments;
  const unsigned firstOperand = isWmma && isInteger ? 1 : 0, step = isWmma && isInteger ? 2 : 1;
  llvm::FunctionType *type = function->getFunctionType();
  V left = packed(b, a, type->getParamType(firstOperand));
  V right = packed(b, second, type->getParamType(firstOperand + step));
  V sum = packed(b, acc, sums);
  if (!isWmma) // no broadcasts, no negations
    arguments = {left, right, sum, b.getInt32(0), b.getInt32(0), b.getInt32(0)};
  else if (isInteger) // both signed; sums wrap
    arguments = {b.getTrue(), left, b.getTrue(), right, sum, b.getFalse()};
  else
    arguments = {left, right, sum};
  V result = b.CreateCall(function, arguments);
  if (isWmma)
    result = keptInPlace(b, result);
  llvm::SmallVector<V, 4> results;
  for (size_t i = 0; i < acc.size(); ++i)
    results.push_back(b.CreateExtractElement(result, uint64_t(i)));
  return results;
}

} // namespace sectile::amd
