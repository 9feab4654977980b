// SPDX-License-Identifier: Apache-2.0
#include <sstream>
#include <vector>

#include "bytecode/decode.h"
#include "bytecode/stream.h"
#include "object/repr.h"
#include "object/utf8.h"

namespace pellucid::bytecode {
namespace {

constexpr std::string_view kUnary[] = {"-", "+", "not", "~"};
constexpr std::string_view kBinary[] = {"+",  "-",  "*", "@", "/", "%", "**",
                                        "<<", ">>", "|", "^", "&", "//"};
constexpr std::string_view kComparisons[] = {"<", "<=", "==", "!=", ">", ">="};

std::string operator_text(const Instr& instr) {
  if (instr.op == Op::Unary) return std::string(kUnary[instr.a]);
  if (instr.op == Op::Compare) return std::string(kComparisons[instr.a]);
  return std::string(kBinary[instr.a]) + (instr.b != 0 ? "=" : "");
}

std::string with_second(std::string text, const Instr& instr) {
  if (instr.b != 0) text += " b=" + std::to_string(instr.b);
  return text;
}

// Long texts are shortened, since many instructions may load the same one.
constexpr size_t kLongest = 1000;

std::string constant_text(const object::Module& module, object::ConstId id) {
  const object::Const& constant = module[id];
  const bool is_text = constant.kind == object::ConstKind::Str;
  if (!is_text && constant.kind != object::ConstKind::Bytes) return object::repr(module, id);
  const std::string_view text = module.text(constant.text);
  if (text.size() <= kLongest) return object::repr(module, id);
  if (!is_text) return "<bytes, " + std::to_string(text.size()) + " of them>";
  return object::repr_of_text(object::front_of(text, kLongest)) + "...";
}

std::string name_text(const object::Module& module, Symbol name) {
  const std::string_view text = module.text(name);
  if (text.size() <= kLongest) return std::string(text);
  return std::string(object::front_of(text, kLongest)) + "...";
}

class Dumper {
 public:
  Dumper(const object::Module& module, const Stream& stream)
      : module_(module), stream_(stream), targets_(stream.instrs.size(), false) {}

  std::string run() {
    out_ << "stream " << module_.text(module_[stream_.code].qualname) << '\n';
    for (const Instr& instr : stream_.instrs) {
      if (operand_of(instr.op) == Operand::Target) targets_[instr.a] = true;
    }
    for (const ExceptionEntry& entry : stream_.exceptions) targets_[entry.target] = true;
    int32_t line = kNoLine;
    for (size_t i = 0; i < stream_.instrs.size(); ++i) {
      const Instr& instr = stream_.instrs[i];
      if (instr.line != line) out_ << "  line " << (line = instr.line) << '\n';
      out_ << (targets_[i] ? ">>" : "  ") << ' ' << i << ' ' << text_of(module_, instr);
      if (instr.op == Op::Unsayable) out_ << "  # " << stream_.faults[instr.b].message;
      out_ << '\n';
    }
    for (const Fault& fault : stream_.faults) {
      if (fault.instructions.empty()) out_ << "  # " << fault.message << '\n';
    }
    for (const ExceptionEntry& entry : stream_.exceptions) {
      out_ << "  except " << entry.begin << ".." << entry.end << " -> " << entry.target << " depth "
           << entry.depth << (entry.lasti ? " lasti" : "") << '\n';
    }
    return out_.str();
  }

 private:
  const object::Module& module_;
  const Stream& stream_;
  std::vector<bool> targets_;
  std::ostringstream out_;
};

}  // namespace

std::string text_of(const object::Module& module, const Instr& instr) {
  const std::string name(name_of(instr.op));
  const std::string a = ' ' + std::to_string(instr.a);
  switch (operand_of(instr.op)) {
    case Operand::None:
      return with_second(name, instr);
    case Operand::Const:
      return with_second(name + ' ' + constant_text(module, instr.constant()), instr);
    case Operand::Name:
    case Operand::Local:
    case Operand::Cell:
      return with_second(name + ' ' + name_text(module, instr.symbol()), instr);
    case Operand::Target:
      return with_second(name + " ->" + a, instr);
    case Operand::Operator:
      return name + ' ' + operator_text(instr);
    case Operand::Count:
    case Operand::Depth:
    case Operand::Flags:
    case Operand::Kind:
      return with_second(name + a, instr);
  }
  return name;
}

std::string dump(const object::Module& module, const Stream& stream) {
  return Dumper(module, stream).run();
}

std::string dump_raw(const object::Module& module, const Stream& stream) {
  const object::Code& code = module[stream.code];
  std::ostringstream out;
  out << "raw " << code.firstlineno << ' ' << object::repr_of_text(module.text(code.name)) << '\n';
  for (const RawInstr& instr : stream.raw) {
    if (instr.offset >= code.bytecode.size()) continue;  // represents what is outside
    const std::string_view name = raw_name(code.version, instr.opcode);
    out << instr.offset << ' ';
    name.empty() ? out << '<' << static_cast<int>(instr.opcode) << '>' : out << name;
    out << ' ' << instr.arg << ' ' << instr.target << ' ' << instr.line << '\n';
  }
  return out.str();
}

}  // namespace pellucid::bytecode
