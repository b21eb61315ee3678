//===-- IndexAnalysis.h - what is known of integers, masks and pointers, per dimension --------===//
// Answers, for every integer, truth value and pointer of a kernel: how do neighbouring elements
// relate along each dimension, what divides them, between which numbers do they lie? Contiguous
// loads, packing, alignment and masks that need no test all follow from it.
//
//   %i = tile.arange 0, 128 : tensor<128xi32>  run 128 of stride 1, starting at multiples of 128
//   %b = arith.muli %pid, %c128 : i32          a multiple of 128
//   %x = %i + splat(%b)                        run 128 of stride 1, starting at multiples of 128
//   %p = tile.ptr_add splat(%ptr), %x          run 128 of stride 1 (elements), 16-byte aligned
//   %m = arith.cmpi slt, %x, splat(%n)         a prefix mask; constant in runs of 16 if 16 | %n
//
// Along one dimension, the others held fixed, a value is a sequence f(0), f(1), ... f(extent-1). It
// is cut into *aligned runs* [0, run), [run, 2 run), ...; the last may be short. The laws of the
// facts:
//   (Run)          f(i+1) - f(i) == stride for i, i+1 of one aligned run. Pointers: in elements.
//   (Divisibility) divisibility divides f(i) at the start of every aligned run. Pointers: in bytes.
//   (Range)        low <= f(i) <= high, as a signed number; truth values are 0 and 1.
//   (Prefix)       of truth values: f(i) >= f(i+1), so a row is trues followed by falses.
// Contiguity is a run of stride one, constancy a run of stride zero; no value has both.
//
// Integers wrap, and facts say so: sums and products that may have left their type are runs modulo
// 2^width (`modulusBits`), which is all that further sums, products and addresses need. What looks
// at the number itself (a comparison, a quotient, a remainder, a shift to the right) gets the runs
// that no wrap can cut: (Wrap) in WrappingRules.cpp. Numbers of fewer than 32 bits are cut at once.
//
// Two things are assumed, as the field does, and of addresses only, never of the value of a mask or
// of anything stored; facts that rest on them are marked `isOffset` and `isAssumed`:
//   (Offset)  an offset did not wrap before it was widened and added to a pointer: the address
//             would lie 2^width elements away.
//   (Sign)    what is made of program numbers, loop counters and sizes without a minus sign is not
//             negative: scalars of unknown size do not overflow when they are added to or
//             multiplied by numbers that are not negative, and a scalar that divides such a number
//             is positive. So `(program * 128 + arange) % n` is rising between multiples of n, and
//             `(arange + argument) % n` is not: the argument may be negative.
//
// The analysis is made once for a function and is out of date when the function changes.
#pragma once

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Value.h"

#include <limits>
#include <optional>

namespace sectile::optimizer {

inline constexpr int64_t kMaxDivisibility = int64_t(1) << 62;

/// Facts along one dimension.
struct DimensionFacts {
  int64_t extent = 1;
  /// Length of the aligned runs, in [1, extent]. `extent` means that the whole dimension is one
  /// run.
  int64_t run = 1;
  /// Within a run; meaningless (and 0) when run is 1. In units of `strideSymbol` when that is set:
  /// a scalar integer of the kernel, as in `row * stride_m`.
  int64_t stride = 0;
  mlir::Value strideSymbol;
  /// Divides the first element of every run; at least 1. Zero counts as divisible by
  /// kMaxDivisibility.
  int64_t divisibility = 1;
  /// (Prefix) of truth values: a row is trues followed by falses.
  bool isPrefix = false;

  /// Length of runs of consecutive numbers (neighbouring elements of memory, for pointers).
  int64_t contiguity() const { return stride == 1 && !strideSymbol ? run : 1; }
  /// Length of runs of equal elements.
  int64_t constancy() const { return stride == 0 && !strideSymbol ? run : 1; }
  bool isContiguous() const { return contiguity() == extent; }
  bool isConstant() const { return constancy() == extent; }
  /// One stride over the whole extent.
  bool isStrided() const { return run == extent; }

  friend bool operator==(const DimensionFacts &, const DimensionFacts &) = default;
};

struct IndexFacts {
  /// One per dimension; a scalar has one of extent 1.
  llvm::SmallVector<DimensionFacts, 2> dimensions;
  /// Signed, all elements. Of pointers: nothing.
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();
  /// No element is negative, by assumption (Sign) where `low` is.
  bool isNonNegative = false;
  /// Not 0: a number may have left a type of so many bits, so (Run) and (Divisibility) hold modulo
  /// 2^modulusBits.
  unsigned modulusBits = 0;
  /// (Run) and (Divisibility) hold where assumption (Offset) does: of an offset, not of the number.
  bool isOffset = false;
  /// They hold where assumption (Sign) does.
  bool isAssumed = false;
  /// The scalar of the kernel that every element equals, when there is one (a splat's source).
  mlir::Value scalar;

  /// All elements are equal.
  bool isUniform() const;
  /// The one number this is, when it is known.
  std::optional<int64_t> constant() const {
    return low == high ? std::optional(low) : std::nullopt;
  }
  /// What divides every element (bytes, of pointers), by `elementBytes` when strides count
  /// elements.
  int64_t commonDivisor(int64_t elementBytes = 1) const;

  friend bool operator==(const IndexFacts &, const IndexFacts &) = default;
};

class IndexAnalysis {
public:
  /// What is known of the kernel's integer arguments besides.
  enum class Integers : uint8_t { Any, NotNegative };
  explicit IndexAnalysis(mlir::func::FuncOp function, Integers arguments = Integers::Any);

  /// Facts of an integer, truth value or pointer, scalar or tile. Of anything else: that nothing is
  /// known, with the right extents.
  const IndexFacts &of(mlir::Value value) const;

  /// Elements that one vector access through `pointer` along `dimension` may take: neighbouring in
  /// memory, and where a mask is given, all on or all off.
  int64_t accessRun(mlir::Value pointer, unsigned dimension, mlir::Value mask = {}) const;
  /// Length of aligned runs along a dimension within which a truth value is trues followed by
  /// falses.
  int64_t prefixRun(mlir::Value mask, unsigned dimension) const;
  /// Are all elements different, for all that is known of them?
  bool isInjective(mlir::Value value) const;
  /// Largest power of two (bytes) that divides every address at which a run along `dimension`
  /// starts.
  int64_t alignment(mlir::Value pointer, unsigned dimension) const;

private:
  llvm::DenseMap<mlir::Value, IndexFacts> facts;
};

/// Does `value` become addresses and nothing else? Facts that are assumed may then shape how it is
/// computed.
bool servesAddressesOnly(mlir::Value value);

} // namespace sectile::optimizer
