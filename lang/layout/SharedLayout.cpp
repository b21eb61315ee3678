#include "lang/layout/SharedLayout.h"

#include "lang/layout/PowersOfTwo.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

namespace sectile::layout {

SharedLayout::SharedLayout(LinearLayout offsets, llvm::ArrayRef<int64_t> shape, RowPadding padding,
                           llvm::ArrayRef<int> repetitionOrder)
    : tileShape(shape), offsetMap(std::move(offsets)), rowPadding(padding) {
  assert(offsetMap.isSurjective());
  if (!rowPadding.amount || !rowPadding.interval)
    rowPadding = {};
  assert(rowPadding.interval <= blockElements());
  for (int index = 0; index < rank(); ++index)
    repeats.push_back(llvm::divideCeil(uint64_t(shape[index]), uint64_t(blockExtent(index))));
  for (int index : repetitionOrder)
    if (repeats[index] > 1)
      orderOfRepeats.push_back(index);
  if (repetitionOrder.empty())
    for (int index = rank(); index-- > 0;)
      if (repeats[index] > 1)
        orderOfRepeats.push_back(index);
}

LinearLayout SharedLayout::block() const {
  std::optional<LinearLayout> inverse = offsetMap.invert();
  assert(inverse && "block of a buffer that holds elements in one place");
  return *inverse;
}

bool SharedLayout::isRepeatedRowMajor() const {
  return llvm::is_sorted(orderOfRepeats, std::greater<int>());
}

int64_t SharedLayout::repetitionStride(int axisNumber) const {
  int64_t stride = blockElements();
  for (int index : orderOfRepeats) {
    if (index == axisNumber)
      break;
    stride *= repeats[index];
  }
  return stride;
}

int64_t SharedLayout::offsetOf(llvm::ArrayRef<int32_t> coordinates) const {
  int64_t offset = 0;
  Word inBlock = 0;
  for (int index = 0; index < rank(); ++index) {
    offset += coordinates[index] / blockExtent(index) * repetitionStride(index);
    inBlock |= offsetMap.packIn({{axis(index), coordinates[index] % blockExtent(index)}});
  }
  return padded(offset + int64_t(offsetMap.apply(inBlock)));
}

int64_t SharedLayout::elements() const {
  int64_t blocks = 1;
  for (int64_t repeat : repeats)
    blocks *= repeat;
  // No padding follows the last element.
  return padded(blocks * blockElements() - 1) + 1;
}

llvm::hash_code hash_value(const SharedLayout &layout) {
  return llvm::hash_combine(
      hash_value(layout.offsetMap), layout.rowPadding.interval, layout.rowPadding.amount,
      llvm::hash_combine_range(layout.tileShape.begin(), layout.tileShape.end()),
      llvm::hash_combine_range(layout.orderOfRepeats.begin(), layout.orderOfRepeats.end()));
}

SharedLayout transpose(const SharedLayout &layout, llvm::ArrayRef<int> order) {
  assert(layout.offsets().isInjective());
  Extents shape;
  for (int axisNumber : order)
    shape.push_back(layout.shape()[axisNumber]);
  llvm::SmallVector<int, 2> repetitionOrder;
  for (int axisNumber : layout.repetitionOrder())
    repetitionOrder.push_back(int(llvm::find(order, axisNumber) - order.begin()));
  return SharedLayout(*layout.block().transposeOuts(order).invert(), shape, layout.padding(),
                      repetitionOrder);
}

//===-- builders ------------------------------------------------------------------------------===//

Extents sharedBlockExtents(llvm::ArrayRef<int64_t> shape) {
  Extents extents;
  for (int64_t extent : shape) {
    int64_t power = lowestBit(extent);
    if (power != extent && power < 8)
      power = extent < 8 ? int64_t(llvm::PowerOf2Ceil(uint64_t(extent)))
                         : lowestBit(llvm::alignTo(uint64_t(extent), 8));
    extents.push_back(power);
  }
  return extents;
}

namespace {

/// The image of each bit of each axis is computed by `imageOf(axis, bit)`.
template <class ImageOf>
SharedLayout fromImages(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> extents,
                        RowPadding padding, ImageOf imageOf) {
  DimList ins;
  Words columns;
  unsigned total = 0;
  for (int index = shape.size(); index-- > 0;) {
    unsigned bits = llvm::Log2_64(extents[index]);
    ins.push_back({axis(index), bits});
    for (unsigned bit = 0; bit < bits; ++bit)
      columns.push_back(imageOf(index, bit));
    total += bits;
  }
  return SharedLayout(
      LinearLayout::fromColumns(std::move(ins), {{Dim::Offset, total}}, std::move(columns)), shape,
      padding);
}

/// Elements from one index of each axis to the next in contiguous storage.
Extents stridesOf(llvm::ArrayRef<int64_t> extents, llvm::ArrayRef<int> order) {
  Extents strides(extents.size(), 1);
  int64_t stride = 1;
  for (int index : order) {
    strides[index] = stride;
    stride *= extents[index];
  }
  return strides;
}

} // namespace

SharedLayout contiguousShared(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int> order) {
  return swizzledShared(shape, order, 1, 1, 1);
}

SharedLayout swizzledShared(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int> order,
                            int64_t vector, int64_t perPhase, int64_t maxPhase) {
  Extents extents = sharedBlockExtents(shape), strides = stridesOf(extents, order);
  int row = order.size() > 1 ? order[1] : -1;
  int64_t columnExtent = order.empty() ? 1 : extents[order[0]];
  return fromImages(shape, extents, {}, [&](int index, unsigned bit) {
    int64_t image = strides[index] << bit;
    if (index == row)
      image ^= ((int64_t(1) << bit) / perPhase % maxPhase * vector) & (columnExtent - 1);
    return Word(image);
  });
}

SharedLayout panelSwizzledShared(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int> order,
                                 unsigned elementBits, int64_t swizzleBytes) {
  Extents extents = sharedBlockExtents(shape);
  int column = order[0], row = order.size() > 1 ? order[1] : -1;
  int64_t piece = 16 * 8 / elementBits;
  int64_t panel = std::min(swizzleBytes * 8 / int64_t(elementBits), extents[column]);
  int64_t perPhase = 128 / swizzleBytes, maxPhase = swizzleBytes / 16;
  Extents panelExtents(extents);
  panelExtents[column] = panel;
  Extents strides = stridesOf(panelExtents, order);
  int64_t panelElements = 1;
  for (int64_t extent : panelExtents)
    panelElements *= extent;
  return fromImages(shape, extents, {}, [&](int index, unsigned bit) {
    int64_t step = int64_t(1) << bit;
    if (index == column && step >= panel)
      return Word(panelElements * (step / panel));
    int64_t image = strides[index] * step;
    if (index == row)
      image ^= (step / perPhase % maxPhase * piece) & (panel - 1);
    return Word(image);
  });
}

SharedLayout paddedShared(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int> order,
                          int64_t amount) {
  Extents extents = sharedBlockExtents(shape), strides = stridesOf(extents, order);
  return fromImages(shape, extents, {extents[order[0]], amount},
                    [&](int index, unsigned bit) { return Word(strides[index] << bit); });
}

} // namespace sectile::layout
