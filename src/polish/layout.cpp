// SPDX-License-Identifier: Apache-2.0
// The same control flow can be written in several ways: the statements after an `if` that never
// falls through may be in its `else` or after it; the rest of a loop's body may be in an `if` or
// after `if not ...: continue`; `if a: if b:` is `if a and b:`. From 3.11 on, the columns of the
// statements show which way was written: they are read as Python reads indentation, and the
// statement lists are arranged by them. A statement without a column stays where it is.
#include <algorithm>
#include <cstdlib>
#include <span>

#include "polish/blocks.h"
#include "polish/keywords.h"
#include "polish/negations.h"
#include "polish/rewrites.h"
#include "polish/starts.h"

namespace pellucid::polish {

using ast::Kind;
using ast::ListId;
using ast::NodeId;

namespace {

constexpr int32_t kUsual = 4;  // the usual indentation

class Layout {
 public:
  Layout(ast::Tree& tree, const Starts& starts) : tree_(tree), starts_(starts) {}

  void run(Statements& body, bool is_function) {
    for_each_block(tree_, body, is_function, starts_, {Kind::If, Kind::Try},
                   [&](Statements& items, End end, int32_t column) {
                     items = nested(flat(items, end, column), column);
                     if (end != End::Other) drop_unwritten_jump(items.back(), end);
                     for (const NodeId item : items) split_condition(item, column);
                   });
  }

 private:
  // An open `else` (or the list itself) whose statements are being collected.
  struct Open {
    NodeId owner;
    int32_t column = Starts::kUnknown;
    bool is_elif = false;
    Statements items;
  };

  // Returns true if a list starts in `column`, where its owner starts, and so was not written
  // inside it.
  bool is_outside(ListId list, int32_t column) const {
    const auto items = tree_.items(list);
    if (items.empty() || column == Starts::kUnknown) return false;
    const int32_t start = starts_.of(items[0]);
    return start != Starts::kUnknown && start <= column + kParenthesis;
  }

  // Returns true if a `continue` may have been written at the end of a list: it leaves its place in
  // the jump. Without one, a test that starts no further right is that of an `elif`, in brackets.
  bool may_be_left(ListId list, End end) const {
    const int32_t column = starts_.of_list(list);
    if (end != End::Continue || column == Starts::kUnknown) return true;
    const object::Columns next = starts_.after(tree_.items(list).back()).columns;
    return next.width() == width_of("continue") && next.begin == column;
  }

  // Returns true if the handlers may end in a jump. A clause that binds a name compiles to other
  // code if it is left by a jump instead of falling off its end.
  bool handlers_may_jump(const ast::Try& attempt) const {
    const auto handlers = tree_.items(attempt.handlers);
    return std::all_of(handlers.begin(), handlers.end(), [&](NodeId handler) {
      const auto clause = tree_.as<ast::ExceptHandler>(handler);
      return !clause.name.valid() || never_falls_through(tree_, clause.body);
    });
  }

  // Returns the list with those statements moved after their owner that were written there.
  Statements flat(const Statements& items, End end, int32_t column) {
    Statements made;
    Statements todo(items.rbegin(), items.rend());
    while (!todo.empty()) {
      const NodeId statement = todo.back();
      todo.pop_back();
      made.push_back(statement);
      const ListId moved = take_outside(statement, todo.empty() ? end : End::Other, column);
      const auto moved_items = tree_.items(moved);
      todo.insert(todo.end(), moved_items.rbegin(), moved_items.rend());
    }
    return made;
  }

  // Takes the statements that were written after it out of a statement, and returns them.
  ListId take_outside(NodeId statement, End end, int32_t column) {
    if (tree_.is(statement, Kind::If)) {
      auto branch = tree_.as<ast::If>(statement);
      const ListId orelse = branch.orelse;
      const bool falls_through = !never_falls_through(tree_, branch.body);
      const auto items = tree_.items(orelse);
      const bool is_elif = items.size() == 1 && tree_.is(items[0], Kind::If);
      const bool may_leave = end != End::Other && (!is_elif || may_be_left(branch.body, end));
      if (is_outside(orelse, column) && (!falls_through || may_leave)) {
        if (falls_through) branch.body = tree_.append(branch.body, jump(tree_, end, {}));
        branch.orelse = {};
        tree_.set(statement, branch);
        return orelse;
      }
    } else if (is_try_without_finally(tree_, statement)) {
      auto attempt = tree_.as<ast::Try>(statement);
      const ListId orelse = attempt.orelse;
      if (is_outside(orelse, column) && handlers_never_go_on(tree_, attempt)) {
        attempt.orelse = {};
        tree_.set(statement, attempt);
        return orelse;
      }
      if (!handlers_may_jump(attempt)) return {};
    } else {
      return {};
    }
    const ListId rest = rest_in(tree_, statement);
    if (end == End::Other || !is_outside(rest, column)) return {};
    skip_rest(tree_, statement, end);
    return rest;
  }

  // Returns the list with those statements moved into an `else` that were written in one.
  Statements nested(const Statements& items, int32_t column) {
    std::vector<Open> open{{NodeId(), column, false, {}}};
    const auto close = [&] {
      set_else(tree_, open.back().owner, tree_.list(open.back().items));
      open.pop_back();
    };
    const auto ends = [&](const Open& last, int32_t start) {
      if (last.is_elif) return start == Starts::kUnknown || start < last.column + kElif;
      return start != Starts::kUnknown && start + kParenthesis < last.column;
    };
    for (const NodeId item : items) {
      // Columns are looked at only where they decide.
      if (open.size() == 1 && (open[0].items.empty() || !takes_else(tree_, open[0].items.back()))) {
        open[0].items.push_back(item);
        continue;
      }
      const bool is_negated = is_negated_in(tree_, starts_, item, column);
      const int32_t start = is_negated ? column : starts_.of(item);
      while (open.size() > 1 && ends(open.back(), start)) close();
      const int32_t around = open.back().column;
      Statements& before = open.back().items;
      const bool is_known =
          start != Starts::kUnknown && around != Starts::kUnknown && !before.empty();
      const bool is_within = is_known && start >= around + kElif && start <= kDeepest;
      if (!is_within || !takes_else(tree_, before.back())) {
        before.push_back(item);
        continue;
      }
      const bool chained =
          tree_.is(before.back(), Kind::If) && is_elif(tree_, starts_, item, around);
      open.push_back({before.back(), chained ? around : start, chained, {item}});
    }
    while (open.size() > 1) close();
    return std::move(open.back().items);
  }

  // Replaces a last `if a: continue` by its `else`, under the opposite test, if the jump was not
  // written.
  void drop_unwritten_jump(NodeId statement, End end) {
    if (!tree_.is(statement, Kind::If)) return;
    auto branch = tree_.as<ast::If>(statement);
    const auto body = tree_.items(branch.body);
    if (body.size() != 1 || tree_.items(branch.orelse).empty()) return;
    const bool says_nothing =
        end == End::Continue ? tree_.is(body[0], Kind::Continue) : is_bare_return(tree_, body[0]);
    if (!says_nothing || starts_.jump(body[0], statement) > Starts::Jump::None) return;
    branch.test = opposite(tree_, branch.test);
    branch.body = branch.orelse;
    branch.orelse = {};
    tree_.set(statement, branch);
  }

  // Before: `if a and b: c`, with b on its own line, as far right of the `if` as c is of b. After:
  // `if a: if b: c`.
  void split_condition(NodeId statement, int32_t column) {
    if (!tree_.is(statement, Kind::If) || column == Starts::kUnknown) return;
    auto branch = tree_.as<ast::If>(statement);
    const auto body = tree_.items(branch.body);
    if (body.empty() || !tree_.items(branch.orelse).empty()) return;
    const Statements values = operands_of(tree_, branch.test, kAnd);
    if (values.empty()) return;
    const std::vector<size_t> levels = written_levels(values, column, starts_.of(body[0]));
    size_t end = values.size();
    for (const size_t level : levels) {
      const NodeId test = joined(tree_, std::span(values).subspan(level, end - level), kAnd);
      const NodeId inner = tree_.add(ast::If{test, branch.body, {}}, tree_.where(values[level]));
      branch.body = tree_.list({inner});
      end = level;
    }
    if (levels.empty()) return;
    branch.test = joined(tree_, std::span(values).first(end), kAnd);
    tree_.set(statement, branch);
  }

  // Returns the indices of the values that start an inner `if`, innermost first: all are one
  // indentation step apart.
  std::vector<size_t> written_levels(const Statements& values, int32_t column,
                                     int32_t inside) const {
    std::vector<size_t> levels;
    int32_t step = Starts::kUnknown, error = 2 * kParenthesis;
    const auto is_step = [&](int32_t distance) {
      if (distance < kElif) return false;
      return step == Starts::kUnknown || std::abs(distance - step) <= error;
    };
    // A jump may have no place of its own: then exactly one usual step each.
    const bool is_known = inside != Starts::kUnknown;
    if (!is_known && column % kUsual == 0) inside = column + 2 * kUsual;
    if (inside == Starts::kUnknown || inside > kDeepest) return levels;
    if (column % kUsual == 0 && inside % kUsual == 0) {
      step = kUsual;
      error = is_known ? kParenthesis : 0;
    }
    for (size_t i = values.size(); i-- > 1;) {
      const int32_t start = starts_.of_test(values[i]);
      if (start == Starts::kUnknown || !is_step(inside - start) ||
          starts_.line_of(values[i]) <= starts_.line_of(values[i - 1])) {
        continue;
      }
      if (step == Starts::kUnknown) step = inside - start;
      inside = start;
      levels.push_back(i);
    }
    if (!is_step(inside - column)) levels.clear();
    return levels;
  }

  ast::Tree& tree_;
  const Starts& starts_;
};

}  // namespace

void lay_out(ast::Tree& tree, Statements& body, bool is_function, const Starts& starts) {
  if (starts.known()) Layout(tree, starts).run(body, is_function);
}

}  // namespace pellucid::polish
