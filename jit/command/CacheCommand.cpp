#include "jit/command/CacheCommand.h"

#include "jit/BuildId.h"
#include "jit/cache/CacheArchive.h"
#include "jit/cache/CachePruning.h"
#include "jit/cache/DiskCache.h"
#include "jit/command/Commands.h"
#include "jit/runtime/Knobs.h"
#include "lang/plain/Diagnostics.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <map>

namespace sectile::jit {
namespace {

struct Options {
  std::string action, file, folder;
  std::vector<std::string> kernels;
  bool asJson = false, deletes = false, isShared = false, otherBuilds = false;
  PruneLimits limits;
  bool hasLimits = false;
};

/// "30d", "12h", "90m", "3600s".
bool readDuration(const std::string &text, int64_t &seconds) {
  char *end = nullptr;
  long long number = std::strtoll(text.c_str(), &end, 10);
  std::string unit = end;
  int64_t factor = unit == "d"   ? 86400
                   : unit == "h" ? 3600
                   : unit == "m" ? 60
                   : unit == "s" ? 1
                                 : 0;
  if (end == text.c_str() || number < 0 || number > 1'000'000'000 || !factor)
    return false;
  seconds = number * factor;
  return true;
}

int misuse(const std::string &message) {
  std::fprintf(stderr, "sectile cache: %s\n", message.c_str());
  return 2;
}

/// 0, or the exit status of a misuse.
int read(const std::vector<std::string> &arguments, Options &options) {
  const std::vector<std::string> actions = {"ls",    "path",   "verify", "prune",
                                            "clear", "export", "import"};
  const std::vector<std::string> flags = {"--json", "--delete", "--shared",     "--other-builds",
                                          "--dir",  "--kernel", "--older-than", "--to-size"};
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string &word = arguments[i];
    auto closest = [&](const std::vector<std::string> &known) {
      std::string name = lang::closestName(word, known);
      return name.empty() ? "" : "; did you mean '" + name + "'?";
    };
    auto value = [&](std::string &text) {
      if (i + 1 == arguments.size())
        return false;
      text = arguments[++i];
      return true;
    };
    std::string text;
    if (word == "--json") {
      options.asJson = true;
    } else if (word == "--delete") {
      options.deletes = true;
    } else if (word == "--shared") {
      options.isShared = true;
    } else if (word == "--other-builds") {
      options.otherBuilds = options.hasLimits = true;
    } else if (word == "--dir") {
      if (!value(options.folder) || options.folder.empty())
        return misuse("--dir wants a folder");
    } else if (word == "--kernel") {
      if (!value(text))
        return misuse("--kernel wants a name");
      options.kernels.push_back(text);
    } else if (word == "--older-than") {
      if (!value(text) || !readDuration(text, options.limits.unusedSeconds))
        return misuse("--older-than wants a time such as 30d, 12h or 90m");
      options.hasLimits = true;
    } else if (word == "--to-size") {
      if (!value(text) || !readSize(text, options.limits.maximalBytes))
        return misuse("--to-size wants a size such as 500M");
      options.hasLimits = true;
    } else if (word.starts_with("-")) {
      return misuse("unknown option '" + word + "'" + closest(flags));
    } else if (options.action.empty()) {
      if (std::find(actions.begin(), actions.end(), word) == actions.end())
        return misuse("unknown action '" + word + "'" + closest(actions));
      options.action = word;
    } else if (options.file.empty() && (options.action == "export" || options.action == "import")) {
      options.file = word;
    } else {
      return misuse("unexpected argument '" + word + "'");
    }
  }
  if ((options.action == "export" || options.action == "import") && options.file.empty())
    return misuse(options.action + " wants a file");
  return 0;
}

std::string sizeText(uint64_t bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB"};
  double size = double(bytes);
  int unit = 0;
  for (; size >= 1024 && unit < 3; ++unit)
    size /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit ? "%.1f %s" : "%.0f %s", size, units[unit]);
  return text;
}

std::string ageText(int64_t seconds) {
  seconds = std::max<int64_t>(seconds, 0);
  if (seconds < 120)
    return std::to_string(seconds) + " s";
  if (seconds < 2 * 3600)
    return std::to_string(seconds / 60) + " min";
  if (seconds < 2 * 86400)
    return std::to_string(seconds / 3600) + " h";
  return std::to_string(seconds / 86400) + " d";
}

std::string timeText(double seconds) {
  if (seconds <= 0)
    return "-";
  char text[32];
  std::snprintf(text, sizeof text, seconds < 1e-3 ? "%.1f us" : "%.1f ms",
                seconds < 1e-3 ? seconds * 1e6 : seconds * 1e3);
  return text;
}

std::string jsonText(const std::string &text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      quoted += escaped;
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

/// One file of a folder and what is in it.
struct Item {
  std::vector<std::string> names;
  CacheFolder::File file;
  CacheEntry entry;
  std::string problem;
  uint64_t bytes = 0;
};

std::vector<Item> itemsOf(const CacheFolder &folder) {
  std::map<ino_t, Item> found;
  for (const CacheFolder::Listed &listed : folder.list()) {
    if (!std::string_view(listed.name).ends_with(kEntrySuffix) || listed.name.starts_with('.'))
      continue;
    Item &item = found[listed.inode];
    item.names.push_back(listed.name);
    item.bytes = listed.bytes;
    if (item.names.size() > 1)
      continue;
    item.file = folder.read(listed.name);
    item.problem = item.file.problem;
    if (item.problem.empty())
      item.problem = readImageFile(item.file.content, item.entry);
    item.file.content.clear();
  }
  std::vector<Item> items;
  for (auto &[inode, item] : found)
    items.push_back(std::move(item));
  std::sort(items.begin(), items.end(),
            [](const Item &a, const Item &b) { return a.file.modified > b.file.modified; });
  return items;
}

void listJson(const CacheFolder &folder, bool isLayer, bool &isFirst) {
  for (const Item &item : itemsOf(folder)) {
    const Provenance &made = item.entry.provenance;
    std::printf("%s\n {\"folder\": %s, \"layer\": %s, \"file\": %s, \"bytes\": %" PRIu64
                ", \"last_use\": %lld, \"problem\": %s",
                isFirst ? "" : ",", jsonText(folder.path()).c_str(), isLayer ? "true" : "false",
                jsonText(item.names.front()).c_str(), item.bytes,
                static_cast<long long>(item.file.modified), jsonText(item.problem).c_str());
    isFirst = false;
    if (item.problem.empty())
      std::printf(
          ", \"kernel\": %s, \"name\": %s, \"target\": %s, \"variant\": %s, \"options\": %s, "
          "\"source_digest\": %s, \"source_files\": [",
          jsonText(item.entry.image.kernelName).c_str(),
          jsonText(item.entry.image.variantName).c_str(),
          jsonText(item.entry.image.targetName).c_str(), jsonText(made.variant).c_str(),
          jsonText(made.options).c_str(), jsonText(made.sourceDigest).c_str());
    if (item.problem.empty()) {
      for (size_t i = 0; i < item.entry.sourceFiles.size(); ++i)
        std::printf("%s%s", i ? ", " : "", jsonText(item.entry.sourceFiles[i]).c_str());
      std::printf("], \"version\": %s, \"build\": %s, \"created_at\": %lld, "
                  "\"compile_seconds\": %.6f, \"measured_seconds\": %.9f",
                  jsonText(made.version).c_str(), jsonText(item.entry.buildId).c_str(),
                  static_cast<long long>(made.createdAt), made.compileSeconds,
                  made.measuredSeconds);
    }
    std::printf("}");
  }
}

void listText(const CacheFolder &folder, bool isLayer) {
  std::vector<Item> items = itemsOf(folder);
  uint64_t total = 0;
  for (const Item &item : items)
    total += item.bytes;
  std::printf("%s%s: %zu files, %s\n", isLayer ? "layer " : "", folder.path().c_str(), items.size(),
              sizeText(total).c_str());
  if (items.empty())
    return;
  std::printf("%10s  %8s  %9s  %9s  %s\n", "size", "unused", "compile", "one run",
              "kernel, target, variant");
  time_t now = std::time(nullptr);
  for (const Item &item : items) {
    std::string what = item.names.front().substr(0, 16) + "...: " + item.problem;
    if (item.problem.empty()) {
      const Provenance &made = item.entry.provenance;
      const backends::KernelImage &image = item.entry.image;
      what = image.kernelName +
             (image.variantName == image.kernelName ? "" : " (" + image.variantName + ")") + "  " +
             item.entry.image.targetName + "  " + made.variant +
             (made.options.empty() ? "" : "  [" + made.options + "]") +
             (item.entry.buildId == buildId() ? "" : "  (another build)");
    }
    std::printf("%10s  %8s  %9s  %9s  %s\n", sizeText(item.bytes).c_str(),
                ageText(int64_t{now} - item.file.modified).c_str(),
                timeText(item.entry.provenance.compileSeconds).c_str(),
                timeText(item.entry.provenance.measuredSeconds).c_str(), what.c_str());
  }
}

/// Whether an entry is damaged. Entries of other builds and other formats are not.
bool isDamaged(const Item &item) {
  return !item.problem.empty() && item.problem != kAnotherFormat && item.problem != "absent";
}

int verify(CacheFolder &folder, const Options &options) {
  size_t damaged = 0;
  std::vector<Item> items = itemsOf(folder);
  for (const Item &item : items) {
    if (!isDamaged(item))
      continue;
    ++damaged;
    for (const std::string &name : item.names) {
      // What cannot be read may be whole.
      bool isGone = options.deletes && item.problem != "unreadable" && item.problem != "not ours" &&
                    folder.remove(name, item.file);
      std::printf("%s/%s: %s%s\n", folder.path().c_str(), name.c_str(), item.problem.c_str(),
                  isGone ? ", deleted" : "");
    }
  }
  std::printf("%s: %zu files, %zu damaged\n", folder.path().c_str(), items.size(), damaged);
  return damaged ? 1 : 0;
}

int pruneFolder(CacheFolder &folder, const Options &options, const Knobs &knobs) {
  PruneResult result;
  if (options.otherBuilds)
    for (const Item &item : itemsOf(folder)) {
      if (item.problem != kAnotherFormat &&
          (!item.problem.empty() || item.entry.buildId == buildId()))
        continue;
      result.bytes += item.bytes;
      for (const std::string &name : item.names)
        result.files += folder.remove(name, item.file);
    }
  PruneLimits limits = options.limits;
  if (!options.hasLimits)
    limits.maximalBytes = knobs.cacheBytes;
  PruneResult more = prune(folder, limits);
  std::printf("deleted %" PRIu64 " files, %s\n", result.files + more.files,
              sizeText(result.bytes + more.bytes).c_str());
  return 0;
}

int clear(CacheFolder &folder) {
  uint64_t deleted = 0;
  for (const CacheFolder::Listed &file : folder.list()) {
    std::string_view name = file.name;
    // What is being written, too: its writer will find it gone and carry on.
    if (name.ends_with(kEntrySuffix) || name.ends_with(".autotune.json"))
      deleted += folder.remove(file.name);
    else if (name == kPruneStamp || (name.starts_with('.') && (name.ends_with(kTemporarySuffix) ||
                                                               name.ends_with(kClaimSuffix))))
      folder.remove(file.name);
  }
  std::printf("deleted %" PRIu64 " files\n", deleted);
  return 0;
}

int reportArchive(const ArchiveResult &result, const char *done, const std::string &where) {
  if (!result.problem.empty()) {
    std::fprintf(stderr, "sectile cache: %s\n", result.problem.c_str());
    return 1;
  }
  std::printf("%s %" PRIu64 " entries, %s: %s\n", done, result.entries,
              sizeText(result.bytes).c_str(), where.c_str());
  if (result.ofOtherBuilds)
    std::printf("%" PRIu64 " of them are of another build, and of no use to this one\n",
                result.ofOtherBuilds);
  if (result.skipped)
    std::printf("%" PRIu64 " files were left out: damaged, or of another format\n", result.skipped);
  return 0;
}

} // namespace

static int run(const std::vector<std::string> &arguments) {
  if (!arguments.empty() && (arguments[0] == "--help" || arguments[0] == "-h")) {
    std::fputs(findCommand("cache")->usage, stdout);
    return 0;
  }
  Options options;
  if (int status = read(arguments, options))
    return status;
  Knobs knobs = Knobs::fromEnvironment();
  bool isOther = !options.folder.empty();
  std::string path =
      isOther ? options.folder : knobs.cacheDirectory.value_or(defaultCacheDirectory());
  CacheFolder folder(path, CacheFolder::Use::Own,
                     options.isShared ? CacheFolder::Access::Shared : CacheFolder::Access::Private);
  const std::string &action = options.action;
  if (action == "path") {
    std::printf("%s\n", folder.path().c_str());
    return 0;
  }
  if (!folder) {
    std::fprintf(stderr, "sectile cache: %s\n", folder.refusal().c_str());
    return 1;
  }
  if (action == "verify")
    return verify(folder, options);
  if (action == "prune")
    return pruneFolder(folder, options, knobs);
  if (action == "clear")
    return clear(folder);
  if (action == "export") {
    auto wanted = [&](const CacheEntry &entry) {
      return entry.buildId == buildId() &&
             (options.kernels.empty() ||
              std::find(options.kernels.begin(), options.kernels.end(), entry.image.kernelName) !=
                  options.kernels.end());
    };
    return reportArchive(exportArchive(folder, options.file, wanted), "exported", options.file);
  }
  if (action == "import")
    return reportArchive(importArchive(folder, options.file, buildId()), "imported", folder.path());

  std::vector<std::unique_ptr<CacheFolder>> layers;
  if (!isOther)
    for (const std::string &layer : knobs.cacheLayers)
      layers.push_back(std::make_unique<CacheFolder>(layer, CacheFolder::Use::Layer));
  if (options.asJson) {
    bool isFirst = true;
    std::printf("[");
    listJson(folder, false, isFirst);
    for (auto &layer : layers)
      if (*layer)
        listJson(*layer, true, isFirst);
    std::printf("\n]\n");
    return 0;
  }
  listText(folder, false);
  for (auto &layer : layers) {
    if (*layer)
      listText(*layer, true);
    else
      std::printf("not used: %s\n", layer->refusal().c_str());
  }
  return 0;
}

int cacheCommand(const std::vector<std::string> &arguments) {
  int status = run(arguments);
  std::fflush(stdout); // the caller may have a buffer of its own
  return status;
}

} // namespace sectile::jit
