// SPDX-License-Identifier: Apache-2.0
#include "polish/blocks.h"

#include "polish/keywords.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

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
  if (column > block.outer + kParenthesis) return column;
  // `if a: assert False` is read as `assert not a`, whose column is another one.
  constexpr int32_t kUsual = 4;
  if (tree.is(items[0], Kind::Assert)) return block.outer + kUsual;
  // Its test has a `not` that only our reading has.
  return tree.is(items[0], Kind::If) ? column + width_of("not ") : column;
}

bool is_elif(const ast::Tree& tree, NodeId statement, int32_t start, int32_t column) {
  return tree.is(statement, Kind::If) && start - column >= kElif &&
         start - column <= kElif + kParenthesis;
}

void add_blocks(const ast::Tree& tree, const Starts& starts, std::span<const NodeId> items, End end,
                int32_t column, std::vector<Block>& todo) {
  std::vector<List> lists;
  for (const NodeId item : items) {
    if (!kWithLists.has(tree.kind(item))) continue;
    lists.clear();
    add_lists(tree, item, item == items.back() ? end : End::Other, lists);
    for (const List& list : lists) {
      const auto inside = view_at(tree, list.place);
      const bool chained = tree.is(item, Kind::If) && inside.size() == 1 &&
                           column != Starts::kUnknown &&
                           is_elif(tree, inside[0], starts.of(inside[0]), column);
      todo.push_back({list, chained ? column : Starts::kUnknown, column});
    }
  }
}

}  // namespace pellucid::polish
