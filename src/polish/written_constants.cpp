// SPDX-License-Identifier: Apache-2.0
// Constants that leave nothing but their place, whose width shows which of two they were.
#include <string>

#include "ast/nodes.h"
#include "polish/ends.h"
#include "polish/keywords.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;
using object::ConstKind;

namespace {

NodeId constant(ast::Tree& tree, ConstKind kind, int64_t number, ast::Where at) {
  object::Const value;
  value.kind = kind;
  value.integer = number;
  return tree.add(ast::Constant{tree.module().add(value)}, at);
}

// Returns the width of a constant as most code writes it; 0: that has several forms.
int32_t usual_width(const object::Module& module, const object::Const& value) {
  if (value.kind == ConstKind::None) return width_of("None");
  if (value.kind == ConstKind::Int) return width_of(std::to_string(value.integer));
  if (value.kind != ConstKind::Str) return 0;
  const std::string_view text = module.text(value.text);
  const bool is_plain = text.find_first_of("\"'\\\n\t") == std::string_view::npos;
  return is_plain ? width_of(text) + width_of("''") : 0;
}

}  // namespace

void write_ones(ast::Tree& tree, const Statements& body, Outline& outline, const Starts& starts) {
  if (!starts.known() && !starts.has_endless_ones()) return;
  for_each_statement(tree, body, outline, {Kind::While}, [&](NodeId item) {
    auto loop = tree.as<ast::While>(item);
    const bool is_endless =
        tree.is(loop.test, Kind::Constant) && !tree.where(loop.test).code.valid();
    const bool is_one = starts.has_endless_ones() && is_endless;
    if (!is_one && starts.of_constant_test(item).width() != width_of("1")) return;
    loop.test = constant(tree, ConstKind::Int, 1, tree.where(loop.test));
    tree.set(item, loop);
  });
}

void write_yielded_nones(ast::Tree& tree, const std::vector<NodeId>& nodes, const Starts& starts) {
  if (!starts.known()) return;
  for (const NodeId node : nodes) {
    if (!tree.is(node, Kind::Yield) || tree.as<ast::Yield>(node).value.valid()) continue;
    if (starts.own(node).width() < width_of("yield None")) continue;
    tree.set(node, ast::Yield{constant(tree, ConstKind::None, 0, tree.where(node))});
  }
}

// The compiler makes a tuple of a list that is only searched.
void write_lists_of_one(ast::Tree& tree, const std::vector<NodeId>& nodes, const Starts& starts) {
  if (!starts.known()) return;
  for (const NodeId node : nodes) {
    if (!tree.is(node, Kind::Compare)) continue;
    const auto compare = tree.as<ast::Compare>(node);
    const auto op = static_cast<ast::CmpOperator>(tree.numbers(compare.ops).back());
    if (op != ast::CmpOperator::In && op != ast::CmpOperator::NotIn) continue;
    const NodeId last = tree.items(compare.comparators).back();
    const object::Const* value = ast::constant_of(tree, last);
    if (value == nullptr || value->kind != ConstKind::Tuple || value->items.size() != 1) continue;
    const object::ConstId only = value->items[0];
    const int32_t wide = usual_width(tree.module(), tree.module()[only]);
    if (wide == 0 || starts.own(last).width() != wide + width_of("[]")) continue;
    const ast::Where where = tree.where(last);
    const NodeId item = tree.add(ast::Constant{only}, where);
    tree.set(last, ast::List{tree.list({item})});
  }
}

void write_end_of_block(ast::Tree& tree, Statements& body, const Starts& starts) {
  if (!starts.known() || body.size() != 1) return;
  const object::Columns end = starts.of_end();
  const bool is_empty = tree.is(body[0], Kind::Pass);
  if (!is_empty && docstring_of(tree, body) == nullptr) return;
  const auto last = is_empty ? object::Columns() : starts.own(tree.as<ast::Expr>(body[0]).value);
  if (!is_empty && end == last) return;
  if (end.width() == width_of("pass") && !is_empty) {
    body.push_back(tree.add(ast::Pass{}));
  } else if (end.width() == width_of("...")) {
    const NodeId dots = tree.add(ast::Expr{constant(tree, ConstKind::Ellipsis, 0, {})});
    if (is_empty) body.pop_back();
    body.push_back(dots);
  }
}

}  // namespace pellucid::polish
