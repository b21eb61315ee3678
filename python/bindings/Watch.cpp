#include "python/bindings/Watch.h"

#include "python/bindings/Interruption.h"
#include "python/bindings/PythonEnvironment.h"

#include <cstring>

namespace sectile::bindings {

namespace {

/// Different objects of which evaluation learns the same: numbers, texts, methods bound anew.
bool isSameValue(PyObject *a, PyObject *b) {
  if (a == b)
    return true;
  if (!a || !b || Py_TYPE(a) != Py_TYPE(b))
    return false;
  if (PyFloat_CheckExact(a)) { // by their bits: -0.0 is not 0.0
    double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
    return std::memcmp(&x, &y, sizeof x) == 0;
  }
  if (PyTuple_CheckExact(a) || PyList_CheckExact(a)) { // results made anew by each call
    Py_ssize_t count = Py_SIZE(a);
    PyObject **ofA = PySequence_Fast_ITEMS(a), **ofB = PySequence_Fast_ITEMS(b);
    bool same = Py_SIZE(b) == count;
    for (Py_ssize_t i = 0; same && i < count; ++i)
      same = ofA[i] != a && isSameValue(ofA[i], ofB[i]);
    return same;
  }
  if (PyMethod_Check(a))
    return PyMethod_GET_FUNCTION(a) == PyMethod_GET_FUNCTION(b) &&
           PyMethod_GET_SELF(a) == PyMethod_GET_SELF(b);
  if (PyLong_CheckExact(a) || PyUnicode_CheckExact(a) || PyCFunction_CheckExact(a))
    return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
  return false;
}

/// Takes over the reference `now`; null: the question raised the pending error.
bool isAnswer(PyObject *now, const py::object &expected) {
  if (now && now == expected.ptr()) [[likely]] {
    Py_DECREF(now);
    return true;
  }
  bool same = now ? isSameValue(now, expected.ptr())
                  : !expected && PyErr_ExceptionMatches(PyExc_AttributeError);
  py::object released = py::reinterpret_steal<py::object>(now);
  clearException();
  return same;
}

bool hasItems(PyObject *holder, PyObject *flat) {
  Py_ssize_t count = PyTuple_GET_SIZE(flat);
  if (PyList_Check(holder)) {
    if (PyList_GET_SIZE(holder) != count)
      return false;
    for (Py_ssize_t i = 0; i < count; ++i)
      if (PyList_GET_ITEM(holder, i) != PyTuple_GET_ITEM(flat, i))
        return false;
    return true;
  }
  if (PyDict_GET_SIZE(holder) * 2 != count)
    return false;
  Py_ssize_t position = 0, i = 0;
  for (PyObject *key, *value; PyDict_Next(holder, &position, &key, &value); i += 2)
    if (key != PyTuple_GET_ITEM(flat, i) || value != PyTuple_GET_ITEM(flat, i + 1))
      return false;
  return true;
}

} // namespace

bool Watch::asksAgain() const {
  switch (kind) {
  case Kind::Dictionary:
  case Kind::Cell:
  case Kind::Function:
    return holds();
  case Kind::Attribute:
    return isAnswer(PyObject_GetAttr(holder.ptr(), name.ptr()), expected);
  case Kind::Items:
    return hasItems(holder.ptr(), expected.ptr());
  case Kind::Item:
    return isAnswer(PyObject_GetItem(holder.ptr(), name.ptr()), expected);
  case Kind::Call:
    return isAnswer(PyObject_Call(holder.ptr(), PyTuple_GET_ITEM(name.ptr(), 0),
                                  PyTuple_GET_ITEM(name.ptr(), 1)),
                    expected);
  }
  return false;
}

int Watch::visit(visitproc visit, void *arg) const {
  Py_VISIT(holder.ptr());
  Py_VISIT(name.ptr());
  Py_VISIT(expected.ptr());
  return 0;
}

py::object Watch::stateOf(py::handle function) {
  PyObject *object = function.ptr();
  return py::make_tuple(py::handle(PyFunction_GET_CODE(object)),
                        py::handle(orNone(PyFunction_GET_DEFAULTS(object))),
                        py::handle(orNone(PyFunction_GET_KW_DEFAULTS(object))));
}

Watch Watch::ofItems(const py::dict &dictionary) {
  py::list flat;
  for (auto [key, value] : dictionary) {
    flat.append(key);
    flat.append(value);
  }
  return {Kind::Items, dictionary, {}, py::tuple(flat)};
}

bool watchContent(py::handle value, std::vector<Watch> &watches) {
  PyObject *object = value.ptr();
  if (PyTuple_Check(object) || PyList_CheckExact(object)) {
    SequenceGuard guard;
    py::tuple items(py::reinterpret_steal<py::tuple>(PySequence_Tuple(object)));
    if (!items)
      throw py::error_already_set();
    if (PyList_CheckExact(object))
      watches.push_back({Watch::Kind::Items, py::reinterpret_borrow<py::object>(value), {}, items});
    for (py::handle item : items)
      if (!watchContent(item, watches))
        return false;
    return true;
  }
  if (PyList_Check(object))
    return false;
  if (hasMark(value, "__sectile_constexpr__")) {
    py::object inner = value.attr("value");
    watches.push_back({Watch::Kind::Attribute, py::reinterpret_borrow<py::object>(value),
                       py::str("value"), inner});
    return watchContent(inner, watches);
  }
  return true;
}

void WatchIndex::add(const std::vector<Watch> &watches) {
  for (const Watch &watch : watches) {
    bool isNamed = watch.name && PyUnicode_Check(watch.name.ptr());
    std::string name = isNamed && watch.kind != Watch::Kind::Cell ? std::string(py::str(watch.name))
                                                                  : std::string();
    expected.emplace(Key{watch.kind, watch.holder.ptr(), std::move(name)}, watch.expected.ptr());
  }
}

bool WatchIndex::expects(Watch::Kind kind, PyObject *holder, std::string_view name,
                         PyObject *value) const {
  auto found = expected.find(Key{kind, holder, std::string(name)});
  return found != expected.end() && isSameValue(found->second, value);
}

bool WatchIndex::isStable(PyObject *value) const {
  if (PyTuple_Check(value)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i)
      if (!isStable(PyTuple_GET_ITEM(value, i)))
        return false;
    return true;
  }
  if (PyList_Check(value)) {
    if (!PyList_CheckExact(value) || !expected.contains(Key{Watch::Kind::Items, value, ""}))
      return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); ++i)
      if (!isStable(PyList_GET_ITEM(value, i)))
        return false;
    return true;
  }
  // NumPy's numbers are no objects to evaluation, and plain ones to the digest.
  if (!std::strncmp(Py_TYPE(value)->tp_name, "numpy.", 6) && !PyFloat_Check(value))
    return PySequence_Check(value);
  if (!hasMark(value, "__sectile_constexpr__"))
    return true;
  py::object inner = py::handle(value).attr("value");
  return expects(Watch::Kind::Attribute, value, "value", inner.ptr()) && isStable(inner.ptr());
}

} // namespace sectile::bindings
