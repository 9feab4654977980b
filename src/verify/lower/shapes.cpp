// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/shapes.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ast/walk.h"
#include "verify/lower/features.h"
#include "verify/lower/pattern_rules.h"

namespace pellucid::verify::lower {

namespace {

using ast::Kind;
using ast::ListId;
using ast::NodeId;
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

bool is_comprehension(Kind kind) {
  return kind == Kind::ListComp || kind == Kind::SetComp || kind == Kind::DictComp ||
         kind == Kind::GeneratorExp;
}

bool is_operation(Kind kind) {
  return kind == Kind::BoolOp || kind == Kind::BinOp || kind == Kind::UnaryOp ||
         kind == Kind::Compare || kind == Kind::IfExp || kind == Kind::Lambda ||
         kind == Kind::NamedExpr || kind == Kind::Yield || kind == Kind::YieldFrom ||
         kind == Kind::Await;
}

struct Place {
  NodeId scope;
  NodeId parent;
  NodeId first_generator;  // of the innermost comprehension
  uint32_t brackets = 0;
  uint32_t levels = 0;
  bool in_class = false;
  bool in_async = false;
  bool in_comprehension = false;
  bool in_outer_comprehension = false;  // the innermost comprehension is in another one
  bool in_iterable = false;             // in the iterable of a comprehension
  bool in_star_handler = false;         // of this function
  bool in_loop_of_handler = false;
};

class Shapes {
 public:
  Shapes(const Tree& tree, Misspelt& found)
      : tree_(tree),
        features_(features_of(tree.module().version)),
        most_levels_(features_.shallow_expressions ? kMostLevels312 : kMostLevels),
        most_brackets_(features_.deep_brackets ? kMostBrackets : kMostBrackets38),
        found_(found) {}

  void run(NodeId root) {
    Place place;
    place.scope = root;
    if (tree_.is(root, Kind::Module)) {
      leading_futures(tree_.as<ast::Module>(root).body);
      docstring(tree_.as<ast::Module>(root).body, place);
    }
    std::vector<std::pair<NodeId, Place>> todo{{root, place}};
    while (!todo.empty()) {
      auto [node, own] = todo.back();
      todo.pop_back();
      enter(node, own);
      const bool asks_leaves = is_near_limit(own);
      const auto first = static_cast<std::ptrdiff_t>(todo.size());
      ast::for_each_child(tree_, node, [&](NodeId child) {
        if (asks_leaves || !is_leaf(tree_.kind(child))) todo.emplace_back(child, own);
      });
      std::reverse(todo.begin() + first, todo.end());
    }
  }

 private:
  void fault(const Place& place, const char* what) { found_.try_emplace(place.scope, what); }

  // Every second node is one of these, which can only be nested too deep.
  static bool is_leaf(Kind kind) { return kind == Kind::Name || kind == Kind::Constant; }

  // Returns true if a leaf in such a node might be nested too deep: it is one level more, and in at
  // most one pair of brackets more.
  bool is_near_limit(const Place& place) const {
    return place.levels >= most_levels_ || place.brackets >= most_brackets_;
  }

  void enter(NodeId node, Place& place) {
    const Kind kind = tree_.kind(node);
    const Kind outer = place.parent.valid() ? tree_.kind(place.parent) : Kind::Module;
    if (outer == Kind::comprehension) iterable(node, place);
    nesting(node, kind, outer, place);
    positions(node, kind, place);
    opens(node, kind, place);
    place.parent = node;
  }

  // Notes what is iterated. The first iterable is evaluated outside of its comprehension.
  void iterable(NodeId node, Place& place) const {
    if (tree_.as<ast::comprehension>(place.parent).iter != node) return;
    place.in_iterable = true;
    if (place.parent == place.first_generator) {
      place.in_comprehension = place.in_outer_comprehension;
    }
  }

  // -- depth of nesting --

  void nesting(NodeId node, Kind kind, Kind outer, Place& place) {
    const bool is_left = (outer == Kind::BinOp || outer == Kind::Attribute || outer == Kind::Call ||
                          outer == Kind::Subscript) &&
                         first_child(place.parent) == node;
    const bool is_statement = ast::category_of(kind) == ast::Category::Stmt;
    if (is_statement) place.brackets = 0;
    if (is_statement || ast::category_of(kind) == ast::Category::Expr) ++place.levels;
    if (place.levels > most_levels_) fault(place, "nested too deep for a compiler");
    const bool has_brackets = kind == Kind::List || kind == Kind::Tuple || kind == Kind::Set ||
                              kind == Kind::Dict || is_comprehension(kind);
    const bool is_inside = !is_left && (outer == Kind::Call || outer == Kind::Subscript);
    const bool may_need_some = is_operation(kind) &&
                               (is_operation(outer) || outer == Kind::Attribute) &&
                               !(is_left && outer == Kind::BinOp && kind == Kind::BinOp);
    place.brackets += (has_brackets ? 1 : 0) + (is_inside || may_need_some ? 1 : 0);
    if (place.brackets > most_brackets_) fault(place, "brackets are nested too deep for a text");
  }

  NodeId first_child(NodeId node) const {
    const auto fields = ast::fields_of(tree_.kind(node));
    if (fields.empty() || fields[0].type != ast::FieldType::Node) return {};
    return NodeId(tree_.slot(node, 0));
  }

  // -- from __future__ --

  bool is_future(NodeId node) const {
    if (!tree_.is(node, Kind::ImportFrom)) return false;
    const auto import = tree_.as<ast::ImportFrom>(node);
    return import.level == 0 && import.module.valid() && tree_.text(import.module) == "__future__";
  }

  void leading_futures(ListId body) {
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

  bool is_text(NodeId statement) const {
    if (!tree_.is(statement, Kind::Expr)) return false;
    const NodeId value = tree_.as<ast::Expr>(statement).value;
    return tree_.is(value, Kind::Constant) &&
           tree_.module()[tree_.as<ast::Constant>(value).value].kind == object::ConstKind::Str;
  }

  void future(NodeId node, const Place& place) {
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
  void docstring(ListId body, const Place& place) {
    if (!features_.trims_docstrings) return;
    for (const NodeId statement : tree_.items(body)) {
      if (tree_.is(statement, Kind::Comment)) continue;
      if (is_text(statement) && has_surrogate(statement)) {
        fault(place, "a docstring that is no UTF-8");
      }
      return;
    }
  }

  bool has_surrogate(NodeId statement) const {
    const auto value = tree_.as<ast::Constant>(tree_.as<ast::Expr>(statement).value);
    const std::string_view text = tree_.text(tree_.module()[value.value].text);
    for (size_t at = 0; at + 1 < text.size(); ++at) {
      const auto second = static_cast<unsigned char>(text[at + 1]);
      if (text[at] == '\xed' && second >= 0xa0) return true;
    }
    return false;
  }

  // -- where statements and expressions are allowed --

  void positions(NodeId node, Kind kind, const Place& place) {
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
        return target(tree_.as<ast::For>(node).target, place);
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

  void named(NodeId node, const Place& place) {
    const NodeId name = tree_.as<ast::NamedExpr>(node).target;
    if (!tree_.is(name, Kind::Name)) return fault(place, "an expression assigns to no name");
    if (place.in_iterable) fault(place, "an assignment expression in what is iterated");
    if (place.in_comprehension && place.in_class) {
      fault(place, "an assignment expression in a comprehension of a class");
    }
  }

  void starred(const Place& place) {
    const Kind outer = tree_.kind(place.parent);
    const bool may = outer == Kind::List || outer == Kind::Tuple || outer == Kind::Set ||
                     outer == Kind::Call || outer == Kind::ClassDef || outer == Kind::arg ||
                     outer == Kind::TypeVarTuple || outer == Kind::ListComp ||
                     outer == Kind::SetComp || outer == Kind::GeneratorExp;
    if (!may) fault(place, "a starred expression stands alone");
  }

  void one_star(ListId list, const Place& place) {
    size_t count = 0;
    for (const NodeId item : tree_.items(list)) count += tree_.is(item, Kind::Starred) ? 1 : 0;
    if (count > 1) fault(place, "two starred names in one target");
  }

  void target(NodeId node, const Place& place) {
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

  void single_target(NodeId node, const Place& place) {
    const Kind kind = tree_.kind(node);
    if (kind != Kind::Name && kind != Kind::Attribute && kind != Kind::Subscript) {
      fault(place, "what is assigned to is no target");
    }
  }

  void handlers(NodeId node, const Place& place) {
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

  void opens(NodeId node, Kind kind, Place& place) {
    switch (kind) {
      case Kind::FunctionDef:
      case Kind::Lambda:
      case Kind::ClassDef: {
        const Place outer = place;
        place = Place();
        place.scope = node;
        place.levels = outer.levels;
        place.in_iterable = outer.in_iterable && kind == Kind::Lambda;
        if (kind == Kind::FunctionDef) docstring(tree_.as<ast::FunctionDef>(node).body, place);
        if (kind == Kind::ClassDef) docstring(tree_.as<ast::ClassDef>(node).body, place);
        place.in_class = kind == Kind::ClassDef;
        place.in_async = kind == Kind::FunctionDef && tree_.as<ast::FunctionDef>(node).is_async;
        return;
      }
      case Kind::ListComp:
      case Kind::SetComp:
      case Kind::DictComp:
      case Kind::GeneratorExp:
        place.first_generator = first_generator(node);
        place.in_outer_comprehension = place.in_comprehension;
        place.in_comprehension = true;
        return;
      case Kind::For:
      case Kind::While:
        place.in_loop_of_handler = place.in_star_handler;
        return;
      case Kind::ExceptHandler:
        if (tree_.as<ast::Try>(place.parent).is_star) {
          place.in_star_handler = true;
          place.in_loop_of_handler = false;
        }
        return;
      default:
        return;
    }
  }

  NodeId first_generator(NodeId comprehension) const {
    const size_t field = ast::fields_of(tree_.kind(comprehension)).size() - 1;
    const auto generators = tree_.items(ListId(tree_.slot(comprehension, field)));
    return generators.empty() ? NodeId() : generators[0];
  }

  const Tree& tree_;
  const Features features_;
  const uint32_t most_levels_;
  const uint32_t most_brackets_;
  Misspelt& found_;
  std::unordered_set<NodeId> leading_;
};

}  // namespace

void check_shapes(const Tree& tree, NodeId root, Misspelt& found) { Shapes(tree, found).run(root); }

}  // namespace pellucid::verify::lower
