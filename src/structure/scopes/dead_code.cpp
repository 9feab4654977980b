// SPDX-License-Identifier: Apache-2.0
#include "structure/scopes/dead_code.h"

#include <algorithm>
#include <cmath>

#include "ast/nodes.h"

namespace pellucid::structure {

using ast::Kind;
using ast::ListId;
using ast::NodeId;
using object::Const;
using object::ConstKind;
using Nodes = std::vector<NodeId>;

namespace {

bool contains(const std::vector<Symbol>& names, Symbol name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Returns `[lambda: name for name in ()]`: a cell of an inlined comprehension.
NodeId captured_in_comprehension(ast::Tree& tree, Symbol name) {
  const ListId generators = tree.list({empty_generator(tree, name)});
  return tree.add(ast::ListComp{capture(tree, name), generators});
}

// Returns `[None for name in ()]`, which hides the name.
NodeId empty_comprehension(ast::Tree& tree, Symbol name) {
  const ListId generators = tree.list({empty_generator(tree, name)});
  return tree.add(ast::ListComp{none_node(tree, {}), generators});
}

// Returns the name that `[None for name in ()]` hides.
Symbol target_of(const ast::Tree& tree, NodeId mention) {
  if (!tree.is(mention, Kind::ListComp)) return {};
  const auto first = tree.items(tree.as<ast::ListComp>(mention).generators)[0];
  const NodeId target = tree.as<ast::comprehension>(first).target;
  return tree.is(target, Kind::Name) ? tree.as<ast::Name>(target).id : Symbol();
}

// Returns true if a cell was a local first, without being a parameter: an inlined comprehension
// binds the name as well.
bool is_hidden_too(const object::Code& code, Symbol name) {
  for (size_t i = 0; i < code.localsplus.size(); ++i) {
    if (code.localsplus[i] != name) continue;
    return code.localspluskinds[i] == object::LocalKind::CellLocal && i >= parameter_count(code);
  }
  return false;
}

}  // namespace

NodeId capture(ast::Tree& tree, Symbol name) {
  return tree.add(ast::Lambda{NodeId(), tree.add(ast::Name{name})});
}

NodeId empty_generator(ast::Tree& tree, Symbol name) {
  const NodeId nothing = tree.add(ast::Tuple{tree.list({})});
  return tree.add(ast::comprehension{tree.add(ast::Name{name}), nothing, tree.list({}), 0});
}

NodeId binding_of(ast::Tree& tree, Symbol name) {
  const NodeId target = tree.add(ast::Name{name});
  return tree.add(ast::Assign{tree.list({target}), none_node(tree, {})});
}

NodeId dead_statement(ast::Tree& tree, std::span<const NodeId> body) {
  const NodeId test = constant_node(tree, ConstKind::False);
  return tree.add(ast::If{test, tree.list(Nodes(body.begin(), body.end())), {}});
}

NodeId dead_annotation(ast::Tree& tree, uint32_t simple) {
  const NodeId target = name_node(tree, "_", {});
  return tree.add(ast::AnnAssign{target, none_node(tree, {}), NodeId(), simple});
}

Nodes dead_code(ast::Tree& tree, object::CodeId code, const Symbols& symbols, bool can_bind) {
  Nodes dead;
  const auto name = [&](Symbol symbol) { return tree.add(ast::Name{symbol}); };
  for (const auto* unbound : {&symbols.unbound_locals, &symbols.unbound_cells}) {
    if (!can_bind) break;
    for (const Symbol symbol : *unbound) dead.push_back(binding_of(tree, symbol));
  }
  for (const Symbol symbol : symbols.unused_free) dead.push_back(tree.add(ast::Expr{name(symbol)}));
  for (const Symbol symbol : symbols.passed_on) {
    dead.push_back(tree.add(ast::Expr{capture(tree, symbol)}));
  }
  // Names of modules and classes are no locals, and only locals can be cells; but names of their
  // inlined comprehensions are.
  const bool has_locals = (tree.module()[code].flags & object::kOptimized) != 0;
  const auto comprehension = [&](Symbol symbol) {
    return tree.add(ast::Expr{empty_comprehension(tree, symbol)});
  };
  const auto is_unbound = [&](Symbol symbol) {
    return contains(symbols.unbound_cells, symbol) || contains(symbols.unbound_locals, symbol);
  };
  for (const Symbol symbol : symbols.unused_cells) {
    const bool is_own =
        (has_locals && (can_bind || !is_unbound(symbol))) || tree.text(symbol) == "__class__";
    const NodeId use = is_own ? capture(tree, symbol) : captured_in_comprehension(tree, symbol);
    dead.push_back(tree.add(ast::Expr{use}));
    if (has_locals && is_own && is_hidden_too(tree.module()[code], symbol)) {
      dead.push_back(comprehension(symbol));
    }
  }
  for (const Symbol symbol : symbols.hidden_cells) dead.push_back(comprehension(symbol));
  if (symbols.lacks_class_dict) {
    const NodeId alias =
        tree.add(ast::TypeAlias{name_node(tree, "_", {}), tree.list({}), none_node(tree, {})});
    dead.push_back(alias);
  }
  if (symbols.lacks_yield) dead.push_back(tree.add(ast::Expr{tree.add(ast::Yield{})}));
  if (symbols.lacks_await) {
    dead.push_back(tree.add(ast::Expr{tree.add(ast::Await{none_node(tree, {})})}));
  }
  return dead;
}

DeadParts take_dead_parts(const ast::Tree& tree, ListId body, Nodes& statements) {
  const auto items = tree.items(body);
  statements.assign(items.begin(), items.end());
  DeadParts parts;
  if (statements.empty() || !tree.is(statements.back(), Kind::If)) return parts;
  const auto branch = tree.as<ast::If>(statements.back());
  if (!is_constant(tree, branch.test, ConstKind::False) || !tree.items(branch.orelse).empty()) {
    return parts;
  }
  for (const NodeId statement : tree.items(branch.body)) {
    if (tree.is(statement, Kind::Assign)) {
      const NodeId target = tree.items(tree.as<ast::Assign>(statement).targets)[0];
      if (!tree.is(target, Kind::Name)) return {};
      parts.bound.push_back(tree.as<ast::Name>(target).id);
    } else if (tree.is(statement, Kind::Expr)) {
      parts.mentions.push_back(tree.as<ast::Expr>(statement).value);
    } else {
      return {};
    }
  }
  statements.pop_back();
  return parts;
}

Nodes mentions_without_binding(ast::Tree& tree, ListId body) {
  const auto items = tree.items(body);
  for (const NodeId statement : Nodes(items.begin(), items.end())) {
    if (!tree.is(statement, Kind::If)) continue;
    const ListId one = tree.list({statement});
    Nodes rest;
    const DeadParts dead = take_dead_parts(tree, one, rest);
    if (dead.empty()) continue;
    Nodes mentions;
    for (const NodeId mention : dead.mentions) {
      // A cell that nothing else binds becomes that of a comprehension.
      const NodeId named =
          tree.is(mention, Kind::Lambda) ? tree.as<ast::Lambda>(mention).body : NodeId();
      const Symbol name =
          named.valid() && tree.is(named, Kind::Name) ? tree.as<ast::Name>(named).id : Symbol();
      if (contains(dead.bound, name)) {
        mentions.push_back(captured_in_comprehension(tree, name));
      } else if (!contains(dead.bound, target_of(tree, mention))) {
        mentions.push_back(mention);
      }
    }
    return mentions;
  }
  return {};
}

NodeId mentions_of(ast::Tree& tree, const Nodes& mentions) {
  return mentions.size() == 1 ? mentions[0] : tree.add(ast::Tuple{tree.list(mentions)});
}

NodeId with_mentions(ast::Tree& tree, NodeId value, Nodes mentions) {
  if (mentions.empty()) return value;
  const ast::Where at = tree.where(value);
  if (tree.is(value, Kind::Starred)) {
    // The star stays outermost.
    const NodeId starred = tree.as<ast::Starred>(value).value;
    return tree.add(ast::Starred{with_mentions(tree, starred, std::move(mentions))}, at);
  }
  const NodeId test = constant_node(tree, ConstKind::True, at);
  return tree.add(ast::IfExp{test, value, mentions_of(tree, mentions)}, at);
}

NodeId after_comprehensions(ast::Tree& tree, NodeId value, const std::vector<Symbol>& names) {
  if (names.empty()) return value;
  Nodes lending;
  for (const Symbol name : names) lending.push_back(empty_comprehension(tree, name));
  const ast::Where at = tree.where(value);
  const NodeId test = constant_node(tree, ConstKind::False, at);
  return tree.add(ast::IfExp{test, mentions_of(tree, lending), value}, at);
}

}  // namespace pellucid::structure
