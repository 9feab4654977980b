// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/spelling.h"

#include <initializer_list>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ast/walk.h"
#include "object/identifiers.h"
#include "verify/lower/features.h"
#include "verify/lower/name_rules.h"
#include "verify/lower/place.h"
#include "verify/lower/seen.h"
#include "verify/lower/shapes.h"

namespace pellucid::verify::lower {

namespace {

using ast::Kind;
using ast::ListId;
using ast::Tree;

// CPython's MAXINDENT and CO_MAXBLOCKS.
constexpr uint32_t kMostIndents = 100;
constexpr uint32_t kMostBlocks = 20;

class Rules {
 public:
  Rules(const Tree& tree, Misspelt& found)
      : tree_(tree),
        features_(features_of(tree.module().version)),
        names_(tree, found),
        shapes_(tree),
        found_(found) {}

  void run(NodeId root) {
    Place place;
    place.scope = root;
    shapes_.start(root, place.shape);
    check({&root, 1}, place);
    found_.merge(shapes_.found());
  }

 private:
  struct Todo {
    NodeId node;
    Place place;
  };

  // Checks these nodes and their descendants, in preorder.
  void check(std::span<const NodeId> roots, const Place& place) {
    const size_t before = todo_.size();
    for (size_t i = roots.size(); i-- > 0;) {
      if (roots[i].valid()) todo_.push_back({roots[i], place});
    }
    while (todo_.size() > before) {
      Todo next = todo_.back();
      todo_.pop_back();
      if (!enter(next.node, next.place)) continue;
      const bool asks_all = shapes_.asks_leaves(next.place.shape);
      ast::for_each_child_backwards(tree_, next.node, [&](NodeId child) {
        if (asks_all || !is_plain(child)) todo_.push_back({child, next.place});
      });
    }
  }

  // Returns true for a leaf that breaks no rule wherever it is, unless it is nested too deep. Every
  // second node is one.
  bool is_plain(NodeId node) {
    const Kind kind = tree_.kind(node);
    return kind == Kind::Constant ||
           (kind == Kind::Name && names_.may_be_variable(tree_.as<ast::Name>(node).id));
  }

  // Checks a node; returns true if its children are still to be checked, in `place`.
  bool enter(NodeId node, Place& place) {
    const Kind kind = tree_.kind(node);
    if (kind == Kind::Constant || kind == Kind::Name) {
      leaf(node, kind, place);
      return false;
    }
    shapes_.enter(node, kind, place.shape);
    names_.check(node, kind, place);
    positions(node, kind, place);
    switch (kind) {
      case Kind::FunctionDef:
        return function(node, tree_.as<ast::FunctionDef>(node), place);
      case Kind::Lambda:
        return lambda(node, tree_.as<ast::Lambda>(node), place);
      case Kind::ClassDef:
        return class_body(node, tree_.as<ast::ClassDef>(node), place);
      case Kind::AnnAssign: {
        const auto assign = tree_.as<ast::AnnAssign>(node);
        outside(assign.target, place);
        annotation(assign.annotation, place);
        outside(assign.value, place);
        return false;
      }
      case Kind::Call:
        keywords(tree_.as<ast::Call>(node).keywords, place);
        return true;
      case Kind::match_case:
        bound_.clear();
        pattern(tree_.as<ast::match_case>(node).pattern, place);
        break;
      case Kind::MatchClass:
        apart(tree_.as<ast::MatchClass>(node).kwd_attrs, "an attribute twice in a pattern", place);
        return true;
      default:
        break;
    }
    opens(node, kind, place);
    return true;
  }

  void leaf(NodeId node, Kind kind, Place& place) {
    if (kind == Kind::Name) names_.variable(tree_.as<ast::Name>(node).id, place);
    if (shapes_.asks_leaves(place.shape)) shapes_.enter(node, kind, place.shape);
  }

  // -- scopes: their defaults, decorators and the like are evaluated outside of them --

  void outside(std::span<const NodeId> nodes, const Place& place) { check(nodes, place); }
  void outside(NodeId node, const Place& place) {
    if (node.valid()) check({&node, 1}, place);
  }

  // Checks an annotation. `from __future__ import annotations` makes it a string, which is a name
  // in the tree.
  void annotation(NodeId node, const Place& place) {
    if (!tree_.is(node, Kind::Name)) return outside(node, place);
    const std::string_view text = tree_.text(tree_.as<ast::Name>(node).id);
    if (object::is_identifier(text)) return outside(node, place);
    if (!object::is_one_expression(text)) fault(place, "an annotation is no expression");
    Place own = place;
    if (shapes_.asks_leaves(own.shape)) shapes_.enter(node, Kind::Name, own.shape);
  }
  void annotation_of(NodeId parameter, const Place& place) {
    if (!parameter.valid()) return;
    const NodeId node = tree_.as<ast::arg>(parameter).annotation;
    if (node.valid()) annotation(node, within(parameter, place));
  }

  // Returns the place of the children of a node that has no rule of its own.
  static Place within(NodeId parent, const Place& place) {
    Place own = place;
    own.shape.parent = parent;
    return own;
  }

  void evaluated_outside(NodeId node, const Place& place) {
    if (!node.valid()) return;
    const auto args = tree_.as<ast::arguments>(node);
    for (const ListId list : {args.posonlyargs, args.args, args.kwonlyargs}) {
      for (const NodeId item : tree_.items(list)) annotation_of(item, place);
    }
    for (const NodeId item : {args.vararg, args.kwarg}) annotation_of(item, place);
    for (const ListId list : {args.defaults, args.kw_defaults}) {
      if (!tree_.items(list).empty()) outside(tree_.items(list), within(node, place));
    }
  }

  bool function(NodeId node, const ast::FunctionDef& def, const Place& place) {
    outside(tree_.items(def.decorator_list), place);
    outside(tree_.items(def.type_params), place);
    annotation(def.returns, place);
    evaluated_outside(def.args, place);
    Place inner;
    inner.scope = node;
    inner.shape = place.shape;
    inner.indents = place.indents + 1;
    inner.in_function = true;
    inner.in_async = def.is_async != 0;
    parameters(def.args, inner);
    too_deep(inner);
    check(tree_.items(def.body), inner);
    return false;
  }

  bool lambda(NodeId node, const ast::Lambda& def, const Place& place) {
    evaluated_outside(def.args, place);
    Place inner;
    inner.scope = node;
    inner.shape = place.shape;
    inner.in_function = true;
    parameters(def.args, inner);
    check({&def.body, 1}, inner);
    return false;
  }

  bool class_body(NodeId node, const ast::ClassDef& def, const Place& place) {
    keywords(def.keywords, place);
    outside(tree_.items(def.decorator_list), place);
    outside(tree_.items(def.type_params), place);
    outside(tree_.items(def.bases), place);
    outside(tree_.items(def.keywords), place);
    Place inner;
    inner.scope = node;
    inner.shape = place.shape;
    inner.indents = place.indents + 1;
    inner.in_class = true;
    too_deep(inner);
    check(tree_.items(def.body), inner);
    return false;
  }

  // -- what is allowed only once --

  void once(ast::field::Name name, std::unordered_set<ast::field::Name>& seen, const char* what,
            const Place& place) {
    if (name.valid() && !seen.insert(name).second) fault(place, what);
  }

  void parameters(NodeId arguments, const Place& place) {
    if (!arguments.valid()) return;
    const auto node = tree_.as<ast::arguments>(arguments);
    Seen seen;
    const auto add = [&](NodeId parameter) {
      if (!parameter.valid()) return;
      const ast::field::Name name = tree_.as<ast::arg>(parameter).arg;
      names_.variable(name, place);
      if (name.valid() && !seen.insert(name)) fault(place, "two parameters have one name");
    };
    for (const ListId list : {node.posonlyargs, node.args, node.kwonlyargs}) {
      for (const NodeId parameter : tree_.items(list)) add(parameter);
    }
    add(node.vararg);
    add(node.kwarg);
  }

  void keywords(ListId list, const Place& place) {
    const auto items = tree_.items(list);
    if (items.size() < 2) return;
    Seen seen;
    for (const NodeId item : items) {
      const ast::field::Name name = tree_.as<ast::keyword>(item).arg;
      if (name.valid() && !seen.insert(name)) fault(place, "a keyword argument is given twice");
    }
  }

  void apart(ListId list, const char* what, const Place& place) {
    std::unordered_set<ast::field::Name> seen;
    for (const NodeId item : tree_.items(list))
      once(tree_.as<ast::Name>(item).id, seen, what, place);
  }

  // Checks that alternatives bind the same names, each of them once.
  void pattern(NodeId node, const Place& place) {
    constexpr const char* kTwice = "a pattern binds a name twice";
    if (!node.valid()) return;
    switch (tree_.kind(node)) {
      case Kind::MatchOr: {
        const auto before = bound_;
        auto after = before;
        for (const NodeId item : tree_.items(tree_.as<ast::MatchOr>(node).patterns)) {
          bound_ = before;
          pattern(item, place);
          after.insert(bound_.begin(), bound_.end());
        }
        bound_ = std::move(after);
        return;
      }
      case Kind::MatchAs:
        once(tree_.as<ast::MatchAs>(node).name, bound_, kTwice, place);
        break;
      case Kind::MatchStar:
        once(tree_.as<ast::MatchStar>(node).name, bound_, kTwice, place);
        break;
      case Kind::MatchMapping:
        once(tree_.as<ast::MatchMapping>(node).rest, bound_, kTwice, place);
        break;
      default:
        break;
    }
    ast::for_each_child(tree_, node, [&](NodeId child) {
      if (ast::category_of(tree_.kind(child)) == ast::Category::Pattern) pattern(child, place);
    });
  }

  // -- where statements and expressions are allowed --

  void positions(NodeId node, Kind kind, const Place& place) {
    switch (kind) {
      case Kind::Return:
        if (!place.in_function) fault(place, "return outside a function");
        if (tree_.as<ast::Return>(node).value.valid()) gives(returning_, place);
        return;
      case Kind::Break:
      case Kind::Continue:
        if (!place.in_loop) fault(place, "break or continue outside a loop");
        return;
      case Kind::Yield:
      case Kind::YieldFrom:
        if (!place.in_function) fault(place, "yield outside a function");
        if (place.in_async && tree_.is(node, Kind::YieldFrom)) {
          fault(place, "yield from in an async function");
        }
        gives(yielding_, place);
        return;
      case Kind::ListComp:
        return collected(tree_.as<ast::ListComp>(node).elt, place);
      case Kind::SetComp:
        return collected(tree_.as<ast::SetComp>(node).elt, place);
      case Kind::GeneratorExp:
        return collected(tree_.as<ast::GeneratorExp>(node).elt, place);
      case Kind::DictComp:
        return collected(tree_.as<ast::DictComp>(node).value, place);
      case Kind::Await:
        if (!place.in_async) fault(place, "await outside an async function");
        return;
      case Kind::For:
        if (tree_.as<ast::For>(node).is_async && !place.in_async) {
          fault(place, "async for outside an async function");
        }
        return;
      case Kind::With:
        if (tree_.as<ast::With>(node).is_async && !place.in_async) {
          fault(place, "async with outside an async function");
        }
        return;
      default:
        return;
    }
  }

  void collected(NodeId element, const Place& place) {
    const bool unpacks = !element.valid() || tree_.is(element, Kind::Starred);
    if (features_.comprehensions_unpack || !unpacks) return;
    fault(place, "a comprehension unpacks what it collects");
  }

  // Checks that an asynchronous function either yields or returns a value.
  void gives(std::unordered_set<NodeId>& scopes, const Place& place) {
    if (!place.in_async) return;
    scopes.insert(place.scope);
    if (yielding_.contains(place.scope) && returning_.contains(place.scope)) {
      fault(place, "return with a value in an asynchronous generator");
    }
  }

  void opens(NodeId node, Kind kind, Place& place) {
    switch (kind) {
      case Kind::For:
      case Kind::While:
        place.in_loop = true;
        ++place.blocks;
        break;
      case Kind::Try: {
        const auto statement = tree_.as<ast::Try>(node);
        place.blocks += tree_.items(statement.handlers).empty() ? 0 : 1;
        place.blocks += tree_.items(statement.finalbody).empty() ? 0 : 1;
        break;
      }
      case Kind::With:
        place.blocks += static_cast<uint32_t>(tree_.items(tree_.as<ast::With>(node).items).size());
        break;
      case Kind::If: {
        const bool is_elif = place.elif == node;
        const auto orelse = tree_.items(tree_.as<ast::If>(node).orelse);
        const bool has_elif = orelse.size() == 1 && tree_.is(orelse[0], Kind::If);
        place.elif = has_elif ? orelse[0] : NodeId();
        if (is_elif) return;
        break;
      }
      case Kind::Match:
      case Kind::match_case:
        break;
      case Kind::ExceptHandler:  // one block for the handler, one for its name
        ++place.blocks;
        return;
      case Kind::GeneratorExp:  // with `await` it is an asynchronous generator, in any function
        place.in_async = true;
        return;
      default:
        return;
    }
    ++place.indents;
    too_deep(place);
  }

  void too_deep(const Place& place) {
    if (place.indents >= kMostIndents) fault(place, "statements are nested too deep for a text");
    if (place.blocks > kMostBlocks) fault(place, "too many loops, try and with in each other");
  }

  void fault(const Place& place, std::string what) {
    found_.try_emplace(place.scope, std::move(what));
  }

  const Tree& tree_;
  const Features features_;
  NameRules names_;
  Shapes shapes_;
  Misspelt& found_;
  std::vector<Todo> todo_;
  std::unordered_set<ast::field::Name> bound_;
  std::unordered_set<NodeId> yielding_;  // asynchronous functions
  std::unordered_set<NodeId> returning_;
};

}  // namespace

Misspelt misspelt(const Tree& tree, NodeId root) {
  Misspelt found;
  Rules(tree, found).run(root);
  return found;
}

}  // namespace pellucid::verify::lower
