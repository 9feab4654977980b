// SPDX-License-Identifier: Apache-2.0
// An f-string of many parts compiles to `''.join([...])` with a list of its parts
// (compiler_joined_str, STACK_USE_GUIDELINE). Nobody writes such a list.
#include <algorithm>
#include <utility>

#include "ast/nodes.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

namespace {

constexpr size_t kMostParts = 30;  // the parts of an f-string that are joined by one instruction

bool is_text(const ast::Tree& tree, NodeId node) {
  const object::Const* value = ast::constant_of(tree, node);
  return value != nullptr && value->kind == object::ConstKind::Str;
}

// Returns the parts of `''.join([...])`; none if it is something else.
Statements parts_of(const ast::Tree& tree, const ast::Call& call) {
  if (!tree.is(call.func, Kind::Attribute) || !tree.items(call.keywords).empty()) return {};
  const auto method = tree.as<ast::Attribute>(call.func);
  const auto args = tree.items(call.args);
  if (args.size() != 1 || !tree.is(args[0], Kind::List)) return {};
  if (tree.text(method.attr) != "join" || !is_text(tree, method.value)) return {};
  if (!tree.text(ast::constant_of(tree, method.value)->text).empty()) return {};
  const auto items = tree.items(tree.as<ast::List>(args[0]).elts);
  return {items.begin(), items.end()};
}

}  // namespace

void join_long_f_strings(ast::Tree& tree, const Statements& body) {
  if (!tree.made().has(Kind::JoinedStr)) return;
  for (const NodeId node : own_nodes(tree, body, {Kind::Call})) {
    Statements parts = parts_of(tree, tree.as<ast::Call>(node));
    if (parts.size() <= kMostParts) continue;
    bool follows_text = false;
    const bool are_parts = std::ranges::all_of(parts, [&](NodeId& part) {
      const bool was_text = std::exchange(follows_text, is_text(tree, part));
      if (follows_text) return !was_text;
      if (!tree.is(part, Kind::JoinedStr)) return false;
      const auto values = tree.items(tree.as<ast::JoinedStr>(part).values);
      if (values.size() != 1 || !tree.is(values[0], Kind::FormattedValue)) return false;
      part = values[0];
      return true;
    });
    if (are_parts) tree.set(node, ast::JoinedStr{tree.list(parts)});
  }
}

}  // namespace pellucid::polish
