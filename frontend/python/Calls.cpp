// Calls: operations of the language, @jit functions (inlined), Python functions of constants.
#include "frontend/python/Evaluator.h"
#include "frontend/python/LoopCarried.h"

#include "llvm/ADT/StringExtras.h"

using namespace sectile::lang;

namespace sectile::python {

using ast::Expr;
using ast::ExprKind;

/// Inlined calls within calls; each may be nested on its own.
static constexpr size_t kDeepestCalls = 64;

const Operand *Arguments::find(size_t position, llvm::StringRef name) const {
  if (position < positional.size())
    return &positional[position];
  for (const NamedOperand &argument : named)
    if (argument.name == name)
      return &argument.operand;
  return nullptr;
}

mlir::FailureOr<Arguments> Evaluator::evaluateArguments(const Expr &expr) {
  Arguments arguments;
  auto positional = evaluateItems(llvm::ArrayRef(expr.children).drop_front());
  bool isBad = mlir::failed(positional);
  for (const ast::Keyword &keyword : expr.keywords) {
    if (keyword.name.empty())
      return error(keyword.position, "'**' arguments are not supported in a kernel",
                   "write each as name=value");
    Result value = evaluate(*keyword.value);
    if (mlir::failed(value))
      isBad = true;
    else
      arguments.named.push_back({keyword.name, std::move(*value)});
  }
  if (isBad)
    return mlir::failure();
  arguments.positional = std::move(*positional);
  return arguments;
}

Evaluator::Result Evaluator::evaluateCall(const Expr &expr) {
  const Expr &calleeExpr = *expr.children[0];
  if (calleeExpr.kind == ExprKind::Attribute) {
    Result object = evaluate(*calleeExpr.children[0]);
    if (mlir::failed(object))
      return mlir::failure();
    bool isOpaque = object->constant() && object->constant()->is<ObjectRef>();
    bool isPath = !dottedPath(calleeExpr).empty();
    if (!isOpaque || !isPath)
      return callMethod(*object, expr);
  }
  Result callee = evaluate(calleeExpr);
  if (mlir::failed(callee))
    return mlir::failure();
  auto *constant = callee->constant();
  if (!constant)
    return error(expr.position, describeOperand(*callee) + " cannot be called");
  auto arguments = evaluateArguments(expr);
  if (mlir::failed(arguments))
    return mlir::failure();
  return call(*constant, std::move(*arguments), expr);
}

Evaluator::Result Evaluator::call(const Constant &callee, Arguments arguments, const Expr &expr) {
  if (auto *builtin = callee.as<BuiltinRef>()) {
    if (std::optional<Result> result = callPython(builtin->name, arguments, expr))
      return *result;
    return callLanguage(builtin->name, std::move(arguments), expr);
  }
  if (auto *function = callee.as<FunctionRef>())
    return callFunction(*function, arguments, expr.position, nullptr,
                        &expr == unusedCall ? Wanted::Effects : Wanted::Result);
  if (callee.is<ObjectRef>())
    return callObject(callee, arguments, expr);
  return error(expr.position, callee.repr() + " cannot be called");
}

Evaluator::Result Evaluator::callLanguage(const std::string &name, Arguments arguments,
                                          const Expr &expr) {
  auto withCombiner = [&](Operand &operand) {
    auto *constant = operand.constant();
    if (constant && (constant->is<FunctionRef>() || constant->is<BuiltinRef>()))
      operand = asCombiner(*constant, expr.position);
  };
  for (Operand &operand : arguments.positional)
    withCombiner(operand);
  for (NamedOperand &argument : arguments.named)
    withCombiner(argument.operand);
  at(expr.position);
  if (name == "device_print")
    return callPrint(arguments, expr, 0);
  return callBuiltin(sema, name, arguments.positional, arguments.named);
}

Evaluator::Result Evaluator::callPrint(const Arguments &arguments, const Expr &expr,
                                       size_t addedCount) {
  std::vector<std::string> texts(addedCount);
  for (const ast::ExprPtr &argument : llvm::ArrayRef(expr.children).drop_front()) {
    if (argument->kind == ExprKind::Starred)
      break; // the positions of later arguments are not known
    texts.push_back(argument->kind == ExprKind::Constant ? "" : sourceText(argument->position));
  }
  sema.argumentTexts = std::move(texts);
  Result result = callBuiltin(sema, "device_print", arguments.positional, arguments.named);
  sema.argumentTexts.clear();
  return result;
}

Evaluator::Operand Evaluator::asCombiner(const Constant &function, const ast::Position &position) {
  SourceRange callRange = rangeOf(position);
  return Combiner([this, function, position, callRange](
                      llvm::ArrayRef<Value> lhs,
                      llvm::ArrayRef<Value> rhs) -> mlir::FailureOr<llvm::SmallVector<Value>> {
    Arguments arguments;
    arguments.positional.assign(lhs.begin(), lhs.end());
    arguments.positional.insert(arguments.positional.end(), rhs.begin(), rhs.end());
    Result result = mlir::failure();
    if (auto *reference = function.as<FunctionRef>())
      result = callFunction(*reference, arguments, position);
    else
      result = callBuiltin(sema, function.as<BuiltinRef>()->name, arguments.positional, {});
    sema.at(callRange);
    if (mlir::failed(result))
      return mlir::failure();
    llvm::SmallVector<Value> values;
    auto items = tupleItems(*result);
    for (const Operand &item : items ? *items : std::vector<Operand>{*result}) {
      mlir::FailureOr<Value> value = sema.toValue(item, "result of the combining function");
      if (mlir::failed(value))
        return mlir::failure();
      values.push_back(*value);
    }
    return values;
  });
}

Evaluator::Result Evaluator::callMethod(const Operand &object, const Expr &expr) {
  const Expr &calleeExpr = *expr.children[0];
  const std::string &name = calleeExpr.text;
  auto arguments = evaluateArguments(expr);
  if (mlir::failed(arguments))
    return mlir::failure();

  if (auto *value = object.value()) {
    std::string operation = name == "to" ? "cast" : name == "view" ? "reshape" : name;
    const BuiltinInfo *info = findBuiltin(name);
    if (!info)
      info = findBuiltin(operation);
    if (!info || !info->isMethod) {
      Result attribute = attributeOfValue(*value, name, calleeExpr);
      if (mlir::failed(attribute))
        return mlir::failure();
      return error(expr.position, describeOperand(*attribute) + " cannot be called",
                   "x." + name + " is no method: leave out the parentheses");
    }
    const DType dtype = value->type.dtype;
    if (!info->methodTakesHalves || !dtype.isFloat() || dtype.bits() != 16) {
      arguments->positional.insert(arguments->positional.begin(), object);
      return callLanguage(info->name, std::move(*arguments), expr);
    }
    mlir::FailureOr<Value> wide = sema.cast(*value, DType::scalar(ScalarKind::Float32));
    if (mlir::failed(wide))
      return mlir::failure();
    arguments->positional.insert(arguments->positional.begin(), Operand(*wide));
    Result result = callLanguage(info->name, std::move(*arguments), expr);
    if (mlir::failed(result) || !result->value())
      return result;
    mlir::FailureOr<Value> rounded = sema.cast(*result->value(), dtype);
    return mlir::failed(rounded) ? Result(mlir::failure()) : Result(Operand(*rounded));
  }
  // desc.load(...): the language's classes have methods.
  if (TupleClassRef tupleClass = tupleClassOf(object))
    if (const BuiltinInfo *info = findBuiltin(tupleClass->name + "." + name)) {
      arguments->positional.insert(arguments->positional.begin(), object);
      return callLanguage(info->name, std::move(*arguments), expr);
    }
  if (std::optional<Constant> method = methodOf(tupleClassOf(object), name)) {
    arguments->positional.insert(arguments->positional.begin(), object);
    return call(*method, std::move(*arguments), expr);
  }
  // closure.fn(x), a function being an item of a named tuple.
  if (TupleClassRef tupleClass = tupleClassOf(object))
    if (auto index = tupleClass->indexOf(name)) {
      Operand item = (*tupleItems(object))[*index];
      if (!item.constant())
        return error(expr.position, describeOperand(item) + " cannot be called");
      return call(*item.constant(), std::move(*arguments), expr);
    }
  auto *constant = object.constant();
  if (!constant) {
    if (tupleItems(object) && (name == "append" || name == "extend" || name == "insert"))
      return error(expr.position,
                   "'" + name + "' is not supported: a list in a kernel never changes",
                   "build a new one: items = items + (item,)");
    return error(expr.position, object.kindName() + " has no method '" + name + "'");
  }
  if (auto *dtype = constant->as<DType>()) {
    auto is = [&](ScalarKind kind) { return *dtype == DType::scalar(kind); };
    std::optional<bool> answer =
        llvm::StringSwitch<std::optional<bool>>(name)
            .Case("is_floating", dtype->isFloat())
            .Case("is_standard_floating", dtype->isFloat() && !dtype->isFp8())
            .Case("is_int", dtype->isIntOrBool())
            .Case("is_int_signed", dtype->isSignedInt())
            .Case("is_int_unsigned", dtype->isUnsignedInt())
            .Case("is_bool", dtype->isBool())
            .Case("is_ptr", dtype->isPointer)
            .Case("is_const", dtype->isPointer && dtype->isConst)
            .Case("is_block", false)
            .Case("is_fp8", dtype->isFp8())
            .Case("is_fp8e4nv", is(ScalarKind::Float8E4NV))
            .Case("is_fp8e4b8", is(ScalarKind::Float8E4B8))
            .Case("is_fp8e5", is(ScalarKind::Float8E5))
            .Case("is_fp8e5b16", is(ScalarKind::Float8E5B16))
            .Case("is_fp8e4b15", is(ScalarKind::Float8E4B15))
            .Case("is_fp16", is(ScalarKind::Float16))
            .Case("is_bf16", is(ScalarKind::BFloat16))
            .Case("is_fp32", is(ScalarKind::Float32))
            .Case("is_fp64", is(ScalarKind::Float64))
            .Case("is_int1", is(ScalarKind::Int1))
            .Case("is_int8", is(ScalarKind::Int8))
            .Case("is_int16", is(ScalarKind::Int16))
            .Case("is_int32", is(ScalarKind::Int32))
            .Case("is_int64", is(ScalarKind::Int64))
            .Case("is_uint8", is(ScalarKind::UInt8))
            .Case("is_uint16", is(ScalarKind::UInt16))
            .Case("is_uint32", is(ScalarKind::UInt32))
            .Case("is_uint64", is(ScalarKind::UInt64))
            .Default(std::nullopt);
    if (answer) {
      // x.type.is_block() asks about the tile, not its elements.
      const Expr &base = *calleeExpr.children[0];
      if (name == "is_block" && base.kind == ExprKind::Attribute && base.text == "type") {
        Result tile = evaluate(*base.children[0]);
        answer = mlir::succeeded(tile) && tile->value() && !tile->value()->type.isScalar();
      }
      return Operand(Constant{*answer});
    }
    return attributeOfDType(*dtype, name, calleeExpr);
  }
  if (constant->is<ConstantTuple>() && (name == "append" || name == "extend" || name == "insert"))
    return error(expr.position, "'" + name + "' is not supported: a list in a kernel never changes",
                 "build a new one: items = items + (item,)");
  // A literal has the tile methods that Triton gives it: N.to(tl.int64).
  bool isNumber = isNumberConstant(object);
  if (isNumber && name == "to") {
    Result value = decay(object, expr.position);
    if (mlir::failed(value))
      return mlir::failure();
    arguments->positional.insert(arguments->positional.begin(), *value);
    return callLanguage("cast", std::move(*arguments), expr);
  }
  Result method = attributeOf(object, name, calleeExpr);
  if (mlir::failed(method))
    return mlir::failure();
  if (!method->constant())
    return error(expr.position, describeOperand(*method) + " cannot be called");
  return call(*method->constant(), std::move(*arguments), expr);
}

Evaluator::Result Evaluator::makeNamedTuple(const Environment::NamedTupleClass &made,
                                            const Arguments &arguments,
                                            const ast::Position &position) {
  const TupleClass &tupleClass = *made.tupleClass;
  size_t count = tupleClass.fields.size();
  std::string help = "its fields are " + llvm::join(tupleClass.fields, ", ");
  if (arguments.positional.size() > count)
    return error(position,
                 tupleClass.name + " takes " + std::to_string(count) + " items, not " +
                     std::to_string(arguments.positional.size()),
                 help);
  std::vector<std::optional<Operand>> items(arguments.positional.begin(),
                                            arguments.positional.end());
  items.resize(count);
  for (const NamedOperand &argument : arguments.named) {
    auto index = tupleClass.indexOf(argument.name);
    if (!index)
      return error(position, tupleClass.name + " has no field '" + argument.name + "'",
                   suggestion(argument.name, tupleClass.fields, help));
    if (items[*index])
      return error(position, tupleClass.name + ": field '" + argument.name + "' is given twice",
                   help);
    items[*index] = argument.operand;
  }
  std::vector<Operand> given;
  size_t withoutDefault = count - std::min(count, made.defaults.size());
  for (size_t i = 0; i < count; ++i) {
    if (!items[i] && i < withoutDefault)
      return error(position, tupleClass.name + ": field '" + tupleClass.fields[i] + "' is missing",
                   help);
    given.push_back(items[i] ? *items[i] : Operand(made.defaults[i - withoutDefault]));
  }
  return makeTuple(std::move(given), made.tupleClass);
}

std::optional<Constant> Evaluator::methodOf(const TupleClassRef &tupleClass,
                                            const std::string &name) {
  if (!tupleClass || !tupleClass->id || tupleClass->indexOf(name))
    return std::nullopt;
  Constant object{ObjectRef{tupleClass->id, "type"}};
  if (!environment.attribute(object, "__sectile_aggregate__").value)
    return std::nullopt;
  return environment.attribute(object, name).value;
}

/// The stem of the method of an operator: "add" of "+". `count` is that of its operands.
static llvm::StringRef methodStem(llvm::StringRef op, size_t count) {
  if (count == 1)
    return llvm::StringSwitch<llvm::StringRef>(op)
        .Case("-", "neg")
        .Case("+", "pos")
        .Case("~", "invert")
        .Default("");
  return llvm::StringSwitch<llvm::StringRef>(op)
      .Case("+", "add")
      .Case("-", "sub")
      .Case("*", "mul")
      .Case("/", "truediv")
      .Case("//", "floordiv")
      .Case("%", "mod")
      .Case("**", "pow")
      .Case("@", "matmul")
      .Case("&", "and")
      .Case("|", "or")
      .Case("^", "xor")
      .Case("<<", "lshift")
      .Case(">>", "rshift")
      .Case("==", "eq")
      .Case("!=", "ne")
      .Case("<", "lt")
      .Case("<=", "le")
      .Case(">", "gt")
      .Case(">=", "ge")
      .Case("[]", "getitem")
      .Default("");
}

/// The method that Python asks of the second operand: "radd", and of comparisons the mirrored one.
static std::string reflectedStem(llvm::StringRef stem) {
  llvm::StringRef mirrored = llvm::StringSwitch<llvm::StringRef>(stem)
                                 .Cases({"eq", "ne"}, stem)
                                 .Case("lt", "gt")
                                 .Case("le", "ge")
                                 .Case("gt", "lt")
                                 .Case("ge", "le")
                                 .Default("");
  return mirrored.empty() ? "r" + stem.str() : mirrored.str();
}

std::optional<Evaluator::Result> Evaluator::ownOperator(const std::string &op,
                                                        llvm::ArrayRef<Operand> operands,
                                                        const ast::Position &position) {
  llvm::StringRef stem = methodStem(op, operands.size());
  if (stem.empty())
    return std::nullopt;
  auto isAggregate = [&](const Operand &operand) {
    TupleClassRef tupleClass = tupleClassOf(operand);
    return tupleClass && tupleClass->id &&
           environment
               .attribute(Constant{ObjectRef{tupleClass->id, "type"}}, "__sectile_aggregate__")
               .value.has_value();
  };
  std::string aggregate;
  for (size_t self = 0; self < operands.size() && !(op == "[]" && self == 1); ++self) {
    if (!isAggregate(operands[self]))
      continue;
    TupleClassRef tupleClass = tupleClassOf(operands[self]);
    aggregate = tupleClass->name;
    std::string name = "__" + (self == 0 ? stem.str() : reflectedStem(stem)) + "__";
    std::optional<Constant> method = methodOf(tupleClass, name);
    auto *function = method ? method->as<FunctionRef>() : nullptr;
    if (!function)
      continue;
    Arguments arguments;
    arguments.positional.push_back(operands[self]);
    if (operands.size() == 2)
      arguments.positional.push_back(operands[1 - self]);
    return callFunction(*function, arguments, position);
  }
  // Instances without an own == are equal where their fields are.
  if (aggregate.empty() || op == "==" || op == "!=")
    return std::nullopt;
  bool isItem = op == "[]";
  return Result(error(position,
                      "'" + aggregate + "' has no " + (isItem ? "items" : "operator '" + op + "'"),
                      std::string(isItem ? "name the field, as in x.field, or g" : "g") +
                          "ive the class a @jit method __" + stem.str() + "__"));
}

Evaluator::Result Evaluator::makeInstance(const Environment::NamedTupleClass &made,
                                          const Constant &callee, const Arguments &arguments,
                                          const ast::Position &position) {
  // Null: the class has no __init__ of its own, and is made of its fields.
  std::optional<Constant> init = environment.attribute(callee, "__sectile_aggregate__").value;
  auto *reference = init ? init->as<FunctionRef>() : nullptr;
  if (reference)
    return callFunction(*reference, arguments, position, made.tupleClass, Wanted::Result);
  Result instance = makeNamedTuple(made, arguments, position);
  if (!init || mlir::failed(instance))
    return instance;
  auto items = *tupleItems(*instance);
  for (size_t i = 0; i < items.size(); ++i) {
    Result item = asField(made.tupleClass, i, items[i], position);
    if (mlir::failed(item))
      return mlir::failure();
    items[i] = *item;
  }
  return makeTuple(std::move(items), made.tupleClass);
}

Evaluator::Result Evaluator::asField(const TupleClassRef &tupleClass, size_t field,
                                     const Operand &operand, const ast::Position &position) {
  if (field < tupleClass->constantsFrom)
    return decay(operand, position);
  auto constant = requireConstant(operand, position,
                                  "'" + tupleClass->name + "." + tupleClass->fields[field] +
                                      "' is annotated tl.constexpr: its value");
  if (mlir::failed(constant))
    return mlir::failure();
  return Operand(std::move(*constant));
}

Evaluator::Result Evaluator::callObject(const Constant &callee, const Arguments &arguments,
                                        const Expr &expr) {
  if (auto made = environment.namedTupleClass(callee); made.tupleClass)
    return makeInstance(made, callee, arguments, expr.position);
  std::string path = dottedPath(*expr.children[0]);
  std::string name = path.empty() ? callee.kindName() : "'" + path + "'";
  std::vector<Constant> positional;
  std::vector<std::pair<std::string, Constant>> named;
  auto take = [&](const Operand &operand) -> mlir::FailureOr<Constant> {
    auto isKnown = [&](auto &self, const Operand &operand) -> bool {
      auto items = tupleItems(operand);
      if (!items)
        return sema.asConstant(operand).has_value();
      return llvm::all_of(*items, [&](const Operand &item) { return self(self, item); });
    };
    if (!isKnown(isKnown, operand)) {
      std::string help = "decorate it with @jit, or use an operation of the language";
      llvm::StringRef last = llvm::StringRef(path).rsplit('.').second; // of np.exp
      std::string found = last.empty() ? "" : environment.helpForAttribute(last.str());
      if (!found.empty())
        help = found;
      return error(expr.position,
                   name + " is a Python function: it cannot take " + describeOperand(operand) +
                       ", which is known only at run time",
                   help);
    }
    return requireConstant(operand, expr.position, "an argument of " + name);
  };
  for (const Operand &operand : arguments.positional) {
    auto constant = take(operand);
    if (mlir::failed(constant))
      return mlir::failure();
    positional.push_back(std::move(*constant));
  }
  for (const NamedOperand &argument : arguments.named) {
    auto constant = take(argument.operand);
    if (mlir::failed(constant))
      return mlir::failure();
    named.emplace_back(argument.name, std::move(*constant));
  }
  Environment::Answer answer = environment.call(callee, positional, named);
  if (!answer.value)
    return error(expr.position, answer.error.empty() ? name + " cannot be called" : answer.error,
                 answer.help);
  return Operand(std::move(*answer.value));
}

//-- @jit functions --------------------------------------------------------------------------------

mlir::FailureOr<Scope> Evaluator::bindArguments(const ast::Function &function,
                                                const Arguments &arguments,
                                                const ast::Position &position) {
  std::string signature = function.name + "(";
  for (size_t i = 0; i < function.parameters.size(); ++i)
    signature += (i ? ", " : "") + function.parameters[i].name +
                 (function.parameters[i].defaultValue ? "=..." : "");
  if (function.varArgs)
    signature += std::string(function.parameters.empty() ? "" : ", ") + "*" + *function.varArgs;
  std::string help = "its signature is " + signature + ")";
  if (function.keywordArgs)
    return error(position,
                 function.name + " takes **" + *function.keywordArgs +
                     ", which is not supported in a kernel",
                 "name its parameters");

  Scope bound;
  auto bind = [&](const std::string &name, Operand operand) {
    Binding binding;
    binding.operand = std::move(operand);
    binding.range = rangeOf(position);
    binding.version = nextVersion++;
    bound.set(name, std::move(binding));
  };
  size_t next = 0;
  for (const ast::Parameter &parameter : function.parameters) {
    if (parameter.isKeywordOnly || next == arguments.positional.size())
      break;
    bind(parameter.name, arguments.positional[next++]);
  }
  if (function.varArgs) {
    std::vector<Operand> rest(arguments.positional.begin() + next, arguments.positional.end());
    bind(*function.varArgs, makeTuple(std::move(rest)));
  } else if (next < arguments.positional.size()) {
    return error(position,
                 function.name + " takes " + std::to_string(next) +
                     (next == 1 ? " positional argument, not " : " positional arguments, not ") +
                     std::to_string(arguments.positional.size()),
                 help);
  }
  std::vector<std::string> names;
  for (const ast::Parameter &parameter : function.parameters)
    names.push_back(parameter.name);
  for (const NamedOperand &argument : arguments.named) {
    if (!llvm::is_contained(names, argument.name))
      return error(position, function.name + " has no argument '" + argument.name + "'",
                   suggestion(argument.name, names, help));
    if (bound.find(argument.name))
      return error(position, function.name + ": argument '" + argument.name + "' is given twice",
                   help);
    bind(argument.name, argument.operand);
  }
  for (const ast::Parameter &parameter : function.parameters) {
    if (const Binding *binding = bound.find(parameter.name)) {
      // What is annotated constexpr is used as one: see through a scalar made of a literal.
      if (parameter.isConstexpr)
        if (auto constant = sema.asConstant(binding->operand))
          bind(parameter.name, *constant);
      continue;
    }
    if (!parameter.defaultValue)
      return error(position, function.name + ": argument '" + parameter.name + "' is missing",
                   help);
    bind(parameter.name, *parameter.defaultValue);
  }
  return bound;
}

Evaluator::Result Evaluator::callFunction(const FunctionRef &reference, const Arguments &arguments,
                                          const ast::Position &position) {
  return callFunction(reference, arguments, position, nullptr, Wanted::Result);
}

Evaluator::Result Evaluator::callFunction(const FunctionRef &reference, const Arguments &arguments,
                                          const ast::Position &position,
                                          const TupleClassRef &constructed, Wanted wanted) {
  if (llvm::is_contained(failedFunctions, reference.id))
    return mlir::failure();
  if (frames.size() >= kDeepestCalls) {
    std::string deep = std::to_string(kDeepestCalls) + " deep";
    if (llvm::any_of(frames, [&](const Frame &f) { return f.function->reference == reference; }))
      return error(position, "'" + reference.name + "' calls itself, and calls are nested " + deep,
                   "a recursion ends by a condition on constants, such as tl.constexpr parameters; "
                   "where it depends on values, use a loop");
    return error(position, "calls are nested more than " + deep);
  }

  std::string reason;
  std::shared_ptr<const ast::Function> function = environment.function(reference, reason);
  if (!function)
    return error(position, "'" + reference.name + "' cannot be inlined: " + reason);
  at(position);
  if (constructed && function->parameters.empty())
    return error(position, "the __init__ of '" + constructed->name + "' has no parameter for self");
  Arguments given = arguments;
  if (constructed)
    given.positional.insert(given.positional.begin(), Operand());
  auto bound = bindArguments(*function, given, position);
  if (mlir::failed(bound))
    return mlir::failure();
  if (!llvm::is_contained(sources, function.get())) {
    inlined.push_back(function);
    sources.push_back(function.get());
  }

  size_t errorsBefore = sink.all().size();
  Scope outer = std::exchange(scope, std::move(*bound));
  std::string outerFunction = std::exchange(sema.function, function->name);
  sema.callers.insert(sema.callers.begin(), {outerFunction, rangeOf(position)});
  frames.push_back({function.get(), localNames(*function)});
  frames.back().depthAtEntry = depth;
  frames.back().wanted = wanted;
  if (constructed) {
    frames.back().constructed = constructed;
    frames.back().self = function->parameters[0].name;
    scope.erase(frames.back().self);
  }

  Exit exit = evaluateBlock(function->body, BlockEnd::ReturnsNone);
  if (constructed && sink.all().size() == errorsBefore && !gaveUp) {
    Result instance = constructedSelf(function->position);
    if (mlir::succeeded(instance))
      exit.returned = *instance;
  }
  frames.pop_back();
  sema.callers.erase(sema.callers.begin());
  sema.function = std::move(outerFunction);
  scope = std::move(outer);
  at(position);
  if (sink.all().size() > errorsBefore && sink.hasErrors()) {
    failedFunctions.push_back(reference.id);
    return mlir::failure();
  }
  if (gaveUp)
    return mlir::failure();
  return exit.returned;
}

} // namespace sectile::python
