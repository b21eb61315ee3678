#include "Semantics.h"

namespace sectile::amdisa {
namespace {

/// Names that changed from one generation to another, or have not reached the assembler's.
struct Alias {
  const char *name, *meaning;
};
constexpr Alias kAliases[] = {
    {"V_ADDC_CO_U32", "V_ADDC_U32"},
    {"V_ADD_CO_CI_U32", "V_ADDC_U32"},
    {"V_SUBB_CO_U32", "V_SUBB_U32"},
    {"V_SUB_CO_CI_U32", "V_SUBB_U32"},
    {"V_SUBBREV_CO_U32", "V_SUBBREV_U32"},
    {"V_SUBREV_CO_CI_U32", "V_SUBBREV_U32"},
    {"V_ADD_NC_U32", "V_ADD_U32"},
    {"V_SUB_NC_U32", "V_SUB_U32"},
    {"V_SUBREV_NC_U32", "V_SUBREV_U32"},
    {"V_ADD_NC_I32", "V_ADD_I32"},
    {"V_SUB_NC_I32", "V_SUB_I32"},
    {"V_ADD_NC_U16", "V_ADD_U16"},
    {"V_SUB_NC_U16", "V_SUB_U16"},
    {"V_ADD_NC_I16", "V_ADD_I16"},
    {"V_SUB_NC_I16", "V_SUB_I16"},
    {"V_CLZ_I32_U32", "V_FFBH_U32"},
    {"V_CTZ_I32_B32", "V_FFBL_B32"},
    {"V_CLS_I32", "V_FFBH_I32"},
    {"V_MAD_CO_U64_U32", "V_MAD_U64_U32"},
    {"V_MAD_CO_I64_I32", "V_MAD_I64_I32"},
    {"V_MUL_DX9_ZERO_F32", "V_MUL_LEGACY_F32"},
    {"V_FMA_DX9_ZERO_F32", "V_FMA_LEGACY_F32"},
    {"V_MAD_MIX_F32", "V_FMA_MIX_F32"},
    {"V_MAD_MIXLO_F16", "V_FMA_MIXLO_F16"},
    {"V_MAD_MIXHI_F16", "V_FMA_MIXHI_F16"},
    {"V_MAD_LEGACY_U16", "V_MAD_U16"},
    {"V_MAD_LEGACY_I16", "V_MAD_I16"},
    {"V_CMP_T_F16", "V_CMP_TRU_F16"},
    {"V_CMP_T_F32", "V_CMP_TRU_F32"},
    {"V_CMP_T_F64", "V_CMP_TRU_F64"},
    {"V_EXP_LEGACY_F32", "V_EXP_F32"},
    {"V_LOG_LEGACY_F32", "V_LOG_F32"},
};

} // namespace

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
    for (const Alias &alias : kAliases)
      table.add(alias.name, table.find(alias.meaning));
    return table;
  }();
  return all;
}

} // namespace sectile::amdisa
