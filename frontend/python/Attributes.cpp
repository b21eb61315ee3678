// x.shape, x.dtype, module.name; x[:, None], tuple[i].
#include "frontend/python/Evaluator.h"
#include "lang/semantics/BlockValues.h"

#include "llvm/ADT/StringExtras.h"

using namespace sectile::lang;

namespace sectile::python {

using ast::Expr;
using ast::ExprKind;

std::string Evaluator::dottedPath(const Expr &expr) {
  if (expr.kind == ExprKind::Name)
    return expr.text;
  if (expr.kind != ExprKind::Attribute)
    return "";
  std::string base = dottedPath(*expr.children[0]);
  return base.empty() ? "" : base + "." + expr.text;
}

std::string Evaluator::constructedField(const Expr &expr) const {
  const Frame &frame = frames.back();
  if (!frame.constructed || expr.kind != ExprKind::Attribute)
    return "";
  const Expr &base = *expr.children[0];
  bool isField = base.kind == ExprKind::Name && base.text == frame.self &&
                 frame.constructed->indexOf(expr.text);
  return isField ? frame.self + "." + expr.text : "";
}

Evaluator::Result Evaluator::constructedSelf(const ast::Position &position) {
  const Frame &frame = frames.back();
  std::vector<Operand> items;
  for (const std::string &field : frame.constructed->fields) {
    const Binding *binding = scope.find(frame.self + "." + field);
    if (binding && binding->state == Binding::State::Poisoned)
      return mlir::failure();
    if (binding && binding->state == Binding::State::Unknown)
      return error(position, "'" + frame.self + "." + field + "' " + binding->reason,
                   binding->help);
    if (!binding)
      return error(position,
                   "the __init__ of '" + frame.constructed->name + "' gives no field '" + field +
                       "'",
                   "assign " + frame.self + "." + field + " on every path");
    items.push_back(binding->operand);
  }
  return makeTuple(std::move(items), frame.constructed);
}

mlir::LogicalResult Evaluator::assignField(const Expr &target, const Operand &operand) {
  const Frame &frame = frames.back();
  const Expr &base = *target.children[0];
  if (frame.constructed && base.kind == ExprKind::Name && base.text == frame.self) {
    auto field = frame.constructed->indexOf(target.text);
    if (!field)
      return error(target.position,
                   "'" + frame.constructed->name + "' has no field '" + target.text + "'",
                   suggestion(target.text, frame.constructed->fields,
                              "annotate it in the class, as in " + target.text + ": tl.tensor"));
    Result held = asField(frame.constructed, *field, operand, target.position);
    if (mlir::failed(held))
      return mlir::failure();
    assign(frame.self + "." + target.text, *held, target.position);
    return mlir::success();
  }
  return error(target.position, "assignment to an attribute is not supported in a kernel",
               "assign to a variable; of an aggregate, make a new one");
}

Evaluator::Result Evaluator::evaluateAttribute(const Expr &expr) {
  const Expr &base = *expr.children[0];
  if (std::string field = constructedField(expr); !field.empty()) {
    const Binding *binding = scope.find(field);
    if (binding && binding->state == Binding::State::Poisoned)
      return mlir::failure();
    if (!binding)
      return error(expr.position, "'" + field + "' is used before it is assigned",
                   "assign it on every path that leads here");
    if (binding->state == Binding::State::Unknown)
      return error(expr.position, "'" + field + "' " + binding->reason, binding->help);
    return binding->operand;
  }
  // x.type.scalar, x.type.element_ty: a type is no operand of its own, so the pair is read
  // together.
  if (base.kind == ExprKind::Attribute && base.text == "type") {
    Result object = evaluate(*base.children[0]);
    if (mlir::failed(object))
      return mlir::failure();
    if (auto *value = object->value()) {
      bool isTile = !value->type.isScalar();
      if (expr.text == "scalar" || (expr.text == "element_ty" && isTile))
        return Operand(Constant{value->type.dtype});
      if (expr.text == "shape" || expr.text == "numel")
        return attributeOfValue(*value, expr.text, expr);
      return attributeOfDType(value->type.dtype, expr.text, expr);
    }
    Result type = attributeOf(*object, "type", base);
    return mlir::failed(type) ? type : attributeOf(*type, expr.text, expr);
  }
  Result object = evaluate(base);
  if (mlir::failed(object))
    return mlir::failure();
  return attributeOf(*object, expr.text, expr);
}

Evaluator::Result Evaluator::attributeOf(const Operand &object, const std::string &name,
                                         const Expr &expr) {
  if (auto *value = object.value())
    return attributeOfValue(*value, name, expr);
  if (TupleClassRef tupleClass = tupleClassOf(object))
    if (auto index = tupleClass->indexOf(name))
      return (*tupleItems(object))[*index];
  if (std::optional<Operand> attribute = attributeOfBlocks(object, name))
    return *attribute;
  if (std::optional<Constant> member = methodOf(tupleClassOf(object), name))
    return Operand(std::move(*member));
  auto *constant = object.constant();
  if (!constant) {
    TupleClassRef tupleClass = tupleClassOf(object);
    return error(expr.position, object.kindName() + " has no attribute '" + name + "'",
                 tupleClass ? suggestion(name, tupleClass->fields) : "");
  }
  if (auto *dtype = constant->as<DType>())
    return attributeOfDType(*dtype, name, expr);
  // A constexpr is its value here.
  if (name == "value" && !constant->is<ObjectRef>())
    return object;
  Environment::Answer answer = environment.attribute(*constant, name);
  if (answer.value)
    return Operand(std::move(*answer.value));
  if (!answer.error.empty())
    return error(expr.position, answer.error, answer.help);
  // getattr(object, "name") has no dotted path.
  std::string owner = expr.kind == ExprKind::Attribute ? dottedPath(*expr.children[0]) : "";
  return error(expr.position,
               (owner.empty() ? constant->kindName() : "'" + owner + "'") + " has no attribute '" +
                   name + "'",
               answer.help.empty() ? suggestion(name, environment.attributeNames(*constant))
                                   : answer.help);
}

Evaluator::Result Evaluator::attributeOfValue(const Value &value, const std::string &name,
                                              const Expr &expr) {
  const Type &type = value.type;
  if (name == "shape") {
    std::vector<Constant> extents;
    for (int64_t extent : type.shape)
      extents.push_back(Constant::integer(extent));
    return Operand(Constant::tuple(std::move(extents)));
  }
  if (name == "dtype" || name == "type")
    return Operand(Constant{type.dtype});
  if (name == "numel")
    return Operand(Constant::integer(type.elementCount()));
  at(expr.position);
  if (name == "T")
    return callBuiltin(sema, "trans", {value}, {});
  std::vector<std::string> known = {"shape", "dtype", "type", "numel", "T", "to"};
  for (const BuiltinInfo &info : builtins())
    if (info.isMethod)
      known.push_back(info.name);
  if (llvm::is_contained(known, name))
    return error(expr.position, "method '" + name + "' is not called", "write x." + name + "(...)");
  std::string help = environment.helpForAttribute(name);
  return error(expr.position, type.name() + " has no attribute '" + name + "'",
               help.empty() ? suggestion(name, known) : help);
}

namespace {
struct FloatLayout {
  int mantissaBits, exponentBias;
};
} // namespace

static std::optional<FloatLayout> floatLayout(const DType &dtype) {
  if (!dtype.isFloat())
    return std::nullopt;
  switch (dtype.kind) {
  case ScalarKind::Float8E4NV:
    return FloatLayout{3, 7};
  case ScalarKind::Float8E4B8:
    return FloatLayout{3, 8};
  case ScalarKind::Float8E5:
    return FloatLayout{2, 15};
  case ScalarKind::Float8E5B16:
    return FloatLayout{2, 16};
  case ScalarKind::Float8E4B15:
    return FloatLayout{3, 15};
  case ScalarKind::Float16:
    return FloatLayout{10, 15};
  case ScalarKind::BFloat16:
    return FloatLayout{7, 127};
  case ScalarKind::Float32:
    return FloatLayout{23, 127};
  default:
    return FloatLayout{52, 1023};
  }
}

Evaluator::Result Evaluator::attributeOfDType(const DType &dtype, const std::string &name,
                                              const Expr &expr) {
  if (name == "element_ty") {
    if (!dtype.isPointer)
      return error(expr.position, dtype.name() + " is no pointer: it has no element_ty");
    return Operand(Constant{dtype.pointee()});
  }
  if (name == "scalar" || name == "dtype" || name == "value")
    return Operand(Constant{dtype});
  if (name == "name")
    return Operand(Constant{dtype.name()});
  if (name == "primitive_bitwidth" || name == "int_bitwidth" || name == "fp_bitwidth")
    return Operand(Constant::integer(dtype.bits()));
  if (name == "fp_mantissa_width" || name == "exponent_bias")
    if (auto format = floatLayout(dtype))
      return Operand(
          Constant::integer(name == "exponent_bias" ? format->exponentBias : format->mantissaBits));
  if (name == "itemsize")
    return Operand(Constant::integer(dtype.bytes()));
  if (name == "shape")
    return Operand(Constant::tuple({}));
  return error(expr.position, "dtype " + dtype.name() + " has no attribute '" + name + "'",
               suggestion(name, {"element_ty", "scalar", "name", "primitive_bitwidth", "itemsize",
                                 "is_floating", "is_int", "is_ptr"}));
}

//-- subscripts ------------------------------------------------------------------------------------

Evaluator::Result Evaluator::evaluateSubscript(const Expr &expr) {
  Result object = evaluate(*expr.children[0]);
  if (mlir::failed(object))
    return mlir::failure();
  const Expr &index = *expr.children[1];
  if (auto *value = object->value())
    return value->type.dtype.isPointer ? indexPointer(*value, expr) : indexTile(*value, expr);
  if (auto items = tupleItems(*object)) {
    if (tupleClassOf(*object) && index.kind != ExprKind::Slice) {
      Result key = evaluate(index);
      if (mlir::failed(key))
        return mlir::failure();
      if (std::optional<Result> own = ownOperator("[]", {*object, *key}, expr.position))
        return *own;
    }
    if (items->empty() && isShapeOfScalar(*expr.children[0]))
      return refuseShape(*expr.children[0]);
    return indexTuple(*items, index, expr.position);
  }
  if (!object->constant())
    return error(expr.position, object->kindName() + " cannot be indexed");
  Result key = evaluate(index);
  if (mlir::failed(key))
    return mlir::failure();
  auto constant = requireConstant(*key, index.position, "an index");
  if (mlir::failed(constant))
    return mlir::failure();
  Environment::Answer answer = environment.item(*object->constant(), *constant);
  if (!answer.value)
    return error(expr.position,
                 answer.error.empty() ? object->kindName() + " cannot be indexed" : answer.error,
                 answer.help);
  return Operand(std::move(*answer.value));
}

bool Evaluator::isShapeOfScalar(const Expr &expr) {
  if (expr.kind != ExprKind::Attribute || expr.text != "shape")
    return false;
  Result object = evaluate(*expr.children[0]);
  auto *value = mlir::succeeded(object) ? object->value() : nullptr;
  return value && value->type.isScalar();
}

mlir::LogicalResult Evaluator::refuseShape(const Expr &shape) {
  const Expr &object = *shape.children[0];
  Result operand = evaluate(object);
  bool isPointer =
      mlir::succeeded(operand) && operand->value() && operand->value()->type.dtype.isPointer;
  return error(shape.position,
               sourceText(object.position) + " is a " + (isPointer ? "pointer" : "single number") +
                   " and has no shape in a kernel",
               isPointer ? "pass the size as an argument" : "");
}

Evaluator::Result Evaluator::indexPointer(const Value &value, const Expr &expr) {
  const Expr &index = *expr.children[1];
  auto isNewDimension = [](const Expr &part) {
    return part.kind == ExprKind::Slice || isEllipsis(part) ||
           (part.kind == ExprKind::Constant && part.value.isNone());
  };
  bool isReshaped =
      index.kind == ExprKind::Tuple
          ? llvm::all_of(index.children,
                         [&](const ast::ExprPtr &part) { return isNewDimension(*part); })
          : isNewDimension(index);
  // A slice such as x[2:5] of a single pointer is meant as an access, too.
  bool isSliced =
      index.kind == ExprKind::Slice &&
      llvm::any_of(index.children, [](const ast::ExprPtr &bound) { return bool(bound); });
  if (isReshaped && !(isSliced && value.type.isScalar()))
    return indexTile(value, expr);
  return error(expr.position,
               sourceText(expr.children[0]->position) + " is a pointer and cannot be indexed",
               "use tl.load(" + addressText(expr) + ")");
}

std::string Evaluator::addressText(const Expr &subscript) const {
  const Expr &index = *subscript.children[1];
  std::string pointer = sourceText(subscript.children[0]->position);
  switch (index.kind) {
  case ExprKind::Name:
  case ExprKind::Constant:
  case ExprKind::Call:
  case ExprKind::Binary:
    return pointer + " + " + sourceText(index.position);
  case ExprKind::Tuple:
    return pointer + " + row * stride + column";
  case ExprKind::Slice:
    return pointer + " + tl.arange(start, end)";
  default:
    return pointer + " + i";
  }
}

mlir::FailureOr<Int> Evaluator::integerIndex(const Operand &index, const ast::Position &position,
                                             const std::string &owner) {
  auto constant = requireConstant(index, position, "the index of a " + owner);
  if (mlir::failed(constant))
    return mlir::failure();
  auto number = integerOf(*constant);
  if (!number)
    return error(position,
                 "the index of a " + owner + " must be an integer, not " + constant->kindName());
  return *number;
}

mlir::FailureOr<Slice> Evaluator::evaluateSlice(const Expr &slice, const std::string &owner) {
  std::optional<Int> bounds[3];
  for (size_t i = 0; i < 3 && i < slice.children.size(); ++i) {
    if (!slice.children[i])
      continue;
    Result bound = evaluate(*slice.children[i]);
    if (mlir::failed(bound))
      return mlir::failure();
    if (bound->isNone()) // x[:None] is x[:]
      continue;
    auto number = integerIndex(*bound, slice.children[i]->position, owner);
    if (mlir::failed(number))
      return mlir::failure();
    bounds[i] = *number;
  }
  return Slice{bounds[0], bounds[1], bounds[2]};
}

mlir::FailureOr<IndexPart> Evaluator::evaluateIndexPart(const Expr &part) {
  if (part.kind == ExprKind::Slice) {
    auto slice = evaluateSlice(part, "tile");
    if (mlir::failed(slice))
      return mlir::failure();
    return IndexPart{*slice, rangeOf(part.position)};
  }
  Result operand = evaluate(part);
  if (mlir::failed(operand))
    return mlir::failure();
  if (operand->isNone())
    return IndexPart{IndexPart::NewDimension(), rangeOf(part.position)};
  if (operand->value() && !sema.asConstant(*operand)) {
    at(part.position);
    return refuseIndexAtRunTime(sema, *operand);
  }
  std::optional<Constant> constant = sema.asConstant(*operand);
  if (constant && constant->as<bool>())
    return error(part.position, "the index of a tile must be an integer, not a bool",
                 "for a mask: tl.where(mask, x, 0), or the mask= of tl.load");
  auto number = integerIndex(*operand, part.position, "tile");
  if (mlir::failed(number))
    return mlir::failure();
  return IndexPart{*number, rangeOf(part.position)};
}

Evaluator::Result Evaluator::indexTile(const Value &value, const Expr &expr) {
  const Expr &index = *expr.children[1];
  llvm::SmallVector<const Expr *> written;
  if (index.kind == ExprKind::Tuple)
    for (const ast::ExprPtr &part : index.children)
      written.push_back(part.get());
  else
    written.push_back(&index);
  size_t named = llvm::count_if(written, [](const Expr *part) { return !isEllipsis(*part); });
  if (written.size() > named + 1)
    return error(written.back()->position, "an index has more than one '...'");
  llvm::SmallVector<IndexPart> parts;
  for (const Expr *each : written) {
    if (isEllipsis(*each)) { // the dimensions that no other part of the index is about
      size_t added = llvm::count_if(written, [](const Expr *part) {
        return part->kind == ExprKind::Constant && part->value.isNone();
      });
      for (size_t i = named - added; i < value.type.shape.size(); ++i)
        parts.push_back(IndexPart{Slice{}, rangeOf(each->position)});
      continue;
    }
    auto part = evaluateIndexPart(*each);
    if (mlir::failed(part))
      return mlir::failure();
    parts.push_back(*part);
  }
  at(expr.position);
  return lang::indexTile(sema, value, parts);
}

Evaluator::Result Evaluator::indexTuple(const std::vector<Operand> &items, const Expr &index,
                                        const ast::Position &position) {
  Int size = Int(items.size());
  if (index.kind != ExprKind::Slice) {
    Result operand = evaluate(index);
    if (mlir::failed(operand))
      return mlir::failure();
    auto number = integerIndex(*operand, index.position, "tuple");
    if (mlir::failed(number))
      return mlir::failure();
    Int i = *number < 0 ? *number + size : *number;
    if (i < 0 || i >= size)
      return error(position, "tuple index " + Constant::integer(*number).repr() +
                                 " is out of range: the tuple has " + std::to_string(items.size()) +
                                 " items");
    return items[size_t(i)];
  }
  auto slice = evaluateSlice(index, "tuple");
  if (mlir::failed(slice))
    return mlir::failure();
  auto range = resolveSlice(sema, *slice, size, rangeOf(index.position));
  if (mlir::failed(range))
    return mlir::failure();
  std::vector<Operand> picked;
  for (Int i = 0; i < range->count; ++i)
    picked.push_back(items[size_t(range->first + i * range->step)]);
  return makeTuple(std::move(picked));
}

} // namespace sectile::python
