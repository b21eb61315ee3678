#include "python/bindings/AstConverter.h"

#include "python/bindings/Interruption.h"

#include <string_view>
#include <unordered_map>

namespace sectile::bindings {

using namespace python::ast;

namespace {

/// Deeper syntax is refused: this converter, the evaluator and the destructors recurse.
constexpr int kDeepestSyntax = 900;

struct ConversionError {
  std::string message;
};

const std::unordered_map<std::string_view, const char *> &operatorTexts() {
  static const std::unordered_map<std::string_view, const char *> texts = {
      {"Add", "+"},        {"Sub", "-"},   {"Mult", "*"},       {"Div", "/"},
      {"FloorDiv", "//"},  {"Mod", "%"},   {"Pow", "**"},       {"MatMult", "@"},
      {"BitAnd", "&"},     {"BitOr", "|"}, {"BitXor", "^"},     {"LShift", "<<"},
      {"RShift", ">>"},    {"UAdd", "+"},  {"USub", "-"},       {"Invert", "~"},
      {"Not", "not"},      {"And", "and"}, {"Or", "or"},        {"Eq", "=="},
      {"NotEq", "!="},     {"Lt", "<"},    {"LtE", "<="},       {"Gt", ">"},
      {"GtE", ">="},       {"Is", "is"},   {"IsNot", "is not"}, {"In", "in"},
      {"NotIn", "not in"},
  };
  return texts;
}

std::string_view kindOf(py::handle node) {
  std::string_view name = Py_TYPE(node.ptr())->tp_name;
  size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

class Converter {
public:
  explicit Converter(int lineOffset) : lineOffset(lineOffset) {}

  Position positionOf(py::handle node) const {
    Position position;
    position.line = node.attr("lineno").cast<int>() + lineOffset;
    position.column = node.attr("col_offset").cast<int>() + 1;
    position.endLine = node.attr("end_lineno").cast<int>() + lineOffset;
    position.endColumn = node.attr("end_col_offset").cast<int>() + 1;
    return position;
  }

  ExprPtr expression(py::handle node);
  StmtPtr statement(py::handle node);

  std::vector<StmtPtr> body(py::handle nodes) {
    std::vector<StmtPtr> statements;
    for (py::handle node : nodes)
      statements.push_back(statement(node));
    return statements;
  }

private:
  struct DepthGuard {
    int &depth;
    explicit DepthGuard(int &depth) : depth(depth) {
      if (++depth > kDeepestSyntax)
        throw ConversionError{"it is nested too deep"};
    }
    ~DepthGuard() { --depth; }
  };

  std::string operatorText(py::handle op) { return operatorTexts().at(kindOf(op)); }
  ExprPtr optional(py::handle node) { return node.is_none() ? nullptr : expression(node); }
  void addAll(Expr &expr, py::handle nodes) {
    for (py::handle node : nodes)
      expr.children.push_back(expression(node));
  }
  void constant(Expr &expr, py::handle value);
  void formatted(Expr &expr, py::handle node);
  void comprehension(Expr &expr, py::handle node, const char *kind);

  int lineOffset;
  int depth = 0;
};

void unsupported(Expr &expr, const char *text) {
  expr.kind = ExprKind::Unsupported;
  expr.text = text;
}

void Converter::constant(Expr &expr, py::handle value) {
  expr.kind = ExprKind::Constant;
  PyObject *object = value.ptr();
  if (value.is_none())
    expr.value = {lang::None{}};
  else if (PyBool_Check(object))
    expr.value = {object == Py_True};
  else if (PyLong_Check(object)) {
    if (auto number = integerFromPython(value))
      expr.value = lang::Constant::integer(*number);
    else
      unsupported(expr, "integer of more than 128 bits");
  } else if (PyFloat_Check(object))
    expr.value = {PyFloat_AS_DOUBLE(object)};
  else if (PyUnicode_Check(object)) {
    Py_ssize_t size = 0;
    const char *text = PyUnicode_AsUTF8AndSize(object, &size);
    if (!text) { // a lone surrogate
      PyErr_Clear();
      return unsupported(expr, "text that is no valid unicode");
    }
    expr.value = {std::string(text, size_t(size))};
  } else if (object == Py_Ellipsis)
    unsupported(expr, "...");
  else
    unsupported(expr, Py_TYPE(object)->tp_name);
}

void Converter::formatted(Expr &expr, py::handle node) {
  expr.kind = ExprKind::FormattedText;
  for (py::handle part : node.attr("values")) {
    if (kindOf(part) != "FormattedValue") {
      expr.children.push_back(expression(part));
      continue;
    }
    auto value = std::make_unique<Expr>();
    value->kind = ExprKind::FormattedValue;
    value->position = positionOf(part);
    if (int conversion = part.attr("conversion").cast<int>(); conversion != -1)
      value->text = static_cast<char>(conversion);
    value->children.push_back(expression(part.attr("value")));
    if (py::object specification = part.attr("format_spec"); !specification.is_none())
      value->children.push_back(expression(specification));
    expr.children.push_back(std::move(value));
  }
}

void Converter::comprehension(Expr &expr, py::handle node, const char *kind) {
  expr.kind = ExprKind::Comprehension;
  expr.text = kind;
  expr.children.push_back(expression(node.attr("elt")));
  for (py::handle generator : node.attr("generators")) {
    ComprehensionClause clause;
    clause.target = expression(generator.attr("target"));
    clause.iterable = expression(generator.attr("iter"));
    for (py::handle condition : generator.attr("ifs"))
      clause.conditions.push_back(expression(condition));
    expr.clauses.push_back(std::move(clause));
  }
}

ExprPtr Converter::expression(py::handle node) {
  DepthGuard guard(depth);
  auto result = std::make_unique<Expr>();
  Expr &expr = *result;
  expr.position = positionOf(node);
  std::string_view kind = kindOf(node);
  if (kind == "Constant") {
    constant(expr, node.attr("value"));
  } else if (kind == "Name") {
    expr.kind = ExprKind::Name;
    expr.text = node.attr("id").cast<std::string>();
  } else if (kind == "Attribute") {
    expr.kind = ExprKind::Attribute;
    expr.text = node.attr("attr").cast<std::string>();
    expr.children.push_back(expression(node.attr("value")));
  } else if (kind == "Subscript") {
    expr.kind = ExprKind::Subscript;
    expr.children.push_back(expression(node.attr("value")));
    expr.children.push_back(expression(node.attr("slice")));
  } else if (kind == "Slice") {
    expr.kind = ExprKind::Slice;
    for (const char *bound : {"lower", "upper", "step"})
      expr.children.push_back(optional(node.attr(bound)));
  } else if (kind == "Tuple" || kind == "List") {
    expr.kind = kind == "Tuple" ? ExprKind::Tuple : ExprKind::List;
    addAll(expr, node.attr("elts"));
  } else if (kind == "UnaryOp") {
    expr.kind = ExprKind::Unary;
    expr.text = operatorText(node.attr("op"));
    expr.children.push_back(expression(node.attr("operand")));
  } else if (kind == "BinOp") {
    expr.kind = ExprKind::Binary;
    expr.text = operatorText(node.attr("op"));
    expr.children.push_back(expression(node.attr("left")));
    expr.children.push_back(expression(node.attr("right")));
  } else if (kind == "BoolOp") {
    expr.kind = ExprKind::BoolOp;
    expr.text = operatorText(node.attr("op"));
    addAll(expr, node.attr("values"));
  } else if (kind == "Compare") {
    expr.kind = ExprKind::Compare;
    expr.children.push_back(expression(node.attr("left")));
    addAll(expr, node.attr("comparators"));
    for (py::handle op : node.attr("ops"))
      expr.operators.push_back(operatorText(op));
  } else if (kind == "IfExp") {
    expr.kind = ExprKind::Conditional;
    for (const char *part : {"test", "body", "orelse"})
      expr.children.push_back(expression(node.attr(part)));
  } else if (kind == "Call") {
    expr.kind = ExprKind::Call;
    expr.children.push_back(expression(node.attr("func")));
    addAll(expr, node.attr("args"));
    for (py::handle argument : node.attr("keywords")) {
      Keyword keyword;
      if (!argument.attr("arg").is_none())
        keyword.name = argument.attr("arg").cast<std::string>();
      keyword.value = expression(argument.attr("value"));
      keyword.position = positionOf(argument);
      expr.keywords.push_back(std::move(keyword));
    }
  } else if (kind == "Starred") {
    expr.kind = ExprKind::Starred;
    expr.children.push_back(expression(node.attr("value")));
  } else if (kind == "NamedExpr") {
    expr.kind = ExprKind::NamedExpr;
    expr.text = node.attr("target").attr("id").cast<std::string>();
    expr.children.push_back(expression(node.attr("value")));
  } else if (kind == "JoinedStr") {
    formatted(expr, node);
  } else if (kind == "ListComp") {
    comprehension(expr, node, "list");
  } else if (kind == "GeneratorExp") {
    comprehension(expr, node, "tuple");
  } else if (kind == "SetComp") {
    comprehension(expr, node, "set");
  } else {
    unsupported(expr, kind == "Lambda"                         ? "lambda"
                      : kind == "Dict" || kind == "DictComp"   ? "dict"
                      : kind == "Set"                          ? "set"
                      : kind == "Await"                        ? "await"
                      : kind == "Yield" || kind == "YieldFrom" ? "yield"
                                                               : std::string(kind).c_str());
  }
  return result;
}

StmtPtr Converter::statement(py::handle node) {
  DepthGuard guard(depth);
  auto result = std::make_unique<Stmt>();
  Stmt &stmt = *result;
  stmt.position = positionOf(node);
  std::string_view kind = kindOf(node);
  auto withBody = [&](StmtKind statementKind, const char *value) {
    stmt.kind = statementKind;
    stmt.value = expression(node.attr(value));
    stmt.body = body(node.attr("body"));
    stmt.orelse = body(node.attr("orelse"));
  };
  if (kind == "Expr") {
    stmt.kind = StmtKind::Expression;
    stmt.value = expression(node.attr("value"));
  } else if (kind == "Assign") {
    stmt.kind = StmtKind::Assign;
    for (py::handle target : node.attr("targets"))
      stmt.targets.push_back(expression(target));
    stmt.value = expression(node.attr("value"));
  } else if (kind == "AugAssign") {
    stmt.kind = StmtKind::AugmentedAssign;
    stmt.text = operatorText(node.attr("op"));
    stmt.targets.push_back(expression(node.attr("target")));
    stmt.value = expression(node.attr("value"));
  } else if (kind == "AnnAssign") {
    stmt.kind = StmtKind::AnnotatedAssign;
    stmt.targets.push_back(expression(node.attr("target")));
    stmt.annotation = expression(node.attr("annotation"));
    stmt.value = optional(node.attr("value"));
  } else if (kind == "If") {
    withBody(StmtKind::If, "test");
  } else if (kind == "While") {
    withBody(StmtKind::While, "test");
  } else if (kind == "For") {
    withBody(StmtKind::For, "iter");
    stmt.targets.push_back(expression(node.attr("target")));
  } else if (kind == "Return") {
    stmt.kind = StmtKind::Return;
    stmt.value = optional(node.attr("value"));
  } else if (kind == "Assert") {
    stmt.kind = StmtKind::Assert;
    stmt.value = expression(node.attr("test"));
    stmt.annotation = optional(node.attr("msg"));
  } else if (kind == "Pass") {
    stmt.kind = StmtKind::Pass;
  } else if (kind == "Break") {
    stmt.kind = StmtKind::Break;
  } else if (kind == "Continue") {
    stmt.kind = StmtKind::Continue;
  } else if (kind == "Global" || kind == "Nonlocal") {
    stmt.kind = StmtKind::Global;
    stmt.text = kind == "Nonlocal" ? "nonlocal " : "";
    for (py::handle name : node.attr("names"))
      stmt.text +=
          (stmt.text.empty() || stmt.text.back() == ' ' ? "" : ",") + name.cast<std::string>();
  } else {
    static const std::unordered_map<std::string_view, const char *> words = {
        {"FunctionDef", "def"},
        {"AsyncFunctionDef", "async def"},
        {"ClassDef", "class"},
        {"Delete", "del"},
        {"Try", "try"},
        {"TryStar", "try"},
        {"With", "with"},
        {"AsyncWith", "async with"},
        {"AsyncFor", "async for"},
        {"Raise", "raise"},
        {"Import", "import"},
        {"ImportFrom", "import"},
        {"Match", "match"},
        {"TypeAlias", "type"},
    };
    auto word = words.find(kind);
    stmt.kind = StmtKind::Unsupported;
    stmt.text = word == words.end() ? std::string(kind) : word->second;
  }
  return result;
}

/// The `def` in a parsed source: at the top, or first in the `if 1:` put around an indented one.
py::object findDefinition(const py::object &module, bool isWrapped) {
  py::object body = module.attr("body");
  if (isWrapped && py::len(body) > 0)
    body = body[py::int_(0)].attr("body");
  for (py::handle node : body)
    if (kindOf(node) == "FunctionDef")
      return py::reinterpret_borrow<py::object>(node);
  return py::none();
}

void convertParameters(Converter &converter, Function &function, const py::object &definition,
                       const FunctionSource &source,
                       const std::function<lang::Constant(py::handle)> &constantOf) {
  py::object arguments = definition.attr("args");
  auto add = [&](py::handle node, bool isKeywordOnly) {
    Parameter parameter;
    parameter.name = node.attr("arg").cast<std::string>();
    parameter.position = converter.positionOf(node);
    parameter.isKeywordOnly = isKeywordOnly;
    py::object annotation = node.attr("annotation");
    if (!annotation.is_none())
      parameter.isConstexpr = isConstexprAnnotation(*converter.expression(annotation));
    function.parameters.push_back(std::move(parameter));
  };
  for (const char *group : {"posonlyargs", "args"})
    for (py::handle node : arguments.attr(group))
      add(node, false);
  size_t positionalCount = function.parameters.size();
  for (py::handle node : arguments.attr("kwonlyargs"))
    add(node, true);
  if (!arguments.attr("vararg").is_none())
    function.varArgs = arguments.attr("vararg").attr("arg").cast<std::string>();
  if (!arguments.attr("kwarg").is_none())
    function.keywordArgs = arguments.attr("kwarg").attr("arg").cast<std::string>();

  py::object defaults = py::getattr(source.function, "__defaults__", py::none());
  if (!defaults.is_none()) {
    size_t count = py::len(defaults);
    for (size_t i = 0; i < count && count <= positionalCount; ++i)
      function.parameters[positionalCount - count + i].defaultValue =
          constantOf(defaults[py::int_(i)]);
  }
  py::object keywordDefaults = py::getattr(source.function, "__kwdefaults__", py::none());
  if (!keywordDefaults.is_none())
    for (Parameter &parameter : function.parameters)
      if (parameter.isKeywordOnly && keywordDefaults.contains(parameter.name.c_str()))
        parameter.defaultValue = constantOf(keywordDefaults[parameter.name.c_str()]);
}

} // namespace

std::string describeException(py::error_already_set &exception) {
  std::string text = py::str(exception.type().attr("__name__"));
  try {
    std::string value = py::str(exception.value());
    return value.empty() ? text : text + ": " + value;
  } catch (py::error_already_set &) {
    return text;
  }
}

std::optional<lang::Int> integerFromPython(py::handle number) {
  int overflow = 0;
  long long small = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (!overflow)
    return lang::Int(small);
  py::object object = py::reinterpret_borrow<py::object>(number);
  // The complement of -2**127 has 127 bits, as many as the largest number has.
  py::object magnitude = overflow < 0 ? ~object : object;
  if (magnitude.attr("bit_length")().cast<int>() > 127)
    return std::nullopt;
  // Arithmetic shift: the high half carries the sign.
  auto high = (object >> py::int_(64)).cast<int64_t>();
  auto low = (object & py::int_(UINT64_MAX)).cast<uint64_t>();
  return lang::Int((static_cast<unsigned __int128>(static_cast<uint64_t>(high)) << 64) | low);
}

FunctionSource findSource(py::handle jitFunction, std::string &error) {
  FunctionSource source;
  try {
    py::object function = py::reinterpret_borrow<py::object>(jitFunction);
    py::object override = py::getattr(function, "_source_override", py::none());
    function = py::getattr(function, "fn", function);
    py::object code = function.attr("__code__");
    source.file = code.attr("co_filename").cast<std::string>();
    source.firstLine = code.attr("co_firstlineno").cast<int>();
    py::object lines;
    if (!override.is_none()) {
      lines = override.attr("splitlines")(true);
    } else {
      // The package keeps its own reader, which needs no `inspect` (a slow import).
      py::dict modules = py::module_::import("sys").attr("modules");
      py::object found;
      if (modules.contains("sectile")) {
        found = py::module_::import("sectile.runtime.source").attr("source_lines")(function);
      } else {
        found = py::module_::import("inspect").attr("getsourcelines")(function);
      }
      lines = found[py::int_(0)];
    }
    for (py::handle line : lines) {
      std::string text = line.cast<std::string>();
      while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
        text.pop_back();
      source.lines.push_back(std::move(text));
    }
    source.function = function;
  } catch (py::error_already_set &exception) {
    if (isInterruption(exception))
      throw;
    py::object reason = py::getattr(exception.value(), "sectile_reason", py::none());
    error = reason.is_none() ? "its source cannot be read (" + describeException(exception) + ")"
                             : reason.cast<std::string>();
  } catch (std::exception &exception) {
    error = std::string("its source cannot be read (") + exception.what() + ")";
  }
  return source;
}

/// Returns the parsed text. CPython up to 3.12 fails with a SystemError now and then when several
/// threads of the process parse (gh-106905: they share one count of the recursion's depth), so the
/// call is repeated.
static py::object parse(const std::string &text, const std::string &file) {
  constexpr int kOnlyAst = 0x400; // ast.PyCF_ONLY_AST, without importing ast
  constexpr int kMostTries = 20;
  py::object compile = py::module_::import("builtins").attr("compile");
  for (int tries = 1;; ++tries) {
    try {
      return compile(text, file, "exec", kOnlyAst, true);
    } catch (py::error_already_set &exception) {
      if (tries == kMostTries || !exception.matches(PyExc_SystemError))
        throw;
    }
  }
}

std::shared_ptr<Function>
convertFunction(const FunctionSource &source, const lang::FunctionRef &reference,
                const std::function<lang::Constant(py::handle)> &constantOf, std::string &error) {
  try {
    bool isIndented = !source.lines.empty() && !source.lines[0].empty() &&
                      (source.lines[0][0] == ' ' || source.lines[0][0] == '\t');
    std::string text = isIndented ? "if 1:\n" : "";
    for (const std::string &line : source.lines)
      text += line + "\n";
    py::object module = parse(text, source.file);
    py::object definition = findDefinition(module, isIndented);
    if (definition.is_none()) {
      error = "its source holds no 'def'";
      return nullptr;
    }
    auto function = std::make_shared<Function>();
    Converter converter(source.firstLine - 1 - int(isIndented));
    function->name = definition.attr("name").cast<std::string>();
    function->file = source.file;
    function->position = converter.positionOf(definition);
    function->lines = source.lines;
    function->firstLine = source.firstLine;
    function->reference = reference;
    convertParameters(converter, *function, definition, source, constantOf);
    function->body = converter.body(definition.attr("body"));
    return function;
  } catch (ConversionError &exception) {
    error = exception.message;
  } catch (py::error_already_set &exception) {
    if (isInterruption(exception))
      throw;
    error = "its source does not parse (" + describeException(exception) + ")";
  } catch (std::exception &exception) {
    error = exception.what();
  }
  return nullptr;
}

} // namespace sectile::bindings
