// Sorting by a bitonic network whose comparators all point one way: what would lie beyond the end
// of a line is greater than everything, so comparators that reach there are left out and any length
// will do. A line is *units*: vectors along the last dimension, or rows of vectors side by side
// along another. Some units at a time (a chunk) are sorted in registers; longer distances pass over
// memory.
//
//   for each chunk: sort it
//   for size = 2 chunks, 4 chunks ...:   unit j of a block of that size meets unit size - 1 - j,
//     for distance = size/4 ... 1 chunk: units at that distance meet,
//     for each chunk: shorter distances, in registers
#include "backends/cpu/KernelEmitter.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::cpu {
namespace {

/// Units that are sorted in registers together.
constexpr int64_t kMostInRegisters = 8;

class LineSorter {
public:
  /// Lines of `extent` elements. Units are `stride` elements apart.
  LineSorter(KernelEmitter &kernel, llvm::Type *element, unsigned lanes, bool isAlongLanes,
             int64_t extent, int64_t stride)
      : kernel(kernel), builder(kernel.builder), vector(llvm::FixedVectorType::get(element, lanes)),
        lanes(lanes), isAlongLanes(isAlongLanes),
        unitCount(isAlongLanes ? llvm::divideCeil(extent, lanes) : extent), stride(stride),
        partial(isAlongLanes ? extent % lanes : 0),
        chunk(std::min<int64_t>(kMostInRegisters, llvm::PowerOf2Ceil(unitCount))) {}

  void sort(llvm::Value *start) {
    line = start;
    if (partial)
      fillPadding();
    forChunks([&](auto &units) { sortInRegisters(units); });
    int64_t phases = llvm::Log2_64_Ceil(unitCount) - llvm::Log2_64(chunk);
    if (phases <= 0)
      return;
    loop(number(0), number(phases), number(1), [&](llvm::Value *phase) {
      llvm::Value *size = builder.CreateShl(number(2 * chunk), phase);
      meetMirrored(size);
      loop(number(0), phase, number(1), [&](llvm::Value *step) {
        meetAt(builder.CreateLShr(builder.CreateLShr(size, 2), step));
      });
      forChunks([&](auto &units) { mergeInRegisters(units, chunk / 2); });
    });
  }

  /// Of a line that rises and falls; its units are a power of two.
  void merge(llvm::Value *start) {
    line = start;
    for (int64_t distance = unitCount / 2; distance >= chunk; distance /= 2)
      meetAt(number(distance));
    forChunks([&](auto &units) { mergeInRegisters(units, chunk / 2); });
  }

private:
  using Units = llvm::SmallVector<llvm::Value *, kMostInRegisters>;

  llvm::ConstantInt *number(int64_t value) { return kernel.index(value); }

  template <class Body>
  void loop(llvm::Value *start, llvm::Value *end, llvm::Value *step, Body body) {
    EmittedLoop made = kernel.beginLoop(start, end, step, {}, /*mayBeEmpty=*/true);
    body(made.induction);
    kernel.endLoop(made, {});
  }

  //-- Memory --------------------------------------------------------------------------------------

  llvm::Value *addressOf(llvm::Value *unit) {
    return builder.CreateGEP(vector->getElementType(), line,
                             builder.CreateMul(unit, number(stride)));
  }
  llvm::Value *load(llvm::Value *unit) {
    auto *access = builder.CreateAlignedLoad(vector, addressOf(unit), align());
    kernel.mark(access, KernelEmitter::MemoryKind::Scratch);
    return access;
  }
  void store(llvm::Value *unit, llvm::Value *value) {
    kernel.mark(builder.CreateAlignedStore(value, addressOf(unit), align()),
                KernelEmitter::MemoryKind::Scratch);
  }
  llvm::Align align() { return llvm::Align(vector->getScalarSizeInBits() / 8); }

  /// Lanes behind the last element are greater than everything, and stay there.
  void fillPadding() {
    llvm::SmallVector<llvm::Constant *, 16> isElement;
    for (unsigned lane = 0; lane < lanes; ++lane)
      isElement.push_back(builder.getInt1(lane < partial));
    llvm::Value *last = number(unitCount - 1);
    auto *greatest = llvm::ConstantInt::get(
        vector, llvm::APInt::getSignedMaxValue(vector->getScalarSizeInBits()));
    store(last, builder.CreateSelect(llvm::ConstantVector::get(isElement), load(last), greatest));
  }

  /// All units, as many at a time as a chunk has; the last chunk may have fewer.
  template <class Body>
  void forChunks(Body body) {
    auto emit = [&](llvm::Value *first, int64_t count) {
      Units units;
      for (int64_t i = 0; i < count; ++i)
        units.push_back(load(builder.CreateAdd(first, number(i))));
      body(units);
      for (int64_t i = 0; i < count; ++i)
        store(builder.CreateAdd(first, number(i)), units[i]);
    };
    int64_t whole = unitCount / chunk * chunk;
    if (whole)
      loop(number(0), number(whole), number(chunk),
           [&](llvm::Value *first) { emit(first, chunk); });
    if (whole != unitCount)
      emit(number(whole), unitCount - whole);
  }

  //-- Comparators over memory ---------------------------------------------------------------------

  void meetUnits(llvm::Value *lower, llvm::Value *upper, bool isMirrored) {
    llvm::Value *a = load(lower), *b = load(upper);
    if (isMirrored)
      b = reversed(b);
    order(a, b);
    store(lower, a);
    store(upper, isMirrored ? reversed(b) : b);
  }

  /// Unit j of each block of `size` units and unit size - 1 - j.
  void meetMirrored(llvm::Value *size) {
    loop(number(0), number(unitCount), size, [&](llvm::Value *block) {
      llvm::Value *last = builder.CreateSub(builder.CreateAdd(block, size), number(1));
      // Partners beyond the end are left out.
      llvm::Value *missing = builder.CreateSub(builder.CreateAdd(block, size), number(unitCount));
      llvm::Value *first = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, missing, number(0));
      loop(first, builder.CreateLShr(size, 1), number(1), [&](llvm::Value *j) {
        meetUnits(builder.CreateAdd(block, j), builder.CreateSub(last, j), isAlongLanes);
      });
    });
  }

  /// Units `distance` apart, in blocks of twice the distance.
  void meetAt(llvm::Value *distance) {
    loop(number(0), number(unitCount), builder.CreateShl(distance, 1), [&](llvm::Value *block) {
      llvm::Value *upper = builder.CreateAdd(block, distance);
      llvm::Value *there = builder.CreateBinaryIntrinsic(
          llvm::Intrinsic::smin, distance, builder.CreateSub(number(unitCount), upper));
      loop(number(0), there, number(1), [&](llvm::Value *j) {
        meetUnits(builder.CreateAdd(block, j), builder.CreateAdd(upper, j), false);
      });
    });
  }

  //-- Comparators in registers --------------------------------------------------------------------

  void order(llvm::Value *&a, llvm::Value *&b) {
    llvm::Value *least = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
    b = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b);
    a = least;
  }

  llvm::Value *reversed(llvm::Value *value) {
    return isAlongLanes ? permuted(value, lanes - 1) : value;
  }

  /// Lane i holds what lane i ^ mask held.
  llvm::Value *permuted(llvm::Value *value, unsigned mask) {
    llvm::SmallVector<int, 16> from;
    for (unsigned lane = 0; lane < lanes; ++lane)
      from.push_back(int(lane ^ mask));
    return builder.CreateShuffleVector(value, from);
  }

  /// Lanes i and i ^ mask meet.
  void meetLanes(llvm::Value *&value, unsigned mask) {
    llvm::Value *least = value, *greatest = permuted(value, mask);
    order(least, greatest);
    unsigned top = llvm::bit_floor(mask);
    llvm::SmallVector<int, 16> from;
    for (unsigned lane = 0; lane < lanes; ++lane)
      from.push_back(int(lane & top ? lane + lanes : lane));
    value = builder.CreateShuffleVector(least, greatest, from);
  }

  void sortInRegisters(Units &units) {
    if (isAlongLanes)
      for (unsigned size = 2; size <= lanes; size *= 2)
        for (llvm::Value *&unit : units) {
          meetLanes(unit, size - 1);
          mergeLanes(unit, size / 4);
        }
    for (size_t size = 2; size < 2 * units.size(); size *= 2) {
      for (size_t lower = 0; lower < units.size(); ++lower)
        if (size_t upper = lower ^ (size - 1); upper > lower && upper < units.size()) {
          llvm::Value *other = reversed(units[upper]);
          order(units[lower], other);
          units[upper] = reversed(other);
        }
      mergeInRegisters(units, size / 4);
    }
  }

  /// Distances of `most` units and less, to the shortest.
  void mergeInRegisters(Units &units, int64_t most) {
    for (size_t distance = most; distance >= 1; distance /= 2)
      for (size_t lower = 0; lower + distance < units.size(); ++lower)
        if (!(lower & distance))
          order(units[lower], units[lower + distance]);
    if (isAlongLanes)
      for (llvm::Value *&unit : units)
        mergeLanes(unit, lanes / 2);
  }

  void mergeLanes(llvm::Value *&unit, unsigned most) {
    for (unsigned distance = most; distance >= 1; distance /= 2)
      meetLanes(unit, distance);
  }

  KernelEmitter &kernel;
  llvm::IRBuilder<> &builder;
  llvm::FixedVectorType *vector;
  unsigned lanes;
  bool isAlongLanes;
  int64_t unitCount, stride;
  unsigned partial;
  int64_t chunk;
  llvm::Value *line = nullptr;
};

} // namespace

LogicalResult KernelEmitter::emitSort(SortOp op) {
  TileBuffer *sorted = allocateFor(op.getResult());
  setBuffer(op.getResult(), sorted);
  writeTile(op.getSrc(), sorted);
  auto shape = op.getType().getShape();
  unsigned axis = op.getAxis(), row = shape.size() - 1;
  while (row > 0 && shape[row] == 1)
    --row;
  const bool isAlongLanes = axis == row;
  const unsigned lanes = lanesFor(shape[row]);

  SmallVector<EmittedLoop> loops;
  llvm::Value *offset = index(0);
  for (unsigned dim = 0; dim <= row; ++dim) {
    if (dim == axis)
      continue;
    loops.push_back(beginLoop(index(0), index(shape[dim]), index(dim == row ? lanes : 1), {},
                              /*mayBeEmpty=*/false));
    offset = builder.CreateAdd(
        offset, builder.CreateMul(loops.back().induction, index(sorted->strides[dim])));
  }
  LineSorter sorter(*this, sorted->element, lanes, isAlongLanes, shape[axis],
                    isAlongLanes ? lanes : sorted->strides[axis]);
  llvm::Value *line = builder.CreateGEP(sorted->element, sorted->base, offset);
  if (op.getBitonic() && llvm::isPowerOf2_64(shape[axis]))
    sorter.merge(line);
  else
    sorter.sort(line);
  for (EmittedLoop &loop : llvm::reverse(loops))
    endLoop(loop, {});
  return success(!hasFailed);
}

} // namespace sectile::cpu
