#include "Assemble.h"

#include "backends/cpu/LinkSharedObject.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCAsmBackend.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCCodeEmitter.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCObjectFileInfo.h"
#include "llvm/MC/MCObjectWriter.h"
#include "llvm/MC/MCParser/MCAsmParser.h"
#include "llvm/MC/MCParser/MCTargetAsmParser.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTarget();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmPrinter();
void LLVMInitializeAMDGPUAsmParser();
}

namespace sectile::amdisa {
namespace {

llvm::Error failure(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

const llvm::Triple kTriple("amdgcn-amd-amdhsa");

llvm::Expected<const llvm::Target *> amdTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser();
  });
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (!target)
    return failure(error);
  return target;
}

llvm::Expected<std::string> generate(llvm::StringRef ir, llvm::StringRef chip,
                                     llvm::CodeGenFileType kind) {
  auto target = amdTarget();
  if (!target)
    return target.takeError();
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(ir, diagnostic, context);
  if (!module) {
    std::string text;
    llvm::raw_string_ostream out(text);
    diagnostic.print("", out, /*ShowColors=*/false);
    return failure(text);
  }
  std::unique_ptr<llvm::TargetMachine> machine(
      (*target)->createTargetMachine(kTriple, chip, "", llvm::TargetOptions(), llvm::Reloc::PIC_));
  module->setTargetTriple(kTriple);
  module->setDataLayout(machine->createDataLayout());

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder passes(machine.get());
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(components);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, components, modules);
  passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(*module, modules);

  llvm::SmallVector<char> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager generator;
  if (machine->addPassesToEmitFile(generator, out, nullptr, kind))
    return failure("no such output");
  generator.run(*module);
  return std::string(bytes.begin(), bytes.end());
}

} // namespace

llvm::Expected<std::string> compile(llvm::StringRef ir, llvm::StringRef chip) {
  return generate(ir, chip, llvm::CodeGenFileType::ObjectFile);
}

llvm::Expected<std::string> compileToAssembly(llvm::StringRef ir, llvm::StringRef chip) {
  return generate(ir, chip, llvm::CodeGenFileType::AssemblyFile);
}

llvm::Expected<std::string> assemble(llvm::StringRef text, llvm::StringRef chip) {
  auto target = amdTarget();
  if (!target)
    return target.takeError();
  llvm::MCTargetOptions options;
  llvm::SourceMgr sources;
  std::string messages;
  sources.setDiagHandler(
      [](const llvm::SMDiagnostic &diagnostic, void *text) {
        *static_cast<std::string *>(text) +=
            (diagnostic.getLineContents() + ": " + diagnostic.getMessage() + "\n").str();
      },
      &messages);
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text), llvm::SMLoc());
  std::unique_ptr<llvm::MCRegisterInfo> registers((*target)->createMCRegInfo(kTriple));
  std::unique_ptr<llvm::MCAsmInfo> assembly(
      (*target)->createMCAsmInfo(*registers, kTriple, options));
  std::unique_ptr<llvm::MCInstrInfo> opcodes((*target)->createMCInstrInfo());
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      (*target)->createMCSubtargetInfo(kTriple, chip, ""));
  llvm::MCContext context(kTriple, assembly.get(), registers.get(), subtarget.get(), &sources,
                          &options);
  std::unique_ptr<llvm::MCObjectFileInfo> sections(
      (*target)->createMCObjectFileInfo(context, /*PIC=*/true));
  context.setObjectFileInfo(sections.get());

  llvm::SmallVector<char> bytes;
  llvm::raw_svector_ostream out(bytes);
  std::unique_ptr<llvm::MCAsmBackend> backend(
      (*target)->createMCAsmBackend(*subtarget, *registers, options));
  std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(out);
  std::unique_ptr<llvm::MCCodeEmitter> emitter((*target)->createMCCodeEmitter(*opcodes, context));
  std::unique_ptr<llvm::MCStreamer> streamer((*target)->createMCObjectStreamer(
      kTriple, context, std::move(backend), std::move(writer), std::move(emitter), *subtarget));
  std::unique_ptr<llvm::MCAsmParser> parser(
      llvm::createMCAsmParser(sources, context, *streamer, *assembly));
  std::unique_ptr<llvm::MCTargetAsmParser> targetParser(
      (*target)->createMCAsmParser(*subtarget, *parser, *opcodes, options));
  parser->setTargetParser(*targetParser);
  if (parser->Run(/*NoInitialTextSection=*/false) || !messages.empty())
    return failure(messages.empty() ? "the text cannot be assembled" : messages);
  return std::string(bytes.begin(), bytes.end());
}

llvm::Expected<std::vector<uint8_t>> machineCode(llvm::StringRef object) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "kernel"));
  if (!file)
    return file.takeError();
  for (const llvm::object::SectionRef &section : (*file)->sections()) {
    auto name = section.getName();
    if (!name || *name != ".text")
      continue;
    auto content = section.getContents();
    if (!content)
      return content.takeError();
    return std::vector<uint8_t>(content->begin(), content->end());
  }
  return failure("the object has no code");
}

llvm::Expected<std::string> link(llvm::StringRef object, llvm::StringRef kernel) {
  return cpu::linkSharedObject(object, kernel, kernel);
}

} // namespace sectile::amdisa
