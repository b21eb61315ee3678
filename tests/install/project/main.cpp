#include <cstdio>
#include <fstream>
#include <sectile/sectile.h>
#include <vector>
using namespace sectile;

bool isCompilerLoaded() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("libsectile-compiler") != std::string::npos)
      return true;
  return false;
}

/// Compiles ahead, closes the set of variants, launches, and says whether the compiler was loaded.
int main() try {
  auto twice = kernel("twice", [](Ptr<f32> out, Ptr<const f32> in, i32 count, Const<int> BLOCK) {
    auto index = program_id(0) * BLOCK + arange(0, BLOCK);
    auto inside = index < count;
    store(out + index, load(in + index, inside) * 2.0f, inside);
  });
  twice.precompile(divisibleBy16, divisibleBy16, oneOf(anyValue, divisibleBy16), Const{256});
  seal();
  std::vector<float> in(1000), out(1000, -1);
  for (int i = 0; i < 1000; ++i)
    in[i] = float(i);
  twice.launch({cdiv(1000, 256)}, out, in, 1000, Const{256});
  for (int i = 0; i < 1000; ++i)
    if (out[i] != 2 * in[i]) {
      std::printf("element %d is %g\n", i, out[i]);
      return 1;
    }
  if (twice.variants().size() != 2) {
    std::printf("%zu variants\n", twice.variants().size());
    return 1;
  }
  std::printf("ok, compiler %s\n", isCompilerLoaded() ? "loaded" : "not loaded");
} catch (const sectile::Error &error) {
  std::printf("%s\n", error.what());
  return 1;
}
