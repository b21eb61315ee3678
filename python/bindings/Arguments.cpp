#include "Arguments.h"

#include "Arrays.h"
#include "PythonEnvironment.h"
#include "lang/plain/LanguageClasses.h"

#include <atomic>
#include <unordered_map>

namespace sectile::bindings {

namespace {

using jit::ArgumentValue;

/// How values of one Python type become arguments.
enum class Reader : uint8_t {
  None,
  Bool,
  Integer,
  Float,
  NumpyBool,
  IndexLike, // numpy.int32 and others with __index__
  FloatLike, // numpy.float32 and others with __float__
  Array,
  Constexpr,
  Reinterpreted, // sectile.TensorWrapper: .base read as .dtype
  Mock,          // sectile.MockTensor: a pointer of .dtype to nothing, for warmup
  Tuple,
  NamedTuple,
  Descriptor, // sectile.TensorDescriptor: read as the tuple of its fields
  Constant,   // strings, dtypes, functions: folded for every parameter
  Dtype,      // a dtype: as Constant; in a warmup a pointer
  Unknown,
};

struct TypeEntry {
  Reader reader = Reader::Unknown;
  ArrayProtocol protocol = ArrayProtocol::None;
  /// DLPack: the functions of the arrays' library. NamedTuple and Descriptor: their class, a
  /// ConstantTable::Entry.
  const void *table = nullptr;
};

const jit::ConstantTable::Entry *tupleClassOf(PyTypeObject *type);
const jit::ConstantTable::Entry *descriptorClass();

bool hasMark(PyObject *object, const char *name) {
  py::handle type(reinterpret_cast<PyObject *>(Py_TYPE(object)));
  return py::hasattr(type, name) && !PyType_Check(object);
}

bool derivesFrom(PyTypeObject *type, const char *name) {
  PyObject *order = type->tp_mro;
  for (Py_ssize_t i = 0; order && i < PyTuple_GET_SIZE(order); ++i)
    if (!std::strcmp(reinterpret_cast<PyTypeObject *>(PyTuple_GET_ITEM(order, i))->tp_name, name))
      return true;
  return false;
}

TypeEntry classify(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  if (object == Py_None)
    return {Reader::None};
  if (PyBool_Check(object))
    return {Reader::Bool};
  if (hasMark(object, "__sectile_constexpr__"))
    return {Reader::Constexpr};
  if (hasMark(object, "__sectile_reinterpret__"))
    return {Reader::Reinterpreted};
  if (hasMark(object, "__sectile_mock__"))
    return {Reader::Mock};
  if (hasMark(object, "__sectile_dtype__") || derivesFrom(type, "torch.dtype"))
    return {Reader::Dtype};
  if (hasMark(object, "__sectile_jit__") || PyUnicode_Check(object) ||
      PyObject_HasAttrString(object, "__sectile_builtin__"))
    return {Reader::Constant};
  if (PyLong_Check(object))
    return {Reader::Integer};
  if (PyFloat_Check(object))
    return {Reader::Float};
  if (isDescriptorClass(reinterpret_cast<PyObject *>(type)))
    return {Reader::Descriptor, ArrayProtocol::None, descriptorClass()};
  if (isNamedTupleClass(reinterpret_cast<PyObject *>(type)))
    return {Reader::NamedTuple, ArrayProtocol::None, tupleClassOf(type)};
  if (PyTuple_Check(object) || PyList_Check(object))
    return {Reader::Tuple};
  if (derivesFrom(type, "numpy.bool") || derivesFrom(type, "numpy.bool_"))
    return {Reader::NumpyBool};
  if (derivesFrom(type, "numpy.integer"))
    return {Reader::IndexLike};
  if (derivesFrom(type, "numpy.generic") && type->tp_as_number && type->tp_as_number->nb_float &&
      !derivesFrom(type, "numpy.complexfloating"))
    return {Reader::FloatLike};
  TypeEntry entry{Reader::Array};
  entry.protocol = arrayProtocolOf(object, entry.table);
  if (entry.protocol != ArrayProtocol::None)
    return entry;
  if (type->tp_as_number && type->tp_as_number->nb_index)
    return {Reader::IndexLike};
  if (type->tp_as_number && type->tp_as_number->nb_float)
    return {Reader::FloatLike};
  return {Reader::Unknown};
}

/// By identity of the type, which is kept alive: a small open-addressed table, as lookups are most
/// of what reading an argument costs.
class TypeTable {
public:
  TypeEntry find(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    size_t index = (reinterpret_cast<uintptr_t>(type) >> 4) % kSize;
    for (size_t probe = 0; probe < kProbes; ++probe) {
      Slot &slot = slots[(index + probe) % kSize];
      PyTypeObject *known = slot.type.load(std::memory_order_acquire);
      if (known == type) [[likely]]
        return slot.entry;
      if (!known) {
        TypeEntry entry = classify(object);
        std::lock_guard lock(mutex);
        if (slot.type.load(std::memory_order_relaxed)) // classify() ran Python code
          return entry;
        Py_INCREF(type);
        slot.entry = entry;
        slot.type.store(type, std::memory_order_release);
        return entry;
      }
    }
    return classify(object);
  }
  void clear() {
    for (Slot &slot : slots)
      if (PyTypeObject *type = slot.type.exchange(nullptr))
        Py_DECREF(type);
  }

private:
  static constexpr size_t kSize = 128, kProbes = 8;
  struct Slot {
    std::atomic<PyTypeObject *> type = nullptr; // written after its entry
    TypeEntry entry;
  };
  Slot slots[kSize];
  StateMutex mutex; // for threads that write
};

TypeTable &typeTable() {
  static TypeTable table;
  return table;
}

/// Constants that are no plain number, by the identity of the (immutable) object they came from.
class ConstantCache {
public:
  /// The process's: kernels of archives are given constants by C++ programs, too.
  jit::ConstantTable &table = jit::ConstantTable::ofProcess();

  std::optional<jit::ConstantTable::Entry> find(PyObject *object) {
    std::lock_guard lock(mutex);
    auto found = byObject.find(object);
    return found == byObject.end() ? std::nullopt : std::optional(found->second.entry);
  }
  void add(PyObject *object, jit::ConstantTable::Entry entry) {
    std::lock_guard lock(mutex);
    constexpr size_t kMost = 4096; // keeps a loop over fresh objects from holding them all
    if (byObject.size() < kMost)
      byObject.try_emplace(object, Known{py::reinterpret_borrow<py::object>(object), entry});
  }
  const jit::ConstantTable::Entry *internTupleClass(lang::TupleClassRef tupleClass) {
    jit::ConstantTable::Entry entry =
        table.intern(lang::Constant::tuple({}, std::move(tupleClass)));
    std::lock_guard lock(mutex);
    return &tupleClasses.try_emplace(entry.id, entry).first->second;
  }
  void clear() { byObject.clear(); }

private:
  struct Known {
    py::object object;
    jit::ConstantTable::Entry entry;
  };
  std::unordered_map<PyObject *, Known> byObject;
  std::unordered_map<uint64_t, jit::ConstantTable::Entry> tupleClasses; // by id
  StateMutex mutex;
};

ConstantCache &constantCache() {
  // Never destroyed: kernels refer to its constants until the process ends.
  static auto *cache = new ConstantCache;
  return *cache;
}

void readConstantWithId(PyObject *object, ArgumentValue &result) {
  ConstantCache &cache = constantCache();
  std::optional<jit::ConstantTable::Entry> entry = cache.find(object);
  if (!entry) {
    entry = cache.table.intern(constantOf(object));
    if (!PyList_Check(object) && !PyDict_Check(object) && !PyTuple_Check(object))
      cache.add(object, *entry);
  }
  result = ArgumentValue::constantWithId(entry->id, *entry->constant);
}

/// A class of named tuples as the runtime numbers it; lives for ever.
const jit::ConstantTable::Entry *tupleClassOf(PyTypeObject *type) {
  auto tupleClass = std::make_shared<lang::TupleClass>(
      describeNamedTuple(py::handle(reinterpret_cast<PyObject *>(type))));
  return constantCache().internTupleClass(std::move(tupleClass));
}

const jit::ConstantTable::Entry *descriptorClass() {
  return constantCache().internTupleClass(lang::tensorDescriptorClass());
}

[[noreturn]] void refuse(const ReadArgument &how, const std::string &what,
                         const std::string &help) {
  throwCallError(how.kernelName + ": argument '" + how.name() + "' " + what, help);
}

void readInteger(PyObject *object, const ReadArgument &how, ArgumentValue &result) {
  int overflow = 0;
  long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (!overflow) [[likely]] {
    if (number == -1 && PyErr_Occurred())
      throw py::error_already_set();
    result = ArgumentValue::integer(number);
    return;
  }
  unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(object) : 0;
  if (overflow < 0 || PyErr_Occurred()) {
    PyErr_Clear();
    std::string number = py::str(py::handle(object));
    throwRangeError(how.kernelName + ": argument '" + how.name() + "' is " + number +
                        ", which does not fit into 64 bits",
                    "split it into several arguments");
  }
  result = ArgumentValue::unsignedInteger(large);
}

py::object asIndex(PyObject *object) {
  py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(object));
  if (!index)
    throw py::error_already_set();
  return index;
}

double asDouble(PyObject *object) {
  double number = PyFloat_AsDouble(object);
  if (number == -1.0 && PyErr_Occurred())
    throw py::error_already_set();
  return number;
}

lang::DType dtypeNamed(const py::handle &dtype, const ReadArgument &how) {
  std::string name = py::hasattr(dtype, "name") ? std::string(py::str(dtype.attr("name")))
                                                : std::string(py::str(dtype));
  if (!name.empty() && name[0] == '*')
    if (std::optional<lang::DType> pointer = lang::DType::parse(name))
      return *pointer;
  lang::ScalarKind kind = scalarKindOf(name.substr(name.rfind('.') + 1));
  if (kind == lang::ScalarKind::Void)
    refuse(how, "names the element type " + name + ", which kernels do not know",
           "use one of sectile.language's dtypes");
  return lang::DType::scalar(kind);
}

/// A pointer to nothing that is as well aligned as a fresh array.
ArgumentValue mockPointer(lang::DType dtype) {
  if (!dtype.isPointer)
    dtype = lang::DType::pointer(dtype.kind);
  ArgumentValue value =
      ArgumentValue::array(dtype, reinterpret_cast<const void *>(uintptr_t{4096}), 0, 0);
  value.device = ArgumentValue::kAnywhere;
  return value;
}

void readMock(PyObject *object, const ReadArgument &how, ArgumentValue &result) {
  if (!how.isWarmup)
    refuse(how, "is a MockTensor, which has no memory", "use it with kernel.warmup(...) only");
  py::handle mock(object);
  lang::DType dtype = dtypeNamed(mock.attr("dtype"), how);
  if (!py::cast<bool>(py::getattr(mock, "is_scalar", py::bool_(false)))) {
    result = mockPointer(dtype);
    py::object memory = py::getattr(mock, "memory", py::none());
    if (!memory.is_none()) {
      std::tie(result.rangeBegin, result.rangeEnd) =
          py::cast<std::pair<uint64_t, uint64_t>>(memory);
      result.bits = result.rangeBegin;
    }
    if (!py::cast<bool>(py::getattr(mock, "is_aligned", py::bool_(true))))
      result.bits += dtype.bytes() % 16 ? 1 : 8;
  } else if (dtype.isFloat()) {
    result = ArgumentValue::floating(0.5, dtype);
  } else {
    bool aligned = py::cast<bool>(py::getattr(mock, "is_aligned", py::bool_(false)));
    result = ArgumentValue::integer(aligned ? 16 : 3, dtype);
    result.device = ArgumentValue::kAnywhere;
  }
}

void readOne(PyObject *object, const ReadArgument &how, HeldResources &held, TypeEntry entry,
             ArgumentValue &result);

void readReinterpreted(PyObject *object, const ReadArgument &how, HeldResources &held,
                       ArgumentValue &result) {
  py::handle wrapper(object);
  py::object base = wrapper.attr("base");
  readOne(base.ptr(), how, held, typeTable().find(base.ptr()), result);
  if (result.kind != ArgumentValue::Kind::Pointer)
    refuse(how, "reinterprets " + withArticle(typeName(base.ptr())) + ", which is not an array",
           "sectile.reinterpret takes an array and a dtype");
  lang::DType dtype = dtypeNamed(wrapper.attr("dtype"), how);
  result.dtype = lang::DType::pointer(dtype.kind);
  held.hold(std::move(base));
}

/// The value of a constexpr parameter.
void readConstant(PyObject *object, const ReadArgument &how, ArgumentValue &result) {
  if (PyBool_Check(object)) {
    result = ArgumentValue::constantBool(object == Py_True);
  } else if (PyLong_CheckExact(object)) {
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow)
      return readConstantWithId(object, result);
    result = ArgumentValue::constantInteger(number);
  } else if (PyFloat_CheckExact(object)) {
    result = ArgumentValue::constantFloat(PyFloat_AS_DOUBLE(object));
  } else if (object == Py_None) {
    result = ArgumentValue::none();
  } else {
    TypeEntry entry = typeTable().find(object);
    switch (entry.reader) {
    case Reader::Constexpr: {
      py::object inner = py::handle(object).attr("value");
      return readConstant(inner.ptr(), how, result);
    }
    case Reader::NumpyBool:
      result = ArgumentValue::constantBool(PyObject_IsTrue(object) == 1);
      return;
    case Reader::IndexLike: {
      py::object index = asIndex(object);
      return readConstant(index.ptr(), how, result);
    }
    case Reader::Float: // numpy.float64 is one
    case Reader::FloatLike:
      result = ArgumentValue::constantFloat(asDouble(object));
      return;
    case Reader::Array:
      refuse(how, "is " + withArticle(typeName(object)) + ", but the parameter is a tl.constexpr",
             "pass a number, string, dtype, tuple or @jit function, or drop the tl.constexpr "
             "annotation");
    default:
      return readConstantWithId(object, result);
    }
  }
}

void readOne(PyObject *object, const ReadArgument &how, HeldResources &held, TypeEntry entry,
             ArgumentValue &result) {
  switch (entry.reader) {
  case Reader::Array:
    return readArray(entry.protocol, entry.table, object, how, held, result);
  case Reader::Float:
    result = ArgumentValue::floating(PyFloat_AS_DOUBLE(object));
    return;
  case Reader::None:
    result = ArgumentValue::none();
    return;
  case Reader::Bool:
    result = ArgumentValue::boolean(object == Py_True);
    return;
  case Reader::Integer:
    return readInteger(object, how, result);
  case Reader::NumpyBool:
    result = ArgumentValue::boolean(PyObject_IsTrue(object) == 1);
    return;
  case Reader::IndexLike: {
    py::object index = asIndex(object);
    return readInteger(index.ptr(), how, result);
  }
  case Reader::FloatLike:
    result = ArgumentValue::floating(asDouble(object));
    return;
  case Reader::Constexpr:
  case Reader::Constant:
    return readConstant(object, how, result);
  case Reader::Dtype:
    if (!how.isWarmup)
      return readConstant(object, how, result);
    result = mockPointer(dtypeNamed(object, how));
    return;
  case Reader::Mock:
    return readMock(object, how, result);
  case Reader::Reinterpreted:
    return readReinterpreted(object, how, held, result);
  case Reader::Tuple: // a reinterpreted one, which is refused
  case Reader::NamedTuple:
  case Reader::Descriptor:
  case Reader::Unknown:
    break;
  }
  refuse(how, "is " + withArticle(typeName(object)) + ", which cannot be passed to a kernel",
         "pass a NumPy array, a torch tensor, anything with __dlpack__ or __array_interface__, a "
         "number, "
         "or None; constants go to tl.constexpr parameters");
}

/// The fields of a descriptor, as a tuple; lists, which may be replaced at any time, as tuples.
py::object fieldsOf(PyObject *descriptor, const ReadArgument &how) {
  const lang::TupleClass &tupleClass = *lang::tensorDescriptorClass();
  py::tuple fields(tupleClass.fields.size());
  Py_ssize_t rank = -1;
  for (size_t i = 0; i < tupleClass.fields.size(); ++i) {
    const std::string &name = tupleClass.fields[i];
    py::object field = py::handle(descriptor).attr(name.c_str());
    if (PyList_Check(field.ptr()))
      field = py::tuple(field);
    fields[i] = field;
    if (name == "base" ? !field.is_none() : name == "padding")
      continue;
    bool isRow = PyTuple_Check(field.ptr()) && (rank < 0 || PyTuple_GET_SIZE(field.ptr()) == rank);
    for (Py_ssize_t at = 0; isRow && at < PyTuple_GET_SIZE(field.ptr()); ++at)
      isRow = PyLong_CheckExact(PyTuple_GET_ITEM(field.ptr(), at)) || how.isWarmup;
    if (!isRow)
      refuse(how, "is a TensorDescriptor whose " + name + " is " + std::string(py::repr(field)),
             "a descriptor has an array, and lists of one length of integers: shape, strides, "
             "block_shape");
    rank = PyTuple_GET_SIZE(field.ptr());
  }
  return std::move(fields);
}

/// Its items, each by the rules for arguments.
void readTuple(PyObject *object, const ReadArgument &how, HeldResources &held, TypeEntry entry,
               ReadArguments &result) {
  py::object items = py::reinterpret_borrow<py::object>(object);
  if (!PyTuple_Check(object)) {
    items = entry.reader == Reader::Descriptor
                ? fieldsOf(object, how)
                : py::reinterpret_steal<py::object>(PySequence_Tuple(object));
    held.hold(items);
  }
  auto count = static_cast<size_t>(PyTuple_GET_SIZE(items.ptr()));
  ArgumentValue tuple = ArgumentValue::tuple(count);
  if (entry.reader == Reader::NamedTuple || entry.reader == Reader::Descriptor) {
    auto *tupleClass = static_cast<const jit::ConstantTable::Entry *>(entry.table);
    tuple = ArgumentValue::tuple(count, tupleClass->id, tupleClass->constant);
  }
  result.values.data()[result.values.size() - 1] = tuple;
  lang::TupleClassRef tupleClass = tuple.tupleClass();
  SequenceGuard guard; // a list may hold itself
  for (size_t i = 0; i < count; ++i)
    readArgument(PyTuple_GET_ITEM(items.ptr(), Py_ssize_t(i)),
                 {how.kernelName, how.parameter, tupleClass && i >= tupleClass->constantsFrom,
                  how.isWarmup, &how, &tupleClass, i, how.strided},
                 held, result);
}

} // namespace

HeldResources::~HeldResources() {
  for (auto &buffer : buffers)
    if (buffer->obj)
      PyBuffer_Release(buffer.get());
}

Py_buffer &HeldResources::newBuffer() {
  buffers.push_back(std::make_unique<Py_buffer>());
  *buffers.back() = {};
  return *buffers.back();
}

void readArgument(PyObject *object, const ReadArgument &how, HeldResources &held,
                  ReadArguments &result) {
  result.objects.push(object);
  ArgumentValue &value = result.values.extend();
  if (how.isConstexpr)
    return readConstant(object, how, value);
  if (PyLong_CheckExact(object))
    return readInteger(object, how, value);
  TypeEntry entry = typeTable().find(object);
  if (entry.reader == Reader::Tuple || entry.reader == Reader::NamedTuple ||
      entry.reader == Reader::Descriptor) [[unlikely]]
    return readTuple(object, how, held, entry, result);
  readOne(object, how, held, entry, value);
}

void clearArgumentCaches() {
  typeTable().clear();
  clearArrayCaches();
  constantCache().clear();
}

} // namespace sectile::bindings
