// The table and the binding of arguments to parameters.
#include "lang/builtins/BuiltinTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace sectile::lang {

//===-- the table -----------------------------------------------------------------------------===//

static Constant parseDefault(StringRef text) {
  double real;
  int64_t integer;
  if (text == "None")
    return {None{}};
  if (text == "True" || text == "False")
    return {text == "True"};
  if (text == "()")
    return Constant::tuple({});
  if (text == "'\\n'")
    return {std::string("\n")};
  if (text.starts_with("'"))
    return {text.drop_front().drop_back().str()};
  if (!text.getAsInteger(10, integer))
    return Constant::integer(integer);
  if (!text.getAsDouble(real))
    return {real};
  if (auto dtype = DType::parse(text))
    return {*dtype};
  llvm_unreachable("a signature in lang/ is misspelt");
}

void BuiltinTable::add(StringRef signature, BuildFunction build, MethodKind kind) {
  Entry entry;
  auto [name, rest] = signature.split('(');
  entry.info.name = name.str();
  entry.info.signature = signature.str();
  entry.info.isMethod = kind != kFunction;
  entry.info.methodTakesHalves = kind == kMethodOfHalves;
  entry.build = std::move(build);
  SmallVector<StringRef> parameters;
  rest.drop_back().split(parameters, ", ", -1, /*KeepEmpty=*/false);
  for (StringRef parameter : parameters) {
    auto [parameterName, defaultText] = parameter.split('=');
    if (parameterName.consume_front("*")) {
      entry.variadic = entry.info.parameters.size();
      entry.defaults.push_back(Constant::tuple({}));
    } else if (defaultText.empty()) {
      entry.defaults.push_back(std::nullopt);
    } else {
      entry.defaults.push_back(parseDefault(defaultText));
    }
    entry.info.parameters.push_back(parameterName.str());
  }
  entries.push_back(std::move(entry));
}

namespace {

struct SortedTable {
  SortedTable() {
    BuiltinTable table;
    addCreationOps(table);
    addShapeOps(table);
    addMemoryOps(table);
    addBlockOps(table);
    addAtomicOps(table);
    addArithmeticOps(table);
    addMathOps(table);
    addLibdeviceOps(table);
    addReduceOps(table);
    addSortOps(table);
    addMapOps(table);
    addDotOps(table);
    addScaledDotOps(table);
    addRandomOps(table);
    addHintOps(table);
    addDebugOps(table);
    entries = std::move(table.entries);
    llvm::sort(entries, [](const auto &a, const auto &b) { return a.info.name < b.info.name; });
    for (const BuiltinTable::Entry &entry : entries)
      infos.push_back(entry.info);
  }
  /// "libdevice.exp" has an entry of its own; "libdevice.asin" and "math.exp" are plain names.
  const BuiltinTable::Entry *find(StringRef name) const {
    if (auto *entry = findExactly(name))
      return entry;
    if (name.consume_front("libdevice.") || name.consume_front("math."))
      return findExactly(name);
    return nullptr;
  }
  const BuiltinTable::Entry *findExactly(StringRef name) const {
    auto found = llvm::lower_bound(entries, name, [](const auto &entry, StringRef wanted) {
      return entry.info.name < wanted;
    });
    return found != entries.end() && found->info.name == name ? &*found : nullptr;
  }
  std::vector<BuiltinTable::Entry> entries;
  std::vector<BuiltinInfo> infos;
};

const SortedTable &sortedTable() {
  static const SortedTable table;
  return table;
}

} // namespace

const std::vector<BuiltinInfo> &builtins() {
  return sortedTable().infos;
}

const BuiltinInfo *findBuiltin(StringRef name) {
  auto *entry = sortedTable().find(name);
  return entry ? &entry->info : nullptr;
}

//===-- binding -------------------------------------------------------------------------------===//

static FailureOr<std::vector<Operand>> bind(Semantics &sema, const BuiltinTable::Entry &entry,
                                            ArrayRef<Operand> positional,
                                            ArrayRef<NamedOperand> named) {
  const auto &parameters = entry.info.parameters;
  const std::string &name = entry.info.name, signature = "the signature is " + entry.info.signature;
  std::vector<std::optional<Operand>> bound(parameters.size());
  size_t fixed = entry.variadic.value_or(parameters.size());
  if (!entry.variadic && positional.size() > parameters.size())
    return sema.error(name + ": takes " + std::to_string(parameters.size()) + " argument" +
                          (parameters.size() == 1 ? "" : "s") + ", " +
                          std::to_string(positional.size()) + " given",
                      signature);
  for (size_t i = 0; i < std::min(fixed, positional.size()); ++i)
    bound[i] = positional[i];
  if (entry.variadic && positional.size() > fixed)
    bound[fixed] = Operand::tuple(positional.drop_front(fixed).vec());
  for (const NamedOperand &argument : named) {
    auto found = llvm::find(parameters, argument.name);
    if (found == parameters.end()) {
      std::string closest = closestName(argument.name, parameters);
      return sema.error(name + ": unknown argument `" + argument.name + "`",
                        (closest.empty() ? "" : "did you mean `" + closest + "`? ") + signature);
    }
    size_t index = found - parameters.begin();
    if (bound[index])
      return sema.error(name + ": argument `" + argument.name + "` is given twice", signature);
    bound[index] = argument.operand;
  }
  std::vector<Operand> operands;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!bound[i] && !entry.defaults[i])
      return sema.error(name + ": argument `" + parameters[i] + "` is missing", signature);
    operands.push_back(bound[i] ? *bound[i] : Operand(*entry.defaults[i]));
  }
  return operands;
}

FailureOr<Operand> callBuiltin(Semantics &sema, StringRef name, ArrayRef<Operand> positional,
                               ArrayRef<NamedOperand> named) {
  auto *entry = sortedTable().find(name);
  if (!entry) {
    std::vector<std::string> known;
    for (const BuiltinInfo &info : builtins())
      known.push_back(info.name);
    std::string closest = closestName(name.str(), known);
    return sema.error("the language has no operation `" + name.str() + "`",
                      closest.empty() ? "" : "did you mean `" + closest + "`?");
  }
  FailureOr<std::vector<Operand>> operands = bind(sema, *entry, positional, named);
  if (failed(operands))
    return failure();
  Arguments arguments(sema, entry->info.name, entry->info.parameters, std::move(*operands));
  return entry->build(arguments);
}

//===-- reading arguments ---------------------------------------------------------------------===//

LogicalResult Arguments::error(const Twine &message, std::string help) {
  return sema.error((operation + ": " + message).str(), std::move(help));
}

std::string Arguments::describe(size_t index) const {
  return (operation + ": `" + names[index] + "`").str();
}

FailureOr<Value> Arguments::value(size_t index) {
  return sema.toValue(operands[index], describe(index));
}

FailureOr<SmallVector<Value>> Arguments::values(size_t count) {
  SmallVector<Value> held;
  for (size_t index = 0; index < count; ++index) {
    FailureOr<Value> one = value(index);
    if (failed(one))
      return failure();
    held.push_back(*one);
  }
  return held;
}

FailureOr<Value> Arguments::tile(size_t index) {
  FailureOr<Value> held = value(index);
  if (succeeded(held) && held->type.isScalar())
    return sema.error(describe(index) + " should be a tile, not a scalar " +
                      sema.nameOf(held->type));
  return held;
}

FailureOr<int64_t> Arguments::integer(size_t index) {
  auto held = sema.asConstant(operands[index]);
  if (!held)
    return sema.error(describe(index) + " should be known at compile time, not " +
                          operands[index].kindName(),
                      sema.constantRemedy(operands[index]));
  auto *number = held->as<Int>();
  if (!number)
    return sema.error(describe(index) + " should be an int, not " + held->kindName());
  if (*number > INT64_MAX || *number < INT64_MIN)
    return sema.error(describe(index) + " is out of range: " + held->repr());
  return static_cast<int64_t>(*number);
}

FailureOr<bool> Arguments::flag(size_t index) {
  auto held = sema.asConstant(operands[index]);
  if (!held)
    return sema.error(describe(index) + " should be known at compile time, not " +
                          operands[index].kindName(),
                      sema.constantRemedy(operands[index]));
  if (auto *truth = held->as<bool>())
    return *truth;
  if (auto *number = held->as<Int>())
    return *number != 0;
  if (held->isNone())
    return false;
  return sema.error(describe(index) + " should be True or False, not " + held->kindName());
}

FailureOr<std::string> Arguments::text(size_t index) {
  auto *held = operands[index].constant();
  if (held && held->isNone())
    return std::string();
  if (auto *text = held ? held->as<std::string>() : nullptr)
    return *text;
  return sema.error(describe(index) + " should be text, not " + operands[index].kindName());
}

FailureOr<DType> Arguments::dtype(size_t index) {
  auto *held = operands[index].constant();
  if (auto *dtype = held ? held->as<DType>() : nullptr)
    return *dtype;
  return sema.error(describe(index) + " should be a dtype, not " + operands[index].kindName(),
                    "for example " + sema.words.dtype(DType::scalar(ScalarKind::Float32)));
}

FailureOr<SmallVector<int64_t, 4>> Arguments::integers(size_t index) {
  auto held = sema.asConstant(operands[index]);
  if (!held)
    return sema.error(describe(index) + " should be known at compile time",
                      sema.constantRemedy(operands[index]));
  // f(x, (4, 8)) and f(x, 4, 8) alike.
  if (auto *outer = held->as<ConstantTuple>(); outer && (*outer)->size() == 1)
    if ((**outer)[0].is<ConstantTuple>())
      held = Constant((**outer)[0]);
  SmallVector<int64_t, 4> result;
  auto append = [&](const Constant &item) -> LogicalResult {
    auto *number = item.as<Int>();
    if (!number)
      return sema.error(describe(index) + " should hold ints, not " + item.kindName());
    if (*number > INT64_MAX || *number < INT64_MIN)
      return sema.error(describe(index) + " is out of range: " + item.repr());
    result.push_back(static_cast<int64_t>(*number));
    return success();
  };
  auto *tuple = held->as<ConstantTuple>();
  if (!tuple) {
    if (failed(append(*held)))
      return failure();
    return result;
  }
  for (const Constant &item : **tuple)
    if (failed(append(item)))
      return failure();
  return result;
}

FailureOr<int64_t> Arguments::axis(size_t index, size_t rank) {
  FailureOr<int64_t> axis = integer(index);
  if (failed(axis))
    return failure();
  auto signedRank = static_cast<int64_t>(rank);
  if (*axis < -signedRank || *axis >= signedRank)
    return sema.error(describe(index) + " is " + std::to_string(*axis) +
                          ", but the tile has rank " + std::to_string(rank),
                      "axes count from 0, or from -1 backwards");
  return *axis < 0 ? *axis + signedRank : *axis;
}

} // namespace sectile::lang
