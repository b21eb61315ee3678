// static_assert, static_print, device_print, device_assert; barriers of programs and of launches.
#include "lang/builtins/BuiltinTable.h"
#include "lang/tile/TileDialect.h"

#include <cstdio>

using namespace mlir;

namespace sectile::lang {

std::string tritonTypeText(const Type &type) {
  DType element = type.dtype.isPointer ? type.dtype.pointee() : type.dtype;
  std::string text = element.isFloat() ? element.name() : element.longName();
  if (type.dtype.isPointer)
    text = (type.dtype.isConst ? "const_pointer<" : "pointer<") + text + ">";
  text += "[";
  for (auto [axis, extent] : llvm::enumerate(type.shape))
    text += (axis ? ", constexpr[" : "constexpr[") + std::to_string(extent) + "]";
  return text + "]";
}

namespace {

/// Python's str(): text without quotes.
std::string displayText(Semantics &sema, const Operand &operand) {
  if (auto held = sema.asConstant(operand)) {
    auto *text = held->as<std::string>();
    return text ? *text : held->repr();
  }
  if (auto *items = operand.items()) {
    std::string text = "(";
    for (auto [index, item] : llvm::enumerate(*items))
      text += (index ? ", " : "") + displayText(sema, item);
    return text + (items->size() == 1 ? ",)" : ")");
  }
  if (auto *value = operand.value(); value && sema.printsAsTriton)
    return tritonTypeText(value->type);
  return operand.kindName();
}

FailureOr<Operand> staticPrint(Arguments &args) {
  FailureOr<std::string> separator = args.text(1);
  FailureOr<std::string> end = args.text(2);
  if (failed(separator) || failed(end))
    return failure();
  std::string line;
  if (auto *items = args[0].items())
    for (auto [index, item] : llvm::enumerate(*items))
      line += (index ? *separator : "") + displayText(args.sema, item);
  line += *end;
  if (args.sema.staticPrint) {
    args.sema.staticPrint(line);
  } else {
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fflush(stdout);
  }
  return Operand();
}

FailureOr<Operand> staticAssert(Arguments &args) {
  auto held = args.sema.asConstant(args[0]);
  if (!held)
    return args.error("the condition should be known at compile time, not " + args[0].kindName(),
                      "use " + args.sema.words.operation("device_assert") +
                          " for a condition that is known only at run time");
  auto *tuple = held->as<ConstantTuple>();
  auto *text = held->as<std::string>();
  bool isFalse = held->isNone() || held->equals(Constant{false}) || (tuple && (*tuple)->empty()) ||
                 (text && text->empty());
  if (!isFalse)
    return Operand();
  auto message = args.sema.asConstant(args[1]);
  std::string shown;
  if (message && !message->isNone())
    shown = message->is<std::string>() ? *message->as<std::string>() : message->repr();
  return args.sema.error("static assertion failed" + (shown.empty() ? "" : ": " + shown));
}

FailureOr<Operand> devicePrint(Arguments &args) {
  Semantics &sema = args.sema;
  auto *held = args[0].constant();
  if (!held || !held->is<std::string>())
    return args.error("`prefix` should be text, not " + args[0].kindName(),
                      "name the values first, as in " + sema.words.operation("device_print") +
                          "(\"x\", x)");
  FailureOr<bool> hex = args.flag(2);
  if (failed(hex))
    return failure();
  mlir::OpBuilder::InsertionGuard guard(sema.builder);
  if (!args.isNone(3)) {
    FailureOr<Value> when = args.value(3);
    if (failed(when))
      return failure();
    if (!when->type.isScalar())
      return args.error("`when` is a tile, " + shapeText(when->type.shape) +
                            ", and a program prints all of its values or none",
                        "reduce it first, as in " + sema.words.operation("max") + "(" +
                            sema.words.cast(DType::scalar(ScalarKind::Int32), "mask") + ") != 0");
    when = sema.isNonZero(*when);
    if (failed(when))
      return failure();
    auto branch = mlir::scf::IfOp::create(sema.builder, sema.location(), when->ir,
                                          /*withElseRegion=*/false);
    sema.builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  }
  SmallVector<mlir::Value> values;
  SmallVector<int32_t> isSigned;
  SmallVector<llvm::StringRef> names;
  if (auto *items = args[1].items())
    for (const Operand &item : *items) {
      FailureOr<Value> value = sema.toValue(item, "device_print: value");
      if (failed(value))
        return failure();
      if (value->type.dtype.isFp8())
        value = sema.cast(*value, DType::scalar(ScalarKind::Float32));
      if (failed(value))
        return failure();
      values.push_back(value->ir);
      isSigned.push_back(value->type.dtype.isSignedInt());
      // The prefix is the first argument.
      names.push_back(values.size() < sema.argumentTexts.size() ? sema.argumentTexts[values.size()]
                                                                : llvm::StringRef());
    }
  bool hasNames = llvm::any_of(names, [](llvm::StringRef name) { return !name.empty(); });
  tile::PrintOp::create(sema.builder, sema.location(), *held->as<std::string>(), values, *hex,
                        isSigned,
                        hasNames ? sema.builder.getStrArrayAttr(names) : mlir::ArrayAttr());
  return Operand();
}

FailureOr<Operand> deviceAssert(Arguments &args) {
  Semantics &sema = args.sema;
  FailureOr<std::string> message = args.text(1);
  if (failed(message))
    return failure();
  FailureOr<Value> condition = args.value(0);
  if (failed(condition))
    return failure();
  condition = sema.isNonZero(*condition);
  if (failed(condition))
    return failure();
  // Where the mask is false nothing is claimed.
  if (!args.isNone(2)) {
    FailureOr<Value> mask = args.value(2);
    if (failed(mask))
      return failure();
    FailureOr<Operand> unmasked = sema.unary(UnaryOperator::LogicalNot, *mask);
    if (failed(unmasked))
      return failure();
    condition = sema.arithmetic(BinaryOperator::BitOr, *condition, *unmasked);
    if (failed(condition))
      return failure();
  }
  tile::AssertOp::create(sema.builder, sema.location(), condition->ir, *message);
  return Operand();
}

} // namespace

void addDebugOps(BuiltinTable &table) {
  table.add("static_print(*values, sep=' ', end='\\n', file=None, flush=False)", staticPrint);
  table.add("static_assert(cond, msg='')", staticAssert);
  table.add("device_print(prefix, *args, hex=False, when=None)", devicePrint);
  table.add("device_assert(cond, msg='', mask=None)", deviceAssert);
  table.add("debug_barrier()", [](Arguments &args) -> FailureOr<Operand> {
    tile::BarrierOp::create(args.sema.builder, args.sema.location());
    return Operand();
  });
  table.add("gdc_wait()", [](Arguments &args) -> FailureOr<Operand> {
    tile::GridWaitOp::create(args.sema.builder, args.sema.location());
    return Operand();
  });
  table.add("gdc_launch_dependents()", [](Arguments &args) -> FailureOr<Operand> {
    tile::GridLaunchDependentsOp::create(args.sema.builder, args.sema.location());
    return Operand();
  });
}

} // namespace sectile::lang
