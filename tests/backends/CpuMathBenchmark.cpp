// Figures, not checks: sectile_tests --gtest_also_run_disabled_tests
// --gtest_filter='*CpuMathBenchmark*'
#include "HostCode.h"
#include "backends/common/math/NumberConversion.h"
#include "backends/common/math/VectorMath.h"
#include "backends/cpu/DotKernel.h"

#include <chrono>
#include <gtest/gtest.h>
#include <random>

using namespace sectile;
using namespace sectile::testing;
using backends::MathFunction;

namespace {

/// Least seconds of one call, over about 100 ms.
template <typename Call>
double seconds(Call call) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  auto start = Clock::now();
  while (Clock::now() - start < std::chrono::milliseconds(100)) {
    auto before = Clock::now();
    for (int k = 0; k < 16; ++k)
      call();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - before).count() / 16);
  }
  return best;
}

std::vector<cpu::HostFeatures> levels() {
  std::vector<cpu::HostFeatures> all = runnableLevels();
  return {all.begin() + int(all.size() > 3 ? 2 : 0), all.end()}; // AVX2 and more
}

TEST(CpuMathBenchmark, DISABLED_nanoseconds_per_element) {
  struct Row {
    const char *name;
    MathFunction function;
    double low, high;
  } rows[] = {{"exp", MathFunction::Exp, -87, 88},   {"exp2", MathFunction::Exp2, -120, 120},
              {"log", MathFunction::Log, 0.01, 100}, {"log2", MathFunction::Log2, 0.01, 100},
              {"sin", MathFunction::Sin, -30, 30},   {"cos", MathFunction::Cos, -30, 30},
              {"tanh", MathFunction::Tanh, -5, 5},   {"erf", MathFunction::Erf, -4, 4},
              {"sqrt", MathFunction::Sqrt, 0, 9},    {"rsqrt", MathFunction::Rsqrt, 1, 9},
              {"atan", MathFunction::Atan, -9, 9},   {"tan", MathFunction::Tan, -30, 30},
              {"pow", MathFunction::Pow, 0.1, 9},    {"fmod", MathFunction::Fmod, 1, 90}};
  constexpr int64_t count = 4096;
  for (const cpu::HostFeatures &host : levels())
    for (const Row &row : rows) {
      auto measure = [&](auto zero) {
        using T = decltype(zero);
        Element element = sizeof(T) == 4 ? Element::F32 : Element::F64;
        bool isBinary = row.function == MathFunction::Pow || row.function == MathFunction::Fmod;
        std::vector<Element> inputs(isBinary ? 2 : 1, element);
        auto code = compileLanes(host, host.laneCount(8 * sizeof(T)), inputs, element,
                                 [&](llvm::IRBuilderBase &b, llvm::ArrayRef<llvm::Value *> x) {
                                   return backends::emitMath(b, host, row.function, x);
                                 });
        EXPECT_EQ(code->error(), "");
        std::mt19937 random(1);
        std::uniform_real_distribution<double> uniform(row.low, row.high);
        std::vector<T> x(count), y(count), out(count);
        for (int64_t k = 0; k < count; ++k)
          x[k] = T(uniform(random)), y[k] = T(uniform(random));
        return 1e9 / count * seconds([&] {
                 isBinary ? (*code)(x.data(), y.data(), out.data(), count)
                          : (*code)(x.data(), out.data(), count);
               });
      };
      printf("%-12s %-6s f32 %.3f ns  f64 %.3f ns\n", levelName(host).c_str(), row.name,
             measure(0.0f), measure(0.0));
    }
}

/// Independent multiply-adds and nothing else, in 1e9 operations a second.
double peak(const cpu::HostFeatures &host) {
  constexpr int chains = 12;
  HostCode code(host, 2, [&](llvm::IRBuilder<> &b, llvm::Function &f) {
    auto *type = llvm::FixedVectorType::get(b.getFloatTy(), host.laneCount(32));
    auto *entry = b.GetInsertBlock();
    auto *loop = llvm::BasicBlock::Create(b.getContext(), "", &f);
    auto *exit = llvm::BasicBlock::Create(b.getContext(), "", &f);
    llvm::Value *x = b.CreateLoad(type, f.getArg(0));
    b.CreateBr(loop);
    b.SetInsertPoint(loop);
    auto *i = b.CreatePHI(b.getInt64Ty(), 2);
    i->addIncoming(b.getInt64(0), entry);
    llvm::SmallVector<llvm::PHINode *> sums;
    for (int k = 0; k < chains; ++k) {
      sums.push_back(b.CreatePHI(type, 2));
      sums.back()->addIncoming(llvm::ConstantFP::get(type, k), entry);
    }
    llvm::SmallVector<llvm::Value *> next;
    for (auto *sum : sums) {
      llvm::Value *value = host.fma ? b.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {x, x, sum})
                                    : b.CreateFAdd(b.CreateFMul(x, x), sum);
      sum->addIncoming(value, loop);
      next.push_back(value);
    }
    auto *following = b.CreateAdd(i, b.getInt64(1));
    i->addIncoming(following, loop);
    b.CreateCondBr(b.CreateICmpULT(following, f.getArg(1)), loop, exit);
    b.SetInsertPoint(exit);
    llvm::Value *total = next[0];
    for (int k = 1; k < chains; ++k)
      total = b.CreateFAdd(total, next[k]);
    b.CreateStore(total, f.getArg(0));
    b.CreateRetVoid();
  });
  EXPECT_EQ(code.error(), "");
  alignas(64) float data[64] = {};
  constexpr int64_t rounds = 20000;
  return 2e-9 * rounds * chains * host.laneCount(32) / seconds([&] { code(&data[0], rounds); });
}

TEST(CpuMathBenchmark, DISABLED_gigaflops_of_dot) {
  struct Shape {
    int64_t m, n, k, rhsPad;
  } shapes[] = {{64, 64, 64, 0},   {64, 64, 32, 0},   {128, 128, 64, 0},  {128, 128, 64, 16},
                {128, 128, 32, 0}, {128, 256, 64, 0}, {128, 256, 64, 16}, {32, 32, 32, 0},
                {64, 128, 64, 0},  {16, 16, 16, 0},   {100, 100, 100, 0}, {64, 64, 512, 0}};
  for (const cpu::HostFeatures &host : levels()) {
    double best = peak(host);
    printf("%-12s peak %.1f GF/s\n", levelName(host).c_str(), best);
    for (const Shape &s : shapes) {
      HostCode code(host, 4, [&](llvm::IRBuilder<> &b, llvm::Function &f) {
        cpu::DotShape shape{s.m, s.n, s.k, b.getFloatTy()};
        shape.rhsStride = s.n + s.rhsPad;
        cpu::emitDot(b, host, shape, f.getArg(0), f.getArg(1), f.getArg(2));
        b.CreateRetVoid();
      });
      ASSERT_EQ(code.error(), "");
      auto buffer = [](int64_t count) {
        return static_cast<float *>(std::aligned_alloc(64, size_t(count + 64) / 16 * 64));
      };
      float *a = buffer(s.m * s.k), *c = buffer(s.m * s.n), *b = buffer(s.k * (s.n + s.rhsPad));
      for (int64_t k = 0; k < s.m * s.k; ++k)
        a[k] = float(k % 7) - 3;
      for (int64_t k = 0; k < s.k * (s.n + s.rhsPad); ++k)
        b[k] = float(k % 5) - 2;
      std::fill(c, c + s.m * s.n, 0.0f);
      double rate = 2e-9 * s.m * s.n * s.k / seconds([&] { code(a, b, c, int64_t(0)); });
      printf("  %4lldx%lldx%lld pad %lld: %.1f GF/s, %.0f %% of peak; %zu bytes\n", (long long)s.m,
             (long long)s.n, (long long)s.k, (long long)s.rhsPad, rate, 100 * rate / best,
             code.objectBytes());
      free(a), free(b), free(c);
    }
  }
}

} // namespace
