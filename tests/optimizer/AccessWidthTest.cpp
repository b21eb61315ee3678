// How wide a thread's accesses are, and each reason why they are not wider.
#include "optimizer/gpu/AccessWidth.h"

#include "lang/layout/Builders.h"
#include "lang/tile/TileDialect.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace sectile;
using Reason = optimizer::AccessLimit::Reason;

namespace {

/// A load of `extent` halves; `offset` makes %o of %i, `mask` %m.
struct Load {
  int64_t extent = 64;
  std::string offset = "%o = arith.addi %i, %zeros : TILE\n";
  std::string mask = "";
  int64_t divisibility = 16;

  std::string text() const {
    std::string body = "%i = tile.arange 0, EXTENT : TILE\n%zeros = arith.constant dense<0> : "
                       "TILE\n" +
                       offset +
                       "%ps = tile.splat %p : !tile.ptr<f16> -> POINTERS\n"
                       "%at = tile.ptr_add %ps, %o : POINTERS, TILE\n" +
                       mask + "%x = tile.load %at" + (mask.empty() ? "" : ", %m") +
                       " : POINTERS\nreturn\n";
    auto replace = [&](const std::string &what, const std::string &with) {
      for (size_t at; (at = body.find(what)) != std::string::npos;)
        body.replace(at, what.size(), with);
    };
    replace("POINTERS", "tensor<EXTENTx!tile.ptr<f16>>");
    replace("TILE", "tensor<EXTENTxi32>");
    replace("EXTENT", std::to_string(extent));
    return "func.func @k(%p: !tile.ptr<f16> {tile.divisibility = " + std::to_string(divisibility) +
           " : i64}, %n: i32 {tile.divisibility = 4 : i64}) attributes {tile.kernel} {\n" + body +
           "}\n";
  }

  /// One warp of 32 lanes, `held` neighbours each.
  optimizer::AxisAccess along(int64_t held, int64_t most = 8) const {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    context.loadDialect<sectile::tile::TileDialect>();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text(), &context);
    EXPECT_TRUE(module) << text();
    if (!module)
      return {};
    auto function = *module->getOps<mlir::func::FuncOp>().begin();
    optimizer::IndexAnalysis analysis(function);
    auto layout = layout::blocked({extent}, {held}, {32}, {1}, {0});
    optimizer::AxisAccess found;
    function.walk([&](tile::LoadOp load) {
      optimizer::MemoryOperands access = optimizer::memoryOperandsOf(load);
      EXPECT_EQ(access.bytes, 2);
      EXPECT_EQ(bool(access.mask), !mask.empty());
      found = optimizer::accessAlong(access, 0, most, &layout, analysis);
      optimizer::AccessWidth decided = optimizer::accessWidth(access, most, layout, analysis);
      EXPECT_EQ(decided.axis, 0);
      EXPECT_EQ(decided.width, found.width);
    });
    return found;
  }
};

/// What a reason allows; 0: it does not apply.
int64_t allowed(const optimizer::AxisAccess &access, Reason reason) {
  for (optimizer::AccessLimit limit : access.limits)
    if (limit.reason == reason)
      return limit.elements;
  return 0;
}

TEST(AccessWidth, is_the_instructions_where_nothing_else_is_less) {
  optimizer::AxisAccess access = Load{.extent = 512}.along(/*held=*/16);
  EXPECT_EQ(access.width, 8);
  EXPECT_EQ(allowed(access, Reason::Instruction), 8);
  EXPECT_EQ(allowed(access, Reason::Extent), 512);
  EXPECT_EQ(allowed(access, Reason::Neighbours), 512);
  EXPECT_EQ(allowed(access, Reason::Mask), 0);
  EXPECT_EQ(allowed(access, Reason::RowEnd), 0);
  EXPECT_EQ(Load{.extent = 512}.along(/*held=*/16, /*most=*/2).width, 2);
}

TEST(AccessWidth, is_what_a_thread_holds) {
  optimizer::AxisAccess access = Load{.extent = 512}.along(/*held=*/4);
  EXPECT_EQ(access.width, 4);
  EXPECT_EQ(allowed(access, Reason::Registers), 4);
}

TEST(AccessWidth, is_what_addresses_are_multiples_of) {
  optimizer::AxisAccess access = Load{.extent = 512, .divisibility = 4}.along(/*held=*/16);
  EXPECT_EQ(access.width, 2);
  EXPECT_EQ(allowed(access, Reason::Alignment), 2);
}

TEST(AccessWidth, is_what_a_mask_treats_alike) {
  Load load{.extent = 512,
            .mask = "%ns = tile.splat %n : i32 -> TILE\n%m = arith.cmpi slt, %i, %ns : TILE\n"};
  optimizer::AxisAccess access = load.along(/*held=*/16);
  EXPECT_EQ(access.width, 4);
  EXPECT_EQ(allowed(access, Reason::Mask), 4);
}

TEST(AccessWidth, is_what_fits_into_a_padded_row) {
  optimizer::AxisAccess access = Load{.extent = 100}.along(/*held=*/16);
  EXPECT_EQ(access.width, 4);
  EXPECT_EQ(allowed(access, Reason::RowEnd), 4);
  EXPECT_EQ(allowed(access, Reason::Extent), 100);
}

TEST(AccessWidth, is_one_where_elements_lie_apart) {
  Load load{.extent = 512, .offset = "%o = arith.addi %i, %i : TILE\n"};
  optimizer::AxisAccess access = load.along(/*held=*/16);
  EXPECT_EQ(access.width, 1);
  EXPECT_EQ(allowed(access, Reason::Neighbours), 1);
}

/// Elements 8 to 15 are not side by side where each dozen lies elsewhere, at a multiple of 64.
TEST(AccessWidth, divides_the_runs_it_is_taken_from) {
  Load load{.extent = 1536,
            .offset = "%dozen = arith.constant dense<12> : TILE\n"
                      "%r = arith.remui %i, %dozen : TILE\n"
                      "%o = tile.hint %r {divisibility = array<i64: 64>, contiguity = "
                      "array<i64: 12>} : TILE\n"};
  optimizer::AxisAccess access = load.along(/*held=*/16);
  EXPECT_EQ(allowed(access, Reason::Neighbours), 12);
  EXPECT_EQ(allowed(access, Reason::Alignment), 8);
  EXPECT_EQ(access.width, 4);
}

TEST(AccessWidth, of_atomics_is_the_targets) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<sectile::tile::TileDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      "func.func @k(%p: !tile.ptr<f32>, %x: f32) {\n"
      "%a = tile.atomic_rmw fadd, relaxed, gpu, %p, %x : !tile.ptr<f32>\n"
      "%b = tile.atomic_cas relaxed, gpu, %p, %x, %x : !tile.ptr<f32>\n"
      "tile.store %p, %x : !tile.ptr<f32>\nreturn\n}\n",
      &context);
  ASSERT_TRUE(module);
  optimizer::GpuShape shape;
  auto most = [&] {
    std::vector<int64_t> found;
    module->walk([&](mlir::Operation *op) {
      if (mlir::isa<tile::AtomicRmwOp, tile::AtomicCasOp, tile::StoreOp>(op))
        found.push_back(optimizer::mostElements(op, shape));
    });
    return found;
  };
  EXPECT_EQ(most(), (std::vector<int64_t>{1, 1, 4}));
  shape.atomicWidth = [](tile::AtomicRmwOp) { return 2; };
  EXPECT_EQ(most(), (std::vector<int64_t>{2, 1, 4}));
  shape.maxAccessBytes = 4;
  EXPECT_EQ(most(), (std::vector<int64_t>{1, 1, 1}));
}

} // namespace
