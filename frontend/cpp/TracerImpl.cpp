//===-- TracerImpl.cpp - values, operators and operations ---------------------------------===//
// Control flow is in TraceControlFlow.cpp.
#include "frontend/cpp/TracerImpl.h"

#include "frontend/cpp/ConstantArithmetic.h"
#include "frontend/cpp/ScopeGuard.h"
#include "lang/builtins/Builtins.h"

#include <fstream>

using mlir::failure;
using mlir::FailureOr;

namespace sectile::cpp {
using lang::BinaryOperator;
using lang::Constant;
using lang::Operand;
using lang::UnaryOperator;

TracerImpl::TracerImpl(lang::Semantics &sema, lang::DiagnosticSink &sink) : sema(sema), sink(sink) {
  scopes.push_back({lastScope++, ScopeKind::Open, "kernel"});
  sema.words = lang::kCppWords;
  sema.sourceLine = [this](const std::string &file, int line) { return sourceLine(file, line); };
}

void TracerImpl::at(const lang::SourceRange &range) {
  sema.at(range);
}

std::string TracerImpl::firstError() const {
  for (const lang::Diagnostic &diagnostic : sink.all())
    if (diagnostic.severity == lang::Diagnostic::Severity::Error)
      return render(diagnostic);
  return "";
}

TracedType TracerImpl::typeOf(ValueId value) const {
  if (!value.isKnown() || value.id > values.size())
    return {};
  const lang::Type &type = values[value.id - 1].value.type;
  return {type.dtype, {type.shape.begin(), type.shape.end()}};
}

void TracerImpl::requireFits(const Constant &number, lang::DType dtype, std::string_view what) {
  (void)sema.convertsTo(number, dtype, llvm::StringRef(what.data(), what.size()));
}

void TracerImpl::error(std::string message, std::string help) {
  (void)sema.error(std::move(message), std::move(help));
}

std::string TracerImpl::sourceLine(const std::string &file, int line) {
  auto found = files.find(file);
  if (found == files.end()) {
    found = files.emplace(file, std::vector<std::string>()).first;
    std::ifstream stream(file);
    for (std::string text; std::getline(stream, text);)
      found->second.push_back(text);
  }
  const std::vector<std::string> &lines = found->second;
  return line >= 1 && size_t(line) <= lines.size() ? lines[line - 1] : "";
}

//===-- values and arguments ------------------------------------------------------------------===//

ValueId TracerImpl::add(const lang::Value &value) {
  values.push_back({value, scopes.back().id, scopes.back().what});
  return {uint32_t(values.size())};
}

std::vector<ValueId> TracerImpl::add(mlir::ValueRange results, llvm::ArrayRef<lang::Value> like) {
  std::vector<ValueId> ids;
  for (auto [result, model] : llvm::zip_equal(results, like))
    ids.push_back(add({result, model.type}));
  return ids;
}

FailureOr<lang::Value> TracerImpl::valueOf(ValueId id) {
  if (!id.isKnown() || id.id > values.size())
    return sema.error(
        "value: used before it was given one",
        "initialise the handle from an operation, as in `auto x = zeros<f32>({BLOCK})`");
  const Entry &entry = values[id.id - 1];
  for (const Scope &scope : llvm::reverse(scopes)) {
    if (scope.id == entry.scope)
      return entry.value;
    if (scope.kind == ScopeKind::Isolated)
      return sema.error(std::string(scope.what) +
                            ": the combining function uses a value from outside of it",
                        "let it depend on its parameters and on constants only");
  }
  return sema.error(
      "value: made inside the body of " + std::string(entry.what) + " and used after it ended",
      "return it from the body, and use what " + std::string(entry.what) + " returns");
}

FailureOr<Operand> TracerImpl::operandOf(const Argument &argument, std::string_view user) {
  if (auto *constant = std::get_if<Constant>(&argument.data))
    return Operand(*constant);
  if (auto *id = std::get_if<ValueId>(&argument.data)) {
    FailureOr<lang::Value> value = valueOf(*id);
    if (mlir::failed(value))
      return failure();
    return Operand(*value);
  }
  if (auto *typed = std::get_if<TypedNumber>(&argument.data)) {
    if (typed->isWideLiteral)
      return Operand(typed->number);
    if (mlir::failed(sema.convertsTo(typed->number, typed->dtype, "variable")))
      return failure();
    return Operand(sema.constant(typed->number, typed->dtype));
  }
  if (auto *combiner = std::get_if<Argument::Combiner>(&argument.data))
    return Operand(combinerOf(*combiner, user));
  std::vector<Operand> items;
  for (const Argument &item : std::get<Argument::Tuple>(argument.data)) {
    FailureOr<Operand> operand = operandOf(item, user);
    if (mlir::failed(operand))
      return failure();
    items.push_back(*operand);
  }
  // A tuple of constants (a shape, an order) is a constant.
  if (llvm::all_of(items, [](const Operand &item) { return item.constant(); })) {
    std::vector<Constant> constants;
    for (const Operand &item : items)
      constants.push_back(*item.constant());
    return Operand(Constant::tuple(std::move(constants)));
  }
  return Operand::tuple(std::move(items), argument.tupleClass);
}

Argument TracerImpl::argumentOf(const Operand &operand) {
  if (auto *constant = operand.constant())
    return {*constant, ""};
  if (auto *value = operand.value())
    return {add(*value), ""};
  Argument::Tuple items;
  if (auto *parts = operand.items())
    for (const Operand &part : *parts)
      items.push_back(argumentOf(part));
  return {std::move(items), "", operand.items() ? operand.items()->tupleClass : nullptr};
}

lang::Combiner TracerImpl::combinerOf(Argument::Combiner combiner, std::string_view user) {
  return [this, combiner = std::move(combiner), user = std::string(user)](
             llvm::ArrayRef<lang::Value> lhs,
             llvm::ArrayRef<lang::Value> rhs) -> FailureOr<llvm::SmallVector<lang::Value>> {
    lang::SourceRange outside = sema.range();
    ScopeGuard scope(*this, ScopeKind::Isolated, user);
    std::vector<ValueId> lhsIds, rhsIds;
    for (const lang::Value &value : lhs)
      lhsIds.push_back(add(value));
    for (const lang::Value &value : rhs)
      rhsIds.push_back(add(value));
    BodyResult result = combiner(lhsIds, rhsIds);
    if (!result) {
      hasFailed = true;
      return failure();
    }
    llvm::SmallVector<lang::Value> combined;
    for (auto [index, argument] : llvm::enumerate(*result)) {
      const lang::Type *type = index < lhs.size() ? &lhs[index].type : nullptr;
      FailureOr<lang::Value> value = valueLike(argument, type, user);
      if (mlir::failed(value))
        return failure();
      combined.push_back(*value);
    }
    sema.at(outside);
    return combined;
  };
}

FailureOr<lang::Value> TracerImpl::valueLike(const Argument &argument, const lang::Type *type,
                                             std::string_view user) {
  FailureOr<Operand> operand = operandOf(argument, user);
  if (mlir::failed(operand))
    return failure();
  return valueLike(*operand, type, user);
}

FailureOr<lang::Value> TracerImpl::valueLike(const Operand &operand, const lang::Type *type,
                                             std::string_view user) {
  llvm::StringRef name(user.data(), user.size());
  const Constant *bare = operand.constant();
  if (bare && type && type->isScalar() && !type->dtype.isPointer) {
    bool isOfKind = bare->is<bool>()        ? type->dtype.isBool()
                    : bare->is<lang::Int>() ? type->dtype.isInt()
                                            : bare->is<double>() && type->dtype.isFloat();
    if (isOfKind) {
      if (mlir::failed(sema.convertsTo(*bare, type->dtype, name)))
        return failure();
      return sema.constant(*bare, type->dtype);
    }
  }
  return sema.toValue(operand, name);
}

//===-- operations and operators --------------------------------------------------------------===//

/// Reports the use of a pointer parameter for which the launch has no array.
bool TracerImpl::isNullPointer(const Argument &argument, std::string_view user) {
  const Constant *constant = argument.constant();
  if (!constant || !constant->isNone())
    return false;
  error(std::string(user) + ": the pointer is null: the launch was given no array for it",
        "leave the access out where pointer.isNone(), or launch with an empty std::span if the "
        "array is there but has no elements");
  return true;
}

std::vector<Argument> TracerImpl::call(std::string_view builtin,
                                       std::span<const Argument> arguments) {
  if (failed())
    return {};
  const bool isAccess =
      builtin == "load" || builtin == "store" || builtin.substr(0, 7) == "atomic_";
  if (isAccess && !arguments.empty() && isNullPointer(arguments.front(), builtin))
    return {};
  llvm::SmallVector<Operand> positional;
  llvm::SmallVector<lang::NamedOperand> named;
  for (const Argument &argument : arguments) {
    FailureOr<Operand> operand = operandOf(argument, builtin);
    if (mlir::failed(operand))
      return {};
    if (argument.name.empty())
      positional.push_back(*operand);
    else
      named.push_back({argument.name, *operand});
  }
  FailureOr<Operand> result =
      lang::callBuiltin(sema, llvm::StringRef(builtin.data(), builtin.size()), positional, named);
  if (mlir::failed(result)) {
    hasFailed = true;
    return {};
  }
  Argument made = argumentOf(*result);
  if (auto *items = std::get_if<Argument::Tuple>(&made.data); items && !made.tupleClass)
    return std::move(*items);
  return {std::move(made)};
}

static std::optional<BinaryOperator> binaryOperator(std::string_view op) {
  static constexpr std::pair<std::string_view, BinaryOperator> table[] = {
      {"+", BinaryOperator::Add},           {"-", BinaryOperator::Subtract},
      {"*", BinaryOperator::Multiply},      {"%", BinaryOperator::Modulo},
      {"&", BinaryOperator::BitAnd},        {"|", BinaryOperator::BitOr},
      {"^", BinaryOperator::BitXor},        {"<<", BinaryOperator::ShiftLeft},
      {">>", BinaryOperator::ShiftRight},   {"==", BinaryOperator::Equal},
      {"!=", BinaryOperator::NotEqual},     {"<", BinaryOperator::Less},
      {"<=", BinaryOperator::LessEqual},    {">", BinaryOperator::Greater},
      {">=", BinaryOperator::GreaterEqual}, {"&&", BinaryOperator::LogicalAnd},
      {"||", BinaryOperator::LogicalOr}};
  for (auto [text, kind] : table)
    if (text == op)
      return kind;
  return std::nullopt;
}

/// The dtype that two operands of an operator promote to; void when there is none. Reports nothing.
static lang::DType meetingDType(lang::Semantics &sema, const Operand &lhs, const Operand &rhs) {
  lang::DiagnosticSink unheard;
  lang::Semantics quiet(sema.builder, unheard);
  FailureOr<lang::DType> dtype = quiet.promote(lhs, rhs, "", /*isDivision=*/false);
  return mlir::succeeded(dtype) ? *dtype : lang::DType{};
}

/// The dtype of a side; void for a bare number.
static lang::DType dtypeOf(const Tracer &tracer, const Argument &side) {
  if (auto *typed = std::get_if<TypedNumber>(&side.data))
    return typed->isWideLiteral ? lang::DType{} : typed->dtype;
  if (auto *id = std::get_if<ValueId>(&side.data))
    return tracer.typeOf(*id).dtype;
  return {};
}

FailureOr<Operand> TracerImpl::sideOf(const Argument &argument, const Argument &other,
                                      std::string_view op) {
  auto *typed = std::get_if<TypedNumber>(&argument.data);
  if (!typed)
    return operandOf(argument, op);
  Operand bare(typed->number);
  const lang::DType meets = dtypeOf(*this, other);
  const bool isShift = op == "<<" || op == ">>";
  if (typed->isWideLiteral) {
    // Next to a narrower integer it asks for 64 bits, of that one's signedness where it can.
    if (isShift || meets.isPointer || !meets.isIntOrBool() || meets.bits() == 64)
      return bare;
    bool isUnsigned = meets.isInt() && !meets.isSignedInt();
    const lang::DType wide[] = {lang::DType::scalar(lang::ScalarKind::Int64),
                                lang::DType::scalar(lang::ScalarKind::UInt64)};
    bool takesUnsigned = isUnsigned ? lang::fitsDType(typed->number, wide[1])
                                    : !lang::fitsDType(typed->number, wide[0]);
    return Operand(sema.constant(typed->number, wide[takesUnsigned]));
  }
  // Where its type makes no difference it enters as a bare number, as from a Python kernel.
  if (!meets.isVoid() && !meets.isPointer &&
      mlir::succeeded(sema.convertsTo(typed->number, typed->dtype, "variable"))) {
    Operand there(lang::Value{{}, lang::Type{meets, {}}});
    Operand here(lang::Value{{}, lang::Type{typed->dtype, {}}});
    lang::DType dtype = meetingDType(sema, here, there);
    if (!dtype.isVoid() && dtype == meetingDType(sema, bare, there))
      return bare;
  }
  return operandOf(argument, op);
}

Argument TracerImpl::constantOrValue(llvm::function_ref<FailureOr<Operand>()> build) {
  // Computed aside, by the very rules of values; what is not known stays a value. An overflow that
  // is to be reported when the kernel runs stays one, too.
  if (!sema.sanitizeOverflow) {
    mlir::Block aside;
    mlir::OpBuilder::InsertionGuard guard(sema.builder);
    sema.builder.setInsertionPointToStart(&aside);
    FailureOr<Operand> result = build();
    if (mlir::failed(result)) {
      hasFailed = true;
      return {ValueId(), ""};
    }
    if (auto *value = result->value())
      if (std::optional<Constant> known = sema.asConstant(*result))
        return {TypedNumber{*known, value->type.dtype}, ""};
  }
  FailureOr<Operand> result = build();
  if (mlir::failed(result)) {
    hasFailed = true;
    return {ValueId(), ""};
  }
  return argumentOf(*result);
}

static bool isTyped(const Argument &argument) {
  auto *typed = std::get_if<TypedNumber>(&argument.data);
  return typed && !typed->isWideLiteral;
}

Argument TracerImpl::binary(std::string_view op, const Argument &lhs, const Argument &rhs) {
  if (failed())
    return {ValueId(), ""};
  if (op == "+" || op == "-")
    for (const Argument *side : {&lhs, &rhs})
      if (isNullPointer(*side, "operator " + std::string(op)))
        return {ValueId(), ""};
  if (lhs.constant() && rhs.constant()) {
    FoldResult folded = foldBinary(op, *lhs.constant(), *rhs.constant());
    if (!folded.value) {
      error(folded.error, "");
      return {ValueId(), ""};
    }
    if (!isTyped(lhs) && !isTyped(rhs))
      return {*folded.value, ""};
    // One side keeps its type here: Semantics has no operation for two bare numbers.
    return constantOrValue([&]() -> FailureOr<Operand> {
      FailureOr<Operand> left = isTyped(lhs) ? operandOf(lhs, op) : sideOf(lhs, rhs, op);
      FailureOr<Operand> right = isTyped(rhs) ? operandOf(rhs, op) : sideOf(rhs, lhs, op);
      if (mlir::failed(left) || mlir::failed(right))
        return failure();
      return operatorOn(op, *left, *right);
    });
  }
  FailureOr<Operand> left = sideOf(lhs, rhs, op), right = sideOf(rhs, lhs, op);
  FailureOr<Operand> result = failure();
  if (mlir::succeeded(left) && mlir::succeeded(right))
    result = operatorOn(op, *left, *right);
  if (mlir::failed(result)) {
    hasFailed = true;
    return {ValueId(), ""};
  }
  return argumentOf(*result);
}

FailureOr<Operand> TracerImpl::operatorOn(std::string_view op, const Operand &lhs,
                                          const Operand &rhs) {
  if (op == "/")
    return sema.truncatingDivide(lhs, rhs);
  if (auto kind = binaryOperator(op))
    return sema.binary(*kind, lhs, rhs);
  return sema.error("operator " + std::string(op) + ": not part of the language");
}

Argument TracerImpl::unary(std::string_view op, const Argument &operand) {
  if (failed())
    return {ValueId(), ""};
  UnaryOperator kind = op == "-"   ? UnaryOperator::Negate
                       : op == "~" ? UnaryOperator::BitNot
                       : op == "!" ? UnaryOperator::LogicalNot
                                   : UnaryOperator::Plus;
  auto build = [&]() -> FailureOr<Operand> {
    FailureOr<Operand> value = operandOf(operand, op);
    if (mlir::failed(value))
      return failure();
    return sema.unary(kind, *value);
  };
  if (const Constant *constant = operand.constant()) {
    if (isTyped(operand))
      return constantOrValue(build);
    FoldResult folded = foldUnary(op, *constant);
    if (folded.value)
      return {*folded.value, ""};
    error(folded.error, "");
    return {ValueId(), ""};
  }
  FailureOr<Operand> result = build();
  if (mlir::failed(result)) {
    hasFailed = true;
    return {ValueId(), ""};
  }
  return argumentOf(*result);
}

//===-- indices -------------------------------------------------------------------------------===//

FailureOr<std::optional<lang::Int>> TracerImpl::indexNumber(const Argument &number) {
  FailureOr<Operand> operand = operandOf(number, "index");
  if (mlir::failed(operand))
    return failure();
  std::optional<Constant> known = sema.asConstant(*operand);
  if (!known)
    return lang::refuseIndexAtRunTime(sema, *operand);
  if (known->isNone())
    return std::optional<lang::Int>();
  if (auto *integer = known->as<lang::Int>())
    return std::optional(*integer);
  return sema.error("the index of a tile must be an integer, not " + known->kindName());
}

FailureOr<lang::IndexPart> TracerImpl::indexPartOf(const IndexPart &part) {
  if (part.kind == IndexPart::Kind::NewDimension)
    return lang::IndexPart{lang::IndexPart::NewDimension(), sema.range()};
  std::optional<lang::Int> numbers[3];
  const Argument *written[] = {&part.first, &part.upper, &part.step};
  for (size_t i = 0; i < 3; ++i) {
    auto number = indexNumber(*written[i]);
    if (mlir::failed(number))
      return failure();
    numbers[i] = *number;
  }
  if (part.kind == IndexPart::Kind::Slice)
    return lang::IndexPart{lang::Slice{numbers[0], numbers[1], numbers[2]}, sema.range()};
  if (!numbers[0])
    return sema.error("the index of a tile must be an integer, not a null pointer");
  return lang::IndexPart{*numbers[0], sema.range()};
}

/// Whether the part is neither a whole dimension nor a new one.
static bool picksPart(const IndexPart &part) {
  auto isWritten = [](const Argument &bound) {
    return !bound.constant() || !bound.constant()->isNone();
  };
  return part.kind == IndexPart::Kind::Element ||
         (part.kind == IndexPart::Kind::Slice &&
          (isWritten(part.first) || isWritten(part.upper) || isWritten(part.step)));
}

Argument TracerImpl::index(const Argument &value, std::span<const IndexPart> parts) {
  if (failed())
    return {ValueId(), ""};
  auto build = [&]() -> FailureOr<Operand> {
    auto *id = std::get_if<ValueId>(&value.data);
    if (!id)
      return sema.error("index: a constant has no dimensions",
                        "use full({...}, value) for a tile of it");
    FailureOr<lang::Value> source = valueOf(*id);
    if (mlir::failed(source))
      return failure();
    // What is written p[i] in C++ is an access, whether i is known by now or not.
    if (source->type.dtype.isPointer && llvm::any_of(parts, picksPart))
      return sema.error("a pointer cannot be indexed", "use load(p + i), or store(p + i, value)");
    llvm::SmallVector<lang::IndexPart> known;
    for (const IndexPart &part : parts) {
      FailureOr<lang::IndexPart> made = indexPartOf(part);
      if (mlir::failed(made))
        return failure();
      known.push_back(*made);
    }
    return lang::indexTile(sema, *source, known);
  };
  FailureOr<Operand> result = build();
  if (mlir::failed(result)) {
    hasFailed = true;
    return {ValueId(), ""};
  }
  return argumentOf(*result);
}

} // namespace sectile::cpp
