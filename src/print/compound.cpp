// SPDX-License-Identifier: Apache-2.0
// Compound statements.
#include <algorithm>
#include <cstdio>
#include <string>

#include "print/lines.h"
#include "print/statements.h"

namespace pellucid::print {

using ast::Kind;
using ast::ListId;
using ast::NodeId;

void Statements::push(Step::What what, uint32_t id, uint32_t depth, const char* text) {
  Step step{what};
  step.id = id;
  step.depth = depth;
  step.text = text;
  work_.push_back(step);
}

void Statements::body(ListId list, uint32_t depth, bool may_have_docstring) {
  push(Step::Body, list.value, depth);
  work_.back().may_have_docstring = may_have_docstring;
}

// Prints the statements in place of the region, under a comment with the reason for their form.
void Statements::unstructured(NodeId id, uint32_t depth) {
  const auto node = tree_.as<ast::Unstructured>(id);
  char offset[16];
  std::snprintf(offset, sizeof offset, "%x", node.offset);
  comment("pellucid: without structure: " + std::string(tree_.text(node.reason)) + " at byte 0x" +
              offset,
          depth);
  end_line();
  body(node.body, depth);
}

void Statements::clause(const char* text, ListId list, uint32_t depth) {
  if (tree_.items(list).empty()) return;
  push(Step::Line, list.value, depth, text);
}

void Statements::end_header(ListId list, uint32_t depth, bool may_have_docstring) {
  out_ += ':';
  body(list, depth, may_have_docstring);
  if (style_.keep_lines && stands_on_this_line(list)) {
    work_.back().is_inline = true;
  } else {
    end_line();
  }
}

// Returns true if a body has to follow its header on the same line to be on its original line. A
// body without instructions takes no separate line.
bool Statements::stands_on_this_line(ListId list) const {
  const auto items = tree_.items(list);
  if (items.empty()) return true;
  const bool is_simple =
      std::all_of(items.begin(), items.end(), [&](NodeId item) { return can_share_a_line(item); });
  const int32_t line = line_of(tree_, items[0]);
  if (!is_simple) return false;
  return line > 0 ? line <= static_cast<int64_t>(expressions_.line())
                  : tree_.is(items[0], Kind::Pass);
}

void Statements::decorators(ListId list, uint32_t depth) {
  for (const NodeId each : tree_.items(list)) {
    if (before(9)) {
      // Before PEP 614 a decorator is a dotted name, or a call of one.
      NodeId name = tree_.is(each, Kind::Call) ? tree_.as<ast::Call>(each).func : each;
      while (tree_.is(name, Kind::Attribute)) name = tree_.as<ast::Attribute>(name).value;
      if (!tree_.is(name, Kind::Name)) needs(9, "this decorator");
    }
    expressions_.go_to_line(first_line(tree_, each));
    out_ += '@';
    expression(each, kNamedTest);
    end_line();
    begin_line(depth);
  }
}

void Statements::function(NodeId id, uint32_t depth) {
  const auto node = tree_.as<ast::FunctionDef>(id);
  decorators(node.decorator_list, depth);
  expressions_.go_to_line(tree_.where(id).line);
  out_ += node.is_async != 0 ? "async def " : "def ";
  word(node.name);
  expressions_.type_parameters(node.type_params);
  expressions_.parameters(node.args);
  if (node.returns.valid()) {
    out_ += " -> ";
    expression(node.returns, kTest);
  }
  end_header(node.body, depth + 1, true);
}

void Statements::class_definition(NodeId id, uint32_t depth) {
  const auto node = tree_.as<ast::ClassDef>(id);
  decorators(node.decorator_list, depth);
  expressions_.go_to_line(tree_.where(id).line);
  out_ += "class ";
  word(node.name);
  expressions_.type_parameters(node.type_params);
  if (!tree_.items(node.bases).empty() || !tree_.items(node.keywords).empty()) {
    expressions_.class_arguments(node.bases, node.keywords);
  }
  end_header(node.body, depth + 1, true);
}

void Statements::while_loop(NodeId id, uint32_t depth) {
  const auto node = tree_.as<ast::While>(id);
  out_ += "while ";
  if (tree_.is(node.test, Kind::Constant)) {
    // Nothing tests it, so it has no line.
    expressions_.constant(tree_.as<ast::Constant>(node.test).value, kCondition);
  } else {
    expression(node.test, whole(kCondition));
  }
  end_header(node.body, depth + 1);
  clause("else", node.orelse, depth);
}

void Statements::for_loop(NodeId id, uint32_t depth) {
  const auto node = tree_.as<ast::For>(id);
  out_ += node.is_async != 0 ? "async for " : "for ";
  expression(node.target, {Level::BitOr, Place::kTuple | Place::kTarget});
  out_ += " in ";
  Place iterated = {Level::Test, Place::kTuple | Place::kMembership};
  if (before(9)) iterated.flags |= Place::kNoStar;
  expression(node.iter, iterated);
  end_header(node.body, depth + 1);
  clause("else", node.orelse, depth);
}

void Statements::conditional(NodeId id, uint32_t depth, const char* keyword) {
  const auto node = tree_.as<ast::If>(id);
  out_ += keyword;
  expression(node.test, whole(kCondition));
  end_header(node.body, depth + 1);
  const auto orelse = tree_.items(node.orelse);
  if (orelse.size() == 1 && tree_.is(orelse[0], Kind::If)) {
    push(Step::Elif, orelse[0].value, depth);
  } else {
    clause("else", node.orelse, depth);
  }
}

void Statements::with(NodeId id, uint32_t depth) {
  const auto node = tree_.as<ast::With>(id);
  const auto items = tree_.items(node.items);
  out_ += node.is_async != 0 ? "async with " : "with ";
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out_ += ", ";
    with_item(items[i], items.size() == 1);
  }
  end_header(node.body, depth + 1);
}

void Statements::with_item(NodeId id, bool is_only_one) {
  const auto item = tree_.as<ast::withitem>(id);
  const bool is_tuple = tree_.is(item.context_expr, Kind::Tuple) ||
                        (tree_.is(item.context_expr, Kind::Constant) &&
                         constant(item.context_expr).kind == object::ConstKind::Tuple);
  // `with (a, b):` has two items since 3.9; a tuple needs its parentheses twice.
  const bool twice = is_only_one && is_tuple && !item.optional_vars.valid();
  if (twice) out_ += '(';
  expression(item.context_expr, kTest);
  if (twice) out_ += ')';
  if (!item.optional_vars.valid()) return;
  out_ += " as ";
  expression(item.optional_vars, {Level::Primary, Place::kTarget});
}

void Statements::try_statement(NodeId id, uint32_t depth) {
  const auto node = tree_.as<ast::Try>(id);
  if (node.is_star != 0 && before(11)) needs(11, "except*");
  out_ += "try";
  end_header(node.body, depth + 1);
  for (const NodeId each : tree_.items(node.handlers)) {
    push(Step::Handler, each.value, depth, node.is_star != 0 ? "except*" : "except");
  }
  clause("else", node.orelse, depth);
  clause("finally", node.finalbody, depth);
}

void Statements::handler(NodeId id, uint32_t depth, const char* keyword) {
  const auto node = tree_.as<ast::ExceptHandler>(id);
  out_ += keyword;
  if (node.type.valid()) {
    out_ += ' ';
    expression(node.type, kTest);
  }
  if (node.name.valid()) {
    out_ += " as ";
    word(node.name);
  }
  end_header(node.body, depth + 1);
}

void Statements::match(NodeId id, uint32_t depth) {
  const auto node = tree_.as<ast::Match>(id);
  if (before(10)) needs(10, "match");
  out_ += "match ";
  expression(node.subject, kNamedTest);
  out_ += ':';
  end_line();
  for (const NodeId each : tree_.items(node.cases)) {
    push(Step::Case, each.value, depth + 1);
  }
}

void Statements::match_case(NodeId id, uint32_t depth) {
  const auto node = tree_.as<ast::match_case>(id);
  out_ += "case ";
  expressions_.pattern(node.pattern, size_t{kIndent} * depth);
  if (node.guard.valid()) {
    out_ += " if ";
    expression(node.guard, kCondition);
  }
  end_header(node.body, depth + 1);
}

}  // namespace pellucid::print
