// SPDX-License-Identifier: Apache-2.0
// structure: helpers for both the eager annotations of 3.8-3.13 and the lazy ones of 3.14.
#pragma once

#include <string_view>
#include <vector>

#include "ast/tree.h"
#include "structure/scopes/blocks.h"

namespace pellucid::structure {

// Returns true if a statement is `dict['name'] = annotation`, and sets both.
bool annotation_store(const ast::Tree& tree, ast::NodeId statement, std::string_view dict,
                      Symbol& name, ast::NodeId& annotation);

// Takes `name = value` off the end and returns the value; invalid if there is no such statement.
ast::NodeId take_assigned(const ast::Tree& tree, std::vector<ast::NodeId>& out, Symbol name);

// Returns `name: annotation = value`; invalid value: none.
ast::NodeId annotated(ast::Tree& tree, Symbol name, ast::NodeId annotation, ast::NodeId value,
                      ast::Where at);

// Calls rewrite(statements) for the body and for each list of statements in its compound ones.
template <typename Rewrite>
void rewrite_blocks(ast::Tree& tree, std::vector<ast::NodeId>& body, Rewrite rewrite) {
  struct Block {
    ast::NodeId owner;
    size_t field;
  };
  std::vector<Block> todo;
  const auto enter = [&](const std::vector<ast::NodeId>& items) {
    for (const ast::NodeId statement : items) {
      for_each_block(tree, statement,
                     [&](size_t field, ast::ListId) { todo.push_back({statement, field}); });
    }
  };
  rewrite(body);
  enter(body);
  while (!todo.empty()) {
    const Block block = todo.back();
    todo.pop_back();
    const auto list = tree.items(ast::ListId(tree.slot(block.owner, block.field)));
    std::vector<ast::NodeId> items(list.begin(), list.end());
    const std::vector<ast::NodeId> before = items;
    rewrite(items);
    if (items != before) tree.set_slot(block.owner, block.field, tree.list(items).value);
    enter(items);
  }
}

}  // namespace pellucid::structure
