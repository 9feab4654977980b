// SPDX-License-Identifier: Apache-2.0
// A `pass` or `continue` leaves nothing but its place: in the jump or the NOP that stands where it
// was. `if a: pass else: b` is read as `if not a: b`, and a `pass` after another statement or alone
// in an `else` is not read at all. Where a place of that width is in the column of the statements
// beside it, the statement is written again.
#include "ast/nodes.h"
#include "polish/blocks.h"
#include "polish/keywords.h"
#include "polish/negations.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::ListId;
using ast::NodeId;

namespace {

class Arms {
 public:
  Arms(ast::Tree& tree, const Starts& starts) : tree_(tree), starts_(starts) {}

  void run(Statements& body, bool is_function) {
    const bool looks_at_arms = starts_.has_places_of_jumps();
    for_each_suite(tree_, body, is_function, [&](Statements& items, const List& list) {
      for (const NodeId item : items) {
        if (tree_.is(item, Kind::For)) write_ellipsis(item);
        if (!looks_at_arms || !tree_.is(item, Kind::If)) continue;
        write_first_arm(item, item == items.back() ? list.end : End::Other);
        write_last_arm(item);
      }
      if (list.place.owner.valid() && !items.empty()) {
        write_passes_at_end(list.place.owner, items);
      }
    });
  }

 private:
  // Before: `if not a: b`, with the place of a `pass` between a and b. After: `if a: pass else: b`.
  void write_first_arm(NodeId statement, End end) {
    auto branch = tree_.as<ast::If>(statement);
    const auto body = tree_.items(branch.body);
    if (body.empty() || !tree_.items(branch.orelse).empty()) return;
    const Starts::Next next = starts_.after_test(statement);
    const bool is_pass = next.columns.width() == width_of("pass");
    const bool is_continue = next.columns.width() == width_of("continue") && end == End::Continue;
    if (!is_pass && !is_continue) return;
    if (!is_beside(next, body)) return;
    const ast::Where at = tree_.where(statement);
    const NodeId jump = is_pass ? tree_.add(ast::Pass{}, at) : tree_.add(ast::Continue{}, at);
    branch.orelse = branch.body;
    branch.body = tree_.list({jump});
    branch.test = opposite(tree_, branch.test);
    tree_.set(statement, branch);
  }

  // Before: `if a: b`, with the place of a `pass` after the jump that ends b. After: `else: pass`.
  void write_last_arm(NodeId statement) {
    auto branch = tree_.as<ast::If>(statement);
    const auto body = tree_.items(branch.body);
    if (body.empty() || !tree_.items(branch.orelse).empty() || !is_simple(body.back())) return;
    const Starts::Next next = starts_.after(body.back());
    if (next.columns.width() != width_of("pass") || next.columns.begin != starts_.of(body.back()))
      return;
    if (!starts_.places().only_leaves(next.unit) && !starts_.places().is_nop(next.unit)) return;
    if (!starts_.places().is_left_before(next.unit)) return;
    branch.orelse = tree_.list({tree_.add(ast::Pass{}, {-1, next.unit * 2})});
    tree_.set(statement, branch);
  }

  // Returns true if nothing but a place is in the column of statements that start after it.
  bool is_beside(const Starts::Next& next, std::span<const NodeId> items) {
    if (!starts_.places().only_leaves(next.unit) && !starts_.places().is_nop(next.unit))
      return false;
    // What falls through to the statements was written before them, in the same list.
    const uint32_t first = starts_.first_unit(items);
    if (first <= next.unit || starts_.places().comes_to(next.unit, first)) return false;
    const int32_t start = starts_.of(items[0]);
    // An `elif` starts further left, and its test further right.
    if (tree_.is(items[0], Kind::If) && start == next.columns.begin - kUsual + kElif) {
      return true;
    }
    return start == next.columns.begin;
  }

  // Before: `for a in b: pass`, with a jump as wide as `...`. After: `for a in b: ...`.
  void write_ellipsis(NodeId statement) {
    auto loop = tree_.as<ast::For>(statement);
    const auto body = tree_.items(loop.body);
    if (body.size() > 1 || (body.size() == 1 && !tree_.is(body[0], Kind::Pass))) return;
    const Starts::Next next = starts_.after(loop.target);
    if (next.columns.width() != width_of("...") || starts_.places().is_left_before(next.unit) ||
        !starts_.places().only_leaves(next.unit)) {
      return;
    }
    const NodeId dots = constant_node(tree_, object::ConstKind::Ellipsis);
    loop.body = tree_.list({tree_.add(ast::Expr{dots}, {-1, next.unit * 2})});
    tree_.set(statement, loop);
  }

  bool is_simple(NodeId statement) const {
    switch (tree_.kind(statement)) {
      case Kind::Expr:
      case Kind::Assign:
      case Kind::AugAssign:
      case Kind::Delete:
        return true;
      default:
        return false;
    }
  }

  // Before: a list that ends in a simple statement. After: with the `pass` that has left its place.
  void write_passes_at_end(NodeId owner, Statements& items) {
    if (!may_end(owner) || !is_simple(items.back())) return;
    const int32_t start = starts_.of(items.back());
    if (start == Starts::kUnknown) return;
    const Starts::Next next = starts_.after(items.back());
    if (next.columns.width() != width_of("pass") || next.columns.begin != start) return;
    // The `pass` that an `else` starts with comes after the jump back.
    if (starts_.places().is_nop(next.unit) && starts_.places().is_left_before(next.unit)) return;
    const uint32_t stop = starts_.places().end_of_place(next.unit);
    for (uint32_t unit = next.unit; unit < stop; ++unit) {
      if (!ends(owner, unit)) break;
      items.push_back(tree_.add(ast::Pass{}, {-1, unit * 2}));
      if (!starts_.places().is_nop(unit)) break;
    }
  }

  bool may_end(NodeId owner) const {
    return ast::Kinds{Kind::ExceptHandler, Kind::With, Kind::For, Kind::While}.has(
        tree_.kind(owner));
  }

  // Returns true if a code unit after a list may stand for its end. What leaves a clause, a loop or
  // a `with` comes right after it; after others there may be any code.
  bool ends(NodeId owner, uint32_t unit) const {
    switch (tree_.kind(owner)) {
      case Kind::ExceptHandler:
        return true;
      case Kind::With:
        return starts_.places().is_nop(unit);
      case Kind::For:
      case Kind::While:
        return starts_.places().is_nop(unit) || starts_.places().only_leaves(unit);
      default:
        return false;
    }
  }

  static constexpr int32_t kUsual = 4;  // the usual indentation

  ast::Tree& tree_;
  const Starts& starts_;
};

}  // namespace

void write_arms(ast::Tree& tree, Statements& body, bool is_function, const Starts& starts) {
  if (starts.known()) Arms(tree, starts).run(body, is_function);
}

}  // namespace pellucid::polish
