// SPDX-License-Identifier: Apache-2.0
#include "polish/starts.h"

#include <algorithm>

#include "ast/lines.h"
#include "polish/ends.h"
#include "polish/keywords.h"
#include "polish/negations.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

namespace {

constexpr int32_t kStep = 4;  // the usual indentation

}  // namespace

bool Starts::has_more_than_jumps(int32_t line) const {
  if (lines_.empty()) {
    for (const NodeId node : own_nodes(tree_, body_)) {
      const int32_t here = tree_.where(node).line;
      const bool is_known = !lines_.empty() && lines_.back() == here;
      if (!is_known && !is_bare_jump(tree_, node)) lines_.push_back(here);
    }
    lines_.push_back(-1);
    std::sort(lines_.begin(), lines_.end());
  }
  return std::binary_search(lines_.begin(), lines_.end(), line);
}

const Header& Starts::header() const {
  if (!header_) {
    const object::Module& module = tree_.module();
    header_ = source_.code.valid() ? header_of(module, module[source_.code]) : Header();
  }
  return *header_;
}

object::Columns Starts::own(NodeId node) const {
  // The offsets of a body that was finished before are those of other code.
  if (tree_.where(node).code.valid()) return {};
  return places_.columns(tree_.where(node).offset / 2);
}

Starts::At Starts::at(NodeId node) const {
  const uint16_t begin = own(node).begin;
  if (begin == object::kNoColumn) return {};
  return {places_.at(unit_of(node)).line, begin};
}

// Returns the least place along the parts that are written first. The jump that tests an operand
// has the place of a larger expression.
Starts::At Starts::leftmost(NodeId expression) const {
  At least;
  int32_t nots = 0;
  for (NodeId node = expression; node.valid(); node = ast::first_part(tree_, node)) {
    bool negated = false;
    while (is_not(tree_, node)) {
      node = tree_.as<ast::UnaryOp>(node).operand;
      negated = !negated;
    }
    if (tree_.is(node, Kind::Compare) ? is_negated_outside(node, negated) : negated) {
      nots += width_of("not ");
    }
    if (tree_.is(node, Kind::BoolOp) || tree_.is(node, Kind::IfExp)) continue;
    const At here = at(node);
    if (here.column == kUnknown) continue;
    if (least.column == kUnknown || here.line < least.line ||
        (here.line == least.line && here.column < least.column)) {
      least = here;
    }
  }
  if (least.column != kUnknown) least.column -= nots;
  return least;
}

// Returns true if a `not` is written before a comparison that the compiler replaced by its
// opposite: `not (a in b)`. The width between the operands shows it.
bool Starts::is_negated_outside(NodeId comparison, bool negated) const {
  const auto compare = tree_.as<ast::Compare>(comparison);
  const auto ops = tree_.numbers(compare.ops);
  const auto op = static_cast<ast::CmpOperator>(ops[0]);
  const bool is_positive = op == ast::CmpOperator::Is || op == ast::CmpOperator::In;
  const bool is_negative = op == ast::CmpOperator::IsNot || op == ast::CmpOperator::NotIn;
  if (ops.size() != 1 || (!is_positive && !is_negative)) return negated;
  if (is_negative == negated) return false;
  const NodeId right = tree_.items(compare.comparators)[0];
  const int32_t end = own(compare.left).end;
  return end != object::kNoColumn && own(right).begin - end == width_of(" in ");
}

NodeId Starts::without_not(NodeId node) const {
  while (is_not(tree_, node)) node = tree_.as<ast::UnaryOp>(node).operand;
  return node;
}

int32_t Starts::gap(NodeId before, NodeId after) const {
  before = without_not(before);
  after = without_not(after);
  if (tree_.is(before, Kind::BoolOp)) return kUnknown;
  const uint16_t end = own(before).end;
  const At start = leftmost(after);
  if (end == object::kNoColumn || start.column == kUnknown) return kUnknown;
  return tree_.where(before).line == start.line ? start.column - end : kUnknown;
}

Starts::At Starts::of_operand(NodeId operand) const {
  operand = without_not(operand);
  return tree_.is(operand, Kind::BoolOp) ? At() : leftmost(operand);
}

int32_t Starts::keyword_before(NodeId expression, int32_t keyword) const {
  const int32_t column = leftmost(expression).column;
  return column >= keyword ? column - keyword : kUnknown;
}

int32_t Starts::of_test(NodeId test) const { return keyword_before(test, width_of("if ")); }

// An instruction that the compiler adds has the place of one before it. On a line with other code,
// a jump counts as written only after the test that leads to it.
Starts::Jump Starts::jump(NodeId statement, NodeId before) const {
  const At here = at(statement);
  if (here.column == kUnknown) return Jump::Unknown;
  const int32_t wide = width(statement);
  if (wide < width_of("...") || wide > width_of("continue")) return Jump::None;
  if (has_more_than_jumps(here.line)) {
    const bool is_test = tree_.is(before, Kind::If) && tree_.where(before).line == here.line;
    const auto in_front = is_test ? own(before) : object::Columns();
    if (in_front.end == object::kNoColumn || here.column < in_front.end) return Jump::None;
  }
  if (wide == width_of("return")) return Jump::Return;
  if (wide == width_of("continue")) return Jump::Continue;
  if (wide == width_of("break")) return Jump::Break;
  if (wide == width_of("...")) return Jump::Ellipsis;
  if (wide != width_of("pass")) return Jump::None;
  return is_written_as_none(here.line, here.column) ? Jump::ReturnNone : Jump::Pass;
}

// `return None` has the place of its constant: the width of `return ` to the right of a multiple of
// kStep, or of the header if it stands after that.
bool Starts::is_written_as_none(int32_t line, int32_t column) const {
  const int32_t start = column - width_of("return ");
  const bool is_body = body_.size() == 1 && is_bare_jump(tree_, body_[0]);
  if (is_body && is_written_after_header(start)) return true;
  if (line == source_.first_line) return false;
  // The first line is that of a decorator.
  const bool is_usual = start == (header().depth + 1) * kStep;
  if (is_body && !is_usual && is_written_after_header(column)) return false;
  return start >= 0 && start % kStep == 0;
}

// The width of a header is known but for defaults and annotations, which are in other code.
bool Starts::is_written_after_header(int32_t column) const {
  return column - header().width == header().depth * kStep;
}

// The NOP is the first instruction of the loop, or before it if the loop comes back after it. Each
// `try` that starts there has a NOP too. From 3.12 on, that of a loop is as wide as its test.
object::Columns Starts::of_constant_test(NodeId loop) const {
  const NodeId test = tree_.as<ast::While>(loop).test;
  if (!tree_.is(test, Kind::Constant) || tree_.where(test).code.valid()) return {};
  const uint32_t first = tree_.where(test).offset / 2;
  std::vector<object::Columns> found;  // those of the nearest NOP first
  for (uint32_t unit = first; unit > 0; --unit) {
    if (!places_.is_nop(unit) && unit < first) break;
    if (!places_.is_nop(unit) || unit >= places_.size()) continue;
    const object::Columns here = places_.columns(unit);
    const int32_t wide = here.width();
    if (wide == width_of("1") || wide == width_of("True")) return here;
    found.push_back(here);
  }
  size_t attempts = 0;
  auto body = tree_.items(tree_.as<ast::While>(loop).body);
  for (; !body.empty() && tree_.is(body[0], Kind::Try); ++attempts) {
    body = tree_.items(tree_.as<ast::Try>(body[0]).body);
  }
  return attempts < found.size() ? found[attempts] : object::Columns();
}

bool Starts::is_in_endless_loop(NodeId test, int32_t column) const {
  const uint32_t unit = first_unit({&test, 1});
  if (unit == kNoUnit || unit == 0 || column == kUnknown || !places_.is_nop(unit - 1)) return false;
  const object::Columns nop = places_.columns(unit - 1);
  if (nop.end == object::kNoColumn) return nop.begin == column;
  const int32_t wide = nop.width();
  return nop.begin == column + width_of("while ") &&
         (wide == width_of("True") || wide == width_of("1"));
}

// After its type, a clause has instructions with the place of the clause, and then, if it is empty,
// with that of its `pass` or jump.
Starts::Jump Starts::in_clause(NodeId handler) const {
  const NodeId type = tree_.as<ast::ExceptHandler>(handler).type;
  if (!type.valid() || tree_.as<ast::ExceptHandler>(handler).name.valid()) return Jump::None;
  if (own(type).begin == object::kNoColumn) return Jump::None;
  uint32_t unit = tree_.where(type).offset / 2;
  for (int places = 0; places < 2; ++places) {
    unit = places_.end_of_place(unit);
    if (unit >= places_.size()) return Jump::None;
  }
  const object::SourcePlace here = places_.at(unit), before = places_.at(unit_of(type));
  const int32_t wide = here.columns.width();
  if (wide == width_of("continue")) return Jump::Continue;
  if (wide == width_of("return")) return Jump::Return;
  if (wide != width_of("pass")) return Jump::None;
  const int32_t clause = before.columns.begin - width_of("except ");
  const int32_t start = here.columns.begin - width_of("return ");
  return here.line > before.line && start > clause ? Jump::ReturnNone : Jump::Pass;
}

// What the instructions of a node have in common with the tests and caches after them is their
// place; a dropped value, too, has that of its statement.
Starts::Next Starts::after(NodeId node) const {
  const uint32_t end = ends_.of(node).end;
  Next next = end > 0 ? next_place(end - 1) : Next();
  // What ends a `for` has the place of its header.
  const bool is_for = next.unit > 0 && tree_.is(node, Kind::For);
  return is_for && next.columns == own(node) ? next_place(next.unit) : next;
}

Starts::Next Starts::next_place(uint32_t unit) const {
  const uint32_t other = places_.end_of_place(unit);
  return other < places_.size() ? Next{other, places_.columns(other)} : Next();
}

Starts::Next Starts::after_test(NodeId branch) const {
  const NodeId test = without_not(tree_.as<ast::If>(branch).test);
  const Next next = after(test);
  const bool ends_later = next.columns.end == object::kNoColumn;
  const bool is_whole = ends_later && next.columns.begin < leftmost(test).column;
  return next.unit > 0 && is_whole ? next_place(next.unit) : next;
}

bool Starts::has_places_of_jumps() const {
  const auto is_as_wide = [&](uint32_t unit) {
    const int32_t wide = places_.columns(unit).width();
    return wide == width_of("pass") || wide == width_of("continue");
  };
  return std::ranges::any_of(places_.nops(), is_as_wide) ||
         std::ranges::any_of(places_.leaves(), is_as_wide);
}

uint32_t Starts::first_unit(std::span<const NodeId> items) const {
  UnitEnds::Range all;
  for (const NodeId each : items) all.add(ends_.of(each));
  return all.first;
}

// The constant of a `return` is loaded after the code that leaves a `with`, and has the place of
// the manager, as that code has. What comes before it has the constant's own (compiler_return).
uint32_t Starts::unit_of_constant(uint32_t unit) const {
  const auto is_after = [](const object::SourcePlace& one, const object::SourcePlace& other) {
    if (one.line != other.line) return one.line > other.line;
    return one.columns.begin >= other.columns.end;
  };
  constexpr uint32_t kOwn = 3;  // units: a NOP, the constant, the return
  for (;;) {
    uint32_t first = unit;
    while (first > 0 && places_.at(first - 1) == places_.at(unit)) --first;
    const bool leaves = first > 0 && unit - first >= kOwn;
    if (!leaves || !is_after(places_.at(first - 1), places_.at(unit))) return unit;
    unit = first - 1;
  }
}

// `return 1` has the place of the constant, `return f()` that of the whole statement.
int32_t Starts::of_return(NodeId statement) const {
  const NodeId value = tree_.as<ast::Return>(statement).value;
  const At whole = at(statement);
  if (!value.valid()) {
    switch (jump(statement, NodeId())) {
      case Jump::Return:
      case Jump::Pass:
      case Jump::Break:
        return whole.column;
      case Jump::ReturnNone:
        return whole.column - width_of("return ");
      default:
        return kUnknown;
    }
  }
  const bool is_constant = tree_.is(value, Kind::Constant) && unit_of(value) != kNoUnit;
  if (const uint32_t unit = is_constant ? unit_of_constant(unit_of(value)) : kNoUnit;
      is_constant && unit != unit_of(value)) {
    return std::max(places_.columns(unit).begin - width_of("return "), kUnknown);
  }
  const At first = leftmost(value);
  if (first.column == kUnknown) return kUnknown;
  if (whole.line == first.line && whole.column < first.column) return whole.column;
  // A `return` that leaves a `with` has the place of the `with`, and comes after the code for that;
  // a value in brackets may start on its own line.
  const bool is_longer = own(statement).end == object::kNoColumn && whole.line < first.line;
  if (is_longer && whole.column < first.column && after(value).unit == unit_of(statement)) {
    return whole.column;
  }
  const int32_t column = first.column - width_of("return ");
  return column >= 0 && (whole.line == first.line || column % kStep == 0) ? column : kUnknown;
}

bool Starts::is_nested_try(NodeId statement) const {
  const auto outer = tree_.as<ast::Try>(statement);
  const int32_t inside = of_try(tree_.items(outer.body)[0]), last = of_list(outer.finalbody);
  return inside != kUnknown && last != kUnknown && inside >= last;
}

// Only its `except` clauses have instructions, for their types; without any type, the body of the
// `try`, or that of its `finally`, is one step further right.
int32_t Starts::of_try(NodeId statement) const {
  for (const NodeId handler : tree_.items(tree_.as<ast::Try>(statement).handlers)) {
    const NodeId type = tree_.as<ast::ExceptHandler>(handler).type;
    if (!type.valid()) continue;
    const bool is_star = tree_.as<ast::Try>(statement).is_star != 0;
    return keyword_before(type, is_star ? width_of("except* ") : width_of("except "));
  }
  const auto body = tree_.items(tree_.as<ast::Try>(statement).body);
  // `try: a except: b finally: c` is read as a `try` in a `try`.
  const bool has_clauses = !tree_.items(tree_.as<ast::Try>(statement).handlers).empty();
  const bool has_try = tree_.is(body[0], Kind::Try);
  if (!has_clauses && body.size() == 1 && has_try &&
      tree_.items(tree_.as<ast::Try>(body[0]).finalbody).empty() && !is_nested_try(statement)) {
    return of_try(body[0]);
  }
  int32_t inside = has_try ? of_try(body[0]) : of_simple(tree_.as<ast::Try>(statement).body);
  if (inside == kUnknown) inside = of_simple(tree_.as<ast::Try>(statement).finalbody);
  return inside >= kStep ? inside - kStep : kUnknown;
}

// Returns the column of the first statement of a list, if that is a simple statement.
int32_t Starts::of_simple(ast::ListId list) const {
  const auto items = tree_.items(list);
  if (items.empty()) return kUnknown;
  switch (tree_.kind(items[0])) {
    case Kind::Expr:
    case Kind::Assign:
    case Kind::AugAssign:
    case Kind::AnnAssign:
    case Kind::Delete:
    case Kind::Return:
    case Kind::Raise:
    case Kind::Import:
    case Kind::ImportFrom:
      return of(items[0]);
    default:
      return kUnknown;
  }
}

// Corrects for a test in parentheses or on other lines: the body is one step further right than the
// `if`. A tab is one column.
int32_t Starts::of_branch(NodeId test, ast::ListId body, int32_t keyword) const {
  const int32_t column = keyword_before(test, keyword);
  const int32_t inside = of_simple(body);
  if (column == kUnknown || inside <= column) return column;
  const int32_t step = inside - column;
  if (step % kStep == kStep - 1 && step < kStep) return column - 1;
  const bool is_usual = step == 1 || step == kStep / 2 || step % kStep == 0;
  return is_usual || inside % kStep != 0 ? column : inside - kStep;
}

// In 3.11 the test has the place of the whole loop.
int32_t Starts::of_endless(NodeId loop) const {
  const object::Columns test = of_constant_test(loop);
  if (test.begin == object::kNoColumn) return kUnknown;
  const bool is_test = test.end != object::kNoColumn && test.begin >= width_of("while ");
  return is_test ? test.begin - width_of("while ") : test.begin;
}

int32_t Starts::of_list(ast::ListId list) const {
  for (const NodeId item : tree_.items(list)) {
    const int32_t start = of(item);
    if (start != kUnknown) return start;
  }
  return kUnknown;
}

bool Starts::is_written_outside(NodeId statement, NodeId owner, ast::ListId inside) const {
  constexpr int32_t kLeast = 2;  // nobody indents by less
  const int32_t outer = of(owner), inner = of(statement), innermost = of_list(inside);
  if (outer == kUnknown || inner == kUnknown) return false;
  return inner < outer + kLeast || (innermost != kUnknown && innermost < inner + kLeast);
}

int32_t Starts::of(NodeId statement) const {
  if (!known()) return kUnknown;
  Found& last = found_[statement.index() % found_.size()];
  if (last.statement != statement || last.changes != tree_.changes()) {
    last = {statement, found(statement), tree_.changes()};
  }
  return last.column;
}

int32_t Starts::found(NodeId statement) const {
  switch (tree_.kind(statement)) {
    case Kind::Expr:
      return leftmost(tree_.as<ast::Expr>(statement).value).column;
    case Kind::Assign:
      return of_assign(tree_.as<ast::Assign>(statement));
    case Kind::AugAssign:
      return leftmost(tree_.as<ast::AugAssign>(statement).target).column;
    case Kind::AnnAssign:
      return leftmost(tree_.as<ast::AnnAssign>(statement).target).column;
    case Kind::Delete:
      return keyword_before(tree_.items(tree_.as<ast::Delete>(statement).targets)[0],
                            width_of("del "));
    case Kind::Return:
      return of_return(statement);
    case Kind::Assert:
      // The constant of `assert False` has no place.
      if (tree_.is(tree_.as<ast::Assert>(statement).test, Kind::Constant)) return kUnknown;
      return keyword_before(tree_.as<ast::Assert>(statement).test, width_of("assert "));
    case Kind::If:
      return of_branch(tree_.as<ast::If>(statement).test, tree_.as<ast::If>(statement).body,
                       width_of("if "));
    case Kind::While:
      if (tree_.is(tree_.as<ast::While>(statement).test, Kind::Constant)) {
        return of_endless(statement);
      }
      return of_branch(tree_.as<ast::While>(statement).test, tree_.as<ast::While>(statement).body,
                       width_of("while "));
    case Kind::For: {
      const auto loop = tree_.as<ast::For>(statement);
      return keyword_before(loop.target, loop.is_async ? width_of("async for ") : width_of("for "));
    }
    case Kind::With: {
      const auto with = tree_.as<ast::With>(statement);
      const auto first = tree_.as<ast::withitem>(tree_.items(with.items)[0]).context_expr;
      return keyword_before(first, with.is_async ? width_of("async with ") : width_of("with "));
    }
    case Kind::Match:
      return keyword_before(tree_.as<ast::Match>(statement).subject, width_of("match "));
    case Kind::Try:
      return of_try(statement);
    case Kind::FunctionDef:
    case Kind::ClassDef:
    case Kind::Raise:
    case Kind::Import:
    case Kind::ImportFrom:
      return at(statement).column;
    case Kind::Pass:
      return width(statement) == width_of("pass") ? at(statement).column : kUnknown;
    case Kind::Break:
      return width(statement) == width_of("break") ? at(statement).column : kUnknown;
    case Kind::Continue:
      return width(statement) == width_of("continue") ? at(statement).column : kUnknown;
    default:
      return kUnknown;
  }
}

}  // namespace pellucid::polish
