// SPDX-License-Identifier: Apache-2.0
// One item after the other, each value under a name: makes no assumptions about compilers.
#include <algorithm>

#include "fallback/state_machine.h"
#include "structure/expressions/function_parts.h"
#include "structure/graph/not_structured.h"

namespace pellucid::fallback {

using ast::Kind;
using ast::NodeId;

void Machine::plain(BlockId id, Statements& code) {
  const std::vector<ValueId> all = graph_[id].items;
  // Results of the neat form for this block are no longer valid.
  for (const ValueId item : all) {
    context_.materialized.erase(item);
    const auto elements = elements_.find(item);
    if (elements == elements_.end()) continue;
    for (const ValueId element : elements->second) context_.materialized.erase(element);
  }
  remake_functions(id, code, false);
  for (size_t i = 0; i < all.size();) {
    const bool is_function = is_op(graph_[all[i]], Op::MakeFunction);
    // A comprehension makes its iterator itself.
    if (is_op(graph_[all[i]], Op::GetIter, Op::GetAiter) && is_iterated_by_comprehension(all, i)) {
      ++i;
      continue;
    }
    if (is_special(all, i) && !is_function) {
      i = special(id, i, code);
      continue;
    }
    const ast::Where before = make_.at;
    make_.at = {graph_[all[i]].line, graph_[all[i]].offset};
    plain_item(all[i++], code);
    make_.at = before;
  }
}

// Returns the expression of an operand: a constant, or a name.
NodeId Machine::operand(ValueId id) {
  id = graph_.resolve(id);
  const auto known = context_.materialized.find(id);
  if (known != context_.materialized.end()) return make_.name(known->second);
  if (is_made_for_a_call(graph_, tree_.module(), id) && !needs_definition(id)) {
    return made_for_a_call(id);
  }
  if (is_op(graph_[id], Op::GetIter, Op::GetAiter)) return operand(operands(id)[0]);
  const ir::Value value = graph_[id];
  const NodeId node =
      value.kind == ValueKind::Instr && value.count == 0 ? expressions_.make(value, {}) : NodeId();
  if (!node.valid()) throw NotStructured("a value that no name holds", value.offset);
  return node;
}

Machine::Nodes Machine::operand_nodes(ValueId id) {
  Nodes nodes;
  for (const ValueId each : std::vector<ValueId>(operands(id).begin(), operands(id).end())) {
    nodes.push_back(operand(each));
  }
  return nodes;
}

void Machine::plain_item(ValueId id, Statements& code) {
  const ir::Value value = graph_[id];
  const auto target = [&] { return make_.name(value.symbol()); };
  switch (value.op) {
    case Op::LoadConst:
    case Op::LoadClosure:
    case Op::LoadBuildClass:
    case Op::LoadAssertionError:
    case Op::LoadCommonConstant:
    case Op::SetupAnnotations:
    case Op::PopExcept:
    case Op::Marker:
    case Op::Pop:
      return;  // written at its use, or without effect
    case Op::StoreFast:
    case Op::StoreName:
    case Op::StoreGlobal:
    case Op::StoreDeref:
      return code.append(make_.assign(target(), operand(operands(id)[0])));
    case Op::StoreAttr: {
      const Nodes nodes = operand_nodes(id);
      const NodeId place = tree_.add(ast::Attribute{nodes[1], value.symbol()}, make_.at);
      return code.append(make_.assign(place, nodes[0]));
    }
    case Op::StoreSubscr: {
      const Nodes nodes = operand_nodes(id);
      const NodeId place = tree_.add(ast::Subscript{nodes[1], nodes[2]}, make_.at);
      return code.append(make_.assign(place, nodes[0]));
    }
    case Op::DeleteFast:
    case Op::DeleteName:
    case Op::DeleteGlobal:
    case Op::DeleteDeref:
      return code.append(tree_.add(ast::Delete{tree_.list({target()})}, make_.at));
    case Op::DeleteAttr: {
      const NodeId place =
          tree_.add(ast::Attribute{operand(operands(id)[0]), value.symbol()}, make_.at);
      return code.append(tree_.add(ast::Delete{tree_.list({place})}, make_.at));
    }
    case Op::DeleteSubscr: {
      const Nodes nodes = operand_nodes(id);
      const NodeId place = tree_.add(ast::Subscript{nodes[0], nodes[1]}, make_.at);
      return code.append(tree_.add(ast::Delete{tree_.list({place})}, make_.at));
    }
    case Op::PrintExpr:
      return code.append(make_.expression(operand(operands(id)[0])));
    case Op::UnpackSequence:
    case Op::UnpackEx: {
      const uint32_t count = value.op == Op::UnpackEx ? value.a + 1 + value.b : value.a;
      Nodes targets;
      std::vector<Symbol> names;
      for (uint32_t i = 0; i < count; ++i) {
        names.push_back(context_.fresh_name("temp"));
        NodeId each = make_.name(names.back());
        if (value.op == Op::UnpackEx && i == value.a) {
          each = tree_.add(ast::Starred{each}, make_.at);
        }
        targets.push_back(each);
      }
      const auto elements = elements_.find(id);
      if (elements != elements_.end()) {
        for (const ValueId element : elements->second) {
          context_.materialized[element] = names[graph_[element].a];
        }
      }
      return code.append(make_.assign(make_.tuple(targets), operand(operands(id)[0])));
    }
    case Op::ImportStar:
    case Op::ImportName:
    case Op::ImportFrom:
      return plain_import(id, code);
    case Op::MakeFunction: {
      // Made where it is called.
      if (is_made_for_a_call(graph_, tree_.module(), id) && !needs_definition(id)) return;
      context_.materialized[id] = plain_function(id, code);
      return;
    }
    case Op::BuildTuple: {
      // The cells of a closure, which may be empty yet.
      const auto cells = operands(id);
      if (!cells.empty() && std::all_of(cells.begin(), cells.end(), [&](ValueId cell) {
            return is_op(graph_[cell], Op::LoadClosure);
          })) {
        return;
      }
      break;
    }
    case Op::SetFunctionAttribute: {
      if (value.a == bytecode::kClosure) {
        if (is_made_for_a_call(graph_, tree_.module(), id) && !needs_definition(id)) return;
        context_.materialized[id] = name_of_function(operand(operands(id)[1]));
        return;
      }
      const Nodes nodes = operand_nodes(id);
      context_.materialized[id] = name_of_function(nodes[1]);
      set_attribute(nodes[1], value.a, nodes[0], code);
      return;
    }
    case Op::ListAppend:
    case Op::SetAdd:
    case Op::MapAdd:
    case Op::ListExtend:
    case Op::SetUpdate:
    case Op::DictUpdate:
    case Op::DictMerge:
      return plain_update(id, code);
    default:
      break;
  }
  NodeId node;
  if (value.op == Op::YieldFrom || value.op == Op::GetAwaitable ||
      value.op == Op::GetYieldFromIter) {
    // `await` consists of two instructions.
    if (value.op != Op::YieldFrom) {
      waiting_ = operand(operands(id)[0]);
      return;
    }
    const bool awaits = is_op(graph_[operands(id)[0]], Op::GetAwaitable);
    const bool both = awaits || is_op(graph_[operands(id)[0]], Op::GetYieldFromIter);
    const NodeId object = both ? waiting_ : operand(operands(id)[0]);
    node = awaits ? tree_.add(ast::Await{object}, make_.at)
                  : tree_.add(ast::YieldFrom{object}, make_.at);
  } else {
    node = expressions_.make(value, operand_nodes(id));
  }
  if (!node.valid()) {
    throw NotStructured("no expression for " + std::string(bytecode::name_of(value.op)),
                        value.offset);
  }
  if (ast::category_of(tree_.kind(node)) == ast::Category::TypeParam) {
    throw NotStructured("a type parameter that its statement lacks", value.offset);
  }
  if (is_literal(tree_, node)) {
    // A class, or a definition with type parameters applied.
    const Symbol name = context_.name_of_definition(node);
    hide_if_body(name);
    code.append(hoisted(tree_, node, name));
    context_.materialized[id] = name;
    return;
  }
  const Symbol name = context_.fresh_name("temp");
  code.append(make_.assign(name, node));
  context_.materialized[id] = name;
}

// Returns the name of the function that an attribute is set on.
Symbol Machine::name_of_function(NodeId function) const {
  if (tree_.is(function, Kind::Name)) return tree_.as<ast::Name>(function).id;
  throw NotStructured("an attribute of what is no function", tree_.where(function).offset);
}

// A container and its updated value are one object with two names.
void Machine::plain_update(ValueId id, Statements& code) {
  const ir::Value value = graph_[id];
  Nodes nodes = operand_nodes(id);
  if (!tree_.is(nodes[0], Kind::Name)) {
    throw NotStructured("a container that no name holds", value.offset);
  }
  const Symbol container = tree_.as<ast::Name>(nodes[0]).id;
  if (value.op == Op::DictMerge) {
    // Keys must be new, and strings: a call checks that.
    const NodeId first = tree_.add(ast::keyword{Symbol(), nodes[0]}, make_.at);
    const NodeId second = tree_.add(ast::keyword{Symbol(), nodes[1]}, make_.at);
    const NodeId merged =
        tree_.add(ast::Call{make_.builtin("dict"), {}, tree_.list({first, second})}, make_.at);
    code.append(make_.assign(container, merged));
  } else {
    const char* method = value.op == Op::ListAppend   ? "append"
                         : value.op == Op::ListExtend ? "extend"
                         : value.op == Op::SetAdd     ? "add"
                         : value.op == Op::MapAdd     ? "__setitem__"
                                                      : "update";
    const NodeId callee = make_.attribute(nodes[0], method);
    nodes.erase(nodes.begin());
    code.append(make_.expression(make_.call(callee, nodes)));
  }
  context_.materialized[id] = container;
}

void Machine::plain_import(ValueId id, Statements& code) {
  const ir::Value value = graph_[id];
  const Nodes nodes = operand_nodes(id);
  const Symbol name = context_.fresh_name("module");
  if (value.op == Op::ImportName) {
    const NodeId scope = make_.call(make_.builtin("globals"), {});
    const NodeId call = make_.call(
        make_.builtin("__import__"),
        {make_.text(tree_.text(value.symbol())), scope, make_.none(), nodes[1], nodes[0]});
    code.append(make_.assign(name, call));
    context_.materialized[id] = name;
    return;
  }
  if (value.op == Op::ImportStar) {
    throw NotStructured("an import of unknown form", value.offset);
  }
  const std::string member(tree_.text(value.symbol()));
  const NodeId found = make_.attribute(nodes[0], member);
  const NodeId message = make_.text("cannot import name '" + member + "'");
  const NodeId error = make_.call(make_.builtin("ImportError"), {message});
  code.append(make_.try_except(
      {make_.assign(name, found)},
      {make_.handler(make_.builtin("AttributeError"), Symbol(), {make_.raise(error)})}));
  context_.materialized[id] = name;
}

// Makes the function of a code object; its defaults and other attributes are set one by one.
Symbol Machine::plain_function(ValueId id, Statements& code) {
  const ir::Value value = graph_[id];
  const std::vector<ValueId> all(operands(id).begin(), operands(id).end());
  const size_t code_at = all.size() - (value.b == 1 ? 2 : 1);
  ir::Value bare = value;
  bare.a = 0;
  bare.first += static_cast<uint32_t>(code_at);
  bare.count -= static_cast<uint32_t>(code_at);
  Nodes constants;
  for (size_t i = code_at; i < all.size(); ++i) constants.push_back(operand(all[i]));
  const NodeId literal = expressions_.make(bare, constants);
  if (!literal.valid()) throw NotStructured("a function of an unknown code object", value.offset);
  Symbol name;
  if (tree_.is(literal, Kind::FunctionDef)) {
    name = define(literal, code);
  } else {
    name = context_.fresh_name("function");
    code.append(make_.assign(name, literal));
  }
  size_t next = 0;
  for (const uint32_t flag :
       {bytecode::kDefaults, bytecode::kKwDefaults, bytecode::kAnnotations, bytecode::kClosure}) {
    if ((value.a & flag) == 0) continue;
    const ValueId part = all[next++];
    // The free variables determine the closure.
    if (flag != bytecode::kClosure) set_attribute(make_.name(name), flag, operand(part), code);
  }
  return name;
}

void Machine::set_attribute(NodeId function, uint32_t flag, NodeId value, Statements& code) {
  const char* attribute = nullptr;
  if (flag == bytecode::kDefaults) attribute = "__defaults__";
  if (flag == bytecode::kKwDefaults) attribute = "__kwdefaults__";
  if (flag == bytecode::kAnnotate) attribute = "__annotate__";
  if (flag == bytecode::kAnnotations) {
    attribute = "__annotations__";
    if (!tree_.is(value, Kind::Dict) && graph_.f.habits.pairs_annotations) {
      // Names and values, alternating.
      const auto half = [&](int64_t first) {
        const NodeId from = make_.integer(first);
        const NodeId step = make_.integer(2);
        const NodeId slice = tree_.add(ast::Slice{from, NodeId(), step}, make_.at);
        const NodeId whole = first == 0 ? value : make_.name(tree_.as<ast::Name>(value).id);
        return tree_.add(ast::Subscript{whole, slice}, make_.at);
      };
      if (!tree_.is(value, Kind::Name)) {
        const Symbol pairs = context_.fresh_name("annotations");
        code.append(make_.assign(pairs, value));
        value = make_.name(pairs);
      }
      value =
          make_.call(make_.builtin("dict"), {make_.call(make_.builtin("zip"), {half(0), half(1)})});
    }
  }
  if (!attribute) return;
  code.append(make_.assign(make_.attribute(function, attribute), value));
}

}  // namespace pellucid::fallback
