// Archives: which variant a launch gets, what makes two archives equal, and damage.
#include "Archives.h"
#include "gtest/gtest.h"
#include "jit/cache/Digest.h"
#include "jit/runtime/Runtime.h"

#include <fstream>
#include <random>

using namespace sectile;
using namespace sectile::jit;
using namespace sectile::jit::test;

namespace {

constexpr lang::ScalarKind kI64 = lang::ScalarKind::Int64, kF32 = lang::ScalarKind::Float32;

struct alignas(64) Memory {
  int64_t out[4] = {}, x[4] = {};
};

std::string archiveOf(std::vector<VariantToArchive> variants,
                      ArchivedKernelEntry entry = addEntry()) {
  std::string problem;
  std::string bytes = writeArchive({std::move(entry)}, std::move(variants), problem);
  EXPECT_EQ(problem, "");
  return bytes;
}

/// Runs two programs and returns what they added; -1 with `status` set when there is none.
int64_t run(const Archive &archive, const std::vector<ArgumentValue> &values, Memory &memory,
            Status &status) {
  BoundLaunch launch;
  status = archive.find("add")->bind({values, Grid{2, 1, 1}}, launch);
  if (!status.ok())
    return -1;
  memory.out[0] = memory.out[1] = 0;
  status = launch.run();
  EXPECT_EQ(memory.out[0], memory.out[1]);
  return memory.out[0];
}

TEST(Archive, launches_get_the_variant_for_their_arguments) {
  Memory memory;
  // Not divisible by 16, so that only what is named differs.
  void *out = memory.out, *x = memory.x + 1;
  auto values = [&](int64_t n, const char *mode, lang::ScalarKind kind = kI64) {
    return addValues(out, x, n, mode, kind);
  };
  const std::string bytes = archiveOf(
      {addVariant(values(3, "a"), 1), addVariant(values(3, "b"), 2), addVariant(values(16, "a"), 3),
       addVariant(values(1, "a"), 4), addVariant(values(int64_t(1) << 40, "a"), 5),
       addVariant(values(3, "a", kF32), 6)});
  Status status;
  auto archive = Archive::ofMemory(bytes, "test", status);
  ASSERT_TRUE(archive) << status.error().text();
  EXPECT_EQ(run(*archive, values(5, "a"), memory, status), 1);
  EXPECT_EQ(run(*archive, values(-7, "b"), memory, status), 2);
  EXPECT_EQ(run(*archive, values(32, "a"), memory, status), 3);
  EXPECT_EQ(run(*archive, values(1, "a"), memory, status), 4);
  EXPECT_EQ(run(*archive, values(int64_t(1) << 41, "a"), memory, status), 5);
  EXPECT_EQ(run(*archive, values(7, "a", kF32), memory, status), 6);

  EXPECT_EQ(run(*archive, values(16, "b"), memory, status), -1);
  EXPECT_EQ(status.error().message,
            "add: test has no variant for these arguments: n: i32:16 instead of i32");
  EXPECT_EQ(status.error().parameter, 2);
  EXPECT_EQ(run(*archive, values(3, "c"), memory, status), -1);
  EXPECT_EQ(status.error().parameter, 3);
}

TEST(Archive, launches_find_a_variant_whatever_it_is_called) {
  Memory memory;
  auto values = addValues(memory.out, memory.x + 1, 3, "a");
  VariantToArchive named = addVariant(values, 7);
  named.signature.variantName = named.image.variantName = "add_a";
  Status status;
  const std::string bytes = archiveOf({named});
  auto archive = Archive::ofMemory(bytes, "test", status);
  ASSERT_TRUE(archive) << status.error().text();
  EXPECT_EQ(run(*archive, values, memory, status), 7);
}

TEST(Archive, a_launch_gets_the_best_target_it_can_run) {
  Memory memory;
  auto values = addValues(memory.out, memory.x + 1, 3, "a");
  VariantToArchive native = addVariant(values, 9, "x86_64:some-processor");
  native.hostFingerprint = "another processor";
  std::vector<VariantToArchive> variants = {addVariant(values, 1),
                                            addVariant(values, 3, "x86_64:x86-64-v3"),
                                            addVariant(values, 2, "x86_64:x86-64-v2"), native};
  Status status;
  std::string bytes = archiveOf(variants);
  auto archive = Archive::ofMemory(bytes, "test", status);
  ASSERT_TRUE(archive);
  std::string reason;
  backends::Driver &cpu = *Runtime::instance().driver("cpu");
  const bool hasV3 = cpu.canRun("x86_64:x86-64-v3", reason);
  EXPECT_EQ(run(*archive, values, memory, status), hasV3 ? 3 : 2);

  // Code for this very processor is better still.
  variants.back().hostFingerprint = cpu.hostFingerprint();
  bytes = archiveOf(variants);
  archive = Archive::ofMemory(bytes, "test", status);
  ASSERT_TRUE(archive);
  EXPECT_EQ(run(*archive, values, memory, status), 9);
}

TEST(Archive, no_code_for_the_device_is_an_error) {
  Memory memory;
  auto values = addValues(memory.out, memory.x + 1, 3, "a");
  VariantToArchive foreign = addVariant(values, 1, "aarch64:some");
  foreign.hostFingerprint = "elsewhere";
  const std::string bytes = archiveOf({foreign});
  Status status;
  auto archive = Archive::ofMemory(bytes, "test", status);
  ASSERT_TRUE(archive);
  EXPECT_EQ(run(*archive, values, memory, status), -1);
  EXPECT_EQ(status.error().kind, Error::Kind::Machine);
  EXPECT_EQ(status.error().message, "add: test has no code for this processor, it has some for cpu "
                                    "(of the processor that compiled it)");
}

TEST(Archive, arrays_that_share_memory_get_code_that_allows_it_or_an_error) {
  Memory memory;
  auto apart = addValues(memory.out, memory.x + 1, 3, "a");
  auto same = addValues(memory.out, memory.out, 3, "a");
  // As those that lie apart: neither address is divisible by 16.
  same[0].bits = same[1].bits = reinterpret_cast<uintptr_t>(memory.out + 1);
  apart[0].bits = reinterpret_cast<uintptr_t>(memory.out + 1);
  VariantToArchive usual = addVariant(apart, 1);
  usual.image.overlapHazards = {{0, 1, true}};
  VariantToArchive careful = addVariant(apart, 2);
  careful.image.options.argumentsOverlap = true;

  Status status;
  BoundLaunch launch;
  const std::string both = archiveOf({usual, careful}), one = archiveOf({usual});
  auto archive = Archive::ofMemory(both, "test", status);
  const ArchivedKernel *add = archive->find("add");
  ASSERT_TRUE(add->bind({apart, Grid{}}, launch).ok());
  EXPECT_FALSE(launch.kernel->image().options.argumentsOverlap);
  ASSERT_TRUE(add->bind({same, Grid{}}, launch).ok());
  EXPECT_TRUE(launch.kernel->image().options.argumentsOverlap);
  EXPECT_TRUE(archive->variantOf(*launch.kernel)->options.argumentsOverlap);

  archive = Archive::ofMemory(one, "test", status);
  status = archive->find("add")->bind({same, Grid{}}, launch);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "add: argument 'out' shares memory with 'x', and test has code "
                                    "only for arrays that lie apart");
}

TEST(Archive, what_a_launch_leaves_out_is_the_default_or_chosen) {
  using Step = LaunchFormula::Kind;
  Memory memory;
  ArchivedKernelEntry entry = addEntry();
  entry.parameters[2].initial = lang::Constant::integer(3);
  entry.parameters[3].policy.isConstexpr = true;
  // MODE = 100 if n < 10 else 200
  entry.parameters[3].chosen.steps = {{Step::Constant, 100}, {Step::Constant, 200},
                                      {Step::Argument, 2},   {Step::Constant, 10},
                                      {Step::Less},          {Step::Select}};
  entry.grid = {{{{Step::Argument, 2}}}, {{{Step::Argument, 3}}}};
  auto values = addValues(memory.out, memory.x + 1, 3, "a");
  auto of = [&](int64_t n, int64_t mode) {
    std::vector<ArgumentValue> result = values;
    result[2] = ArgumentValue::integer(n);
    result[3] = ArgumentValue::constantInteger(mode);
    return result;
  };
  const std::string bytes =
      archiveOf({addVariant(of(3, 100), 1), addVariant(of(3, 200), 2)}, entry);
  Status status;
  auto archive = Archive::ofMemory(bytes, "test", status);
  ASSERT_TRUE(archive) << status.error().text();
  auto left = of(7, 0);
  left[3] = ArgumentValue::leftOut();
  EXPECT_EQ(run(*archive, left, memory, status), 1);
  left[2] = ArgumentValue::integer(11);
  EXPECT_EQ(run(*archive, left, memory, status), 2);
  left[2] = ArgumentValue::leftOut();
  EXPECT_EQ(run(*archive, left, memory, status), 1);
  BoundLaunch launch;
  ASSERT_TRUE(archive->find("add")->bind({left, std::nullopt}, launch).ok());
  EXPECT_EQ(launch.grid.x, 3);
  EXPECT_EQ(launch.grid.y, 100);
  EXPECT_EQ(launch.grid.z, 1);

  left[0] = ArgumentValue::leftOut();
  EXPECT_EQ(run(*archive, left, memory, status), -1);
  EXPECT_EQ(status.error().message, "add: argument 'out' is missing");
  left = of(7, 0);
  left[2] = ArgumentValue::floating(7);
  left[3] = ArgumentValue::leftOut();
  EXPECT_EQ(run(*archive, left, memory, status), -1);
  EXPECT_EQ(status.error().message, "add: argument 'MODE' is chosen by integers, and for these "
                                    "arguments there is no choice");
}

TEST(Archive, options_are_chosen_among_variants_of_equal_arguments) {
  using Step = LaunchFormula::Kind;
  Memory memory;
  ArchivedKernelEntry entry = addEntry();
  entry.chosenOptions = {{"num_warps", {{{Step::Argument, 2}, {Step::Constant, 1}, {Step::Add}}}}};
  auto values = addValues(memory.out, memory.x + 1, 3, "a");
  VariantToArchive four = addVariant(values, 4), eight = addVariant(values, 8);
  eight.image.options.warpCount = 8;
  const std::string bytes = archiveOf({four, eight}, entry);
  Status status;
  auto archive = Archive::ofMemory(bytes, "test", status);
  ASSERT_TRUE(archive);
  EXPECT_EQ(run(*archive, values, memory, status), 4);
  values[2] = ArgumentValue::integer(7);
  EXPECT_EQ(run(*archive, values, memory, status), 8);
  values[2] = ArgumentValue::integer(6);
  EXPECT_EQ(run(*archive, values, memory, status), -1);
  EXPECT_NE(status.error().message.find("num_warps=7 is chosen"), std::string::npos)
      << status.error().message;
}

TEST(Archive, equal_content_gives_equal_bytes) {
  Memory memory;
  auto one = addValues(memory.out, memory.x + 1, 3, "a"),
       two = addValues(memory.out, memory.x + 1, 1, "b");
  VariantToArchive first = addVariant(one, 1), second = addVariant(two, 2);
  const std::string bytes = archiveOf({first, second});
  // In another order, one twice, from other folders, with remarks.
  first.image.remarks.emplace_back();
  first.image.stages = {{"llvm", "text"}};
  EXPECT_EQ(archiveOf({second, first, first}), bytes);
  first.image.trapSites.emplace_back().file = "/somewhere/kernels.py";
  VariantToArchive elsewhere = first;
  elsewhere.image.trapSites.back().file = "kernels.py";
  EXPECT_EQ(archiveOf({first}), archiveOf({elsewhere}));
}

TEST(Archive, what_cannot_be_written_is_said) {
  Memory memory;
  std::string problem;
  EXPECT_EQ(writeArchive({addEntry(), addEntry()}, {}, problem), "");
  EXPECT_EQ(problem, "two kernels are called 'add'");
  problem.clear();
  auto values = addValues(memory.out, memory.x, 3, "a");
  EXPECT_EQ(writeArchive({addEntry("other")}, {addVariant(values, 1)}, problem), "");
  EXPECT_EQ(problem, "there is no kernel 'add' of such parameters");
}

/// The whole archive is looked at, as launches would one by one.
std::string readAll(std::string_view bytes) {
  ArchiveIndex index;
  if (std::string problem = readArchiveIndex(bytes, index); !problem.empty())
    return problem;
  for (const ArchivedKernelEntry &kernel : index.kernels)
    for (const ArchivedVariant &variant : kernel.variants) {
      backends::KernelImage image;
      if (std::string problem = readArchivedImage(bytes, variant, image); !problem.empty())
        return problem;
    }
  return {};
}

std::string smallArchive() {
  Memory memory;
  std::vector<VariantToArchive> variants;
  for (const char *mode : {"a", "b"}) {
    variants.push_back(addVariant(addValues(memory.out, memory.x + 1, 3, mode), 1));
    variants.back().image.binary = std::string("\x7f"
                                               "ELF: code of some bytes ") +
                                   mode + mode;
  }
  variants.front().image.binary += "!"; // a length that is no multiple of 16
  return archiveOf(std::move(variants));
}

TEST(ArchiveDamage, every_changed_byte_is_found) {
  const std::string bytes = smallArchive();
  ASSERT_EQ(readAll(bytes), "");
  std::mt19937 random(1);
  for (size_t place = 0; place < bytes.size(); ++place)
    for (int change : {1 << (random() % 8), 0xff, int(1 + random() % 255)}) {
      std::string damaged = bytes;
      damaged[place] = static_cast<char>(damaged[place] ^ change);
      EXPECT_NE(readAll(damaged), "") << "byte " << place;
    }
}

TEST(ArchiveDamage, every_shorter_or_longer_file_is_found) {
  const std::string bytes = smallArchive();
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(readAll(std::string_view(bytes).substr(0, size)), "") << size;
  EXPECT_NE(readAll(bytes + std::string(16, '\0')), "");
}

TEST(ArchiveDamage, another_version_says_so) {
  std::string bytes = smallArchive();
  bytes[8] = 99; // and the header's checksum with it
  uint64_t sum = checksum64({bytes.data(), 56});
  std::memcpy(bytes.data() + 56, &sum, sizeof sum);
  EXPECT_EQ(readAll(bytes), "it is of version 99, and this is a runtime for 2; make it with the "
                            "Sectile of this runtime, or use the runtime that it was made with");
}

TEST(ArchiveDamage, an_index_with_a_right_checksum_that_makes_no_sense_is_found) {
  // Whoever writes checksums may write anything: nothing outside of the file is touched.
  const std::string bytes = smallArchive();
  uint64_t indexBytes;
  std::memcpy(&indexBytes, bytes.data() + 32, sizeof indexBytes);
  std::mt19937 random(2);
  for (int round = 0; round < 20'000; ++round) {
    std::string changed = bytes;
    for (int count = 1 + int(random() % 3); count > 0; --count)
      changed[64 + random() % indexBytes] = static_cast<char>(random());
    uint64_t sum = checksum64({changed.data() + 64, indexBytes});
    std::memcpy(changed.data() + 40, &sum, sizeof sum);
    sum = checksum64({changed.data(), 56});
    std::memcpy(changed.data() + 56, &sum, sizeof sum);
    (void)readAll(changed); // under the address sanitizer this says more
  }
}

TEST(Archive, files_that_are_none_are_refused) {
  TemporaryFolder folder;
  Status status;
  EXPECT_FALSE(Archive::open(folder.path + "/none", status));
  EXPECT_EQ(status.error().message,
            "archive " + folder.path + "/none: it cannot be opened: No such file or directory");
  EXPECT_FALSE(Archive::open(folder.path, status));
  EXPECT_EQ(status.error().message, "archive " + folder.path + ": it is no file");
  const std::string path = folder.path + "/file";
  std::ofstream(path) << "";
  EXPECT_FALSE(Archive::open(path, status));
  EXPECT_EQ(status.error().message, "archive " + path + ": it is empty");
  std::ofstream(path) << "#!/bin/sh\n";
  EXPECT_FALSE(Archive::open(path, status));
  EXPECT_EQ(status.error().message, "archive " + path + ": it is no archive of kernels");
}

TEST(Archive, a_damaged_variant_is_found_when_it_is_launched) {
  TemporaryFolder folder;
  Memory memory;
  auto good = addValues(memory.out, memory.x + 1, 3, "a"),
       bad = addValues(memory.out, memory.x + 1, 3, "b");
  std::string bytes = archiveOf({addVariant(good, 1), addVariant(bad, 2)});
  ArchiveIndex index;
  ASSERT_EQ(readArchiveIndex(bytes, index), "");
  Specializer specializer("add", addPolicies());
  for (const ArchivedVariant &variant : index.kernels[0].variants)
    if (variant.key == signatureKey(specializer.signature(bad)))
      bytes[variant.offset + variant.size / 2] ^= 1;
  const std::string path = folder.path + "/file";
  std::ofstream(path, std::ios::binary) << bytes;
  Status status;
  auto archive = Archive::open(path, status);
  ASSERT_TRUE(archive);
  EXPECT_EQ(run(*archive, good, memory, status), 1);
  EXPECT_EQ(run(*archive, bad, memory, status), -1);
  EXPECT_EQ(status.error().message,
            "archive " + path +
                ": the code of add for x86_64:x86-64 is damaged: checksum mismatch");
}

} // namespace
