//===-- Specialization.h - from the arguments of a launch to the variant to run ---------------===//
// The rules of Triton, made once for Python, C++ and every back end:
//
//   pointer         "*fp32"; divisible by 16 when its address is
//   int             1 becomes a constant; else i32, i64 or u64 by its value; divisible by 16 or not
//   float           fp32 from Python, as typed from C++; never specialised
//   bool            i1
//   None, constexpr constants
//   tuple                            item by item, each by the rules above
//   arrays that share memory         which ones: right code may need to know
//   do_not_specialize                neither 1 nor divisibility
//   do_not_specialize_on_alignment   no divisibility
//
// Every launch classifies its arguments into a few bytes (Specializer::bind), which find the kernel
// in a KernelTable: no allocation, no lock. Only a miss makes a KernelSignature.
//
//   Specializer specializer("softmax", parameters);        // once
//   BoundArguments bound;                                  // on the stack
//   Status status = specializer.bind(values, bound);       // below 0.1 us for 8 arguments
//   bound.addOption(warpCount);                            // whatever else selects a variant
//   const Kernel *kernel = table.find(bound);
//   if (!kernel) {
//     ... specializer.signature(values) ... runtime.getKernel(...) ... table.insert(...)
//   }
//   kernel->launch(grid, bound);
#pragma once

#include "backends/plain/ForkSafeMutex.h"
#include "jit/Api.h"
#include "jit/Status.h"
#include "jit/launch/Kernel.h"
#include "lang/plain/KernelSignature.h"

#include <array>
#include <atomic>
#include <cstring>
#include <span>

namespace sectile::jit {

/// What the decorator and the annotations say of a parameter.
struct ParameterPolicy {
  std::string name;
  bool isConstexpr = false;
  /// Not in do_not_specialize.
  bool specialize = true;
  /// Not in do_not_specialize_on_alignment.
  bool specializeOnAlignment = true;
  /// A type the parameter is annotated with ("fp16", "*kfp32"): the argument is converted to it and
  /// no constant is made of it. void: the type follows from the argument.
  lang::DType annotation = {};
  /// Annotated as const: a pointer given for it becomes one to constant data.
  bool isConst = false;
};

/// One argument of a launch, unwrapped from the host language.
struct ArgumentValue {
  enum class Kind : uint8_t {
    Pointer,
    Integer,
    Float,
    Bool,
    None,
    Constant,
    Tuple,
    Default // left out: only kernels of archives know what that means (aot/Archive.h)
  };
  Kind kind = Kind::None;
  /// The memory that the pointer points to may not be written; only a Pointer has this.
  bool isReadOnly = false;
  /// What `bits` holds. An Integer is Signed, or Unsigned when it lies beyond int64; a Constant has
  /// one of the others.
  enum class Bits : uint8_t {
    Signed,
    Unsigned,
    ConstantInteger,
    ConstantBool,
    ConstantFloat,
    ConstantId,
    ConstantBeyond
  };
  Bits content = Bits::Signed;
  /// The type of a Pointer, such as "*fp32". A number's is void when it follows from the value, as
  /// in Python.
  lang::DType dtype;
  /// The index of the GPU whose memory a Pointer points to; else kHost, or kAnywhere when it points
  /// to no memory. Of an Integer, kAnywhere means that it stands for another one, of a launch to
  /// come.
  int16_t device = kHost;
  static constexpr int16_t kHost = -1, kAnywhere = -2;
  /// The address; the integer; the double's bits; 0 or 1; a constant's value or id.
  uint64_t bits = 0;
  /// The bytes that may be accessed through a Pointer: [begin, end).
  uint64_t rangeBegin = 0, rangeEnd = ~uint64_t{0};
  /// The value of a Constant with an id, or an empty tuple of the class of a Tuple with named
  /// fields; else null. It must outlive the call.
  const lang::Constant *constant = nullptr;

  static ArgumentValue pointer(lang::DType dtype, const void *address, bool isReadOnly = false) {
    ArgumentValue value;
    value.kind = Kind::Pointer;
    value.isReadOnly = isReadOnly;
    value.dtype = dtype;
    value.bits = reinterpret_cast<uintptr_t>(address);
    return value;
  }
  /// With the bytes that may be accessed: strided arrays may begin below their address.
  static ArgumentValue array(lang::DType dtype, const void *address, uint64_t begin, uint64_t end,
                             bool isReadOnly = false) {
    ArgumentValue value = pointer(dtype, address, isReadOnly);
    value.rangeBegin = begin;
    value.rangeEnd = end;
    return value;
  }
  /// `dtype` void: i32 or i64 by its value.
  static ArgumentValue integer(int64_t number, lang::DType dtype = {}) {
    ArgumentValue value;
    value.kind = Kind::Integer;
    value.dtype = dtype;
    value.bits = static_cast<uint64_t>(number);
    return value;
  }
  /// `dtype` void: i32, i64 or u64 by its value.
  static ArgumentValue unsignedInteger(uint64_t number, lang::DType dtype = {}) {
    ArgumentValue value = integer(static_cast<int64_t>(number), dtype);
    if (number >> 63)
      value.content = Bits::Unsigned;
    return value;
  }
  /// `dtype` void: fp32.
  static ArgumentValue floating(double number, lang::DType dtype = {}) {
    ArgumentValue value;
    value.kind = Kind::Float;
    value.dtype = dtype;
    std::memcpy(&value.bits, &number, sizeof number);
    return value;
  }
  static ArgumentValue boolean(bool truth) {
    ArgumentValue value;
    value.kind = Kind::Bool;
    value.bits = truth;
    return value;
  }
  static ArgumentValue none() { return {}; }
  static ArgumentValue leftOut() {
    ArgumentValue value;
    value.kind = Kind::Default;
    return value;
  }
  static ArgumentValue constantInteger(int64_t number) {
    return scalarConstant(Bits::ConstantInteger, static_cast<uint64_t>(number));
  }
  static ArgumentValue constantBool(bool truth) {
    return scalarConstant(Bits::ConstantBool, truth);
  }
  static ArgumentValue constantFloat(double number) {
    uint64_t bits;
    std::memcpy(&bits, &number, sizeof number);
    return scalarConstant(Bits::ConstantFloat, bits);
  }
  /// A number that the type of its constant parameter does not hold; binding refuses it.
  static ArgumentValue beyondItsType() { return scalarConstant(Bits::ConstantBeyond, 0); }
  /// Any other constant: `id` from ConstantTable, the same for equal constants.
  static ArgumentValue constantWithId(uint64_t id, const lang::Constant &constant) {
    ArgumentValue value = scalarConstant(Bits::ConstantId, id);
    value.constant = &constant;
    return value;
  }

  /// The values of its items come after it. `id`: of its class, 0 for a plain tuple.
  static ArgumentValue tuple(size_t count, uint64_t id = 0,
                             const lang::Constant *tupleClass = nullptr) {
    ArgumentValue value;
    value.kind = Kind::Tuple;
    value.bits = uint64_t{static_cast<uint32_t>(count)} | id << 32;
    value.constant = tupleClass;
    return value;
  }
  /// The number of items of a Tuple, and its class; null for a plain tuple.
  size_t itemCount() const { return static_cast<uint32_t>(bits); }
  lang::TupleClassRef tupleClass() const {
    return constant ? (*constant->as<lang::ConstantTuple>())->tupleClass : nullptr;
  }

private:
  static ArgumentValue scalarConstant(Bits content, uint64_t bits) {
    ArgumentValue value;
    value.kind = Kind::Constant;
    value.content = content;
    value.bits = bits;
    return value;
  }
};

/// Numbers constants: equal ones (same kind, same value) get the same id. Thread-safe.
class SECTILE_API ConstantTable {
public:
  ConstantTable();
  ~ConstantTable();
  struct Entry {
    uint64_t id;
    const lang::Constant *constant; // lives as long as the table
  };
  Entry intern(const lang::Constant &constant);
  /// The entry of a constant that has been interned; id 0 for another.
  Entry find(const lang::Constant &constant) const;

  /// The one of those that have none of their own. It is never destroyed: static variables of a
  /// program may hold what is in it.
  static ConstantTable &ofProcess();

  /// The constants among the items of a tensor descriptor that a C++ program passes.
  struct OfDescriptor;
  static OfDescriptor ofDescriptor(std::span<const int64_t> blockShape, std::string padding);

private:
  struct State;
  std::unique_ptr<State> state;
};

/// Grows beyond `Inline` elements on the heap.
template <class T, size_t Inline>
class ArgumentBuffer {
public:
  ArgumentBuffer() = default;
  ArgumentBuffer(const ArgumentBuffer &) = delete;
  ArgumentBuffer &operator=(const ArgumentBuffer &) = delete;
  const T *data() const { return elements; }
  T *data() { return elements; }
  size_t size() const { return count; }
  T operator[](size_t index) const { return elements[index]; }
  void clear() { count = 0; }
  void push(T element) {
    if (count == capacity) [[unlikely]]
      grow(count + 1);
    elements[count++] = element;
  }
  void reserve(size_t most) {
    if (most > capacity) [[unlikely]]
      grow(most);
  }
  /// The end, behind which `most` more elements may be written; then extendTo() says how far.
  T *room(size_t most) {
    if (capacity - count < most) [[unlikely]]
      grow(count + most);
    return elements + count;
  }
  void extendTo(const T *end) { count = static_cast<size_t>(end - elements); }
  /// A new element, to be assigned.
  T &extend() {
    if (count == capacity) [[unlikely]]
      grow(count + 1);
    return elements[count++];
  }
  void append(const void *source, size_t sourceCount) {
    if (count + sourceCount > capacity) [[unlikely]]
      grow(count + sourceCount);
    std::memcpy(elements + count, source, sourceCount * sizeof(T));
    count += sourceCount;
  }

private:
  [[gnu::cold, gnu::noinline]] void grow(size_t needed) {
    size_t larger = needed * 2;
    auto memory = std::make_unique<T[]>(larger);
    std::memcpy(memory.get(), elements, count * sizeof(T));
    heap = std::move(memory);
    elements = heap.get();
    capacity = larger;
  }
  T *elements = fixed;
  size_t count = 0, capacity = Inline;
  std::unique_ptr<T[]> heap;
  T fixed[Inline];
};

/// The result of classification: which variant (key), and what to pass to it (slots, ranges).
struct BoundArguments {
  ArgumentBuffer<uint8_t, 320> key;
  /// The arguments in the form that Kernel::launch takes.
  ArgumentBuffer<uint64_t, 32> slots;
  ArgumentBuffer<uint64_t, 64> ranges;
  /// Bit i: slot i is an array that may not be written. Empty where anyReadOnly is not set.
  ArgumentBuffer<uint64_t, 2> readOnly;
  bool anyReadOnly = false;
  /// Pairs of arrays that share memory, by slot.
  ArgumentBuffer<backends::ArgumentOverlap, 4> overlaps;
  /// MemoryFacts::isOfDevice, isUnmappable and isLarge; set by setOfDevice(), setUnmappable() and
  /// setLarge() alone.
  bool isOfDevice = false, isUnmappable = false, isLarge = false;
  /// Where a GPU kernel runs (backends::LaunchArguments).
  int32_t device = 0;
  void *stream = nullptr;

  /// `count`: of slots, at most.
  [[gnu::cold, gnu::noinline]] void noteReadOnly(size_t slot, size_t count) {
    if (!anyReadOnly)
      for (size_t word = 0; word < (count + 63) / 64; ++word)
        readOnly.push(0);
    anyReadOnly = true;
    readOnly.data()[slot / 64] |= uint64_t{1} << slot % 64;
  }
  /// Anything else that selects a variant: options, the version of the globals.
  void addOption(uint64_t word) { key.append(&word, sizeof word); }
  /// Makes that part of the key, after all options: one byte for all such facts, so that no key
  /// with options alone has its length.
  void setOfDevice() { addFact(isOfDevice, 1); }
  void setUnmappable() { addFact(isUnmappable, 2); }
  void setLarge() { addFact(isLarge, 4); }

private:
  void addFact(bool &fact, uint8_t bit) {
    if (isOfDevice || isUnmappable || isLarge)
      key.data()[key.size() - 1] |= bit;
    else
      key.push(bit);
    fact = true;
  }
};

struct ConstantTable::OfDescriptor {
  Entry tupleClass, blockShape, padding;
};

/// What of a policy decides about most arguments: a line of the cache has eight.
struct ParameterRule {
  lang::DType annotation;
  bool isConstexpr, isConst, specialize;
  /// Divisibility by 16 is part of the variant.
  bool looksAtAlignment;
};

class SECTILE_API Specializer {
public:
  Specializer(std::string kernelName, std::vector<ParameterPolicy> parameters);

  std::span<const ParameterPolicy> parameters() const { return policies; }
  /// One value per parameter, defaults filled in; a tuple is followed by its items. Fails with
  /// Error::Kind::Call on an argument that cannot be passed: an integer beyond 64 bits of its type,
  /// a pointer for an `fp32` parameter.
  Status bind(std::span<const ArgumentValue> values, BoundArguments &result) const;
  /// Where the arrays are: the index of a GPU, kHost, or kAnywhere when no argument determines it.
  /// Fails when they are in several places. `first` gets the index of the value that determined it;
  /// `gpuBackend` returns what GPUs are called in the error ("cuda" without it).
  Status commonDevice(std::span<const ArgumentValue> values, int32_t &device,
                      size_t *first = nullptr, std::string (*gpuBackend)() = nullptr) const;
  /// What values[index] is called: "x", "pair[0]".
  std::string argumentName(std::span<const ArgumentValue> values, size_t index) const;
  /// What the variant selected by the same values is compiled for. Only after bind() succeeded.
  lang::KernelSignature signature(std::span<const ArgumentValue> values) const;

private:
  [[gnu::cold]] Error argumentError(std::span<const ArgumentValue> values, size_t index,
                                    const std::string &problem, const std::string &help = {}) const;

  std::string kernelName;
  std::vector<ParameterPolicy> policies;
  std::vector<ParameterRule> rules; // of the policies, in their order
};

/// Variants of one kernel by key: open addressing, lookups take no lock, entries live as long as
/// the table.
class SECTILE_API KernelTable {
public:
  KernelTable();
  ~KernelTable();
  KernelTable(const KernelTable &) = delete;
  KernelTable &operator=(const KernelTable &) = delete;

  /// Null when there is none yet.
  const Kernel *find(const BoundArguments &arguments) const;
  /// Keeps the first of two inserted under one key, and returns the one kept. `isNew`: whether this
  /// was the first.
  const Kernel *insert(const BoundArguments &arguments, std::shared_ptr<const Kernel> kernel,
                       bool *isNew = nullptr);
  /// All variants, in order of insertion.
  std::vector<std::shared_ptr<const Kernel>> all() const;
  /// Forgets every variant. Kernels already found stay valid as long as the table.
  void clear();

private:
  struct Entry;
  struct Slots;
  std::atomic<Slots *> slots;
  mutable ForkSafeMutex mutex;
  std::vector<std::unique_ptr<Entry>> entries;
  size_t firstLive = 0;
  std::vector<std::unique_ptr<Slots>> generations;
};

} // namespace sectile::jit
