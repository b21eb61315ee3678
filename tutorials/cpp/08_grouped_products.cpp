// Lesson 8: many products of matrices in one launch, no two of one shape.
//
// A mixture of experts multiplies each expert's rows with that expert's weights: products of many
// heights, some of a few rows only. One launch for each would leave most of a GPU idle, and a
// launch costs microseconds. Here one launch computes them all.
//
// *Arrays of pointers.* A kernel's parameters are fixed in number, so the matrices come as an array
// of their addresses: i64 in memory. What is loaded from it becomes a pointer by a conversion, like
// any other. The sizes lie in a second array, three to a product.
//
// *Programs that walk.* The tiles of all products are numbered one after another, and program p
// computes the tiles p, p + P, p + 2P, ... where P is the number of programs:
//
//   product 0            product 1   product 2
//   +----+----+----+     +----+      +----+----+
//   | 0  | 1  | 2  |     | 6  |      | 8  | 9  |       P = 4:  program 0 has the tiles 0, 4, 8
//   +----+----+----+     +----+      +----+----+               program 1            1, 5, 9
//   | 3  | 4  | 5  |     | 7  |                                program 2            2, 6
//   +----+----+----+     +----+                                program 3            3, 7
//
// A program goes through the products in order, and leaves each when its next tile lies behind it.
// So the work is shared evenly, whatever the shapes, and no host has to plan it.
//
// *Loops in loops.* What an inner loop carries comes out as its result, and goes on in the outer
// one's: here the number of the next tile.
//
// Run it: build/tutorials/08_grouped_products    (the same kernel in Python:
// 08_grouped_products.py)

#include "lesson.h"

#include <algorithm>
#include <sectile/sectile.h>
#include <thread>
using namespace sectile;

static const auto grouped_tiles = kernel(
    "grouped_tiles", [](Ptr<i64> a_ptrs, Ptr<i64> b_ptrs, Ptr<i64> c_ptrs, Ptr<i32> sizes_ptr,
                        i32 products, Const<int> BLOCK_M, Const<int> BLOCK_N, Const<int> BLOCK_K) {
      const DType pointer = DType::pointer(ScalarKind::Float32);
      // This program's next tile, counted from the product's first one.
      auto mine = program_id(0);
      loop(range(0, products), mine, [&](i32 product, auto tile) {
        auto M = load(sizes_ptr + 3 * product);
        auto N = load(sizes_ptr + 3 * product + 1);
        auto K = load(sizes_ptr + 3 * product + 2);
        auto a_ptr = to(load(a_ptrs + product), pointer);
        auto b_ptr = to(load(b_ptrs + product), pointer);
        auto c_ptr = to(load(c_ptrs + product), pointer);
        auto tiles_n = cdiv(N, BLOCK_N);
        auto tiles = cdiv(M, BLOCK_M) * tiles_n;

        auto next = while_(
            tile, [&](auto tile) { return tile < tiles; },
            [&](auto tile) {
              // One tile of the product, as in lesson 3, but rows and columns beyond the edge read
              // as zeros.
              auto m = tile / tiles_n * BLOCK_M + arange(0, BLOCK_M);
              auto n = tile % tiles_n * BLOCK_N + arange(0, BLOCK_N);
              auto k = arange(0, BLOCK_K);
              auto a = a_ptr + m[{all, none}] * K + k[{none, all}];
              auto b = b_ptr + k[{all, none}] * N + n[{none, all}];
              auto zero = zeros<f32>({BLOCK_M, BLOCK_N});
              auto total = loop(range(0, K, BLOCK_K), zero, [&](i32 done, auto total) {
                auto left = K - done;
                auto a_mask = (m[{all, none}] < M) & (k[{none, all}] < left);
                auto b_mask = (k[{all, none}] < left) & (n[{none, all}] < N);
                auto a_tile = load(a + done, a_mask, 0.0);
                auto b_tile = load(b + done * N, b_mask, 0.0);
                return dot(a_tile, b_tile, total);
              });
              auto c = c_ptr + m[{all, none}] * N + n[{none, all}];
              store(c, total, (m[{all, none}] < M) & (n[{none, all}] < N));
              return tile + num_programs(0);
            });
        return next - tiles;
      });
    });

struct Sizes {
  int M, N, K;
};
using Buffer = DeviceBuffer<float>;

/// Products c[i] = a[i] * b[i], and the arrays that tell a kernel of them.
struct Group {
  std::vector<Sizes> shapes;
  std::vector<std::vector<float>> a, b;
  std::vector<Buffer> aThere, bThere, cThere;
  DeviceBuffer<int64_t> aPointers, bPointers, cPointers;
  DeviceBuffer<int> sizes;

  Group(Device device, const std::vector<Sizes> &shapes)
      : shapes(shapes), aPointers(device, shapes.size()), bPointers(device, shapes.size()),
        cPointers(device, shapes.size()), sizes(device, 3 * shapes.size()) {
    std::vector<int> numbers;
    for (auto [M, N, K] : shapes) {
      const unsigned seed = unsigned(2 * a.size());
      a.push_back(lesson::randomNumbers(size_t(M) * K, seed));
      b.push_back(lesson::randomNumbers(size_t(K) * N, seed + 1));
      aThere.emplace_back(device, a.back());
      bThere.emplace_back(device, b.back());
      cThere.emplace_back(device, size_t(M) * N);
      numbers.insert(numbers.end(), {M, N, K});
    }
    sizes.upload(numbers);
    aPointers.upload(addressesOf(aThere));
    bPointers.upload(addressesOf(bThere));
    cPointers.upload(addressesOf(cThere));
  }

  static std::vector<int64_t> addressesOf(const std::vector<Buffer> &buffers) {
    std::vector<int64_t> addresses;
    for (const Buffer &buffer : buffers)
      addresses.push_back(reinterpret_cast<intptr_t>(buffer.data()));
    return addresses;
  }

  void multiply() {
    const bool isGpu = sizes.device().isGpu();
    // Any number of programs computes all tiles: one for each multiprocessor of an H200, or for
    // each thread of a CPU several, because these may have other work.
    const int programs = isGpu ? 132 : 8 * std::max(1, int(std::thread::hardware_concurrency()));
    const Const BLOCK_M{isGpu ? 32 : 64}, BLOCK_N{isGpu ? 64 : 128}, BLOCK_K{isGpu ? 32 : 128};
    grouped_tiles.launch({programs}, aPointers, bPointers, cPointers, sizes, int(shapes.size()),
                         BLOCK_M, BLOCK_N, BLOCK_K);
  }
};

/// One product in plain C++; the inner loop runs along rows, so that it vectorises.
template <class T>
static std::vector<T> plainProduct(Sizes one, const std::vector<float> &a,
                                   const std::vector<float> &b) {
  std::vector<T> c(size_t(one.M) * one.N);
  for (int m = 0; m < one.M; ++m)
    for (int k = 0; k < one.K; ++k)
      for (int n = 0; n < one.N; ++n)
        c[size_t(m) * one.N + n] += T(a[size_t(m) * one.K + k]) * T(b[size_t(k) * one.N + n]);
  return c;
}

int main(int argc, char **argv) try {
  const bool quick = lesson::isQuick(argc, argv);
  const Device device = Device::best();
  std::vector<Sizes> shapes = {{100, 130, 70}, {1, 257, 129}, {33, 64, 300}, {200, 65, 17}};
  if (!quick)
    shapes.insert(shapes.end(), {{700, 333, 500}, {3, 1000, 1001}, {64, 64, 64}});
  Group group(device, shapes);
  group.multiply();
  double worst = 0;
  for (size_t i = 0; i < shapes.size(); ++i) {
    auto expected = plainProduct<double>(shapes[i], group.a[i], group.b[i]);
    double error = lesson::errorOf(group.cThere[i].download(), expected);
    if (!(error <= worst)) // also catches NaN
      worst = error;
  }
  lesson::check(std::to_string(shapes.size()) + " products in one launch on " +
                    device.description() + ", float32",
                worst, device.isGpu() ? 1e-3 : 1e-5);
  if (quick)
    return 0;

  for (int width : {64, 256, 512}) {
    std::vector<Sizes> experts;
    for (int expert = 0; expert < 64; ++expert)
      experts.push_back({1 + expert * 37 % 99, width, width});
    Group many(device, experts);
    double gigaflop = 0;
    for (auto [M, N, K] : experts)
      gigaflop += 2e-9 * M * N * K;
    double ours = gigaflop / lesson::secondsOf(device, [&] { many.multiply(); });
    double plain = gigaflop / lesson::secondsOf([&] {
                     for (size_t i = 0; i < experts.size(); ++i)
                       lesson::keep(plainProduct<float>(experts[i], many.a[i], many.b[i]).data());
                   });
    std::printf("  %zu products with %d x %d: Sectile %.1f GFLOP/s, plain C++ loop %.1f GFLOP/s  "
                "(%.1fx)\n",
                experts.size(), width, width, ours, plain, ours / plain);
  }
} catch (const sectile::Error &error) {
  std::printf("%s\n", error.what());
  return 1;
}
