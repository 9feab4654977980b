// SPDX-License-Identifier: Apache-2.0
// verify::lower: a code object under construction.
//
// Units nest as the code objects do. A function that lowers a construct is given the unit that the
// code belongs to; compile_unit() makes the units in it.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ast/tree.h"
#include "verify/lower/emitter.h"
#include "verify/lower/program.h"

namespace pellucid::verify::lower {

using ast::Kind;
using ast::ListId;
using ast::NodeId;
using ast::Tree;
using object::CodeId;

// Thrown for a construct that is not supported; caught at the end of its code object.
struct NotLowered {
  std::string what;
};

[[noreturn]] inline void give_up(const std::string& what) { throw NotLowered{what}; }

// How deep statements and expressions nest: about the limit of CPython's compiler.
inline constexpr uint32_t kDeepest = 1500;

// A statement, or part of one, that a jump out of it has to unwind.
struct Enclosing {
  enum Kind : uint8_t {
    kWhile,
    kFor,
    kAsyncFor,  // before 3.11 its body is not protected; its iterator is on the stack
    kTryFinally,
    kFinallyEnd,  // the exceptional copy of a finally body
    kTryExcept,
    kHandler,  // an `except` clause; its name, if any, is unbound on exit
    kWith,
    kAsyncWith,
    kValue,        // a value to pop
    kStarHandler,  // of `except*`
  };
  Kind kind;
  Label start = {};  // of a loop
  Label end = {};    // of a loop
  ListId finalbody = {};
  Symbol name = {};  // of a handler
  bool named = false;
};

// An operation of a left spine on its first operand (left_spines.h): an operator, attribute,
// subscript or call.
struct Applied {
  enum How : uint8_t { kNode, kMethod, kMethodCall };
  NodeId node;
  How how;
};

struct Unit {
  Unit(Program& of, Unit* around, ScopeId id, CodeId made);

  Symbol symbol(std::string_view text) const { return module.strings.intern(text); }
  Symbol mangled(Symbol name) const { return symbols.mangle(name, scope_id); }

  Program& program;
  // Of the program.
  const Tree& tree;
  object::Module& module;
  const Symbols& symbols;
  const Features& features;
  Constants& constants;

  Unit* const outer;  // the unit around this one; null for the module
  const ScopeId scope_id;
  const Scope& scope;
  const CodeId code;
  std::string qualname;
  Symbol first_argument;

  Emitter emit;
  std::vector<Enclosing> enclosing = {};  // innermost last
  std::vector<Applied> spines = {};       // left spines being lowered, innermost last
  std::vector<ScopeId> inlined = {};      // comprehensions being compiled, innermost last
  std::vector<Symbol> extra_locals = {}, extra_cells = {};  // of inlined comprehensions
  // Names of the module that an inlined comprehension mentions and another one may bind (3.12).
  std::vector<Symbol> shared = {};
  std::vector<Symbol> late_free = {};     // free variables added after all others
  std::set<std::string> attributes = {};  // attributes that methods set on `self` (3.13)
  bool first_is_docstring = false;        // the first constant, if it is a text
  // Annotated variables of a module or class, for its `__annotate__` (3.14). `index` identifies a
  // conditional one; -1 if the annotation is always reached.
  struct Annotated {
    NodeId node;
    int64_t index;
  };
  std::vector<Annotated> annotated = {};
  int64_t next_index = 0;
  uint32_t conditional = 0;  // enclosing statements whose bodies may not run

  // Of the place in the text, so inherited from `outer`.
  uint32_t nesting;   // enclosing statements and expressions
  uint32_t walruses;  // enclosing walruses
};

// Builds a tuple of the values on top of the stack. If all are constants, so is the tuple.
void build_tuple(Unit& unit, uint32_t count);

using Body = std::function<void(Unit&)>;

// Compiles the code object of a scope in `outer`, unless it was compiled before: a finally body is
// compiled once for each exit, as CPython does, but the functions in it only once. `header` has the
// arguments, `body` emits the code. `owner` is the part of the qualified name between the enclosing
// scope's and its own name.
CodeId compile_unit(Unit& outer, ScopeId scope, Symbol name, object::Code&& header,
                    const Body& body, const std::string& owner = {});
CodeId compile_module(Program& program, ScopeId scope, const Body& body);

}  // namespace pellucid::verify::lower
