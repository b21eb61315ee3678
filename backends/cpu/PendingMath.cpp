// A plain matrix product for as long as DotKernel.cpp is not there: weak, so that one wins.
#include "backends/cpu/DotKernel.h"

#define SECTILE_WEAK __attribute__((weak))

namespace sectile::cpu {
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
