//===-- Watch.h - something of Python that is as it was -------------------------------------------===//
// A question that was asked once, and what the answer was; holds() asks again, in some nanoseconds.
// The answer is the same when it is the same object, or an equal number or text:
//
//   Dictionary   holder[name] is expected (null: absent)        globals, attributes of modules
//   Cell         the closure cell holder contains expected
//   Attribute    getattr(holder, name) is expected (null: there is none)
//   Items        holder, a list or dictionary, has just the items `expected`, a flat tuple
//   Function     code and defaults of holder are those of `expected`, a tuple
//   Item         holder[name] is expected, by way of its __getitem__
//   Call         holder(*positional, **named) is expected, `name` being (positional, named)
#pragma once

#include <pybind11/pybind11.h>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sectile::bindings {

namespace py = pybind11;

struct Watch {
  enum class Kind : uint8_t { Dictionary, Cell, Attribute, Items, Function, Item, Call };
  Kind kind;
  py::object holder, name, expected;

  /// Leaves no Python error behind: a question that fails now has another answer. An interruption
  /// (Interruption.h) is thrown. Every launch asks, so the most frequent kinds take no call.
  bool holds() const {
    if (kind == Kind::Dictionary) [[likely]]
      // A strong dictionary and an interned key: neither can fail.
      return PyDict_GetItemWithError(holder.ptr(), name.ptr()) == expected.ptr();
    if (kind == Kind::Function) {
      PyObject *function = holder.ptr(), *state = expected.ptr();
      return PyFunction_GET_CODE(function) == PyTuple_GET_ITEM(state, 0) &&
             orNone(PyFunction_GET_DEFAULTS(function)) == PyTuple_GET_ITEM(state, 1) &&
             orNone(PyFunction_GET_KW_DEFAULTS(function)) == PyTuple_GET_ITEM(state, 2);
    }
    if (kind == Kind::Cell)
      return PyCell_GET(holder.ptr()) == expected.ptr();
    return asksAgain();
  }
  int visit(visitproc visit, void *arg) const; // for the garbage collector

  /// What a Function watch of `function` expects.
  static py::object stateOf(py::handle function);
  /// An Items watch of a dictionary as it is now.
  static Watch ofItems(const py::dict &dictionary);

private:
  static PyObject *orNone(PyObject *object) { return object ? object : Py_None; }
  bool asksAgain() const;
};

inline bool holdAll(const std::vector<Watch> &watches) {
  for (const Watch &watch : watches)
    if (!watch.holds())
      return false;
  return true;
}
/// Adds watches of what changes in place within `value` (lists, wrapped constants). False when it
/// may change unseen.
bool watchContent(py::handle value, std::vector<Watch> &watches);

/// Finds watches by what they look at.
class WatchIndex {
public:
  /// The objects must live as long as this.
  void add(const std::vector<Watch> &watches);
  /// Whether there is such a watch, and it expects `value` (null: absent).
  bool expects(Watch::Kind kind, PyObject *holder, std::string_view name, PyObject *value) const;
  bool looksAt(Watch::Kind kind, PyObject *holder) const {
    return expected.contains(Key{kind, holder, ""});
  }
  /// Whether reading `value` gives the same constant as long as it is the same object and all
  /// watches hold: lists and wrapped constants change in place, so they need watches of their own.
  bool isStable(PyObject *value) const;

private:
  struct Key {
    Watch::Kind kind;
    PyObject *holder;
    std::string name;
    friend bool operator==(const Key &, const Key &) = default;
  };
  struct Hash {
    size_t operator()(const Key &key) const {
      return std::hash<const void *>()(key.holder) * 31 + std::hash<std::string>()(key.name) +
             size_t(key.kind);
    }
  };
  std::unordered_map<Key, PyObject *, Hash> expected;
};

} // namespace sectile::bindings
