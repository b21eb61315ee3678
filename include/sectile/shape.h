//===-- shape.h - rearranging the elements of a tile --------------------------------------===//
// Elements are in row-major order. x[{all, slice(3, 7)}] and x[0] (types.h) take parts, by numbers
// known at compile time, and x[{all, none}] inserts dimensions; so does expand_dims.
#pragma once

#include <sectile/operators.h>
#include <tuple>

namespace sectile {

/// A dimension of one inserted at `axis`.
inline Value expand_dims(const Operand &x, const Operand &axis,
                         Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "expand_dims", {x.argument, axis.argument});
}
/// Dimensions of one, and missing leading ones, repeated to `shape`.
inline Value broadcast_to(const Operand &x, const Shape &shape,
                          Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "broadcast_to", {x.argument, shape.argument});
}
/// Both to the shape they broadcast to.
inline std::tuple<Value, Value> broadcast(const Operand &x, const Operand &y,
                                          Operand::Where where = Operand::Where::current()) {
  cpp::Argument arguments[] = {x.argument, y.argument};
  auto results = detail::callAll(where, "broadcast", arguments);
  return {detail::valueOf(results.at(0)), detail::valueOf(results.at(1))};
}
/// The same elements in the same order under another shape.
inline Value reshape(const Operand &x, const Shape &shape,
                     Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "reshape", {x.argument, shape.argument});
}
inline Value view(const Operand &x, const Shape &shape,
                  Operand::Where where = Operand::Where::current()) {
  return reshape(x, shape, where);
}
/// All elements in one dimension.
inline Value ravel(const Operand &x, Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "ravel", {x.argument});
}
/// Swaps the last two dimensions.
inline Value trans(const Operand &x, Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "trans", {x.argument});
}
inline Value trans(const Operand &x, const Shape &order,
                   Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "trans", {x.argument, order.argument});
}
/// Extent d of the result is extent order[d] of `x`.
inline Value permute(const Operand &x, const Shape &order,
                     Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "permute", {x.argument, order.argument});
}
/// The elements along `axis` in reverse.
inline Value flip(const Operand &x, const Operand &axis = none,
                  Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "flip", {x.argument, axis.argument});
}
/// Pairs of elements in a new last dimension of two.
inline Value join(const Operand &x, const Operand &y,
                  Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "join", {x.argument, y.argument});
}
/// The two halves of a last dimension of two.
inline std::tuple<Value, Value> split(const Operand &x,
                                      Operand::Where where = Operand::Where::current()) {
  auto results = detail::callAll(where, "split", std::span(&x.argument, 1));
  return {detail::valueOf(results.at(0)), detail::valueOf(results.at(1))};
}
/// x and y by turns along the last dimension.
inline Value interleave(const Operand &x, const Operand &y,
                        Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "interleave", {x.argument, y.argument});
}
/// x, then y, along `axis`.
inline Value cat(const Operand &x, const Operand &y, const Operand &axis = 0,
                 Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "cat", {x.argument, y.argument, detail::named("dim", axis)});
}
/// result[i, j] = x[index[i, j], j] for axis 0 of two.
inline Value gather(const Operand &x, const Operand &index, const Operand &axis,
                    Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "gather", {x.argument, index.argument, axis.argument});
}

} // namespace sectile
