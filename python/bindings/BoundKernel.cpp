// kernel[grid].bind(...): a launch with its arguments, run again by one call.
//
//   run = kernel[grid].bind(x, y, n, BLOCK=64)       finds, or compiles, the variant
//   run()                                            launches it: nothing is read or looked up
//   run(x=other)                                     the same with another x from now on
//
// Arguments are read when they are given: an array that moves its memory has to be given again. The
// stream is asked for at each launch, as without bind().

#include "Grid.h"
#include "LaunchHooks.h"
#include "Launcher.h"
#include "StrideCheck.h"

#include <structmember.h>

namespace sectile::bindings {

namespace {

/// An argument, what reading it came to, and what that has borrowed.
struct Reading {
  py::object argument;
  HeldResources held;
  ReadArguments read;
  std::vector<StridedArgument> strided; // with check="strides"
};

/// All of a launch. Never changed once it is a BoundState's: another thread may be running it, with
/// arguments that have been exchanged meanwhile.
struct Binding {
  py::object grid;
  std::vector<std::shared_ptr<const Reading>> readings;
  /// Where each launch gets its stream from.
  StreamSource stream;
  jit::BoundLaunch launch;
  py::object compiled;

  std::vector<PyObject *> arguments() const {
    std::vector<PyObject *> result;
    for (const auto &reading : readings)
      result.push_back(reading->argument.ptr());
    return result;
  }
};

struct BoundState {
  KernelState *state; // of `kernel`
  py::object kernel;
  LaunchOptions options;

  std::shared_ptr<const Binding> current() {
    std::lock_guard lock(mutex);
    return binding;
  }
  void set(std::shared_ptr<const Binding> other) { // what was there dies after the lock
    std::lock_guard lock(mutex);
    binding.swap(other);
  }
  const Binding *forCollector() const {
    // Shared with a launch that is going on, the references belong to that launch too.
    return binding && binding.use_count() == 1 ? binding.get() : nullptr;
  }

private:
  StateMutex mutex;
  std::shared_ptr<const Binding> binding;
};

struct BoundObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  BoundState *bound; // null once cleared
};

PyTypeObject *boundType = nullptr;

void read(const BoundState &bound, Binding &binding, size_t index, py::object argument) {
  KernelState &state = *bound.state;
  auto reading = std::make_shared<Reading>();
  reading->argument = std::move(argument);
  reading->held.stream = binding.stream;
  ReadArgument how{state.name, state.parameterNames[index],
                   state.specializer->parameters()[index].isConstexpr, false};
  how.strided = bound.options.checkStrides ? &reading->strided : nullptr;
  readArgument(reading->argument.ptr(), how, reading->held, reading->read);
  binding.stream = reading->held.stream;
  binding.readings[index] = std::move(reading);
}

/// Finds the variant for what was read.
void select(const BoundState &bound, Binding &binding) {
  std::vector<PyObject *> arguments = binding.arguments();
  binding.launch.grid = readGrid(binding.grid.ptr(), bound.state->name,
                                 [&] { return argumentsByName(*bound.state, arguments.data()); });
  ReadArguments all;
  for (const auto &reading : binding.readings) {
    all.values.append(reading->read.values.data(), reading->read.values.size());
    all.objects.append(reading->read.objects.data(), reading->read.objects.size());
  }
  for (const auto &reading : binding.readings)
    refuseViews(bound.state->name, reading->strided, all.span());
  binding.compiled = selectVariant(
      *bound.state, {bound.kernel.ptr(), all, bound.options, binding.stream}, binding.launch);
  binding.launch.prepare();
}

/// Returns a copy of all but what select() fills in: the launch and the compiled kernel.
std::shared_ptr<Binding> copyOf(const Binding &before) {
  auto binding = std::make_shared<Binding>();
  binding->grid = before.grid;
  binding->readings = before.readings;
  binding->stream = before.stream;
  return binding;
}

/// All or nothing: what cannot be read, or compiled, changes nothing.
void update(BoundState &bound, PyObject *const *values, PyObject *names) {
  size_t count = static_cast<size_t>(PyTuple_GET_SIZE(names));
  KernelState &state = *bound.state;
  std::shared_ptr<Binding> binding = copyOf(*bound.current());
  StreamSource stream = binding->stream;
  if (!bound.options.stream)
    binding->stream = {}; // found anew from the arrays
  for (size_t i = 0; i < count; ++i) {
    PyObject *name = PyTuple_GET_ITEM(names, static_cast<Py_ssize_t>(i));
    size_t index = parameterIndex(state, name);
    if (index == state.parameterNames.size())
      throwCallError(state.name + ": '" + std::string(py::str(py::handle(name))) +
                         "' is no parameter, so it cannot be exchanged",
                     listParameters(state) +
                         "; the grid is an attribute; for other options bind once more");
    read(bound, *binding, index, py::reinterpret_borrow<py::object>(values[i]));
  }
  if (binding->stream.kind == StreamSource::Kind::None)
    binding->stream = stream;
  select(bound, *binding);
  bound.set(std::move(binding));
}

BoundState *stateOf(PyObject *self) {
  BoundState *bound = reinterpret_cast<BoundObject *>(self)->bound;
  if (!bound)
    PyErr_SetString(PyExc_RuntimeError, "this bound kernel is being destroyed");
  return bound;
}

PyObject *callBound(PyObject *self, PyObject *const *arguments, size_t countAndFlag,
                    PyObject *names) {
  BoundState *bound = stateOf(self);
  if (!bound)
    return nullptr;
  return guarded([&]() -> py::object {
    if (PyVectorcall_NARGS(countAndFlag) != 0) [[unlikely]]
      throwCallError(bound->state->name +
                         ": a bound kernel has its arguments already and takes none by position",
                     "name those to exchange: run(x=other)");
    if (names && PyTuple_GET_SIZE(names) != 0) {
      ObjectLock lock(self);
      update(*bound, arguments, names);
    }
    std::shared_ptr<const Binding> binding = bound->current();
    const jit::BoundLaunch &launch = binding->launch;
    void *stream = binding->stream.kind > StreamSource::Kind::Fixed ? binding->stream.current()
                                                                    : launch.arguments.stream;
    if (hasLaunchHooks()) [[unlikely]]
      runBetweenHooks({bound->kernel.ptr(), binding->compiled,
                       argumentsByName(*bound->state, binding->arguments().data())},
                      launch, stream);
    else
      runLaunch(launch, stream);
    return py::none();
  });
}

PyObject *updateBound(PyObject *self, PyObject *const *arguments, Py_ssize_t count,
                      PyObject *names) {
  BoundState *bound = stateOf(self);
  if (!bound)
    return nullptr;
  return guarded([&]() -> py::object {
    ObjectLock lock(self);
    if (count != 0)
      throwCallError(bound->state->name + ": update() takes arguments by name",
                     "run.update(x=other)");
    if (names)
      update(*bound, arguments, names);
    return py::none();
  });
}

PyObject *gridOf(PyObject *self, void *) {
  BoundState *bound = stateOf(self);
  return bound ? Py_NewRef(bound->current()->grid.ptr()) : nullptr;
}

int setGrid(PyObject *self, PyObject *grid, void *) {
  BoundState *bound = stateOf(self);
  if (!bound)
    return -1;
  PyObject *done = guarded([&]() -> py::object {
    ObjectLock lock(self);
    if (!grid)
      throwCallError(bound->state->name + ": a launch needs a grid", "");
    std::shared_ptr<Binding> binding = copyOf(*bound->current());
    binding->grid = py::reinterpret_borrow<py::object>(grid);
    select(*bound, *binding);
    bound->set(std::move(binding));
    return py::none();
  });
  Py_XDECREF(done);
  return done ? 0 : -1;
}

PyObject *kernelOf(PyObject *self, void *) {
  BoundState *bound = stateOf(self);
  return bound ? Py_NewRef(bound->current()->compiled.ptr()) : nullptr;
}

PyObject *argumentsOf(PyObject *self, void *) {
  BoundState *bound = stateOf(self);
  if (!bound)
    return nullptr;
  return guarded([&]() -> py::object {
    std::shared_ptr<const Binding> binding = bound->current();
    return argumentsByName(*bound->state, binding->arguments().data());
  });
}

void freeBound(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  delete std::exchange(reinterpret_cast<BoundObject *>(self)->bound, nullptr);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

int traverseBound(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  BoundState *bound = reinterpret_cast<BoundObject *>(self)->bound;
  if (!bound)
    return 0;
  Py_VISIT(bound->kernel.ptr());
  if (const Binding *binding = bound->forCollector()) {
    Py_VISIT(binding->grid.ptr());
    Py_VISIT(binding->compiled.ptr());
    for (const auto &reading : binding->readings)
      if (reading.use_count() == 1)
        Py_VISIT(reading->argument.ptr());
  }
  return 0;
}

int clearBound(PyObject *self) {
  delete std::exchange(reinterpret_cast<BoundObject *>(self)->bound, nullptr);
  return 0;
}

PyMethodDef boundMethods[] = {
    {"update", reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(updateBound)),
     METH_FASTCALL | METH_KEYWORDS,
     "update(**arguments): other arguments from now on; may compile. Nothing changes when it "
     "fails."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef boundProperties[] = {
    {"grid", gridOf, setGrid, "The grid; another may be set.", nullptr},
    {"kernel", kernelOf, nullptr, "The compiled kernel that is launched.", nullptr},
    {"arguments", argumentsOf, nullptr, "Parameter -> argument.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef boundMembers[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(BoundObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot boundSlots[] = {
    {Py_tp_doc, const_cast<char *>("kernel[grid].bind(...): call it to launch.")},
    {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
    {Py_tp_members, boundMembers},
    {Py_tp_methods, boundMethods},
    {Py_tp_getset, boundProperties},
    {Py_tp_dealloc, reinterpret_cast<void *>(freeBound)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverseBound)},
    {Py_tp_clear, reinterpret_cast<void *>(clearBound)},
    {0, nullptr}};

PyType_Spec boundSpec = {"sectile._native.BoundKernel", sizeof(BoundObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                             Py_TPFLAGS_DISALLOW_INSTANTIATION,
                         boundSlots};

} // namespace

py::object bindLaunch(KernelState &state, const LaunchCall &call) {
  size_t count = state.parameterNames.size();
  auto bound = std::make_unique<BoundState>();
  bound->state = &state;
  bound->kernel = py::reinterpret_borrow<py::object>(call.kernel);
  bound->options = state.options;
  std::vector<PyObject *> arguments(count);
  HeldResources held;
  bindParameters(state, call, arguments.data(), bound->options, held);
  auto binding = std::make_shared<Binding>();
  binding->grid = py::reinterpret_borrow<py::object>(call.grid);
  if (bound->options.stream)
    binding->stream = StreamSource::of(*bound->options.stream);
  binding->readings.resize(count);
  for (size_t i = 0; i < count; ++i)
    read(*bound, *binding, i, py::reinterpret_borrow<py::object>(arguments[i]));
  select(*bound, *binding);
  bound->set(std::move(binding));
  auto *object = PyObject_GC_New(BoundObject, boundType);
  if (!object)
    throw py::error_already_set();
  object->vectorcall = callBound;
  object->bound = bound.release();
  PyObject_GC_Track(object);
  return py::reinterpret_steal<py::object>(reinterpret_cast<PyObject *>(object));
}

void registerBoundKernel(py::module_ &module) {
  py::object type = py::reinterpret_steal<py::object>(PyType_FromSpec(&boundSpec));
  if (!type)
    throw py::error_already_set();
  boundType = reinterpret_cast<PyTypeObject *>(type.inc_ref().ptr());
  module.attr("BoundKernel") = type;
}

} // namespace sectile::bindings
