// Expects of the kernels of two translation units what each of them says.
#include <cstdio>

float policyOfAdd(), macroOfAdd(), stepOfAdd();
float policyOfMultiply(), macroOfMultiply(), stepOfMultiply();

int main() {
  float add[] = {policyOfAdd(), macroOfAdd(), stepOfAdd()};
  float multiply[] = {policyOfMultiply(), macroOfMultiply(), stepOfMultiply()};
  std::printf("%g %g %g, %g %g %g\n", add[0], add[1], add[2], multiply[0], multiply[1],
              multiply[2]);
}
