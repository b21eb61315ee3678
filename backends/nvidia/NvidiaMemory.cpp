// Global memory, by inline PTX where an access has a predicate or a modifier; else by LLVM's own
// loads and stores, whose addresses it can fold.
#include "backends/nvidia/NvidiaTarget.h"

#include "llvm/IR/InlineAsm.h"

using namespace mlir;

namespace sectile::nvidia {
namespace {

const char *const kPlain = ".global";

/// An access cut into registers of PTX: 16 bytes of half are four words of 32 bits.
struct Words {
  llvm::Type *whole; // the access as a scalar or vector of words
  unsigned bits, count;
  bool isVector() const { return count > 1; }
  const char *constraint() const { return bits <= 16 ? "h" : bits == 32 ? "r" : "l"; }
};

unsigned bytesOf(llvm::Type *type) {
  unsigned count = 1;
  if (auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
    count = vector->getNumElements();
    type = vector->getElementType();
  }
  return count * (type->isPointerTy() ? 8 : type->getPrimitiveSizeInBits() / 8);
}

Words wordsOf(llvm::IRBuilderBase &builder, llvm::Type *type) {
  unsigned bytes = bytesOf(type);
  llvm::Type *element = type->getScalarType();
  bool isWide = element->isPointerTy() || element->getPrimitiveSizeInBits() == 64;
  Words words{};
  words.bits = bytes < 4 ? bytes * 8 : isWide ? 64 : 32;
  words.count = bytes * 8 / words.bits;
  llvm::Type *word = builder.getIntNTy(words.bits);
  words.whole = words.isVector() ? llvm::FixedVectorType::get(word, words.count) : word;
  return words;
}

llvm::Value *toWords(llvm::IRBuilderBase &builder, llvm::Value *value, const Words &words) {
  llvm::Type *type = value->getType();
  if (type->getScalarType()->isPointerTy())
    value = builder.CreatePtrToInt(value, type->getWithNewType(builder.getInt64Ty()));
  return builder.CreateBitCast(value, words.whole);
}

llvm::Value *fromWords(llvm::IRBuilderBase &builder, llvm::Value *value, llvm::Type *type) {
  if (!type->getScalarType()->isPointerTy())
    return builder.CreateBitCast(value, type);
  value = builder.CreateBitCast(value, type->getWithNewType(builder.getInt64Ty()));
  return builder.CreateIntToPtr(value, type);
}

/// The text between "ld" and the type.
std::string modifiersOf(const gpu::GlobalAccess &access, bool isStore) {
  if (access.isVolatile && access.cache != tile::CacheModifier::CV)
    return ".volatile.global";
  std::string text;
  switch (access.cache) {
  case tile::CacheModifier::None:
    break;
  case tile::CacheModifier::CA:
    text = isStore ? ".wb" : ".ca";
    break;
  case tile::CacheModifier::CG:
    text = ".cg";
    break;
  case tile::CacheModifier::CS:
    text = ".cs";
    break;
  case tile::CacheModifier::CV:
    text = isStore ? ".wt" : ".cv";
    break;
  case tile::CacheModifier::WB:
    text = isStore ? ".wb" : ".ca";
    break;
  case tile::CacheModifier::WT:
    text = isStore ? ".wt" : ".cv";
    break;
  }
  // PTX takes an eviction priority only without a cache operator.
  if (!text.empty())
    return ".global" + text;
  if (access.eviction == tile::EvictionPolicy::EvictFirst)
    return ".global.L1::evict_first";
  if (access.eviction == tile::EvictionPolicy::EvictLast)
    return ".global.L1::evict_last";
  return kPlain;
}

std::string suffixOf(const Words &words) {
  std::string vector = words.count == 1 ? "" : ".v" + std::to_string(words.count);
  return vector + ".b" + std::to_string(words.bits);
}

/// "{$0, $1}" or "$0".
std::string listFrom(unsigned first, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return count == 1 ? text : "{" + text + "}";
}

llvm::Value *wordAt(llvm::IRBuilderBase &builder, llvm::Value *whole, const Words &words,
                    unsigned number) {
  return words.isVector() ? builder.CreateExtractElement(whole, uint64_t(number)) : whole;
}

} // namespace

llvm::Value *NvidiaTarget::load(llvm::IRBuilderBase &builder, const gpu::GlobalAccess &access,
                                llvm::Value *other) const {
  if (auto *known = llvm::dyn_cast_or_null<llvm::ConstantInt>(access.predicate);
      known && known->isZero())
    return other ? other : llvm::Constant::getNullValue(access.type);
  std::string modifiers = modifiersOf(access, /*isStore=*/false);
  if (!access.predicate && modifiers == kPlain)
    return builder.CreateAlignedLoad(access.type, access.address,
                                     llvm::Align(bytesOf(access.type)));

  Words words = wordsOf(builder, access.type);
  // A byte is loaded into a register of 16 bits.
  unsigned registerBits = std::max(16u, words.bits);
  llvm::Type *word = builder.getIntNTy(registerBits);
  std::string text, constraints;
  SmallVector<llvm::Value *, 8> operands;
  SmallVector<llvm::Type *, 8> types;
  auto add = [&](const char *constraint, llvm::Value *value) {
    constraints += std::string(",") + constraint;
    operands.push_back(value);
    types.push_back(value->getType());
  };
  // `other` is moved in before address and predicate are read.
  const char *output = access.predicate ? "=&" : "=";
  for (unsigned i = 0; i < words.count; ++i)
    constraints += std::string(i ? "," : "") + output + words.constraint();
  unsigned next = words.count;
  if (access.predicate) {
    llvm::Value *rest = other ? toWords(builder, other, words) : nullptr;
    for (unsigned i = 0; i < words.count; ++i) {
      std::string move = "mov.b" + std::to_string(registerBits) + " $" + std::to_string(i) + ", ";
      if (!rest) {
        text += move + "0; ";
        continue;
      }
      text += move + "$" + std::to_string(next++) + "; ";
      add(words.constraint(), builder.CreateZExtOrTrunc(wordAt(builder, rest, words, i), word));
    }
  }
  unsigned address = next++;
  add("l", access.address);
  if (access.predicate) {
    text += "@$" + std::to_string(next++) + " ";
    add("b", access.predicate);
  }
  text += "ld" + modifiers + suffixOf(words) + " " + listFrom(0, words.count) + ", [$" +
          std::to_string(address) + "];";
  llvm::Type *resultType =
      words.count == 1 ? word
                       : llvm::StructType::get(builder.getContext(),
                                               SmallVector<llvm::Type *, 4>(words.count, word));
  // Memory may change between two loads: they are not to be merged.
  auto *assembly = llvm::InlineAsm::get(llvm::FunctionType::get(resultType, types, false), text,
                                        constraints, /*hasSideEffects=*/true);
  llvm::Value *result = builder.CreateCall(assembly, operands);
  llvm::Value *whole = llvm::PoisonValue::get(words.whole);
  if (words.isVector()) {
    for (unsigned i = 0; i < words.count; ++i)
      whole =
          builder.CreateInsertElement(whole, builder.CreateExtractValue(result, i), uint64_t(i));
  } else {
    whole = builder.CreateTrunc(result, words.whole);
  }
  return fromWords(builder, whole, access.type);
}

void NvidiaTarget::store(llvm::IRBuilderBase &builder, const gpu::GlobalAccess &access,
                         llvm::Value *value) const {
  std::string modifiers = modifiersOf(access, /*isStore=*/true);
  if (!access.predicate && modifiers == kPlain) {
    builder.CreateAlignedStore(value, access.address, llvm::Align(bytesOf(access.type)));
    return;
  }
  Words words = wordsOf(builder, access.type);
  llvm::Value *whole = toWords(builder, value, words);
  unsigned registerBits = std::max(16u, words.bits);
  std::string constraints = "l";
  SmallVector<llvm::Value *, 8> operands{access.address};
  for (unsigned i = 0; i < words.count; ++i) {
    constraints += std::string(",") + words.constraint();
    operands.push_back(builder.CreateZExtOrTrunc(wordAt(builder, whole, words, i),
                                                 builder.getIntNTy(registerBits)));
  }
  std::string text;
  if (access.predicate) {
    text = "@$" + std::to_string(words.count + 1) + " ";
    constraints += ",b";
    operands.push_back(access.predicate);
  }
  text += "st" + modifiers + suffixOf(words) + " [$0], " + listFrom(1, words.count) + ";";
  SmallVector<llvm::Type *, 8> types;
  for (llvm::Value *operand : operands)
    types.push_back(operand->getType());
  auto *assembly = llvm::InlineAsm::get(llvm::FunctionType::get(builder.getVoidTy(), types, false),
                                        text, constraints + ",~{memory}", /*hasSideEffects=*/true);
  builder.CreateCall(assembly, operands);
}

} // namespace sectile::nvidia
