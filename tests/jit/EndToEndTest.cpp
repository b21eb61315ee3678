// libsectile.so and libsectile-compiler.so together: from tile IR to numbers, cold and warm.
#include "FakeCompiler.h"
#include "gtest/gtest.h"

#include <cstdio>

using sectile::jit::test::TemporaryFolder;

namespace {

struct Output {
  std::string text;
  int status;
};

Output run(const std::string &command) {
  Output output;
  FILE *pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
  char buffer[512];
  while (size_t count = std::fread(buffer, 1, sizeof buffer, pipe))
    output.text.append(buffer, count);
  int status = ::pclose(pipe);
  output.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return output;
}

TEST(EndToEnd, ASecondProcessNeedsNoCompiler) {
  TemporaryFolder folder;
  std::string command = "SECTILE_CACHE_DIR=" + folder.path + " " SECTILE_WARM_START;
  EXPECT_EQ(run(command).text, "compiled, compiler loaded\n");
  EXPECT_EQ(run(command).text, "disk, compiler not loaded\n");
  EXPECT_EQ(run("SECTILE_COMPILER_LIBRARY=/nowhere " + command).text,
            "disk, compiler not loaded\n");
  EXPECT_EQ(run("SECTILE_NUM_THREADS=1 " + command).text, "disk, compiler not loaded\n");
}

TEST(EndToEnd, WithoutACompilerAMissIsExplained) {
  TemporaryFolder folder;
  Output output = run("SECTILE_COMPILER_LIBRARY=/nowhere/x.so SECTILE_CACHE_DIR=" + folder.path +
                      " " SECTILE_WARM_START);
  EXPECT_EQ(output.status, 1);
  EXPECT_NE(output.text.find("/nowhere/x.so is missing"), std::string::npos) << output.text;
}

TEST(EndToEnd, AStoreOutOfBoundsIsStoppedAndLocated) {
  TemporaryFolder folder;
  std::string command = "SECTILE_CACHE_DIR=" + folder.path + " " SECTILE_WARM_START " bounds";
  for (int round = 0; round < 2; ++round) { // compiled, then from disk
    Output output = run(command);
    EXPECT_EQ(output.status, 2);
    EXPECT_NE(output.text.find("store: out of bounds in program ("), std::string::npos)
        << output.text;
    EXPECT_NE(output.text.find("which has 5000 elements"), std::string::npos) << output.text;
    EXPECT_EQ(output.text.find("stored out of bounds"), std::string::npos) << output.text;
  }
}

} // namespace
