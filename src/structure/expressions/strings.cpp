// SPDX-License-Identifier: Apache-2.0
// Formatted strings and templates.
#include <array>

#include "ast/nodes.h"
#include "structure/expressions/expressions.h"
#include "structure/expressions/operations.h"

namespace pellucid::structure {

using ast::NodeId;
using bytecode::Op;
using object::Const;
using object::ConstKind;

namespace {

constexpr std::array<uint32_t, 4> kConversions = {0, 's', 'r', 'a'};

// The parts of one string under construction. Adjacent literal parts are merged.
class StringParts {
 public:
  explicit StringParts(ast::Tree& tree) : tree_(tree) {}

  void add(NodeId node) {
    const Const* constant = constant_of(tree_, node);
    if (!constant || constant->kind != ConstKind::Str) {
      nodes_.push_back(node);
      return;
    }
    if (constant->text.valid() && tree_.text(constant->text).empty()) return;
    const Const* before = nodes_.empty() ? nullptr : constant_of(tree_, nodes_.back());
    if (!before) {
      nodes_.push_back(node);
      return;
    }
    Const joined;
    joined.kind = ConstKind::Str;
    joined.text = tree_.intern(std::string(tree_.text(before->text)) +
                               std::string(tree_.text(constant->text)));
    nodes_.back() =
        tree_.add(ast::Constant{tree_.module().add(joined)}, tree_.where(nodes_.back()));
  }
  ast::ListId list() { return tree_.list(nodes_); }

 private:
  ast::Tree& tree_;
  std::vector<NodeId> nodes_;
};

// Returns a format specification as a JoinedStr, whatever made the string.
NodeId format_spec(ast::Tree& tree, NodeId spec) {
  if (tree.is(spec, ast::Kind::JoinedStr)) return spec;
  const ast::Where at = tree.where(spec);
  const Const* constant = constant_of(tree, spec);
  if (constant && constant->kind == ConstKind::Str) {
    return tree.add(ast::JoinedStr{tree.list({spec})}, at);
  }
  const NodeId part = tree.add(ast::FormattedValue{spec, 0, NodeId()}, at);
  return tree.add(ast::JoinedStr{tree.list({part})}, at);
}

}  // namespace

NodeId make_string(const ExpressionContext& c, const ir::Value& value, Nodes operands) {
  const ast::Where at = c.where(value);
  switch (value.op) {
    // The FORMAT_* that compilers emit after each CONVERT_VALUE takes the part over.
    case Op::Convert: {
      if (value.a >= kConversions.size()) return NodeId();
      const ast::FormattedValue part{operands[0], kConversions[value.a], NodeId()};
      return c.tree.add(ast::JoinedStr{c.tree.list({c.tree.add(part, at)})}, at);
    }
    case Op::Format: {
      if (value.a >= kConversions.size()) return NodeId();
      NodeId part = operands[0];
      if (is_op(c.operand(value, 0), Op::Convert) && c.tree.is(part, ast::Kind::JoinedStr)) {
        part = c.tree.items(c.tree.as<ast::JoinedStr>(part).values)[0];
      } else {
        part = c.tree.add(ast::FormattedValue{part, kConversions[value.a], NodeId()}, at);
      }
      if (operands.size() > 1) {
        auto formatted = c.tree.as<ast::FormattedValue>(part);
        formatted.format_spec = format_spec(c.tree, operands[1]);
        c.tree.set(part, formatted);
      }
      return c.tree.add(ast::JoinedStr{c.tree.list({part})}, at);
    }
    case Op::BuildString: {
      StringParts parts(c.tree);
      for (size_t i = 0; i < operands.size(); ++i) {
        const bool is_part = is_op(c.operand(value, i), Op::Format);
        const Const* constant = constant_of(c.tree, operands[i]);
        if (is_part && c.tree.is(operands[i], ast::Kind::JoinedStr)) {
          parts.add(c.tree.items(c.tree.as<ast::JoinedStr>(operands[i]).values)[0]);
        } else if (constant && constant->kind == ConstKind::Str) {
          parts.add(operands[i]);
        } else {
          parts.add(c.tree.add(ast::FormattedValue{operands[i], 0, NodeId()}, at));
        }
      }
      return c.tree.add(ast::JoinedStr{parts.list()}, at);
    }
    case Op::BuildInterpolation: {
      const Const* text = constant_of(c.tree, operands[1]);
      const bool is_text = text != nullptr && text->kind == ConstKind::Str;
      if (!is_text || value.a >= kConversions.size()) return NodeId();
      const NodeId spec = operands.size() > 2 ? format_spec(c.tree, operands[2]) : NodeId();
      const auto str = c.tree.as<ast::Constant>(operands[1]).value;
      return c.tree.add(ast::Interpolation{operands[0], str, kConversions[value.a], spec}, at);
    }
    case Op::BuildTemplate: {
      // Operands: the strings, one more than the interpolations, then the interpolations.
      std::vector<NodeId> strings;
      if (const Const* constant = constant_of(c.tree, operands[0])) {
        for (const auto item : std::vector<object::ConstId>(constant->items)) {
          strings.push_back(c.tree.add(ast::Constant{item}, at));
        }
      } else if (c.tree.is(operands[0], ast::Kind::Tuple)) {
        const auto items = c.tree.items(c.tree.as<ast::Tuple>(operands[0]).elts);
        strings.assign(items.begin(), items.end());
      }
      std::vector<NodeId> interpolations;
      if (c.tree.is(operands[1], ast::Kind::Tuple)) {
        const auto items = c.tree.items(c.tree.as<ast::Tuple>(operands[1]).elts);
        interpolations.assign(items.begin(), items.end());
      }
      if (strings.size() != interpolations.size() + 1) return NodeId();
      StringParts parts(c.tree);
      for (size_t i = 0; i < strings.size(); ++i) {
        parts.add(strings[i]);
        if (i < interpolations.size()) parts.add(interpolations[i]);
      }
      return c.tree.add(ast::TemplateStr{parts.list()}, at);
    }
    default:
      return NodeId();
  }
}

}  // namespace pellucid::structure
