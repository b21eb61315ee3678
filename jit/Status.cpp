#include "jit/Status.h"

namespace sectile::jit {

std::string Error::text() const {
  std::string text;
  if (diagnostics.empty() || kind == Kind::Internal)
    text = message;
  if (!diagnostics.empty()) {
    if (!text.empty())
      text += "\n";
    text += lang::render(diagnostics);
  }
  while (text.ends_with('\n'))
    text.pop_back();
  if (!help.empty())
    text += "\n  help: " + help;
  if (!reproducer.empty())
    text += "\n  reproducer: " + reproducer;
  return text;
}

} // namespace sectile::jit
