// SPDX-License-Identifier: Apache-2.0
#include "ast/rules.h"

namespace pellucid::ast {

namespace {

using Names = std::initializer_list<std::string_view>;

bool is_one_of(std::string_view name, Names names) {
  for (std::string_view each : names) {
    if (name == each) return true;
  }
  return false;
}

constexpr Kinds kinds_of(Category wanted) {
  Kinds kinds;
#define FIELD(type, name)
#define NODE(kind, category, fields) \
  if (Category::category == wanted) kinds.add(Kind::kind);
#include "ast/nodes.def"
#undef NODE
#undef FIELD
  return kinds;
}

}  // namespace

bool may_be_absent(Kind kind, std::string_view field) {
  switch (kind) {
    case Kind::FunctionDef:
      return is_one_of(field, {"args", "returns"});
    case Kind::Lambda:
      return field == "args";
    case Kind::Return:
    case Kind::AnnAssign:
    case Kind::Yield:
    case Kind::DictComp:
      return field == "value";
    case Kind::Raise:
      return true;
    case Kind::Assert:
      return field == "msg";
    case Kind::ImportFrom:
      return field == "module";
    case Kind::FormattedValue:
    case Kind::Interpolation:
      return field == "format_spec";
    case Kind::Slice:
      return true;
    case Kind::ExceptHandler:
      return is_one_of(field, {"type", "name"});
    case Kind::arguments:
      return is_one_of(field, {"vararg", "kwarg"});
    case Kind::arg:
      return field == "annotation";
    case Kind::keyword:
      return field == "arg";
    case Kind::alias:
      return field == "asname";
    case Kind::withitem:
      return field == "optional_vars";
    case Kind::match_case:
      return field == "guard";
    case Kind::MatchMapping:
      return field == "rest";
    case Kind::MatchStar:
      return field == "name";
    case Kind::MatchAs:
      return true;
    case Kind::TypeVar:
    case Kind::ParamSpec:
    case Kind::TypeVarTuple:
      return is_one_of(field, {"bound", "default_value"});
    default:
      return false;
  }
}

bool items_may_be_absent(Kind kind, std::string_view field) {
  return (kind == Kind::Dict && field == "keys") ||
         (kind == Kind::arguments && field == "kw_defaults");
}

Kinds kinds_in(Kind parent, const FieldInfo& field) {
  const std::string_view name = field.name;
  const bool is_list = field.type == FieldType::List;
  if (is_list && is_one_of(name, {"body", "orelse", "finalbody"})) return kinds_of(Category::Stmt);
  if (name == "handlers") return {Kind::ExceptHandler};
  if (name == "keywords") return {Kind::keyword};
  if (name == "generators") return {Kind::comprehension};
  if (name == "cases") return {Kind::match_case};
  if (name == "items") return {Kind::withitem};
  if (name == "type_params") return kinds_of(Category::TypeParam);
  if (name == "kwd_attrs") return {Kind::Name};
  if (is_one_of(name, {"pattern", "patterns", "kwd_patterns"})) return kinds_of(Category::Pattern);
  if (name == "names") {
    const bool scope = parent == Kind::Global || parent == Kind::Nonlocal;
    return {scope ? Kind::Name : Kind::alias};
  }
  if (parent == Kind::arguments && name != "defaults" && name != "kw_defaults") return {Kind::arg};
  if (name == "args" && !is_list) return {Kind::arguments};
  return kinds_of(Category::Expr);
}

}  // namespace pellucid::ast
