// The kernels of test_cpp_kernels.py, line by line; compiled, not run.
#include <cstdio>
#include <sectile/sectile.h>

using namespace sectile;

static float *const nowhere = reinterpret_cast<float *>(1 << 20);
static float *const elsewhere = reinterpret_cast<float *>(1 << 24);

static void slices() {
  kernel("slices", {"x", "out", "N"}, [](Ptr<f32> x, Ptr<f32> out, Const<int> N) {
    auto v = reshape(load(x + arange(0, 64)), {4, 16});
    store(out, v[{1, -1}]);
    auto row = out + arange(0, 16);
    store(row, v[N / 4] + v[-1]);
    auto square = out + arange(0, 4)[{all, none}] * 4 + arange(0, 4)[{none, all}];
    store(square, v[{all, slice(3, 7)}]);
    auto wide = out + arange(0, 2)[{all, none}] * 8 + arange(0, 8)[{none, all}];
    store(wide, v[{slice(none, 2), slice(none, none, -2)}]);
    auto last = out + arange(0, 5)[{none, all}];
    store(last, v[{2, none, slice(-5, none)}]);
  }).compile(nowhere, nowhere, Const{8});
}

static void descriptors() {
  kernel("descriptors", {"a", "b", "n"},
         [](TensorDescriptorOf<f32, 2> a, TensorDescriptorOf<f32, 2> b, i32 n) {
           auto i = program_id(0) * a.block_shape(0);
           loop(range(0, a.shape(1), a.block_shape(1)),
                [&](i32 j) { b.store({i, j}, a.load({i, j}) * 2); });
           auto block = a.load({a.shape(0) - 1, n});
           b.atomic_add({n, 0}, block);
         })
      .compile(HostDescriptor(nowhere, {37, 64}, {16, 32}),
               HostDescriptor(elsewhere, {37, 64}, {80, 1}, {16, 32}, "nan"), 5);
}

static void exits() {
  kernel("breaks", [](Ptr<f32> x, i32 n, f32 limit) {
    auto s = loop(range(n), load(x), [&](i32 i, auto s) {
      s += load(x + i);
      break_if(s > limit, s);
      return s * 2.0f;
    });
    store(x, s);
  }).compile(nowhere, 17, 3.5f);
  kernel("continues", [](Ptr<f32> x, i32 n) {
    auto s = loop(range(1, n, 3), load(x), [&](i32 i, auto s) {
      auto v = load(x + i);
      continue_if(v < 0, s);
      return s + v;
    });
    store(x, s);
  }).compile(nowhere, 17);
  kernel("both", [](Ptr<f32> x, i32 n, f32 limit) {
    auto s = loop(range(n), load(x), [&](i32 i, auto s) {
      auto v = load(x + i);
      continue_if(v < 0, s);
      s += v;
      break_if(s > limit, s);
      return s;
    });
    store(x, s);
  }).compile(nowhere, 17, 3.5f);
  kernel("effects", [](Ptr<f32> x, i32 n, f32 limit) {
    loop(range(n), [&](i32 i) {
      auto v = load(x + i);
      continue_if(v < 0);
      auto place = x + i;
      store(place, 2 * v);
      break_if(v > limit);
      auto y = x + i;
      auto next = y + n;
      store(next, 2 * v);
    });
  }).compile(nowhere, 17, 3.5f);
  kernel("searches", [](Ptr<f32> x, i32 n, f32 limit) {
    auto [i, s] = while_(
        std::tuple{0, load(x)}, [&](auto i, auto) { return i < n; },
        [&](auto i, auto s) {
          auto v = load(x + i);
          break_if(v > limit, i, s);
          i += 1;
          continue_if(v < 0, std::tuple{i, s});
          return std::tuple{i, s + v};
        });
    store(x, s);
    store(x + i, s);
  }).compile(nowhere, 17, 3.5f);
}

int main() {
  try {
    slices();
    descriptors();
    exits();
  } catch (const Error &error) {
    std::puts(error.what());
    return 1;
  }
}
