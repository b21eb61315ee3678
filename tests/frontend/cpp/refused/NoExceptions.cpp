// Without exceptions: one error that says so.
// OPTIONS: -fno-exceptions
// EXPECTED: compile without -fno-exceptions
#include <sectile/sectile.h>
