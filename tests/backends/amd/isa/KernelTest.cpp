// Whole kernels, compiled by LLVM for every chip, linked by LLD and run: results against the
// host's, and the same kernels with one instruction changed, which has to be noticed.
#include "Assemble.h"
#include "KernelCases.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <chrono>
#include <cstdio>
#include <gtest/gtest.h>
#include <map>

namespace sectile::amdisa {
namespace {

class AmdIsaKernel : public ::testing::TestWithParam<ChipUnderTest> {};

TEST_P(AmdIsaKernel, results_are_right) {
  for (const KernelCase &test : kernelCases(GetParam()))
    EXPECT_EQ(checkObject(test, compile(test.ir, GetParam().name)), "") << test.name;
}

TEST_P(AmdIsaKernel, an_access_outside_names_lane_and_address) {
  std::vector<float> x(255), y(256), out(256);
  Buffers buffers;
  buffers.add(x.data(), x.size() * 4);
  buffers.add(y.data(), y.size() * 4);
  buffers.add(out.data(), out.size() * 4);
  KernelCase test{"", "", [&](const CodeObject &object) {
                    auto done = run(object, "kernel", {.items = {256, 1, 1}},
                                    {Argument::of(x.data()), Argument::of(y.data()),
                                     Argument::of(out.data()), Argument::of(256)},
                                    buffers);
                    return done ? std::string("right") : llvm::toString(done.takeError());
                  }};
  std::string problem = checkObject(test, compile(addKernel(), GetParam().name));
  EXPECT_NE(problem.find("kernel, work-group (0, 0, 0), wave "), std::string::npos) << problem;
  EXPECT_NE(problem.find("global_load"), std::string::npos) << problem;
  EXPECT_NE(problem.find(GetParam().lanes == 64 ? "lane 63" : "lane 31"), std::string::npos)
      << problem;
  EXPECT_NE(problem.find("is byte 1020 of a buffer of 1020 bytes"), std::string::npos) << problem;
}

TEST_P(AmdIsaKernel, a_descriptor_with_too_few_registers_is_refused) {
  KernelCase test = kernelCases(GetParam())[2];
  std::string assembly = llvm::cantFail(compileToAssembly(test.ir, GetParam().name));
  size_t at = assembly.find("\ts_endpgm");
  ASSERT_NE(at, std::string::npos);
  assembly.insert(at, "\tv_mov_b32 v100, 0\n");
  std::string problem = checkObject(test, assemble(assembly, GetParam().name));
  EXPECT_TRUE(problem.starts_with("code object: kernel uses 101 vector")) << problem;
}

/// A line of the assembly and what it becomes; "" for a line that is not mutated.
struct Mutation {
  const char *what;
  std::string (*apply)(llvm::StringRef line);
};

std::string replaced(llvm::StringRef line, llvm::StringRef from, llvm::StringRef to) {
  size_t at = line.find(from);
  return at == llvm::StringRef::npos
             ? ""
             : (line.take_front(at) + to + line.drop_front(at + from.size())).str();
}

bool isWait(llvm::StringRef mnemonic) {
  if (mnemonic.starts_with("s_waitcnt"))
    return mnemonic != "s_waitcnt_depctr";
  return mnemonic.starts_with("s_wait_") && mnemonic != "s_wait_alu" && mnemonic != "s_wait_xcnt" &&
         mnemonic != "s_wait_idle";
}

std::string dropWait(llvm::StringRef line) {
  return isWait(line.ltrim().split(' ').first) ? "\ts_nop 0" : "";
}
std::string dropBarrier(llvm::StringRef line) {
  llvm::StringRef mnemonic = line.ltrim().split(' ').first.rtrim();
  return mnemonic == "s_barrier" || mnemonic == "s_barrier_wait" ? "\ts_nop 0" : "";
}
std::string changeQuad(llvm::StringRef line) {
  std::string other = replaced(line, "quad_perm:[1,0,3,2]", "quad_perm:[0,1,2,3]");
  return other.empty() ? replaced(line, "quad_perm:[2,3,0,1]", "quad_perm:[1,0,3,2]") : other;
}
std::string changeSwizzle(llvm::StringRef line) {
  return replaced(line, "swizzle(SWAP,4)", "swizzle(SWAP,2)");
}
std::string ignoreMask(llvm::StringRef line) {
  std::string other = replaced(line, "s_and_saveexec", "s_or_saveexec");
  return other.empty() ? replaced(line, "v_cmpx_gt_i32", "v_cmpx_le_i32") : other;
}
std::string flipComparison(llvm::StringRef line) {
  std::string other = replaced(line, "v_cmp_gt_i32", "v_cmp_le_i32");
  return other.empty() ? replaced(line, "v_cmp_gt_u32", "v_cmp_le_u32") : other;
}
std::string exchangeMatrixOperands(llvm::StringRef line) {
  llvm::StringRef text = line.ltrim();
  if (!text.starts_with("v_mfma_") && !text.starts_with("v_wmma_"))
    return "";
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ", ");
  return "\t" + (parts[0] + ", " + parts[2] + ", " + parts[1] + ", " + parts[3]).str();
}

constexpr Mutation kMutations[] = {
    {"a dropped wait", dropWait},
    {"a dropped barrier", dropBarrier},
    {"another quad_perm", changeQuad},
    {"another swizzle", changeSwizzle},
    {"an ignored mask", ignoreMask},
    {"a flipped comparison", flipComparison},
    {"exchanged operands of a matrix instruction", exchangeMatrixOperands}};

TEST_P(AmdIsaKernel, mutations_are_noticed) {
  std::map<std::string, unsigned> counts;
  for (const KernelCase &test : kernelCases(GetParam())) {
    if (!test.isTight)
      continue;
    auto assembly = compileToAssembly(test.ir, GetParam().name);
    ASSERT_TRUE(bool(assembly)) << llvm::toString(assembly.takeError());
    ASSERT_EQ(checkObject(test, assemble(*assembly, GetParam().name)), "") << test.name;
    llvm::SmallVector<llvm::StringRef> lines;
    llvm::StringRef(*assembly).split(lines, '\n');
    for (const Mutation &mutation : kMutations)
      for (size_t number = 0; number < lines.size(); ++number) {
        std::string changed = mutation.apply(lines[number]);
        if (changed.empty())
          continue;
        ++counts[mutation.what];
        llvm::SmallVector<llvm::StringRef> mutant = lines;
        mutant[number] = changed;
        std::string problem =
            checkObject(test, assemble(llvm::join(mutant, "\n"), GetParam().name));
        EXPECT_NE(problem, "") << test.name << ": " << mutation.what << " in line " << number
                               << ": " << lines[number].str();
        EXPECT_FALSE(llvm::StringRef(problem).contains("assembl")) << changed << "\n" << problem;
      }
  }
  for (const Mutation &mutation : kMutations)
    EXPECT_GT(counts[mutation.what], 0u) << mutation.what;
}

/// Prints what the interpreter does in a second: --gtest_also_run_disabled_tests.
TEST_P(AmdIsaKernel, DISABLED_speed) {
  std::vector<float> x(1024, 1);
  std::vector<double> out(256);
  Buffers buffers;
  buffers.add(x.data(), x.size() * 4);
  buffers.add(out.data(), out.size() * 8);
  KernelCase test{"", "", [&](const CodeObject &object) {
                    auto begin = std::chrono::steady_clock::now();
                    auto done =
                        run(object, "kernel", {.items = {256, 1, 1}},
                            {Argument::of(x.data()), Argument::of(out.data()), Argument::of(10000)},
                            buffers);
                    if (!done)
                      return llvm::toString(done.takeError());
                    std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
                    std::printf("%s: %.2f M instructions of a wave in a second\n", GetParam().name,
                                double(done->instructions) / time.count() / 1e6);
                    return std::string();
                  }};
  EXPECT_EQ(checkObject(test, compile(loopKernel(), GetParam().name)), "");
}

INSTANTIATE_TEST_SUITE_P(Chips, AmdIsaKernel, ::testing::ValuesIn(kChips),
                         [](const auto &chip) { return std::string(chip.param.name); });

} // namespace
} // namespace sectile::amdisa
