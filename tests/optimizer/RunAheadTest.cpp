// Which loads of a loop start before their iteration, and which must not.
#include "LaidOutKernel.h"
#include "lang/tile/TileDialect.h"
#include "optimizer/gpu/Pipeline.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace sectile;
using namespace sectile::testing;

namespace {

struct Outcome {
  int loadsBefore = 0, loadsInside = 0, copiesInside = 0, unsignedLoops = 0;
  optimizer::GpuAssumptions assumed;

  /// "pipelined: 1 iteration ahead, in registers", one line each.
  std::string said() const {
    std::string text;
    for (const lang::Remark &remark : assumed.remarks)
      text += remark.kind + ": " + remark.text + "\n";
    return text;
  }
};

/// The pipeline on a kernel with one loop.
Outcome optimized(const std::string &text, bool argumentsOverlap = false, int warps = 4) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<sectile::tile::TileDialect, mlir::scf::SCFDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  Outcome outcome;
  if (!module)
    return outcome;
  optimizer::GpuPipelineOptions options{gpuShape(warps)};
  options.shape.asyncCopies = optimizer::AsyncKind::PerLane;
  options.shape.sharedBytes = 1 << 20;
  options.argumentsOverlap = argumentsOverlap;
  options.verifyEachPass = true;
  auto function = *module->getOps<mlir::func::FuncOp>().begin();
  auto assumed = optimizer::optimizeForGpu(function, options);
  EXPECT_TRUE(mlir::succeeded(assumed) && mlir::succeeded(mlir::verify(*module)));
  if (mlir::succeeded(assumed))
    outcome.assumed = *assumed;
  function.walk([&](mlir::Operation *op) {
    bool isInside = op->getParentOfType<mlir::scf::ForOp>() != nullptr;
    if (mlir::isa<tile::LoadOp>(op))
      ++(isInside ? outcome.loadsInside : outcome.loadsBefore);
    if (auto loop = mlir::dyn_cast<mlir::scf::ForOp>(op))
      outcome.unsignedLoops += loop.getUnsignedCmp();
    outcome.copiesInside += isInside && mlir::isa<tile::AsyncCopyOp>(op);
  });
  return outcome;
}

struct Rows {
  std::string extent = "512", more = "", store = "%q";
  bool reduces = true;

  /// for row: x = in[row]; s = sum x; out[row] = x * s
  std::string text() const {
    std::string tile = "tensor<" + extent + "xf32>", indices = "tensor<" + extent + "xi32>";
    std::string pointers = "tensor<" + extent + "x!tile.ptr<f32>>";
    std::string sum = reduces ? "%s = tile.reduce(%x) axis 0 : (" + tile +
                                    ") -> f32 {\n^bb0(%a: f32, %b: f32):\n%c = arith.addf %a, %b : "
                                    "f32\ntile.yield %c : f32\n}\n"
                              : "%s = arith.constant 2.0 : f32\n";
    return "func.func @k(%in: !tile.ptr<f32>, %out: !tile.ptr<f32>, %n: i32) "
           "attributes {tile.kernel} {\n"
           "%zero = arith.constant 0 : i32\n%one = arith.constant 1 : i32\n"
           "%stride = arith.constant " +
           extent + " : i32\n%i = tile.arange 0, " + extent + " : " + indices +
           "\nscf.for %row = %zero to %n step %one : i32 {\n"
           "%start = arith.muli %row, %stride : i32\n"
           "%base = tile.splat %start : i32 -> " +
           indices + "\n%at = arith.addi %base, %i : " + indices +
           "\n%ins = tile.splat %in : !tile.ptr<f32> -> " + pointers +
           "\n%outs = tile.splat %out : !tile.ptr<f32> -> " + pointers +
           "\n%p = tile.ptr_add %ins, %at : " + pointers + ", " + indices +
           "\n%q = tile.ptr_add %outs, %at : " + pointers + ", " + indices +
           "\n%x = tile.load %p : " + pointers + "\n" + more + sum +
           "%ss = tile.splat %s : f32 -> " + tile + "\n%y = arith.mulf %x, %ss : " + tile +
           "\ntile.store " + store + ", %y : " + pointers + "\n}\nreturn\n}\n";
  }
};

TEST(PrefetchLoads, rows_are_loaded_an_iteration_ahead) {
  Outcome outcome = optimized(Rows{}.text());
  EXPECT_EQ(outcome.loadsBefore, 1);
  EXPECT_EQ(outcome.loadsInside, 1);
  ASSERT_EQ(outcome.assumed.apart.size(), 1u);
  EXPECT_EQ(outcome.assumed.apart[0], (optimizer::ApartArguments{1, 0}));
  EXPECT_EQ(outcome.assumed.programs, 4);
  EXPECT_EQ(outcome.said(), "pipelined: 1 iteration ahead, in registers\n");
  EXPECT_GT(outcome.assumed.remarks[0].line, 0);
}

void expectUntouched(const Outcome &outcome) {
  EXPECT_EQ(outcome.loadsBefore, 0);
  EXPECT_EQ(outcome.copiesInside, 0);
  EXPECT_EQ(outcome.assumed.programs, 0);
}

TEST(PrefetchLoads, what_the_loop_may_write_is_not_loaded_ahead) {
  Outcome itself = optimized(Rows{.store = "%p"}.text());
  expectUntouched(itself);
  EXPECT_TRUE(itself.assumed.apart.empty());
  EXPECT_EQ(itself.said(), "not-pipelined: the loop writes to the argument that this reads\n");
  Outcome overlapping = optimized(Rows{}.text(), /*argumentsOverlap=*/true);
  expectUntouched(overlapping);
  EXPECT_TRUE(overlapping.assumed.apart.empty());
  EXPECT_EQ(overlapping.said(),
            "not-pipelined: arguments of the launch share memory, and the loop writes\n");
}

TEST(PrefetchLoads, nothing_passes_what_orders_memory) {
  Outcome ordered = optimized(Rows{.more = "tile.barrier\n"}.text());
  expectUntouched(ordered);
  EXPECT_TRUE(ordered.assumed.apart.empty());
  EXPECT_EQ(ordered.said(),
            "not-pipelined: the loop orders memory (by a barrier, an atomic whose result is used "
            "or a volatile load), or writes through a pointer whose argument is not known\n");
  std::string atomic = "%old = tile.atomic_rmw fadd, acq_rel, gpu, %out, %f : !tile.ptr<f32>\n";
  std::string one = "%f = arith.constant 1.0 : f32\n";
  EXPECT_EQ(optimized(Rows{.more = one + atomic}.text()).loadsBefore, 1);
  expectUntouched(optimized(Rows{.more = one + atomic +
                                         "%never = arith.constant 0.0 : f32\n"
                                         "%none = arith.cmpf oeq, %old, %never : f32\n"
                                         "tile.assert %none, \"first\" : i1\n"}
                                .text()));
  expectUntouched(
      optimized(Rows{.more = "%flag = tile.load %in volatile : !tile.ptr<f32>\n"}.text()));
}

TEST(PrefetchLoads, loops_that_only_add_up_stay) {
  Outcome outcome = optimized(Rows{.reduces = false}.text());
  expectUntouched(outcome);
  EXPECT_EQ(outcome.said(),
            "not-pipelined: threads do not wait for each other in the loop (no reduction, no "
            "scan), so loads of later iterations start early as it is\n");
}

TEST(PrefetchLoads, rows_that_take_all_registers_wait_in_shared_memory) {
  // 256 numbers in each thread.
  Outcome outcome = optimized(Rows{.extent = "65536"}.text(), false, 8);
  EXPECT_EQ(outcome.loadsBefore + outcome.loadsInside, 0);
  EXPECT_EQ(outcome.copiesInside, 1);
  EXPECT_EQ(outcome.assumed.programs, 1);
  EXPECT_EQ(outcome.said(), "pipelined: 1 iteration ahead, through 2 stages in shared memory\n");
}

TEST(PrefetchLoads, with_many_bytes_under_way_registers_are_worth_more) {
  EXPECT_EQ(optimized(Rows{.extent = "2048"}.text()).loadsBefore, 1);
  Outcome outcome = optimized(Rows{.extent = "4096"}.text());
  expectUntouched(outcome);
  EXPECT_EQ(outcome.said(), "not-pipelined: about 4 programs fit on a multiprocessor, and 65536 "
                            "bytes are under way without this\n");
}

TEST(PrefetchLoads, addresses_that_are_loaded_stay) {
  // The other row comes from memory: nothing of it is known before.
  std::string text = Rows{.more = "%j = tile.load %in : !tile.ptr<f32>\n"
                                  "%k = arith.fptosi %j : f32 to i32\n"
                                  "%ks = tile.splat %k : i32 -> tensor<512xi32>\n"
                                  "%r = tile.ptr_add %ins, %ks : tensor<512x!tile.ptr<f32>>, "
                                  "tensor<512xi32>\n"
                                  "%z = tile.load %r : tensor<512x!tile.ptr<f32>>\n"
                                  "tile.store %q, %z : tensor<512x!tile.ptr<f32>>\n"}
                         .text();
  Outcome outcome = optimized(text);
  expectUntouched(outcome);
  EXPECT_NE(outcome.said().find("not-pipelined: its address or mask depends on more than "
                                "arithmetic: on what the iteration loads, say\n"),
            std::string::npos)
      << outcome.said();
  EXPECT_NE(outcome.said().find("not-pipelined: another load of the loop cannot run ahead"),
            std::string::npos);
}

TEST(PipelineLoops, what_the_loop_may_write_is_not_copied_ahead) {
  std::string text = kernelText("matmul");
  Outcome usual = optimized(text);
  EXPECT_EQ(usual.copiesInside, 2);
  EXPECT_EQ(usual.said(), "pipelined: 2 iterations ahead, through 3 stages in shared memory\n"
                          "pipelined: 2 iterations ahead, through 3 stages in shared memory\n");
  ASSERT_EQ(usual.assumed.remarks.size(), 2u);
  EXPECT_NE(usual.assumed.remarks[0].line, usual.assumed.remarks[1].line);
  EXPECT_EQ(usual.assumed.remarks[0].numbers.at("stages"), 3);
  EXPECT_EQ(usual.assumed.remarks[0].numbers.at("iterations_ahead"), 2);
  auto with = [&](const std::string &more) {
    std::string changed = text;
    changed.insert(changed.find("      scf.yield"), more);
    return changed;
  };
  std::string element = "%e = arith.constant 1.0 : f16\n";
  Outcome other = optimized(with(element + "tile.store %arg2, %e : !tile.ptr<f16>\n"));
  EXPECT_EQ(other.copiesInside, 2);
  EXPECT_EQ(other.assumed.apart.size(), 2u);
  EXPECT_EQ(optimized(with(element + "tile.store %arg0, %e : !tile.ptr<f16>\n")).copiesInside, 1);
  EXPECT_EQ(optimized(with(element + "tile.store %arg2, %e : !tile.ptr<f16>\n"), true).copiesInside,
            0);
  EXPECT_EQ(optimized(with("tile.barrier\n")).copiesInside, 0);
  EXPECT_NE(optimized(with(element + "tile.store %arg0, %e : !tile.ptr<f16>\n"))
                .said()
                .find("not-pipelined: the loop writes to the argument that this reads\n"),
            std::string::npos);
}

/// With other words in place of the first ones found.
std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << text;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string withAttribute(const std::string &rows, const std::string &attribute) {
  return replaced(rows, "}\nreturn", "} {" + attribute + "}\nreturn");
}

TEST(PrefetchLoads, a_loop_may_ask_for_no_stages) {
  Outcome outcome = optimized(withAttribute(Rows{}.text(), "tile.num_stages = 1 : i64"));
  expectUntouched(outcome);
  EXPECT_EQ(outcome.said(), "not-pipelined: num_stages is 1\n");
  outcome = optimized(withAttribute(Rows{}.text(), "tile.num_stages = 4 : i64"));
  EXPECT_EQ(outcome.loadsBefore, 1);
  EXPECT_EQ(outcome.said(),
            "pipelined: 1 iteration ahead, in registers\n"
            "hint: num_stages=4: a loop without products loads one iteration ahead\n");
}

TEST(PrefetchLoads, wishes_that_are_not_met_are_answered) {
  EXPECT_EQ(
      optimized(withAttribute(Rows{.reduces = false}.text(), "tile.flatten, tile.warp_specialize"))
          .said(),
      "hint: flatten: nested loops stay nested; copies by an engine go on across them\n"
      "hint: warp_specialize: where a thread beside the program starts copies the compiler "
      "decides\n"
      "not-pipelined: threads do not wait for each other in the loop (no reduction, no "
      "scan), so loads of later iterations start early as it is\n");
  std::string empty = "func.func @k(%n: i32) attributes {tile.kernel} {\n"
                      "%zero = arith.constant 0 : i32\n%one = arith.constant 1 : i32\n"
                      "scf.for %i = %zero to %n step %one : i32 {\n} {tile.num_stages = 3 : i64}\n"
                      "return\n}\n";
  EXPECT_EQ(optimized(empty).said(), "hint: num_stages=3: the loop itself loads no tiles\n");
}

TEST(PrefetchLoads, an_unsigned_loop_stays_unsigned) {
  std::string text = replaced(Rows{}.text(), "scf.for %row", "scf.for unsigned %row");
  Outcome outcome = optimized(text);
  EXPECT_EQ(outcome.loadsBefore, 1);
  EXPECT_EQ(outcome.unsignedLoops, 1);
}

TEST(PipelineLoops, each_loop_has_the_stages_it_asks_for) {
  std::string text = kernelText("matmul");
  size_t end = text.find("\n", text.find("\n    }", text.find("scf.yield")) + 1);
  auto with = [&](const std::string &attributes) {
    std::string changed = text;
    changed.insert(end, " {" + attributes + "}");
    return optimized(changed);
  };
  EXPECT_EQ(with("tile.num_stages = 5 : i64").said(),
            "pipelined: 4 iterations ahead, through 5 stages in shared memory\n"
            "pipelined: 4 iterations ahead, through 5 stages in shared memory\n");
  Outcome none = with("tile.num_stages = 1 : i64");
  EXPECT_EQ(none.copiesInside, 0);
  EXPECT_NE(none.said().find("not-pipelined: num_stages is 1\n"), std::string::npos) << none.said();
}

TEST(PipelineLoops, an_unsigned_loop_stays_unsigned) {
  Outcome outcome = optimized(replaced(kernelText("matmul"), "scf.for %", "scf.for unsigned %"));
  EXPECT_EQ(outcome.copiesInside, 2);
  EXPECT_EQ(outcome.unsignedLoops, 1);
}

} // namespace
