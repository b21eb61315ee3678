//===-- BitSpan.h - linear algebra over F2, a vector per word -----------------------------===//
// A BitSpan is the space spanned by the vectors inserted so far, kept in echelon form, together
// with how each of its vectors is a sum of inserted ones.
//
//   BitSpan span({0b011, 0b110});
//   span.size()            // 2
//   span.express(0b101)    // 0b11: the sum of vectors 0 and 1
//   span.express(0b001)    // nullopt: not in the span
//
// Invariant: no two echelon vectors share their highest bit. At most 64 vectors of 64 bits.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/bit.h"

#include <cstdint>
#include <optional>

namespace sectile::layout {

using Word = uint64_t;
using Words = llvm::SmallVector<Word, 16>;

/// The sum of the words whose bit is set in `selection`: a matrix, given by columns, times a
/// vector.
inline Word combine(llvm::ArrayRef<Word> columns, Word selection) {
  Word sum = 0;
  for (; selection; selection &= selection - 1)
    sum ^= columns[llvm::countr_zero(selection)];
  return sum;
}

class BitSpan {
public:
  BitSpan() = default;
  explicit BitSpan(llvm::ArrayRef<Word> vectors) {
    for (Word vector : vectors)
      insert(vector);
  }

  /// Adds a vector; false when it was in the span already. Dependent vectors count as inserted but
  /// `express` never uses them, so it finds the smallest solution: the one whose bits of
  /// dependent (hence later) vectors are zero.
  bool insert(Word vector) {
    Word index = Word(1) << inserted++;
    Row rest = reduce(vector);
    if (!rest.vector) {
      relations.push_back(rest.sources | index);
      return false;
    }
    rest.sources |= index;
    auto place = rows.begin();
    while (place != rows.end() && place->vector > rest.vector)
      ++place;
    rows.insert(place, rest);
    return true;
  }

  /// Which inserted vectors sum to `vector`.
  std::optional<Word> express(Word vector) const {
    Row rest = reduce(vector);
    if (rest.vector)
      return std::nullopt;
    return rest.sources;
  }
  bool contains(Word vector) const { return !reduce(vector).vector; }

  /// The least of `vector` plus anything in the span, read as a number.
  Word smallest(Word vector) const { return reduce(vector).vector; }

  unsigned size() const { return rows.size(); }
  unsigned insertedCount() const { return inserted; }

  /// A basis of the sums that vanish: one per dependent vector, with that vector's bit as its
  /// highest.
  llvm::ArrayRef<Word> kernel() const { return relations; }

private:
  struct Row {
    Word vector = 0, sources = 0;
  };
  /// From the highest leading bit to the lowest, so that what is left is the least of its class.
  Row reduce(Word vector) const {
    Row rest{vector, 0};
    for (const Row &row : rows)
      if (rest.vector & llvm::bit_floor(row.vector)) {
        rest.vector ^= row.vector;
        rest.sources ^= row.sources;
      }
    return rest;
  }

  llvm::SmallVector<Row, 16> rows;
  llvm::SmallVector<Word, 8> relations;
  unsigned inserted = 0;
};

/// Vectors among `candidates`, in order, that extend `span` to the span of both. They are inserted.
inline Words extend(BitSpan &span, llvm::ArrayRef<Word> candidates) {
  Words added;
  for (Word candidate : candidates)
    if (span.insert(candidate))
      added.push_back(candidate);
  return added;
}

/// A basis of the intersection of two spans, each given by vectors that span it.
inline Words intersect(llvm::ArrayRef<Word> left, llvm::ArrayRef<Word> right) {
  BitSpan both(left);
  unsigned leftCount = both.insertedCount();
  for (Word vector : right)
    both.insert(vector);
  Word leftMask = leftCount == 64 ? ~Word(0) : (Word(1) << leftCount) - 1;
  BitSpan unique;
  Words result;
  for (Word relation : both.kernel()) {
    Word vector = combine(left, relation & leftMask);
    if (vector && unique.insert(vector))
      result.push_back(vector);
  }
  return result;
}

/// The inverse of a square matrix given by columns, or nullopt when it is singular.
inline std::optional<Words> invertColumns(llvm::ArrayRef<Word> columns) {
  BitSpan span(columns);
  Words inverse;
  for (unsigned bit = 0; bit < columns.size(); ++bit) {
    std::optional<Word> sum = span.express(Word(1) << bit);
    if (!sum)
      return std::nullopt;
    inverse.push_back(*sum);
  }
  return inverse;
}

} // namespace sectile::layout
