// Atomic read-modify-write and compare-and-swap.
#include "lang/builtins/BuiltinTable.h"
#include "lang/tile/TileDialect.h"

using namespace mlir;

namespace sectile::lang {
/// What the update is called in the IR; none where the element type has no such atomic.
static std::optional<tile::RmwKind> rmwKind(AtomicUpdate update, DType element) {
  bool isFloat = element.isFloat(), isSigned = element.isSignedInt();
  unsigned bits = element.bits();
  if (bits < 16 || (bits < 32 && (!isFloat || update == AtomicUpdate::Exchange)))
    return std::nullopt;
  switch (update) {
  case AtomicUpdate::Add:
    return isFloat ? tile::RmwKind::FAdd : tile::RmwKind::Add;
  case AtomicUpdate::Maximum:
    return isFloat ? tile::RmwKind::FMax : isSigned ? tile::RmwKind::Max : tile::RmwKind::UMax;
  case AtomicUpdate::Minimum:
    return isFloat ? tile::RmwKind::FMin : isSigned ? tile::RmwKind::Min : tile::RmwKind::UMin;
  case AtomicUpdate::Exchange:
    return tile::RmwKind::Exchange;
  default:
    break;
  }
  if (isFloat)
    return std::nullopt;
  return update == AtomicUpdate::And  ? tile::RmwKind::And
         : update == AtomicUpdate::Or ? tile::RmwKind::Or
                                      : tile::RmwKind::Xor;
}

FailureOr<tile::RmwKind> atomicKind(Arguments &args, AtomicUpdate update, DType element) {
  if (auto kind = rmwKind(update, element))
    return *kind;
  return args.error("not available for " + args.sema.nameOf(element),
                    element.isFloat()
                        ? "fp32 and fp64 have add, max, min and xchg; fp16 and bf16 have no xchg"
                        : "use 32- or 64-bit integers");
}

namespace {

struct Ordering {
  tile::MemorySemantic semantic;
  tile::MemoryScope scope;
};

FailureOr<Ordering> ordering(Arguments &args, size_t semIndex, size_t scopeIndex) {
  FailureOr<std::string> sem = args.text(semIndex);
  if (failed(sem))
    return failure();
  FailureOr<std::string> scope = args.text(scopeIndex);
  if (failed(scope))
    return failure();
  Ordering result{tile::MemorySemantic::AcquireRelease, tile::MemoryScope::Device};
  if (!sem->empty()) {
    auto known = tile::symbolizeMemorySemantic(*sem);
    if (!known)
      return args.error("no memory semantic '" + *sem + "'",
                        "known are acquire, release, acq_rel, relaxed");
    result.semantic = *known;
  }
  if (!scope->empty()) {
    auto known = tile::symbolizeMemoryScope(*scope);
    if (!known)
      return args.error("no scope '" + *scope + "'", "known are gpu, cta, sys");
    result.scope = *known;
  }
  return result;
}

FailureOr<Value> writablePointer(Arguments &args) {
  FailureOr<Value> ptr = args.value(0);
  if (failed(ptr))
    return failure();
  if (!ptr->type.dtype.isPointer)
    return notAPointer(args, *ptr);
  if (ptr->type.dtype.isConst)
    return args.error("the pointer is to constant data: " + args.sema.nameOf(ptr->type),
                      "update through a parameter that is not const");
  return ptr;
}

/// An operand in the shape and element type of what is updated.
FailureOr<Value> matching(Arguments &args, size_t index, StringRef name, const Value &ptr) {
  Semantics &sema = args.sema;
  DType element = ptr.type.dtype.pointee();
  if (auto *literal = args[index].constant(); literal && fitsDType(*literal, element))
    return sema.splatConstant(*literal, {element, ptr.type.shape});
  FailureOr<Value> value = args.value(index);
  if (failed(value))
    return failure();
  if (ptr.type.isScalar() && !value->type.isScalar())
    return args.error("`" + name + "` is a tile of " + value->type.shapeName() +
                          ", but the pointer is a scalar",
                      "add offsets to the pointer, or reduce the value first");
  if (value->type.dtype.isPointer)
    return args.error("`" + name + "` is a pointer",
                      "cast it with " + sema.words.cast(DType::scalar(ScalarKind::Int64)));
  value = sema.broadcastTo(*value, ptr.type.shape);
  return failed(value) ? value : sema.cast(*value, element);
}

FailureOr<Operand> atomicUpdate(Arguments &args, AtomicUpdate update) {
  Semantics &sema = args.sema;
  FailureOr<Value> ptr = writablePointer(args);
  if (failed(ptr))
    return failure();
  DType element = ptr->type.dtype.pointee();
  FailureOr<tile::RmwKind> kind = atomicKind(args, update, element);
  if (failed(kind))
    return failure();
  FailureOr<Ordering> order = ordering(args, 3, 4);
  if (failed(order))
    return failure();
  FailureOr<Value> value = matching(args, 1, "val", *ptr);
  if (failed(value))
    return failure();
  mlir::Value mask;
  if (!args.isNone(2)) {
    FailureOr<Value> given = args.value(2);
    if (failed(given))
      return failure();
    if (!given->type.dtype.isBool())
      return args.error("`mask` should hold truth values, not " + args.sema.nameOf(given->type),
                        "compare it, as in mask != 0");
    if (ptr->type.isScalar() && !given->type.isScalar())
      return args.error("`mask` is a tile of " + given->type.shapeName() +
                        ", but the pointer is a scalar");
    given = sema.broadcastTo(*given, ptr->type.shape);
    if (failed(given))
      return failure();
    mask = given->ir;
  }
  return Operand(
      Value{tile::AtomicRmwOp::create(sema.builder, sema.location(), value->ir.getType(), *kind,
                                      order->semantic, order->scope, ptr->ir, value->ir, mask),
            value->type});
}

FailureOr<Operand> compareAndSwap(Arguments &args) {
  Semantics &sema = args.sema;
  FailureOr<Value> ptr = writablePointer(args);
  if (failed(ptr))
    return failure();
  DType element = ptr->type.dtype.pointee();
  if (element.bits() < 16)
    return args.error("not available for " + args.sema.nameOf(element),
                      "use elements of 16, 32 or 64 bits");
  FailureOr<Ordering> order = ordering(args, 3, 4);
  if (failed(order))
    return failure();
  FailureOr<Value> expected = matching(args, 1, "cmp", *ptr);
  if (failed(expected))
    return failure();
  FailureOr<Value> desired = matching(args, 2, "val", *ptr);
  if (failed(desired))
    return failure();
  return Operand(Value{tile::AtomicCasOp::create(sema.builder, sema.location(),
                                                 desired->ir.getType(), order->semantic,
                                                 order->scope, ptr->ir, expected->ir, desired->ir),
                       desired->type});
}

} // namespace

void addAtomicOps(BuiltinTable &table) {
  const std::pair<const char *, AtomicUpdate> updates[] = {
      {"add", AtomicUpdate::Add},      {"max", AtomicUpdate::Maximum},
      {"min", AtomicUpdate::Minimum},  {"and", AtomicUpdate::And},
      {"or", AtomicUpdate::Or},        {"xor", AtomicUpdate::Xor},
      {"xchg", AtomicUpdate::Exchange}};
  for (auto [name, update] : updates)
    table.add(
        std::string("atomic_") + name + "(pointer, val, mask=None, sem=None, scope=None)",
        [update = update](Arguments &args) { return atomicUpdate(args, update); }, kMethod);
  table.add("atomic_cas(pointer, cmp, val, sem=None, scope=None)", compareAndSwap, kMethod);
}

} // namespace sectile::lang
