// SPDX-License-Identifier: Apache-2.0
// Functions: a code object with its defaults and annotations is a FunctionDef or a Lambda.
//
// The operands of MAKE_FUNCTION (and the SET_FUNCTION_ATTRIBUTEs of 3.13+) name their parts as the
// compiler packed them: a tuple of defaults, a dict of keyword-only defaults, annotations as a dict
// (<= 3.9), a tuple of names and values (3.10+) or a function that returns the dict (3.14).
#include <unordered_map>

#include "ast/nodes.h"
#include "object/fitting_names.h"
#include "structure/expressions/expressions.h"
#include "structure/expressions/function_parts.h"
#include "structure/expressions/operations.h"
#include "structure/graph/not_structured.h"
#include "structure/scopes/dead_code.h"
#include "structure/scopes/names.h"
#include "structure/scopes/unfoldable.h"

namespace pellucid::structure {

using ast::ListId;
using ast::NodeId;
using bytecode::Op;
using object::Code;
using object::CodeId;
using object::Const;
using object::ConstKind;

namespace {

using Named = std::pair<Symbol, NodeId>;

NodeId parameters(ast::Tree& tree, CodeId id, ast::Where where) {
  const Code& code = tree.module()[id];
  const size_t positional = code.argcount;
  const size_t named = positional + code.kwonlyargcount;
  const bool has_args = (code.flags & object::kVarArgs) != 0;
  const bool has_kwargs = (code.flags & object::kVarKeywords) != 0;
  if (code.varnames.size() < named + has_args + has_kwargs) return NodeId();
  const auto arg = [&](size_t i) { return tree.add(ast::arg{code.varnames[i], NodeId()}, where); };
  std::vector<NodeId> posonly, args, kwonly;
  for (size_t i = 0; i < positional; ++i) {
    (i < code.posonlyargcount ? posonly : args).push_back(arg(i));
  }
  for (size_t i = positional; i < named; ++i) kwonly.push_back(arg(i));
  ast::arguments all;
  all.posonlyargs = list_of(tree, posonly);
  all.args = list_of(tree, args);
  all.kwonlyargs = list_of(tree, kwonly);
  all.kw_defaults = list_of(tree, std::vector<NodeId>(kwonly.size()));
  if (has_args) all.vararg = arg(named);
  if (has_kwargs) all.kwarg = arg(named + has_args);
  return tree.add(all, where);
}

}  // namespace

bool tuple_elements(ast::Tree& tree, NodeId node, std::vector<NodeId>& out) {
  if (const Const* constant = constant_of(tree, node)) {
    if (constant->kind != ConstKind::Tuple) return false;
    for (const auto item : std::vector<object::ConstId>(constant->items)) {
      out.push_back(tree.add(ast::Constant{item}, tree.where(node)));
    }
    return true;
  }
  if (!tree.is(node, ast::Kind::Tuple)) return false;
  const auto items = tree.items(tree.as<ast::Tuple>(node).elts);
  out.assign(items.begin(), items.end());
  return true;
}

namespace {

// Reads names and values, from a dict display with constant keys or from a tuple that alternates
// them.
bool named_values(ast::Tree& tree, NodeId node, std::vector<Named>& out) {
  std::vector<NodeId> keys, values;
  if (tree.is(node, ast::Kind::Dict)) {
    const auto dict = tree.as<ast::Dict>(node);
    const auto key_items = tree.items(dict.keys);
    const auto value_items = tree.items(dict.values);
    keys.assign(key_items.begin(), key_items.end());
    values.assign(value_items.begin(), value_items.end());
  } else {
    std::vector<NodeId> both;
    if (!tuple_elements(tree, node, both) || both.size() % 2 != 0) return false;
    if (!both.empty() && tree.is(both[0], ast::Kind::IfExp)) {
      // Constants that were not merged into one: the computed one is the annotation, not its name.
      auto chosen = tree.as<ast::IfExp>(both[0]);
      if (!tree.is(both[1], ast::Kind::Constant)) return false;
      both[0] = chosen.body;
      const ast::Where at = tree.where(both[1]);
      chosen.body = both[1];
      chosen.orelse = tree.add(tree.as<ast::Constant>(both[1]), at);
      both[1] = tree.add(chosen, at);
    }
    for (size_t i = 0; i < both.size(); i += 2) {
      keys.push_back(both[i]);
      values.push_back(both[i + 1]);
    }
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    const Const* key = constant_of(tree, keys[i]);
    if (!key || key->kind != ConstKind::Str) return false;
    out.emplace_back(object::as_given(tree.module(), key->text), values[i]);
  }
  return true;
}

// Returns true for `.defaults` and `.kwdefaults`: parameters of a hidden function, known where it
// is called.
bool is_hidden_name(const ast::Tree& tree, NodeId node) {
  return tree.is(node, ast::Kind::Name) && tree.text(tree.as<ast::Name>(node).id).starts_with('.');
}

}  // namespace

bool set_defaults(ast::Tree& tree, NodeId args, NodeId value) {
  std::vector<NodeId> defaults;
  if (is_hidden_name(tree, value)) {
    defaults.push_back(value);
  } else if (!tuple_elements(tree, value, defaults)) {
    return false;
  }
  auto all = tree.as<ast::arguments>(args);
  if (defaults.size() > tree.items(all.posonlyargs).size() + tree.items(all.args).size())
    return false;
  all.defaults = tree.list(defaults);
  tree.set(args, all);
  return true;
}

bool set_keyword_defaults(ast::Tree& tree, NodeId args, NodeId value) {
  auto all = tree.as<ast::arguments>(args);
  std::vector<NodeId> names(tree.items(all.kwonlyargs).begin(), tree.items(all.kwonlyargs).end());
  std::vector<NodeId> defaults(names.size());
  if (is_hidden_name(tree, value)) {
    if (names.empty()) return false;
    defaults[0] = value;
  } else {
    std::vector<Named> pairs;
    if (!named_values(tree, value, pairs)) return false;
    std::unordered_map<Symbol, NodeId> by_name(pairs.begin(), pairs.end());
    size_t found = 0;
    for (size_t i = 0; i < names.size(); ++i) {
      const auto it = by_name.find(tree.as<ast::arg>(names[i]).arg);
      if (it == by_name.end()) continue;
      defaults[i] = it->second;
      ++found;
    }
    if (found != by_name.size()) return false;
  }
  all.kw_defaults = tree.list(defaults);
  tree.set(args, all);
  return true;
}

NodeId lazy_value(ast::Tree& tree, NodeId literal) {
  if (tree.is(literal, ast::Kind::Lambda)) return tree.as<ast::Lambda>(literal).body;
  if (!tree.is(literal, ast::Kind::FunctionDef)) return NodeId();
  std::vector<NodeId> statements;
  const DeadParts dead = take_dead_parts(tree, tree.as<ast::FunctionDef>(literal).body, statements);
  NodeId text;  // a string that is there to be the first constant
  if (!statements.empty() && tree.is(statements[0], ast::Kind::Expr)) {
    text = tree.as<ast::Expr>(statements[0]).value;
    if (!is_constant(tree, text, object::ConstKind::Str)) return NodeId();
    statements.erase(statements.begin());
  }
  // 3.14 rejects unknown formats first: `if .format > 2: raise NotImplementedError`.
  if (!statements.empty() && tree.is(statements[0], ast::Kind::If)) {
    const auto check = tree.as<ast::If>(statements[0]);
    const auto raises = [&](ListId list) {
      return !tree.items(list).empty() && tree.is(tree.items(list)[0], ast::Kind::Raise);
    };
    if (raises(check.body) || raises(check.orelse)) {
      const auto other = tree.items(raises(check.body) ? check.orelse : check.body);
      std::vector<NodeId> rest(other.begin(), other.end());
      rest.insert(rest.end(), statements.begin() + 1, statements.end());
      // The implicit `return None` of a function of several blocks has no statement.
      if (rest.empty()) rest.push_back(tree.add(ast::Return{}, tree.where(literal)));
      statements = std::move(rest);
    }
  }
  // `*Ts = *x`: the default is unpacked into one value, which is returned.
  if (statements.size() == 2 && tree.is(statements[1], ast::Kind::Return)) {
    const NodeId target = ast::only_target(tree, statements[0]);
    if (target.valid() && tree.is(target, ast::Kind::Tuple)) {
      const NodeId value = tree.as<ast::Assign>(statements[0]).value;
      return tree.add(ast::Starred{value}, tree.where(literal));
    }
  }
  const NodeId value = returned_expression(tree, tree.list(statements));
  if (!value.valid()) return value;
  const NodeId with_names = after_comprehensions(tree, value, dead.bound);
  return after_constant(tree, text, with_mentions(tree, with_names, dead.mentions));
}

namespace {

// Returns the dict that an `__annotate__` function returns: after the check of `format`, or in its
// `else`.
NodeId returned_dict(const ast::Tree& tree, ListId body) {
  std::vector<NodeId> todo(tree.items(body).begin(), tree.items(body).end());
  while (!todo.empty()) {
    const NodeId statement = todo.back();
    todo.pop_back();
    if (tree.is(statement, ast::Kind::Return)) {
      const NodeId value = tree.as<ast::Return>(statement).value;
      if (tree.is(value, ast::Kind::Dict)) return value;
    } else if (tree.is(statement, ast::Kind::If)) {
      const auto branch = tree.as<ast::If>(statement);
      for (const ListId list : {branch.body, branch.orelse}) {
        todo.insert(todo.end(), tree.items(list).begin(), tree.items(list).end());
      }
    }
  }
  return NodeId();
}

bool set_annotations(ast::Tree& tree, NodeId function, NodeId value, bool are_strings) {
  auto def = tree.as<ast::FunctionDef>(function);
  std::vector<Named> pairs;
  std::vector<NodeId> mentions;
  if (tree.is(value, ast::Kind::FunctionDef)) {
    const ListId body = tree.as<ast::FunctionDef>(value).body;
    mentions = mentions_without_binding(tree, body);
    value = returned_dict(tree, body);
    if (!value.valid()) return false;
  }
  if (!named_values(tree, value, pairs)) return false;
  if (!pairs.empty()) {
    pairs[0].second = with_mentions(tree, pairs[0].second, mentions);
  }
  const auto all = tree.as<ast::arguments>(def.args);
  std::unordered_map<Symbol, NodeId> arg_nodes;
  for (const ListId list : {all.posonlyargs, all.args, all.kwonlyargs}) {
    for (const NodeId arg : tree.items(list)) arg_nodes.emplace(tree.as<ast::arg>(arg).arg, arg);
  }
  for (const NodeId arg : {all.vararg, all.kwarg}) {
    if (arg.valid()) arg_nodes.emplace(tree.as<ast::arg>(arg).arg, arg);
  }
  for (auto [name, annotation] : pairs) {
    if (are_strings) annotation = annotation_of_string(tree, annotation);
    if (tree.text(name) == "return") {
      def.returns = annotation;
      continue;
    }
    const auto it = arg_nodes.find(name);
    if (it == arg_nodes.end()) return false;
    auto arg = tree.as<ast::arg>(it->second);
    arg.annotation = annotation;
    tree.set(it->second, arg);
  }
  tree.set(function, def);
  return true;
}

bool set_part(ast::Tree& tree, NodeId literal, uint32_t flag, NodeId value, bool are_strings) {
  const bool is_lambda = tree.is(literal, ast::Kind::Lambda);
  const NodeId args =
      is_lambda ? tree.as<ast::Lambda>(literal).args : tree.as<ast::FunctionDef>(literal).args;
  switch (flag) {
    case bytecode::kDefaults:
      return set_defaults(tree, args, value);
    case bytecode::kKwDefaults:
      return set_keyword_defaults(tree, args, value);
    case bytecode::kAnnotations:
    case bytecode::kAnnotate:
      return !is_lambda && set_annotations(tree, literal, value, are_strings);
    // The closure follows from the free variables of the code.
    case bytecode::kClosure:
      return true;
    default:
      return false;
  }
}

}  // namespace

NodeId function_source(ast::Tree& tree, CodeId id, const std::vector<ListId>& bodies) {
  const Code& code = tree.module()[id];
  const bool is_async = (code.flags & (object::kCoroutine | object::kAsyncGenerator)) != 0;
  const ast::Where at{code.firstlineno, ast::Where{}.offset};
  const NodeId args = parameters(tree, id, at);
  if (!args.valid()) return NodeId();
  if (is_comprehension_name(tree.text(code.name)) && is_unstructured(tree, bodies[id.index()])) {
    // It becomes a function that is called by its name.
    for (const ListId list :
         {tree.as<ast::arguments>(args).posonlyargs, tree.as<ast::arguments>(args).args}) {
      for (const NodeId arg : tree.items(list)) {
        tree.set(arg, ast::arg{unstructured_parameter(tree, tree.as<ast::arg>(arg).arg), {}});
      }
    }
  }
  return tree.add(ast::FunctionDef{code.name, args, bodies[id.index()], {}, NodeId(), {}, is_async},
                  at);
}

namespace {

NodeId function_literal(ExpressionContext& c, CodeId id, ast::Where at) {
  const NodeId literal = function_source(c.tree, id, c.bodies);
  if (!literal.valid()) return literal;
  c.tree.set_where(literal, at);
  // Compilers copy short exits and `finally` bodies, so one code object may be made in two places.
  if (!c.made.insert(id).second) {
    auto def = c.tree.as<ast::FunctionDef>(literal);
    def.body = ast::clone(c.tree, def.body);
    c.tree.set(literal, def);
  }
  if (c.tree.text(c.module()[id].name) == "<lambda>") {
    std::vector<NodeId> statements;
    DeadParts dead = take_dead_parts(c.tree, c.tree.as<ast::FunctionDef>(literal).body, statements);
    NodeId value = returned_expression(c.tree, c.tree.list(statements));
    if (value.valid()) {
      for (const Symbol name : dead.bound) {
        const NodeId target = c.tree.add(ast::Name{name}, at);
        dead.mentions.push_back(c.tree.add(ast::NamedExpr{target, none_node(c.tree, at)}, at));
      }
      value = with_mentions(c.tree, value, dead.mentions);
      // No node is left whose name no text can have (fit_names).
      c.tree.set(literal, ast::Lambda{c.tree.as<ast::FunctionDef>(literal).args, value});
      return literal;
    }
  }
  return literal;
}

}  // namespace

NodeId make_function(ExpressionContext& c, const ir::Value& value, Nodes operands) {
  const size_t code_at = operands.size() - (value.b == 1 ? 2 : 1);
  const Const* code = code_at < operands.size() ? constant_of(c.tree, operands[code_at]) : nullptr;
  if (!code || code->kind != ConstKind::Code) return NodeId();
  const NodeId literal = function_literal(c, code->code, c.where(value));
  if (!literal.valid()) return literal;
  size_t next = 0;
  for (const uint32_t flag :
       {bytecode::kDefaults, bytecode::kKwDefaults, bytecode::kAnnotations, bytecode::kClosure}) {
    if ((value.a & flag) == 0) continue;
    if (next >= code_at) return NodeId();
    const bool are_strings = has_future_annotations(c.module(), c.function.code);
    if (!set_part(c.tree, literal, flag, operands[next++], are_strings)) return NodeId();
  }
  return literal;
}

NodeId add_function_attribute(const ExpressionContext& c, const ir::Value& value, Nodes operands) {
  const NodeId literal = operands[1];
  if (!c.tree.is(literal, ast::Kind::FunctionDef) && !c.tree.is(literal, ast::Kind::Lambda)) {
    return NodeId();
  }
  const bool are_strings = has_future_annotations(c.module(), c.function.code);
  return set_part(c.tree, literal, value.a, operands[0], are_strings) ? literal : NodeId();
}

NodeId make_hidden_call(ExpressionContext& c, const ir::Value& value, NodeId callee, Nodes args) {
  const std::string_view name = c.tree.text(c.tree.as<ast::FunctionDef>(callee).name);
  if (name.starts_with("<generic parameters of ")) {
    return with_type_parameters(c, callee, args);
  }
  if (is_comprehension_name(name) && args.size() == 1) {
    return make_comprehension(c, value, callee, args[0]);
  }
  return NodeId();
}

NodeId Expressions::definition(NodeId value, Symbol name) {
  ast::Tree& tree = context_.tree;
  std::vector<NodeId> decorators;
  NodeId at = value;
  while (tree.is(at, ast::Kind::Call)) {
    const auto call = tree.as<ast::Call>(at);
    if (tree.items(call.args).size() != 1 || !tree.items(call.keywords).empty()) return NodeId();
    decorators.push_back(call.func);
    at = tree.items(call.args)[0];
  }
  if (!is_literal(tree, at)) return NodeId();
  if (tree.is(at, ast::Kind::TypeAlias)) {
    const NodeId target = tree.as<ast::TypeAlias>(at).name;
    return decorators.empty() && tree.as<ast::Name>(target).id == name ? at : NodeId();
  }
  // A private name as a class mangles it: Scopes restores the short form.
  const std::string_view own = tree.text(Symbol(tree.slot(at, 0)));
  const std::string_view wanted = tree.text(name);
  const bool is_mangled = is_private(own) && wanted.starts_with('_') && wanted.ends_with(own) &&
                          wanted.size() > own.size() + 1;
  // 3.14 stores the annotations of a class under another name than the function's.
  const bool is_annotate = own == "__annotate__" && wanted == "__annotate_func__";
  // A function whose name no text can spell takes the name that it is bound to.
  const bool is_nameless = tree.module().names_given.of_code.contains(Symbol(tree.slot(at, 0)));
  if (own != wanted && !is_mangled && !is_annotate && !is_nameless) return NodeId();
  if (!decorators.empty()) {
    const ListId list = tree.list(decorators);
    if (tree.is(at, ast::Kind::FunctionDef)) {
      auto def = tree.as<ast::FunctionDef>(at);
      def.decorator_list = list;
      tree.set(at, def);
    } else {
      auto def = tree.as<ast::ClassDef>(at);
      def.decorator_list = list;
      tree.set(at, def);
    }
  }
  tree.set_slot(at, 0, name.value);
  return at;
}

bool is_literal(const ast::Tree& tree, NodeId node) {
  return tree.is(node, ast::Kind::FunctionDef) || tree.is(node, ast::Kind::ClassDef) ||
         tree.is(node, ast::Kind::TypeAlias);
}

Symbol literal_name(const ast::Tree& tree, NodeId literal) {
  if (tree.is(literal, ast::Kind::TypeAlias)) {
    return tree.as<ast::Name>(tree.as<ast::TypeAlias>(literal).name).id;
  }
  return Symbol(tree.slot(literal, 0));
}

namespace {

// Throws if a literal is the function of a comprehension: its parameter (`.0`) is no identifier,
// and its body fills a container that it does not name, so it cannot be a statement.
void refuse_comprehension(const ast::Tree& tree, NodeId literal) {
  if (!tree.is(literal, ast::Kind::FunctionDef)) return;
  const auto args = tree.as<ast::arguments>(tree.as<ast::FunctionDef>(literal).args);
  for (const ListId list : {args.posonlyargs, args.args}) {
    for (const NodeId arg : tree.items(list)) {
      if (!is_identifier(tree.text(tree.as<ast::arg>(arg).arg))) {
        throw NotStructured("a comprehension that is no expression", tree.where(literal).offset);
      }
    }
  }
}

}  // namespace

NodeId hoisted(ast::Tree& tree, NodeId literal, Symbol name) {
  refuse_comprehension(tree, literal);
  if (tree.is(literal, ast::Kind::TypeAlias)) {
    auto alias = tree.as<ast::TypeAlias>(literal);
    alias.name = tree.add(ast::Name{name}, tree.where(literal));
    tree.set(literal, alias);
  } else {
    tree.set_slot(literal, 0, name.value);
  }
  return literal;
}

}  // namespace pellucid::structure
