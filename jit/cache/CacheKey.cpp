#include "jit/cache/CacheKey.h"

#include "jit/cache/Digest.h"

#include <cstring>

namespace sectile::jit {
namespace {

void appendWord(std::string &bytes, uint64_t word) {
  bytes.append(reinterpret_cast<const char *>(&word), sizeof word);
}
void appendText(std::string &bytes, const std::string &text) {
  appendWord(bytes, text.size());
  bytes += text;
}
uint64_t word(lang::DType dtype) {
  return static_cast<uint64_t>(dtype.kind) | uint64_t{dtype.isPointer} << 8 |
         uint64_t{dtype.isConst} << 9;
}

struct Encoder {
  std::string bytes;
  References references;

  void operator()(lang::None) {}
  void operator()(bool value) { appendWord(bytes, value); }
  void operator()(lang::Int value) {
    auto wide = static_cast<unsigned __int128>(value);
    appendWord(bytes, static_cast<uint64_t>(wide));
    appendWord(bytes, static_cast<uint64_t>(wide >> 64));
  }
  void operator()(double value) { // by its bits: -0.0 is not 0.0
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    appendWord(bytes, bits);
  }
  void operator()(const std::string &value) { appendText(bytes, value); }
  void operator()(lang::DType value) { appendWord(bytes, word(value)); }
  void operator()(const lang::ConstantTuple &items) {
    appendWord(bytes, items->size());
    for (const lang::Constant &item : *items)
      add(item);
    tupleClass(items->tupleClass);
  }
  void operator()(const lang::BuiltinRef &value) { appendText(bytes, value.name); }
  void operator()(const lang::FunctionRef &value) { reference(value.id, value.name); }
  void operator()(const lang::ObjectRef &value) { reference(value.id, value.kind); }

  void add(const lang::Constant &constant) {
    appendWord(bytes, constant.value.index());
    std::visit(*this, constant.value);
  }
  void tupleClass(const lang::TupleClassRef &tupleClass) {
    appendWord(bytes, tupleClass ? 1 + tupleClass->fields.size() : 0);
    if (!tupleClass)
      return;
    appendText(bytes, tupleClass->name);
    for (const std::string &field : tupleClass->fields)
      appendText(bytes, field);
  }
  void reference(uint64_t id, const std::string &name) {
    if (references == References::ById)
      appendWord(bytes, id);
    else
      appendText(bytes, name);
  }
};

} // namespace

std::string encodeConstant(const lang::Constant &constant, References references) {
  Encoder encoder{{}, references};
  encoder.add(constant);
  return std::move(encoder.bytes);
}

void addToDigest(Digest &digest, const lang::KernelSignature &signature) {
  digest.add(signature.kernelName).add(signature.parameters.size());
  auto add = [&](auto &self, const lang::KernelParameter &parameter) -> void {
    digest.add(parameter.name).add(word(parameter.dtype)).add(uint64_t{parameter.divisibleBy16});
    digest.add(uint64_t{parameter.constant.has_value()} | uint64_t{parameter.items.has_value()}
                                                              << 1);
    if (parameter.constant)
      digest.add(encodeConstant(*parameter.constant, References::ByName));
    if (!parameter.items)
      return;
    Encoder tupleClass{{}, References::ByName};
    tupleClass.tupleClass(parameter.tupleClass);
    digest.add(tupleClass.bytes).add(parameter.items->size());
    for (const lang::KernelParameter &item : *parameter.items)
      self(self, item);
  };
  for (const lang::KernelParameter &parameter : signature.parameters)
    add(add, parameter);
}

std::string sourceKey(const std::string &sourceDigest, const lang::KernelSignature &signature,
                      const backends::CompileOptions &options, const KeyContext &context) {
  Digest digest("source key");
  digest.add(context.buildId).add(context.hostFingerprint).add(uint64_t{context.wantStages});
  digest.add(options.fingerprint()).add(sourceDigest).add(signature.variantName);
  addToDigest(digest, signature);
  return digest.hex();
}

std::string irKey(const std::string &irDigest, const backends::CompileOptions &options,
                  const KeyContext &context) {
  return Digest("IR key")
      .add(context.buildId)
      .add(context.hostFingerprint)
      .add(uint64_t{context.wantStages})
      .add(options.fingerprint())
      .add(irDigest)
      .hex();
}

} // namespace sectile::jit
