#include "backends/nvidia/SplitWideProducts.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/GraphTraits.h"
#include "llvm/ADT/SCCIterator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <numeric>
#include <vector>

using llvm::StringRef;

namespace sectile::nvidia {

namespace {

/// A basic block of PTX: lines [begin, end), and where control goes behind them.
struct Block {
  size_t begin = 0, end = 0;
  bool multiplies = false; // has wgmma
  llvm::SmallVector<unsigned, 2> next;
};

/// The labels of `text`, which begin with '$'.
llvm::SmallVector<StringRef, 2> labelsIn(StringRef text) {
  llvm::SmallVector<StringRef, 2> labels;
  for (size_t at = text.find('$'); at != StringRef::npos; at = text.find('$', at + 1))
    labels.push_back(text.substr(at).take_while(
        [](char c) { return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.'; }));
  return labels;
}

/// Inline PTX is taken as one piece: where its branches lead stands in it.
std::vector<Block> blocksOf(llvm::ArrayRef<StringRef> lines) {
  std::vector<Block> blocks(1);
  llvm::StringMap<unsigned> numbers;
  llvm::SmallVector<std::pair<unsigned, StringRef>> branches;
  bool isOfUser = false;
  auto begin = [&](size_t line, bool isReached) {
    blocks.back().end = line;
    if (isReached)
      blocks.back().next.push_back(unsigned(blocks.size()));
    blocks.emplace_back().begin = line;
  };
  for (size_t number = 0; number < lines.size(); ++number) {
    StringRef line = lines[number].ltrim();
    if (line.starts_with("// begin inline asm"))
      isOfUser = true;
    else if (line.starts_with("// end inline asm"))
      isOfUser = false;
    blocks.back().multiplies |= line.contains("wgmma.mma_async");
    if (isOfUser)
      continue;
    StringRef text = line.split("//").first.trim();
    if (text.starts_with("$") && text.consume_back(":")) {
      begin(number, /*isReached=*/true);
      numbers[text] = unsigned(blocks.size() - 1);
      continue;
    }
    const bool isPredicated = text.starts_with("@");
    StringRef instruction =
        isPredicated ? text.drop_until([](char c) { return llvm::isSpace(c); }).ltrim() : text;
    const bool leaves = instruction.starts_with("ret;") || instruction.starts_with("exit;");
    if (instruction.starts_with("bra") || instruction.contains(".branchtargets"))
      for (StringRef label : labelsIn(instruction))
        branches.push_back({unsigned(blocks.size() - 1), label});
    if (instruction.starts_with("bra") || instruction.starts_with("brx") || leaves)
      begin(number + 1, isPredicated);
  }
  blocks.back().end = lines.size();
  for (auto [from, label] : branches)
    if (auto target = numbers.find(label); target != numbers.end())
      blocks[from].next.push_back(target->second);
  return blocks;
}

/// A part of the blocks, in the form of LLVM's algorithms.
struct Node {
  unsigned block = 0;
  llvm::SmallVector<Node *, 2> next;
};

} // namespace

} // namespace sectile::nvidia

template <>
struct llvm::GraphTraits<sectile::nvidia::Node *> {
  using NodeRef = sectile::nvidia::Node *;
  using ChildIteratorType = llvm::SmallVector<NodeRef, 2>::iterator;
  static NodeRef getEntryNode(NodeRef node) { return node; }
  static ChildIteratorType child_begin(NodeRef node) { return node->next.begin(); }
  static ChildIteratorType child_end(NodeRef node) { return node->next.end(); }
};

namespace sectile::nvidia {

namespace {

/// Finds the loops in which a product by a constant is to stay as it is: the innermost of those
/// that have wgmma, with all that is in them, and the innermost of the others.
class InnerLoops {
public:
  explicit InnerLoops(llvm::ArrayRef<StringRef> lines)
      : blocks(blocksOf(lines)), isIn(lines.size(), false) {
    llvm::SmallVector<unsigned> all(blocks.size());
    std::iota(all.begin(), all.end(), 0u);
    visit(all);
  }
  bool contains(size_t line) const { return isIn[line]; }

private:
  /// What loops there are among some blocks.
  struct Found {
    bool any = false, thatMultiply = false;
  };

  /// Loops are the strongly connected parts; what is in them is found without the block by which
  /// they are entered. The depth of the recursion is that of the loops.
  Found visit(llvm::ArrayRef<unsigned> some) {
    std::vector<Node> nodes(some.size() + 1);
    llvm::DenseMap<unsigned, Node *> nodeOf;
    for (auto [index, block] : llvm::enumerate(some)) {
      nodes[index].block = block;
      nodeOf[block] = &nodes[index];
      nodes.back().next.push_back(&nodes[index]);
    }
    for (Node &node : llvm::MutableArrayRef(nodes).drop_back())
      for (unsigned next : blocks[node.block].next)
        if (Node *target = nodeOf.lookup(next))
          node.next.push_back(target);
    Found found;
    for (auto part = llvm::scc_begin(&nodes.back()); !part.isAtEnd(); ++part) {
      if (!part.hasCycle())
        continue;
      llvm::SmallVector<unsigned> loop;
      for (const Node *node : *part)
        loop.push_back(node->block);
      const bool multiplies =
          llvm::any_of(loop, [&](unsigned block) { return blocks[block].multiplies; });
      const Found inner = visit(withoutEntry(loop));
      if (multiplies ? !inner.thatMultiply : !inner.any)
        for (unsigned block : loop)
          std::fill(isIn.begin() + ptrdiff_t(blocks[block].begin),
                    isIn.begin() + ptrdiff_t(blocks[block].end), true);
      found.any = true;
      found.thatMultiply |= multiplies;
    }
    return found;
  }

  llvm::SmallVector<unsigned> withoutEntry(llvm::ArrayRef<unsigned> loop) const {
    const llvm::DenseSet<unsigned> inLoop(loop.begin(), loop.end());
    unsigned entry = loop.front();
    for (unsigned from = 0; from < blocks.size(); ++from)
      if (!inLoop.contains(from))
        for (unsigned next : blocks[from].next)
          if (inLoop.contains(next))
            entry = next;
    llvm::SmallVector<unsigned> rest;
    llvm::copy_if(loop, std::back_inserter(rest), [&](unsigned block) { return block != entry; });
    return rest;
  }

  const std::vector<Block> blocks;
  std::vector<bool> isIn;
};

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
  const InnerLoops loops(lines);
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
    if (!loops.contains(number) && !isOfUser)
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
