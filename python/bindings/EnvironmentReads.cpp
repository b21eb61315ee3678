// What PythonEnvironment notes of its answers (ReadLog.h), and how it is asked the same again.

#include "python/bindings/ConstantText.h"
#include "python/bindings/Interruption.h"
#include "python/bindings/PythonEnvironment.h"

namespace sectile::bindings {

using lang::Constant;
using Check = Read::Check;

namespace {

/// Asks sectile/runtime/reads.py; None where the package is not in use (tests of the front end).
template <class... Arguments>
py::object askPackage(const char *function, const Arguments &...arguments) {
  py::dict modules = py::module_::import("sys").attr("modules");
  if (!modules.contains("sectile"))
    return py::none();
  return py::module_::import("sectile.runtime.reads").attr(function)(arguments...);
}

bool isOfPackage(py::handle module) {
  py::object name = attributeOr(module, "__name__", py::none());
  if (!PyUnicode_Check(name.ptr()))
    return false;
  std::string text = name.cast<std::string>();
  return text == "sectile" || text.starts_with("sectile.");
}

Constant describe(const python::Environment::NamedTupleClass &made) {
  std::vector<Constant> fields;
  for (const std::string &field : made.tupleClass->fields)
    fields.push_back({field});
  return Constant::tuple({{made.tupleClass->name},
                          Constant::tuple(std::move(fields)),
                          Constant::tuple(made.defaults)});
}

std::vector<uint64_t> mentionsIn(const std::vector<Constant> &operands) {
  std::vector<uint64_t> ids;
  for (const Constant &operand : operands)
    forEachReference(operand, [&](uint64_t id) { ids.push_back(id); });
  return ids;
}

} // namespace

void PythonEnvironment::noteReads(ReadLog *newLog, const WatchIndex *newCovered) {
  log = newLog;
  covered = newCovered;
}

void PythonEnvironment::note(Read read, py::handle value, Watch watch) {
  if (isCovered(read, value, watch)) {
    read.check = Check::Covered;
  } else if (read.kind == Read::Kind::Attribute && value &&
             askPackage("is_fixed", watch.holder, read.name).is(py::bool_(true)) &&
             WatchIndex().isStable(value.ptr())) {
    read.check = Check::Kept;
  } else if (read.kind == Read::Kind::Call && read.operands[0].is<lang::BuiltinRef>() &&
             askPackage("is_fixed_operation", watch.holder, watch.name).is(py::bool_(true))) {
    read.check = Check::Kept;
  }
  read.watches.push_back(std::move(watch));
  read.isUnwatched = value && !watchContent(value, read.watches);
  log->add(std::move(read));
}

bool PythonEnvironment::isCovered(const Read &read, py::handle value, const Watch &watch) {
  PyObject *holder = watch.holder.ptr();
  if (read.kind == Read::Kind::Call)
    return isCoveredCall(read, watch.holder);
  if ((read.kind == Read::Kind::Attribute || read.kind == Read::Kind::Item) &&
      !mentionsObjects(read.operands[0]) && !mentionsObjects(read.operands.back()))
    return true; // "text".upper, "text"[0]
  if (read.kind == Read::Kind::Attribute && PyModule_Check(holder) && isOfPackage(watch.holder))
    return true; // the language: the compiler's build fixes it
  if (!value || !covered || !covered->isStable(value.ptr()))
    return false;
  if (read.kind == Read::Kind::Item)
    return covered->looksAt(Watch::Kind::Items, holder);
  if (watch.kind == Watch::Kind::Attribute && PyModule_Check(holder))
    return covered->expects(Watch::Kind::Dictionary, PyModule_GetDict(holder), read.name,
                            value.ptr());
  return covered->expects(watch.kind, holder, watch.kind == Watch::Kind::Cell ? "" : read.name,
                          watch.expected.ptr());
}

bool PythonEnvironment::isCoveredCall(const Read &read, py::handle callee) {
  for (size_t i = 1; i < read.operands.size(); ++i)
    if (mentionsObjects(read.operands[i]))
      return false;
  return !mentionsObjects(*read.answer) && isClosed(callee);
}

bool PythonEnvironment::isClosed(py::handle callee) {
  if (auto known = closedCallees.find(callee.ptr()); known != closedCallees.end())
    return known->second;
  py::object functions = askPackage("functions_behind", callee);
  bool isKnown = !functions.is_none();
  closedCallees.emplace(callee.ptr(), isKnown);
  if (!isKnown)
    return false;
  for (auto [function, names] : py::reinterpret_borrow<py::dict>(functions)) {
    Constant reference = constantOf(function);
    noteSource(reference);
    for (py::handle name : names)
      (void)globalOf(reference, name.cast<std::string>());
  }
  return true;
}

python::Environment::Answer PythonEnvironment::globalOf(const Constant &function,
                                                        const std::string &name) {
  Place place = find(function, name);
  if (!place.value)
    return {};
  Answer answer{constantOf(place.value), "", ""};
  if (isNoting())
    note({Read::Kind::Global, name, {function}, {}, answer.value}, place.value, place.watch);
  return answer;
}

/// Text and defaults of a function that a kernel calls.
std::optional<Constant> PythonEnvironment::sourceOf(const Constant &function) {
  py::object object = objectOf(function);
  py::object plain = attributeOr(object, "fn", object);
  if (!PyFunction_Check(plain.ptr()))
    return std::nullopt;
  py::object named = plain.attr("__kwdefaults__");
  return Constant::tuple(
      {constantOf(askPackage("source_digest", object)), constantOf(plain.attr("__defaults__")),
       constantOf(named.is_none() ? py::tuple() : py::tuple(named.attr("items")()))});
}

void PythonEnvironment::noteSource(const Constant &function) {
  std::optional<Constant> source = sourceOf(function);
  if (!source)
    return;
  py::object object = objectOf(function);
  py::object plain = attributeOr(object, "fn", object);
  Read read{Read::Kind::Source, "", {function}, {}, std::move(source)};
  if (covered && covered->looksAt(Watch::Kind::Function, plain.ptr()))
    read.check = Check::Covered;
  read.watches.push_back({Watch::Kind::Function, plain, {}, Watch::stateOf(plain)});
  if (py::object named = plain.attr("__kwdefaults__"); PyDict_Check(named.ptr()))
    read.watches.push_back(Watch::ofItems(named)); // they may be changed in place
  log->add(std::move(read));
}

void PythonEnvironment::noteTupleClass(const Constant &callee, const NamedTupleClass &made) {
  py::object defaults = attributeOr(objectOf(callee), "_field_defaults", py::none());
  Read read{Read::Kind::TupleClass, "", {callee}, {}, describe(made)};
  if (covered && covered->looksAt(Watch::Kind::Items, defaults.ptr()))
    read.check = Check::Covered; // the class itself comes from another read
  log->add(std::move(read));
}

void PythonEnvironment::compared(const Constant &lhs, const Constant &rhs) {
  if (!isNoting() || !mentionsObjects(lhs) || !mentionsObjects(rhs))
    return;
  log->add({Read::Kind::Same, "", {lhs, rhs}, {}, Constant{whichAreSame(mentionsIn({lhs, rhs}))}});
}

bool PythonEnvironment::ask(Read &read) {
  if (read.operands.empty())
    return false;
  const Constant &subject = read.operands[0];
  bool isFunction = subject.is<lang::FunctionRef>() || subject.is<lang::ObjectRef>();
  bool hasTwo = read.operands.size() == 2;
  Answer answer;
  switch (read.kind) {
  case Read::Kind::Name:
    if (!subject.is<lang::FunctionRef>())
      return false;
    answer = lookUp(*subject.as<lang::FunctionRef>(), read.name);
    break;
  case Read::Kind::Global:
    if (!isFunction)
      return false;
    answer = globalOf(subject, read.name);
    break;
  case Read::Kind::Attribute:
    answer = attribute(subject, read.name);
    if (answer.error.empty()) {
      read.answer = std::move(answer.value);
      return true;
    }
    break;
  case Read::Kind::Item:
    if (!hasTwo)
      return false;
    answer = item(subject, read.operands[1]);
    break;
  case Read::Kind::Call: {
    if (read.operands.size() < 1 + read.keywords.size())
      return false;
    auto firstNamed = read.operands.end() - std::ptrdiff_t(read.keywords.size());
    std::vector<Constant> positional(read.operands.begin() + 1, firstNamed);
    std::vector<std::pair<std::string, Constant>> named;
    for (size_t i = 0; i < read.keywords.size(); ++i)
      named.emplace_back(read.keywords[i], firstNamed[std::ptrdiff_t(i)]);
    answer = call(subject, positional, named);
    break;
  }
  case Read::Kind::TupleClass:
    if (NamedTupleClass made = namedTupleClass(subject); made.tupleClass)
      answer.value = describe(made);
    break;
  case Read::Kind::Source:
    if (!isFunction)
      return false;
    noteSource(subject);
    answer.value = sourceOf(subject);
    break;
  case Read::Kind::Same:
    answer.value = Constant{whichAreSame(mentionsIn(read.operands))};
    if (isNoting())
      log->add({Read::Kind::Same, "", read.operands, {}, answer.value});
    break;
  }
  throwInterruption();
  read.answer = std::move(answer.value);
  return read.answer.has_value();
}

} // namespace sectile::bindings
