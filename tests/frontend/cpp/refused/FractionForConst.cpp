// A number with a fraction for a Const of integers.
// EXPECTED: a floating-point number is passed for a Const<T> parameter whose T is
#include <sectile/sectile.h>
using namespace sectile;

void refused() {
  kernel("refused", [](Ptr<f32> x, Const<int> C) { store(x, C); }).launch({1}, nullptr, 2.9);
}
