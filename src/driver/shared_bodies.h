// SPDX-License-Identifier: Apache-2.0
// driver: bodies of code objects that several others hold.
#pragma once

#include <unordered_map>
#include <vector>

#include "ast/tree.h"
#include "base/result.h"
#include "ir/function.h"
#include "object/code.h"

namespace pellucid::driver {

// The error for code whose text would be too long.
inline const Error kTooLong{ErrorCode::Limit, 0, "one code object is used too many times"};

// Returns every code object below `root`, nested ones before their holders; one may have several.
std::vector<object::CodeId> innermost_first(const object::Module& module, object::CodeId root);

// Compilers make one constant of code objects that are equal: `f(lambda: (a for b in c), lambda: (a
// for b in d))`. The body in one expression must not change with the other, so every code object
// that refers to such a body gets a separate copy.
class SharedBodies {
 public:
  SharedBodies(const object::Module& module, const std::vector<object::CodeId>& order);

  void note(object::CodeId code, ast::ListId body, bool is_marker);
  // Gives `owner` its copies. Returns false if there were too many: then its bodies are markers.
  bool hand_out(object::CodeId owner, ast::Tree& tree, std::vector<ast::ListId>& bodies);

  // Returns true if the text of a function, with all that it holds written where it is used, is
  // within the limit: code that is used twice by code that is used twice doubles at each step.
  bool fits(const ir::Function& function);

 private:
  template <typename Visit>
  void for_each_nested(object::CodeId code, Visit visit) const {
    for (const object::ConstId id : module_[code].consts) {
      if (module_[id].kind == object::ConstKind::Code) visit(module_[id].code);
    }
  }

  uint64_t written(object::ConstId id);

  const object::Module& module_;
  std::unordered_map<object::CodeId, ast::ListId> bodies_;
  std::vector<uint64_t> sizes_;    // of the texts, by code: in values that they compute
  std::vector<uint64_t> written_;  // of constants
  uint64_t most_;                  // of one text, and of all copies together
  uint64_t copied_ = 0;
};

}  // namespace pellucid::driver
