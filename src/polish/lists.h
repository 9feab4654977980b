// SPDX-License-Identifier: Apache-2.0
// polish: the statement lists and the nodes of one body, for rewrites to walk over.
//
// Bodies of functions and classes are finished before the body around them, so no walk enters them.
#pragma once

#include <span>
#include <vector>

#include "ast/kinds.h"
#include "ast/tree.h"

namespace pellucid::polish {

// What has a body that is other code.
inline constexpr ast::Kinds kFunctions = {ast::Kind::FunctionDef, ast::Kind::ClassDef,
                                          ast::Kind::Lambda};

// A list of statements: a field of the compound statement (or clause) that holds it.
struct Place {
  ast::NodeId owner;
  size_t field = 0;
};

using Statements = std::vector<ast::NodeId>;

// Returns the place of a list that the owner has, and which list is in a place.
inline Place place_of(const ast::Tree& tree, ast::NodeId owner, ast::Suite suite) {
  return {owner, ast::slot_of(tree.kind(owner), suite)};
}
inline ast::Suite suite_at(const ast::Tree& tree, Place place) {
  return ast::suite_in(tree.kind(place.owner), place.field);
}

// A list that is not empty, with the kinds of its statements: most rewrites concern few of them.
struct Listed {
  Place place;
  ast::Kinds kinds;
};

// The statement lists below those of a body. They are found when they are asked for, and again
// only if the tree or the body changed since then.
class Outline {
 public:
  Outline(const ast::Tree& tree, const Statements& body) : tree_(tree), body_(body) {}

  // Returns every list below the body, outer lists before inner ones. Valid until the next call
  // after a change.
  std::span<const Listed> lists();
  // Returns the kinds of the statements of the body and of all those lists.
  ast::Kinds kinds();
  // Returns the kinds of the statements of the body itself.
  ast::Kinds own_kinds();

 private:
  void update();
  ast::Kind look_into(ast::NodeId node);

  const ast::Tree& tree_;
  const Statements& body_;
  std::vector<Place> found_;  // of update(): lists of statements and of clauses
  std::vector<Listed> lists_;
  ast::Kinds own_kinds_;
  ast::Kinds kinds_;
  bool is_filled_ = false;
  size_t changes_ = 0;  // of the tree when the lists were found
  Statements seen_;     // the body then
};

// Returns the statements of `body` and every node below them, in the order of the text.
std::vector<ast::NodeId> all_nodes(const ast::Tree& tree, const Statements& body);
// Returns the same without the bodies of lambdas, which are finished before; only the nodes of the
// kinds that are wanted.
std::vector<ast::NodeId> own_nodes(const ast::Tree& tree, const Statements& body,
                                   ast::Kinds wanted = ast::Kinds::all());

Statements items_at(const ast::Tree& tree, Place place);

// Returns the same without a copy; valid until a list is made.
inline std::span<const ast::NodeId> view_at(const ast::Tree& tree, Place place) {
  return tree.items(ast::ListId(tree.slot(place.owner, place.field)));
}

// Stores the statements of a list, in `body` if the place has no owner. Does nothing if they are
// those that it has.
void store_at(ast::Tree& tree, Statements& body, Place place, const Statements& items);

// Calls rewrite(list) on every list that has a statement of the wanted kinds, inner lists first,
// and stores those that it changed.
template <typename Rewrite>
void for_each_list(ast::Tree& tree, Statements& body, Outline& outline, ast::Kinds wanted,
                   Rewrite rewrite) {
  if (!outline.kinds().meets(wanted)) return;
  const bool is_in_body = outline.own_kinds().meets(wanted);
  const auto lists = outline.lists();
  for (size_t i = lists.size(); i-- > 0;) {
    if (!lists[i].kinds.meets(wanted)) continue;
    const Place place = lists[i].place;
    Statements items = items_at(tree, place);
    rewrite(items);
    store_at(tree, body, place, items);
  }
  if (is_in_body) rewrite(body);
}

// Calls rewrite(statement) on every statement of the wanted kinds, outer ones before those in them.
// It may change the statement, but no list.
template <typename Rewrite>
void for_each_statement(const ast::Tree& tree, const Statements& body, Outline& outline,
                        ast::Kinds wanted, Rewrite rewrite) {
  if (!outline.kinds().meets(wanted)) return;
  const auto lists = outline.lists();
  for (const ast::NodeId statement : body) {
    if (wanted.has(tree.kind(statement))) rewrite(statement);
  }
  for (const Listed& each : lists) {
    if (!each.kinds.meets(wanted)) continue;
    for (const ast::NodeId statement : items_at(tree, each.place)) {
      if (wanted.has(tree.kind(statement))) rewrite(statement);
    }
  }
}

}  // namespace pellucid::polish
