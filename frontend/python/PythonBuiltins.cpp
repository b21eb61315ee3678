// Python's own functions on constants (names "python.len", "python.min" ...), and those functions
// of the language that act while the kernel is evaluated.
#include "frontend/python/Evaluator.h"
#include "lang/semantics/BlockValues.h"

using namespace sectile::lang;

namespace sectile::python {

using ast::Expr;
using Result = mlir::FailureOr<Operand>;

/// "len takes 1 argument, not 2"; empty when the count is right.
static std::string wrongCount(const std::string &name, const Arguments &arguments, size_t least,
                              size_t most) {
  size_t count = arguments.positional.size() + arguments.named.size();
  if (count >= least && count <= most)
    return "";
  std::string expected =
      least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
  return name + " takes " + expected + (most == 1 ? " argument" : " arguments") + ", not " +
         std::to_string(count);
}

Result Evaluator::callMinMax(const std::string &name, const Arguments &arguments,
                             const Expr &expr) {
  std::vector<Operand> items = arguments.positional;
  if (items.size() == 1) {
    auto iterated = iterate(items[0], expr.position);
    if (mlir::failed(iterated))
      return mlir::failure();
    items = std::move(*iterated);
  }
  if (items.empty())
    return error(expr.position, name + " of no values");
  if (!arguments.named.empty())
    return error(expr.position,
                 name + " takes no argument '" + arguments.named[0].name + "' in a kernel");
  Operand best = items[0];
  for (size_t i = 1; i < items.size(); ++i) {
    if (best.constant() && items[i].constant()) {
      Result better = compare(name == "min" ? "<" : ">", items[i], best, expr.position);
      if (mlir::failed(better))
        return mlir::failure();
      auto isBetter = truthOf(*better->constant(), expr.position);
      if (mlir::failed(isBetter))
        return mlir::failure();
      if (*isBetter)
        best = items[i];
      continue;
    }
    at(expr.position);
    Result next = callBuiltin(sema, name == "min" ? "minimum" : "maximum", {best, items[i]}, {});
    if (mlir::failed(next))
      return mlir::failure();
    best = *next;
  }
  return best;
}

Result Evaluator::callIsInstance(const Arguments &arguments, const Expr &expr) {
  const Operand &object = arguments.positional[0];
  std::vector<Operand> classes = {arguments.positional[1]};
  if (auto items = tupleItems(classes[0]))
    classes = *items;
  auto *constant = object.constant();
  bool isDescriptor = isSameClass(tupleClassOf(object), tensorDescriptorClass());
  bool isTuple = tupleItems(object) && !isDescriptor &&
                 !isSameClass(tupleClassOf(object), blockPointerClass());
  for (const Operand &candidate : classes) {
    auto *reference = candidate.constant() ? candidate.constant()->as<BuiltinRef>() : nullptr;
    llvm::StringRef name = reference ? llvm::StringRef(reference->name) : "";
    name.consume_front("python.");
    std::optional<bool> answer =
        llvm::StringSwitch<std::optional<bool>>(name)
            .Case("tensor", object.value() != nullptr)
            .Case("constexpr", constant != nullptr)
            .Case("tensor_descriptor", isDescriptor)
            .Case("dtype", constant && constant->is<DType>())
            .Case("pointer_type",
                  constant && constant->is<DType>() && constant->as<DType>()->isPointer)
            .Case("int", constant && (constant->is<Int>() || constant->is<bool>()))
            .Case("bool", constant && constant->is<bool>())
            .Case("float", constant && constant->is<double>())
            .Case("str", constant && constant->is<std::string>())
            .Cases({"tuple", "list"}, isTuple && !methodOf(tupleClassOf(object), "__class__"))
            .Default(std::nullopt);
    if (candidate.constant() && candidate.constant()->is<ObjectRef>())
      if (auto made = environment.namedTupleClass(*candidate.constant()); made.tupleClass)
        answer = isTuple && isSameClass(made.tupleClass, tupleClassOf(object));
    bool isPythons = reference && llvm::StringRef(reference->name).starts_with("python.");
    bool isOfObject = constant && constant->is<ObjectRef>() && isPythons; // an IntEnum is an int
    bool isOwnClass = constant && candidate.constant() && candidate.constant()->is<ObjectRef>();
    if (isOfObject || (isOwnClass && !answer)) {
      Result asked =
          computed(constants.isInstance(*constant, *candidate.constant()), expr.position);
      if (mlir::failed(asked))
        return mlir::failure();
      answer = isTrue(*asked->constant());
    }
    if (!answer)
      return error(expr.position,
                   "isinstance: class " + describeOperand(candidate) + " is not known here",
                   "use int, float, bool, str, tuple, tl.tensor, tl.dtype or tl.constexpr");
    if (*answer)
      return Operand(Constant{true});
  }
  return Operand(Constant{false});
}

Result Evaluator::callStaticAssert(const Arguments &arguments, const Expr &expr) {
  const Operand *condition = arguments.find(0, "cond");
  const Operand *message = arguments.find(1, "msg");
  if (!condition)
    return error(expr.position, "static_assert: argument 'cond' is missing");
  auto constant = requireConstant(*condition, expr.position, "static_assert: the condition");
  if (mlir::failed(constant))
    return mlir::failure();
  auto holds = truthOf(*constant, expr.position);
  if (mlir::failed(holds))
    return mlir::failure();
  if (*holds)
    return Operand();
  std::string text;
  if (message) {
    auto given = requireConstant(*message, expr.position, "static_assert: the message");
    if (mlir::failed(given))
      return mlir::failure();
    Result shown = computed(constants.text(*given), expr.position);
    if (mlir::failed(shown))
      return mlir::failure();
    text = textOf(*shown->constant());
  }
  return error(expr.position, "static assertion failed" + (text.empty() ? "" : ": " + text));
}

/// Whether the object has the attribute is asked by trying; an opaque object is asked directly.
Result Evaluator::callAttributeQuery(const std::string &name, const Arguments &arguments,
                                     const Expr &expr) {
  const Operand &object = arguments.positional[0];
  auto *given = arguments.positional[1].constant();
  auto *attribute = given ? given->as<std::string>() : nullptr;
  if (!attribute)
    return error(expr.position, name + ": the attribute's name must be a text");
  bool isQuery = name == "hasattr";
  if (auto *value = object.value()) {
    const BuiltinInfo *info = findBuiltin(*attribute);
    bool isMethod = (info && info->isMethod) || *attribute == "to";
    bool has = isMethod || llvm::is_contained({"shape", "dtype", "type", "numel", "T"}, *attribute);
    if (isQuery)
      return Operand(Constant{has});
    if (has || arguments.positional.size() < 3)
      return attributeOfValue(*value, *attribute, expr);
    return arguments.positional[2];
  }
  auto *constant = object.constant();
  if (constant && !constant->is<DType>()) {
    Environment::Answer answer = environment.attribute(*constant, *attribute);
    if (isQuery)
      return Operand(Constant{answer.value.has_value()});
    if (answer.value)
      return Operand(std::move(*answer.value));
    if (arguments.positional.size() > 2)
      return arguments.positional[2];
  } else if (isQuery) {
    return Operand(Constant{false});
  }
  return attributeOf(object, *attribute, expr);
}

std::optional<Result> Evaluator::callPython(const std::string &fullName, const Arguments &arguments,
                                            const Expr &expr) {
  llvm::StringRef shortName = fullName;
  bool isPython = shortName.consume_front("python.");
  std::string name = shortName.str();
  const auto &positional = arguments.positional;
  auto fail = [&](std::string message, std::string help = "") -> Result {
    return error(expr.position, std::move(message), std::move(help));
  };
  auto constantAt = [&](size_t index) {
    return requireConstant(positional[index], expr.position, "the argument of " + name);
  };

  // The language's functions that act during evaluation; all others are lang/Builtins'.
  if (!isPython) {
    if (name == "static_assert")
      return callStaticAssert(arguments, expr);
    if (name == "static_print") {
      std::string line;
      for (const auto &[number, operand] : llvm::enumerate(positional)) {
        line += number ? " " : "";
        if (!operand.constant()) {
          bool isTriton = sema.printsAsTriton && operand.value();
          line += isTriton ? tritonTypeText(operand.value()->type) : describeOperand(operand);
          continue;
        }
        Result shown = computed(constants.text(*operand.constant()), expr.position);
        if (mlir::failed(shown))
          return shown;
        line += textOf(*shown->constant());
      }
      environment.print(line);
      return Operand();
    }
    if (name == "constexpr") {
      if (positional.size() != 1 || !arguments.named.empty())
        return fail("constexpr takes one positional argument");
      auto constant = constantAt(0);
      return mlir::failed(constant) ? Result(mlir::failure())
                                    : Result(Operand(std::move(*constant)));
    }
    if (name == "range" || name == "static_range") {
      auto range = bindRange(name, arguments, expr.position);
      if (mlir::failed(range))
        return Result(mlir::failure());
      auto items = constantRange(*range, expr.position);
      return mlir::failed(items) ? Result(mlir::failure()) : Result(makeTuple(std::move(*items)));
    }
    if (name == "condition") {
      if (positional.empty())
        return fail("condition: the condition is missing");
      const LoopHint &hint = *findLoopHint("disable_licm");
      for (const NamedOperand &argument : arguments.named)
        if (argument.name != hint.name)
          return fail("condition has no argument '" + argument.name + "'");
      llvm::SmallVector<mlir::NamedAttribute, 2> unused;
      if (const Operand *keeps = arguments.find(1, hint.name))
        if (mlir::failed(
                addLoopHint(whileHints ? *whileHints : unused, hint, *keeps, name, expr.position)))
          return Result(mlir::failure());
      return Result(positional[0]);
    }
    if (name == "to_tensor" && positional.size() == 1)
      return decay(positional[0], expr.position);
    if (name == "pointer_type" && !positional.empty()) {
      auto *constant = positional[0].constant();
      auto *dtype = constant ? constant->as<DType>() : nullptr;
      if (!dtype || dtype->isPointer)
        return fail("pointer_type takes a dtype, not " + describeOperand(positional[0]));
      return Result(Operand(Constant{DType::pointer(dtype->kind)}));
    }
    if (name != "tuple")
      return std::nullopt;
  }

  if (!arguments.named.empty() && name != "print" && name != "range" && name != "min" &&
      name != "max")
    return fail(name + " takes no argument '" + arguments.named[0].name + "' in a kernel");
  auto count = [&](size_t least, size_t most) { return wrongCount(name, arguments, least, most); };

  if (name == "min" || name == "max")
    return callMinMax(name, arguments, expr);
  if (name == "print") {
    at(expr.position);
    bool hasPrefix = !positional.empty() && positional[0].constant() &&
                     positional[0].constant()->is<std::string>();
    Arguments printed{positional, {}};
    if (!hasPrefix)
      printed.positional.insert(printed.positional.begin(), Constant{std::string()});
    return callPrint(printed, expr, hasPrefix ? 0 : 1);
  }
  if (name == "range") {
    auto range = bindRange("range", arguments, expr.position);
    if (mlir::failed(range))
      return Result(mlir::failure());
    auto items = constantRange(*range, expr.position);
    return mlir::failed(items) ? Result(mlir::failure()) : Result(makeTuple(std::move(*items)));
  }
  if (name == "zip") {
    std::vector<std::vector<Operand>> columns;
    for (const Operand &operand : positional) {
      auto items = iterate(operand, expr.position);
      if (mlir::failed(items))
        return Result(mlir::failure());
      columns.push_back(std::move(*items));
    }
    std::vector<Operand> rows;
    for (size_t row = 0; !columns.empty(); ++row) {
      std::vector<Operand> items;
      for (const auto &column : columns)
        if (row < column.size())
          items.push_back(column[row]);
      if (items.size() < columns.size())
        break;
      rows.push_back(makeTuple(std::move(items)));
    }
    return Result(makeTuple(std::move(rows)));
  }
  if (name == "isinstance") {
    if (std::string wrong = count(2, 2); !wrong.empty())
      return fail(wrong);
    return callIsInstance(arguments, expr);
  }
  if (name == "hasattr" || name == "getattr") {
    if (std::string wrong = count(2, name == "getattr" ? 3 : 2); !wrong.empty())
      return fail(wrong);
    return callAttributeQuery(name, arguments, expr);
  }
  if (name == "tuple" || name == "list" || name == "reversed" || name == "enumerate" ||
      name == "sum" || name == "any" || name == "all") {
    bool hasStart = name == "enumerate" || name == "sum";
    if (std::string wrong = count(name == "tuple" || name == "list" ? 0 : 1, hasStart ? 2 : 1);
        !wrong.empty())
      return fail(wrong);
    if (positional.empty())
      return Result(makeTuple({}));
    if (name == "sum" && positional[0].value())
      return fail("Python's sum cannot add up a tile", "use tl.sum(x, axis)");
    auto items = iterate(positional[0], expr.position);
    if (mlir::failed(items))
      return Result(mlir::failure());
    if (name == "reversed")
      std::reverse(items->begin(), items->end());
    Operand start = positional.size() > 1 ? positional[1] : Operand(Constant::integer(0));
    if (name == "enumerate") {
      auto first = start.constant() ? integerOf(*start.constant()) : std::nullopt;
      if (!first)
        return fail("enumerate: the start must be an integer known at compile time");
      for (size_t i = 0; i < items->size(); ++i)
        (*items)[i] = makeTuple({Constant::integer(*first + Int(i)), (*items)[i]});
    }
    if (name == "sum" || name == "any" || name == "all") {
      Result total = name == "sum" ? start : Operand(Constant{name == "all"});
      std::string op = name == "sum" ? "+" : name == "any" ? "|" : "&";
      for (const Operand &item : *items) {
        auto *constant = item.constant();
        if (name != "sum" && constant) {
          auto holds = truthOf(*constant, expr.position);
          if (mlir::failed(holds))
            return Result(mlir::failure());
          if (*holds == (name == "any"))
            return Result(Operand(Constant{name == "any"}));
          continue;
        }
        bool isFirst = name != "sum" && total->constant();
        total = isFirst ? Result(item) : binary(op, *total, item, expr.position);
        if (mlir::failed(total))
          return total;
      }
      return total;
    }
    return Result(makeTuple(std::move(*items)));
  }

  static constexpr llvm::StringLiteral kUnary[] = {"len", "int",  "float", "bool",
                                                   "str", "repr", "abs"};
  if (llvm::is_contained(kUnary, name)) {
    if (std::string wrong = count(1, 1); !wrong.empty())
      return fail(wrong);
    const Operand &operand = positional[0];
    if (name == "len") {
      if (auto items = tupleItems(operand))
        return Result(Operand(Constant::integer(Int(items->size()))));
      if (auto *constant = operand.constant())
        return computed(constants.convert(name, *constant), expr.position);
      auto *value = operand.value();
      if (value && value->type.dtype.isPointer && value->type.isScalar()) {
        const Expr &argument = *expr.children[1];
        return fail("len: " + sourceText(argument.position) +
                        " is a pointer and has no length in a kernel",
                    "pass the size as an argument");
      }
      return fail("len: " + describeOperand(operand) + " has no length",
                  value && !value->type.isScalar() ? "x.shape[0] is the extent of a tile" : "");
    }
    at(expr.position);
    if (operand.value() && !sema.asConstant(operand)) {
      if (name == "abs")
        return callBuiltin(sema, "abs", {operand}, {});
      const char *help = name == "int"     ? "cast with .to(tl.int32)"
                         : name == "float" ? "cast with .to(tl.float32)"
                         : name == "bool"  ? "compare: x != 0"
                                           : "print it with tl.device_print";
      return fail(name + " needs a constant, not " + describeOperand(operand), help);
    }
    auto constant = constantAt(0);
    if (mlir::failed(constant))
      return Result(mlir::failure());
    return computed(name == "bool"   ? constants.truth(*constant)
                    : name == "str"  ? constants.text(*constant)
                    : name == "repr" ? constants.representation(*constant)
                                     : constants.convert(name, *constant),
                    expr.position);
  }
  if (name == "pow" || name == "divmod") {
    if (std::string wrong = count(2, 2); !wrong.empty())
      return fail(wrong);
    if (name == "pow")
      return binary("**", positional[0], positional[1], expr.position);
    Result quotient = binary("//", positional[0], positional[1], expr.position);
    Result remainder = binary("%", positional[0], positional[1], expr.position);
    if (mlir::failed(quotient) || mlir::failed(remainder))
      return Result(mlir::failure());
    return Result(makeTuple({*quotient, *remainder}));
  }
  return fail("Python's '" + name + "' is not supported in a kernel");
}

} // namespace sectile::python
