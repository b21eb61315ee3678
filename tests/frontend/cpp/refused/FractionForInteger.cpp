// A number with a fraction for a handle of integers.
// EXPECTED: an integer handle is given a floating-point number
#include <sectile/sectile.h>
using namespace sectile;

i32 refused() {
  return 2.7;
}
