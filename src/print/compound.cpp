// SPDX-License-Identifier: Apache-2.0
#include "print/compound.h"

#include <cstdio>
#include <string>

#include "print/expressions.h"
#include "print/lines.h"
#include "print/simple.h"

namespace pellucid::print {

using ast::Kind;
using ast::ListId;
using ast::NodeId;

namespace {

void decorators(Page& page, ListId list, uint32_t depth) {
  for (const NodeId each : page.tree.items(list)) {
    if (page.before(9)) {
      // Before PEP 614 a decorator is a dotted name, or a call of one.
      NodeId name = page.tree.is(each, Kind::Call) ? page.tree.as<ast::Call>(each).func : each;
      while (page.tree.is(name, Kind::Attribute)) name = page.tree.as<ast::Attribute>(name).value;
      if (!page.tree.is(name, Kind::Name)) page.needs(9, "this decorator");
    }
    page.writer.go_to_line(first_line(page.tree, each));
    page.out += '@';
    page.expression(each, kNamedTest);
    page.end_line();
    page.begin_line(depth);
  }
}

void with_item(Page& page, NodeId id, bool is_only_one) {
  const auto item = page.tree.as<ast::withitem>(id);
  const bool is_tuple = page.tree.is(item.context_expr, Kind::Tuple) ||
                        (page.tree.is(item.context_expr, Kind::Constant) &&
                         page.constant(item.context_expr).kind == object::ConstKind::Tuple);
  // `with (a, b):` has two items since 3.9; a tuple needs its parentheses twice.
  const bool twice = is_only_one && is_tuple && !item.optional_vars.valid();
  if (twice) page.out += '(';
  page.expression(item.context_expr, kTest);
  if (twice) page.out += ')';
  if (!item.optional_vars.valid()) return;
  page.out += " as ";
  page.expression(item.optional_vars, {Level::Primary, Place::kTarget});
}

}  // namespace

void function_definition(Page& page, NodeId id, uint32_t depth) {
  const auto node = page.tree.as<ast::FunctionDef>(id);
  decorators(page, node.decorator_list, depth);
  page.writer.go_to_line(page.tree.where(id).line);
  page.out += node.is_async != 0 ? "async def " : "def ";
  page.word(node.name);
  type_parameters(page.writer, node.type_params);
  parameters(page.writer, node.args);
  if (node.returns.valid()) {
    page.out += " -> ";
    page.expression(node.returns, kTest);
  }
  page.end_header(node.body, depth + 1, Owner::Function);
}

void class_definition(Page& page, NodeId id, uint32_t depth) {
  const auto node = page.tree.as<ast::ClassDef>(id);
  decorators(page, node.decorator_list, depth);
  page.writer.go_to_line(page.tree.where(id).line);
  page.out += "class ";
  page.word(node.name);
  type_parameters(page.writer, node.type_params);
  if (!page.tree.items(node.bases).empty() || !page.tree.items(node.keywords).empty()) {
    class_arguments(page.writer, node.bases, node.keywords);
  }
  page.end_header(node.body, depth + 1, Owner::Module);
}

void while_loop(Page& page, NodeId id, uint32_t depth) {
  const auto node = page.tree.as<ast::While>(id);
  page.out += "while ";
  if (page.tree.is(node.test, Kind::Constant)) {
    // Nothing tests it, so it has no line.
    constant(page.writer, page.tree.as<ast::Constant>(node.test).value, kCondition);
  } else {
    page.expression(node.test, whole(kCondition));
  }
  page.end_header(node.body, depth + 1);
  page.clause("else", node.orelse, depth);
}

void for_loop(Page& page, NodeId id, uint32_t depth) {
  const auto node = page.tree.as<ast::For>(id);
  page.out += node.is_async != 0 ? "async for " : "for ";
  page.expression(node.target, {Level::BitOr, Place::kTuple | Place::kTarget});
  page.out += " in ";
  Place iterated = whole({Level::Test, Place::kTuple | Place::kMembership});
  if (page.before(9)) iterated.flags |= Place::kNoStar;
  page.expression(node.iter, iterated);
  page.end_header(node.body, depth + 1);
  page.clause("else", node.orelse, depth);
}

void conditional(Page& page, NodeId id, uint32_t depth, const char* keyword) {
  const auto node = page.tree.as<ast::If>(id);
  page.out += keyword;
  page.expression(node.test, whole(kCondition));
  page.end_header(node.body, depth + 1);
  const auto orelse = page.tree.items(node.orelse);
  if (orelse.size() == 1 && page.tree.is(orelse[0], Kind::If)) {
    page.push(Step::Elif, orelse[0].value, depth);
  } else {
    page.clause("else", node.orelse, depth);
  }
}

void with(Page& page, NodeId id, uint32_t depth) {
  const auto node = page.tree.as<ast::With>(id);
  const auto items = page.tree.items(node.items);
  page.out += node.is_async != 0 ? "async with " : "with ";
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) page.out += ", ";
    with_item(page, items[i], items.size() == 1);
  }
  page.end_header(node.body, depth + 1);
}

void try_statement(Page& page, NodeId id, uint32_t depth) {
  const auto node = page.tree.as<ast::Try>(id);
  if (node.is_star != 0 && page.before(11)) page.needs(11, "except*");
  page.out += "try";
  page.end_header(node.body, depth + 1);
  for (const NodeId each : page.tree.items(node.handlers)) {
    page.push(Step::Handler, each.value, depth, node.is_star != 0 ? "except*" : "except");
  }
  page.clause("else", node.orelse, depth);
  page.clause("finally", node.finalbody, depth);
}

void handler(Page& page, NodeId id, uint32_t depth, const char* keyword) {
  const auto node = page.tree.as<ast::ExceptHandler>(id);
  page.out += keyword;
  if (node.type.valid()) {
    page.out += ' ';
    page.expression(node.type, kTest);
  }
  if (node.name.valid()) {
    page.out += " as ";
    page.word(node.name);
  }
  page.end_header(node.body, depth + 1);
}

void match(Page& page, NodeId id, uint32_t depth) {
  const auto node = page.tree.as<ast::Match>(id);
  if (page.before(10)) page.needs(10, "match");
  page.out += "match ";
  page.expression(node.subject, kNamedTest);
  page.out += ':';
  page.end_line();
  for (const NodeId each : page.tree.items(node.cases)) {
    page.push(Step::Case, each.value, depth + 1);
  }
}

void match_case(Page& page, NodeId id, uint32_t depth) {
  const auto node = page.tree.as<ast::match_case>(id);
  page.out += "case ";
  pattern(page.writer, node.pattern, size_t{kIndent} * depth);
  if (node.guard.valid()) {
    page.out += " if ";
    page.expression(node.guard, kCondition);
  }
  page.end_header(node.body, depth + 1);
}

void unstructured(Page& page, NodeId id, uint32_t depth) {
  const auto node = page.tree.as<ast::Unstructured>(id);
  char offset[16];
  std::snprintf(offset, sizeof offset, "%x", node.offset);
  comment(page,
          "pellucid: without structure: " + std::string(page.tree.text(node.reason)) +
              " at byte 0x" + offset,
          depth);
  page.end_line();
  page.body(node.body, depth);
}

}  // namespace pellucid::print
