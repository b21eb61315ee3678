// An older standard: one error, which names the option.
// OPTIONS: -std=c++17
// EXPECTED: Sectile needs C[+][+]20: compile with -std=c[+][+]20
// ERRORS: 1
#include <sectile/sectile.h>
