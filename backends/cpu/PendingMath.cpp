// Plain versions of number conversion and matrix product for as long as NumberConversion.cpp and
// DotKernel.cpp are not there: weak, so theirs win.
#include "backends/cpu/DotKernel.h"
#include "backends/cpu/NumberConversion.h"

#include "mlir/IR/BuiltinTypes.h"

#define SECTILE_WEAK __attribute__((weak))

namespace sectile::cpu {
namespace {

llvm::Type *like(llvm::Value *value, llvm::Type *element) {
  auto *vector = llvm::dyn_cast<llvm::VectorType>(value->getType());
  return vector ? llvm::VectorType::get(element, vector->getElementCount()) : element;
}

} // namespace

SECTILE_WEAK std::optional<NarrowFloat> narrowFloatOf(mlir::Type type) {
  if (type.isF16())
    return NarrowFloat::F16;
  if (type.isBF16())
    return NarrowFloat::BF16;
  return std::nullopt;
}
SECTILE_WEAK unsigned narrowFloatBits(NarrowFloat) {
  return 16;
}

SECTILE_WEAK llvm::Value *emitWiden(llvm::IRBuilderBase &builder, const HostFeatures &,
                                    llvm::Value *bits, NarrowFloat kind) {
  if (kind == NarrowFloat::F16)
    return builder.CreateFPExt(builder.CreateBitCast(bits, like(bits, builder.getHalfTy())),
                               like(bits, builder.getFloatTy()));
  llvm::Value *wide =
      builder.CreateShl(builder.CreateZExt(bits, like(bits, builder.getInt32Ty())), 16);
  return builder.CreateBitCast(wide, like(bits, builder.getFloatTy()));
}

SECTILE_WEAK llvm::Value *emitNarrow(llvm::IRBuilderBase &builder, const HostFeatures &,
                                     llvm::Value *value, NarrowFloat kind, FloatRounding) {
  llvm::Type *bits = like(value, builder.getInt16Ty());
  if (kind == NarrowFloat::F16)
    return builder.CreateBitCast(builder.CreateFPTrunc(value, like(value, builder.getHalfTy())),
                                 bits);
  llvm::Type *word = like(value, builder.getInt32Ty());
  llvm::Value *number = builder.CreateBitCast(value, word);
  llvm::Value *odd = builder.CreateAnd(builder.CreateLShr(number, 16), 1);
  llvm::Value *rounded =
      builder.CreateAdd(builder.CreateAdd(number, odd), llvm::ConstantInt::get(word, 0x7fff));
  llvm::Value *isNan = builder.CreateFCmpUNO(value, value);
  rounded = builder.CreateSelect(isNan, llvm::ConstantInt::get(word, 0x7fc00000), rounded);
  return builder.CreateTrunc(builder.CreateLShr(rounded, 16), bits);
}

SECTILE_WEAK llvm::Value *emitRound(llvm::IRBuilderBase &builder, const HostFeatures &host,
                                    llvm::Value *value, NarrowFloat kind, FloatRounding rounding) {
  return emitWiden(builder, host, emitNarrow(builder, host, value, kind, rounding), kind);
}

SECTILE_WEAK llvm::Value *emitTruncateDouble(llvm::IRBuilderBase &builder, const HostFeatures &,
                                             llvm::Value *value, FloatRounding) {
  return builder.CreateFPTrunc(value, like(value, builder.getFloatTy()));
}

SECTILE_WEAK llvm::Value *emitFloatToInt(llvm::IRBuilderBase &builder, const HostFeatures &,
                                         llvm::Value *value, llvm::Type *integer, bool isSigned) {
  return builder.CreateIntrinsic(isSigned ? llvm::Intrinsic::fptosi_sat
                                          : llvm::Intrinsic::fptoui_sat,
                                 {like(value, integer), value->getType()}, {value});
}

SECTILE_WEAK llvm::Value *emitIntToFloat(llvm::IRBuilderBase &builder, const HostFeatures &,
                                         llvm::Value *value, llvm::Type *type, bool isSigned) {
  return isSigned ? builder.CreateSIToFP(value, like(value, type))
                  : builder.CreateUIToFP(value, like(value, type));
}

SECTILE_WEAK llvm::Value *emitIntToNarrow(llvm::IRBuilderBase &builder, const HostFeatures &host,
                                          llvm::Value *value, NarrowFloat kind, bool isSigned) {
  llvm::Value *wide = emitIntToFloat(builder, host, value, builder.getFloatTy(), isSigned);
  return emitRound(builder, host, wide, kind, FloatRounding::NearestEven);
}

SECTILE_WEAK void emitDot(llvm::IRBuilderBase &builder, const HostFeatures &, const DotShape &shape,
                          llvm::Value *lhs, llvm::Value *rhs, llvm::Value *acc) {
  llvm::LLVMContext &context = builder.getContext();
  llvm::Function *function = builder.GetInsertBlock()->getParent();
  llvm::Value *indices[3];
  llvm::BasicBlock *heads[3];
  int64_t extents[3] = {shape.rows, shape.depth, shape.columns};
  for (int dim = 0; dim < 3; ++dim) {
    heads[dim] = llvm::BasicBlock::Create(context, "dot", function);
    llvm::BasicBlock *before = builder.GetInsertBlock();
    builder.CreateBr(heads[dim]);
    builder.SetInsertPoint(heads[dim]);
    auto *phi = builder.CreatePHI(builder.getInt64Ty(), 2);
    phi->addIncoming(builder.getInt64(0), before);
    indices[dim] = phi;
  }
  auto at = [&](llvm::Value *base, llvm::Value *row, int64_t stride, llvm::Value *column) {
    return builder.CreateGEP(
        shape.element, base,
        builder.CreateAdd(builder.CreateMul(row, builder.getInt64(stride)), column));
  };
  llvm::Value *left = builder.CreateLoad(
      shape.element,
      at(lhs, indices[0], shape.lhsStride ? shape.lhsStride : shape.depth, indices[1]));
  llvm::Value *right = builder.CreateLoad(
      shape.element,
      at(rhs, indices[1], shape.rhsStride ? shape.rhsStride : shape.columns, indices[2]));
  llvm::Value *to =
      at(acc, indices[0], shape.accStride ? shape.accStride : shape.columns, indices[2]);
  llvm::Value *old = builder.CreateLoad(shape.element, to);
  bool isFloat = shape.element->isFloatingPointTy();
  llvm::Value *sum = isFloat ? builder.CreateFAdd(old, builder.CreateFMul(left, right))
                             : builder.CreateAdd(old, builder.CreateMul(left, right));
  builder.CreateStore(sum, to);
  for (int dim = 2; dim >= 0; --dim) {
    llvm::Value *next = builder.CreateAdd(indices[dim], builder.getInt64(1));
    auto *phi = llvm::cast<llvm::PHINode>(indices[dim]);
    phi->addIncoming(next, builder.GetInsertBlock());
    auto *after = llvm::BasicBlock::Create(context, "dot.end", function);
    builder.CreateCondBr(builder.CreateICmpSLT(next, builder.getInt64(extents[dim])), heads[dim],
                         after);
    builder.SetInsertPoint(after);
  }
}

} // namespace sectile::cpu
