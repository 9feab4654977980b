// SPDX-License-Identifier: Apache-2.0
// Displays: tuples, lists, sets and dicts, built at once, element by element, or from parts.
//
// From 3.9 on, a display with a star is a container that grows: BUILD_LIST, then LIST_APPEND and
// LIST_EXTEND, and LIST_TO_TUPLE for a tuple or the arguments of a call. 3.8 builds the parts as
// tuples and joins them with BUILD_*_UNPACK. A part is read as `*x` or as plain elements such that
// the same compiler makes the same parts again.
#include <algorithm>
#include <string>

#include "ast/nodes.h"
#include "structure/expressions/expressions.h"
#include "structure/expressions/operations.h"

namespace pellucid::structure {

using ast::ListId;
using ast::NodeId;
using bytecode::Op;
using object::Const;
using object::ConstId;
using object::ConstKind;

namespace {

// A list or set display of at least this many constants is compiled as an empty container extended
// by one constant.
constexpr size_t kFoldedConstants = 3;
// 3.10+ builds a dict display in chunks of this many pairs.
constexpr size_t kDictChunk = 17;

bool is_sequence(ConstKind kind) {
  return kind == ConstKind::Tuple || kind == ConstKind::FrozenSet;
}

// Returns the elements of a constant tuple or frozenset, each as a node.
std::vector<NodeId> constant_elements(ast::Tree& tree, NodeId node) {
  const std::vector<ConstId> items = constant_of(tree, node)->items;
  std::vector<NodeId> nodes;
  for (const ConstId item : items) nodes.push_back(tree.add(ast::Constant{item}, tree.where(node)));
  return nodes;
}

// List, Set and Tuple share one field at the same place.
ListId elements_id(const ast::Tree& tree, NodeId node) { return ListId(tree.slot(node, 0)); }
void set_elements(ast::Tree& tree, NodeId node, ListId list) { tree.set_slot(node, 0, list.value); }

void append(ast::Tree& tree, NodeId display, NodeId element) {
  set_elements(tree, display, tree.append(elements_id(tree, display), element));
}

void append_pair(ast::Tree& tree, NodeId dict, NodeId key, NodeId value) {
  auto node = tree.as<ast::Dict>(dict);
  node.keys = tree.append(node.keys, key);
  node.values = tree.append(node.values, value);
  tree.set(dict, node);
}

void append_pairs(ast::Tree& tree, NodeId dict, NodeId part) {
  const auto from = tree.as<ast::Dict>(part);
  const size_t count = tree.items(from.keys).size();
  for (size_t i = 0; i < count; ++i) {
    append_pair(tree, dict, tree.items(from.keys)[i], tree.items(from.values)[i]);
  }
}

bool ends_with_star(const ast::Tree& tree, NodeId dict) {
  const auto keys = tree.items(tree.as<ast::Dict>(dict).keys);
  return !keys.empty() && !keys.back().valid();
}

// Returns the number of pairs in a dict display that was built without any `**`; 0 if it is no such
// display.
size_t plain_pairs(const ir::Function& function, const ir::Value& value) {
  const ir::Value* at = &value;
  size_t count = 0;
  while (is_op(*at, Op::MapAdd)) {
    ++count;
    at = &function[function.operands(*at)[0]];
  }
  if (at->kind != ir::ValueKind::Instr) return 0;
  if (at->op == Op::BuildMap) return count + at->a;
  if (at->op == Op::BuildConstKeyMap) return count + at->a;
  return 0;
}

// Returns true if `part`, added to the dict `container`, was written as pairs of the same display:
// if the part before it had to end there, because of a `**` or of its length.
bool continues_dict(const ir::Function& function, const ast::Tree& tree, const ir::Value& container,
                    NodeId container_node, const ir::Value& part, NodeId part_node) {
  if (!tree.is(part_node, ast::Kind::Dict) || plain_pairs(function, part) == 0) return false;
  if (ends_with_star(tree, container_node)) return true;
  const bool is_joined = is_op(container, Op::DictUpdate);
  const ir::Value& before = is_joined ? function[function.operands(container)[1]] : container;
  return plain_pairs(function, before) == kDictChunk;
}

// Returns true if every key of a dict can be the name of a keyword argument.
bool has_names_for_keys(const ast::Tree& tree, NodeId dict) {
  const auto keys = tree.items(tree.as<ast::Dict>(dict).keys);
  return std::all_of(keys.begin(), keys.end(), [&](NodeId key) {
    const Const* constant = key.valid() ? constant_of(tree, key) : nullptr;
    return constant && constant->kind == ConstKind::Str && is_identifier(tree.text(constant->text));
  });
}

// Returns `c if True else c`.
NodeId chosen(ast::Tree& tree, NodeId constant, ast::Where at) {
  Const always;
  always.kind = ConstKind::True;
  const NodeId test = tree.add(ast::Constant{tree.module().add(always)}, at);
  const NodeId same = tree.add(tree.as<ast::Constant>(constant), at);
  return tree.add(ast::IfExp{test, constant, same}, at);
}

// Returns the keys of a dict display. Compilers merge keys that are all constants into one; these
// were loaded one by one, so one of them is written as a computed value.
std::vector<NodeId> keys_apart(const ExpressionContext& c, const ir::Value& value, Nodes operands) {
  std::vector<NodeId> keys;
  size_t text = 0, constants = 0;
  for (size_t i = 0; i + 1 < operands.size(); i += 2) {
    keys.push_back(operands[i]);
    if (!is_plain_constant(c.tree, c.operand(value, i), operands[i])) continue;
    const bool is_text = constant_of(c.tree, operands[i])->kind == ConstKind::Str;
    if (is_text && text == 0) text = keys.size();
    ++constants;
  }
  if (!c.function.folds.keys || c.function.is_generated) return keys;
  if (keys.size() < 2 || constants < keys.size()) return keys;
  NodeId& key = keys[text == 0 ? 0 : text - 1];
  key = computed(c.tree, key, c.where(value));
  return keys;
}

// Returns true if anything is added to the container that `value` makes.
bool is_extended(const ExpressionContext& c, const ir::Value& value) {
  return std::any_of(c.function.values.begin(), c.function.values.end(),
                     [&](const ir::Value& other) {
                       const bool extends =
                           is_op(other, Op::ListExtend, Op::ListAppend, Op::SetUpdate, Op::SetAdd);
                       return extends && c.operand(other, 0).first == value.first;
                     });
}

// Returns the elements of a display. Compilers make one constant of a display of constants; this
// one was built at run time, so one element was computed, as `1 or 2` is, and is written that way.
std::vector<NodeId> keep_apart(const ExpressionContext& c, const ir::Value& value, Nodes operands) {
  std::vector<NodeId> nodes(operands.begin(), operands.end());
  const bool is_tuple = is_op(value, Op::BuildTuple);
  if (nodes.size() < (is_tuple ? 1 : kFoldedConstants) || c.function.is_generated) return nodes;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!is_plain_constant(c.tree, c.operand(value, i), nodes[i])) return nodes;
  }
  constexpr size_t kLong = 30;  // _PY_STACK_USE_GUIDELINE in CPython
  if (is_tuple && !c.function.folds.long_tuples && nodes.size() > kLong) return nodes;
  // A display that is extended later is built up to the star.
  if (!is_tuple && (!c.function.folds.displays || is_extended(c, value))) return nodes;
  nodes[0] = chosen(c.tree, nodes[0], c.where(value));
  return nodes;
}

// Returns an expression for extending a container that is no display (made by Dynamo): the method
// call, which returns None, then the container itself.
NodeId updated(const ExpressionContext& c, const ir::Value& value, Nodes operands) {
  const ast::Where at = c.where(value);
  NodeId container = operands[0];
  Symbol name;
  if (c.tree.is(container, ast::Kind::Name)) {
    name = c.tree.as<ast::Name>(container).id;
  } else {
    std::string fresh = "container_" + std::to_string(value.offset);
    while (c.module().strings.find(fresh).valid()) fresh += "_";
    name = c.tree.intern(fresh);
    container = c.tree.add(ast::NamedExpr{c.tree.add(ast::Name{name}, at), container}, at);
  }
  const Symbol method = c.tree.intern(method_of(value.op));
  const NodeId function = c.tree.add(ast::Attribute{container, method}, at);
  const NodeId call = c.tree.add(ast::Call{function, c.tree.list(operands.subspan(1)), {}}, at);
  // 3.14 records the annotations that were executed in a set, whose value is unused.
  if (c.tree.text(name) == "__conditional_annotations__") return call;
  const auto op = static_cast<uint32_t>(ast::BoolOperator::Or);
  return c.tree.add(ast::BoolOp{op, c.tree.list({call, c.tree.add(ast::Name{name}, at)})}, at);
}

}  // namespace

std::string_view method_of(Op op) {
  return op == Op::ListAppend   ? "append"
         : op == Op::ListExtend ? "extend"
         : op == Op::SetAdd     ? "add"
         : op == Op::MapAdd     ? "__setitem__"
                                : "update";
}

NodeId starred(ast::Tree& tree, NodeId node) {
  return tree.add(ast::Starred{node}, tree.where(node));
}

bool is_plain_constant(const ast::Tree& tree, const ir::Value& value, NodeId node) {
  const Const* constant = constant_of(tree, node);
  return constant && constant->kind != ConstKind::Opaque && constant->kind != ConstKind::Code &&
         is_op(value, Op::LoadConst);
}

NodeId computed(ast::Tree& tree, NodeId constant, ast::Where at) {
  const Const* value = constant_of(tree, constant);
  if (value->kind == ConstKind::Str && !tree.text(value->text).empty()) {
    return tree.add(ast::JoinedStr{tree.list({constant})}, at);
  }
  return chosen(tree, constant, at);
}

NodeId make_display(const ExpressionContext& c, const ir::Value& value, Nodes operands) {
  const ast::Where at = c.where(value);
  switch (value.op) {
    case Op::BuildTuple:
      return c.tree.add(ast::Tuple{c.tree.list(keep_apart(c, value, operands))}, at);
    case Op::BuildList:
      return c.tree.add(ast::List{c.tree.list(keep_apart(c, value, operands))}, at);
    case Op::BuildSet:
      return c.tree.add(ast::Set{c.tree.list(keep_apart(c, value, operands))}, at);
    case Op::BuildMap: {
      const NodeId dict = c.tree.add(ast::Dict{}, at);
      const std::vector<NodeId> keys = keys_apart(c, value, operands);
      for (size_t i = 0; i < keys.size(); ++i) {
        append_pair(c.tree, dict, keys[i], operands[2 * i + 1]);
      }
      return dict;
    }
    default:
      break;
  }
  // BuildConstKeyMap
  const Const* keys = constant_of(c.tree, operands.back());
  if (!keys || keys->items.size() + 1 != operands.size()) return NodeId();
  const std::vector<NodeId> key_nodes = constant_elements(c.tree, operands.back());
  return c.tree.add(
      ast::Dict{c.tree.list(key_nodes), c.tree.list(operands.first(key_nodes.size()))}, at);
}

NodeId make_extended(const ExpressionContext& c, const ir::Value& value, Nodes operands) {
  const NodeId display = operands[0];
  if (value.op == Op::ListToTuple) {
    if (c.tree.is(display, ast::Kind::List)) {
      c.tree.set(display, ast::Tuple{elements_id(c.tree, display)});
      return display;
    }
    return c.tree.add(ast::Tuple{c.tree.list({starred(c.tree, display)})}, c.where(value));
  }
  if (value.a != 1 && value.op != Op::DictMerge) return NodeId();
  const ast::Kind wanted = value.op == Op::ListAppend || value.op == Op::ListExtend
                               ? ast::Kind::List
                           : value.op == Op::SetAdd || value.op == Op::SetUpdate ? ast::Kind::Set
                                                                                 : ast::Kind::Dict;
  if (!c.tree.is(display, wanted)) return updated(c, value, operands);
  const ir::Value& container = c.operand(value, 0);

  if (wanted == ast::Kind::Dict) {
    if (value.op == Op::MapAdd) {
      append_pair(c.tree, display, operands[1], operands[2]);
    } else if (continues_dict(c.function, c.tree, container, display, c.operand(value, 1),
                              operands[1]) &&
               (value.op != Op::DictMerge || has_names_for_keys(c.tree, operands[1]))) {
      append_pairs(c.tree, display, operands[1]);
    } else {
      append_pair(c.tree, display, NodeId(), operands[1]);
    }
    return display;
  }

  // `[*(1, 2, 3), x]`: the first step was read as `[1, 2, 3]`; undo that, unless the compiler makes
  // the same of `[1, 2, 3, x]` (3.14+).
  const bool was_folded =
      !c.function.folds.literals && (is_op(container, Op::ListExtend, Op::SetUpdate)) &&
      is_op(c.operand(container, 1), Op::LoadConst) && c.operand(container, 0).count == 0 &&
      !c.tree.items(elements_id(c.tree, display)).empty() &&
      !c.tree.is(c.tree.items(elements_id(c.tree, display))[0], ast::Kind::Starred);
  if (was_folded) {
    const NodeId constant =
        c.tree.add(ast::Constant{c.operand(container, 1).constant()}, c.tree.where(display));
    const Const* folded = constant_of(c.tree, constant);
    // A frozenset has no literal, so its elements stay.
    if (folded->kind == ConstKind::Tuple) {
      set_elements(c.tree, display, c.tree.list({starred(c.tree, constant)}));
    }
  }
  if (value.op == Op::ListAppend || value.op == Op::SetAdd) {
    append(c.tree, display, operands[1]);
    return display;
  }
  const Const* added = constant_of(c.tree, operands[1]);
  const bool is_empty = c.tree.items(elements_id(c.tree, display)).empty();
  if (added && is_sequence(added->kind) && is_empty &&
      (added->items.size() >= kFoldedConstants || added->kind == ConstKind::FrozenSet)) {
    std::vector<NodeId> elements = constant_elements(c.tree, operands[1]);
    // With fewer constants the compiler would not have folded: some were written more than once.
    while (added->kind == ConstKind::FrozenSet && !elements.empty() &&
           elements.size() < kFoldedConstants) {
      elements.push_back(constant_elements(c.tree, operands[1]).back());
    }
    set_elements(c.tree, display, c.tree.list(elements));
    return display;
  }
  append(c.tree, display, starred(c.tree, as_iterable(c.tree, operands[1])));
  return display;
}

NodeId make_unpacked(const ExpressionContext& c, const ir::Value& value, Nodes operands) {
  const bool is_map = value.op == Op::BuildMapUnpack || value.op == Op::BuildMapUnpackWithCall;
  const bool is_set = value.op == Op::BuildSetUnpack;
  std::vector<bool> is_plain(operands.size());
  bool has_star = false;
  for (size_t i = 0; i < operands.size(); ++i) {
    const ir::Value& part = c.operand(value, i);
    const Const* constant = constant_of(c.tree, operands[i]);
    bool plain = false;
    if (is_map) {
      // Keywords of a call are names; a display with other keys was written as `**{...}`.
      plain = c.tree.is(operands[i], ast::Kind::Dict) && plain_pairs(c.function, part) > 0 &&
              (value.op != Op::BuildMapUnpackWithCall || has_names_for_keys(c.tree, operands[i]));
    } else if (constant) {
      plain = constant->kind == ConstKind::Tuple && !constant->items.empty() && !is_set;
    } else {
      plain = part.count > 0 &&
              (is_op(part, Op::BuildSet) ? is_set : is_op(part, Op::BuildTuple) && !is_set) &&
              (c.tree.is(operands[i], ast::Kind::Tuple) || c.tree.is(operands[i], ast::Kind::Set));
    }
    is_plain[i] = plain && (i == 0 || !is_plain[i - 1]);
    has_star |= !is_plain[i];
  }
  if (!has_star) is_plain.assign(operands.size(), false);

  const ast::Where at = c.where(value);
  if (is_map) {
    const NodeId dict = c.tree.add(ast::Dict{}, at);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (is_plain[i]) {
        append_pairs(c.tree, dict, operands[i]);
      } else {
        append_pair(c.tree, dict, NodeId(), operands[i]);
      }
    }
    return dict;
  }
  std::vector<NodeId> elements;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!is_plain[i]) {
      elements.push_back(starred(c.tree, operands[i]));
    } else if (constant_of(c.tree, operands[i])) {
      const std::vector<NodeId> items = constant_elements(c.tree, operands[i]);
      elements.insert(elements.end(), items.begin(), items.end());
    } else {
      const auto items = c.tree.items(elements_id(c.tree, operands[i]));
      elements.insert(elements.end(), items.begin(), items.end());
    }
  }
  const ListId list = c.tree.list(elements);
  if (value.op == Op::BuildListUnpack) return c.tree.add(ast::List{list}, at);
  if (is_set) return c.tree.add(ast::Set{list}, at);
  return c.tree.add(ast::Tuple{list}, at);
}

}  // namespace pellucid::structure
