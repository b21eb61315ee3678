#include "RunLine.h"

#include "../../FileArray.h"
#include "Machine.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <deque>

namespace sectile::amdisa {
namespace {

using testing::FileArray;
using testing::oneLine;

bool parseExtent(llvm::StringRef text, std::array<uint32_t, 3> &extent) {
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  extent = {1, 1, 1};
  for (size_t axis = 0; axis < parts.size(); ++axis)
    if (axis == 3 || parts[axis].getAsInteger(10, extent[axis]))
      return false;
  return true;
}

/// "i32:17"; false for another kind of argument.
bool parseNumber(llvm::StringRef kind, llvm::StringRef text, Argument &argument) {
  int64_t integer = 0;
  uint64_t natural = 0;
  double real = 0;
  if (kind == "f32" || kind == "f64") {
    if (text.getAsDouble(real))
      return false;
    argument = kind == "f32" ? Argument::of(float(real)) : Argument::of(real);
    return true;
  }
  unsigned bits = 0;
  if (!kind.consume_front("i") || kind.getAsInteger(10, bits))
    return false;
  if (text.getAsInteger(10, integer)) {
    if (text.getAsInteger(10, natural))
      return false;
    integer = int64_t(natural);
  }
  argument = Argument::of(integer);
  argument.count = (bits + 7) / 8;
  return bits == 1 || bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

/// "4+64", the second part of which may be left out.
bool parsePlace(llvm::StringRef text, size_t &lead, size_t &offset) {
  auto [first, second] = text.split('+');
  offset = 0;
  return !first.getAsInteger(10, lead) && (second.empty() || !second.getAsInteger(10, offset));
}

} // namespace

std::string runLine(const std::string &line) {
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringRef(line).split(words, ' ', -1, /*KeepEmpty=*/false);
  Shape shape;
  if (words.size() < 4 || !parseExtent(words[2], shape.items) ||
      !parseExtent(words[3], shape.groups))
    return "failed expected: object kernel items groups arguments";
  auto file = llvm::MemoryBuffer::getFile(words[0]);
  if (!file)
    return "failed " + words[0].str() + ": " + file.getError().message();
  auto object = CodeObject::load((*file)->getBuffer());
  if (!object)
    return "failed " + oneLine(llvm::toString(object.takeError()));
  std::deque<FileArray> arrays;
  std::vector<Argument> arguments;
  Buffers buffers;
  // Layouts pad tiles that are smaller than a matrix instruction, and read padding.
  RunOptions how;
  how.readsUnwrittenLds = true;
  for (llvm::StringRef word : llvm::ArrayRef(words).drop_front(4)) {
    if (word == "races") {
      how.allowsGlobalRaces = true;
      continue;
    }
    auto [name, number] = word.rsplit(':');
    Argument argument;
    size_t lead, offset;
    if (parseNumber(name, number, argument)) {
      arguments.push_back(argument);
    } else if (parsePlace(number, lead, offset)) {
      auto found = llvm::find_if(arrays, [&](const FileArray &each) { return each.path == name; });
      if (found == arrays.end()) {
        arrays.emplace_back(name.str(), lead);
        found = std::prev(arrays.end());
        buffers.addPadded(found->begin, found->bytes);
      }
      arguments.push_back(Argument::of(found->begin + offset));
    } else {
      return "failed argument " + word.str();
    }
  }
  // LLVM's division is correctly rounded with the reciprocals that chips compute, not with every
  // one that is within a unit in the last place.
  how.seed = 0;
  auto done = run(**object, words[1], shape, arguments, buffers, how);
  for (const FileArray &array : arrays)
    array.writeBack();
  return done ? "right" : "wrong " + oneLine(llvm::toString(done.takeError()));
}

} // namespace sectile::amdisa
