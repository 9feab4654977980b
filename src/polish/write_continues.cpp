// SPDX-License-Identifier: Apache-2.0
// A `continue` at the end of a clause leads where falling off its end does, if the `try` is the
// last statement of a loop's body or has an `else` that is. Up to 3.9, code that never runs follows
// the jump of the statement: the compiler leaves each clause once more (compiler_try_except). From
// 3.11 on, the jump at the end of any list has the place of the statement, and so has what leaves a
// clause before it.
#include <algorithm>

#include "polish/ends.h"
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
    const uint32_t last = last_offset(handler);
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

  // Returns the offset of the last instruction of a clause, as far as it is known.
  uint32_t last_offset(NodeId handler) const {
    uint32_t last = ast::kNowhere;
    for (const NodeId node : own_nodes(tree_, {handler})) {
      const ast::Where at = tree_.where(node);
      if (at.code.valid() || at.offset == ast::kNowhere) continue;
      if (last == ast::kNowhere || at.offset > last) last = at.offset;
    }
    return last;
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

// Returns the code unit of the `continue` that was written after the last statement of a list;
// kNoUnit: there was none.
uint32_t unit_of_continue(const ast::Tree& tree, const Statements& items, const Starts& starts) {
  const object::Places& places = starts.places();
  const Starts::Next next = starts.after(items.back());
  const object::SourcePlace here = places.at(next.unit);
  const bool is_it = here.columns.width() == width_of("continue") &&
                     here.columns.begin == starts.of(items.back()) &&
                     here.line > tree.where(items.back()).line;
  if (next.unit == 0 || !is_it || places.is_left_before(next.unit)) return Starts::kNoUnit;
  // A NOP, the jump, or what leaves a clause and then the jump.
  const uint32_t last = places.last_leaving(places.end_of_place(next.unit));
  const bool leaves = last != Starts::kNoUnit && last >= next.unit;
  return leaves || places.is_nop(next.unit) ? next.unit : Starts::kNoUnit;
}

void write_by_columns(ast::Tree& tree, Statements& body, bool is_function, const Starts& starts) {
  for_each_suite(tree, body, is_function, [&](Statements& items, const List& list) {
    // A `continue` in the `else` of a loop comes right after the body.
    const NodeId owner = list.place.owner;
    const bool is_loop =
        owner.valid() && (tree.is(owner, Kind::For) || tree.is(owner, Kind::While));
    const bool has_else = is_loop && !view_at(tree, place_of(tree, owner, Suite::Orelse)).empty();
    if (list.end != End::Continue || has_else) return;
    Statements rest = items;
    // One without a place may be that one.
    const bool may_be = rest.size() > 1 && tree.is(rest.back(), Kind::Continue);
    if (may_be && starts.unit_of(rest.back()) == Starts::kNoUnit) rest.pop_back();
    if (rest.empty() || never_falls_through(tree, rest)) return;
    const uint32_t unit = unit_of_continue(tree, rest, starts);
    if (unit == Starts::kNoUnit) return;
    rest.push_back(tree.add(ast::Continue{}, {starts.places().at(unit).line, unit * 2}));
    items = std::move(rest);
  });
}

}  // namespace

void write_continues(ast::Tree& tree, Statements& body, bool is_function, const Starts& starts) {
  if (!tree.made().meets({Kind::For, Kind::While})) return;
  if (starts.known()) return write_by_columns(tree, body, is_function, starts);
  const object::LeftCode* left = starts.left();
  if (left == nullptr) return;
  const bool any = std::any_of(left->taken.begin(), left->taken.end(),
                               [](const object::TakenJump& one) { return one.leaves_early; });
  if (any) Continues(tree, *left).run(body, is_function);
}

}  // namespace pellucid::polish
