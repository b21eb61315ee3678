#include "SourceState.h"

#include "Launcher.h"

#include <atomic>
#include <pybind11/stl.h>

namespace sectile::bindings {

namespace {

std::atomic<uint64_t> lastSerial = 0, epoch = 0;

Watch watchOf(const py::tuple &fields) {
  using Kind = Watch::Kind;
  static constexpr std::pair<const char *, Kind> kKinds[] = {
      {"dict", Kind::Dictionary},     {"absent", Kind::Dictionary}, {"cell", Kind::Cell},
      {"attribute", Kind::Attribute}, {"items", Kind::Items},       {"function", Kind::Function}};
  std::string kind = py::cast<std::string>(fields[0]);
  Watch watch{Kind::Dictionary, fields[1], fields[2], fields[3]};
  for (auto [name, known] : kKinds)
    if (kind == name)
      watch.kind = known;
  if (kind == "absent")
    watch.expected = py::object();
  return watch;
}

} // namespace

uint64_t Sources::serial() const {
  uint64_t result = own->serial;
  for (const auto &each : passed)
    result = (result ^ each->serial) * 0x9E3779B97F4A7C15u;
  return result;
}

void sourceChanged() {
  ++epoch;
}

std::shared_ptr<const SourceState> currentSource(KernelState &state, PyObject *kernel) {
  std::shared_ptr<const SourceState> known;
  {
    std::lock_guard lock(state.mutex);
    known = state.source;
  }
  if (known && known->epoch == epoch.load(std::memory_order_relaxed) && holdAll(known->watches))
      [[likely]]
    return known;
  auto source = std::make_shared<SourceState>();
  source->epoch = epoch;
  source->serial = ++lastSerial;
  py::tuple snapshot = py::handle(kernel).attr("_snapshot")();
  source->digest = py::cast<std::string>(snapshot[0]);
  source->files = py::cast<std::vector<std::string>>(snapshot[2]);
  for (py::handle entry : py::list(snapshot[1]))
    source->watches.push_back(watchOf(py::reinterpret_borrow<py::tuple>(entry)));
  std::lock_guard lock(state.mutex);
  source->version = state.versions.try_emplace(source->digest, state.versions.size()).first->second;
  known = std::exchange(state.source, source); // dies after the lock
  return source;
}

} // namespace sectile::bindings
