//===-- LanguageClasses.h - classes of tuples that are the language's own ---------------------===//
// Their instances are values of a kernel with methods (lang/semantics/BlockValues.h). A descriptor
// may also be an argument of a launch.
#pragma once

#include "lang/plain/Constant.h"

namespace sectile::lang {

/// block_pointer(base, shape, strides, offsets, block_shape, order)
const TupleClassRef &blockPointerClass();
/// tensor_descriptor(base, shape, strides, block_shape, padding)
const TupleClassRef &tensorDescriptorClass();

} // namespace sectile::lang
