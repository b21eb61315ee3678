// What a process costs until its first result: for benchmarks/startup.py, which starts it many
// times.
//
//   startup bare            nothing of Sectile is done; the library is loaded all the same
//   startup cpu             one kernel, from the disk cache if it is there
//   startup cuda            the same on the first GPU
//
// Prints the monotonic clock at the start of main, behind the driver's context, and at the end, in
// seconds, and whether the compiler library was loaded.
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sectile/sectile.h>
#include <vector>

using namespace sectile;

namespace {

double now() {
  timespec time;
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

bool isCompilerLoaded() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("libsectile-compiler") != std::string::npos)
      return true;
  return false;
}

bool runFirstKernel(double &contextMade, bool onGpu) {
  constexpr int count = 1000;
  std::vector<float> x(count, 2), out(count);
  DeviceBuffer<float> in(onGpu ? Device::cuda(0) : Device::cpu(), x);
  contextMade = now();
  auto twice = kernel("twice", [](Ptr<f32> out, Ptr<const f32> in, i32 count, Const<int> BLOCK) {
    auto index = program_id(0) * BLOCK + arange(0, BLOCK);
    store(out + index, load(in + index, index < count) * 2.0f, index < count);
  });
  DeviceBuffer<float> result(in.device(), count);
  twice.launch({cdiv(count, 256)}, result, in, count, Const{256});
  result.download(out);
  return out[0] == 4 && out[count - 1] == 4;
}

} // namespace

int main(int count, char **arguments) try {
  double start = now(), contextMade = start;
  const char *where = count > 1 ? arguments[1] : "cpu";
  if (std::strcmp(where, "bare") != 0 &&
      !runFirstKernel(contextMade, std::strcmp(where, "cuda") == 0)) {
    std::printf("wrong result\n");
    return 1;
  }
  double end = now();
  std::printf("%.9f %.9f %.9f %d\n", start, contextMade, end, isCompilerLoaded());
} catch (const Error &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
