#include "backends/nvidia/Assembler.h"

#include "backends/nvidia/CudaGpu.h"
#include "backends/nvidia/TargetNames.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace sectile::nvidia {
namespace {

bool hasLineInfo(const std::string &ptx) {
  return ptx.find("\t.loc") != std::string::npos || ptx.find("\n.loc") != std::string::npos;
}

/// The number before or after `mark` in "Used 24 registers, ..." and "8 bytes stack frame, ...".
int32_t numberBefore(std::string_view text, std::string_view mark) {
  size_t place = text.find(mark);
  if (place == std::string_view::npos)
    return -1;
  size_t end = place;
  while (end > 0 && text[end - 1] == ' ')
    --end;
  size_t begin = end;
  while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9')
    --begin;
  return begin == end ? -1 : std::atoi(std::string(text.substr(begin, end - begin)).c_str());
}

void readStatistics(Assembled &result) {
  // Warnings in front of it may speak of registers, too.
  const std::string_view log = result.log;
  const size_t used = log.find("Used ");
  result.registers =
      numberBefore(used == std::string_view::npos ? log : log.substr(used), " registers");
  result.localBytes = numberBefore(result.log, " bytes stack frame");
}

/// A folder that is gone at the end, with what was written into it.
class ScratchFolder {
public:
  ScratchFolder() {
    const char *parent = std::getenv("TMPDIR");
    std::string pattern = std::string(parent && *parent ? parent : "/tmp") + "/sectile-ptx-XXXXXX";
    if (::mkdtemp(pattern.data()))
      path = pattern;
  }
  ~ScratchFolder() {
    if (path.empty())
      return;
    for (const char *name : {"/kernel.ptx", "/kernel.cubin", "/log"})
      ::unlink((path + name).c_str());
    ::rmdir(path.c_str());
  }
  std::string path;
};

bool writeFile(const std::string &path, const std::string &content) {
  FILE *file = std::fopen(path.c_str(), "wbe");
  if (!file)
    return false;
  bool isGood = std::fwrite(content.data(), 1, content.size(), file) == content.size();
  return std::fclose(file) == 0 && isGood;
}

std::string readFile(const std::string &path) {
  std::string content;
  if (FILE *file = std::fopen(path.c_str(), "rbe")) {
    char part[1 << 14];
    while (size_t count = std::fread(part, 1, sizeof part, file))
      content.append(part, count);
    std::fclose(file);
  }
  return content;
}

/// The exit status; -1 when it could not be started, more than 255 when a signal ended it.
int runProgram(const std::vector<std::string> &command, const std::string &logFile) {
  std::vector<char *> arguments;
  for (const std::string &word : command)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, logFile.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                   0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  int failure =
      ::posix_spawn(&child, command[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure)
    return -1;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return 0; // reaped by another thread: the output shows whether it succeeded
  return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

} // namespace

Assembled assembleWithDriver(gpu::GpuDevice &device, const AssemblyRequest &request) {
  Assembled result;
  const CudaApi &api = static_cast<CudaGpu &>(device.api).api;
  gpu::DeviceScope scope(device);
  auto fail = [&](CudaResult code, const char *errors) {
    backends::DeviceStatus status = gpu::explain(device, "assembling PTX", code);
    result.error = status.message;
    result.help = status.help;
    result.log = errors;
    result.isRejected = code == kCudaInvalidPtx || code == kCudaInvalidImage;
    return std::move(result);
  };
  if (scope.result() != kCudaSuccess)
    return fail(scope.result(), "");

  constexpr size_t kLogBytes = 16 << 10;
  std::vector<char> info(kLogBytes), errors(kLogBytes);
  int target = capabilityOf(request.arch);
  if (isArchitectureSpecific(request.arch))
    target += kJitTargetAccelerated;
  auto number = [](size_t value) { return reinterpret_cast<void *>(value); };
  CudaJitOption options[] = {kJitInfoLog,         kJitInfoLogBytes, kJitErrorLog,
                             kJitErrorLogBytes,   kJitLogVerbose,   kJitTarget,
                             kJitGenerateLineInfo};
  void *values[] = {info.data(),
                    number(kLogBytes - 1),
                    errors.data(),
                    number(kLogBytes - 1),
                    number(1),
                    number(static_cast<size_t>(target)),
                    number(hasLineInfo(request.ptx))};
  CudaLinkState state = nullptr;
  CudaResult code = api.linkCreate(std::size(options), options, values, &state);
  if (code != kCudaSuccess)
    return fail(code, errors.data());
  // With the zero byte at its end, as the driver wants it.
  code = api.linkAddData(state, kJitInputPtx, const_cast<char *>(request.ptx.c_str()),
                         request.ptx.size() + 1, "kernel.ptx", 0, nullptr, nullptr);
  void *cubin = nullptr;
  size_t size = 0;
  if (code == kCudaSuccess)
    code = api.linkComplete(state, &cubin, &size);
  if (code == kCudaSuccess) {
    result.cubin.assign(static_cast<const char *>(cubin), size);
    result.log = info.data();
    readStatistics(result);
  }
  (void)api.linkDestroy(state);
  return code == kCudaSuccess ? std::move(result) : fail(code, errors.data());
}

Assembled assembleWithPtxas(const std::string &ptxas, const AssemblyRequest &request) {
  Assembled result;
  ScratchFolder folder;
  std::string source = folder.path + "/kernel.ptx", target = folder.path + "/kernel.cubin",
              log = folder.path + "/log";
  if (folder.path.empty() || !writeFile(source, request.ptx)) {
    result.error =
        std::string("assembling PTX: no temporary file can be written: ") + std::strerror(errno);
    result.help = "set TMPDIR to a folder that can be written to";
    return result;
  }
  std::vector<std::string> command = {ptxas, "-v", "-arch=" + request.arch};
  if (hasLineInfo(request.ptx))
    command.push_back("-lineinfo");
  command.insert(command.end(), {source, "-o", target});
  int status = runProgram(command, log);
  result.log = readFile(log);
  if (status == 0)
    result.cubin = readFile(target);
  if (status != 0 || !isCubin(result.cubin)) {
    result.cubin.clear();
    result.error =
        status < 0 ? "assembling PTX: " + ptxas + " cannot be run"
                   : "assembling PTX: " + ptxas + " ended with status " + std::to_string(status);
    result.help = "name another ptxas in SECTILE_PTXAS";
    // An old ptxas does not know the version or the target; that says nothing of the code.
    result.isRejected = status > 0 && status < 256 &&
                        result.log.find("nsupported") == std::string::npos &&
                        result.log.find("is not defined for option") == std::string::npos;
    return result;
  }
  readStatistics(result);
  return result;
}

std::string findPtxas(const std::string &given) {
  if (!given.empty())
    return given;
  auto isProgram = [](const std::string &path) { return ::access(path.c_str(), X_OK) == 0; };
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *folder = std::getenv(variable); folder && *folder)
      if (std::string path = std::string(folder) + "/bin/ptxas"; isProgram(path))
        return path;
  std::string_view path = std::getenv("PATH") ? std::getenv("PATH") : "";
  while (!path.empty()) {
    size_t colon = std::min(path.find(':'), path.size());
    if (std::string file = std::string(path.substr(0, colon)) + "/ptxas";
        colon > 0 && isProgram(file))
      return file;
    path.remove_prefix(std::min(colon + 1, path.size()));
  }
  // Packages installed beside ours: nvidia-cuda-nvcc of CUDA 13 and 12, and Triton.
  Dl_info here;
  if (::dladdr(reinterpret_cast<void *>(&findPtxas), &here) && here.dli_fname) {
    std::string folder = here.dli_fname;
    size_t slash = folder.rfind('/');
    folder = slash == std::string::npos ? "" : folder.substr(0, slash) + "/..";
    for (const char *place : {"/nvidia/cu13/bin/ptxas", "/nvidia/cuda_nvcc/bin/ptxas",
                              "/triton/backends/nvidia/bin/ptxas"})
      if (std::string file = folder + place; !folder.empty() && isProgram(file))
        return file;
  }
  constexpr const char *kUsual = "/usr/local/cuda/bin/ptxas";
  return isProgram(kUsual) ? kUsual : "";
}

} // namespace sectile::nvidia
