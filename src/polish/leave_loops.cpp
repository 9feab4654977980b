// SPDX-License-Identifier: Apache-2.0
// What an endless loop leads to in one way only may be read in it: from 3.12 on the compiler moves
// a short `return` or `raise` after the loop to the `break` before it. Its column shows that it was
// written after the loop: it starts no further right.
#include <algorithm>
#include <string_view>
#include <vector>

#include "ast/nodes.h"
#include "polish/blocks.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

namespace {

class Leaving {
 public:
  Leaving(ast::Tree& tree, const Starts& starts) : tree_(tree), starts_(starts) {}

  // `column`: that of the list.
  void rewrite(Statements& items, int32_t column) {
    if (items.empty() || !is_endless(items.back())) return;
    last_column_ = column;
    if (column == Starts::kUnknown) {
      const int32_t inside = starts_.of_list(tree_.as<ast::While>(items.back()).body);
      if (inside == Starts::kUnknown) return;
      last_column_ = inside - kElif;
    }
    found_.clear();
    if (!look_into(items.back()) || found_.size() != 1) return;
    Statements list = items_at(tree_, found_[0]);
    items.push_back(list.back());
    list.back() = tree_.add(ast::Break{});
    tree_.set_slot(found_[0].owner, found_[0].field, tree_.list(list).value);
  }

 private:
  bool is_endless(NodeId loop) const {
    return tree_.is(loop, Kind::While) &&
           ast::is_constant(tree_, tree_.as<ast::While>(loop).test, object::ConstKind::True) &&
           tree_.items(tree_.as<ast::While>(loop).orelse).empty();
  }

  // Finds the lists that end in a `return` of a value or a `raise` where a `break` would leave the
  // loop, and no region with it. Returns false if there is a `break`.
  bool look_into(NodeId loop) {
    std::vector<List> todo;
    add_lists(tree_, loop, End::Other, todo);
    while (!todo.empty()) {
      const Place place = todo.back().place;
      todo.pop_back();
      for (const NodeId item : view_at(tree_, place)) {
        switch (tree_.kind(item)) {
          case Kind::Break:
            return false;
          case Kind::If:
          case Kind::Match:
            add_lists(tree_, item, End::Other, todo);
            break;
          case Kind::For:
          case Kind::While:
          case Kind::Try:
          case Kind::With:
            if (has_break(item)) return false;
            break;
          case Kind::Return:
            if (tree_.as<ast::Return>(item).value.valid()) note(place, item);
            break;
          case Kind::Raise:
            note(place, item);
            break;
          default:
            break;
        }
      }
    }
    return true;
  }

  // Of a loop only the `else` counts.
  bool has_break(NodeId statement) const {
    std::vector<List> todo;
    add_lists_around(statement, todo);
    while (!todo.empty()) {
      const Place place = todo.back().place;
      todo.pop_back();
      for (const NodeId item : view_at(tree_, place)) {
        if (tree_.is(item, Kind::Break)) return true;
        add_lists_around(item, todo);
      }
    }
    return false;
  }

  void add_lists_around(NodeId statement, std::vector<List>& lists) const {
    const size_t before = lists.size();
    add_lists(tree_, statement, End::Other, lists);
    if (!tree_.is(statement, Kind::For) && !tree_.is(statement, Kind::While)) return;
    const auto is_body = [&](const List& list) {
      const auto fields = ast::fields_of(tree_.kind(list.place.owner));
      return std::string_view(fields[list.place.field].name) == "body";
    };
    lists.erase(
        std::remove_if(lists.begin() + static_cast<ptrdiff_t>(before), lists.end(), is_body),
        lists.end());
  }

  // Those that start further right than the loop were written in it.
  void note(Place place, NodeId item) {
    const int32_t start = starts_.of(item);
    const bool is_after = start != Starts::kUnknown && start <= last_column_;
    if (is_after && view_at(tree_, place).back() == item) found_.push_back(place);
  }

  ast::Tree& tree_;
  const Starts& starts_;
  int32_t last_column_ = 0;  // of what was written after the loop
  std::vector<Place> found_;
};

}  // namespace

void leave_loops(ast::Tree& tree, Statements& body, bool is_function, const Starts& starts) {
  if (!starts.known()) return;
  Leaving leaving(tree, starts);
  for_each_block(tree, body, is_function, starts, {Kind::While},
                 [&](Statements& items, End, int32_t column) { leaving.rewrite(items, column); });
}

}  // namespace pellucid::polish
