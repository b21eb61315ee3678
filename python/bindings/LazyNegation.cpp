#include "LazyNegation.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <optional>
#include <vector>

namespace sectile::bindings {

namespace {

/// Where the bit lies: in the object behind the pointer at `pointerAt` of the Python object.
struct Place {
  uint32_t pointerAt = 0, wordAt = 0;
  uint64_t bit = 0;
  friend bool operator==(const Place &, const Place &) = default;
};

uint64_t wordAt(const void *object, size_t offset) {
  uint64_t word;
  std::memcpy(&word, static_cast<const char *>(object) + offset, sizeof word);
  return word;
}

const void *implementationOf(PyObject *tensor, uint32_t pointerAt) {
  return reinterpret_cast<const void *>(wordAt(tensor, pointerAt));
}

bool isSet(PyObject *tensor, const Place &place) {
  return wordAt(implementationOf(tensor, place.pointerAt), place.wordAt) & place.bit;
}

bool asksMethod(PyObject *tensor) {
  py::object answer = py::handle(tensor).attr("is_neg")();
  return py::cast<bool>(answer);
}

/// Returns the places in which `negated` differs from `plain`, whose lazily negated view it is. The
/// first 23 words of a tensor's C++ object are looked at: all of it in torch 2.11, where the bit is
/// in the last one. torch 2.13's has one word less; malloc's blocks hold it all the same.
std::vector<Place> placesThatTell(PyObject *plain, PyObject *negated) {
  constexpr uint32_t kLastPointer = 48, kWords = 23;
  std::vector<Place> places;
  auto addressOf = [](PyObject *tensor) {
    return py::cast<uintptr_t>(py::handle(tensor).attr("_cdata"));
  };
  uint64_t of[] = {addressOf(plain), addressOf(negated)};
  for (uint32_t pointerAt = sizeof(PyObject); pointerAt <= kLastPointer; pointerAt += 8) {
    if (pointerAt + 8 > size_t(Py_TYPE(plain)->tp_basicsize) || wordAt(plain, pointerAt) != of[0] ||
        wordAt(negated, pointerAt) != of[1])
      continue;
    for (uint32_t at = 8; at < 8 * kWords; at += 8) {
      uint64_t before = wordAt(implementationOf(plain, pointerAt), at);
      uint64_t after = wordAt(implementationOf(negated, pointerAt), at);
      if (std::popcount(before ^ after) == 1 && (after & (before ^ after)))
        places.push_back({pointerAt, at, before ^ after});
    }
    break;
  }
  return places;
}

/// Returns the places that differ in all of several pairs, and are as in a plain tensor where one
/// is negated twice.
std::vector<Place> commonPlaces(const py::module_ &torch) {
  py::object negate = torch.attr("_neg_view");
  py::dict onHost;
  onHost["device"] = "cpu";
  py::object tensors[] = {torch.attr("zeros")(2, **onHost),
                          torch.attr("ones")(py::make_tuple(3, 4), **onHost).attr("t")(),
                          torch.attr("arange")(5, **onHost).attr("double")()};
  std::optional<std::vector<Place>> common;
  for (const py::object &plain : tensors) {
    py::object negated = negate(plain), twice = negate(negated);
    if (asksMethod(plain.ptr()) || !asksMethod(negated.ptr()) || asksMethod(twice.ptr()))
      return {};
    std::vector<Place> places = placesThatTell(plain.ptr(), negated.ptr());
    std::erase_if(places, [&](const Place &place) {
      return isSet(twice.ptr(), place) ||
             (common && std::find(common->begin(), common->end(), place) == common->end());
    });
    common = std::move(places);
  }
  return *common;
}

enum class State : uint8_t { Unknown, Known, Unknowable };
std::atomic<State> state = State::Unknown;
Place known; // once `state` is Known

} // namespace

void findNegationBit(PyObject *tensor) {
  if (state.load(std::memory_order_acquire) != State::Unknown)
    return;
  static StateMutex mutex;
  std::vector<Place> places;
  try {
    places = commonPlaces(py::module_::import("torch"));
    if (places.size() == 1 && isSet(tensor, places[0]) != asksMethod(tensor))
      places.clear();
  } catch (py::error_already_set &) { // a torch without _neg_view, or in a mode that forbids it
  } catch (py::cast_error &) {
  }
  std::lock_guard lock(mutex);
  if (state.load(std::memory_order_relaxed) != State::Unknown)
    return;
  if (places.size() == 1)
    known = places[0];
  state.store(places.size() == 1 ? State::Known : State::Unknowable, std::memory_order_release);
}

bool isLazilyNegated(PyObject *tensor) {
  if (state.load(std::memory_order_acquire) == State::Known) [[likely]]
    return isSet(tensor, known);
  return asksMethod(tensor);
}

} // namespace sectile::bindings
