// Random arithmetic, compiled for every chip and run in the interpreter, against the same for this
// machine: what LLVM's code generator takes the instructions to mean is what they have to do here.
#include "RandomExpression.h"

#include "../../HostLibrary.h"
#include "Assemble.h"
#include "KernelCases.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <random>

namespace sectile::amdisa {
namespace {

constexpr unsigned kItems = 64;

/// Random bits, small integers, and numbers around the edges of each type.
std::vector<uint64_t> randomInputs(uint64_t seed) {
  std::mt19937_64 random(seed);
  const uint64_t edges[] = {0,
                            1,
                            ~uint64_t(0),
                            0x8000000000000000,
                            0x7fffffffffffffff,
                            0x7ff0000000000000,
                            0xfff0000000000000,
                            0x000fffffffffffff,
                            0x3ff0000000000000,
                            0x7f8000007f800000,
                            0x00000001007fffff,
                            0x80000000ff800000,
                            0x3c007c003f803f80,
                            0x7fff8000fc000400};
  std::vector<uint64_t> inputs(kItems * 4);
  for (uint64_t &input : inputs)
    switch (random() % 4) {
    case 0:
      input = edges[random() % std::size(edges)];
      break;
    case 1:
      input = random() % 256;
      break;
    case 2: // as floats and doubles of ordinary size
      input =
          (random() & 0x803fffff803fffff) | 0x3f0000003f000000 | (random() & 0x0080000000800000);
      break;
    default:
      input = random();
    }
  return inputs;
}

/// The host's results; what is wrong with its code in `problem`.
std::vector<uint64_t> hostResults(const RandomExpression &expression,
                                  const std::vector<uint64_t> &inputs, std::string &problem) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString(expressionFunction(expression), diagnostic, context);
  if (!module) {
    problem = diagnostic.getMessage().str() + ": " + diagnostic.getLineContents().str();
    return {};
  }
  auto machine = testing::hostMachine(cpu::HostFeatures::detect());
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  testing::HostLibrary library(*module, *machine, "function(instcombine<no-verify-fixpoint>)");
  problem = library.error;
  if (!problem.empty())
    return {};
  std::vector<uint64_t> results(kItems * expression.results);
  reinterpret_cast<void (*)(const uint64_t *, uint64_t *, int64_t)>(library.entry)(
      inputs.data(), results.data(), kItems);
  return results;
}

unsigned seedCount() {
  const char *given = std::getenv("SECTILE_TEST_SEEDS");
  return given ? unsigned(std::atoi(given)) : 6;
}

TEST(AmdIsaRandom, expressions_give_what_this_machine_gives) {
  for (unsigned seed = 1; seed <= seedCount(); ++seed) {
    RandomExpression expression = randomExpression(seed, 80);
    std::vector<uint64_t> inputs = randomInputs(seed), found(kItems * expression.results);
    std::string problem;
    std::vector<uint64_t> expected = hostResults(expression, inputs, problem);
    ASSERT_EQ(problem, "") << seed;
    Buffers buffers;
    buffers.add(inputs.data(), inputs.size() * 8, /*isWritable=*/false);
    buffers.add(found.data(), found.size() * 8);
    KernelCase test{"", "", [&](const CodeObject &object) {
                      auto done = run(object, "kernel", {.items = {kItems, 1, 1}},
                                      {Argument::of(inputs.data()), Argument::of(found.data())},
                                      buffers, {.seed = seed});
                      return done ? std::string() : llvm::toString(done.takeError());
                    }};
    for (const ChipUnderTest &chip : kChips) {
      EXPECT_EQ(checkObject(test, compile(expressionKernel(expression), chip.name)), "")
          << chip.name << ", seed " << seed;
      for (size_t index = 0; index < found.size(); ++index)
        if (found[index] != expected[index]) {
          ADD_FAILURE() << llvm::formatv(
                               "{0}, seed {1}: %r{2} of item {3} is {4:x}, expected {5:x}",
                               chip.name, seed, index % expression.results,
                               index / expression.results, found[index], expected[index])
                               .str();
          break;
        }
    }
  }
}

} // namespace
} // namespace sectile::amdisa
