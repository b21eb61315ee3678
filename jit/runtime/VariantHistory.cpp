#include "jit/runtime/VariantHistory.h"

#include <string_view>

namespace sectile::jit {

std::string describe(const lang::KernelSignature &signature) {
  std::string text;
  for (const lang::KernelParameter &parameter : signature.parameters)
    text += (text.empty() ? "" : ", ") + parameter.name + (parameter.constant ? " = " : ": ") +
            lang::kindText(parameter);
  return text;
}

std::string targetOf(const backends::CompileOptions &options) {
  return options.backend + (options.arch.empty() ? "" : ":" + options.arch);
}

/// Whether a field of CompileOptions::fields() is one of those that make up targetOf().
static bool isOfTarget(std::string_view field) {
  return field == "backend" || field == "arch";
}

std::string describe(const backends::CompileOptions &options) {
  std::string text;
  auto fields = options.fields(), initial = backends::CompileOptions().fields();
  for (size_t i = 0; i < fields.size(); ++i)
    if (fields[i].second != initial[i].second && !isOfTarget(fields[i].first))
      text += (text.empty() ? "" : ", ") + std::string(fields[i].first) + "=" + fields[i].second;
  return text;
}

std::string VariantDifference::text() const {
  switch (kind) {
  case Kind::First:
    return "the first variant";
  case Kind::NewSource:
    return "its source, or something that it refers to, changed";
  case Kind::Same:
    return "compiled before, but its code or the text of its stages was not kept";
  case Kind::Changed:
    break;
  }
  std::string text;
  for (const Change &change : changes)
    text += (text.empty() ? "" : ", ") + change.name + ": " + change.now + " instead of " +
            change.nearest;
  return text;
}

void VariantHistory::add(const std::string &sourceDigest, const lang::KernelSignature &signature,
                         const backends::CompileOptions &options) {
  if (compare(sourceDigest, signature, options).kind == VariantDifference::Kind::Same)
    return;
  std::lock_guard lock(mutex);
  variants[signature.kernelName].push_back({sourceDigest, signature, options});
}

/// How far apart two kinds of one parameter are: divisibility, the value of a constant or the type,
/// a constant or none.
static int distance(const lang::KernelParameter &a, const lang::KernelParameter &b) {
  if (a.items || b.items)
    return 3;
  if (a.constant.has_value() != b.constant.has_value())
    return 3;
  return a.constant || a.dtype.name() != b.dtype.name() ? 2 : 1;
}

/// What differs, of tuples that are alike item by item; returns how much that is.
static int addChanges(const lang::KernelParameter &now, const lang::KernelParameter &before,
                      int32_t index, std::vector<VariantDifference::Change> &changes) {
  if (now.items && before.items && now.items->size() == before.items->size() &&
      lang::isSameClass(now.tupleClass, before.tupleClass)) {
    int total = 0;
    for (size_t i = 0; i < now.items->size(); ++i)
      total += addChanges((*now.items)[i], (*before.items)[i], index, changes);
    return total;
  }
  std::string text = lang::kindText(now), textBefore = lang::kindText(before);
  if (text == textBefore)
    return 0;
  changes.push_back({index, now.name, text, textBefore});
  return distance(now, before);
}

void NearestVariant::consider(const lang::KernelSignature &other,
                              const backends::CompileOptions &otherOptions) {
  using Kind = VariantDifference::Kind;
  if (other.parameters.size() != signature.parameters.size())
    return;
  VariantDifference difference{Kind::Changed, {}};
  int total = 0;
  for (size_t i = 0; i < signature.parameters.size(); ++i)
    total += addChanges(signature.parameters[i], other.parameters[i], static_cast<int32_t>(i),
                        difference.changes);
  std::string target = targetOf(options), targetBefore = targetOf(otherOptions);
  if (target != targetBefore) {
    total += 2;
    difference.changes.push_back({-1, "target", target, targetBefore});
  }
  auto before = otherOptions.fields();
  for (size_t i = 0; i < fields.size(); ++i)
    if (fields[i].second != before[i].second && !isOfTarget(fields[i].first)) {
      total += 2;
      difference.changes.push_back({-1, fields[i].first, fields[i].second, before[i].second});
    }
  // A name that differs along with what it names needs no mention.
  if (difference.changes.empty() && signature.variantName != other.variantName) {
    total += 1;
    difference.changes.push_back({-1, "name", signature.nameOfCode(), other.nameOfCode()});
  }
  if (difference.changes.empty())
    difference.kind = Kind::Same;
  if (total <= nearestDistance) {
    nearestDistance = total;
    nearest = std::move(difference);
  }
}

VariantDifference VariantHistory::compare(const std::string &sourceDigest,
                                          const lang::KernelSignature &signature,
                                          const backends::CompileOptions &options) const {
  NearestVariant found(signature, options);
  std::lock_guard lock(mutex);
  auto known = variants.find(signature.kernelName);
  if (known == variants.end())
    return {};
  found.nearest.kind = VariantDifference::Kind::NewSource;
  // Source that is only known by its IR has no digest: such variants compare by signature alone.
  for (const Variant &variant : known->second)
    if (variant.sourceDigest == sourceDigest)
      found.consider(variant.signature, variant.options);
  return std::move(found.nearest);
}

} // namespace sectile::jit
