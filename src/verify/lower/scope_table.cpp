// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/scope_table.h"

#include <utility>

namespace pellucid::verify::lower {

ScopeTable::ScopeTable(Symbols& symbols)
    : symbols_(symbols), features_(features_of(symbols.module_.version)) {}

ScopeId ScopeTable::open(ScopeKind kind, ScopeId parent, NodeId node, Role role) {
  const ScopeId id(symbols_.scopes_.size());
  Scope scope;
  scope.kind = kind;
  scope.parent = parent;
  scope.node = node;
  if (parent.valid()) {
    const Scope& outer = (*this)[parent];
    scope.class_name = outer.class_name;
    if (kind != ScopeKind::Class) scope.mangling = outer.mangling;
    scope.is_nested = outer.is_nested || outer.is_function();
  }
  symbols_.scopes_.push_back(std::move(scope));
  symbols_.by_node_[Symbols::key_of(node, role)] = id;
  return id;
}

ScopeId ScopeTable::open_annotations(NodeId node, Role role, ScopeId parent, bool in_class) {
  const ScopeId id = open(ScopeKind::Annotation, parent, node, role);
  (*this)[id].in_class = in_class;
  if (in_class) note(id, symbol("__classdict__"), kUsed);
  // The requested format.
  if (features_.lazy_annotations && role != Role::TypeParameters) {
    note(id, symbol(".format"), kParameter);
  }
  return id;
}

ScopeId ScopeTable::find(NodeId node, Role role) const {
  const auto known = symbols_.by_node_.find(Symbols::key_of(node, role));
  return known == symbols_.by_node_.end() ? ScopeId() : known->second;
}

void ScopeTable::note(ScopeId scope, Symbol name, uint16_t use) {
  (*this)[scope].entry(symbols_.mangle(name, scope)).use |= use;
}

void ScopeTable::note_global(Symbol mangled) { (*this)[ScopeId(0u)].entry(mangled).use |= kGlobal; }

void ScopeTable::bind(ScopeId scope, Symbol name) {
  if (name.valid()) note(scope, name, kBound);
}

}  // namespace pellucid::verify::lower
