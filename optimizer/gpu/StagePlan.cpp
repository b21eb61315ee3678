#include "optimizer/gpu/StagePlan.h"

#include "optimizer/gpu/OrderProducts.h"
#include "optimizer/gpu/PipelineLoops.h"
#include "optimizer/gpu/ThreadWork.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {

/// Stages with which copies still run two rounds ahead where one stage is a product's.
static constexpr int64_t kStagesOfTwoAhead = 4;
/// A stage that is read, that of the product before, and one that is filled: with fewer the thread
/// that starts copies would wait for a round that waits for it.
static constexpr int64_t kFewestStagesOfRing = 3;
/// Registers of a thread besides those of the sums where a producer starts all copies.
static constexpr int64_t kOtherWordsOfTurns = 40;
/// Scratch of a map that is edited.
static constexpr int64_t kMapBytes = 128;
/// What is of the block comes first in shared memory, and the rest begins at a multiple of this.
static constexpr int64_t kAlignment = 1024;

void noteNotPipelined(lang::Remarks &remarks, LoadOp load, const std::string &whyNot) {
  if (isa<RankedTensorType>(load.getType()))
    addRemark(remarks, load.getLoc(), "not-pipelined", whyNot);
}

/// Whether the program describes the array itself.
static bool isEdited(const AsyncLoad &ahead) {
  return ahead.block && ahead.block->isEdited;
}

bool StagePlan::decide() {
  auto left = chosen.choose();
  countAddresses();
  if (!isRoomForPrograms())
    for (LoadOp load : chosen.dropBeside())
      left.push_back({load, "its stages would leave too little shared memory"});
  if (multiplies(loop))
    for (auto &[load, whyNot] : left)
      noteNotPipelined(assumed.remarks, load, whyNot);
  if (loads.empty())
    return false;
  leaveRoom();
  goOnAcrossRounds();
  keepProductInFlight();
  delayProduct();
  letProductsLast();
  takeTurns();
  leaveToProducer();
  if (turns)
    addRemark(assumed.remarks, loop.getLoc(), "turns",
              isOfWorkers(outer)
                  ? "two programs share a block of threads: one multiplies while the other ends"
                  : "two teams of threads go through the rounds of the loop around by turns: one "
                    "multiplies while the other ends",
              {{"programs", kTeams}, {"stages", stageCount}});
  for (const AsyncLoad &ahead : loads)
    notePipelined(ahead);
  for (LoadOp load : slice.given())
    addRemark(assumed.remarks, load.getLoc(), "pipelined",
              std::to_string(distance() + 1) +
                  " iterations ahead, in registers: addresses are made of it",
              {{"iterations_ahead", distance() + 1}, {"through_shared_memory", 0}});
  return true;
}

void StagePlan::countAddresses() {
  if (given.isEmpty() || stageCount <= 2 || isRoomFor(stageCount) || !isRoomFor(stageCount - 1))
    return;
  --stageCount;
  addRemark(assumed.remarks, loop.getLoc(), "hint",
            "num_stages=" + std::to_string(askedStages) +
                ": the round in which addresses are loaded is one of them, as there is no room for "
                "as many in shared memory");
}

void StagePlan::leaveRoom() {
  // What does not fit at all is an error of its own, which says what takes the bytes.
  if (!loop.getOps<DotAsyncOp>().empty() || loop->hasAttr(kStagesAttr) || !isRoomFor(stageCount))
    return;
  auto programs = [&](int64_t stages) {
    return std::min(programsWith(stages), programsByRegisters());
  };
  auto underWay = [&](int64_t stages) { return programs(stages) * (stages - 1); };
  int64_t fewer = stageCount;
  while (fewer > 2 && programs(fewer) < 2 && underWay(fewer - 1) >= underWay(stageCount))
    --fewer;
  if (programs(fewer) <= programs(stageCount))
    return;
  stageCount = fewer;
  addRemark(assumed.remarks, loop.getLoc(), "hint",
            "num_stages=" + std::to_string(askedStages) + ": with " + std::to_string(stageCount) +
                " a multiprocessor has room for " + std::to_string(programs(stageCount)) +
                " programs");
}

void StagePlan::keepProductInFlight() {
  inFlight = carriedProduct(loop);
  if (!inFlight)
    return;
  if (!isStageOrStill(inFlight->start.getLhs()) || !isStageOrStill(inFlight->start.getRhs())) {
    inFlight.reset();
    return;
  }
  const int64_t programs =
      std::clamp<int64_t>(programsWith(stageCount), 1,
                          room.programsByRegisters(wordsPerThread(inFlight->start.getType())));
  if (programsWith(stageCount + 1) >= programs && (!nest || isRoomFor(stageCount + 1)))
    ++stageCount;
  else
    meetsTwice = programs == 1 || stageCount < kStagesOfTwoAhead;
}

void StagePlan::delayProduct() {
  const std::optional<DelayedProduct> chain = delayedProduct(loop);
  if (!chain)
    return;
  DotAsyncOp start = chain->start, before = chain->before;
  auto refuse = [&](const std::string &whyNot) {
    // One that only adds may go on into the next round instead.
    if (!llvm::is_contained(productsCarriedOn(loop), start))
      addRemark(assumed.remarks, start.getLoc(), "not-overlapped", whyNot);
    delayed.reset();
  };
  if (!isStageOrStill(start.getRhs()))
    return refuse("what it multiplies by is filled anew in each round");
  if (chosen.areByThreads())
    return refuse("threads copy what it multiplies by, and meet in each round");
  // The sums of both, and where the product runs late, what it takes from registers.
  const int64_t sums = wordsPerThread(start.getType()) + wordsPerThread(before.getType()),
                words = sums + wordsPerThread(start.getLhs().getType());
  if (words + kOtherWords > shape.threadWords)
    return refuse("a thread would hold " + std::to_string(words) +
                  " registers of sums and operands at once, beside some " +
                  std::to_string(kOtherWords) + " others; it has " +
                  std::to_string(shape.threadWords) + ": smaller tiles, or more warps, would fit");
  if (int64_t programs =
          std::min(room.programsByRegisters(sums, kOtherWordsOfChains), programsWith(stageCount));
      programs > 1)
    return refuse("there is room for " + std::to_string(programs) +
                  " programs on a multiprocessor, which hide each other's waits");
  delayed = chain;
  if (isRoomFor(stageCount + 1))
    ++stageCount;
  else if (stageCount < 3)
    return refuse("shared memory does not suffice for a third stage, " +
                  std::to_string(bytesOfStages(3)) + " bytes in all");
  addRemark(assumed.remarks, start.getLoc(), "overlapped",
            "runs under the next round's computation, one round late");
}

void StagePlan::letProductsLast() {
  if (delayed)
    return;
  for (DotAsyncOp product : productsCarriedOn(loop)) {
    const bool lhsIsThere =
        !isa<BufferType>(product.getLhs().getType()) || isStageOrStill(product.getLhs());
    if (lhsIsThere && isStageOrStill(product.getRhs()))
      lasting.push_back(product);
  }
  if (lasting.empty())
    return;
  const int64_t programs = std::clamp<int64_t>(programsWith(stageCount), 1, programsByRegisters());
  if (programsWith(stageCount + 1) >= programs && isRoomFor(stageCount + 1))
    ++stageCount;
  else if (stageCount < 3)
    lasting.clear();
}

void StagePlan::takeTurns() {
  if (!nest || !inFlight || !shape.leastTurnWords ||
      !(isOfWorkers(outer) ? llvm::none_of(loads, isEdited) : mayShareRounds()))
    return;
  DotAsyncOp product = inFlight->start;
  const layout::MatrixInstruction *instruction = shape.bufferInstruction(product.getInstruction());
  const int64_t words = wordsPerThread(product.getType());
  auto isStage = [&](Value operand) { return chosen.has(loadBehind(operand)); };
  if (words < shape.leastTurnWords || !instruction || instruction->warpCount() != shape.warpCount ||
      !isStage(product.getLhs()) || !isStage(product.getRhs()) || areReadElsewhere() ||
      kTeams * shape.threadCount() * (words + kOtherWords) > shape.registerWords)
    return;
  const auto least =
      std::max(kFewestStagesOfRing,
               int64_t(llvm::divideCeil(uint64_t(kLeastStagesOfTurns * shape.leastTurnWords),
                                        uint64_t(words))));
  for (int64_t stages = kTeams * askedStages; stages >= least; --stages)
    if (isRoomForTeams(stages)) {
      beforeTurns = {stageCount, meetsTwice};
      stageCount = stages;
      meetsTwice = false;
      turns.emplace(loop.getLoc(), stages);
      return;
    }
}

bool StagePlan::mayShareRounds() {
  if (!shape.wordsBesideProducer || !isSharedByRounds(outer, loop))
    return false;
  bool mayShare = true;
  outer.getBody()->walk([&](LoadOp load) {
    // Behind the loop it waits for the other team's round.
    SmallVector<ApartArguments> pairs;
    mayShare &= chosen.has(load) || allWrites.mayBePassedBy(load, pairs) ||
                loop->isBeforeInBlock(outer.getBody()->findAncestorOpInBlock(*load));
  });
  return mayShare;
}

bool StagePlan::isRoomForTeams(int64_t stages) {
  // For each stage two memory barriers, and one for each team's turns and one for what it stores;
  // the maps that a producer edits.
  const int64_t ofBlock = bytesOfStages(stages) +
                          int64_t(sizeof(int64_t)) * (2 * stages + 2 * kTeams) +
                          kMapBytes * llvm::count_if(loads, isEdited);
  const int64_t ofTeam = room.otherBuffers() + room.besideTurns(outer);
  return int64_t(llvm::alignTo(ofBlock, kAlignment)) +
             kTeams * int64_t(llvm::alignTo(ofTeam, kAlignment)) <=
         shape.sharedBytes;
}

void StagePlan::leaveToProducer() {
  const bool areEdited = llvm::any_of(loads, isEdited);
  if (!shape.wordsBesideProducer || chosen.areByThreads() ||
      !(delayed || turns || (areEdited && inFlight)) || areReadElsewhere() ||
      !(areEdited || countsRounds()))
    return;
  std::string whyNot = makeProducer();
  if (!whyNot.empty() && turns && !isOfWorkers(outer)) {
    dropTurns();
    if (!areEdited)
      return;
    whyNot = makeProducer();
  }
  if (!whyNot.empty()) {
    addRemark(assumed.remarks, loop.getLoc(), "no-producer",
              "threads that multiply start its copies: " + whyNot);
    producer.reset();
    return;
  }
  meetsTwice = false;
  takeLoadsAround();
  addRemark(assumed.remarks, loop.getLoc(), "producer",
            "a thread beside the program starts its copies, in a group of warps of its own",
            {{"warps", kProducerWarps}, {"words", wordsBesideProducer()}});
}

void StagePlan::dropTurns() {
  std::tie(stageCount, meetsTwice) = beforeTurns;
  turns.reset();
  producer.reset();
}

int64_t StagePlan::wordsWanted() {
  DotAsyncOp start = delayed ? delayed->start : inFlight->start;
  int64_t words = wordsPerThread(start.getType());
  if (delayed)
    words += wordsPerThread(delayed->before.getType()) + wordsPerThread(start.getLhs().getType());
  return words + (turns ? kOtherWordsOfTurns : kOtherWords);
}

int64_t StagePlan::wordsBesideProducer() {
  return shape.wordsBesideProducer(turns ? kTeams : 1, llvm::any_of(loads, isEdited),
                                   wordsWanted());
}

std::string StagePlan::makeProducer() {
  const int64_t most = wordsBesideProducer();
  guarded.clear();
  if (!given.isEmpty())
    return "what its addresses are made of is loaded in the loop";
  if (wordsWanted() > most)
    return "a thread would want " + std::to_string(wordsWanted()) +
           " registers for sums, operands and others, and has " + std::to_string(most) +
           " beside a producer";
  if (!nest && !isa<func::FuncOp>(loop->getParentOp()))
    return "the loop stands within another one, or in a branch";
  if (chosen.areBehindStores() && !apart)
    return "it reads what the program may have stored";
  if (stageCount < kFewestStagesOfRing && !delayed)
    return "it has too few stages";
  const int64_t programs =
      inFlight ? std::min(room.programsByRegisters(wordsPerThread(inFlight->start.getType())),
                          programsWith(stageCount))
               : 1;
  if (!turns && programs > 1)
    return "there is room for " + std::to_string(programs) +
           " programs on a multiprocessor, which hide each other's waits";
  producer.emplace(loop, [this](LoadOp load) { return mayProducerLoad(load); });
  if (!producer->isComplete())
    return producer->whyNot();
  // The slack is also for maps that it edits.
  if (!turns && !isRoomFor(stageCount, kAlignment / int64_t(sizeof(int64_t))))
    return "shared memory does not suffice for its memory barriers beside the stages";
  SmallVector<Value> offsets;
  for (const AsyncLoad &ahead : loads)
    llvm::append_range(offsets, BlockAtOp(ahead.block->at).getOffsets());
  bool canCompute = producer->add(offsets, loop.getBody()->getTerminator());
  for (const AsyncLoad &ahead : loads)
    if (BlockAtOp at = ahead.block->at; isEdited(ahead)) {
      SmallVector<Value> numbers{at.getBase()};
      llvm::append_range(numbers, at.getShape());
      llvm::append_range(numbers, at.getStrides());
      canCompute = canCompute && producer->add(numbers, outer);
    }
  if (apart)
    canCompute = canCompute && producer->add(apart->numbers(), outer);
  if (!canCompute)
    return "its addresses depend on more than arithmetic: on what the program computes of tiles, "
           "say";
  for (LoadOp load : producer->loads()) {
    SmallVector<ApartArguments> pairs;
    if (allWrites.mayBePassedBy(load, pairs)) {
      for (const ApartArguments &pair : pairs)
        assumeApart(assumed.apart, pair);
      continue;
    }
    if (outer->isProperAncestor(load))
      return "what its addresses are made of is loaded in the loop around it";
    guarded.push_back(load);
  }
  return apart || guarded.empty() ? "" : "it loads numbers that the kernel may store";
}

bool StagePlan::mayProducerLoad(LoadOp load) {
  if (isa<RankedTensorType>(load.getType()))
    return false;
  SmallVector<ApartArguments> pairs;
  return allWrites.mayBePassedBy(load, pairs) || (apart && allWrites.areOwnStores());
}

/// Whether nothing reads the buffer but products of the loop, and not the late one, which may still
/// be under way behind it.
static bool isReadWithin(Value buffer, scf::ForOp loop, Operation *late) {
  return llvm::all_of(buffer.getUsers(), [&](Operation *user) {
    if (isa<ToBufferOp, BufferViewOp>(user))
      return isReadWithin(user->getResult(0), loop, late);
    return loop->isAncestor(user) && user != late;
  });
}

void StagePlan::takeLoadsAround() {
  if (!nest || !delayed)
    return;
  for (auto load : outer.getOps<LoadOp>()) {
    std::optional<AsyncLoad> ahead = chosen.asLoadAround(load, int64_t(around.size()));
    if (!ahead || !load->isBeforeInBlock(loop) || !isReadWithin(load, loop, delayed->start) ||
        !producer->add(SmallVector<Value>(ahead->block->at.getOffsets()), load))
      continue;
    around.push_back(*ahead);
    addRemark(assumed.remarks, load.getLoc(), "pipelined",
              "by the copy engine, while the round before of the loop around ends",
              {{"iterations_ahead", 1},
               {"stages", 1},
               {"through_shared_memory", 1},
               {"stage_bytes", bufferOf(*ahead, 1).getStageBytes()},
               {"by_copy_engine", 1},
               {"across_rounds", 1}});
  }
}

bool StagePlan::areReadElsewhere() {
  return llvm::any_of(loads, [](const AsyncLoad &ahead) {
    return !llvm::all_of(ahead.load->getUsers(), llvm::IsaPred<ToBufferOp>);
  });
}

bool StagePlan::isStageOrStill(Value operand) const {
  Operation *maker = bufferBehind(operand, loop).getDefiningOp();
  return maker && (!loop->isAncestor(maker) || chosen.has(loadBehind(operand)));
}

Operation *StagePlan::loadBehind(Value operand) const {
  auto inLoop = bufferBehind(operand, loop).getDefiningOp<ToBufferOp>();
  return inLoop ? inLoop.getValue().getDefiningOp() : nullptr;
}

DotAsyncOp StagePlan::firstBeforeCopies() {
  auto products = loop.getOps<DotAsyncOp>();
  return chosen.areByThreads() || products.empty() ? DotAsyncOp() : *products.begin();
}

bool StagePlan::countsRounds() {
  if (turns)
    return true;
  DotAsyncOp first = firstBeforeCopies();
  const layout::MatrixInstruction *instruction =
      first && shape.bufferInstruction ? shape.bufferInstruction(first.getInstruction()) : nullptr;
  return instruction && instruction->warpCount() < shape.warpCount && !meetsTwice &&
         !areReadElsewhere();
}

Operation *StagePlan::lastEarlyWait() {
  Operation *last = nullptr;
  for (auto product : loop.getOps<DotAsyncOp>()) {
    if (product == delayed->start)
      continue;
    if (!product->hasOneUse() || !isa<DotWaitOp>(*product->user_begin()))
      return nullptr;
    Operation *wait = *product->user_begin();
    if (wait->getBlock() != loop.getBody())
      return nullptr;
    last = !last || last->isBeforeInBlock(wait) ? wait : last;
  }
  return last && last->isBeforeInBlock(delayed->start) ? last : nullptr;
}

int64_t StagePlan::programsWith(int64_t stages) {
  return room.programsWith(bytesOfStages(stages) + room.still() +
                           room.scratchBeside(besideStages(), StageRoom::Pieces::Least));
}

bool StagePlan::isRoomForPrograms() {
  return isRoomFor(stageCount) &&
         programsWith(stageCount) >= std::min<int64_t>(2, programsByRegisters());
}

int64_t StagePlan::programsByRegisters() {
  int64_t words = 0;
  loop.getBody()->walk([&](Operation *op) {
    if (isa<DotOp, DotAsyncOp>(op))
      words += wordsPerThread(op->getResult(0).getType());
  });
  return room.programsByRegisters(words);
}

void StagePlan::goOnAcrossRounds() {
  outer = dyn_cast<scf::ForOp>(loop->getParentOp());
  if (!outer || chosen.areByThreads())
    return;
  nest.emplace(outer, loop, slice);
  std::string whyNot = nest->whyNot();
  if (whyNot.empty() && !given.isEmpty())
    whyNot = "what its addresses are made of is loaded in the loop";
  if (whyNot.empty() && llvm::any_of(loads, [&](const AsyncLoad &ahead) {
        return ahead.block->isEdited && !isSameThroughout(ahead.block->at, outer);
      }))
    whyNot = "it reads other arrays then, whose addresses are loaded";
  if (whyNot.empty() && chosen.areBehindStores()) {
    SmallVector<ArrayDescribed> read;
    for (const AsyncLoad &ahead : loads)
      read.push_back(ArrayDescribed(ahead.block->at));
    apart = ArraysApart::of(outer, read, analysis);
    if (!apart)
      whyNot = "the engine is to see what is stored in front of it";
  }
  if (whyNot.empty() && hasOtherProductLoops())
    whyNot = "another loop there has products, too";
  if (whyNot.empty() && (!isRoomFor(stageCount) || leavesFewerPrograms()))
    whyNot = "shared memory does not suffice for its stages beside what follows the loop";
  if (whyNot.empty())
    return;
  nest.reset();
  apart.reset();
  addRemark(assumed.remarks, loop.getLoc(), "not-across-rounds",
            "its copies end with it, and begin anew in the next round of the loop around it: " +
                whyNot);
}

bool StagePlan::hasOtherProductLoops() {
  bool has = false;
  outer.getBody()->walk([&](scf::ForOp other) { has |= other != loop && multiplies(other); });
  return has;
}

bool StagePlan::leavesFewerPrograms() {
  int64_t most = INT64_MAX;
  loop.getBody()->walk([&](Operation *op) {
    if (isa<DotOp, DotAsyncOp>(op))
      most = std::min(most, room.programsByRegisters(wordsPerThread(op->getResult(0).getType())));
  });
  const int64_t bytes = bytesOfStages(stageCount),
                later = room.scratchBeside(outer, StageRoom::Pieces::Least) + room.otherBuffers();
  return std::min(most, room.programsWith(bytes + later)) <
         std::min(most, room.programsWith(std::max(bytes, later)));
}

int64_t StagePlan::bytesOfStages(int64_t stages) const {
  int64_t bytes = 0;
  for (const AsyncLoad &ahead : loads)
    bytes += bufferOf(ahead, 1).getStageBytes() * (isFreedEarly(ahead) ? stages - 1 : stages);
  return bytes;
}

bool StagePlan::isFreedEarly(const AsyncLoad &ahead) const {
  if (!delayed)
    return false;
  DotAsyncOp late = delayed->start;
  return ahead.load != loadBehind(late.getRhs());
}

int64_t StagePlan::stagesOf(const AsyncLoad &ahead) const {
  return isFreedEarly(ahead) ? stageCount - 1 : stageCount;
}

bool StagePlan::isRoomFor(int64_t stages, int64_t barriers) {
  return room.otherBuffers() + bytesOfStages(stages) +
             room.scratchBeside(besideStages(), StageRoom::Pieces::Whole) +
             int64_t(sizeof(int64_t)) * barriers <=
         shape.sharedBytes;
}

void StagePlan::notePipelined(const AsyncLoad &ahead) {
  LoadOp load = ahead.load;
  const int64_t stages = stagesOf(ahead);
  auto type = cast<RankedTensorType>(load.getType());
  int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
  addRemark(assumed.remarks, load.getLoc(), "pipelined",
            std::to_string(distance()) +
                (distance() == 1 ? " iteration ahead, through " : " iterations ahead, through ") +
                std::to_string(stages) + " stages in shared memory" +
                (ahead.block ? ", by the copy engine" : "") +
                (nest ? ", on into the next round of the loop around" : ""),
            {{"iterations_ahead", distance()},
             {"stages", stages},
             {"through_shared_memory", 1},
             {"stage_bytes", bytes},
             {"by_copy_engine", ahead.block ? 1 : 0},
             {"across_rounds", nest ? 1 : 0}});
}

//===-- What others ask ---------------------------------------------------------------------===//

/// What is decided of a loop is asked without anything being changed.
template <class Question>
static bool askOf(scf::ForOp loop, const GpuPipelineOptions &options, Question question) {
  const int64_t stages = stagesOf(loop, options.stageCount);
  auto function = loop->getParentOfType<func::FuncOp>();
  if (stages < 2 || !function)
    return false;
  const IndexAnalysis analysis(function);
  PointerProvenance provenance(function);
  const LoopWrites allWrites(function, provenance, options.argumentsOverlap),
      writes(loop, provenance, options.argumentsOverlap);
  GpuAssumptions dropped;
  return question(stages, analysis, writes, allWrites, dropped);
}

bool isFedByEngine(scf::ForOp loop, const GpuPipelineOptions &options) {
  return askOf(loop, options,
               [&](int64_t, const IndexAnalysis &analysis, const LoopWrites &writes,
                   const LoopWrites &allWrites, GpuAssumptions &dropped) {
                 return AheadLoads(loop, options.shape, analysis, writes, allWrites, dropped)
                     .areAllByEngine();
               });
}

bool isFedAcrossRoundsByProducer(scf::ForOp loop, const GpuPipelineOptions &options) {
  return askOf(loop, options,
               [&](int64_t stages, const IndexAnalysis &analysis, const LoopWrites &writes,
                   const LoopWrites &allWrites, GpuAssumptions &dropped) {
                 StagePlan plan(loop, options.shape, stages, analysis, writes, allWrites, dropped);
                 return plan.decide() && plan.nest && plan.producer;
               });
}

} // namespace sectile::optimizer
