//===-- DescriptorKind.h - kinds of tensor descriptors as text --------------------------------===//
// How a tensor descriptor is written where the kinds of arguments are, in Triton's notation with
// what Triton leaves out behind it:
//
//   tensordesc<fp16[128, 64]>                      extents that are no multiples of 16
//   tensordesc<fp16[128, 64]>(i32, i32:16)         the second one is
//   ... strides (i32:16, 1)                        where rows do not follow each other without gaps
//   ... nan                                        reads NaN outside of the array
//
// The address of the array is a multiple of 16, as the language demands. Without `strides` those of
// an array without gaps are meant: a multiple of 16 where an extent further inside is one, and i64
// where one is.
#pragma once

#include "lang/plain/KernelSignature.h"

#include <optional>
#include <string>
#include <string_view>

namespace sectile::lang {

/// Whether a text means to be the kind of a tensor descriptor: it begins with "tensordesc".
bool isDescriptorKind(std::string_view text);
/// The parameter that the text describes, without a name. None, and why in `problem`, for a text
/// that describes no descriptor.
std::optional<KernelParameter> parseDescriptorKind(std::string_view text, std::string &problem);
/// The text of a parameter that is a tensor descriptor; none for others, and for a descriptor that
/// has no such text.
std::optional<std::string> descriptorKindText(const KernelParameter &parameter);

} // namespace sectile::lang
