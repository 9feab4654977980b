// SPDX-License-Identifier: Apache-2.0
// Conditions for CPython to read a tree from its text (spelling.h): the rules for the places of
// statements and expressions, and for the depth of nesting.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "ast/tree.h"
#include "verify/lower/features.h"
#include "verify/lower/place.h"
#include "verify/lower/spelling.h"

namespace pellucid::verify::lower {

// Checks the nodes of a tree, each with the place that its parent left.
class Shapes {
 public:
  explicit Shapes(const ast::Tree& tree);

  // Starts with the root of the tree, before it is entered.
  void start(NodeId root, ShapePlace& place);
  // Checks a node, and makes its place that of its children.
  void enter(NodeId node, ast::Kind kind, ShapePlace& place);
  // Returns true if a Name or a Constant at this place has to be entered. Every second node is one
  // of these, which can only be nested too deep: it is one level more, and in at most one pair of
  // brackets more.
  bool asks_leaves(const ShapePlace& place) const {
    return place.levels >= most_levels_ || place.brackets >= most_brackets_;
  }

  // The first broken rule of each scope.
  Misspelt& found() { return found_; }

 private:
  void fault(const ShapePlace& place, const char* what) { found_.try_emplace(place.scope, what); }
  void iterable(NodeId node, ShapePlace& place) const;
  void nesting(NodeId node, ast::Kind kind, ast::Kind outer, ShapePlace& place);
  bool is_future(NodeId node) const;
  void leading_futures(ast::ListId body);
  bool is_text(NodeId statement) const;
  void future(NodeId node, const ShapePlace& place);
  void docstring(ast::ListId body, const ShapePlace& place);
  static bool has_surrogate(std::string_view text);
  void rules(NodeId node, ast::Kind kind, ShapePlace& place);
  void named(NodeId node, const ShapePlace& place);
  void starred(const ShapePlace& place);
  void one_star(ast::ListId list, const ShapePlace& place);
  void target(NodeId node, const ShapePlace& place);
  void single_target(NodeId node, const ShapePlace& place);
  void handlers(NodeId node, const ShapePlace& place);
  void opens_scope(NodeId node, ast::Kind kind, ShapePlace& place);
  void opens_comprehension(NodeId node, ShapePlace& place);
  NodeId first_generator(NodeId comprehension) const;

  const ast::Tree& tree_;
  const Features features_;
  const uint32_t most_levels_;
  const uint32_t most_brackets_;
  Misspelt found_;
  std::unordered_set<NodeId> leading_;  // imports from __future__ that are at the start
};

}  // namespace pellucid::verify::lower
