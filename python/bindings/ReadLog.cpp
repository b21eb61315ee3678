#include "python/bindings/ReadLog.h"

#include "python/bindings/ConstantText.h"
#include "python/bindings/PythonEnvironment.h"

#include <algorithm>
#include <unordered_map>

namespace sectile::bindings {

using lang::Constant;

namespace {

/// The first record: what the roots are.
constexpr const char *kRoots = "roots";

std::string answerOf(const Read &read) {
  return read.answer ? answerText(*read.answer) : "absent";
}

std::string textOf(const std::vector<Constant> &constants) {
  std::string text;
  for (const Constant &constant : constants)
    text += answerText(constant);
  return text;
}

std::string questionOf(const Read &read, const std::function<uint64_t(uint64_t)> &numberOf) {
  std::string text(1, static_cast<char>(read.kind));
  text += questionText(read.name) + questionText(read.operands.size());
  for (const Constant &operand : read.operands)
    text += questionText(operand, numberOf);
  text += questionText(read.keywords.size());
  for (const std::string &keyword : read.keywords)
    text += questionText(keyword);
  return text;
}

/// The question alone; nullopt when it is none.
std::optional<Read> readQuestion(const std::string &question,
                                 const std::function<std::optional<uint64_t>(uint64_t)> &idOf) {
  QuestionReader reader(question, idOf);
  std::optional<char> kind = reader.letter();
  std::optional<std::string> name = reader.text();
  std::optional<uint64_t> count = reader.number();
  if (!kind || !name || !count)
    return std::nullopt;
  Read read{static_cast<Read::Kind>(*kind), std::move(*name), {}, {}, {}};
  for (uint64_t i = 0; i < *count; ++i) {
    std::optional<Constant> operand = reader.constant();
    if (!operand)
      return std::nullopt;
    read.operands.push_back(std::move(*operand));
  }
  count = reader.number();
  for (uint64_t i = 0; count && i < *count; ++i) {
    std::optional<std::string> keyword = reader.text();
    if (!keyword)
      return std::nullopt;
    read.keywords.push_back(std::move(*keyword));
  }
  return count && reader.isAtEnd() ? std::optional(std::move(read)) : std::nullopt;
}

} // namespace

std::string whichAreSame(const std::vector<uint64_t> &ids) {
  std::string answer;
  for (size_t i = 0; i < ids.size(); ++i)
    answer += std::to_string(std::find(ids.begin(), ids.end(), ids[i]) - ids.begin()) + " ";
  return answer;
}

bool mentionsObjects(const Constant &constant) {
  bool found = false;
  forEachReference(constant, [&](uint64_t) { found = true; });
  return found;
}

void ReadLog::start(std::vector<Constant> newRoots) {
  roots = std::move(newRoots);
  reads.clear();
  known.clear();
  lasting.clear();
  for (const Constant &root : roots)
    forEachReference(root, [&](uint64_t id) { lasting.insert(id); });
}

void ReadLog::add(Read read) {
  if (read.check == Read::Check::Kept) {
    for (const Constant &operand : read.operands)
      forEachReference(operand, [&](uint64_t id) {
        if (!lasting.contains(id))
          read.check = Read::Check::Asked; // another object may come into the owner's place
      });
    if (read.check == Read::Check::Kept && read.answer)
      forEachReference(*read.answer, [&](uint64_t id) { lasting.insert(id); });
  }
  if (read.check == Read::Check::Covered && (!read.answer || !mentionsObjects(*read.answer)))
    return;
  auto byId = [](uint64_t id) { return id; };
  std::string text = questionOf(read, byId);
  text += read.answer ? questionText(*read.answer, byId) : "absent";
  if (known.insert(std::move(text)).second)
    reads.push_back(std::move(read));
}

/// Which of all mentions of the objects that were compared are one object.
static jit::RecordedRead everyMention(const Read &same, const std::vector<uint64_t> &mentions) {
  std::set<uint64_t> compared;
  for (const Constant &operand : same.operands)
    forEachReference(operand, [&](uint64_t id) { compared.insert(id); });
  Read read{Read::Kind::Same, "", {}, {}, {}};
  std::vector<uint64_t> ids;
  for (uint64_t number = 0; number < mentions.size(); ++number)
    if (compared.contains(mentions[number])) {
      read.operands.push_back({lang::ObjectRef{number, ""}});
      ids.push_back(mentions[number]);
    }
  read.answer = Constant{whichAreSame(ids)};
  return {questionOf(read, [](uint64_t number) { return number; }), answerOf(read)};
}

bool ReadLog::isEmpty() const {
  for (const Read &read : reads)
    if (read.check != Read::Check::Covered)
      return false;
  return true;
}

bool ReadLog::isAsked() const {
  for (const Read &read : reads)
    if (read.check == Read::Check::Asked)
      return true;
  return false;
}

/// For each read: whether it is not covered, or gave an object that such a read is about.
std::vector<bool> ReadLog::kept() const {
  std::unordered_map<uint64_t, size_t> givenBy;
  for (size_t i = 0; i < reads.size(); ++i)
    if (reads[i].answer)
      forEachReference(*reads[i].answer, [&](uint64_t id) { givenBy.try_emplace(id, i); });
  for (const Constant &root : roots)
    forEachReference(root, [&](uint64_t id) { givenBy.erase(id); });
  std::vector<bool> result(reads.size());
  for (size_t i = reads.size(); i-- > 0;) {
    if (reads[i].check != Read::Check::Covered)
      result[i] = true;
    if (!result[i])
      continue;
    std::set<uint64_t> mentioned;
    for (const Constant &operand : reads[i].operands)
      forEachReference(operand, [&](uint64_t id) { mentioned.insert(id); });
    for (uint64_t id : mentioned)
      if (auto found = givenBy.find(id); found != givenBy.end() && found->second < i)
        result[found->second] = true;
    if (reads[i].kind != Read::Kind::Same)
      continue;
    // What was one object may be two tomorrow: all that mentioned it.
    for (size_t j = 0; j < i; ++j)
      if (reads[j].answer)
        forEachReference(*reads[j].answer,
                         [&](uint64_t id) { result[j] = result[j] || mentioned.contains(id); });
  }
  return result;
}

std::vector<jit::RecordedRead> ReadLog::recorded() const {
  if (isEmpty())
    return {};
  std::unordered_map<uint64_t, uint64_t> numbers; // of the first mention
  std::vector<uint64_t> mentions;                 // by number
  auto number = [&](uint64_t id) {
    numbers.try_emplace(id, mentions.size());
    mentions.push_back(id);
  };
  for (const Constant &root : roots)
    forEachReference(root, number);
  std::vector<jit::RecordedRead> result = {{kRoots, textOf(roots)}};
  std::vector<bool> isKept = kept();
  for (size_t i = 0; i < reads.size(); ++i) {
    if (!isKept[i])
      continue;
    if (reads[i].kind == Read::Kind::Same) {
      result.push_back(everyMention(reads[i], mentions));
      continue;
    }
    bool isKnown = true;
    std::string question = questionOf(reads[i], [&](uint64_t id) {
      auto found = numbers.find(id);
      isKnown = isKnown && found != numbers.end();
      return isKnown ? found->second : 0;
    });
    result.push_back({isKnown ? std::move(question) : kUnanswerable, answerOf(reads[i])});
    if (reads[i].answer)
      forEachReference(*reads[i].answer, number);
  }
  return result;
}

std::optional<std::vector<Watch>> ReadLog::watches() const {
  std::vector<Watch> result;
  for (const Read &read : reads) {
    if (read.check != Read::Check::Asked)
      continue;
    if (read.isUnwatched)
      return std::nullopt;
    result.insert(result.end(), read.watches.begin(), read.watches.end());
  }
  return result;
}

bool replay(const std::vector<jit::RecordedRead> &recorded, PythonEnvironment &environment,
            const std::vector<Constant> &roots) {
  std::vector<uint64_t> ids;
  auto keep = [&](uint64_t id) { ids.push_back(id); };
  auto idOf = [&](uint64_t number) {
    return number < ids.size() ? std::optional(ids[number]) : std::nullopt;
  };
  for (const jit::RecordedRead &record : recorded) {
    if (record.question == kRoots) {
      if (textOf(roots) != record.answer)
        return false;
      for (const Constant &root : roots)
        forEachReference(root, keep);
      continue;
    }
    std::optional<Read> read = readQuestion(record.question, idOf);
    if (!read || !environment.ask(*read) || answerOf(*read) != record.answer)
      return false;
    if (read->answer)
      forEachReference(*read->answer, keep);
  }
  return true;
}

} // namespace sectile::bindings
