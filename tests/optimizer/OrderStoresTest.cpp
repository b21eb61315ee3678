// Where stores wait for other warps' loads, and what is assumed of arguments where they do not.
#include "LaidOutKernel.h"
#include "lang/tile/TileDialect.h"
#include "optimizer/gpu/Pipeline.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace sectile;
using namespace sectile::testing;

namespace {

/// A kernel that copies `extent` numbers, from the array and the places that `load` names to those
/// that `store` names: %p or %q; %i counts up, %there counts down.
struct Copy {
  std::string load = "%p, %i", store = "%q, %i";
  int extent = 512;
  /// The step of a loop around the copy, whose counter is added to the places; empty: no loop.
  std::string step = "";

  std::string text() const {
    std::string count = std::to_string(extent), indices = "tensor<" + count + "xi32>";
    std::string pointers = "tensor<" + count + "x!tile.ptr<f32>>";
    auto pointerTile = [&](const std::string &name, const std::string &where) {
      return "%" + name + "_start = tile.ptr_add " + where.substr(0, 2) +
             ", %start : !tile.ptr<f32>, i32\n%" + name + "_base = tile.splat %" + name +
             "_start : !tile.ptr<f32> -> " + pointers + "\n%" + name + " = tile.ptr_add %" + name +
             "_base, " + where.substr(4) + " : " + pointers + ", " + indices + "\n";
    };
    std::string loop = "%start = arith.constant 0 : i32\n", end;
    if (!step.empty()) {
      loop = "%first = arith.constant 0 : i32\n%step = arith.constant " + step +
             " : i32\nscf.for %start = %first to %n step %step : i32 {\n";
      end = "}\n";
    }
    return "func.func @k(%p: !tile.ptr<f32>, %q: !tile.ptr<f32>, %n: i32) "
           "attributes {tile.kernel} {\n%i = tile.arange 0, " +
           count + " : " + indices + "\n%last = arith.constant dense<" +
           std::to_string(extent - 1) + "> : " + indices +
           "\n%there = arith.subi %last, %i : " + indices + "\n" + loop +
           pointerTile("from", load) + pointerTile("to", store) +
           "%x = tile.load %from : " + pointers + "\ntile.store %to, %x : " + pointers + "\n" +
           end + "return\n}\n";
  }
};

struct Outcome {
  int barriers = 0;
  llvm::SmallVector<optimizer::ApartArguments> apart;
};

Outcome ordered(const Copy &copy, bool argumentsOverlap = false, int64_t warps = 4) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<tile::TileDialect, mlir::scf::SCFDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(copy.text(), &context);
  EXPECT_TRUE(module) << copy.text();
  Outcome outcome;
  if (!module)
    return outcome;
  optimizer::GpuPipelineOptions options{gpuShape(warps)};
  options.argumentsOverlap = argumentsOverlap;
  options.verifyEachPass = true;
  auto function = *module->getOps<mlir::func::FuncOp>().begin();
  auto assumed = optimizer::optimizeForGpu(function, options);
  EXPECT_TRUE(mlir::succeeded(assumed));
  if (mlir::succeeded(assumed))
    outcome.apart = assumed->apart;
  function.walk([&](tile::BarrierOp) { ++outcome.barriers; });
  return outcome;
}

/// Expects that nothing waits, because the arguments 0 and 1 are taken to be apart.
void expectAssumed(const Copy &copy, bool evenIfSame) {
  Outcome outcome = ordered(copy);
  EXPECT_EQ(outcome.barriers, 0) << copy.text();
  ASSERT_EQ(outcome.apart.size(), 1u) << copy.text();
  EXPECT_EQ(outcome.apart[0], (optimizer::ApartArguments{1, 0, evenIfSame})) << copy.text();
}

/// Expects that the store waits, and that nothing is assumed.
void expectBarrier(const Copy &copy, bool argumentsOverlap = false) {
  Outcome outcome = ordered(copy, argumentsOverlap);
  EXPECT_EQ(outcome.barriers, 1) << copy.text();
  EXPECT_TRUE(outcome.apart.empty()) << copy.text();
}

TEST(OrderStores, one_array_given_twice_needs_nothing_where_threads_store_what_they_loaded) {
  expectAssumed({}, /*evenIfSame=*/false);
  expectAssumed({.load = "%p, %there", .store = "%q, %there"}, /*evenIfSame=*/false);
}

TEST(OrderStores, other_places_of_another_argument_are_assumed_to_be_apart) {
  expectAssumed({.store = "%q, %there"}, /*evenIfSame=*/true);
  expectAssumed({.load = "%p, %there"}, /*evenIfSame=*/true);
}

TEST(OrderStores, copies_in_other_warps_are_assumed_to_be_apart) {
  expectAssumed({.extent = 8}, /*evenIfSame=*/true);
}

TEST(OrderStores, arguments_that_may_overlap_are_ordered) {
  expectBarrier({}, /*argumentsOverlap=*/true);
  expectBarrier({.store = "%q, %there"}, /*argumentsOverlap=*/true);
  expectBarrier({.store = "%q, %there", .step = "512"}, /*argumentsOverlap=*/true);
}

TEST(OrderStores, one_argument_is_ordered_and_nothing_is_assumed) {
  expectBarrier({.store = "%p, %there"});
  Outcome itself = ordered({.store = "%p, %i"});
  EXPECT_EQ(itself.barriers, 0);
  EXPECT_TRUE(itself.apart.empty());
}

TEST(OrderStores, rounds_of_aligned_blocks_meet_in_no_element) {
  expectAssumed({.step = "512"}, /*evenIfSame=*/false);
  expectAssumed({.step = "1024"}, /*evenIfSame=*/false);
  Outcome itself = ordered({.store = "%p, %i", .step = "512"});
  EXPECT_EQ(itself.barriers, 0);
}

TEST(OrderStores, rounds_that_may_meet_are_ordered) {
  expectAssumed({.step = "1"}, /*evenIfSame=*/true);
  expectAssumed({.step = "256"}, /*evenIfSame=*/true);
  expectAssumed({.load = "%p, %there", .store = "%q, %there", .step = "512"}, /*evenIfSame=*/true);
  expectBarrier({.store = "%p, %i", .step = "256"});
}

TEST(OrderStores, one_warp_assumes_nothing) {
  Outcome outcome = ordered({.store = "%q, %there"}, /*argumentsOverlap=*/false, /*warps=*/1);
  EXPECT_EQ(outcome.barriers, 0);
  EXPECT_TRUE(outcome.apart.empty());
}

} // namespace
