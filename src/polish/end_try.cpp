// SPDX-License-Identifier: Apache-2.0
// Moves the last statement of a `try` body into its `else`, or after the `try`, if its line is
// after that of a handler. Only a jump, or the `return` of a constant or a name: it cannot raise,
// so no handler covers it in either place.
#include <algorithm>
#include <cstdint>

#include "polish/ends.h"
#include "polish/keywords.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

namespace {

// Returns true for the `return` of what cannot raise.
bool is_quiet_return(const ast::Tree& tree, NodeId statement) {
  if (!tree.is(statement, Kind::Return)) return false;
  const NodeId value = tree.as<ast::Return>(statement).value;
  return !value.valid() || tree.is(value, Kind::Constant) || tree.is(value, Kind::Name);
}

// Returns the line of a handler's type or else of its first statement; -1 if it is not known.
int32_t line_of(const ast::Tree& tree, NodeId handler) {
  const auto clause = tree.as<ast::ExceptHandler>(handler);
  if (clause.type.valid() && tree.where(clause.type).line >= 0) return tree.where(clause.type).line;
  const auto body = tree.items(clause.body);
  return body.empty() ? -1 : tree.where(body[0]).line;
}

// Returns the width of a jump without a value; 0: it has one.
int32_t width_of_jump(const ast::Tree& tree, NodeId jump) {
  if (tree.is(jump, Kind::Break)) return width_of("break");
  if (tree.is(jump, Kind::Continue)) return width_of("continue");
  return tree.as<ast::Return>(jump).value.valid() ? 0 : width_of("return");
}

// Returns the line of a jump statement: for a `return`, that of its value, since the body of an
// enclosing `finally` may have been copied before the `return` itself. Other jumps may have left a
// NOP after the statement before them; a `break` or `continue` has a line only if it has columns.
int32_t line_of_jump(const ast::Tree& tree, const Starts& starts, NodeId before, NodeId jump) {
  const int32_t wide = width_of_jump(tree, jump);
  if (wide == 0) return tree.where(tree.as<ast::Return>(jump).value).line;
  const Starts::Next next = starts.after(before);
  if (next.columns.width() == wide && next.columns.begin == starts.of(before)) {
    return starts.places().at(next.unit).line;
  }
  const Starts::Jump written = starts.jump(jump, NodeId());
  const bool is_there =
      tree.is(jump, Kind::Return) ||
      written == (tree.is(jump, Kind::Break) ? Starts::Jump::Break : Starts::Jump::Continue);
  return is_there ? tree.where(jump).line : -1;
}

class TryEnds {
 public:
  TryEnds(ast::Tree& tree, const Starts& starts) : tree_(tree), starts_(starts) {}

  void run(Statements& body) {
    rewrite(body, INT32_MAX);
    while (!todo_.empty()) {
      const Inside inside = todo_.back();
      todo_.pop_back();
      Statements items = items_at(tree_, inside.place);
      rewrite(items, inside.limit);
      store_at(tree_, body, inside.place, items);
    }
  }

 private:
  struct Inside {
    Place place;
    int32_t limit;  // the list ends before this line: that of the first `finally` body around it
  };

  void rewrite(Statements& items, int32_t limit) {
    for (size_t i = 0; i < items.size(); ++i) {
      if (is_try_without_finally(tree_, items[i])) take_end(items, i, limit);
      add_inside(items[i], limit);
    }
  }

  void take_end(Statements& items, size_t i, int32_t limit) {
    auto attempt = tree_.as<ast::Try>(items[i]);
    const auto inside = tree_.items(attempt.body);
    const auto handlers = tree_.items(attempt.handlers);
    if (inside.size() < 2 || !tree_.items(attempt.orelse).empty()) return;
    const NodeId last = inside.back();
    const int32_t handled = line_of(tree_, handlers[0]);
    const Kind kind = tree_.kind(last);
    const bool leaves_loop = kind == Kind::Break || kind == Kind::Continue;
    if (handled < 0 || (!leaves_loop && !is_quiet_return(tree_, last))) return;
    const int32_t line = line_of_jump(tree_, starts_, inside[inside.size() - 2], last);
    if (line <= handled || line >= limit) return;
    const bool handlers_go_on = !handlers_never_go_on(tree_, attempt);
    const Statements rest(inside.begin(), inside.end() - 1);
    drop_copies(tree_, rest.back(), {&last, 1}, starts_);
    attempt.body = tree_.list(rest);
    if (handlers_go_on) attempt.orelse = tree_.list({last});
    tree_.set(items[i], attempt);
    if (!handlers_go_on) items.insert(items.begin() + static_cast<std::ptrdiff_t>(i) + 1, last);
  }

  void add_inside(NodeId statement, int32_t limit) {
    if (tree_.is(statement, Kind::Try)) {
      const auto last = tree_.items(tree_.as<ast::Try>(statement).finalbody);
      if (!last.empty() && tree_.where(last[0]).line >= 0) {
        limit = std::min(limit, tree_.where(last[0]).line);
      }
    }
    lists_.clear();
    add_lists(tree_, statement, End::Other, lists_);
    for (const List& list : lists_) todo_.push_back({list.place, limit});
  }

  ast::Tree& tree_;
  const Starts& starts_;
  std::vector<Inside> todo_;
  std::vector<List> lists_;  // of add_inside()
};

}  // namespace

void end_try(ast::Tree& tree, Statements& body, const Starts& starts) {
  TryEnds(tree, starts).run(body);
}

}  // namespace pellucid::polish
