//===-- BlockValues.h - block pointers and tensor descriptors as values -----------------------===//
// Both describe an array of memory: base, extents, strides. A block pointer also says which block
// of it is meant, a descriptor how large its blocks are. They are tuples with names for their
// items, so calls, loops and branches carry them like any other tuple, as the SSA values that they
// hold:
//
//   block_pointer(base, shape, strides, offsets, block_shape, order)
//   tensor_descriptor(base, shape, strides, block_shape, padding)
//
// The fields from `block_shape` on are constants.
#pragma once

#include "lang/plain/LanguageClasses.h"
#include "lang/semantics/Semantics.h"

namespace sectile::lang {

/// An array of memory, and the extents of its blocks.
struct ArrayOfBlocks {
  Value base;                          // a pointer
  llvm::SmallVector<Value, 4> shape;   // integers of 32 or 64 bits
  llvm::SmallVector<Value, 4> strides; // in elements
  llvm::SmallVector<Value, 4> offsets; // of a block pointer: where its block begins
  llvm::SmallVector<int64_t, 4> blockShape;
  Constant last; // order of a block pointer, padding of a descriptor
};

/// What a block pointer or descriptor holds; nullopt for any other operand.
std::optional<ArrayOfBlocks> blockPointerIn(const Operand &operand);
std::optional<ArrayOfBlocks> tensorDescriptorIn(const Operand &operand);
Operand makeBlockPointer(const ArrayOfBlocks &array);
Operand makeTensorDescriptor(const ArrayOfBlocks &array);
/// A descriptor of the items that a launch passes, of whose integers some may be constants; a plain
/// tuple where there is no array.
Operand descriptorOfArguments(Semantics &sema, std::vector<Operand> items);

/// `dtype` of both: of a block pointer the pointer's, of a descriptor the element's; nullopt for
/// any other name or operand. Further attributes are the fields.
std::optional<Operand> attributeOfBlocks(const Operand &operand, llvm::StringRef name);

} // namespace sectile::lang
