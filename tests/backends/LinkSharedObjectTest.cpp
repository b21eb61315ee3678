// LLD in process: what comes out can be loaded and run, exports one name and needs nothing.
#include "backends/cpu/LinkSharedObject.h"

#include "backends/cpu/HostAbi.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

#include <chrono>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace {

std::string objectOf(llvm::StringRef text) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString(text, problem, context);
  EXPECT_TRUE(module) << problem.getMessage().str();
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  EXPECT_TRUE(target) << error;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, "x86-64", "", {}, llvm::Reloc::PIC_));
  module->setTargetTriple(triple);
  module->setDataLayout(machine->createDataLayout());
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  EXPECT_FALSE(
      machine->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::ObjectFile));
  passes.run(*module);
  return std::string(bytes);
}

constexpr const char *kKernel = R"(
@table = internal constant [4 x i32] [i32 7, i32 11, i32 13, i32 17]
define internal i32 @body(i64 %i) noinline {
  %p = getelementptr i32, ptr @table, i64 %i
  %x = load i32, ptr %p
  ret i32 %x
}
define i32 @helper() { ret i32 3 }
define i32 @sectile_kernel(ptr %call, i64 %first, i64 %last) {
  %x = call i32 @body(i64 %first)
  ret i32 %x
})";

void *load(const std::string &image) {
  int file = memfd_create("kernel", 0);
  EXPECT_EQ(write(file, image.data(), image.size()), ssize_t(image.size()));
  void *handle = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_TRUE(handle) << dlerror();
  close(file);
  return handle;
}

TEST(LinkSharedObject, runs_after_dlopen) {
  auto image = sectile::cpu::linkSharedObject(objectOf(kKernel), "kernel.so");
  ASSERT_TRUE(bool(image)) << llvm::toString(image.takeError());
  void *handle = load(*image);
  ASSERT_TRUE(handle);
  auto kernel =
      reinterpret_cast<sectile::cpu::HostKernel>(dlsym(handle, sectile::cpu::kEntryPoint));
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel(nullptr, 2, 3), 13);
  EXPECT_FALSE(dlsym(handle, "helper"));
  dlclose(handle);
}

TEST(LinkSharedObject, exports_one_name_and_keeps_the_others_for_debuggers) {
  auto image = sectile::cpu::linkSharedObject(objectOf(kKernel), "kernel.so");
  ASSERT_TRUE(bool(image)) << llvm::toString(image.takeError());
  auto file =
      llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(*image, "kernel.so"));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  auto *elf = llvm::cast<llvm::object::ELFObjectFileBase>(file->get());
  std::vector<std::string> exported, all;
  for (auto symbol : elf->getDynamicSymbolIterators())
    exported.push_back(llvm::cantFail(symbol.getName()).str());
  for (auto symbol : elf->symbols())
    all.push_back(llvm::cantFail(symbol.getName()).str());
  EXPECT_EQ(exported, std::vector<std::string>{"sectile_kernel"});
  EXPECT_TRUE(llvm::is_contained(all, "body"));
  for (const auto &section : elf->sections())
    EXPECT_NE(llvm::cantFail(section.getName()), ".note.gnu.build-id");
}

TEST(LinkSharedObject, names_an_undefined_symbol) {
  auto image = sectile::cpu::linkSharedObject(objectOf(R"(
declare float @missing_libcall(float)
define float @sectile_kernel(float %x) {
  %y = call float @missing_libcall(float %x)
  ret float %y
})"),
                                              "kernel.so");
  ASSERT_FALSE(bool(image));
  std::string message = llvm::toString(image.takeError());
  EXPECT_NE(message.find("undefined symbol: missing_libcall"), std::string::npos) << message;
  // LLD can be used again.
  auto again = sectile::cpu::linkSharedObject(objectOf(kKernel), "kernel.so");
  EXPECT_TRUE(bool(again)) << llvm::toString(again.takeError());
}

TEST(LinkSharedObject, refuses_what_is_no_object) {
  auto image = sectile::cpu::linkSharedObject("not an object", "kernel.so");
  ASSERT_FALSE(bool(image));
  EXPECT_FALSE(llvm::toString(image.takeError()).empty());
}

TEST(LinkSharedObject, takes_turns_between_threads) {
  std::string object = objectOf(kKernel);
  std::vector<std::string> images(8);
  std::vector<std::thread> threads;
  for (std::string &image : images)
    threads.emplace_back([&object, &image] {
      image = llvm::cantFail(sectile::cpu::linkSharedObject(object, "kernel.so"));
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &image : images)
    EXPECT_EQ(image, images.front());
}

} // namespace
