// Compiled in two folders under one relative name, with another OPERATOR and FOLDER.
#include POLICY

namespace {
struct Policy {
  static sectile::Value of(sectile::Value x) { return x OPERATOR 10.0f; }
};
} // namespace

static const auto step =
    sectile::kernel("step", [](sectile::Ptr<sectile::f32> x) { store(x, load(x) OPERATOR 10.0f); });

#define JOINED(name, folder) name##folder
#define NAMED(name, folder) JOINED(name, folder)
float NAMED(policyOf, FOLDER)() {
  return applyPolicy<Policy>();
}
float NAMED(macroOf, FOLDER)() {
  return applyMacro();
}
float NAMED(stepOf, FOLDER)() {
  std::vector<float> numbers{3};
  step.launch({1}, numbers);
  return numbers[0];
}
