// A value of a kernel as a C++ condition: the error says what to write instead.
// EXPECTED: use where(condition, x, y) to choose element by element, and if_(condition
#include <sectile/sectile.h>
using namespace sectile;

void refused(Value x) {
  if (x > 0)
    store(x, 1);
}
