//===-- arguments.h - from C++ objects to the arguments of a kernel -----------------------===//
// Internal to kernel.h. One `ParameterTraits` per kind of parameter says how it is specialised,
// which C++ objects may be passed for it, and what the kernel's lambda gets while it is traced.
#pragma once

#include "jit/launch/Specialization.h"

#include <cmath>
#include <cstddef>
#include <sectile/device.h>
#include <sectile/types.h>
#include <span>
#include <string>

namespace sectile::detail {

template <class Parameter>
struct ParameterTraits {
  static_assert(never<Parameter>,
                "kernel: a parameter is Ptr<T>, a scalar such as i32 or f32, NoSpecialize<i32>, "
                "Const<T>, or TensorDescriptorOf<T, Rank>");
};

/// How many values of a launch make one argument: a descriptor is a tuple of several.
template <class Parameter>
inline constexpr size_t valueCount = [] {
  if constexpr (requires { ParameterTraits<Parameter>::valueCount; })
    return ParameterTraits<Parameter>::valueCount;
  else
    return size_t(1);
}();

/// Writes the values of one argument, and returns the place after them.
template <class Parameter, class Argument>
jit::ArgumentValue *convertTo(jit::ArgumentValue *place, Argument &passed) {
  if constexpr (requires { ParameterTraits<Parameter>::valueCount; })
    ParameterTraits<Parameter>::convert(passed, place);
  else
    *place = ParameterTraits<Parameter>::convert(passed);
  return place + valueCount<Parameter>;
}

/// Elements without a C++ type of their own (f16, bf16, fp8) are passed as anything of their size.
template <ScalarKind Kind, class T>
constexpr bool mayHold() {
  constexpr bool hasOwnType = !(Kind >= ScalarKind::Float8E4NV && Kind <= ScalarKind::BFloat16);
  if constexpr (std::is_void_v<T>)
    return true;
  else if constexpr (hasOwnType)
    return elementKind<std::remove_cv_t<T>> == Kind ||
           (Kind == ScalarKind::Int1 && sizeof(T) == 1 && std::is_integral_v<T>);
  else
    return sizeof(T) == (Kind <= ScalarKind::Float8E4B15 ? 1 : 2) &&
           std::is_trivially_copyable_v<T>;
}

template <ScalarKind Kind, bool IsConst>
struct ParameterTraits<Handle<PointerType<Kind, IsConst>>> {
  static constexpr DType dtype = DType::pointer(Kind, IsConst);
  static constexpr bool isReadOnly = IsConst;
  static jit::ParameterPolicy policy(std::string name) {
    return {std::move(name), false, true, true, {}};
  }

  template <class Argument>
  static jit::ArgumentValue convert(Argument &passed) {
    using Object = std::remove_cv_t<Argument>;
    if constexpr (std::is_same_v<Object, std::nullptr_t>)
      return jit::ArgumentValue::none();
    else if constexpr (isDeviceBuffer<Object>)
      return fromBuffer(passed, std::is_const_v<Argument>);
    else if constexpr (std::is_pointer_v<Object>)
      return fromPointer(passed);
    else if constexpr (requires { std::span(passed); })
      return fromArray(std::span(passed));
    else
      static_assert(never<Object>, "launch: a Ptr<T> parameter takes a T*, a std::vector<T>, a "
                                   "std::span<T>, a std::array<T, N>, a DeviceBuffer<T> or "
                                   "nullptr");
  }

private:
  template <class T>
  static constexpr void checkElement() {
    static_assert(mayHold<Kind, T>(),
                  "launch: the array's element type is not that of the kernel's Ptr<T> parameter");
  }
  template <class T>
  static jit::ArgumentValue fromPointer(T *address) {
    checkElement<T>();
    static_assert(IsConst || !std::is_const_v<T>,
                  "launch: a pointer to const is passed for a Ptr<T> parameter; declare it as "
                  "Ptr<const T> if the kernel only reads");
    // The usual way to say that an optional array is left out: `bias ? bias->data() : nullptr`.
    if (!address)
      return jit::ArgumentValue::none();
    // It does not say what memory it points into.
    jit::ArgumentValue value = jit::ArgumentValue::pointer(dtype, address, IsConst);
    value.device = jit::ArgumentValue::kAnywhere;
    return value;
  }
  template <class T>
  static jit::ArgumentValue fromBuffer(const DeviceBuffer<T> &buffer, bool isReadOnly) {
    checkElement<T>();
    auto begin = reinterpret_cast<uintptr_t>(buffer.data());
    jit::ArgumentValue value = jit::ArgumentValue::array(
        dtype, buffer.data(), begin, begin + buffer.size() * sizeof(T), IsConst || isReadOnly);
    value.device = static_cast<int16_t>(buffer.device().index());
    return value;
  }
  template <class T, size_t Extent>
  static jit::ArgumentValue fromArray(std::span<T, Extent> array) {
    checkElement<T>();
    // A const container may be passed only where the kernel promises to read.
    static_assert(IsConst || !std::is_const_v<T>,
                  "launch: an array of const elements is passed for a Ptr<T> parameter; declare it "
                  "as Ptr<const T> if the kernel only reads");
    auto begin = reinterpret_cast<uintptr_t>(array.data());
    return jit::ArgumentValue::array(dtype, array.data(), begin, begin + array.size_bytes(),
                                     IsConst);
  }
};

template <ScalarKind Kind>
struct ParameterTraits<Handle<ScalarType<Kind>>> {
  static constexpr DType dtype = DType::scalar(Kind);
  static jit::ParameterPolicy policy(std::string name) {
    return {std::move(name), false, true, true, {}};
  }

  template <class Argument>
  static jit::ArgumentValue convert(Argument &passed) {
    using Object = std::remove_cv_t<Argument>;
    static_assert(std::is_arithmetic_v<Object>,
                  "launch: a scalar parameter (i32, f32 ...) takes a number");
    if constexpr (Kind == ScalarKind::Int1)
      return jit::ArgumentValue::boolean(bool(passed));
    else if constexpr (Kind >= ScalarKind::Float8E4NV)
      return jit::ArgumentValue::floating(double(passed), dtype);
    else {
      static_assert(std::is_integral_v<Object>,
                    "launch: a floating-point number is passed for an integer parameter");
      if constexpr (std::is_unsigned_v<Object>)
        return jit::ArgumentValue::unsignedInteger(passed, dtype);
      else
        return jit::ArgumentValue::integer(passed, dtype);
    }
  }
};

template <class Scalar>
struct ParameterTraits<Handle<UnspecializedKind<Scalar>>> : ParameterTraits<Handle<Scalar>> {
  static jit::ParameterPolicy policy(std::string name) {
    return {std::move(name), false, false, false, {}};
  }
};

template <class T>
struct ParameterTraits<Const<T>> {
  static jit::ParameterPolicy policy(std::string name) {
    return {std::move(name), true, false, false, {}};
  }

  template <class Argument>
  static jit::ArgumentValue convert(Argument &passed) {
    using Object = std::remove_cv_t<Argument>;
    static_assert(isConst<Object> || Literal<Object>,
                  "launch: a Const<T> parameter takes a number, as in Const{1024}");
    if constexpr (isConst<Object>)
      return fromNumber(passed.value);
    else if constexpr (std::is_enum_v<Object>)
      return fromNumber(+passed);
    else
      return fromNumber(passed);
  }

private:
  /// As written, or refused: a Const never narrows what it is given.
  template <class Number>
  static jit::ArgumentValue fromNumber(Number number) {
    static_assert(std::is_same_v<T, bool> || std::is_floating_point_v<T> ||
                      !std::is_floating_point_v<Number>,
                  "launch: a floating-point number is passed for a Const<T> parameter whose T is "
                  "an integer");
    if constexpr (std::is_same_v<T, bool>)
      return jit::ArgumentValue::constantBool(bool(number));
    else if constexpr (std::is_integral_v<T>) {
      T held = T(number);
      if (Number(held) != number || (held < T(0)) != (number < Number(0)))
        return jit::ArgumentValue::beyondItsType();
      return jit::ArgumentValue::constantInteger(int64_t(held));
    } else {
      T held = T(number);
      if (std::isinf(held) && !std::isinf(double(number)))
        return jit::ArgumentValue::beyondItsType();
      return jit::ArgumentValue::constantFloat(double(held));
    }
  }
};

} // namespace sectile::detail
