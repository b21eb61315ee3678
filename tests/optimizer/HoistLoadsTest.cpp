// Which loads move ahead of what, on hand-written laid-out kernels.
#include "optimizer/gpu/HoistLoads.h"

#include "../backends/gpu/LaidOutText.h"
#include "lang/tile/TileDialect.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace sectile;
using namespace sectile::testing;
using layout::blocked;
using layout::TileLayout;

namespace {

// Four registers per thread.
const TileLayout kLine = blocked({512}, {4}, {32}, {4}, {0});

std::string sum(const std::string &result, const std::string &value) {
  return "%" + result + " = tile.reduce(%" + value + ") axis 0 : (" + laidOut(kLine, "f32") +
         ") -> f32 {\n^bb0(%a: f32, %b: f32):\n%cc = arith.addf %a, %b : f32\n"
         "tile.yield %cc : f32\n}\n";
}

std::string scaled(const std::string &result, const std::string &value, const std::string &by) {
  std::string type = laidOut(kLine, "f32");
  return "%" + result + "_s = tile.splat %" + by + " : f32 -> " + type + "\n%" + result +
         " = arith.mulf %" + value + ", %" + result + "_s : " + type + "\n";
}

/// Names of the operations that touch memory or reduce, in order: "load load reduce store".
std::string orderIn(const std::string &body, bool inLoop = true) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<sectile::tile::TileDialect, mlir::scf::SCFDialect>();
  std::string text = "func.func @k(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>, %z: !tile.ptr<f32>) "
                     "attributes {tile.kernel} {\n" +
                     (inLoop ? "%low = arith.constant 0 : i32\n%high = arith.constant 8 : i32\n"
                               "%step = arith.constant 1 : i32\n"
                               "scf.for %i = %low to %high step %step : i32 {\n" +
                                   body + "}\n"
                             : body) +
                     "return\n}\n";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  if (!module)
    return "";
  auto function = *module->getOps<mlir::func::FuncOp>().begin();
  optimizer::hoistLoads(function);
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*module)));
  std::string order;
  function.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    llvm::StringRef name = op->getName().stripDialect();
    if (name == "load" || name == "reduce" || name == "store")
      order += (order.empty() ? "" : " ") + name.str();
  });
  return order;
}

TEST(HoistLoads, a_load_passes_the_reduction_it_does_not_need) {
  EXPECT_EQ(orderIn(loadLaidOut("v", "x", kLine, "f32") + sum("m", "v") +
                    loadLaidOut("w", "y", kLine, "f32") + scaled("r", "w", "m") +
                    storeLaidOut("r", "z", kLine, "f32")),
            "load load reduce store");
}

TEST(HoistLoads, outside_of_loops_loads_stay) {
  EXPECT_EQ(orderIn(loadLaidOut("v", "x", kLine, "f32") + sum("m", "v") +
                        loadLaidOut("w", "y", kLine, "f32") + scaled("r", "w", "m") +
                        storeLaidOut("r", "z", kLine, "f32"),
                    /*inLoop=*/false),
            "load reduce load store");
}

TEST(HoistLoads, no_load_passes_a_store) {
  EXPECT_EQ(orderIn(loadLaidOut("v", "x", kLine, "f32") + storeLaidOut("v", "z", kLine, "f32") +
                    sum("m", "v") + loadLaidOut("w", "y", kLine, "f32") + scaled("r", "w", "m") +
                    storeLaidOut("r", "z", kLine, "f32")),
            "load store load reduce store");
}

TEST(HoistLoads, a_load_at_a_computed_place_stays) {
  std::string pointers = laidOut(kLine, "!tile.ptr<f32>"), numbers = laidOut(kLine, "i32");
  EXPECT_EQ(orderIn(loadLaidOut("v", "x", kLine, "f32") + sum("m", "v") +
                    "%at = arith.fptosi %m : f32 to i32\n%ats = tile.splat %at : i32 -> " +
                    numbers + "\n%base = tile.splat %y : !tile.ptr<f32> -> " + pointers +
                    "\n%p = tile.ptr_add %base, %ats : " + pointers + ", " + numbers +
                    "\n%w = tile.load %p : " + pointers + "\n" +
                    storeLaidOut("w", "z", kLine, "f32")),
            "load reduce load store");
}

TEST(HoistLoads, what_fills_too_many_registers_stays) {
  std::string body = loadLaidOut("v", "x", kLine, "f32") + sum("m", "v");
  std::string expected = "load";
  for (int number = 0; number < 8; ++number) {
    std::string name = "w" + std::to_string(number);
    body += loadLaidOut(name, "y", kLine, "f32") + scaled("r" + name, name, "m");
  }
  for (int number = 0; number < 8; ++number)
    body += storeLaidOut("rw" + std::to_string(number), "z", kLine, "f32");
  // 24 of 36 registers are filled before the reduction.
  EXPECT_EQ(orderIn(body).substr(0, 36), "load load load load load load reduce");
}

} // namespace
