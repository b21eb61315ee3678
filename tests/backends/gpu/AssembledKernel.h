//===-- AssembledKernel.h - tile IR text to PTX, and to machine code where ptxas is present ---===//
//   AssembledKernel kernel(tileText, "sm_90a", /*warps=*/4);
//   ASSERT_EQ(kernel.problem(), "");
//   if (kernel.isAssembled())
//     EXPECT_EQ(kernel.spilledBytes(), 0);
#pragma once

#include "backends/plain/CompileOptions.h"

#include <cstdint>
#include <string>

namespace sectile::testing {

class AssembledKernel {
public:
  AssembledKernel(const std::string &tileText, const std::string &arch, int32_t warps,
                  const backends::CompileOptions &options = {});

  /// Diagnostics of the compiler or complaints of ptxas; empty when there are none.
  const std::string &problem() const { return message; }
  const std::string &ptx() const { return text; }
  int64_t sharedBytes() const { return shared; }
  /// False without a ptxas.
  bool isAssembled() const { return registers > 0; }
  int64_t registerCount() const { return registers; }
  int64_t spilledBytes() const { return spilled; }
  /// How often an instruction that starts like this is in the PTX.
  int64_t count(const std::string &instruction) const;

private:
  void assemble(const std::string &arch);

  std::string message, text;
  int64_t shared = 0, registers = 0, spilled = 0;
};

} // namespace sectile::testing
