#include "backends/amd/CodeObjectNotes.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Object/ELF.h"

namespace sectile::amd {

static llvm::Error failure(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "code object: " + message);
}

llvm::Expected<CodeObjectNotes> CodeObjectNotes::read(llvm::StringRef codeObject,
                                                      llvm::StringRef kernel) {
  auto file = llvm::object::ELF64LEFile::create(codeObject);
  if (!file)
    return file.takeError();
  auto headers = file->program_headers();
  if (!headers)
    return headers.takeError();
  llvm::msgpack::Document document;
  bool isFound = false;
  for (const auto &header : *headers) {
    if (header.p_type != llvm::ELF::PT_NOTE)
      continue;
    llvm::Error error = llvm::Error::success();
    for (auto note : file->notes(header, error))
      if (note.getName() == "AMDGPU" && note.getType() == llvm::ELF::NT_AMDGPU_METADATA)
        isFound |= document.readFromBlob(note.getDescAsStringRef(4), /*Multi=*/false);
    if (error)
      return std::move(error);
  }
  if (!isFound || !document.getRoot().isMap())
    return failure("no notes");
  auto kernels = document.getRoot().getMap().find("amdhsa.kernels");
  if (kernels == document.getRoot().getMap().end() || !kernels->second.isArray())
    return failure("the notes list no kernels");
  for (llvm::msgpack::DocNode &node : kernels->second.getArray()) {
    if (!node.isMap())
      continue;
    llvm::msgpack::MapDocNode &map = node.getMap();
    if (!map[".name"].isString() || map[".name"].getString() != kernel)
      continue;
    auto number = [&](const char *key) -> int64_t {
      llvm::msgpack::DocNode &value = map[key];
      return value.getKind() == llvm::msgpack::Type::UInt  ? int64_t(value.getUInt())
             : value.getKind() == llvm::msgpack::Type::Int ? value.getInt()
                                                           : 0;
    };
    CodeObjectNotes notes;
    notes.vectorRegisters = number(".vgpr_count");
    notes.accumulationRegisters = number(".agpr_count");
    notes.scalarRegisters = number(".sgpr_count");
    notes.vectorSpills = number(".vgpr_spill_count");
    notes.scalarSpills = number(".sgpr_spill_count");
    notes.sharedBytes = number(".group_segment_fixed_size");
    notes.scratchBytes = number(".private_segment_fixed_size");
    notes.argumentBytes = number(".kernarg_segment_size");
    notes.laneCount = number(".wavefront_size");
    return notes;
  }
  return failure("the notes do not describe '" + kernel + "'");
}

} // namespace sectile::amd
