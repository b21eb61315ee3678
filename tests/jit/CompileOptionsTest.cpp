// The table of options: every field has a text, a key and a word of its own.
#include "backends/plain/CompileOptions.h"

#include "gtest/gtest.h"

#include <map>
#include <set>

using namespace sectile::backends;

namespace {

/// A value of each field that is not the usual one, as text.
std::map<std::string, std::string> otherValues() {
  std::map<std::string, std::string> values = {
      {"backend", "cuda"},        {"arch", "sm_90a"},     {"ptx_version", "85"},
      {"arguments_overlap", "1"}, {"device_memory", "1"}, {"pointers_only", "1"},
      {"large_arrays", "1"},      {"for_elsewhere", "1"}, {"inject_failure", "crash"}};
  for (const OptionDescription &option : optionTable())
    switch (option.kind) {
    case OptionDescription::Kind::Count:
      values[option.keyword] = std::to_string(option.most);
      break;
    case OptionDescription::Kind::Flag:
      values[option.keyword] = option.initial ? "0" : "1";
      break;
    case OptionDescription::Kind::Check:
      values[option.keyword] = "bounds";
      break;
    case OptionDescription::Kind::Choice:
      values[option.keyword] = option.words.back();
      break;
    case OptionDescription::Kind::Keyword:
      break;
    }
  return values;
}

TEST(CompileOptions, EveryFieldIsInTheKeyAndCanBeReadBack) {
  std::map<std::string, std::string> values = otherValues();
  std::set<std::string> keys = {CompileOptions().fingerprint()};
  EXPECT_EQ(values.size(), CompileOptions().fields().size());
  for (const auto &[name, initial] : CompileOptions().fields()) {
    ASSERT_TRUE(values.count(name)) << name;
    CompileOptions options;
    ASSERT_TRUE(options.setField(name, values[name])) << name;
    EXPECT_NE(options, CompileOptions()) << name;
    EXPECT_TRUE(keys.insert(options.fingerprint()).second) << name;
    CompileOptions again;
    for (const auto &[field, text] : options.fields())
      EXPECT_TRUE(again.setField(field, text)) << field << "=" << text;
    EXPECT_EQ(again, options) << name;
  }
}

TEST(CompileOptions, WhatIsNoValueIsRefused) {
  CompileOptions options;
  EXPECT_FALSE(options.setField("num_wraps", "4"));
  for (const char *text : {"3", "0", "128", "many", "", "4.0"})
    EXPECT_FALSE(CompileOptions().setField("num_warps", text)) << text;
  EXPECT_FALSE(options.setField("debug", "2"));
  EXPECT_FALSE(options.setField("check", "everything"));
  EXPECT_FALSE(options.setField("numerics", "fast"));
  EXPECT_TRUE(options.setField("maxnreg", "0"));
}

TEST(CompileOptions, DifferentOptionsHaveDifferentWords) {
  std::set<uint64_t> words = {KernelOptions().word()};
  for (const auto &[name, value] : otherValues()) {
    CompileOptions options;
    options.setField(name, value);
    if (static_cast<KernelOptions &>(options) == KernelOptions())
      continue; // no keyword
    EXPECT_TRUE(words.insert(options.word()).second) << name;
    EXPECT_EQ(options.word() >> KernelOptions::kWordBits, 0u) << name;
  }
  for (const OptionDescription &option : optionTable()) {
    if (option.kind != OptionDescription::Kind::Count)
      continue;
    std::set<uint64_t> ofCounts;
    for (int32_t count = 0; count <= option.most; ++count) {
      CompileOptions options;
      if (!option.allows(count))
        continue;
      ASSERT_TRUE(options.setField(option.keyword, std::to_string(count))) << option.keyword;
      EXPECT_TRUE(ofCounts.insert(options.word()).second) << option.keyword << '=' << count;
    }
    EXPECT_GE(ofCounts.size(), 2u) << option.keyword;
  }
  // Neighbours in the word do not run into each other.
  KernelOptions a, b;
  a.warpCount = 64;
  b.stageCount = 64;
  EXPECT_NE(a.word(), b.word());
}

TEST(CompileOptions, RangesAreChecked) {
  KernelOptions options;
  EXPECT_EQ(options.problem(), "");
  options.maxRegisters = 1024;
  EXPECT_EQ(options.problem(), "");
  options.warpCount = 3;
  EXPECT_EQ(options.problem(), "num_warps is 3, not a power of two from 1 to 64");
  options = {};
  options.numerics = Numerics(7);
  EXPECT_EQ(options.problem(), "numerics is 7, not default, strict or reproducible");
}

TEST(CompileOptions, WithoutDebugOverflowIsNotAskedFor) {
  KernelOptions options;
  options.sanitizeOverflow = false;
  options.normalize();
  EXPECT_EQ(options, KernelOptions());
  options.debug = true;
  options.sanitizeOverflow = false;
  options.normalize();
  EXPECT_FALSE(options.sanitizeOverflow);
}

TEST(CompileOptions, FatalAssertionsAreOfGpusAndOfDebug) {
  KernelOptions options;
  options.fatalAsserts = true;
  options.normalize();
  EXPECT_EQ(options, KernelOptions());
  options.debug = options.fatalAsserts = true;
  options.normalize();
  EXPECT_TRUE(options.fatalAsserts);
  EXPECT_FALSE(options.reportsAssertions());
  options.normalizeFor("cuda");
  EXPECT_TRUE(options.fatalAsserts);
  options.normalizeFor("cpu");
  EXPECT_TRUE(options.reportsAssertions());
}

} // namespace
