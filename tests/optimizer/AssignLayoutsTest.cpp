// Layout assignment on the kernels of tests/optimizer/kernels: the width of accesses, the number of
// conversions, and that the result is sound for any number of warps and lanes.
#include "LaidOutKernel.h"
#include "RandomKernel.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace sectile;
using namespace sectile::testing;

namespace {

struct Kernel {
  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;

  explicit Kernel(llvm::StringRef name) {
    context.loadDialect<tile::TileDialect>();
    module = parseSourceString<ModuleOp>(kernelText(name), &context);
  }
};

//===-- what is chosen ------------------------------------------------------------------------===//

struct Expectation {
  const char *kernel;
  int warps;
  const char *summary;
};

class AssignLayouts : public ::testing::TestWithParam<Expectation> {};

TEST_P(AssignLayouts, chooses) {
  Kernel kernel(GetParam().kernel);
  ASSERT_TRUE(kernel.module);
  optimizer::GpuShape shape = gpuShape(GetParam().warps);
  ASSERT_EQ(layOut(*kernel.module, shape, /*stages=*/1), "");
  EXPECT_EQ(summaryOf(*kernel.module), GetParam().summary);
}

const Expectation kExpectations[] = {
#include "AssignLayoutsExpected.inc"
};

INSTANTIATE_TEST_SUITE_P(Kernels, AssignLayouts, ::testing::ValuesIn(kExpectations),
                         [](const auto &info) {
                           return std::string(info.param.kernel) + "_" +
                                  std::to_string(info.param.warps);
                         });

//===-- soundness -----------------------------------------------------------------------------===//

class AssignLayoutsToKernel : public ::testing::TestWithParam<std::string> {};

TEST_P(AssignLayoutsToKernel, of_any_number_of_warps_and_lanes) {
  for (int64_t lanes : {32, 64})
    for (int64_t warps : {1, 2, 4, 8, 16})
      for (bool matrix : {false, true}) {
        Kernel kernel(GetParam());
        ASSERT_TRUE(kernel.module);
        ASSERT_EQ(layOut(*kernel.module, gpuShape(warps, lanes, matrix)), "")
            << warps << " warps of " << lanes << " lanes";
      }
}

INSTANTIATE_TEST_SUITE_P(Kernels, AssignLayoutsToKernel, ::testing::ValuesIn(kernelNames()),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(AssignLayoutsToRandomKernel, holds_the_contract) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    MLIRContext context(MLIRContext::Threading::DISABLED);
    context.loadDialect<tile::TileDialect>();
    OwningOpRef<ModuleOp> module = randomKernel(context, seed);
    ASSERT_TRUE(succeeded(verify(*module))) << "seed " << seed;
    optimizer::GpuShape shape =
        gpuShape(1 << seed % 5, seed % 7 == 0 ? 64 : 32, /*matrix=*/seed % 3 != 0);
    ASSERT_EQ(layOut(*module, shape), "") << "seed " << seed;
  }
}

//===-- fixed orders --------------------------------------------------------------------------===//

/// The instruction that a product of 32 x 32 by 32 x 32 is done with.
std::string instructionFor(optimizer::GpuShape shape) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<tile::TileDialect>();
  auto module = parseSourceString<ModuleOp>(R"(
    func.func @product(%a: !tile.ptr<f16>, %b: !tile.ptr<f16>, %out: !tile.ptr<f32>)
        attributes {tile.kernel} {
      %zero = arith.constant dense<0.0> : tensor<32x32xf32>
      %places = tile.arange 0, 1024 : tensor<1024xi32>
      %square = tile.reshape %places : tensor<1024xi32> -> tensor<32x32xi32>
      %as = tile.splat %a : !tile.ptr<f16> -> tensor<32x32x!tile.ptr<f16>>
      %ap = tile.ptr_add %as, %square : tensor<32x32x!tile.ptr<f16>>, tensor<32x32xi32>
      %bs = tile.splat %b : !tile.ptr<f16> -> tensor<32x32x!tile.ptr<f16>>
      %bp = tile.ptr_add %bs, %square : tensor<32x32x!tile.ptr<f16>>, tensor<32x32xi32>
      %av = tile.load %ap : tensor<32x32x!tile.ptr<f16>>
      %bv = tile.load %bp : tensor<32x32x!tile.ptr<f16>>
      %product = tile.dot %av, %bv, %zero : tensor<32x32xf16> * tensor<32x32xf16> -> tensor<32x32xf32>
      %os = tile.splat %out : !tile.ptr<f32> -> tensor<32x32x!tile.ptr<f32>>
      %op = tile.ptr_add %os, %square : tensor<32x32x!tile.ptr<f32>>, tensor<32x32xi32>
      tile.store %op, %product : tensor<32x32x!tile.ptr<f32>>
      return
    })",
                                            &context);
  if (!module || !layOut(*module, shape).empty())
    return "none";
  std::string name;
  module->walk([&](tile::DotOp dot) { name = dot.getInstruction().value_or("none").str(); });
  return name;
}

TEST(AssignLayouts, products_of_fixed_order_have_one_instruction) {
  std::set<std::string> anyOrder, fixedOrder;
  for (int64_t warps : {1, 2, 4, 8}) {
    optimizer::GpuShape shape = gpuShape(warps, /*lanes=*/64);
    anyOrder.insert(instructionFor(shape));
    shape.fixedOrders = true;
    fixedOrder.insert(instructionFor(shape));
  }
  EXPECT_EQ(anyOrder.size(), 2u) << "the kernel shows nothing";
  EXPECT_EQ(fixedOrder.size(), 1u);
  EXPECT_FALSE(fixedOrder.contains("none"));
}

} // namespace
