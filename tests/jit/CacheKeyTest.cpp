// Keys: every input that matters changes them, nothing else does.
#include "jit/cache/CacheKey.h"

#include "gtest/gtest.h"

#include <functional>
#include <set>

using namespace sectile;
using namespace sectile::jit;

namespace {

struct Inputs {
  std::string sourceDigest = "source";
  lang::KernelSignature signature;
  backends::CompileOptions options;
  KeyContext context{"build", "host", false};

  Inputs() {
    signature.kernelName = "kernel";
    signature.parameters.resize(3);
    signature.parameters[0] = {"x", std::nullopt, lang::DType::pointer(lang::ScalarKind::Float32),
                               true};
    signature.parameters[1] = {"n", std::nullopt, lang::DType::scalar(lang::ScalarKind::Int32),
                               false};
    signature.parameters[2] = {"BLOCK", lang::Constant::integer(64), {}, false};
  }
  std::string sourceKey() const {
    return jit::sourceKey(sourceDigest, signature, options, context);
  }
  std::string irKey() const { return jit::irKey(sourceDigest, options, context); }
};

using Change = std::function<void(Inputs &)>;

/// The parameter n becomes a tuple of `count` of what it was.
void makeTuple(Inputs &in, size_t count, std::vector<std::string> fields = {},
               const char *name = "Point") {
  lang::KernelParameter &parameter = in.signature.parameters[1];
  lang::KernelParameter item = parameter;
  parameter = {"n", {}, {}, false, std::vector(count, item), nullptr};
  if (!fields.empty())
    parameter.tupleClass = std::make_shared<lang::TupleClass>(lang::TupleClass{name, fields});
}

TEST(CacheKey, EveryInputChangesTheSourceKey) {
  using lang::Constant;
  auto constant = [](Constant value) {
    return [value](Inputs &in) { in.signature.parameters[2].constant = value; };
  };
  const std::vector<Change> changes = {
      [](Inputs &) {},
      [](Inputs &in) { in.sourceDigest = "source2"; },
      [](Inputs &in) { in.signature.kernelName = "other"; },
      [](Inputs &in) { in.signature.variantName = "other"; },
      [](Inputs &in) { in.signature.parameters[0].name = "y"; },
      [](Inputs &in) { in.signature.parameters[0].divisibleBy16 = false; },
      [](Inputs &in) { in.signature.parameters[0].dtype.isConst = true; },
      [](Inputs &in) { in.signature.parameters[0].dtype.kind = lang::ScalarKind::Float16; },
      [](Inputs &in) { in.signature.parameters[0].dtype.isPointer = false; },
      [](Inputs &in) { in.signature.parameters[1].dtype.kind = lang::ScalarKind::Int64; },
      [](Inputs &in) { in.signature.parameters[1].divisibleBy16 = true; },
      [](Inputs &in) { in.signature.parameters[1].constant = Constant::integer(1); },
      [](Inputs &in) { in.signature.parameters.pop_back(); },
      // Tuples: the items, their number, their nesting, the fields' names.
      [](Inputs &in) { makeTuple(in, 0); },
      [](Inputs &in) { makeTuple(in, 1); },
      [](Inputs &in) { makeTuple(in, 2); },
      [](Inputs &in) {
        makeTuple(in, 1);
        makeTuple(in, 1);
      },
      [](Inputs &in) { makeTuple(in, 2, {"x", "y"}); },
      [](Inputs &in) { makeTuple(in, 2, {"y", "x"}); },
      [](Inputs &in) { makeTuple(in, 2, {"y", "x"}, "Other"); },
      [](Inputs &in) {
        makeTuple(in, 1);
        in.signature.parameters[1].items->front().divisibleBy16 = true;
      },
      constant(Constant::integer(65)),
      constant(Constant::integer(-64)),
      constant(Constant::integer(lang::Int(64) << 64)),
      constant({true}),
      constant({1.0}),
      constant(Constant::integer(1)),
      constant({0.0}),
      constant({-0.0}),
      constant({lang::None{}}),
      constant({std::string("64")}),
      constant({std::string("")}),
      constant({lang::DType::scalar(lang::ScalarKind::Float32)}),
      constant({lang::DType::pointer(lang::ScalarKind::Float32)}),
      constant({lang::BuiltinRef{"exp"}}),
      constant({lang::FunctionRef{1, "exp"}}),
      constant({lang::ObjectRef{1, "exp"}}),
      constant(Constant::tuple({})),
      constant(Constant::tuple({Constant::integer(1), Constant::integer(2)})),
      constant(Constant::tuple({Constant::tuple({Constant::integer(1)}), Constant::integer(2)})),
      constant(Constant::tuple({Constant::tuple({Constant::integer(1), Constant::integer(2)})})),
      [](Inputs &in) { in.options.backend = "other"; },
      [](Inputs &in) { in.options.arch = "x86-64-v3"; },
      [](Inputs &in) { in.options.ptxVersion = 85; },
      [](Inputs &in) { in.options.warpCount = 8; },
      [](Inputs &in) { in.options.stageCount = 4; },
      [](Inputs &in) { in.options.ctaCount = 2; },
      [](Inputs &in) { in.options.maxRegisters = 64; },
      [](Inputs &in) { in.options.enableFpFusion = false; },
      [](Inputs &in) { in.options.cooperativeGrid = true; },
      [](Inputs &in) { in.options.dependentLaunch = true; },
      [](Inputs &in) { in.options.debug = true; },
      [](Inputs &in) { in.options.sanitizeOverflow = false; },
      [](Inputs &in) { in.options.fatalAsserts = true; },
      [](Inputs &in) { in.options.checkBounds = true; },
      [](Inputs &in) { in.options.numerics = backends::Numerics::Strict; },
      [](Inputs &in) { in.options.deviceMemory = true; },
      [](Inputs &in) { in.options.pointersOnly = true; },
      [](Inputs &in) { in.options.largeArrays = true; },
      [](Inputs &in) { in.options.injectFailure = "cannot-select"; },
      [](Inputs &in) { in.options.arch = "a;warpCount=8"; },
      [](Inputs &in) { in.context.buildId = "build2"; },
      [](Inputs &in) { in.context.hostFingerprint = "host2"; },
      [](Inputs &in) { in.context.wantStages = true; },
  };
  std::set<std::string> keys;
  for (size_t i = 0; i < changes.size(); ++i) {
    Inputs inputs;
    changes[i](inputs);
    EXPECT_TRUE(keys.insert(inputs.sourceKey()).second) << "change " << i;
    EXPECT_EQ(inputs.sourceKey(), Inputs(inputs).sourceKey());
  }
  EXPECT_EQ(keys.begin()->size(), 64u);
}

TEST(CacheKey, TheIrKeyFollowsIrOptionsBuildAndHostOnly) {
  const std::vector<Change> changes = {
      [](Inputs &) {},
      [](Inputs &in) { in.sourceDigest = "other IR"; },
      [](Inputs &in) { in.options.checkBounds = true; },
      [](Inputs &in) { in.context.buildId = "build2"; },
      [](Inputs &in) { in.context.hostFingerprint = "host2"; },
  };
  std::set<std::string> keys;
  for (const Change &change : changes) {
    Inputs inputs;
    change(inputs);
    EXPECT_TRUE(keys.insert(inputs.irKey()).second);
  }
  EXPECT_TRUE(keys.insert(Inputs().sourceKey()).second) << "the two kinds of keys are apart";
}

TEST(CacheKey, ReferencesCountByNameAcrossProcesses) {
  lang::Constant first{lang::FunctionRef{1, "f"}}, second{lang::FunctionRef{2, "f"}};
  EXPECT_EQ(encodeConstant(first, References::ByName), encodeConstant(second, References::ByName));
  EXPECT_NE(encodeConstant(first, References::ById), encodeConstant(second, References::ById));
}

} // namespace
