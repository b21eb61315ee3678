// What assembles PTX: ptxas, the driver, or nothing.
#include "CudaDriverFixture.h"
#include "backends/nvidia/Assembler.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

using namespace sectile;
using namespace sectile::nvidia;
using namespace sectile::nvidia::test_driver;

namespace {

TEST_F(CudaDriverTest, AssemblesWithTheDriver) {
  image = test::addImage();
  image.targetName = "nvptx64:sm_90a";
  options.settings.assembler = "driver";
  fake.assemblerLog = "ptxas info    : (C7517) waits are added to allow use of registers\n"
                      "ptxas info    : 8 bytes stack frame, 0 bytes spill stores\n"
                      "ptxas info    : Used 40 registers, used 1 barriers\n";
  ASSERT_TRUE(driver().finish(image, failure)) << failure.message;
  EXPECT_EQ(image.binary, fake.cubin);
  EXPECT_THAT(image.stages["ptx"], HasSubstr(".entry add"));
  EXPECT_EQ(image.gpu.registers, 40);
  EXPECT_EQ(image.gpu.localBytes, 8);
  EXPECT_EQ(fake.assembledFor, 90 + kJitTargetAccelerated);
  EXPECT_EQ(fake.count("link destroy"), 1);
  EXPECT_TRUE(driver().finish(image, failure)) << "machine code already";
}

TEST_F(CudaDriverTest, ProductsOfSeveralWarpsAreNotLinked) {
  image = test::addImage();
  image.targetName = "nvptx64:sm_90a";
  image.binary += "// wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16\n";
  options.settings.assembler = "driver";
  options.settings.ptxas = "/nonexistent/ptxas";
  ASSERT_TRUE(driver().finish(image, failure)) << failure.message;
  EXPECT_THAT(image.binary, HasSubstr(".entry add"));
  EXPECT_EQ(fake.count("link add"), 0);
}

TEST_F(CudaDriverTest, ProductsThatWaitAreRemarkedOn) {
  image = test::addImage();
  image.targetName = "nvptx64:sm_90a";
  std::string folder = ::testing::TempDir(), cubin = folder + "/waiting.cubin",
              ptxas = folder + "/waiting-ptxas";
  std::ofstream(cubin) << fake.cubin;
  std::ofstream(ptxas) << "#!/bin/sh\n"
                          "echo \"ptxas info : (C7510) Potential Performance Loss: wgmma\"\n"
                          "while [ $# -gt 1 ]; do shift; done\n"
                          "cp " +
                              cubin + " \"$1\"\n";
  std::filesystem::permissions(ptxas, std::filesystem::perms::owner_all);
  options.settings.ptxas = ptxas;
  ASSERT_TRUE(driver().finish(image, failure)) << failure.message;
  EXPECT_EQ(image.binary, fake.cubin);
  ASSERT_EQ(image.remarks.size(), 1u);
  EXPECT_EQ(image.remarks[0].kind, "products-wait");
  EXPECT_EQ(image.remarks[0].text, "matrix products wait for each other: ptxas says (C7510) "
                                   "Potential Performance Loss: wgmma");
}

TEST_F(CudaDriverTest, RejectedPtxIsTheCompilersFault) {
  image = test::addImage();
  image.targetName = "nvptx64:sm_90a";
  options.settings.assembler = "driver";
  fake.results["link add"] = kCudaInvalidPtx;
  fake.assemblerLog = "line 7: no such register";
  EXPECT_FALSE(driver().finish(image, failure));
  EXPECT_EQ(failure.kind, Kind::Internal);
  EXPECT_THAT(failure.message, HasSubstr("line 7: no such register"));
  EXPECT_EQ(fake.count("link destroy"), 1);
}

TEST_F(CudaDriverTest, CodeForAnOlderArchitectureStaysPtx) {
  image = test::addImage(); // sm_80
  EXPECT_TRUE(driver().finish(image, failure));
  EXPECT_THAT(image.binary, HasSubstr(".entry add"));
  std::string reason;
  EXPECT_TRUE(driver().canRun("nvptx64:sm_80", reason));
  EXPECT_TRUE(driver().canRun("nvptx64:sm_90a", reason));
  EXPECT_FALSE(driver().canRun("nvptx64:sm_100a", reason));
  EXPECT_EQ(reason, "the code is for sm_100a, and the device is sm_90a");
  EXPECT_FALSE(driver().canRun("x86_64:znver5", reason));
}

TEST_F(CudaDriverTest, WithoutAnAssemblerTheCodeStaysPtx) {
  image = test::addImage();
  image.targetName = "nvptx64:sm_90a";
  options.settings.ptxas = "/nonexistent/ptxas";
  fake.results["link add"] = kCudaJitCompilerNotFound;
  EXPECT_TRUE(driver().finish(image, failure));
  EXPECT_THAT(image.binary, HasSubstr(".entry add"));
}

TEST_F(CudaDriverTest, PtxasAssemblesWithoutADevice) {
  std::string ptxas = findPtxas("");
  if (ptxas.empty())
    GTEST_SKIP() << "there is no ptxas";
  fake.deviceCount = 0;
  for (const backends::KernelImage &kernel :
       {test::addImage(), test::checkedImage(), test::printImage()}) {
    image = kernel;
    image.targetName = "nvptx64:sm_90a";
    ASSERT_TRUE(driver().finish(image, failure)) << failure.message;
    EXPECT_TRUE(isCubin(image.binary));
    EXPECT_GT(image.gpu.registers, 0);
    EXPECT_EQ(image.gpu.localBytes, 0);
  }
  image = test::addImage();
  image.targetName = "nvptx64:sm_90a";
  image.binary += ".visible .entry broken() { no.such.instruction; }\n";
  EXPECT_FALSE(driver().finish(image, failure));
  EXPECT_EQ(failure.kind, Kind::Internal);
  EXPECT_THAT(failure.message, HasSubstr("Unknown modifier '.such'"));
}

TEST_F(CudaDriverTest, PtxIsWhatTheDriverTakes) {
  backends::CompileOptions compile;
  driver().completeOptions(compile);
  EXPECT_EQ(compile.ptxVersion, 90);
  compile.ptxVersion = 80;
  driver().completeOptions(compile);
  EXPECT_EQ(compile.ptxVersion, 80);
}

TEST_F(CudaDriverTest, SaysWhichAssemblerItUses) {
  options.settings.ptxas = "/some/ptxas";
  EXPECT_EQ(driver().assembler(), "/some/ptxas");
  made.reset();
  options.settings.assembler = "driver";
  EXPECT_EQ(driver().assembler(), "that of NVIDIA's driver");
}

} // namespace
