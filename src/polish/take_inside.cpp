// SPDX-License-Identifier: Apache-2.0
// What a statement leads to in one way only is read after it: the rest of the one arm that does not
// leave, what ends an endless loop, the `else` of a loop without `break`, a last `case _`.
// From 3.11 on, its column shows that it was written inside: it starts further right than the
// statement.
//
// Moving it there changes nothing but where it reads: control gets there in the same way. Out of a
// `try` or a `with`, and into one, only jumps are moved, which cannot raise; into a `with`, which
// may swallow an exception and go on, only those that do nothing. Into a loop, no jumps of the loop
// around it are moved.
#include <algorithm>
#include <optional>

#include "ast/nodes.h"
#include "polish/blocks.h"
#include "polish/negations.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::ListId;
using ast::NodeId;
using ast::Suite;

namespace {

// A list whose end leads to the statements that follow.
struct Target {
  Place place;
  bool quiet_only = false;   // takes only what cannot raise
  bool may_swallow = false;  // is in a statement that an exception may lead past
};

class Inside {
 public:
  Inside(ast::Tree& tree, const Starts& starts) : tree_(tree), starts_(starts) {}

  // Drops a `return` after a `with` or a `try` at the end of a function that was not written: the
  // layout may then say it in that statement.
  void drop_return(Statements& items) {
    if (items.size() < 2 || !is_bare_return(tree_, items.back())) return;
    const NodeId before = items[items.size() - 2];
    if (!tree_.is(before, Kind::With) && !tree_.is(before, Kind::Try)) return;
    if (starts_.jump(items.back(), before) <= Starts::Jump::None) items.pop_back();
  }

  void rewrite(Statements& items, End end, int32_t column) {
    if (column == Starts::kUnknown) return;
    // Nothing is taken into the statements before the first one with lists.
    const auto first =
        std::ranges::find_if(items, [&](NodeId item) { return kWithLists.has(tree_.kind(item)); });
    const auto least = static_cast<size_t>(first - items.begin());
    size_t stop = items.size();  // the end of the statements after `i` that start further right
    for (size_t i = items.size() - 1; i > least;) {
      --i;
      if (!is_deeper(items[i + 1], column)) stop = i + 1;
      if (stop == i + 1) continue;
      const std::span<const NodeId> rest = std::span(items).subspan(i + 1, stop - i - 1);
      if (!take(items[i], rest, stop == items.size() ? end : End::Other)) continue;
      items.erase(items.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                  items.begin() + static_cast<std::ptrdiff_t>(stop));
      stop = i + 1;
    }
  }

 private:
  // Returns true if a statement starts further right than its list.
  bool is_deeper(NodeId statement, int32_t column) const {
    const int32_t start = starts_.of(statement);
    return start != Starts::kUnknown && start >= column + kElif && start <= kDeepest;
  }

  // Moves statements into the one before them, or into the last one of its only arm that does not
  // leave, and so on, to where they are in line with others. Returns true if there is such a place.
  bool take(NodeId owner, std::span<const NodeId> rest, End end) {
    bool quiet_only = false;
    for (;;) {
      const Kind kind = tree_.kind(owner);
      if (kind == Kind::For || kind == Kind::While) {
        return !quiet_only && take_into_loop(owner, rest);
      }
      if (kind == Kind::Match && !quiet_only && take_as_case(owner, rest)) return true;
      const std::optional<Target> target = way_out(owner);
      quiet_only = quiet_only || (target && target->quiet_only);
      if (!target || (quiet_only && !is_quiet_jump(tree_, rest))) return false;
      if (target->may_swallow && !does_nothing(rest, end)) return false;
      Statements list = items_at(tree_, target->place);
      if (is_aligned(list, rest)) {
        if (list.size() == 1 && tree_.is(list[0], Kind::Pass)) list.clear();
        list.insert(list.end(), rest.begin(), rest.end());
        tree_.set_slot(target->place.owner, target->place.field, tree_.list(list).value);
        return true;
      }
      owner = list.back();
    }
  }

  // Returns true for a jump to where control gets without it. `end`: that of the list around.
  bool does_nothing(std::span<const NodeId> rest, End end) const {
    if (rest.size() != 1) return false;
    if (tree_.is(rest[0], Kind::Continue)) return end == End::Continue;
    return end == End::Return && is_bare_return(tree_, rest[0]);
  }

  // Returns true if statements start in the column of a list, as far as that is known.
  bool is_aligned(const Statements& list, std::span<const NodeId> rest) const {
    const int32_t column = column_of(starts_, list);
    if (column == Starts::kUnknown) return true;
    return std::abs(starts_.of(rest[0]) - column) <= error_of(rest[0]);
  }

  // Returns the error of counting back to the start of a statement.
  int32_t error_of(NodeId statement) const {
    const Kind kind = tree_.kind(statement);
    return kind == Kind::If || kind == Kind::While ? kParenthesis : 0;
  }

  // Returns true if statements were written in the `else` of the `if` at the end of a list.
  bool is_in_else(const Statements& list, std::span<const NodeId> rest) const {
    if (list.empty() || !tree_.is(list.back(), Kind::If)) return false;
    const auto branch = tree_.as<ast::If>(list.back());
    return tree_.items(branch.orelse).empty() && never_falls_through(tree_, branch.body) &&
           starts_.of(rest[0]) >= column_of(starts_, list) + kElif;
  }

  // Returns the only list in a statement from whose end control gets to the next statement.
  std::optional<Target> way_out(NodeId owner) const {
    std::vector<Place> arms;
    bool quiet_only = false, may_swallow = false;
    const auto add = [&](NodeId of, Suite suite) {
      const Place place = place_of(tree_, of, suite);
      if (!never_falls_through(tree_, view_at(tree_, place))) arms.push_back(place);
    };
    switch (tree_.kind(owner)) {
      case Kind::If:
        if (tree_.items(tree_.as<ast::If>(owner).orelse).empty()) return {};
        add(owner, Suite::Body);
        add(owner, Suite::Orelse);
        break;
      case Kind::With:
        add(owner, Suite::Body);
        quiet_only = may_swallow = true;
        break;
      case Kind::Try: {
        const auto attempt = tree_.as<ast::Try>(owner);
        const bool has_else = !tree_.items(attempt.orelse).empty();
        const bool has_finally = !tree_.items(attempt.finalbody).empty();
        add(owner, has_else ? Suite::Orelse : Suite::Body);
        // That is its `else`, which the layout finds.
        if (!has_else && !arms.empty() && !has_finally) return {};
        const size_t of_body = arms.size();
        for (const NodeId handler : tree_.items(attempt.handlers)) add(handler, Suite::Body);
        quiet_only = has_finally || of_body == 0;
        break;
      }
      case Kind::Match: {
        const auto cases = tree_.items(tree_.as<ast::Match>(owner).cases);
        if (!takes_rest(cases.back())) return {};
        for (const NodeId each : cases) add(each, Suite::Body);
        break;
      }
      default:
        return {};
    }
    if (arms.size() != 1) return {};
    return Target{arms[0], quiet_only, may_swallow};
  }

  bool takes_rest(NodeId last) const {
    const auto one = tree_.as<ast::match_case>(last);
    return !one.guard.valid() && ast::takes_everything(tree_, one.pattern);
  }

  // `match a: case b: return` and c after it, in the column of the bodies  ->  `case _: c`
  bool take_as_case(NodeId owner, std::span<const NodeId> rest) {
    auto match = tree_.as<ast::Match>(owner);
    const auto cases = tree_.items(match.cases);
    if (takes_rest(cases.back())) return false;
    for (const NodeId each : cases) {
      const ListId body = tree_.as<ast::match_case>(each).body;
      if (!never_falls_through(tree_, body)) return false;
      const auto list = tree_.items(body);
      const Statements inside(list.begin(), list.end());
      if (!is_aligned(inside, rest)) return false;
    }
    const auto where = tree_.where(rest[0]);
    const NodeId any = tree_.add(ast::MatchAs{}, where);
    const NodeId last = tree_.add(ast::match_case{any, NodeId(), tree_.list(rest)}, where);
    match.cases = tree_.append(match.cases, last);
    tree_.set(owner, match);
    return true;
  }

  bool take_into_loop(NodeId loop, std::span<const NodeId> rest) {
    const std::vector<LoopList> breaks = breaks_of(tree_, loop);
    if (is_endless(tree_, loop)) {
      return breaks.size() == 1 && !has_jump_of_loop(rest) && take_for_break(breaks[0], rest);
    }
    if (!breaks.empty() || !is_in_line_with_body(loop, rest)) return false;
    if (tree_.is(loop, Kind::For)) {
      auto each = tree_.as<ast::For>(loop);
      if (!tree_.items(each.orelse).empty()) return false;
      each.orelse = tree_.list(rest);
      tree_.set(loop, each);
      return true;
    }
    auto each = tree_.as<ast::While>(loop);
    if (!tree_.items(each.orelse).empty()) return false;
    if (is_after_test(each, rest)) {
      if (has_jump_of_loop(rest)) return false;
      take_after_test(loop, rest);
    } else {
      each.orelse = tree_.list(rest);
      tree_.set(loop, each);
    }
    return true;
  }

  // Returns true if statements start in the column of the body of a loop. In an `if` before that
  // body, they start further right.
  bool is_in_line_with_body(NodeId loop, std::span<const NodeId> rest) const {
    const ListId body =
        tree_.is(loop, Kind::For) ? tree_.as<ast::For>(loop).body : tree_.as<ast::While>(loop).body;
    const int32_t column = starts_.of_list(body);
    if (column == Starts::kUnknown) return false;
    const int32_t distance = starts_.of(rest[0]) - column;
    return std::abs(distance) <= error_of(rest[0]) ||
           (distance >= kElif && tree_.is(loop, Kind::While) &&
            is_after_test(tree_.as<ast::While>(loop), rest));
  }

  // Returns true if statements have a jump that would go elsewhere in another loop.
  bool has_jump_of_loop(std::span<const NodeId> statements) const {
    std::vector<LoopList> todo;
    const auto has_jump = [&](std::span<const NodeId> items) {
      return std::any_of(items.begin(), items.end(), [&](NodeId item) {
        add_lists_of_loop(tree_, item, false, todo);
        return tree_.is(item, Kind::Break) || tree_.is(item, Kind::Continue);
      });
    };
    bool found = has_jump(statements);
    while (!found && !todo.empty()) {
      const Place place = todo.back().place;
      todo.pop_back();
      found = has_jump(view_at(tree_, place));
    }
    return found;
  }

  // `while True: … break` and a after it, in the column of the `break`  ->  a in its place
  bool take_for_break(const LoopList& target, std::span<const NodeId> rest) {
    Statements list = items_at(tree_, target.place);
    if (!tree_.is(list.back(), Kind::Break) || (target.in_region && !is_quiet_jump(tree_, rest)))
      return false;
    const NodeId leaving = list.back();
    list.pop_back();
    if (!is_aligned(list, rest) && !is_in_else(list, rest)) return false;
    list.insert(list.end(), rest.begin(), rest.end());
    if (!never_falls_through(tree_, rest)) list.push_back(leaving);
    tree_.set_slot(target.place.owner, target.place.field, tree_.list(list).value);
    return true;
  }

  // Returns true if statements were written between the test of a loop and its body.
  bool is_after_test(const ast::While& loop, std::span<const NodeId> rest) const {
    const auto body = tree_.items(loop.body);
    if (body.empty()) return false;
    const int32_t line = tree_.where(rest.back()).line, inside = tree_.where(body[0]).line;
    return line >= 0 && inside >= 0 && line < inside;
  }

  // `while not a: b` and c after it, written before b  ->  `while True: if a: c` and b
  void take_after_test(NodeId loop, std::span<const NodeId> rest) {
    auto each = tree_.as<ast::While>(loop);
    const auto where = tree_.where(each.test);
    const NodeId test = opposite(tree_, each.test);
    Statements taken(rest.begin(), rest.end());
    if (!never_falls_through(tree_, taken)) taken.push_back(tree_.add(ast::Break{}));
    Statements body{tree_.add(ast::If{test, tree_.list(taken), {}}, where)};
    const auto before = tree_.items(each.body);
    body.insert(body.end(), before.begin(), before.end());
    const ast::Where first{where.line, starts_.first_unit({&test, 1}) * 2};
    each.test = ast::constant_node(tree_, object::ConstKind::True, first);
    each.body = tree_.list(body);
    tree_.set(loop, each);
  }

  ast::Tree& tree_;
  const Starts& starts_;
};

// Writes the jump of clauses that hold nothing else, at the end of a loop's body or a function.
void fill_clauses(ast::Tree& tree, NodeId statement, End end, const Starts& starts) {
  if (!tree.is(statement, Kind::Try)) return;
  const auto handlers = tree.items(tree.as<ast::Try>(statement).handlers);
  for (const NodeId handler : Statements(handlers.begin(), handlers.end())) {
    auto clause = tree.as<ast::ExceptHandler>(handler);
    const auto body = tree.items(clause.body);
    const bool is_empty = body.empty() || (body.size() == 1 && tree.is(body[0], Kind::Pass));
    if (!is_empty) continue;
    const Starts::Jump written = starts.in_clause(handler);
    const bool is_none = written == Starts::Jump::ReturnNone;
    const bool is_there = end == End::Continue ? written == Starts::Jump::Continue
                                               : is_none || written == Starts::Jump::Return;
    if (!is_there) continue;
    const ast::Where where = tree.where(clause.type);
    const NodeId left =
        is_none ? tree.add(ast::Return{ast::none_node(tree, {})}, where) : jump(tree, end, where);
    clause.body = tree.list({left});
    tree.set(handler, clause);
  }
}

}  // namespace

void take_inside(ast::Tree& tree, Statements& body, Outline& outline, bool is_function,
                 const Starts& starts) {
  if (!starts.known() || !outline.kinds().meets(kWithLists)) return;
  Inside inside(tree, starts);
  for_each_block(tree, body, is_function, starts, kWithLists,
                 [&](Statements& items, End end, int32_t column) {
                   if (end == End::Return) inside.drop_return(items);
                   inside.rewrite(items, end, column);
                   if (end != End::Other) fill_clauses(tree, items.back(), end, starts);
                 });
}

}  // namespace pellucid::polish
