//===-- Ast.h - a Python kernel's syntax, as plain C++ ----------------------------------------===//
// CPython's own parser has done the work: the bindings convert its `ast` into these nodes once per
// function. Header-only and free of both Python.h and LLVM. One node type for expressions and one
// for statements; what `children` means per kind stands beside the kind.
#pragma once

#include "lang/plain/Constant.h"
#include "lang/plain/Diagnostics.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sectile::python::ast {

/// 1-based line of the *file*, 1-based byte column; end column is one past the last byte.
struct Position {
  int line = 0, column = 0, endLine = 0, endColumn = 0;
};

enum class ExprKind {
  Constant,       // value: a literal
  Name,           // text
  Attribute,      // children[0].text
  Subscript,      // children[0][children[1]]
  Slice,          // children: lower, upper, step; null where left out
  Tuple,          // children
  List,           // children
  Unary,          // text: "+" "-" "~" "not"; children[0]
  Binary,         // text: "+" "-" "*" "/" "//" "%" "**" "@" "&" "|" "^" "<<" ">>"; children[0], [1]
  BoolOp,         // text: "and" "or"; children, two or more
  Compare,        // operators[i] between children[i] and children[i + 1]:
                  //   "==" "!=" "<" "<=" ">" ">=" "is" "is not" "in" "not in"
  Conditional,    // children: condition, then, else
  Call,           // children[0] is called with children[1..], and `keywords`; Starred allowed
  Starred,        // *children[0]
  NamedExpr,      // text := children[0]
  FormattedText,  // f-string: children are Constant texts and FormattedValues
  FormattedValue, // {children[0]!text:children[1]}; text "r", "s", "a" or ""; children[1] may be
                  // absent
  Comprehension, // children[0] for each clause of `clauses`; text: "list" "tuple" (generator) "set"
  Unsupported,   // text: how Python calls it, "lambda", "dict", "await" ...
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Keyword {
  std::string name; // empty for **value
  ExprPtr value;
  Position position;
};

/// Whether an annotation is `tl.constexpr`, `constexpr` or the text "constexpr".
inline bool isConstexprAnnotation(const Expr &annotation);

struct ComprehensionClause {
  ExprPtr target, iterable;
  std::vector<ExprPtr> conditions;
};

struct Expr {
  ExprKind kind = ExprKind::Unsupported;
  Position position;
  std::string text;
  lang::Constant value;
  std::vector<ExprPtr> children;
  std::vector<std::string> operators;
  std::vector<Keyword> keywords;
  std::vector<ComprehensionClause> clauses;
};

inline bool isConstexprAnnotation(const Expr &annotation) {
  if (annotation.kind == ExprKind::Name || annotation.kind == ExprKind::Attribute)
    return annotation.text == "constexpr";
  auto *text = annotation.value.as<std::string>();
  return annotation.kind == ExprKind::Constant && text &&
         (*text == "constexpr" || text->ends_with(".constexpr"));
}

/// Whether this is `...`: between the brackets of a tile all dimensions that are not named, alone a
/// `pass`.
inline bool isEllipsis(const Expr &part) {
  return part.kind == ExprKind::Unsupported && part.text == "...";
}

enum class StmtKind {
  Expression,      // value
  Assign,          // targets = value; several targets for a = b = c
  AugmentedAssign, // targets[0] text= value; text as in ExprKind::Binary
  AnnotatedAssign, // targets[0]: annotation = value; value may be null
  If,              // if value: body else: orelse
  For,             // for targets[0] in value: body else: orelse
  While,           // while value: body else: orelse
  Return,          // value may be null
  Assert,          // value; message in `annotation`, may be null
  Pass,
  Break,
  Continue,
  Global,      // names in `text`, comma-separated; text starts with "nonlocal " for nonlocal
  Unsupported, // text: "try", "with", "class", "def", "del", "raise", "import" ...
};

struct Stmt;
using StmtPtr = std::unique_ptr<Stmt>;

struct Stmt {
  StmtKind kind = StmtKind::Unsupported;
  Position position;
  std::string text;
  std::vector<ExprPtr> targets;
  ExprPtr value;
  ExprPtr annotation;
  std::vector<StmtPtr> body, orelse;
};

struct Parameter {
  std::string name;
  Position position;
  /// Annotated `tl.constexpr` (or the string "constexpr").
  bool isConstexpr = false;
  /// The parameter follows `*` or `*args`.
  bool isKeywordOnly = false;
  /// The default, evaluated when the function was defined; nullopt when there is none.
  std::optional<lang::Constant> defaultValue;
};

struct Function {
  std::string name;  // "softmax"
  std::string file;  // as Python reports it
  Position position; // of the `def`
  /// The whole lines the function was parsed from; lines[0] is line `firstLine` of the file.
  std::vector<std::string> lines;
  int firstLine = 1;
  std::vector<Parameter> parameters;
  std::optional<std::string> varArgs;     // *args
  std::optional<std::string> keywordArgs; // **kwargs, which calls in a kernel do not support
  std::vector<StmtPtr> body;
  /// For the Environment that resolves this function's globals and closure.
  lang::FunctionRef reference;
};

} // namespace sectile::python::ast

namespace sectile::python {

/// What a kernel can see of Python outside its own source. Implemented by the bindings (and by
/// tests). Everything that evaluation learns of Python it learns here, so an environment that notes
/// its answers knows all that the code depends on. Errors come back as text; nothing is thrown
/// through the evaluator.
class Environment {
public:
  virtual ~Environment() = default;

  struct Answer {
    std::optional<lang::Constant> value;
    std::string error; // why there is no value; empty when the name simply does not exist
    std::string help;  // the remedy, of `error` or of a missing name; may be empty
  };

  /// A global, closure variable or Python builtin seen from `function`.
  virtual Answer lookUp(const lang::FunctionRef &function, const std::string &name) = 0;
  /// Names visible there, for "did you mean".
  virtual std::vector<std::string> visibleNames(const lang::FunctionRef &function) = 0;
  /// object.name, object being an opaque object (a module, say) or a string, dtype ...
  virtual Answer attribute(const lang::Constant &object, const std::string &name) = 0;
  /// Names of an object's attributes, for "did you mean".
  virtual std::vector<std::string> attributeNames(const lang::Constant &) { return {}; }
  /// What does in the language what `x.name` does in NumPy or torch, as a remedy; "" if nothing is
  /// known.
  virtual std::string helpForAttribute(const std::string &) { return ""; }
  /// object[key] of an opaque object, or of a text.
  virtual Answer item(const lang::Constant &object, const lang::Constant &key) = 0;
  /// callee(arguments...) on constants only, callee being an opaque callable, or a function of
  /// Python's by its name: {"python.len"} of builtins, {"operator.add"}.
  virtual Answer call(const lang::Constant &callee, const std::vector<lang::Constant> &positional,
                      const std::vector<std::pair<std::string, lang::Constant>> &named) = 0;
  /// The kernel has compared these two: code may depend on whether they are one object, which no
  /// other answer says.
  virtual void compared(const lang::Constant &, const lang::Constant &) {}
  /// What calling `callee` makes when that is a class of named tuples.
  struct NamedTupleClass {
    lang::TupleClassRef tupleClass; // null: it is none
    /// The defaults of the last fields.
    std::vector<lang::Constant> defaults;
  };
  virtual NamedTupleClass namedTupleClass(const lang::Constant &) { return {}; }
  /// The syntax of a @jit function; null with `error` set when its source cannot be obtained.
  virtual std::shared_ptr<const ast::Function> function(const lang::FunctionRef &function,
                                                        std::string &error) = 0;
  /// What static_print writes: one line, without its end.
  virtual void print(const std::string &line) { std::printf("%s\n", line.c_str()); }
};

} // namespace sectile::python
