// SPDX-License-Identifier: Apache-2.0
// verify::lower: the scopes of a symbol table while their names are collected. Private to
// symbol_collector.cpp.
#pragma once

#include "verify/lower/features.h"
#include "verify/lower/symbols.h"

namespace pellucid::verify::lower {

class ScopeTable {
 public:
  explicit ScopeTable(Symbols& symbols);

  Scope& operator[](ScopeId id) { return symbols_.scopes_[id.index()]; }
  Symbol symbol(std::string_view text) { return symbols_.module_.strings.intern(text); }

  // Opens a scope in `parent`, which only the module has not.
  ScopeId open(ScopeKind kind, ScopeId parent, NodeId node, Role role);
  // Opens an annotation scope; `in_class`: it sees the names of the enclosing class.
  ScopeId open_annotations(NodeId node, Role role, ScopeId parent, bool in_class);
  // Returns the scope of a node; invalid if none was opened.
  ScopeId find(NodeId node, Role role) const;

  // Records a use of a name, which is mangled as in this scope.
  void note(ScopeId scope, Symbol name, uint16_t use);
  // Records that a scope declares a mangled name global: the module stores it as a global, too.
  void note_global(Symbol mangled);
  // Records that a scope binds a name, which may be absent.
  void bind(ScopeId scope, Symbol name);

 private:
  Symbols& symbols_;
  const Features features_;
};

}  // namespace pellucid::verify::lower
