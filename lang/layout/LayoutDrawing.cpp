#include "lang/layout/LayoutDrawing.h"

#include "lang/layout/Builders.h"
#include "lang/layout/Conversion.h"
#include "lang/layout/LayoutText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <map>

namespace sectile::layout {

namespace {

/// Cells in rows and columns, with a number before each row and above each column.
class Table {
public:
  Table(int64_t rows, int64_t columns, const DrawingSettings &settings)
      : rows(rows), columns(columns), shownRows(std::min(rows, settings.maxRows)),
        shownColumns(std::min(columns, settings.maxColumns)) {}

  template <class CellAt>
  std::string print(int64_t columnStep, CellAt cellAt) const {
    std::vector<std::vector<std::string>> cells(1, {""});
    for (int64_t column = 0; column < shownColumns; ++column)
      cells[0].push_back(std::to_string(column * columnStep));
    for (int64_t row = 0; row < shownRows; ++row) {
      std::vector<std::string> &line = cells.emplace_back(1, std::to_string(row));
      for (int64_t column = 0; column < shownColumns; ++column)
        line.push_back(cellAt(row, column));
    }
    size_t width = 0, firstWidth = 0;
    for (const auto &line : cells) {
      firstWidth = std::max(firstWidth, line[0].size());
      for (const std::string &cell : llvm::drop_begin(line))
        width = std::max(width, cell.size());
    }
    std::string text;
    for (const auto &line : cells) {
      text += std::string(firstWidth - line[0].size() + 2, ' ') + line[0] + " |";
      for (const std::string &cell : llvm::drop_begin(line))
        text += std::string(width - cell.size() + 2, ' ') + cell;
      text += shownColumns < columns ? "  ...\n" : "\n";
    }
    if (shownRows < rows)
      text += llvm::formatv("  ... {0} more rows\n", rows - shownRows).str();
    return text;
  }

  int64_t rows, columns, shownRows, shownColumns;
};

/// "7", or "0-7", or "1,3".
std::string printRegisters(const RegisterGroup &registers) {
  bool isRun = true;
  for (size_t index = 1; index < registers.size(); ++index)
    isRun &= registers[index] == registers[0] + int(index);
  if (registers.size() == 1)
    return std::to_string(registers[0]);
  if (isRun)
    return llvm::formatv("{0}-{1}", registers.front(), registers.back());
  std::string text;
  for (int number : registers)
    text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

std::string plural(int64_t count, llvm::StringRef noun) {
  return llvm::formatv("{0} {1}{2}", count, noun, count == 1 ? "" : "s");
}

/// Extents of the matrix that is drawn: the last two axes.
std::pair<int64_t, int64_t> matrixOf(llvm::ArrayRef<int64_t> shape) {
  if (shape.empty())
    return {1, 1};
  return {shape.size() > 1 ? shape[shape.size() - 2] : 1, shape.back()};
}

Coordinates elementAt(int rank, int64_t row, int64_t column) {
  Coordinates element(rank, 0);
  if (rank > 0)
    element[rank - 1] = column;
  if (rank > 1)
    element[rank - 2] = row;
  return element;
}

std::string summary(const TileLayout &layout) {
  std::string text =
      llvm::formatv("tile {0}: {1} of {2}, {3} per lane\n", printShape(layout.shape()),
                    plural(layout.warpCount(), "warp"), plural(layout.lanesPerWarp(), "lane"),
                    plural(layout.registersPerThread(), "register"));
  text += llvm::formatv("block {0}, repeated {1}", printShape(layout.block().outExtents()),
                        printShape(layout.repetitions()));
  if (layout.isPadded())
    text += "; padded to " + printShape(layout.paddedShape());
  for (Dim dim : {Dim::Lane, Dim::Warp})
    if (Word mask = layout.copyMask(dim))
      text += llvm::formatv("; {0}s with bits {1:x} set hold copies", nameOf(dim), mask);
  return text + "\n";
}

} // namespace

std::string draw(const TileLayout &layout, const DrawingSettings &settings) {
  int rank = layout.rank();
  auto [rows, columns] = matrixOf(layout.shape());
  int64_t width = rank ? layout.contiguousRegisters(rank - 1) : 1;
  Table table(rows, llvm::divideCeil(uint64_t(columns), uint64_t(width)), settings);

  // The thread without copies, and the registers, at the first element of every cell shown.
  struct Holder {
    int64_t warp = 0, lane = 0;
    RegisterGroup registers;
  };
  std::map<std::pair<int64_t, int64_t>, Holder> holders;
  llvm::SmallVector<RegisterGroup, 8> groups;
  if (rank)
    groups = layout.accessGroups(rank - 1, width);
  else
    groups = {{0}};
  Word lanes = layout.copyMask(Dim::Lane), warps = layout.copyMask(Dim::Warp);
  for (int64_t warp = 0; warp < layout.warpCount(); ++warp)
    for (int64_t lane = 0; lane < layout.lanesPerWarp(); ++lane) {
      if (Word(lane) & lanes || Word(warp) & warps)
        continue;
      for (const RegisterGroup &group : groups) {
        Coordinates element = layout.elementOf(group[0], lane, warp);
        int64_t row = rank > 1 ? element[rank - 2] : 0, column = rank ? element[rank - 1] : 0;
        bool isFirstMatrix = true;
        for (int index = 0; index < rank - 2; ++index)
          isFirstMatrix &= element[index] == 0;
        if (isFirstMatrix && row < table.shownRows && column / width < table.shownColumns)
          holders.try_emplace({row, column / width}, Holder{warp, lane, group});
      }
    }

  std::string text = summary(layout);
  text += layout.warpCount() > 1 ? "cells: warp.lane:registers" : "cells: lane:registers";
  if (width > 1)
    text += llvm::formatv(" of {0} neighbours", width);
  if (rank > 2)
    text += ", of the first matrix";
  text += "\n";
  return text + table.print(width, [&](int64_t row, int64_t column) {
    const Holder &holder = holders[{row, column}];
    std::string cell =
        layout.warpCount() > 1 ? llvm::formatv("{0}.", holder.warp).str() : std::string();
    return cell + llvm::formatv("{0}:{1}", holder.lane, printRegisters(holder.registers)).str();
  });
}

//===-- shared memory -------------------------------------------------------------------------===//

namespace {

/// Conflicts of a warp that accesses a matrix with `size` elements per lane and `lanes` lanes along
/// the axes.
std::string conflictsOf(const SharedLayout &layout, unsigned elementBits, Counts size,
                        Counts lanes) {
  int rank = layout.rank();
  llvm::SmallVector<int, 4> order;
  for (int index = rank; index-- > 0;)
    order.push_back(index);
  Extents sizes(rank - 2, 1), threads(rank - 2, 1), ones(rank, 1);
  llvm::append_range(sizes, size);
  llvm::append_range(threads, lanes);
  TileLayout tile = blocked(layout.shape(), sizes, threads, ones, order);
  int64_t elements = 1;
  for (int64_t count : size)
    elements *= count;
  SharedAccess access = accessShared(tile, layout, elementBits, elements * ((elementBits + 7) / 8));
  int64_t conflicts = bankConflicts(access, 32, elementBits);
  return llvm::formatv("{0} per lane, {1}", plural(access.width, "element"),
                       conflicts ? llvm::formatv("{0}-way bank conflicts", conflicts + 1).str()
                                 : std::string("no bank conflicts"));
}

} // namespace

std::string draw(const SharedLayout &layout, unsigned elementBits,
                 const DrawingSettings &settings) {
  int rank = layout.rank();
  auto [rows, columns] = matrixOf(layout.shape());
  int64_t elementBytes = (elementBits + 7) / 8;
  // Neighbours along the last axis that stay neighbours, up to 16 bytes.
  int64_t width = 1;
  LinearLayout block = layout.block();
  while (rank && width * 2 * elementBytes <= 16 && columns % (width * 2) == 0 &&
         block.numConsecutive(Dim::Offset, axis(rank - 1)) >= width * 2)
    width *= 2;
  Table table(rows, llvm::divideCeil(uint64_t(columns), uint64_t(width)), settings);
  std::string text = llvm::formatv("buffer {0} of {1}-bit elements: {2} bytes, block {3}\n",
                                   printShape(layout.shape()), elementBits,
                                   layout.bytes(elementBits), printShape(block.outExtents()));
  if (const RowPadding &padding = layout.padding(); padding.interval)
    text += llvm::formatv("{0} elements of padding after every {1}\n", padding.amount,
                          padding.interval);
  text += "cells: offset in elements @ bank of 4 bytes";
  if (width > 1)
    text += llvm::formatv(", of {0} neighbours", width);
  text += rank > 2 ? ", of the first matrix\n" : "\n";
  text += table.print(width, [&](int64_t row, int64_t column) {
    int64_t offset = layout.offsetOf(elementAt(rank, row, column * width));
    return llvm::formatv("{0}@{1}", offset, offset * elementBytes / 4 % 32).str();
  });
  if (rank < 2)
    return text;
  int64_t piece = std::max<int64_t>(1, 16 / elementBytes);
  text +=
      "a warp along rows:          " + conflictsOf(layout, elementBits, {1, piece}, {1, 32}) + "\n";
  text += "a warp down a column:       " + conflictsOf(layout, elementBits, {1, 1}, {32, 1}) + "\n";
  text +=
      "8 rows of 16 bytes at once: " + conflictsOf(layout, elementBits, {1, piece}, {32, 1}) + "\n";
  return text;
}

//===-- conversions ---------------------------------------------------------------------------===//

std::string drawConversion(const TileLayout &source, const TileLayout &destination,
                           unsigned elementBits) {
  ConversionPlan plan = planConversion(source, destination, elementBits);
  switch (plan.kind) {
  case ConversionKind::Same:
    return "conversion: within each thread, registers are renamed\n";
  case ConversionKind::WithinWarp: {
    const PackedShuffles packed = packShuffles(plan.shuffles, elementBits);
    return llvm::formatv(
        "conversion: within each warp, {0}{1}, {2}\n",
        plural(packed.plan.shuffleCount(elementBits * unsigned(packed.perWord)), "shuffle"),
        packed.plan.isButterfly() ? " (butterfly)" : "",
        plural(packed.plan.selectCount(), "select"));
  }
  case ConversionKind::ThroughShared:
    return llvm::formatv("conversion: through {0} bytes of shared memory in {1}\n"
                         "  writes {2} of {3} per thread, bank conflicts: {4}\n"
                         "  reads {5} of {6} per thread, bank conflicts: {7}\n",
                         plan.shared.bytes, plural(plan.shared.rounds.size(), "round"),
                         plan.shared.write.groups.size(),
                         plural(plan.shared.write.width, "element"),
                         bankConflicts(plan.shared.write, source.lanesPerWarp(), elementBits),
                         plan.shared.read.groups.size(), plural(plan.shared.read.width, "element"),
                         bankConflicts(plan.shared.read, destination.lanesPerWarp(), elementBits));
  case ConversionKind::BetweenBlocks:
    break;
  }
  return "conversion: none, the layouts are of different warps, lanes or blocks\n";
}

} // namespace sectile::layout
