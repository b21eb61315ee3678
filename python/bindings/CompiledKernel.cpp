// The Python face of a compiled kernel: what kernel[grid](...) and kernel.warmup(...) return.

#include "Launcher.h"
#include "jit/cache/Digest.h"
#include "jit/runtime/Runtime.h"

namespace sectile::bindings {

namespace {

struct CompiledKernel {
  std::shared_ptr<const jit::Kernel> kernel;
  py::object metadata;
  py::weakref owner;
};

py::dict stagesOf(const CompiledKernel &self) {
  py::dict stages;
  for (const auto &[name, text] : self.kernel->image().stages)
    stages[py::str(name)] = py::str(text);
  const backends::KernelImage &image = self.kernel->image();
  bool isGpu = image.backend != "cpu", isElf = image.binary.rfind("\x7f"
                                                                  "ELF",
                                                                  0) == 0;
  if (isGpu && !isElf)
    stages["ptx"] = py::str(image.binary);
  else
    stages[image.backend == "hip" ? "hsaco" : isGpu ? "cubin" : "so"] = py::bytes(image.binary);
  return stages;
}

/// Returns a text that differs between compiled kernels and is the same in every process.
std::string hashOf(const jit::Kernel &kernel) {
  const jit::Provenance &made = kernel.provenance();
  jit::Digest digest("compiled kernel");
  digest.add(made.sourceDigest);
  digest.add(made.variant);
  digest.add(made.options);
  digest.add(kernel.image().targetName);
  return digest.hex();
}

/// The options as attributes, and what Triton's users read besides.
py::object metadataOf(const jit::Kernel &kernel) {
  const backends::KernelImage &image = kernel.image();
  py::dict fields;
  fields["name"] = image.kernelName;
  fields["target"] = image.targetName;
  fields["backend"] = image.backend;
  fields["hash"] = hashOf(kernel);
  fields["scratch_bytes"] = image.scratchBytes;
  const backends::CompileOptions &options = image.options;
#define SECTILE_COUNT(field, keyword, initial, least, most, rule, help)                            \
  fields[#keyword] = countOf(options.field, backends::OptionDescription::Rule::rule);
#define SECTILE_FLAG(field, keyword, initial, help) fields[#keyword] = options.field;
#define SECTILE_CHECK(field, keyword, word, help)                                                  \
  fields[#keyword] = options.field ? py::object(py::str(#word)) : py::none();
#define SECTILE_CHOICE(type, field, keyword, help)                                                 \
  fields[#keyword] = py::str(std::string(wordsOf(options.field)[size_t(options.field)]));
#include "backends/plain/CompileOptions.def"
  fields["arguments_overlap"] = options.argumentsOverlap;
  fields["device_memory"] = options.deviceMemory;
  fields["pointers_only"] = options.pointersOnly;
  fields["tensor_maps"] = image.tensorMaps.size();
  fields["shared"] = image.gpu.sharedBytes;
  if (image.gpu.threads)
    fields["threads"] = image.gpu.threads;
  return py::module_::import("sectile.runtime.compiled").attr("Metadata")(**fields);
}

/// What sectile/runtime/compiled.py implements.
template <class... Arguments>
py::object ofPython(const char *function, const Arguments &...arguments) {
  return py::module_::import("sectile.runtime.compiled").attr(function)(arguments...);
}

py::list argumentsOf(const CompiledKernel &self) {
  py::list result;
  for (const backends::KernelArgument &argument : self.kernel->image().arguments)
    result.append(py::make_tuple(argument.name, argument.dtype.name(), argument.isWritten));
  return result;
}

/// Returns how it was made, as its cache entry records.
py::dict provenanceOf(const CompiledKernel &self) {
  const jit::Provenance &made = self.kernel->provenance();
  py::dict result;
  result["source_digest"] = made.sourceDigest;
  result["variant"] = made.variant;
  result["options"] = made.options;
  result["version"] = made.version;
  result["created_at"] = made.createdAt;
  result["compile_seconds"] = made.compileSeconds;
  result["measured_seconds"] = made.measuredSeconds;
  return result;
}

/// As dictionaries: sectile.runtime.inspection makes objects of them.
py::list remarksOf(const CompiledKernel &self) {
  py::list result;
  for (const lang::Remark &remark : self.kernel->image().remarks) {
    py::dict numbers;
    for (const auto &[name, number] : remark.numbers)
      numbers[py::str(name)] = number;
    py::dict one;
    one["kind"] = remark.kind;
    one["text"] = remark.text;
    one["file"] = remark.file;
    one["function"] = remark.function;
    one["line"] = remark.line;
    one["column"] = remark.column;
    one["numbers"] = std::move(numbers);
    result.append(std::move(one));
  }
  return result;
}

bool recordTime(const CompiledKernel &self, double seconds) {
  py::gil_scoped_release release;
  return jit::Runtime::instance().recordMeasurement(*self.kernel, seconds);
}

py::list warningsOf(const CompiledKernel &self) {
  py::list result;
  for (const lang::Diagnostic &warning : self.kernel->warnings())
    result.append(py::str(lang::render(warning)));
  return result;
}

} // namespace

py::object wrapCompiledKernel(std::shared_ptr<const jit::Kernel> kernel, PyObject *owner) {
  py::object metadata = metadataOf(*kernel);
  return py::cast(CompiledKernel{std::move(kernel), std::move(metadata), py::weakref(owner)});
}

void registerCompiledKernel(py::module_ &module) {
  py::class_<CompiledKernel>(module, "CompiledKernel",
                             "One compiled variant of a kernel: its code, and what is known of it.")
      .def_property_readonly(
          "name", [](const CompiledKernel &self) { return self.kernel->image().kernelName; })
      .def_property_readonly(
          "asm", &stagesOf,
          "The text of each stage that was kept: \"tile\", \"llvm\", \"asm\"; and "
          "\"so\", the loadable code (GPUs: \"ptx\", \"cubin\"). SECTILE_KEEP_STAGES=1 keeps all.")
      .def_property_readonly(
          "metadata", [](const CompiledKernel &self) { return self.metadata; },
          "num_warps, num_stages, ..., target, backend, shared.")
      .def_property_readonly(
          "hash", [](const CompiledKernel &self) { return self.metadata.attr("hash"); },
          "A text that differs between compiled kernels and is the same in every process.")
      .def_property_readonly(
          "kernel",
          [](const CompiledKernel &self) { return py::bytes(self.kernel->image().binary); },
          "The loadable code.")
      .def_property_readonly(
          "src", [](py::handle self) { return ofPython("source_of", self); },
          "The `sectile.compiler.ASTSource` that it was made of.")
      .def(
          "__getitem__",
          [](py::handle self, py::object grid) { return ofPython("launcher", self, grid); },
          "compiled[grid](*arguments): launches it; constants may be passed again, or left out.")
      .def(
          "_owner", [](const CompiledKernel &self) { return self.owner(); },
          "The JITFunction that obtained it; None once that is gone.")
      .def_property_readonly("arguments", &argumentsOf,
                             "(name, dtype, is stored through) of what a launch passes.")
      .def_property_readonly("provenance", &provenanceOf,
                             "How it was made, as its cache entry records: source_digest, variant, "
                             "options, version, created_at (seconds since 1970), compile_seconds, "
                             "measured_seconds (0: not measured).")
      .def_property_readonly(
          "remarks", &remarksOf,
          "The compiler's remarks on how it compiled the kernel, as dictionaries; "
          "sectile.inspect() reads them.")
      .def("record_time", &recordTime, py::arg("seconds"),
           "Keeps with the cache entry what one launch took. False when there is no entry of "
           "one's own to keep it with.")
      .def_property_readonly("warnings", &warningsOf,
                             "The warnings of the compile; empty from the cache.")
      .def_property_readonly(
          "compile_times",
          [](const CompiledKernel &self) {
            py::list times;
            for (const auto &[step, seconds] : self.kernel->compileTimes())
              times.append(py::make_tuple(step, seconds));
            return times;
          },
          "(step, seconds) of the compile; empty from the cache.")
      // There is no register file to fill on a CPU; tutorials divide by what is read here.
      .def_property_readonly(
          "n_regs", [](const CompiledKernel &self) { return self.kernel->resources().registers; },
          "Registers of a GPU thread; 0 on the CPU.")
      .def_property_readonly(
          "n_spills",
          [](const CompiledKernel &self) { return self.kernel->resources().localBytes / 4; },
          "Local memory of a GPU thread, in registers; 0 on the CPU.")
      // Triton's programs call it before they read n_regs.
      .def("_init_handles", [](const CompiledKernel &) {})
      .def("__repr__", [](const CompiledKernel &self) {
        const backends::KernelImage &image = self.kernel->image();
        return "<CompiledKernel " + image.kernelName + " for " + image.targetName + ">";
      });
}

} // namespace sectile::bindings
