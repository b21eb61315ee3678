// Example 10 in C++: a server that compiles its kernels when it is told to, and never afterwards.
//
//   serve build     compiles the variants into the cache
//   serve           serves; a launch that would have to compile is an error
//
// Between the two `sectile cache export` and `sectile cache import` carry the cache to another
// machine.
#include <cstdio>
#include <cstring>
#include <sectile/sectile.h>
#include <vector>
using namespace sectile;

int main(int argc, char **argv) {
  auto scale =
      kernel("scale", [](Ptr<f32> out, Ptr<const f32> x, f32 factor, i32 n, Const<int> BLOCK) {
        auto i = program_id(0) * BLOCK + arange(0, BLOCK);
        store(out + i, load(x + i, i < n) * factor, i < n);
      });

  if (argc > 1 && !std::strcmp(argv[1], "build")) {
    // Each argument in the order of the parameters: arrays at addresses that are divisible by 16 or
    // not, any factor, a size that is divisible by 16 or not, and the constant.
    scale.precompile(oneOf(anyValue, divisibleBy16), oneOf(anyValue, divisibleBy16), anyValue,
                     oneOf(anyValue, divisibleBy16), Const{512});
    std::printf("%zu variants\n", scale.variants().size());
    return 0;
  }

  sectile::seal();
  bool correct = true;
  for (int n : {1000, 1024, 77}) {
    std::vector<float> x(n), out(n);
    for (int i = 0; i < n; ++i)
      x[i] = float(i);
    scale.launch({cdiv(n, 512)}, out, x, 2.0f, n, Const{512});
    for (int i = 0; i < n; ++i)
      correct = correct && out[i] == 2.0f * float(i);
  }
  try {
    std::vector<float> x(8), out(8);
    scale.launch({1}, out, x, 2.0f, 8, Const{256});
    correct = false; // BLOCK 256 was never compiled
  } catch (const Error &error) {
    std::printf("refused: %s\n", error.what());
  }
  std::printf("correct: %s\n", correct ? "true" : "false");
  return correct ? 0 : 1;
}
