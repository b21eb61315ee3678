// Image files: what is written is read back; whatever else is in a file is refused.
#include "jit/cache/ImageFile.h"

#include "FakeCompiler.h"
#include "gtest/gtest.h"
#include "jit/cache/Digest.h"

using namespace sectile;
using namespace sectile::jit;

namespace {

CacheEntry fullEntry() {
  CacheEntry entry;
  entry.buildId = "build";
  entry.sourceKey = "source key";
  entry.irKey = "ir key";
  entry.hostFingerprint = "host";
  entry.reads = {{"BLOCK", "64"}, {"module.X", "'y'"}};
  backends::KernelImage &image = entry.image;
  image.kernelName = "softmax";
  image.variantName = "softmax_1024";
  image.backend = "cpu";
  image.targetName = "x86_64:znver5";
  image.entryPoint = "sectile_kernel";
  image.arguments = {{"out", lang::DType::pointer(lang::ScalarKind::Float16), 0, true},
                     {"in", lang::DType::pointer(lang::ScalarKind::BFloat16, true), 1, false},
                     {"n", lang::DType::scalar(lang::ScalarKind::UInt64), 3, false}};
  image.scratchBytes = 1 << 20;
  backends::TrapSite site;
  site.kind = backends::TrapSite::Kind::Store;
  site.message = "message";
  site.file = "k.py";
  site.function = "softmax";
  site.sourceLine = "  tl.store(out, x)";
  site.line = 12;
  site.column = 5;
  site.argument = 0;
  image.trapSites = {site};
  image.printSites = {
      {"x", true, {{lang::DType::scalar(lang::ScalarKind::Int8), {2, 3}, "a + b"}}}};
  lang::Remark remark;
  remark.kind = "load";
  remark.text = "the mask may change";
  remark.file = "k.py";
  remark.function = "softmax";
  remark.line = 11;
  remark.column = 9;
  remark.operation = 1;
  remark.numbers = {{"bytes", 4}, {"argument", -1}};
  image.remarks = {remark, lang::Remark()};
  image.remarks[1].kind = "nest";
  image.options.arch = "sm_90a";
  image.options.warpCount = 8;
  image.options.sanitizeOverflow = false;
  image.options.dependentLaunch = true;
  image.options.ptxVersion = 85;
  image.options.injectFailure = "cannot-select";
  image.options.deviceMemory = true;
  image.options.pointersOnly = true;
  image.options.largeArrays = true;
  image.atomicArguments = {2, 0};
  image.bufferArguments = {1, 2};
  using Step = backends::LaunchExpression::Kind;
  backends::TensorMap map;
  map.argument = 1;
  map.elementBytes = 2;
  map.extents = {{{{Step::Argument, 2}, {Step::SignExtend, 32}}}, {{{Step::Constant, 64}}}};
  map.strides = {{{{Step::Argument, 2}, {Step::Constant, -8}, {Step::Subtract, 0}}},
                 {{{Step::Constant, 1}}}};
  map.box = {16, 32};
  map.swizzleBytes = 64;
  image.tensorMaps = {map, map};
  image.tensorMaps[1].elementBytes = 4;
  image.tensorMaps[1].box = {1, 4};
  image.gpu = {256, 64, 1 << 20, 2, 3, true, false, 40, 8};
  image.binary = std::string("\x7f"
                             "ELF\0binary",
                             11);
  image.stages = {{"tile", "func.func"}, {"llvm", "define"}};
  return entry;
}

TEST(ImageFile, WhatIsWrittenIsReadBack) {
  CacheEntry entry = fullEntry(), read;
  ASSERT_EQ(readImageFile(writeImageFile(entry), read), "");
  EXPECT_EQ(read.buildId, entry.buildId);
  EXPECT_EQ(read.sourceKey, entry.sourceKey);
  EXPECT_EQ(read.irKey, entry.irKey);
  EXPECT_EQ(read.hostFingerprint, entry.hostFingerprint);
  ASSERT_EQ(read.reads.size(), 2u);
  EXPECT_EQ(read.reads[0].question, "BLOCK");
  EXPECT_EQ(read.reads[1].answer, "'y'");
  const backends::KernelImage &image = read.image;
  EXPECT_EQ(image.kernelName, "softmax");
  EXPECT_EQ(image.variantName, "softmax_1024");
  EXPECT_EQ(image.backend, "cpu");
  EXPECT_EQ(image.targetName, "x86_64:znver5");
  EXPECT_EQ(image.entryPoint, "sectile_kernel");
  ASSERT_EQ(image.arguments.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(image.arguments[i].name, entry.image.arguments[i].name);
    EXPECT_EQ(image.arguments[i].dtype, entry.image.arguments[i].dtype);
    EXPECT_EQ(image.arguments[i].parameterIndex, entry.image.arguments[i].parameterIndex);
    EXPECT_EQ(image.arguments[i].isWritten, entry.image.arguments[i].isWritten);
  }
  EXPECT_EQ(image.scratchBytes, entry.image.scratchBytes);
  EXPECT_EQ(image.atomicArguments, entry.image.atomicArguments);
  EXPECT_EQ(image.tensorMaps, entry.image.tensorMaps);
  EXPECT_EQ(image.bufferArguments, entry.image.bufferArguments);
  ASSERT_EQ(image.trapSites.size(), 1u);
  EXPECT_EQ(image.trapSites[0].kind, backends::TrapSite::Kind::Store);
  EXPECT_EQ(image.trapSites[0].message, "message");
  EXPECT_EQ(image.trapSites[0].file, "k.py");
  EXPECT_EQ(image.trapSites[0].function, "softmax");
  EXPECT_EQ(image.trapSites[0].sourceLine, "  tl.store(out, x)");
  EXPECT_EQ(image.trapSites[0].line, 12);
  EXPECT_EQ(image.trapSites[0].column, 5);
  EXPECT_EQ(image.trapSites[0].argument, 0);
  ASSERT_EQ(image.printSites.size(), 1u);
  EXPECT_EQ(image.printSites[0].prefix, "x");
  EXPECT_TRUE(image.printSites[0].isHexadecimal);
  ASSERT_EQ(image.printSites[0].operands.size(), 1u);
  EXPECT_EQ(image.printSites[0].operands[0].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(image.printSites[0].operands[0].name, "a + b");
  EXPECT_EQ(image.remarks, entry.image.remarks);
  EXPECT_EQ(image.options, entry.image.options);
  EXPECT_EQ(image.gpu, entry.image.gpu);
  EXPECT_EQ(image.binary, entry.image.binary);
  EXPECT_EQ(image.stages, entry.image.stages);
}

TEST(ImageFile, TensorMapsThatNobodyCanMakeAreRefused) {
  using Step = backends::LaunchExpression::Kind;
  using Map = backends::TensorMap;
  auto resultOf = [](const std::function<void(Map &)> &change) {
    CacheEntry entry = fullEntry(), read;
    change(entry.image.tensorMaps[1]);
    return readImageFile(writeImageFile(entry), read);
  };
  EXPECT_EQ(resultOf([](Map &) {}), "");
  EXPECT_EQ(resultOf([](Map &map) { map.swizzleBytes = 32; }), "");
  const std::function<void(Map &)> broken[] = {
      [](Map &map) { map.argument = 3; },
      [](Map &map) { map.argument = 2; }, // a number
      [](Map &map) { map.elementBytes = 3; },
      [](Map &map) { map.elementBytes = 0; },
      [](Map &map) { map.swizzleBytes = 16; },
      [](Map &map) { map.box = {4}; },
      [](Map &map) { map.extents.pop_back(); },
      [](Map &map) { map.strides.pop_back(); },
      [](Map &map) { map.box = {}, map.extents = map.strides = {}; },
      [](Map &map) {
        map.box.assign(6, 4);
        map.extents.assign(6, map.extents[1]);
        map.strides.assign(6, map.strides[1]);
      },
      [](Map &map) { map.extents[0].steps.clear(); },
      [](Map &map) { map.extents[0].steps = {{Step::Argument, 3}}; },
      [](Map &map) { map.extents[0].steps = {{Step::Argument, -1}}; },
      [](Map &map) { map.strides[1].steps.push_back({Step::Constant, 2}); }, // two results
      [](Map &map) { map.strides[1].steps.push_back({Step::Add, 0}); },
      [](Map &map) { map.strides[1].steps = {{Step::SignExtend, 8}, {Step::Constant, 2}}; },
      [](Map &map) { map.strides[1].steps.push_back({Step::ZeroExtend, 65}); },
      [](Map &map) { map.strides[1].steps.push_back({Step::SignExtend, 0}); },
      [](Map &map) { map.strides[1].steps.push_back({Step(7), 1}); },
  };
  for (size_t i = 0; i < std::size(broken); ++i)
    EXPECT_EQ(resultOf(broken[i]), "malformed") << i;
  CacheEntry entry = fullEntry(), read;
  entry.image.tensorMaps.resize(backends::kMostTensorMaps + 1, entry.image.tensorMaps[0]);
  EXPECT_EQ(readImageFile(writeImageFile(entry), read), "malformed");
}

TEST(ImageFile, ArgumentsThatAreNotThereAreRefused) {
  for (auto list :
       {&backends::KernelImage::atomicArguments, &backends::KernelImage::bufferArguments}) {
    CacheEntry entry = fullEntry(), read;
    (entry.image.*list).push_back(3);
    EXPECT_EQ(readImageFile(writeImageFile(entry), read), "malformed");
  }
}

TEST(ImageFile, PlacesFollowTheFiles) {
  CacheEntry entry = fullEntry();
  entry.sourceFiles = {"helper.py", "k.py"};
  relocate(entry, {"/now/helper.py", "/now/k.py"});
  EXPECT_EQ(entry.image.trapSites[0].file, "/now/k.py");
  EXPECT_EQ(entry.image.remarks[0].file, "/now/k.py");
  EXPECT_EQ(entry.image.remarks[1].file, "");
}

TEST(ImageFile, RemarksFollowEqualIr) {
  CacheEntry entry = fullEntry();
  std::vector<lang::Remark> places(2), first = entry.image.remarks;
  places[1].file = "k.py";
  places[1].function = "softmax";
  places[1].line = 11;
  places[1].column = 9;
  EXPECT_FALSE(relocate(entry.image.remarks, places));
  EXPECT_EQ(entry.image.remarks, first);
  places[1].file = "copy.py";
  places[1].line = 21;
  EXPECT_TRUE(relocate(entry.image.remarks, places));
  EXPECT_EQ(entry.image.remarks[0].file, "copy.py");
  EXPECT_EQ(entry.image.remarks[0].line, 21);
  EXPECT_EQ(entry.image.remarks[0].text, first[0].text);
  EXPECT_EQ(entry.image.remarks[1], first[1]);
  // Nothing says that a file's numbers are right.
  entry.image.remarks[0].operation = 2;
  EXPECT_FALSE(relocate(entry.image.remarks, places));
}

TEST(ImageFile, EveryFlippedBitIsFound) {
  std::string file = writeImageFile(fullEntry());
  for (size_t i = 0; i < file.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = file;
      damaged[i] ^= static_cast<char>(1 << bit);
      CacheEntry entry;
      ASSERT_NE(readImageFile(damaged, entry), "") << "byte " << i << " bit " << bit;
    }
}

TEST(ImageFile, EveryTruncationAndExtensionIsFound) {
  std::string file = writeImageFile(fullEntry());
  for (size_t size = 0; size < file.size(); ++size) {
    CacheEntry entry;
    ASSERT_NE(readImageFile(std::string_view(file).substr(0, size), entry), "") << size;
  }
  CacheEntry entry;
  EXPECT_NE(readImageFile(file + '\0', entry), "");
}

// A wrong field behind a right checksum (another program's bug) must not be believed either.
TEST(ImageFile, WrongFieldsBehindARightChecksumDoNotCrash) {
  std::string file = writeImageFile(fullEntry());
  constexpr size_t kHeaderSize = 32, kChecksumPlace = 24;
  int accepted = 0;
  for (size_t i = kHeaderSize; i < file.size(); ++i)
    for (char value : {'\x00', '\x7f', '\xff'}) {
      std::string damaged = file;
      damaged[i] = value;
      uint64_t checksum = checksum64(std::string_view(damaged).substr(kHeaderSize));
      std::memcpy(damaged.data() + kChecksumPlace, &checksum, sizeof checksum);
      CacheEntry entry;
      if (!readImageFile(damaged, entry).empty())
        continue;
      ++accepted;
      for (const backends::TrapSite &site : entry.image.trapSites)
        ASSERT_LT(site.argument, static_cast<int>(entry.image.arguments.size()));
      ASSERT_TRUE(areWellFormed(entry.image.tensorMaps, entry.image.arguments));
    }
  EXPECT_GT(accepted, 0) << "letters of a name may be any";
}

TEST(Digest, AgreesWithSha256) {
  // hashlib.sha256(struct.pack('<QQ', 0, n) + b'a' * n)
  const std::pair<size_t, const char *> known[] = {
      {0, "374708fff7719dd5979ec875d56cd2286f6d3cf7ec317a3b25632aab28ec37bb"},
      {1, "2bef8482f27905da956c1dfd3ab90c0f04ff1b7ce73744b7534f59364535c9a7"},
      {39, "10eca56050691591d8ab0e135cf1192c796d3264b8a56be73df83345db6c8a73"},
      {40, "a968ea17c52cdad1310d26fd9bfcd3d6100d70b3225cd3ab8e25c27386fa2563"},
      {47, "0603bdcc92e4eed99268cf40b4848e89722162d7a75afee0fdba7f9e69d8f182"},
      {48, "8608a744d498d474afa4d1c21f687dba456427f2e6f0da51a6d3a2723f2ae6c9"},
      {49, "81a3062a67ad9a34b1c445a35ea67d07648eb815c22d379fb8f043dc21f78d8c"},
      {111, "d5bcd3d8aba36854b438cb0288400c1e6f840817aaed57c79cd437b90e88e438"},
      {112, "fb3fc3f970467caa432b09ccd9f661548e592411da0b5623f1a5924d048104c7"},
      {113, "ff7b954a6141cfef62a6a59e23b63340f868c0d375e8b133d16e7c762f7abfff"},
      {1000, "b8939e9db96f1c63c465c99a8c010b61df43e752c2ba5c974e9d86f702d750a8"},
  };
  for (auto [size, expected] : known)
    EXPECT_EQ(Digest("").add(std::string(size, 'a')).hex(), expected) << size;
}

TEST(Digest, FieldsDoNotRunIntoEachOther) {
  EXPECT_NE(Digest("x").add("ab").add("c").hex(), Digest("x").add("a").add("bc").hex());
  EXPECT_NE(Digest("x").add("").hex(), Digest("x").hex());
  EXPECT_NE(Digest("x").add("a").hex(), Digest("xa").hex());
}

} // namespace
