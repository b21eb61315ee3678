//===-- aot.h - kernels of an archive, launched from C++17 ---------------------------------------===//
// What the headers that `sectile aot` writes for C++ are made of, on top of sectile/c.h; works with
// -fno-exceptions and -fno-rtti. It has nothing to do with the language for kernels (sectile.h),
// which needs C++20.
//
//   nn::Kernels nn;                                            // nn.hpp, generated
//   nn.open("nn.sectile").orThrow();
//   nn.softmax({sectile_cuda(0), stream}, {rows}, y, x, 781, 781).orThrow();
//
// Element types that C++ has not: F16, Bf16, F8e4m3, ... hold their bits. For a type of one's own,
// such as __half, specialise ElementType:
//
//   template <>
//   struct sectile::aot::ElementType<__half> { static constexpr sectile_type value = SECTILE_F16; };
#pragma once

#include <initializer_list>
#include <sectile/c.h>
#include <string>
#include <type_traits>
#if defined(__cpp_exceptions)
#include <stdexcept>
#endif

namespace sectile::aot {

/// What became of a call. Its text costs nothing unless the call failed.
class [[nodiscard]] Status {
public:
  Status() = default;
  /// Of a call of this thread that has just been made.
  explicit Status(sectile_status code) : failure(code) {
    if (code != SECTILE_OK) {
      message = sectile_error_text();
      parameter = sectile_error_argument();
    }
  }
  bool ok() const { return failure == SECTILE_OK; }
  sectile_status code() const { return failure; }
  /// What was expected, what was found, and the remedy; "" when it worked.
  const char *text() const { return message.c_str(); }
  /// The number of the parameter that it is about; -1 when it is about none.
  int32_t argument() const { return parameter; }
#if defined(__cpp_exceptions)
  /// Throws std::runtime_error with the text.
  void orThrow() const {
    if (!ok())
      throw std::runtime_error(message);
  }
#endif

private:
  sectile_status failure = SECTILE_OK;
  int32_t parameter = -1;
  std::string message;
};

/// Where a launch runs, and in which stream of the device; null: the default one.
struct Place {
  sectile_device device = {SECTILE_CPU, 0};
  void *stream = nullptr;
};

/// Programs along up to three axes: {rows}, {x, y}, {x, y, z}.
struct Grid : sectile_grid {
  Grid(int64_t alongX, int64_t alongY = 1, int64_t alongZ = 1)
      : sectile_grid{alongX, alongY, alongZ} {}
};

struct F16 {
  uint16_t bits;
};
struct Bf16 {
  uint16_t bits;
};
struct F8e4m3 {
  uint8_t bits;
};
struct F8e4m3fnuz {
  uint8_t bits;
};
struct F8e5m2 {
  uint8_t bits;
};
struct F8e5m2fnuz {
  uint8_t bits;
};
struct F8e4b15 {
  uint8_t bits;
};

namespace detail {

template <class T>
constexpr sectile_type elementOf() {
  if constexpr (std::is_same_v<T, bool>)
    return SECTILE_BOOL;
  else if constexpr (std::is_integral_v<T> && sizeof(T) <= 8) {
    constexpr sectile_type first = std::is_signed_v<T> ? SECTILE_I8 : SECTILE_U8;
    return first + (sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3);
  } else if constexpr (std::is_same_v<T, F16>)
    return SECTILE_F16;
  else if constexpr (std::is_same_v<T, Bf16>)
    return SECTILE_BF16;
  else if constexpr (std::is_same_v<T, F8e4m3>)
    return SECTILE_F8E4M3;
  else if constexpr (std::is_same_v<T, F8e4m3fnuz>)
    return SECTILE_F8E4M3FNUZ;
  else if constexpr (std::is_same_v<T, F8e5m2>)
    return SECTILE_F8E5M2;
  else if constexpr (std::is_same_v<T, F8e5m2fnuz>)
    return SECTILE_F8E5M2FNUZ;
  else if constexpr (std::is_same_v<T, F8e4b15>)
    return SECTILE_F8E4B15;
  else if constexpr (std::is_same_v<T, float>)
    return SECTILE_F32;
  else if constexpr (std::is_same_v<T, double>)
    return SECTILE_F64;
  else
    return 0;
}

} // namespace detail

/// The type of an array's elements; 0 where it is not known.
template <class T>
struct ElementType {
  static constexpr sectile_type value = detail::elementOf<T>();
};

/// Whether it is one of these.
template <class T>
constexpr bool isOneOf(std::initializer_list<sectile_type> types) {
  for (sectile_type type : types)
    if (type == ElementType<T>::value)
      return true;
  return false;
}

namespace detail {
template <class T>
struct Same {
  using Type = T;
};
} // namespace detail
/// T, where an argument does not take part in finding out what T is: nullptr may be passed.
template <class T>
using Same = typename detail::Same<T>::Type;

/// An array, or null for one that is left out. `bytes`: what may be accessed.
template <class T>
sectile_arg pointer(T *address, uint64_t bytes = SECTILE_UNKNOWN_BYTES) {
  static_assert(ElementType<T>::value != 0, "specialise sectile::aot::ElementType for this type");
  return sectile_array(ElementType<T>::value, address, bytes);
}
template <class T>
sectile_arg pointer(const T *address, uint64_t bytes = SECTILE_UNKNOWN_BYTES) {
  static_assert(ElementType<T>::value != 0, "specialise sectile::aot::ElementType for this type");
  sectile_arg arg = sectile_array(ElementType<T>::value, address, bytes);
  arg.flags |= SECTILE_ARG_READ_ONLY;
  return arg;
}

/// An array that a kernel reads and writes by blocks, whose rows follow each other without gaps:
/// describe(x, {rows, columns}).
template <class T>
sectile_descriptor describe(T *base, std::initializer_list<int64_t> shape) {
  using Element = std::remove_const_t<T>;
  static_assert(ElementType<Element>::value != 0,
                "specialise sectile::aot::ElementType for this type");
  return sectile_descriptor_of(ElementType<Element>::value, base,
                               static_cast<int32_t>(shape.size()), shape.begin());
}
inline sectile_arg described(const sectile_descriptor &descriptor, uint16_t flags = 0) {
  sectile_arg arg = sectile_described(&descriptor);
  arg.flags = flags;
  return arg;
}

/// `grid`: null: as the archive says.
inline Status launch(const sectile_kernel *kernel, const Place &place, const sectile_grid *grid,
                     std::initializer_list<sectile_arg> args) {
  return Status(
      sectile_launch(kernel, place.device, place.stream, grid, args.begin(), args.size()));
}

} // namespace sectile::aot
