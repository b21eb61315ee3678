#include "backends/plain/TileFormat.h"

#include "backends/plain/FloatFormat.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace sectile::backends {
namespace {

uint64_t loadElement(const void *element, unsigned bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, element, bytes);
  return bits;
}

std::string formatFloat(double value, lang::ScalarKind kind) {
  if (std::isnan(value))
    return "nan";
  char text[64];
  // Enough digits to distinguish neighbouring numbers of the type.
  int digits = kind == lang::ScalarKind::Float64 ? 17 : kind == lang::ScalarKind::Float32 ? 9 : 5;
  for (int shorter = 1; shorter <= digits; ++shorter) {
    std::snprintf(text, sizeof text, "%.*g", shorter, value);
    double reread = std::strtod(text, nullptr);
    if (encodeFloat(reread, kind) == encodeFloat(value, kind))
      break;
  }
  // As Python prints: 20.0, not 2e+01.
  if (double shown = std::strtod(text, nullptr);
      std::strchr(text, 'e') && std::fabs(shown) >= 1 && std::fabs(shown) < 1e16)
    std::snprintf(text, sizeof text, "%.0f", shown);
  // A float is never mistaken for an integer.
  if (std::strpbrk(text, ".eni") == nullptr)
    std::strcat(text, ".0");
  return text;
}

/// The width that all numbers are padded to, so that points are below points. With exponents, and
/// without points, numbers are aligned on the right.
class Columns {
public:
  void add(const std::string &text) {
    widest = std::max(widest, text.size());
    if (size_t point = text.find('.'); point != std::string::npos) {
      before = std::max(before, point);
      after = std::max(after, text.size() - point);
    }
    hasExponents |= text.find('e') != std::string::npos;
  }
  std::string aligned(const std::string &text) const {
    size_t width = hasExponents ? widest : std::max(widest, before + after);
    size_t point = text.find('.');
    size_t right = hasExponents || point == std::string::npos ? 0 : after - (text.size() - point);
    return std::string(width - right - text.size(), ' ') + text + std::string(right, ' ');
  }

private:
  size_t widest = 0, before = 0, after = 0; // the point is counted behind itself
  bool hasExponents = false;
};

class TileLayouter {
public:
  TileLayouter(lang::DType dtype, const std::vector<int64_t> &shape, const void *elements,
               bool isHexadecimal, bool isCutShort)
      : dtype(dtype), shape(shape), bytes(static_cast<const uint8_t *>(elements)),
        isHexadecimal(isHexadecimal), isCutShort(isCutShort) {
    collect(0, 0);
    Columns columns;
    for (const std::string &word : words)
      columns.add(word);
    for (std::string &word : words)
      word = columns.aligned(word);
  }

  int64_t shownCount() const { return static_cast<int64_t>(words.size()); }
  std::string text() const {
    auto next = words.begin();
    return block(0, next);
  }

private:
  bool hasGap(size_t axis) const { return isCutShort && shape[axis] > 2 * kTileEdge; }
  /// `visit(index)` for each index of the axis that is shown, `gap()` between them.
  template <class Visit, class Gap>
  void eachIndex(size_t axis, Visit visit, Gap gap) const {
    int64_t extent = shape[axis];
    int64_t edge = hasGap(axis) ? kTileEdge : extent;
    for (int64_t index = 0; index < edge; ++index)
      visit(index);
    if (edge == extent)
      return;
    gap();
    for (int64_t index = extent - edge; index < extent; ++index)
      visit(index);
  }

  /// Texts of the elements shown, in order.
  void collect(size_t axis, int64_t element) {
    if (axis < shape.size())
      eachIndex(
          axis, [&](int64_t index) { collect(axis + 1, element * shape[axis] + index); }, [] {});
    else
      words.push_back(formatElement(dtype, bytes + element * dtype.bytes(), isHexadecimal));
  }

  using Word = std::vector<std::string>::const_iterator;

  std::string block(size_t axis, Word &next) const {
    return "[" + (axis + 1 == shape.size() ? row(axis, next) : rows(axis, next)) + "]";
  }

  /// Behind axis + 1 brackets; as many may follow it.
  std::string row(size_t axis, Word &next) const {
    const std::string indent(axis + 1, ' ');
    std::string result;
    size_t used = indent.size();
    auto add = [&](const std::string &word) {
      if (used > indent.size() && used + word.size() + axis + 1 > kTileLineWidth) {
        result.back() = '\n';
        result += indent;
        used = indent.size();
      }
      result += word + " ";
      used += word.size() + 1;
    };
    eachIndex(axis, [&](int64_t) { add(*next++); }, [&] { add("..."); });
    result.pop_back();
    return result;
  }

  std::string rows(size_t axis, Word &next) const {
    const std::string separator =
        std::string(shape.size() - axis - 1, '\n') + std::string(axis + 1, ' ');
    std::string result;
    auto add = [&](const std::string &part) { result += result.empty() ? part : separator + part; };
    eachIndex(axis, [&](int64_t) { add(block(axis + 1, next)); }, [&] { add("..."); });
    return result;
  }

  const lang::DType dtype;
  const std::vector<int64_t> &shape;
  const uint8_t *bytes;
  const bool isHexadecimal, isCutShort;
  std::vector<std::string> words;
};

} // namespace

std::string formatElement(lang::DType dtype, const void *element, bool isHexadecimal) {
  unsigned bytes = dtype.bytes();
  uint64_t bits = loadElement(element, bytes);
  char text[32];
  if (isHexadecimal || dtype.isPointer) {
    std::snprintf(text, sizeof text, "0x%0*" PRIx64, static_cast<int>(bytes * 2), bits);
    return text;
  }
  if (dtype.isBool())
    return bits ? "True" : "False";
  if (dtype.isFloat())
    return formatFloat(decodeFloat(bits, dtype.kind), dtype.kind);
  if (dtype.isSignedInt()) {
    unsigned unused = 64 - 8 * bytes;
    return std::to_string(static_cast<int64_t>(bits << unused) >> unused);
  }
  return std::to_string(bits);
}

FormattedTile formatTile(lang::DType dtype, const std::vector<int64_t> &shape, const void *elements,
                         bool isHexadecimal, uint64_t mostElements) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  bool isCutShort = mostElements && static_cast<uint64_t>(count) > mostElements;
  TileLayouter layouter(dtype, shape, elements, isHexadecimal, isCutShort);
  return {layouter.text(), count - layouter.shownCount()};
}

} // namespace sectile::backends
