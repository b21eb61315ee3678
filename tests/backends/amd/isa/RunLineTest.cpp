// Launches in lines of text, as the process for Python tests gets them.
#include "RunLine.h"

#include "Assemble.h"
#include "TestKernels.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>
#include <vector>

namespace sectile::amdisa {
namespace {

class AmdIsaLine : public ::testing::Test {
protected:
  AmdIsaLine() {
    folder = std::filesystem::temp_directory_path() / ("amd-isa-" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
    auto object = link(llvm::cantFail(compile(addKernel(), "gfx942")), "kernel");
    write("add.hsaco", llvm::cantFail(std::move(object)));
  }
  ~AmdIsaLine() override { std::filesystem::remove_all(folder); }

  std::string place(const std::string &name) const { return (folder / name).string(); }
  void write(const std::string &name, const std::string &bytes) {
    std::ofstream(place(name), std::ios::binary) << bytes;
  }
  void write(const std::string &name, const std::vector<float> &values) {
    write(name, std::string(reinterpret_cast<const char *>(values.data()), values.size() * 4));
  }
  std::vector<float> read(const std::string &name) {
    std::ifstream file(place(name), std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    std::vector<float> values(bytes.size() / 4);
    std::memcpy(values.data(), bytes.data(), values.size() * 4);
    return values;
  }

  std::filesystem::path folder;
};

TEST_F(AmdIsaLine, runs_and_writes_back) {
  write("x", std::vector<float>(300, 1));
  write("y", std::vector<float>(300, 2));
  write("out", std::vector<float>(300, 0));
  std::string arguments = " " + place("x") + ":4 " + place("y") + ":0 " + place("out") + ":8 i32:";
  EXPECT_EQ(runLine(place("add.hsaco") + " kernel 256 2" + arguments + "290"), "right");
  std::vector<float> out = read("out");
  ASSERT_EQ(out.size(), 300u);
  EXPECT_EQ(out[289], 3.0f);
  EXPECT_EQ(out[290], 0.0f);
  std::string problem = runLine(place("add.hsaco") + " kernel 256 2" + arguments + "301");
  EXPECT_TRUE(problem.starts_with("wrong kernel, work-group (1, 0, 0), wave 0")) << problem;
}

TEST_F(AmdIsaLine, arguments_in_one_file) {
  write("all", std::vector<float>(600, 1));
  std::string all = place("all") + ":4";
  ASSERT_EQ(runLine(place("add.hsaco") + " kernel 256 1 " + all + " " + all + "+800 " + all +
                    "+1600 i32:200"),
            "right");
  std::vector<float> found = read("all");
  ASSERT_EQ(found.size(), 600u);
  for (size_t i = 0; i < 600; ++i)
    EXPECT_EQ(found[i], i < 400 ? 1.0f : 2.0f) << i;
}

TEST_F(AmdIsaLine, what_cannot_be_run) {
  EXPECT_EQ(runLine("x"), "failed expected: object kernel items groups arguments");
  EXPECT_TRUE(runLine(place("none") + " kernel 256 1").starts_with("failed " + place("none")));
  EXPECT_EQ(runLine(place("add.hsaco") + " other 256 1"),
            "wrong the code object has no kernel other");
  EXPECT_EQ(runLine(place("add.hsaco") + " kernel 256 1 x"), "failed argument x");
  EXPECT_EQ(runLine(place("add.hsaco") + " kernel 256 1 i32:1"),
            "wrong kernel: argument 0 has to have 8 bytes");
  EXPECT_EQ(runLine(place("add.hsaco") + " kernel 2048 1"),
            "wrong kernel: work-groups have 1 to 1024 work-items");
  write("broken", std::string("\x7f"
                              "ELF"));
  EXPECT_TRUE(runLine(place("broken") + " kernel 256 1").starts_with("failed "));
}

} // namespace
} // namespace sectile::amdisa
