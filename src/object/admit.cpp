// SPDX-License-Identifier: Apache-2.0
#include "object/admit.h"

#include <algorithm>
#include <string>
#include <utility>

namespace pellucid::object {
namespace {

class Inspection {
 public:
  explicit Inspection(const Module& module) : module_(module) {}

  // Returns the fault of the module as a whole, or "".
  std::string of_module() const {
    if (module_.root.index() >= module_.codes.size()) return "the root is no code object";
    for (size_t i = 0; i < module_.consts.size(); ++i) {
      const char* const fault = of_const(i);
      if (fault != nullptr) return "constant " + std::to_string(i) + " " + fault;
    }
    const Module fresh = new_module(module_.version);
    for (size_t i = 0; i < fresh.consts.size(); ++i) {
      if (i >= module_.consts.size() || !is_same(module_.consts[i], fresh, fresh.consts[i])) {
        return "constant " + std::to_string(i) + " is not what its version has there";
      }
    }
    return "";
  }

  std::string of_code(const Code& code) const {
    if (code.version != module_.version) return "it is of another version than its module";
    if (!is_symbol(code.name) || !is_symbol(code.qualname) || !is_symbol(code.filename)) {
      return "it has no name";
    }
    for (const auto* names :
         {&code.names, &code.varnames, &code.cellvars, &code.freevars, &code.localsplus}) {
      if (!are_symbols(*names)) return "a name is no string";
    }
    for (const ConstId id : code.consts) {
      if (id.index() >= module_.consts.size()) return "a constant is none";
    }
    if (code.nlocals != code.varnames.size()) return "nlocals and varnames differ";
    if (code.posonlyargcount > code.argcount) {
      return "more positional-only arguments than arguments";
    }
    if (parameter_count(code) > code.varnames.size()) return "more arguments than locals";
    return of_slots(code);
  }

 private:
  bool is_symbol(Symbol symbol) const { return symbol.index() < module_.strings.size(); }
  bool are_symbols(const std::vector<Symbol>& symbols) const {
    return std::all_of(symbols.begin(), symbols.end(),
                       [&](Symbol symbol) { return is_symbol(symbol); });
  }

  // Checks the slots. Until 3.10 locals have separate numbers; in all versions their slots come
  // first.
  static std::string of_slots(const Code& code) {
    if (code.localspluskinds.size() != code.localsplus.size()) {
      return "localspluskinds and localsplusnames differ in length";
    }
    size_t locals = 0;
    for (size_t i = 0; i < code.localsplus.size(); ++i) {
      const LocalKind kind = code.localspluskinds[i];
      if (kind == LocalKind::Cell || kind == LocalKind::Free) continue;
      if (locals == code.varnames.size() || code.varnames[locals] != code.localsplus[i]) {
        return "localsplusnames and varnames differ";
      }
      ++locals;
    }
    return locals == code.varnames.size() ? "" : "localsplusnames and varnames differ";
  }

  // Returns true if a constant is what a new module has in its place: no container.
  bool is_same(const Const& value, const Module& fresh, const Const& expected) const {
    if (value.kind != expected.kind) return false;
    if (expected.kind == ConstKind::Int) return value.integer == expected.integer;
    return expected.kind != ConstKind::Str || module_.text(value.text) == fresh.text(expected.text);
  }

  // Items come before their containers, so that the constants are a DAG in the order of their ids.
  // Returns null if there is no fault.
  const char* of_const(size_t index) const {
    const Const& value = module_.consts[index];
    const bool has_text = value.kind == ConstKind::BigInt || value.kind == ConstKind::Str ||
                          value.kind == ConstKind::Bytes || value.kind == ConstKind::Opaque;
    if ((has_text || value.text.valid()) && !is_symbol(value.text)) return "has no text";
    if (value.kind == ConstKind::Code && value.code.index() >= module_.codes.size()) {
      return "is no code object";
    }
    if (value.kind == ConstKind::Slice && value.items.size() != 3) return "is no slice";
    if (value.kind == ConstKind::Dict && value.items.size() % 2 != 0) return "has half an item";
    for (const ConstId item : value.items) {
      if (item.index() >= index) return "holds what comes later";
    }
    return nullptr;
  }

  const Module& module_;
};

// Returns what is kept of a code object that cannot be read: its name.
Code without_contents(const Module& module, const Code& code, std::string fault) {
  Code left;
  left.version = module.version;
  left.flags = code.flags & (kOptimized | kNewLocals | kNested);
  left.firstlineno = code.firstlineno;
  left.name = code.name;
  left.qualname = code.qualname;
  left.filename = code.filename;
  left.fault = std::move(fault);
  return left;
}

}  // namespace

std::string find_fault(const Module& module) { return Inspection(module).of_module(); }

std::string find_fault(const Module& module, const Code& code) {
  return Inspection(module).of_code(code);
}

std::optional<Error> admit(Module& module) {
  if (!is_supported(module.version)) {
    return Error{ErrorCode::UnknownVersion, 0,
                 "code object: CPython " + std::to_string(module.version.major) + "." +
                     std::to_string(module.version.minor) + " is not supported (" +
                     supported_versions() + " are)"};
  }
  const std::string fault = find_fault(module);
  if (!fault.empty()) return Error{ErrorCode::Internal, 0, "module: " + fault};
  const Symbol unnamed = module.strings.intern("unnamed");
  for (size_t i = 0; i < module.codes.size(); ++i) {
    std::string of_code = find_fault(module, module.codes[i]);
    if (of_code.empty()) continue;
    Code& code = module.codes.edit(CodeId(i));
    for (Symbol* name : {&code.name, &code.qualname, &code.filename}) {
      if (name->index() >= module.strings.size()) *name = unnamed;
    }
    code = without_contents(module, code, std::move(of_code));
  }
  return std::nullopt;
}

}  // namespace pellucid::object
