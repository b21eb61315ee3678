// Prints of each kind, once for each of two programs; the kernel of
// test_prints_are_those_of_python.
#include <sectile/sectile.h>
#include <vector>

using namespace sectile;

int main() {
  auto prints = kernel("prints", {"x", "n", "number"}, [](Ptr<const i32> x, i32 n, f32 number) {
    auto value = load(x + arange(0, 4));
    device_print("x", value);
    device_print("half: ", to<f16>(value) / 2);
    device_print("positive", value > 0);
    device_print("flag ", n > 3);
    device_print("n:", n);
    device_print("number", number);
    device_print("", value[{all, none}] * 10 + arange(0, 2)[{none, all}]);
    device_print("two", value, value > 1);
    device_print("nothing");
  });
  std::vector<int> x = {-1, 0, 1, 2};
  prints.launch({1, 2}, x, 42, 3.25f);
}
