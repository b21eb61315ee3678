//===-- Devices.h - what Python may ask of GPUs ----------------------------------------------===//
#pragma once

#include <pybind11/pybind11.h>

namespace sectile::bindings {

/// device_properties, recent_launches, last_launch and GpuTimer.
void registerDevices(pybind11::module_ &module);

} // namespace sectile::bindings
