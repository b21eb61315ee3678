// VALU: v_cmp and v_cmpx of every type and relation.
#include "Lanes.h"
#include "RealFunctions.h"
#include "Semantics.h"

namespace sectile::amdisa {
namespace {

template <auto F>
void addBoth(Semantics &table, const std::string &relation) {
  table.add("V_CMP_" + relation, compare<F>);
  table.add("V_CMPX_" + relation, compareToExec<F>);
}

template <class T>
void addIntegers(Semantics &table, const std::string &type) {
  addBoth<[](T, T) { return false; }>(table, "F_" + type);
  addBoth<[](T a, T b) { return a < b; }>(table, "LT_" + type);
  addBoth<[](T a, T b) { return a == b; }>(table, "EQ_" + type);
  addBoth<[](T a, T b) { return a <= b; }>(table, "LE_" + type);
  addBoth<[](T a, T b) { return a > b; }>(table, "GT_" + type);
  addBoth<[](T a, T b) { return a != b; }>(table, "NE_" + type);
  addBoth<[](T a, T b) { return a >= b; }>(table, "GE_" + type);
  addBoth<[](T, T) { return true; }>(table, "T_" + type);
}

/// `S` is what the type's numbers are compared as.
template <class T, class S = T>
void addNumbers(Semantics &table, const std::string &type) {
  addBoth<[](T, T) { return false; }>(table, "F_" + type);
  addBoth<[](T a, T b) { return S(a) < S(b); }>(table, "LT_" + type);
  addBoth<[](T a, T b) { return S(a) == S(b); }>(table, "EQ_" + type);
  addBoth<[](T a, T b) { return S(a) <= S(b); }>(table, "LE_" + type);
  addBoth<[](T a, T b) { return S(a) > S(b); }>(table, "GT_" + type);
  addBoth<[](T a, T b) { return S(a) < S(b) || S(a) > S(b); }>(table, "LG_" + type);
  addBoth<[](T a, T b) { return S(a) >= S(b); }>(table, "GE_" + type);
  addBoth<[](T a, T b) { return S(a) == S(a) && S(b) == S(b); }>(table, "O_" + type);
  addBoth<[](T a, T b) { return S(a) != S(a) || S(b) != S(b); }>(table, "U_" + type);
  addBoth<[](T a, T b) { return !(S(a) >= S(b)); }>(table, "NGE_" + type);
  addBoth<[](T a, T b) { return !(S(a) < S(b) || S(a) > S(b)); }>(table, "NLG_" + type);
  addBoth<[](T a, T b) { return !(S(a) > S(b)); }>(table, "NGT_" + type);
  addBoth<[](T a, T b) { return !(S(a) <= S(b)); }>(table, "NLE_" + type);
  addBoth<[](T a, T b) { return S(a) != S(b); }>(table, "NEQ_" + type);
  addBoth<[](T a, T b) { return !(S(a) < S(b)); }>(table, "NLT_" + type);
  addBoth<[](T, T) { return true; }>(table, "TRU_" + type);
}

uint32_t classOfHalf(uint16_t bits) {
  uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
  bool isNegative = bits >> 15;
  if (exponent == 31)
    return fraction ? (bits >> 9 & 1 ? 2 : 1) : isNegative ? 4 : 512;
  if (exponent != 0)
    return isNegative ? 8 : 256;
  return fraction ? (isNegative ? 16 : 128) : isNegative ? 32 : 64;
}

} // namespace

void addVectorCompare(Semantics &table) {
  addIntegers<int16_t>(table, "I16");
  addIntegers<uint16_t>(table, "U16");
  addIntegers<int32_t>(table, "I32");
  addIntegers<uint32_t>(table, "U32");
  addIntegers<int64_t>(table, "I64");
  addIntegers<uint64_t>(table, "U64");
  addNumbers<F16, float>(table, "F16");
  addNumbers<float>(table, "F32");
  addNumbers<double>(table, "F64");
  addBoth<[](float a, uint32_t b) { return (classOf(a) & b) != 0; }>(table, "CLASS_F32");
  addBoth<[](double a, uint32_t b) { return (classOf(a) & b) != 0; }>(table, "CLASS_F64");
  addBoth<[](uint16_t a, uint32_t b) { return (classOfHalf(a) & b) != 0; }>(table, "CLASS_F16");
}

} // namespace sectile::amdisa
