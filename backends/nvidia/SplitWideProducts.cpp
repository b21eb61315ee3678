#include "backends/nvidia/SplitWideProducts.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

using llvm::StringRef;

namespace sectile::nvidia {

namespace {

/// Numbers the lines that stand in a loop: between a label and a branch back to it.
llvm::SmallVector<bool, 0> linesInLoops(llvm::ArrayRef<StringRef> lines) {
  llvm::SmallVector<bool, 0> isInLoop(lines.size(), false);
  llvm::StringMap<size_t> labels;
  for (size_t number = 0; number < lines.size(); ++number) {
    StringRef text = lines[number].split("//").first.trim();
    if (text.consume_back(":")) {
      labels[text] = number;
      continue;
    }
    size_t branch = text.find("bra");
    if (branch == StringRef::npos)
      continue;
    StringRef target = text.substr(text.find('$')).take_until([](char c) { return c == ';'; });
    auto label = labels.find(target.trim());
    if (label != labels.end())
      std::fill(isInLoop.begin() + ptrdiff_t(label->second), isInLoop.begin() + ptrdiff_t(number),
                true);
  }
  return isInLoop;
}

/// The product of "%rd1, %r2, 16;" in halves, of signed ("s32") or unsigned ("u32") factors; empty
/// where the second factor is no constant.
std::string inHalves(StringRef operands, const std::string &kind) {
  auto [target, factors] = operands.split(',');
  auto [variable, constant] = factors.split(',');
  constant = constant.trim();
  int64_t number = 0;
  if (!constant.consume_back(";") || constant.trim().getAsInteger(0, number))
    return "";
  const std::string both = variable.trim().str() + ", " + std::to_string(number) + ";";
  return "\t{ .reg .b32 %sectile_low, %sectile_high; mul.lo." + kind + " %sectile_low, " + both +
         " mul.hi." + kind + " %sectile_high, " + both + " mov.b64 " + target.trim().str() +
         ", {%sectile_low, %sectile_high}; }";
}

} // namespace

std::string splitWideProducts(std::string ptx) {
  if (ptx.find("wgmma.mma_async") == std::string::npos ||
      ptx.find("mul.wide.") == std::string::npos)
    return ptx;
  llvm::SmallVector<StringRef, 0> lines;
  StringRef(ptx).split(lines, '\n');
  const llvm::SmallVector<bool, 0> isInLoop = linesInLoops(lines);
  std::string result;
  result.reserve(ptx.size());
  bool isOfUser = false; // the kernel's own inline PTX
  for (size_t number = 0; number < lines.size(); ++number) {
    std::string split;
    StringRef text = lines[number].ltrim();
    if (text.starts_with("// begin inline asm"))
      isOfUser = true;
    else if (text.starts_with("// end inline asm"))
      isOfUser = false;
    if (!isInLoop[number] && !isOfUser)
      for (const char *kind : {"s32", "u32"})
        if (StringRef rest = text; rest.consume_front(std::string("mul.wide.") + kind))
          split = inHalves(rest, kind);
    result += split.empty() ? lines[number].str() : split;
    if (number + 1 < lines.size())
      result += '\n';
  }
  return result;
}

} // namespace sectile::nvidia
