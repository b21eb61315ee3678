// kernel[grid].bind(...): a launch with its arguments, run again by one call.
//
//   run = kernel[grid].bind(x, y, n, BLOCK=64)       finds, or compiles, the variant
//   run()                                            launches it: nothing is read, nothing looked
//   up run(x=other)                                     the same with another x from now on
//
// Arguments are read when they are given: an array that moves its memory has to be given again. The
// stream is asked for at each launch, as without bind().

#include "Grid.h"
#include "LaunchHooks.h"
#include "Launcher.h"

#include <structmember.h>

namespace sectile::bindings {

namespace {

struct BoundState {
  KernelState *state; // of `kernel`
  py::object kernel, grid;
  LaunchOptions options;
  std::vector<py::object> arguments;
  /// What reading each came to, and has borrowed.
  struct Reading {
    HeldResources held;
    ReadArguments read;
  };
  std::vector<std::unique_ptr<Reading>> readings;
  StreamSource stream;
  py::object compiled;
  /// Replaced, never changed but for its stream: another thread may be running it.
  std::shared_ptr<jit::BoundLaunch> ready;

  std::vector<PyObject *> borrowed() const {
    std::vector<PyObject *> result;
    for (const py::object &argument : arguments)
      result.push_back(argument.ptr());
    return result;
  }
};

struct BoundObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  BoundState *bound; // null once cleared
};

PyTypeObject *boundType = nullptr;

void readInto(BoundState &bound, size_t index) {
  KernelState &state = *bound.state;
  auto reading = std::make_unique<BoundState::Reading>();
  reading->held.stream = bound.stream;
  readArgument(bound.arguments[index].ptr(),
               {state.name, state.parameterNames[index],
                state.specializer->parameters()[index].isConstexpr, false},
               reading->held, reading->read);
  bound.stream = reading->held.stream;
  bound.readings[index] = std::move(reading);
}

/// Finds the variant for what was read.
void select(BoundState &bound) {
  std::vector<PyObject *> arguments = bound.borrowed();
  auto ready = std::make_shared<jit::BoundLaunch>();
  ready->grid = readGrid(bound.grid.ptr(), bound.state->name,
                         [&] { return argumentsByName(*bound.state, arguments.data()); });
  ReadArguments all;
  for (const auto &reading : bound.readings) {
    all.values.append(reading->read.values.data(), reading->read.values.size());
    all.objects.append(reading->read.objects.data(), reading->read.objects.size());
  }
  bound.compiled =
      selectVariant(*bound.state, {bound.kernel.ptr(), all, bound.options, bound.stream}, *ready);
  bound.ready = std::move(ready);
}

/// All or nothing: what cannot be read, or compiled, changes nothing.
void update(BoundState &bound, PyObject *const *values, PyObject *names) {
  size_t count = static_cast<size_t>(PyTuple_GET_SIZE(names));
  KernelState &state = *bound.state;
  std::vector<std::pair<size_t, py::object>> before;
  for (size_t i = 0; i < count; ++i) {
    PyObject *name = PyTuple_GET_ITEM(names, static_cast<Py_ssize_t>(i));
    size_t index = parameterIndex(state, name);
    if (index == state.parameterNames.size())
      throwCallError(state.name + ": '" + std::string(py::str(py::handle(name))) +
                         "' is no parameter, so it cannot be exchanged",
                     listParameters(state) +
                         "; the grid is an attribute; for other options bind once more");
    before.emplace_back(index, bound.arguments[index]);
  }
  StreamSource stream = bound.stream;
  try {
    if (!bound.options.stream)
      bound.stream = {}; // the libraries of the arrays say again
    for (size_t i = 0; i < count; ++i) {
      size_t index = before[i].first;
      bound.arguments[index] = py::reinterpret_borrow<py::object>(values[i]);
      readInto(bound, index);
    }
    if (bound.stream.kind == StreamSource::Kind::None)
      bound.stream = stream;
    select(bound);
  } catch (...) {
    for (const auto &[index, argument] : before) {
      bound.arguments[index] = argument;
      readInto(bound, index);
    }
    bound.stream = stream;
    throw;
  }
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
    if (names && PyTuple_GET_SIZE(names) != 0)
      update(*bound, arguments, names);
    std::shared_ptr<jit::BoundLaunch> ready = bound->ready;
    if (bound->stream.kind > StreamSource::Kind::Fixed)
      ready->arguments.stream = bound->stream.current();
    if (hasLaunchHooks()) [[unlikely]]
      runBetweenHooks({bound->kernel.ptr(), bound->compiled,
                       argumentsByName(*bound->state, bound->borrowed().data())},
                      *ready);
    else
      runLaunch(*ready);
    return py::none();
  });
}

PyObject *updateBound(PyObject *self, PyObject *const *arguments, Py_ssize_t count,
                      PyObject *names) {
  BoundState *bound = stateOf(self);
  if (!bound)
    return nullptr;
  return guarded([&]() -> py::object {
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
  return bound ? Py_NewRef(bound->grid.ptr()) : nullptr;
}

int setGrid(PyObject *self, PyObject *grid, void *) {
  BoundState *bound = stateOf(self);
  if (!bound)
    return -1;
  PyObject *done = guarded([&]() -> py::object {
    if (!grid)
      throwCallError(bound->state->name + ": a launch needs a grid", "");
    py::object before = std::exchange(bound->grid, py::reinterpret_borrow<py::object>(grid));
    try {
      select(*bound);
    } catch (...) {
      bound->grid = before;
      throw;
    }
    return py::none();
  });
  Py_XDECREF(done);
  return done ? 0 : -1;
}

PyObject *kernelOf(PyObject *self, void *) {
  BoundState *bound = stateOf(self);
  return bound ? Py_NewRef(bound->compiled.ptr()) : nullptr;
}

PyObject *argumentsOf(PyObject *self, void *) {
  BoundState *bound = stateOf(self);
  if (!bound)
    return nullptr;
  return guarded(
      [&]() -> py::object { return argumentsByName(*bound->state, bound->borrowed().data()); });
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
  Py_VISIT(bound->grid.ptr());
  Py_VISIT(bound->compiled.ptr());
  for (const py::object &argument : bound->arguments)
    Py_VISIT(argument.ptr());
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
  bound->grid = py::reinterpret_borrow<py::object>(call.grid);
  bound->options = launchOptions(state);
  std::vector<PyObject *> arguments(count);
  bindParameters(state, call, arguments.data(), bound->options);
  for (PyObject *argument : arguments)
    bound->arguments.push_back(py::reinterpret_borrow<py::object>(argument));
  if (bound->options.stream)
    bound->stream = StreamSource::of(*bound->options.stream);
  bound->readings.resize(count);
  for (size_t i = 0; i < count; ++i)
    readInto(*bound, i);
  select(*bound);
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
