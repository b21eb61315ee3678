// A kernel's function that changes itself.
// EXPECTED: kernel: the function is mutable
#include <sectile/sectile.h>
using namespace sectile;

auto refused = kernel("refused", [count = 0](Ptr<f32> x) mutable { store(x, ++count); });
