// SPDX-License-Identifier: Apache-2.0
#include "fallback/match.h"

#include "fallback/items.h"

namespace pellucid::fallback {

using ast::CmpOperator;
using ast::NodeId;

namespace {

// 3.10 has a second result: whether the first is not None.
void found_or_not(Machine& machine, ValueId id, Symbol values, Statements& code) {
  const auto elements = machine.elements.find(id);
  if (elements == machine.elements.end()) return;
  const Symbol result = machine.context.fresh_name("matches");
  code.append(machine.make.assign(
      result,
      machine.make.compare(machine.make.name(values), CmpOperator::IsNot, machine.make.none())));
  for (const ValueId element : elements->second) machine.context.materialized[element] = result;
}

}  // namespace

void match_kind(Machine& machine, ValueId id, NodeId pattern, Statements& code) {
  const Symbol subject = named(machine, machine.operands(id)[0], "subject", code);
  const Symbol result = machine.context.fresh_name("matches");
  code.append(machine.make.match(machine.make.name(subject), pattern,
                                 {machine.make.assign(result, machine.make.truth(true))},
                                 {machine.make.assign(result, machine.make.truth(false))}));
  machine.context.materialized[id] = result;
}

void match_keys(Machine& machine, ValueId id, Statements& code) {
  const std::vector<ValueId> both(machine.operands(id).begin(), machine.operands(id).end());
  const Symbol subject = named(machine, both[0], "subject", code);
  const Symbol keys = named(machine, both[1], "keys", code);
  const Symbol values = machine.context.fresh_name("values");
  const Symbol get = machine.context.fresh_name("get");
  const Symbol key = machine.context.fresh_name("key");
  const Symbol value = machine.context.fresh_name("value");
  if (!machine.missing.valid()) machine.missing = machine.generated("missing");
  code.append(machine.make.assign(get, machine.make.attribute(machine.make.name(subject), "get")));
  code.append(machine.make.assign(values, machine.make.tuple({})));
  const NodeId found = machine.make.call(
      machine.make.name(get), {machine.make.name(key), machine.make.name(machine.missing)});
  const NodeId is_missing = machine.make.compare(machine.make.name(value), CmpOperator::Is,
                                                 machine.make.name(machine.missing));
  const auto add = static_cast<uint32_t>(ast::Operator::Add);
  const NodeId more = machine.make.add(
      ast::BinOp{machine.make.name(values), add, machine.make.tuple({machine.make.name(value)})});
  const Nodes body = {
      machine.make.assign(value, found),
      machine.make.if_else(is_missing, {machine.make.assign(values, machine.make.none()),
                                        machine.make.break_loop()}),
      machine.make.assign(values, more)};
  code.append(machine.make.add(
      ast::For{machine.make.name(key), machine.make.name(keys), machine.tree.list(body), {}, 0}));
  machine.context.materialized[id] = values;
  found_or_not(machine, id, values, code);
}

void match_class(Machine& machine, BlockId block, ValueId id, Statements& code) {
  const std::vector<ValueId> all(machine.operands(id).begin(), machine.operands(id).end());
  const ir::Value& names = machine.graph[all[2]];
  const bool known = is_op(names, Op::LoadConst) &&
                     machine.tree.module()[names.constant()].kind == object::ConstKind::Tuple;
  if (!known) machine.fail("a class pattern whose attributes are not constant", block);
  const std::vector<object::ConstId> attributes = machine.tree.module()[names.constant()].items;
  const Symbol subject = named(machine, all[0], "subject", code);
  const Symbol type = named(machine, all[1], "type", code);
  const Symbol result = machine.context.fresh_name("values");
  Nodes positional, named_patterns, keywords, values;
  const auto capture = [&] {
    const Symbol name = machine.context.fresh_name("part");
    values.push_back(machine.make.name(name));
    return machine.make.add(ast::MatchAs{NodeId(), name});
  };
  for (uint32_t i = 0; i < machine.graph[id].a; ++i) positional.push_back(capture());
  for (const object::ConstId attribute : attributes) {
    keywords.push_back(machine.make.name(machine.tree.module()[attribute].text));
    named_patterns.push_back(capture());
  }
  const NodeId pattern = machine.make.add(
      ast::MatchClass{machine.make.name(type), machine.tree.list(positional),
                      machine.tree.list(keywords), machine.tree.list(named_patterns)});
  code.append(machine.make.match(machine.make.name(subject), pattern,
                                 {machine.make.assign(result, machine.make.tuple(values))},
                                 {machine.make.assign(result, machine.make.none())}));
  machine.context.materialized[id] = result;
  found_or_not(machine, id, result, code);
}

void copy_without_keys(Machine& machine, ValueId id, Statements& code) {
  const std::vector<ValueId> both(machine.operands(id).begin(), machine.operands(id).end());
  const Symbol subject = named(machine, both[0], "subject", code);
  const Symbol keys = named(machine, both[1], "keys", code);
  const Symbol rest = machine.context.fresh_name("rest");
  const Symbol key = machine.context.fresh_name("key");
  const NodeId copy = machine.make.add(
      ast::Dict{machine.tree.list({NodeId()}), machine.tree.list({machine.make.name(subject)})});
  code.append(machine.make.assign(rest, copy));
  const NodeId item =
      machine.make.add(ast::Subscript{machine.make.name(rest), machine.make.name(key)});
  const NodeId remove = machine.make.add(ast::Delete{machine.tree.list({item})});
  code.append(machine.make.add(ast::For{
      machine.make.name(key), machine.make.name(keys), machine.tree.list({remove}), {}, 0}));
  machine.context.materialized[id] = rest;
}

}  // namespace pellucid::fallback
