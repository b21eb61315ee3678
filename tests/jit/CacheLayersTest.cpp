// Read-only layers under the user's own cache, and entries that were made elsewhere.
#include "CacheProcesses.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/cache/DiskCache.h"

#include <sys/stat.h>

using namespace sectile;
using namespace sectile::jit;
using namespace sectile::jit::test;
using Origin = KernelResult::Origin;
using testing::HasSubstr;

namespace {

class CacheLayersTest : public testing::Test {
protected:
  CacheLayersTest() { ::chmod(layer.path.c_str(), 0755); }

  std::unique_ptr<Runtime> makeRuntime(const std::string &folder,
                                       std::vector<std::string> layers = {}) {
    RuntimeOptions options;
    options.cacheDirectory = folder;
    options.cacheLayers = std::move(layers);
    options.compiler = compiler;
    options.threadCount = 1;
    return std::make_unique<Runtime>(options);
  }
  void fillLayer(const KernelRequest &request) {
    ASSERT_EQ(makeRuntime(layer.path)->getKernel(request).origin, Origin::Compiled);
  }
  std::vector<std::string> filesOf(const std::string &folder) {
    std::vector<std::string> names;
    for (const CacheFolder::Listed &file : CacheFolder(folder, CacheFolder::Use::Own).list())
      if (file.name.ends_with(".kernel"))
        names.push_back(folder + "/" + file.name);
    return names;
  }

  TemporaryFolder own, layer;
  std::shared_ptr<FakeCompiler> compiler = std::make_shared<FakeCompiler>();
};

TEST_F(CacheLayersTest, AreReadAfterTheUsersOwnAndNeverWritten) {
  fillLayer(fakeRequest("addValue 7"));
  ::chmod(layer.path.c_str(), 0555);
  auto runtime = makeRuntime(own.path, {"/nowhere/at/all", layer.path});
  EXPECT_EQ(runtime->getKernel(fakeRequest("addValue 7")).origin, Origin::Disk);
  EXPECT_EQ(runtime->statistics().layerHits, 1u);
  EXPECT_EQ(runtime->getKernel(fakeRequest("addValue 8")).origin, Origin::Compiled);
  EXPECT_EQ(filesOf(own.path).size(), 2u) << "source and IR of 8; 7 stays where it is";
  auto later = makeRuntime(own.path, {layer.path});
  EXPECT_EQ(later->getKernel(fakeRequest("addValue 8")).origin, Origin::Disk);
  EXPECT_EQ(later->statistics().layerHits, 0u);
  EXPECT_EQ(compiler->compileCount, 2);
}

TEST_F(CacheLayersTest, AreReadWithoutACacheOfOnesOwn) {
  fillLayer(fakeRequest("addValue 7"));
  EXPECT_EQ(makeRuntime("", {layer.path})->getKernel(fakeRequest("addValue 7")).origin,
            Origin::Disk);
}

TEST_F(CacheLayersTest, DamageInThemIsAMissAndIsNotDeleted) {
  fillLayer(fakeRequest("addValue 7"));
  std::vector<std::string> files = filesOf(layer.path);
  for (const std::string &file : files)
    std::ofstream(file, std::ios::binary | std::ios::trunc) << "damage";
  auto runtime = makeRuntime(own.path, {layer.path});
  EXPECT_EQ(runtime->getKernel(fakeRequest("addValue 7")).origin, Origin::Compiled);
  EXPECT_GE(runtime->statistics().diskMisses.at("truncated"), 1u);
  EXPECT_EQ(filesOf(layer.path), files);
  EXPECT_EQ(makeRuntime(own.path, {layer.path})->getKernel(fakeRequest("addValue 7")).origin,
            Origin::Disk)
      << "from one's own";
}

TEST_F(CacheLayersTest, ThoseThatOthersCouldFillAreRefused) {
  fillLayer(fakeRequest("addValue 7"));
  ::chmod(layer.path.c_str(), 0775);
  DiskCache cache({own.path, 1 << 20, {layer.path}});
  ASSERT_EQ(cache.refusedLayers().size(), 1u);
  EXPECT_THAT(cache.refusedLayers()[0],
              HasSubstr("cache layer " + layer.path + " can be written to by other users"));
  if (::geteuid() != 0)
    return;
  ::chmod(layer.path.c_str(), 0755);
  (void)!::chown(layer.path.c_str(), 12345, 12345);
  DiskCache again({own.path, 1 << 20, {layer.path}});
  ASSERT_EQ(again.refusedLayers().size(), 1u);
  EXPECT_THAT(again.refusedLayers()[0], HasSubstr("belongs to another user"));
  (void)!::chown(layer.path.c_str(), 0, 0);
  // Of a file, too: root's folder may hold what another user was given.
  for (const std::string &file : filesOf(layer.path))
    (void)!::chown(file.c_str(), 12345, 12345);
  auto runtime = makeRuntime(own.path, {layer.path});
  EXPECT_EQ(runtime->getKernel(fakeRequest("addValue 7")).origin, Origin::Compiled);
  EXPECT_GE(runtime->statistics().diskMisses.at("not ours"), 1u);
}

TEST_F(CacheLayersTest, RootsLayerServesAnotherUser) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can become another user";
  fillLayer(fakeRequest("addValue 7"));
  for (const std::string &file : filesOf(layer.path))
    ::chmod(file.c_str(), 0644);
  EXPECT_EQ(inChild([&] {
              return ::setuid(12345) == 0 &&
                     makeRuntime("", {layer.path})->getKernel(fakeRequest("addValue 7")).origin ==
                         Origin::Disk;
            }),
            0);
}

TEST_F(CacheLayersTest, PlacesAreThoseOfWhereItIsUsed) {
  compiler->body = [](const CompileRequest &) {
    CompileResult result;
    result.image = testImage("addValue", 7);
    for (const char *file : {"/build/a.py", "/build/b.py", "/lib/other.py"})
      result.image->trapSites.emplace_back().file = file;
    return result;
  };
  KernelRequest request = fakeRequest("addValue 7");
  request.sourceFiles = {"/build/a.py", "/build/b.py"};
  fillLayer(request);
  request.sourceFiles = {"/app/a.py", "/build/a.py"}; // a name may move to another file
  KernelResult result = makeRuntime(own.path, {layer.path})->getKernel(request);
  ASSERT_EQ(result.origin, Origin::Disk);
  const auto &sites = result.kernel->image().trapSites;
  ASSERT_EQ(sites.size(), 3u);
  EXPECT_EQ(sites[0].file, "/app/a.py");
  EXPECT_EQ(sites[1].file, "/build/a.py");
  EXPECT_EQ(sites[2].file, "/lib/other.py");
}

TEST_F(CacheLayersTest, EntriesSayHowTheyWereMade) {
  KernelRequest request = fakeRequest("addValue 7");
  request.signature.parameters = {{"BLOCK", lang::Constant::integer(64), {}, false}};
  request.options.warpCount = 8;
  auto first = makeRuntime(own.path);
  KernelResult made = first->getKernel(request);
  EXPECT_TRUE(first->recordMeasurement(*made.kernel, 0.5));
  KernelResult result = makeRuntime(own.path)->getKernel(request);
  ASSERT_EQ(result.origin, Origin::Disk);
  const Provenance &provenance = result.kernel->provenance();
  EXPECT_EQ(provenance.sourceDigest, "addValue 7");
  EXPECT_EQ(provenance.variant, "BLOCK = 64");
  EXPECT_EQ(provenance.options, "num_warps=8");
  EXPECT_FALSE(provenance.version.empty());
  EXPECT_NEAR(double(provenance.createdAt), double(std::time(nullptr)), 600);
  EXPECT_GT(provenance.compileSeconds, 0);
  EXPECT_EQ(provenance.measuredSeconds, 0.5);
}

TEST_F(CacheLayersTest, MeasurementsAreNotKeptWithLayers) {
  fillLayer(fakeRequest("addValue 7"));
  auto runtime = makeRuntime(own.path, {layer.path});
  KernelResult result = runtime->getKernel(fakeRequest("addValue 7"));
  EXPECT_FALSE(runtime->recordMeasurement(*result.kernel, 0.5));
  EXPECT_TRUE(filesOf(own.path).empty());
}

} // namespace
