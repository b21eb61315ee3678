// Where scratch lies and where barriers stand, on hand-written laid-out kernels.
#include "backends/gpu/SharedMemoryPlan.h"

#include "LaidOutText.h"
#include "SimulatedTarget.h"
#include "backends/gpu/ScratchBytes.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace sectile;
using namespace sectile::testing;
using namespace sectile::layout;

namespace {

const TileLayout kLine = blocked({256}, {2}, {32}, {4}, {0});
const TileLayout kRows = blocked({64, 64}, {1, 4}, {2, 16}, {4, 1}, {1, 0});
const TileLayout kColumns = blocked({64, 64}, {4, 1}, {16, 2}, {1, 4}, {0, 1});
const TileLayout kColumnsToo = blocked({64, 64}, {4, 1}, {16, 2}, {4, 1}, {0, 1});

/// %result = the sum of %value, a tile of kLine: 16 bytes of scratch.
std::string sum(const std::string &result, const std::string &value) {
  return "%" + result + " = tile.reduce(%" + value + ") axis 0 : (" + laidOut(kLine, "f32") +
         ") -> f32 {\n^bb0(%a: f32, %b: f32):\n%cc = arith.addf %a, %b : f32\n"
         "tile.yield %cc : f32\n}\n";
}

std::string splat(const std::string &result, const std::string &value) {
  return "%" + result + " = tile.splat %" + value + " : f32 -> " + laidOut(kLine, "f32") + "\n";
}

/// 16384 bytes.
std::string convert(const std::string &result, const std::string &value, const TileLayout &from,
                    const TileLayout &to) {
  return "%" + result + " = tile.convert_layout %" + value + " : " + laidOut(from, "f32") + " -> " +
         laidOut(to, "f32") + "\n";
}

struct Planned {
  /// Ops with scratch in order: "reduce 0..16", with "barrier, " before where one stands.
  std::vector<std::string> ops;
  int64_t bytes = 0;
  std::string diagnostics;
};

Planned planOf(const std::string &body, int64_t maxSharedBytes = 200 << 10) {
  Planned planned;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<tile::TileDialect>();
  context.printOpOnDiagnostic(false);
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    planned.diagnostics += diagnostic.str() + "\n";
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      planned.diagnostics += note.str() + "\n";
    return mlir::success();
  });
  std::string text =
      "func.func @k(%x: f32, %n: i32, %p: i1, %big: f32) attributes {tile.kernel} {\n" +
      splat("t", "x") + "%zero = arith.constant 0 : i32\n%one = arith.constant 1 : i32\n" +
      "%m = tile.splat %x : f32 -> " + laidOut(kRows, "f32") + "\n" + body + "return\n}\n";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module) << planned.diagnostics << text;
  if (!module)
    return planned;
  SimulatedTarget target;
  target.maxSharedBytes = maxSharedBytes;
  auto function = *module->getOps<mlir::func::FuncOp>().begin();
  gpu::SharedMemoryPlan plan = gpu::planSharedMemory(function, target);
  planned.bytes = plan.bytes;
  function.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    int64_t offset = plan.scratchOf(op);
    if (offset < 0)
      return;
    planned.ops.push_back((plan.needsBarrierBefore(op) ? "barrier, " : "") +
                          op->getName().stripDialect().str() + " " + std::to_string(offset) + ".." +
                          std::to_string(offset + gpu::scratchBytes(op, target)));
  });
  if (mlir::failed(gpu::checkSharedMemory(function, plan, target)))
    EXPECT_NE(planned.diagnostics, "");
  return planned;
}

using Ops = std::vector<std::string>;

TEST(SharedMemoryPlan, ops_within_warps_need_nothing) {
  TileLayout one = blocked({64}, {2}, {32}, {4}, {0});
  Planned planned = planOf("%l = tile.splat %x : f32 -> " + laidOut(one, "f32") +
                           "\n%s = tile.reduce(%l) axis 0 : (" + laidOut(one, "f32") +
                           ") -> f32 {\n^bb0(%a: f32, %b: f32):\n%cc = arith.addf %a, %b : f32\n"
                           "tile.yield %cc : f32\n}\n");
  EXPECT_EQ(planned.ops, Ops{});
  EXPECT_EQ(planned.bytes, 0);
}

TEST(SharedMemoryPlan, neighbours_take_turns_and_need_no_barrier) {
  Planned planned =
      planOf(sum("s", "t") + splat("u", "s") + sum("v", "u") + splat("w", "v") + sum("y", "w"));
  EXPECT_EQ(planned.ops, (Ops{"reduce 0..16", "reduce 16..32", "reduce 0..16"}));
  EXPECT_EQ(planned.bytes, 32);
}

TEST(SharedMemoryPlan, large_ops_share_bytes_behind_a_barrier) {
  Planned planned = planOf(convert("c", "m", kRows, kColumns) + convert("d", "c", kColumns, kRows));
  EXPECT_EQ(planned.ops, (Ops{"convert_layout 0..16384", "barrier, convert_layout 0..16384"}));
  EXPECT_EQ(planned.bytes, 16384);
}

TEST(SharedMemoryPlan, a_small_op_fits_beside_nothing_when_the_large_one_fills_the_budget) {
  Planned planned = planOf(convert("c", "m", kRows, kColumns) + sum("s", "t") +
                           convert("d", "c", kColumns, kRows));
  EXPECT_EQ(planned.ops, (Ops{"convert_layout 0..16384", "barrier, reduce 0..16",
                              "barrier, convert_layout 0..16384"}));
  EXPECT_EQ(planned.bytes, 16384);
}

TEST(SharedMemoryPlan, a_loop_meets_its_own_reads) {
  std::string loop = "%r = scf.for %i = %zero to %n step %one iter_args(%k = %t) -> (" +
                     laidOut(kLine, "f32") + ") : i32 {\n";
  std::string end = "scf.yield %u : " + laidOut(kLine, "f32") + "\n}\n";
  // One reduction per round: the next round's writes may meet this one's reads.
  EXPECT_EQ(planOf(loop + sum("s", "k") + splat("u", "s") + end).ops,
            (Ops{"barrier, reduce 0..16"}));
  // Two: each finds the other's barrier between.
  EXPECT_EQ(
      planOf(loop + sum("s", "k") + splat("v", "s") + sum("w", "v") + splat("u", "w") + end).ops,
      (Ops{"reduce 0..16", "reduce 16..32"}));
}

TEST(SharedMemoryPlan, what_a_loop_may_leave_counts_behind_it) {
  std::string body = sum("s", "t") + "scf.for %i = %zero to %n step %one : i32 {\n" +
                     splat("v", "x") + sum("w", "v") + "}\n" + sum("y", "t");
  // The loop may run or not: both reductions before may still be read.
  EXPECT_EQ(planOf(body).ops, (Ops{"reduce 0..16", "barrier, reduce 16..32", "reduce 32..48"}));
}

TEST(SharedMemoryPlan, branches_join) {
  std::string body = "scf.if %p {\n" + sum("s", "t") + "} else {\n" + splat("v", "big") +
                     sum("w", "v") + "}\n" + sum("y", "t");
  EXPECT_EQ(planOf(body).ops, (Ops{"reduce 0..16", "reduce 0..16", "reduce 16..32"}));
  // Without room beside, the barrier is there although one branch does not need it.
  EXPECT_EQ(planOf("scf.if %p {\n" + convert("c", "m", kRows, kColumns) + "}\n" +
                   convert("d", "m", kRows, kColumnsToo))
                .ops,
            (Ops{"convert_layout 0..16384", "barrier, convert_layout 0..16384"}));
}

TEST(SharedMemoryPlan, the_users_barrier_counts) {
  EXPECT_EQ(planOf(convert("c", "m", kRows, kColumns) + "tile.barrier\n" +
                   convert("d", "c", kColumns, kRows))
                .ops,
            (Ops{"convert_layout 0..16384", "convert_layout 0..16384"}));
}

TEST(SharedMemoryPlan, too_much_is_an_error_that_names_the_ops) {
  Planned planned =
      planOf("%g = tile.flip %m {axis = 0 : i32} : " + laidOut(kRows, "f32") + "\n", 10000);
  EXPECT_EQ(
      planned.diagnostics,
      "shared memory: this kernel needs 16384 bytes, and a program on the simulated GPU has 10000\n"
      "use tiles with 2 times fewer elements\n"
      "16384 bytes: flip of 64x64xf32\n");
}

} // namespace
