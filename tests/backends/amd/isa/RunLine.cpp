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
  double real = 0;
  if (kind.starts_with("i") ? text.getAsInteger(10, integer) : text.getAsDouble(real))
    return false;
  if (kind == "i32")
    argument = Argument::of(int32_t(integer));
  else if (kind == "i64")
    argument = Argument::of(integer);
  else if (kind == "f32")
    argument = Argument::of(float(real));
  else if (kind == "f64")
    argument = Argument::of(real);
  else
    return false;
  return true;
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
  for (llvm::StringRef word : llvm::ArrayRef(words).drop_front(4)) {
    auto [name, number] = word.rsplit(':');
    Argument argument;
    size_t lead;
    if (parseNumber(name, number, argument)) {
      arguments.push_back(argument);
    } else if (!number.getAsInteger(10, lead)) {
      FileArray &array = arrays.emplace_back(name.str(), lead);
      buffers.add(array.begin, array.bytes);
      arguments.push_back(Argument::of(array.begin));
    } else {
      return "failed argument " + word.str();
    }
  }
  auto done = run(**object, words[1], shape, arguments, buffers);
  for (const FileArray &array : arrays)
    array.writeBack();
  return done ? "right" : "wrong " + oneLine(llvm::toString(done.takeError()));
}

} // namespace sectile::amdisa
