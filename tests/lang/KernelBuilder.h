// A kernel body built by calling lang/ directly, for tests: parameters in, IR text or diagnostics
// out.
#pragma once

#include "lang/builtins/Builtins.h"
#include "lang/semantics/KernelFunction.h"
#include "lang/tile/TileDialect.h"

#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>
#include <sstream>

namespace sectile::lang {

class KernelBuilder {
public:
  /// One parameter per dtype name ("*fp32", "i32" ...), called a, b, c ...
  explicit KernelBuilder(std::initializer_list<const char *> dtypes)
      : context(mlir::MLIRContext::Threading::DISABLED), builder((load(context), &context)),
        sema(builder, sink) {
    KernelSignature signature{"k", {}};
    for (const char *dtype : dtypes)
      signature.parameters.push_back({std::string(1, char('a' + signature.parameters.size())),
                                      std::nullopt, *DType::parse(dtype), false});
    kernel = createKernelFunction(builder, signature, builder.getUnknownLoc());
    SourceRange range;
    range.file = "k.py", range.line = range.endLine = 3, range.column = 5, range.endColumn = 9;
    sema.at(range);
  }

  const Operand &operator[](size_t index) const { return kernel.parameters[index]; }

  static Operand number(long value) { return Constant::integer(value); }
  static Operand real(double value) { return Constant{value}; }
  static Operand text(const char *value) { return Constant{std::string(value)}; }
  static Operand dtype(const char *name) { return Constant{*DType::parse(name)}; }
  static Operand shape(std::initializer_list<long> extents) {
    std::vector<Constant> items;
    for (long extent : extents)
      items.push_back(Constant::integer(extent));
    return Constant::tuple(items);
  }

  /// None after a failure, whose diagnostics are in `sink`.
  Operand call(llvm::StringRef name, std::vector<Operand> positional,
               std::vector<NamedOperand> named = {}) {
    auto result = callBuiltin(sema, name, positional, named);
    return mlir::failed(result) ? Operand() : *result;
  }
  Operand binary(BinaryOperator op, const Operand &lhs, const Operand &rhs) {
    auto result = sema.binary(op, lhs, rhs);
    return mlir::failed(result) ? Operand() : *result;
  }
  /// A tile of that dtype whose elements nobody knows.
  Operand tile(const char *dtypeName, std::initializer_list<long> extents) {
    DType dtype = *DType::parse(dtypeName);
    Operand ramp =
        call("reshape", {call("arange", {number(0), number(product(extents))}), shape(extents)});
    if (dtype.isPointer)
      return *sema.cast(*sema.cast(*ramp.value(), DType::scalar(ScalarKind::Int64)), dtype);
    return *sema.cast(*ramp.value(), dtype);
  }

  /// The body, verified: one operation per line, without the function around it.
  std::string body() {
    mlir::OpBuilder::InsertionGuard guard(builder);
    auto end = mlir::func::ReturnOp::create(builder, builder.getUnknownLoc());
    EXPECT_TRUE(mlir::succeeded(mlir::verify(*kernel.module)));
    std::string whole;
    llvm::raw_string_ostream(whole) << *kernel.module;
    end.erase();
    size_t begin = whole.find("{tile.kernel} {\n");
    EXPECT_NE(begin, std::string::npos) << whole;
    begin += 16;
    std::string text, line;
    std::istringstream lines(whole.substr(begin, whole.rfind("    return") - begin));
    while (std::getline(lines, line))
      text += line.substr(std::min<size_t>(4, line.size())) + "\n";
    return text;
  }
  std::string errors() const {
    std::string text;
    for (const Diagnostic &diagnostic : sink.all())
      text += diagnostic.message + (diagnostic.help.empty() ? "" : " | " + diagnostic.help) + "\n";
    return text;
  }

  mlir::MLIRContext context;
  mlir::OpBuilder builder;
  DiagnosticSink sink;
  Semantics sema;
  KernelFunction kernel;

private:
  static void load(mlir::MLIRContext &context) { context.loadDialect<tile::TileDialect>(); }
  static long product(std::initializer_list<long> extents) {
    long count = 1;
    for (long extent : extents)
      count *= extent;
    return count;
  }
};

} // namespace sectile::lang
