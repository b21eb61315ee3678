#include "backends/PrintFormat.h"

#include "backends/FloatFormat.h"

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
  // Enough digits to tell neighbours of the type apart.
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

/// "(3)", "( 1, 12)": indices are aligned on the widest.
std::string formatIndex(int64_t element, const std::vector<int64_t> &shape) {
  std::string text;
  for (size_t axis = shape.size(); axis-- > 0;) {
    int width = static_cast<int>(std::to_string(shape[axis] - 1).size());
    char number[32];
    std::snprintf(number, sizeof number, "%*" PRId64, width, element % shape[axis]);
    element /= shape[axis];
    text = text.empty() ? std::string(number) : number + (", " + text);
  }
  return "(" + text + ")";
}

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

std::string formatPrint(const PrintSite &site, int64_t program, int64_t gridX, int64_t gridY,
                        const void *data) {
  char where[96];
  std::snprintf(where, sizeof where, "pid (%" PRId64 ", %" PRId64 ", %" PRId64 ") ",
                program % gridX, program / gridX % gridY, program / gridX / gridY);
  if (site.operands.empty())
    return where + site.prefix + "\n";
  std::string text;
  const auto *bytes = static_cast<const uint8_t *>(data);
  for (size_t i = 0; i < site.operands.size(); ++i) {
    const PrintSite::Operand &operand = site.operands[i];
    int64_t count = 1;
    for (int64_t extent : operand.shape)
      count *= extent;
    unsigned size = operand.dtype.bytes();
    for (int64_t element = 0; element < count; ++element) {
      text += where;
      text += "idx " + formatIndex(element, operand.shape) + " " + site.prefix;
      if (site.operands.size() > 1)
        text += " (operand " + std::to_string(i) + ")";
      text += (site.prefix.ends_with(':')    ? " "
               : site.prefix.ends_with(": ") ? ""
                                             : ": ") +
              formatElement(operand.dtype, bytes + element * size, site.isHexadecimal) + "\n";
    }
    bytes += (count * size + 7) / 8 * 8;
  }
  return text;
}

} // namespace sectile::backends
