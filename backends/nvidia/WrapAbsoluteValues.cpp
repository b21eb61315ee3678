#include "backends/nvidia/WrapAbsoluteValues.h"

#include "llvm/ADT/StringRef.h"

using llvm::StringRef;

namespace sectile::nvidia {

/// "sad.s32 %r2, %r1, 0, 0;" of the line "abs.s32 %r2, %r1;"; empty for any other line.
static std::string differenceFromZero(StringRef line) {
  StringRef text = line.trim();
  if (!text.consume_front("abs.s") || !text.consume_back(";") || text.contains(';'))
    return {};
  auto [bits, operands] = text.split(' ');
  if (bits != "16" && bits != "32" && bits != "64")
    return {};
  return "\tsad.s" + bits.str() + " \t" + operands.trim().str() + ", 0, 0;";
}

std::string wrapAbsoluteValues(std::string ptx) {
  if (ptx.find("abs.s") == std::string::npos) // those of numbers with a point are "abs.f32" ...
    return ptx;
  std::string result;
  result.reserve(ptx.size());
  for (StringRef rest = ptx; !rest.empty();) {
    auto [line, behind] = rest.split('\n');
    std::string difference = differenceFromZero(line);
    result += difference.empty() ? line.str() : difference;
    result += '\n';
    rest = behind;
  }
  return result;
}

} // namespace sectile::nvidia
