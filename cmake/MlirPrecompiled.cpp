// Only carries the precompiled header that every LLVM- and MLIR-using target shares.
