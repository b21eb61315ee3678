// Lesson 5: layer normalisation, forward and backward.
//
// Forward, for each row x of length N:   y = (x - mean(x)) / sqrt(var(x) + eps) * w + b
// With the normalised row x_hat and its gradient g = dy * w, backward is
//
//     dx = (g - mean(g) - x_hat * mean(g * x_hat)) / sqrt(var + eps)     for each row
//     dw = sum over rows of dy * x_hat,   db = sum over rows of dy       across all rows
//
// dw and db need a sum over programs. Here each of P programs walks the rows pid, pid + P, pid +
// 2P, ... and keeps its own partial sums in a tile; a second kernel adds the P partial sums.
// Nothing is atomic, so the result is the same, bit for bit, on every run.
//
// (Ba, Kiros, Hinton, "Layer Normalization", 2016.)
//
// Run it: build/tutorials/05_layer_norm      (the same kernels in Python: 05_layer_norm.py)

#include "lesson.h"

#include <sectile/sectile.h>
using namespace sectile;

static const auto layer_norm_forward =
    kernel("layer_norm_forward",
           [](Ptr<const f32> x_ptr, Ptr<f32> y_ptr, Ptr<const f32> w_ptr, Ptr<const f32> b_ptr,
              Ptr<f32> mean_ptr, Ptr<f32> rstd_ptr, i32 N, f32 eps, Const<int> BLOCK) {
             auto row = program_id(0);
             auto column = arange(0, BLOCK);
             auto inside = column < N;
             auto x = to<f32>(load(x_ptr + row * N + column, inside, 0.0));
             auto mean = sum(x, 0) / N;
             auto centred = where(inside, x - mean, 0.0);
             auto rstd = 1 / sqrt(sum(centred * centred, 0) / N + eps);
             auto w = load(w_ptr + column, inside);
             auto b = load(b_ptr + column, inside);
             store(y_ptr + row * N + column, centred * rstd * w + b, inside);
             store(mean_ptr + row, mean);
             store(rstd_ptr + row, rstd);
           });

static const auto layer_norm_backward = kernel(
    "layer_norm_backward",
    [](Ptr<const f32> x_ptr, Ptr<const f32> dy_ptr, Ptr<const f32> w_ptr, Ptr<const f32> mean_ptr,
       Ptr<const f32> rstd_ptr, Ptr<f32> dx_ptr, Ptr<f32> partial_dw_ptr, Ptr<f32> partial_db_ptr,
       i32 M, i32 N, Const<int> BLOCK) {
      auto program = program_id(0);
      auto column = arange(0, BLOCK);
      auto inside = column < N;
      auto w = load(w_ptr + column, inside, 0.0);
      auto dw0 = zeros<f32>({BLOCK}), db0 = zeros<f32>({BLOCK});
      auto [dw, db] = loop(
          range(program, M, num_programs(0)), std::tuple{dw0, db0}, [&](i32 row, auto dw, auto db) {
            auto x = to<f32>(load(x_ptr + row * N + column, inside, 0.0));
            auto dy = to<f32>(load(dy_ptr + row * N + column, inside, 0.0));
            auto rstd = load(rstd_ptr + row);
            auto x_hat = where(inside, (x - load(mean_ptr + row)) * rstd, 0.0);
            auto g = dy * w;
            auto along_x = sum(g * x_hat, 0) / N;
            auto along_one = sum(g, 0) / N;
            store(dx_ptr + row * N + column, (g - along_one - x_hat * along_x) * rstd, inside);
            return std::tuple{dw + dy * x_hat, db + dy};
          });
      store(partial_dw_ptr + program * N + column, dw, inside);
      store(partial_db_ptr + program * N + column, db, inside);
    });

static const auto add_partial_sums =
    kernel("add_partial_sums", [](Ptr<const f32> partial_ptr, Ptr<f32> out_ptr, i32 P, i32 N,
                                  Const<int> BLOCK_P, Const<int> BLOCK_N) {
      auto column = program_id(0) * BLOCK_N + arange(0, BLOCK_N);
      auto total =
          loop(range(0, P, BLOCK_P), zeros<f32>({BLOCK_P, BLOCK_N}), [&](i32 first, auto total) {
            auto part = first + arange(0, BLOCK_P);
            auto mask = (part[{all, none}] < P) & (column[{none, all}] < N);
            return total +
                   load(partial_ptr + part[{all, none}] * N + column[{none, all}], mask, 0.0);
          });
      store(out_ptr + column, sum(total, 0), column < N);
    });

using Numbers = std::vector<float>;
using Buffer = DeviceBuffer<float>;

/// On a GPU warps of 32 threads share a row, some `elements` for each thread.
static Options rowOptions(int block, int elements, int leastWarps, int mostWarps) {
  return {.num_warps = std::clamp(block / (32 * elements), leastWarps, mostWarps)};
}

static void forward(int M, int N, const Buffer &x, const Buffer &w, const Buffer &b, Buffer &y,
                    Buffer &mean, Buffer &rstd) {
  const int block = next_power_of_2(N);
  layer_norm_forward.with(rowOptions(block, 8, 1, 8))
      .launch({M}, x, y, w, b, mean, rstd, N, 1e-5f, Const{block});
}

static void backward(int M, int N, const Buffer &dy, const Buffer &x, const Buffer &w,
                     const Buffer &mean, const Buffer &rstd, Buffer &dx, Buffer &dw, Buffer &db) {
  const Device device = x.device();
  const int programs = device.isGpu() ? 256 : 16; // each has partial sums to be added at the end
  Buffer partialDw(device, size_t(programs) * N), partialDb(device, size_t(programs) * N);
  const int block = next_power_of_2(N);
  layer_norm_backward.with(rowOptions(block, 16, 4, 16))
      .launch({programs}, x, dy, w, mean, rstd, dx, partialDw, partialDb, M, N, Const{block});
  // Many programs on a GPU, long rows on a CPU.
  const Const BLOCK_P{device.isGpu() ? 32 : 16}, BLOCK_N{device.isGpu() ? 32 : 128};
  for (auto [partial, out] : {std::pair{&partialDw, &dw}, std::pair{&partialDb, &db}})
    add_partial_sums.launch({cdiv(N, BLOCK_N)}, *partial, *out, programs, N, BLOCK_P, BLOCK_N);
}

/// The formulas above, in the precision of `T`.
template <class T>
struct Plain {
  std::vector<T> y, dx, dw, db;
};
template <class T>
static void plainForward(int M, int N, const Numbers &x, const Numbers &w, const Numbers &b,
                         std::vector<T> &y, std::vector<T> &rstd, std::vector<T> &hat) {
  for (int row = 0; row < M; ++row) {
    const float *in = &x[size_t(row) * N];
    T mean = 0, variance = 0;
    for (int c = 0; c < N; ++c)
      mean += in[c];
    mean /= N;
    for (int c = 0; c < N; ++c)
      variance += (in[c] - mean) * (in[c] - mean);
    rstd[row] = 1 / std::sqrt(variance / N + T(1e-5));
    for (int c = 0; c < N; ++c) {
      T normalised = (in[c] - mean) * rstd[row];
      hat[size_t(row) * N + c] = normalised;
      y[size_t(row) * N + c] = normalised * w[c] + b[c];
    }
  }
}
static Plain<double> reference(int M, int N, const Numbers &x, const Numbers &w, const Numbers &b,
                               const Numbers &dy) {
  Plain<double> result;
  std::vector<double> rstd(M), hat(x.size());
  result.y.resize(x.size()), result.dx.resize(x.size()), result.dw.resize(N), result.db.resize(N);
  plainForward(M, N, x, w, b, result.y, rstd, hat);
  for (int row = 0; row < M; ++row) {
    const size_t at = size_t(row) * N;
    double meanG = 0, meanGHat = 0;
    for (int c = 0; c < N; ++c) {
      double g = double(dy[at + c]) * w[c];
      meanG += g / N;
      meanGHat += g * hat[at + c] / N;
      result.dw[c] += dy[at + c] * hat[at + c];
      result.db[c] += dy[at + c];
    }
    for (int c = 0; c < N; ++c)
      result.dx[at + c] = (double(dy[at + c]) * w[c] - meanG - hat[at + c] * meanGHat) * rstd[row];
  }
  return result;
}

int main(int argc, char **argv) try {
  const bool quick = lesson::isQuick(argc, argv);
  const int M = quick ? 151 : 4096, N = quick ? 300 : 1023;
  const size_t size = size_t(M) * N;
  Numbers x = lesson::randomNumbers(size, 1), dy = lesson::randomNumbers(size, 2);
  Numbers w = lesson::randomNumbers(N, 3), b = lesson::randomNumbers(N, 4);

  const Device device = Device::best();
  Buffer xThere(device, x), dyThere(device, dy), wThere(device, w), bThere(device, b);
  Buffer y(device, size), dx(device, size), dw(device, N), db(device, N);
  Buffer mean(device, M), rstd(device, M);
  forward(M, N, xThere, wThere, bThere, y, mean, rstd);
  backward(M, N, dyThere, xThere, wThere, mean, rstd, dx, dw, db);

  Plain<double> expected = reference(M, N, x, w, b, dy);
  const std::string shape = "layer norm on " + device.description() + ", " + std::to_string(M) +
                            " x " + std::to_string(N) + ", ";
  lesson::check(shape + "y", lesson::errorOf(y.download(), expected.y), 2e-5);
  lesson::check(shape + "dx", lesson::errorOf(dx.download(), expected.dx), 2e-5);
  lesson::check(shape + "dw", lesson::errorOf(dw.download(), expected.dw), 2e-5);
  lesson::check(shape + "db", lesson::errorOf(db.download(), expected.db), 2e-5);
  if (quick)
    return 0;

  const double gigabytes = 2.0 * 4 * size / 1e9;
  Numbers plainY(size), plainRstd(M), plainHat(size);
  double ours = gigabytes / lesson::secondsOf(device, [&] {
                  forward(M, N, xThere, wThere, bThere, y, mean, rstd);
                });
  double plain = gigabytes / lesson::secondsOf(
                                 [&] { plainForward(M, N, x, w, b, plainY, plainRstd, plainHat); });
  std::printf("  forward: Sectile %.1f GB/s, plain C++ loop %.1f GB/s  (%.1fx)\n", ours, plain,
              ours / plain);
} catch (const sectile::Error &error) {
  std::printf("%s\n", error.what());
  return 1;
}
