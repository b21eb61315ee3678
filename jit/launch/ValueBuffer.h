//===-- ValueBuffer.h - the values of a launch, on the stack where they are few ---------------===//
#pragma once

#include "jit/launch/Specialization.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

namespace sectile::jit {

/// Grows like a vector. Room for most launches is inside, and costs nothing until it is used.
class ValueBuffer {
public:
  ValueBuffer() = default;
  ValueBuffer(const ValueBuffer &) = delete;
  ValueBuffer &operator=(const ValueBuffer &) = delete;

  void push(const ArgumentValue &value) {
    pushMade([&] { return value; });
  }
  /// Pushes what `make` returns, which is made where it stays.
  template <class Make>
  void pushMade(const Make &make) {
    if (count == capacity) [[unlikely]]
      grow();
    new (&first[count++]) ArgumentValue(make());
  }
  void assign(std::span<const ArgumentValue> values) {
    count = 0;
    for (const ArgumentValue &value : values)
      push(value);
  }
  ArgumentValue &operator[](size_t index) { return first[index]; }
  std::span<const ArgumentValue> span() const { return {first, count}; }

private:
  static_assert(std::is_trivially_destructible_v<ArgumentValue>);
  static constexpr size_t kUsual = 48;

  [[gnu::cold, gnu::noinline]] void grow() {
    auto larger = std::make_unique<ArgumentValue[]>(2 * capacity);
    std::copy_n(first, count, larger.get());
    many = std::move(larger);
    first = many.get();
    capacity *= 2;
  }

  alignas(ArgumentValue) std::array<std::byte, kUsual * sizeof(ArgumentValue)> usual;
  std::unique_ptr<ArgumentValue[]> many;
  ArgumentValue *first = reinterpret_cast<ArgumentValue *>(usual.data());
  size_t count = 0, capacity = kUsual;
};

} // namespace sectile::jit
