#include "Grid.h"

#include <limits>

namespace sectile::bindings {

namespace {

constexpr const char *kHelp =
    "a grid is an int, a tuple of one to three ints, or a function of the "
    "arguments that returns one of these";

int64_t readAxis(PyObject *object, int axis, const std::string &kernelName) {
  auto describe = [&] { return kernelName + ": grid axis " + std::to_string(axis); };
  py::object index;
  if (!PyLong_CheckExact(object)) {
    bool isFloat = PyFloat_Check(object);
    index = py::reinterpret_steal<py::object>(isFloat ? nullptr : PyNumber_Index(object));
    if (!index) {
      PyErr_Clear();
      throwCallError(describe() + " is " + std::string(py::repr(object)) + ", a " +
                         typeName(object) + ", not an int",
                     isFloat ? "use sectile.cdiv(a, b) for the number of tiles" : kHelp);
    }
    object = index.ptr();
  }
  int overflow = 0;
  long long extent = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow < 0 || (!overflow && extent < 0))
    throwCallError(describe() + " is " + std::string(py::str(py::handle(object))) + ", below zero",
                   "check the arithmetic of the grid; zero is allowed and runs nothing");
  if (overflow > 0 || extent > std::numeric_limits<int32_t>::max())
    throwCallError(describe() + " is " + std::string(py::str(py::handle(object))) +
                       ", more than 2147483647",
                   "use further axes, or let each program loop over several tiles");
  return extent;
}

} // namespace

backends::Grid readGrid(PyObject *object, const std::string &kernelName,
                        const std::function<py::dict()> &arguments) {
  py::object computed;
  if (!PyTuple_CheckExact(object) && PyCallable_Check(object)) {
    py::dict given = arguments();
    try {
      computed = py::handle(object)(given);
    } catch (py::error_already_set &error) {
      if (error.matches(PyExc_KeyError)) {
        py::object value = error.value();
        if (error.trace())
          value.attr("__traceback__") = error.trace();
        py::module_::import("sectile.runtime.grid")
            .attr("explain")(value, py::handle(object), kernelName, given);
      }
      throw;
    }
    object = computed.ptr();
  }
  backends::Grid grid;
  if (PyTuple_Check(object) || PyList_Check(object)) {
    Py_ssize_t rank = PySequence_Fast_GET_SIZE(object);
    // Triton ignores what follows the third axis, and some programs pass ones.
    const py::int_ one(1);
    while (rank > 3 && py::handle(PySequence_Fast_GET_ITEM(object, rank - 1)).equal(one))
      --rank;
    if (rank < 1 || rank > 3)
      throwCallError(kernelName + ": grid has " + std::to_string(rank) + " axes, not one to three",
                     kHelp);
    int64_t *axes[] = {&grid.x, &grid.y, &grid.z};
    for (Py_ssize_t i = 0; i < rank; ++i)
      *axes[i] = readAxis(PySequence_Fast_GET_ITEM(object, i), static_cast<int>(i), kernelName);
  } else if (PyLong_Check(object) || PyIndex_Check(object)) {
    grid.x = readAxis(object, 0, kernelName);
  } else {
    throwCallError(kernelName + ": grid is " + withArticle(typeName(object)), kHelp);
  }
  return grid;
}

} // namespace sectile::bindings
