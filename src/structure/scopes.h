// structure: what belongs to a body as a whole.
//
// After the statements of a code object have been recovered, Scopes puts back what the compiler took
// out of them and takes out what it put in:
//
//   * docstrings, `global` and `nonlocal` declarations, annotated assignments come back;
//   * `__module__`, `__qualname__`, `__classcell__` and friends, the trailing `return None` go;
//   * what only dead code said (a name is local, a function is a generator, a variable is captured)
//     is said by `if False:` statements, which compile to nothing.
//
// Nothing is done to the bodies of comprehensions and lambdas but the last point.
#pragma once

#include <unordered_map>
#include <vector>

#include "ast/tree.h"
#include "ir/function.h"

namespace pellucid::structure {

class Scopes {
 public:
  explicit Scopes(ast::Tree& tree);

  // The finished body of function.code; never empty where Python wants a statement.
  ast::ListId finish_body(ast::ListId body, const ir::Function& function);

 private:
  enum class Scope : uint8_t { Module, Class, Function, Comprehension, Lambda, Annotation };

  Scope scope_of(object::CodeId code) const;
  bool is_bound_outside(object::CodeId code, Symbol name) const;

  ast::Tree& tree_;
  std::vector<object::CodeId> parent_;  // by CodeId; invalid: none
};

}  // namespace pellucid::structure
