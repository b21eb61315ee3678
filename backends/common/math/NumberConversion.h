//===-- NumberConversion.h - narrow floats and conversions between numbers --------------------===//
// f16, bf16 and the fp8 kinds live in memory as integer bits and in registers as f32. These
// functions emit the way between them, for scalars and fixed vectors of any width, without library
// calls.
//
//   llvm::Value *x = emitWiden(builder, host, bits, NarrowFloat::BF16);     // <16 x i16> -> f32
//   llvm::Value *r = emitNarrow(builder, host, x, NarrowFloat::F8E5M2);     // f32 -> <16 x i8>
//   llvm::Value *y = emitRound(builder, host, x, NarrowFloat::F16);         // f32 -> f32
//
// Rounding is correct: once, also from f64 and from integers. What is too large becomes infinity in
// f16 and bf16 when rounding to nearest, the largest finite number toward zero. Conversions to fp8
// saturate, as the instructions of GPUs do: what is too large, and infinity, becomes the largest
// finite number, NaN stays NaN. The fnuz kinds have no negative zero: -0 becomes 0.
#pragma once

#include "backends/common/math/ArithmeticFeatures.h"

#include "llvm/IR/IRBuilder.h"

#include <optional>

namespace mlir {
class Type;
}

namespace sectile::backends {

enum class NarrowFloat { F16, BF16, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ };
enum class FloatRounding { NearestEven, TowardZero };
/// A number of the kind that only changes its form (`Form`) keeps the infinity that e5m2 has.
enum class Narrowing { Conversion, Form };

/// Nothing for any other type.
std::optional<NarrowFloat> narrowFloatOf(mlir::Type type);
/// 8 or 16.
unsigned narrowFloatBits(NarrowFloat kind);
/// The largest finite number.
double largestOf(NarrowFloat kind);

/// i8 or i16 bits -> f32, exactly.
llvm::Value *emitWiden(llvm::IRBuilderBase &builder, const ArithmeticFeatures &host,
                       llvm::Value *bits, NarrowFloat kind);
/// f32 or f64 -> i8 or i16 bits.
llvm::Value *emitNarrow(llvm::IRBuilderBase &builder, const ArithmeticFeatures &host,
                        llvm::Value *value, NarrowFloat kind,
                        FloatRounding rounding = FloatRounding::NearestEven,
                        Narrowing narrowing = Narrowing::Conversion);
/// f32 or f64 -> the f32 that emitWiden(emitNarrow(value)) gives, in fewer instructions where
/// possible.
llvm::Value *emitRound(llvm::IRBuilderBase &builder, const ArithmeticFeatures &host,
                       llvm::Value *value, NarrowFloat kind,
                       FloatRounding rounding = FloatRounding::NearestEven);

/// f64 -> f32.
llvm::Value *emitTruncateDouble(llvm::IRBuilderBase &builder, const ArithmeticFeatures &host,
                                llvm::Value *value, FloatRounding rounding);

/// f32 or f64 -> integers of any width up to 64, toward zero. What does not fit saturates and NaN
/// gives 0, in every lane and at every feature level.
llvm::Value *emitFloatToInt(llvm::IRBuilderBase &builder, const ArithmeticFeatures &host,
                            llvm::Value *value, llvm::Type *integerType, bool isSigned);
/// Integers -> f32 or f64.
llvm::Value *emitIntToFloat(llvm::IRBuilderBase &builder, const ArithmeticFeatures &host,
                            llvm::Value *value, llvm::Type *floatType, bool isSigned);
/// Whether f32 has the integer, whichever it is, by the operation that made it: numbers of a few
/// bits are masked out of words.
bool isExactInFloat(llvm::Value *integer, bool isSigned);
/// Integers -> the f32 that holds the value rounded to `kind`, once.
llvm::Value *emitIntToNarrow(llvm::IRBuilderBase &builder, const ArithmeticFeatures &host,
                             llvm::Value *value, NarrowFloat kind, bool isSigned);

} // namespace sectile::backends
