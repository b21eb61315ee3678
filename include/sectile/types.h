//===-- types.h - handles of values, element types, compile-time parameters ---------------===//
// What the variables of a kernel are:
//
//   Value            any value: a scalar or a tile of numbers or pointers
//   i32, f32 ...     a scalar of that type; also names the type: zeros<f32>({16}), to<f16>(x)
//   Ptr<f32>         a pointer to elements in memory; Ptr<const f32> may only be read through
//   Const<int>       a number known when the kernel is compiled; converts to a plain int
//
// A handle declared with a type keeps it: after `i64 stride = 4096`, `row * stride` is an i64, and
// `i8 x = 300` is an error. A plain C++ number (a literal, a captured variable, a Const) has no
// type of its own: next to a value it takes that one's, as a number in a Python kernel does, so
// that `x * 0.5` of an f16 stays an f16. One exception: next to a narrower integer, numbers whose
// C++ type is an integer of 64 bits (int64_t, size_t, 4096LL, Const<int64_t>) compute in 64 bits.
//
// A handle names a value of the recorded kernel; copying one copies no data. A parameter
// specialised to the value 1 is a constant behind the same handle. Invariant: a handle may be
// assigned only in the body that declared it (assigning an outer one inside loop or if_ would lose
// the update), and what it holds may be used only while the body that made it is being traced; both
// are errors with their place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <sectile/trace.h>
#include <type_traits>
#include <utility>
#include <vector>

namespace sectile {

using lang::DType;
using lang::ScalarKind;

/// Means "no argument", a new dimension in x[{all, none}], a bound left out in slice(4, none).
struct NoneType {};
inline constexpr NoneType none{};
/// A whole dimension in x[{all, none}].
struct AllType {};
inline constexpr AllType all{};

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// A kernel parameter that is known when the kernel is compiled; each value makes a variant.
template <class T>
struct Const {
  static_assert(std::is_arithmetic_v<T>, "Const<T>: T is a number or bool");
  T value{};
  constexpr operator T() const { return value; }
};
template <class T>
Const(T) -> Const<T>;

namespace detail {

template <class T>
inline constexpr bool isConst = false;
template <class T>
inline constexpr bool isConst<Const<T>> = true;

/// What may be written as a number: numbers of C++, and enumerators that convert to them.
template <class T>
concept Literal =
    std::is_arithmetic_v<T> || (std::is_enum_v<T> && std::is_convertible_v<T, long long>);

template <Literal T>
lang::Constant constantOf(T number) {
  if constexpr (std::is_same_v<T, bool>)
    return {number};
  else if constexpr (std::is_floating_point_v<T>)
    return {double(number)};
  else
    return {lang::Int(+number)};
}

/// The number as an operand: a bare constant, or one of 64 bits.
template <Literal T>
auto literal(T number) {
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8)
    return cpp::TypedNumber{
        constantOf(number),
        DType::scalar(number > T(INT64_MAX) ? ScalarKind::UInt64 : ScalarKind::Int64), true};
  else
    return constantOf(number);
}

/// What a handle holds.
using Held = std::variant<lang::Constant, cpp::ValueId, cpp::TypedNumber>;

// Kinds of handles.
struct AnyKind {};
template <ScalarKind Kind>
struct ScalarType {};
template <ScalarKind Kind, bool IsConst>
struct PointerType {};
template <class T>
struct UnspecializedKind {};

} // namespace detail

/// What all handles have in common.
class AnyHandle {
public:
  /// The element type; of a constant, that of the value it becomes (i32, i64, f32 ...).
  DType dtype() const;
  /// What a pointer, or a tile of them, points to.
  DType elementType() const { return dtype().pointee(); }
  /// The extents of a tile; empty for a scalar.
  std::vector<int64_t> shape() const;
  /// Known when the kernel is compiled: a literal, a Const, a parameter specialised to 1.
  bool isConstant() const { return !std::holds_alternative<cpp::ValueId>(data); }
  const lang::Constant *constant() const {
    if (auto *typed = std::get_if<cpp::TypedNumber>(&data))
      return &typed->number;
    return std::get_if<lang::Constant>(&data);
  }
  /// A pointer parameter that was given a null pointer.
  bool isNone() const { return isConstant() && constant()->isNone(); }

protected:
  friend class Operand;
  AnyHandle() : AnyHandle(detail::Held(cpp::ValueId())) {}
  AnyHandle(detail::Held data) : data(std::move(data)) {
    settle();
    origin = scope;
  }
  // A copy belongs to the body that makes it; what it holds stays that of the body it is from.
  AnyHandle(const AnyHandle &other) : data(other.data), origin(other.origin), trace(other.trace) {
    settle();
  }
  AnyHandle &operator=(const AnyHandle &) = delete;

  /// A number in a handle of the type `declared`; an error where it does not fit.
  void adopt(const lang::Constant &number, DType declared, const char *what);
  /// What was copied is of the type `declared`; an error where it is not.
  void require(DType declared);
  void assign(const class Operand &value, DType declared);

  detail::Held data;
  uint32_t scope = 0;  // the body this handle was declared in
  uint32_t origin = 0; // the body in which it was given what it holds
  uint32_t trace = 0;  // the kernel its value belongs to

private:
  void settle() {
    if (detail::Trace *current = detail::Trace::current()) {
      scope = current->scope();
      if (trace == 0)
        trace = current->serial();
    }
  }
};

/// Anything that an expression may contain, and where it was written. Made by implicit conversion.
class Operand {
public:
  using Where = std::source_location;

  Operand(const AnyHandle &handle, Where where = Where::current()) : where(where) {
    detail::Trace &trace = detail::Trace::active();
    if (handle.trace != trace.serial() && !handle.isConstant()) {
      trace.at(where);
      trace.fail("value: belongs to another kernel", "make it inside this kernel, or pass it in");
    }
    // The tracer checks handles that are not constants.
    if (handle.trace == trace.serial() && handle.isConstant())
      trace.requireOpen(handle.origin, where);
    hold(handle.data);
  }
  template <detail::Literal T>
  Operand(T number, Where where = Where::current()) : where(where) {
    argument.data = detail::literal(number);
  }
  template <class T>
  Operand(Const<T> number, Where where = Where::current()) : Operand(number.value, where) {}
  Operand(DType dtype, Where where = Where::current())
      : argument{lang::Constant{dtype}, ""}, where(where) {}
  Operand(const char *text, Where where = Where::current())
      : argument{lang::Constant{std::string(text ? text : "")}, ""}, where(where) {}
  Operand(NoneType, Where where = Where::current())
      : argument{lang::Constant{lang::None{}}, ""}, where(where) {}
  Operand(std::nullptr_t, Where where = Where::current()) : Operand(NoneType(), where) {}

  bool isNone() const {
    auto *constant = std::get_if<lang::Constant>(&argument.data);
    return constant && constant->isNone();
  }

  cpp::Argument argument;
  Where where;

private:
  void hold(const detail::Held &held) {
    if (auto *constant = std::get_if<lang::Constant>(&held))
      argument.data = *constant;
    else if (auto *typed = std::get_if<cpp::TypedNumber>(&held))
      argument.data = *typed;
    else
      argument.data = std::get<cpp::ValueId>(held);
  }
};

/// Extents, or an order of dimensions: {BLOCK_M, 64}; of one dimension also 64.
class Shape {
public:
  template <class T>
    requires(std::is_integral_v<T> || detail::isConst<T>)
  Shape(T extent) : Shape({Operand(extent)}) {}
  Shape(std::initializer_list<Operand> extents) {
    cpp::Argument::Tuple items;
    for (const Operand &extent : extents) {
      // Known numbers only: the type of one is of no interest here.
      const lang::Constant *known = extent.argument.constant();
      items.push_back(known ? cpp::Argument{*known, ""} : extent.argument);
    }
    argument.data = std::move(items);
  }
  Shape(const std::vector<int64_t> &extents) {
    cpp::Argument::Tuple items;
    for (int64_t extent : extents)
      items.push_back({detail::constantOf(extent), ""});
    argument.data = std::move(items);
  }
  cpp::Argument argument;
};

/// Part of a dimension; made by slice().
struct Slice {
  Operand lower, upper, step;
};
/// lower, lower + step ... before upper, as Python's lower:upper:step. What is `none` is left out;
/// negative bounds count from the end; a negative step goes down. Known at compile time.
inline Slice slice(const Operand &lower, const Operand &upper, const Operand &step = none) {
  return {lower, upper, step};
}

/// One place of an index: a number (negative: from the end), a slice, all, or none for a new
/// dimension.
struct Index {
  Index(AllType) {}
  Index(NoneType) { part.kind = cpp::IndexPart::Kind::NewDimension; }
  Index(const Slice &slice) {
    part.first = slice.lower.argument;
    part.upper = slice.upper.argument;
    part.step = slice.step.argument;
  }
  template <class T>
    requires((std::is_integral_v<T> && !std::is_same_v<T, bool>) || detail::isConst<T>)
  Index(T number) : Index(Operand(number)) {}
  Index(const AnyHandle &number) : Index(Operand(number)) {}
  cpp::IndexPart part;

private:
  explicit Index(const Operand &number) {
    part.kind = cpp::IndexPart::Kind::Element;
    part.first = number.argument;
  }
};
struct IndexList {
  IndexList(std::initializer_list<Index> places,
            std::source_location where = std::source_location::current())
      : places(places), where(where) {}
  template <class Place>
    requires std::is_convertible_v<const Place &, Index>
  IndexList(const Place &place, std::source_location where = std::source_location::current())
      : places{Index(place)}, where(where) {}
  std::vector<Index> places;
  std::source_location where;
};

template <class Kind>
class Handle;
/// Any value of a kernel.
using Value = Handle<detail::AnyKind>;

namespace detail {

template <class Kind>
inline constexpr DType dtypeOfKind = DType{};
template <ScalarKind Kind>
inline constexpr DType dtypeOfKind<ScalarType<Kind>> = DType::scalar(Kind);
template <ScalarKind Kind, bool IsConst>
inline constexpr DType dtypeOfKind<PointerType<Kind, IsConst>> = DType::pointer(Kind, IsConst);
template <class T>
inline constexpr DType dtypeOfKind<UnspecializedKind<T>> = dtypeOfKind<T>;

template <class Kind>
concept NumberKind = !dtypeOfKind<Kind>.isPointer && dtypeOfKind<Kind>.kind != ScalarKind::Void;
/// Depends on a template parameter, so that a constraint may contain it.
template <class T>
inline constexpr bool never = false;

} // namespace detail

template <class Kind>
class Handle : public AnyHandle {
public:
  static constexpr DType declared = detail::dtypeOfKind<Kind>;

  /// Without a value yet: give it one before use.
  Handle() = default;
  Handle(const Handle &) = default;
  explicit Handle(detail::Held data) : AnyHandle(std::move(data)) {}
  /// From another handle: its value must be of this type.
  Handle(const AnyHandle &other) : AnyHandle(other) { require(declared); }
  /// A scalar of this type, known at compile time: `f32 total = 0.0f`. It must fit the type.
  template <detail::Literal T>
    requires detail::NumberKind<Kind>
  Handle(T number, std::source_location where = std::source_location::current()) {
    static_assert(!std::is_floating_point_v<T> || declared.kind >= ScalarKind::Float8E4NV,
                  "an integer handle is given a floating-point number: write to<i32>(x) for the "
                  "number without its fraction, or declare the handle as f32");
    if (detail::Trace *current = detail::Trace::current())
      current->at(where);
    adopt(detail::constantOf(number), declared, "variable");
  }
  template <class T>
    requires detail::NumberKind<Kind>
  Handle(Const<T> number, std::source_location where = std::source_location::current())
      : Handle(number.value, where) {}
  /// Any value may be a number, too, which has no type yet: `Value x = 0`.
  template <detail::Literal T>
    requires std::is_same_v<Kind, detail::AnyKind>
  Handle(T number) : AnyHandle(detail::Held(detail::literal(number))) {}
  template <class T>
    requires std::is_same_v<Kind, detail::AnyKind>
  Handle(Const<T> number) : Handle(number.value) {}

  // Copy assignment gives way to the one below, which knows where it was written.
  Handle &operator=(const Handle &)
    requires(detail::never<Kind>);
  Handle &operator=(const Operand &value) {
    assign(value, declared);
    return *this;
  }

  /// Refuses `if (x > 0)`, and says what to write instead: what a value holds is known only when
  /// the kernel runs.
  template <class T>
    requires std::is_same_v<T, bool>
  explicit operator T() const {
    static_assert(detail::never<T>,
                  "a value of a kernel is no C++ condition: use where(condition, x, y) to choose "
                  "element by element, and if_(condition, [&] { ... }) or while_ for a branch");
    return false;
  }

  /// x[0], x[{all, slice(3, 7)}], x[{none, all}]: the part of a tile that constants pick, as
  /// Python's x[0], x[:, 3:7], x[None, :]. A number takes a dimension away, `none` inserts one of
  /// one, `all` keeps one whole, as do those left out at the end.
  Value operator[](const IndexList &index) const;
};

using i1 = Handle<detail::ScalarType<ScalarKind::Int1>>;
using i8 = Handle<detail::ScalarType<ScalarKind::Int8>>;
using i16 = Handle<detail::ScalarType<ScalarKind::Int16>>;
using i32 = Handle<detail::ScalarType<ScalarKind::Int32>>;
using i64 = Handle<detail::ScalarType<ScalarKind::Int64>>;
using u8 = Handle<detail::ScalarType<ScalarKind::UInt8>>;
using u16 = Handle<detail::ScalarType<ScalarKind::UInt16>>;
using u32 = Handle<detail::ScalarType<ScalarKind::UInt32>>;
using u64 = Handle<detail::ScalarType<ScalarKind::UInt64>>;
using f8e4m3 = Handle<detail::ScalarType<ScalarKind::Float8E4NV>>;
using f8e5m2 = Handle<detail::ScalarType<ScalarKind::Float8E5>>;
using f8e4m3fnuz = Handle<detail::ScalarType<ScalarKind::Float8E4B8>>;
using f8e5m2fnuz = Handle<detail::ScalarType<ScalarKind::Float8E5B16>>;
using f8e4m3b15 = Handle<detail::ScalarType<ScalarKind::Float8E4B15>>;
using f16 = Handle<detail::ScalarType<ScalarKind::Float16>>;
using bf16 = Handle<detail::ScalarType<ScalarKind::BFloat16>>;
using f32 = Handle<detail::ScalarType<ScalarKind::Float32>>;
using f64 = Handle<detail::ScalarType<ScalarKind::Float64>>;

namespace detail {

template <class T>
inline constexpr ScalarKind elementKind = ScalarKind::Void;
template <ScalarKind Kind>
inline constexpr ScalarKind elementKind<Handle<ScalarType<Kind>>> = Kind;
template <>
inline constexpr ScalarKind elementKind<float> = ScalarKind::Float32;
template <>
inline constexpr ScalarKind elementKind<double> = ScalarKind::Float64;
template <>
inline constexpr ScalarKind elementKind<bool> = ScalarKind::Int1;
template <class T>
  requires(std::is_integral_v<T>)
inline constexpr ScalarKind elementKind<T> =
    std::is_signed_v<T> ? (sizeof(T) == 1   ? ScalarKind::Int8
                           : sizeof(T) == 2 ? ScalarKind::Int16
                           : sizeof(T) == 4 ? ScalarKind::Int32
                                            : ScalarKind::Int64)
                        : (sizeof(T) == 1   ? ScalarKind::UInt8
                           : sizeof(T) == 2 ? ScalarKind::UInt16
                           : sizeof(T) == 4 ? ScalarKind::UInt32
                                            : ScalarKind::UInt64);

template <class T>
struct PointerTo {
  static constexpr ScalarKind kind = elementKind<std::remove_const_t<T>>;
  static_assert(kind != ScalarKind::Void,
                "Ptr<T>: T is an element type, as in Ptr<f32> or Ptr<const i64>");
  using Kind = PointerType<kind, std::is_const_v<T>>;
};

} // namespace detail

/// The element type that `T` names: dtypeOf<f32>, dtypeOf<float>.
template <class T>
inline constexpr DType dtypeOf = DType::scalar(detail::elementKind<T>);

template <class T>
using Ptr = Handle<typename detail::PointerTo<T>::Kind>;

/// A scalar parameter whose value 1 and whose divisibility by 16 make no variants.
template <class T>
using NoSpecialize = Handle<detail::UnspecializedKind<detail::ScalarType<detail::elementKind<T>>>>;

//===-- how operations reach the tracer -------------------------------------------------------===//

namespace detail {

inline Value valueOf(cpp::Argument argument) {
  if (auto *constant = std::get_if<lang::Constant>(&argument.data))
    return Value(Held(std::move(*constant)));
  if (auto *typed = std::get_if<cpp::TypedNumber>(&argument.data))
    return Value(Held(std::move(*typed)));
  if (auto *id = std::get_if<cpp::ValueId>(&argument.data))
    return Value(Held(*id));
  return Value();
}

inline cpp::Argument named(const char *name, const Operand &operand) {
  return {operand.argument.data, name};
}

/// Calls a language operation; throws when it is refused.
inline std::vector<cpp::Argument> callAll(const std::source_location &where, const char *builtin,
                                          std::span<const cpp::Argument> arguments) {
  Trace &trace = Trace::active();
  trace.at(where);
  std::vector<cpp::Argument> results = trace.tracer.call(builtin, arguments);
  trace.check();
  return results;
}
inline Value call(const std::source_location &where, const char *builtin,
                  std::span<const cpp::Argument> arguments) {
  std::vector<cpp::Argument> results = callAll(where, builtin, arguments);
  return results.empty() ? Value() : valueOf(std::move(results.front()));
}
inline Value call(const std::source_location &where, const char *builtin,
                  std::initializer_list<cpp::Argument> arguments) {
  return call(where, builtin, std::span(arguments.begin(), arguments.size()));
}

std::string nameOf(DType dtype);

} // namespace detail

//===-- definitions ---------------------------------------------------------------------------===//

inline DType AnyHandle::dtype() const {
  if (auto *id = std::get_if<cpp::ValueId>(&data))
    return detail::Trace::active().tracer.typeOf(*id).dtype;
  if (auto *typed = std::get_if<cpp::TypedNumber>(&data))
    return typed->dtype;
  const lang::Constant &known = *constant();
  if (known.is<bool>())
    return DType::scalar(ScalarKind::Int1);
  if (auto *number = known.as<lang::Int>())
    return DType::scalar(*number == lang::Int(int32_t(*number)) ? ScalarKind::Int32
                                                                : ScalarKind::Int64);
  return known.is<double>() ? DType::scalar(ScalarKind::Float32) : DType{};
}

inline std::vector<int64_t> AnyHandle::shape() const {
  if (auto *id = std::get_if<cpp::ValueId>(&data))
    return detail::Trace::active().tracer.typeOf(*id).shape;
  return {};
}

inline void AnyHandle::assign(const Operand &value, DType declared) {
  detail::Trace &current = detail::Trace::active();
  current.at(value.where);
  if (scope != current.scope() || trace != current.serial())
    current.fail("assignment: the variable was declared outside this body, and the body is traced "
                 "once, so the update would be lost",
                 "pass it in and return its next value: x = loop(range(n), x, [&](auto i, auto x) "
                 "{ ...; return x; })");
  origin = scope;
  if (const lang::Constant *known = value.argument.constant()) {
    auto *typed = std::get_if<cpp::TypedNumber>(&value.argument.data);
    const bool isBare = !typed || typed->isWideLiteral;
    const bool isNumber = declared.kind != ScalarKind::Void && !declared.isPointer;
    if (!isBare && declared.kind != ScalarKind::Void && typed->dtype != declared)
      current.fail("assignment: the variable is " + detail::nameOf(declared) + ", the value is " +
                       detail::nameOf(typed->dtype),
                   "convert it with to<T>(x), or declare the variable as Value");
    if (isBare && isNumber && !known->isNone())
      adopt(*known, declared, "assignment");
    else if (typed)
      data = *typed;
    else
      data = *known;
    return;
  }
  cpp::ValueId id = std::get<cpp::ValueId>(value.argument.data);
  cpp::TracedType type = current.tracer.typeOf(id);
  if (declared.kind != ScalarKind::Void && (type.dtype != declared || !type.shape.empty()))
    current.fail("assignment: the variable is " + detail::nameOf(declared) + ", the value is " +
                     (type.shape.empty() ? "" : "a tile of ") + detail::nameOf(type.dtype),
                 "convert it with to<T>(x), or declare the variable as Value");
  data = id;
}

inline void AnyHandle::adopt(const lang::Constant &number, DType declared, const char *what) {
  cpp::TypedNumber typed{number, declared};
  if (declared.isBool()) {
    if (auto *integer = number.as<lang::Int>())
      typed.number = {*integer != 0};
  } else if (declared.isFloat()) {
    if (auto *integer = number.as<lang::Int>())
      typed.number = {double(*integer)};
    if (auto *truth = number.as<bool>())
      typed.number = {double(*truth)};
  } else if (auto *truth = number.as<bool>())
    typed.number = {lang::Int(*truth)};
  // Outside of a kernel, a number that does not fit is reported only by its first use.
  if (detail::Trace *current = detail::Trace::current()) {
    current->tracer.requireFits(typed.number, declared, what);
    current->check();
  }
  if (auto *real = typed.number.as<double>(); real && !declared.isFloat())
    typed.number = {lang::Int(*real)}; // 3.0, which fits
  data = std::move(typed);
}

inline void AnyHandle::require(DType declared) {
  if (declared.kind == ScalarKind::Void)
    return;
  cpp::TracedType type;
  if (auto *id = std::get_if<cpp::ValueId>(&data))
    type = detail::Trace::active().tracer.typeOf(*id);
  else if (auto *typed = std::get_if<cpp::TypedNumber>(&data); typed && !typed->isWideLiteral)
    type.dtype = typed->dtype;
  else {
    if (!constant()->isNone() && !declared.isPointer)
      adopt(lang::Constant(*constant()), declared, "variable");
    return;
  }
  if (type.dtype == declared && type.shape.empty())
    return;
  detail::Trace::active().fail(
      "variable: declared as " + detail::nameOf(declared) + ", but the value is " +
          (type.shape.empty() ? "" : "a tile of ") + detail::nameOf(type.dtype),
      "convert it with to<T>(x), or declare the variable as auto or Value");
}

template <class Kind>
Value Handle<Kind>::operator[](const IndexList &index) const {
  std::vector<cpp::IndexPart> parts;
  for (const Index &place : index.places)
    parts.push_back(place.part);
  detail::Trace &current = detail::Trace::active();
  Operand self(*this, index.where);
  current.at(index.where);
  Value result = detail::valueOf(current.tracer.index(self.argument, parts));
  current.check();
  return result;
}

inline std::string detail::nameOf(DType dtype) {
  std::string element = dtype.cppName();
  if (!dtype.isPointer)
    return element;
  return (dtype.isConst ? "Ptr<const " : "Ptr<") + element + ">";
}

} // namespace sectile
