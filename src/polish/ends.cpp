// SPDX-License-Identifier: Apache-2.0
#include "polish/ends.h"

#include <algorithm>

#include "ast/nodes.h"

#include "polish/negations.h"

namespace pellucid::polish {

using ast::Kind;
using ast::ListId;
using ast::NodeId;
using ast::Suite;

namespace {

void end_by_jump(ast::Tree& tree, NodeId handler, End end) {
  auto clause = tree.as<ast::ExceptHandler>(handler);
  if (never_falls_through(tree, clause.body)) return;
  const auto list = tree.items(clause.body);
  Statements body(list.begin(), list.end());
  const ast::Where at = tree.where(body.empty() ? handler : body.back());
  if (!body.empty() && tree.is(body.back(), Kind::Pass)) body.pop_back();
  body.push_back(jump(tree, end, at));
  clause.body = tree.list(body);
  tree.set(handler, clause);
}

}  // namespace

void add_lists_of_loop(const ast::Tree& tree, NodeId statement, bool in_region,
                       std::vector<LoopList>& lists) {
  std::vector<List> found;
  add_lists(tree, statement, End::Other, found);
  const Kind kind = tree.kind(statement);
  const bool is_loop = kind == Kind::For || kind == Kind::While;
  const bool is_region = kind == Kind::With || kind == Kind::Try;
  for (const List& list : found) {
    if (is_loop && suite_at(tree, list.place) == Suite::Body) continue;
    lists.push_back({list.place, in_region || is_region});
  }
}

std::vector<LoopList> breaks_of(const ast::Tree& tree, NodeId loop) {
  std::vector<LoopList> breaks;
  std::vector<LoopList> todo{{place_of(tree, loop, Suite::Body)}};
  while (!todo.empty()) {
    const LoopList here = todo.back();
    todo.pop_back();
    for (const NodeId item : view_at(tree, here.place)) {
      if (tree.is(item, Kind::Break)) breaks.push_back(here);
      add_lists_of_loop(tree, item, here.in_region, todo);
    }
  }
  return breaks;
}

bool is_endless(const ast::Tree& tree, NodeId statement) {
  if (!tree.is(statement, Kind::While)) return false;
  const auto loop = tree.as<ast::While>(statement);
  return ast::is_constant(tree, loop.test, object::ConstKind::True) &&
         tree.items(loop.orelse).empty();
}

NodeId jump(ast::Tree& tree, End end, ast::Where at) {
  return end == End::Continue ? tree.add(ast::Continue{}, at) : tree.add(ast::Return{}, at);
}

const object::Const* docstring_of(const ast::Tree& tree, std::span<const NodeId> body) {
  if (body.empty() || !tree.is(body[0], Kind::Expr)) return nullptr;
  const object::Const* text = ast::constant_of(tree, tree.as<ast::Expr>(body[0]).value);
  return text != nullptr && text->kind == object::ConstKind::Str ? text : nullptr;
}

bool is_bare_return(const ast::Tree& tree, NodeId node) {
  return tree.is(node, Kind::Return) && !tree.as<ast::Return>(node).value.valid();
}

bool is_bare_jump(const ast::Tree& tree, NodeId node) {
  const Kind kind = tree.kind(node);
  return is_bare_return(tree, node) || kind == Kind::Break || kind == Kind::Continue ||
         kind == Kind::Pass;
}

bool is_quiet_jump(const ast::Tree& tree, std::span<const NodeId> items) {
  if (items.size() != 1) return false;
  const Kind kind = tree.kind(items[0]);
  if (kind != Kind::Return) return kind == Kind::Continue || kind == Kind::Break;
  const NodeId value = tree.as<ast::Return>(items[0]).value;
  return !value.valid() || tree.is(value, Kind::Constant);
}

void add_lists(const ast::Tree& tree, NodeId statement, End end, std::vector<List>& lists) {
  const Kind kind = tree.kind(statement);
  if (!kWithLists.has(kind)) return;
  const bool is_loop = kind == Kind::For || kind == Kind::While;
  const bool is_try = kind == Kind::Try;
  // No jump may leave an `except*` clause.
  const bool is_star = is_try && tree.as<ast::Try>(statement).is_star != 0;
  const bool has_else = is_try && !tree.items(tree.as<ast::Try>(statement).orelse).empty();
  for (const ast::ChildField field : ast::child_fields_of(kind)) {
    if (field.has_clauses()) {
      for (const NodeId part : tree.items(ListId(tree.slot(statement, field.slot)))) {
        add_lists(tree, part, is_star ? End::Other : end, lists);
      }
    }
    if (!field.has_statements()) continue;
    End inside = end;
    const bool is_body = field.suite == Suite::Body;
    if (is_loop && is_body) inside = End::Continue;
    if (field.suite == Suite::Finalbody || (has_else && is_body)) inside = End::Other;
    lists.push_back({{statement, field.slot}, inside});
  }
}

bool never_falls_through(const ast::Tree& tree, ListId list) {
  return never_falls_through(tree, tree.items(list));
}

bool never_falls_through(const ast::Tree& tree, std::span<const NodeId> items) {
  std::vector<ListId> todo;
  for (;;) {
    if (items.empty()) return false;
    const Kind last = tree.kind(items.back());
    if (last == Kind::If) {
      const auto branch = tree.as<ast::If>(items.back());
      todo.insert(todo.end(), {branch.body, branch.orelse});
    } else if (last == Kind::For || last == Kind::While) {
      const ListId orelse = last == Kind::For ? tree.as<ast::For>(items.back()).orelse
                                              : tree.as<ast::While>(items.back()).orelse;
      if (tree.items(orelse).empty() || has_break(tree, items.back())) return false;
      todo.push_back(orelse);
    } else if (last == Kind::Try) {
      const auto attempt = tree.as<ast::Try>(items.back());
      const bool has_else = !tree.items(attempt.orelse).empty();
      todo.push_back(has_else ? attempt.orelse : attempt.body);
      for (const NodeId handler : tree.items(attempt.handlers)) {
        todo.push_back(tree.as<ast::ExceptHandler>(handler).body);
      }
    } else if (last == Kind::Assert) {
      const NodeId test = tree.as<ast::Assert>(items.back()).test;
      if (!ast::is_constant(tree, test, object::ConstKind::False)) return false;
    } else if (last != Kind::Return && last != Kind::Raise && last != Kind::Continue &&
               last != Kind::Break) {
      return false;
    }
    if (todo.empty()) return true;
    items = tree.items(todo.back());
    todo.pop_back();
  }
}

bool is_try_without_finally(const ast::Tree& tree, NodeId statement) {
  if (!tree.is(statement, Kind::Try)) return false;
  const auto attempt = tree.as<ast::Try>(statement);
  return !tree.items(attempt.handlers).empty() && tree.items(attempt.finalbody).empty();
}

bool handlers_never_go_on(const ast::Tree& tree, const ast::Try& attempt) {
  return std::ranges::all_of(tree.items(attempt.handlers), [&](NodeId handler) {
    return never_falls_through(tree, tree.as<ast::ExceptHandler>(handler).body);
  });
}

bool takes_else(const ast::Tree& tree, NodeId statement) {
  if (tree.is(statement, Kind::If)) {
    const auto branch = tree.as<ast::If>(statement);
    return tree.items(branch.orelse).empty() && never_falls_through(tree, branch.body);
  }
  if (!is_try_without_finally(tree, statement)) return false;
  const auto attempt = tree.as<ast::Try>(statement);
  return tree.items(attempt.orelse).empty() && !never_falls_through(tree, attempt.body) &&
         handlers_never_go_on(tree, attempt);
}

void set_else(ast::Tree& tree, NodeId statement, ListId orelse) {
  const size_t slot = place_of(tree, statement, Suite::Orelse).field;
  tree.set_slot(statement, slot, orelse.value);
}

ListId rest_in(const ast::Tree& tree, NodeId statement) {
  if (is_try_without_finally(tree, statement)) return tree.as<ast::Try>(statement).orelse;
  if (!tree.is(statement, Kind::If)) return {};
  const auto branch = tree.as<ast::If>(statement);
  return tree.items(branch.orelse).empty() ? branch.body : ListId();
}

void skip_rest(ast::Tree& tree, NodeId statement, End end) {
  if (tree.is(statement, Kind::If)) {
    auto branch = tree.as<ast::If>(statement);
    branch.test = opposite(tree, branch.test);
    branch.body = tree.list({jump(tree, end, tree.where(statement))});
    return tree.set(statement, branch);
  }
  auto attempt = tree.as<ast::Try>(statement);
  const auto clauses = tree.items(attempt.handlers);
  for (const NodeId handler : Statements(clauses.begin(), clauses.end())) {
    end_by_jump(tree, handler, end);
  }
  attempt.orelse = {};
  tree.set(statement, attempt);
}

}  // namespace pellucid::polish
