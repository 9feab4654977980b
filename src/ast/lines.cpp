// SPDX-License-Identifier: Apache-2.0
#include "ast/lines.h"

#include <algorithm>

#include "ast/walk.h"

namespace pellucid::ast {

NodeId first_part(const Tree& tree, NodeId id) {
  switch (tree.kind(id)) {
    case Kind::BoolOp:
      return tree.items(tree.as<BoolOp>(id).values)[0];
    case Kind::NamedExpr:
      return tree.as<NamedExpr>(id).target;
    case Kind::BinOp:
      return tree.as<BinOp>(id).left;
    case Kind::IfExp:
      return tree.as<IfExp>(id).body;
    case Kind::Compare:
      return tree.as<Compare>(id).left;
    case Kind::Call:
      return tree.as<Call>(id).func;
    case Kind::Attribute:
      return tree.as<Attribute>(id).value;
    case Kind::Subscript:
      return tree.as<Subscript>(id).value;
    case Kind::Slice:
      return tree.as<Slice>(id).lower;
    case Kind::Tuple: {
      const auto items = tree.items(tree.as<Tuple>(id).elts);
      return items.empty() ? NodeId() : items[0];
    }
    default:
      return NodeId();
  }
}

bool stores_twice(const Tree& tree, std::span<const NodeId> targets) {
  for (size_t i = 0; i + 1 < targets.size(); ++i) {
    const NodeId a = targets[i], b = targets[i + 1];
    if (!tree.is(a, Kind::Name) || !tree.is(b, Kind::Name)) continue;
    if (tree.as<Name>(a).id != tree.as<Name>(b).id) continue;
    const int32_t line = tree.where(a).line;
    if (line > 0 && tree.where(b).line > line) return true;
  }
  return false;
}

bool is_one_store(const Tree& tree, NodeId a, NodeId b) {
  return tree.is(a, Kind::Name) && tree.is(b, Kind::Name) &&
         tree.as<Name>(a).id == tree.as<Name>(b).id && tree.where(a).line == tree.where(b).line;
}

bool keeps_order(const Tree& tree, const Assign& node) {
  const auto targets = tree.items(node.targets);
  if (targets.size() != 1 || !tree.is(targets[0], Kind::Tuple)) return false;
  if (!tree.is(node.value, Kind::Tuple)) return false;
  const auto names = tree.items(tree.as<Tuple>(targets[0]).elts);
  const auto values = tree.items(tree.as<Tuple>(node.value).elts);
  if (names.size() != values.size() || names.size() < 2 || names.size() > 3) return false;
  const auto is_known_name = [&](NodeId name) {
    return tree.is(name, Kind::Name) && tree.where(name).line > 0;
  };
  if (!std::all_of(names.begin(), names.end(), is_known_name)) return false;
  return std::any_of(names.begin(), names.end(), [&](NodeId name) {
    return tree.where(name).line != tree.where(names[0]).line;
  });
}

bool starts_after_prefix(const Tree& tree, const Assign& node) {
  const auto targets = tree.items(node.targets);
  if (targets.size() != 1) return false;
  NodeId target = targets[0], value = node.value;
  if (tree.is(target, Kind::Tuple) && tree.is(value, Kind::Tuple)) {
    // Assigned without a tuple: the last value is restored from right before the stores.
    const auto names = tree.items(tree.as<Tuple>(target).elts);
    const auto values = tree.items(tree.as<Tuple>(value).elts);
    if (names.empty() || names.size() != values.size() || keeps_order(tree, node)) return false;
    target = names[0];
    value = values.back();
  }
  if (!tree.is(target, Kind::Name)) return false;
  const Kind kind = tree.kind(value);
  if (kind != Kind::ListComp && kind != Kind::SetComp && kind != Kind::DictComp) return false;
  const int32_t name_line = tree.where(target).line, value_line = tree.where(value).line;
  return name_line > 0 && value_line > 0 && name_line != value_line;
}

bool is_apart(const Tree& tree, const BoolOp& around, NodeId operand) {
  return !around.is_tested_again && tree.is(operand, Kind::BoolOp) &&
         tree.as<BoolOp>(operand).is_tested_again;
}

bool keeps_lines(const Tree& tree, NodeId pattern) {
  bool binds = false, drops = false;
  const auto name = [&](Symbol symbol) { (symbol.valid() ? binds : drops) = true; };
  walk(tree, std::span(&pattern, 1), [&](NodeId id) {
    switch (tree.kind(id)) {
      case Kind::MatchAs:
        name(tree.as<MatchAs>(id).name);
        return true;
      case Kind::MatchStar:
        name(tree.as<MatchStar>(id).name);
        return true;
      case Kind::MatchMapping:
        binds = binds || tree.as<MatchMapping>(id).rest.valid();
        drops = true;
        return true;
      case Kind::MatchOr:
        drops = true;
        return true;
      default:
        return category_of(tree.kind(id)) == Category::Pattern;
    }
  });
  return binds && drops;
}

int32_t line_in_pattern(const Tree& tree, NodeId part, int32_t line) {
  while (part.valid()) {
    line = std::max(line, tree.where(part).line);
    if (tree.is(part, Kind::MatchOr)) {
      part = tree.items(tree.as<MatchOr>(part).patterns)[0];
    } else if (tree.is(part, Kind::MatchAs)) {
      part = tree.as<MatchAs>(part).pattern;
    } else {
      break;
    }
  }
  return line;
}

}  // namespace pellucid::ast
