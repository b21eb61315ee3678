#include "Decode.h"

#include "Semantics.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrDesc.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FormatVariadic.h"

#include <mutex>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUDisassembler();
}

namespace sectile::amdisa {
namespace {

llvm::Error failure(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

bool isMemoryName(llvm::StringRef name) {
  return name.starts_with("GLOBAL_") || name.starts_with("FLAT_") || name.starts_with("SCRATCH_") ||
         name.starts_with("BUFFER_") || name.starts_with("DS_") || name.starts_with("S_LOAD_") ||
         name.starts_with("S_BUFFER_LOAD_");
}

Stream streamOf(llvm::StringRef name) {
  if (name.starts_with("DS_"))
    return Stream::Lds;
  if (name.starts_with("S_"))
    return Stream::Scalar;
  return name.starts_with("FLAT_") ? Stream::Flat : Stream::Load;
}

/// The parts of a name in lower case are encodings and targets: the semantics' name ends before
/// them.
llvm::StringRef beforeSuffixes(llvm::StringRef opcode) {
  for (size_t at = opcode.find('_'); at != llvm::StringRef::npos; at = opcode.find('_', at + 1)) {
    llvm::StringRef part = opcode.drop_front(at + 1).take_until([](char c) { return c == '_'; });
    if (llvm::any_of(part, [](char c) { return llvm::isLower(c); }))
      return opcode.take_front(at);
  }
  return opcode;
}

/// Instructions of 16 bits that came with gfx9 leave the other half of their destination alone;
/// those with LEGACY in their name clear it, as all others do there.
bool keepsOtherHalf(llvm::StringRef name) {
  if (name.contains("_LEGACY_"))
    return false;
  return name.starts_with("V_FMA_F16") || name.starts_with("V_MAD_") ||
         name.starts_with("V_DIV_FIXUP_F16") || name.starts_with("V_MIN3_") ||
         name.starts_with("V_MAX3_") || name.starts_with("V_MED3_") ||
         name.starts_with("V_ADD_I16") || name.starts_with("V_SUB_I16") ||
         name.starts_with("V_BITOP3_B16");
}

/// "VGPR3_VGPR4" -> {vector, 2 words from 3}. Registers that no memory operation fills are left
/// out.
bool rangeOfRegister(llvm::StringRef name, RegisterRange &range) {
  if (name == "VCC" || name == "VCC_LO" || name == "VCC_HI") {
    range = {false, uint8_t(name == "VCC" ? 2 : 1), uint16_t(name == "VCC_HI" ? kVcc + 1 : kVcc)};
    return true;
  }
  unsigned words = 1 + llvm::count(name, '_'), base = 0;
  if (name.consume_front("VGPR") || name.consume_front("SGPR") || name.consume_front("AGPR")) {
    char kind = (name.data() - 4)[0];
    base = kind == 'A' ? kAccumulators : 0;
    unsigned number;
    if (name.take_while([](char c) { return llvm::isDigit(c); }).getAsInteger(10, number))
      return false;
    if (name.contains("_LO16") || name.contains("_HI16"))
      words = 1;
    range = {kind != 'S', uint8_t(words), uint16_t(base + number)};
    return true;
  }
  return false;
}

class LlvmDecoder final : public Decoder {
public:
  llvm::Error initialize(llvm::StringRef name);
  llvm::Expected<Program> decode(llvm::StringRef kernel, llvm::ArrayRef<uint8_t> code,
                                 uint64_t address) override;

private:
  llvm::Error decodeOne(const llvm::MCInst &inst, llvm::StringRef text, Instruction &instruction);
  llvm::Error parse(llvm::StringRef text, std::vector<Operand> &operands, Modifiers &modifiers);
  void findRegisters(const llvm::MCInst &inst, Instruction &instruction);
  llvm::Error findSemantics(llvm::StringRef name, llvm::StringRef text, Instruction &instruction);

  Chip chip;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> assembly;
  std::unique_ptr<llvm::MCInstrInfo> opcodes;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;
};

llvm::Error LlvmDecoder::initialize(llvm::StringRef name) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
  });
  if (name != "gfx90a" && name != "gfx942" && name != "gfx950" && name != "gfx1100" &&
      name != "gfx1201")
    return failure("the interpreter does not model " + name);
  chip.name = name.str();
  chip.generation = name.starts_with("gfx9") ? 9 : name.starts_with("gfx11") ? 11 : 12;
  chip.hasFnuz = name == "gfx942";
  chip.isGfx90a = name == "gfx90a";
  chip.lanes = chip.generation == 9 ? 64 : 32;

  llvm::Triple triple("amdgcn-amd-amdhsa");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return failure(error);
  registers.reset(target->createMCRegInfo(triple));
  assembly.reset(target->createMCAsmInfo(*registers, triple, llvm::MCTargetOptions()));
  opcodes.reset(target->createMCInstrInfo());
  subtarget.reset(target->createMCSubtargetInfo(triple, name, ""));
  context =
      std::make_unique<llvm::MCContext>(triple, assembly.get(), registers.get(), subtarget.get());
  disassembler.reset(target->createMCDisassembler(*subtarget, *context));
  printer.reset(target->createMCInstPrinter(triple, 0, *assembly, *opcodes, *registers));
  return llvm::Error::success();
}

/// The next operand or modifier: up to a comma or a space outside brackets.
llvm::StringRef nextWord(llvm::StringRef &text) {
  text = text.ltrim(" \t,");
  int depth = 0;
  size_t end = 0;
  for (; end < text.size(); ++end) {
    char c = text[end];
    depth += c == '[' || c == '(';
    depth -= c == ']' || c == ')';
    if (depth == 0 && (c == ',' || c == ' ' || c == '\t'))
      break;
  }
  llvm::StringRef word = text.take_front(end);
  text = text.drop_front(end);
  return word;
}

llvm::Error LlvmDecoder::parse(llvm::StringRef text, std::vector<Operand> &operands,
                               Modifiers &modifiers) {
  for (llvm::StringRef word = nextWord(text); !word.empty(); word = nextWord(text)) {
    Operand operand;
    if (parseOperand(word, operand))
      operands.push_back(operand);
    else if (!parseModifier(word, modifiers))
      return failure("operand '" + word + "' is not modelled");
  }
  return llvm::Error::success();
}

void LlvmDecoder::findRegisters(const llvm::MCInst &inst, Instruction &instruction) {
  const llvm::MCInstrDesc &description = opcodes->get(inst.getOpcode());
  auto add = [&](llvm::MCRegister number, std::vector<RegisterRange> &ranges) {
    RegisterRange range;
    if (number && rangeOfRegister(registers->getName(number), range))
      ranges.push_back(range);
  };
  for (unsigned place = 0; place < inst.getNumOperands(); ++place) {
    // The disassembler leaves what is tied to a destination as the bits stand, which lack one in
    // the second half of two instructions in one.
    int tied = description.getOperandConstraint(place, llvm::MCOI::TIED_TO);
    const llvm::MCOperand &operand = inst.getOperand(tied < 0 ? place : unsigned(tied));
    if (operand.isReg())
      add(operand.getReg(),
          place < description.getNumDefs() ? instruction.writes : instruction.reads);
    else if (operand.isImm())
      instruction.immediates.push_back(operand.getImm());
  }
  for (llvm::MCPhysReg number : description.implicit_uses())
    add(number, instruction.reads);
  for (llvm::MCPhysReg number : description.implicit_defs())
    add(number, instruction.writes);
  if (!instruction.isMemory)
    return;
  // Loads of half a register name their destination as a source, too: loads keep their order.
  llvm::erase_if(instruction.reads, [&](RegisterRange read) {
    return llvm::any_of(instruction.writes, [&](RegisterRange write) {
      return read.isVector == write.isVector && read.index == write.index &&
             read.words == write.words && description.mayLoad() && !description.mayStore();
    });
  });
}

llvm::Error LlvmDecoder::findSemantics(llvm::StringRef name, llvm::StringRef text,
                                       Instruction &instruction) {
  if (!text.contains(" :: ")) {
    instruction.execute = semantics().find(name);
    if (instruction.execute)
      return llvm::Error::success();
    return failure("is not modelled (" + name + ")");
  }
  // Two instructions in one: their names follow from the text.
  llvm::StringRef texts[2] = {text.split(" :: ").first, text.split(" :: ").second};
  auto second = std::make_shared<Instruction>();
  second->text = instruction.text;
  Instruction *halves[2] = {&instruction, second.get()};
  for (int half = 0; half < 2; ++half) {
    auto [mnemonic, rest] = texts[half].ltrim().split(' ');
    std::string single = mnemonic.upper();
    single = "V_" + single.substr(strlen("V_DUAL_"));
    if (single == "V_ADD_NC_U32")
      single = "V_ADD_U32";
    if (single == "V_MAX_NUM_F32" || single == "V_MIN_NUM_F32")
      single.erase(5, 4);
    if (llvm::StringRef(single).starts_with("V_DOT2ACC"))
      single = "V_DOT2C" + single.substr(strlen("V_DOT2ACC"));
    Execute execute = semantics().find(single);
    if (!execute)
      return failure("is not modelled (" + single + ")");
    halves[half]->execute = execute;
    std::vector<Operand> &operands = halves[half]->operands;
    if (llvm::Error error = parse(rest, operands, halves[half]->modifiers))
      return error;
    // v_dual_cndmask_b32 reads VCC without naming it.
    if (single == "V_CNDMASK_B32" && operands.size() == 3) {
      Operand vcc;
      parseOperand("vcc_lo", vcc);
      operands.push_back(vcc);
    }
  }
  instruction.second = std::move(second);
  return llvm::Error::success();
}

llvm::Error LlvmDecoder::decodeOne(const llvm::MCInst &inst, llvm::StringRef text,
                                   Instruction &instruction) {
  llvm::StringRef opcode = opcodes->getName(inst.getOpcode());
  instruction.name = semanticName(opcode);
  instruction.text = text.str();
  llvm::StringRef name = instruction.name;
  instruction.isMemory = isMemoryName(name);
  instruction.stream = instruction.isMemory ? streamOf(name) : Stream::Message;
  instruction.keepsOtherHalf = keepsOtherHalf(name);
  Modifiers &modifiers = instruction.modifiers;
  modifiers.isSdwa = opcode.contains("_sdwa");
  modifiers.returnsValue = opcode.contains("_RTN");
  // Operands of these are words of their own syntax; the immediates have what matters.
  bool isAnswered = name.starts_with("S_SENDMSG_RTN");
  bool isControl = name.starts_with("S_WAIT") || name.starts_with("S_SENDMSG") ||
                   name.starts_with("S_DELAY_ALU") || name.starts_with("S_SETREG") ||
                   name.starts_with("S_GETREG") || name.starts_with("S_CBRANCH") ||
                   name == "S_BRANCH" || name.starts_with("BUFFER_INV") ||
                   name.starts_with("BUFFER_WB") || name.starts_with("GLOBAL_INV") ||
                   name.starts_with("GLOBAL_WB");
  bool isDual = text.contains(" :: ");
  llvm::StringRef rest = text.ltrim().drop_while([](char c) { return c != ' ' && c != '\t'; });
  bool readsState = name.starts_with("S_GETREG") || isAnswered;
  if (readsState || name.starts_with("S_SETREG_B32"))
    rest = readsState ? rest.split(',').first : rest.rsplit(',').second;
  if (!isDual && (!isControl || readsState || name.starts_with("S_SETREG_B32")))
    if (llvm::Error error = parse(rest, instruction.operands, modifiers))
      return error;
  instruction.isPlain = modifiers.move == LaneMove::None && !modifiers.isSdwa;
  findRegisters(inst, instruction);
  return findSemantics(name, text, instruction);
}

llvm::Expected<Program> LlvmDecoder::decode(llvm::StringRef kernel, llvm::ArrayRef<uint8_t> code,
                                            uint64_t address) {
  Program program;
  program.kernel = kernel.str();
  program.chip = chip;
  program.begin = address;
  program.atWord.assign(code.size() / 4 + 1, -1);
  for (uint64_t at = 0; at < code.size();) {
    llvm::MCInst inst;
    uint64_t size = 0;
    auto status =
        disassembler->getInstruction(inst, size, code.drop_front(at), address + at, llvm::nulls());
    auto place = [&] { return llvm::formatv("{0} at {1:x}: ", kernel, at).str(); };
    if (status != llvm::MCDisassembler::Success || size == 0)
      return failure(place() + "bytes are no instruction of " + chip.name);
    std::string text;
    llvm::raw_string_ostream out(text);
    printer->printInst(&inst, address + at, "", *subtarget, out);
    Instruction instruction;
    instruction.address = address + at;
    llvm::StringRef trimmed = llvm::StringRef(text).split("//").first.trim();
    if (llvm::Error error = decodeOne(inst, trimmed, instruction))
      return failure(place() + "`" + trimmed + "` " + llvm::toString(std::move(error)));
    program.atWord[at / 4] = int32_t(program.instructions.size());
    program.instructions.push_back(std::move(instruction));
    at += size;
  }
  for (Instruction &instruction : program.instructions) {
    llvm::StringRef name = instruction.name;
    if (!(name == "S_BRANCH" || name.starts_with("S_CBRANCH")) || instruction.immediates.empty())
      continue;
    uint64_t goal = instruction.address + 4 + int64_t(int16_t(instruction.immediates[0])) * 4;
    const Instruction *found = program.at(goal);
    if (!found)
      return failure(llvm::formatv("{0} at {1:x}: `{2}` leaves the kernel", kernel,
                                   instruction.address - address, instruction.text));
    instruction.target = int32_t(found - program.instructions.data());
  }
  return program;
}

} // namespace

std::string semanticName(llvm::StringRef opcode) {
  llvm::StringRef name = beforeSuffixes(opcode);
  // Some opcodes of gfx11 have two names: "V_CVT_F16_F32V_CVT_F16_F32_t16_e64_gfx11".
  for (size_t again = name.find("V_", 1); again != llvm::StringRef::npos;
       again = name.find("V_", again + 1))
    if (llvm::isDigit(name[again - 1])) {
      name = name.drop_front(again);
      break;
    }
  if (isMemoryName(name)) {
    for (bool changed = true; changed;) {
      changed = false;
      for (llvm::StringRef suffix : {"_SADDR", "_RTN", "_IMM", "_SGPR", "_OFFEN", "_OFFSET",
                                     "_BOTHEN", "_IDXEN", "_VBUFFER", "_ST", "_SVS", "_LDS", "_VE"})
        changed |= name.consume_back(suffix);
    }
  }
  return name.str();
}

llvm::Expected<std::unique_ptr<Decoder>> Decoder::create(llvm::StringRef chip) {
  auto decoder = std::make_unique<LlvmDecoder>();
  if (llvm::Error error = decoder->initialize(chip))
    return std::move(error);
  return decoder;
}

} // namespace sectile::amdisa
