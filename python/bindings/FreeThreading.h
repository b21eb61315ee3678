//===-- FreeThreading.h - what the GIL does, for builds of CPython that have none -------------===//
// State that launches share has a StateMutex each. It is held for a few instructions that call
// nothing of Python's, so a thread that waits for it need not give way to the garbage collector,
// and fork() finds it free:
//
//   std::lock_guard lock(state.mutex);     // nothing where there is a GIL
//
// CPython's own way, critical sections, is for what calls Python and is rare: of these fork() may
// leave one locked in the child for ever, handed over to a thread that the child has not.
//
//   ObjectLock lock(bound);
#pragma once

#include "backends/plain/ForkSafeMutex.h"

#include <mutex>
#include <pybind11/pybind11.h>

namespace sectile::bindings {

#ifdef Py_GIL_DISABLED

using StateMutex = ForkSafeMutex;

class ObjectLock {
public:
  explicit ObjectLock(PyObject *object) { PyCriticalSection_Begin(&section, object); }
  ~ObjectLock() { PyCriticalSection_End(&section); }
  ObjectLock(const ObjectLock &) = delete;
  ObjectLock &operator=(const ObjectLock &) = delete;

private:
  PyCriticalSection section;
};

#else

class StateMutex {
public:
  void lock() {}
  void unlock() {}
};

class ObjectLock {
public:
  explicit ObjectLock(PyObject *) {}
  ~ObjectLock() {} // else variables of this type are unused ones
};

#endif

} // namespace sectile::bindings
