// Atomics by inline PTX: LLVM writes read-modify-write instructions without their order and scope,
// and knows neither pairs nor vectors of them.
#include "backends/nvidia/NvidiaTarget.h"

#include "llvm/IR/InlineAsm.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::nvidia {
namespace {

const char *semanticOf(MemorySemantic semantic) {
  switch (semantic) {
  case MemorySemantic::Relaxed:
    return ".relaxed";
  case MemorySemantic::Acquire:
    return ".acquire";
  case MemorySemantic::Release:
    return ".release";
  case MemorySemantic::AcquireRelease:
    return ".acq_rel";
  }
  return ".acq_rel";
}

const char *scopeOf(MemoryScope scope) {
  switch (scope) {
  case MemoryScope::Block:
    return ".cta";
  case MemoryScope::Device:
    return ".gpu";
  case MemoryScope::System:
    return ".sys";
  }
  return ".sys";
}

/// ".add.u32", without the vector; empty where there is no instruction.
std::string operationOf(RmwKind kind, Type element, int capability) {
  bool isPointer = isa<PtrType>(element);
  unsigned bits = isPointer ? 64 : element.getIntOrFloatBitWidth();
  bool isWord = bits == 32 || bits == 64;
  std::string size = std::to_string(bits);
  switch (kind) {
  case RmwKind::And:
    return isWord ? ".and.b" + size : "";
  case RmwKind::Or:
    return isWord ? ".or.b" + size : "";
  case RmwKind::Xor:
    return isWord ? ".xor.b" + size : "";
  case RmwKind::Exchange:
    return isWord ? ".exch.b" + size : "";
  case RmwKind::Add:
    return isWord ? ".add.u" + size : "";
  case RmwKind::Max:
    return isWord ? ".max.s" + size : "";
  case RmwKind::Min:
    return isWord ? ".min.s" + size : "";
  case RmwKind::UMax:
    return isWord ? ".max.u" + size : "";
  case RmwKind::UMin:
    return isWord ? ".min.u" + size : "";
  case RmwKind::FAdd:
    if (element.isF32() || element.isF64())
      return ".add.f" + size;
    if (element.isF16())
      return ".add.noftz.f16";
    return element.isBF16() && capability >= 90 ? ".add.noftz.bf16" : "";
  case RmwKind::FMax: // see atomicExtremum
  case RmwKind::FMin:
    return "";
  }
  return "";
}

bool hasExtremum(RmwKind kind, Type element) {
  return (kind == RmwKind::FMax || kind == RmwKind::FMin) && (element.isF32() || element.isF64());
}

/// The begin of an instruction. The order of its words is that of Triton's text, which programs
/// look for.
std::string atomAt(const gpu::AtomicAccess &access) {
  return std::string("atom.global") + scopeOf(access.scope) + semanticOf(access.semantic);
}

} // namespace

unsigned NvidiaTarget::atomicWidth(RmwKind kind, Type element) const {
  if (kind != RmwKind::FAdd || operationOf(kind, element, architecture.capability).empty())
    return 1;
  const bool hasVectors = architecture.capability >= 90;
  if (element.isF32())
    return hasVectors ? 4 : 1;
  if (element.isF16() || element.isBF16())
    return hasVectors ? 8 : 2;
  return 1;
}

llvm::Value *NvidiaTarget::atomicRmw(llvm::IRBuilderBase &builder, const gpu::AtomicAccess &access,
                                     RmwKind kind, llvm::Value *value, Type element,
                                     bool isUsed) const {
  if (hasExtremum(kind, element))
    return atomicExtremum(builder, access, kind, value, element, isUsed);
  std::string operation = operationOf(kind, element, architecture.capability);
  if (operation.empty())
    return GpuTarget::atomicRmw(builder, access, kind, value, element, isUsed);

  // As words of PTX: neighbours of 16 bits go in pairs.
  llvm::Type *type = value->getType();
  auto *vector = dyn_cast<llvm::FixedVectorType>(type);
  unsigned elementBits = isa<PtrType>(element) ? 64 : element.getIntOrFloatBitWidth();
  unsigned bits = elementBits == 16 && vector ? 32 : elementBits;
  unsigned count = vector ? vector->getNumElements() * elementBits / bits : 1;
  llvm::Type *word = builder.getIntNTy(bits);
  llvm::Type *words = count > 1 ? llvm::FixedVectorType::get(word, count) : word;
  if (type->isPointerTy())
    value = builder.CreatePtrToInt(value, word);
  value = builder.CreateBitCast(value, words);
  if (bits != elementBits)
    operation += "x2"; // ".add.noftz.f16x2"
  if (count > 1)
    operation.insert(operation.rfind('.'), ".v" + std::to_string(count));

  const char *constraint = bits == 16 ? "h" : bits == 32 ? "r" : "l";
  unsigned next = 0;
  std::string constraints;
  auto list = [&](const char *prefix) {
    std::string text;
    for (unsigned i = 0; i < count; ++i) {
      text += (i ? ", $" : "$") + std::to_string(next++);
      constraints += std::string(prefix) + constraint + ",";
    }
    return count > 1 ? "{" + text + "}" : text;
  };
  // `atom` always: the assembler makes a reduction (RED) of it where nobody reads the old value.
  std::string text = atomAt(access) + operation + " " + list("=") + ", ";
  text += "[$" + std::to_string(next++) + "], ";
  constraints += "l,";
  text += list("") + ";";
  constraints += "~{memory}";

  SmallVector<llvm::Value *, 5> operands{access.address};
  SmallVector<llvm::Type *, 5> types{access.address->getType()};
  for (unsigned i = 0; i < count; ++i) {
    operands.push_back(count > 1 ? builder.CreateExtractElement(value, uint64_t(i)) : value);
    types.push_back(word);
  }
  llvm::Type *result = count > 1 ? llvm::StructType::get(builder.getContext(),
                                                         SmallVector<llvm::Type *, 4>(count, word))
                                 : word;
  auto *assembly = llvm::InlineAsm::get(llvm::FunctionType::get(result, types, false), text,
                                        constraints, /*hasSideEffects=*/true);
  llvm::Value *old = builder.CreateCall(assembly, operands);
  if (!isUsed)
    return nullptr;
  if (count > 1) {
    llvm::Value *all = llvm::PoisonValue::get(words);
    for (unsigned i = 0; i < count; ++i)
      all = builder.CreateInsertElement(all, builder.CreateExtractValue(old, i), uint64_t(i));
    old = all;
  }
  return type->isPointerTy() ? builder.CreateIntToPtr(old, type) : builder.CreateBitCast(old, type);
}

/// There are no instructions for floats, but their bits are in the order of signed integers where
/// they are positive, and in the opposite one of unsigned integers where they are negative; a
/// number of either sign meets one of the other as it should, too. A NaN loses to every number: as
/// `value` it is replaced by what changes nothing, and in memory some numbers leave it alone, which
/// is seen in what was there, and mended by a loop.
llvm::Value *NvidiaTarget::atomicExtremum(llvm::IRBuilderBase &builder,
                                          const gpu::AtomicAccess &access, RmwKind kind,
                                          llvm::Value *value, Type element, bool isUsed) const {
  const bool isMax = kind == RmwKind::FMax;
  const unsigned bits = element.getIntOrFloatBitWidth();
  llvm::IntegerType *word = builder.getIntNTy(bits);
  const auto ofAll = [&](const llvm::APInt &pattern) {
    return llvm::ConstantInt::get(builder.getContext(), pattern);
  };
  // Whatever is there is less than the greatest signed integer, and than all ones as unsigned one.
  llvm::Value *nothing =
      ofAll(isMax ? llvm::APInt::getAllOnes(bits) : llvm::APInt::getSignedMaxValue(bits));
  llvm::Value *number = builder.CreateSelect(builder.CreateFCmpUNO(value, value), nothing,
                                             builder.CreateBitCast(value, word));

  const std::string size = std::to_string(bits), at = atomAt(access),
                    ofPositive = (isMax ? ".max.s" : ".min.s") + size,
                    ofNegative = (isMax ? ".min.u" : ".max.u") + size, operands = " $0, [$1], $2;";
  const std::string text = "{\n\t.reg .pred p;\n\tsetp.ge.s" + size + " p, $2, 0;\n\t@p " + at +
                           ofPositive + operands + "\n\t@!p " + at + ofNegative + operands +
                           "\n\t}";
  const char *constraints = bits == 32 ? "=&r,l,r,~{memory}" : "=&l,l,l,~{memory}";
  auto *type = llvm::FunctionType::get(word, {access.address->getType(), word}, false);
  auto *assembly = llvm::InlineAsm::get(type, text, constraints, /*hasSideEffects=*/true);
  llvm::Value *old = builder.CreateCall(assembly, {access.address, number});

  // Numbers leave a NaN alone that is greater than all of them as a signed integer, or smaller than
  // none as an unsigned one.
  const llvm::fltSemantics &format =
      bits == 32 ? llvm::APFloat::IEEEsingle() : llvm::APFloat::IEEEdouble();
  llvm::Value *infinity =
      ofAll(llvm::APFloat::getInf(format, /*Negative=*/!isMax).bitcastToAPInt());
  llvm::Value *isLeft =
      isMax ? builder.CreateICmpSGT(old, infinity) : builder.CreateICmpUGT(old, infinity);
  llvm::Value *seen = builder.CreateBitCast(old, value->getType());
  llvm::BasicBlock *start = builder.GetInsertBlock();
  auto *loop = llvm::BasicBlock::Create(builder.getContext(), "nan", start->getParent());
  auto *done = llvm::BasicBlock::Create(builder.getContext(), "extremum", start->getParent());
  builder.CreateCondBr(isLeft, loop, done);
  builder.SetInsertPoint(loop);
  llvm::Value *left = GpuTarget::atomicRmw(builder, access, kind, value, element, isUsed);
  llvm::BasicBlock *end = builder.GetInsertBlock();
  builder.CreateBr(done);
  builder.SetInsertPoint(done);
  if (!isUsed)
    return nullptr;
  auto *result = builder.CreatePHI(value->getType(), 2);
  result->addIncoming(seen, start);
  result->addIncoming(left, end);
  return result;
}

llvm::Value *NvidiaTarget::atomicCas(llvm::IRBuilderBase &builder, const gpu::AtomicAccess &access,
                                     llvm::Value *expected, llvm::Value *desired,
                                     Type element) const {
  const unsigned bits = isa<PtrType>(element) ? 64 : element.getIntOrFloatBitWidth();
  if (bits != 32 && bits != 64)
    return GpuTarget::atomicCas(builder, access, expected, desired, element);
  llvm::IntegerType *word = builder.getIntNTy(bits);
  const auto bitsOf = [&](llvm::Value *value) {
    return value->getType()->isPointerTy() ? builder.CreatePtrToInt(value, word)
                                           : builder.CreateBitCast(value, word);
  };
  // The order of the words is that of Triton's text here, too, which is another one.
  const std::string text = std::string("atom.global") + semanticOf(access.semantic) +
                           scopeOf(access.scope) + ".cas.b" + std::to_string(bits) +
                           " $0, [$1], $2, $3;";
  const char *constraints = bits == 32 ? "=r,l,r,r,~{memory}" : "=l,l,l,l,~{memory}";
  auto *type = llvm::FunctionType::get(word, {access.address->getType(), word, word}, false);
  auto *assembly = llvm::InlineAsm::get(type, text, constraints, /*hasSideEffects=*/true);
  llvm::Value *old =
      builder.CreateCall(assembly, {access.address, bitsOf(expected), bitsOf(desired)});
  llvm::Type *result = expected->getType();
  return result->isPointerTy() ? builder.CreateIntToPtr(old, result)
                               : builder.CreateBitCast(old, result);
}

} // namespace sectile::nvidia
