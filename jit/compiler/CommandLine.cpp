// `sectile opt`, `sectile compile` and `sectile layout`: the compiler's part of the command line.
// What there is to say of each command is in jit/command/Commands.cpp.
#include "jit/command/Commands.h"
#include "jit/compiler/CompileDriver.h"
#include "jit/compiler/Reproducer.h"
#include "jit/runtime/Knobs.h"
#include "lang/layout/LayoutDrawing.h"
#include "lang/layout/LayoutText.h"
#include "lang/tile/TileDialect.h"
#include "optimizer/Pipeline.h"
#include "optimizer/gpu/Pipeline.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace sectile::jit {
namespace {

/// The arguments in order: options go to the command that knows them, the rest are files.
struct Arguments {
  std::vector<std::string> options;
  std::string input = "-", output = "-";
  std::string problem;

  explicit Arguments(llvm::ArrayRef<std::string> words) {
    bool hasInput = false;
    for (size_t i = 0; i < words.size(); ++i) {
      const std::string &word = words[i];
      if (word == "-o") {
        if (++i == words.size())
          problem = "-o: no file follows";
        else
          output = words[i];
      } else if (word.size() > 1 && word[0] == '-') {
        options.push_back(word);
      } else if (hasInput) {
        problem = "more than one input: " + input + " and " + word;
      } else {
        input = word;
        hasInput = true;
      }
    }
  }
};

int fail(const llvm::Twine &message) {
  llvm::errs() << "sectile: " << message << "\n";
  return 1;
}

/// Writes all of `text`, or says why not.
int write(llvm::StringRef path, llvm::StringRef text) {
  std::error_code error;
  llvm::raw_fd_ostream out(path, error);
  if (!error) {
    out << text;
    out.flush();
    error = out.error();
    out.clear_error();
  }
  return error ? fail(path + ": " + error.message()) : 0;
}

int listPasses() {
  llvm::outs() << "\npasses:\n";
  for (llvm::StringRef name :
       {"optimize", "unroll-loops", "canonicalize", "reorder-broadcast", "cse", "hoist-invariants",
        "hoist-uniform-offsets", "optimize-for-gpu", "assign-layouts", "pipeline-loops",
        "prefetch-loads", "hoist-loads", "assign-access-widths", "verify-layouts"}) {
    const PassRegistryEntry *entry = PassPipelineInfo::lookup(name);
    if (!entry)
      entry = PassInfo::lookup(name);
    llvm::outs() << llvm::formatv("  --{0,-30} {1}\n", name,
                                  entry ? entry->getPassDescription() : "");
  }
  return 0;
}

int listOptions() {
  using Kind = backends::OptionDescription::Kind;
  for (const backends::OptionDescription &option : backends::optionTable()) {
    if (option.kind == Kind::Keyword)
      continue;
    std::string spelling = "--" + std::string(option.keyword) +
                           (option.kind == Kind::Count    ? "=N"
                            : option.kind == Kind::Check  ? "=bounds"
                            : option.kind == Kind::Choice ? "=WORD"
                                                          : "[=0]");
    std::replace(spelling.begin(), spelling.end(), '_', '-');
    llvm::outs() << llvm::formatv("  {0,-36} {1}\n", spelling, option.help);
  }
  return 0;
}

int runPasses(llvm::ArrayRef<std::string> words) {
  Arguments arguments(words);
  if (!arguments.problem.empty())
    return fail("opt: " + arguments.problem);
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<tile::TileDialect>();
  context.printOpOnDiagnostic(false);
  PassManager passes(&context, ModuleOp::getOperationName(), OpPassManager::Nesting::Implicit);
  passes.enableVerifier(false);
  OpPrintingFlags flags;
  for (llvm::StringRef option : arguments.options) {
    llvm::StringRef name = option.ltrim('-');
    if (name == "verify-each") {
      passes.enableVerifier(true);
      continue;
    }
    if (name == "locations") {
      flags.enableDebugInfo();
      continue;
    }
    // --PASS=OPTION=VALUE,OPTION=VALUE
    auto [passName, values] = name.split('=');
    std::string passOptions = values.str();
    std::replace(passOptions.begin(), passOptions.end(), ',', ' ');
    const PassRegistryEntry *entry = PassPipelineInfo::lookup(passName);
    if (!entry)
      entry = PassInfo::lookup(passName);
    auto report = [&](const llvm::Twine &message) {
      fail("opt: " + option + ": " + message);
      return failure();
    };
    if (!entry)
      return fail("opt: unknown option or pass " + option + "; --help lists the passes");
    if (failed(entry->addToPipeline(passes, passOptions, report)))
      return 1;
  }

  auto input = llvm::MemoryBuffer::getFileOrSTDIN(arguments.input, /*IsText=*/true);
  if (!input)
    return fail(arguments.input + ": " + input.getError().message());
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*input), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);
  auto module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module || failed(passes.run(*module)) || failed(verify(*module)))
    return 1;
  std::string text;
  llvm::raw_string_ostream out(text);
  module->print(out, flags);
  out << "\n";
  return write(arguments.output, text);
}

int drawLayouts(llvm::ArrayRef<std::string> words) {
  layout::DrawingSettings settings;
  std::vector<layout::DescribedLayout> layouts;
  for (llvm::StringRef word : words) {
    llvm::StringRef option = word;
    int64_t *limit = option.consume_front("--rows=")      ? &settings.maxRows
                     : option.consume_front("--columns=") ? &settings.maxColumns
                                                          : nullptr;
    if (limit) {
      if (option.getAsInteger(10, *limit) || *limit < 1)
        return fail("layout: " + word + ": expected a number from 1");
      continue;
    }
    if (word.starts_with("-"))
      return fail("layout: unknown option " + word);
    std::string problem;
    std::optional<layout::DescribedLayout> described = layout::parseDescription(word, problem);
    if (!described)
      return fail(problem);
    layouts.push_back(std::move(*described));
  }
  if (layouts.empty() || layouts.size() > 2)
    return fail("layout: expected one description or two, such as \"blocked 128x64 f16 warps=4\"");
  std::string text;
  llvm::raw_string_ostream out(text);
  for (const layout::DescribedLayout &described : layouts) {
    if (auto *tile = std::get_if<layout::TileLayout>(&described.layout))
      out << "#tile.layout<" << layout::print(*tile) << ">\n" << layout::draw(*tile, settings);
    else
      out << layout::draw(std::get<layout::SharedLayout>(described.layout), described.elementBits,
                          settings);
  }
  if (layouts.size() < 2)
    return write("-", text);
  auto *source = std::get_if<layout::TileLayout>(&layouts[0].layout),
       *destination = std::get_if<layout::TileLayout>(&layouts[1].layout);
  if (!source || !destination || source->shape() != destination->shape())
    return fail("layout: a conversion is between two tiles of one shape");
  out << layout::drawConversion(*source, *destination, layouts[0].elementBits);
  return write("-", text);
}

/// "kernel.py:12:9: load: the mask may change at every element argument=0 bytes=4 ...".
std::string asLine(const lang::Remark &remark) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (remark.line > 0)
    stream << remark.file << ":" << remark.line << ":" << remark.column << ": ";
  stream << remark.kind << ":";
  if (!remark.text.empty())
    stream << " " << remark.text;
  for (const auto &[name, number] : remark.numbers)
    stream << " " << name << "=" << number;
  return text;
}

/// --num-warps=8, --check=bounds, --debug: an option of backends/plain/CompileOptions.def. Returns
/// what is wrong with it.
std::string setOption(backends::CompileOptions &options, llvm::StringRef word) {
  auto [spelling, value] = word.split('=');
  std::string name = spelling.drop_front(std::min<size_t>(2, spelling.size())).str();
  std::replace(name.begin(), name.end(), '-', '_');
  for (const backends::OptionDescription &option : backends::optionTable()) {
    using Kind = backends::OptionDescription::Kind;
    if (name != option.keyword || !spelling.starts_with("--") || option.kind == Kind::Keyword)
      continue;
    bool isBare = option.kind == Kind::Flag && value.empty();
    if (options.setField(name, isBare ? "1" : value))
      return {};
    return (spelling + ": expected " +
            (option.kind == Kind::Count || option.kind == Kind::Choice ? option.range()
             : option.kind == Kind::Flag                               ? std::string("1 or 0")
                                                                       : std::string("bounds")) +
            ", found '" + value + "'")
        .str();
  }
  return ("unknown option " + word).str();
}

int compileFile(CompileDriver &driver, llvm::ArrayRef<std::string> words) {
  Arguments arguments(words);
  if (!arguments.problem.empty())
    return fail("compile: " + arguments.problem);
  CompileRequest request;
  std::string emit;
  bool wantsTimes = Knobs::fromEnvironment().timing != Knobs::Timing::None, wantsRemarks = false;
  unsigned repeat = 1;
  auto input = llvm::MemoryBuffer::getFileOrSTDIN(arguments.input, /*IsText=*/true);
  if (!input)
    return fail(arguments.input + ": " + input.getError().message());
  request.tileText = (*input)->getBuffer().str();
  readOptions(request.tileText, request.options);
  for (llvm::StringRef option : arguments.options) {
    if (option.consume_front("--emit="))
      emit = option.str();
    else if (option.consume_front("--target=")) {
      auto [backend, arch] = option.split(':'); // "cuda:90", "cpu", "cpu:x86-64-v3"
      request.options.backend = backend.str();
      request.options.arch = arch.str();
    } else if (option == "--remarks")
      wantsRemarks = true;
    else if (option == "--time")
      wantsTimes = true;
    else if (option.consume_front("--repeat=")) {
      if (option.getAsInteger(10, repeat) || repeat == 0)
        return fail("compile: --repeat: expected a number from 1, found '" + option + "'");
    } else if (std::string problem = setOption(request.options, option); !problem.empty())
      return fail("compile: " + problem);
  }
  request.wantStages = !emit.empty() && emit != "object";

  CompileResult result = driver.compile(request);
  while (--repeat)
    result = driver.compile(request);
  if (!result.diagnostics.empty())
    llvm::errs() << lang::render(result.diagnostics);
  if (!result.internalError.empty())
    llvm::errs() << "internal error: " << result.internalError << "\n"
                 << "reproducer: " << result.reproducer << "\n";
  if (wantsTimes)
    for (const auto &[step, seconds] : result.times)
      llvm::errs() << llvm::formatv("{0,10:f3} ms  {1}\n", seconds * 1e3, step);
  if (wantsRemarks && result.image)
    for (const lang::Remark &remark : result.image->remarks)
      llvm::errs() << asLine(remark) << "\n";
  const auto &stages = result.image ? result.image->stages : result.stages;
  if (auto found = stages.find(emit); found != stages.end())
    return write(arguments.output, found->second);
  if (!result.image)
    return 1;
  if (emit == "object")
    return write(arguments.output, result.image->binary);
  if (!emit.empty())
    return fail("compile: the " + result.image->backend + " back end has no stage '" + emit + "'");
  llvm::outs() << result.image->kernelName << ": " << result.image->targetName << ", "
               << result.image->binary.size() << " bytes";
  const backends::KernelImage &image = *result.image;
  llvm::outs() << ", " << spellOptions(image.options);
  if (image.gpu.threads)
    llvm::outs() << ", " << image.gpu.threads << " threads, " << image.gpu.sharedBytes
                 << " bytes of shared memory";
  llvm::outs() << "\n";
  return 0;
}

} // namespace

int CompileDriver::commandLine(const std::vector<std::string> &arguments) {
  // No destructor does (StaticLifetime.cpp).
  auto flushed = llvm::scope_exit([] { llvm::outs().flush(); });
  llvm::ArrayRef<std::string> words(arguments);
  llvm::StringRef command = words.empty() ? "" : llvm::StringRef(words.front());
  const Command *known = findCommand(command.str());
  if (!known || known->owner != Command::Owner::Compiler)
    return fail("the compiler has no command '" + command + "'");
  words = words.drop_front();
  optimizer::registerPasses();
  optimizer::registerGpuPasses();
  if (llvm::is_contained(words, "--help") || llvm::is_contained(words, "-h")) {
    llvm::outs() << known->usage;
    return command == "opt" ? listPasses() : command == "compile" ? listOptions() : 0;
  }
  if (command == "opt")
    return runPasses(words);
  if (command == "compile")
    return compileFile(*this, words);
  return drawLayouts(words);
}

} // namespace sectile::jit
