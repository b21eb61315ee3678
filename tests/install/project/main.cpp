#include <cstdio>
#include <sectile/sectile.h>
#include <vector>
using namespace sectile;

int main() try {
  auto twice = kernel("twice", [](Ptr<f32> out, Ptr<const f32> in, i32 count, Const<int> BLOCK) {
    auto index = program_id(0) * BLOCK + arange(0, BLOCK);
    auto inside = index < count;
    store(out + index, load(in + index, inside) * 2.0f, inside);
  });
  std::vector<float> in(1000), out(1000, -1);
  for (int i = 0; i < 1000; ++i)
    in[i] = float(i);
  twice.launch({cdiv(1000, 256)}, out, in, 1000, Const{256});
  for (int i = 0; i < 1000; ++i)
    if (out[i] != 2 * in[i]) {
      std::printf("element %d is %g\n", i, out[i]);
      return 1;
    }
  std::printf("ok\n");
} catch (const sectile::Error &error) {
  std::printf("%s\n", error.what());
  return 1;
}
