//===-- LaunchHooks.h - what is called around launches ----------------------------------------===//
// Two Python functions, or none, which then costs one comparison per launch:
//
//   enter(kernel, compiled, grid, stream, arguments) -> metadata   before a launch is queued
//   exit(metadata)                                                 after
//
// sectile/runtime/hooks.py makes them of what users put into knobs.runtime.launch_enter_hook and
// launch_exit_hook.
#pragma once

#include "Launcher.h"

namespace sectile::bindings {

bool hasLaunchHooks();

struct HookedLaunch {
  PyObject *kernel;
  const py::object &compiled;
  py::dict arguments;
};

/// runLaunch() between the two. What a hook throws, this throws; the exit hook runs also when the
/// launch fails.
void runBetweenHooks(const HookedLaunch &hooked, const jit::BoundLaunch &ready, void *stream);

/// Calls the listener for variants that are new to a kernel (sectile/runtime/compile_hooks.py):
/// listener(kernel, index among its variants, is a warm-up). What it throws, this throws.
void reportVariant(PyObject *kernel, size_t index, bool isWarmup);

void registerLaunchHooks(py::module_ &module);

} // namespace sectile::bindings
