// SPDX-License-Identifier: Apache-2.0
// The operations of match statements, one by one.
#include "fallback/state_machine.h"

namespace pellucid::fallback {

using ast::CmpOperator;
using ast::NodeId;

// Tests whether the subject is a sequence or a mapping: only a pattern has this test.
void Machine::match_kind(BlockId block, ValueId id, NodeId pattern, Statements& code) {
  (void)block;
  const Symbol subject = named(operands(id)[0], "subject", code);
  const Symbol result = context_.fresh_name("matches");
  code.append(make_.match(make_.name(subject), pattern, {make_.assign(result, make_.truth(true))},
                          {make_.assign(result, make_.truth(false))}));
  context_.materialized[id] = result;
}

// Gets the values of a mapping under some keys, or None: stops at the first key that is missing.
void Machine::match_keys(BlockId block, ValueId id, Statements& code) {
  (void)block;
  const std::vector<ValueId> both(operands(id).begin(), operands(id).end());
  const Symbol subject = named(both[0], "subject", code);
  const Symbol keys = named(both[1], "keys", code);
  const Symbol values = context_.fresh_name("values");
  const Symbol get = context_.fresh_name("get");
  const Symbol key = context_.fresh_name("key");
  const Symbol value = context_.fresh_name("value");
  if (!missing_.valid()) missing_ = generated("missing");
  code.append(make_.assign(get, make_.attribute(make_.name(subject), "get")));
  code.append(make_.assign(values, make_.tuple({})));
  const NodeId found = make_.call(make_.name(get), {make_.name(key), make_.name(missing_)});
  const NodeId is_missing = make_.compare(make_.name(value), CmpOperator::Is, make_.name(missing_));
  const auto add = static_cast<uint32_t>(ast::Operator::Add);
  const NodeId more =
      tree_.add(ast::BinOp{make_.name(values), add, make_.tuple({make_.name(value)})}, make_.at);
  const Nodes body = {
      make_.assign(value, found),
      make_.if_else(is_missing, {make_.assign(values, make_.none()), make_.break_loop()}),
      make_.assign(values, more)};
  code.append(
      tree_.add(ast::For{make_.name(key), make_.name(keys), tree_.list(body), {}, 0}, make_.at));
  context_.materialized[id] = values;
  found_or_not(id, values, code);
}

// 3.10 has a second result: whether the first is not None.
void Machine::found_or_not(ValueId id, Symbol values, Statements& code) {
  const auto elements = elements_.find(id);
  if (elements == elements_.end()) return;
  const Symbol result = context_.fresh_name("matches");
  code.append(
      make_.assign(result, make_.compare(make_.name(values), CmpOperator::IsNot, make_.none())));
  for (const ValueId element : elements->second) context_.materialized[element] = result;
}

// Gets the attributes of an instance that a class pattern extracts, or None.
void Machine::match_class(BlockId block, ValueId id, Statements& code) {
  const std::vector<ValueId> all(operands(id).begin(), operands(id).end());
  const ir::Value& names = graph_[all[2]];
  const bool known = is_op(names, Op::LoadConst) &&
                     tree_.module()[names.constant()].kind == object::ConstKind::Tuple;
  if (!known) fail("a class pattern whose attributes are not constant", block);
  const std::vector<object::ConstId> attributes = tree_.module()[names.constant()].items;
  const Symbol subject = named(all[0], "subject", code);
  const Symbol type = named(all[1], "type", code);
  const Symbol result = context_.fresh_name("values");
  Nodes positional, named_patterns, keywords, values;
  const auto capture = [&] {
    const Symbol name = context_.fresh_name("part");
    values.push_back(make_.name(name));
    return tree_.add(ast::MatchAs{NodeId(), name}, make_.at);
  };
  for (uint32_t i = 0; i < graph_[id].a; ++i) positional.push_back(capture());
  for (const object::ConstId attribute : attributes) {
    keywords.push_back(make_.name(tree_.module()[attribute].text));
    named_patterns.push_back(capture());
  }
  const NodeId pattern =
      tree_.add(ast::MatchClass{make_.name(type), tree_.list(positional), tree_.list(keywords),
                                tree_.list(named_patterns)},
                make_.at);
  code.append(make_.match(make_.name(subject), pattern, {make_.assign(result, make_.tuple(values))},
                          {make_.assign(result, make_.none())}));
  context_.materialized[id] = result;
  found_or_not(id, result, code);
}

// Makes the dictionary that `**rest` captures.
void Machine::copy_without_keys(BlockId block, ValueId id, Statements& code) {
  (void)block;
  const std::vector<ValueId> both(operands(id).begin(), operands(id).end());
  const Symbol subject = named(both[0], "subject", code);
  const Symbol keys = named(both[1], "keys", code);
  const Symbol rest = context_.fresh_name("rest");
  const Symbol key = context_.fresh_name("key");
  const NodeId copy =
      tree_.add(ast::Dict{tree_.list({NodeId()}), tree_.list({make_.name(subject)})}, make_.at);
  code.append(make_.assign(rest, copy));
  const NodeId item = tree_.add(ast::Subscript{make_.name(rest), make_.name(key)}, make_.at);
  const NodeId remove = tree_.add(ast::Delete{tree_.list({item})}, make_.at);
  code.append(tree_.add(ast::For{make_.name(key), make_.name(keys), tree_.list({remove}), {}, 0},
                        make_.at));
  context_.materialized[id] = rest;
}

}  // namespace pellucid::fallback
