#include "jit/runtime/Knobs.h"

#include "lang/plain/Diagnostics.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <unistd.h>

namespace sectile::jit {
namespace {

/// How each kind of value is read. Returns false when it cannot be.
bool read(std::string_view text, bool &value) {
  if (text == "1" || text == "true" || text == "on" || text == "yes")
    value = true;
  else if (text == "0" || text == "false" || text == "off" || text == "no" || text.empty())
    value = false;
  else
    return false;
  return true;
}

bool readNumber(std::string_view text, uint64_t &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

} // namespace

bool readChecks(std::string_view text, bool &bounds, bool &strides) {
  bounds = strides = false;
  while (!text.empty()) {
    size_t comma = std::min(text.find(','), text.size());
    std::string_view check = text.substr(0, comma);
    if (check != "bounds" && check != "strides")
      return false;
    (check == "bounds" ? bounds : strides) = true;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return true;
}

bool readSize(std::string_view text, uint64_t &bytes) {
  unsigned shift = 0;
  if (!text.empty()) {
    switch (text.back()) {
    case 'K':
    case 'k':
      shift = 10;
      break;
    case 'M':
    case 'm':
      shift = 20;
      break;
    case 'G':
    case 'g':
      shift = 30;
      break;
    }
    if (shift)
      text.remove_suffix(1);
  }
  uint64_t number;
  if (!readNumber(text, number) || number > (UINT64_MAX >> shift))
    return false;
  bytes = number << shift;
  return true;
}

namespace {

constexpr std::string_view kStages[] = {
    "tile", "tile-optimized", "tile-gpu", "llvm", "llvm-optimized", "asm", "ptx", "all"};

bool isStage(std::string_view name) {
  return std::find(std::begin(kStages), std::end(kStages), name) != std::end(kStages);
}

bool readDump(std::string_view text, Knobs &knobs) {
  size_t colon = text.find(':');
  if (text.empty()) // as if it were unset
    return true;
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size())
    return false;
  knobs.dumpDirectory = text.substr(colon + 1);
  std::string_view stages = text.substr(0, colon);
  while (!stages.empty()) {
    size_t comma = std::min(stages.find(','), stages.size());
    std::string_view stage = stages.substr(0, comma);
    if (!isStage(stage)) {
      knobs.dumpStages.clear();
      return false;
    }
    knobs.dumpStages.emplace_back(stage);
    stages.remove_prefix(std::min(comma + 1, stages.size()));
  }
  return true;
}

bool readFolders(std::string_view text, std::vector<std::string> &folders) {
  while (!text.empty()) {
    size_t colon = std::min(text.find(':'), text.size());
    if (colon)
      folders.emplace_back(text.substr(0, colon));
    text.remove_prefix(std::min(colon + 1, text.size()));
  }
  return true;
}

bool isFlag(std::string_view text, Knobs &) {
  bool value;
  return read(text, value);
}

/// A description, what values look like, and how one is taken over.
struct Knob {
  KnobDescription description;
  const char *expected;
  bool (*parse)(std::string_view, Knobs &);
};

/// Reads a word of a launch's option, which is the knob's, too. False when it is none.
template <class Choice>
bool readOption(std::string_view name, std::string_view text,
                Choice backends::KernelOptions::*option, Choice &knob) {
  backends::CompileOptions options;
  const bool isKnown = options.setField(name, text);
  knob = options.*option;
  return isKnown;
}

constexpr Knob kKnobs[] = {
    {{"SECTILE_DUMP", "stages:folder", "no dumps",
      "writes stages of every compile to files: tile, tile-optimized, llvm, llvm-optimized, asm, "
      "of "
      "GPUs tile-gpu and ptx, or all",
      "compilation.dump"},
     "stages and a folder such as tile,llvm:/tmp/dumps",
     readDump},
    {{"SECTILE_STOP_AFTER", "stage", "compile to the end", "ends every compile after this stage",
      "compilation.stop_after"},
     "one of tile, tile-optimized, tile-gpu, llvm, llvm-optimized, asm, ptx",
     [](std::string_view text, Knobs &knobs) {
       if (!text.empty() && (!isStage(text) || text == "all"))
         return false;
       knobs.stopAfter = text;
       return true;
     }},
    {{"SECTILE_TIME", "0|1|passes", "0",
      "1: prints where the time of every compile goes to stderr, and the total at exit; passes: of "
      "every pass too, and compiles what the cache has",
      "compilation.time"},
     "0, 1 or passes",
     [](std::string_view text, Knobs &knobs) {
       bool isOn = text == "passes";
       if (!isOn && !read(text, isOn))
         return false;
       if (isOn)
         knobs.timing = text == "passes" ? Knobs::Timing::Passes : Knobs::Timing::Steps;
       return true;
     }},
    {{"SECTILE_TIME_PASSES", "flag", "0", "1: the same as SECTILE_TIME=passes",
      "compilation.time_passes"},
     "0 or 1",
     [](std::string_view text, Knobs &knobs) {
       bool isOn = false;
       if (!read(text, isOn))
         return false;
       if (isOn)
         knobs.timing = Knobs::Timing::Passes;
       return true;
     }},
    {{"SECTILE_VERIFY", "flag", "0", "verifies the IR after every pass, LLVM's too, not only once",
      "compilation.verify"},
     "0 or 1",
     [](std::string_view text, Knobs &knobs) { return read(text, knobs.verifyEachPass); }},
    {{"SECTILE_KEEP_STAGES", "flag", "0",
      "keeps the text of every stage in compiled kernels (.asm[\"llvm\"], .asm[\"asm\"])",
      "compilation.keep_stages"},
     "0 or 1",
     [](std::string_view text, Knobs &knobs) { return read(text, knobs.keepStages); }},
    {{"SECTILE_CHECK", "bounds,strides", "no checks",
      "bounds: any access outside the argument arrays stops the launch with an error; strides: so "
      "does a view such as x[::2] or x.T whose strides the launch does not pass (Python)",
      "runtime.check"},
     "bounds, strides, or both with a comma between them",
     [](std::string_view text, Knobs &knobs) {
       bool bounds, strides;
       if (!readChecks(text, bounds, strides))
         return false;
       knobs.checkBounds = bounds;
       knobs.checkStrides = strides;
       return true;
     }},
    {{"SECTILE_DEBUG", "flag", "0", "makes device_assert active in every kernel", "runtime.debug"},
     "0 or 1",
     [](std::string_view text, Knobs &knobs) { return read(text, knobs.debug); }},
    {{"SECTILE_NUMERICS", "default|strict|reproducible", "default",
      "strict: nothing is approximated or fused; reproducible: results are the same to the bit "
      "whatever the warps and blocks",
      "runtime.numerics"},
     "strict, reproducible or default",
     [](std::string_view text, Knobs &knobs) {
       return readOption("numerics", text, &backends::KernelOptions::numerics, knobs.numerics);
     }},
    {{"SECTILE_DEFAULT_DOT_INPUT_PRECISION", "default|tf32|tf32x3|ieee|bf16x3|bf16x6", "default",
      "what fp32 operands of products are rounded to on GPUs where neither tl.dot nor the launch "
      "says; "
      "default: tf32",
      "runtime.default_dot_input_precision"},
     "tf32, tf32x3, ieee, bf16x3, bf16x6 or default",
     [](std::string_view text, Knobs &knobs) {
       return readOption("default_dot_input_precision", text,
                         &backends::KernelOptions::dotPrecision, knobs.dotPrecision);
     }},
    {{"SECTILE_CACHE_DIR", "folder", "$XDG_CACHE_HOME/sectile or ~/.cache/sectile",
      "where compiled kernels are kept; empty: nowhere", "cache.dir"},
     "a folder",
     [](std::string_view text, Knobs &knobs) {
       knobs.cacheDirectory = text;
       return true;
     }},
    {{"SECTILE_CACHE_SIZE", "size", "2G", "upper limit of that folder, such as 512M", "cache.size"},
     "a size such as 512M",
     [](std::string_view text, Knobs &knobs) { return readSize(text, knobs.cacheBytes); }},
    {{"SECTILE_CACHE_LAYERS", "folders", "none",
      "folders of compiled kernels that are only read, after one's own; separated by colons",
      "cache.layers"},
     "folders separated by colons",
     [](std::string_view text, Knobs &knobs) { return readFolders(text, knobs.cacheLayers); }},
    {{"SECTILE_CACHE_WAIT", "seconds", "30",
      "how long a process waits for another that compiles the same kernel; 0: not at all",
      "cache.wait"},
     "a number of seconds",
     [](std::string_view text, Knobs &knobs) { return readNumber(text, knobs.cacheWaitSeconds); }},
    {{"SECTILE_LOG", "compile", "nothing",
      "compile: prints every compile to stderr, with its reason and time", "compilation.log"},
     "compile",
     [](std::string_view text, Knobs &knobs) {
       knobs.logsCompiles = text == "compile";
       return text.empty() || text == "compile";
     }},
    {{"SECTILE_NUM_THREADS", "number", "the CPUs this process may use",
      "threads that run programs of the grid on the CPU", "runtime.num_threads"},
     "a number from 1 to 4096",
     [](std::string_view text, Knobs &knobs) {
       uint64_t number;
       if (!readNumber(text, number) || number < 1 || number > 4096)
         return false;
       knobs.threadCount = uint32_t(number);
       return true;
     }},
    {{"SECTILE_CODE_DIR", "folder", "none, in memory",
      "where the machine code of CPU kernels is put, in files that perf and gdb find by "
      "themselves, "
      "also when the process has ended",
      "runtime.code_dir"},
     "a folder",
     [](std::string_view text, Knobs &knobs) {
       knobs.codeDirectory = text;
       return true;
     }},
    {{"SECTILE_PTXAS", "file", "looked for in CUDA_HOME, PATH and Python packages",
      "the ptxas that assembles code for NVIDIA GPUs", "compilation.ptxas"},
     "a file",
     [](std::string_view text, Knobs &knobs) {
       knobs.ptxas = text;
       return true;
     }},
    {{"SECTILE_ASSEMBLER", "driver|ptxas|none", "ptxas if there is one, else the driver's",
      "what turns PTX into machine code", "compilation.assembler"},
     "driver, ptxas or none",
     [](std::string_view text, Knobs &knobs) {
       if (!text.empty() && text != "driver" && text != "ptxas" && text != "none")
         return false;
       knobs.assembler = text;
       return true;
     }},
    {{"SECTILE_HIP", "file", "the one that the process has loaded, else looked for",
      "AMD's HIP runtime (libamdhip64.so), which launches kernels on AMD GPUs", "runtime.hip"},
     "a file",
     [](std::string_view text, Knobs &knobs) {
       knobs.hipLibrary = text;
       return true;
     }},
    {{"SECTILE_PRINT_BUFFER", "size", "16M", "room for what one launch prints on a GPU",
      "runtime.print_buffer"},
     "a size such as 64M",
     [](std::string_view text, Knobs &knobs) { return readSize(text, knobs.printBufferBytes); }},
    {{"SECTILE_PRINT_ELEMENTS", "number", "1024",
      "device_print cuts tiles of more elements short; 0: none", "runtime.print_elements"},
     "a number",
     [](std::string_view text, Knobs &knobs) { return readNumber(text, knobs.printElements); }},
    {{"SECTILE_PRINT_FORMAT", "numpy|triton", "numpy",
      "triton: device_print prints a line for each element, static_print a type, as Triton does",
      "runtime.print_format"},
     "numpy or triton",
     [](std::string_view text, Knobs &knobs) {
       knobs.printsAsTriton = text == "triton";
       return text.empty() || text == "numpy" || text == "triton";
     }},
    {{"SECTILE_COMPILER_LIBRARY", "file", "libsectile-compiler.so beside libsectile.so",
      "the compiler library to load", "compilation.library"},
     "a file",
     [](std::string_view text, Knobs &knobs) {
       knobs.compilerLibrary = text;
       return true;
     }},
    {{"SECTILE_REPRODUCER_DIR", "folder", "the system's temporary folder",
      "where reproducers of compiler failures are written", "compilation.reproducer_dir"},
     "a folder",
     [](std::string_view text, Knobs &knobs) {
       knobs.reproducerDirectory = text;
       return true;
     }},
    // Python acts on what follows (sectile/runtime/autotuner); here it is only checked.
    {{"SECTILE_AUTOTUNE", "on|off|force|frozen", "on",
      "on: measure what is not known; force: measure anew; off: measure nothing, take the first "
      "candidate where none is known; frozen: that is an error",
      "autotuning.mode"},
     "on, off, force or frozen",
     [](std::string_view text, Knobs &) {
       return text == "on" || text == "off" || text == "force" || text == "frozen";
     }},
    {{"SECTILE_TUNING_DIR", "folder", "'tuning' in the cache's",
      "where what was measured is kept; empty: nowhere", "autotuning.dir"},
     "a folder",
     [](std::string_view, Knobs &) { return true; }},
    {{"SECTILE_CACHE_AUTOTUNING", "flag", "1", "remembers every choice on disk",
      "autotuning.cache"},
     "0 or 1",
     isFlag},
    {{"SECTILE_PRINT_AUTOTUNING", "flag", "0", "prints what was chosen", "autotuning.print"},
     "0 or 1",
     isFlag},
    {{"SECTILE_AS_TRITON", "flag", "0",
      "1: `import sectile` makes `import triton` give Sectile's package, here and in processes "
      "that "
      "are started (sectile.as_triton)",
      "runtime.as_triton"},
     "0 or 1",
     isFlag},
    {{"SECTILE_TUNING_THREADS", "number", "the CPUs this process may use",
      "threads that compile candidates", "autotuning.threads"},
     "a number",
     [](std::string_view text, Knobs &) {
       uint64_t number;
       return readNumber(text, number) && number >= 1;
     }},
    {{"SECTILE_TUNING_BUDGET", "seconds", "none",
      "how long a tuning may take, where autotune() says nothing", "autotuning.budget"},
     "a number of seconds",
     [](std::string_view text, Knobs &) {
       double number;
       auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
       return error == std::errc() && end == text.data() + text.size() && std::isfinite(number) &&
              number >= 0;
     }},
};

constexpr auto kDescriptions = [] {
  std::array<KnobDescription, std::size(kKnobs)> table{};
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = kKnobs[i].description;
  return table;
}();

} // namespace

bool Knobs::dumps(std::string_view stage) const {
  return std::any_of(dumpStages.begin(), dumpStages.end(),
                     [&](const std::string &asked) { return asked == stage || asked == "all"; });
}

Knobs Knobs::from(const std::function<const char *(const char *)> &lookUp) {
  Knobs knobs;
  for (const Knob &knob : kKnobs) {
    const char *text = lookUp(knob.description.name);
    if (text && !knob.parse(text, knobs))
      knobs.problems.push_back(std::string(knob.description.name) + ": expected " + knob.expected +
                               ", found '" + text + "'");
  }
  return knobs;
}

Knobs Knobs::fromEnvironment() {
  Knobs knobs = from([](const char *name) -> const char * { return std::getenv(name); });
  for (char **variable = environ; variable && *variable; ++variable) {
    std::string_view text = *variable;
    std::string problem = problemOfName(text.substr(0, text.find('=')));
    if (!problem.empty())
      knobs.unknown.push_back(std::move(problem));
  }
  return knobs;
}

std::string problemOfName(std::string_view name) {
  if (!name.starts_with("SECTILE_"))
    return {};
  // The build, the tests and the benchmarks read these (dev, tests/README.md).
  for (std::string_view other : {"SECTILE_BUILD_", "SECTILE_TEST_", "SECTILE_BENCH_",
                                 "SECTILE_UPDATE_GOLDEN", "SECTILE_PYTHON"})
    if (name.starts_with(other))
      return {};
  std::vector<std::string> known;
  for (const KnobDescription &knob : kDescriptions)
    known.push_back(knob.name);
  if (std::find(known.begin(), known.end(), name) != known.end())
    return {};
  // Without what all have in common, which would make any two alike.
  size_t prefix = std::string_view("SECTILE_").size();
  std::vector<std::string> rests;
  for (const std::string &each : known)
    rests.push_back(each.substr(prefix));
  std::string closest = lang::closestName(std::string(name.substr(prefix)), rests);
  return std::string(name) + " is no variable of Sectile's" +
         (closest.empty() ? "; `sectile knobs` lists them"
                          : "; did you mean SECTILE_" + closest + "?");
}

std::span<const KnobDescription> knobTable() {
  return kDescriptions;
}

std::string knobsMarkdown() {
  auto cell = [](std::string_view text) {
    std::string escaped;
    for (char letter : text)
      escaped += letter == '|' ? "\\|" : std::string(1, letter);
    return escaped;
  };
  std::string text = "| `st.knobs.` | variable | value | default | meaning |\n"
                     "|---|---|---|---|---|";
  for (const KnobDescription &knob : kDescriptions)
    text += std::string("\n| `") + knob.attribute + "` | `" + knob.name + "` | `" +
            cell(knob.kind) + "` | " + cell(knob.initial) + " | " + cell(knob.meaning) + " |";
  return text;
}

} // namespace sectile::jit
