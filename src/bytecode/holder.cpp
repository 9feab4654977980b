// SPDX-License-Identifier: Apache-2.0
#include "bytecode/holder.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "bytecode/raw_table.h"
#include "object/identifiers.h"

namespace pellucid::bytecode {
namespace {

using object::Code;
using object::CodeId;
using object::Const;
using object::ConstId;
using object::ConstKind;
using object::Module;

// The tokenizer limits indentation to a hundred levels.
constexpr size_t kDeepest = 32;

enum class Kind { Module, Class, Function, Lambda, Comprehension };

// Returns true for a class body, which first stores its module's name and its own qualified name.
bool is_class_body(const Module& module, const Code& code) {
  const auto name = [&](size_t i) {
    return i < code.names.size() ? module.text(code.names[i]) : std::string_view();
  };
  return name(0) == "__name__" && name(1) == "__module__" && name(2) == "__qualname__";
}

Kind kind_of(const Module& module, const Code& code) {
  const std::string_view name = module.text(code.name);
  if ((code.flags & (object::kOptimized | object::kNewLocals)) == 0) {
    const bool is_class = name != "<module>" && is_class_body(module, code);
    return is_class ? Kind::Class : Kind::Module;
  }
  if (name == "<lambda>") return Kind::Lambda;
  if (object::is_comprehension_name(name) && code.argcount == 1) return Kind::Comprehension;
  return Kind::Function;
}

// A function or a class around the code object.
struct Level {
  std::string name;
  bool is_function = false;
  std::vector<Symbol> cells;  // variables it binds for inner levels
  std::vector<Symbol> free;   // variables it passes on from outer levels
};

// Returns the qualified name; up to 3.10 that of a class body is the constant that it stores, since
// code objects have none.
std::string qualified_name(const Module& module, const Code& code, Kind kind) {
  if (code.version.minor >= 11) return std::string(module.text(code.qualname));
  const std::string_view name = module.text(code.name);
  if (kind != Kind::Class) return std::string(name);
  for (const ConstId id : code.consts) {
    if (module[id].kind != ConstKind::Str) continue;
    const std::string_view text = module.text(module[id].text);
    if (text == name || text.ends_with("." + std::string(name))) return std::string(text);
  }
  return std::string(name);
}

// Returns the levels of a qualified name: for "f.<locals>.C.m", the function f and the class C.
std::vector<Level> levels_of(const Module& module, const Code& code, Kind kind) {
  const std::string path = qualified_name(module, code, kind);
  std::vector<std::string> parts;
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('.', at), path.size());
    parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  std::vector<Level> levels;
  if (parts.back() != module.text(code.name) || parts.size() > kDeepest) return levels;
  parts.pop_back();
  for (const std::string& part : parts) {
    if (part == "<locals>" && !levels.empty() && !levels.back().is_function) {
      levels.back().is_function = true;
    } else if (object::is_identifier(part)) {
      levels.push_back({part, false, {}, {}});
    } else {
      return {};
    }
  }
  return levels;
}

void add_once(std::vector<Symbol>& symbols, Symbol symbol) {
  if (std::find(symbols.begin(), symbols.end(), symbol) == symbols.end()) symbols.push_back(symbol);
}

// Returns true for a comprehension that the enclosing function has to await.
bool is_awaited(const Code& code, Kind kind) {
  return kind == Kind::Comprehension && (code.flags & object::kCoroutine) != 0;
}

// Assigns each free variable to the level that binds it.
void bind(Module& module, const Code& code, std::vector<Level>& levels) {
  const Symbol own_class = module.strings.intern("__class__");
  std::vector<Symbol> needed = code.freevars;
  for (size_t i = levels.size(); i-- > 0;) {
    Level& level = levels[i];
    const bool has_class = std::any_of(levels.begin(), levels.begin() + static_cast<long>(i),
                                       [](const Level& outer) { return !outer.is_function; });
    for (const Symbol symbol : needed) {
      const bool is_class = symbol == own_class;
      const bool binds = level.is_function ? !is_class || !has_class : is_class;
      add_once(binds ? level.cells : level.free, symbol);
    }
    needed = level.free;
  }
  if (needed.empty()) return;
  Level outermost{"enclosing", true, needed, {}};
  levels.insert(levels.begin(), std::move(outermost));
}

// Emits the bytecode of a holder.
class Writer {
 public:
  Writer(Module& module, Code& code) : module_(module), code_(code) {}

  int minor() const { return code_.version.minor; }

  void emit(std::string_view name, size_t arg = 0) {
    const uint8_t number = number_of(name);
    for (size_t shift = 24; shift > 0; shift -= 8) {
      if (arg >> shift == 0) continue;
      put(number_of("EXTENDED_ARG"), static_cast<uint8_t>(arg >> shift & 0xff));
    }
    put(number, static_cast<uint8_t>(arg & 0xff));
    for (size_t i = 0; i < 2 * size_t{raw_table(code_.version)[number].caches}; ++i)
      code_.bytecode.push_back(0);
  }

  void load(Const value) {
    code_.consts.push_back(module_.add(std::move(value)));
    emit("LOAD_CONST", code_.consts.size() - 1);
  }
  void load_text(std::string_view text) {
    Const value{.kind = ConstKind::Str};
    value.text = module_.strings.intern(text);
    load(std::move(value));
  }
  size_t name(std::string_view text) {
    const Symbol symbol = module_.strings.intern(text);
    add_once(code_.names, symbol);
    return static_cast<size_t>(std::find(code_.names.begin(), code_.names.end(), symbol) -
                               code_.names.begin());
  }

  // Returns the index of a cell or free variable.
  size_t cell(Symbol symbol) const {
    if (minor() >= 11) return position(code_.localsplus, symbol);
    const size_t own = position(code_.cellvars, symbol);
    if (own < code_.cellvars.size()) return own;
    return code_.cellvars.size() + position(code_.freevars, symbol);
  }

  void prologue() {
    const bool is_coroutine = (code_.flags & object::kCoroutine) != 0;
    if (minor() == 10 && is_coroutine) emit("GEN_START", 1);
    if (minor() < 11) return;
    if (!code_.freevars.empty()) emit("COPY_FREE_VARS", code_.freevars.size());
    for (const Symbol symbol : code_.cellvars) emit("MAKE_CELL", cell(symbol));
    if (is_coroutine) {
      emit("RETURN_GENERATOR");
      emit("POP_TOP");
    }
    emit("RESUME");
  }

  // Awaits a comprehension's result; since 3.12 such comprehensions are inlined.
  void await() {
    emit("GET_AWAITABLE");
    load(Const{.kind = ConstKind::None});
    if (minor() <= 10) return emit("YIELD_FROM");
    emit("SEND", 3);
    emit("YIELD_VALUE");
    emit("RESUME", 3);
    emit("JUMP_BACKWARD_NO_INTERRUPT", 4);
  }

  void load_cell(Symbol symbol) {
    emit(minor() >= 13 ? "LOAD_FAST" : "LOAD_CLOSURE", cell(symbol));
  }

  void make_function(CodeId inner, const std::string& qualname) {
    const std::vector<Symbol> free = module_[inner].freevars;
    for (const Symbol symbol : free) load_cell(symbol);
    if (!free.empty()) emit("BUILD_TUPLE", free.size());
    Const value{.kind = ConstKind::Code};
    value.code = inner;
    load(std::move(value));
    if (minor() <= 10) load_text(qualname);
    const size_t closure = free.empty() ? 0 : 8;
    emit("MAKE_FUNCTION", minor() >= 13 ? 0 : closure);
    if (minor() >= 13 && closure != 0) emit("SET_FUNCTION_ATTRIBUTE", closure);
  }

  void call(size_t count) {
    if (minor() <= 10) return emit("CALL_FUNCTION", count);
    // 3.11: the callable is below an empty slot, or below its only argument.
    if (minor() == 11) emit("PRECALL", count == 1 ? 0 : count);
    emit("CALL", count == 1 ? 0 : count);
  }

  void import_future(std::string_view feature) {
    load(Const{.kind = ConstKind::Int});
    Const names{.kind = ConstKind::Tuple};
    Const wanted{.kind = ConstKind::Str};
    wanted.text = module_.strings.intern(feature);
    names.items.push_back(module_.add(std::move(wanted)));
    load(std::move(names));
    emit("IMPORT_NAME", name("__future__"));
    emit("IMPORT_FROM", name(feature));
    emit("STORE_NAME", name(feature));
    emit("POP_TOP");
  }

  void end() {
    load(Const{.kind = ConstKind::None});
    emit("RETURN_VALUE");
  }

  // Puts everything on the first line: an entry without columns for each eight units (3.11+). Up to
  // 3.10, an empty table does.
  void put_lines() {
    if (minor() < 11) return;
    constexpr uint8_t kNoColumns = 0x80 | 13 << 3;
    for (size_t units = code_.bytecode.size() / 2; units > 0;) {
      const size_t count = std::min<size_t>(units, 8);
      code_.linetable.push_back(static_cast<uint8_t>(kNoColumns | (count - 1)));
      code_.linetable.push_back(0);
      units -= count;
    }
  }

 private:
  static size_t position(const std::vector<Symbol>& symbols, Symbol symbol) {
    return static_cast<size_t>(std::find(symbols.begin(), symbols.end(), symbol) - symbols.begin());
  }
  uint8_t number_of(std::string_view name) const {
    const RawTable& table = raw_table(code_.version);
    const auto found = std::find_if(table.begin(), table.end(),
                                    [&](const RawOpcode& opcode) { return opcode.name == name; });
    PELLUCID_CHECK(found != table.end());
    return static_cast<uint8_t>(found - table.begin());
  }
  void put(uint8_t opcode, uint8_t arg) {
    code_.bytecode.push_back(opcode);
    code_.bytecode.push_back(arg);
  }

  Module& module_;
  Code& code_;
};

class Holder {
 public:
  Holder(Module& module, Kind kind) : module_(module), kind_(kind) {}

  void run() {
    CodeId inner = module_.root;
    std::vector<Level> levels = levels_of(module_, module_[inner], kind_);
    bind(module_, module_[inner], levels);
    const bool is_lone = levels.empty() || !levels.back().is_function;
    if (is_lone && is_awaited(module_[inner], kind_)) levels.push_back({"enclosing", true, {}, {}});
    Kind kind = kind_;
    for (size_t i = levels.size(); i-- > 0;) {
      std::string path;
      for (size_t k = 0; k <= i; ++k) {
        path += levels[k].name;
        if (k < i) path += levels[k].is_function ? ".<locals>." : ".";
      }
      inner = around(inner, kind, &levels[i], path);
      kind = levels[i].is_function ? Kind::Function : Kind::Class;
    }
    module_.root = around(inner, kind, nullptr, "");
  }

 private:
  // Makes the module (no level), or the function or class that holds `inner`.
  CodeId around(CodeId inner, Kind kind, const Level* level, const std::string& path) {
    const Code& held = module_[module_.held];
    const bool is_function = level != nullptr && level->is_function;
    Code code;
    code.version = module_.version;
    code.filename = held.filename;
    code.firstlineno = held.firstlineno;
    code.name = module_.strings.intern(level != nullptr ? level->name : "<module>");
    code.qualname =
        module_.version.minor >= 11 && level != nullptr ? module_.strings.intern(path) : code.name;
    code.stacksize = static_cast<uint32_t>(8 + module_[inner].freevars.size());
    const Symbol own_name = module_[inner].name;
    if (level != nullptr) {
      code.cellvars = level->cells;
      code.freevars = level->free;
    }
    if (is_function) {
      code.flags = object::kOptimized | object::kNewLocals;
      if (is_awaited(module_[inner], kind)) code.flags |= object::kCoroutine;
      for (const Symbol symbol : level->cells) {
        if (symbol != own_name) code.varnames.push_back(symbol);
      }
      code.argcount = static_cast<uint32_t>(code.varnames.size());
      const bool is_cell = std::count(code.cellvars.begin(), code.cellvars.end(), own_name) > 0;
      const bool is_named = kind == Kind::Function || kind == Kind::Class;
      if (is_named && !is_cell) code.varnames.push_back(own_name);
    }
    code.flags |= held.flags & object::kFutureAnnotations;
    code.nlocals = static_cast<uint32_t>(code.varnames.size());
    const bool is_plain = code.cellvars.empty() && code.freevars.empty();
    if (code.version.minor <= 10 && is_plain) code.flags |= object::kNoFree;
    object::derive_localsplus(code);
    write(code, inner, kind, level, path);
    return module_.codes.push_back(std::move(code));
  }

  void write(Code& code, CodeId inner, Kind kind, const Level* level, const std::string& path) {
    Writer out(module_, code);
    const bool is_class = level != nullptr && !level->is_function;
    out.prologue();
    if (level == nullptr && code.flags & object::kFutureAnnotations) {
      out.import_future("annotations");
    }
    if (is_class) {
      out.emit("LOAD_NAME", out.name("__name__"));
      out.emit("STORE_NAME", out.name("__module__"));
      out.load_text(path);
      out.emit("STORE_NAME", out.name("__qualname__"));
    }
    make(out, code, inner, kind, level, path);
    if (is_class && !level->cells.empty()) {
      out.load_cell(level->cells[0]);
      out.emit(out.minor() >= 11 ? "COPY" : "DUP_TOP", out.minor() >= 11 ? 1 : 0);
      out.emit("STORE_NAME", out.name("__classcell__"));
      out.emit("RETURN_VALUE");
    } else {
      out.end();
    }
    out.put_lines();
  }

  void make(Writer& out, const Code& code, CodeId inner, Kind kind, const Level* level,
            const std::string& path) {
    const bool is_function = level != nullptr && level->is_function;
    const std::string name(module_.text(module_[inner].name));
    std::string qualname = path;
    if (!path.empty()) qualname += is_function ? ".<locals>." : ".";
    qualname += name;
    if (kind == Kind::Class) {
      if (out.minor() == 11 || out.minor() == 12) out.emit("PUSH_NULL");
      out.emit("LOAD_BUILD_CLASS");
      if (out.minor() >= 13) out.emit("PUSH_NULL");
    }
    out.make_function(inner, qualname);
    if (kind == Kind::Class) {
      out.load_text(name);
      out.call(2);
    }
    if (kind == Kind::Comprehension) {
      const size_t index = out.name("iterable");
      if (is_function) {
        out.emit("LOAD_GLOBAL", out.minor() >= 11 ? index << 1 : index);
      } else {
        out.emit("LOAD_NAME", index);
      }
      if (out.minor() < 15) out.emit(is_async(inner) ? "GET_AITER" : "GET_ITER");
      out.call(1);
      if (is_awaited(module_[inner], kind) && out.minor() <= 11) out.await();
    }
    if (kind == Kind::Lambda || kind == Kind::Comprehension) return out.emit("POP_TOP");
    const Symbol own_name = module_[inner].name;
    if (!is_function) return out.emit("STORE_NAME", out.name(name));
    if (std::count(code.cellvars.begin(), code.cellvars.end(), own_name) > 0) {
      return out.emit("STORE_DEREF", out.cell(own_name));
    }
    out.emit("STORE_FAST", code.varnames.size() - 1);
  }

  // Returns true if the first loop of a comprehension is asynchronous.
  bool is_async(CodeId inner) const {
    const RawTable& table = raw_table(module_.version);
    const std::vector<uint8_t>& bytes = module_[inner].bytecode;
    for (size_t at = 0; at < bytes.size(); at += 2 + 2 * size_t{table[bytes[at]].caches}) {
      if (table[bytes[at]].name == "GET_ANEXT") return true;
      if (table[bytes[at]].name == "FOR_ITER") return false;
    }
    return false;
  }

  Module& module_;
  Kind kind_;
};

const char* word_of(Kind kind) {
  switch (kind) {
    case Kind::Module:
      return "module";
    case Kind::Class:
      return "class";
    case Kind::Function:
      return "function";
    case Kind::Lambda:
      return "lambda";
    case Kind::Comprehension:
      return "comprehension";
  }
  return "";
}

}  // namespace

std::string hold(Module& module) {
  module.held = module.root;
  const Code& code = module[module.root];
  if (!code.fault.empty()) return "";
  const Kind kind = kind_of(module, code);
  if (kind == Kind::Module) return "";
  const std::string words =
      std::string("the ") + word_of(kind) + ' ' + qualified_name(module, code, kind);
  Holder(module, kind).run();
  return words;
}

Nested nested_in(const Module& module) {
  return [&module](CodeId code) {
    std::vector<CodeId> found;
    for (const ConstId id : module[code].consts) {
      if (module[id].kind == ConstKind::Code) found.push_back(module[id].code);
    }
    return found;
  };
}

std::vector<std::string_view> path_of_held(const Module& module) {
  std::vector<std::string_view> path;
  const Nested own = nested_in(module);
  for (CodeId here = module.root; here != module.subject();) {
    here = own(here).at(0);  // each holder has only the next level in it
    path.push_back(module.text(module[here].name));
  }
  return path;
}

CodeId counterpart(const Module& module, const Module& other, const Nested& nested) {
  CodeId there = other.root;
  for (const std::string_view name : path_of_held(module)) {
    std::vector<CodeId> found = nested(there);
    std::erase_if(found, [&](CodeId code) { return other.text(other[code].name) != name; });
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    if (found.size() != 1) return {};
    there = found[0];
  }
  return there;
}

}  // namespace pellucid::bytecode
