// What of a thread's place is computed again behind a loop of matrix instructions, and what is not.
#include "backends/amd/RematerializeBehindLoops.h"

#include "backends/LlvmPasses.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <gtest/gtest.h>

using namespace sectile;

namespace {

/// A loop of rounds; `inFront` computes %waiting, `round` may use it, `behind` does.
std::string kernel(const std::string &inFront, const std::string &round,
                   const std::string &behind) {
  return R"(
    target triple = "amdgcn-amd-amdhsa"
    declare i32 @llvm.amdgcn.workitem.id.x()
    declare i32 @llvm.amdgcn.workgroup.id.x()
    declare <4 x float> @llvm.amdgcn.mfma.f32.4x4x4f16(<4 x half>, <4 x half>, <4 x float>, i32, i32, i32)
    define amdgpu_kernel void @kernel(ptr addrspace(1) %out, i32 %rounds) {
    entry:
      %thread = call i32 @llvm.amdgcn.workitem.id.x()
      %group = call i32 @llvm.amdgcn.workgroup.id.x()
      )" +
         inFront + R"(
      %some = icmp sgt i32 %rounds, 0
      br i1 %some, label %loop, label %done
    loop:
      %i = phi i32 [0, %entry], [%next, %loop]
      %sum = phi <4 x float> [zeroinitializer, %entry], [%more, %loop]
      )" +
         round + R"(
      %next = add i32 %i, 1
      %again = icmp slt i32 %next, %rounds
      br i1 %again, label %loop, label %done
    done:
      )" +
         behind + R"(
      ret void
    })";
}

const char kProduct[] = "%more = call <4 x float> @llvm.amdgcn.mfma.f32.4x4x4f16(<4 x half> "
                        "zeroinitializer, <4 x half> zeroinitializer, <4 x float> %sum, i32 0, "
                        "i32 0, i32 0)\n";
const char kStore[] = "%at = getelementptr i32, ptr addrspace(1) %out, i32 %waiting\n"
                      "store i32 1, ptr addrspace(1) %at\n";

class Rematerialized {
public:
  explicit Rematerialized(const std::string &text) {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    std::string error;
    llvm::Triple triple("amdgcn-amd-amdhsa");
    std::unique_ptr<llvm::TargetMachine> machine(
        llvm::TargetRegistry::lookupTarget(triple, error)
            ->createTargetMachine(triple, "gfx942", "", llvm::TargetOptions(), std::nullopt));
    llvm::SMDiagnostic problem;
    module = llvm::parseAssemblyString(text, problem, context);
    if (!module) {
      ADD_FAILURE() << problem.getMessage().str() << "\n" << problem.getLineContents().str();
      return;
    }
    module->setDataLayout(machine->createDataLayout());
    llvm::FunctionPassManager passes;
    passes.addPass(amd::RematerializeBehindLoops());
    backends::runOnFunctions(*module, *machine, passes);
    EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  }

  /// How many registers' worth of what the first block computes is used in the last one.
  unsigned waiting() {
    unsigned count = 0;
    for (llvm::Instruction &one : module->getFunction("kernel")->getEntryBlock())
      if (!one.getType()->isIntegerTy(1))
        count += llvm::any_of(one.users(), [](llvm::User *user) {
          return llvm::cast<llvm::Instruction>(user)->getParent()->getName() == "done";
        });
    return count;
  }

  /// Instructions of the last block.
  size_t behind() { return module->getFunction("kernel")->back().size(); }

private:
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
};

TEST(RematerializeBehindLoopsTest, ComputesFromTheThreadAlone) {
  Rematerialized kernel(::kernel("%low = and i32 %thread, 15\n"
                                 "%waiting = mul i32 %low, 12\n",
                                 kProduct, kStore));
  // The thread itself: its register is given to the empty text, which makes it another value.
  EXPECT_EQ(kernel.waiting(), 1u);
  EXPECT_EQ(kernel.behind(), 6u);
}

TEST(RematerializeBehindLoopsTest, ComputesAgainWhatTheLoopUses) {
  Rematerialized kernel(::kernel("%waiting = and i32 %thread, 15\n",
                                 "%used = shl i32 %waiting, 2\n"
                                 "%far = getelementptr i32, ptr addrspace(1) %out, i32 %used\n"
                                 "store i32 1, ptr addrspace(1) %far\n" +
                                     std::string(kProduct),
                                 kStore));
  EXPECT_EQ(kernel.waiting(), 1u);
}

TEST(RematerializeBehindLoopsTest, LeavesScalarsWhereTheyAre) {
  Rematerialized kernel(::kernel("%row = mul i32 %group, 12\n"
                                 "%waiting = add i32 %row, %thread\n",
                                 kProduct, kStore));
  EXPECT_EQ(kernel.waiting(), 2u); // the thread, and the row that all lanes share
}

TEST(RematerializeBehindLoopsTest, LeavesLoadsWhereTheyAre) {
  Rematerialized kernel(::kernel("%from = getelementptr i32, ptr addrspace(1) %out, i32 %thread\n"
                                 "%loaded = load i32, ptr addrspace(1) %from\n"
                                 "%waiting = add i32 %loaded, 1\n",
                                 kProduct, kStore));
  EXPECT_EQ(kernel.waiting(), 1u);
  EXPECT_EQ(kernel.behind(), 3u);
}

TEST(RematerializeBehindLoopsTest, LeavesOtherLoopsAlone) {
  Rematerialized kernel(::kernel("%low = and i32 %thread, 15\n"
                                 "%waiting = mul i32 %low, 12\n",
                                 "%more = fadd <4 x float> %sum, %sum\n", kStore));
  EXPECT_EQ(kernel.behind(), 3u);
}

TEST(RematerializeBehindLoopsTest, LeavesLongComputationsWhereTheyAre) {
  std::string inFront = "%v0 = xor i32 %thread, 1\n";
  for (int i = 0; i < 20; ++i)
    inFront += "%v" + std::to_string(i + 1) + " = mul i32 %v" + std::to_string(i) + ", 3\n";
  Rematerialized kernel(::kernel(inFront + "%waiting = xor i32 %v20, 1\n", kProduct, kStore));
  EXPECT_EQ(kernel.behind(), 3u);
}

} // namespace
