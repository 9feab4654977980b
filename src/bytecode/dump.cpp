#include <sstream>
#include <vector>

#include "bytecode/decode.h"
#include "bytecode/stream.h"
#include "object/repr.h"

namespace pellucid::bytecode {
namespace {

constexpr std::string_view kUnary[] = {"-", "+", "not", "~"};
constexpr std::string_view kBinary[] = {"+", "-", "*", "@", "/", "%", "**", "<<", ">>", "|", "^", "&", "//"};
constexpr std::string_view kCompare[] = {"<", "<=", "==", "!=", ">", ">="};

std::string operator_text(const Instr& instr) {
  if (instr.op == Op::Unary) return std::string(kUnary[instr.a]);
  if (instr.op == Op::Compare) return std::string(kCompare[instr.a]);
  return std::string(kBinary[instr.a]) + (instr.b != 0 ? "=" : "");
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
      out_ << (targets_[i] ? ">>" : "  ") << ' ' << i << ' ' << name_of(instr.op);
      operand(instr);
      out_ << '\n';
    }
    for (const ExceptionEntry& entry : stream_.exceptions) {
      out_ << "  except " << entry.begin << ".." << entry.end << " -> " << entry.target << " depth "
           << entry.depth << (entry.lasti ? " lasti" : "") << '\n';
    }
    return out_.str();
  }

 private:
  void operand(const Instr& instr) {
    switch (operand_of(instr.op)) {
      case Operand::None: break;
      case Operand::Const: out_ << ' ' << object::repr(module_, instr.constant()); break;
      case Operand::Name:
      case Operand::Local:
      case Operand::Cell: out_ << ' ' << module_.text(instr.symbol()); break;
      case Operand::Target: out_ << " -> " << instr.a; break;
      case Operand::Operator: out_ << ' ' << operator_text(instr); return;
      case Operand::Count:
      case Operand::Depth:
      case Operand::Flags:
      case Operand::Kind: out_ << ' ' << instr.a; break;
    }
    if (instr.b != 0) out_ << " b=" << instr.b;
  }

  const object::Module& module_;
  const Stream& stream_;
  std::vector<bool> targets_;
  std::ostringstream out_;
};

}  // namespace

std::string dump(const object::Module& module, const Stream& stream) {
  return Dumper(module, stream).run();
}

std::string dump_raw(const object::Module& module, const Stream& stream) {
  const object::Code& code = module[stream.code];
  std::ostringstream out;
  out << "raw " << code.firstlineno << ' ' << object::repr_of_text(module.text(code.name)) << '\n';
  for (const RawInstr& instr : stream.raw) {
    out << instr.offset << ' ' << raw_name(code.version, instr.opcode) << ' ' << instr.arg << ' '
        << instr.target << ' ' << instr.line << '\n';
  }
  return out.str();
}

}  // namespace pellucid::bytecode
