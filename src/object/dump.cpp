// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include "object/code.h"
#include "object/repr.h"

namespace pellucid::object {
namespace {

const char* name_of(LocalKind kind) {
  switch (kind) {
    case LocalKind::Local:
      return "local";
    case LocalKind::CellLocal:
      return "cell-local";
    case LocalKind::Cell:
      return "cell";
    case LocalKind::Free:
      return "free";
    case LocalKind::Hidden:
      return "hidden";
  }
  return "";
}

class Dumper {
 public:
  explicit Dumper(const Module& module) : module_(module) {}

  std::string run() {
    out_ << "module " << int{module_.version.major} << '.' << int{module_.version.minor} << " root "
         << module_.root.value << '\n';
    for (size_t i = 0; i < module_.codes.size(); ++i) dump_code(i, module_.codes[i]);
    return out_.str();
  }

 private:
  void dump_code(size_t index, const Code& code) {
    out_ << "\ncode " << index << ' ' << module_.text(code.qualname) << '\n';
    out_ << "  name " << text(code.name) << " filename " << text(code.filename) << " firstlineno "
         << code.firstlineno << '\n';
    out_ << "  argcount " << code.argcount << " posonlyargcount " << code.posonlyargcount
         << " kwonlyargcount " << code.kwonlyargcount << " nlocals " << code.nlocals
         << " stacksize " << code.stacksize << " flags 0x" << std::hex << code.flags << std::dec
         << '\n';
    dump_bytes("bytecode", code.bytecode);
    dump_bytes("linetable", code.linetable);
    dump_bytes("exceptiontable", code.exceptiontable);
    dump_symbols("names", code.names);
    dump_symbols("varnames", code.varnames);
    dump_symbols("cellvars", code.cellvars);
    dump_symbols("freevars", code.freevars);
    for (size_t i = 0; i < code.localsplus.size(); ++i) {
      out_ << (i == 0 ? "  localsplus" : "") << ' ' << text(code.localsplus[i]) << ':'
           << name_of(code.localspluskinds[i]) << (i + 1 == code.localsplus.size() ? "\n" : "");
    }
    for (size_t i = 0; i < code.consts.size(); ++i) {
      out_ << "  const " << i << ' ' << repr(module_, code.consts[i]) << '\n';
    }
  }

  std::string text(Symbol symbol) const { return repr_of_text(module_.text(symbol)); }

  void dump_bytes(const char* what, const std::vector<uint8_t>& bytes) {
    if (bytes.empty()) return;
    out_ << "  " << what << ' ';
    for (const uint8_t byte : bytes) {
      out_ << "0123456789abcdef"[byte >> 4] << "0123456789abcdef"[byte & 15];
    }
    out_ << '\n';
  }

  void dump_symbols(const char* what, const std::vector<Symbol>& symbols) {
    if (symbols.empty()) return;
    out_ << "  " << what;
    for (const Symbol symbol : symbols) out_ << ' ' << text(symbol);
    out_ << '\n';
  }

  const Module& module_;
  std::ostringstream out_;
};

}  // namespace

std::string dump(const Module& module) { return Dumper(module).run(); }

}  // namespace pellucid::object
