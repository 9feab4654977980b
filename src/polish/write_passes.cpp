// SPDX-License-Identifier: Apache-2.0
// A `pass` or `...` before another statement leaves a NOP, since its line has no other code. From
// 3.11 on, the NOP is as wide as the statement, and in the column of those beside it. (Another
// constant leaves one too; what it was, nothing tells.)
#include <algorithm>

#include "ast/nodes.h"
#include "polish/ends.h"
#include "polish/keywords.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

namespace {

class Passes {
 public:
  Passes(ast::Tree& tree, const Starts& starts, std::span<const uint32_t> nops)
      : tree_(tree), starts_(starts) {
    for (const uint32_t unit : nops) {
      const int32_t wide = Starts::Next{unit, starts.of_unit(unit)}.width();
      if (wide == width_of("pass") || wide == width_of("...")) left_.push_back(unit);
    }
  }

  void run(Statements& body) {
    if (left_.empty()) return;
    drop_those_alone_in_arms(body);
    std::vector<List> todo{{Place{}, End::Other}};
    while (!todo.empty() && !left_.empty()) {
      const Place place = todo.back().place;
      todo.pop_back();
      const bool is_inner = place.owner.valid();
      const Statements items = is_inner ? items_at(tree_, place) : body;
      for (const NodeId item : items) add_lists(tree_, item, End::Other, todo);
      const Statements made = with_passes(place, items);
      if (made.size() == items.size()) continue;
      if (is_inner) {
        tree_.set_slot(place.owner, place.field, tree_.list(made).value);
      } else {
        body = made;
      }
    }
  }

 private:
  // `if a: pass` has its NOP right after the test.
  void drop_those_alone_in_arms(const Statements& body) {
    for (const NodeId branch : own_nodes(tree_, body, {Kind::If})) {
      std::erase(left_, starts_.after_test(branch).unit);
    }
  }

  Statements with_passes(Place place, const Statements& items) {
    Statements made;
    uint32_t before = start_of(place);
    for (const NodeId item : items) {
      const uint32_t first = starts_.first_unit({&item, 1});
      if (first != Starts::kNoUnit && before != Starts::kNoUnit) {
        add_passes(before, first, item, made);
      }
      if (first != Starts::kNoUnit) before = first;
      made.push_back(item);
    }
    return made;
  }

  // Returns a code unit before those of a list, and after all that is before its owner; kNoUnit: it
  // is not known.
  uint32_t start_of(Place place) const {
    if (!place.owner.valid()) return 0;
    NodeId header;
    switch (tree_.kind(place.owner)) {
      case Kind::If:
        header = tree_.as<ast::If>(place.owner).test;
        break;
      case Kind::While:
        header = tree_.as<ast::While>(place.owner).test;
        break;
      case Kind::For:
        header = tree_.as<ast::For>(place.owner).iter;
        break;
      case Kind::With:
        header = tree_.items(tree_.as<ast::With>(place.owner).items)[0];
        break;
      case Kind::ExceptHandler:
        header = tree_.as<ast::ExceptHandler>(place.owner).type;
        break;
      default:
        break;
    }
    return header.valid() ? starts_.first_unit({&header, 1}) : Starts::kNoUnit;
  }

  // Appends a statement for each NOP between two units that is in the column of the next statement.
  void add_passes(uint32_t before, uint32_t first, NodeId next, Statements& made) {
    const auto is_here = [&](uint32_t unit) { return unit > before && unit < first; };
    if (std::none_of(left_.begin(), left_.end(), is_here)) return;
    const int32_t start = starts_.of(next);
    for (const uint32_t unit : std::vector<uint32_t>(left_)) {
      if (!is_here(unit) || starts_.of_unit(unit).begin != start) continue;
      const bool is_pass = starts_.of_unit(unit).end - start == width_of("pass");
      const ast::Where at{-1, unit * 2};
      made.push_back(is_pass ? tree_.add(ast::Pass{}, at)
                             : tree_.add(ast::Expr{ellipsis(tree_)}, at));
      std::erase(left_, unit);
    }
  }

  ast::Tree& tree_;
  const Starts& starts_;
  std::vector<uint32_t> left_;  // NOPs whose statement is not known
};

}  // namespace

void write_passes(ast::Tree& tree, Statements& body, const Starts& starts,
                  std::span<const uint32_t> nops) {
  if (starts.known()) Passes(tree, starts, nops).run(body);
}

}  // namespace pellucid::polish
