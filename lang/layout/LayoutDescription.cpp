// Descriptions such as "blocked 128x64 f16 warps=4".
#include "lang/layout/AmdMatrixInstructions.h"
#include "lang/layout/Builders.h"
#include "lang/layout/LayoutDrawing.h"
#include "lang/layout/LayoutText.h"
#include "lang/layout/NvidiaMatrixInstructions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace sectile::layout {

namespace {

constexpr int64_t kMaxElements = int64_t(1) << 24;

bool readNumbers(llvm::StringRef text, char separator, Extents &numbers) {
  llvm::SmallVector<llvm::StringRef, 4> parts;
  text.split(parts, separator);
  for (llvm::StringRef part : parts)
    if (part.getAsInteger(10, numbers.emplace_back()) || numbers.back() < 0)
      return false;
  return true;
}

unsigned bitsOfType(llvm::StringRef name) {
  return llvm::StringSwitch<unsigned>(name)
      .Cases({"i1", "i8", "f8", "fp8"}, 8)
      .Cases({"f16", "fp16", "bf16", "i16"}, 16)
      .Cases({"f32", "fp32", "tf32", "i32"}, 32)
      .Cases({"f64", "fp64", "i64"}, 64)
      .Default(0);
}

/// The words of a description, and its options by name.
class Description {
public:
  std::string kind;
  Extents shape;
  unsigned elementBits = 32;
  /// The chip whose matrix instructions are meant, and one of them:
  /// "gfx942:mfma.m32n32k8.f32.f16.f16".
  std::string chip, instruction;

  Description(llvm::StringRef text, std::string &problem) : problem(problem) {
    llvm::SmallVector<llvm::StringRef, 8> words;
    llvm::SplitString(text, words);
    for (llvm::StringRef word : words) {
      auto [name, value] = word.split('=');
      if (name.size() < word.size()) {
        Extents &numbers = options[name];
        numbers.clear();
        if (!readNumbers(value, ',', numbers))
          refuse("option " + word + " should have numbers: " + name + "=1,8");
      } else if (kind.empty()) {
        kind = word.str();
      } else if (llvm::isDigit(word[0])) {
        int64_t elements = 1;
        if (!shape.empty() || !readNumbers(word, 'x', shape))
          refuse("'" + word + "' is not a shape such as 128x64");
        for (int64_t extent : shape)
          if (extent == 0 || (elements *= extent) > kMaxElements)
            refuse("shape " + word + " should have from 1 to 2^24 elements");
      } else if (word.starts_with("gfx")) {
        auto [before, after] = word.split(':');
        chip = before.str(), instruction = after.str();
      } else if (!(elementBits = bitsOfType(word))) {
        refuse("'" + word + "' is not an element type such as f16");
      }
    }
    if (shape.empty())
      refuse("no shape given");
  }

  bool failed() const { return !problem.empty(); }
  void refuse(const llvm::Twine &message) {
    if (problem.empty())
      problem = "layout: " + message.str();
  }

  int rank() const { return shape.size(); }
  bool has(llvm::StringRef name) const { return options.contains(name); }
  /// A single number.
  int64_t number(llvm::StringRef name, int64_t initial) {
    used.push_back(name.str());
    auto found = options.find(name);
    if (found == options.end())
      return initial;
    if (found->second.size() != 1)
      refuse(name + " is one number");
    return found->second[0];
  }
  /// One power of two per axis; a single number n is spread over the axes by `spread`.
  template <class Spread>
  Extents counts(llvm::StringRef name, int64_t initial, Spread spread) {
    used.push_back(name.str());
    auto found = options.find(name);
    Extents given = found == options.end() ? Extents{initial} : found->second;
    for (int64_t count : given)
      if (!llvm::isPowerOf2_64(count) || count > 1024)
        refuse(name + " should be powers of two up to 1024");
    if (failed() || int(given.size()) == rank())
      return given;
    if (given.size() != 1)
      refuse(name + " should be one number, or one per axis");
    return spread(given[0]);
  }
  llvm::SmallVector<int, 4> order() {
    used.push_back("order");
    llvm::SmallVector<int, 4> order;
    auto found = options.find("order");
    if (found == options.end()) {
      for (int index = rank(); index-- > 0;)
        order.push_back(index);
      return order;
    }
    order.assign(found->second.begin(), found->second.end());
    llvm::SmallVector<int, 4> sorted(order);
    llvm::sort(sorted);
    if (!llvm::equal(sorted, llvm::seq(0, rank())))
      refuse("order should name every axis once");
    return order;
  }
  void checkUsed() {
    for (const auto &option : options)
      if (!llvm::is_contained(used, option.getKey()))
        refuse("option " + option.getKey() + " is not one of a " + kind + " layout");
  }

private:
  llvm::StringMap<Extents> options;
  std::vector<std::string> used;
  std::string &problem;
};

std::optional<TileLayout> makeBlocked(Description &text) {
  auto order = text.order();
  if (text.failed())
    return std::nullopt;
  Extents room; // elements of each axis that nobody has yet
  for (int64_t extent : text.shape)
    room.push_back(llvm::PowerOf2Ceil(uint64_t(extent)));
  /// Takes as much of each axis as there is, the fastest first; what is left goes to the slowest.
  auto fill = [&](int64_t count) {
    Extents counts(text.rank(), 1);
    for (int index : order) {
      counts[index] = std::min(count, room[index]);
      count /= counts[index];
    }
    counts[order.back()] *= count;
    return counts;
  };
  auto take = [&](const Extents &counts) {
    for (size_t index = 0; index < counts.size() && index < room.size(); ++index)
      room[index] = std::max<int64_t>(1, room[index] / counts[index]);
    return counts;
  };
  auto onFastest = [&](int64_t count) {
    Extents counts(text.rank(), 1);
    counts[order[0]] = std::min(count, room[order[0]]);
    return counts;
  };
  Extents size = take(text.counts("size", 128 / text.elementBits, onFastest));
  Extents threads = take(text.counts("threads", text.number("lanes", 32), fill));
  Extents warps = text.counts("warps", 4, [&](int64_t count) {
    // Warps prefer the slow axes: each keeps whole rows.
    Extents counts(text.rank(), 1);
    for (int index : llvm::reverse(order)) {
      counts[index] = std::min(count, room[index]);
      count /= counts[index];
    }
    counts[order.back()] *= count;
    return counts;
  });
  text.checkUsed();
  if (text.failed())
    return std::nullopt;
  return blocked(text.shape, size, threads, warps, order);
}

/// The instruction that a description names, or else the first for operands of its element's width.
const MatrixInstruction *instructionOf(Description &text) {
  llvm::ArrayRef<MatrixInstruction> table =
      text.chip.empty() ? mmaSyncInstructions() : amdMatrixInstructions(text.chip);
  if (table.empty())
    text.refuse("'" + text.chip + "' is not gfx90a, gfx942, gfx950, gfx1100 or gfx1201");
  if (!text.instruction.empty()) {
    const MatrixInstruction *named = instructionNamed(table, text.instruction);
    if (!named) // an exchanged one
      named = instructionNamed(amdProductInstructions(text.chip), text.instruction);
    if (!named)
      text.refuse(text.chip + " has no instruction '" + text.instruction + "'");
    return named;
  }
  const auto *found = llvm::find_if(table, [&](const MatrixInstruction &instruction) {
    return bitsOf(instruction.elements.lhs) == text.elementBits;
  });
  if (found != table.end())
    return found;
  text.refuse("no instruction has operands of " + llvm::Twine(text.elementBits) + " bits");
  return nullptr;
}

std::optional<TileLayout> makeFragment(Description &text) {
  if (text.rank() < 2)
    text.refuse("a matrix has two axes or more");
  const MatrixInstruction *instruction = instructionOf(text);
  Extents warps = text.counts("warps", 1, [&](int64_t count) {
    Extents counts(text.rank(), 1);
    counts[text.rank() - 2] = count;
    return counts;
  });
  int64_t kWidth = text.kind == "accumulator" ? 0 : text.number("kwidth", 0);
  if (kWidth && (!llvm::isPowerOf2_64(kWidth) || kWidth > 64))
    text.refuse("kwidth should be a power of two up to 64");
  text.checkUsed();
  if (text.failed())
    return std::nullopt;
  if (text.kind == "accumulator")
    return accumulatorOf(*instruction, text.shape, warps);
  return operandOf(*instruction, text.kind == "operand-a" ? MatrixSide::Lhs : MatrixSide::Rhs,
                   text.shape, warps, kWidth);
}

std::optional<SharedLayout> makeShared(Description &text) {
  auto order = text.order();
  auto power = [&](llvm::StringRef name) {
    int64_t number = text.number(name, 1);
    if (!llvm::isPowerOf2_64(number) || number > 1024)
      text.refuse(name + " should be a power of two up to 1024");
    return number;
  };
  bool isPadded = text.has("padding"), isPanel = text.has("swizzle");
  int64_t padding = text.number("padding", 0), swizzle = text.number("swizzle", 0);
  int64_t vector = power("vector"), perPhase = power("perphase"), maxPhase = power("maxphase");
  if (isPanel && swizzle != 32 && swizzle != 64 && swizzle != 128)
    text.refuse("swizzle should be 32, 64 or 128 bytes");
  text.checkUsed();
  if (text.failed())
    return std::nullopt;
  if (isPadded)
    return paddedShared(text.shape, order, padding);
  if (isPanel)
    return panelSwizzledShared(text.shape, order, text.elementBits, swizzle);
  return swizzledShared(text.shape, order, vector, perPhase, maxPhase);
}

} // namespace

std::optional<DescribedLayout> parseDescription(llvm::StringRef text, std::string &problem) {
  DescribedLayout result;
  text = text.trim();
  auto take = [&](auto made) -> std::optional<DescribedLayout> {
    if (!made)
      return std::nullopt;
    result.layout = std::move(*made);
    return std::move(result);
  };
  if (text.consume_front("#tile.layout<") && text.consume_back(">"))
    return take(parseTileLayout(text, problem));
  if (text.consume_front("#tile.shared_layout<") && text.consume_back(">"))
    return take(parseSharedLayout(text, problem));
  Description description(text, problem);
  if (description.failed())
    return std::nullopt;
  result.elementBits = description.elementBits;
  bool isFragment = description.kind == "accumulator" || description.kind == "operand-a" ||
                    description.kind == "operand-b";
  if (!isFragment && !description.chip.empty())
    description.refuse("'" + description.chip + "' is for matrix instructions");
  if (description.failed())
    return std::nullopt;
  if (description.kind == "blocked")
    return take(makeBlocked(description));
  if (isFragment)
    return take(makeFragment(description));
  if (description.kind == "shared")
    return take(makeShared(description));
  description.refuse("'" + description.kind +
                     "' is not blocked, accumulator, operand-a, operand-b or shared");
  return std::nullopt;
}

} // namespace sectile::layout
