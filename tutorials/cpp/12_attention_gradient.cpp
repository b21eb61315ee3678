// Lesson 12: the gradient of attention, in one pass.
//
// Training needs three gradients of lesson 6's attention: of q, k and v, from that of the result.
// With P the matrix of weights and all matrices written out (Dao et al., "FlashAttention", 2022,
// appendix B.2):
//
//   dV = P^T dOut      dP = dOut V^T      dS = P * (dP - delta)
//   dQ = dS K scale    dK = dS^T Q scale
//
// where delta is the sum of dOut * Out over each row: what all weights of a row lose together,
// since they sum to 1.
//
// *Recompute, do not keep.* P is as large as the matrix of scores, which lesson 6 never wrote down.
// Forward keeps one number a row instead, the logarithm of the sum of exponentials (`logsum`):
// exp(score - logsum) is the weight again.
//
// *Who owns what.* dK and dV are sums over all rows of Q, dQ is one over all rows of K. A program
// owns a block of keys and walks along the queries:
//
//              Q^T, dOut^T  (D x length)
//            +----+----+----+----+
//            | ->   ->   ->      |      scores of one step, transposed: BLOCK_N x BLOCK_M
//            +----+----+----+----+
//   K, V +---+
//        | n |    dK, dV: sums along the walk, never leave fast memory
//        +---+    dQ: each program adds its part to the same rows in memory, atomically
//
// Scores are computed transposed, keys along rows, since that is how dV = P^T dOut and dK = dS^T Q
// take them: five products a step, where two passes, one for dQ and one for dK and dV, would
// compute the scores and dP twice. The price is the atomic additions, which come in any order: dQ
// is the same from run to run only up to rounding.
//
// *Edges.* Rows of Q beyond the end are loaded as zeros, and have the weights exp(0 - infinity) =
// 0. Rows of K beyond the end are zeros, too, and add nothing to dQ, as long as their weights are
// finite: no weight is above 1, so exponents are cut at 0, where exp(0 - logsum) of such a row
// might be infinite.
//
// Run it: build/tutorials/12_attention_gradient
// (the same kernels in Python: 12_attention_gradient.py, with a function for torch's autograd)

#include "lesson.h"

#include <sectile/sectile.h>
using namespace sectile;

static const auto attention_and_logsum = kernel(
    "attention_and_logsum", [](Ptr<f32> out_ptr, Ptr<f32> logsum_ptr, Ptr<const f32> q_ptr,
                               Ptr<const f32> k_ptr, Ptr<const f32> v_ptr, i32 length, f32 scale,
                               Const<int> D, Const<int> BLOCK_M, Const<int> BLOCK_N) {
      // Lesson 6, and one store more.
      auto head = program_id(1) * length * D;
      auto m = program_id(0) * BLOCK_M + arange(0, BLOCK_M);
      auto d = arange(0, D);
      auto rows = head + m[{all, none}] * D + d[{none, all}];
      auto q = load(q_ptr + rows, m[{all, none}] < length, 0.0);

      auto lowest = full<f32>({BLOCK_M}, -inf);
      auto nothing = zeros<f32>({BLOCK_M});
      auto unmixed = zeros<f32>({BLOCK_M, D});
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
      auto places = logsum_ptr + program_id(1) * length + m;
      store(places, top + log(total), m < length);
    });

static const auto prepare_gradient = kernel(
    "prepare_gradient", [](Ptr<f32> delta_ptr, Ptr<f32> dq_ptr, Ptr<const f32> out_ptr,
                           Ptr<const f32> dout_ptr, i32 rows, Const<int> D, Const<int> BLOCK_M) {
      // delta, and zeros for dQ, to which many programs will add.
      auto m = program_id(0) * BLOCK_M + arange(0, BLOCK_M);
      auto places = m[{all, none}] * D + arange(0, D)[{none, all}];
      auto out = load(out_ptr + places, m[{all, none}] < rows, 0.0);
      auto dout = load(dout_ptr + places, m[{all, none}] < rows, 0.0);
      auto row = delta_ptr + m;
      store(row, sum(out * dout, 1), m < rows);
      auto dq = dq_ptr + places;
      store(dq, zeros<f32>({BLOCK_M, D}), m[{all, none}] < rows);
    });

static const auto attention_gradient =
    kernel("attention_gradient",
           [](Ptr<f32> dq_ptr, Ptr<f32> dk_ptr, Ptr<f32> dv_ptr, Ptr<const f32> q_ptr,
              Ptr<const f32> k_ptr, Ptr<const f32> v_ptr, Ptr<const f32> dout_ptr,
              Ptr<const f32> logsum_ptr, Ptr<const f32> delta_ptr, i32 length, f32 scale,
              Const<int> D, Const<int> BLOCK_M, Const<int> BLOCK_N) {
             // Program (j, h): the j-th block of keys of head h.
             auto head = program_id(1) * length * D;
             auto first = program_id(1) * length;
             auto n = program_id(0) * BLOCK_N + arange(0, BLOCK_N);
             auto d = arange(0, D);
             auto columns = head + n[{all, none}] * D + d[{none, all}];
             auto k = load(k_ptr + columns, n[{all, none}] < length, 0.0);
             auto v = load(v_ptr + columns, n[{all, none}] < length, 0.0);

             auto no_dk = zeros<f32>({BLOCK_N, D});
             auto no_dv = zeros<f32>({BLOCK_N, D});
             auto [dv, dk] =
                 loop(range(0, length, BLOCK_M), std::tuple{no_dv, no_dk},
                      [&](i32 start, auto dv, auto dk) {
                        auto m = start + arange(0, BLOCK_M);
                        auto rows = head + m[{all, none}] * D + d[{none, all}];
                        auto q = load(q_ptr + rows, m[{all, none}] < length, 0.0);
                        auto dout = load(dout_ptr + rows, m[{all, none}] < length, 0.0);
                        auto logsum = load(logsum_ptr + first + m, m < length, inf);
                        auto delta = load(delta_ptr + first + m, m < length, 0.0);

                        auto scores = dot(k, trans(q)) * scale;
                        auto weights = exp(minimum(scores - logsum[{none, all}], 0.0));
                        auto new_dv = dot(weights, dout, dv);
                        auto dweights = dot(v, trans(dout));
                        auto dscores = weights * (dweights - delta[{none, all}]) * scale;
                        auto new_dk = dot(dscores, q, dk);
                        auto dq = dot(trans(dscores), k);
                        auto places = dq_ptr + rows;
                        atomic_add(places, dq, m[{all, none}] < length, {.sem = "relaxed"});
                        return std::tuple{new_dv, new_dk};
                      });
             store(dk_ptr + columns, dk, n[{all, none}] < length);
             store(dv_ptr + columns, dv, n[{all, none}] < length);
           });

using Buffer = DeviceBuffer<float>;

/// softmax(q k^T / sqrt(D)) v of each head, and the logarithms of the sums of exponentials; arrays
/// are heads x length x D, logsum is heads x length.
template <int D>
static void attention(const Buffer &q, const Buffer &k, const Buffer &v, Buffer &out,
                      Buffer &logsum, int heads, int length) {
  const Const BLOCK_M{64}, BLOCK_N{q.device().isGpu() ? 32 : 64};
  attention_and_logsum.launch({cdiv(length, BLOCK_M), heads}, out, logsum, q, k, v, length,
                              float(1 / std::sqrt(double(D))), Const{D}, BLOCK_M, BLOCK_N);
}

/// The gradients of q, k and v, given that of `out`. `delta`: as `logsum`, is written.
template <int D>
static void gradient(const Buffer &q, const Buffer &k, const Buffer &v, const Buffer &out,
                     const Buffer &logsum, const Buffer &dout, Buffer &delta, Buffer &dq,
                     Buffer &dk, Buffer &dv, int heads, int length) {
  prepare_gradient.launch({cdiv(heads * length, 64)}, delta, dq, out, dout, heads * length,
                          Const{D}, Const{64});
  const Const BLOCK_M{q.device().isGpu() ? 32 : 64}, BLOCK_N{64};
  // Two sums of 64 x 64 numbers and four tiles of a step are more than the registers of 4 warps
  // hold.
  attention_gradient.with({.num_warps = 8})
      .launch({cdiv(length, BLOCK_N), heads}, dq, dk, dv, q, k, v, dout, logsum, delta, length,
              float(1 / std::sqrt(double(D))), Const{D}, BLOCK_M, BLOCK_N);
}

/// The same in plain C++, row by row.
template <class T>
struct PlainGradient {
  std::vector<T> out, dq, dk, dv;

  PlainGradient(const std::vector<float> &q, const std::vector<float> &k,
                const std::vector<float> &v, const std::vector<float> &dout, int heads, int length,
                int D)
      : out(q.size()), dq(q.size()), dk(q.size()), dv(q.size()) {
    std::vector<T> weights(length);
    const T scale = 1 / std::sqrt(T(D));
    for (int row = 0; row < heads * length; ++row) {
      const size_t head = size_t(row / length) * length * D, here = size_t(row) * D;
      T top = -INFINITY, total = 0, delta = 0;
      for (int n = 0; n < length; ++n) {
        T score = 0;
        for (int d = 0; d < D; ++d)
          score += T(q[here + d]) * T(k[head + size_t(n) * D + d]);
        weights[n] = score * scale;
        top = std::max(top, weights[n]);
      }
      for (T &weight : weights)
        total += weight = std::exp(weight - top);
      for (int n = 0; n < length; ++n) {
        weights[n] /= total;
        for (int d = 0; d < D; ++d)
          out[here + d] += weights[n] * T(v[head + size_t(n) * D + d]);
      }
      for (int d = 0; d < D; ++d)
        delta += out[here + d] * T(dout[here + d]);
      for (int n = 0; n < length; ++n) {
        const size_t there = head + size_t(n) * D;
        T dweight = 0;
        for (int d = 0; d < D; ++d)
          dweight += T(dout[here + d]) * T(v[there + d]);
        const T dscore = weights[n] * (dweight - delta) * scale;
        for (int d = 0; d < D; ++d) {
          dq[here + d] += dscore * T(k[there + d]);
          dk[there + d] += dscore * T(q[here + d]);
          dv[there + d] += weights[n] * T(dout[here + d]);
        }
      }
    }
  }
};

int main(int argc, char **argv) try {
  constexpr int D = 64;
  const bool quick = lesson::isQuick(argc, argv);
  const int heads = quick ? 2 : 8, length = quick ? 100 : 1000;
  const size_t rows = size_t(heads) * length, count = rows * D;
  const Device device = Device::best();
  auto q = lesson::randomNumbers(count, 1), k = lesson::randomNumbers(count, 2),
       v = lesson::randomNumbers(count, 3), dout = lesson::randomNumbers(count, 4);
  Buffer qThere(device, q), kThere(device, k), vThere(device, v), doutThere(device, dout);
  Buffer outThere(device, count), dq(device, count), dk(device, count), dv(device, count),
      logsum(device, rows), delta(device, rows);
  auto run = [&] {
    attention<D>(qThere, kThere, vThere, outThere, logsum, heads, length);
    gradient<D>(qThere, kThere, vThere, outThere, logsum, doutThere, delta, dq, dk, dv, heads,
                length);
  };
  run();

  const PlainGradient<double> expected(q, k, v, dout, heads, length, D);
  const std::pair<const Buffer &, const std::vector<double> &> results[] = {
      {outThere, expected.out}, {dq, expected.dq}, {dk, expected.dk}, {dv, expected.dv}};
  double worst = 0;
  for (const auto &[got, wanted] : results) {
    const double error = lesson::errorOf(got.download(), wanted);
    if (!(error <= worst)) // NaN, too, and then nothing else
      worst = error;
    if (std::isnan(worst))
      break;
  }
  lesson::check("gradient of attention on " + device.description() + ", " + std::to_string(heads) +
                    " heads of " + std::to_string(length) + " x " + std::to_string(D) + " float32",
                worst, device.isGpu() ? 6e-3 : 1e-5);
  if (quick)
    return 0;

  const double gigaflop = 14.0 * heads * length * length * D / 1e9; // seven products
  double ours = gigaflop / lesson::secondsOf(device, run);
  double plain = gigaflop / lesson::secondsOf([&] {
                   PlainGradient<float> gradient(q, k, v, dout, heads, length, D);
                   lesson::keep(gradient.dq.data());
                 });
  std::printf(
      "  forward and backward: Sectile %.1f GFLOP/s, plain C++ loop %.1f GFLOP/s  (%.1fx)\n", ours,
      plain, ours / plain);
} catch (const sectile::Error &error) {
  std::printf("%s\n", error.what());
  return 1;
}
