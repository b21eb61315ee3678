// A grid of fractions.
// EXPECTED: a grid is made of integers
#include <sectile/sectile.h>
using namespace sectile;

Grid refused() {
  return {2.9};
}
