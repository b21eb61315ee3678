// A plug-in that is built anew with another FACTOR, and loaded again under its old name.
#include <sectile/sectile.h>
#include <vector>

using namespace sectile;

extern "C" float run() {
  auto scale = kernel("scale", {"x", "n", "BLOCK"}, [](Ptr<f32> x, i32 n, Const<int> BLOCK) {
    auto index = program_id(0) * BLOCK + arange(0, BLOCK);
    auto value = load(x + index, index < n, 0.0f);
    auto [total, count] = loop(range(1), std::tuple{value, 0}, [](auto, auto total, auto count) {
      return std::tuple{total * FACTOR, count + 1};
    });
    auto chosen = if_(n > 0, [&] { return total; }, [&] { return value; });
    static_print(
        "sum",
        sum(reduce(reshape(chosen, {1, BLOCK}), 0, [](Value a, Value b) { return a + b; }), 0),
        BLOCK);
    device_print("count", count);
    store(x + index, chosen, index < n);
  });
  std::vector<float> x{1, 1};
  scale.launch({cdiv(2, 16)}, x, 2, Const{16});
  auto bound = scale.bind({1}, x, 1, Const{16});
  bound.set<1>(2);
  scale.variants();
  return x[1];
}
