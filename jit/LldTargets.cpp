// LLD initialises every target LLVM was built with, linked in or not. These are the initialisers of
// those we leave out; which they are follows from SECTILE_LLVM_TARGETS (cmake/SectileLlvm.cmake).
#define SECTILE_ABSENT_TARGET(name)                                                                \
  extern "C" void LLVMInitialize##name##TargetInfo();                                              \
  extern "C" void LLVMInitialize##name##TargetInfo() {}                                            \
  extern "C" void LLVMInitialize##name##Target();                                                  \
  extern "C" void LLVMInitialize##name##Target() {}                                                \
  extern "C" void LLVMInitialize##name##TargetMC();                                                \
  extern "C" void LLVMInitialize##name##TargetMC() {}                                              \
  extern "C" void LLVMInitialize##name##AsmPrinter();                                              \
  extern "C" void LLVMInitialize##name##AsmPrinter() {}                                            \
  extern "C" void LLVMInitialize##name##AsmParser();                                               \
  extern "C" void LLVMInitialize##name##AsmParser() {}

#include "jit/AbsentTargets.def"
