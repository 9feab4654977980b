// SPDX-License-Identifier: Apache-2.0
// A `continue` at the end of a clause leads where falling off its end does, if the `try` is the
// last statement of a loop's body or has an `else` that is. Up to 3.9, code that never runs follows
// the jump of the statement: the compiler leaves each clause once more (compiler_try_except). From
// 3.11 on, the jump at the end of any list has the place of the statement, and so has what leaves a
// clause before it; a `return` does that in a function, out of a `with` or a `finally` too.
#include <algorithm>

#include "ast/nodes.h"
#include "polish/ends.h"
#include "polish/extents.h"
#include "polish/keywords.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::ListId;
using ast::NodeId;
using ast::Suite;

namespace {

class Continues {
 public:
  Continues(ast::Tree& tree, const object::LeftCode& left) : tree_(tree), left_(left) {}

  void run(Statements& body, bool is_function) {
    for_each_suite(tree_, body, is_function, [&](Statements& items, const List& list) {
      if (items.empty() || list.end != End::Continue) return;
      // What is taken out may end in such a statement, too.
      while (write(items.back()) && take_out(items)) {
      }
    });
  }

 private:
  // Writes the `continue` of each clause that had one. Returns true if there was any.
  bool write(NodeId statement) {
    if (!is_try_without_finally(tree_, statement)) return false;
    const auto attempt = tree_.as<ast::Try>(statement);
    if (attempt.is_star != 0) return false;
    bool found = false;
    const auto list = tree_.items(attempt.handlers);
    const Statements handlers(list.begin(), list.end());
    for (size_t i = 0; i < handlers.size(); ++i) {
      const uint32_t limit =
          i + 1 < handlers.size() ? tree_.where(handlers[i + 1]).offset : ast::kNowhere;
      found |= write_in(handlers[i], limit);
    }
    return found;
  }

  // `limit`: the offset of the next clause.
  bool write_in(NodeId handler, uint32_t limit) {
    auto clause = tree_.as<ast::ExceptHandler>(handler);
    const auto list = tree_.items(clause.body);
    Statements items(list.begin(), list.end());
    const bool is_plain = std::none_of(
        items.begin(), items.end(), [&](NodeId item) { return kWithLists.has(tree_.kind(item)); });
    if (!is_plain || never_falls_through(tree_, clause.body)) return false;
    const uint32_t last = last_offset(tree_, handler);
    if (last == ast::kNowhere) return false;
    const auto jump =
        std::upper_bound(left_.taken.begin(), left_.taken.end(), last,
                         [](uint32_t at, const object::TakenJump& one) { return at < one.offset; });
    if (jump == left_.taken.end() || !jump->leaves_early || jump->offset >= limit) return false;
    if (items.size() == 1 && tree_.is(items[0], Kind::Pass)) items.clear();
    items.push_back(tree_.add(ast::Continue{}, {-1, jump->offset}));
    clause.body = tree_.list(items);
    tree_.set(handler, clause);
    return true;
  }

  // Puts the `else` of the last statement after it, if nothing else leads there. Returns true if it
  // did.
  bool take_out(Statements& items) {
    const NodeId statement = items.back();
    auto attempt = tree_.as<ast::Try>(statement);
    const auto rest = tree_.items(attempt.orelse);
    if (!handlers_never_go_on(tree_, attempt) || rest.empty()) return false;
    items.insert(items.end(), rest.begin(), rest.end());
    attempt.orelse = {};
    tree_.set(statement, attempt);
    return true;
  }

  ast::Tree& tree_;
  const object::LeftCode& left_;
};

// The jump that was written after the last statement of a list, and its code unit; kNoUnit: there
// was none.
struct Jump {
  uint32_t unit = Starts::kNoUnit;
  bool has_none = false;  // `return None`
};

Jump jump_after(const ast::Tree& tree, NodeId last, End end, const Starts& starts) {
  const object::Places& places = starts.places();
  const Starts::Next next = starts.after(last);
  const object::SourcePlace here = places.at(next.unit);
  const int32_t wide = here.columns.width();
  const bool has_none = end == End::Return && wide == width_of("None");
  const int32_t start = here.columns.begin - (has_none ? width_of("return ") : 0);
  const bool is_it = has_none || wide == width_of(end == End::Return ? "return" : "continue");
  if (next.unit == 0 || !is_it || start != starts.of(last)) return {};
  // A `for` gets there from its header.
  const bool is_left = !tree.is(last, Kind::For) && places.is_left_before(next.unit);
  if (here.line <= tree.where(last).line || is_left) return {};
  // A NOP, the jump, or what leaves a clause and then the jump.
  const uint32_t leaving = places.last_leaving(places.end_of_place(next.unit));
  const bool leaves = leaving != Starts::kNoUnit && leaving >= next.unit;
  return leaves || places.is_nop(next.unit) ? Jump{next.unit, has_none} : Jump();
}

void write_by_columns(ast::Tree& tree, Statements& body, bool is_function, const Starts& starts) {
  for_each_suite(tree, body, is_function, [&](Statements& items, const List& list) {
    // A `continue` in the `else` of a loop comes right after the body.
    const NodeId owner = list.place.owner;
    const bool is_loop =
        owner.valid() && (tree.is(owner, Kind::For) || tree.is(owner, Kind::While));
    const bool has_else = is_loop && !view_at(tree, place_of(tree, owner, Suite::Orelse)).empty();
    if (list.end == End::Other || !owner.valid() || has_else) return;
    Statements rest = items;
    // One without a place may be that one.
    const bool may_be = rest.size() > 1 && tree.is(rest.back(), Kind::Continue);
    if (may_be && starts.unit_of(rest.back()) == Starts::kNoUnit) rest.pop_back();
    if (rest.empty() || never_falls_through(tree, rest)) return;
    const Jump found = jump_after(tree, rest.back(), list.end, starts);
    if (found.unit == Starts::kNoUnit) return;
    const ast::Where where{starts.places().at(found.unit).line, found.unit * 2};
    rest.push_back(found.has_none ? tree.add(ast::Return{ast::none_node(tree, {})}, where)
                                  : jump(tree, list.end, where));
    items = std::move(rest);
  });
}

}  // namespace

void write_jumps(ast::Tree& tree, Statements& body, bool is_function, const Starts& starts) {
  if (starts.known()) return write_by_columns(tree, body, is_function, starts);
  if (!tree.made().meets({Kind::For, Kind::While})) return;
  const object::LeftCode* left = starts.left();
  if (left == nullptr) return;
  const bool any = std::any_of(left->taken.begin(), left->taken.end(),
                               [](const object::TakenJump& one) { return one.leaves_early; });
  if (any) Continues(tree, *left).run(body, is_function);
}

}  // namespace pellucid::polish
