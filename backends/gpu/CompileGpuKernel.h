//===-- CompileGpuKernel.h - the way of a kernel through the back end of any GPU --------------===//
// From optimised tile IR (optimizer/Pipeline.h) to code. One maker's back end brings its
// instructions (GpuTarget.h), what becomes of LLVM IR (GpuCodegen), and the names in the image:
//
//   NvidiaTarget target(arch);
//   PtxCodegen codegen(arch);
//   backends::KernelImage image;
//   image.backend = "cuda", image.targetName = "nvptx64:sm_90a";
//   return gpu::compileGpuKernel(function, target, codegen, std::move(image), context);
#pragma once

#include "backends/Backend.h"
#include "backends/gpu/GpuTarget.h"
#include "optimizer/gpu/GpuShape.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sectile::gpu {

/// What one maker's back end does with the LLVM IR of one thread. A function that returns false has
/// set `error`.
class GpuCodegen {
public:
  virtual ~GpuCodegen() = default;
  /// The stage that its code is shown as: "ptx".
  virtual llvm::StringRef codeName() const = 0;
  /// The kernel's name as the code may spell it.
  virtual std::string symbolOf(llvm::StringRef kernelName) const = 0;
  /// Notes in the kernel's attributes what the assembler should aim at: registers few enough for
  /// `programs` of them on a multiprocessor; 0 leaves it the choice. `function` is laid out.
  virtual void tune(llvm::Function &kernel, mlir::func::FuncOp function,
                    int64_t programs) const = 0;
  virtual bool optimize(llvm::Module &module, std::string &error) = 0;
  /// Given a function that makes the code's text, shows it to those who ask for the stage.
  using CodeObserver = llvm::function_ref<void(llvm::function_ref<std::string()>)>;
  /// Fills the image's binary, shows the code as text, and consumes the module's code. The rest of
  /// the image is complete.
  virtual bool emit(llvm::Module &module, backends::KernelImage &image, CodeObserver observe,
                    std::string &error) = 0;
};

/// Returns how many warps the one block has that runs a program: those of all the blocks that are
/// asked for, or as many as fit.
int32_t warpsOfAllBlocks(const backends::CompileOptions &options, const GpuTarget &target);

/// Whether such a compile may leave copies to an engine. A kernel that can stop half way must not:
/// nobody would wait for what is under way.
inline bool takesTensorCopies(const backends::CompileOptions &options) {
  return !options.pointersOnly && !options.reportsAssertions() && !options.checkBounds;
}

/// What the passes may count on: the one place where abilities of a target become facts of a shape.
/// The shape asks the target, which must outlive it.
optimizer::GpuShape shapeOf(const GpuTarget &target, int64_t warpCount);

/// `image` comes with the names of the back end and of its target. On failure the function's
/// context has the diagnostics.
mlir::FailureOr<backends::KernelImage>
compileGpuKernel(mlir::func::FuncOp function, const GpuTarget &target, GpuCodegen &codegen,
                 backends::KernelImage image, const backends::CompileContext &context);

/// What is decided of a kernel as a whole when it is laid out.
struct LaidOut {
  /// See GpuCodegen::tune.
  int64_t programs = 0;
  /// Arguments whose memory stays as it is (optimizer/gpu/ConstantArguments.h).
  llvm::SmallVector<unsigned> constants;
};

/// The later half, of a kernel that is laid out.
mlir::FailureOr<backends::KernelImage>
compileLaidOutKernel(mlir::func::FuncOp function, const GpuTarget &target, GpuCodegen &codegen,
                     backends::KernelImage image, const backends::CompileContext &context,
                     const LaidOut &decided = {});

} // namespace sectile::gpu
