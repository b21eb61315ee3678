//===-- PrintFormat.h - the text of device_print
//----------------------------------------------------===//
//   pid (0, 1, 0) idx (3) x: 2.5
//
// One line per element, as Triton prints: program, index within the tile, prefix, value. Several
// operands are told apart by their place: "(operand 1)".
#pragma once

#include "backends/KernelImage.h"

#include <cstdint>
#include <string>

namespace sectile::backends {

/// `data`: each operand's elements, row-major, one operand after another, each aligned to 8 bytes;
/// `program` is linear over a grid of gridX by gridY.
std::string formatPrint(const PrintSite &site, int64_t program, int64_t gridX, int64_t gridY,
                        const void *data);

/// One number of `dtype` in memory, as text: "2.5", "-7", "true", "0x3f".
std::string formatElement(lang::DType dtype, const void *element, bool isHexadecimal);

} // namespace sectile::backends
