// libsectile-compiler.so as a file: what it exports, what it needs; and compiles through it, in a
// process that has another copy of LLVM in it (this test's own).
#include "jit/CompilerInterface.h"

#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sectile;
using testing::HasSubstr;

namespace {

constexpr const char *kKernel = R"(
func.func @k(%out: !tile.ptr<f32>, %in: !tile.ptr<f32>) attributes {tile.kernel} {
  %i = tile.arange 0, 64 : tensor<64xi32>
  %a = tile.splat %in : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  %p = tile.ptr_add %a, %i : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  %x = tile.load %p : tensor<64x!tile.ptr<f32>>
  %y = arith.addf %x, %x : tensor<64xf32>
  %b = tile.splat %out : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  %q = tile.ptr_add %b, %i : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  tile.store %q, %y : tensor<64x!tile.ptr<f32>>
  return
})";

jit::Compiler *compiler() {
  static jit::Compiler *instance = []() -> jit::Compiler * {
    void *library = dlopen(SECTILE_COMPILER_LIBRARY_FILE, RTLD_NOW | RTLD_LOCAL);
    EXPECT_TRUE(library) << dlerror();
    if (!library)
      return nullptr;
    auto create = reinterpret_cast<jit::CreateCompiler>(dlsym(library, jit::kCompilerEntryPoint));
    return create ? create() : nullptr;
  }();
  return instance;
}

TEST(CompilerLibrary, exports_one_symbol_and_needs_no_llvm) {
  auto buffer = llvm::MemoryBuffer::getFile(SECTILE_COMPILER_LIBRARY_FILE, false, false);
  ASSERT_TRUE(bool(buffer));
  auto file = llvm::object::ObjectFile::createELFObjectFile((*buffer)->getMemBufferRef());
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  auto *elf = llvm::cast<llvm::object::ELF64LEObjectFile>(file->get());
  std::vector<std::string> exported;
  for (auto symbol : elf->getDynamicSymbolIterators())
    if (!(llvm::cantFail(symbol.getFlags()) & llvm::object::SymbolRef::SF_Undefined))
      exported.push_back(llvm::cantFail(symbol.getName()).str());
  EXPECT_EQ(exported, std::vector<std::string>{"sectile_create_compiler"});

  // What it needs, by DT_NEEDED.
  llvm::StringRef strings;
  for (const auto &section : elf->sections())
    if (llvm::cantFail(section.getName()) == ".dynstr")
      strings = llvm::cantFail(section.getContents());
  for (const auto &entry : llvm::cantFail(elf->getELFFile().dynamicEntries()))
    if (entry.d_tag == llvm::ELF::DT_NEEDED) {
      std::string name = strings.data() + entry.d_un.d_val;
      EXPECT_THAT(
          name, testing::MatchesRegex("(libm|libz|libzstd|libstdc..|libgcc_s|libc|ld-linux-x86-64)"
                                      "\\.so\\.[0-9]+"));
    }
}

TEST(CompilerLibrary, compiles) {
  ASSERT_TRUE(compiler());
  jit::CompileRequest request;
  request.tileText = kKernel;
  request.wantStages = true;
  jit::CompileResult result = compiler()->compile(request);
  ASSERT_TRUE(result.image) << lang::render(result.diagnostics) << result.internalError;
  EXPECT_EQ(result.image->binary.substr(1, 3), "ELF");
  EXPECT_THAT(result.image->stages["llvm"], HasSubstr("define"));
  EXPECT_THAT(result.image->stages["asm"], HasSubstr(".globl\tk\n")); // named as the kernel
}

/// The failures of code generation that end other people's processes.
TEST(CompilerLibrary, survives_what_llvm_cannot_select_and_what_has_no_libcall) {
  ASSERT_TRUE(compiler());
  const std::pair<const char *, const char *> failures[] = {{"cannot-select", "annot select"},
                                                            {"missing-libcall", "fmodf"}};
  for (auto [kind, words] : failures) {
    jit::CompileRequest request;
    request.tileText = kKernel;
    request.options.injectFailure = kind;
    jit::CompileResult result = compiler()->compile(request);
    EXPECT_FALSE(result.image);
    EXPECT_THAT(result.internalError, HasSubstr(words));
    EXPECT_TRUE(llvm::sys::fs::exists(result.reproducer)) << result.reproducer;
    (void)llvm::sys::fs::remove(result.reproducer);

    request.options.injectFailure = "";
    EXPECT_TRUE(compiler()->compile(request).image) << "after " << kind;
  }
}

} // namespace
