// Where values come from: the parameters of the kernel that a remedy names.
#include "lang/semantics/Semantics.h"
#include "lang/tile/TileDialect.h"

#include "llvm/ADT/SetVector.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace sectile::lang {

/// The name of the kernel's parameter that `value` is, the item of a tuple included: "pair[0]".
static StringRef argumentName(mlir::Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function =
      argument ? dyn_cast_or_null<func::FuncOp>(argument.getOwner()->getParentOp()) : nullptr;
  if (!function || !function->hasAttr(tile::kKernelAttr))
    return "";
  auto name =
      function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), tile::kArgumentNameAttr);
  return name ? name.getValue() : "";
}

/// "pair" of "pair[0]" and of "pair.x".
static StringRef parameterPart(StringRef argument) {
  return argument.take_until([](char letter) { return letter == '[' || letter == '.'; });
}

std::string Semantics::parameterOf(const Operand &operand) const {
  if (auto *value = operand.value())
    return argumentName(value->ir).str();
  if (auto *items = operand.items())
    for (const Operand &item : *items)
      if (std::string name = parameterOf(item); !name.empty())
        return parameterPart(name).str();
  return "";
}

std::vector<std::string> Semantics::parametersBehind(const Operand &operand) const {
  llvm::SetVector<StringRef> names;
  llvm::SetVector<mlir::Value> values;
  if (auto *value = operand.value())
    values.insert(value->ir);
  constexpr size_t kMostLookedAt = 256;
  for (size_t next = 0; next < values.size() && next < kMostLookedAt; ++next) {
    if (StringRef name = argumentName(values[next]); !name.empty())
      names.insert(parameterPart(name));
    // What is loaded depends on its address, but is not computed from it.
    if (Operation *op = values[next].getDefiningOp(); op && isMemoryEffectFree(op))
      values.insert(op->operand_begin(), op->operand_end());
  }
  std::vector<std::string> result;
  for (StringRef name : names)
    result.push_back(name.str());
  return result;
}

std::string Semantics::pointerRemedy(const Operand &operand) const {
  auto *value = operand.value();
  std::string name = value && value->type.dtype.isPointer ? parameterOf(operand) : "";
  return name.empty() ? "" : "'" + name + "' is a pointer here: it was given an array";
}

std::string Semantics::constantRemedy(const Operand &operand) const {
  if (std::string remedy = pointerRemedy(operand); !remedy.empty())
    return remedy;
  std::string declarations;
  if (auto *items = operand.items()) {
    for (const Operand &item : *items)
      if (!asConstant(item))
        return constantRemedy(item);
  }
  for (const std::string &name : parametersBehind(operand))
    declarations += (declarations.empty() ? "`" : " and `") + words.constantParameter(name) + "`";
  return declarations.empty() ? "compute it from literals and parameters such as `" +
                                    words.constantParameter("BLOCK") + "`"
                              : "declare the parameter as " + declarations;
}

LogicalResult Semantics::notATile(const llvm::Twine &what, const Operand &operand) {
  std::string message = (what + " should be a number or a tile, not " + operand.kindName()).str();
  auto *tuple = operand.items();
  std::string name = parameterOf(operand);
  if (!tuple || tuple->tupleClass || name.empty())
    return error(message);
  bool areNumbers = true, areIntegers = true;
  for (const Operand &item : *tuple) {
    auto *value = item.value();
    auto *constant = item.constant();
    bool isInteger = value ? value->type.dtype.isIntOrBool()
                           : constant && (constant->is<Int>() || constant->is<bool>());
    bool isFloat = value ? value->type.dtype.isFloat() : constant && constant->is<double>();
    areNumbers = areNumbers && (isInteger || isFloat);
    areIntegers = areIntegers && isInteger;
  }
  std::string array = words.arrayOf(name, areIntegers);
  if (array.empty())
    return error(message);
  std::string count = std::to_string(tuple->size());
  std::string given = "argument '" + name + "' is a list or tuple of " + count;
  if (areNumbers)
    return errorOnce(message, given + (tuple->size() == 1 ? " number" : " numbers") +
                                  "; pass an array: " + array);
  return errorOnce(message, given + (tuple->size() == 1 ? " item" : " items") +
                                "; pass one array, such as np.stack(" + name +
                                "), or use an item: " + name + "[0]");
}

LogicalResult Semantics::errorOnce(std::string message, std::string help) {
  if (!remediesReported.insert(help).second && sink.hasErrors())
    return failure();
  return error(std::move(message), std::move(help));
}

} // namespace sectile::lang
