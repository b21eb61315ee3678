//===-- StagePlan.h - what is decided of a loop whose loads run stages ahead ------------------===//
// Before anything is rewritten: which loads are copied ahead, into how many stages, which products
// are under way from round to round, whether copies go on into the next round of a loop around, and
// whether two programs take turns. PipelineLoops.h says what becomes of it.
//
//   StagePlan plan(loop, shape, stages, analysis, writes, allWrites, assumed);
//   if (plan.decide())
//     ... plan.loads, plan.distance(), plan.stagesOf(load) ...
#pragma once

#include "optimizer/gpu/AheadLoads.h"
#include "optimizer/gpu/ApartArrays.h"
#include "optimizer/gpu/BufferProducts.h"
#include "optimizer/gpu/NestSlice.h"
#include "optimizer/gpu/OverlapProducts.h"
#include "optimizer/gpu/Producer.h"
#include "optimizer/gpu/StageRoom.h"
#include "optimizer/gpu/TeamTurns.h"

namespace sectile::optimizer {

void noteNotPipelined(lang::Remarks &remarks, tile::LoadOp load, const std::string &whyNot);

class StagePlan {
public:
  StagePlan(mlir::scf::ForOp loop, const GpuShape &shape, int64_t stageCount,
            const IndexAnalysis &analysis, const LoopWrites &writes, const LoopWrites &allWrites,
            GpuAssumptions &assumed)
      : loop(loop), shape(shape), askedStages(stageCount), stageCount(stageCount), assumed(assumed),
        analysis(analysis), allWrites(allWrites), room(loop, shape, analysis),
        chosen(loop, shape, analysis, writes, allWrites, assumed), loads(chosen.loads),
        slice(chosen.slice), given(chosen.given) {}

  /// Returns whether any load runs ahead; remarks on those that do and do not.
  bool decide();

  /// Whether a stage is read for one round more.
  bool isReadOn() const { return (inFlight && !meetsTwice) || delayed || !lasting.empty(); }
  /// How many rounds copies run ahead.
  int64_t distance() const { return stageCount - (isReadOn() ? 2 : 1); }
  /// Returns the loop's first product where warps may start it before they meet: each has waited
  /// for the bytes that the engine has brought, and what the next copies overwrite it does not
  /// read. While the matrix units work none is kept from its products by a warp that comes later.
  tile::DotAsyncOp firstBeforeCopies();
  /// Whether no warp waits for others in a round, but the one that starts copies: it waits until
  /// all are through with the round before. Then nothing but products may read the stages. Warps
  /// that all multiply together meet anyway, and a barrier is cheaper (1024 cubed on an H200,
  /// 64x128x64: 1.01 of cuBLAS, 0.94 so).
  bool countsRounds();
  /// Where a product is delayed, the wait behind which what only the others read has been read;
  /// null where there is none before the round ends.
  mlir::Operation *lastEarlyWait();
  /// Whether the stages of a load are free a round before those that a delayed product reads, so
  /// that one fewer suffices.
  bool isFreedEarly(const AsyncLoad &ahead) const;
  /// Returns the registers that a thread of the program wants beside a producer.
  int64_t wordsWanted();
  /// Whether there is such a load.
  bool hasFewer() const {
    return llvm::any_of(loads, [&](const AsyncLoad &ahead) { return isFreedEarly(ahead); });
  }
  /// The stages of what the load is copied to.
  int64_t stagesOf(const AsyncLoad &ahead) const;

  mlir::scf::ForOp loop;
  const GpuShape &shape;
  const int64_t askedStages;
  int64_t stageCount;
  GpuAssumptions &assumed;
  const IndexAnalysis &analysis;
  const LoopWrites &allWrites;
  StageRoom room;
  AheadLoads chosen;
  llvm::SmallVectorImpl<AsyncLoad> &loads;
  LoopSlice &slice;
  GivenLoads &given;
  std::optional<CarriedProduct> inFlight;
  std::optional<DelayedProduct> delayed;
  llvm::SmallVector<tile::DotAsyncOp, 2> lasting; // products that go on into the next round
  bool meetsTwice = false;                        // warps, in a round
  mlir::scf::ForOp outer;                         // around the loop, if one is
  std::optional<NestSlice> nest; // of both, if copies go on from round to round of the outer one
  /// Those that the outer loop stores to, and what the copies read: where they are not apart copies
  /// begin anew in each of its rounds.
  std::optional<ArraysApart> apart;
  std::optional<TeamTurns> turns;   // if two programs share the block
  std::optional<Producer> producer; // if a thread beside the program starts the copies
  /// Loads of the loop around that a producer copies, too, each into a stage of its own, which the
  /// next round of that loop has when the inner one is through.
  llvm::SmallVector<AsyncLoad, 1> around;
  /// Loads of numbers by the producer, of what the kernel may store.
  llvm::SmallVector<tile::LoadOp> guarded;

private:
  /// Takes the round in which a copy's address is loaded for one of the stages that were asked for,
  /// as Triton does, where there is no room for as many.
  void countAddresses();
  /// Leaves out stages that were asked for of the whole kernel where that makes room for a second
  /// program, and no less is on its way: warps that multiply by themselves compute while those of
  /// another program wait. (64 heads of attention in f32, 32x32x128 in 4 warps on an H200: 9.1 ms
  /// with four stages, 5.8 with three.)
  void leaveRoom();
  /// Decides whether a product is under way from one round to the next: its operands are what this
  /// loop copies, or lie still. The stage that the product before reads is free when all warps have
  /// waited for it. Either they meet once more a round to know that, or copies run two stages short
  /// of all instead of one, and there is one more stage, unless that would leave room for fewer
  /// programs. Where it would, four stages are enough for copies to be two rounds ahead without
  /// it, if another program hides what copies still take.
  void keepProductInFlight();
  /// Decides whether the second of two products in a chain runs a round late (OverlapProducts.h).
  /// The stage that it reads is then free a round later: there is one stage more, or copies run one
  /// round less ahead where that leaves them one.
  void delayProduct();
  /// Decides whether those of several products that only add to what the loop carries are under way
  /// from one round to the next (OrderProducts.h). The stages that they read are then free a round
  /// later, as behind a single product.
  void letProductsLast();
  /// Decides whether two programs share the block of threads and take turns to multiply
  /// (TeamTurns.h). The stages are those of both.
  void takeTurns();
  bool isRoomForTeams(int64_t stages);
  /// Whether two teams may have every other round of the loop around.
  bool mayShareRounds();
  /// Decides otherwise.
  void dropTurns();
  std::pair<int64_t, bool> beforeTurns; // stageCount and meetsTwice
  /// Decides whether a thread beside the program starts the copies (Producer.h).
  void leaveToProducer();
  /// Why a producer cannot; empty: `producer` can.
  std::string makeProducer();
  /// Returns the registers of a thread beside it.
  int64_t wordsBesideProducer();
  /// Whether the producer may load a number for itself, ahead of the program.
  bool mayProducerLoad(tile::LoadOp load);
  /// Lets the producer copy what products read of a tile that is loaded once for all rounds.
  void takeLoadsAround();
  /// Whether anything but products reads the stages.
  bool areReadElsewhere();
  /// Whether a product's operand is what this loop copies ahead, or lies still.
  bool isStageOrStill(mlir::Value operand) const;
  /// The load of the loop that fills the buffer of an operand; null where it is filled otherwise.
  mlir::Operation *loadBehind(mlir::Value operand) const;
  /// Programs on a multiprocessor whose loop has so many stages.
  int64_t programsWith(int64_t stages);
  /// Whether shared memory suffices for the stages of two programs, or of one where registers do
  /// for no more.
  bool isRoomForPrograms();
  /// Programs on a multiprocessor that registers suffice for if a thread holds the sums of all the
  /// loop's products at once.
  int64_t programsByRegisters();
  /// Decides whether copies go on into the next round of the loop around this one: all are the
  /// engine's, for which a round is a few numbers, and the stages may keep their bytes while the
  /// rest of the outer loop's body runs.
  void goOnAcrossRounds();
  /// Whether the outer loop has other loops with products, whose stages would want room beside.
  bool hasOtherProductLoops();
  /// Whether bytes of the stages that nothing else can take cost a program on each multiprocessor.
  bool leavesFewerPrograms();
  /// The operation beside whose body the stages keep their bytes.
  mlir::Operation *besideStages() const {
    return producer ? producer->outermost()
           : nest   ? mlir::scf::ForOp(outer)
                    : mlir::scf::ForOp(loop);
  }
  /// Shared memory of so many stages.
  int64_t bytesOfStages(int64_t stages) const;
  bool isRoomFor(int64_t stages, int64_t barriers);
  /// The same with two memory barriers for each stage.
  bool isRoomFor(int64_t stages) { return isRoomFor(stages, 2 * stages); }
  void notePipelined(const AsyncLoad &ahead);
};

/// Whether the copy engine brings all tiles that the loop loads, stages ahead.
bool isFedByEngine(mlir::scf::ForOp loop, const GpuPipelineOptions &options);
/// Whether a producer would start the copies of the loop, on into the next round of the one around
/// it (StagePlan.h).
bool isFedAcrossRoundsByProducer(mlir::scf::ForOp loop, const GpuPipelineOptions &options);

} // namespace sectile::optimizer
