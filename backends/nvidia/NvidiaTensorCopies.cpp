#include "backends/nvidia/NvidiaTensorCopies.h"

#include "backends/plain/TensorMap.h"

#include "llvm/IR/InlineAsm.h"

namespace sectile::nvidia {
namespace {

/// An instruction that orders memory; LLVM neither moves nor repeats it.
void emit(llvm::IRBuilderBase &builder, const std::string &text, llvm::StringRef constraints,
          llvm::ArrayRef<llvm::Value *> operands) {
  llvm::SmallVector<llvm::Type *, 8> types;
  for (llvm::Value *operand : operands)
    types.push_back(operand->getType());
  std::string all = (constraints + (constraints.empty() ? "" : ",") + "~{memory}").str();
  auto *assembly = llvm::InlineAsm::get(llvm::FunctionType::get(builder.getVoidTy(), types, false),
                                        text, all, /*hasSideEffects=*/true);
  llvm::CallInst *call = builder.CreateCall(assembly, operands);
  call->setConvergent();
  call->setDoesNotThrow();
}

} // namespace

void NvidiaTensorCopies::declareMap(llvm::Function &kernel, unsigned parameter) const {
  llvm::LLVMContext &context = kernel.getContext();
  auto *type = llvm::ArrayType::get(llvm::Type::getInt8Ty(context), backends::kTensorMapBytes);
  kernel.addParamAttr(parameter, llvm::Attribute::getWithByValType(context, type));
  kernel.addParamAttr(parameter, llvm::Attribute::getWithAlignment(
                                     context, llvm::Align(backends::kTensorMapAlignment)));
  // The engine reads it where the launch has put it: no copy is made.
  kernel.addParamAttr(parameter, llvm::Attribute::get(context, "nvvm.grid_constant"));
}

void NvidiaTensorCopies::initBarrier(llvm::IRBuilderBase &builder, llvm::Value *barrier,
                                     uint32_t arrivals, llvm::Value *predicate) const {
  emit(builder, "@$1 mbarrier.init.shared::cta.b64 [$0], " + std::to_string(arrivals) + ";", "r,b",
       {barrier, predicate});
}

void NvidiaTensorCopies::arrive(llvm::IRBuilderBase &builder, llvm::Value *barrier,
                                llvm::Value *predicate) const {
  emit(builder, "bar.warp.sync -1;\n\t@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b",
       {barrier, predicate});
}

void NvidiaTensorCopies::endBarrier(llvm::IRBuilderBase &builder, llvm::Value *barrier,
                                    llvm::Value *predicate) const {
  emit(builder, "@$1 mbarrier.inval.shared::cta.b64 [$0];", "r,b", {barrier, predicate});
}

void NvidiaTensorCopies::fence(llvm::IRBuilderBase &builder) const {
  emit(builder, "fence.proxy.async.shared::cta;", "", {});
}

void NvidiaTensorCopies::expect(llvm::IRBuilderBase &builder, llvm::Value *barrier, int64_t bytes,
                                llvm::Value *predicate) const {
  emit(builder,
       "@$1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], " + std::to_string(bytes) + ";",
       "r,b", {barrier, predicate});
}

/// Appends coordinates to the operands of an instruction, the innermost first, and returns their
/// list in its text.
static std::string listOf(llvm::ArrayRef<llvm::Value *> coordinates,
                          llvm::SmallVectorImpl<llvm::Value *> &operands,
                          std::string &constraints) {
  std::string list;
  for (llvm::Value *coordinate : llvm::reverse(coordinates)) {
    list += (list.empty() ? "$" : ", $") + std::to_string(operands.size());
    constraints += ",r";
    operands.push_back(coordinate);
  }
  return list;
}

void NvidiaTensorCopies::copy(llvm::IRBuilderBase &builder, llvm::Value *shared, llvm::Value *map,
                              llvm::ArrayRef<llvm::Value *> coordinates, llvm::Value *barrier,
                              llvm::Value *predicate) const {
  llvm::SmallVector<llvm::Value *, 8> operands{shared, map, barrier, predicate};
  std::string constraints = "r,l,r,b", list = listOf(coordinates, operands, constraints);
  emit(builder,
       "@$3 cp.async.bulk.tensor." + std::to_string(coordinates.size()) +
           "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [$0], [$1, {" + list +
           "}], [$2];",
       constraints, operands);
}

void NvidiaTensorCopies::store(llvm::IRBuilderBase &builder, llvm::Value *map,
                               llvm::ArrayRef<llvm::Value *> coordinates, llvm::Value *shared,
                               llvm::Value *predicate) const {
  llvm::SmallVector<llvm::Value *, 8> operands{map, shared, predicate};
  std::string constraints = "l,r,b", list = listOf(coordinates, operands, constraints);
  emit(builder,
       "@$2 cp.async.bulk.tensor." + std::to_string(coordinates.size()) +
           "d.global.shared::cta.tile.bulk_group [$0, {" + list + "}], [$1];",
       constraints, operands);
}

void NvidiaTensorCopies::commitStores(llvm::IRBuilderBase &builder) const {
  // The group is empty in most threads.
  emit(builder, "cp.async.bulk.commit_group;", "", {});
}

void NvidiaTensorCopies::waitForStores(llvm::IRBuilderBase &builder, bool areWritten,
                                       unsigned pending) const {
  std::string text = areWritten ? "cp.async.bulk.wait_group " : "cp.async.bulk.wait_group.read ";
  emit(builder, text + std::to_string(pending) + ";", "", {});
}

void NvidiaTensorCopies::wait(llvm::IRBuilderBase &builder, llvm::Value *barrier,
                              llvm::Value *parity, llvm::Value *predicate) const {
  // An attempt may end before the phase does. The labels are known within the braces only.
  if (predicate)
    return emit(builder,
                "{\n\t.reg .pred done;\n\t@!$2 bra over;\n"
                "again:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\n"
                "\t@!done bra again;\nover:\n\t}",
                "r,r,b", {barrier, parity, predicate});
  emit(builder,
       "{\n\t.reg .pred done;\n"
       "again:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\n"
       "\t@!done bra again;\n\t}",
       "r,r", {barrier, parity});
}

} // namespace sectile::nvidia
