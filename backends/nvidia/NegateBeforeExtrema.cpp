#include "backends/nvidia/NegateBeforeExtrema.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

using llvm::StringRef;

namespace sectile::nvidia {

/// "\tnot.b32 \t%r1, %r2;\n\tadd.s32 \t%r1, %r1, 1;" of the operands "%r1, %r2;".
static std::string complementPlusOne(StringRef operands, const std::string &bits) {
  const std::string target = operands.split(',').first.trim().str();
  return "\tnot.b" + bits + " \t" + operands.trim().str() + "\n\tadd.s" + bits + " \t" + target +
         ", " + target + ", 1;";
}

std::string negateBeforeExtrema(std::string ptx) {
  bool hasExtrema = false;
  for (const char *name : {"max.s32", "min.s32", "max.s16", "min.s16"})
    hasExtrema |= ptx.find(name) != std::string::npos; // also of pairs: "max.s16x2"
  if (!hasExtrema)
    return ptx;
  std::string result;
  result.reserve(ptx.size());
  for (StringRef rest = ptx; !rest.empty();) {
    auto [line, behind] = rest.split('\n');
    StringRef text = line.ltrim();
    if (text.consume_front("neg.s32 ") && text.ends_with(";") && text.count(';') == 1)
      result += complementPlusOne(text, "32");
    else if (text.consume_front("neg.s16 ") && text.ends_with(";") && text.count(';') == 1)
      result += complementPlusOne(text, "16");
    else
      result += line;
    result += '\n';
    rest = behind;
  }
  return result;
}

} // namespace sectile::nvidia
