// The table of specialisation, and the table of variants.
#include "jit/launch/Specialization.h"

#include "FakeCompiler.h"
#include "backends/plain/FloatFormat.h"
#include "gtest/gtest.h"

#include <cmath>
#include <set>
#include <thread>

using namespace sectile;
using namespace sectile::jit;
using lang::DType;
using lang::ScalarKind;

namespace {

/// "*fp32:16", "i32", "=1", "=None": the specialisation of one argument.
std::string specialise(const ArgumentValue &value, const ParameterPolicy &policy = {"x"}) {
  Specializer specializer("k", {policy});
  BoundArguments bound;
  if (Status status = specializer.bind({&value, 1}, bound); !status.ok())
    return "error: " + status.error().message;
  lang::KernelParameter parameter = specializer.signature({&value, 1}).parameters[0];
  EXPECT_EQ(bound.slots.size(), parameter.constant ? 0u : 1u);
  EXPECT_EQ(bound.ranges.size(), 2 * bound.slots.size());
  if (parameter.constant)
    return "=" + parameter.constant->repr();
  return parameter.dtype.name() + (parameter.divisibleBy16 ? ":16" : "");
}

ParameterPolicy annotated(const char *type) {
  ParameterPolicy policy{"x"};
  policy.annotation = *DType::parse(type);
  return policy;
}
void *address(uintptr_t number) {
  return reinterpret_cast<void *>(number);
}

TEST(Specialization, FollowsTheTable) {
  using V = ArgumentValue;
  DType pointer = DType::pointer(ScalarKind::Float32);
  EXPECT_EQ(specialise(V::pointer(pointer, address(0x1000))), "*fp32:16");
  EXPECT_EQ(specialise(V::pointer(pointer, address(0x1008))), "*fp32");
  EXPECT_EQ(specialise(V::pointer(DType::pointer(ScalarKind::Int8, true), address(16))), "*ki8:16");
  EXPECT_EQ(specialise(V::pointer(pointer, nullptr)), "*fp32:16");
  EXPECT_EQ(specialise(V::integer(0)), "i32:16");
  EXPECT_EQ(specialise(V::integer(1)), "=1");
  EXPECT_EQ(specialise(V::integer(2)), "i32");
  EXPECT_EQ(specialise(V::integer(16)), "i32:16");
  EXPECT_EQ(specialise(V::integer(-16)), "i32:16");
  EXPECT_EQ(specialise(V::integer(-1)), "i32");
  EXPECT_EQ(specialise(V::integer(INT32_MAX)), "i32");
  EXPECT_EQ(specialise(V::integer(int64_t{INT32_MAX} + 1)), "i64:16");
  EXPECT_EQ(specialise(V::integer(INT32_MIN)), "i32:16");
  EXPECT_EQ(specialise(V::integer(int64_t{INT32_MIN} - 1)), "i64");
  EXPECT_EQ(specialise(V::unsignedInteger(5)), "i32");
  EXPECT_EQ(specialise(V::unsignedInteger(UINT64_MAX)), "u64");
  EXPECT_EQ(specialise(V::unsignedInteger(uint64_t{1} << 63)), "u64:16");
  EXPECT_EQ(specialise(V::floating(1.0)), "fp32");
  EXPECT_EQ(specialise(V::floating(16.0)), "fp32") << "floats are never specialised";
  EXPECT_EQ(specialise(V::floating(1.0, DType::scalar(ScalarKind::Float64))), "fp64");
  EXPECT_EQ(specialise(V::boolean(true)), "i1");
  EXPECT_EQ(specialise(V::none()), "=None");
  EXPECT_EQ(specialise(V::constantInteger(64)), "=64");
  EXPECT_EQ(specialise(V::constantBool(true)), "=True");
  lang::Constant text{std::string("relu")};
  EXPECT_EQ(specialise(V::constantWithId(3, text)), "='relu'");
}

TEST(Specialization, HonoursDoNotSpecialize) {
  using V = ArgumentValue;
  ParameterPolicy never{"x", false, false, true, {}}, noAlignment{"x", false, true, false, {}};
  DType pointer = DType::pointer(ScalarKind::Float32);
  EXPECT_EQ(specialise(V::integer(1), never), "i32");
  EXPECT_EQ(specialise(V::integer(16), never), "i32");
  EXPECT_EQ(specialise(V::pointer(pointer, address(16)), never), "*fp32");
  EXPECT_EQ(specialise(V::integer(1), noAlignment), "=1");
  EXPECT_EQ(specialise(V::integer(16), noAlignment), "i32");
  EXPECT_EQ(specialise(V::pointer(pointer, address(16)), noAlignment), "*fp32");
}

TEST(Specialization, TypedNumbersStayTyped) {
  using V = ArgumentValue;
  EXPECT_EQ(specialise(V::integer(1, DType::scalar(ScalarKind::Int32))), "=1");
  EXPECT_EQ(specialise(V::integer(1, DType::scalar(ScalarKind::Int64))), "i64");
  EXPECT_EQ(specialise(V::integer(32, DType::scalar(ScalarKind::Int64))), "i64:16");
  EXPECT_EQ(specialise(V::unsignedInteger(7, DType::scalar(ScalarKind::UInt8))), "u8");
  EXPECT_EQ(specialise(V::integer(3), annotated("fp32")), "fp32");
  EXPECT_EQ(specialise(V::integer(1), annotated("i32")), "i32");
  EXPECT_EQ(specialise(V::integer(48), annotated("i64")), "i64:16");
  EXPECT_EQ(specialise(V::boolean(true), annotated("i32")), "i32");
  EXPECT_EQ(specialise(V::floating(2), annotated("fp16")), "fp16");
}

TEST(Specialization, RefusesWhatCannotBePassed) {
  using V = ArgumentValue;
  EXPECT_EQ(specialise(V::integer(300), annotated("u8")),
            "error: k: argument 'x' got an integer beyond its type");
  EXPECT_EQ(specialise(V::integer(-1), annotated("u64")),
            "error: k: argument 'x' got an integer beyond its type");
  EXPECT_EQ(specialise(V::floating(1), annotated("i32")),
            "error: k: argument 'x' is annotated as an integer and got a float");
  EXPECT_EQ(specialise(V::integer(1), annotated("*fp32")),
            "error: k: argument 'x' is annotated as a pointer and got an integer");
  ParameterPolicy constexprPolicy{"x", true, true, true, {}};
  EXPECT_EQ(specialise(V::pointer(DType::pointer(ScalarKind::Int8), nullptr), constexprPolicy),
            "error: k: argument 'x' is constexpr, and an array has no value at compile time");
  EXPECT_EQ(specialise(V::integer(5), constexprPolicy), "=5");
  EXPECT_EQ(specialise(V::floating(0.5), constexprPolicy), "=0.5");
}

TEST(Specialization, SlotsHoldWhatKernelsRead) {
  using V = ArgumentValue;
  Specializer specializer("k", {{"p"}, {"n"}, {"one"}, {"f"}, annotated("fp16"), {"b"}, {"d"}});
  int data[4];
  V values[] = {V::array(DType::pointer(ScalarKind::Int32), data, reinterpret_cast<uintptr_t>(data),
                         reinterpret_cast<uintptr_t>(data + 4), true),
                V::integer(-5),
                V::integer(1),
                V::floating(0.5),
                V::floating(0.1),
                V::boolean(true),
                V::floating(0.1, DType::scalar(ScalarKind::Float64))};
  BoundArguments bound;
  ASSERT_TRUE(specializer.bind(values, bound).ok());
  ASSERT_EQ(bound.slots.size(), 6u);
  EXPECT_EQ(bound.slots[0], reinterpret_cast<uintptr_t>(data));
  EXPECT_EQ(static_cast<int32_t>(bound.slots[1]), -5);
  EXPECT_EQ(static_cast<uint32_t>(bound.slots[2]), 0x3f000000u);
  EXPECT_EQ(bound.slots[3], 0x2e66u);
  EXPECT_EQ(bound.slots[4], 1u);
  double number = 0.1;
  uint64_t bits;
  std::memcpy(&bits, &number, 8);
  EXPECT_EQ(bound.slots[5], bits);
  EXPECT_EQ(bound.ranges[1] - bound.ranges[0], 16u);
  EXPECT_EQ(bound.ranges[2], 0u);
  EXPECT_EQ(bound.ranges[3], 0u);
  EXPECT_TRUE(bound.anyReadOnly);
  EXPECT_EQ(bound.readOnly[0], 1u);
}

TEST(Specialization, KeysDifferExactlyWhenSignaturesDo) {
  using V = ArgumentValue;
  lang::Constant text{std::string("a")}, list = lang::Constant::tuple({});
  ConstantTable constants;
  std::vector<V> samples;
  for (ScalarKind kind : {ScalarKind::Int8, ScalarKind::Float32, ScalarKind::Float64})
    for (bool isConst : {false, true})
      for (uintptr_t place : {16, 24})
        samples.push_back(V::pointer(DType::pointer(kind, isConst), address(place)));
  for (int64_t number : {0ll, 1ll, 2ll, 16ll, 1ll << 40, (1ll << 40) + 1})
    samples.push_back(V::integer(number));
  samples.insert(samples.end(),
                 {V::unsignedInteger(UINT64_MAX), V::floating(1), V::boolean(true), V::none(),
                  V::constantInteger(1), V::constantInteger(64), V::constantBool(true),
                  V::constantFloat(1), V::constantFloat(-0.0), V::constantFloat(0.0),
                  V::constantWithId(constants.intern(text).id, text),
                  V::constantWithId(constants.intern(list).id, list)});
  // In pairs: one argument's bytes must not be taken for another's.
  Specializer specializer("k", {{"x"}, {"y"}});
  std::map<std::string, std::string> signatures;
  for (const V &first : samples)
    for (const V &second : samples) {
      V values[] = {first, second};
      BoundArguments bound;
      ASSERT_TRUE(specializer.bind(values, bound).ok());
      std::string key(reinterpret_cast<const char *>(bound.key.data()), bound.key.size());
      std::string signature;
      for (const lang::KernelParameter &parameter : specializer.signature(values).parameters)
        signature += parameter.constant
                         ? "=" + parameter.constant->kindName() + parameter.constant->repr() + ";"
                         : parameter.dtype.name() + (parameter.divisibleBy16 ? ":16;" : ";");
      auto [entry, isNew] = signatures.try_emplace(key, signature);
      EXPECT_EQ(entry->second, signature);
    }
  std::set<std::string> distinct;
  for (const auto &[key, signature] : signatures)
    distinct.insert(signature);
  // The folded 1 and the constexpr 1 have one signature and may have two keys.
  EXPECT_GE(distinct.size() + 2 * samples.size(), signatures.size());
}

TEST(Specialization, ArraysThatShareMemory) {
  DType floats = DType::pointer(ScalarKind::Float32), words = DType::pointer(ScalarKind::Int32);
  auto array = [](DType dtype, uintptr_t begin, uintptr_t end) {
    return ArgumentValue::array(dtype, address(begin), begin, end);
  };
  Specializer specializer("k", {{"x"}, {"n"}, {"y"}});
  auto bind = [&](ArgumentValue x, ArgumentValue y) {
    BoundArguments bound;
    EXPECT_TRUE(specializer.bind(std::array{x, ArgumentValue::integer(1), y}, bound).ok());
    std::string found;
    for (size_t i = 0; i < bound.overlaps.size(); ++i)
      found += std::to_string(bound.overlaps[i].first) + "-" +
               std::to_string(bound.overlaps[i].second) +
               (bound.overlaps[i].isSame ? " same" : " part");
    std::string key(reinterpret_cast<const char *>(bound.key.data()), bound.key.size());
    return std::pair(found, key);
  };
  auto apart = bind(array(floats, 0x1000, 0x2000), array(floats, 0x2000, 0x3000));
  auto same = bind(array(floats, 0x1000, 0x2000), array(floats, 0x1000, 0x1800));
  auto part = bind(array(floats, 0x1000, 0x2010), array(floats, 0x2000, 0x3000));
  EXPECT_EQ(apart.first, "");
  EXPECT_EQ(same.first, "0-1 same"); // slots: the folded 1 has none
  EXPECT_EQ(part.first, "0-1 part");
  EXPECT_EQ((std::set{apart.second, same.second, part.second}.size()), 3u);
  EXPECT_EQ(bind(array(floats, 0x1000, 0x2000), array(words, 0x1000, 0x2000)).first, "0-1 part");
  EXPECT_EQ(bind(array(floats, 0x1000, 0x1000), array(words, 0x1000, 0x2000)).first, "");
  EXPECT_EQ(bind(array(floats, 0x800, 0x1000), array(words, 0x900, 0xa00)).first, "0-1 part");
  // Bare pointers, and dtypes that stand for arrays in a warm-up.
  EXPECT_EQ(bind(ArgumentValue::pointer(floats, address(0x1000)),
                 ArgumentValue::pointer(floats, address(0x1000)))
                .first,
            "0-1 same");
  EXPECT_EQ(bind(ArgumentValue::pointer(floats, address(0x1000)),
                 ArgumentValue::pointer(floats, address(0x1004)))
                .first,
            "");
  EXPECT_EQ(
      bind(ArgumentValue::pointer(floats, nullptr), ArgumentValue::pointer(floats, nullptr)).first,
      "");
}

TEST(Specialization, TuplesGoItemByItem) {
  using V = ArgumentValue;
  DType floats = DType::pointer(ScalarKind::Float32);
  ConstantTable constants;
  auto point = std::make_shared<lang::TupleClass>(lang::TupleClass{"Point", {"x", "y"}});
  auto other = std::make_shared<lang::TupleClass>(lang::TupleClass{"Point", {"y", "x"}});
  auto named = [&](auto tupleClass) {
    auto entry = constants.intern(lang::Constant::tuple({}, tupleClass));
    return V::tuple(2, entry.id, entry.constant);
  };
  V array = V::array(floats, address(0x1000), 0x1000, 0x2000);
  Specializer specializer("k", {{"a"}, {"pair"}, {"b"}});
  auto describe = [&](std::vector<V> values) {
    BoundArguments bound;
    if (Status status = specializer.bind(values, bound); !status.ok())
      return "error: " + status.error().message;
    lang::KernelSignature signature = specializer.signature(values);
    EXPECT_EQ(signature.parameters.size(), 3u);
    std::string text;
    size_t passed = 0;
    lang::forEachLeaf(signature, [&](const lang::KernelParameter &leaf, size_t index) {
      text += leaf.name + "@" + std::to_string(index) +
              (leaf.constant ? "=" + leaf.constant->repr() : ":" + leaf.dtype.name()) + " ";
      passed += !leaf.constant;
    });
    EXPECT_EQ(bound.slots.size(), passed);
    return text;
  };
  EXPECT_EQ(describe({V::integer(3), V::tuple(2), array, V::integer(1), V::none()}),
            "a@0:i32 pair[0]@1:*fp32 pair[1]@1=1 b@2=None ");
  EXPECT_EQ(describe({V::integer(3), V::tuple(0), V::integer(5)}), "a@0:i32 b@2:i32 ");
  EXPECT_EQ(describe({V::integer(3), V::tuple(2), V::tuple(1), V::integer(7), V::tuple(0), array}),
            "a@0:i32 pair[0][0]@1:i32 b@2:*fp32 ");
  EXPECT_EQ(describe({V::integer(3), named(point), array, V::tuple(1), V::integer(9), V::none()}),
            "a@0:i32 pair.x@1:*fp32 pair.y[0]@1:i32 b@2=None ");
  EXPECT_EQ(describe({V::integer(3), V::tuple(2), array}), "error: k: takes 3 arguments, got 3");
  EXPECT_EQ(describe({V::integer(3), V::tuple(1), array, V::none(), V::none()}),
            "error: k: takes 3 arguments, got 5");

  // Whose key is whose: the same items in other tuples are other variants.
  std::set<std::string> keys;
  V n = V::integer(3);
  std::vector<std::vector<V>> calls = {{n, V::tuple(2), n, n, n},
                                       {n, named(point), n, n, n},
                                       {n, named(other), n, n, n},
                                       {V::tuple(2), n, n, n, n},
                                       {n, n, V::tuple(2), n, n},
                                       {V::tuple(1), n, V::tuple(1), n, n},
                                       {n, V::tuple(1), V::tuple(2), n, n, n},
                                       {n, V::tuple(2), V::tuple(1), n, n, n},
                                       {n, V::tuple(2), n, V::tuple(1), n, n}};
  for (const std::vector<V> &call : calls) {
    BoundArguments bound;
    ASSERT_TRUE(specializer.bind(call, bound).ok());
    keys.emplace(reinterpret_cast<const char *>(bound.key.data()), bound.key.size());
  }
  EXPECT_EQ(keys.size(), calls.size());

  // Errors name the item, and the parameter it belongs to.
  V elsewhere = V::array(floats, address(0x3000), 0x3000, 0x4000);
  elsewhere.device = 1;
  std::vector<V> values = {array, named(point), n, V::tuple(1), elsewhere, n};
  int32_t device;
  Status status = specializer.commonDevice(values, device);
  EXPECT_EQ(status.error().message, "k: argument 'pair.y[0]' is on cuda:1, and 'a' on the CPU");
  EXPECT_EQ(status.error().parameter, 1);
  Specializer typed("k", {{"a"}, annotated("i32")});
  BoundArguments bound;
  EXPECT_EQ(typed.bind(std::vector<V>{n, V::tuple(1), n}, bound).error().message,
            "k: argument 'x' is annotated with a type and got a tuple");
}

TEST(Specialization, ManyArgumentsAndOptions) {
  constexpr size_t kCount = 300;
  std::vector<ParameterPolicy> policies(kCount, {"x"});
  std::vector<ArgumentValue> values;
  for (size_t i = 0; i < kCount; ++i)
    values.push_back(i % 3 ? ArgumentValue::integer(i + 2) : ArgumentValue::constantInteger(i));
  Specializer specializer("k", policies);
  BoundArguments bound;
  ASSERT_TRUE(specializer.bind(values, bound).ok());
  EXPECT_EQ(bound.slots.size(), 200u);
  EXPECT_EQ(bound.slots[0], 3u);
  EXPECT_EQ(bound.slots[199], 301u);
  const size_t size = 100 * 9 + 200 + 1; // the last byte ends the list of overlaps
  EXPECT_EQ(bound.key.size(), size);
  bound.addOption(4);
  EXPECT_EQ(bound.key.size(), size + 8);
  EXPECT_EQ(specializer.bind({values.data(), 5}, bound).error().message,
            "k: takes 300 arguments, got 5");
}

TEST(ConstantTable, EqualConstantsShareAnId) {
  ConstantTable table;
  auto id = [&](lang::Constant constant) { return table.intern(constant).id; };
  EXPECT_EQ(id({std::string("a")}), id({std::string("a")}));
  std::set<uint64_t> ids = {id({std::string("a")}),
                            id({std::string("1")}),
                            id({true}),
                            id(lang::Constant::integer(1)),
                            id({1.0}),
                            id({lang::FunctionRef{1, "f"}}),
                            id({lang::FunctionRef{2, "f"}}),
                            id({lang::DType::scalar(ScalarKind::Int8)})};
  EXPECT_EQ(ids.size(), 8u);
}

/// A kernel of its own for each variant.
std::shared_ptr<const Kernel> makeKernel(Runtime &runtime, int value) {
  return runtime.getKernel(jit::test::fakeRequest("addValue " + std::to_string(value))).kernel;
}

TEST(KernelTable, FindsWhatWasInsertedWhileItGrows) {
  RuntimeOptions options;
  options.cacheDirectory = "";
  options.compiler = std::make_shared<jit::test::FakeCompiler>();
  Runtime runtime(options);
  std::shared_ptr<const Kernel> kernels[2] = {makeKernel(runtime, 1), makeKernel(runtime, 2)};
  ASSERT_TRUE(kernels[0] && kernels[1]);
  KernelTable table;
  auto key = [](BoundArguments &bound, uint64_t number) {
    bound.key.clear();
    bound.addOption(number);
  };
  std::atomic<uint64_t> inserted{0};
  std::thread reader([&] {
    BoundArguments bound;
    for (uint64_t seen = 0; seen < 2000; seen = inserted.load())
      for (uint64_t i = 0; i < seen; i += 7) {
        key(bound, i);
        ASSERT_EQ(table.find(bound), kernels[i % 2].get());
      }
  });
  BoundArguments bound;
  for (uint64_t i = 0; i < 2000; ++i) {
    key(bound, i);
    ASSERT_EQ(table.find(bound), nullptr);
    ASSERT_EQ(table.insert(bound, kernels[i % 2]), kernels[i % 2].get());
    ASSERT_EQ(table.insert(bound, kernels[(i + 1) % 2]), kernels[i % 2].get()) << "the first stays";
    ++inserted;
  }
  reader.join();
  EXPECT_EQ(table.all().size(), 2000u);
  table.clear();
  EXPECT_EQ(table.find(bound), nullptr);
  EXPECT_EQ(table.all().size(), 0u);
  table.insert(bound, kernels[1]);
  EXPECT_EQ(table.find(bound), kernels[1].get());
}

TEST(FloatFormat, EveryNarrowNumberRoundTripsAndRoundsToNearest) {
  struct Kind {
    ScalarKind kind;
    unsigned bits;
    bool hasNegativeZero;
  };
  for (auto [kind, bits, hasNegativeZero] :
       {Kind{ScalarKind::Float16, 16, true}, Kind{ScalarKind::BFloat16, 16, true},
        Kind{ScalarKind::Float8E4NV, 8, true}, Kind{ScalarKind::Float8E5, 8, true},
        Kind{ScalarKind::Float8E4B8, 8, false}, Kind{ScalarKind::Float8E5B16, 8, false}}) {
    std::vector<double> finite;
    for (uint64_t pattern = 0; pattern < uint64_t{1} << bits; ++pattern) {
      double value = backends::decodeFloat(pattern, kind);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(backends::decodeFloat(backends::encodeFloat(value, kind), kind)));
        continue;
      }
      if (std::isinf(value) && bits == 8) { // conversions to fp8 saturate
        double largest = std::copysign(57344.0, value);
        ASSERT_EQ(backends::decodeFloat(backends::encodeFloat(value, kind), kind), largest);
        continue;
      }
      ASSERT_EQ(backends::encodeFloat(value, kind), pattern) << value;
      if (std::isfinite(value) && value >= 0 && !std::signbit(value))
        finite.push_back(value);
    }
    std::sort(finite.begin(), finite.end());
    for (size_t i = 0; i + 1 < finite.size(); ++i) {
      double middle = (finite[i] + finite[i + 1]) / 2;
      uint64_t low = backends::encodeFloat(finite[i], kind);
      EXPECT_EQ(backends::encodeFloat(std::nextafter(middle, 0.0), kind), low);
      EXPECT_EQ(backends::encodeFloat(std::nextafter(middle, INFINITY), kind), low + 1);
      EXPECT_EQ(backends::encodeFloat(middle, kind), low + (low & 1)) << "ties to even";
    }
  }
  EXPECT_EQ(backends::decodeFloat(0x7e, ScalarKind::Float8E4NV), 448);
  EXPECT_EQ(backends::decodeFloat(0x7b, ScalarKind::Float8E5), 57344);
  EXPECT_EQ(backends::decodeFloat(0x7f, ScalarKind::Float8E4B8), 240);
  EXPECT_EQ(backends::encodeFloat(65520, ScalarKind::Float16), 0x7c00u);
  EXPECT_EQ(backends::encodeFloat(65520, ScalarKind::Float8E5), 0x7bu);
  EXPECT_EQ(backends::encodeFloat(-1e300, ScalarKind::Float8E4NV), 0xfeu);
  EXPECT_EQ(backends::encodeFloat(-INFINITY, ScalarKind::Float8E4B8), 0xffu);
  EXPECT_EQ(backends::encodeFloat(INFINITY, ScalarKind::Float8E5B16), 0x7fu);
  // Triton's own: numbers only, and conversions stop below the greatest; halves away from zero.
  constexpr ScalarKind own = ScalarKind::Float8E4B15;
  for (unsigned bits = 0; bits < 0x100; ++bits)
    EXPECT_EQ(backends::encodeFloat(backends::decodeFloat(bits, own), own),
              (bits & 0x7f) == 0x7f ? bits - 1 : bits);
  EXPECT_EQ(backends::decodeFloat(0xff, own), -1.875);
  EXPECT_EQ(backends::encodeFloat(-INFINITY, own), 0xfeu);
  EXPECT_EQ(backends::encodeFloat(NAN, own), 0x7eu);
  EXPECT_EQ(backends::encodeFloat(1.0625, own), 0x79u);
  EXPECT_EQ(backends::encodeFloat(0x1p-18, own), 0x01u);
  EXPECT_EQ(backends::encodeFloat(std::nextafter(0x1p-18, 0.0), own), 0x00u);
}

} // namespace
