// SPDX-License-Identifier: Apache-2.0
#include "fallback/plain.h"

#include <algorithm>

#include "fallback/items.h"
#include "fallback/made_functions.h"
#include "structure/expressions/function_parts.h"
#include "structure/graph/not_structured.h"

namespace pellucid::fallback {

using ast::Kind;
using ast::NodeId;

namespace {

// Returns the expression of an operand: a constant, or a name.
NodeId operand(Machine& machine, ValueId id) {
  id = machine.graph.resolve(id);
  const auto known = machine.context.materialized.find(id);
  if (known != machine.context.materialized.end()) return machine.make.name(known->second);
  if (is_made_for_a_call(machine.graph, machine.tree.module(), id) &&
      !needs_definition(machine, id)) {
    return made_for_a_call(machine, id);
  }
  if (is_op(machine.graph[id], Op::GetIter, Op::GetAiter))
    return operand(machine, machine.operands(id)[0]);
  const ir::Value value = machine.graph[id];
  const NodeId node = value.kind == ValueKind::Instr && value.count == 0
                          ? machine.expressions.make(value, {})
                          : NodeId();
  if (!node.valid()) throw NotStructured("a value that no name holds", value.offset);
  return node;
}

Nodes operand_nodes(Machine& machine, ValueId id) {
  Nodes nodes;
  for (const ValueId each :
       std::vector<ValueId>(machine.operands(id).begin(), machine.operands(id).end())) {
    nodes.push_back(operand(machine, each));
  }
  return nodes;
}

// Returns the name of the function that an attribute is set on.
Symbol name_of_function(const Machine& machine, NodeId function) {
  if (machine.tree.is(function, Kind::Name)) return machine.tree.as<ast::Name>(function).id;
  throw NotStructured("an attribute of what is no function", machine.tree.where(function).offset);
}

// A container and its updated value are one object with two names.
void plain_update(Machine& machine, ValueId id, Statements& code) {
  const ir::Value value = machine.graph[id];
  Nodes nodes = operand_nodes(machine, id);
  if (!machine.tree.is(nodes[0], Kind::Name)) {
    throw NotStructured("a container that no name holds", value.offset);
  }
  const Symbol container = machine.tree.as<ast::Name>(nodes[0]).id;
  if (value.op == Op::DictMerge) {
    // Keys must be new, and strings: a call checks that.
    const NodeId first = machine.make.add(ast::keyword{Symbol(), nodes[0]});
    const NodeId second = machine.make.add(ast::keyword{Symbol(), nodes[1]});
    const NodeId merged = machine.make.add(
        ast::Call{machine.make.builtin("dict"), {}, machine.tree.list({first, second})});
    code.append(machine.make.assign(container, merged));
  } else {
    const NodeId callee = machine.make.attribute(nodes[0], structure::method_of(value.op));
    nodes.erase(nodes.begin());
    code.append(machine.make.expression(machine.make.call(callee, nodes)));
  }
  machine.context.materialized[id] = container;
}

void plain_import(Machine& machine, ValueId id, Statements& code) {
  const ir::Value value = machine.graph[id];
  const Nodes nodes = operand_nodes(machine, id);
  const Symbol name = machine.context.fresh_name("module");
  if (value.op == Op::ImportName) {
    const NodeId scope = machine.make.call(machine.make.builtin("globals"), {});
    const NodeId call = machine.make.call(machine.make.builtin("__import__"),
                                          {machine.make.text(machine.tree.text(value.symbol())),
                                           scope, machine.make.none(), nodes[1], nodes[0]});
    code.append(machine.make.assign(name, call));
    machine.context.materialized[id] = name;
    return;
  }
  if (value.op == Op::ImportStar) {
    throw NotStructured("an import of unknown form", value.offset);
  }
  const std::string member(machine.tree.text(value.symbol()));
  const NodeId found = machine.make.attribute(nodes[0], member);
  const NodeId message = machine.make.text("cannot import name '" + member + "'");
  const NodeId error = machine.make.call(machine.make.builtin("ImportError"), {message});
  code.append(
      machine.make.try_except({machine.make.assign(name, found)},
                              {machine.make.handler(machine.make.builtin("AttributeError"),
                                                    Symbol(), {machine.make.raise(error)})}));
  machine.context.materialized[id] = name;
}

void set_attribute(Machine& machine, NodeId function, uint32_t flag, NodeId value,
                   Statements& code) {
  const char* attribute = nullptr;
  if (flag == bytecode::kDefaults) attribute = "__defaults__";
  if (flag == bytecode::kKwDefaults) attribute = "__kwdefaults__";
  if (flag == bytecode::kAnnotate) attribute = "__annotate__";
  if (flag == bytecode::kAnnotations) {
    attribute = "__annotations__";
    if (!machine.tree.is(value, Kind::Dict) && machine.graph.f.habits.pairs_annotations) {
      // Names and values, alternating.
      const auto half = [&](int64_t first) {
        const NodeId from = machine.make.integer(first);
        const NodeId step = machine.make.integer(2);
        const NodeId slice = machine.make.add(ast::Slice{from, NodeId(), step});
        const NodeId whole =
            first == 0 ? value : machine.make.name(machine.tree.as<ast::Name>(value).id);
        return machine.make.add(ast::Subscript{whole, slice});
      };
      if (!machine.tree.is(value, Kind::Name)) {
        const Symbol pairs = machine.context.fresh_name("annotations");
        code.append(machine.make.assign(pairs, value));
        value = machine.make.name(pairs);
      }
      value =
          machine.make.call(machine.make.builtin("dict"),
                            {machine.make.call(machine.make.builtin("zip"), {half(0), half(1)})});
    }
  }
  if (!attribute) return;
  code.append(machine.make.assign(machine.make.attribute(function, attribute), value));
}

// Makes the function of a code object; its defaults and other attributes are set one by one.
Symbol plain_function(Machine& machine, ValueId id, Statements& code) {
  const ir::Value value = machine.graph[id];
  const std::vector<ValueId> all(machine.operands(id).begin(), machine.operands(id).end());
  const size_t code_at = all.size() - (value.b == 1 ? 2 : 1);
  ir::Value bare = value;
  bare.a = 0;
  bare.first += static_cast<uint32_t>(code_at);
  bare.count -= static_cast<uint32_t>(code_at);
  Nodes constants;
  for (size_t i = code_at; i < all.size(); ++i) constants.push_back(operand(machine, all[i]));
  const NodeId literal = machine.expressions.make(bare, constants);
  if (!literal.valid()) throw NotStructured("a function of an unknown code object", value.offset);
  Symbol name;
  if (machine.tree.is(literal, Kind::FunctionDef)) {
    name = define(machine, literal, code);
  } else {
    name = machine.context.fresh_name("function");
    code.append(machine.make.assign(name, literal));
  }
  size_t next = 0;
  for (const uint32_t flag :
       {bytecode::kDefaults, bytecode::kKwDefaults, bytecode::kAnnotations, bytecode::kClosure}) {
    if ((value.a & flag) == 0) continue;
    const ValueId part = all[next++];
    // The free variables determine the closure.
    if (flag != bytecode::kClosure)
      set_attribute(machine, machine.make.name(name), flag, operand(machine, part), code);
  }
  return name;
}

void plain_item(Machine& machine, ValueId id, Statements& code) {
  const ir::Value value = machine.graph[id];
  const auto target = [&] { return machine.make.name(value.symbol()); };
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
      return code.append(machine.make.assign(target(), operand(machine, machine.operands(id)[0])));
    case Op::StoreAttr: {
      const Nodes nodes = operand_nodes(machine, id);
      const NodeId place = machine.make.add(ast::Attribute{nodes[1], value.symbol()});
      return code.append(machine.make.assign(place, nodes[0]));
    }
    case Op::StoreSubscr: {
      const Nodes nodes = operand_nodes(machine, id);
      const NodeId place = machine.make.add(ast::Subscript{nodes[1], nodes[2]});
      return code.append(machine.make.assign(place, nodes[0]));
    }
    case Op::DeleteFast:
    case Op::DeleteName:
    case Op::DeleteGlobal:
    case Op::DeleteDeref:
      return code.append(machine.make.add(ast::Delete{machine.tree.list({target()})}));
    case Op::DeleteAttr: {
      const NodeId place = machine.make.add(
          ast::Attribute{operand(machine, machine.operands(id)[0]), value.symbol()});
      return code.append(machine.make.add(ast::Delete{machine.tree.list({place})}));
    }
    case Op::DeleteSubscr: {
      const Nodes nodes = operand_nodes(machine, id);
      const NodeId place = machine.make.add(ast::Subscript{nodes[0], nodes[1]});
      return code.append(machine.make.add(ast::Delete{machine.tree.list({place})}));
    }
    case Op::PrintExpr:
      return code.append(machine.make.expression(operand(machine, machine.operands(id)[0])));
    case Op::UnpackSequence:
    case Op::UnpackEx: {
      const uint32_t count = value.op == Op::UnpackEx ? value.a + 1 + value.b : value.a;
      Nodes targets;
      std::vector<Symbol> names;
      for (uint32_t i = 0; i < count; ++i) {
        names.push_back(machine.context.fresh_name("temp"));
        NodeId each = machine.make.name(names.back());
        if (value.op == Op::UnpackEx && i == value.a) {
          each = machine.make.add(ast::Starred{each});
        }
        targets.push_back(each);
      }
      const auto elements = machine.elements.find(id);
      if (elements != machine.elements.end()) {
        for (const ValueId element : elements->second) {
          machine.context.materialized[element] = names[machine.graph[element].a];
        }
      }
      return code.append(machine.make.assign(machine.make.tuple(targets),
                                             operand(machine, machine.operands(id)[0])));
    }
    case Op::ImportStar:
    case Op::ImportName:
    case Op::ImportFrom:
      return plain_import(machine, id, code);
    case Op::MakeFunction: {
      // Made where it is called.
      if (is_made_for_a_call(machine.graph, machine.tree.module(), id) &&
          !needs_definition(machine, id))
        return;
      machine.context.materialized[id] = plain_function(machine, id, code);
      return;
    }
    case Op::BuildTuple: {
      // The cells of a closure, which may be empty yet.
      const auto cells = machine.operands(id);
      if (!cells.empty() && std::all_of(cells.begin(), cells.end(), [&](ValueId cell) {
            return is_op(machine.graph[cell], Op::LoadClosure);
          })) {
        return;
      }
      break;
    }
    case Op::SetFunctionAttribute: {
      if (value.a == bytecode::kClosure) {
        if (is_made_for_a_call(machine.graph, machine.tree.module(), id) &&
            !needs_definition(machine, id))
          return;
        machine.context.materialized[id] =
            name_of_function(machine, operand(machine, machine.operands(id)[1]));
        return;
      }
      const Nodes nodes = operand_nodes(machine, id);
      machine.context.materialized[id] = name_of_function(machine, nodes[1]);
      set_attribute(machine, nodes[1], value.a, nodes[0], code);
      return;
    }
    case Op::ListAppend:
    case Op::SetAdd:
    case Op::MapAdd:
    case Op::ListExtend:
    case Op::SetUpdate:
    case Op::DictUpdate:
    case Op::DictMerge:
      return plain_update(machine, id, code);
    default:
      break;
  }
  NodeId node;
  if (value.op == Op::YieldFrom || value.op == Op::GetAwaitable ||
      value.op == Op::GetYieldFromIter) {
    // `await` consists of two instructions.
    if (value.op != Op::YieldFrom) {
      machine.waiting = operand(machine, machine.operands(id)[0]);
      return;
    }
    const bool awaits = is_op(machine.graph[machine.operands(id)[0]], Op::GetAwaitable);
    const bool both = awaits || is_op(machine.graph[machine.operands(id)[0]], Op::GetYieldFromIter);
    const NodeId object = both ? machine.waiting : operand(machine, machine.operands(id)[0]);
    node = awaits ? machine.make.add(ast::Await{object}) : machine.make.add(ast::YieldFrom{object});
  } else {
    node = machine.expressions.make(value, operand_nodes(machine, id));
  }
  if (!node.valid()) {
    throw NotStructured("no expression for " + std::string(bytecode::name_of(value.op)),
                        value.offset);
  }
  if (ast::category_of(machine.tree.kind(node)) == ast::Category::TypeParam) {
    throw NotStructured("a type parameter that its statement lacks", value.offset);
  }
  if (is_literal(machine.tree, node)) {
    // A class, or a definition with type parameters applied.
    const Symbol name = machine.context.name_of_definition(node);
    machine.hide_if_body(name);
    code.append(hoisted(machine.tree, node, name));
    machine.context.materialized[id] = name;
    return;
  }
  const Symbol name = machine.context.fresh_name("temp");
  code.append(machine.make.assign(name, node));
  machine.context.materialized[id] = name;
}

}  // namespace

void plain(Machine& machine, BlockId id, Statements& code) {
  const std::vector<ValueId> all = machine.graph[id].items;
  // Results of the neat form for this block are no longer valid.
  for (const ValueId item : all) {
    machine.context.materialized.erase(item);
    const auto elements = machine.elements.find(item);
    if (elements == machine.elements.end()) continue;
    for (const ValueId element : elements->second) machine.context.materialized.erase(element);
  }
  remake_functions(machine, id, code, false);
  for (size_t i = 0; i < all.size();) {
    const bool is_function = is_op(machine.graph[all[i]], Op::MakeFunction);
    // A comprehension makes its iterator itself.
    if (is_op(machine.graph[all[i]], Op::GetIter, Op::GetAiter) &&
        is_iterated_by_comprehension(machine, all, i)) {
      ++i;
      continue;
    }
    if (is_special(machine, all, i) && !is_function) {
      i = special(machine, id, i, code);
      continue;
    }
    const ast::Where before = machine.make.at;
    machine.make.at = {machine.graph[all[i]].line, machine.graph[all[i]].offset};
    plain_item(machine, all[i++], code);
    machine.make.at = before;
  }
}

}  // namespace pellucid::fallback
