//===-- blocks.h - blocks of an array in memory -----------------------------------------------===//
//   auto a = make_tensor_descriptor(x, {m, k}, {k, 1}, {64, 32});
//   auto tile = a.load({i, j});               // what lies outside the array reads as zeros
//   a.store({i, j}, tile * 2);                // and is not written
//
// A descriptor may be made on the host, too, and passed to the kernel: descriptors.h.
//
//   auto p = make_block_ptr(x, {m, k}, {k, 1}, {i, 0}, {64, 32}, {1, 0});
//   auto first = load(p, {.boundary_check = {0, 1}});
//   auto second = load(advance(p, {0, 32}), {.boundary_check = {0, 1}});
//
// Both are values of one kernel and never change, so loops do not carry them: in a loop a block is
// named by its offsets, a.load({i, index}) or load(p.at({i, index})).
#pragma once

#include <sectile/memory.h>

namespace sectile {

namespace detail {
template <class Parameter>
struct MakeParameter; // record.h

/// What descriptors and block pointers hold: a tuple with a class of the language.
class Blocks {
public:
  Blocks(const Operand::Where &where, const char *builtin,
         const std::vector<cpp::Argument> &arguments)
      : Blocks(callAll(where, builtin, arguments).at(0)) {}
  explicit Blocks(const cpp::Argument &argument)
      : argument(argument), trace(Trace::active().serial()) {}
  Blocks(const Blocks &) = default;
  Blocks &operator=(const Blocks &) = delete; // a body that is traced once would be a trap

  /// As the first argument of an operation.
  const cpp::Argument &at(const Operand::Where &where) const {
    Trace &current = Trace::active();
    if (trace != current.serial()) {
      current.at(where);
      current.fail("value: belongs to another kernel", "make it inside this kernel");
    }
    return argument;
  }

private:
  cpp::Argument argument;
  uint32_t trace;
};
} // namespace detail

//===-- descriptors ---------------------------------------------------------------------------===//

/// An array in memory that is read and written block by block. What lies outside of it is never
/// touched, whatever the offsets.
class TensorDescriptor {
public:
  /// The block that begins at `offsets`.
  Value load(const Shape &offsets, Operand::Where where = Operand::Where::current()) const {
    return detail::call(where, "tensor_descriptor.load", {held.at(where), offsets.argument});
  }
  /// Writes `value`, converted to the element type, to the block that begins at `offsets`.
  void store(const Shape &offsets, const Operand &value,
             Operand::Where where = Operand::Where::current()) const {
    detail::call(where, "tensor_descriptor.store",
                 {held.at(where), offsets.argument, value.argument});
  }
  /// Parts of rows of a matrix: row rows[i] from `column` on. Blocks are single rows, {1, COLUMNS}.
  Value gather(const Operand &rows, const Operand &column,
               Operand::Where where = Operand::Where::current()) const {
    return detail::call(where, "tensor_descriptor.gather",
                        {held.at(where), rows.argument, column.argument});
  }
  void scatter(const Operand &value, const Operand &rows, const Operand &column,
               Operand::Where where = Operand::Where::current()) const {
    detail::call(where, "tensor_descriptor.scatter",
                 {held.at(where), value.argument, rows.argument, column.argument});
  }

  /// Each combines the block with `value`, every element as one indivisible step.
#define SECTILE_ATOMIC(name)                                                                       \
  void name(const Shape &offsets, const Operand &value,                                            \
            Operand::Where where = Operand::Where::current()) const {                              \
    detail::call(where, "tensor_descriptor." #name,                                                \
                 {held.at(where), offsets.argument, value.argument});                              \
  }
  SECTILE_ATOMIC(atomic_add)
  SECTILE_ATOMIC(atomic_max)
  SECTILE_ATOMIC(atomic_min)
  SECTILE_ATOMIC(atomic_and)
  SECTILE_ATOMIC(atomic_or)
  SECTILE_ATOMIC(atomic_xor)
#undef SECTILE_ATOMIC

  /// The extent of the array, and the elements from one to the next, along a dimension.
  Value shape(size_t dim, Operand::Where where = Operand::Where::current()) const {
    return detail::valueOf(field(1, dim, where));
  }
  Value stride(size_t dim, Operand::Where where = Operand::Where::current()) const {
    return detail::valueOf(field(2, dim, where));
  }
  /// The extent of the blocks along a dimension.
  int block_shape(size_t dim, Operand::Where where = Operand::Where::current()) const {
    return int(*field(3, dim, where).constant()->template as<lang::Int>());
  }
  /// The element type.
  DType dtype(Operand::Where where = Operand::Where::current()) const {
    return detail::valueOf(items(where).at(0)).elementType();
  }

private:
  friend TensorDescriptor make_tensor_descriptor(const Operand &, const Shape &, const Shape &,
                                                 const Shape &, const char *, Operand::Where);
  template <class Parameter>
  friend struct detail::MakeParameter;

  /// base, shape, strides, block_shape, padding (lang/semantics/BlockValues.h).
  const cpp::Argument::Tuple &items(const Operand::Where &where) const {
    return std::get<cpp::Argument::Tuple>(held.at(where).data);
  }
  cpp::Argument field(size_t index, size_t dim, const Operand::Where &where) const {
    const cpp::Argument &tuple = items(where).at(index);
    // A tuple of constants is a constant.
    auto *constants = tuple.constant() ? tuple.constant()->as<lang::ConstantTuple>() : nullptr;
    size_t rank =
        constants ? (*constants)->size() : std::get<cpp::Argument::Tuple>(tuple.data).size();
    if (dim >= rank) {
      detail::Trace &current = detail::Trace::active();
      current.at(where);
      current.fail("tensor descriptor: there is no dimension " + detail::decimal(int64_t(dim)) +
                       ", it has " + detail::decimal(int64_t(rank)),
                   "dimensions count from 0");
    }
    return constants ? cpp::Argument{(**constants)[dim], ""}
                     : std::get<cpp::Argument::Tuple>(tuple.data)[dim];
  }
  explicit TensorDescriptor(const detail::Blocks &held) : held(held) {}
  detail::Blocks held;
};

/// Describes an array of `shape` whose neighbours along a dimension lie `strides` elements apart;
/// the last stride is 1. `padding`: what is read outside, "zero" or "nan".
inline TensorDescriptor make_tensor_descriptor(const Operand &base, const Shape &shape,
                                               const Shape &strides, const Shape &block_shape,
                                               const char *padding = "zero",
                                               Operand::Where where = Operand::Where::current()) {
  return TensorDescriptor(detail::Blocks(where, "make_tensor_descriptor",
                                         {base.argument, shape.argument, strides.argument,
                                          block_shape.argument, Operand(padding).argument}));
}

//===-- block pointers ------------------------------------------------------------------------===//

/// A block of an array, by the place where it begins.
class BlockPointer {
public:
  /// The block that begins at `offsets`.
  BlockPointer at(const Shape &offsets, Operand::Where where = Operand::Where::current()) const {
    return BlockPointer(
        detail::Blocks(where, "block_pointer.at", {held.at(where), offsets.argument}));
  }
  const cpp::Argument &argument(const Operand::Where &where) const { return held.at(where); }

private:
  friend BlockPointer make_block_ptr(const Operand &, const Shape &, const Shape &, const Shape &,
                                     const Shape &, const Shape &, Operand::Where);
  friend BlockPointer advance(const BlockPointer &, const Shape &, Operand::Where);
  explicit BlockPointer(const detail::Blocks &held) : held(held) {}
  detail::Blocks held;
};

/// The block of extents `block_shape` that begins at `offsets` in an array of `shape`. `order`: the
/// dimensions from the fastest varying one on; a hint.
inline BlockPointer make_block_ptr(const Operand &base, const Shape &shape, const Shape &strides,
                                   const Shape &offsets, const Shape &block_shape,
                                   const Shape &order,
                                   Operand::Where where = Operand::Where::current()) {
  return BlockPointer(detail::Blocks(where, "make_block_ptr",
                                     {base.argument, shape.argument, strides.argument,
                                      offsets.argument, block_shape.argument, order.argument}));
}

/// The block `offsets` elements further on.
inline BlockPointer advance(const BlockPointer &pointer, const Shape &offsets,
                            Operand::Where where = Operand::Where::current()) {
  return BlockPointer(
      detail::Blocks(where, "advance", {pointer.argument(where), offsets.argument}));
}

struct BlockOptions {
  /// The dimensions in which the block may leave the array.
  std::vector<int64_t> boundary_check = {};
  const char *padding_option = ""; // loads: "zero" "nan"
  const char *cache_modifier = "";
  const char *eviction_policy = "";
};

namespace detail {
inline cpp::Argument checkOf(const BlockOptions &options) {
  cpp::Argument dimensions = Shape(options.boundary_check).argument;
  dimensions.name = "boundary_check";
  return dimensions;
}
} // namespace detail

inline Value load(const BlockPointer &pointer, BlockOptions options = {},
                  Operand::Where where = Operand::Where::current()) {
  std::vector<cpp::Argument> arguments = {pointer.argument(where), detail::checkOf(options),
                                          detail::named("padding_option", options.padding_option)};
  detail::addOptions(arguments, {options.cache_modifier, options.eviction_policy});
  return detail::call(where, "load", arguments);
}

inline void store(const BlockPointer &pointer, const Operand &value, BlockOptions options = {},
                  Operand::Where where = Operand::Where::current()) {
  std::vector<cpp::Argument> arguments = {pointer.argument(where), value.argument,
                                          detail::checkOf(options)};
  detail::addOptions(arguments, {options.cache_modifier, options.eviction_policy});
  detail::call(where, "store", arguments);
}

} // namespace sectile
