// SPDX-License-Identifier: Apache-2.0
// structure: the parts of a body that are not in its statements.
//
// After the statements of a code object have been recovered, Scopes restores what the compiler took
// out of them and removes what it added:
//
//   * docstrings, `global` and `nonlocal` declarations, annotated assignments are restored;
//   * `__module__`, `__qualname__`, `__classcell__` and the like, and the trailing `return None`,
//     are removed;
//   * the effects of dead code on names (a name is local, a function is a generator, a variable is
//     captured) are restored by `if False:` statements, which compile to nothing.
//
// The bodies of comprehensions and lambdas stay as they are; names that they cannot declare are
// declared by the enclosing function, so finish nested code objects first.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ast/tree.h"
#include "ir/function.h"
#include "structure/scopes/bound_names.h"
#include "structure/scopes/symbols.h"

namespace pellucid::structure {

class Scopes {
 public:
  explicit Scopes(ast::Tree& tree);

  ScopeKind scope_of(object::CodeId code) const;

  struct Wish {
    // If not, the cells and free variables are provided by whoever runs the text, so those that
    // nothing uses are not mentioned.
    bool mentions_unused = true;
    // Binds all locals first, in the order of their slots, where it never runs.
    bool keeps_order = false;
  };

  // Returns the finished body of function.code, which was made of the function's values; never
  // empty where Python requires a statement.
  ast::ListId finish_body(ast::ListId body, const ir::Function& function, const Wish& wish);

  // Sets the names among the locals of `code` that only its inlined comprehensions bind: no nested
  // scope takes them from it.
  void hide(object::CodeId code, std::vector<Symbol> names) { hidden_[code] = std::move(names); }

  BoundNames& bound_names() { return bound_names_; }

  // Records that `code` holds one expression, evaluated lazily: it can declare no more than a
  // lambda.
  void set_lazy(object::CodeId code) { lazy_.insert(code); }
  // Returns true if `code` is such a code object or is nested in one: it can have no statement.
  bool is_in_lazy(object::CodeId code) const;

 private:
  using NamesByCode = std::unordered_map<object::CodeId, std::vector<Symbol>>;

  bool is_bound_outside(object::CodeId code, Symbol name) const;

  ast::Tree& tree_;
  BoundNames bound_names_;
  std::unordered_map<object::CodeId, std::vector<Symbol>> hidden_;
  std::unordered_set<object::CodeId> lazy_;
  std::vector<object::CodeId> parent_;  // by CodeId; invalid: none
  NamesByCode undeclared_;              // global names that lambdas and comprehensions in it read
  NamesByCode undeclared_stores_;       // ... and bind (by walrus)
  // The same for nonlocal names, with the code that needs the declaration.
  std::unordered_map<object::CodeId, std::vector<std::pair<object::CodeId, Symbol>>>
      undeclared_nonlocals_;
  std::unordered_map<object::CodeId, object::ConstId> opaques_;  // names of code objects as values
  NameUses name_uses_;                                           // of the body that is finished
};

}  // namespace pellucid::structure
