//===-- descriptors.h - descriptors of arrays as arguments of launches --------------------===//
//   auto twice = kernel("twice", [](TensorDescriptorOf<const f32, 2> x,
//                                   TensorDescriptorOf<f32, 2> out) {
//     auto i = program_id(0) * x.block_shape(0);
//     out.store({i, 0}, x.load({i, 0}) * 2);
//   });
//   twice.launch({cdiv(rows, 16)}, HostDescriptor(x, {rows, 64}, {16, 64}),
//                HostDescriptor(out, {rows, 64}, {80, 1}, {16, 64}));    // rows of 80 elements
//
// Address, extents and strides are arguments of the launch, each specialised as such: arrays of
// other sizes run the same code. The extents of the blocks and the padding are constants of the
// kernel.
#pragma once

#include "jit/launch/DescriptorArgument.h"

#include <sectile/arguments.h>
#include <sectile/blocks.h>
#include <sectile/record.h>

namespace sectile {

/// A parameter of a kernel: an array of `Rank` dimensions, of which a block is read or written at a
/// time. TensorDescriptorOf<const f16, 2> may only be read.
template <class T, size_t Rank>
class TensorDescriptorOf : public TensorDescriptor {
public:
  static_assert(Rank >= 1 && Rank <= 5, "TensorDescriptorOf<T, Rank>: Rank is 1 to 5");
  explicit TensorDescriptorOf(const TensorDescriptor &descriptor) : TensorDescriptor(descriptor) {}
};

namespace detail {

/// An integer of any type, or a Const.
struct Extent {
  template <class T>
    requires(std::is_integral_v<T> || isConst<T>)
  Extent(T number) : number(int64_t(number)) {}
  int64_t number;
};

/// How a descriptor keeps what it describes: containers as spans.
template <class Array>
auto viewOf(Array &array) {
  if constexpr (isDeviceBuffer<std::remove_cv_t<Array>>)
    return &array;
  else if constexpr (std::is_pointer_v<std::remove_cv_t<Array>>)
    return array;
  else if constexpr (requires { std::span(array); })
    return std::span(array);
  else
    static_assert(never<Array>, "HostDescriptor: the array is a T*, a std::vector<T>, a "
                                "std::span<T>, a std::array<T, N> or a DeviceBuffer<T>");
}
template <class Array>
using ViewOf = decltype(viewOf(std::declval<Array &>()));

} // namespace detail

/// An array of a program, and the blocks in which a kernel reads and writes it: the argument for a
/// parameter TensorDescriptorOf<T, Rank>. It refers to the array, which must stay where it is.
template <class View, size_t Rank>
class HostDescriptor {
public:
  /// `shape` and `strides` are in elements. Throws Error (Kind::Call), naming the argument, its
  /// value and the rule:
  ///   base         is not null, and its address is a multiple of 16 bytes
  ///   shape        positive numbers
  ///   strides      the last is 1, the others are multiples of 16 bytes; no element of the array
  ///                lies outside of a `base` that has a length
  ///   block_shape  positive numbers
  ///   padding      "zero" or "nan": what elements outside of `shape` read as
  template <class Array>
  HostDescriptor(Array &&base, const detail::Extent (&shape)[Rank],
                 const detail::Extent (&strides)[Rank], const detail::Extent (&block_shape)[Rank],
                 const char *padding = "zero")
      : base(detail::viewOf(base)), shape(numbersOf(shape)), strides(numbersOf(strides)),
        blockShape(numbersOf(block_shape)) {
    finish(padding);
  }
  /// An array whose rows follow each other without gaps.
  template <class Array>
  HostDescriptor(Array &&base, const detail::Extent (&shape)[Rank],
                 const detail::Extent (&block_shape)[Rank], const char *padding = "zero")
      : base(detail::viewOf(base)), shape(numbersOf(shape)), blockShape(numbersOf(block_shape)) {
    int64_t stride = 1;
    for (size_t dim = Rank; dim-- > 0; stride *= this->shape[dim])
      strides[dim] = stride;
    finish(padding);
  }

private:
  template <class Parameter>
  friend struct detail::ParameterTraits;
  using Numbers = std::array<int64_t, Rank>;

  static Numbers numbersOf(const detail::Extent (&given)[Rank]) {
    Numbers numbers;
    for (size_t dim = 0; dim < Rank; ++dim)
      numbers[dim] = given[dim].number;
    return numbers;
  }

  void finish(const char *word) {
    const std::string_view given = word ? word : "";
    padsWithNan = given == "nan";
    if (!padsWithNan && given != "zero")
      refuse("padding '" + std::string(given) + "' is neither 'zero' nor 'nan'");
    jit::DescriptorArgument described;
    described.base = data();
    described.elementBytes = sizeof(*data());
    if constexpr (!std::is_pointer_v<View> || isBuffer)
      described.elements = size();
    described.shape = shape;
    described.strides = strides;
    described.blockShape = blockShape;
    refuse(jit::problemOf(described));
    bytes = jit::bytesOf(described);
    constants = jit::ConstantTable::ofDescriptor(blockShape, word);
  }

  [[noreturn]] static void refuse(const std::string &problem, const std::string &help = "") {
    throw Error(Error::Kind::Call,
                "HostDescriptor: " + problem + (help.empty() ? "" : "\n  help: " + help));
  }

  static void refuse(const jit::ArgumentProblem &problem) {
    if (!problem.ok())
      refuse(problem.text, problem.help);
  }

  static constexpr bool isBuffer =
      detail::isDeviceBuffer<std::remove_cv_t<std::remove_pointer_t<View>>>;
  auto *data() const {
    if constexpr (isBuffer)
      return base->data();
    else if constexpr (std::is_pointer_v<View>)
      return base;
    else
      return base.data();
  }
  size_t size() const {
    if constexpr (isBuffer)
      return base->size();
    else
      return base.size();
  }

  View base;
  Numbers shape, strides, blockShape;
  jit::DescribedBytes bytes = {};
  jit::ConstantTable::OfDescriptor constants;
  bool padsWithNan = false;
};

template <class Array, size_t Rank>
HostDescriptor(Array &&, const detail::Extent (&)[Rank], const detail::Extent (&)[Rank],
               const detail::Extent (&)[Rank], const char * = "")
    -> HostDescriptor<detail::ViewOf<std::remove_reference_t<Array>>, Rank>;
template <class Array, size_t Rank>
HostDescriptor(Array &&, const detail::Extent (&)[Rank], const detail::Extent (&)[Rank],
               const char * = "")
    -> HostDescriptor<detail::ViewOf<std::remove_reference_t<Array>>, Rank>;

namespace detail {

template <class T>
inline constexpr size_t rankOfHostDescriptor = 0;
template <class View, size_t Rank>
inline constexpr size_t rankOfHostDescriptor<HostDescriptor<View, Rank>> = Rank;

template <class T, size_t Rank>
struct ParameterTraits<TensorDescriptorOf<T, Rank>> {
  using Base = ParameterTraits<Ptr<T>>;
  static constexpr bool isDescriptor = true;
  /// A tuple of five: the base, tuples of extents and of strides, two constants.
  static constexpr size_t valueCount = 2 + 2 * (1 + Rank) + 2;
  static jit::ParameterPolicy policy(std::string name) { return Base::policy(std::move(name)); }

  template <class Argument>
  static void convert(const Argument &passed, jit::ArgumentValue *place) {
    static_assert(rankOfHostDescriptor<Argument> == Rank,
                  "launch: a TensorDescriptorOf<T, Rank> parameter takes a HostDescriptor of an "
                  "array of Rank dimensions");
    if (passed.padsWithNan)
      Argument::refuse(jit::problemOfNan(Base::dtype.pointee()));
    *place++ = jit::ArgumentValue::tuple(5, passed.constants.tupleClass.id,
                                         passed.constants.tupleClass.constant);
    *place = convertBase(passed);
    place->rangeBegin = passed.bytes.begin;
    (place++)->rangeEnd = passed.bytes.end;
    for (const auto *numbers : {&passed.shape, &passed.strides}) {
      *place++ = jit::ArgumentValue::tuple(Rank);
      for (int64_t number : *numbers)
        *place++ = jit::ArgumentValue::integer(number);
    }
    for (const auto &entry : {passed.constants.blockShape, passed.constants.padding})
      *place++ = jit::ArgumentValue::constantWithId(entry.id, *entry.constant);
  }

private:
  template <class Argument>
  static jit::ArgumentValue convertBase(const Argument &passed) {
    if constexpr (Argument::isBuffer)
      return Base::convert(*passed.base);
    else
      return Base::convert(passed.base);
  }
};

/// The tuple of the values of the launch.
template <class T, size_t Rank>
struct MakeParameter<TensorDescriptorOf<T, Rank>> {
  static TensorDescriptorOf<T, Rank> from(const cpp::Argument &argument) {
    return TensorDescriptorOf<T, Rank>(TensorDescriptor(Blocks(argument)));
  }
};

} // namespace detail
} // namespace sectile
