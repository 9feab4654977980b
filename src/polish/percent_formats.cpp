// SPDX-License-Identifier: Apache-2.0
// From 3.11 on, the compiler makes the same code of `'%s: %r' % (a, b)` and `f'{a!s}: {b!r}'`. The
// `%` form is the likely one: `!s` is redundant in an f-string, and no field of one may hold a
// backslash or a `#` before 3.12.
#include <string>
#include <unordered_set>

#include "ast/walk.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

namespace {

// Returns true if a string in the expression is written with a character that was once forbidden in
// the fields of f-strings.
bool has_unlikely_string(const ast::Tree& tree, NodeId value) {
  bool found = false;
  ast::walk(tree, {{value}}, [&](NodeId node) {
    if (!tree.is(node, Kind::Constant)) return !found;
    const object::Const& constant = tree.module()[tree.as<ast::Constant>(node).value];
    const bool has_text =
        constant.kind == object::ConstKind::Str || constant.kind == object::ConstKind::Bytes;
    for (const char c : has_text ? tree.text(constant.text) : std::string_view()) {
      found = found || c == '\\' || c == '#' || (static_cast<unsigned char>(c) < ' ');
    }
    return !found;
  });
  return found;
}

// The `%` form of an f-string. Empty text: it has none.
struct Percent {
  std::string text;
  std::vector<NodeId> values;
};

Percent percent_of(const ast::Tree& tree, NodeId joined) {
  Percent out;
  bool is_likely = false;
  bool is_constant = true;  // if so, the compiler would have folded it into a string
  for (const NodeId part : tree.items(tree.as<ast::JoinedStr>(joined).values)) {
    if (tree.is(part, Kind::Constant)) {
      const object::Const& constant = tree.module()[tree.as<ast::Constant>(part).value];
      if (constant.kind != object::ConstKind::Str) return {};
      for (const char c : tree.text(constant.text)) out.text += c == '%' ? "%%" : std::string(1, c);
      continue;
    }
    if (!tree.is(part, Kind::FormattedValue)) return {};
    const auto field = tree.as<ast::FormattedValue>(part);
    if (field.conversion == 0 || field.format_spec.valid()) return {};
    is_likely = is_likely || field.conversion == 's' || has_unlikely_string(tree, field.value);
    out.text += '%';
    out.text += static_cast<char>(field.conversion);
    out.values.push_back(field.value);
    is_constant = is_constant && tree.is(field.value, Kind::Constant);
  }
  return is_likely && !is_constant ? out : Percent{};
}

}  // namespace

void percent_formats(ast::Tree& tree, const std::vector<NodeId>& nodes) {
  std::unordered_set<NodeId> specs;
  for (const NodeId id : nodes) {
    if (tree.is(id, Kind::FormattedValue)) {
      specs.insert(tree.as<ast::FormattedValue>(id).format_spec);
    } else if (tree.is(id, Kind::Interpolation)) {
      specs.insert(tree.as<ast::Interpolation>(id).format_spec);
    }
  }
  for (const NodeId id : nodes) {
    if (!tree.is(id, Kind::JoinedStr) || specs.contains(id)) continue;
    const Percent percent = percent_of(tree, id);
    if (percent.values.empty()) continue;
    object::Const text;
    text.kind = object::ConstKind::Str;
    text.text = tree.intern(percent.text);
    const NodeId format = tree.add(ast::Constant{tree.module().add(text)}, tree.where(id));
    const NodeId values = tree.add(ast::Tuple{tree.list(percent.values)});
    tree.set(id, ast::BinOp{format, static_cast<uint32_t>(ast::Operator::Mod), values});
  }
}

}  // namespace pellucid::polish
