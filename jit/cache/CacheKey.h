//===-- CacheKey.h - the two names of a compiled kernel ---------------------------------------===//
// sourceKey: from what is known without evaluating the kernel: digest of the source,
// specialisation, options, the build of the compiler, the host. A hit under it never enters the
// compiler. irKey: from the typed IR: different source, or source whose digest is not known, may
// give the same.
//
// All fields go into a Digest with their lengths, so no two inputs share a key.
#pragma once

#include "backends/plain/CompileOptions.h"
#include "lang/plain/KernelSignature.h"

#include <string>

namespace sectile::jit {

/// What a key depends on besides the kernel.
struct KeyContext {
  std::string buildId, hostFingerprint;
  bool wantStages = false;
};

std::string sourceKey(const std::string &sourceDigest, const lang::KernelSignature &signature,
                      const backends::CompileOptions &options, const KeyContext &context);
std::string irKey(const std::string &irDigest, const backends::CompileOptions &options,
                  const KeyContext &context);

class Digest;
/// What a kernel is specialised on: its name and its parameters. Functions and objects among the
/// constants are known by their names. What the variant is called is left out: who looks for code
/// that fits a launch does not know it.
void addToDigest(Digest &digest, const lang::KernelSignature &signature);

/// Kind and value as bytes; equal only for equal constants of one kind (1, 1.0 and True differ).
/// References: `ById` differs for any two within this process, `ByName` is the same in every
/// process.
enum class References { ById, ByName };
std::string encodeConstant(const lang::Constant &constant, References references);

} // namespace sectile::jit
