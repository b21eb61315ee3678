// Whatever a front end writes is read by somebody: attributes of the dialect's operations, and
// those it puts on operations of other dialects. A wish that no pass and no back end asks for would
// be ignored without a word.
#include "lang/tile/TileDialect.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <sstream>

namespace fs = std::filesystem;
using namespace sectile;

namespace {

const fs::path kRoot = SECTILE_SOURCE_DIR;

/// The code of those who come after the front ends, without comments.
const std::string &readers() {
  static const std::string all = [] {
    std::string text;
    for (const char *folder : {"optimizer", "backends", "jit/compiler"})
      for (const auto &entry : fs::recursive_directory_iterator(kRoot / folder)) {
        std::string extension = entry.path().extension();
        if (extension != ".h" && extension != ".cpp")
          continue;
        std::ifstream stream(entry.path());
        std::string line;
        while (std::getline(stream, line))
          text += line.substr(0, line.find("//")) + "\n";
      }
    return text;
  }();
  return all;
}

bool isRead(const std::string &word) {
  return std::regex_search(readers(), std::regex("\\b" + word + "(Attr)?\\b"));
}

TEST(AttributeReaders, of_operations_of_other_dialects) {
  for (const tile::DiscardableAttribute &attribute : tile::discardableAttributes())
    EXPECT_TRUE(isRead(attribute.constant.str()))
        << attribute.name.str() << " (" << attribute.constant.str()
        << ") is read by no pass and no back end";
}

/// "maxImpreciseAcc" -> "getMaxImpreciseAcc", "is_volatile" -> "getIsVolatile".
std::string getterOf(llvm::StringRef attribute) {
  std::string name = "get";
  bool isStart = true;
  for (char c : attribute) {
    if (c == '_') {
      isStart = true;
      continue;
    }
    name += isStart ? char(std::toupper(c)) : c;
    isStart = false;
  }
  return name;
}

TEST(AttributeReaders, of_the_dialect) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<tile::TileDialect>();
  int count = 0;
  for (mlir::RegisteredOperationName op : context.getRegisteredOperations())
    for (mlir::StringAttr attribute : op.getAttributeNames()) {
      if (op.getDialectNamespace() != "tile")
        continue;
      if (attribute == "operandSegmentSizes" || attribute == "resultSegmentSizes")
        continue;
      ++count;
      EXPECT_TRUE(isRead(getterOf(attribute))) << op.getStringRef().str() << ": " << attribute.str()
                                               << " is read by no pass and no back end";
    }
  EXPECT_GT(count, 30);
}

TEST(AttributeReaders, what_nobody_reads_is_found) {
  EXPECT_FALSE(isRead("getWhatNobodyReads"));
  EXPECT_FALSE(isRead("kWhatNobodyReadsAttr"));
  EXPECT_EQ(getterOf("maxImpreciseAcc"), "getMaxImpreciseAcc");
}

} // namespace
