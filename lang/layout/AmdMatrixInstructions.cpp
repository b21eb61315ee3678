#include "lang/layout/AmdMatrixInstructions.h"

#include "llvm/Support/FormatVariadic.h"

#include <map>

namespace sectile::layout {

namespace {

using enum MatrixElement;
using Table = std::vector<MatrixInstruction>;

constexpr int kRows = 0, kColumns = 1;

/// Steps 1, 2, 4, ... of `count` indices.
LinearLayout steps(int64_t count, Dim in, int axisNumber) {
  return LinearLayout::identity1D(count, in, axis(axisNumber));
}

/// Fills `rhs` by what holds of all of AMD's: B lies in its lanes and registers as the transpose of
/// A does.
MatrixInstruction finished(llvm::StringRef family, MatrixInstruction made) {
  made.m = made.n = made.acc.getOutDimSize(kRows), made.k = made.lhs.getOutDimSize(kColumns);
  made.rhs = made.lhs.transposeOuts({1, 0});
  made.name = llvm::formatv("{0}.m{1}n{2}k{3}.{4}.{5}.{6}", family, made.m, made.n, made.k,
                            nameOf(made.elements.acc), nameOf(made.elements.lhs),
                            nameOf(made.elements.rhs));
  return made;
}

//===-- MFMA ----------------------------------------------------------------------------------===//

constexpr int64_t kMfmaLanes = 64;

/// `size` is 16 or 32, `k` the depth.
MatrixInstruction mfma(int64_t size, int64_t k, MatrixElements elements) {
  MatrixInstruction made;
  made.elements = elements;
  int64_t lanesAlongDepth = kMfmaLanes / size;
  made.lhs = steps(size, Dim::Lane, kRows) * steps(k / lanesAlongDepth, Dim::Register, kColumns) *
             steps(lanesAlongDepth, Dim::Lane, kColumns);
  made.acc = steps(size, Dim::Lane, kColumns);
  if (elements.acc == F64)
    made.acc = made.acc * steps(lanesAlongDepth, Dim::Lane, kRows) * steps(4, Dim::Register, kRows);
  else
    made.acc = made.acc * steps(4, Dim::Register, kRows) *
               steps(lanesAlongDepth, Dim::Lane, kRows) *
               steps(size / 4 / lanesAlongDepth, Dim::Register, kRows);
  return finished("mfma", std::move(made));
}

/// Both sizes; a 32x32 one has half the depth.
void addMfma(Table &table, int64_t depthOf16, MatrixElements elements) {
  table.push_back(mfma(16, depthOf16, elements));
  table.push_back(mfma(32, depthOf16 / 2, elements));
}

void addHalves(Table &table, int64_t depthOf16) {
  addMfma(table, depthOf16, {F16, F16, F32});
  addMfma(table, depthOf16, {BF16, BF16, F32});
}

void addFloats(Table &table) {
  addMfma(table, 4, {F32, F32, F32});
  table.push_back(mfma(16, 4, {F64, F64, F64}));
}

/// All four mixes of two kinds of fp8.
template <class Add>
void forEachFp8(MatrixElement e4m3, MatrixElement e5m2, Add add) {
  for (MatrixElement lhs : {e4m3, e5m2})
    for (MatrixElement rhs : {e4m3, e5m2})
      add(MatrixElements{lhs, rhs, F32});
}

Table gfx90a() {
  Table table;
  addHalves(table, 16);
  addMfma(table, 16, {I8, I8, I32});
  addFloats(table);
  return table;
}

Table gfx942() {
  Table table;
  addHalves(table, 16);
  addMfma(table, 32, {I8, I8, I32});
  addMfma(table, 8, {Tf32, Tf32, F32});
  addFloats(table);
  forEachFp8(E4M3Fnuz, E5M2Fnuz, [&](MatrixElements elements) { addMfma(table, 32, elements); });
  return table;
}

Table gfx950() {
  Table table;
  addHalves(table, 32);
  addHalves(table, 16);
  addMfma(table, 64, {I8, I8, I32});
  addMfma(table, 32, {I8, I8, I32});
  addFloats(table);
  forEachFp8(E4M3, E5M2, [&](MatrixElements elements) { addMfma(table, 32, elements); });
  return table;
}

//===-- WMMA ----------------------------------------------------------------------------------===//

MatrixInstruction wmma11(MatrixElements elements) {
  MatrixInstruction made;
  made.elements = elements;
  made.lhs = steps(16, Dim::Lane, kRows) * LinearLayout::zeros1D(2, Dim::Lane, axis(kRows)) *
             steps(16, Dim::Register, kColumns);
  made.acc =
      steps(16, Dim::Lane, kColumns) * steps(2, Dim::Lane, kRows) * steps(8, Dim::Register, kRows);
  return finished("wmma", std::move(made));
}

MatrixInstruction wmma12(MatrixElements elements) {
  MatrixInstruction made;
  made.elements = elements;
  // A lane's 64 bits of neighbours are followed by the other lane's.
  int64_t neighbours = 64 / bitsOf(elements.lhs);
  made.lhs = steps(16, Dim::Lane, kRows) * steps(neighbours, Dim::Register, kColumns) *
             steps(2, Dim::Lane, kColumns) * steps(8 / neighbours, Dim::Register, kColumns);
  made.acc =
      steps(16, Dim::Lane, kColumns) * steps(8, Dim::Register, kRows) * steps(2, Dim::Lane, kRows);
  return finished("wmma", std::move(made));
}

Table gfx1100() {
  return {wmma11({F16, F16, F32}), wmma11({BF16, BF16, F32}), wmma11({I8, I8, I32})};
}

Table gfx1201() {
  Table table = {wmma12({F16, F16, F32}), wmma12({BF16, BF16, F32}), wmma12({I8, I8, I32})};
  forEachFp8(E4M3, E5M2, [&](MatrixElements elements) { table.push_back(wmma12(elements)); });
  return table;
}

Table asProductsTakeThem(const Table &table) {
  Table forms;
  for (const MatrixInstruction &instruction : table)
    forms.push_back(exchanged(withNeighboursAlongDepth(instruction)));
  for (const MatrixInstruction &instruction : table)
    forms.push_back(withNeighboursAlongDepth(instruction));
  return forms;
}

struct Chip {
  Table instructions, forms;
  explicit Chip(Table table)
      : instructions(std::move(table)), forms(asProductsTakeThem(instructions)) {}
};

const Chip *chipNamed(llvm::StringRef name) {
  static const std::map<std::string, Chip, std::less<>> chips = {
      {"gfx90a", Chip(gfx90a())},   {"gfx942", Chip(gfx942())},   {"gfx950", Chip(gfx950())},
      {"gfx1100", Chip(gfx1100())}, {"gfx1201", Chip(gfx1201())},
  };
  auto found = chips.find(std::string_view(name));
  return found == chips.end() ? nullptr : &found->second;
}

} // namespace

llvm::ArrayRef<MatrixInstruction> amdMatrixInstructions(llvm::StringRef chip) {
  const Chip *found = chipNamed(chip);
  return found ? llvm::ArrayRef(found->instructions) : llvm::ArrayRef<MatrixInstruction>();
}

llvm::ArrayRef<MatrixInstruction> amdProductInstructions(llvm::StringRef chip) {
  const Chip *found = chipNamed(chip);
  return found ? llvm::ArrayRef(found->forms) : llvm::ArrayRef<MatrixInstruction>();
}

} // namespace sectile::layout
