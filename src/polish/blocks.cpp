// SPDX-License-Identifier: Apache-2.0
#include "polish/blocks.h"

#include "ast/nodes.h"
#include "polish/keywords.h"
#include "polish/negations.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

namespace {

// Returns true for an `if` in `column` that cannot be there: its body starts no further right, or
// is a jump that was not written. The opposite of its test was written, with a `not`.
bool is_opposite(const ast::Tree& tree, const Starts& starts, NodeId statement, int32_t column) {
  if (!tree.is(statement, Kind::If)) return false;
  const ast::ListId list = tree.as<ast::If>(statement).body;
  const auto body = tree.items(list);
  const int32_t inside = starts.of_list(list);
  if (inside != Starts::kUnknown) return inside <= column;
  return body.size() == 1 && is_bare_jump(tree, body[0]) &&
         starts.jump(body[0], statement) <= Starts::Jump::None;
}

}  // namespace

int32_t column_of(const Starts& starts, std::span<const NodeId> items) {
  for (const NodeId item : items) {
    const int32_t start = starts.of(item);
    if (start != Starts::kUnknown) return start;
  }
  return Starts::kUnknown;
}

int32_t column_of(const ast::Tree& tree, const Starts& starts, std::span<const NodeId> items,
                  const Block& block) {
  if (block.column != Starts::kUnknown) return block.column;
  const int32_t column = column_of(starts, items);
  if (column == Starts::kUnknown || block.outer == Starts::kUnknown) return column;
  constexpr int32_t kUsual = 4;
  const NodeId owner = block.list.place.owner;
  const bool is_case = owner.valid() && tree.is(owner, Kind::match_case);
  const int32_t usual = block.outer + (is_case ? 2 * kUsual : kUsual);
  if (column == usual + width_of("not ") && is_opposite(tree, starts, items[0], column)) {
    return usual;
  }
  if (column > block.outer + kParenthesis) return column;
  // `if a: assert False` is read as `assert not a`, whose column is another one.
  if (tree.is(items[0], Kind::Assert)) return usual;
  // Its test has a `not` that only our reading has.
  return tree.is(items[0], Kind::If) ? column + width_of("not ") : column;
}

bool is_negated_in(const ast::Tree& tree, const Starts& starts, NodeId statement, int32_t column) {
  constexpr int32_t kUsual = 4;
  if (!tree.is(statement, Kind::If) || column == Starts::kUnknown) return false;
  const auto branch = tree.as<ast::If>(statement);
  return starts.of_test(branch.test) == column + width_of("not (") &&
         starts.of_list(branch.body) == column + kUsual;
}

bool is_elif(const ast::Tree& tree, const Starts& starts, NodeId statement, int32_t column) {
  if (!tree.is(statement, Kind::If) || column == Starts::kUnknown) return false;
  const auto is_at = [&](int32_t start) {
    return start - column >= kElif && start - column <= kElif + kParenthesis;
  };
  // In an `elif a: if b:` that is read as one test, the body starts further right than usual.
  const NodeId test = tree.as<ast::If>(statement).test;
  const int32_t start = starts.of_test(test);
  if (start == Starts::kUnknown) return false;
  // The test of the arm before it may have been written, which is the opposite.
  const bool is_negated =
      is_not(tree, test) || (tree.is(test, Kind::BoolOp) &&
                             is_not(tree, tree.items(tree.as<ast::BoolOp>(test).values)[0]));
  return is_at(starts.of(statement)) || is_at(start) ||
         (is_negated && is_at(start + width_of("not ")));
}

void add_blocks(const ast::Tree& tree, const Starts& starts, std::span<const NodeId> items, End end,
                int32_t column, std::vector<Block>& todo) {
  // An `elif` whose test is on other lines, in brackets.
  const auto is_below = [&](NodeId first) {
    if (!tree.is(first, Kind::If) || column == Starts::kUnknown) return false;
    const int32_t start = starts.of(first);
    return start != Starts::kUnknown && start <= column + kParenthesis;
  };
  // The second half of a test, which is joined with the first one later.
  const auto is_of_test = [&](NodeId owner, std::span<const NodeId> inside) {
    const int32_t line = tree.where(inside[0]).line;
    return inside.size() == 1 && tree.is(inside[0], Kind::If) && line >= 0 &&
           line == tree.where(owner).line;
  };
  std::vector<List> lists;
  for (const NodeId item : items) {
    if (!kWithLists.has(tree.kind(item))) continue;
    lists.clear();
    add_lists(tree, item, item == items.back() ? end : End::Other, lists);
    for (const List& list : lists) {
      const auto inside = view_at(tree, list.place);
      // What follows an `elif` that never falls through may be its `else`.
      const bool is_arm = inside.size() == 1 ||
                          (inside.size() > 1 && suite_at(tree, list.place) == ast::Suite::Orelse);
      const bool chained =
          tree.is(item, Kind::If) && is_arm &&
          (is_elif(tree, starts, inside[0], column) || is_of_test(item, inside) ||
           (suite_at(tree, list.place) == ast::Suite::Orelse && is_below(inside[0])));
      todo.push_back({list, chained ? column : Starts::kUnknown, column});
    }
  }
}

}  // namespace pellucid::polish
