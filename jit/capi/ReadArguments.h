//===-- ReadArguments.h - the arguments of a launch, as C passes them -------------------------===//
//   ReadArguments read;
//   if (!read.all(kernel, {args, count}, device))
//     ... read.problem(), read.parameter() ...
//   kernel.bind({read.values(), ...}, launch);
#pragma once

#include "jit/aot/Archive.h"
#include "jit/launch/ValueBuffer.h"

#include <memory>
#include <sectile/c.h>
#include <span>
#include <string>
#include <vector>

namespace sectile::jit::capi {

/// The numbers of sectile_type are those of ScalarKind.
constexpr bool isType(sectile_type type) {
  return type >= SECTILE_BOOL && type <= SECTILE_F64;
}
lang::DType scalarOf(sectile_type type);

class ReadArguments {
public:
  ReadArguments() = default;
  ReadArguments(const ReadArguments &) = delete;
  ReadArguments &operator=(const ReadArguments &) = delete;

  /// `device`: the GPU whose memory pointers point to, or ArgumentValue::kHost. False where one of
  /// them is wrong; then problem() and parameter() say which.
  bool all(const ArchivedKernel &kernel, std::span<const sectile_arg> args, int16_t device);
  std::span<const ArgumentValue> values() const { return buffer.span(); }

  /// Only after all() has returned false.
  const std::string &problem() const { return rare->problem; }
  int32_t parameter() const { return rare->parameter; }

private:
  /// What most launches do without.
  struct Rare {
    std::string problem;
    int32_t parameter = -1;
    /// Constants that no archive has, for messages: nothing is kept of them.
    std::vector<std::unique_ptr<lang::Constant>> unknown;
    /// Of each tuple that the next argument is in, from the outermost on: the items to come.
    std::vector<size_t> itemsLeft;
  };

  const char *one(const sectile_arg &arg, int16_t device);
  [[gnu::noinline]] const char *other(const sectile_arg &arg);
  /// Apart from all(): most arguments are numbers and pointers.
  [[gnu::noinline]] bool descriptor(const ArchivedKernel &kernel, size_t number,
                                    const sectile_arg &arg, int16_t device);
  /// Takes note of an argument that is a tuple or in one. Returns whether the next one is, too.
  [[gnu::noinline]] bool isInTuple(const sectile_arg &arg);
  [[gnu::cold]] bool refuse(const ArchivedKernel &kernel, size_t number, const std::string &why);
  ArgumentValue constantOf(lang::Constant constant);

  Rare &ofRare() {
    if (!rare)
      rare = std::make_unique<Rare>();
    return *rare;
  }

  ValueBuffer buffer;
  std::unique_ptr<Rare> rare;
};

} // namespace sectile::jit::capi
