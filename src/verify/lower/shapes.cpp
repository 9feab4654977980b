// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/shapes.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "verify/lower/pattern_rules.h"

namespace pellucid::verify::lower {

namespace {

using ast::Kind;
using ast::ListId;
using ast::Tree;

// The tokenizer's MAXLEVEL, minus the parentheses that the printer may add to break lines. In 3.8
// the parser's stack is the lower limit.
constexpr uint32_t kMostBrackets = 190;
constexpr uint32_t kMostBrackets38 = 90;
// The depth of nested expressions and statements that compilers accept, minus the levels that they
// count in addition: the parser's 6000, in 3.12 the 3 * 1000 calls of its symbol table. Until 3.11
// the limit of those calls is the interpreter's sys.setrecursionlimit.
constexpr uint32_t kMostLevels312 = 2900;
constexpr uint32_t kMostLevels = 5900;
constexpr std::array<std::string_view, 10> kFeatures = {
    "nested_scopes",  "generators",       "division",       "absolute_import", "with_statement",
    "print_function", "unicode_literals", "barry_as_FLUFL", "generator_stop",  "annotations"};

// What the depth of nesting depends on, of each kind of node.
enum Trait : uint8_t {
  kStatement = 1,
  kExpression = 2,
  kHasBrackets = 4,
  kIsOperation = 8,
  kHasLeft = 16,   // its first part is written before anything else of it
  kIsCalled = 32,  // what it has in brackets may be an expression without any
};

constexpr unsigned traits_of(Kind kind, ast::Category category) {
  unsigned traits = 0;
  if (category == ast::Category::Stmt) traits |= kStatement;
  if (category == ast::Category::Expr) traits |= kExpression;
  switch (kind) {
    case Kind::List:
    case Kind::Tuple:
    case Kind::Set:
    case Kind::Dict:
    case Kind::ListComp:
    case Kind::SetComp:
    case Kind::DictComp:
    case Kind::GeneratorExp:
      return traits | kHasBrackets;
    case Kind::BinOp:
      return traits | kIsOperation | kHasLeft;
    case Kind::BoolOp:
    case Kind::UnaryOp:
    case Kind::Compare:
    case Kind::IfExp:
    case Kind::Lambda:
    case Kind::NamedExpr:
    case Kind::Yield:
    case Kind::YieldFrom:
    case Kind::Await:
      return traits | kIsOperation;
    case Kind::Call:
    case Kind::Subscript:
      return traits | kHasLeft | kIsCalled;
    case Kind::Attribute:
      return traits | kHasLeft;
    default:  // NOLINT: no other has a trait of its own
      return traits;
  }
}

constexpr uint8_t kTraits[] = {
#define FIELD(type, name)
#define NODE(kind, category, fields) traits_of(Kind::kind, ast::Category::category),
#include "ast/nodes.def"
#undef NODE
#undef FIELD
};

unsigned traits_of(Kind kind) { return kTraits[static_cast<size_t>(kind)]; }

// Returns true if a compiler finds no indentation to strip from a docstring.
bool is_trimmed(std::string_view text) {
  if (text.starts_with(' ') || text.find('\t') != text.npos) return false;
  bool is_rest = false;  // whether there is anything after the first line
  for (size_t at = text.find('\n'); at != text.npos; at = text.find('\n', at)) {
    const size_t start = text.find_first_not_of(' ', ++at);
    if (start == text.npos || text[start] == '\n') continue;
    if (start == at) return true;
    is_rest = true;
  }
  return !is_rest;
}

}  // namespace

Shapes::Shapes(const Tree& tree)
    : tree_(tree),
      features_(features_of(tree.module().version)),
      most_levels_(features_.shallow_expressions ? kMostLevels312 : kMostLevels),
      most_brackets_(features_.deep_brackets ? kMostBrackets : kMostBrackets38) {}

void Shapes::start(NodeId root, ShapePlace& place) {
  place.scope = root;
  if (!tree_.is(root, Kind::Module)) return;
  leading_futures(tree_.as<ast::Module>(root).body);
  docstring(tree_.as<ast::Module>(root).body, place);
}

void Shapes::enter(NodeId node, Kind kind, ShapePlace& place) {
  const Kind outer = place.parent.valid() ? tree_.kind(place.parent) : Kind::Module;
  if (outer == Kind::comprehension) iterable(node, place);
  nesting(node, kind, outer, place);
  rules(node, kind, place);
  place.parent = node;
}

// Notes what is iterated. The first iterable is evaluated outside of its comprehension.
void Shapes::iterable(NodeId node, ShapePlace& place) const {
  if (tree_.as<ast::comprehension>(place.parent).iter != node) return;
  place.in_iterable = true;
  if (place.parent == place.first_generator) {
    place.in_comprehension = place.in_outer_comprehension;
  }
}

// -- depth of nesting --

void Shapes::nesting(NodeId node, Kind kind, Kind outer, ShapePlace& place) {
  const unsigned own = traits_of(kind);
  const unsigned around = traits_of(outer);
  if ((own & kStatement) != 0) place.brackets = 0;
  if ((own & (kStatement | kExpression)) != 0) ++place.levels;
  if (place.levels > most_levels_) fault(place, "nested too deep for a compiler");
  if ((own & (kHasBrackets | kIsOperation)) == 0 && (around & kIsCalled) == 0) return;
  const bool is_left = (around & kHasLeft) != 0 && NodeId(tree_.slot(place.parent, 0)) == node;
  const bool has_brackets = (own & kHasBrackets) != 0;
  const bool is_inside = !is_left && (around & kIsCalled) != 0;
  const bool may_need_some = (own & kIsOperation) != 0 &&
                             ((around & kIsOperation) != 0 || outer == Kind::Attribute) &&
                             !(is_left && outer == Kind::BinOp && kind == Kind::BinOp);
  place.brackets += (has_brackets ? 1 : 0) + (is_inside || may_need_some ? 1 : 0);
  if (place.brackets > most_brackets_) fault(place, "brackets are nested too deep for a text");
}

// -- from __future__ --

bool Shapes::is_future(NodeId node) const {
  if (!tree_.is(node, Kind::ImportFrom)) return false;
  const auto import = tree_.as<ast::ImportFrom>(node);
  return import.level == 0 && import.module.valid() && tree_.text(import.module) == "__future__";
}

void Shapes::leading_futures(ListId body) {
  bool may_be_docstring = true;
  for (const NodeId statement : tree_.items(body)) {
    if (tree_.is(statement, Kind::Comment)) continue;
    if (is_future(statement)) {
      leading_.insert(statement);
    } else if (!may_be_docstring || !is_text(statement)) {
      return;
    }
    may_be_docstring = false;
  }
}

bool Shapes::is_text(NodeId statement) const {
  if (!tree_.is(statement, Kind::Expr)) return false;
  const NodeId value = tree_.as<ast::Expr>(statement).value;
  return tree_.is(value, Kind::Constant) &&
         tree_.module()[tree_.as<ast::Constant>(value).value].kind == object::ConstKind::Str;
}

void Shapes::future(NodeId node, const ShapePlace& place) {
  if (!leading_.contains(node)) fault(place, "from __future__ is not at the start");
  for (const NodeId item : tree_.items(tree_.as<ast::ImportFrom>(node).names)) {
    const std::string_view name = tree_.text(tree_.as<ast::alias>(item).name);
    bool is_known = false;
    for (const std::string_view feature : kFeatures) is_known |= feature == name;
    if (!is_known) fault(place, "a future that no Python has");
  }
}

// -- docstrings --

// Checks a docstring: a compiler that strips its indentation requires UTF-8.
void Shapes::docstring(ListId body, const ShapePlace& place) {
  if (!features_.trims_docstrings) return;
  for (const NodeId statement : tree_.items(body)) {
    if (tree_.is(statement, Kind::Comment)) continue;
    if (!is_text(statement)) return;
    const auto value = tree_.as<ast::Constant>(tree_.as<ast::Expr>(statement).value);
    const std::string_view text = tree_.text(tree_.module()[value.value].text);
    if (has_surrogate(text)) fault(place, "a docstring that is no UTF-8");
    if (!is_trimmed(text)) fault(place, "a docstring whose indentation a compiler strips");
    return;
  }
}

bool Shapes::has_surrogate(std::string_view text) {
  constexpr auto kNone = std::string_view::npos;
  for (size_t at = text.find('\xed'); at != kNone; at = text.find('\xed', at + 1)) {
    if (at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) >= 0xa0) return true;
  }
  return false;
}

// -- where statements and expressions are allowed --

// Checks the rules of the kind of node, and opens the place of its children if that is another.
void Shapes::rules(NodeId node, Kind kind, ShapePlace& place) {
  switch (kind) {
    case Kind::ImportFrom:
      if (is_future(node)) future(node, place);
      return;
    case Kind::NamedExpr:
      return named(node, place);
    case Kind::Yield:
      if (place.in_comprehension) fault(place, "yield within a comprehension");
      return;
    case Kind::YieldFrom:
      if (place.in_comprehension) fault(place, "yield within a comprehension");
      if (place.in_async) fault(place, "yield from in an async function");
      return;
    case Kind::Return:
      if (place.in_star_handler) fault(place, "return in an except* block");
      return;
    case Kind::Break:
    case Kind::Continue:
      if (place.in_star_handler && !place.in_loop_of_handler) {
        fault(place, "break or continue in an except* block");
      }
      return;
    case Kind::Starred:
      return starred(place);
    case Kind::Try:
      return handlers(node, place);
    case Kind::Match:
    case Kind::MatchOr:
    case Kind::MatchValue:
    case Kind::MatchSingleton:
    case Kind::MatchClass:
    case Kind::MatchMapping:
    case Kind::MatchStar:
    case Kind::MatchAs:
    case Kind::MatchSequence:
      if (const char* rule = broken_pattern(tree_, node)) fault(place, rule);
      return;
    case Kind::Assign:
      for (const NodeId item : tree_.items(tree_.as<ast::Assign>(node).targets)) {
        target(item, place);
      }
      return;
    case Kind::AugAssign:
      return single_target(tree_.as<ast::AugAssign>(node).target, place);
    case Kind::AnnAssign:
      return single_target(tree_.as<ast::AnnAssign>(node).target, place);
    case Kind::For:
      target(tree_.as<ast::For>(node).target, place);
      place.in_loop_of_handler = place.in_star_handler;
      return;
    case Kind::While:
      place.in_loop_of_handler = place.in_star_handler;
      return;
    case Kind::FunctionDef:
    case Kind::Lambda:
    case Kind::ClassDef:
      return opens_scope(node, kind, place);
    case Kind::ListComp:
    case Kind::SetComp:
    case Kind::DictComp:
    case Kind::GeneratorExp:
      return opens_comprehension(node, place);
    case Kind::ExceptHandler:
      if (tree_.as<ast::Try>(place.parent).is_star) {
        place.in_star_handler = true;
        place.in_loop_of_handler = false;
      }
      return;
    case Kind::comprehension:
      return target(tree_.as<ast::comprehension>(node).target, place);
    case Kind::withitem:
      if (tree_.as<ast::withitem>(node).optional_vars.valid()) {
        target(tree_.as<ast::withitem>(node).optional_vars, place);
      }
      return;
    default:
      return;
  }
}

void Shapes::named(NodeId node, const ShapePlace& place) {
  const NodeId name = tree_.as<ast::NamedExpr>(node).target;
  if (!tree_.is(name, Kind::Name)) return fault(place, "an expression assigns to no name");
  if (place.in_iterable) fault(place, "an assignment expression in what is iterated");
  if (place.in_comprehension && place.in_class) {
    fault(place, "an assignment expression in a comprehension of a class");
  }
}

void Shapes::starred(const ShapePlace& place) {
  const Kind outer = tree_.kind(place.parent);
  const bool may = outer == Kind::List || outer == Kind::Tuple || outer == Kind::Set ||
                   outer == Kind::Call || outer == Kind::ClassDef || outer == Kind::arg ||
                   outer == Kind::TypeVarTuple || outer == Kind::ListComp ||
                   outer == Kind::SetComp || outer == Kind::GeneratorExp;
  if (!may) fault(place, "a starred expression stands alone");
}

void Shapes::one_star(ListId list, const ShapePlace& place) {
  size_t count = 0;
  for (const NodeId item : tree_.items(list)) count += tree_.is(item, Kind::Starred) ? 1 : 0;
  if (count > 1) fault(place, "two starred names in one target");
}

void Shapes::target(NodeId node, const ShapePlace& place) {
  if (!tree_.is(node, Kind::Tuple) && !tree_.is(node, Kind::List)) {
    return single_target(node, place);
  }
  std::vector<NodeId> todo = {node};
  while (!todo.empty()) {
    const NodeId at = todo.back();
    todo.pop_back();
    ListId parts;
    if (tree_.is(at, Kind::Tuple)) {
      parts = tree_.as<ast::Tuple>(at).elts;
    } else if (tree_.is(at, Kind::List)) {
      parts = tree_.as<ast::List>(at).elts;
    } else {
      single_target(at, place);
      continue;
    }
    one_star(parts, place);
    for (const NodeId part : tree_.items(parts)) {
      const bool is_star = tree_.is(part, Kind::Starred);
      todo.push_back(is_star ? tree_.as<ast::Starred>(part).value : part);
    }
  }
}

void Shapes::single_target(NodeId node, const ShapePlace& place) {
  const Kind kind = tree_.kind(node);
  if (kind != Kind::Name && kind != Kind::Attribute && kind != Kind::Subscript) {
    fault(place, "what is assigned to is no target");
  }
}

void Shapes::handlers(NodeId node, const ShapePlace& place) {
  const auto statement = tree_.as<ast::Try>(node);
  const auto all = tree_.items(statement.handlers);
  for (size_t i = 0; i < all.size(); ++i) {
    const bool has_type = tree_.as<ast::ExceptHandler>(all[i]).type.valid();
    if (!has_type && statement.is_star) fault(place, "an except* without a type");
    if (!has_type && i + 1 < all.size()) fault(place, "a bare except is not the last");
  }
  if (all.empty() && tree_.items(statement.finalbody).empty()) {
    fault(place, "a try without handlers");
  }
  if (all.empty() && !tree_.items(statement.orelse).empty()) {
    fault(place, "an else of a try without handlers");
  }
}

// -- nodes that open a place --

void Shapes::opens_scope(NodeId node, Kind kind, ShapePlace& place) {
  const ShapePlace outer = place;
  place = ShapePlace();
  place.scope = node;
  place.levels = outer.levels;
  place.in_iterable = outer.in_iterable && kind == Kind::Lambda;
  if (kind == Kind::FunctionDef) docstring(tree_.as<ast::FunctionDef>(node).body, place);
  if (kind == Kind::ClassDef) docstring(tree_.as<ast::ClassDef>(node).body, place);
  place.in_class = kind == Kind::ClassDef;
  place.in_async = kind == Kind::FunctionDef && tree_.as<ast::FunctionDef>(node).is_async;
}

void Shapes::opens_comprehension(NodeId node, ShapePlace& place) {
  place.first_generator = first_generator(node);
  place.in_outer_comprehension = place.in_comprehension;
  place.in_comprehension = true;
}

NodeId Shapes::first_generator(NodeId comprehension) const {
  const size_t field = ast::fields_of(tree_.kind(comprehension)).size() - 1;
  const auto generators = tree_.items(ListId(tree_.slot(comprehension, field)));
  return generators.empty() ? NodeId() : generators[0];
}

}  // namespace pellucid::verify::lower
