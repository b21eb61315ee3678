#include "Arrays.h"

#include "Dlpack.h"
#include "LazyNegation.h"
#include "jit/runtime/Runtime.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace sectile::bindings {

namespace {

using jit::ArgumentValue;
using lang::DType;
using lang::ScalarKind;

[[noreturn]] void refuse(const ReadArgument &how, const std::string &what,
                         const std::string &help) {
  throwCallError(how.kernelName + ": argument '" + how.name() + "' " + what, help);
}

[[noreturn]] void refuseDtype(const ReadArgument &how, const std::string &dtype) {
  refuse(how, "has element type " + dtype + ", which kernels do not know",
         "convert it to a bool, int8 to int64, uint8 to uint64, float16, bfloat16, float32, "
         "float64 or "
         "float8 array");
}

[[noreturn]] void refuseDevice(const ReadArgument &how, const std::string &device) {
  refuse(how, "is on device " + device + ", for which there is no back end",
         "move it to the CPU; `sectile doctor` lists the back ends that were found");
}

/// Adds the array to those with check="strides", if there is a gap between its elements or they are
/// in another order.
template <class Extent, class Stride>
void noteStrides(const ReadArgument &how, int rank, const Extent *shape, const Stride *strides,
                 int64_t strideBytes, int64_t itemBytes) {
  StridedArgument argument{how.name(), {}, {}};
  int64_t contiguous = 1;
  bool isContiguous = true;
  for (int i = rank - 1; i >= 0; --i) {
    if (shape[i] == 0)
      return;
    int64_t stride = static_cast<int64_t>(strides[i]) * strideBytes / itemBytes;
    isContiguous = isContiguous && (shape[i] == 1 || stride == contiguous);
    contiguous *= shape[i];
    argument.shape.insert(argument.shape.begin(), shape[i]);
    argument.strides.insert(argument.strides.begin(), stride);
  }
  if (!isContiguous)
    how.strided->push_back(std::move(argument));
}

/// Elements may lie below the address (negative strides), so both ends are computed.
template <class Extent, class Stride>
void setRange(ArgumentValue &value, const ReadArgument &how, int rank, const Extent *shape,
              const Stride *strides, int64_t strideBytes, int64_t itemBytes) {
  if (how.strided && strides) [[unlikely]]
    noteStrides(how, rank, shape, strides, strideBytes, itemBytes);
  int64_t low = 0, high = 0, contiguous = 1;
  for (int i = rank - 1; i >= 0; --i) {
    if (shape[i] <= 0) {
      if (shape[i] < 0) [[unlikely]]
        refuse(how, "has a negative extent: " + std::to_string(shape[i]),
               "pass a NumPy array or a torch tensor");
      value.rangeBegin = value.rangeEnd = value.bits;
      return;
    }
    int64_t stride =
        strides ? static_cast<int64_t>(strides[i]) * strideBytes : contiguous * itemBytes;
    contiguous *= shape[i];
    int64_t reach = (static_cast<int64_t>(shape[i]) - 1) * stride;
    (reach < 0 ? low : high) += reach;
  }
  if (value.bits == 0) [[unlikely]]
    refuse(how, "has elements and no memory",
           "its storage was freed or was never made, as of torch's fake and zero tensors");
  value.rangeBegin = value.bits + static_cast<uint64_t>(low);
  value.rangeEnd = value.bits + static_cast<uint64_t>(high + itemBytes);
}

//-- GPUs ------------------------------------------------------------------------------------------

/// Kept for ever: looked up once, called at every launch.
PyObject *functionOf(const char *module, const char *name) {
  PyObject *modules = PyImport_GetModuleDict();
  PyObject *found = PyDict_GetItemString(modules, module);
  PyObject *function = found ? PyObject_GetAttrString(found, name) : nullptr;
  PyErr_Clear();
  return function;
}

/// Null where torch has not been imported.
PyObject *torchStreamFunction() {
  static std::atomic<PyObject *> function = nullptr;
  if (!function)
    function = functionOf("torch._C", "_cuda_getCurrentRawStream");
  return function;
}

PyObject *cupyStreamFunction() {
  static std::atomic<PyObject *> function = nullptr;
  if (!function)
    function = functionOf("cupy.cuda", "get_current_stream");
  return function;
}

/// `value` is in the memory of GPU `device`.
void setDevice(ArgumentValue &value, int64_t device, PyObject *object, const ReadArgument &how,
               HeldResources &held) {
  if (device < 0 || device > INT16_MAX) {
    std::string reason; // why there are none, or why this process may not use them
    (void)jit::Runtime::instance().gpuDriver().devices(reason);
    refuse(how, "is in no GPU's memory",
           reason.empty() ? "`sectile doctor` shows which GPUs were found" : reason);
  }
  value.device = static_cast<int16_t>(device);
  PyTypeObject *type = Py_TYPE(object);
  if (!held.hasStream() && PyObject_HasAttrString(reinterpret_cast<PyObject *>(type), "is_cuda") &&
      torchStreamFunction())
    held.stream = {StreamSource::Kind::Torch, 0, static_cast<int32_t>(device)};
}

//-- NumPy ----------------------------------------------------------------------------------------

/// The public part of NumPy's array object, unchanged since NumPy 1.7. Declared here so that
/// neither building nor importing needs NumPy; checkNumpyLayout compares it with what Python code
/// sees.
struct NumpyArray {
  PyObject_HEAD char *data;
  int rank;
  Py_ssize_t *shape;
  Py_ssize_t *strides;
  PyObject *base;
  PyObject *descr;
  int flags;
};
constexpr int kNumpyWriteable = 0x0400;

bool checkNumpyLayout(PyObject *object) {
  auto *array = reinterpret_cast<NumpyArray *>(object);
  py::object interface = py::handle(object).attr("__array_interface__");
  py::tuple data = interface["data"];
  py::tuple shape = interface["shape"];
  if (py::cast<uintptr_t>(data[0]) != reinterpret_cast<uintptr_t>(array->data) ||
      py::len(shape) != static_cast<size_t>(array->rank) ||
      py::cast<bool>(data[1]) == bool(array->flags & kNumpyWriteable) ||
      !py::object(py::handle(object).attr("dtype")).is(py::handle(array->descr)))
    return false;
  for (int i = 0; i < array->rank; ++i)
    if (py::cast<Py_ssize_t>(shape[static_cast<size_t>(i)]) != array->shape[i])
      return false;
  return true;
}

/// Element types by the identity of dtype objects, which are few and live long.
class DtypeCache {
public:
  ScalarKind find(PyObject *dtype) const {
    for (size_t i = 0, known = count.load(std::memory_order_acquire); i < known; ++i)
      if (entries[i].object == dtype)
        return entries[i].kind;
    return ScalarKind::Void;
  }
  void add(PyObject *dtype, ScalarKind kind) {
    std::lock_guard lock(mutex);
    size_t next = count.load(std::memory_order_relaxed);
    if (next == kCapacity)
      return;
    entries[next] = {Py_NewRef(dtype), kind};
    count.store(next + 1, std::memory_order_release);
  }
  void clear() {
    size_t known = count.exchange(0);
    while (known)
      Py_DECREF(entries[--known].object);
  }

private:
  static constexpr size_t kCapacity = 32;
  struct Entry {
    PyObject *object;
    ScalarKind kind;
  };
  Entry entries[kCapacity];
  std::atomic<size_t> count = 0; // those whose entries are written
  StateMutex mutex;              // for threads that write
};

DtypeCache &dtypeCache() {
  static DtypeCache cache;
  return cache;
}

ScalarKind numpyKind(PyObject *descr, const ReadArgument &how) {
  ScalarKind kind = dtypeCache().find(descr);
  if (kind != ScalarKind::Void) [[likely]]
    return kind;
  py::handle dtype(descr);
  if (!py::cast<bool>(dtype.attr("isnative")))
    refuse(how,
           "has elements in foreign byte order (" + std::string(py::str(dtype.attr("str"))) + ")",
           "convert it with x.astype(x.dtype.newbyteorder('='))");
  std::string name = py::str(dtype.attr("name"));
  kind = scalarKindOf(name);
  if (kind == ScalarKind::Void)
    refuseDtype(how, name);
  dtypeCache().add(descr, kind);
  return kind;
}

void readNumpy(PyObject *object, const ReadArgument &how, ArgumentValue &result) {
  auto *array = reinterpret_cast<NumpyArray *>(object);
  ScalarKind kind = numpyKind(array->descr, how);
  result =
      ArgumentValue::pointer(DType::pointer(kind), array->data, !(array->flags & kNumpyWriteable));
  setRange(result, how, array->rank, array->shape, array->strides, 1, DType::scalar(kind).bytes());
}

//-- DLPack ---------------------------------------------------------------------------------------

ScalarKind dlpackKind(DLDataType type) {
  if (type.lanes != 1)
    return ScalarKind::Void;
  auto sized = [&](ScalarKind of8, ScalarKind of16, ScalarKind of32, ScalarKind of64) {
    switch (type.bits) {
    case 8:
      return of8;
    case 16:
      return of16;
    case 32:
      return of32;
    case 64:
      return of64;
    default:
      return ScalarKind::Void;
    }
  };
  switch (type.code) {
  case kDLInt:
    return sized(ScalarKind::Int8, ScalarKind::Int16, ScalarKind::Int32, ScalarKind::Int64);
  case kDLUInt:
    return sized(ScalarKind::UInt8, ScalarKind::UInt16, ScalarKind::UInt32, ScalarKind::UInt64);
  case kDLFloat:
    return sized(ScalarKind::Void, ScalarKind::Float16, ScalarKind::Float32, ScalarKind::Float64);
  case kDLBfloat:
    return type.bits == 16 ? ScalarKind::BFloat16 : ScalarKind::Void;
  case kDLBool:
    return type.bits == 8 ? ScalarKind::Int1 : ScalarKind::Void;
  case kDLFloat8E4M3FN:
    return ScalarKind::Float8E4NV;
  case kDLFloat8E4M3FNUZ:
    return ScalarKind::Float8E4B8;
  case kDLFloat8E5M2:
    return ScalarKind::Float8E5;
  case kDLFloat8E5M2FNUZ:
    return ScalarKind::Float8E5B16;
  default:
    return ScalarKind::Void;
  }
}

constexpr bool isHostMemory(int32_t type) {
  return type == kDLCPU || type == kDLCUDAHost || type == kDLROCMHost;
}
constexpr bool isGpuMemory(int32_t type) {
  return type == kDLCUDA || type == kDLCUDAManaged || type == kDLROCM;
}

void readDlTensor(const DLTensor &tensor, bool isReadOnly, PyObject *object,
                  const ReadArgument &how, HeldResources &held, ArgumentValue &result) {
  if (!isHostMemory(tensor.device.type) && !isGpuMemory(tensor.device.type)) [[unlikely]] {
    py::object device = py::getattr(object, "device", py::none());
    refuseDevice(how, device.is_none() ? "of DLPack kind " + std::to_string(tensor.device.type)
                                       : std::string(py::str(device)));
  }
  ScalarKind kind = dlpackKind(tensor.dtype);
  if (kind == ScalarKind::Void) [[unlikely]] {
    py::object dtype = py::getattr(object, "dtype", py::none());
    refuseDtype(how, dtype.is_none() ? "of DLPack code " + std::to_string(tensor.dtype.code)
                                     : std::string(py::str(dtype)));
  }
  result = ArgumentValue::pointer(
      DType::pointer(kind), static_cast<const char *>(tensor.data) + tensor.byteOffset, isReadOnly);
  int64_t bytes = DType::scalar(kind).bytes();
  setRange(result, how, tensor.rank, tensor.shape, tensor.strides, bytes, bytes);
  if (isGpuMemory(tensor.device.type))
    setDevice(result, tensor.device.id, object, how, held);
}

void readDataPointer(PyObject *object, const ReadArgument &how, HeldResources &held,
                     ArgumentValue &result);

[[noreturn]] void refuseNegated(const ReadArgument &how) {
  refuse(how, "is a view that torch negates when it reads it, as that of z.conj().imag",
         "pass x.resolve_neg(), which has memory of its own");
}

void readExchange(const DLPackExchangeAPI *api, PyObject *object, const ReadArgument &how,
                  HeldResources &held, ArgumentValue &result) {
  DLTensor tensor{};
  if (api->tensorFromPyObject(object, &tensor) != 0) [[unlikely]] {
    PyErr_Clear();
    return readDataPointer(object, how, held, result); // reports better what is wrong
  }
  if (isGpuMemory(tensor.device.type) && !held.hasStream() && api->currentWorkStream)
    held.stream = {StreamSource::Kind::Exchange, tensor.device.type, tensor.device.id, api};
  readDlTensor(tensor, false, object, how, held, result);
}

/// Whether this is one of JAX's arrays: they never change, which not every version of JAX reports
/// by DLPack.
bool isImmutable(PyObject *object) {
  return std::string_view(Py_TYPE(object)->tp_name).starts_with("jaxlib.");
}

void readDlpack(PyObject *object, const ReadArgument &how, HeldResources &held,
                ArgumentValue &result) {
  py::handle array(object);
  py::tuple device = array.attr("__dlpack_device__")();
  int kind = py::cast<int>(device[0]);
  if (!isHostMemory(kind) && !isGpuMemory(kind))
    refuseDevice(how, "of DLPack kind " + std::to_string(py::cast<int>(device[0])));
  // On a GPU the library makes the stream we run on wait for the array; 1 is the default stream.
  py::dict wishes;
  if (isGpuMemory(kind)) {
    auto stream = reinterpret_cast<uintptr_t>(held.stream.current());
    wishes["stream"] = py::int_(stream ? stream : 1);
  }
  py::object capsule;
  try {
    capsule = array.attr("__dlpack__")(py::arg("max_version") = py::make_tuple(1, 0), **wishes);
  } catch (py::error_already_set &error) {
    if (!error.matches(PyExc_TypeError))
      throw;
    capsule = array.attr("__dlpack__")(**wishes);
  }
  // The capsule stays unconsumed: its destructor gives the memory back when `held` lets go of it.
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
    auto *managed = static_cast<DLManagedTensorVersioned *>(
        PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    if (managed->version.major > 1)
      refuse(how,
             "speaks DLPack " + std::to_string(managed->version.major) + ", newer than known here",
             "pass a NumPy array or a torch tensor");
    readDlTensor(managed->tensor, (managed->flags & kDLReadOnly) || isImmutable(object), object,
                 how, held, result);
  } else if (PyCapsule_IsValid(capsule.ptr(), "dltensor")) {
    auto *managed = static_cast<DLManagedTensor *>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
    readDlTensor(managed->tensor, isImmutable(object), object, how, held, result);
  } else {
    refuse(how, "has a __dlpack__ method that does not return a DLPack capsule",
           "pass a NumPy array or a torch tensor");
  }
  held.hold(std::move(capsule));
}

//-- The slow ways --------------------------------------------------------------------------------

std::vector<int64_t> integers(py::handle sequence) {
  std::vector<int64_t> numbers;
  for (py::handle number : sequence)
    numbers.push_back(py::cast<int64_t>(number));
  return numbers;
}

/// A tuple of integers, as the array interface has for shape and strides.
std::vector<int64_t> integersOf(const py::dict &interface, const char *field,
                                const std::string &named, const ReadArgument &how) {
  py::object given = interface[field];
  if (py::isinstance<py::tuple>(given) || py::isinstance<py::list>(given))
    try {
      return integers(given);
    } catch (py::cast_error &) {
      PyErr_Clear();
    }
  refuse(how,
         named + " whose " + field + " is " + std::string(py::repr(given)) +
             ", not a tuple of integers of 64 bits",
         "pass a NumPy array instead: numpy.asarray(x)");
}

std::string lastPart(const std::string &name) {
  return name.substr(name.rfind('.') + 1);
}

void readDataPointer(PyObject *object, const ReadArgument &how, HeldResources &held,
                     ArgumentValue &result) {
  py::handle array(object);
  py::object device = py::getattr(array, "device", py::none());
  int64_t gpu = -1;
  if (!device.is_none()) {
    std::string text = py::str(device);
    if (text.rfind("cuda", 0) == 0)
      gpu = text.size() > 5 ? std::atoi(text.c_str() + 5) : 0;
    else if (text.rfind("cpu", 0) != 0)
      refuseDevice(how, text);
  }
  py::object dtype = array.attr("dtype");
  ScalarKind kind = dtypeCache().find(dtype.ptr());
  if (kind == ScalarKind::Void) {
    std::string name = py::str(dtype);
    kind = scalarKindOf(lastPart(name));
    if (kind == ScalarKind::Void)
      refuseDtype(how, name);
    dtypeCache().add(dtype.ptr(), kind);
  }
  if (py::hasattr(array, "is_neg") && py::cast<bool>(array.attr("is_neg")()))
    refuseNegated(how);
  const auto address = py::cast<uintptr_t>(array.attr("data_ptr")());
  result = ArgumentValue::pointer(DType::pointer(kind), reinterpret_cast<const void *>(address));
  if (device.is_none()) { // an address and a type alone: the driver knows whose it is
    gpu = jit::Runtime::instance().gpuDriver().deviceOf(address);
    if (gpu >= 0 && !held.hasStream() && torchStreamFunction())
      held.stream = {StreamSource::Kind::Torch, 0, static_cast<int32_t>(gpu)};
  }
  if (gpu >= 0)
    setDevice(result, gpu, object, how, held);
  if (!py::hasattr(array, "shape") || !py::hasattr(array, "stride"))
    return;
  std::vector<int64_t> shape = integers(array.attr("shape"));
  std::vector<int64_t> strides = integers(array.attr("stride")());
  int64_t bytes = DType::scalar(kind).bytes();
  setRange(result, how, static_cast<int>(shape.size()), shape.data(), strides.data(), bytes, bytes);
}

/// CUDA's is NumPy's with a stream.
void readArrayInterface(PyObject *object, const char *attribute, const ReadArgument &how,
                        HeldResources &held, ArgumentValue &result) {
  py::object interface = py::handle(object).attr(attribute);
  std::string named = (attribute[2] == 'a' ? "has an " : "has a ") + std::string(attribute);
  if (!py::isinstance<py::dict>(interface) || !interface.contains("data") ||
      !interface.contains("typestr") || !interface.contains("shape"))
    refuse(how, named + " without data, typestr or shape",
           "see the NumPy documentation of the array interface, version 3");
  py::object data = interface["data"];
  bool isPair = py::isinstance<py::tuple>(data) && py::len(data) == 2;
  py::tuple pair = isPair ? py::tuple(data) : py::make_tuple(py::none(), false);
  if (!isPair || !PyLong_Check(py::object(pair[0]).ptr()) ||
      PyObject_IsTrue(py::object(pair[1]).ptr()) < 0) {
    PyErr_Clear();
    refuse(how, named + " whose data is not an (address, read-only) pair",
           "pass a NumPy array instead: numpy.asarray(x)");
  }
  std::string type = py::str(interface["typestr"]);
  ScalarKind kind = ScalarKind::Void;
  if (type.size() >= 3 && (type[0] == '<' || type[0] == '|')) {
    static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
        {"b1", "bool"},   {"i1", "int8"},    {"i2", "int16"},   {"i4", "int32"},
        {"i8", "int64"},  {"u1", "uint8"},   {"u2", "uint16"},  {"u4", "uint32"},
        {"u8", "uint64"}, {"f2", "float16"}, {"f4", "float32"}, {"f8", "float64"}};
    for (auto [code, name] : kNames)
      if (code == std::string_view(type).substr(1))
        kind = scalarKindOf(std::string(name));
  }
  if (kind == ScalarKind::Void)
    refuseDtype(how, type);
  const void *address = PyLong_AsVoidPtr(py::object(pair[0]).ptr());
  if (PyErr_Occurred()) {
    PyErr_Clear();
    refuse(how, named + " whose address does not fit into 64 bits",
           "pass a NumPy array instead: numpy.asarray(x)");
  }
  bool isReadOnly = PyObject_IsTrue(py::object(pair[1]).ptr()) == 1;
  result = ArgumentValue::pointer(DType::pointer(kind), address, isReadOnly);
  py::dict fields = interface;
  std::vector<int64_t> shape = integersOf(fields, "shape", named, how);
  bool isStrided = fields.contains("strides") && !py::object(fields["strides"]).is_none();
  std::vector<int64_t> strides;
  if (isStrided)
    strides = integersOf(fields, "strides", named, how);
  if (isStrided && strides.size() != shape.size())
    refuse(how,
           named + " with " + std::to_string(shape.size()) + " extents and " +
               std::to_string(strides.size()) + " strides",
           "see the NumPy documentation of the array interface, version 3");
  setRange(result, how, static_cast<int>(shape.size()), shape.data(),
           isStrided ? strides.data() : nullptr, 1, DType::scalar(kind).bytes());
  held.hold(std::move(interface));
}

void readCudaArrayInterface(PyObject *object, const ReadArgument &how, HeldResources &held,
                            ArgumentValue &result) {
  py::handle array(object);
  if (!py::hasattr(array, "__cuda_array_interface__")) // JAX's arrays have it on GPUs only
    return readDlpack(object, how, held, result);
  readArrayInterface(object, "__cuda_array_interface__", how, held, result);
  if (result.bits == 0) { // an empty array has no memory
    result.device = ArgumentValue::kAnywhere;
    return;
  }
  setDevice(result, jit::Runtime::instance().gpuDriver().deviceOf(result.bits), object, how, held);
  if (held.hasStream())
    return;
  std::string module = Py_TYPE(object)->tp_name;
  if (module.rfind("cupy", 0) == 0 && cupyStreamFunction()) {
    held.stream.kind = StreamSource::Kind::Cupy;
    return;
  }
  py::dict interface = array.attr("__cuda_array_interface__");
  if (interface.contains("stream") && !py::object(interface["stream"]).is_none())
    held.stream = {StreamSource::Kind::Fixed, 0, 0, nullptr,
                   reinterpret_cast<void *>(py::cast<uintptr_t>(interface["stream"]))};
}

void readBuffer(PyObject *object, const ReadArgument &how, HeldResources &held,
                ArgumentValue &result) {
  Py_buffer &view = held.newBuffer();
  bool isReadOnly = false;
  if (PyObject_GetBuffer(object, &view, PyBUF_RECORDS) != 0) {
    PyErr_Clear();
    isReadOnly = true;
    if (PyObject_GetBuffer(object, &view, PyBUF_RECORDS_RO) != 0) {
      std::string why = takePythonError();
      refuse(how, "does not show its memory (" + why + ")", "pass a NumPy array instead");
    }
  }
  std::string_view format = view.format ? view.format : "B";
  if (!format.empty() && (format[0] == '@' || format[0] == '=' || format[0] == '<'))
    format.remove_prefix(1);
  ScalarKind kind = ScalarKind::Void;
  if (format.size() == 1) {
    bool isSigned = std::strchr("bhilqn", format[0]), isUnsigned = std::strchr("BHILQN", format[0]);
    if (isSigned || isUnsigned)
      kind = scalarKindOf((isSigned ? "int" : "uint") + std::to_string(view.itemsize * 8));
    else if (std::strchr("efd", format[0]))
      kind = scalarKindOf("float" + std::to_string(view.itemsize * 8));
    else if (format[0] == '?')
      kind = ScalarKind::Int1;
  }
  if (kind == ScalarKind::Void)
    refuseDtype(how, "'" + std::string(format) + "' (a buffer format)");
  result = ArgumentValue::pointer(DType::pointer(kind), view.buf, isReadOnly || view.readonly);
  setRange(result, how, view.ndim, view.shape, view.strides, 1, view.itemsize);
}

bool isNumpyArrayType(PyTypeObject *type) {
  // By name, so that NumPy need not be imported; subclasses have the same struct.
  PyObject *order = type->tp_mro;
  if (!order)
    return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(order); ++i)
    if (!std::strcmp(reinterpret_cast<PyTypeObject *>(PyTuple_GET_ITEM(order, i))->tp_name,
                     "numpy.ndarray"))
      return true;
  return false;
}

} // namespace

ScalarKind scalarKindOf(const std::string &name) {
  if (name == "bool")
    return ScalarKind::Int1;
  std::optional<DType> dtype = DType::parse(name);
  return dtype && !dtype->isPointer ? dtype->kind : ScalarKind::Void;
}

ArrayProtocol arrayProtocolOf(PyObject *object, const void *&table) {
  py::handle array(object);
  py::handle type(reinterpret_cast<PyObject *>(Py_TYPE(object)));
  if (isNumpyArrayType(Py_TYPE(object)) && checkNumpyLayout(object))
    return ArrayProtocol::Numpy;
  if (py::hasattr(type, "__dlpack_c_exchange_api__")) {
    py::object capsule = type.attr("__dlpack_c_exchange_api__");
    if (PyCapsule_IsValid(capsule.ptr(), kExchangeCapsuleName)) {
      auto *api = static_cast<const DLPackExchangeAPI *>(
          PyCapsule_GetPointer(capsule.ptr(), kExchangeCapsuleName));
      if (api->header.version.major == 1 && api->tensorFromPyObject) {
        table = api;
        if (!py::hasattr(type, "is_neg") || !py::hasattr(type, "_cdata"))
          return ArrayProtocol::DlpackExchange;
        findNegationBit(object);
        return ArrayProtocol::TorchExchange;
      }
    }
  }
  if (py::hasattr(array, "data_ptr") && py::hasattr(array, "dtype"))
    return ArrayProtocol::DataPointer;
  if (py::hasattr(array, "__array_interface__"))
    return ArrayProtocol::ArrayInterface;
  bool hasDlpack = py::hasattr(array, "__dlpack__") && py::hasattr(array, "__dlpack_device__");
  // Without a stream it is unknown when the array is ready (JAX); DLPack waits for it.
  if (py::hasattr(array, "__cuda_array_interface__") &&
      !(hasDlpack && !py::object(array.attr("__cuda_array_interface__")).contains("stream")))
    return ArrayProtocol::CudaArrayInterface;
  if (hasDlpack)
    return ArrayProtocol::Dlpack;
  if (PyObject_CheckBuffer(object) && !PyBytes_Check(object))
    return ArrayProtocol::Buffer;
  return ArrayProtocol::None;
}

void readArray(ArrayProtocol protocol, const void *table, PyObject *object, const ReadArgument &how,
               HeldResources &held, ArgumentValue &result) {
  switch (protocol) {
  case ArrayProtocol::Numpy:
    return readNumpy(object, how, result);
  case ArrayProtocol::TorchExchange:
    if (isLazilyNegated(object)) [[unlikely]]
      refuseNegated(how);
    [[fallthrough]];
  case ArrayProtocol::DlpackExchange:
    return readExchange(static_cast<const DLPackExchangeAPI *>(table), object, how, held, result);
  case ArrayProtocol::DataPointer:
    return readDataPointer(object, how, held, result);
  case ArrayProtocol::ArrayInterface:
    return readArrayInterface(object, "__array_interface__", how, held, result);
  case ArrayProtocol::CudaArrayInterface:
    return readCudaArrayInterface(object, how, held, result);
  case ArrayProtocol::Dlpack:
    return readDlpack(object, how, held, result);
  case ArrayProtocol::Buffer:
    return readBuffer(object, how, held, result);
  case ArrayProtocol::None:
    break;
  }
  refuse(how, "is not an array", "pass a NumPy array or a torch tensor");
}

void *StreamSource::current() const {
  switch (kind) {
  case Kind::None:
    return nullptr;
  case Kind::Fixed:
    return fixed;
  case Kind::Exchange: {
    void *stream = nullptr;
    return static_cast<const DLPackExchangeAPI *>(table)->currentWorkStream(deviceType, device,
                                                                            &stream) == 0
               ? stream
               : nullptr;
  }
  case Kind::Torch:
    return reinterpret_cast<void *>(
        py::cast<uintptr_t>(py::reinterpret_borrow<py::object>(torchStreamFunction())(device)));
  case Kind::Cupy:
    return reinterpret_cast<void *>(py::cast<uintptr_t>(
        py::reinterpret_borrow<py::object>(cupyStreamFunction())().attr("ptr")));
  }
  return nullptr;
}

void clearArrayCaches() {
  dtypeCache().clear();
}

} // namespace sectile::bindings
