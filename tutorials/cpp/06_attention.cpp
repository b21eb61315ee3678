// Lesson 6: attention, without ever writing down the matrix of scores.
//
// Attention mixes the rows of V: row m of the result is the mean of all rows of V, weighted by the
// softmax of the products of row m of Q with all rows of K. Each program keeps BLOCK_M rows of Q in
// a tile and walks along K and V:
//
//              K^T  (D x length)
//            +----+----+----+----+
//            | ->   ->   ->      |      scores = Q K^T of one step: BLOCK_M x BLOCK_N
//            +----+----+----+----+
//   Q +---+
//     | m |    softmax along the walk   ->   out: BLOCK_M x D
//     +---+
//
// *Online softmax.* A softmax needs the greatest score before the first exponential, and it is
// known only at the end of the walk. So the loop carries the greatest score so far (`top`), and
// when it grows, what was summed with the old one is scaled by exp(old - new): the same result, in
// one pass. (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao et al.,
// "FlashAttention", 2022.)
//
// *Several values in a loop.* They go in as a tuple and come out as one (lesson 3 has the first).
//
// Run it: build/tutorials/06_attention          (the same kernel in Python: 06_attention.py)

#include "lesson.h"

#include <sectile/sectile.h>
using namespace sectile;

static const auto attention_rows =
    kernel("attention_rows",
           [](Ptr<f32> out_ptr, Ptr<const f32> q_ptr, Ptr<const f32> k_ptr, Ptr<const f32> v_ptr,
              i32 length, f32 scale, Const<int> D, Const<int> BLOCK_M, Const<int> BLOCK_N) {
             // Program (i, h): the i-th block of rows of head h.
             auto head = program_id(1) * length * D;
             auto m = program_id(0) * BLOCK_M + arange(0, BLOCK_M);
             auto d = arange(0, D);
             auto rows = head + m[{all, none}] * D + d[{none, all}];
             auto q = load(q_ptr + rows, m[{all, none}] < length, 0.0);

             auto lowest = full<f32>({BLOCK_M}, -inf); // the greatest score of each row so far
             auto nothing = zeros<f32>({BLOCK_M});     // the sum of exponentials so far
             auto unmixed = zeros<f32>({BLOCK_M, D});  // rows of V, weighted, so far
             auto [total, mixed, top] =
                 loop(range(0, length, BLOCK_N), std::tuple{nothing, unmixed, lowest},
                      [&](i32 start, auto total, auto mixed, auto top) {
                        auto n = start + arange(0, BLOCK_N);
                        auto columns = head + n[{all, none}] * D + d[{none, all}];
                        auto k = load(k_ptr + columns, n[{all, none}] < length, 0.0);
                        auto v = load(v_ptr + columns, n[{all, none}] < length, 0.0);
                        auto products = dot(q, trans(k)) * scale;
                        auto scores = where(n[{none, all}] < length, products, -inf);

                        auto new_top = maximum(top, max(scores, 1));
                        auto shrink = exp(top - new_top);
                        auto weights = exp(scores - new_top[{all, none}]);
                        auto new_total = total * shrink + sum(weights, 1);
                        auto shrunk = mixed * shrink[{all, none}];
                        return std::tuple{new_total, dot(weights, v, shrunk), new_top};
                      });
             store(out_ptr + rows, mixed / total[{all, none}], m[{all, none}] < length);
           });

using Buffer = DeviceBuffer<float>;

/// softmax(q k^T / sqrt(D)) v of each head; arrays are heads x length x D.
template <int D>
static void attention(const Buffer &q, const Buffer &k, const Buffer &v, Buffer &out, int heads,
                      int length) {
  const Const BLOCK_M{64}, BLOCK_N{q.device().isGpu() ? 32 : 64};
  attention_rows.launch({cdiv(length, BLOCK_M), heads}, out, q, k, v, length,
                        float(1 / std::sqrt(double(D))), Const{D}, BLOCK_M, BLOCK_N);
}

/// The same in plain C++, row by row.
template <class T>
static void plainAttention(const std::vector<float> &q, const std::vector<float> &k,
                           const std::vector<float> &v, std::vector<T> &out, int heads, int length,
                           int D) {
  std::vector<T> weights(length);
  for (int row = 0; row < heads * length; ++row) {
    const size_t head = size_t(row / length) * length * D;
    T top = -INFINITY, total = 0;
    for (int n = 0; n < length; ++n) {
      T score = 0;
      for (int d = 0; d < D; ++d)
        score += T(q[size_t(row) * D + d]) * T(k[head + size_t(n) * D + d]);
      weights[n] = score / std::sqrt(T(D));
      top = std::max(top, weights[n]);
    }
    for (T &weight : weights)
      total += weight = std::exp(weight - top);
    for (int d = 0; d < D; ++d)
      out[size_t(row) * D + d] = 0;
    for (int n = 0; n < length; ++n)
      for (int d = 0; d < D; ++d)
        out[size_t(row) * D + d] += weights[n] / total * T(v[head + size_t(n) * D + d]);
  }
}

int main(int argc, char **argv) try {
  constexpr int D = 64;
  const bool quick = lesson::isQuick(argc, argv);
  const int heads = quick ? 2 : 8, length = quick ? 100 : 1000;
  const size_t count = size_t(heads) * length * D;
  const Device device = Device::best();
  auto q = lesson::randomNumbers(count, 1), k = lesson::randomNumbers(count, 2),
       v = lesson::randomNumbers(count, 3);
  Buffer qThere(device, q), kThere(device, k), vThere(device, v), outThere(device, count);
  auto run = [&] { attention<D>(qThere, kThere, vThere, outThere, heads, length); };
  run();

  std::vector<double> expected(count);
  plainAttention(q, k, v, expected, heads, length, D);
  lesson::check("attention on " + device.description() + ", " + std::to_string(heads) +
                    " heads of " + std::to_string(length) + " x " + std::to_string(D) + " float32",
                lesson::errorOf(outThere.download(), expected), device.isGpu() ? 2e-3 : 1e-5);
  if (quick)
    return 0;

  std::vector<float> out(count);
  const double gigaflop = 4.0 * heads * length * length * D / 1e9;
  double ours = gigaflop / lesson::secondsOf(device, run);
  double plain = gigaflop / lesson::secondsOf([&] {
                   plainAttention(q, k, v, out, heads, length, D);
                   lesson::keep(out.data());
                 });
  std::printf("  Sectile %.1f GFLOP/s, plain C++ loop %.1f GFLOP/s  (%.1fx)\n", ours, plain,
              ours / plain);
} catch (const sectile::Error &error) {
  std::printf("%s\n", error.what());
  return 1;
}
