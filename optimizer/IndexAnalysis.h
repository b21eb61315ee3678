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
// Ranges hold whatever happens. Runs and divisibility by other than powers of two assume, as the
// field does, that arithmetic on indices, integers of 32 bits and more, does not overflow its type.
// Narrower integers wrap, and so does every number that a cast makes narrower:
// `table[i.to(uint8)]`.
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
  /// Of the first element of every run; at least 1. Zero counts as divisible by kMaxDivisibility.
  int64_t divisibility = 1;
  /// Truth values only.
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
  /// No element is negative, unless index arithmetic overflowed.
  bool isNonNegative = false;
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

/// What is assumed of tiles `x % n` where x may be negative for all that is known.
///
/// As in `(program * 256 + arange) % N`, by which kernels keep rows inside a matrix. Signs of
/// sizes, and so of what is computed from the program's number, are not known; if the tile is
/// negative, an index made of it is, too. `AreIndices` takes such a dividend as not negative: where
/// facts only serve accesses to memory (their widths, their common base), an access that this
/// breaks lies before its array already.
enum class Remainders { Exact, AreIndices };

class IndexAnalysis {
public:
  explicit IndexAnalysis(mlir::func::FuncOp function, Remainders remainders = Remainders::Exact);

  /// Facts of an integer, truth value or pointer, scalar or tile. Of anything else: that nothing is
  /// known, with the right extents.
  const IndexFacts &of(mlir::Value value) const;

  /// Elements that one vector access through `pointer` along `dimension` may take: neighbouring in
  /// memory, and where a mask is given, all on or all off.
  int64_t accessRun(mlir::Value pointer, unsigned dimension, mlir::Value mask = {}) const;
  /// Largest power of two (bytes) that divides every address at which a run along `dimension`
  /// starts.
  int64_t alignment(mlir::Value pointer, unsigned dimension) const;

private:
  llvm::DenseMap<mlir::Value, IndexFacts> facts;
};

} // namespace sectile::optimizer
