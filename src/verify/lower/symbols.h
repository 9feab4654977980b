// SPDX-License-Identifier: Apache-2.0
// verify::lower: the symbol table, which resolves each name of a program.
//
// It follows CPython's symtable.c, but is built from our own tree: every function, class,
// comprehension and annotation scope with the names that it binds and uses, and their bindings. It
// does not look at the original's code objects: whether a name is a cell is to be proven.
//
// Invariants: a scope comes after its parent; a name is in a scope's table if the scope binds it,
// uses it, or passes it on to a nested scope.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ast/tree.h"

namespace pellucid::verify::lower {

using ast::NodeId;
using ScopeId = Id<struct ScopeTag>;

enum class ScopeKind : uint8_t { Module, Class, Function, Lambda, Comprehension, Annotation };

enum class Binding : uint8_t {
  Local,
  Cell,
  Free,
  GlobalExplicit,  // by `global`
  GlobalImplicit,
};

enum Use : uint16_t {
  kBound = 1,
  kParameter = 2,
  kGlobal = 4,
  kNonlocal = 8,
  kUsed = 16,
  kHandedOn = 32,  // free in a nested scope
  kAnnotated = 64,
  kLifted = 128,    // used only by inlined comprehensions in it
  kLent = 256,      // confused with the variable of an inlined comprehension in it
  kIterated = 512,  // in a comprehension: bound by one of its loops
  kImported = 1024,
};

struct Entry {
  Symbol name;
  uint16_t use = 0;
  Binding binding = Binding::GlobalImplicit;
  bool cell = false;  // captured by a nested scope
};

// A variable of an inlined comprehension.
struct Kept {
  Symbol name;
  ScopeId scope;  // the scope that binds it
};

// What an inlined comprehension, or those in a scope, make of its names (3.12+).
struct Inlining {
  std::vector<Kept> kept;                   // of an inlined comprehension and nested ones
  std::vector<Symbol> order;                // the names of both, in the compiler's order
  std::unordered_set<Symbol> bound_inside;  // variables of inlined comprehensions in this scope
  std::vector<ScopeId> inlined_inside;      // these comprehensions, in order
};

// A module has thousands of them, and most are small.
struct Scope {
  ScopeKind kind = ScopeKind::Module;
  ScopeId parent;
  NodeId node;
  Symbol class_name;  // the innermost enclosing class, for mangling
  // The scope of the type parameters of a class, within which only their names are mangled (3.13).
  ScopeId mangling;
  std::vector<Symbol> type_parameters;  // sorted; if this is such a scope
  bool is_generator = false;            // contains yield, or is a generator expression
  bool is_coroutine = false;
  bool is_generator_expression = false;
  bool is_inlined = false;        // a comprehension inlined into its parent (3.12+)
  bool in_class = false;          // an annotation scope that sees the names of the enclosing class
  bool is_unevaluated = false;    // for annotations of a function's variables (3.14)
  bool is_nested = false;         // in a function
  bool needs_class_cell = false;  // of a class: a method uses `super` or `__class__`
  bool needs_class_dictionary = false;  // of a class: an annotation scope reads it
  bool needs_conditional_set = false;   // __conditional_annotations__ (3.14)
  const char* broken = nullptr;         // a construct that a compiler rejects or miscompiles
  std::vector<Entry> entries;           // in the order of their first use

  // Returns what is known of inlined comprehensions: nothing if there are none.
  const Inlining& inlining() const;
  Inlining& edit_inlining() {
    if (inlining_ == nullptr) inlining_ = std::make_unique<Inlining>();
    return *inlining_;
  }

  const Entry* find(Symbol name) const;
  Entry* find(Symbol name) { return const_cast<Entry*>(std::as_const(*this).find(name)); }
  // Returns the entry of a name, which is made if there is none.
  Entry& entry(Symbol name);
  bool binds(Symbol name) const {
    const Entry* entry = find(name);
    return entry != nullptr && (entry->use & (kBound | kParameter)) &&
           !(entry->use & (kGlobal | kNonlocal));
  }
  bool is_function() const { return kind != ScopeKind::Module && kind != ScopeKind::Class; }

 private:
  using Index = std::unordered_map<Symbol, uint32_t>;

  std::unique_ptr<Index> index_;        // into entries; null: these are few
  std::unique_ptr<Inlining> inlining_;  // null: nothing is known
};

// The purpose of a scope: a generic function has three. `Annotations` are those of a function's
// parameters, or of the variables of a module or class; `LocalAnnotations` those of the variables
// of a function, which are never evaluated.
enum class Role : uint8_t { Body, TypeParameters, Bound, Default, Annotations, LocalAnnotations };

// Returns true if some annotations in such a statement may not be reached.
bool may_skip_parts(ast::Kind statement);

class Symbols {
 public:
  Symbols(const ast::Tree& tree, object::Module& module, NodeId root);

  const Scope& operator[](ScopeId id) const { return scopes_[id.index()]; }
  ScopeId scope_of(NodeId node, Role role = Role::Body) const;
  Symbol mangle(Symbol name, ScopeId scope) const {
    if (!scopes_[scope.index()].class_name.valid()) return name;
    const std::string_view text = module_.text(name);
    const bool is_private = text.size() >= 2 && text[0] == '_' && text[1] == '_';
    return is_private ? mangled(name, scope) : name;
  }
  bool has_future_annotations() const { return future_annotations_; }
  uint32_t future_flags() const { return future_flags_; }

 private:
  friend class ScopeTable;
  friend class Collector;
  friend class Resolver;

  static uint64_t key_of(ast::NodeId node, Role role) {
    return (static_cast<uint64_t>(node.value) << 3) | static_cast<uint64_t>(role);
  }
  // Returns a name that starts with `__` as it is in a scope of a class.
  Symbol mangled(Symbol name, ScopeId scope) const;
  void collect(const ast::Tree& tree, ast::NodeId root);
  // Marks the scope as broken; for a comprehension also its parents, up to the first other scope.
  void refuse(ScopeId scope, const char* rule);
  // Refuses a walrus that binds a variable of a loop of its comprehension, in either order.
  void keep_apart(ScopeId comprehension, Symbol name);

  object::Module& module_;
  std::vector<Scope> scopes_;
  std::unordered_map<uint64_t, ScopeId> by_node_;
  bool future_annotations_ = false;
  uint32_t future_flags_ = 0;
};

}  // namespace pellucid::verify::lower
