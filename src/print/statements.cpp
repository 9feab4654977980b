// SPDX-License-Identifier: Apache-2.0
// Statements by their kind, and the steps between them.
#include "print/print.h"

#include <algorithm>
#include <utility>

#include "print/compound.h"
#include "print/expressions.h"
#include "print/page.h"
#include "print/simple.h"

namespace pellucid::print {

using ast::Kind;
using ast::ListId;
using ast::NodeId;

namespace {

void statement(Page& page, NodeId id, uint32_t depth) {
  switch (page.tree.kind(id)) {
    case Kind::FunctionDef:
      function_definition(page, id, depth);
      break;
    case Kind::ClassDef:
      class_definition(page, id, depth);
      break;
    case Kind::For:
      for_loop(page, id, depth);
      break;
    case Kind::While:
      while_loop(page, id, depth);
      break;
    case Kind::If:
      conditional(page, id, depth, "if ");
      break;
    case Kind::With:
      with(page, id, depth);
      break;
    case Kind::Try:
      try_statement(page, id, depth);
      break;
    case Kind::Match:
      match(page, id, depth);
      break;
    case Kind::Unstructured:
      unstructured(page, id, depth);
      break;
    default:
      simple(page, id, depth);
      page.end_line();
      break;
  }
}

// Writes what a body without statements has.
void pass(Page& page, const Step& body) {
  if (!body.is_inline) {
    page.begin_line(body.depth);
    page.out += "pass";
  } else {
    page.pass_at = page.out.size();
    page.pass_depth = body.depth;
    page.out += " pass";
  }
  page.end_line();
}

void next_in_body(Page& page, std::span<const NodeId> items, Step& body) {
  const NodeId id = items[body.index];
  if (body.is_inline) {
    page.where = page.tree.where(id);
    if (items.size() == 1 && page.tree.is(id, Kind::Pass) && page.where.line <= 0) {
      page.pass_at = page.out.size();
      page.pass_depth = body.depth;
    }
    page.append_to_line(body.index > 0 ? "; " : " ");
    page.map_line(id);
  } else {
    const bool is_first = body.index == 0 && body.owner == Owner::Block;
    const bool is_apart = (is_first && is_definition(page.tree, id)) ||
                          (body.has_docstring && body.owner == Owner::Module);
    page.place(id, body.depth, body.index > 0 ? items[body.index - 1] : NodeId(), is_apart ? 1 : 0);
  }
  body.has_docstring = body.may_have_docstring && is_docstring(page, id);
  if (body.has_docstring) {
    docstring(page, id, body.depth,
              body.index + 1 < items.size() ? items[body.index + 1] : NodeId());
  } else {
    statement(page, id, body.depth);
  }
  const bool is_comment = page.tree.is(id, Kind::Comment);
  body.is_empty = body.is_empty && is_comment;
  body.may_have_docstring = body.may_have_docstring && is_comment;
  ++body.index;
}

// Writes the statements of the body on top up to one that has steps of its own: those come next.
void run_body(Page& page) {
  const size_t steps = page.work.size();
  Step body = page.work.back();
  const auto items = page.tree.items(ListId(body.id));
  while (page.work.size() == steps) {
    if (body.index == items.size()) {
      page.work.pop_back();
      if (body.is_empty) pass(page, body);
      page.ended_definition = page.ended_definition || body.owner != Owner::Block;
      return;
    }
    next_in_body(page, items, body);
  }
  page.work[steps - 1] = body;
}

void step(Page& page, const Step& step) {
  if (step.what == Step::Line) {
    if (page.ended_definition && !page.style.keep_lines) page.skip_lines(1);
    page.begin_line(step.depth);
    page.out += step.text;
    page.end_header(ListId(step.id), step.depth + 1);
    return;
  }
  const NodeId id(step.id);
  page.place(id, step.depth, NodeId());
  if (step.what == Step::Handler) {
    handler(page, id, step.depth, step.text);
  } else if (step.what == Step::Case) {
    match_case(page, id, step.depth);
  } else {
    conditional(page, id, step.depth, "elif ");
  }
}

void run_steps(Page& page) {
  while (!page.work.empty()) {
    const bool is_body = page.work.back().what == Step::Body;
    size_t mark = page.work.size();
    if (is_body) {
      run_body(page);
      mark = std::min(mark, page.work.size());
    } else {
      const Step next = page.work.back();
      page.work.pop_back();
      --mark;
      step(page, next);
    }
    // A step pushes its pieces in reading order; the first has to be on top.
    std::reverse(page.work.begin() + static_cast<std::ptrdiff_t>(mark), page.work.end());
  }
}

// Prints a module, a statement or an expression.
void print_root(Page& page, NodeId root) {
  const auto category = ast::category_of(page.tree.kind(root));
  if (category == ast::Category::Mod) {
    const ListId list = page.tree.as<ast::Module>(root).body;
    if (!page.tree.items(list).empty()) page.body(list, page.style.indent, Owner::Module);
  } else {
    page.where = page.tree.where(root);
    page.place(root, page.style.indent, NodeId());
    if (category == ast::Category::Stmt) {
      statement(page, root, page.style.indent);
    } else {
      PELLUCID_CHECK(category == ast::Category::Expr);
      page.expression(root, kTopLevel);
      page.end_line();
    }
    std::reverse(page.work.begin(), page.work.end());
  }
  run_steps(page);
  page.settle_pass();
  page.settle_losses();
}

}  // namespace

Source to_source(const ast::Tree& tree, NodeId root, const Style& style) {
  Page page(tree, style);
  try {
    print_root(page, root);
  } catch (const InternalError& bug) {
    page.source.failure = Problem{page.where, bug.what()};
  }
  return std::move(page.source);
}

std::string to_literal(const object::Module& module, object::ConstId id, const Style& style) {
  std::string out;
  Writer writer(module, nullptr, style.version, out);
  constant(writer, id, kTest);
  return out;
}

}  // namespace pellucid::print
