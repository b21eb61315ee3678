#include "backends/nvidia/NvidiaTensorCopies.h"

#include "backends/plain/TensorMap.h"

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace sectile::nvidia {
namespace {

/// An instruction that orders memory; LLVM neither moves nor repeats it.
void emit(llvm::IRBuilderBase &builder, const std::string &text, llvm::StringRef constraints,
          llvm::ArrayRef<llvm::Value *> operands) {
  llvm::SmallVector<llvm::Type *, 8> types;
  for (llvm::Value *operand : operands)
    types.push_back(operand->getType());
  std::string all = (constraints + (constraints.empty() ? "" : ",") + "~{memory}").str();
  auto *assembly = llvm::InlineAsm::get(llvm::FunctionType::get(builder.getVoidTy(), types, false),
                                        text, all, /*hasSideEffects=*/true);
  llvm::CallInst *call = builder.CreateCall(assembly, operands);
  call->setConvergent();
  call->setDoesNotThrow();
}

} // namespace

void NvidiaTensorCopies::declareMap(llvm::Function &kernel, unsigned parameter) const {
  llvm::LLVMContext &context = kernel.getContext();
  auto *type = llvm::ArrayType::get(llvm::Type::getInt8Ty(context), backends::kTensorMapBytes);
  kernel.addParamAttr(parameter, llvm::Attribute::getWithByValType(context, type));
  kernel.addParamAttr(parameter, llvm::Attribute::getWithAlignment(
                                     context, llvm::Align(backends::kTensorMapAlignment)));
  // The engine reads it where the launch has put it: no copy is made.
  kernel.addParamAttr(parameter, llvm::Attribute::get(context, "nvvm.grid_constant"));
}

void NvidiaTensorCopies::initBarrier(llvm::IRBuilderBase &builder, llvm::Value *barrier,
                                     uint32_t arrivals, llvm::Value *predicate) const {
  emit(builder, "@$1 mbarrier.init.shared::cta.b64 [$0], " + std::to_string(arrivals) + ";", "r,b",
       {barrier, predicate});
}

void NvidiaTensorCopies::arrive(llvm::IRBuilderBase &builder, llvm::Value *barrier,
                                llvm::Value *predicate) const {
  emit(builder, "bar.warp.sync -1;\n\t@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b",
       {barrier, predicate});
}

void NvidiaTensorCopies::endBarrier(llvm::IRBuilderBase &builder, llvm::Value *barrier,
                                    llvm::Value *predicate) const {
  emit(builder, "@$1 mbarrier.inval.shared::cta.b64 [$0];", "r,b", {barrier, predicate});
}

void NvidiaTensorCopies::fence(llvm::IRBuilderBase &builder, bool isGlobal) const {
  emit(builder, isGlobal ? "fence.proxy.async;" : "fence.proxy.async.shared::cta;", "", {});
}

void NvidiaTensorCopies::expect(llvm::IRBuilderBase &builder, llvm::Value *barrier, int64_t bytes,
                                llvm::Value *predicate) const {
  emit(builder,
       "@$1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], " + std::to_string(bytes) + ";",
       "r,b", {barrier, predicate});
}

/// Appends coordinates to the operands of an instruction, the innermost first, and returns their
/// list in its text.
static std::string listOf(llvm::ArrayRef<llvm::Value *> coordinates,
                          llvm::SmallVectorImpl<llvm::Value *> &operands,
                          std::string &constraints) {
  std::string list;
  for (llvm::Value *coordinate : llvm::reverse(coordinates)) {
    list += (list.empty() ? "$" : ", $") + std::to_string(operands.size());
    constraints += ",r";
    operands.push_back(coordinate);
  }
  return list;
}

void NvidiaTensorCopies::copy(llvm::IRBuilderBase &builder, llvm::Value *shared, llvm::Value *map,
                              llvm::ArrayRef<llvm::Value *> coordinates, llvm::Value *barrier,
                              llvm::Value *predicate) const {
  llvm::SmallVector<llvm::Value *, 8> operands{shared, map, barrier, predicate};
  std::string constraints = "r,l,r,b", list = listOf(coordinates, operands, constraints);
  emit(builder,
       "@$3 cp.async.bulk.tensor." + std::to_string(coordinates.size()) +
           "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [$0], [$1, {" + list +
           "}], [$2];",
       constraints, operands);
}

void NvidiaTensorCopies::store(llvm::IRBuilderBase &builder, llvm::Value *map,
                               llvm::ArrayRef<llvm::Value *> coordinates, llvm::Value *shared,
                               llvm::Value *predicate) const {
  llvm::SmallVector<llvm::Value *, 8> operands{map, shared, predicate};
  std::string constraints = "l,r,b", list = listOf(coordinates, operands, constraints);
  emit(builder,
       "@$2 cp.async.bulk.tensor." + std::to_string(coordinates.size()) +
           "d.global.shared::cta.tile.bulk_group [$0, {" + list + "}], [$1];",
       constraints, operands);
}

void NvidiaTensorCopies::commitStores(llvm::IRBuilderBase &builder) const {
  // The group is empty in most threads.
  emit(builder, "cp.async.bulk.commit_group;", "", {});
}

void NvidiaTensorCopies::waitForStores(llvm::IRBuilderBase &builder, bool areWritten,
                                       unsigned pending) const {
  std::string text = areWritten ? "cp.async.bulk.wait_group " : "cp.async.bulk.wait_group.read ";
  emit(builder, text + std::to_string(pending) + ";", "", {});
}

void NvidiaTensorCopies::wait(llvm::IRBuilderBase &builder, llvm::Value *barrier,
                              llvm::Value *parity, llvm::Value *predicate) const {
  // An attempt may end before the phase does. The labels are known within the braces only.
  if (predicate)
    return emit(builder,
                "{\n\t.reg .pred done;\n\t@!$2 bra over;\n"
                "again:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\n"
                "\t@!done bra again;\nover:\n\t}",
                "r,r,b", {barrier, parity, predicate});
  emit(builder,
       "{\n\t.reg .pred done;\n"
       "again:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\n"
       "\t@!done bra again;\n\t}",
       "r,r", {barrier, parity});
}

//===-- Maps that programs edit ---------------------------------------------------------------===//

namespace {

/// Memory of the module for the maps of all programs that run at one time:
///
///   words     one for each of kWords multiprocessors, a bit for each place that is taken
///   nothing   zeros, which arrays without elements begin at
///   places    so many for each word, of `bytes` each
///
/// A program takes a place of the word of its multiprocessor, or where none is free there (which no
/// GPU with up to kWords multiprocessors comes to) of one behind. So launches on several streams
/// and in graphs need no memory of their host's.
class MapPool {
public:
  static constexpr unsigned kWords = 192; // multiprocessors, with some to spare
  static constexpr unsigned kMostThreads = 2048, kMostPlaces = 32; // of a multiprocessor
  static constexpr unsigned kNothingBytes = 128;

  MapPool(llvm::IRBuilderBase &builder, unsigned count, unsigned threads)
      : places(std::clamp(kMostThreads / threads, 1u, kMostPlaces)),
        bytes(count * backends::kTensorMapBytes) {
    llvm::Module &module = *builder.GetInsertBlock()->getModule();
    memory = module.getNamedGlobal(kName);
    if (memory)
      return;
    auto *type =
        llvm::ArrayType::get(builder.getInt8Ty(), start() + uint64_t(kWords) * places * bytes);
    memory = new llvm::GlobalVariable(module, type, /*isConstant=*/false,
                                      llvm::GlobalValue::InternalLinkage,
                                      llvm::Constant::getNullValue(type), kName, nullptr,
                                      llvm::GlobalValue::NotThreadLocal, /*AddressSpace=*/1);
    memory->setAlignment(llvm::Align(kNothingBytes));
  }

  /// Returns the address of the zeros, where there is a pool.
  static llvm::Value *nothing(llvm::IRBuilderBase &builder) {
    return builder.CreateConstGEP1_64(builder.getInt8Ty(),
                                      builder.GetInsertBlock()->getModule()->getNamedGlobal(kName),
                                      nothingStart());
  }
  static constexpr unsigned nothingStart() { return kWords * sizeof(uint32_t); }
  static constexpr unsigned start() { return nothingStart() + kNothingBytes; }
  /// Bits of the places that a word has.
  unsigned mask() const { return unsigned((uint64_t(1) << places) - 1); }

  llvm::GlobalVariable *memory = nullptr;
  const unsigned places; // of a word
  const unsigned bytes;  // of a place

private:
  /// The module has no name that begins like this: kernels are functions of people's languages.
  static constexpr const char *kName = "sectile.tensor.maps";
};

static_assert(MapPool::nothingStart() % MapPool::kNothingBytes == 0);

} // namespace

gpu::RegisterShares NvidiaTensorCopies::shareRegisters(int64_t registers, int64_t threads,
                                                       int64_t others, bool othersEditMaps,
                                                       int64_t wanted) const {
  // Registers are given and taken by eights; of a thread that only starts copies ptxas wants 24.
  // One that edits maps spills nothing with 56; with 40, a few words where it goes from array to
  // array.
  constexpr int64_t kEach = 8, kMost = 255, kMostThreads = 1024;
  constexpr int64_t kOfCopies = 24, kOfMaps = 56, kFewOfMaps = 40;
  const int64_t all = threads + others;
  if (all > kMostThreads)
    return {};
  const int64_t first = registers / all / kEach * kEach;
  if (first > kMost)
    return {.first = kMost};
  auto share = [&](int64_t ofOthers) -> gpu::RegisterShares {
    const int64_t left = first * all - ofOthers * others;
    return {.ofProgram = std::min(left / threads / kEach * kEach, kMost / kEach * kEach),
            .ofOthers = ofOthers,
            .first = first};
  };
  if (!othersEditMaps)
    return share(kOfCopies);
  const gpu::RegisterShares shares = share(kOfMaps);
  return shares.ofProgram >= wanted ? shares : share(kFewOfMaps);
}

void NvidiaTensorCopies::setRegisters(llvm::IRBuilderBase &builder, int64_t words,
                                      bool areMore) const {
  builder.CreateIntrinsic(areMore ? llvm::Intrinsic::nvvm_setmaxnreg_inc_sync_aligned_u32
                                  : llvm::Intrinsic::nvvm_setmaxnreg_dec_sync_aligned_u32,
                          {}, {builder.getInt32(uint32_t(words))});
}

llvm::Value *NvidiaTensorCopies::claimMaps(llvm::IRBuilderBase &builder, unsigned count,
                                           unsigned threads, const gpu::CopyingWarp &warp) const {
  const MapPool pool(builder, count, threads);
  auto number = [](unsigned value) { return std::to_string(value); };
  const std::string words = number(MapPool::kWords);
  // The first thread looks for a bit that is not set, and sets it; its warp then has the address.
  const std::string text =
      "{\n\t.reg .pred is;\n\t.reg .b32 word, bits, bit, lo, hi;\n\t.reg .b64 at;\n"
      "\tmov.b64 $0, 0;\n\t@!$2 bra past;\n\t@!$3 bra over;\n"
      "\tmov.u32 word, %smid;\n"
      "next:\n\trem.u32 word, word, " +
      words +
      ";\n"
      "\tmad.wide.u32 at, word, 4, $1;\n"
      "again:\n\tld.relaxed.gpu.global.b32 bits, [at];\n"
      "\tnot.b32 bits, bits;\n\tand.b32 bits, bits, " +
      number(pool.mask()) +
      ";\n"
      "\tsetp.ne.u32 is, bits, 0;\n\t@is bra take;\n"
      "\tadd.u32 word, word, 1;\n\tbra next;\n"
      "take:\n\tneg.s32 bit, bits;\n\tand.b32 bit, bit, bits;\n"
      "\tatom.acquire.gpu.global.or.b32 bits, [at], bit;\n"
      "\tand.b32 bits, bits, bit;\n\tsetp.ne.u32 is, bits, 0;\n\t@is bra again;\n"
      "\tbfind.u32 bit, bit;\n\tmad.lo.u32 word, word, " +
      number(pool.places) +
      ", bit;\n"
      "\tmad.wide.u32 at, word, " +
      number(pool.bytes) +
      ", $1;\n"
      "\tadd.u64 $0, at, " +
      number(MapPool::start()) +
      ";\n"
      "over:\n\tbar.warp.sync -1;\n\tmov.b64 {lo, hi}, $0;\n"
      "\tshfl.sync.idx.b32 lo, lo, 0, 31, -1;\n\tshfl.sync.idx.b32 hi, hi, 0, 31, -1;\n"
      "\tmov.b64 $0, {lo, hi};\n"
      "past:\n\t}";
  llvm::Type *types[] = {pool.memory->getType(), warp.isHere->getType(), warp.isFirst->getType()};
  auto *assembly =
      llvm::InlineAsm::get(llvm::FunctionType::get(pool.memory->getType(), types, false), text,
                           "=&l,l,b,b,~{memory}", /*hasSideEffects=*/true);
  llvm::CallInst *call = builder.CreateCall(assembly, {pool.memory, warp.isHere, warp.isFirst});
  call->setConvergent();
  call->setDoesNotThrow();
  return builder.CreateAddrSpaceCast(call, builder.getPtrTy());
}

void NvidiaTensorCopies::editMap(llvm::IRBuilderBase &builder, llvm::Value *map,
                                 llvm::Value *scratch, const gpu::ArrayDescription &array,
                                 llvm::Value *isFirst, const gpu::CopyingWarp &warp) const {
  const size_t rank = array.box.size();
  // An array without elements is one element of a box that is all zeros.
  llvm::Value *isEmpty = builder.getFalse();
  for (llvm::Value *extent : array.extents)
    isEmpty = builder.CreateOr(isEmpty, builder.CreateICmpSLT(extent, builder.getInt64(1)));
  std::string constraints, replaced;
  llvm::SmallVector<llvm::Value *, 12> operands;
  auto operand = [&](llvm::Value *value, const char *constraint) {
    constraints += (constraints.empty() ? "" : ",") + std::string(constraint);
    operands.push_back(value);
    return "$" + std::to_string(operands.size() - 1);
  };
  llvm::Value *inGlobal = builder.CreateAddrSpaceCast(map, array.base->getType());
  const std::string at = operand(scratch, "r"), there = operand(inGlobal, "l"),
                    lane = operand(warp.lane, "r"), isHere = operand(warp.isHere, "b"),
                    isAnew = operand(isFirst ? isFirst : builder.getTrue(), "b");
  auto replace = [&](const std::string &field, unsigned bits, const std::string &value,
                     bool isSame = true) {
    replaced += std::string(isSame ? "\t@anew" : "\t@is") + " tensormap.replace.tile." + field +
                ".shared::cta.b1024.b" + std::to_string(bits) + " [" + at + "], " + value + ";\n";
  };
  replace("global_address", 64,
          operand(builder.CreateSelect(isEmpty, MapPool::nothing(builder), array.base), "l"),
          false);
  replace("rank", 32, std::to_string(rank - 1));
  for (size_t dimension = 0; dimension < rank; ++dimension) {
    // They count from the innermost.
    const size_t ours = rank - 1 - dimension;
    const std::string order = std::to_string(dimension) + ", ";
    replace("box_dim", 32, order + std::to_string(array.box[ours]));
    llvm::Value *extent = builder.CreateTrunc(array.extents[ours], builder.getInt32Ty());
    replace("global_dim", 32,
            order + operand(builder.CreateSelect(isEmpty, builder.getInt32(1), extent), "r"),
            false);
    replace("element_stride", 32, order + "1");
    if (dimension > 0) {
      llvm::Value *stride =
          builder.CreateMul(array.strides[ours], builder.getInt64(uint64_t(array.elementBytes)));
      // Rows without elements may lie at any distance.
      stride = builder.CreateSelect(isEmpty, builder.getInt64(16), stride);
      replace("global_stride", 64, std::to_string(dimension - 1) + ", " + operand(stride, "l"),
              false);
    }
  }
  // The codes of PTX's table of field 3: u8, u16, u32 or u64; 32, 64 or 128 bytes.
  const unsigned type = array.elementBytes == 8 ? 4 : unsigned(llvm::Log2_64(array.elementBytes));
  replace("elemtype", 32, std::to_string(type));
  replace("interleave_layout", 32, "0");
  replace("swizzle_mode", 32, std::to_string(llvm::Log2_64(array.swizzleBytes) - 4));
  replace("fill_mode", 32, "0");
  emit(builder,
       "{\n\t.reg .pred is, anew;\n\t.reg .b32 word;\n\t@!" + isHere +
           " bra past;\n"
           "\tmad.lo.u32 word, " +
           lane + ", 4, " + at + ";\n\t@" + isAnew +
           " st.shared.b32 [word], 0;\n"
           "\tbar.warp.sync -1;\n\tsetp.eq.u32 is, " +
           lane + ", 0;\n\tand.pred anew, is, " + isAnew + ";\n" + replaced +
           "\tbar.warp.sync -1;\n"
           "\ttensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync."
           "aligned "
           "[" +
           there + "], [" + at + "], " + std::to_string(backends::kTensorMapBytes) +
           ";\npast:\n\t}",
       constraints, operands);
}

void NvidiaTensorCopies::fenceMap(llvm::IRBuilderBase &builder, llvm::Value *map,
                                  const gpu::CopyingWarp &warp) const {
  emit(builder,
       "@$1 fence.proxy.tensormap::generic.acquire.gpu [$0], " +
           std::to_string(backends::kTensorMapBytes) + ";",
       "l,b", {map, warp.isHere});
}

void NvidiaTensorCopies::releaseMaps(llvm::IRBuilderBase &builder, llvm::Value *memory,
                                     unsigned count, unsigned threads,
                                     const gpu::CopyingWarp &warp) const {
  const MapPool pool(builder, count, threads);
  llvm::Type *wide = builder.getInt64Ty();
  llvm::Value *begin = builder.CreatePtrToInt(
                  builder.CreateAddrSpaceCast(pool.memory, builder.getPtrTy()), wide),
              *at = builder.CreateSub(builder.CreatePtrToInt(memory, wide), begin);
  llvm::Value *place = builder.CreateTrunc(
      builder.CreateUDiv(builder.CreateSub(at, builder.getInt64(MapPool::start())),
                         builder.getInt64(pool.bytes)),
      builder.getInt32Ty());
  llvm::Value *bit = builder.CreateShl(builder.getInt32(1),
                                       builder.CreateURem(place, builder.getInt32(pool.places)));
  llvm::Value *word = builder.CreateGEP(builder.getInt32Ty(), pool.memory,
                                        builder.CreateUDiv(place, builder.getInt32(pool.places)));
  emit(builder, "@$2 red.release.gpu.global.and.b32 [$0], $1;", "l,r,b",
       {word, builder.CreateNot(bit), warp.isFirst});
}

} // namespace sectile::nvidia
