// SPDX-License-Identifier: Apache-2.0
// Removes returns that cannot be written: a module or class body ends where its code returns None.
#include <algorithm>

#include "ast/nodes.h"
#include "structure/graph/not_structured.h"
#include "structure/scopes/blocks.h"

namespace pellucid::structure {

using ast::Kind;
using ast::ListId;
using ast::NodeId;
using ast::Suite;

namespace {

using Statements = std::vector<NodeId>;

// Returns true for `(lambda: x).__closure__[0]`, as Expressions writes a cell.
bool is_cell(const ast::Tree& tree, NodeId node) {
  if (!tree.is(node, Kind::Subscript)) return false;
  const NodeId closure = tree.as<ast::Subscript>(node).value;
  return tree.is(closure, Kind::Attribute) &&
         tree.is(tree.as<ast::Attribute>(closure).value, Kind::Lambda) &&
         tree.text(tree.as<ast::Attribute>(closure).attr) == "__closure__";
}

// Returns true for what the compiler puts at the end of a class body: `__static_attributes__`, the
// cells that type.__new__ fills.
bool is_epilogue(const ast::Tree& tree, NodeId statement) {
  if (!tree.is(statement, Kind::Assign)) return false;
  const auto assign = tree.as<ast::Assign>(statement);
  if (is_cell(tree, assign.value)) return true;
  const object::Const* constant = constant_of(tree, assign.value);
  const bool is_tuple = constant && constant->kind == object::ConstKind::Tuple;
  for (const NodeId target : tree.items(assign.targets)) {
    if (is_name(tree, target, "__classcell__") || is_name(tree, target, "__classdictcell__")) {
      return true;
    }
    if (is_tuple && is_name(tree, target, "__static_attributes__")) return true;
  }
  return false;
}

Statements to_vector(const ast::Tree& tree, ListId list) {
  return {tree.items(list).begin(), tree.items(list).end()};
}

class BodyEnds {
 public:
  BodyEnds(ast::Tree& tree, bool is_class) : tree_(tree), is_class_(is_class) {}

  void run(Statements& body) {
    clip(body, true);
    while (!todo_.empty()) {
      const Place place = todo_.back();
      todo_.pop_back();
      Statements items = to_vector(tree_, ListId(tree_.slot(place.owner, place.field)));
      const Statements before = items;
      if (place.in_loop) {
        leave_loop(items);
      } else {
        clip(items, place.may_be_empty);
      }
      if (items != before) tree_.set_slot(place.owner, place.field, tree_.list(items).value);
    }
  }

 private:
  // Returns true for a return that cannot be written. A class body returns None, or the cell of
  // `__class__`.
  bool is_end(NodeId statement) const {
    if (!tree_.is(statement, Kind::Return)) return false;
    const NodeId value = tree_.as<ast::Return>(statement).value;
    return is_class_ || !value.valid() || is_none(tree_, value);
  }
  // Returns true for `case _`, or a name, without a guard.
  bool is_default(NodeId match_case) const {
    const auto it = tree_.as<ast::match_case>(match_case);
    return !it.guard.valid() && takes_everything(tree_, it.pattern);
  }

  // Returns true if a list has such a return at any depth.
  bool has_end(ListId list) const {
    Statements todo = to_vector(tree_, list);
    while (!todo.empty()) {
      const NodeId statement = todo.back();
      todo.pop_back();
      if (is_end(statement)) return true;
      for_each_block(tree_, statement, [&](size_t, ListId inner) {
        for (const NodeId each : tree_.items(inner)) todo.push_back(each);
      });
    }
    return false;
  }

  // How the paths through a list end: at least one by a return that cannot be written, all by
  // raising, or some path falls through.
  enum class Ends : uint8_t { Returns, Raises, GoesOn };
  Ends ends(ListId list) const {
    std::vector<ListId> todo = {list};
    while (!todo.empty()) {
      const auto items = tree_.items(todo.back());
      todo.pop_back();
      if (items.empty()) return Ends::GoesOn;
      if (tree_.is(items.back(), Kind::If)) {
        const auto branch = tree_.as<ast::If>(items.back());
        todo.push_back(branch.body);
        todo.push_back(branch.orelse);
      } else if (tree_.is(items.back(), Kind::Match)) {
        const auto cases = tree_.items(tree_.as<ast::Match>(items.back()).cases);
        if (!is_default(cases.back())) return Ends::GoesOn;
        for (const NodeId each : cases) todo.push_back(tree_.as<ast::match_case>(each).body);
      } else if (tree_.is(items.back(), Kind::Try)) {
        const auto attempt = tree_.as<ast::Try>(items.back());
        todo.push_back(tree_.items(attempt.orelse).empty() ? attempt.body : attempt.orelse);
        for (const NodeId each : tree_.items(attempt.handlers)) {
          todo.push_back(tree_.as<ast::ExceptHandler>(each).body);
        }
      } else if (!is_end(items.back()) && !tree_.is(items.back(), Kind::Raise)) {
        return Ends::GoesOn;
      }
    }
    return has_end(list) ? Ends::Returns : Ends::Raises;
  }

  // Drops what the compiler put at the end.
  void pop_end(Statements& items, bool may_be_empty) {
    if (items.empty()) return;
    const ast::Where at = tree_.where(items.back());
    if (is_end(items.back())) items.pop_back();
    while (is_class_ && !items.empty() && is_epilogue(tree_, items.back())) items.pop_back();
    if (items.empty() && !may_be_empty) items.push_back(tree_.add(ast::Pass{}, at));
  }

  // Replaces `return None if c else None` by an `if` with one in each arm.
  void split_conditional(Statements& items) {
    if (items.empty() || !tree_.is(items.back(), Kind::Return)) return;
    const NodeId value = tree_.as<ast::Return>(items.back()).value;
    if (!tree_.is(value, Kind::IfExp)) return;
    const auto both = tree_.as<ast::IfExp>(value);
    const ast::Where at = tree_.where(items.back());
    const ListId then = tree_.list({tree_.add(ast::Return{both.body}, at)});
    const ListId otherwise = tree_.list({tree_.add(ast::Return{both.orelse}, at)});
    items.back() = tree_.add(ast::If{both.test, then, otherwise}, at);
  }

  struct Place {
    NodeId owner;
    size_t field;
    bool may_be_empty = false;
    bool in_loop = false;  // of a loop at the end: a return is a `break`
  };

  // Clips a list in tail position.
  void clip(Statements& items, bool may_be_empty) {
    split_conditional(items);
    nest_what_follows(items);
    pop_end(items, may_be_empty);
    if (items.empty()) return;
    const NodeId last = items.back();
    const Kind kind = tree_.kind(last);
    const bool is_loop = kind == Kind::For || kind == Kind::While;
    const bool has_else =
        kind == Kind::Try && !tree_.items(tree_.as<ast::Try>(last).orelse).empty();
    for_each_block(tree_, last, [&](size_t field, ListId list) {
      const Suite suite = ast::suite_in(kind, field);
      if (suite == Suite::Handlers || suite == Suite::Cases) {
        for (const NodeId part : tree_.items(list)) {
          for_each_block(tree_, part, [&](size_t i, ListId) { todo_.push_back({part, i}); });
        }
      } else if (is_loop && suite == Suite::Body) {
        todo_.push_back({last, field, false, true});
      } else if (suite == Suite::Finalbody || (has_else && suite == Suite::Body)) {
        return;
      } else {
        todo_.push_back({last, field, suite == Suite::Orelse});
      }
    });
  }

  // Moves the statements after `if c: a; return` into its `else`. The same for a `try` whose
  // handlers all end.
  void nest_what_follows(Statements& items) {
    for (size_t i = 0; i + 1 < items.size(); ++i) {
      if (tree_.is(items[i], Kind::Try) && nest_in_else(items, i)) return;
      if (tree_.is(items[i], Kind::Match) && nest_in_case(items, i)) return;
      if (nest_in_else_of_loop(items, i)) return;
      if (!tree_.is(items[i], Kind::If)) continue;
      auto branch = tree_.as<ast::If>(items[i]);
      const Ends then = ends(branch.body), otherwise = ends(branch.orelse);
      const bool then_ends = then != Ends::GoesOn;
      if (then_ends == (otherwise != Ends::GoesOn)) continue;
      if ((then_ends ? then : otherwise) == Ends::Raises) continue;
      Statements other = to_vector(tree_, then_ends ? branch.orelse : branch.body);
      other.insert(other.end(), items.begin() + static_cast<std::ptrdiff_t>(i) + 1, items.end());
      (then_ends ? branch.orelse : branch.body) = tree_.list(other);
      tree_.set(items[i], branch);
      items.resize(i + 1);
      return;
    }
  }

  bool nest_in_else(Statements& items, size_t i) {
    auto statement = tree_.as<ast::Try>(items[i]);
    const auto handlers = tree_.items(statement.handlers);
    if (handlers.empty() || !tree_.items(statement.finalbody).empty()) return false;
    bool returns = false;
    for (const NodeId handler : handlers) {
      const Ends end = ends(tree_.as<ast::ExceptHandler>(handler).body);
      if (end == Ends::GoesOn) return false;
      returns |= end == Ends::Returns;
    }
    if (!returns) return false;
    Statements other = to_vector(tree_, statement.orelse);
    other.insert(other.end(), items.begin() + static_cast<std::ptrdiff_t>(i) + 1, items.end());
    statement.orelse = tree_.list(other);
    tree_.set(items[i], statement);
    items.resize(i + 1);
    return true;
  }

  // Moves the statements after a `match` into its only case that falls through, or into a new case
  // for what no other takes.
  bool nest_in_case(Statements& items, size_t i) {
    auto statement = tree_.as<ast::Match>(items[i]);
    Statements cases = to_vector(tree_, statement.cases);
    bool returns = false;
    std::vector<NodeId> open;
    for (const NodeId each : cases) {
      const Ends end = ends(tree_.as<ast::match_case>(each).body);
      if (end == Ends::GoesOn) open.push_back(each);
      returns |= end == Ends::Returns;
    }
    const bool is_default_missing = !is_default(cases.back());
    if (!returns || open.size() + is_default_missing != 1) return false;
    const Statements rest(items.begin() + static_cast<std::ptrdiff_t>(i) + 1, items.end());
    // The end itself is not written.
    const bool is_over = std::all_of(rest.begin(), rest.end(), [&](NodeId each) {
      return is_end(each) || (is_class_ && is_epilogue(tree_, each));
    });
    if (is_over) return false;
    if (is_default_missing) {
      const NodeId any = tree_.add(ast::MatchAs{}, tree_.where(rest[0]));
      cases.push_back(tree_.add(ast::match_case{any, {}, tree_.list(rest)}, tree_.where(rest[0])));
      statement.cases = tree_.list(cases);
      tree_.set(items[i], statement);
    } else {
      auto only = tree_.as<ast::match_case>(open[0]);
      Statements body = to_vector(tree_, only.body);
      body.insert(body.end(), rest.begin(), rest.end());
      only.body = tree_.list(body);
      tree_.set(open[0], only);
    }
    items.resize(i + 1);
    return true;
  }

  // Moves the statements after a loop that only returns leave into its `else`: they run only once
  // it is exhausted.
  bool nest_in_else_of_loop(Statements& items, size_t i) {
    if (!leaves_by_return_only(items[i])) return false;
    const size_t field = else_field(items[i]);
    Statements other = to_vector(tree_, ListId(tree_.slot(items[i], field)));
    other.insert(other.end(), items.begin() + static_cast<std::ptrdiff_t>(i) + 1, items.end());
    tree_.set_slot(items[i], field, tree_.list(other).value);
    items.resize(i + 1);
    return true;
  }

  size_t else_field(NodeId loop) const { return slot_of(tree_.kind(loop), Suite::Orelse); }

  bool leaves_by_return_only(NodeId loop) const {
    if (!tree_.is(loop, Kind::For) && !tree_.is(loop, Kind::While)) return false;
    const ListId body =
        tree_.is(loop, Kind::For) ? tree_.as<ast::For>(loop).body : tree_.as<ast::While>(loop).body;
    struct Inner {
      NodeId statement;
      bool in_loop;  // in a nested loop, which a break leaves
    };
    bool returns = false;
    std::vector<Inner> todo;
    for (const NodeId statement : tree_.items(body)) todo.push_back({statement, false});
    while (!todo.empty()) {
      const Inner at = todo.back();
      todo.pop_back();
      const Kind kind = tree_.kind(at.statement);
      if (kind == Kind::Break && !at.in_loop) return false;
      returns |= is_end(at.statement);
      const bool is_loop = kind == Kind::For || kind == Kind::While;
      for_each_block(tree_, at.statement, [&](size_t field, ListId list) {
        const bool is_body = ast::suite_in(kind, field) == Suite::Body;
        for (const NodeId inner : tree_.items(list)) {
          todo.push_back({inner, at.in_loop || (is_loop && is_body)});
        }
      });
    }
    return returns;
  }

  void leave_loop(Statements& items) {
    if (!items.empty() && is_end(items.back())) {
      const ast::Where at = tree_.where(items.back());
      pop_end(items, true);
      items.push_back(tree_.add(ast::Break{}, at));
    }
    for (size_t i = 0; i < items.size(); ++i) {
      const NodeId statement = items[i];
      const Kind kind = tree_.kind(statement);
      if (kind == Kind::For || kind == Kind::While) {
        if (!leaves_by_return_only(statement)) {
          // The statements in its `else` are not inside of it.
          todo_.push_back({statement, else_field(statement), true, true});
          continue;
        }
        leave_both(items, i);
      }
      for_each_block(tree_, statement, [&](size_t field, ListId) {
        todo_.push_back({statement, field, false, true});
      });
    }
  }

  // Makes the exit of a nested loop leave the outer one too: a `break` after it, which a `continue`
  // at the end of its `else` skips if it was exhausted.
  void leave_both(Statements& items, size_t i) {
    const ast::Where at = tree_.where(items[i]);
    nest_in_else_of_loop(items, i);
    const size_t field = else_field(items[i]);
    Statements other = to_vector(tree_, ListId(tree_.slot(items[i], field)));
    const bool continues =
        other.empty() ||
        !(tree_.is(other.back(), Kind::Continue) || tree_.is(other.back(), Kind::Break) ||
          tree_.is(other.back(), Kind::Return) || tree_.is(other.back(), Kind::Raise));
    if (continues) other.push_back(tree_.add(ast::Continue{}, at));
    tree_.set_slot(items[i], field, tree_.list(other).value);
    items.push_back(tree_.add(ast::Break{}, at));
  }

  ast::Tree& tree_;
  bool is_class_;
  std::vector<Place> todo_;
};

}  // namespace

void strip_tail_returns(ast::Tree& tree, std::vector<NodeId>& body, bool is_class) {
  BodyEnds(tree, is_class).run(body);
  Statements todo = body;
  while (!todo.empty()) {
    const NodeId statement = todo.back();
    todo.pop_back();
    if (tree.is(statement, Kind::Return)) {
      throw NotStructured("a return where none can be written", tree.where(statement).offset);
    }
    for_each_block(tree, statement, [&](size_t, ListId list) {
      for (const NodeId inner : tree.items(list)) todo.push_back(inner);
    });
  }
}

}  // namespace pellucid::structure
