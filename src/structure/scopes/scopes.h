// SPDX-License-Identifier: Apache-2.0
// structure: what belongs to a body as a whole.
//
// After the statements of a code object have been recovered, Scopes puts back what the compiler
// took out of them and takes out what it put in:
//
//   * docstrings, `global` and `nonlocal` declarations, annotated assignments come back;
//   * `__module__`, `__qualname__`, `__classcell__` and friends, the trailing `return None` go;
//   * what only dead code said (a name is local, a function is a generator, a variable is captured)
//     is said by `if False:` statements, which compile to nothing.
//
// The bodies of comprehensions and lambdas stay as they are; what they cannot declare themselves is
// declared by the function around them, so finish nested code objects first.
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

  // The finished body of function.code; never empty where Python wants a statement. Where whoever
  // runs it sees to its cells and free variables, it need not mention those that nothing uses.
  ast::ListId finish_body(ast::ListId body, const ir::Function& function,
                          bool mentions_unused = true);

  // Names among the locals of `code` that only its inlined comprehensions bind: nothing within
  // takes them from it.
  void hide(object::CodeId code, std::vector<Symbol> names) { hidden_[code] = std::move(names); }

  BoundNames& bound_names() { return bound_names_; }

  // `code` holds one expression, which is evaluated later: it can declare no more than a lambda.
  void set_lazy(object::CodeId code) { lazy_.insert(code); }
  // Returns true if it is such a code object or in one: it can have no statement.
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
  // Those also by which code was to declare them.
  std::unordered_map<object::CodeId, std::vector<std::pair<object::CodeId, Symbol>>>
      undeclared_nonlocals_;
  std::unordered_map<object::CodeId, object::ConstId> opaques_;  // names of code objects as values
};

}  // namespace pellucid::structure
