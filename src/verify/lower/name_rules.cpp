// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/name_rules.h"

#include <string>
#include <string_view>
#include <utility>

#include "object/identifiers.h"

namespace pellucid::verify::lower {

using ast::Kind;

void NameRules::odd_variable(ast::field::Name name, const Place& place) {
  if (!object::is_identifier(tree_.text(name))) fault(place, "no text can name " + quoted(name));
  if (tree_.text(name) == "__debug__") fault(place, "__debug__ is no variable in a text");
}

void NameRules::check(NodeId node, Kind kind, const Place& place) {
  switch (kind) {
    case Kind::FunctionDef:
      return variable(tree_.as<ast::FunctionDef>(node).name, place);
    case Kind::ClassDef:
      return variable(tree_.as<ast::ClassDef>(node).name, place);
    case Kind::keyword:
      return variable(tree_.as<ast::keyword>(node).arg, place);
    case Kind::ExceptHandler:
      return variable(tree_.as<ast::ExceptHandler>(node).name, place);
    case Kind::MatchMapping:
      return variable(tree_.as<ast::MatchMapping>(node).rest, place);
    case Kind::MatchStar:
      return variable(tree_.as<ast::MatchStar>(node).name, place);
    case Kind::MatchAs:
      return variable(tree_.as<ast::MatchAs>(node).name, place);
    case Kind::TypeVar:
      return variable(tree_.as<ast::TypeVar>(node).name, place);
    case Kind::ParamSpec:
      return variable(tree_.as<ast::ParamSpec>(node).name, place);
    case Kind::TypeVarTuple:
      return variable(tree_.as<ast::TypeVarTuple>(node).name, place);
    case Kind::Attribute:
      return attribute(node, place);
    case Kind::Import:
      for (const NodeId item : tree_.items(tree_.as<ast::Import>(node).names)) {
        imports(tree_.as<ast::alias>(item), place);
      }
      return;
    case Kind::ImportFrom:
      return imported(tree_.as<ast::ImportFrom>(node), place);
    case Kind::Assign:
      return stored(tree_.as<ast::Assign>(node).targets, place);
    case Kind::Delete:
      return stored(tree_.as<ast::Delete>(node).targets, place);
    case Kind::AugAssign:
      return stored(tree_.as<ast::AugAssign>(node).target, place);
    case Kind::AnnAssign:
      return stored(tree_.as<ast::AnnAssign>(node).target, place);
    case Kind::For:
      return stored(tree_.as<ast::For>(node).target, place);
    case Kind::comprehension:
      return stored(tree_.as<ast::comprehension>(node).target, place);
    case Kind::withitem:
      return stored(tree_.as<ast::withitem>(node).optional_vars, place);
    default:
      return;
  }
}

void NameRules::fault(const Place& place, std::string what) {
  found_.try_emplace(place.scope, what);
}

bool NameRules::is_plain_at_first(ast::field::Name name) {
  const std::string_view text = tree_.text(name);
  if (text == "__debug__" || !object::is_identifier(text)) return false;
  if (name.index() >= plain_.size()) plain_.resize(tree_.module().strings.size());
  plain_[name.index()] = true;
  return true;
}

std::string NameRules::quoted(ast::field::Name name) const {
  std::string text;
  for (const char c : tree_.text(name)) {
    const bool is_plain = c > ' ' && c < 0x7f;
    text += is_plain ? c : '?';
  }
  return "'" + text + "'";
}

void NameRules::attribute(NodeId node, const Place& place) {
  const ast::field::Name name = tree_.as<ast::Attribute>(node).attr;
  if (may_be_variable(name) || object::is_identifier(tree_.text(name))) return;
  fault(place, "no text can name " + quoted(name));
}

void NameRules::module_name(ast::field::Name name, const Place& place) {
  if (!object::is_dotted(tree_.text(name))) fault(place, "no text can import " + quoted(name));
}

// Checks an import; `import a.b` binds a.
void NameRules::imports(const ast::alias& alias, const Place& place) {
  module_name(alias.name, place);
  variable(alias.asname, place);
  const std::string_view name = tree_.text(alias.name);
  if (!alias.asname.valid() && name.substr(0, name.find('.')) == "__debug__") {
    fault(place, "__debug__ is no variable in a text");
  }
}

void NameRules::imported(const ast::ImportFrom& node, const Place& place) {
  const bool has_module = node.module.valid() && !tree_.text(node.module).empty();
  if (has_module) {
    module_name(node.module, place);
  } else if (node.level == 0) {
    fault(place, "an import names no module");
  }
  for (const NodeId item : tree_.items(node.names)) {
    const auto alias = tree_.as<ast::alias>(item);
    const bool is_star = tree_.text(alias.name) == "*" && tree_.items(node.names).size() == 1;
    if (is_star && (place.in_function || place.in_class)) fault(place, "import * in a scope");
    if (!is_star && !object::is_identifier(tree_.text(alias.name))) {
      fault(place, "no text can import " + quoted(alias.name));
    }
    variable(alias.asname, place);
    if (!alias.asname.valid() && tree_.text(alias.name) == "__debug__") {
      fault(place, "__debug__ is no variable in a text");
    }
  }
}

void NameRules::stored(NodeId target, const Place& place) {
  if (!target.valid()) return;
  switch (tree_.kind(target)) {
    case Kind::Attribute:
      if (tree_.text(tree_.as<ast::Attribute>(target).attr) == "__debug__") {
        fault(place, "__debug__ is no variable in a text");
      }
      return;
    case Kind::Starred:
      return stored(tree_.as<ast::Starred>(target).value, place);
    case Kind::Tuple:
      return stored(tree_.as<ast::Tuple>(target).elts, place);
    case Kind::List:
      return stored(tree_.as<ast::List>(target).elts, place);
    default:
      return;
  }
}

void NameRules::stored(ast::ListId list, const Place& place) {
  for (const NodeId target : tree_.items(list)) stored(target, place);
}

}  // namespace pellucid::verify::lower
