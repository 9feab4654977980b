// SPDX-License-Identifier: Apache-2.0
// What an endless loop leads to in one way only may be read in it: from 3.12 on the compiler moves
// a short `return` or `raise` after the loop to the `break` before it. Its column shows that it was
// written after the loop: it starts no further right.
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
    if (items.empty() || !is_endless(tree_, items.back())) return;
    last_column_ = column;
    if (column == Starts::kUnknown) {
      const int32_t inside = starts_.of_list(tree_.as<ast::While>(items.back()).body);
      if (inside == Starts::kUnknown) return;
      last_column_ = inside - kElif;
    }
    found_.clear();
    look_into(items.back());
    if (found_.size() != 1 || has_break(tree_, items.back())) return;
    Statements list = items_at(tree_, found_[0]);
    items.push_back(list.back());
    list.back() = tree_.add(ast::Break{});
    tree_.set_slot(found_[0].owner, found_[0].field, tree_.list(list).value);
  }

 private:
  // Finds the lists that end in a `return` of a value or a `raise` where a `break` would leave the
  // loop, and no region with it.
  void look_into(NodeId loop) {
    std::vector<List> todo;
    add_lists(tree_, loop, End::Other, todo);
    while (!todo.empty()) {
      const Place place = todo.back().place;
      todo.pop_back();
      for (const NodeId item : view_at(tree_, place)) {
        switch (tree_.kind(item)) {
          case Kind::If:
          case Kind::Match:
            add_lists(tree_, item, End::Other, todo);
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
