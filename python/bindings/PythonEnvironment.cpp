#include "python/bindings/PythonEnvironment.h"

#include "lang/plain/LanguageClasses.h"
#include "python/bindings/AstConverter.h"
#include "python/bindings/Interruption.h"

namespace sectile::bindings {

using lang::Constant;
using Answer = python::Environment::Answer;

namespace {

/// Python's functions that the evaluator knows; others are called on constants.
constexpr const char *kKnownBuiltins[] = {
    "len",   "min",  "max", "range",  "int",   "float",      "bool",      "str",
    "repr",  "abs",  "sum", "any",    "all",   "zip",        "enumerate", "reversed",
    "tuple", "list", "pow", "divmod", "print", "isinstance", "hasattr",   "getattr"};

std::optional<std::string> textAttribute(py::handle object, const char *name) {
  py::object text = attributeOr(object, name, py::none());
  if (!PyUnicode_Check(text.ptr()))
    return std::nullopt;
  return text.cast<std::string>();
}

/// What a NumPy scalar is as a Python number; null for anything else.
py::object plainNumber(py::handle object) {
  std::optional<std::string> module = textAttribute(py::type::handle_of(object), "__module__");
  if (module != "numpy" || !py::hasattr(object, "item") || !py::hasattr(object, "dtype") ||
      PySequence_Check(object.ptr()))
    return {};
  py::object number = object.attr("item")();
  bool isPlain = PyBool_Check(number.ptr()) || PyLong_CheckExact(number.ptr()) ||
                 PyFloat_CheckExact(number.ptr());
  return isPlain ? number : py::object();
}

/// Whether a kernel that reads this would bake in a plain number that is not marked as a constant.
bool holdsPlainNumber(py::handle value) {
  PyObject *object = value.ptr();
  if (PyBool_Check(object) || PyLong_Check(object) || PyFloat_Check(object))
    return true;
  if (!PyTuple_Check(object) && !PyList_Check(object))
    return false;
  SequenceGuard guard;
  for (py::handle item : value)
    if (holdsPlainNumber(item))
      return true;
  return false;
}

/// "<C object at 0x7f…>" as "<C object>": addresses differ from run to run, and say nothing.
std::string withoutAddresses(std::string text) {
  constexpr std::string_view mark = " at 0x";
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
    size_t end = text.find_first_not_of("0123456789abcdefABCDEF", at + mark.size());
    text.erase(at, end == std::string::npos ? end : end - at);
  }
  return text;
}

} // namespace

template <class Function>
Answer PythonEnvironment::answering(Function function) {
  py::gil_scoped_acquire gil;
  if (interruption)
    return {std::nullopt, "interrupted", ""};
  try {
    return function();
  } catch (py::error_already_set &exception) {
    keepInterruption(exception);
    return {std::nullopt, describeException(exception), ""};
  } catch (std::exception &exception) {
    return {std::nullopt, exception.what(), ""};
  }
}

void PythonEnvironment::keepInterruption(const py::error_already_set &exception) {
  if (isInterruption(exception) && !interruption)
    interruption.emplace(exception);
}

void PythonEnvironment::throwInterruption() {
  if (!interruption)
    return;
  py::error_already_set raised = *interruption;
  interruption.reset();
  throw raised;
}

bool hasMark(py::handle object, const char *name) {
  if (PyType_Check(object.ptr()))
    return false;
  py::object mark = attributeOr(object, name, py::none());
  return PyBool_Check(mark.ptr()) && mark.ptr() == Py_True;
}

bool isNamedTupleClass(PyObject *object) {
  if (!PyType_Check(object) ||
      !PyType_IsSubtype(reinterpret_cast<PyTypeObject *>(object), &PyTuple_Type) ||
      object == reinterpret_cast<PyObject *>(&PyTuple_Type))
    return false;
  py::object fields = attributeOr(object, "_fields", py::none());
  return PyTuple_Check(fields.ptr()) && py::hasattr(object, "_make");
}

lang::TupleClass describeNamedTuple(py::handle type) {
  lang::TupleClass result{py::str(type.attr("__name__")), {}};
  for (py::handle field : py::object(type.attr("_fields")))
    result.fields.push_back(py::str(field));
  if (py::object first = attributeOr(type, "__sectile_constants_from__", py::none());
      PyLong_Check(first.ptr()))
    result.constantsFrom = first.cast<size_t>();
  return result;
}

PythonEnvironment::~PythonEnvironment() {
  py::gil_scoped_acquire gil;
  functions.clear();
  objects.clear();
  interruption.reset();
}

uint64_t PythonEnvironment::keep(py::handle object) {
  PyObject *raw = object.ptr();
  std::lock_guard lock(mutex);
  uint64_t next = objects.size() + 1;
  bool isMethod = PyMethod_Check(raw);
  uint64_t &id =
      isMethod ? methods[{PyMethod_GET_FUNCTION(raw), PyMethod_GET_SELF(raw)}] : ids[raw];
  if (!id) {
    id = next;
    objects.push_back(py::reinterpret_borrow<py::object>(object));
  }
  return id;
}

lang::FunctionRef PythonEnvironment::reference(py::handle jitFunction) {
  py::object plain = attributeOr(jitFunction, "fn", jitFunction);
  return {keep(jitFunction), py::str(plain.attr("__name__"))};
}

lang::TupleClassRef PythonEnvironment::tupleClassOf(py::handle type) {
  if (!isNamedTupleClass(type.ptr()))
    return nullptr;
  auto tupleClass = std::make_shared<lang::TupleClass>(describeNamedTuple(type));
  tupleClass->id = keep(type);
  return tupleClass;
}

bool isDescriptorClass(py::handle type) {
  return py::hasattr(type, "__sectile_tensor_descriptor__");
}

lang::TupleClassRef PythonEnvironment::tupleClassOfArgument(py::handle type) {
  return isDescriptorClass(type) ? lang::tensorDescriptorClass() : tupleClassOf(type);
}

Constant PythonEnvironment::constantOf(py::handle object) {
  PyObject *raw = object.ptr();
  if (object.is_none())
    return {lang::None{}};
  if (PyBool_Check(raw))
    return {raw == Py_True};
  if (PyLong_CheckExact(raw)) {
    if (auto number = integerFromPython(object))
      return Constant::integer(*number);
  } else if (PyFloat_Check(raw)) { // np.float64 is one
    return {PyFloat_AS_DOUBLE(raw)};
  } else if (PyUnicode_Check(raw)) {
    return {object.cast<std::string>()};
  } else if (PyTuple_Check(raw) || PyList_Check(raw)) {
    SequenceGuard guard;
    std::vector<Constant> items;
    for (py::handle item : object)
      items.push_back(constantOf(item));
    return Constant::tuple(std::move(items), tupleClassOf(py::type::handle_of(object)));
  } else if (PyModule_Check(raw)) {
    return {lang::ObjectRef{keep(object), "module"}};
  }
  if (hasMark(object, "__sectile_constexpr__"))
    return constantOf(object.attr("value"));
  if (hasMark(object, "__sectile_dtype__"))
    if (auto dtype = lang::DType::parse(textAttribute(object, "name").value_or("")))
      return {*dtype};
  if (hasMark(object, "__sectile_jit__"))
    return {reference(object)};
  if (auto name = textAttribute(object, "__sectile_builtin__"))
    return {lang::BuiltinRef{*name}};
  if (PyType_Check(raw)) {
    // The language's own classes, as isinstance() and annotations name them.
    for (auto [mark, name] :
         {std::pair{"__sectile_constexpr__", "constexpr"}, std::pair{"__sectile_dtype__", "dtype"}})
      if (py::hasattr(object, mark)) {
        std::string className = py::str(object.attr("__name__"));
        return {lang::BuiltinRef{className == "pointer_type" ? className : name}};
      }
    if (auto name = textAttribute(object, "__sectile_class__"))
      return {lang::BuiltinRef{*name}};
  }
  if (py::object number = plainNumber(object))
    return constantOf(number);
  if (PyCFunction_Check(raw) || PyType_Check(raw)) {
    py::dict builtins = py::module_::import("builtins").attr("__dict__");
    for (const char *name : kKnownBuiltins)
      if (builtins[name].ptr() == raw)
        return {lang::BuiltinRef{std::string("python.") + name}};
  }
  return {lang::ObjectRef{keep(object), py::str(py::type::handle_of(object).attr("__name__"))}};
}

py::object PythonEnvironment::objectOf(const Constant &constant) const {
  struct Visitor {
    const PythonEnvironment &environment;
    py::object operator()(lang::None) const { return py::none(); }
    py::object operator()(bool value) const { return py::bool_(value); }
    py::object operator()(lang::Int value) const {
      if (value >= INT64_MIN && value <= INT64_MAX)
        return py::int_(int64_t(value));
      py::object high = py::int_(int64_t(value >> 64));
      return (high << py::int_(64)) | py::int_(uint64_t(value));
    }
    py::object operator()(double value) const { return py::float_(value); }
    py::object operator()(const std::string &text) const { return py::str(text); }
    py::object operator()(const lang::DType &dtype) const {
      return py::module_::import("sectile.language").attr("str_to_ty")(dtype.name());
    }
    py::object operator()(const lang::ConstantTuple &items) const {
      py::tuple tuple(items->size());
      for (size_t i = 0; i < items->size(); ++i)
        tuple[i] = environment.objectOf((*items)[i]);
      if (items->tupleClass)
        return environment.objectAt(items->tupleClass->id).attr("_make")(tuple);
      return std::move(tuple);
    }
    py::object operator()(const lang::BuiltinRef &builtin) const {
      if (builtin.name.starts_with("python."))
        return py::module_::import("builtins").attr(builtin.name.substr(7).c_str());
      if (builtin.name.starts_with("operator."))
        return py::module_::import("operator").attr(builtin.name.substr(9).c_str());
      return py::module_::import("sectile.language").attr(builtin.name.c_str());
    }
    py::object operator()(const lang::FunctionRef &function) const {
      return environment.objectAt(function.id);
    }
    py::object operator()(const lang::ObjectRef &object) const {
      return environment.objectAt(object.id);
    }
  };
  return std::visit(Visitor{*this}, constant.value);
}

py::object PythonEnvironment::plainFunction(uint64_t id) const {
  py::object object = objectAt(id);
  return attributeOr(object, "fn", object);
}

//-- names -----------------------------------------------------------------------------------------

/// A value that a kernel names, unless it is an operation that there is not yet.
Answer PythonEnvironment::answerOf(py::handle value) {
  py::object notYet = PyFunction_Check(value.ptr())
                          ? attributeOr(value, "__sectile_not_yet__", py::none())
                          : py::none();
  if (!PyTuple_Check(notYet.ptr()) || PyTuple_GET_SIZE(notYet.ptr()) != 2)
    return {constantOf(value), "", ""};
  return {std::nullopt, py::str(notYet[py::int_(0)]), py::str(notYet[py::int_(1)])};
}

Answer PythonEnvironment::checkedGlobal(py::handle value, const std::string &name,
                                        py::handle globals) {
  if (!holdsPlainNumber(value))
    return answerOf(value);
  py::object annotations =
      globals.contains("__annotations__") ? py::object(globals["__annotations__"]) : py::none();
  if (!annotations.is_none() && annotations.contains(name.c_str())) {
    py::object annotation = annotations[name.c_str()];
    bool isText = PyUnicode_Check(annotation.ptr());
    std::string text = isText ? annotation.cast<std::string>() : "";
    if (isText ? text == "constexpr" || text.ends_with(".constexpr")
               : py::hasattr(annotation, "__sectile_constexpr__"))
      return {constantOf(value), "", ""};
  }
  std::string kind = py::str(py::type::handle_of(value).attr("__name__"));
  return {std::nullopt,
          "'" + name + "' is a plain " + kind + " outside the kernel, which may change later",
          "make it a constant, " + name + " = tl.constexpr(...) or " + name +
              ": tl.constexpr = ..., or pass it as a tl.constexpr argument"};
}

PythonEnvironment::Place PythonEnvironment::find(const Constant &function,
                                                 const std::string &name) const {
  uint64_t id = function.is<lang::FunctionRef>() ? function.as<lang::FunctionRef>()->id
                                                 : function.as<lang::ObjectRef>()->id;
  py::object plain = plainFunction(id);
  py::object closure = plain.attr("__closure__");
  if (!closure.is_none()) {
    py::object names = plain.attr("__code__").attr("co_freevars");
    size_t count = py::len(closure);
    for (size_t i = 0; i < count; ++i)
      if (names[py::int_(i)].cast<std::string>() == name) {
        py::object cell = closure[py::int_(i)];
        py::object content = attributeOr(cell, "cell_contents", py::object());
        return {content, {Watch::Kind::Cell, cell, {}, content}};
      }
  }
  py::dict globals = plain.attr("__globals__");
  Watch watch{Watch::Kind::Dictionary, globals, py::str(name), {}};
  if (globals.contains(name.c_str())) {
    watch.expected = globals[name.c_str()];
    return {watch.expected, watch};
  }
  py::dict builtins = py::module_::import("builtins").attr("__dict__");
  if (!builtins.contains(name.c_str()))
    return {{}, watch};
  if (name == "globals") // of the function that calls it, not of the launching one
    return {
        py::module_::import("functools").attr("partial")(builtins["getattr"], plain, "__globals__"),
        watch};
  return {builtins[name.c_str()], watch};
}

Answer PythonEnvironment::lookUp(const lang::FunctionRef &function, const std::string &name) {
  return answering([&]() -> Answer {
    Place place = find({function}, name);
    bool isCell = place.watch.kind == Watch::Kind::Cell;
    if (!place.value)
      return isCell ? Answer{std::nullopt,
                             "'" + name + "' of the enclosing function has no value yet", ""}
                    : Answer{};
    bool isBuiltin = !place.watch.expected;
    py::dict globals = isCell ? py::dict() : py::dict(place.watch.holder);
    Answer answer = isBuiltin ? Answer{constantOf(place.value), "", ""}
                              : checkedGlobal(place.value, name, globals);
    if (isNoting() && answer.value)
      note({Read::Kind::Name, name, {{function}}, {}, answer.value}, place.value, place.watch);
    return answer;
  });
}

std::vector<std::string> PythonEnvironment::visibleNames(const lang::FunctionRef &function) {
  py::gil_scoped_acquire gil;
  std::vector<std::string> names;
  try {
    py::object plain = plainFunction(function);
    for (py::handle name : plain.attr("__code__").attr("co_freevars"))
      names.push_back(name.cast<std::string>());
    for (py::handle name : py::object(plain.attr("__globals__")))
      if (PyUnicode_Check(name.ptr()))
        names.push_back(name.cast<std::string>());
    names.insert(names.end(), std::begin(kKnownBuiltins), std::end(kKnownBuiltins));
  } catch (py::error_already_set &exception) {
    keepInterruption(exception); // only a suggestion is lost
  }
  return names;
}

Answer PythonEnvironment::attribute(const Constant &object, const std::string &name) {
  return answering([&]() -> Answer {
    py::object owner = objectOf(object);
    py::object value = attributeOr(owner, name.c_str(), py::object());
    // A number, a text or a tuple has no type but that it is constant, which no change outside
    // alters.
    if (!value && name == "type" && !object.is<lang::ObjectRef>()) {
      py::object made = py::module_::import("sectile.language._constexpr").attr("constexpr_type");
      return answerOf(made(owner));
    }
    if (!value) {
      bool isLanguage =
          PyModule_Check(owner.ptr()) &&
          textAttribute(owner, "__name__").value_or("").starts_with("sectile.language");
      if (isNoting())
        note({Read::Kind::Attribute, name, {object}, {}, std::nullopt}, {},
             {Watch::Kind::Attribute, owner, py::str(name), {}});
      return {std::nullopt, "", isLanguage ? helpForAttribute(name) : ""};
    }
    Answer answer = answerOf(value);
    if (isNoting() && answer.value)
      note({Read::Kind::Attribute, name, {object}, {}, answer.value}, value,
           {Watch::Kind::Attribute, owner, py::str(name), value});
    return answer;
  });
}

std::string PythonEnvironment::helpForAttribute(const std::string &name) {
  py::gil_scoped_acquire gil;
  try {
    return py::str(py::module_::import("sectile.language._elsewhere").attr("help_for")(name));
  } catch (py::error_already_set &exception) {
    keepInterruption(exception);
    return ""; // only a remedy is lost
  }
}

std::vector<std::string> PythonEnvironment::attributeNames(const Constant &object) {
  py::gil_scoped_acquire gil;
  std::vector<std::string> names;
  try {
    py::object owner = objectOf(object);
    py::object listed = py::reinterpret_steal<py::object>(PyObject_Dir(owner.ptr()));
    if (!listed)
      throw py::error_already_set();
    for (py::handle name : listed)
      names.push_back(name.cast<std::string>());
  } catch (py::error_already_set &exception) {
    keepInterruption(exception); // only a suggestion is lost
  } catch (std::exception &) {
  }
  return names;
}

Answer PythonEnvironment::item(const Constant &object, const Constant &key) {
  return answering([&]() -> Answer {
    py::object owner = objectOf(object), place = objectOf(key);
    py::object value = owner[place];
    Answer answer{constantOf(value), "", ""};
    if (isNoting())
      note({Read::Kind::Item, "", {object, key}, {}, answer.value}, value,
           {Watch::Kind::Item, owner, place, value});
    return answer;
  });
}

Answer PythonEnvironment::call(const Constant &callee, const std::vector<Constant> &positional,
                               const std::vector<std::pair<std::string, Constant>> &named) {
  return answering([&]() -> Answer {
    py::object function = objectOf(callee);
    py::tuple arguments(positional.size());
    for (size_t i = 0; i < positional.size(); ++i)
      arguments[i] = objectOf(positional[i]);
    py::dict keywords;
    for (const auto &[name, value] : named)
      keywords[name.c_str()] = objectOf(value);
    std::string name = textAttribute(function, "__name__").value_or("the call");
    bool isOperation = callee.is<lang::BuiltinRef>(); // what an operator of the kernel stands for
    try {
      py::object value = function(*arguments, **keywords);
      Answer answer{constantOf(value), "", ""};
      if (auto *text = std::get_if<std::string>(&answer.value->value); text && isOperation)
        *text = withoutAddresses(std::move(*text));
      if (isNoting()) {
        Read read{Read::Kind::Call, "", {callee}, {}, answer.value};
        read.operands.insert(read.operands.end(), positional.begin(), positional.end());
        for (const auto &[keyword, operand] : named) {
          read.operands.push_back(operand);
          read.keywords.push_back(keyword);
        }
        note(std::move(read), value,
             {Watch::Kind::Call, function, py::make_tuple(arguments, keywords), value});
      }
      return answer;
    } catch (py::error_already_set &exception) {
      keepInterruption(exception);
      std::string raised = describeException(exception);
      return {std::nullopt, isOperation ? raised : "'" + name + "' raised " + raised, ""};
    }
  });
}

PythonEnvironment::NamedTupleClass PythonEnvironment::namedTupleClass(const Constant &callee) {
  py::gil_scoped_acquire gil;
  try {
    py::object object = objectOf(callee);
    NamedTupleClass made{tupleClassOf(object), {}};
    if (made.tupleClass)
      for (const std::string &field : made.tupleClass->fields)
        if (py::dict defaults = object.attr("_field_defaults"); defaults.contains(field))
          made.defaults.push_back(constantOf(defaults[py::str(field)]));
    if (isNoting() && made.tupleClass)
      noteTupleClass(callee, made);
    return made;
  } catch (py::error_already_set &exception) {
    keepInterruption(exception);
    return {}; // called as any other object, which reports what is wrong
  }
}

std::shared_ptr<const python::ast::Function>
PythonEnvironment::function(const lang::FunctionRef &function, std::string &error) {
  py::gil_scoped_acquire gil;
  try {
    if (isNoting())
      noteSource({function});
    auto known = functions.find(function.id);
    if (known != functions.end())
      return known->second;
    FunctionSource source = findSource(objectAt(function.id), error);
    if (!source.function)
      return nullptr;
    std::shared_ptr<const python::ast::Function> converted = convertFunction(
        source, function, [this](py::handle object) { return constantOf(object); }, error);
    if (converted)
      functions[function.id] = converted;
    return converted;
  } catch (py::error_already_set &exception) {
    keepInterruption(exception);
    error = describeException(exception);
    return nullptr;
  }
}

void PythonEnvironment::print(const std::string &line) {
  py::gil_scoped_acquire gil;
  try {
    py::print(line);
  } catch (py::error_already_set &exception) {
    keepInterruption(exception); // a closed sys.stdout does not stop a compilation
  }
}

} // namespace sectile::bindings
