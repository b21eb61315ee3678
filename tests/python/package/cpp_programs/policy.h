// A header whose kernels differ between the files that include it: by a policy in an unnamed
// namespace, by a macro, and in a function of internal linkage.
#pragma once

#include <sectile/sectile.h>
#include <vector>

template <class Policy>
float applyPolicy() {
  using namespace sectile;
  auto apply = kernel("apply", [](Ptr<f32> x) { store(x, Policy::of(load(x))); });
  std::vector<float> numbers{3};
  apply.launch({1}, numbers);
  return numbers[0];
}

static float applyMacro() {
  using namespace sectile;
  auto apply = kernel("apply", [](Ptr<f32> x) { store(x, load(x) OPERATOR 10.0f); });
  std::vector<float> numbers{3};
  apply.launch({1}, numbers);
  return numbers[0];
}
