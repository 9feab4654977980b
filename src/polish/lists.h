// SPDX-License-Identifier: Apache-2.0
// polish: the statement lists and the nodes of one body, for rewrites to walk over.
//
// Bodies of functions and classes are finished before the body around them, so no walk enters them.
#pragma once

#include <span>
#include <vector>

#include "ast/tree.h"

namespace pellucid::polish {

// A list of statements: a field of the compound statement (or clause) that holds it.
struct Place {
  ast::NodeId owner;
  size_t field = 0;
};

using Statements = std::vector<ast::NodeId>;

// Returns every list of statements below those of `body`, outer lists before inner ones.
std::vector<Place> nested_lists(const ast::Tree& tree, const Statements& body);

// Returns the statements of `body` and every node below them, in the order of the text.
std::vector<ast::NodeId> all_nodes(const ast::Tree& tree, const Statements& body);
// Returns the same without the bodies of lambdas, which are finished before; with `wanted`, only
// the nodes of those kinds.
std::vector<ast::NodeId> own_nodes(const ast::Tree& tree, const Statements& body);
std::vector<ast::NodeId> own_nodes(const ast::Tree& tree, const Statements& body,
                                   bool wanted(ast::Kind));

Statements items_at(const ast::Tree& tree, Place place);

// Calls rewrite(list) on every list, inner lists first, and stores those that it changed.
template <typename Rewrite>
void for_each_list(ast::Tree& tree, Statements& body, Rewrite rewrite) {
  const std::vector<Place> places = nested_lists(tree, body);
  for (size_t i = places.size(); i-- > 0;) {
    Statements items = items_at(tree, places[i]);
    const Statements before = items;
    rewrite(items);
    if (items != before) {
      tree.set_slot(places[i].owner, places[i].field, tree.list(items).value);
    }
  }
  rewrite(body);
}

// Calls rewrite(statement) on every statement, outer ones before those in them. It may change the
// statement, but no list.
template <typename Rewrite>
void for_each_statement(ast::Tree& tree, const Statements& body, Rewrite rewrite) {
  const std::vector<Place> places = nested_lists(tree, body);
  for (const ast::NodeId statement : body) rewrite(statement);
  for (const Place place : places) {
    for (const ast::NodeId statement : items_at(tree, place)) rewrite(statement);
  }
}

}  // namespace pellucid::polish
