// The two types of Launcher.h as the C API wants them.

#include "Launcher.h"

#include <atomic>
#include <structmember.h>

namespace sectile::bindings {

namespace {

struct KernelObject {
  PyObject_HEAD KernelState *state; // null until _configure
  /// Whether a program gave this kernel a `run` of its own: kernel.run = f.
  std::atomic<bool> runsOtherwise;
};

struct LauncherObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *kernel;
  PyObject *grid;
};

PyTypeObject *launcherType = nullptr;
PyTypeObject *kernelBaseType = nullptr;
/// One launcher of the last call is kept for the next: kernel[grid](...) makes and drops one. Only
/// under the GIL; else other threads may still look at the memory of a dead object.
LauncherObject *spareLauncher = nullptr;
#ifdef Py_GIL_DISABLED
constexpr bool kKeepsSpare = false;
#else
constexpr bool kKeepsSpare = true;
#endif

KernelState *stateOf(PyObject *kernel) {
  KernelState *state = reinterpret_cast<KernelObject *>(kernel)->state;
  if (!state)
    PyErr_SetString(PyExc_RuntimeError, "this JITFunction was never initialised");
  return state;
}

//-- Launcher -------------------------------------------------------------------------------------

PyObject *callLauncher(PyObject *self, PyObject *const *arguments, size_t countAndFlag,
                       PyObject *keywordNames) {
  auto *launcher = reinterpret_cast<LauncherObject *>(self);
  KernelState *state = stateOf(launcher->kernel);
  if (!state)
    return nullptr;
  return launch(*state,
                {launcher->kernel, launcher->grid, arguments,
                 static_cast<size_t>(PyVectorcall_NARGS(countAndFlag)), keywordNames, false});
}

PyObject *makeLauncher(PyObject *kernel, PyObject *grid) {
  LauncherObject *launcher = spareLauncher;
  if (launcher) {
    spareLauncher = nullptr;
    PyObject_Init(reinterpret_cast<PyObject *>(launcher), launcherType);
  } else {
    launcher = PyObject_GC_New(LauncherObject, launcherType);
    if (!launcher)
      return nullptr;
  }
  launcher->vectorcall = callLauncher;
  launcher->kernel = Py_NewRef(kernel);
  launcher->grid = Py_NewRef(grid);
  PyObject_GC_Track(launcher);
  return reinterpret_cast<PyObject *>(launcher);
}

void freeLauncher(PyObject *self) {
  auto *launcher = reinterpret_cast<LauncherObject *>(self);
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  Py_CLEAR(launcher->kernel);
  Py_CLEAR(launcher->grid);
  if (kKeepsSpare && !spareLauncher)
    spareLauncher = launcher;
  else
    PyObject_GC_Del(self);
  Py_DECREF(type);
}

int traverseLauncher(PyObject *self, visitproc visit, void *arg) {
  auto *launcher = reinterpret_cast<LauncherObject *>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(launcher->kernel);
  Py_VISIT(launcher->grid);
  return 0;
}

int clearLauncher(PyObject *self) {
  // The call may still be running on this object, so kernel and grid stay: they cannot be part of a
  // cycle that only this object closes without the kernel's own clear breaking it.
  return 0;
}

/// bind(*arguments, **named)
PyObject *bindLauncher(PyObject *self, PyObject *const *arguments, Py_ssize_t count,
                       PyObject *keywordNames) {
  auto *launcher = reinterpret_cast<LauncherObject *>(self);
  KernelState *state = stateOf(launcher->kernel);
  if (!state)
    return nullptr;
  return guarded([&] {
    return bindLaunch(*state, {launcher->kernel, launcher->grid, arguments,
                               static_cast<size_t>(count), keywordNames, false});
  });
}

PyMethodDef launcherMethods[] = {
    {"bind", reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(bindLauncher)),
     METH_FASTCALL | METH_KEYWORDS,
     "bind(*arguments, **named): the launch with its arguments, to be run many times by calling "
     "what is returned."},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef launcherMembers[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(LauncherObject, vectorcall), READONLY, nullptr},
    {"kernel", T_OBJECT, offsetof(LauncherObject, kernel), READONLY,
     "The kernel that is launched."},
    {"grid", T_OBJECT, offsetof(LauncherObject, grid), READONLY, "The grid it is launched on."},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot launcherSlots[] = {{Py_tp_doc, const_cast<char *>("kernel[grid]: call it to launch.")},
                               {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
                               {Py_tp_members, launcherMembers},
                               {Py_tp_methods, launcherMethods},
                               {Py_tp_dealloc, reinterpret_cast<void *>(freeLauncher)},
                               {Py_tp_traverse, reinterpret_cast<void *>(traverseLauncher)},
                               {Py_tp_clear, reinterpret_cast<void *>(clearLauncher)},
                               {0, nullptr}};

PyType_Spec launcherSpec = {"sectile._native.Launcher", sizeof(LauncherObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                Py_TPFLAGS_DISALLOW_INSTANTIATION,
                            launcherSlots};

//-- KernelBase -----------------------------------------------------------------------------------

/// Whether the class runs launches by a `run` of its own: a subclass, or JITFunction itself when a
/// program replaced it. The version of a class is its own, changes with it, and is 0 where it has
/// none.
bool hasOwnRun(PyTypeObject *type) {
  static std::atomic<unsigned> usual{0};
#if PY_VERSION_HEX < 0x030B0000 // a class that changed keeps its number, and loses the flag
  const bool isValid = PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG);
#else
  const bool isValid = type->tp_version_tag != 0;
#endif
  if (isValid && type->tp_version_tag == usual.load(std::memory_order_relaxed))
    return false;
  static PyObject *const run = PyUnicode_InternFromString("run");
  static PyObject *const ours = PyUnicode_InternFromString("_own_run");
  auto *object = reinterpret_cast<PyObject *>(type);
  auto found = py::reinterpret_steal<py::object>(PyObject_GetAttr(object, run));
  auto original = py::reinterpret_steal<py::object>(PyObject_GetAttr(object, ours));
  PyErr_Clear();
  if (found.ptr() != original.ptr())
    return true;
  usual.store(type->tp_version_tag, std::memory_order_relaxed);
  return false;
}

bool runsOtherwise(PyObject *kernel) {
  return reinterpret_cast<KernelObject *>(kernel)->runsOtherwise.load(std::memory_order_relaxed);
}

PyObject *setRunsOtherwise(PyObject *self, PyObject *value) {
  reinterpret_cast<KernelObject *>(self)->runsOtherwise.store(value == Py_True,
                                                              std::memory_order_relaxed);
  Py_RETURN_NONE;
}

/// kernel[grid], which does what `lambda *a, **k: kernel.run(*a, grid=grid, warmup=False, **k)`
/// does, in less time where `run` is JITFunction's.
PyObject *subscriptKernel(PyObject *self, PyObject *grid) {
  static PyObject *const byRun = PyUnicode_InternFromString("_launch_by_run");
  if (hasOwnRun(Py_TYPE(self)) || runsOtherwise(self)) [[unlikely]]
    return PyObject_CallMethodOneArg(self, byRun, grid);
  return makeLauncher(self, grid);
}

void freeKernel(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  delete reinterpret_cast<KernelObject *>(self)->state;
  reinterpret_cast<KernelObject *>(self)->state = nullptr;
  type->tp_free(self);
  Py_DECREF(type);
}

int traverseKernel(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  KernelState *state = reinterpret_cast<KernelObject *>(self)->state;
  if (!state)
    return 0;
  Py_VISIT(state->function.ptr());
  // Shared with a launch that is going on, the references belong to that launch too.
  if (state->source && state->source.use_count() == 1)
    for (const Watch &watch : state->source->watches)
      if (int result = watch.visit(visit, arg))
        return result;
  for (const auto &[key, variants] : state->checked)
    if (variants.use_count() == 1)
      if (int result = variants->visit(visit, arg))
        return result;
  Py_VISIT(state->preRunHooks.ptr());
  for (auto &[kernel, object] : state->compiled)
    Py_VISIT(object.ptr());
  for (const Variant &variant : state->variants) {
    Py_VISIT(variant.signature.ptr());
    Py_VISIT(variant.options.ptr());
  }
  return 0;
}

int clearKernel(PyObject *self) {
  if (KernelState *state = reinterpret_cast<KernelObject *>(self)->state) {
    std::shared_ptr<const SourceState> source = std::move(state->source);
    std::vector<Variant> variants = std::move(state->variants);
    state->variants.clear();
    auto checked = std::move(state->checked);
    state->checked.clear();
  }
  return 0;
}

/// _configure(function, parameters, positional_count, options, pre_run_hooks): each parameter is
/// (name, is_constexpr, specialize, specialize_on_alignment, annotation).
PyObject *configureKernel(PyObject *self, PyObject *arguments) {
  return guarded([&]() -> py::object {
    py::tuple fields = py::reinterpret_borrow<py::tuple>(arguments);
    auto state = std::make_unique<KernelState>();
    state->function = fields[0];
    if (!PyFunction_Check(state->function.ptr()))
      throw py::type_error("_configure: expected a Python function");
    state->name = py::cast<std::string>(state->function.attr("__name__"));
    state->positionalCount = py::cast<size_t>(fields[2]);
    std::vector<jit::ParameterPolicy> policies;
    for (py::handle entry : fields[1]) {
      py::tuple parameter = py::reinterpret_borrow<py::tuple>(entry);
      py::object name = parameter[0];
      PyObject *interned = name.release().ptr();
      PyUnicode_InternInPlace(&interned);
      state->internedNames.push_back(py::reinterpret_steal<py::object>(interned));
      jit::ParameterPolicy policy;
      policy.name = py::cast<std::string>(state->internedNames.back());
      policy.isConstexpr = py::cast<bool>(parameter[1]);
      policy.specialize = py::cast<bool>(parameter[2]);
      policy.specializeOnAlignment = py::cast<bool>(parameter[3]);
      if (!parameter[4].is_none()) {
        std::string annotation = py::cast<std::string>(parameter[4]);
        policy.isConst = annotation == "const";
        if (std::optional<lang::DType> dtype = lang::DType::parse(annotation))
          policy.annotation = *dtype;
      }
      state->parameterNames.push_back(policy.name);
      policies.push_back(std::move(policy));
    }
    state->preRunHooks = fields[4];
    for (auto [name, value] : py::reinterpret_borrow<py::dict>(fields[3]))
      state->options.set(name.ptr(), value.ptr(), state->name);
    state->specializer = std::make_unique<jit::Specializer>(state->name, std::move(policies));
    auto *object = reinterpret_cast<KernelObject *>(self);
    delete object->state;
    object->state = state.release();
    return py::none();
  });
}

/// _prepare(grid, args, kwargs, is_warmup, for_archive=False): as kernel[grid](*args, **kwargs), or
/// without running it. for_archive: of a warmup, gives a list of all that an archive needs for it.
PyObject *prepareKernel(PyObject *self, PyObject *arguments) {
  KernelState *state = stateOf(self);
  if (!state)
    return nullptr;
  return guarded([&]() -> py::object {
    py::tuple fields = py::reinterpret_borrow<py::tuple>(arguments);
    py::object grid = fields[0];
    py::tuple positional = fields[1];
    py::dict named = fields[2];
    std::vector<PyObject *> flat;
    for (py::handle value : positional)
      flat.push_back(value.ptr());
    py::tuple names(named.size());
    size_t index = 0;
    for (auto [name, value] : named) {
      names[index++] = name;
      flat.push_back(value.ptr());
    }
    LaunchCall call{self,
                    grid.is_none() ? nullptr : grid.ptr(),
                    flat.data(),
                    positional.size(),
                    names.size() ? names.ptr() : nullptr,
                    py::cast<bool>(fields[3])};
    call.isForArchive = fields.size() > 4 && py::cast<bool>(fields[4]);
    PyObject *result = launch(*state, call);
    if (!result)
      throw py::error_already_set();
    return py::reinterpret_steal<py::object>(result);
  });
}

PyObject *kernelVariants(PyObject *self, PyObject *) {
  KernelState *state = stateOf(self);
  if (!state)
    return nullptr;
  return guarded([&]() -> py::object {
    std::vector<Variant> variants;
    std::vector<py::object> compiled;
    {
      std::lock_guard lock(state->mutex);
      for (const Variant &variant : state->variants)
        if (auto found = state->compiled.find(variant.kernel.get());
            found != state->compiled.end()) {
          variants.push_back(variant);
          compiled.push_back(found->second);
        }
    }
    py::list result;
    for (size_t i = 0; i < variants.size(); ++i)
      result.append(py::make_tuple(compiled[i], variants[i].signature.attr("copy")(),
                                   variants[i].options.attr("copy")(), variants[i].target,
                                   variants[i].origin, variants[i].sourceVersion));
    return result;
  });
}

PyObject *forgetKernel(PyObject *self, PyObject *) {
  KernelState *state = stateOf(self);
  if (!state)
    return nullptr;
  return guarded([&]() -> py::object {
    // The table keeps kernels that were found alive; their Python faces may be held elsewhere too.
    state->table.clear();
    std::vector<Variant> variants; // these die after the lock
    std::shared_ptr<const SourceState> source;
    decltype(state->checked) checked;
    std::lock_guard lock(state->mutex);
    variants.swap(state->variants);
    source.swap(state->source);
    checked.swap(state->checked);
    return py::none();
  });
}

PyMethodDef kernelMethods[] = {{"_configure", configureKernel, METH_VARARGS, nullptr},
                               {"_launcher", makeLauncher, METH_O, nullptr},
                               {"_prepare", prepareKernel, METH_VARARGS, nullptr},
                               {"_variants", kernelVariants, METH_NOARGS, nullptr},
                               {"_forget", forgetKernel, METH_NOARGS, nullptr},
                               {"_set_runs_otherwise", setRunsOtherwise, METH_O, nullptr},
                               {nullptr, nullptr, 0, nullptr}};

PyType_Slot kernelSlots[] = {
    {Py_tp_doc,
     const_cast<char *>("What sectile.JITFunction is made of; kernel[grid] gives a Launcher.")},
    {Py_tp_methods, kernelMethods},
    {Py_mp_subscript, reinterpret_cast<void *>(subscriptKernel)},
    {Py_tp_dealloc, reinterpret_cast<void *>(freeKernel)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverseKernel)},
    {Py_tp_clear, reinterpret_cast<void *>(clearKernel)},
    {0, nullptr}};

PyType_Spec kernelSpec = {"sectile._native.KernelBase", sizeof(KernelObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
                          kernelSlots};

} // namespace

KernelState *kernelStateOf(PyObject *object) {
  return PyObject_TypeCheck(object, kernelBaseType)
             ? reinterpret_cast<KernelObject *>(object)->state
             : nullptr;
}

void registerLauncherTypes(py::module_ &module) {
  auto make = [](PyType_Spec &spec) {
    py::object type = py::reinterpret_steal<py::object>(PyType_FromSpec(&spec));
    if (!type)
      throw py::error_already_set();
    return type;
  };
  py::object launcher = make(launcherSpec);
  launcherType = reinterpret_cast<PyTypeObject *>(launcher.inc_ref().ptr());
  module.attr("Launcher") = launcher;
  py::object kernelBase = make(kernelSpec);
  kernelBaseType = reinterpret_cast<PyTypeObject *>(kernelBase.inc_ref().ptr());
  module.attr("KernelBase") = kernelBase;
}

} // namespace sectile::bindings
