// SPDX-License-Identifier: Apache-2.0
// polish: statement lists with the columns in which they start.
#pragma once

#include <span>

#include "ast/kinds.h"
#include "polish/ends.h"
#include "polish/starts.h"

namespace pellucid::polish {

constexpr int32_t kElif = 2;  // the test of an `elif` is that much further right than an `if`'s
constexpr int32_t kDeepest = 120;    // no hand-written statement starts further right
constexpr int32_t kParenthesis = 1;  // the error of counting back from a test: a parenthesis

struct Block {
  List list;
  int32_t column = Starts::kUnknown;  // of the start of its statements
  int32_t outer = Starts::kUnknown;   // of the statement that holds it
};

// Returns the column in which the statements start, as far as one of them has it.
int32_t column_of(const Starts& starts, std::span<const ast::NodeId> items);

// Returns the same for the statements of a block, which start further right than what holds it.
int32_t column_of(const ast::Tree& tree, const Starts& starts, std::span<const ast::NodeId> items,
                  const Block& block);

// Returns true for an `if` in `column` whose test was written in `not (`: its body starts one step
// further right than the column.
bool is_negated_in(const ast::Tree& tree, const Starts& starts, ast::NodeId statement,
                   int32_t column);

// Returns true if a statement was written as an `elif` of an `if` in `column`.
bool is_elif(const ast::Tree& tree, const Starts& starts, ast::NodeId statement, int32_t column);

// Appends the lists in the statements of a list, given its end and its column.
void add_blocks(const ast::Tree& tree, const Starts& starts, std::span<const ast::NodeId> items,
                End end, int32_t column, std::vector<Block>& todo);

// Calls rewrite(items, end, column) on every list that has a statement of the wanted kinds, outer
// lists first, and stores those that it changed.
template <typename Rewrite>
void for_each_block(ast::Tree& tree, Statements& body, bool is_function, const Starts& starts,
                    ast::Kinds wanted, Rewrite rewrite) {
  std::vector<Block> todo{{{Place{}, is_function ? End::Return : End::Other}, Starts::kUnknown}};
  while (!todo.empty()) {
    const Block block = todo.back();
    todo.pop_back();
    const Place place = block.list.place;
    const auto found =
        place.owner.valid() ? view_at(tree, place) : std::span<const ast::NodeId>(body);
    ast::Kinds kinds;
    for (const ast::NodeId item : found) kinds.add(tree.kind(item));
    const bool is_wanted = kinds.meets(wanted);
    if (!is_wanted && !kinds.meets(kWithLists)) continue;
    const int32_t column = column_of(tree, starts, found, block);
    if (!is_wanted) {
      add_blocks(tree, starts, found, block.list.end, column, todo);
      continue;
    }
    Statements items(found.begin(), found.end());
    rewrite(items, block.list.end, column);
    add_blocks(tree, starts, items, block.list.end, column, todo);
    store_at(tree, body, place, items);
  }
}

}  // namespace pellucid::polish
