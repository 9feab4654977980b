// SPDX-License-Identifier: Apache-2.0
#include "fallback/made_functions.h"

#include <algorithm>

#include "ast/nodes.h"
#include "structure/graph/not_structured.h"

namespace pellucid::fallback {

using ast::Kind;
using ast::NodeId;

bool is_passed_on(const Machine& machine, const std::vector<ValueId>& all, size_t i) {
  ValueId id = all[i];
  if (is_op(machine.graph[id], Op::MakeFunction) && i + 1 < all.size() &&
      is_op(machine.graph[all[i + 1]], Op::SetFunctionAttribute) &&
      machine.operands(all[i + 1])[1] == id) {
    id = all[++i];
  }
  if (!is_made_for_a_call(machine.graph, machine.tree.module(), id)) return false;
  return std::none_of(all.begin(), all.end(), [&](ValueId item) {
    const auto used = machine.operands(item);
    return std::find(used.begin(), used.end(), id) != used.end();
  });
}

size_t function(Machine& machine, BlockId block, size_t index, Statements& code) {
  const std::vector<ValueId>& all = machine.graph[block].items;
  ValueId id = all[index];
  const std::vector<ValueId> parts(machine.operands(id).begin(), machine.operands(id).end());
  NodeId literal = machine.expressions.make(machine.graph[id], code.take_many(parts));
  size_t next = index + 1;
  while (literal.valid() && next < all.size() &&
         is_op(machine.graph[all[next]], Op::SetFunctionAttribute) &&
         machine.operands(all[next])[1] == id) {
    const ValueId attribute = machine.operands(all[next])[0];
    id = all[next++];
    literal = machine.expressions.make(machine.graph[id],
                                       std::array<NodeId, 2>{code.take(attribute), literal});
  }
  if (!literal.valid()) {
    throw NotStructured("a function whose parts are not written where it is made",
                        machine.graph[id].offset);
  }
  if (!is_literal(machine.tree, literal)) {
    code.preload(id, literal);
    return next;
  }
  machine.context.materialized[id] = define(machine, literal, code);
  return next;
}

void remake_functions(Machine& machine, BlockId id, Statements& code, bool preloads) {
  std::vector<ValueId> made;
  for (const ValueId item : machine.graph[id].items) {
    if (!is_op(machine.graph[item], Op::Call, Op::CallKw, Op::CallEx)) continue;
    for (const ValueId operand : machine.operands(item)) {
      const ValueId function = machine.graph.resolve(operand);
      const auto& own = machine.graph[id].items;
      if (std::find(own.begin(), own.end(), function) != own.end()) continue;
      if (!is_made_for_a_call(machine.graph, machine.tree.module(), function)) continue;
      if (std::find(made.begin(), made.end(), function) == made.end()) made.push_back(function);
    }
  }
  for (const ValueId function : made) {
    if (!preloads && !needs_definition(machine, function)) continue;
    const NodeId literal = made_for_a_call(machine, function);
    if (!literal.valid()) machine.fail("the body of a class that is made elsewhere", id);
    if (needs_definition(machine, function)) {
      machine.context.materialized[function] = define(machine, literal, code);
    } else {
      code.preload(function, literal);
    }
  }
}

NodeId made_for_a_call(Machine& machine, ValueId function) {
  ValueId bare = function;
  if (is_op(machine.graph[function], Op::SetFunctionAttribute))
    bare = machine.operands(function)[1];
  ir::Value value = machine.graph[bare];
  value.a = 0;  // the free variables determine the closure
  const auto all = machine.operands(bare);
  Nodes constants;
  for (const ValueId operand : all) {
    if (is_op(machine.graph[operand], Op::LoadConst))
      constants.push_back(machine.expressions.make(machine.graph[operand], {}));
  }
  value.first += static_cast<uint32_t>(all.size() - constants.size());
  value.count = static_cast<uint32_t>(constants.size());
  return machine.expressions.make(value, constants);
}

bool needs_definition(const Machine& machine, ValueId id) {
  if (is_op(machine.graph[id], Op::SetFunctionAttribute)) id = machine.operands(id)[1];
  for (const ValueId operand : machine.operands(id)) {
    if (!is_op(machine.graph[operand], Op::LoadConst)) continue;
    const object::Const& constant = machine.tree.module()[machine.graph[operand].constant()];
    if (constant.kind != object::ConstKind::Code) continue;
    if (is_identifier(machine.tree.text(machine.tree.module()[constant.code].name))) return false;
    return is_unstructured(machine.tree, machine.bodies[constant.code.index()]);
  }
  return false;
}

bool is_iterated_by_comprehension(const Machine& machine, const std::vector<ValueId>& all,
                                  size_t i) {
  if (i + 1 >= all.size() || !is_op(machine.graph[all[i + 1]], Op::Call)) return false;
  const auto parts = machine.operands(all[i + 1]);
  if (parts.size() != 2 || parts[1] != all[i]) return false;
  const ValueId function = machine.graph.resolve(parts[0]);
  return is_made_for_a_call(machine.graph, machine.tree.module(), function) &&
         !needs_definition(machine, function);
}

Symbol define(Machine& machine, NodeId literal, Statements& code) {
  const auto def = machine.tree.as<ast::FunctionDef>(literal);
  const std::string own(machine.tree.text(def.name));
  std::string stem;
  for (const char c : own) {
    if (c != '<' && c != '>' && c != ' ') stem += c;
  }
  const Symbol name = machine.context.fresh_name(is_identifier(stem) ? stem.c_str() : "function");
  code.append(hoisted(machine.tree, literal, name));
  if (own != "<listcomp>" && own != "<setcomp>" && own != "<dictcomp>") {
    for (const char* attribute : {"__name__", "__qualname__"}) {
      code.append(machine.make.assign(machine.make.attribute(machine.make.name(name), attribute),
                                      machine.make.text(own)));
    }
  }
  return name;
}

}  // namespace pellucid::fallback
