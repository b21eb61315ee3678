// Which variant of an archive a launch gets.
#include "jit/aot/Archive.h"
#include "jit/launch/MemoryFacts.h"
#include "jit/runtime/Runtime.h"
#include "jit/runtime/VariantHistory.h"
#include "lang/plain/LanguageClasses.h"

#include <algorithm>

namespace sectile::jit {

std::string nameOfTarget(const ArchivedVariant &variant) {
  if (!variant.hostFingerprint.empty())
    return "cpu (of the processor that compiled it)";
  return targetOf(variant.options) +
         (variant.isMachineCode || variant.options.backend == "cpu" ? "" : "+ptx");
}

std::string optionsOf(const ArchivedVariant &variant) {
  backends::CompileOptions options = variant.options;
  options.forElsewhere = false; // as all code in archives
  return describe(options);
}

static std::vector<ParameterPolicy> policiesOf(const ArchivedKernelEntry &kernel) {
  std::vector<ParameterPolicy> policies;
  for (const ArchivedParameter &parameter : kernel.parameters)
    policies.push_back(parameter.policy);
  return policies;
}

ArchivedKernel::ArchivedKernel(const Archive &archive, const ArchivedKernelEntry &kernel)
    : archive(archive), kernel(kernel), specialization(kernel.name, policiesOf(kernel)) {
  for (const ArchivedParameter &parameter : kernel.parameters)
    hasDefaults |= parameter.initial || !parameter.chosen.isEmpty();
  // What launches may name; other constants are known to no variant.
  for (const ArchivedVariant &variant : kernel.variants)
    lang::forEachLeaf(variant.signature, [](const lang::KernelParameter &leaf, size_t) {
      if (leaf.constant && (leaf.constant->is<std::string>() || leaf.constant->is<lang::DType>()))
        ConstantTable::ofProcess().intern(*leaf.constant);
    });
  findBlocks();
}
ArchivedKernel::~ArchivedKernel() = default;

void ArchivedKernel::findBlocks() {
  const lang::TupleClassRef &ofDescriptors = lang::tensorDescriptorClass();
  const size_t blockField = *ofDescriptors->indexOf("block_shape"),
               paddingField = *ofDescriptors->indexOf("padding");
  for (const ArchivedVariant &variant : kernel.variants)
    for (size_t i = 0; i < variant.signature.parameters.size(); ++i) {
      const lang::KernelParameter &parameter = variant.signature.parameters[i];
      if (!parameter.items || parameter.items->size() != ofDescriptors->fields.size() ||
          !lang::isSameClass(parameter.tupleClass, ofDescriptors))
        continue;
      const auto &shape = (*parameter.items)[blockField].constant,
                 &padding = (*parameter.items)[paddingField].constant;
      const auto *extents = shape ? shape->as<lang::ConstantTuple>() : nullptr;
      const auto *word = padding ? padding->as<std::string>() : nullptr;
      if (!extents || !word)
        continue; // a damaged index; its variant is never found
      std::vector<int64_t> numbers;
      for (const lang::Constant &extent : **extents)
        if (const auto *number = extent.as<lang::Int>())
          numbers.push_back(static_cast<int64_t>(*number));
      const bool padsWithNan = *word == "nan";
      const lang::DType element = parameter.items->front().dtype.pointee();
      blocks.resize(kernel.parameters.size());
      if (i >= blocks.size())
        continue;
      const bool isKnown = std::any_of(blocks[i].begin(), blocks[i].end(), [&](const auto &each) {
        return each.element == element && each.shape == numbers && each.padsWithNan == padsWithNan;
      });
      if (!isKnown) {
        ConstantTable::OfDescriptor constants = ConstantTable::ofDescriptor(numbers, *word);
        blocks[i].push_back({element, std::move(numbers), padsWithNan, constants});
      }
    }
}

namespace {

/// Where the values of a launch have that of each parameter: a tuple's items come after it.
class Places {
public:
  Places(std::span<const ArgumentValue> values, size_t parameterCount) : count(values.size()) {
    if (values.size() == parameterCount) [[likely]]
      return; // no tuples
    size_t itemsLeft = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      if (itemsLeft == 0)
        firsts.push_back(i);
      else
        --itemsLeft;
      if (values[i].kind == ArgumentValue::Kind::Tuple)
        itemsLeft += values[i].itemCount();
    }
    count = firsts.size();
  }
  size_t size() const { return count; }
  size_t operator[](size_t parameter) const {
    return firsts.empty() ? parameter : firsts[parameter];
  }

private:
  size_t count;
  std::vector<size_t> firsts;
};

} // namespace

/// The integer or truth value that was given; nullopt for anything else.
static std::optional<int64_t> integerOf(const ArgumentValue &value) {
  using Kind = ArgumentValue::Kind;
  using Bits = ArgumentValue::Bits;
  const bool isInteger =
      (value.kind == Kind::Integer && value.content == Bits::Signed) || value.kind == Kind::Bool ||
      (value.kind == Kind::Constant &&
       (value.content == Bits::ConstantInteger || value.content == Bits::ConstantBool));
  return isInteger ? std::optional(static_cast<int64_t>(value.bits)) : std::nullopt;
}

/// What a launch passes that leaves out a parameter with this default.
static ArgumentValue valueOf(const lang::Constant &initial, const ParameterPolicy &policy) {
  if (initial.isNone())
    return ArgumentValue::none();
  const auto *truth = initial.as<bool>();
  const auto *integer = initial.as<lang::Int>();
  const auto *number = initial.as<double>();
  const bool fits = integer && *integer >= INT64_MIN && *integer <= INT64_MAX;
  if (policy.isConstexpr) {
    if (truth)
      return ArgumentValue::constantBool(*truth);
    if (fits)
      return ArgumentValue::constantInteger(static_cast<int64_t>(*integer));
    if (number)
      return ArgumentValue::constantFloat(*number);
  } else {
    if (truth)
      return ArgumentValue::boolean(*truth);
    if (fits)
      return ArgumentValue::integer(static_cast<int64_t>(*integer));
    if (number)
      return ArgumentValue::floating(*number);
    if (integer && *integer > 0 && *integer <= UINT64_MAX)
      return ArgumentValue::unsignedInteger(static_cast<uint64_t>(*integer));
  }
  ConstantTable::Entry entry = ConstantTable::ofProcess().intern(initial);
  return ArgumentValue::constantWithId(entry.id, *entry.constant);
}

/// The integer that a formula gives for the arguments of a launch.
static std::optional<int64_t> evaluate(const LaunchFormula &formula,
                                       std::span<const ArgumentValue> values,
                                       const Places &places) {
  return formula.evaluate([&](size_t parameter) {
    return parameter < places.size() ? integerOf(values[places[parameter]]) : std::nullopt;
  });
}

Status ArchivedKernel::complete(std::span<const ArgumentValue> given, ValueBuffer &values) const {
  values.assign(given);
  const Places places(given, kernel.parameters.size());
  if (places.size() != kernel.parameters.size())
    return {}; // bind() says so
  auto refuse = [&](size_t parameter, const std::string &problem) {
    const std::string &name = kernel.parameters[parameter].policy.name;
    return Status(Error{Error::Kind::Call,
                        kernel.name + ": argument '" + name + "' " + problem,
                        {},
                        {},
                        {},
                        static_cast<int32_t>(parameter)});
  };
  // Defaults first: choices may look at them.
  for (size_t i = 0; i < places.size(); ++i) {
    const ArchivedParameter &parameter = kernel.parameters[i];
    if (values[places[i]].kind != ArgumentValue::Kind::Default || !parameter.chosen.isEmpty())
      continue;
    if (!parameter.initial)
      return refuse(i, "is missing");
    values[places[i]] = valueOf(*parameter.initial, parameter.policy);
  }
  for (size_t i = 0; i < places.size(); ++i) {
    const ArchivedParameter &parameter = kernel.parameters[i];
    if (values[places[i]].kind != ArgumentValue::Kind::Default)
      continue;
    std::optional<int64_t> chosen = evaluate(parameter.chosen, values.span(), places);
    if (!chosen)
      return refuse(i, "is chosen by integers, and for these arguments there is no choice");
    const bool isTruth = parameter.chosen.isTruth();
    values[places[i]] =
        parameter.policy.isConstexpr
            ? (isTruth ? ArgumentValue::constantBool(*chosen != 0)
                       : ArgumentValue::constantInteger(*chosen))
            : (isTruth ? ArgumentValue::boolean(*chosen != 0) : ArgumentValue::integer(*chosen));
  }
  return {};
}

Status ArchivedKernel::gridOf(std::span<const ArgumentValue> values, Grid &grid) const {
  if (kernel.grid.empty())
    return Status::fail(Error::Kind::Call,
                        kernel.name + ": the launch has no grid, and " + archive.name() +
                            " has none for it",
                        "pass one, or export the kernel with grid=");
  const Places places(values, kernel.parameters.size());
  int64_t *const extents[] = {&grid.x, &grid.y, &grid.z};
  for (size_t axis = 0; axis < kernel.grid.size(); ++axis) {
    std::optional<int64_t> extent = evaluate(kernel.grid[axis], values, places);
    if (!extent)
      return Status::fail(Error::Kind::Call,
                          kernel.name + ": the grid follows from integers, and from these "
                                        "arguments no grid does",
                          "pass one");
    *extents[axis] = *extent;
  }
  return {};
}

/// One search for a variant, with all that decides.
struct ArchivedKernel::Search {
  const ArchivedKernel &self;
  const ArchivedLaunch &launch;
  std::span<const ArgumentValue> values;
  /// The values of the kernel's chosenOptions.
  const std::vector<int64_t> &chosen;
  Status status = {};

  const ArchivedKernelEntry &kernel() const { return self.kernel; }

  /// Null with `status` set where there is none.
  std::shared_ptr<const Kernel> find(const MemoryFacts &memory) {
    const lang::KernelSignature signature = self.specialization.signature(values);
    const std::string key = signatureKey(signature);
    auto [first, last] =
        std::equal_range(kernel().variants.begin(), kernel().variants.end(), key, Order{});
    if (first == last)
      return refuse(noVariant(signature));
    std::optional<std::vector<const ArchivedVariant *>> usable = inOrder(first, last);
    if (!usable)
      return nullptr;
    if (usable->empty())
      return refuse(noTarget(first, last));
    for (const ArchivedVariant *variant : *usable) {
      Status why;
      if (std::shared_ptr<const Kernel> found = fitting(*variant, first, last, memory, why))
        return found;
      // What another target of the archive does as well is no error.
      if (status.ok())
        status = std::move(why);
    }
    return nullptr;
  }

private:
  /// By keys alone.
  struct Order {
    bool operator()(const ArchivedVariant &a, const std::string &key) const { return a.key < key; }
    bool operator()(const std::string &key, const ArchivedVariant &a) const { return key < a.key; }
  };
  using Iterator = std::vector<ArchivedVariant>::const_iterator;

  std::nullptr_t refuse(Error error) {
    status = Status(std::move(error));
    return nullptr;
  }

  /// The usual variants that the device runs and that have the chosen options, the best first.
  std::optional<std::vector<const ArchivedVariant *>> inOrder(Iterator first, Iterator last) {
    backends::Driver *driver = Runtime::instance().driver(launch.backend);
    std::vector<std::pair<int, const ArchivedVariant *>> ranked;
    std::vector<std::pair<std::string, std::string>> wanted;
    for (size_t i = 0; i < chosen.size(); ++i)
      wanted.push_back({kernel().chosenOptions[i].first, std::to_string(chosen[i])});
    bool hasTarget = false;
    std::string options;
    for (Iterator variant = first; driver && variant != last; ++variant) {
      if (variant->options.backend != launch.backend || variant->options.argumentsOverlap ||
          variant->options.deviceMemory || variant->options.pointersOnly ||
          variant->options.largeArrays)
        continue;
      if (!variant->hostFingerprint.empty() &&
          variant->hostFingerprint != driver->hostFingerprint())
        continue;
      int rank = driver->suitability(variant->targetName, variant->isMachineCode, launch.device);
      if (rank <= 0)
        continue;
      hasTarget = true;
      if (!hasOptions(*variant, wanted)) {
        const std::string own = optionsOf(*variant);
        options += (options.empty() ? "" : "; ") + (own.empty() ? "one without options" : own);
        continue;
      }
      ranked.push_back({rank + !variant->hostFingerprint.empty(), &*variant});
    }
    if (hasTarget && ranked.empty()) {
      std::string text;
      for (const auto &[keyword, value] : wanted)
        text += (text.empty() ? "" : ", ") + keyword + "=" + value;
      refuse({Error::Kind::Call,
              kernel().name + ": " + text + " is chosen, and " + self.archive.name() +
                  " has no such variant for these arguments, only " + options,
              "export one",
              {},
              {},
              -1});
      return std::nullopt;
    }
    // Of equals the first in the archive.
    std::sort(ranked.begin(), ranked.end(), [](const auto &a, const auto &b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    std::vector<const ArchivedVariant *> result;
    for (const auto &[rank, variant] : ranked)
      result.push_back(variant);
    return result;
  }

  static bool hasOptions(const ArchivedVariant &variant,
                         const std::vector<std::pair<std::string, std::string>> &wanted) {
    for (const auto &[keyword, value] : wanted) {
      // Options that its target does not look at are as they always are.
      backends::CompileOptions changed = variant.options;
      const bool isKnown = changed.setField(keyword, value);
      changed.normalize();
      changed.normalizeFor(changed.backend);
      if (!isKnown || !(changed == variant.options))
        return false;
    }
    return true;
  }

  /// The variant, or the one of the same target and options that is right for the memory of the
  /// launch.
  std::shared_ptr<const Kernel> fitting(const ArchivedVariant &usual, Iterator first, Iterator last,
                                        const MemoryFacts &memory, Status &why) {
    std::shared_ptr<const Kernel> loaded = self.archive.load(usual, why);
    backends::CompileOptions options = usual.options;
    while (loaded && memory.changeOptions(loaded->image(), options)) {
      auto other = std::find_if(first, last, [&](const ArchivedVariant &variant) {
        return variant.targetName == usual.targetName &&
               variant.isMachineCode == usual.isMachineCode && variant.options == options;
      });
      if (other == last) {
        why = Status(noMemory(*loaded, memory));
        return nullptr;
      }
      loaded = self.archive.load(*other, why);
    }
    return loaded;
  }

  Error noVariant(const lang::KernelSignature &signature) const {
    const backends::CompileOptions options; // signatures alone are compared
    NearestVariant search(signature, options);
    for (const ArchivedVariant &variant : kernel().variants)
      search.consider(variant.signature, options);
    const VariantDifference &difference = search.nearest;
    Error error{
        Error::Kind::Call,
        kernel().name + ": " + self.archive.name() + " has no variant for these arguments: " +
            (difference.kind == VariantDifference::Kind::First ? "it has none" : difference.text()),
        "export it: " + describe(signature),
        {},
        {},
        -1};
    for (const VariantDifference::Change &change : difference.changes)
      if (change.parameter >= 0) {
        error.parameter = change.parameter;
        break;
      }
    return error;
  }

  Error noTarget(Iterator first, Iterator last) const {
    std::string there;
    for (Iterator variant = first; variant != last; ++variant) {
      std::string name = nameOfTarget(*variant);
      if (there.find(name) == std::string::npos)
        there += (there.empty() ? "" : ", ") + name;
    }
    std::string place = launch.backend == "cpu"
                            ? "this processor"
                            : std::string(launch.backend) + ":" + std::to_string(launch.device);
    Status status;
    if (launch.backend != "cpu" && Runtime::instance().driver(launch.backend)) {
      std::string arch = Runtime::instance().archOf(launch.backend, launch.device, status);
      if (!status.ok())
        return std::move(status.error());
      place += " (" + arch + ")";
    }
    return {Error::Kind::Machine,
            kernel().name + ": " + self.archive.name() + " has no code for " + place +
                ", it has some for " + there,
            "name its target when the archive is made: sectile aot --target",
            {},
            {},
            -1};
  }

  Error noMemory(const Kernel &usual, const MemoryFacts &memory) const {
    const auto &arguments = usual.image().arguments;
    auto nameOf = [&](uint32_t number) {
      return number < arguments.size() ? arguments[number].name : std::to_string(number);
    };
    if (!memory.overlaps.empty()) {
      const backends::ArgumentOverlap overlap = memory.overlaps.front();
      return {Error::Kind::Call,
              kernel().name + ": argument '" + nameOf(overlap.first) + "' shares memory with '" +
                  nameOf(overlap.second) + "', and " + self.archive.name() +
                  " has code only for arrays that lie apart",
              "pass arrays that lie apart",
              {},
              {},
              -1};
    }
    return {Error::Kind::Call,
            kernel().name + ": " + self.archive.name() +
                " has no code for how these arrays lie in memory (the copy engine cannot describe "
                "one of them: its address or a stride is no multiple of 16 bytes)",
            "align the arrays, or export the kernel once more with this version",
            {},
            {},
            -1};
  }
};

static bool isLeftOut(const ArgumentValue &value) {
  return value.kind == ArgumentValue::Kind::Default;
}

Status ArchivedKernel::bind(const ArchivedLaunch &launch, BoundLaunch &result) const {
  if (hasDefaults && std::any_of(launch.values.begin(), launch.values.end(), isLeftOut))
    return bindCompleted(launch, result);
  return bindValues(launch, launch.values, result);
}

Status ArchivedKernel::bindCompleted(const ArchivedLaunch &launch, BoundLaunch &result) const {
  ValueBuffer completed;
  if (Status status = complete(launch.values, completed); !status.ok())
    return status;
  return bindValues(launch, completed.span(), result);
}

Status ArchivedKernel::bindValues(const ArchivedLaunch &launch,
                                  std::span<const ArgumentValue> values,
                                  BoundLaunch &result) const {
  BoundArguments &arguments = result.arguments;
  if (Status status = specialization.bind(values, arguments); !status.ok())
    return status;
  arguments.device = launch.device;
  arguments.stream = launch.stream;
  const bool isGpu = launch.backend != "cpu";
  // What no device is gets no number: its error is the same each time.
  arguments.addOption(isGpu ? 1 + static_cast<uint64_t>(static_cast<uint32_t>(launch.device)) +
                                  (static_cast<uint64_t>(launch.backend == "hip") << 32)
                            : 0);
  std::vector<int64_t> chosen;
  if (!kernel.chosenOptions.empty())
    if (Status status = chooseOptions(values, arguments, chosen); !status.ok())
      return status;
  if (launch.grid)
    result.grid = *launch.grid;
  else if (Status status = gridOf(values, result.grid); !status.ok())
    return status;
  Status status;
  result.kernel = selectForMemory(arguments, [&]() -> const Kernel * {
    if (const Kernel *known = table.find(arguments)) [[likely]]
      return known;
    return search(launch, values, chosen, arguments, status);
  });
  return status;
}

Status ArchivedKernel::chooseOptions(std::span<const ArgumentValue> values,
                                     BoundArguments &arguments,
                                     std::vector<int64_t> &chosen) const {
  const Places places(values, kernel.parameters.size());
  for (const auto &[keyword, formula] : kernel.chosenOptions) {
    std::optional<int64_t> value = evaluate(formula, values, places);
    if (!value)
      return Status::fail(Error::Kind::Call, kernel.name + ": " + keyword +
                                                 " is chosen by integers, and for these arguments "
                                                 "there is no choice");
    chosen.push_back(*value);
    arguments.addOption(static_cast<uint64_t>(*value));
  }
  return {};
}

const Kernel *ArchivedKernel::search(const ArchivedLaunch &launch,
                                     std::span<const ArgumentValue> values,
                                     const std::vector<int64_t> &chosen,
                                     const BoundArguments &arguments, Status &status) const {
  Search search{*this, launch, values, chosen};
  std::shared_ptr<const Kernel> found = search.find(MemoryFacts::of(arguments));
  status = std::move(search.status);
  if (!found)
    return nullptr;
  status = {}; // of another target, which is no error where one does
  return table.insert(arguments, std::move(found));
}

} // namespace sectile::jit
