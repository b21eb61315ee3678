// Lesson 3: matrix multiplication, tile by tile.
//
// One program computes one BLOCK_M x BLOCK_N tile of C = A * B. It walks along the inner dimension
// in steps of BLOCK_K, and dot() adds each step's product to an accumulator that never leaves fast
// memory.
//
//                  K                    BLOCK_N
//             +---------+            +----+---+----+
//     BLOCK_M |-> -> -> |   A      K |    | v |    |   B        each program: one strip of A,
//             +---------+            |    | v |    |            one strip of B, one tile of C
//                                    +----+---+----+
//
// *Loops carry their values.* `loop` hands the current values to its body and takes the next ones
// from its result; the body is recorded once, whatever the number of steps. Assigning `total` in
// there would change nothing, so that is an error.
//
// *Grouped ordering.* Programs that run at about the same time should share strips, so that these
// are still in the cache. Walking C row by row needs one strip of A and all of B; walking it in
// groups of GROUP rows needs few strips of both.
//
// *Fused activation.* The tile is in fast memory when it is finished: applying a function there
// costs nothing. A function called from a kernel is a plain C++ function, here chosen by a template
// parameter.
//
// *Blocks.* A large tile reads less for each product, but there must be enough tiles for every
// multiprocessor of a GPU (an H200 has 132) to have one.
//
// *Precision.* The tensor cores of a GPU multiply float32 as TF32, rounded (on Hopper some are cut
// off) to 11 significant bits; sums stay float32. dot(a, b, c, {.input_precision = "ieee"}) does
// without them. On a CPU nothing is rounded.
//
// Run it: build/tutorials/03_matmul          (the same kernel in Python: 03_matmul.py)

#include "lesson.h"

#include <algorithm>
#include <sectile/sectile.h>
#include <thread>
using namespace sectile;

struct LeakyRelu {
  static Value apply(Value x) { return where(x >= 0, x, 0.01 * x); }
};
struct Identity {
  static Value apply(Value x) { return x; }
};

template <class Activation>
static const auto matmul_tile =
    kernel("matmul_tile",
           [](Ptr<const f32> a_ptr, Ptr<const f32> b_ptr, Ptr<f32> c_ptr, i32 M, i32 N, i32 K,
              i32 a_row, i32 a_column, i32 b_row, i32 b_column, i32 c_row, i32 c_column,
              Const<int> BLOCK_M, Const<int> BLOCK_N, Const<int> BLOCK_K, Const<int> GROUP) {
             // Which tile of C: GROUP rows of tiles are walked column by column before the next
             // group starts.
             auto program = program_id(0);
             auto tiles_n = cdiv(N, BLOCK_N);
             auto group = program / (GROUP * tiles_n);
             auto first_m = group * GROUP;
             auto rows_in_group = minimum(cdiv(M, BLOCK_M) - first_m, GROUP);
             auto tile_m = first_m + (program % (GROUP * tiles_n)) % rows_in_group;
             auto tile_n = (program % (GROUP * tiles_n)) / rows_in_group;

             // Rows and columns beyond the edge wrap around to some element that exists: what they
             // compute is thrown away by the mask of the final store.
             auto m = tile_m * BLOCK_M + arange(0, BLOCK_M);
             auto n = tile_n * BLOCK_N + arange(0, BLOCK_N);
             auto k = arange(0, BLOCK_K);
             auto a = a_ptr + (m % M)[{all, none}] * a_row + k[{none, all}] * a_column;
             auto b = b_ptr + k[{all, none}] * b_row + (n % N)[{none, all}] * b_column;

             auto zero = zeros<f32>({BLOCK_M, BLOCK_N});
             auto [total, a_end, b_end] =
                 loop(range(0, cdiv(K, BLOCK_K)), std::tuple{zero, a, b},
                      [&](i32 step, auto total, auto a, auto b) {
                        auto left = K - step * BLOCK_K;
                        auto a_tile = load(a, k[{none, all}] < left, 0.0);
                        auto b_tile = load(b, k[{all, none}] < left, 0.0);
                        total = dot(a_tile, b_tile, total);
                        return std::tuple{total, a + BLOCK_K * a_column, b + BLOCK_K * b_row};
                      });
             auto activated = Activation::apply(total);

             auto c = c_ptr + m[{all, none}] * c_row + n[{none, all}] * c_column;
             store(c, activated, (m[{all, none}] < M) & (n[{none, all}] < N));
           });

struct Matrix {
  int rows, columns;
  std::vector<float> elements = std::vector<float>(size_t(rows) * columns);
};
using Buffer = DeviceBuffer<float>;

template <class Activation>
static void matmul(const Buffer &a, const Buffer &b, Buffer &c, int M, int N, int K) {
  // Large tiles read their operands less often, but every thread of a CPU and every multiprocessor
  // of a GPU wants some. On a GPU, the strips of four steps are in shared memory at once: 64 KiB.
  const bool isGpu = a.device().isGpu();
  const int enough = isGpu ? 128 : 4 * int(std::thread::hardware_concurrency());
  int side = isGpu ? 128 : 256;
  while (side > 64 && cdiv(M, side) * cdiv(N, side) < enough)
    side /= 2;
  const int depth = isGpu ? side == 128 ? 16 : 32 : std::min(side, 128);
  const Const BLOCK_M{side}, BLOCK_N{side}, BLOCK_K{depth}, GROUP{8};
  matmul_tile<Activation>.with({.num_stages = 4}).launch({cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N)}, a, b, c, M, N, K, K, 1, N, 1, N, 1, BLOCK_M, BLOCK_N, BLOCK_K, GROUP);
}

/// The same in plain C++; the inner loop runs along rows, so that it vectorises.
template <class T>
static void plainMatmul(const Matrix &a, const Matrix &b, std::vector<T> &c) {
  std::fill(c.begin(), c.end(), T(0));
  for (int m = 0; m < a.rows; ++m)
    for (int k = 0; k < a.columns; ++k) {
      const T factor = a.elements[size_t(m) * a.columns + k];
      for (int n = 0; n < b.columns; ++n)
        c[size_t(m) * b.columns + n] += factor * T(b.elements[size_t(k) * b.columns + n]);
    }
}

static Matrix randomMatrix(int rows, int columns, unsigned seed) {
  return {rows, columns, lesson::randomNumbers(size_t(rows) * columns, seed)};
}

int main(int argc, char **argv) try {
  const bool quick = lesson::isQuick(argc, argv);
  const int M = quick ? 100 : 500, N = quick ? 130 : 700, K = quick ? 70 : 300;
  const Device device = Device::best();
  Matrix a = randomMatrix(M, K, 1), b = randomMatrix(K, N, 2), c{M, N};
  Buffer aThere(device, a.elements), bThere(device, b.elements), cThere(device, c.elements.size());
  matmul<LeakyRelu>(aThere, bThere, cThere, M, N, K);

  std::vector<double> expected(c.elements.size());
  plainMatmul(a, b, expected);
  for (double &x : expected)
    x = x >= 0 ? x : 0.01 * x;
  lesson::check("matmul with leaky ReLU on " + device.description() + ", " + std::to_string(M) +
                    " x " + std::to_string(N) + " x " + std::to_string(K) + " float32",
                lesson::errorOf(cThere.download(), expected), device.isGpu() ? 1e-3 : 1e-5);
  if (quick)
    return 0;

  for (int size : {512, 1024}) {
    a = randomMatrix(size, size, 3), b = randomMatrix(size, size, 4), c = Matrix{size, size};
    aThere = {device, a.elements}, bThere = {device, b.elements};
    cThere = {device, c.elements.size()};
    double gigaflop = 2.0 * size * size * size / 1e9;
    double ours = gigaflop / lesson::secondsOf(device, [&] {
                    matmul<Identity>(aThere, bThere, cThere, size, size, size);
                  });
    double plain = gigaflop / lesson::secondsOf([&] { plainMatmul(a, b, c.elements); });
    std::printf("  %d^3: Sectile %6.1f GFLOP/s, plain C++ loop %6.1f GFLOP/s  (%.1fx)\n", size,
                ours, plain, ours / plain);
  }
} catch (const sectile::Error &error) {
  std::printf("%s\n", error.what());
  return 1;
}
