//===-- Semantics.h - what each instruction does, by LLVM's name ------------------------------===//
#pragma once

#include "Instruction.h"

#include "llvm/ADT/StringMap.h"

namespace sectile::amdisa {

class Semantics {
public:
  void add(const std::string &name, Execute execute) { table[name] = execute; }
  /// Null for an instruction that is not modelled.
  Execute find(llvm::StringRef name) const { return table.lookup(name); }
  unsigned count() const { return table.size(); }

private:
  llvm::StringMap<Execute> table;
};

/// All families.
const Semantics &semantics();

void addScalarArithmetic(Semantics &);
void addScalarControl(Semantics &);
void addScalarMemory(Semantics &);
void addVectorInteger(Semantics &);
void addVectorFloat(Semantics &);
void addVectorDouble(Semantics &);
void addVectorHalf(Semantics &);
void addVectorCompare(Semantics &);
void addVectorConvert(Semantics &);
void addVectorPacked(Semantics &);
void addCrossLane(Semantics &);
void addLds(Semantics &);
void addGlobal(Semantics &);
void addBuffer(Semantics &);
void addMatrix(Semantics &);

} // namespace sectile::amdisa
