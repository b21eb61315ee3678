// Example 11 without Python: runs where the engine is built, and writes an archive of its kernels.
#include <sectile/sectile.h>
using namespace sectile;

int main(int, char **argv) {
  auto softmax = kernel("softmax", {"out", "x", "columns", "BLOCK"},
                        [](Ptr<f32> out, Ptr<const f32> x, i32 columns, Const<int> BLOCK) {
                          auto i = arange(0, BLOCK);
                          auto at = program_id(0) * columns + i;
                          auto v = load(x + at, i < columns, -inf);
                          auto e = exp(v - max(v, 0));
                          store(out + at, e / sum(e, 0), i < columns);
                        });
  ArchiveWriter archive;
  for (const char *target : {"cpu:x86-64-v2", "cpu:x86-64-v3"})
    softmax.on(Target(target))
        .exportTo(archive, divisibleBy16, divisibleBy16, oneOf(anyValue, divisibleBy16),
                  Const{1024});
  archive.write(argv[1]);
}
