#include "optimizer/PointerProvenance.h"

#include "lang/tile/TileDialect.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using sectile::optimizer::PointerProvenance;

namespace {

struct Parsed {
  explicit Parsed(StringRef body) : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<sectile::tile::TileDialect>();
    module = parseSourceString<ModuleOp>(("func.func @k(%a: !tile.ptr<f32>, %b: !tile.ptr<f32>, "
                                          "%n: i32, %c: i1, %address: i64) {\n" +
                                          body + "\nreturn\n}")
                                             .str(),
                                         &context);
    EXPECT_TRUE(module);
    function = *module->getOps<func::FuncOp>().begin();
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
};

TEST(PointerProvenance, follows_arithmetic_shapes_and_loops) {
  Parsed kernel(R"(
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %x = arith.constant dense<1.0> : tensor<8xf32>
    %i = tile.arange 0, 8 : tensor<8xi32>
    %as = tile.splat %a : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
    %bs = tile.splat %b : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %as, %q = %bs)
        -> (tensor<8x!tile.ptr<f32>>, tensor<8x!tile.ptr<f32>>) : i32 {
      %p1 = tile.ptr_add %p, %i : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
      %y = tile.load %p : tensor<8x!tile.ptr<f32>>
      scf.yield %p1, %q : tensor<8x!tile.ptr<f32>>, tensor<8x!tile.ptr<f32>>
    }
    tile.store %r#1, %x : tensor<8x!tile.ptr<f32>>
  )");
  PointerProvenance provenance(kernel.function);
  auto store = *kernel.function.getOps<sectile::tile::StoreOp>().begin();
  EXPECT_EQ(provenance.argumentOf(store.getPtr()), 1u);
  EXPECT_FALSE(provenance.mayWrite(0));
  EXPECT_TRUE(provenance.mayWrite(1));
  EXPECT_FALSE(provenance.mayWrite(2));
}

TEST(PointerProvenance, exchanged_in_a_loop_means_either) {
  Parsed kernel(R"(
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %x = arith.constant 1.0 : f32
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %a, %q = %b)
        -> (!tile.ptr<f32>, !tile.ptr<f32>) : i32 {
      scf.yield %q, %p : !tile.ptr<f32>, !tile.ptr<f32>
    }
    tile.store %r#0, %x : !tile.ptr<f32>
  )");
  PointerProvenance provenance(kernel.function);
  auto store = *kernel.function.getOps<sectile::tile::StoreOp>().begin();
  EXPECT_EQ(provenance.argumentOf(store.getPtr()), std::nullopt);
  EXPECT_TRUE(provenance.mayWrite(0));
  EXPECT_TRUE(provenance.mayWrite(1));
}

TEST(PointerProvenance, from_an_integer_means_any) {
  Parsed kernel(R"(
    %x = arith.constant 1.0 : f32
    %p = tile.int_to_ptr %address : i64 -> !tile.ptr<f32>
    tile.store %p, %x : !tile.ptr<f32>
  )");
  PointerProvenance provenance(kernel.function);
  EXPECT_TRUE(provenance.mayWrite(0));
  EXPECT_TRUE(provenance.mayWrite(1));
  EXPECT_FALSE(provenance.mayWrite(4));
}

} // namespace
