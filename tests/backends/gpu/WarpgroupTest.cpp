// wgmma as it is written: descriptors of operands in shared memory and the text of instructions,
// against the PTX ISA, "Matrix Descriptor Format" and "wgmma.mma_async".
//
//   bits  0-13   address of the first byte            \
//   bits 16-29   leading dimension byte offset         |  in units of 16 bytes
//   bits 32-45   stride dimension byte offset         /
//   bits 49-51   base offset: 0, as buffers start where the pattern of the swizzle does
//   bits 62-63   swizzle of 128 bytes: 1, of 64: 2, of 32: 3
#include "../TileText.h"
#include "AssembledKernel.h"
#include "backends/nvidia/NvidiaWarpgroup.h"
#include "backends/nvidia/SplitWideProducts.h"
#include "lang/layout/NvidiaMatrixInstructions.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/TargetFolder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Module.h"

#include <gtest/gtest.h>

using namespace sectile;
using namespace sectile::testing;
using layout::Extents;
using layout::MatrixSide;

namespace {

/// Instructions are emitted into a function of its own; what is constant is folded.
class Warpgroup : public ::testing::Test {
protected:
  using Operand = gpu::BufferProducts::Operand;

  static const layout::MatrixInstruction &instruction(const std::string &name) {
    const auto *found = products().named("wgmma." + name);
    EXPECT_TRUE(found) << name;
    return found ? *found : layout::wgmmaInstructions().front();
  }

  static const nvidia::NvidiaWarpgroupProducts &products() {
    static const nvidia::NvidiaWarpgroupProducts all;
    return all;
  }

  /// Returns the operand at a byte of shared memory, in the layout that products get.
  Operand at(int64_t address, MatrixSide side, Extents shape, int contiguous, unsigned bits,
             int64_t extent, int64_t offset = 0) {
    auto shared = layout::bufferOperandLayout(shape, contiguous, bits, extent);
    auto place = layout::bufferOperandOf(shared, side == MatrixSide::Lhs ? 1 : 0, bits);
    EXPECT_TRUE(place);
    return {builder.CreateIntToPtr(builder.getInt32(uint32_t(address)), builder.getPtrTy(3)),
            offset,
            place.value_or(layout::BufferOperand{}),
            {}};
  }

  llvm::SmallVector<llvm::Value *> sums(int64_t columns, llvm::Type *type) {
    return llvm::SmallVector<llvm::Value *>(size_t(columns / 2),
                                            llvm::Constant::getNullValue(type));
  }

  /// Returns the call of inline assembly that is the instruction: its arguments are descriptors, or
  /// words, and then the sums.
  llvm::CallInst *start(const std::string &name, const Operand &a, const Operand &b,
                        bool isFresh = false) {
    const auto &one = instruction(name);
    bool isInteger = one.elements.acc == layout::MatrixElement::I32;
    (void)products().start(builder, one, a, b,
                           sums(one.n, isInteger ? builder.getInt32Ty() : builder.getFloatTy()),
                           isFresh);
    return lastCall();
  }

  llvm::CallInst *lastCall() {
    for (llvm::Instruction &made : llvm::reverse(*block))
      if (auto *call = llvm::dyn_cast<llvm::CallInst>(&made))
        return call;
    return nullptr;
  }

  static std::string textOf(llvm::CallInst *call) {
    return call ? llvm::cast<llvm::InlineAsm>(call->getCalledOperand())->getAsmString().str() : "";
  }

  /// Returns a descriptor among the arguments, in hexadecimal.
  static std::string descriptor(llvm::CallInst *call, unsigned number) {
    auto *value = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(number));
    return value && value->getType()->isIntegerTy(64)
               ? "0x" + llvm::utohexstr(value->getZExtValue())
               : "not constant";
  }

  llvm::LLVMContext context;
  llvm::Module module{"warpgroup", context};
  llvm::Function *function =
      llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), false),
                             llvm::Function::ExternalLinkage, "f", module);
  llvm::BasicBlock *block = llvm::BasicBlock::Create(context, "entry", function);
  llvm::DataLayout dataLayout{"e-p3:32:32-i64:64"};
  llvm::IRBuilder<llvm::TargetFolder> builder{block, llvm::TargetFolder(dataLayout)};
};

// A product that adds to nothing has sums as results only, so that no register must hold a zero.
TEST_F(Warpgroup, fresh_sums_are_not_read) {
  auto a = at(0, MatrixSide::Lhs, {64, 64}, 1, 16, 64),
       b = at(0, MatrixSide::Rhs, {64, 64}, 0, 16, 64);
  auto *adds = start("m64n64k16.f32.f16.f16", a, b),
       *begins = start("m64n64k16.f32.f16.f16", a, b, true);
  EXPECT_EQ(adds->arg_size(), 2u + 32u);
  EXPECT_EQ(begins->arg_size(), 2u);
  EXPECT_NE(textOf(adds).find(", 1, 1, 1, 0, 0;"), std::string::npos) << textOf(adds);
  EXPECT_NE(textOf(begins).find(", 0, 1, 1, 0, 0;"), std::string::npos) << textOf(begins);
  a = at(0, MatrixSide::Lhs, {64, 64}, 1, 8, 64), b = at(0, MatrixSide::Rhs, {32, 64}, 0, 8, 32);
  EXPECT_TRUE(llvm::StringRef(textOf(start("m64n64k32.s32.s8.s8", a, b, true))).ends_with(", 0;"));
}

// Elements contiguous along k: eight rows further is the stride, and the leading offset, which is
// not used, is 1.
TEST_F(Warpgroup, descriptors_of_operands_contiguous_along_the_depth) {
  auto *call = start("m64n64k16.f32.f16.f16", at(0, MatrixSide::Lhs, {64, 64}, 1, 16, 64),
                     at(0, MatrixSide::Rhs, {64, 64}, 0, 16, 64));
  EXPECT_EQ(descriptor(call, 0), "0x4000004000010000"); // 128 bytes: 8 rows are 0x40 units
  EXPECT_EQ(descriptor(call, 1), "0x4000004000010000");
  call = start("m64n128k32.s32.s8.s8", at(0, MatrixSide::Lhs, {64, 64}, 1, 8, 64),
               at(0, MatrixSide::Rhs, {32, 128}, 0, 8, 32));
  EXPECT_EQ(descriptor(call, 0), "0x8000002000010000"); // 64 bytes: 0x20
  EXPECT_EQ(descriptor(call, 1), "0xC000001000010000"); // 32 bytes: 0x10
  // PTX ISA, "K-Major, 32B swizzling and tf32 type": an encoded stride of 16, a leading one of 1.
  call = start("m64n16k8.f32.tf32.tf32", at(0, MatrixSide::Lhs, {64, 32}, 1, 32, 32),
               at(0, MatrixSide::Rhs, {8, 16}, 0, 32, 8));
  EXPECT_EQ(descriptor(call, 0), "0x4000004000010000");
  EXPECT_EQ(descriptor(call, 1), "0xC000001000010000");
}

// Elements contiguous along m or n: the leading offset is that from panel to panel, the stride that
// from 8 steps of k to the next.
TEST_F(Warpgroup, descriptors_of_operands_contiguous_across_the_depth) {
  // Two panels of 64 columns, of 64 rows of 128 bytes each: 0x200 units. A has one of those.
  auto *call = start("m64n128k16.f32.f16.f16", at(0, MatrixSide::Lhs, {64, 64}, 0, 16, 64),
                     at(0, MatrixSide::Rhs, {64, 128}, 1, 16, 128));
  EXPECT_EQ(descriptor(call, 0), "0x4000004002000000");
  EXPECT_EQ(descriptor(call, 1), "0x4000004002000000");
  // Four panels of 32 rows: 0x100.
  call = start("m64n256k16.f32.bf16.bf16", at(0, MatrixSide::Lhs, {128, 32}, 0, 16, 64),
               at(0, MatrixSide::Rhs, {32, 256}, 1, 16, 256));
  EXPECT_EQ(descriptor(call, 0), "0x4000004001000000");
  EXPECT_EQ(descriptor(call, 1), "0x4000004001000000");
  // One panel of 16 rows of 64 bytes: 0x40; of 32 rows of 32 bytes: 0x40, too.
  call = start("m64n32k16.f32.f16.f16", at(0, MatrixSide::Lhs, {64, 16}, 1, 16, 16),
               at(0, MatrixSide::Rhs, {16, 32}, 1, 16, 32));
  EXPECT_EQ(descriptor(call, 0), "0xC000001000010000");
  EXPECT_EQ(descriptor(call, 1), "0x8000002000400000");
  call = start("m64n16k16.f32.f16.f16", at(0, MatrixSide::Lhs, {64, 32}, 1, 16, 32),
               at(0, MatrixSide::Rhs, {32, 16}, 1, 16, 16));
  EXPECT_EQ(descriptor(call, 0), "0x8000002000010000");
  EXPECT_EQ(descriptor(call, 1), "0xC000001000400000");
}

TEST_F(Warpgroup, descriptors_start_at_the_address_and_the_piece) {
  auto b = at(0x400, MatrixSide::Rhs, {64, 64}, 0, 16, 64);
  // 0x8c00 / 16, and 16 elements of the depth further.
  auto *call = start("m64n64k16.f32.f16.f16", at(0x8c00, MatrixSide::Lhs, {64, 64}, 1, 16, 64), b);
  EXPECT_EQ(descriptor(call, 0), "0x40000040000108C0");
  EXPECT_EQ(descriptor(call, 1), "0x4000004000010040");
  call = start("m64n64k16.f32.f16.f16", at(0x8c00, MatrixSide::Lhs, {64, 64}, 1, 16, 64, 96), b);
  EXPECT_EQ(descriptor(call, 0), "0x40000040000108C6");
  // The last kilobyte of the 227 KiB that a block of threads has, and its last piece of 16 bytes.
  call =
      start("m64n64k16.f32.f16.f16", at(0x38800, MatrixSide::Lhs, {64, 64}, 1, 16, 64, 0x3f0), b);
  EXPECT_EQ(descriptor(call, 0), "0x40000040000138BF");
  // Addresses have 18 bits there.
  call = start("m64n64k16.f32.f16.f16", at(0x1000400, MatrixSide::Lhs, {64, 64}, 1, 16, 64), b);
  EXPECT_EQ(descriptor(call, 0), "0x4000004000010040");
}

// scale-d, imm-scale-a and imm-scale-b are 1. imm-trans-a and imm-trans-b are of elements of 16
// bits only, and of operands in shared memory only.
TEST_F(Warpgroup, instructions_say_how_operands_lie) {
  const std::string d = " {$0, $1, $2, $3, $4, $5, $6, $7}, ",
                    head = "wgmma.mma_async.sync.aligned.";
  const Extents a{64, 64}, b{64, 16};
  auto lhs = [&](int contiguous, unsigned bits) {
    return at(0, MatrixSide::Lhs, a, contiguous, bits, 64);
  };
  auto rhs = [&](int contiguous, unsigned bits) {
    return at(0, MatrixSide::Rhs, b, contiguous, bits, contiguous ? 16 : 64);
  };
  for (std::string type : {"f16", "bf16"}) {
    std::string name = "m64n16k16.f32." + type + "." + type;
    for (bool acrossA : {false, true})
      for (bool acrossB : {false, true})
        EXPECT_EQ(textOf(start(name, lhs(acrossA ? 0 : 1, 16), rhs(acrossB ? 1 : 0, 16))),
                  head + name + d + "$8, $9, 1, 1, 1, " + (acrossA ? "1" : "0") + ", " +
                      (acrossB ? "1" : "0") + ";");
  }
  for (std::string name : {"m64n16k8.f32.tf32.tf32", "m64n16k32.f32.e4m3.e5m2"}) {
    unsigned bits = name.find("tf32") != std::string::npos ? 32 : 8;
    EXPECT_EQ(textOf(start(name, lhs(1, bits), rhs(0, bits))),
              head + name + d + "$8, $9, 1, 1, 1;");
  }
  EXPECT_EQ(textOf(start("m64n16k32.s32.s8.s8", lhs(1, 8), rhs(0, 8))),
            head + "m64n16k32.s32.s8.s8" + d + "$8, $9, 1;");

  // A in four registers.
  llvm::SmallVector<llvm::Value *> words(4, builder.getInt32(0));
  Operand registers;
  registers.words = words;
  auto *call = start("m64n16k16.f32.f16.f16", registers, rhs(1, 16));
  EXPECT_EQ(textOf(call),
            head + "m64n16k16.f32.f16.f16" + d + "{$8, $9, $10, $11}, $12, 1, 1, 1, 1;");
  EXPECT_EQ(descriptor(call, 4), "0xC000001000800000"); // 64 rows of 32 bytes: 0x80
  EXPECT_EQ(textOf(start("m64n16k32.s32.s8.s8", registers, rhs(0, 8))),
            head + "m64n16k32.s32.s8.s8" + d + "{$8, $9, $10, $11}, $12, 1;");
}

/// Threads of a warp may not be taken apart around them, and no access of memory may cross them.
TEST_F(Warpgroup, fences_and_waits_are_those_of_ptx) {
  auto check = [&](const std::string &text) {
    llvm::CallInst *call = lastCall();
    ASSERT_TRUE(call) << text;
    EXPECT_EQ(textOf(call), text);
    auto *assembly = llvm::cast<llvm::InlineAsm>(call->getCalledOperand());
    EXPECT_TRUE(assembly->hasSideEffects()) << text;
    EXPECT_NE(assembly->getConstraintString().find("~{memory}"), std::string::npos) << text;
    EXPECT_TRUE(call->isConvergent()) << text;
  };
  auto values = sums(16, builder.getFloatTy());
  EXPECT_EQ(products().begin(builder, values).size(), 8u);
  check("wgmma.fence.sync.aligned;");
  products().commit(builder);
  check("wgmma.commit_group.sync.aligned;");
  EXPECT_EQ(products().wait(builder, 1, values, /*isPinned=*/false).size(), 8u);
  check("wgmma.wait_group.sync.aligned 1;");
  (void)products().wait(builder, 0, values, /*isPinned=*/true);
  const std::string pinned = textOf(lastCall());
  EXPECT_NE(pinned.find("@!never bra wait;"), std::string::npos) << pinned;
  EXPECT_LT(pinned.find("trap;"), pinned.rfind("wgmma.wait_group.sync.aligned 0;"));
  (void)products().wait(builder, 0, {}, /*isPinned=*/false);
  check("wgmma.wait_group.sync.aligned 0;");
  products().fence(builder);
  check("fence.proxy.async.shared::cta;");
  (void)start("m64n16k16.f32.f16.f16", at(0, MatrixSide::Lhs, {64, 64}, 1, 16, 64),
              at(0, MatrixSide::Rhs, {64, 16}, 1, 16, 16));
  EXPECT_TRUE(lastCall()->isConvergent());
}

/// a is contiguous along the depth, b along its columns: two panels.
TEST(WarpgroupPtx, a_kernel_has_the_descriptors) {
  std::string lhs = tileType({64, 64}, "f16"), rhs = tileType({64, 128}, "f16"),
              sum = tileType({64, 128}, "f32"), aligned = " {tile.divisibility = 16 : i64}";
  std::string text = kernelText(
      pointer("a", "f16") + aligned + ", " + pointer("b", "f16") + aligned + ", " +
          pointer("out", "f32") + aligned,
      loadTile("x", "a", {64, 64}, "f16") + loadTile("y", "b", {64, 128}, "f16") +
          "%none = arith.constant dense<0.0> : " + sum + "\n%r = tile.dot %x, %y, %none : " + lhs +
          " * " + rhs + " -> " + sum + "\n" + storeTile("r", "out", {64, 128}, "f32"));
  AssembledKernel kernel(text, "sm_90a", 4);
  ASSERT_EQ(kernel.problem(), "");
  EXPECT_EQ(kernel.count("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"), 4) << kernel.ptx();
  EXPECT_EQ(kernel.count(", 1, 1, 1, 0, 1;"), 3) << kernel.ptx();
  EXPECT_EQ(kernel.count(", 0, 1, 1, 0, 1;"), 1) << kernel.ptx(); // the first adds to nothing
  // 0x4000004000010000 and 0x4000004002000000 in decimal.
  EXPECT_GT(kernel.count("4611686293305360384"), 0) << kernel.ptx();
  EXPECT_GT(kernel.count("4611686293338849280"), 0) << kernel.ptx();
}

//===-- Addresses beside products -------------------------------------------------------------===//

TEST(SplitWideProducts, products_by_constants_in_front_of_loops_stay_there) {
  const std::string wgmma = "\twgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 ...;\n";
  const std::string loop = "$L__BB0_2:                // the loop\n" + wgmma +
                           "\tmul.wide.s32 \t%rd5, %r5, 16;\n\t@%p1 bra \t$L__BB0_2;\n";
  const std::string text = "\t@%p0 bra \t$L__BB0_3;\n\tmul.wide.s32 \t%rd2, %r59, 16;\n"
                           "\tmul.wide.u32 \t%rd3, %r59, 4;\n\tmul.wide.s32 \t%rd4, %r1, %r2;\n" +
                           loop + "$L__BB0_3:\n\tret;\n";
  const std::string expected = "\t@%p0 bra \t$L__BB0_3;\n"
                               "\t{ .reg .b32 %sectile_low, %sectile_high; mul.lo.s32 "
                               "%sectile_low, %r59, 16; mul.hi.s32 %sectile_high, %r59, 16; "
                               "mov.b64 %rd2, {%sectile_low, %sectile_high}; }\n"
                               "\t{ .reg .b32 %sectile_low, %sectile_high; mul.lo.u32 "
                               "%sectile_low, %r59, 4; mul.hi.u32 %sectile_high, %r59, 4; "
                               "mov.b64 %rd3, {%sectile_low, %sectile_high}; }\n"
                               "\tmul.wide.s32 \t%rd4, %r1, %r2;\n" +
                               loop + "$L__BB0_3:\n\tret;\n";
  EXPECT_EQ(nvidia::splitWideProducts(text), expected);
  const std::string ofUser =
      "\t// begin inline asm\n\tmul.wide.s32 %rd2, %r59, 16;\n\t// end inline asm\n" + loop;
  EXPECT_EQ(nvidia::splitWideProducts(ofUser), ofUser);
  std::string without = text;
  without.erase(without.find(wgmma), wgmma.size());
  EXPECT_EQ(nvidia::splitWideProducts(without), without);
}

TEST(SplitWideProducts, products_in_a_loop_around_that_of_wgmma_are_in_front_of_it) {
  const auto product = [](const char *target) {
    return "\tmul.wide.s32 \t" + std::string(target) + ", %r59, 16;\n";
  };
  // What follows the inner loop stands before it, as LLVM places it, so that branches back are no
  // sign of a loop.
  const std::string behind = "\tbra.uni \t$L__BB0_4;\n$L__BB0_1:\n\t@%p3 bra \t$L__BB0_5;\n"
                             "$L__BB0_4:\n",
                    inner = "\t@%p2 bra \t$L__BB0_1;\n$L__BB0_2:\n"
                            "\t// begin inline asm\n\twgmma.mma_async ...;\n\t// end inline asm\n" +
                            product("%rd5") + "\t@%p1 bra \t$L__BB0_2;\n",
                    without = "$L__BB0_6:\n" + product("%rd6") + "\t@!%p4 bra \t$L__BB0_6;\n",
                    end = "\tbra.uni \t$L__BB0_1;\n$L__BB0_5:\n\tret;\n";
  const std::string split =
      nvidia::splitWideProducts(behind + product("%rd2") + inner + without + end);
  EXPECT_NE(split.find("mov.b64 %rd2, {%sectile_low, %sectile_high}; }\n" + inner + without),
            std::string::npos)
      << split;
  // A loop in that of wgmma is a part of it.
  const std::string within = "$L__BB0_1:\n\twgmma.mma_async ...;\n" + product("%rd2") + without +
                             product("%rd3") + "\t@%p1 bra \t$L__BB0_1;\n\tret;\n";
  EXPECT_EQ(nvidia::splitWideProducts(within), within);
}

} // namespace
