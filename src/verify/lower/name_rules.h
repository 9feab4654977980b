// SPDX-License-Identifier: Apache-2.0
// Conditions for CPython to read a tree from its text (spelling.h): the rules of names, which have
// to be identifiers, and of `__debug__`, which is a constant.
#pragma once

#include "ast/tree.h"
#include "verify/lower/place.h"
#include "verify/lower/spelling.h"

namespace pellucid::verify::lower {

// Adds the first broken rule of each scope to `found`, unless it has an entry.
class NameRules {
 public:
  NameRules(const ast::Tree& tree, Misspelt& found) : tree_(tree), found_(found) {}

  // Checks the names in a node other than a Name, and its targets.
  void check(NodeId node, ast::Kind kind, const Place& place);
  // Checks a name that is bound or looked up; it may be absent.
  void variable(ast::field::Name name, const Place& place) {
    if (name.valid() && !may_be_variable(name)) odd_variable(name, place);
  }
  // Returns true if a variable may have this name. Most names occur again and again.
  bool may_be_variable(ast::field::Name name) {
    return (name.index() < plain_.size() && plain_[name.index()]) || is_plain_at_first(name);
  }

 private:
  void fault(const Place& place, std::string what);
  std::string quoted(ast::field::Name name) const;
  bool is_plain_at_first(ast::field::Name name);
  void odd_variable(ast::field::Name name, const Place& place);
  void attribute(NodeId node, const Place& place);
  void module_name(ast::field::Name name, const Place& place);
  void imports(const ast::alias& alias, const Place& place);
  void imported(const ast::ImportFrom& node, const Place& place);
  void stored(NodeId target, const Place& place);
  void stored(ast::ListId list, const Place& place);

  const ast::Tree& tree_;
  Misspelt& found_;
  std::vector<bool> plain_;  // by name: known to be one that a variable may have
};

}  // namespace pellucid::verify::lower
