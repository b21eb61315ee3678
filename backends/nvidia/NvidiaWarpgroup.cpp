#include "backends/nvidia/NvidiaWarpgroup.h"

#include "lang/layout/NvidiaMatrixInstructions.h"

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Support/FormatVariadic.h"

namespace sectile::nvidia {
namespace {

using layout::MatrixInstruction;
using Values = llvm::SmallVector<llvm::Value *, 4>;

/// The text of an instruction that changes values in place: $0, $1, ... are they, as results; what
/// comes in beside them follows.
class InPlace {
public:
  /// Whether the instruction reads the values, or only has results like them.
  enum class Enter { Values, Nothing };
  InPlace(llvm::IRBuilderBase &builder, llvm::ArrayRef<llvm::Value *> values,
          Enter enter = Enter::Values)
      : builder(builder), values(values), enter(enter), next(unsigned(values.size())) {}

  /// "{$0, $1, ...}" of the first `count` values.
  static std::string list(size_t first, size_t count) {
    std::string text = "{";
    for (size_t i = 0; i < count; ++i)
      text += (i ? ", $" : "$") + std::to_string(first + i);
    return text + "}";
  }

  /// Returns "$n".
  std::string operand(llvm::Value *value, const char *constraint) {
    operands.push_back(value);
    constraints += std::string(",") + constraint;
    return "$" + std::to_string(next++);
  }

  Values emit(const std::string &text) {
    std::string all;
    llvm::SmallVector<llvm::Type *, 16> results, types;
    for (llvm::Value *value : values) {
      all += (all.empty() ? "=" : ",=") + std::string(constraintOf(value));
      results.push_back(value->getType());
    }
    all += constraints;
    for (llvm::Value *value : operands)
      types.push_back(value->getType());
    if (enter == Enter::Values)
      for (auto [number, value] : llvm::enumerate(values)) {
        all += "," + std::to_string(number);
        operands.push_back(value);
        types.push_back(value->getType());
      }
    llvm::StringRef list = all;
    list.consume_front(",");
    all = (list + (list.empty() ? "" : ",") + "~{memory}").str();
    llvm::Type *result = results.empty() ? builder.getVoidTy()
                         : results.size() == 1
                             ? results.front()
                             : llvm::StructType::get(builder.getContext(), results);
    auto *assembly = llvm::InlineAsm::get(llvm::FunctionType::get(result, types, false), text, all,
                                          /*hasSideEffects=*/true);
    llvm::CallInst *call = builder.CreateCall(assembly, operands);
    call->setConvergent();
    call->setDoesNotThrow();
    if (results.size() == 1)
      return {call};
    Values made;
    for (unsigned i = 0; i < results.size(); ++i)
      made.push_back(builder.CreateExtractValue(call, i));
    return made;
  }

private:
  static const char *constraintOf(llvm::Value *value) {
    return value->getType()->isFloatTy() ? "f" : "r";
  }

  llvm::IRBuilderBase &builder;
  llvm::ArrayRef<llvm::Value *> values;
  Enter enter;
  unsigned next;
  std::string constraints;
  llvm::SmallVector<llvm::Value *, 16> operands;
};

/// PTX ISA, "Matrix Descriptor Format": bits 0-13 the address, 16-29 the step from panel to panel,
/// 32-45 that from eight rows to the next, all in units of 16 bytes; 62-63 the swizzle.
llvm::Value *descriptorOf(llvm::IRBuilderBase &builder,
                          const gpu::BufferProducts::Operand &operand) {
  const layout::BufferOperand &place = operand.place;
  uint64_t swizzle = place.panelBytes == 128 ? 1 : place.panelBytes == 64 ? 2 : 3;
  // Panels along the depth are stepped through by the address.
  uint64_t panels = place.isDepthContiguous ? 1 : uint64_t(place.panelStride) / 16;
  uint64_t fixed = panels << 16 | uint64_t(place.rowGroupStride()) / 16 << 32 | swizzle << 62;
  llvm::Value *address = builder.CreatePtrToInt(operand.start, builder.getInt32Ty());
  address = builder.CreateLShr(builder.CreateAnd(address, 0x3ffff), 4);
  llvm::Value *first =
      builder.CreateOr(builder.CreateZExt(address, builder.getInt64Ty()), builder.getInt64(fixed));
  // One addition for each further piece: no address of shared memory reaches beyond its bits.
  return builder.CreateAdd(first, builder.getInt64(uint64_t(operand.offset) / 16));
}

} // namespace

layout::MatrixInstructions
NvidiaWarpgroupProducts::instructions(const layout::MatrixElements &elements) const {
  return layout::instructionsFor(layout::wgmmaInstructions(), elements);
}

const MatrixInstruction *NvidiaWarpgroupProducts::named(llvm::StringRef name) const {
  return layout::instructionNamed(layout::wgmmaInstructions(), name);
}

Values NvidiaWarpgroupProducts::begin(llvm::IRBuilderBase &builder,
                                      llvm::ArrayRef<llvm::Value *> values) const {
  return InPlace(builder, values).emit("wgmma.fence.sync.aligned;");
}

Values NvidiaWarpgroupProducts::start(llvm::IRBuilderBase &builder,
                                      const MatrixInstruction &instruction, const Operand &a,
                                      const Operand &b, llvm::ArrayRef<llvm::Value *> acc,
                                      bool isFresh) const {
  InPlace assembly(builder, acc, isFresh ? InPlace::Enter::Nothing : InPlace::Enter::Values);
  const layout::MatrixElements &elements = instruction.elements;
  std::string text = llvm::formatv(
      "wgmma.mma_async.sync.aligned.m{0}n{1}k{2}.{3}.{4}.{5} ", instruction.m, instruction.n,
      instruction.k, nameOf(elements.acc), nameOf(elements.lhs), nameOf(elements.rhs));
  text += InPlace::list(0, acc.size()) + ", ";
  if (a.start) {
    text += assembly.operand(descriptorOf(builder, a), "l");
  } else {
    text += InPlace::list(acc.size(), a.words.size());
    for (llvm::Value *word : a.words)
      assembly.operand(word, "r");
  }
  text += ", " + assembly.operand(descriptorOf(builder, b), "l");
  // Whether the sum is added to; neither operand is negated, which integers cannot be.
  text += isFresh ? ", 0" : ", 1";
  if (elements.acc != layout::MatrixElement::I32)
    text += ", 1, 1";
  // Whose panels lie across the depth.
  auto order = [&](const Operand &operand, const layout::OperandPlaces &places) {
    if (operand.start && places.acrossDepth)
      text += operand.place.isDepthContiguous ? ", 0" : ", 1";
  };
  order(a, instruction.lhsPlaces);
  order(b, instruction.rhsPlaces);
  return assembly.emit(text + ";");
}

/// Those of 128x128 in four warps. Of smaller tiles several programs share a multiprocessor.
int64_t NvidiaWarpgroupProducts::leastTurnWords() const {
  return 128;
}

void NvidiaWarpgroupProducts::commit(llvm::IRBuilderBase &builder) const {
  (void)InPlace(builder, {}).emit("wgmma.commit_group.sync.aligned;");
}

/// ptxas has no use for a result between a product and its wait, and puts the wait first, so that
/// the matrix units are idle while the threads compute. It moves no wait into another block: behind
/// a branch that is never taken, which ptxas cannot know (no multiprocessor has that number), the
/// wait stays. Where the branch would lead nothing may be under way, either.
Values NvidiaWarpgroupProducts::wait(llvm::IRBuilderBase &builder, unsigned pending,
                                     llvm::ArrayRef<llvm::Value *> values, bool isPinned) const {
  const std::string wait = "wgmma.wait_group.sync.aligned " + std::to_string(pending) + ";";
  InPlace assembly(builder, values);
  if (!isPinned)
    return assembly.emit(wait);
  llvm::Value *multiprocessor =
      builder.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_smid, {});
  return assembly.emit("{\n.reg .pred never;\nsetp.eq.u32 never, " +
                       assembly.operand(multiprocessor, "r") +
                       ", 0xffffffff;\n@!never bra wait;\nwgmma.wait_group.sync.aligned 0;\n"
                       "trap;\nwait:\n" +
                       wait + "\n}");
}

void NvidiaWarpgroupProducts::fence(llvm::IRBuilderBase &builder) const {
  (void)InPlace(builder, {}).emit("fence.proxy.async.shared::cta;");
}

} // namespace sectile::nvidia
