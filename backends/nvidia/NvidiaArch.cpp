#include "backends/nvidia/NvidiaArch.h"

namespace sectile::nvidia {

std::optional<NvidiaArch> NvidiaArch::parse(llvm::StringRef text) {
  struct Known {
    int capability;
    const char *name;
    int sharedKilobytes, ptxVersion;
  };
  // 9.0 is known since PTX 7.8; 8.1 has its vectors of atomics. 10.0 and 12.0 need CUDA 12.8, of
  // PTX 8.6 and 8.7.
  static constexpr Known all[] = {{80, "sm_80", 163, 80},    {86, "sm_86", 99, 80},
                                  {89, "sm_89", 99, 81},     {90, "sm_90a", 227, 81},
                                  {100, "sm_100a", 227, 86}, {120, "sm_120a", 99, 87}};
  if (text.consume_front("sm"))
    text.consume_front("_");
  text.consume_back("a");
  int capability = 0;
  if (text.getAsInteger(10, capability))
    return std::nullopt;
  for (const Known &known : all)
    if (known.capability == capability)
      return NvidiaArch{known.name, known.capability, known.sharedKilobytes * 1024,
                        known.ptxVersion};
  return std::nullopt;
}

} // namespace sectile::nvidia
