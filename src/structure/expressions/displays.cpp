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

NodeId starred(ast::Tree& tree, NodeId node) {
  return tree.add(ast::Starred{node}, tree.where(node));
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

}  // namespace

// Returns true if `value` loads a constant that compilers fold into the operation around it when it
// is written as a literal.
bool Expressions::is_plain_constant(const ir::Value& value, NodeId node) const {
  const Const* constant = constant_of(tree_, node);
  return constant && constant->kind != ConstKind::Opaque && constant->kind != ConstKind::Code &&
         is_op(value, Op::LoadConst);
}

// Returns the same constant as a computed value, which compilers do not fold: an f-string for a
// string (an empty one would be built from nothing), else a conditional expression with a constant
// test.
NodeId Expressions::computed(NodeId constant, ast::Where at) {
  const Const* value = constant_of(tree_, constant);
  if (value->kind == ConstKind::Str && !tree_.text(value->text).empty()) {
    return tree_.add(ast::JoinedStr{tree_.list({constant})}, at);
  }
  return chosen(tree_, constant, at);
}

// Returns the keys of a dict display. Compilers merge keys that are all constants into one; these
// were loaded one by one, so one of them is written as a computed value.
std::vector<NodeId> Expressions::keys_apart(const ir::Value& value, Nodes operands) {
  std::vector<NodeId> keys;
  size_t text = 0, constants = 0;
  for (size_t i = 0; i + 1 < operands.size(); i += 2) {
    keys.push_back(operands[i]);
    if (!is_plain_constant(operand(value, i), operands[i])) continue;
    const bool is_text = constant_of(tree_, operands[i])->kind == ConstKind::Str;
    if (is_text && text == 0) text = keys.size();
    ++constants;
  }
  if (!function_.folds.keys || function_.is_generated) return keys;
  if (keys.size() < 2 || constants < keys.size()) return keys;
  NodeId& key = keys[text == 0 ? 0 : text - 1];
  key = computed(key, where(value));
  return keys;
}

// Returns the elements of a display. Compilers make one constant of a display of constants; this
// one was built at run time, so one element was computed, as `1 or 2` is, and is written that way.
std::vector<NodeId> Expressions::keep_apart(const ir::Value& value, Nodes operands) {
  std::vector<NodeId> nodes(operands.begin(), operands.end());
  const bool is_tuple = is_op(value, Op::BuildTuple);
  if (nodes.size() < (is_tuple ? 1 : kFoldedConstants) || function_.is_generated) return nodes;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!is_plain_constant(operand(value, i), nodes[i])) return nodes;
  }
  // A display that is extended later is built up to the star.
  if (!is_tuple && (!function_.folds.displays || is_extended(value))) return nodes;
  nodes[0] = chosen(tree_, nodes[0], where(value));
  return nodes;
}

// Returns true if anything is added to the container that `value` makes.
bool Expressions::is_extended(const ir::Value& value) const {
  return std::any_of(function_.values.begin(), function_.values.end(), [&](const ir::Value& other) {
    const bool extends = is_op(other, Op::ListExtend, Op::ListAppend, Op::SetUpdate, Op::SetAdd);
    return extends && operand(other, 0).first == value.first;
  });
}

NodeId Expressions::display(const ir::Value& value, Nodes operands) {
  const ast::Where at = where(value);
  switch (value.op) {
    case Op::BuildTuple:
      return tree_.add(ast::Tuple{tree_.list(keep_apart(value, operands))}, at);
    case Op::BuildList:
      return tree_.add(ast::List{tree_.list(keep_apart(value, operands))}, at);
    case Op::BuildSet:
      return tree_.add(ast::Set{tree_.list(keep_apart(value, operands))}, at);
    case Op::BuildMap: {
      const NodeId dict = tree_.add(ast::Dict{}, at);
      const std::vector<NodeId> keys = keys_apart(value, operands);
      for (size_t i = 0; i < keys.size(); ++i) {
        append_pair(tree_, dict, keys[i], operands[2 * i + 1]);
      }
      return dict;
    }
    default:
      break;
  }
  // BuildConstKeyMap
  const Const* keys = constant_of(tree_, operands.back());
  if (!keys || keys->items.size() + 1 != operands.size()) return NodeId();
  const std::vector<NodeId> key_nodes = constant_elements(tree_, operands.back());
  return tree_.add(ast::Dict{tree_.list(key_nodes), tree_.list(operands.first(key_nodes.size()))},
                   at);
}

// Returns an expression for extending a container that is no display (made by Dynamo): the method
// call, which returns None, then the container itself.
NodeId Expressions::updated(const ir::Value& value, Nodes operands) {
  const ast::Where at = where(value);
  const std::string_view method = value.op == Op::ListAppend   ? "append"
                                  : value.op == Op::ListExtend ? "extend"
                                  : value.op == Op::SetAdd     ? "add"
                                  : value.op == Op::MapAdd     ? "__setitem__"
                                                               : "update";
  NodeId container = operands[0];
  Symbol name;
  if (tree_.is(container, ast::Kind::Name)) {
    name = tree_.as<ast::Name>(container).id;
  } else {
    std::string fresh = "container_" + std::to_string(value.offset);
    while (module().strings.find(fresh).valid()) fresh += "_";
    name = tree_.intern(fresh);
    container = tree_.add(ast::NamedExpr{tree_.add(ast::Name{name}, at), container}, at);
  }
  const NodeId function = tree_.add(ast::Attribute{container, tree_.intern(method)}, at);
  const NodeId call = tree_.add(ast::Call{function, tree_.list(operands.subspan(1)), {}}, at);
  // 3.14 records the annotations that were executed in a set, whose value is unused.
  if (tree_.text(name) == "__conditional_annotations__") return call;
  const auto op = static_cast<uint32_t>(ast::BoolOperator::Or);
  return tree_.add(ast::BoolOp{op, tree_.list({call, tree_.add(ast::Name{name}, at)})}, at);
}

// Returns the container with one more part. It must be a display: no other expression of Python
// extends a container and evaluates to it.
NodeId Expressions::extended(const ir::Value& value, Nodes operands) {
  const NodeId display = operands[0];
  if (value.op == Op::ListToTuple) {
    if (tree_.is(display, ast::Kind::List)) {
      tree_.set(display, ast::Tuple{elements_id(tree_, display)});
      return display;
    }
    return tree_.add(ast::Tuple{tree_.list({starred(tree_, display)})}, where(value));
  }
  if (value.a != 1 && value.op != Op::DictMerge) return NodeId();
  const ast::Kind wanted = value.op == Op::ListAppend || value.op == Op::ListExtend
                               ? ast::Kind::List
                           : value.op == Op::SetAdd || value.op == Op::SetUpdate ? ast::Kind::Set
                                                                                 : ast::Kind::Dict;
  if (!tree_.is(display, wanted)) return updated(value, operands);
  const ir::Value& container = operand(value, 0);

  if (wanted == ast::Kind::Dict) {
    if (value.op == Op::MapAdd) {
      append_pair(tree_, display, operands[1], operands[2]);
    } else if (continues_dict(function_, tree_, container, display, operand(value, 1),
                              operands[1]) &&
               (value.op != Op::DictMerge || has_names_for_keys(tree_, operands[1]))) {
      append_pairs(tree_, display, operands[1]);
    } else {
      append_pair(tree_, display, NodeId(), operands[1]);
    }
    return display;
  }

  // `[*(1, 2, 3), x]`: the first step was read as `[1, 2, 3]`; undo that.
  const bool was_folded =
      (is_op(container, Op::ListExtend, Op::SetUpdate)) &&
      is_op(operand(container, 1), Op::LoadConst) && operand(container, 0).count == 0 &&
      !tree_.items(elements_id(tree_, display)).empty() &&
      !tree_.is(tree_.items(elements_id(tree_, display))[0], ast::Kind::Starred);
  if (was_folded) {
    const NodeId constant =
        tree_.add(ast::Constant{operand(container, 1).constant()}, tree_.where(display));
    const Const* folded = constant_of(tree_, constant);
    // A frozenset has no literal, so its elements stay.
    if (folded->kind == ConstKind::Tuple) {
      set_elements(tree_, display, tree_.list({starred(tree_, constant)}));
    }
  }
  if (value.op == Op::ListAppend || value.op == Op::SetAdd) {
    append(tree_, display, operands[1]);
    return display;
  }
  const Const* added = constant_of(tree_, operands[1]);
  const bool is_empty = tree_.items(elements_id(tree_, display)).empty();
  if (added && is_sequence(added->kind) && is_empty &&
      (added->items.size() >= kFoldedConstants || added->kind == ConstKind::FrozenSet)) {
    std::vector<NodeId> elements = constant_elements(tree_, operands[1]);
    // With fewer constants the compiler would not have folded: some were written more than once.
    while (added->kind == ConstKind::FrozenSet && !elements.empty() &&
           elements.size() < kFoldedConstants) {
      elements.push_back(constant_elements(tree_, operands[1]).back());
    }
    set_elements(tree_, display, tree_.list(elements));
    return display;
  }
  append(tree_, display, starred(tree_, as_iterable(tree_, operands[1])));
  return display;
}

// BUILD_*_UNPACK of 3.8. A part that was built in place as a tuple, set or dict was written as
// plain elements, unless the part before it was one too or no star would be left.
NodeId Expressions::unpack_38(const ir::Value& value, Nodes operands) {
  const bool is_map = value.op == Op::BuildMapUnpack || value.op == Op::BuildMapUnpackWithCall;
  const bool is_set = value.op == Op::BuildSetUnpack;
  std::vector<bool> is_plain(operands.size());
  bool has_star = false;
  for (size_t i = 0; i < operands.size(); ++i) {
    const ir::Value& part = operand(value, i);
    const Const* constant = constant_of(tree_, operands[i]);
    bool plain = false;
    if (is_map) {
      // Keywords of a call are names; a display with other keys was written as `**{...}`.
      plain = tree_.is(operands[i], ast::Kind::Dict) && plain_pairs(function_, part) > 0 &&
              (value.op != Op::BuildMapUnpackWithCall || has_names_for_keys(tree_, operands[i]));
    } else if (constant) {
      plain = constant->kind == ConstKind::Tuple && !constant->items.empty() && !is_set;
    } else {
      plain = part.count > 0 &&
              (is_op(part, Op::BuildSet) ? is_set : is_op(part, Op::BuildTuple) && !is_set) &&
              (tree_.is(operands[i], ast::Kind::Tuple) || tree_.is(operands[i], ast::Kind::Set));
    }
    is_plain[i] = plain && (i == 0 || !is_plain[i - 1]);
    has_star |= !is_plain[i];
  }
  if (!has_star) is_plain.assign(operands.size(), false);

  const ast::Where at = where(value);
  if (is_map) {
    const NodeId dict = tree_.add(ast::Dict{}, at);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (is_plain[i]) {
        append_pairs(tree_, dict, operands[i]);
      } else {
        append_pair(tree_, dict, NodeId(), operands[i]);
      }
    }
    return dict;
  }
  std::vector<NodeId> elements;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!is_plain[i]) {
      elements.push_back(starred(tree_, operands[i]));
    } else if (constant_of(tree_, operands[i])) {
      const std::vector<NodeId> items = constant_elements(tree_, operands[i]);
      elements.insert(elements.end(), items.begin(), items.end());
    } else {
      const auto items = tree_.items(elements_id(tree_, operands[i]));
      elements.insert(elements.end(), items.begin(), items.end());
    }
  }
  const ListId list = tree_.list(elements);
  if (value.op == Op::BuildListUnpack) return tree_.add(ast::List{list}, at);
  if (is_set) return tree_.add(ast::Set{list}, at);
  return tree_.add(ast::Tuple{list}, at);
}

}  // namespace pellucid::structure
