#include "Semantics.h"

namespace sectile::amdisa {

const Semantics &semantics() {
  static const Semantics all = [] {
    Semantics table;
    addScalarArithmetic(table);
    addScalarControl(table);
    addScalarMemory(table);
    addVectorInteger(table);
    addVectorFloat(table);
    addVectorDouble(table);
    addVectorHalf(table);
    addVectorCompare(table);
    addVectorConvert(table);
    addVectorPacked(table);
    addCrossLane(table);
    addLds(table);
    addGlobal(table);
    addBuffer(table);
    addMatrix(table);
    return table;
  }();
  return all;
}

} // namespace sectile::amdisa
