#include "RandomExpression.h"

#include <map>
#include <random>
#include <set>
#include <vector>

namespace sectile::amdisa {
namespace {

const char *const kIntegers[] = {"i8", "i16", "i32", "i64"};
const char *const kReals[] = {"half", "float", "double"};

unsigned bitsOf(const std::string &type) {
  if (type == "half")
    return 16;
  if (type == "float")
    return 32;
  return type == "double" ? 64 : unsigned(std::stoul(type.substr(1)));
}
bool isReal(const std::string &type) {
  return type[0] != 'i';
}

class Generator {
public:
  explicit Generator(uint64_t seed) : random(seed) {}

  RandomExpression make(unsigned operations) {
    for (unsigned input = 0; input < 4; ++input)
      values["i64"].push_back("%i" + std::to_string(input));
    out.body += "  br label %first\n";
    beginBlock("first");
    addParts();
    for (unsigned number = 0; number < operations; ++number)
      addOperation();
    for (const auto &[type, names] : values)
      if (type != "i1")
        storeValue(type, names.back());
    for (const std::string &declaration : declarations)
      out.declarations += declaration + "\n";
    return out;
  }

private:
  unsigned below(unsigned count) { return unsigned(random() % count); }
  template <size_t n>
  std::string pick(const char *const (&words)[n]) {
    return words[below(n)];
  }
  std::string line(const std::string &type, const std::string &right) {
    std::string name = "%v" + std::to_string(count++);
    out.body += "  " + name + " = " + right + "\n";
    values[type].push_back(name);
    return name;
  }
  std::string value(const std::string &type) {
    const std::vector<std::string> &names = values[type];
    if (names.empty() || below(12) == 0)
      return constant(type);
    // Late values are taken more often, so that chains grow.
    return names[names.size() - 1 -
                 std::min(below(unsigned(names.size())), below(unsigned(names.size())))];
  }
  std::string constant(const std::string &type) {
    static const char *const reals[] = {"1.0", "-1.0", "0.5", "2.0", "-4.0", "8.0", "100.0"};
    if (isReal(type))
      return pick(reals);
    if (type == "i1")
      return below(2) ? "true" : "false";
    static const char *const small[] = {"0", "1", "-1", "5", "64", "100", "-128", "31"};
    if (below(2) || type == "i8")
      return pick(small);
    return std::to_string(int64_t(random()) >> (64 - bitsOf(type)));
  }

  void addParts() {
    for (unsigned input = 0; input < 4; ++input) {
      std::string whole = "%i" + std::to_string(input);
      for (const char *type : {"i8", "i16", "i32"})
        line(type, "trunc i64 " + whole + " to " + type);
      line("double", "bitcast i64 " + whole + " to double");
      line("float", "bitcast i32 " + values["i32"].back() + " to float");
      line("half", "bitcast i16 " + values["i16"].back() + " to half");
    }
    line("i1", "icmp slt i64 %i0, %i1");
  }

  void intrinsic(const std::string &type, const std::string &name, unsigned operands,
                 const std::string &extra = "", const std::string &from = "") {
    std::string source = from.empty() ? type : from;
    std::string full = "@llvm." + name + "." + type + (from.empty() ? "" : "." + from);
    std::string arguments, types;
    for (unsigned operand = 0; operand < operands; ++operand) {
      arguments += (operand ? ", " : "") + source + " " + value(source);
      types += (operand ? ", " : "") + source;
    }
    if (!extra.empty())
      arguments += ", " + extra, types += ", i1 immarg";
    declarations.insert("declare " + type + " " + full + "(" + types + ")");
    line(type, "call " + type + " " + full + "(" + arguments + ")");
  }

  void addInteger() {
    static const char *const plain[] = {"add", "sub", "mul", "and", "or", "xor", "add", "sub"};
    static const char *const shifts[] = {"shl", "lshr", "ashr"};
    static const char *const binary[] = {"smin",     "smax",     "umin",     "umax",
                                         "uadd.sat", "sadd.sat", "usub.sat", "ssub.sat"};
    static const char *const divisions[] = {"udiv", "sdiv", "urem", "srem"};
    std::string type = pick(kIntegers);
    switch (below(9)) {
    case 0:
    case 1:
    case 2:
      line(type, pick(plain) + " " + type + " " + value(type) + ", " + value(type));
      return;
    case 3: {
      std::string amount =
          line(type, "and " + type + " " + value(type) + ", " + std::to_string(bitsOf(type) - 1));
      line(type, pick(shifts) + " " + type + " " + value(type) + ", " + amount);
      return;
    }
    case 4:
      return intrinsic(type, pick(binary), 2);
    case 5: {
      static const char *const unary[] = {"ctpop", "bitreverse"};
      return intrinsic(type, pick(unary), 1);
    }
    case 6: {
      static const char *const counts[] = {"ctlz", "cttz", "abs"};
      return intrinsic(type, pick(counts), 1, "i1 false");
    }
    case 7: {
      static const char *const funnels[] = {"fshl", "fshr"};
      return intrinsic(type, pick(funnels), 3);
    }
    default: { // the divisor is between 1 and 127
      std::string small = line(type, "and " + type + " " + value(type) + ", 127");
      std::string divisor = line(type, "or " + type + " " + small + ", 1");
      line(type, pick(divisions) + " " + type + " " + value(type) + ", " + divisor);
    }
    }
  }

  void addReal() {
    static const char *const plain[] = {"fadd", "fsub", "fmul", "fadd", "fmul"};
    static const char *const unary[] = {"floor", "ceil", "trunc", "rint", "fabs"};
    static const char *const extrema[] = {"maximum", "minimum"};
    std::string type = pick(kReals);
    switch (below(7)) {
    case 0:
    case 1:
      line(type, pick(plain) + " " + type + " " + value(type) + ", " + value(type));
      return;
    case 2:
      return intrinsic(type, pick(unary), 1);
    case 3:
      return intrinsic(type, pick(extrema), 2);
    case 4:
      if (type == "half")
        return;
      line(type, "fneg " + type + " " + value(type));
      return;
    case 5: // a fused product of halves is not this machine's
      return type == "half" ? intrinsic(type, "floor", 1) : intrinsic(type, "fma", 3);
    default:
      if (type == "half" || below(2))
        line(type, "fdiv " + type + " " + value(type) + ", " + value(type));
      else
        intrinsic(type, "sqrt", 1);
    }
  }

  /// LLVM 22 for AMD GPUs loses the sign of a half that is zero: it fuses a rounded product with
  /// +0, and makes -x of 0 - x. So a zero has no sign here.
  void addRoundedHalf() {
    std::string n = std::to_string(count);
    out.body += "  %h" + n + " = fptrunc float " + value("float") + " to half\n";
    out.body += "  %z" + n + " = fcmp oeq half %h" + n + ", 0.0\n";
    line("half", "select i1 %z" + n + ", half 0.0, half %h" + n);
  }

  void addConversion() {
    static const char *const toInteger[] = {"fptosi.sat", "fptoui.sat"};
    static const char *const toReal[] = {"sitofp", "uitofp"};
    std::string from = pick(kIntegers), to = pick(kIntegers), real = pick(kReals);
    switch (below(5)) {
    case 0:
      if (bitsOf(from) < bitsOf(to))
        line(to, (below(2) ? "zext " : "sext ") + from + " " + value(from) + " to " + to);
      else if (bitsOf(from) > bitsOf(to))
        line(to, "trunc " + from + " " + value(from) + " to " + to);
      return;
    case 1: // of wide integers to halves, this machine rounds twice
      if (real != "half" || bitsOf(from) <= 16)
        line(real, pick(toReal) + " " + from + " " + value(from) + " to " + real);
      return;
    case 2:
      return intrinsic(to, pick(toInteger), 1, "", real);
    case 3:
      line("double", "fpext float " + value("float") + " to double");
      line("float", "fpext half " + value("half") + " to float");
      return;
    default:
      line("float", "fptrunc double " + value("double") + " to float");
      addRoundedHalf();
    }
  }

  void addChoice() {
    static const char *const orders[] = {"eq",  "ne",  "slt", "sle", "sgt",
                                         "sge", "ult", "ule", "ugt", "uge"};
    static const char *const numbers[] = {"oeq", "ogt", "oge", "olt", "ole", "one", "ord",
                                          "ueq", "ugt", "uge", "ult", "ule", "une", "uno"};
    std::string type = below(2) ? pick(kIntegers) : pick(kReals);
    switch (below(3)) {
    case 0:
      line("i1", (isReal(type) ? "fcmp " + pick(numbers) : "icmp " + pick(orders)) + " " + type +
                     " " + value(type) + ", " + value(type));
      return;
    case 1:
      line("i1", (below(2) ? "and i1 " : "xor i1 ") + value("i1") + ", " + value("i1"));
      return;
    default:
      line(type, "select i1 " + value("i1") + ", " + type + " " + value(type) + ", " + type + " " +
                     value(type));
    }
  }

  /// Two values at once: packed instructions.
  void addPair() {
    static const char *const integers[] = {"add", "sub", "mul", "and", "or"};
    static const char *const reals[] = {"fadd", "fsub", "fmul"};
    std::string type = below(2) ? "i16" : "half", pair = "<2 x " + type + ">", names[2];
    for (std::string &name : names) {
      std::string n = std::to_string(count++);
      out.body += "  %a" + n + " = insertelement " + pair + " poison, " + type + " " + value(type) +
                  ", i32 0\n  %p" + n + " = insertelement " + pair + " %a" + n + ", " + type + " " +
                  value(type) + ", i32 1\n";
      name = "%p" + n;
    }
    std::string n = std::to_string(count++);
    out.body += "  %p" + n + " = " + (type == "half" ? pick(reals) : pick(integers)) + " " + pair +
                " " + names[0] + ", " + names[1] + "\n";
    line(type, "extractelement " + pair + " %p" + n + ", i32 " + std::to_string(below(2)));
    line(type, "extractelement " + pair + " %p" + n + ", i32 0");
  }

  std::string newLabel() { return "block" + std::to_string(labels++); }
  void beginBlock(const std::string &label) {
    out.body += label + ":\n";
    out.lastBlock = label;
  }
  /// Some operations whose values nobody sees outside; the last value of `type`.
  std::string inBranch(const std::string &type) {
    auto before = values;
    ++depth;
    for (unsigned number = 0; number < 3 + below(4); ++number)
      addOperation();
    --depth;
    std::string last = values[type].empty() ? constant(type) : values[type].back();
    values = std::move(before);
    return last;
  }

  /// if (c) a = ...; else a = ...;
  void addBranches() {
    std::string type = below(2) ? pick(kIntegers) : pick(kReals), condition = value("i1");
    std::string yes = newLabel(), no = newLabel(), join = newLabel();
    out.body += "  br i1 " + condition + ", label %" + yes + ", label %" + no + "\n";
    beginBlock(yes);
    std::string first = inBranch(type), firstEnd = out.lastBlock;
    out.body += "  br label %" + join + "\n";
    beginBlock(no);
    std::string second = inBranch(type), secondEnd = out.lastBlock;
    out.body += "  br label %" + join + "\n";
    beginBlock(join);
    line(type, "phi " + type + " [ " + first + ", %" + firstEnd + " ], [ " + second + ", %" +
                   secondEnd + " ]");
  }

  /// A loop of up to seven rounds, as many as each lane's own value says.
  void addLoop() {
    std::string type = pick(kIntegers), from = value(type), n = std::to_string(count++);
    out.body += "  %n" + n + "l = and i32 " + value("i32") + ", 7\n";
    std::string before = out.lastBlock, head = newLabel(), after = newLabel();
    out.body += "  br label %" + head + "\n";
    size_t at = out.body.size();
    beginBlock(head);
    auto outside = values;
    values[type].push_back("%s" + n);
    std::string last = inBranch(type);
    values = std::move(outside);
    std::string phis = "  %c" + n + "l = phi i32 [ 0, %" + before + " ], [ %d" + n + "l, %" +
                       out.lastBlock + " ]\n  %s" + n + " = phi " + type + " [ " + from + ", %" +
                       before + " ], [ " + last + ", %" + out.lastBlock + " ]\n";
    out.body.insert(at + head.size() + 2, phis);
    out.body += "  %d" + n + "l = add i32 %c" + n + "l, 1\n  %m" + n + "l = icmp ult i32 %c" + n +
                "l, %n" + n + "l\n  br i1 %m" + n + "l, label %" + head + ", label %" + after +
                "\n";
    beginBlock(after);
    values[type].push_back("%s" + n);
  }

  void addOperation() {
    if (depth < 2 && below(14) == 0)
      return below(2) ? addBranches() : addLoop();
    if (below(12) == 0)
      return addPair();
    switch (below(7)) {
    case 0:
    case 1:
    case 2:
      addInteger();
      break;
    case 3:
    case 4:
      addReal();
      break;
    case 5:
      addConversion();
      break;
    default:
      addChoice();
    }
    if (depth == 0 && below(6) == 0) {
      std::string type = below(2) ? pick(kIntegers) : pick(kReals);
      storeValue(type, values[type].back());
    }
  }

  /// Makes a value a result: its bits, NaN as zero with the top bits set.
  void storeValue(const std::string &type, const std::string &name) {
    std::string bits = name, integer = type, number = std::to_string(out.results++);
    if (isReal(type)) {
      integer = "i" + std::to_string(bitsOf(type));
      out.body += "  %n" + number + " = fcmp uno " + type + " " + name + ", 0.0\n";
      out.body += "  %b" + number + " = bitcast " + type + " " + name + " to " + integer + "\n";
      out.body += "  %c" + number + " = select i1 %n" + number + ", " + integer + " -1, " +
                  integer + " %b" + number + "\n";
      bits = "%c" + number;
    }
    out.body += "  %r" + number + " = " +
                (integer == "i64" ? "add i64 " + bits + ", 0"
                                  : "zext " + integer + " " + bits + " to i64") +
                "\n";
  }

  std::mt19937_64 random;
  std::map<std::string, std::vector<std::string>> values;
  std::set<std::string> declarations;
  unsigned count = 0, labels = 0, depth = 0;
  RandomExpression out;
};

std::string loads(const std::string &pointer, const std::string &space) {
  std::string text;
  for (int input = 0; input < 4; ++input) {
    std::string n = std::to_string(input);
    text += "  %pi" + n + " = getelementptr i64, ptr" + space + " " + pointer + ", i64 " + n +
            "\n  %i" + n + " = load i64, ptr" + space + " %pi" + n + "\n";
  }
  return text;
}

std::string stores(const std::string &pointer, const std::string &space, unsigned results) {
  std::string text;
  for (unsigned result = 0; result < results; ++result) {
    std::string n = std::to_string(result);
    text += "  %pr" + n + " = getelementptr i64, ptr" + space + " " + pointer + ", i64 " + n +
            "\n  store i64 %r" + n + ", ptr" + space + " %pr" + n + "\n";
  }
  return text;
}

/// Names of types in intrinsics are f16, f32 and f64.
std::string withMangledNames(std::string text) {
  for (auto [name, mangled] : {std::pair{".half", ".f16"}, {".float", ".f32"}, {".double", ".f64"}})
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at))
      text.replace(at, std::string(name).size(), mangled);
  return text;
}

} // namespace

RandomExpression randomExpression(uint64_t seed, unsigned operations) {
  RandomExpression made = Generator(seed).make(operations);
  made.body = withMangledNames(made.body);
  made.declarations = withMangledNames(made.declarations);
  return made;
}

std::string expressionKernel(const RandomExpression &expression) {
  return "define amdgpu_kernel void @kernel(ptr addrspace(1) noalias %in, ptr addrspace(1) noalias "
         "%out) #0 {\n"
         "  %tid = call i32 @llvm.amdgcn.workitem.id.x()\n"
         "  %item = zext i32 %tid to i64\n  %ii = mul i64 %item, 4\n"
         "  %oi = mul i64 %item, " +
         std::to_string(expression.results) +
         "\n  %pin = getelementptr i64, ptr addrspace(1) %in, i64 %ii\n"
         "  %pout = getelementptr i64, ptr addrspace(1) %out, i64 %oi\n" +
         loads("%pin", " addrspace(1)") + expression.body +
         stores("%pout", " addrspace(1)", expression.results) + "  ret void\n}\n" +
         expression.declarations +
         "declare i32 @llvm.amdgcn.workitem.id.x()\n"
         "attributes #0 = { \"amdgpu-flat-work-group-size\"=\"64,64\" }\n"
         "!llvm.module.flags = !{!0}\n!0 = !{i32 1, !\"amdhsa_code_object_version\", i32 500}\n";
}

std::string expressionFunction(const RandomExpression &expression) {
  return "define void @sectile_kernel(ptr noalias %in, ptr noalias %out, i64 %count) {\nentry:\n"
         "  br label %loop\nloop:\n"
         "  %item = phi i64 [ 0, %entry ], [ %next, %" +
         expression.lastBlock +
         " ]\n  %ii = mul i64 %item, 4\n"
         "  %oi = mul i64 %item, " +
         std::to_string(expression.results) +
         "\n  %pin = getelementptr i64, ptr %in, i64 %ii\n"
         "  %pout = getelementptr i64, ptr %out, i64 %oi\n" +
         loads("%pin", "") + expression.body + stores("%pout", "", expression.results) +
         "  %next = add i64 %item, 1\n  %more = icmp slt i64 %next, %count\n"
         "  br i1 %more, label %loop, label %end\nend:\n  ret void\n}\n" +
         expression.declarations;
}

} // namespace sectile::amdisa
