//===-- Grid.h - the grid of a launch ---------------------------------------------------------===//
// kernel[grid]: an int, a tuple or list of one to three, or a function from the arguments'
// dictionary to one of these. An empty axis is fine: nothing runs.
#pragma once

#include "Errors.h"
#include "backends/plain/Driver.h"

#include <functional>

namespace sectile::bindings {

/// Throws an ArgumentError that names `kernelName` when there is no grid in `object`. `arguments`
/// makes the dictionary a grid function is called with.
backends::Grid readGrid(PyObject *object, const std::string &kernelName,
                        const std::function<py::dict()> &arguments);

} // namespace sectile::bindings
