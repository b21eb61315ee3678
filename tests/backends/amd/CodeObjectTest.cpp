// Tile IR to code objects for every AMD chip that is known, run in the interpreter (isa/): results
// against the host's. All of it emulated.
#include "../KernelTexts.h"
#include "../TileText.h"
#include "backends/amd/AmdBackend.h"
#include "backends/amd/CodeObjectNotes.h"
#include "isa/Machine.h"
#include "isa/Numbers.h"
#include "lang/tile/TileDialect.h"
#include "optimizer/Pipeline.h"

#include "mlir/Parser/Parser.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace sectile;
using namespace sectile::testing;
using amdisa::Argument;

namespace {

/// A kernel compiled for a chip; `problem` has the diagnostics where it could not be.
struct Compiled {
  backends::KernelImage image;
  std::string problem;
  std::map<std::string, std::string> stages;
};

Compiled compile(const std::string &tileText, const std::string &arch,
                 backends::CompileOptions options = {}) {
  Compiled result;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<tile::TileDialect>();
  context.printOpOnDiagnostic(false);
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    result.problem += diagnostic.str() + "\n";
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(tileText, &context);
  if (!module || mlir::failed(optimizer::optimize(*module)))
    return result;
  backends::CompileContext compile;
  compile.options = options;
  compile.options.backend = "hip";
  compile.options.arch = arch;
  compile.verifyCode = true;
  compile.observe = [&](llvm::StringRef stage, llvm::function_ref<std::string()> text) {
    result.stages[stage.str()] = text();
  };
  auto image = amd::AmdBackend().compile(*module, compile);
  if (mlir::succeeded(image))
    result.image = std::move(*image);
  return result;
}

size_t countOf(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

class AmdCodeObject : public ::testing::TestWithParam<const char *> {
protected:
  std::mt19937 random{7};

  template <class T>
  std::vector<T> numbers(size_t count, int least, int most) {
    std::vector<T> made(count);
    for (T &each : made)
      each = T(least + int(random() % unsigned(most - least + 1)));
    return made;
  }

  /// Empty when all went well.
  std::string run(const std::string &tileText, int32_t warps, uint32_t programs,
                  llvm::ArrayRef<Argument> arguments, const amdisa::Buffers &buffers) {
    backends::CompileOptions options;
    options.warpCount = warps;
    return run(tileText, options, programs, arguments, buffers);
  }
  std::string run(const std::string &tileText, const backends::CompileOptions &options,
                  uint32_t programs, llvm::ArrayRef<Argument> arguments,
                  const amdisa::Buffers &buffers) {
    Compiled compiled = compile(tileText, GetParam(), options);
    if (!compiled.problem.empty())
      return compiled.problem;
    auto object = amdisa::CodeObject::load(compiled.image.binary);
    if (!object)
      return llvm::toString(object.takeError());
    amdisa::Shape shape;
    shape.groups = {programs, 1, 1};
    shape.items = {uint32_t(compiled.image.gpu.threads), 1, 1};
    // Layouts pad tiles that are smaller than a matrix instruction, and read padding.
    amdisa::RunOptions how;
    how.readsUnwrittenLds = true;
    auto done = amdisa::run(**object, compiled.image.entryPoint, shape, arguments, buffers, how);
    return done ? "" : llvm::toString(done.takeError());
  }
};

template <class T>
void add(amdisa::Buffers &buffers, const std::vector<T> &data) {
  buffers.add(data.data(), data.size() * sizeof(T));
}

TEST_P(AmdCodeObject, masks_end_where_arrays_do) {
  const int count = 777;
  auto x = numbers<float>(count, -99, 99), y = numbers<float>(count, -99, 99);
  std::vector<float> out(count);
  amdisa::Buffers buffers;
  for (auto *each : {&x, &y, &out})
    add(buffers, *each);
  for (int block : {64, 256, 500})
    for (int32_t warps : {1, 4}) {
      SCOPED_TRACE(std::to_string(block) + " in " + std::to_string(warps));
      std::fill(out.begin(), out.end(), 0.0f);
      ASSERT_EQ(run(withBlock(kVectorAdd, block), warps, (count + block - 1) / block,
                    {Argument::of(x.data()), Argument::of(y.data()), Argument::of(out.data()),
                     Argument::of(int32_t(count))},
                    buffers),
                "");
      for (int i = 0; i < count; ++i)
        ASSERT_EQ(out[i], x[i] + y[i]) << i;
    }
}

TEST_P(AmdCodeObject, softmax) {
  const int rows = 3, count = 1000;
  std::vector<float> x(rows * count), out(rows * count);
  for (float &each : x)
    each = float(int(random() % 2000)) / 100 - 10;
  amdisa::Buffers buffers;
  add(buffers, x), add(buffers, out);
  for (int32_t warps : {1, 4}) {
    ASSERT_EQ(run(withBlock(kSoftmax, 1024), warps, rows,
                  {Argument::of(x.data()), Argument::of(out.data()), Argument::of(int32_t(count)),
                   Argument::of(int32_t(count))},
                  buffers),
              "");
    for (int row = 0; row < rows; ++row) {
      double most = -INFINITY, sum = 0;
      for (int i = 0; i < count; ++i)
        most = std::max(most, double(x[row * count + i]));
      for (int i = 0; i < count; ++i)
        sum += std::exp(double(x[row * count + i]) - most);
      for (int i = 0; i < count; ++i) {
        double expected = std::exp(double(x[row * count + i]) - most) / sum;
        ASSERT_NEAR(out[row * count + i], expected, 4e-6 * expected + 1e-9) << row << ", " << i;
      }
    }
  }
}

/// acc = x y of whole numbers, exact in any order.
std::string productText(int64_t m, int64_t n, int64_t k, const std::string &element,
                        const std::string &sum) {
  Shape lhs{m, k}, rhs{k, n}, acc{m, n};
  return kernelText(pointer("x", element) + ", " + pointer("y", element) + ", " +
                        pointer("out", sum),
                    loadTile("a", "x", lhs, element) + loadTile("b", "y", rhs, element) +
                        "%zero = arith.constant dense<" + (sum == "i32" ? "0" : "0.0") +
                        "> : " + tileType(acc, sum) + "\n%r = tile.dot %a, %b, %zero : " +
                        tileType(lhs, element) + " * " + tileType(rhs, element) + " -> " +
                        tileType(acc, sum) + "\n" + storeTile("r", "out", acc, sum));
}

TEST_P(AmdCodeObject, products_of_halves_and_bytes) {
  struct {
    int64_t m, n, k;
  } extents[] = {{16, 16, 16}, {32, 64, 32}, {64, 32, 64}, {48, 80, 96}};
  for (auto [m, n, k] : extents)
    for (int32_t warps : {1, 4}) {
      SCOPED_TRACE(std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) + " in " +
                   std::to_string(warps));
      auto a = numbers<int8_t>(m * k, -9, 9), b = numbers<int8_t>(k * n, -9, 9);
      auto expected = [&](int64_t i, int64_t j) {
        int sum = 0;
        for (int64_t at = 0; at < k; ++at)
          sum += int(a[i * k + at]) * b[at * n + j];
        return sum;
      };
      std::vector<int32_t> sums(m * n);
      amdisa::Buffers bytes;
      add(bytes, a), add(bytes, b), add(bytes, sums);
      ASSERT_EQ(run(productText(m, n, k, "i8", "i32"), warps, 1,
                    {Argument::of(a.data()), Argument::of(b.data()), Argument::of(sums.data())},
                    bytes),
                "");
      for (int64_t i = 0; i < m * n; ++i)
        ASSERT_EQ(sums[i], expected(i / n, i % n)) << i / n << ", " << i % n;

      std::vector<_Float16> x(a.begin(), a.end()), y(b.begin(), b.end());
      std::vector<float> out(m * n);
      amdisa::Buffers halves;
      add(halves, x), add(halves, y), add(halves, out);
      ASSERT_EQ(run(productText(m, n, k, "f16", "f32"), warps, 1,
                    {Argument::of(x.data()), Argument::of(y.data()), Argument::of(out.data())},
                    halves),
                "");
      for (int64_t i = 0; i < m * n; ++i)
        ASSERT_EQ(out[i], float(expected(i / n, i % n))) << i / n << ", " << i % n;
    }
}

TEST_P(AmdCodeObject, matrix_instructions_multiply) {
  Compiled compiled = compile(productText(64, 64, 64, "f16", "f32"), GetParam());
  ASSERT_EQ(compiled.problem, "");
  const char *mnemonic = std::string(GetParam()).starts_with("gfx9") ? "v_mfma_f32" : "v_wmma_f32";
  EXPECT_NE(compiled.stages["amdgcn"].find(mnemonic), std::string::npos);
  auto notes = amd::CodeObjectNotes::read(compiled.image.binary, compiled.image.entryPoint);
  ASSERT_TRUE(bool(notes)) << llvm::toString(notes.takeError());
  EXPECT_EQ(notes->vectorSpills + notes->scalarSpills, 0);
  EXPECT_EQ(notes->laneCount * 4, compiled.image.gpu.threads);
  EXPECT_EQ(notes->sharedBytes, compiled.image.gpu.sharedBytes);
  EXPECT_EQ(notes->vectorRegisters, compiled.image.gpu.registers);
}

/// As productText, in steps of the depth: x has them one behind the other, y below one another.
std::string productLoopText(int64_t m, int64_t n, int64_t k, const std::string &element,
                            const std::string &sum) {
  Shape lhs{m, k}, rhs{k, n}, acc{m, n};
  const std::string sums = tileType(acc, sum);
  auto stepTo = [&](const std::string &array, int64_t elements) {
    return "%" + array + "_size = arith.constant " + std::to_string(elements) + " : i32\n%" +
           array + "_offset = arith.muli %k, %" + array + "_size : i32\n%" + array +
           "_here = tile.ptr_add %" + array + ", %" + array + "_offset : !tile.ptr<" + element +
           ">, i32\n";
  };
  auto aligned = [](const std::string &name, const std::string &type) {
    return "%" + name + ": !tile.ptr<" + type + "> {tile.divisibility = 16 : i64}, ";
  };
  return kernelText(
      aligned("x", element) + aligned("y", element) + aligned("out", sum) + "%n: i32",
      "%zero = arith.constant 0 : i32\n%one = arith.constant 1 : i32\n"
      "%none = arith.constant dense<" +
          std::string(sum == "i32" ? "0" : "0.0") + "> : " + sums +
          "\n%sum = scf.for %k = %zero to %n step %one iter_args(%before = %none) -> (" + sums +
          ") : i32 {\n" + stepTo("x", m * k) + stepTo("y", k * n) +
          loadTile("a", "x_here", lhs, element) + loadTile("b", "y_here", rhs, element) +
          "%next = tile.dot %a, %b, %before : " + tileType(lhs, element) + " * " +
          tileType(rhs, element) + " -> " + sums + "\nscf.yield %next : " + sums + "\n}\n" +
          storeTile("sum", "out", acc, sum));
}

/// Row-major right operands lie across the depth. On gfx950 whole waves copy them to LDS, of loops,
/// and reads transpose them; elsewhere no read does.
TEST_P(AmdCodeObject, operands_across_the_depth_are_read_transposed) {
  const bool isGfx950 = GetParam() == std::string("gfx950");
  const int64_t m = 64, n = 64, k = 64, steps = 3;
  backends::CompileOptions options;
  options.warpCount = 4;
  auto check = [&]<class T, class Sum>(const char *element, const char *sum, const char *read, T,
                                       Sum) {
    SCOPED_TRACE(element);
    auto x = numbers<int8_t>(steps * m * k, -9, 9), y = numbers<int8_t>(steps * k * n, -9, 9);
    std::vector<T> a(x.begin(), x.end()), b(y.begin(), y.end());
    for (int32_t stages : {1, 2}) {
      options.stageCount = stages;
      Compiled loop = compile(productLoopText(m, n, k, element, sum), GetParam(), options);
      ASSERT_EQ(loop.problem, "");
      const std::string &code = loop.stages["amdgcn"];
      EXPECT_EQ(countOf(code, "_tr_b"), countOf(code, read));
      EXPECT_EQ(countOf(code, read) > 0, isGfx950);
      if (isGfx950 && stages == 1) // threads store 16 bytes, too
        EXPECT_EQ(countOf(code, "ds_write"), countOf(code, "ds_write_b128"));
      if (isGfx950 && stages == 2) {
        EXPECT_EQ(countOf(code, "ds_write"), 0u);
        EXPECT_GT(countOf(code, " lds\n"), 0u);
      }
      std::vector<Sum> out(m * n);
      amdisa::Buffers buffers;
      add(buffers, a), add(buffers, b), add(buffers, out);
      ASSERT_EQ(run(productLoopText(m, n, k, element, sum), options, 1,
                    {Argument::of(a.data()), Argument::of(b.data()), Argument::of(out.data()),
                     Argument::of(int32_t(steps))},
                    buffers),
                "");
      for (int64_t i = 0; i < m * n; ++i) {
        int expected = 0;
        for (int64_t at = 0; at < steps * k; ++at)
          expected += int(x[at / k * m * k + i / n * k + at % k]) * y[at * n + i % n];
        ASSERT_EQ(out[i], Sum(expected)) << i / n << ", " << i % n;
      }
    }
  };
  check("f16", "f32", "ds_read_b64_tr_b16", _Float16(), float());
  check("i8", "i32", "ds_read_b64_tr_b8", int8_t(), int32_t());
}

/// What a kernel says of caches is in the instructions.
TEST_P(AmdCodeObject, what_is_used_once_is_not_kept_in_caches) {
  const std::string chip = GetParam();
  const char *once[] = {" nt", " nt"}; // of a load, of a store
  if (chip == "gfx90a")
    once[0] = once[1] = " glc slc";
  else if (chip == "gfx1100")
    once[0] = " slc dlc", once[1] = " glc slc dlc";
  else if (chip == "gfx1201")
    once[0] = " th:TH_LOAD_NT", once[1] = " th:TH_STORE_NT";
  struct {
    const char *load, *store;
    bool isOnce;
  } hints[] = {{"", "", false},
               {"cache = ca", "cache = wb", false},
               {"evict = evict_last", "evict = evict_last", false},
               {"cache = cs", "cache = cs", true},
               {"cache = cg", "cache = cg", true},
               {"evict = evict_first", "evict = evict_first", true}};
  for (const auto &[load, store, isOnce] : hints)
    for (const std::string kind : {"buffer", "global"}) {
      SCOPED_TRACE(kind + ": " + load + ", " + store);
      backends::CompileOptions options;
      options.checkBounds = kind == "global";
      std::string pointers = " : tensor<512x!tile.ptr<f32>>\n";
      std::string code =
          compile(kernelText(pointer("x", "f32") + ", " + pointer("out", "f32"),
                             pointerTile("p", "x", {512}, "f32") + "%v = tile.load %p " + load +
                                 pointers + pointerTile("o", "out", {512}, "f32") +
                                 "tile.store %o, %v " + store + pointers),
                  chip, options)
              .stages["amdgcn"];
      // Checks have accesses of their own, by pointers, without hints.
      size_t accesses = 0, hinted = 0;
      llvm::SmallVector<llvm::StringRef> lines;
      llvm::StringRef(code).split(lines, '\n');
      for (llvm::StringRef line : lines)
        for (bool isStore : {false, true})
          if (line.contains(kind + (isStore ? "_store_" : "_load_"))) {
            ++accesses;
            hinted += line.ends_with(once[isStore]);
          }
      EXPECT_GE(accesses, 2u);
      if (!isOnce)
        EXPECT_EQ(hinted, 0u) << code;
      else if (kind == "buffer")
        EXPECT_EQ(hinted, accesses) << code;
      else
        EXPECT_GE(hinted, 2u) << code;
    }
}

/// out[row, :] = ids[row], row by row; `more` is in the loop, too.
std::string rowsText(const std::string &more = "") {
  return kernelText(pointer("ids", "i32") + ", " + pointer("out", "i32") + ", %n: i32",
                    "%zero = arith.constant 0 : i32\n%one = arith.constant 1 : i32\n"
                    "%stride = arith.constant 256 : i32\n"
                    "%i = tile.arange 0, 256 : tensor<256xi32>\n"
                    "scf.for %row = %zero to %n step %one : i32 {\n"
                    "%p = tile.ptr_add %ids, %row : !tile.ptr<i32>, i32\n"
                    "%id = tile.load %p : !tile.ptr<i32>\n"
                    "%ids_row = tile.splat %id : i32 -> tensor<256xi32>\n"
                    "%start = arith.muli %row, %stride : i32\n"
                    "%base = tile.splat %start : i32 -> tensor<256xi32>\n"
                    "%at = arith.addi %base, %i : tensor<256xi32>\n"
                    "%outs = tile.splat %out : !tile.ptr<i32> -> tensor<256x!tile.ptr<i32>>\n"
                    "%q = tile.ptr_add %outs, %at : tensor<256x!tile.ptr<i32>>, tensor<256xi32>\n"
                    "tile.store %q, %ids_row : tensor<256x!tile.ptr<i32>>\n" +
                        more + "}\n");
}

TEST_P(AmdCodeObject, numbers_of_a_program_are_scalar_loads) {
  std::string text = rowsText();
  Compiled apart = compile(text, GetParam());
  ASSERT_EQ(apart.problem, "");
  EXPECT_EQ(countOf(apart.stages["amdgcn"], "global_load"), 0u);
  EXPECT_EQ(apart.image.overlapHazards, (std::vector<backends::OverlapHazard>{{1, 0, true}}));

  // What may change is loaded anew.
  backends::CompileOptions options;
  options.argumentsOverlap = true;
  Compiled careful = compile(text, GetParam(), options);
  EXPECT_GT(countOf(careful.stages["amdgcn"], "global_load"), 0u);
  EXPECT_TRUE(careful.image.overlapHazards.empty());
  Compiled ordered = compile(rowsText("tile.barrier\n"), GetParam());
  ASSERT_EQ(ordered.problem, "");
  EXPECT_GT(countOf(ordered.stages["amdgcn"], "global_load"), 0u);
  // The row is stored while other warps may have yet to load their number.
  EXPECT_EQ(ordered.image.overlapHazards, (std::vector<backends::OverlapHazard>{{1, 0, true}}));

  auto ids = numbers<int32_t>(5, -999, 999);
  std::vector<int32_t> out(5 * 256);
  amdisa::Buffers buffers;
  add(buffers, ids), add(buffers, out);
  ASSERT_EQ(run(text, 4, 1,
                {Argument::of(ids.data()), Argument::of(out.data()), Argument::of(int32_t(5))},
                buffers),
            "");
  for (size_t i = 0; i < out.size(); ++i)
    ASSERT_EQ(out[i], ids[i / 256]) << i;
}

TEST_P(AmdCodeObject, numbers_of_8_bits_have_instructions) {
  const std::string chip = GetParam();
  const bool isFnuz = chip == "gfx942", isOcp = chip == "gfx950" || chip == "gfx1201";
  struct {
    const char *element, *name;
    bool hasInstruction;
  } kinds[] = {{"f8E4M3FN", "fp8", isOcp},
               {"f8E5M2", "bf8", isOcp},
               {"f8E4M3FNUZ", "fp8", isFnuz},
               {"f8E5M2FNUZ", "bf8", isFnuz}};
  for (const auto &[element, name, hasInstruction] : kinds) {
    SCOPED_TRACE(element);
    auto text = [element = std::string(element)](const std::string &from, const std::string &to,
                                                 const std::string &op) {
      return kernelText("%x: !tile.ptr<" + from +
                            "> {tile.divisibility = 16 : i64}, %out: !tile.ptr<" + to +
                            "> {tile.divisibility = 16 : i64}",
                        loadTile("v", "x", {1024}, from) + op + storeTile("r", "out", {1024}, to));
    };
    std::string narrow = compile(text("f32", element,
                                      std::string("%r = tile.narrow %v : tensor<1024xf32> -> "
                                                  "tensor<1024x") +
                                          element + ">\n"),
                                 chip)
                             .stages["amdgcn"];
    std::string widen = compile(text(element, "f32",
                                     std::string("%r = arith.extf %v : tensor<1024x") + element +
                                         "> to tensor<1024xf32>\n"),
                                chip)
                            .stages["amdgcn"];
    // Four numbers of a lane are a word.
    const size_t pairs = hasInstruction ? size_t(1024 / (4 * (chip[3] == '9' ? 64 : 32)) / 2) : 0;
    EXPECT_EQ(countOf(narrow, std::string("v_cvt_pk_") + name + "_f32"), pairs);
    EXPECT_EQ(countOf(widen, std::string("v_cvt_pk_f32_") + name), pairs);
  }
}

struct Bfloat {
  uint16_t bits = 0;
  Bfloat() = default;
  explicit Bfloat(int number) : bits(amdisa::bfloatFromFloat(float(number))) {}
  explicit operator float() const { return amdisa::bfloatToFloat(bits); }
};

/// out[i] += x[i], in every program; `kind` may be another combination.
std::string combinationText(const std::string &element, const std::string &scope,
                            const std::string &kind = "fadd") {
  auto array = [&](const char *name) {
    return pointer(name, element) + " {tile.divisibility = 16 : i64}";
  };
  return kernelText(array("x") + ", " + array("out"),
                    loadTile("v", "x", {512}, element) + pointerTile("o", "out", {512}, element) +
                        "%old = tile.atomic_rmw " + kind + ", relaxed, " + scope +
                        ", %o, %v : tensor<512x!tile.ptr<" + element + ">>\n");
}

TEST_P(AmdCodeObject, atomics_on_floating_point_numbers_have_instructions) {
  const std::string chip = GetParam();
  const bool isNew = chip == "gfx942" || chip == "gfx950" || chip == "gfx1201";
  struct {
    const char *element, *instruction;
    bool isAnywhere, isOfDevice; // whether it is an instruction: in any memory, in the GPU's own
  } kinds[] = {{"f32", "global_atomic_add_f32", isNew, true},
               {"f16", "global_atomic_pk_add_f16", isNew, chip != "gfx1100"},
               {"bf16", "global_atomic_pk_add_bf16", isNew, isNew}};
  for (const auto &[element, instruction, isAnywhere, isOfDevice] : kinds)
    for (bool isDevice : {false, true})
      for (const char *scope : {"gpu", "sys"}) {
        SCOPED_TRACE(std::string(element) + (isDevice ? " of the device " : " ") + scope);
        backends::CompileOptions options;
        options.deviceMemory = isDevice;
        Compiled compiled = compile(combinationText(element, scope), chip, options);
        ASSERT_EQ(compiled.problem, "");
        const std::string &code = compiled.stages["amdgcn"];
        bool isInstruction = isDevice ? isOfDevice : isAnywhere && scope == std::string("gpu");
        EXPECT_EQ(countOf(code, instruction) > 0, isInstruction);
        EXPECT_EQ(countOf(code, "cmpswap") > 0, !isInstruction);
        for (const char *returning : {" sc0", " glc", "TH_ATOMIC_RETURN"})
          if (isInstruction)
            EXPECT_EQ(countOf(code, returning), 0u) << returning;
        bool wants = !isDevice && isOfDevice && !isInstruction;
        EXPECT_EQ(compiled.image.atomicArguments,
                  wants ? std::vector<uint32_t>{1} : std::vector<uint32_t>{});
      }
}

TEST_P(AmdCodeObject, atomics_add_every_number) {
  const unsigned programs = 3;
  for (bool isDevice : {false, true}) {
    backends::CompileOptions options;
    options.deviceMemory = isDevice;
    auto check = [&]<class T>(const char *element, T) {
      SCOPED_TRACE(std::string(element) + (isDevice ? " of the device" : ""));
      auto small = numbers<int8_t>(512, -9, 9), old = numbers<int8_t>(512, -9, 9);
      std::vector<T> x(small.begin(), small.end()), out(old.begin(), old.end());
      amdisa::Buffers buffers;
      add(buffers, x), add(buffers, out);
      ASSERT_EQ(run(combinationText(element, "gpu"), options, programs,
                    {Argument::of(x.data()), Argument::of(out.data())}, buffers),
                "");
      for (size_t i = 0; i < out.size(); ++i)
        ASSERT_EQ(float(out[i]), float(old[i] + int(programs) * small[i])) << i;
    };
    check("f32", float());
    check("f64", double());
    check("f16", _Float16());
    check("bf16", Bfloat());
  }
}

/// A combination with other devices, and the greater and the smaller number.
TEST_P(AmdCodeObject, atomics_combine_every_number) {
  for (bool isDevice : {false, true}) {
    backends::CompileOptions options;
    options.deviceMemory = isDevice;
    auto check = [&]<class T>(const char *element, const std::string &kind, T (*combine)(T, T)) {
      SCOPED_TRACE(std::string(element) + " " + kind + (isDevice ? " of the device" : ""));
      auto x = numbers<T>(512, -99, 99), out = numbers<T>(512, -99, 99), old = out;
      amdisa::Buffers buffers;
      add(buffers, x), add(buffers, out);
      ASSERT_EQ(run(combinationText(element, "sys", kind), options, 1,
                    {Argument::of(x.data()), Argument::of(out.data())}, buffers),
                "");
      for (size_t i = 0; i < out.size(); ++i)
        ASSERT_EQ(out[i], combine(old[i], x[i])) << i;
    };
    check("i32", "add", +[](int32_t a, int32_t b) { return a + b; });
    check("i32", "xor", +[](int32_t a, int32_t b) { return a ^ b; });
    check("i32", "max", +[](int32_t a, int32_t b) { return std::max(a, b); });
    check("i64", "min", +[](int64_t a, int64_t b) { return std::min(a, b); });
    check("i64", "or", +[](int64_t a, int64_t b) { return a | b; });
    check("f32", "fmax", +[](float a, float b) { return std::max(a, b); });
    check("f64", "fmin", +[](double a, double b) { return std::min(a, b); });
    check("f64", "fadd", +[](double a, double b) { return a + b; });
  }
}

TEST(AmdBackend, names_what_it_does_not_know) {
  std::string add = withBlock(kVectorAdd, 64);
  EXPECT_EQ(compile(add, "gfx906").problem,
            "unknown AMD architecture 'gfx906': expected gfx90a, gfx942, gfx950, gfx1100 or "
            "gfx1201\n");
  backends::CompileOptions options;
  options.warpCount = 32;
  EXPECT_NE(compile(add, "gfx942", options).problem.find("a power of two up to 16"),
            std::string::npos);
  EXPECT_EQ(compile(add, "gfx1100", options).problem, "");
  options = {};
  options.ctaCount = 2;
  EXPECT_EQ(compile(add, "gfx942", options).problem,
            "num_ctas > 1: gfx942 has no clusters of work-groups; leave it out\n");
  options = {};
  options.dependentLaunch = true;
  EXPECT_NE(compile(add, "gfx942", options).problem.find("launch_pdl: gfx942 begins a launch"),
            std::string::npos);
}

/// What the metadata says of a kernel is compared with its descriptor and its code.
TEST_P(AmdCodeObject, metadata_that_is_wrong_is_found) {
  backends::CompileOptions options;
  options.warpCount = 4;
  Compiled compiled = compile(productText(64, 64, 32, "f16", "f32"), GetParam(), options);
  ASSERT_EQ(compiled.problem, "");
  const std::string &right = compiled.image.binary;
  auto problemOf = [](const std::string &bytes) {
    auto object = amdisa::CodeObject::load(bytes);
    return object ? std::string() : llvm::toString(object.takeError());
  };
  EXPECT_EQ(problemOf(right), "");
  // In MessagePack a number of 8, 16 or 32 bits follows its key: its type, unless it is small, and
  // its bytes, the greatest first.
  for (std::string key : {".wavefront_size", ".group_segment_fixed_size",
                          ".private_segment_fixed_size", ".kernarg_segment_size"}) {
    size_t at = right.find(key);
    ASSERT_NE(at, std::string::npos) << key;
    at += key.size();
    uint8_t type = uint8_t(right[at]);
    at += type < 0x80 ? 0 : type == 0xcc ? 1 : type == 0xcd ? 2 : 4;
    std::string wrong = right;
    wrong[at] = char(wrong[at] ^ 4);
    EXPECT_NE(problemOf(wrong).find("by its metadata and"), std::string::npos)
        << key << ": " << problemOf(wrong);
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, AmdCodeObject,
                         ::testing::Values("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
