// Calls kernels whose names, parameters and docstrings are what C and C++ make of nothing good.
#include "odd.hpp"

/// A type of the program's own for half precision.
struct Half {
  uint16_t bits;
};
template <>
struct sectile::aot::ElementType<Half> {
  static constexpr sectile_type value = SECTILE_F16;
};

int main() {
  odd::Kernels kernels;
  alignas(16) float x[4] = {};
  alignas(16) Half half[8] = {};
  if (!kernels.openLinked().ok())
    return 1;
  // 3 * n, 0.5 for an even n, and a constant that is not the kernel's default.
  if (!kernels.call({}, x, 4).ok() || x[0] != 712.5f)
    return 2;
  if (!kernels.call({}, x, 5).ok() || x[0] != 715.25f)
    return 3;
  if (!kernels.nothing({}, {1}).ok() || !kernels.half({}, {1}, half, nullptr).ok())
    return 4;
  auto status = kernels.open_({}, {1}, x, nullptr, 5u, 7, sectile_integer(3), 1, 1, 2.5, 3, 4);
  if (!status.ok() || x[0] != 1)
    return 5;
  if (!kernels.p_sectile_names({}, x, sizeof x, half, sizeof half, 2, 3, 4, 5, 6).ok() ||
      x[0] != 14)
    return 7;
  return kernels.open__({}, x, 2, 3).ok() && x[0] == 3 ? 0 : 6;
}
