//===-- ReadLog.h - what evaluation read of Python, and whether it would read the same now --------===//
// Code is a function of its signature and of the answers that PythonEnvironment gave while it was
// evaluated. So the environment notes each question with its answer here, and code is used as long
// as the same questions have the same answers:
//
//   attribute of CFG, 'block'   -> 10           Kind::Attribute, operands {CFG}, name "block"
//   item of OPS, 'add'          -> function     Kind::Item, operands {OPS, 'add'}
//   call of c.tile, (3, 4)      -> (16, 32)     Kind::Call
//
// Most need not be kept: the watches of the source's digest cover them (SourceState.h), or the
// answer cannot change. What is left goes three ways:
//
//   recorded()  as texts, kept with the code on disk and in the runtime's memory
//   replay()    asks those texts' questions of a new environment: in another process, or for another
//               object of equal digest, such as the next object that is passed as a constant
//   watches()   what shows a launch in nanoseconds that nothing has changed
//
// Objects have no text. In the texts they are numbered in the order in which answers mention them,
// the kernel and its constant arguments first; a question about an object names its number, so the
// question whose answer gave it is kept, too.
#pragma once

#include "jit/cache/RecordedRead.h"
#include "lang/plain/Constant.h"
#include "python/bindings/Watch.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sectile::bindings {

class PythonEnvironment;

/// One question to the environment, and its answer.
struct Read {
  enum class Kind : char {
    Name = 'n',       // of a kernel's globals, closure, builtins: operands {function}, name
    Global = 'g',     // the same of a Python function, whatever it is
    Attribute = 'a',  // operands {object}, name
    Item = 'i',       // operands {object, key}
    Call = 'c',       // operands {callee, arguments...}, the last of which are `keywords`
    TupleClass = 't', // fields and defaults; operands {class}
    Source = 's',     // text and defaults; operands {function}
    Same = '='        // which of the objects that the operands mention are one
  };
  /// Why the answer is what it was.
  enum class Check : uint8_t {
    Covered, // by the watches and the digest of the source, or by nature: len('text')
    Kept,    // of this very object it cannot change: a field of a frozen dataclass
    Asked    // it may change, and only asking again shows that
  };
  Kind kind;
  std::string name;
  std::vector<lang::Constant> operands;
  std::vector<std::string> keywords;
  /// nullopt: there is no such attribute.
  std::optional<lang::Constant> answer;
  Check check = Check::Asked;
  /// Those that hold as long as the answer is the same. Of objects, for as long as those that gave
  /// the operands hold.
  std::vector<Watch> watches = {};
  /// No watch can show a change.
  bool isUnwatched = false;
};

/// A question that no replay has an answer to.
inline constexpr const char *kUnanswerable = "?";

class ReadLog {
public:
  /// Forgets all. `roots`: the kernel, then the constant arguments that are no plain values.
  void start(std::vector<lang::Constant> roots);
  void add(Read read);

  /// Whether anything needs more than the digest of the source.
  bool isEmpty() const;
  std::vector<jit::RecordedRead> recorded() const;
  /// The watches of all reads that are Check::Asked. nullopt: some have none, so replay() must ask
  /// the questions again.
  std::optional<std::vector<Watch>> watches() const;
  /// Whether any read is Check::Asked, or compares objects.
  bool isAsked() const;

private:
  std::vector<bool> kept() const;

  std::vector<lang::Constant> roots;
  std::vector<Read> reads;
  /// Questions with their answers, objects by their id: in a loop that is unrolled most are asked
  /// again.
  std::set<std::string> known;
  /// Objects that are the same at every launch of one variant: the roots, and what they keep.
  std::set<uint64_t> lasting;
};

/// Asks `environment`, a new one, what `recorded` asked; false where an answer differs. `roots`: as
/// in ReadLog::start, by that environment.
bool replay(const std::vector<jit::RecordedRead> &recorded, PythonEnvironment &environment,
            const std::vector<lang::Constant> &roots);

/// For each object the first that is the same.
std::string whichAreSame(const std::vector<uint64_t> &ids);

/// Whether a constant is, or holds, an object or a function: what another question may be about.
bool mentionsObjects(const lang::Constant &constant);

} // namespace sectile::bindings
