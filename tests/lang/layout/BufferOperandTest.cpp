// Operands that wgmma reads out of shared memory, against the PTX ISA's description of where it
// looks for them: "Shared Memory Matrix Layout" and "Canonical Layouts".
#include "lang/layout/BufferOperand.h"

#include "lang/layout/LayoutText.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

using namespace sectile::layout;

namespace {

constexpr int64_t kRows[] = {8, 16, 32, 64, 128, 256, 48, 96, 176, 192, 80},
                  kColumns[] = {16, 32, 64, 128, 256, 48, 96, 176, 192, 320};
constexpr unsigned kWidths[] = {8, 16, 32};

/// Swizzle<B, 4, 3> of the PTX ISA, bit by bit: bit 4 + i of the byte's address is changed by bit
/// 7 + i, for i < B. B is 3, 2, 1 where panels have 128, 64, 32 bytes.
int64_t swizzled(int64_t address, int64_t panelBytes) {
  int bits = panelBytes == 128 ? 3 : panelBytes == 64 ? 2 : 1;
  for (int i = 0; i < bits; ++i)
    if (address & (int64_t(128) << i))
      address ^= int64_t(16) << i;
  return address;
}

/// Returns the byte of an element: panels of the contiguous axis lie one behind the other, and in
/// each of them the rows of the other axis.
int64_t expectedByte(int64_t row, int64_t column, int64_t rows, int64_t panelBytes,
                     int64_t elementBytes) {
  int64_t alongRow = column * elementBytes, panel = 0;
  for (; alongRow >= panelBytes; alongRow -= panelBytes)
    ++panel;
  return swizzled(panel * (rows * panelBytes) + row * panelBytes + alongRow, panelBytes);
}

/// Returns how wide panels are: 128 bytes at most, and rows are whole panels.
int64_t expectedPanel(int64_t rowBytes) {
  return rowBytes % 128 == 0 ? 128 : rowBytes % 64 == 0 ? 64 : 32;
}

TEST(BufferOperand, elements_lie_where_ptx_says) {
  for (int64_t rows : kRows)
    for (int64_t columns : kColumns)
      for (unsigned bits : kWidths)
        for (int contiguous : {0, 1}) {
          const int64_t bytes = bits / 8;
          const Extents shape{rows, columns};
          const int64_t along = shape[contiguous], across = shape[1 - contiguous];
          SCOPED_TRACE(testing::Message() << rows << "x" << columns << " of " << bits
                                          << " bits, contiguous along axis " << contiguous);
          SharedLayout shared = bufferOperandLayout(shape, contiguous, bits, along);
          EXPECT_EQ(Extents(shared.shape()), shape);
          EXPECT_EQ(shared.bytes(bits), rows * columns * bytes);
          if (along * bytes % 32) { // no instruction reads so short a row
            EXPECT_EQ(bufferOperandOf(shared, contiguous, bits), std::nullopt);
            EXPECT_EQ(bufferOperandOf(shared, 1 - contiguous, bits), std::nullopt);
            continue;
          }
          const int64_t panel = expectedPanel(along * bytes);
          int wrong = 0;
          for (int64_t row = 0; row < across; ++row)
            for (int64_t column = 0; column < along; ++column) {
              Coordinates at(2, 0);
              at[contiguous] = int32_t(column), at[1 - contiguous] = int32_t(row);
              wrong +=
                  shared.offsetOf(at) * bytes != expectedByte(row, column, across, panel, bytes);
            }
          EXPECT_EQ(wrong, 0);
          // The same buffer is contiguous along the depth of one side, across it for the other.
          for (int depthAxis : {0, 1}) {
            std::optional<BufferOperand> found = bufferOperandOf(shared, depthAxis, bits);
            ASSERT_TRUE(found);
            EXPECT_EQ(found->panelBytes, panel);
            EXPECT_EQ(found->panelStride, across * panel);
            EXPECT_EQ(found->isDepthContiguous, depthAxis == contiguous);
          }
        }
}

// An instruction takes `extent` elements of a row that lie in one panel, or whole panels.
TEST(BufferOperand, panels_are_as_wide_as_an_instruction_takes_elements) {
  struct Expected {
    unsigned bits;
    int64_t extent, panelBytes;
  };
  for (auto [bits, extent, panelBytes] :
       {Expected{16, 16, 32},
        {16, 32, 64},
        {16, 64, 128},
        {16, 128, 128},
        {16, 256, 128},
        {8, 32, 32},
        {8, 64, 64},
        {8, 128, 128},
        {32, 8, 32},
        {32, 16, 64},
        {32, 32, 128},
        // The narrowest panel has more elements than an instruction takes.
        {8, 16, 32},
        {16, 8, 32}})
    for (int contiguous : {0, 1}) {
      SharedLayout shared = bufferOperandLayout({256, 256}, contiguous, bits, extent);
      std::optional<BufferOperand> found = bufferOperandOf(shared, 0, bits);
      ASSERT_TRUE(found) << bits << " bits, " << extent;
      EXPECT_EQ(found->panelBytes, panelBytes) << bits << " bits, " << extent;
      EXPECT_EQ(found->panelStride, 256 * panelBytes);
      Coordinates at(2, 0);
      for (int64_t row : {0, 1, 5, 14, 255})
        for (int64_t column : {0, 1, 9, 63, 200}) {
          at[contiguous] = int32_t(column), at[1 - contiguous] = int32_t(row);
          EXPECT_EQ(shared.offsetOf(at) * bits / 8,
                    expectedByte(row, column, 256, panelBytes, bits / 8));
        }
    }
}

// PTX ISA, "Matrix Descriptor Format": the repeating pattern of the swizzle starts at multiples of
// 1024, 512 and 256 bytes; "Stride Dimension Byte Offset": from eight rows to the next eight.
TEST(BufferOperand, patterns_repeat_after_eight_rows) {
  for (auto [panelBytes, pattern] :
       {std::pair<int64_t, int64_t>{128, 1024}, {64, 512}, {32, 256}}) {
    SharedLayout shared = bufferOperandLayout({64, 256}, 1, 16, panelBytes / 2);
    std::optional<BufferOperand> found = bufferOperandOf(shared, 1, 16);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->alignment(), pattern);
    EXPECT_EQ(found->rowGroupStride(), pattern);
    for (int32_t row = 0; row < 56; ++row)
      for (int32_t column = 0; column < 256; ++column)
        ASSERT_EQ(shared.offsetOf({row + 8, column}) * 2,
                  shared.offsetOf({row, column}) * 2 + pattern);
  }
}

// The layout is read whichever builder has made it.
TEST(BufferOperand, layouts_of_other_makers_are_read) {
  EXPECT_EQ(bufferOperandOf(swizzledShared({64, 64}, {1, 0}, 8, 1, 8), 1, 16),
            (BufferOperand{128, 64 * 128, true}));
  EXPECT_EQ(bufferOperandOf(swizzledShared({64, 32}, {1, 0}, 8, 2, 4), 0, 16),
            (BufferOperand{64, 64 * 64, false}));
  EXPECT_EQ(bufferOperandOf(swizzledShared({16, 64}, {0, 1}, 8, 4, 2), 0, 16),
            (BufferOperand{32, 64 * 32, true}));
  EXPECT_EQ(bufferOperandOf(panelSwizzledShared({8, 256}, {1, 0}, 8, 64), 1, 8),
            (BufferOperand{64, 8 * 64, true}));
}

TEST(BufferOperand, a_transposed_layout_is_the_other_way_round) {
  for (int contiguous : {0, 1}) {
    SharedLayout shared = bufferOperandLayout({64, 128}, contiguous, 16, 128);
    for (int depthAxis : {0, 1}) {
      auto found = bufferOperandOf(shared, depthAxis, 16);
      ASSERT_TRUE(found);
      EXPECT_EQ(bufferOperandOf(transpose(shared, {1, 0}), 1 - depthAxis, 16), found);
      auto turned = bufferOperandOf(transpose(shared, {1, 0}), depthAxis, 16);
      ASSERT_TRUE(turned);
      EXPECT_NE(turned->isDepthContiguous, found->isDepthContiguous);
      EXPECT_EQ(turned->panelStride, found->panelStride);
    }
  }
}

//===-- What is refused -----------------------------------------------------------------------===//

/// Whether the layout is refused whichever axis is summed over.
testing::AssertionResult isRefused(const SharedLayout &shared, unsigned bits) {
  for (int depthAxis : {0, 1})
    if (auto found = bufferOperandOf(shared, depthAxis, bits))
      return testing::AssertionFailure()
             << print(shared) << " is read in panels of " << found->panelBytes << " bytes";
  return testing::AssertionSuccess();
}

TEST(BufferOperand, rows_without_swizzle_are_refused) {
  for (int64_t columns : {16, 32, 64, 128})
    for (int contiguous : {0, 1})
      EXPECT_TRUE(isRefused(contiguousShared({64, columns}, {contiguous, 1 - contiguous}), 16));
  // Eight rows are enough for the swizzle to show.
  EXPECT_TRUE(isRefused(contiguousShared({8, 16}, {1, 0}), 16));
}

TEST(BufferOperand, swizzles_of_another_period_are_refused) {
  // Rows of 128 bytes: the number of the row modulo 8 changes pieces of 16 bytes.
  EXPECT_TRUE(isRefused(swizzledShared({64, 64}, {1, 0}, 8, 2, 8), 16));
  EXPECT_TRUE(isRefused(swizzledShared({64, 64}, {1, 0}, 8, 1, 4), 16));
  EXPECT_TRUE(isRefused(swizzledShared({64, 64}, {1, 0}, 8, 2, 4), 16));
  EXPECT_TRUE(isRefused(swizzledShared({64, 64}, {1, 0}, 4, 1, 8), 16));
  EXPECT_TRUE(isRefused(swizzledShared({64, 64}, {1, 0}, 4, 1, 16), 16));
  // Rows of 64 bytes: half that number modulo 4; of 32 bytes: a fourth of it modulo 2.
  EXPECT_TRUE(isRefused(swizzledShared({64, 32}, {1, 0}, 8, 1, 4), 16));
  EXPECT_TRUE(isRefused(swizzledShared({64, 32}, {1, 0}, 8, 4, 4), 16));
  EXPECT_TRUE(isRefused(swizzledShared({64, 16}, {1, 0}, 8, 1, 2), 16));
  EXPECT_TRUE(isRefused(swizzledShared({64, 16}, {1, 0}, 8, 2, 2), 16));
  // Rows of 256 bytes that are no panels.
  EXPECT_TRUE(isRefused(swizzledShared({64, 128}, {1, 0}, 8, 1, 8), 16));
}

TEST(BufferOperand, elements_of_another_width_are_refused) {
  for (unsigned bits : kWidths)
    for (unsigned others : kWidths)
      for (int contiguous : {0, 1}) {
        SharedLayout shared = bufferOperandLayout({64, 64}, contiguous, bits, 64);
        if (others != bits) {
          EXPECT_TRUE(isRefused(shared, others)) << bits << " as " << others;
        }
      }
}

TEST(BufferOperand, padded_rows_are_refused) {
  EXPECT_TRUE(isRefused(paddedShared({64, 64}, {1, 0}, 8), 16));
  SharedLayout shared = bufferOperandLayout({64, 64}, 1, 16, 64);
  ASSERT_TRUE(bufferOperandOf(shared, 1, 16));
  for (int64_t interval : {64, 512, 2048})
    EXPECT_TRUE(isRefused(SharedLayout(shared.offsets(), {64, 64}, {interval, 8}), 16));
}

// Blocks of a tile of 192 rows have 64: the second starts behind all panels of the first, which is
// no panel's next row unless there is one panel.
TEST(BufferOperand, blocks_of_several_panels_are_refused) {
  for (int rows : {0, 1}) {
    const llvm::SmallVector<int> order{1 - rows, rows};
    Extents shape{64, 64};
    shape[rows] = 192;
    SharedLayout onePanel = panelSwizzledShared(shape, order, 16, 128);
    EXPECT_EQ(bufferOperandOf(onePanel, 1 - rows, 16), (BufferOperand{128, 192 * 128, true}));
    shape[1 - rows] = 128;
    EXPECT_TRUE(isRefused(panelSwizzledShared(shape, order, 16, 128), 16));
    // Panels follow one another.
    EXPECT_FALSE(isRefused(bufferOperandLayout(shape, 1 - rows, 16, 64), 16));
  }
}

// What begins a block elsewhere than its number says.
TEST(BufferOperand, repetitions_in_another_order_are_refused) {
  SharedLayout shared = bufferOperandLayout({192, 192}, 1, 16, 64);
  ASSERT_FALSE(isRefused(shared, 16));
  EXPECT_EQ(shared.repetitionOrder(), (llvm::ArrayRef<int>{0, 1}));
  EXPECT_TRUE(isRefused(SharedLayout(shared.offsets(), {192, 192}, {}, {1, 0}), 16));
}

TEST(BufferOperand, fewer_than_eight_rows_are_refused) {
  for (int64_t rows : {1, 2, 4})
    for (int64_t bytes : {32, 64, 128}) {
      EXPECT_TRUE(isRefused(panelSwizzledShared({rows, 64}, {1, 0}, 16, bytes), 16));
      EXPECT_TRUE(isRefused(panelSwizzledShared({64, rows}, {0, 1}, 16, bytes), 16));
    }
  EXPECT_FALSE(isRefused(panelSwizzledShared({8, 64}, {1, 0}, 16, 128), 16));
}

TEST(BufferOperand, only_matrices_are_operands) {
  EXPECT_TRUE(isRefused(panelSwizzledShared({4, 64, 64}, {2, 1, 0}, 16, 128), 16));
  EXPECT_TRUE(isRefused(panelSwizzledShared({64, 64, 1}, {1, 0, 2}, 16, 128), 16));
  EXPECT_TRUE(isRefused(contiguousShared({64}, {0}), 16));
}

/// Returns the layout with another image of one bit of an axis; nullopt where two elements would
/// share a place.
std::optional<SharedLayout> changed(const SharedLayout &shared, unsigned column, Word image) {
  const LinearLayout &offsets = shared.offsets();
  Words columns(offsets.columns());
  columns[column] = image;
  LinearLayout other =
      LinearLayout::fromColumns(DimList(offsets.inDims()), DimList(offsets.outDims()), columns);
  if (!other.isInvertible())
    return std::nullopt;
  return SharedLayout(other, shared.shape());
}

TEST(BufferOperand, one_step_elsewhere_is_refused) {
  int tried = 0;
  for (auto [bits, extent] : {std::pair<unsigned, int64_t>{16, 64}, {16, 16}, {8, 64}, {32, 32}})
    for (int contiguous : {0, 1}) {
      SharedLayout shared = bufferOperandLayout({64, 128}, contiguous, bits, extent);
      ASSERT_FALSE(isRefused(shared, bits));
      auto columns = shared.offsets().columns();
      for (unsigned column = 0; column < columns.size(); ++column) {
        // One bit of one step, then two steps that have changed places.
        for (unsigned bit = 0; bit < columns.size(); ++bit)
          if (auto other = changed(shared, column, columns[column] ^ Word(1) << bit)) {
            EXPECT_TRUE(isRefused(*other, bits)) << column << ", " << bit;
            ++tried;
          }
        for (unsigned with = 0; with < column; ++with) {
          Words exchanged(columns);
          std::swap(exchanged[column], exchanged[with]);
          const LinearLayout &offsets = shared.offsets();
          SharedLayout other(LinearLayout::fromColumns(DimList(offsets.inDims()),
                                                       DimList(offsets.outDims()), exchanged),
                             shared.shape());
          EXPECT_TRUE(isRefused(other, bits)) << column << " <-> " << with;
          ++tried;
        }
      }
    }
  EXPECT_GT(tried, 1000);
}

} // namespace
