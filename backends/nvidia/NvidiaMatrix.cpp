#include "backends/nvidia/NvidiaMatrix.h"

#include "llvm/IR/InlineAsm.h"

using namespace mlir;

namespace sectile::nvidia {
namespace {

/// PTX's name of an operand's element type; "" when there is no instruction for it.
StringRef nameOf(Type element) {
  if (element.isF16())
    return "f16";
  if (element.isBF16())
    return "bf16";
  if (element.isF32())
    return "tf32";
  if (element.isF64())
    return "f64";
  if (isa<Float8E4M3FNType>(element))
    return "e4m3";
  if (isa<Float8E5M2Type>(element))
    return "e5m2";
  if (element.isInteger(8))
    return "s8";
  return "";
}

bool isFp8(Type element) {
  return nameOf(element).starts_with("e");
}

/// Four numbers of fp8 as two words of two f16, the lower ones first; exact.
std::pair<llvm::Value *, llvm::Value *> widenFp8(llvm::IRBuilderBase &builder, Type element,
                                                 llvm::Value *word) {
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

/// One instruction of these very types.
SmallVector<llvm::Value *, 4> emitMatrixProduct(llvm::IRBuilderBase &builder, Type lhs, Type rhs,
                                                ArrayRef<llvm::Value *> aWords,
                                                ArrayRef<llvm::Value *> bWords,
                                                ArrayRef<llvm::Value *> acc) {
  llvm::Type *accType = acc.front()->getType();
  bool isDouble = accType->isDoubleTy(), isInteger = accType->isIntegerTy();
  StringRef accName = isDouble ? "f64" : isInteger ? "s32" : "f32";
  unsigned bits = lhs.getIntOrFloatBitWidth();
  std::string shape = isDouble ? "m8n8k4" : "m16n8k" + std::to_string(256 / bits);

  unsigned number = 0;
  auto list = [&](size_t count) {
    std::string text = "{";
    for (size_t i = 0; i < count; ++i)
      text += (i ? ", $" : "$") + std::to_string(number++);
    return text + "}";
  };
  std::string instruction = "mma.sync.aligned." + shape + ".row.col." + accName.str() + "." +
                            nameOf(lhs).str() + "." + nameOf(rhs).str() + "." + accName.str() + " ";
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
SmallVector<llvm::Value *, 4> emitFp8ProductByF16(llvm::IRBuilderBase &builder, Type lhs, Type rhs,
                                                  ArrayRef<llvm::Value *> a,
                                                  ArrayRef<llvm::Value *> b,
                                                  ArrayRef<llvm::Value *> acc) {
  Type half = Float16Type::get(lhs.getContext());
  SmallVector<llvm::Value *, 4> sums(acc);
  for (unsigned step = 0; step < 2; ++step) {
    auto top = widenFp8(builder, lhs, a[2 * step]),
         bottom = widenFp8(builder, lhs, a[2 * step + 1]);
    auto column = widenFp8(builder, rhs, b[step]);
    sums =
        emitMatrixProduct(builder, half, half, {top.first, bottom.first, top.second, bottom.second},
                          {column.first, column.second}, sums);
  }
  return sums;
}

} // namespace

bool hasFp8Products(int capability) {
  return capability >= kFp8Capability && capability != 90;
}

SmallVector<llvm::Value *, 4> NvidiaMatrixProducts::multiply(llvm::IRBuilderBase &builder, Type lhs,
                                                             Type rhs, ArrayRef<llvm::Value *> a,
                                                             ArrayRef<llvm::Value *> b,
                                                             ArrayRef<llvm::Value *> acc) const {
  if (isFp8(lhs) && !hasFp8Products(arch.capability))
    return emitFp8ProductByF16(builder, lhs, rhs, a, b, acc);
  return emitMatrixProduct(builder, lhs, rhs, a, b, acc);
}

bool NvidiaMatrixProducts::has(Type lhs, Type rhs, Type acc, tile::InputPrecision precision) const {
  StringRef left = nameOf(lhs), right = nameOf(rhs);
  if (left.empty() || right.empty())
    return false;
  if (left == "s8")
    return right == "s8" && acc.isInteger(32);
  if (left == "f64")
    return right == "f64" && acc.isF64();
  if (!acc.isF32())
    return false;
  if (left == "tf32")
    return right == "tf32" &&
           (precision == tile::InputPrecision::Tf32 || precision == tile::InputPrecision::Tf32x3);
  if (!isFp8(lhs))
    return left == right;
  // sm_89's conversions to f16 need no newer PTX than it does.
  bool isNative = hasFp8Products(arch.capability);
  return isFp8(rhs) && arch.capability >= kFp8Capability &&
         (!isNative || arch.ptxVersion >= kFp8PtxVersion);
}

llvm::Value *NvidiaTf32Rounding::round(llvm::IRBuilderBase &builder, llvm::Value *value) const {
  auto *type = llvm::FunctionType::get(builder.getInt32Ty(), {builder.getFloatTy()}, false);
  auto *assembly = llvm::InlineAsm::get(type, "cvt.rna.tf32.f32 $0, $1;", "=r,f", false);
  return builder.CreateBitCast(builder.CreateCall(assembly, {value}), builder.getFloatTy());
}

} // namespace sectile::nvidia
