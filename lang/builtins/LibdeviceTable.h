//===-- LibdeviceTable.h - how functions of the device library are registered --------------------===//
#pragma once

#include "lang/builtins/Polynomial.h"

namespace sectile::lang {

/// `types`: those of the parameters, exactly or such that every number of the type given is one of
/// the type wanted.
void addTyped(BuiltinTable &table, llvm::StringRef signature, llvm::ArrayRef<DType> types,
              std::function<Term(llvm::ArrayRef<Term>)> function);
/// The parameters are floats, fp32 or fp64, that are promoted and broadcast.
void addOfFloats(BuiltinTable &table, llvm::StringRef signature,
                 std::function<Term(llvm::ArrayRef<Term>)> function);
/// The parameters are floats that are promoted and broadcast; each type has a function of its own.
void addForEachWidth(BuiltinTable &table, llvm::StringRef signature,
                     std::function<Term(llvm::ArrayRef<Term>)> ofSingle,
                     std::function<Term(llvm::ArrayRef<Term>)> ofDouble);
/// The parameters are integers of 32 (or `mayBe64`: 64) bits that are promoted and broadcast.
enum class IntegerWidths { Only32, Also64 };
void addOfIntegers(BuiltinTable &table, llvm::StringRef signature, IntegerWidths widths,
                   std::function<Term(llvm::ArrayRef<Term>)> function);

//-- The families of the device library ------------------------------------------------------------
void addLibdeviceBits(BuiltinTable &table);
void addLibdeviceRounding(BuiltinTable &table);
void addSpecialFunctions(BuiltinTable &table);
void addBesselFunctions(BuiltinTable &table);

/// sqrt of the sum of squares of any number of lengths, or one over it, without overflow on the
/// way.
Term euclideanNorm(llvm::ArrayRef<Term> lengths);
Term reciprocalNorm(llvm::ArrayRef<Term> lengths);
/// gamma(x) of fp64.
Term gammaFunction(Term x, Precision precision);

} // namespace sectile::lang
