#include "backends/plain/PrintFormat.h"

#include "backends/plain/FloatFormat.h"
#include "backends/plain/TileFormat.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace sectile::backends {
namespace {

/// "x: " or "x: y * 2 = ".
std::string labelOf(const PrintSite &site, size_t number) {
  std::string_view prefix = site.prefix;
  while (prefix.starts_with(' '))
    prefix.remove_prefix(1);
  while (prefix.ends_with(' '))
    prefix.remove_suffix(1);
  std::string label(prefix);
  if (!label.empty())
    label += label.ends_with(':') || label.ends_with('=') ? " " : ": ";
  std::string name = site.operands[number].name;
  if (site.operands.size() > 1)
    return label + (name.empty() ? "operand " + std::to_string(number + 1) : name) + " = ";
  return label.empty() && !name.empty() ? name + " = " : label;
}

/// "fp32[128x64]".
std::string typeOf(const PrintSite::Operand &operand) {
  std::string text = operand.dtype.name() + "[";
  for (size_t axis = 0; axis < operand.shape.size(); ++axis)
    text += (axis ? "x" : "") + std::to_string(operand.shape[axis]);
  return text + "]";
}

//===-- As Triton does ------------------------------------------------------------------------===//

/// The prefix between spaces and with a colon at its end, by the rules of Triton's device_print.
std::string tritonPrefix(const PrintSite &site) {
  std::string prefix = site.prefix;
  bool hasValues = !site.operands.empty();
  if (!prefix.ends_with(' ') && hasValues)
    prefix += ' ';
  if (!prefix.ends_with(": ") && hasValues)
    prefix.replace(prefix.size() - 1, 1, ": ");
  if (prefix.size() > 2 && !prefix.starts_with(' '))
    prefix = ' ' + prefix;
  return prefix;
}

/// As C's printf does: %f, %p, %i, and 1 or 0 for truth values.
std::string tritonElement(lang::DType dtype, const uint8_t *element, bool isHexadecimal) {
  if (dtype.isPointer) {
    uint64_t address;
    std::memcpy(&address, element, sizeof address);
    char text[32];
    std::snprintf(text, sizeof text, "0x%" PRIx64, address);
    return text;
  }
  if (isHexadecimal)
    return formatElement(dtype, element, true);
  if (dtype.isBool())
    return *element ? "1" : "0";
  if (!dtype.isFloat())
    return formatElement(dtype, element, false);
  uint64_t bits = 0;
  std::memcpy(&bits, element, dtype.bytes());
  char text[400]; // the largest number has 309 digits before the point
  std::snprintf(text, sizeof text, "%f", decodeFloat(bits, dtype.kind));
  return text;
}

/// Digits of the largest index; none where there is only one.
int indexWidth(int64_t extent) {
  return extent == 1 ? 0 : static_cast<int>(std::to_string(extent - 1).size());
}

std::string formatTritonPrint(const PrintSite &site, const std::string &where,
                              const uint8_t *bytes) {
  std::string prefix = tritonPrefix(site), text;
  if (site.operands.empty())
    return where + prefix + "\n";
  for (size_t number = 0; number < site.operands.size(); ++number) {
    const PrintSite::Operand &operand = site.operands[number];
    std::string before = prefix;
    if (site.operands.size() > 1)
      before += "(operand " + std::to_string(number) + ") ";
    uint64_t count = 1;
    for (int64_t extent : operand.shape)
      count *= static_cast<uint64_t>(extent);
    std::vector<int64_t> index(operand.shape.size(), 0);
    for (uint64_t element = 0; element < count; ++element) {
      text += where + " idx (";
      for (size_t axis = 0; axis < index.size(); ++axis) {
        char digits[32];
        std::snprintf(digits, sizeof digits, "%s%*" PRId64, axis ? ", " : "",
                      indexWidth(operand.shape[axis]), index[axis]);
        text += digits;
      }
      text += ")" + before;
      text +=
          tritonElement(operand.dtype, bytes + element * operand.dtype.bytes(), site.isHexadecimal);
      text += '\n';
      for (size_t axis = index.size(); axis-- > 0;) {
        if (++index[axis] < operand.shape[axis])
          break;
        index[axis] = 0;
      }
    }
    bytes += (count * operand.dtype.bytes() + 7) / 8 * 8;
  }
  return text;
}

} // namespace

uint64_t printedBytes(const PrintSite &site) {
  uint64_t bytes = 0;
  for (const PrintSite::Operand &operand : site.operands) {
    uint64_t count = 1;
    for (int64_t extent : operand.shape)
      count *= static_cast<uint64_t>(extent);
    bytes += (count * operand.dtype.bytes() + 7) / 8 * 8;
  }
  return bytes;
}

std::string formatPrint(const PrintSite &site, int64_t program, int64_t gridX, int64_t gridY,
                        const void *data, PrintStyle style) {
  char where[96];
  std::snprintf(where, sizeof where, "pid (%" PRId64 ", %" PRId64 ", %" PRId64 ")", program % gridX,
                program / gridX % gridY, program / gridX / gridY);
  const auto *bytes = static_cast<const uint8_t *>(data);
  if (style.isTriton)
    return formatTritonPrint(site, where, bytes);
  if (site.operands.empty())
    return std::string(where) + " " + site.prefix + "\n";
  std::string text;
  for (size_t number = 0; number < site.operands.size(); ++number) {
    const PrintSite::Operand &operand = site.operands[number];
    std::string line = std::string(where) + " " + labelOf(site, number);
    if (operand.shape.empty()) {
      line += formatElement(operand.dtype, bytes, site.isHexadecimal);
      bytes += 8;
    } else {
      FormattedTile tile =
          formatTile(operand.dtype, operand.shape, bytes, site.isHexadecimal, style.mostElements);
      int64_t count = 1;
      for (int64_t extent : operand.shape)
        count *= extent;
      line += typeOf(operand);
      if (tile.leftOut)
        line += ", " + std::to_string(tile.leftOut) + " of " + std::to_string(count) +
                " elements left out (SECTILE_PRINT_ELEMENTS=" + std::to_string(count) +
                " shows all)";
      bool isShort = tile.text.find('\n') == std::string::npos &&
                     line.size() + 1 + tile.text.size() <= kTileLineWidth;
      line += (isShort ? " " : "\n") + tile.text;
      bytes += (static_cast<uint64_t>(count) * operand.dtype.bytes() + 7) / 8 * 8;
    }
    text += line + "\n";
  }
  return text;
}

} // namespace sectile::backends
