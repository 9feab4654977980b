// SPDX-License-Identifier: Apache-2.0
// Undoes tail duplication. Compilers copy a short exit of a function or a loop to each of its
// predecessors: if what a statement holds ends with the statements on the same lines that follow
// it, they were written there alone. Out of a `try` or a `with`, only jumps that cannot raise are
// dropped.
#include <algorithm>
#include <span>

#include "polish/ends.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

namespace {

constexpr size_t kLongest = 4;     // statements that are copied
constexpr size_t kMostOwners = 8;  // that are looked into from one statement: each is one of many
constexpr ast::Kinds kOwners = {Kind::If, Kind::With, Kind::Try};

// `copy`: at the end of an arm in `owner`. Where columns are known, a jump without a place was not
// written, and that of the arm may have the place of the one after `owner`; where they are not,
// nobody writes a jump of a loop twice.
bool is_one(const ast::Tree& tree, const Starts& starts, NodeId copy, NodeId other, NodeId owner) {
  if (tree.kind(copy) != tree.kind(other) || !ast::same(tree, copy, other)) return false;
  const int32_t line = tree.where(copy).line;
  if (line >= 0 && line == tree.where(other).line) return true;
  const bool is_of_loop = tree.is(copy, Kind::Break) || tree.is(copy, Kind::Continue);
  if (!starts.known()) return is_of_loop;
  const auto has_no_place = [&](NodeId jump) {
    return starts.jump(jump, NodeId()) <= Starts::Jump::None;
  };
  return (is_bare_jump(tree, copy) && has_no_place(copy)) ||
         (is_of_loop && has_no_place(other) && starts.own(copy).begin == starts.of(owner));
}

// Returns how many statements are left of a list that ends as control would go on after it.
size_t count_before(const ast::Tree& tree, const Starts& starts, std::span<const NodeId> list,
                    std::span<const NodeId> rest, NodeId owner) {
  if (rest.empty() || list.size() <= rest.size()) return list.size();
  const auto end = list.last(rest.size());
  const bool are_same = std::ranges::equal(
      end, rest, [&](NodeId a, NodeId b) { return is_one(tree, starts, a, b, owner); });
  return are_same ? list.size() - rest.size() : list.size();
}

}  // namespace

void drop_copies(ast::Tree& tree, NodeId statement, std::span<const NodeId> rest,
                 const Starts& starts) {
  // Where columns are not known, the one in the `try` or `with` is as good.
  const bool is_quiet = starts.known() && is_quiet_jump(tree, rest);
  std::vector<NodeId> todo{statement};
  std::vector<List> lists;
  for (size_t i = 0; i < kMostOwners && !todo.empty(); ++i) {
    const NodeId owner = todo.back();
    todo.pop_back();
    if (!kOwners.has(tree.kind(owner)) || !(is_quiet || tree.is(owner, Kind::If))) continue;
    lists.clear();
    // Other: control does not fall off a list to what follows.
    add_lists(tree, owner, End::Return, lists);
    for (const List& list : lists) {
      if (list.end == End::Other) continue;
      const auto items = view_at(tree, list.place);
      const size_t count = count_before(tree, starts, items, rest, statement);
      if (count > 0) todo.push_back(items[count - 1]);
      if (count == items.size()) continue;
      const Statements left(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count));
      tree.set_slot(list.place.owner, list.place.field, tree.list(left).value);
    }
  }
}

void drop_repeated_ends(ast::Tree& tree, Statements& body, Outline& outline, const Starts& starts) {
  for_each_list(tree, body, outline, kOwners, [&](Statements& items) {
    // A long list ends in no copy.
    const size_t first = items.size() > kLongest ? items.size() - kLongest : 0;
    for (size_t i = first; i + 1 < items.size(); ++i) {
      drop_copies(tree, items[i], std::span<const NodeId>(items).subspan(i + 1), starts);
    }
  });
}

}  // namespace pellucid::polish
