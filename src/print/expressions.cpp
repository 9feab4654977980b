// SPDX-License-Identifier: Apache-2.0
#include "print/expressions.h"

#include <algorithm>
#include <array>

#include "ast/lines.h"
#include "ast/nodes.h"
#include "print/expand.h"
#include "print/lines.h"

namespace pellucid::print {

using ast::Kind;
using ast::NodeId;

namespace {

bool is_operation(Kind kind) {
  return kind == Kind::BoolOp || kind == Kind::IfExp || kind == Kind::BinOp ||
         kind == Kind::Compare;
}

// The values that get brackets only if they do not fit as they are.
constexpr ast::Kinds kOneOperand = {Kind::Call,    Kind::Attribute, Kind::Subscript, Kind::Await,
                                    Kind::UnaryOp, Kind::JoinedStr, Kind::Constant};

bool is_grouped(Place place, Kind kind) {
  if (!place.has(Place::kWhole)) return false;
  return is_operation(kind) || (!place.has(Place::kPart) && kOneOperand.has(kind));
}

constexpr ast::Kinds kPostfix = {Kind::Call, Kind::Attribute, Kind::Subscript};

NodeId before_postfix(const ast::Tree& tree, NodeId id) {
  if (tree.is(id, Kind::Call)) return tree.as<ast::Call>(id).func;
  if (tree.is(id, Kind::Attribute)) return tree.as<ast::Attribute>(id).value;
  return tree.as<ast::Subscript>(id).value;
}

// Returns true for an attribute of the result of a call or a subscript.
bool continues_chain(const ast::Tree& tree, NodeId id) {
  if (!tree.is(id, Kind::Attribute)) return false;
  const NodeId value = tree.as<ast::Attribute>(id).value;
  return tree.is(value, Kind::Call) || tree.is(value, Kind::Subscript);
}

// Returns true for a chain of calls that may be broken before its dots: black wants two of them.
bool is_chain(const ast::Tree& tree, NodeId id) {
  size_t dots = 0;
  for (; kPostfix.has(tree.kind(id)) && dots < 2; id = before_postfix(tree, id)) {
    if (continues_chain(tree, id)) ++dots;
  }
  return dots == 2;
}

// CPython 3.10 and 3.11 thread jumps past the second test of `(a and b) or c` if both operations
// are on one line: an operation that was tested twice is put on a separate line, and any other
// begins on the line of the operation around it.
void boolean(Writer& writer, NodeId id, Place place) {
  const auto node = writer.tree->as<ast::BoolOp>(id);
  const bool is_and = static_cast<ast::BoolOperator>(node.op) == ast::BoolOperator::And;
  const bool one_test_a_line = writer.version.minor == 10 || writer.version.minor == 11;
  const bool is_choice = one_test_a_line && !place.has(Place::kBranch);
  const bool is_joined = is_choice && place.has(Place::kOperand);
  if (is_choice) writer.put(is_joined ? Task::Joined : Task::Choice);
  const bool is_marked = place.has(Place::kWhole) || place.has(Place::kPart);
  const auto values = writer.tree->items(node.values);
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) writer.operation(is_and ? " and " : " or ", is_marked);
    const bool apart = one_test_a_line && ast::is_apart(*writer.tree, node, values[i]);
    const bool is_last = i + 1 == values.size();
    uint16_t use = use_of(place);
    if (is_choice && !is_last) use = Place::kOperand;
    // CPython's grammar has two levels here, black's layout one.
    const bool is_nested = writer.tree->is(values[i], Kind::BoolOp);
    if (is_marked) use |= is_nested ? uint16_t{Place::kPart} : kItem.flags;
    if (apart) writer.put(Task::OpenLine, 0, {}, "(");
    if (apart) writer.expr(values[i], kTest);
    if (!apart) writer.expr(values[i], {tighter(is_and ? Level::And : Level::Or), use});
    if (apart) writer.close(")");
  }
  if (is_choice && !is_joined) writer.put(Task::ChoiceEnd);
}

// Returns true for a number, a name and its attributes, after `**` also with a sign: a power of
// these has no spaces.
bool is_hugged(const Writer& writer, NodeId node, Level least) {
  if (least == Level::Factor && writer.tree->is(node, Kind::UnaryOp)) {
    const auto sign = writer.tree->as<ast::UnaryOp>(node);
    if (static_cast<ast::UnaryOperator>(sign.op) != ast::UnaryOperator::Not) node = sign.operand;
  }
  while (writer.tree->is(node, Kind::Attribute)) node = writer.tree->as<ast::Attribute>(node).value;
  const object::Const* value = ast::constant_of(*writer.tree, node);
  if (value == nullptr) return writer.tree->is(node, Kind::Name);
  const bool is_number =
      value->kind == object::ConstKind::Int || value->kind == object::ConstKind::Float;
  const object::ConstId id =
      is_number ? writer.tree->as<ast::Constant>(node).value : object::ConstId();
  return is_number && level_of(writer.module, id, writer.version) >= least;
}

void binary(Writer& writer, NodeId id, Place place) {
  const auto node = writer.tree->as<ast::BinOp>(id);
  const auto [op, level] = kBinary[node.op];
  const bool is_power = level == Level::Power;
  const bool is_marked = place.has(Place::kWhole) || place.has(Place::kFirstPart);
  Place first = at(is_power ? Level::Await : level);
  if (is_marked && writer.tree->is(node.left, Kind::BinOp) &&
      kBinary[writer.tree->as<ast::BinOp>(node.left).op].level == level) {
    first.flags |= Place::kFirstPart;
  }
  writer.expr(node.left, first);
  if (is_power && is_hugged(writer, node.left, Level::Await) &&
      is_hugged(writer, node.right, Level::Factor)) {
    writer.text("**");
  } else {
    writer.operation(op, is_marked);
  }
  writer.expr(node.right, at(is_power ? Level::Factor : tighter(level)));
}

void unary(Writer& writer, NodeId id, Place place) {
  const auto node = writer.tree->as<ast::UnaryOp>(id);
  const bool is_not = static_cast<ast::UnaryOperator>(node.op) == ast::UnaryOperator::Not;
  writer.text(kUnary[node.op]);
  const auto use = static_cast<uint16_t>(is_not ? use_of(place) & Place::kBranch : 0);
  writer.expr(node.operand, {is_not ? Level::Not : Level::Factor, use});
}

void compare(Writer& writer, NodeId id, Place place) {
  const auto node = writer.tree->as<ast::Compare>(id);
  const auto ops = writer.tree->numbers(node.ops);
  const auto comparators = writer.tree->items(node.comparators);
  writer.expr(node.left, at(Level::BitOr));
  for (size_t i = 0; i < ops.size(); ++i) {
    const auto op = static_cast<ast::CmpOperator>(ops[i]);
    const bool membership = op == ast::CmpOperator::In || op == ast::CmpOperator::NotIn;
    writer.operation(kCompare[ops[i]], place.has(Place::kWhole));
    writer.expr(comparators[i],
                {Level::BitOr, membership ? uint16_t{Place::kMembership} : uint16_t{0}});
  }
}

void lambda(Writer& writer, NodeId id) {
  const auto node = writer.tree->as<ast::Lambda>(id);
  writer.text("lambda");
  if (node.args.valid()) writer.put(Task::Params, node.args.value, {}, " ");
  writer.text(": ");
  writer.expr(node.body, kItem);
}

void arguments(Writer& writer, ast::ListId args, ast::ListId keywords, bool bare_generator) {
  const auto positional = writer.tree->items(args);
  const auto named = writer.tree->items(keywords);
  const bool sole_generator = bare_generator && positional.size() == 1 && named.empty() &&
                              writer.tree->is(positional[0], Kind::GeneratorExp);
  Place place = {Level::Test, Place::kNamed | kItem.flags};
  if (sole_generator) place.flags |= Place::kBareGenerator;
  writer.open_call("(");
  list(writer, positional, place);
  bool first = positional.empty();
  for (const NodeId each : named) {
    if (!first) writer.separator();
    first = false;
    writer.put(Task::Keyword, each.value);
  }
  writer.close(")", positional.size() + named.size() > 1);
}

// Returns the place of what a postfix follows.
Place in_chain(Place place) {
  return {Level::Primary, static_cast<uint16_t>(place.flags & Place::kFirstPart)};
}

void call(Writer& writer, NodeId id, Place place) {
  const auto node = writer.tree->as<ast::Call>(id);
  writer.expr(node.func, in_chain(place));
  arguments(writer, node.args, node.keywords, true);
}

void subscript(Writer& writer, NodeId id, Place place) {
  const auto node = writer.tree->as<ast::Subscript>(id);
  writer.expr(node.value, in_chain(place));
  // A tuple writes these brackets, which may serve it as its own.
  const bool is_tuple = writer.tree->is(node.slice, Kind::Tuple);
  if (!is_tuple) writer.open_call("[");
  writer.expr(node.slice, {Level::Test, Place::kSubscript | Place::kSlice | kItem.flags});
  if (!is_tuple) writer.close("]");
}

void slice(Writer& writer, NodeId id) {
  const auto node = writer.tree->as<ast::Slice>(id);
  // A colon between operations has spaces, as an operator that binds less tightly than these.
  const std::array parts{node.lower, node.upper, node.step};
  const bool has_spaces = std::any_of(parts.begin(), parts.end(), [&](NodeId part) {
    constexpr ast::Kinds kSimple = {Kind::Name, Kind::Constant};
    if (part.valid() && writer.tree->is(part, Kind::UnaryOp))
      part = writer.tree->as<ast::UnaryOp>(part).operand;
    return part.valid() && !kSimple.has(writer.tree->kind(part));
  });
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i == 2 && !parts[i].valid()) return;
    if (i > 0) writer.text(has_spaces && parts[i - 1].valid() ? " :" : ":");
    if (!parts[i].valid()) continue;
    if (i > 0 && has_spaces) writer.text(" ");
    writer.expr(parts[i], kTest);
  }
}

void expand_bare(Writer& writer, NodeId id, Place place) {
  const ast::Tree& tree = *writer.tree;
  switch (tree.kind(id)) {
    case Kind::BoolOp:
      boolean(writer, id, place);
      break;
    case Kind::NamedExpr: {
      const auto node = tree.as<ast::NamedExpr>(id);
      writer.expr(node.target, at(Level::Primary));
      writer.text(" := ");
      writer.expr(node.value, kTest);
      break;
    }
    case Kind::BinOp:
      binary(writer, id, place);
      break;
    case Kind::UnaryOp:
      unary(writer, id, place);
      break;
    case Kind::Lambda:
      lambda(writer, id);
      break;
    case Kind::IfExp: {
      const auto node = tree.as<ast::IfExp>(id);
      const uint16_t part = place.has(Place::kWhole) ? kItem.flags : uint16_t{0};
      const uint16_t last = tree.is(node.orelse, Kind::IfExp) ? uint16_t{0} : part;
      const auto use = [&](uint16_t more) { return static_cast<uint16_t>(use_of(place) | more); };
      writer.expr(node.body, {Level::Or, use(part)});
      writer.operation(" if ", place.has(Place::kWhole));
      writer.expr(node.test, {Level::Or, Place::kBranch});
      writer.operation(" else ", place.has(Place::kWhole));
      writer.expr(node.orelse, {Level::Test, use(last)});
      break;
    }
    case Kind::Dict:
      dict(writer, id);
      break;
    case Kind::Set: {
      const auto items = tree.items(tree.as<ast::Set>(id).elts);
      // An empty set has no display; `{*()}` makes one without naming `set`.
      writer.open(items.empty() ? "{*()" : "{");
      list(writer, items, kItem);
      writer.close("}", items.size() > 1);
      break;
    }
    case Kind::List: {
      writer.open("[");
      const auto items = tree.items(tree.as<ast::List>(id).elts);
      const uint32_t target = place.flags & Place::kTarget;
      list(writer, items, {Level::Test, static_cast<uint16_t>(target | kItem.flags)});
      writer.close("]", items.size() > 1);
      break;
    }
    case Kind::ListComp: {
      const auto node = tree.as<ast::ListComp>(id);
      comprehension_of(writer, "[", node.elt, node.generators, "]");
      break;
    }
    case Kind::SetComp: {
      const auto node = tree.as<ast::SetComp>(id);
      comprehension_of(writer, "{", node.elt, node.generators, "}");
      break;
    }
    case Kind::GeneratorExp: {
      const auto node = tree.as<ast::GeneratorExp>(id);
      const bool bare = place.has(Place::kBareGenerator);
      comprehension_of(writer, bare ? "" : "(", node.elt, node.generators, bare ? "" : ")");
      break;
    }
    case Kind::DictComp: {
      const auto node = tree.as<ast::DictComp>(id);
      writer.open("{");
      if (node.value.valid()) {
        writer.expr(node.key, kTest);
        writer.text(": ");
        writer.expr(node.value, kItem);
      } else {
        if (writer.before(15)) writer.problem("unpacking in a comprehension needs Python 3.15");
        writer.text("**");
        writer.expr(node.key, at(Level::BitOr));
      }
      for (const NodeId generator : tree.items(node.generators)) {
        writer.put(Task::Comprehension, generator.value);
      }
      writer.close("}");
      break;
    }
    case Kind::Await:
      writer.text("await ");
      writer.expr(tree.as<ast::Await>(id).value, at(Level::Primary));
      break;
    case Kind::Yield: {
      const auto node = tree.as<ast::Yield>(id);
      writer.text(node.value.valid() ? "yield " : "yield");
      if (node.value.valid())
        writer.expr(node.value, place.has(Place::kWhole) ? whole(kBareTuple) : kBareTuple);
      break;
    }
    case Kind::YieldFrom:
      writer.text("yield from ");
      writer.expr(tree.as<ast::YieldFrom>(id).value, kTest);
      break;
    case Kind::Compare:
      compare(writer, id, place);
      break;
    case Kind::Call:
      call(writer, id, place);
      break;
    case Kind::FormattedValue:
    case Kind::Interpolation:
    case Kind::JoinedStr:
    case Kind::TemplateStr:
      format_string(writer, id);
      break;
    case Kind::Attribute: {
      const auto node = tree.as<ast::Attribute>(id);
      Place value = in_chain(place);
      value.flags |= Place::kNoNumber;
      writer.expr(node.value, value);
      if (place.has(Place::kFirstPart) && continues_chain(tree, id)) writer.put(Task::Operator);
      if (writer.keeps_lines && tree.where(id).line > 0) {
        writer.put(Task::Line, static_cast<uint32_t>(tree.where(id).line));
      }
      writer.text(".");
      writer.word(node.attr);
      break;
    }
    case Kind::Subscript:
      subscript(writer, id, place);
      break;
    case Kind::Starred:
      writer.line_before(tree.as<ast::Starred>(id).value);
      writer.text("*");
      writer.expr(tree.as<ast::Starred>(id).value, at(Level::BitOr));
      break;
    case Kind::Name:
      writer.name(tree.as<ast::Name>(id).id);
      break;
    case Kind::Slice:
      slice(writer, id);
      break;
    default:
      PELLUCID_CHECK(ast::category_of(tree.kind(id)) == ast::Category::Expr);
      break;
  }
}

}  // namespace

void expression(Writer& writer, NodeId id, Place place) { writer.expr(id, place); }

void constant(Writer& writer, object::ConstId id, Place place) {
  writer.put(Task::Const, id.value, place);
}

void class_arguments(Writer& writer, ast::ListId bases, ast::ListId keywords) {
  arguments(writer, bases, keywords, false);
}

void expand(Writer& writer, NodeId id, Place place) {
  if (writer.keeps_lines && !writer.inside) writer.go_to_line(own_line(*writer.tree, id));
  const Kind kind = writer.tree->kind(id);
  if (kind == Kind::Constant) {
    const object::ConstId value = writer.tree->as<ast::Constant>(id).value;
    const bool is_text =
        is_grouped(place, kind) && writer.module[value].kind == object::ConstKind::Str;
    if (is_text) writer.put(Task::Group);
    expand_constant(writer, value, place);
    if (is_text) writer.put(Task::GroupEnd);
  } else if (kind == Kind::Tuple) {
    tuple(writer, id, place);
  } else if (place.has(Place::kApart)) {
    writer.put(Task::OpenLine, 0, {}, "(");
    if (writer.keeps_lines && !writer.inside)
      writer.put(Task::Line, static_cast<uint32_t>(writer.tree->where(id).line));
    expand_bare(writer, id, {});
    writer.close(")");
  } else if (place.has(Place::kWhole) && kPostfix.has(kind) && is_chain(*writer.tree, id)) {
    writer.put(place.has(Place::kPart) ? Task::Row : Task::Group);
    place.flags |= Place::kFirstPart;
    expand_bare(writer, id, place);
    writer.put(Task::GroupEnd);
  } else if (!kLooser.has(kind) && !is_grouped(place, kind)) {
    expand_bare(writer, id, place);
  } else if (needs_parentheses(level_of(*writer.tree, id), place)) {
    const bool is_row = is_operation(kind);
    writer.open("(");
    if (is_row) writer.put(Task::Row);
    if (is_row) place.flags |= kItem.flags;
    expand_bare(writer, id, place);
    if (is_row) writer.put(Task::GroupEnd);
    writer.close(")");
  } else if (is_grouped(place, kind)) {
    const bool is_row = place.has(Place::kPart) && kind != Kind::IfExp;
    writer.put(is_row ? Task::Row : Task::Group);
    expand_bare(writer, id, place);
    writer.put(Task::GroupEnd);
  } else {
    expand_bare(writer, id, place);
  }
}

void keyword(Writer& writer, NodeId id) {
  const auto node = writer.tree->as<ast::keyword>(id);
  writer.line_before(node.value);
  if (node.arg.valid()) writer.word(node.arg);
  writer.text(node.arg.valid() ? "=" : "**");
  writer.expr(node.value, kItem);
}

}  // namespace pellucid::print
