#include "backends/plain/PrintFormat.h"

#include "backends/plain/TileFormat.h"

#include <cinttypes>
#include <cstdio>

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
                        const void *data, uint64_t mostElements) {
  char where[96];
  std::snprintf(where, sizeof where, "pid (%" PRId64 ", %" PRId64 ", %" PRId64 ") ",
                program % gridX, program / gridX % gridY, program / gridX / gridY);
  if (site.operands.empty())
    return where + site.prefix + "\n";
  std::string text;
  const auto *bytes = static_cast<const uint8_t *>(data);
  for (size_t number = 0; number < site.operands.size(); ++number) {
    const PrintSite::Operand &operand = site.operands[number];
    std::string line = where + labelOf(site, number);
    if (operand.shape.empty()) {
      line += formatElement(operand.dtype, bytes, site.isHexadecimal);
      bytes += 8;
    } else {
      FormattedTile tile =
          formatTile(operand.dtype, operand.shape, bytes, site.isHexadecimal, mostElements);
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
