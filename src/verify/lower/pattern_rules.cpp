// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/pattern_rules.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <unordered_set>

#include "ast/walk.h"
#include "object/repr.h"
#include "verify/lower/features.h"

namespace pellucid::verify::lower {

namespace {

using ast::Kind;
using ast::ListId;
using ast::NodeId;
using ast::Tree;

// Returns true if the node is a name, or attributes of one.
bool is_dotted_name(const Tree& tree, NodeId node) {
  while (tree.is(node, Kind::Attribute)) node = tree.as<ast::Attribute>(node).value;
  return tree.is(node, Kind::Name);
}

// Returns true if a pattern can spell the number: with one sign for each part.
bool is_number(const object::Const& value, const Features& features) {
  using object::ConstKind;
  if (value.kind == ConstKind::Int || value.kind == ConstKind::BigInt) return true;
  if (value.kind == ConstKind::Float) return !std::isnan(value.real);
  if (value.kind != ConstKind::Complex) return false;
  if (std::isnan(value.real) || std::isnan(value.imag)) return false;
  const bool is_imaginary = value.real == 0 && std::signbit(value.real);  // `-1j`
  if (is_imaginary) return std::signbit(value.imag);
  return value.imag != 0 || !std::signbit(value.imag) || features.signs_imaginary_zeros;
}

// Returns equal texts for equal numbers.
std::string text_of_number(double real, double imag) {
  std::array<char, 400> text{};  // fits the greatest float and an imaginary part
  const bool is_whole = imag == 0 && std::nearbyint(real) == real;
  if (is_whole) {
    std::snprintf(text.data(), text.size(), "%.0f", real + 0.0);
  } else {
    std::snprintf(text.data(), text.size(), "%.17g %.17g", real, imag);
  }
  return text.data();
}

// Returns true if a value pattern may have the expression. `None`, `True` and `False` are singleton
// patterns, which test identity; a name is a capture pattern.
bool is_pattern_value(const Tree& tree, NodeId node) {
  using object::ConstKind;
  switch (tree.kind(node)) {
    case Kind::Attribute:
      return is_dotted_name(tree, node);
    case Kind::Constant: {
      const object::Const& value = tree.module()[tree.as<ast::Constant>(node).value];
      return value.kind == ConstKind::Str || value.kind == ConstKind::Bytes ||
             is_number(value, features_of(tree.module().version));
    }
    default:
      return false;
  }
}

class PatternRules {
 public:
  explicit PatternRules(const Tree& tree) : tree_(tree) {}

  const char* broken_by(NodeId node) const {
    switch (tree_.kind(node)) {
      case Kind::Match:
        return cases(tree_.as<ast::Match>(node).cases);
      case Kind::MatchOr:
        return alternatives(tree_.as<ast::MatchOr>(node).patterns);
      case Kind::MatchValue:
        if (is_pattern_value(tree_, tree_.as<ast::MatchValue>(node).value)) return nullptr;
        return "a pattern compares with what it cannot say";
      case Kind::MatchSingleton:
        if (is_singleton(tree_.as<ast::MatchSingleton>(node).value)) return nullptr;
        return "a pattern tests the identity of what it cannot say";
      case Kind::MatchClass:
        if (is_dotted_name(tree_, tree_.as<ast::MatchClass>(node).cls)) return nullptr;
        return "a pattern of what is no name of a class";
      case Kind::MatchMapping: {
        const auto mapping = tree_.as<ast::MatchMapping>(node);
        const char* rule = binds(mapping.rest);
        return rule != nullptr ? rule : keys(mapping.keys);
      }
      case Kind::MatchStar:
        return binds(tree_.as<ast::MatchStar>(node).name);
      case Kind::MatchAs:
        return binds(tree_.as<ast::MatchAs>(node).name);
      case Kind::MatchSequence:
        return parts(tree_.as<ast::MatchSequence>(node).patterns);
      default:  // NOLINT: the rest breaks none
        return nullptr;
    }
  }

 private:
  bool matches_all(NodeId pattern) const {
    while (true) {
      if (tree_.is(pattern, Kind::MatchAs)) {
        pattern = tree_.as<ast::MatchAs>(pattern).pattern;
        if (!pattern.valid()) return true;
      } else if (tree_.is(pattern, Kind::MatchOr)) {
        const auto all = tree_.items(tree_.as<ast::MatchOr>(pattern).patterns);
        if (all.empty()) return false;
        pattern = all.back();
      } else {
        return false;
      }
    }
  }

  const char* cases(ListId list) const {
    const auto all = tree_.items(list);
    for (size_t i = 0; i + 1 < all.size(); ++i) {
      const auto one = tree_.as<ast::match_case>(all[i]);
      if (!one.guard.valid() && matches_all(one.pattern)) {
        return "a case that always matches is not the last";
      }
    }
    return nullptr;
  }

  const char* alternatives(ListId list) const {
    const auto all = tree_.items(list);
    for (size_t i = 0; i < all.size(); ++i) {
      if (i + 1 < all.size() && matches_all(all[i])) {
        return "an alternative that always matches is not the last";
      }
      if (names_of(all[i]) != names_of(all[0])) return "alternatives bind other names";
    }
    return nullptr;
  }

  std::unordered_set<Symbol> names_of(NodeId pattern) const {
    std::unordered_set<Symbol> names;
    ast::walk(tree_, {&pattern, 1}, [&](NodeId node) {
      Symbol name;
      if (tree_.is(node, Kind::MatchAs)) name = tree_.as<ast::MatchAs>(node).name;
      if (tree_.is(node, Kind::MatchStar)) name = tree_.as<ast::MatchStar>(node).name;
      if (tree_.is(node, Kind::MatchMapping)) name = tree_.as<ast::MatchMapping>(node).rest;
      if (name.valid()) names.insert(name);
      return ast::category_of(tree_.kind(node)) == ast::Category::Pattern;
    });
    return names;
  }

  // Returns the rule that a captured name breaks: `_` is the wildcard.
  const char* binds(ast::field::Name name) const {
    if (name.valid() && tree_.text(name) == "_") return "a pattern binds _";
    return nullptr;
  }

  const char* keys(ListId list) const {
    std::unordered_set<std::string> known;
    for (const NodeId key : tree_.items(list)) {
      if (!is_pattern_value(tree_, key) && !is_singleton(key)) {
        return "a pattern has a key that it cannot say";
      }
      const std::string value = key_of(key);
      if (!value.empty() && !known.insert(value).second) {
        return "a pattern has a key twice";
      }
    }
    return nullptr;
  }

  bool is_singleton(NodeId key) const {
    return tree_.is(key, Kind::Constant) && is_singleton(tree_.as<ast::Constant>(key).value);
  }

  bool is_singleton(object::ConstId constant) const {
    const object::ConstKind kind = tree_.module()[constant].kind;
    return kind == object::ConstKind::None || kind == object::ConstKind::True ||
           kind == object::ConstKind::False;
  }

  // Returns equal texts for equal keys; empty if the compiler does not compare them.
  std::string key_of(NodeId key) const {
    using object::ConstKind;
    if (!tree_.is(key, Kind::Constant)) return "";
    const object::ConstId id = tree_.as<ast::Constant>(key).value;
    const object::Const& value = tree_.module()[id];
    switch (value.kind) {
      case ConstKind::True:
        return "1";
      case ConstKind::False:
        return "0";
      case ConstKind::Float:
      case ConstKind::Complex:
        return text_of_number(value.real, value.imag);
      default:
        return object::repr(tree_.module(), id);
    }
  }

  const char* parts(ListId list) const {
    size_t stars = 0;
    for (const NodeId part : tree_.items(list)) stars += tree_.is(part, Kind::MatchStar) ? 1 : 0;
    return stars > 1 ? "two starred names in one pattern" : nullptr;
  }

  const Tree& tree_;
};

}  // namespace

const char* broken_pattern(const Tree& tree, NodeId node) {
  return PatternRules(tree).broken_by(node);
}

}  // namespace pellucid::verify::lower
