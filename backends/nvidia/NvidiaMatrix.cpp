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

} // namespace

bool hasMatrixProduct(const NvidiaArch &arch, Type lhs, Type rhs, Type acc,
                      tile::InputPrecision precision) {
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
  bool isFp8 = left.starts_with("e"), rightIsFp8 = right.starts_with("e");
  return isFp8
             ? rightIsFp8 && arch.capability >= kFp8Capability && arch.ptxVersion >= kFp8PtxVersion
             : left == right;
}

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

llvm::Value *emitRoundToTf32(llvm::IRBuilderBase &builder, llvm::Value *value) {
  auto *type = llvm::FunctionType::get(builder.getInt32Ty(), {builder.getFloatTy()}, false);
  auto *assembly = llvm::InlineAsm::get(type, "cvt.rna.tf32.f32 $0, $1;", "=r,f", false);
  return builder.CreateBitCast(builder.CreateCall(assembly, {value}), builder.getFloatTy());
}

} // namespace sectile::nvidia
