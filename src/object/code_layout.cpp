// SPDX-License-Identifier: Apache-2.0
#include "object/code_layout.h"

#include <unordered_map>

namespace pellucid::object {
namespace {

constexpr Field kUntil310[] = {
    Field::ArgCount,       Field::PosOnlyArgCount,
    Field::KwOnlyArgCount, Field::NLocals,
    Field::StackSize,      Field::Flags,
    Field::Bytecode,       Field::Consts,
    Field::Names,          Field::VarNames,
    Field::FreeVars,       Field::CellVars,
    Field::FileName,       Field::Name,
    Field::FirstLineNo,    Field::LineTable,
};

constexpr Field kSince311[] = {
    Field::ArgCount,        Field::PosOnlyArgCount, Field::KwOnlyArgCount, Field::StackSize,
    Field::Flags,           Field::Bytecode,        Field::Consts,         Field::Names,
    Field::LocalsPlusNames, Field::LocalsPlusKinds, Field::FileName,       Field::Name,
    Field::QualName,        Field::FirstLineNo,     Field::LineTable,      Field::ExceptionTable,
};

// CPython's CO_FAST_* bits of a slot.
enum SlotBit : uint8_t {
  kSlotHidden = 0x10,
  kSlotLocal = 0x20,
  kSlotCell = 0x40,
  kSlotFree = 0x80
};

class Assembler {
 public:
  Assembler(Module& module, const CodeFields& fields, Code& code)
      : module_(module), fields_(fields), code_(code) {}

  std::string run() {
    code_.version = module_.version;
    counts();
    bytes(Field::Bytecode, "bytecode", code_.bytecode);
    bytes(Field::LineTable, "line table", code_.linetable);
    symbols(Field::Names, "names", code_.names);
    symbol(Field::FileName, "filename", code_.filename);
    symbol(Field::Name, "name", code_.name);
    consts();
    if (module_.version.minor >= 11) {
      symbol(Field::QualName, "qualname", code_.qualname);
      bytes(Field::ExceptionTable, "exception table", code_.exceptiontable);
      symbols(Field::LocalsPlusNames, "localsplusnames", code_.localsplus);
      if (problem_.empty()) split_localsplus();
    } else {
      code_.qualname = code_.name;
      symbols(Field::VarNames, "varnames", code_.varnames);
      symbols(Field::CellVars, "cellvars", code_.cellvars);
      symbols(Field::FreeVars, "freevars", code_.freevars);
      if (problem_.empty()) join_localsplus();
    }
    if (problem_.empty()) check_arguments();
    return problem_;
  }

 private:
  int32_t number(Field field) const { return fields_.numbers[static_cast<size_t>(field)]; }
  const Const& object(Field field) const {
    return module_[fields_.objects[static_cast<size_t>(field)]];
  }
  void fail(std::string what) {
    if (problem_.empty()) problem_ = std::move(what);
  }

  uint32_t count(Field field, const char* what) {
    if (number(field) < 0) fail(std::string("negative ") + what);
    return static_cast<uint32_t>(number(field));
  }

  void counts() {
    code_.argcount = count(Field::ArgCount, "argcount");
    code_.posonlyargcount = count(Field::PosOnlyArgCount, "posonlyargcount");
    code_.kwonlyargcount = count(Field::KwOnlyArgCount, "kwonlyargcount");
    code_.nlocals = count(Field::NLocals, "nlocals");
    code_.stacksize = count(Field::StackSize, "stacksize");
    code_.flags = static_cast<uint32_t>(number(Field::Flags));
    code_.firstlineno = number(Field::FirstLineNo);
  }

  void bytes(Field field, const char* what, std::vector<uint8_t>& out) {
    if (object(field).kind != ConstKind::Bytes) return fail(std::string(what) + " is not bytes");
    const std::string_view text = fields_.bytes[static_cast<size_t>(field)];
    const auto* const first = reinterpret_cast<const uint8_t*>(text.data());
    out.assign(first, first + text.size());
  }

  void symbol(Field field, const char* what, Symbol& out) {
    const Const& value = object(field);
    if (value.kind != ConstKind::Str) return fail(std::string(what) + " is not a string");
    out = value.text;
  }

  void symbols(Field field, const char* what, std::vector<Symbol>& out) {
    const Const& value = object(field);
    if (value.kind != ConstKind::Tuple) return fail(std::string(what) + " is not a tuple");
    out.reserve(value.items.size());
    for (const ConstId item : value.items) {
      if (module_[item].kind != ConstKind::Str) {
        return fail(std::string(what) + " holds something that is not a string");
      }
      out.push_back(module_[item].text);
    }
  }

  void consts() {
    const Const& value = object(Field::Consts);
    if (value.kind != ConstKind::Tuple) return fail("consts is not a tuple");
    code_.consts = value.items;
  }

  void split_localsplus() {
    std::vector<uint8_t> kinds;
    bytes(Field::LocalsPlusKinds, "localspluskinds", kinds);
    if (problem_.empty() && kinds.size() != code_.localsplus.size()) {
      fail("localspluskinds and localsplusnames differ in length");
    }
    if (!problem_.empty()) return;
    code_.varnames.reserve(kinds.size());
    code_.localspluskinds.reserve(kinds.size());
    for (size_t i = 0; i < kinds.size(); ++i) {
      const Symbol name = code_.localsplus[i];
      const bool local = kinds[i] & kSlotLocal;
      const bool cell = kinds[i] & kSlotCell;
      if (!local && !cell && !(kinds[i] & kSlotFree)) return fail("unknown kind of a local");
      if (local) code_.varnames.push_back(name);
      if (cell) code_.cellvars.push_back(name);
      if (!local && !cell) code_.freevars.push_back(name);
      code_.localspluskinds.push_back(local && cell              ? LocalKind::CellLocal
                                      : cell                     ? LocalKind::Cell
                                      : !local                   ? LocalKind::Free
                                      : (kinds[i] & kSlotHidden) ? LocalKind::Hidden
                                                                 : LocalKind::Local);
    }
    code_.nlocals = static_cast<uint32_t>(code_.varnames.size());
  }

  void join_localsplus() {
    if (code_.nlocals != code_.varnames.size()) return fail("nlocals and varnames differ");
    derive_localsplus(code_);
  }

  void check_arguments() {
    if (parameter_count(code_) > code_.varnames.size()) fail("more arguments than locals");
    if (code_.posonlyargcount > code_.argcount)
      fail("more positional-only arguments than arguments");
  }

  Module& module_;
  const CodeFields& fields_;
  Code& code_;
  std::string problem_;
};

}  // namespace

std::span<const Field> code_layout(Version version) {
  if (version.minor >= 11) return kSince311;
  return kUntil310;
}

std::string assemble_code(Module& module, const CodeFields& fields, Code& code) {
  return Assembler(module, fields, code).run();
}

void derive_localsplus(Code& code) {
  code.localsplus = code.varnames;
  code.localspluskinds.assign(code.varnames.size(), LocalKind::Local);
  std::unordered_map<Symbol, size_t> slots;
  for (size_t i = 0; i < code.varnames.size() && !code.cellvars.empty(); ++i) {
    slots.emplace(code.varnames[i], i);
  }
  for (const Symbol name : code.cellvars) {
    const auto slot = slots.find(name);
    if (slot != slots.end()) {
      code.localspluskinds[slot->second] = LocalKind::CellLocal;
    } else {
      code.localsplus.push_back(name);
      code.localspluskinds.push_back(LocalKind::Cell);
    }
  }
  for (const Symbol name : code.freevars) {
    code.localsplus.push_back(name);
    code.localspluskinds.push_back(LocalKind::Free);
  }
}

}  // namespace pellucid::object
