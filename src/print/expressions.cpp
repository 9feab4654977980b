// SPDX-License-Identifier: Apache-2.0
#include "print/expressions.h"

#include <algorithm>

#include "object/identifiers.h"
#include "print/annotation_text.h"
#include "print/lines.h"

namespace pellucid::print {

using ast::Kind;
using ast::NodeId;

namespace {

bool is_operation(Kind kind) {
  return kind == Kind::BoolOp || kind == Kind::IfExp || kind == Kind::BinOp ||
         kind == Kind::Compare;
}

}  // namespace

// --- lines ---

void Expressions::go_to_line(int32_t line) {
  if (!keeps_lines_ || is_confined_ || line > kLastKeptLine) return;
  if (line <= static_cast<int64_t>(line_)) return;
  const size_t count = static_cast<size_t>(line) - line_;
  line_ = static_cast<uint32_t>(line);
  if (out_.size() == statement_start_) {
    const size_t columns = out_.size() - (out_.rfind('\n') + 1);
    out_.resize(out_.size() - columns);
    out_.append(count, '\n');
    out_.append(columns, ' ');
    statement_start_ = out_.size();
    return;
  }
  while (out_.ends_with(' ')) out_.pop_back();
  // A line end has no meaning inside of brackets; elsewhere it needs a backslash.
  for (size_t i = 0; i < count; ++i) out_ += depth_ > 0 ? "\n" : " \\\n";
  out_.append(indent_, ' ');
}

void Expressions::line_before(NodeId id) {
  if (!keeps_lines_ || !tree_) return;
  const int32_t line = first_line(*tree_, id);
  if (line > 0) push(Task::Line, static_cast<uint32_t>(line));
}

void Expressions::expression(NodeId id, Place place) {
  expr(id, place);
  run();
}

void Expressions::constant(object::ConstId id, Place place) {
  push(Task::Const, id.value, place);
  run();
}

void Expressions::class_arguments(ast::ListId bases, ast::ListId keywords) {
  const size_t mark = work_.size();
  arguments(bases, keywords, false);
  std::reverse(work_.begin() + static_cast<std::ptrdiff_t>(mark), work_.end());
  run();
}

// --- one node ---

void Expressions::expand(NodeId id, Place place) {
  if (keeps_lines_ && !inside_) go_to_line(own_line(*tree_, id));
  if (tree_->kind(id) == Kind::Constant) {
    expand_constant(tree_->as<ast::Constant>(id).value, place);
  } else if (tree_->kind(id) == Kind::Tuple) {
    tuple(id, place);
  } else if (place.has(Place::kApart)) {
    push(Task::OpenLine, 0, {}, "(");
    if (keeps_lines_ && !inside_) push(Task::Line, static_cast<uint32_t>(tree_->where(id).line));
    expand_bare(id, {});
    close(")");
  } else if (needs_parentheses(level_of(*tree_, id), place)) {
    const bool is_row = place.has(Place::kPart) && tree_->is(id, Kind::BoolOp);
    open("(");
    if (is_row) push(Task::Row);
    expand_bare(id, place);
    if (is_row) push(Task::GroupEnd);
    close(")");
  } else if (place.has(Place::kWhole) && is_operation(tree_->kind(id))) {
    const bool is_choice = tree_->is(id, Kind::BoolOp) || tree_->is(id, Kind::IfExp);
    push(is_choice ? Task::Group : Task::HuggingGroup);
    expand_bare(id, place);
    push(Task::GroupEnd);
  } else if (place.has(Place::kPart) && tree_->is(id, Kind::BoolOp)) {
    push(Task::Row);
    expand_bare(id, place);
    push(Task::GroupEnd);
  } else {
    expand_bare(id, place);
  }
}

void Expressions::expand_bare(NodeId id, Place place) {
  const ast::Tree& tree = *tree_;
  switch (tree.kind(id)) {
    case Kind::BoolOp:
      boolean(id, place);
      break;
    case Kind::NamedExpr: {
      const auto node = tree.as<ast::NamedExpr>(id);
      expr(node.target, at(Level::Primary));
      text(" := ");
      expr(node.value, kTest);
      break;
    }
    case Kind::BinOp:
      binary(id, place);
      break;
    case Kind::UnaryOp:
      unary(id, place);
      break;
    case Kind::Lambda:
      lambda(id);
      break;
    case Kind::IfExp: {
      const auto node = tree.as<ast::IfExp>(id);
      expr(node.body, {Level::Or, use_of(place)});
      operation(" if ", place.has(Place::kWhole));
      expr(node.test, {Level::Or, Place::kBranch});
      operation(" else ", place.has(Place::kWhole));
      expr(node.orelse, {Level::Test, use_of(place)});
      break;
    }
    case Kind::Dict:
      dict(id);
      break;
    case Kind::Set: {
      const auto items = tree.items(tree.as<ast::Set>(id).elts);
      // An empty set has no display; `{*()}` makes one without naming `set`.
      open(items.empty() ? "{*()" : "{");
      list(items, kTest);
      close("}", !items.empty());
      break;
    }
    case Kind::List: {
      open("[");
      const auto items = tree.items(tree.as<ast::List>(id).elts);
      list(items, {Level::Test, static_cast<uint16_t>(place.flags & Place::kTarget)});
      close("]", !items.empty());
      break;
    }
    case Kind::ListComp: {
      const auto node = tree.as<ast::ListComp>(id);
      comprehension_of("[", node.elt, node.generators, "]");
      break;
    }
    case Kind::SetComp: {
      const auto node = tree.as<ast::SetComp>(id);
      comprehension_of("{", node.elt, node.generators, "}");
      break;
    }
    case Kind::GeneratorExp: {
      const auto node = tree.as<ast::GeneratorExp>(id);
      const bool bare = place.has(Place::kBareGenerator);
      comprehension_of(bare ? "" : "(", node.elt, node.generators, bare ? "" : ")");
      break;
    }
    case Kind::DictComp: {
      const auto node = tree.as<ast::DictComp>(id);
      open("{");
      if (node.value.valid()) {
        expr(node.key, kTest);
        text(": ");
        expr(node.value, kTest);
      } else {
        if (before(15)) problem("unpacking in a comprehension needs Python 3.15");
        text("**");
        expr(node.key, at(Level::BitOr));
      }
      for (const NodeId generator : tree.items(node.generators)) {
        push(Task::Comprehension, generator.value);
      }
      close("}");
      break;
    }
    case Kind::Await:
      text("await ");
      expr(tree.as<ast::Await>(id).value, at(Level::Primary));
      break;
    case Kind::Yield: {
      const auto node = tree.as<ast::Yield>(id);
      text(node.value.valid() ? "yield " : "yield");
      if (node.value.valid()) expr(node.value, kBareTuple);
      break;
    }
    case Kind::YieldFrom:
      text("yield from ");
      expr(tree.as<ast::YieldFrom>(id).value, kTest);
      break;
    case Kind::Compare:
      compare(id, place);
      break;
    case Kind::Call:
      call(id);
      break;
    case Kind::FormattedValue:
    case Kind::Interpolation:
    case Kind::JoinedStr:
    case Kind::TemplateStr:
      format_string(id);
      break;
    case Kind::Attribute: {
      const auto node = tree.as<ast::Attribute>(id);
      expr(node.value, {Level::Primary, Place::kNoNumber});
      if (keeps_lines_ && tree.where(id).line > 0) {
        push(Task::Line, static_cast<uint32_t>(tree.where(id).line));
      }
      text(".");
      word(node.attr);
      break;
    }
    case Kind::Subscript:
      subscript(id);
      break;
    case Kind::Starred:
      line_before(tree.as<ast::Starred>(id).value);
      text("*");
      expr(tree.as<ast::Starred>(id).value, at(Level::BitOr));
      break;
    case Kind::Name: {
      // The text of an annotation is a name here.
      const Symbol name = tree.as<ast::Name>(id).id;
      const std::string_view shown = module_.text(name);
      if (object::is_identifier(shown) || !object::is_one_expression(shown)) {
        word(name);
      } else {
        const bool has_calls = before(9) && shown.find('(') != std::string_view::npos;
        has_calls ? write(with_ellipses(shown)) : write(shown);
      }
      break;
    }
    case Kind::Slice:
      slice(id);
      break;
    default:
      PELLUCID_CHECK(ast::category_of(tree.kind(id)) == ast::Category::Expr);
      break;
  }
}

// CPython 3.10 and 3.11 thread jumps past the second test of `(a and b) or c` if both operations
// are on one line: an operation that was tested twice is put on a separate line, and any other
// begins on the line of the operation around it.
void Expressions::boolean(NodeId id, Place place) {
  const auto node = tree_->as<ast::BoolOp>(id);
  const bool is_and = static_cast<ast::BoolOperator>(node.op) == ast::BoolOperator::And;
  const bool one_test_a_line = version_.minor == 10 || version_.minor == 11;
  const bool is_choice = one_test_a_line && !place.has(Place::kBranch);
  const bool is_joined = is_choice && place.has(Place::kOperand);
  if (is_choice) push(is_joined ? Task::Joined : Task::Choice);
  const bool is_marked = place.has(Place::kWhole) || place.has(Place::kPart);
  const auto values = tree_->items(node.values);
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) operation(is_and ? " and " : " or ", is_marked);
    const bool apart = one_test_a_line && !node.is_tested_again &&
                       tree_->is(values[i], Kind::BoolOp) &&
                       tree_->as<ast::BoolOp>(values[i]).is_tested_again;
    const bool is_last = i + 1 == values.size();
    uint16_t use = use_of(place);
    if (is_choice && !is_last) use = Place::kOperand;
    if (is_marked) use |= Place::kPart;
    if (apart) push(Task::OpenLine, 0, {}, "(");
    if (apart) expr(values[i], kTest);
    if (!apart) expr(values[i], {tighter(is_and ? Level::And : Level::Or), use});
    if (apart) close(")");
  }
  if (is_choice && !is_joined) push(Task::ChoiceEnd);
}

void Expressions::binary(NodeId id, Place place) {
  const auto node = tree_->as<ast::BinOp>(id);
  const auto [op, level] = kBinary[node.op];
  const bool is_power = level == Level::Power;
  const bool is_marked = place.has(Place::kWhole) || place.has(Place::kFirstPart);
  Place first = at(is_power ? Level::Await : level);
  if (is_marked && tree_->is(node.left, Kind::BinOp) &&
      kBinary[tree_->as<ast::BinOp>(node.left).op].level == level) {
    first.flags |= Place::kFirstPart;
  }
  expr(node.left, first);
  operation(op, is_marked);
  expr(node.right, at(is_power ? Level::Factor : tighter(level)));
}

void Expressions::unary(NodeId id, Place place) {
  const auto node = tree_->as<ast::UnaryOp>(id);
  const bool is_not = static_cast<ast::UnaryOperator>(node.op) == ast::UnaryOperator::Not;
  text(kUnary[node.op]);
  const auto use = static_cast<uint16_t>(is_not ? use_of(place) & Place::kBranch : 0);
  expr(node.operand, {is_not ? Level::Not : Level::Factor, use});
}

void Expressions::compare(NodeId id, Place place) {
  const auto node = tree_->as<ast::Compare>(id);
  const auto ops = tree_->numbers(node.ops);
  const auto comparators = tree_->items(node.comparators);
  expr(node.left, at(Level::BitOr));
  for (size_t i = 0; i < ops.size(); ++i) {
    const auto op = static_cast<ast::CmpOperator>(ops[i]);
    const bool membership = op == ast::CmpOperator::In || op == ast::CmpOperator::NotIn;
    operation(kCompare[ops[i]], place.has(Place::kWhole));
    expr(comparators[i], {Level::BitOr, membership ? uint16_t{Place::kMembership} : uint16_t{0}});
  }
}

void Expressions::lambda(NodeId id) {
  const auto node = tree_->as<ast::Lambda>(id);
  text("lambda");
  if (node.args.valid()) push(Task::Params, node.args.value, {}, " ");
  text(": ");
  expr(node.body, kTest);
}

void Expressions::call(NodeId id) {
  const auto node = tree_->as<ast::Call>(id);
  expr(node.func, at(Level::Primary));
  arguments(node.args, node.keywords, true);
}

void Expressions::arguments(ast::ListId args, ast::ListId keywords, bool bare_generator) {
  const auto positional = tree_->items(args);
  const auto named = tree_->items(keywords);
  const bool sole_generator = bare_generator && positional.size() == 1 && named.empty() &&
                              tree_->is(positional[0], Kind::GeneratorExp);
  Place place = kNamedTest;
  if (sole_generator) place.flags |= Place::kBareGenerator;
  open("(");
  list(positional, place);
  bool first = positional.empty();
  for (const NodeId each : named) {
    if (!first) separator();
    first = false;
    push(Task::Keyword, each.value);
  }
  close(")", !first && !sole_generator);
}

void Expressions::keyword(NodeId id) {
  const auto node = tree_->as<ast::keyword>(id);
  line_before(node.value);
  if (node.arg.valid()) word(node.arg);
  text(node.arg.valid() ? "=" : "**");
  expr(node.value, kTest);
}

void Expressions::subscript(NodeId id) {
  const auto node = tree_->as<ast::Subscript>(id);
  expr(node.value, at(Level::Primary));
  open("[");
  expr(node.slice, {Level::Test, Place::kSubscript | Place::kSlice});
  close("]");
}

void Expressions::slice(NodeId id) {
  const auto node = tree_->as<ast::Slice>(id);
  if (node.lower.valid()) expr(node.lower, kTest);
  text(":");
  if (node.upper.valid()) expr(node.upper, kTest);
  if (!node.step.valid()) return;
  text(":");
  expr(node.step, kTest);
}

}  // namespace pellucid::print
