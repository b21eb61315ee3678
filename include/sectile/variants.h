//===-- variants.h - closed sets of variants: compiled ahead, enumerated, sealed ----------===//
//   auto scale = kernel("scale", [](Ptr<f32> x, i32 n, f32 factor, Const<int> BLOCK) { ... });
//   scale.precompile(divisibleBy16, oneOf(anyValue, divisibleBy16, 1), anyValue,
//                    oneOf(Const{512}, Const{1024}));       // six variants, in parallel
//   seal();
//   scale.launch({cdiv(n, 512)}, x, n, 2.0f, Const{512});   // never compiles
//   scale.launch({cdiv(n, 256)}, x, n, 2.0f, Const{256});   // throws Error:
//   // "scale: sealed, and no variant fits: BLOCK: 256 instead of 512 ..."
//
//   for (const Variant &variant : scale.variants())
//     std::puts((variant.signature + ": " + variant.reason).c_str());
//
// An argument of precompile() is a kind (anyValue, divisibleBy16), a value as for launch(), or
// oneOf() of several. Without a GPU: scale.on(Target("cuda:90")).precompile(...).
//
// Internal to kernel.h, which includes it.
#pragma once

#include "jit/TargetName.h"
#include "jit/runtime/Runtime.h"
#include "jit/runtime/VariantList.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <sectile/arguments.h>
#include <sectile/error.h>
#include <thread>
#include <tuple>
#include <vector>

namespace sectile {

/// Kinds of arguments: numbers that are neither 1 nor divisible by 16, and addresses that are not
/// divisible by 16; numbers, or addresses (as those of most allocations are), that are.
enum class ArgumentKind { Any, DivisibleBy16 };
inline constexpr ArgumentKind anyValue = ArgumentKind::Any;
inline constexpr ArgumentKind divisibleBy16 = ArgumentKind::DivisibleBy16;

template <class... T>
struct Alternatives {
  std::tuple<T...> items;
};
/// Makes one argument of precompile() out of several, all combinations of which are compiled.
template <class... T>
Alternatives<T...> oneOf(T... items) {
  return {{items...}};
}

/// What is compiled for: "cpu", "cpu:x86-64-v3", "cuda:90", "cuda:sm_90a", "hip:gfx942". It need
/// not be here.
class Target {
public:
  explicit Target(const std::string &name) {
    jit::TargetName parsed(name);
    backend = parsed.backend;
    arch = parsed.arch;
    if (backend != "cpu" && ((backend != "cuda" && backend != "hip") || arch.empty()))
      throw Error(Error::Kind::Call,
                  "target: '" + name +
                      "' is not the name of a target\n  help: 'cpu', 'cuda:90', with the compute "
                      "capability after the colon, or 'hip:gfx942'");
  }
  std::string backend, arch;
};

/// From now on what would have to be compiled throws an Error that names the argument, or option,
/// by which it differs from the nearest variant there is. What is on disk may still be loaded.
inline void seal() {
  jit::Runtime::instance().seal();
}

/// A compile: kernelName, variantName (the same in C++), target, variant, options, reason,
/// cacheMiss, seconds, succeeded; text() is the line of SECTILE_LOG=compile.
using CompileEvent = jit::CompileEvent;

/// `listener` is called after every compile, by the thread that did it, perhaps by several at once;
/// nullptr removes the listener. What it throws is printed and forgotten.
inline void setCompileListener(std::function<void(const CompileEvent &)> listener) {
  if (!listener) {
    jit::Runtime::instance().setCompileListener({});
    return;
  }
  jit::Runtime::instance().setCompileListener([listener =
                                                   std::move(listener)](const CompileEvent &event) {
    try {
      listener(event);
    } catch (const std::exception &error) {
      std::fprintf(stderr, "sectile: warning: compile listener: %s\n", error.what());
    } catch (...) {
      std::fprintf(stderr, "sectile: warning: compile listener: an exception of no type known\n");
    }
  });
}

namespace detail {

template <class T>
inline constexpr bool isAlternatives = false;
template <class... T>
inline constexpr bool isAlternatives<Alternatives<T...>> = true;

/// Something of that kind, never looked at beyond its specialisation. `index`: of the parameter, so
/// that no two arrays overlap.
template <class Parameter>
jit::ArgumentValue exampleOf(ArgumentKind kind, size_t index) {
  bool isDivisible = kind == ArgumentKind::DivisibleBy16;
  if constexpr (requires { ParameterTraits<Parameter>::dtype; }) {
    constexpr DType dtype = ParameterTraits<Parameter>::dtype;
    if constexpr (dtype.isPointer) {
      auto *address = reinterpret_cast<char *>((index + 1) << 20) + (isDivisible ? 0 : 8);
      jit::ArgumentValue value =
          jit::ArgumentValue::pointer(dtype, address, ParameterTraits<Parameter>::isReadOnly);
      value.device = jit::ArgumentValue::kAnywhere;
      return value;
    } else {
      int number = isDivisible ? 16 : 3;
      jit::ArgumentValue value = ParameterTraits<Parameter>::convert(number);
      value.device = jit::ArgumentValue::kAnywhere;
      return value;
    }
  } else {
    throw Error(Error::Kind::Call,
                valueCount<Parameter> > 1
                    ? "precompile: a TensorDescriptorOf<T, Rank> parameter takes a descriptor, not "
                      "a kind\n  help: HostDescriptor of an array like those of the launches"
                    : "precompile: a Const<T> parameter takes its value, not a kind\n"
                      "  help: Const{1024}, or oneOf(Const{512}, Const{1024})");
  }
}

/// What precompile() is to make for one parameter: the values of each choice, one after another.
template <class Parameter, class Passed>
void addChoices(std::vector<jit::ArgumentValue> &choices, Passed &passed, size_t index) {
  if constexpr (isAlternatives<std::remove_cv_t<Passed>>)
    std::apply([&](auto &...items) { (addChoices<Parameter>(choices, items, index), ...); },
               passed.items);
  else if constexpr (std::is_same_v<std::remove_cv_t<Passed>, ArgumentKind>)
    choices.push_back(exampleOf<Parameter>(passed, index));
  else {
    choices.resize(choices.size() + valueCount<Parameter>);
    convertTo<Parameter>(choices.data() + choices.size() - valueCount<Parameter>, passed);
  }
}

/// Calls body(0) ... body(count - 1), each once, on as many threads as the CPU back end uses.
template <class Body>
void inParallel(size_t count, Body body) {
  size_t threadCount =
      std::min<size_t>(count, jit::Runtime::instance().driver("cpu")->threadCount());
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t index; (index = next.fetch_add(1)) < count;)
      body(index);
  };
  std::vector<std::thread> threads;
  for (size_t thread = 1; thread < threadCount; ++thread)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace detail
} // namespace sectile
