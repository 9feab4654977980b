// SPDX-License-Identifier: Apache-2.0
// structure: the meaning of the names and flags of code objects.
#pragma once

#include <string_view>
#include <unordered_set>
#include <vector>

#include "ast/tree.h"
#include "base/string_pool.h"
#include "object/identifiers.h"

namespace pellucid::structure {

using object::is_comprehension_name;

// Returns true for `__x`, which a class body mangles (`__x__` and dotted names are left alone).
bool is_private(std::string_view name);

// The names of a module that a class may have mangled: `_C__x` for `__x`. Most modules have none.
class MangledNames {
 public:
  // Returns true if class `class_name` may have mangled one of the strings.
  bool may_be_of(const StringPool& strings, std::string_view class_name);

 private:
  std::vector<std::string_view> names_;
  size_t seen_ = 0;  // how many strings were looked at
};

// Replaces the names below `body` that class `class_name` mangled by their short form, but for
// those in `as_written`. Nested classes mangle with their own name and are left alone.
void demangle(ast::Tree& tree, std::string_view class_name, ast::ListId body,
              const std::unordered_set<Symbol>& as_written);

// Returns the attributes that the class whose code is `code` assigns under the mangled form of a
// private name: `__static_attributes__` (3.13+) has the names as they are written.
std::unordered_set<Symbol> mangled_as_written(const object::Module& module, object::CodeId code);

// Returns true if the code was compiled under `from __future__ import annotations`.
bool has_future_annotations(const object::Module& module, object::CodeId code);

// Returns the node that is printed as the text of an annotation, which code under `from __future__
// import annotations` keeps as a string: a Name, whatever the text is.
ast::NodeId annotation_of_string(ast::Tree& tree, ast::NodeId node);

// Returns the built-in function `iter` under a name that no code of the module uses: whatever the
// program binds `iter` to, the text means the object.
object::ConstId builtin_iter(ast::Tree& tree);

// Returns the name of a parameter that has none in Python (`.0` of comprehensions), for a loop over
// a state.
Symbol unstructured_parameter(ast::Tree& tree, Symbol name);

}  // namespace pellucid::structure
