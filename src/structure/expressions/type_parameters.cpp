// SPDX-License-Identifier: Apache-2.0
// Type parameters (PEP 695, PEP 696): `def f[T]`, `class C[T]`, `type X[T] = ...`.
//
// The compiler makes a hidden function `<generic parameters of X>` that binds the parameters and
// returns the function, class or alias; it is called at once. Bounds, defaults and the value of an
// alias are functions without parameters that are called on demand.
#include <unordered_map>

#include "ast/nodes.h"
#include "object/fitting_names.h"
#include "structure/expressions/expressions.h"
#include "structure/expressions/function_parts.h"
#include "structure/expressions/operations.h"
#include "structure/scopes/dead_code.h"

namespace pellucid::structure {

using ast::Kind;
using ast::ListId;
using ast::NodeId;
using bytecode::Op;
using object::Const;
using object::ConstKind;

namespace {

// CPython's numbers of CALL_INTRINSIC_1 and CALL_INTRINSIC_2.
enum Intrinsic1 : uint32_t {
  kAsyncGenWrap = 4,
  kTypeVar = 7,
  kParamSpec = 8,
  kTypeVarTuple = 9,
  kSubscriptGeneric = 10,
  kTypeAlias = 11,
};
enum Intrinsic2 : uint32_t {
  kTypeVarWithBound = 2,
  kTypeVarWithConstraints = 3,
  kSetFunctionTypeParams = 4,
  kSetTypeParamDefault = 5,
};

// Stands for the base `Generic[T]` that the compiler adds.
constexpr std::string_view kGenericBase = ".generic_base";
// `.with_type_params(function, parameters)`: both are resolved where the hidden function is called.
constexpr std::string_view kWithTypeParams = ".with_type_params";

bool is_type_parameter(const ast::Tree& tree, NodeId node) {
  return tree.is(node, Kind::TypeVar) || tree.is(node, Kind::ParamSpec) ||
         tree.is(node, Kind::TypeVarTuple);
}

// The bindings of a hidden function's names: type parameters and tuples of them.
class Bindings {
 public:
  Bindings(const ast::Tree& tree, ListId body) : tree_(tree) {
    for (const NodeId statement : tree.items(body)) {
      if (tree.is(statement, Kind::FunctionDef) || tree.is(statement, Kind::ClassDef)) {
        bound_.emplace(Symbol(tree.slot(statement, 0)), statement);
      } else if (tree.is(statement, Kind::TypeAlias)) {
        bind(tree.as<ast::TypeAlias>(statement).name, statement);
      } else if (tree.is(statement, Kind::Assign)) {
        const auto assign = tree.as<ast::Assign>(statement);
        for (const NodeId target : tree.items(assign.targets)) bind(target, assign.value);
      }
    }
  }

  // Returns the value that `node` stands for.
  NodeId resolve(NodeId node) {
    while (true) {
      if (tree_.is(node, Kind::NamedExpr)) {
        const auto named = tree_.as<ast::NamedExpr>(node);
        bind(named.target, named.value);
        node = named.value;
        continue;
      }
      if (!tree_.is(node, Kind::Name)) return node;
      const auto it = bound_.find(tree_.as<ast::Name>(node).id);
      if (it == bound_.end()) return node;
      node = it->second;
    }
  }

  // Appends the type parameters among `nodes`, each resolved. Returns false if anything else is
  // among them.
  bool parameters(std::vector<NodeId> nodes, std::vector<NodeId>& out) {
    for (NodeId node : nodes) {
      node = resolve(node);
      if (tree_.is(node, Kind::Tuple)) {
        for (const NodeId item : tree_.items(tree_.as<ast::Tuple>(node).elts)) {
          const NodeId parameter = resolve(item);
          if (!is_type_parameter(tree_, parameter)) return false;
          out.push_back(parameter);
        }
      } else if (is_type_parameter(tree_, node)) {
        out.push_back(node);
      } else {
        return false;
      }
    }
    return true;
  }

 private:
  void bind(NodeId target, NodeId value) {
    if (!tree_.is(target, Kind::Name)) return;
    const Symbol name = tree_.as<ast::Name>(target).id;
    // A name bound to itself would never resolve.
    if (is_name(tree_, value, name)) return;
    bound_.emplace(name, value);
  }

  const ast::Tree& tree_;
  std::unordered_map<Symbol, NodeId> bound_;
};

std::vector<NodeId> to_vector(const ast::Tree& tree, ListId list) {
  return {tree.items(list).begin(), tree.items(list).end()};
}

// Passes the values of `.defaults` and `.kwdefaults`, the arguments of the hidden function.
// (CPython names the second one `.defaults` too if it is the only one.)
bool pass_defaults(ast::Tree& tree, NodeId hidden_args, std::span<const NodeId> args,
                   NodeId function_args) {
  const auto parameters = to_vector(tree, tree.as<ast::arguments>(hidden_args).args);
  if (parameters.size() != args.size()) return false;
  const auto passed = [&](ListId list) {
    for (const NodeId item : tree.items(list)) {
      if (!tree.is(item, Kind::Name)) continue;
      for (size_t i = 0; i < args.size(); ++i) {
        if (tree.as<ast::arg>(parameters[i]).arg == tree.as<ast::Name>(item).id) return args[i];
      }
    }
    return NodeId();
  };
  const auto all = tree.as<ast::arguments>(function_args);
  const NodeId defaults = passed(all.defaults);
  const NodeId keyword_defaults = passed(all.kw_defaults);
  return (!defaults.valid() || set_defaults(tree, function_args, defaults)) &&
         (!keyword_defaults.valid() || set_keyword_defaults(tree, function_args, keyword_defaults));
}

NodeId type_parameter(const ExpressionContext& c, const ir::Value& value, Nodes operands) {
  const ast::Where at = c.where(value);
  const Const* constant = constant_of(c.tree, operands[0]);
  const bool has_name = constant && constant->kind == ConstKind::Str;
  const Symbol name = has_name ? object::as_given(c.module(), constant->text) : Symbol();
  if (value.op == Op::Intrinsic1) {
    switch (value.a) {
      case kTypeVar:
        return name.valid() ? c.tree.add(ast::TypeVar{name, NodeId(), NodeId()}, at) : NodeId();
      case kParamSpec:
        return name.valid() ? c.tree.add(ast::ParamSpec{name, NodeId()}, at) : NodeId();
      case kTypeVarTuple:
        return name.valid() ? c.tree.add(ast::TypeVarTuple{name, NodeId()}, at) : NodeId();
      case kSubscriptGeneric:
        return name_node(c.tree, kGenericBase, at);
      case kTypeAlias: {
        std::vector<NodeId> parts;
        if (!tuple_elements(c.tree, operands[0], parts) || parts.size() != 3) return NodeId();
        const Const* alias = constant_of(c.tree, parts[0]);
        if (!alias || alias->kind != ConstKind::Str) return NodeId();
        const NodeId target = c.tree.add(ast::Name{object::as_given(c.module(), alias->text)}, at);
        const NodeId aliased = lazy_value(c.tree, parts[2]);
        if (!aliased.valid()) return NodeId();
        // The parameters are resolved where the hidden function is called.
        const ListId parameters = is_none(c.tree, parts[1]) ? ListId() : c.tree.list({parts[1]});
        return c.tree.add(ast::TypeAlias{target, parameters, aliased}, at);
      }
      default:
        return NodeId();
    }
  }
  switch (value.a) {
    case kTypeVarWithBound:
    case kTypeVarWithConstraints: {
      const NodeId bound = lazy_value(c.tree, operands[1]);
      if (!name.valid() || !bound.valid()) return NodeId();
      return c.tree.add(ast::TypeVar{name, bound, NodeId()}, at);
    }
    case kSetFunctionTypeParams: {
      const NodeId callee = name_node(c.tree, kWithTypeParams, at);
      return c.tree.add(ast::Call{callee, c.tree.list(operands), {}}, at);
    }
    case kSetTypeParamDefault: {
      const NodeId made = lazy_value(c.tree, operands[1]);
      if (!made.valid() || !is_type_parameter(c.tree, operands[0])) return NodeId();
      // The default is the last field of each.
      const size_t last = ast::fields_of(c.tree.kind(operands[0])).size() - 1;
      c.tree.set_slot(operands[0], last, made.value);
      return operands[0];
    }
    default:
      return NodeId();
  }
}

// Adds the mentions to an annotation: nothing else is computed in the hidden function of a
// function.
void mention_in_annotation(ast::Tree& tree, ast::FunctionDef& def, const DeadParts& dead) {
  if (dead.mentions.empty()) return;
  const auto args = tree.as<ast::arguments>(def.args);
  std::vector<NodeId> all{args.vararg, args.kwarg};
  for (const ListId list : {args.posonlyargs, args.args, args.kwonlyargs}) {
    all.insert(all.end(), tree.items(list).begin(), tree.items(list).end());
  }
  for (const NodeId each : all) {
    if (!each.valid()) continue;
    auto arg = tree.as<ast::arg>(each);
    if (!arg.annotation.valid()) continue;
    arg.annotation = with_mentions(tree, arg.annotation, dead.mentions);
    tree.set(each, arg);
    return;
  }
  if (def.returns.valid()) def.returns = with_mentions(tree, def.returns, dead.mentions);
}

}  // namespace

NodeId make_intrinsic(const ExpressionContext& c, const ir::Value& value, Nodes operands) {
  if (value.op == Op::Intrinsic1 && value.a == kAsyncGenWrap) return operands[0];
  return type_parameter(c, value, operands);
}

NodeId with_type_parameters(ExpressionContext& c, NodeId callee, Nodes args) {
  ast::Tree& tree = c.tree;
  const auto hidden = tree.as<ast::FunctionDef>(callee);
  std::vector<NodeId> statements;
  const DeadParts dead = take_dead_parts(tree, hidden.body, statements);
  Bindings bindings(tree, tree.list(statements));
  if (statements.empty() || !tree.is(statements.back(), Kind::Return)) return NodeId();
  NodeId literal = bindings.resolve(tree.as<ast::Return>(statements.back()).value);
  std::vector<NodeId> parameter_list;  // of a function
  std::vector<NodeId> parameters;
  if (tree.is(literal, Kind::Call)) {
    const auto call = tree.as<ast::Call>(literal);
    auto parts = to_vector(tree, call.args);
    const std::string_view callee_name =
        tree.is(call.func, Kind::Name) ? tree.text(tree.as<ast::Name>(call.func).id) : "";
    if (callee_name == "__build_class__" && !parts.empty()) {
      // The function of the class body was made before the generic base.
      parts[0] = bindings.resolve(parts[0]);
      const auto keywords = to_vector(tree, call.keywords);
      literal = class_literal(c, tree.where(literal), parts, keywords);
    } else if (callee_name == kWithTypeParams && parts.size() == 2) {
      literal = bindings.resolve(parts[0]);
      parameter_list = {parts[1]};
    }
  }
  if (tree.is(literal, Kind::FunctionDef)) {
    auto def = tree.as<ast::FunctionDef>(literal);
    if (!bindings.parameters(parameter_list, parameters)) return NodeId();
    if (!pass_defaults(tree, hidden.args, args, def.args)) return NodeId();
    def.type_params = tree.list(parameters);
    mention_in_annotation(tree, def, dead);
    tree.set(literal, def);
    return literal;
  }
  if (tree.is(literal, Kind::TypeAlias)) {
    auto alias = tree.as<ast::TypeAlias>(literal);
    if (!bindings.parameters(to_vector(tree, alias.type_params), parameters)) return NodeId();
    alias.type_params = tree.list(parameters);
    tree.set(literal, alias);
    return literal;
  }
  if (!tree.is(literal, Kind::ClassDef)) return NodeId();
  auto def = tree.as<ast::ClassDef>(literal);
  const NodeId tuple = name_node(tree, ".type_params", tree.where(literal));
  if (!bindings.parameters({tuple}, parameters)) return NodeId();
  std::vector<NodeId> bases;
  for (const NodeId base : to_vector(tree, def.bases)) {
    if (!is_name(tree, base, kGenericBase)) bases.push_back(base);
  }
  if (!bases.empty()) {
    bases[0] = with_mentions(tree, bases[0], dead.mentions);
  } else if (const auto keywords = tree.items(def.keywords); !keywords.empty()) {
    auto keyword = tree.as<ast::keyword>(keywords[0]);
    keyword.value = with_mentions(tree, keyword.value, dead.mentions);
    tree.set(keywords[0], keyword);
  }
  def.bases = tree.list(bases);
  def.type_params = tree.list(parameters);
  tree.set(literal, def);
  return literal;
}

}  // namespace pellucid::structure
