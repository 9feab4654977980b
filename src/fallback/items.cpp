// SPDX-License-Identifier: Apache-2.0
#include "fallback/items.h"

#include <algorithm>

#include "ast/nodes.h"
#include "fallback/blocks.h"
#include "fallback/made_functions.h"
#include "fallback/match.h"
#include "fallback/star.h"
#include "fallback/unstructured.h"
#include "structure/graph/not_structured.h"

namespace pellucid::fallback {

using ast::CmpOperator;
using ast::Kind;
using ast::NodeId;

namespace {

// Returns true if the statement is one that the compiler adds at the end of class bodies.
bool is_left_out(const Machine& machine, ValueId id) {
  if (machine.scope != Scope::Class || !is_op(machine.graph[id], Op::StoreName)) return false;
  const std::string_view name = machine.tree.text(machine.graph[id].symbol());
  return name == "__classcell__" || name == "__classdictcell__" || name == "__static_attributes__";
}

// manager -> its __exit__, and what __enter__ returns
void enter_with(Machine& machine, BlockId block, ValueId id, Statements& code) {
  const bool is_async = machine.graph[id].op == Op::BeforeAsyncWith;
  const Symbol manager = named(machine, machine.operands(id)[0], "manager", code);
  const Symbol enter = machine.context.fresh_name("enter");
  code.append(machine.make.assign(
      enter,
      machine.make.attribute(machine.make.name(manager), is_async ? "__aenter__" : "__enter__")));
  keep(machine, block, id,
       machine.make.attribute(machine.make.name(manager), is_async ? "__aexit__" : "__exit__"),
       code);
  const auto entered = machine.elements.find(id);
  const NodeId call = machine.make.call(machine.make.name(enter), {});
  if (entered == machine.elements.end()) return code.append(machine.make.expression(call));
  const ValueId element = entered->second[0];
  keep(machine, block, element, call, code);
  // From here on it is an ordinary value, and no part of a `with`.
  machine.graph[element].kind = ValueKind::Instr;
  machine.graph[element].op = Op::LoadName;
  machine.graph[element].a = machine.context.materialized[element].value;
  machine.graph[element].count = 0;
  for (size_t i = 1; i < entered->second.size(); ++i)
    machine.graph[entered->second[i]] = machine.graph[element];
}

// Returns true if `value` is the exception (or, before 3.11, its type) that is being handled at
// this level.
bool is_handled(const Machine& machine, ValueId value, uint32_t level) {
  const Slot slot = machine.slots.of(value);
  return level > 0 && (slot.handles == level || slot.kind == SlotKind::Hidden);
}

// Tests an exception by an except clause: only such a clause has these rules.
void exception_match(Machine& machine, BlockId block, ValueId id, Statements& code) {
  const std::vector<ValueId> both(machine.operands(id).begin(), machine.operands(id).end());
  const uint32_t level = machine.graph[block].exc_depth;
  const bool handled = is_handled(machine, both[0], level);
  const Symbol type = named(machine, both[1], "type", code);
  const Symbol exception = handled ? Symbol() : named(machine, both[0], "exception", code);
  const Symbol result = machine.context.fresh_name("matches");
  const NodeId yes = machine.make.handler(machine.make.name(type), Symbol(),
                                          {machine.make.assign(result, machine.make.truth(true))});
  const NodeId no = machine.make.handler(machine.make.builtin("BaseException"), Symbol(),
                                         {machine.make.assign(result, machine.make.truth(false))});
  Nodes keep;
  if (!handled) {
    hand_over(machine, machine.make.name(exception), keep);
    for (const NodeId statement : keep) code.append(statement);
  }
  const NodeId again = machine.make.raise(handled ? NodeId() : machine.make.name(exception));
  code.append(machine.make.try_except({again}, {yes, no}));
  if (!handled) {
    code.append(restore(machine, machine.make.name(machine.thrown)));
    code.append(machine.make.assign_all({machine.thrown, machine.saved}, machine.make.none()));
  }
  machine.context.materialized[id] = result;
}

// Continues only if the iterator is exhausted.
void end_async_for(Machine& machine, BlockId block, Statements& code) {
  const ir::Block& b = machine.graph[block];
  const auto test = [&](NodeId exception) {
    const NodeId fits = machine.make.call(machine.make.builtin("isinstance"),
                                          {exception, machine.make.builtin("StopAsyncIteration")});
    return machine.make.add(ast::UnaryOp{static_cast<uint32_t>(ast::UnaryOperator::Not), fits});
  };
  const ValueId id = *std::find_if(b.items.begin(), b.items.end(), [&](ValueId item) {
    return is_op(machine.graph[item], Op::EndAsyncFor);
  });
  if (machine.graph[id].a == 7) {
    code.append(
        machine.make.if_else(test(machine.exception_at(b.exc_depth)), {machine.make.raise()}));
    return;
  }
  // The exception is on top of the stack at the start of the block.
  if (b.params.empty())
    machine.fail("an end of an asynchronous loop that nothing is raised to", block);
  const Symbol exception = machine.variable(b.params.size() - 1);
  Statements other(machine.context);
  raise_as_it_is(machine, machine.make.name(exception), other);
  code.append(machine.make.if_else(test(machine.make.name(exception)), other.take_list()));
}

// Saves the local's value in a list, which is empty if it is unbound.
void clear_local(Machine& machine, BlockId block, ValueId id, Statements& code) {
  const Symbol local = machine.graph[id].symbol();
  const NodeId full = machine.make.add(ast::List{machine.tree.list({machine.make.name(local)})});
  if (machine.scope != Scope::Function) return keep(machine, block, id, machine.make.list(), code);
  const Symbol box = machine.context.fresh_name("outer");
  const NodeId unbound = machine.make.handler(machine.make.builtin("UnboundLocalError"), Symbol(),
                                              {machine.make.assign(box, machine.make.list())});
  code.append(machine.make.try_except({machine.make.assign(box, full)}, {unbound}));
  machine.context.materialized[id] = box;
}

void restore_local(Machine& machine, ValueId id, Statements& code) {
  const ValueId value = machine.operands(id)[0];
  const Symbol local = machine.graph[id].symbol();
  Nodes unbind = {machine.make.assign(local, machine.make.none())};
  // Generated names of a module or class body stay until its end.
  if (machine.scope == Scope::Function) unbind.push_back(machine.make.delete_all({local}));
  // Values loaded from it earlier are kept.
  code.settle();
  if (machine.slots.of(value).kind == SlotKind::Null) {
    for (const NodeId statement : unbind) code.append(statement);
    return;
  }
  const Symbol box = named(machine, value, "outer", code);
  const NodeId target = machine.make.add(ast::List{machine.tree.list({machine.make.name(local)})});
  code.append(machine.make.if_else(machine.make.name(box),
                                   {machine.make.assign(target, machine.make.name(box))}, unbind));
}

void add_to_container(Machine& machine, ValueId id, Statements& code) {
  const ir::Value& value = machine.graph[id];
  const std::vector<ValueId> parts(machine.operands(id).begin(), machine.operands(id).end());
  Nodes nodes = code.take_many(parts);
  const NodeId function = machine.make.attribute(nodes[0], structure::method_of(value.op));
  nodes.erase(nodes.begin());
  code.append(machine.make.expression(machine.make.call(function, nodes)));
}

}  // namespace

void items(Machine& machine, BlockId id, Statements& code) {
  const std::vector<ValueId> all = machine.graph[id].items;
  // Runs of ordinary items are read together, in the form in which a compiler writes them.
  size_t begin = 0;
  const auto flush = [&](size_t end) {
    if (begin < end) code.run(std::span(all).subspan(begin, end - begin));
  };
  remake_functions(machine, id, code, true);
  for (size_t i = 0; i < all.size();) {
    if (!is_special(machine, all, i)) {
      ++i;
      continue;
    }
    flush(i);
    i = special(machine, id, i, code);
    begin = i;
  }
  flush(all.size());
}

bool is_special(const Machine& machine, const std::vector<ValueId>& all, size_t i) {
  const ValueId id = all[i];
  const ir::Value& value = machine.graph[id];
  if (value.kind != ValueKind::Instr) return false;
  switch (value.op) {
    case Op::PushExcInfo:
    case Op::LoadFastAndClear:
    case Op::MakeCell:
    case Op::BeforeWith:
    case Op::BeforeAsyncWith:
    case Op::LoadSpecial:
    case Op::WithExceptStart:
    case Op::ExcMatch:
    case Op::EgMatch:
    case Op::EndAsyncFor:
    case Op::CleanupThrow:
    case Op::GetIter:
    case Op::GetAiter:
      return !is_iterated_by_comprehension(machine, all, i);
    case Op::GetAnext:
    case Op::GetLen:
    case Op::MatchMapping:
    case Op::MatchSequence:
    case Op::MatchKeys:
    case Op::MatchClass:
    case Op::CopyDictWithoutKeys:
      return true;
    case Op::GetAwaitable:
    case Op::GetYieldFromIter: {
      // It is an `await` only together with the YIELD_FROM right after it.
      for (size_t k = i + 1; k < all.size() && k <= i + 2; ++k) {
        if (is_op(machine.graph[all[k]], Op::YieldFrom) && machine.operands(all[k])[0] == id)
          return false;
      }
      return true;
    }
    case Op::YieldFrom:
      return is_op(machine.graph[machine.operands(id)[0]], Op::GetAnext);
    case Op::Intrinsic2:
      return value.a == bytecode::kPrepReraiseStar;
    case Op::ListAppend:
    case Op::SetAdd:
    case Op::MapAdd:
    case Op::ListExtend:
    case Op::SetUpdate:
    case Op::DictUpdate:
      return value.a > 1;
    case Op::StoreFast: {
      const SlotKind kind = machine.slots.of(machine.operands(id)[0]).kind;
      return kind == SlotKind::Boxed || kind == SlotKind::Null;
    }
    case Op::StoreName:
      return is_left_out(machine, id);
    case Op::Pop:
      return machine.graph[machine.operands(id)[0]].kind == ValueKind::Phi ||
             machine.graph[machine.operands(id)[0]].kind == ValueKind::Null;
    case Op::MakeFunction:
      return needs_definition(machine, id) || is_passed_on(machine, all, i);
    default:
      return false;
  }
}

void keep(Machine& machine, BlockId block, ValueId id, NodeId value, Statements& code) {
  Symbol name = home(machine, block, id);
  if (!name.valid()) name = machine.context.fresh_name("temp");
  code.append(machine.make.assign(name, value));
  machine.context.materialized[id] = name;
}

Symbol named(Machine& machine, ValueId id, const char* stem, Statements& code) {
  const NodeId node = code.take(id);
  if (machine.tree.is(node, Kind::Name) &&
      machine.context.materialized.count(machine.graph.resolve(id))) {
    return machine.tree.as<ast::Name>(node).id;
  }
  const Symbol name = machine.context.fresh_name(stem);
  code.append(machine.make.assign(name, node));
  return name;
}

size_t special(Machine& machine, BlockId block, size_t index, Statements& code) {
  const ValueId id = machine.graph[block].items[index];
  const ir::Value value = machine.graph[id];
  const ast::Where before = machine.make.at;
  machine.make.at = {value.line, value.offset};
  const uint32_t level = machine.graph[block].exc_depth;
  size_t next = index + 1;
  switch (value.op) {
    case Op::Pop:
    case Op::StoreName:
      break;
    case Op::PushExcInfo: {
      // The next state raises it, for the surrounding clause to catch.
      Nodes statements;
      hand_over(machine,
                machine.make.name(named(machine, machine.operands(id)[0], "exception", code)),
                statements);
      for (const NodeId statement : statements) code.append(statement);
      break;
    }
    case Op::LoadFastAndClear:
      clear_local(machine, block, id, code);
      break;
    case Op::StoreFast:
      restore_local(machine, id, code);
      break;
    case Op::BeforeWith:
    case Op::BeforeAsyncWith:
      enter_with(machine, block, id, code);
      break;
    case Op::WithExceptStart: {
      const Symbol exit = named(machine, machine.operands(id)[0], "exit", code);
      const auto exception = [&] { return machine.exception_at(level); };
      keep(machine, block, id,
           machine.make.call(machine.make.name(exit),
                             {machine.make.call(machine.make.builtin("type"), {exception()}),
                              exception(), machine.make.attribute(exception(), "__traceback__")}),
           code);
      break;
    }
    case Op::ExcMatch:
      exception_match(machine, block, id, code);
      break;
    case Op::EgMatch:
      split_group(machine, block, id, code);
      break;
    case Op::Intrinsic2:
      join_raised(machine, block, id, code);
      break;
    case Op::EndAsyncFor:
      end_async_for(machine, block, code);
      break;
    case Op::GetIter:
      keep(machine, block, id,
           machine.make.call(machine.make.builtin("iter"), {code.take(machine.operands(id)[0])}),
           code);
      break;
    case Op::GetAiter:
    case Op::GetAnext: {
      const NodeId object = code.take(machine.operands(id)[0]);
      const char* method = value.op == Op::GetAiter ? "__aiter__" : "__anext__";
      keep(machine, block, id, machine.make.call(machine.make.attribute(object, method), {}), code);
      break;
    }
    case Op::YieldFrom:
      keep(machine, block, id, machine.make.add(ast::Await{code.take(machine.operands(id)[0])}),
           code);
      break;
    case Op::GetLen:
      keep(machine, block, id,
           machine.make.call(machine.make.builtin("len"), {code.take(machine.operands(id)[0])}),
           code);
      break;
    case Op::MatchSequence: {
      const NodeId star = machine.make.add(ast::MatchStar{Symbol()});
      match_kind(machine, id, machine.make.add(ast::MatchSequence{machine.tree.list({star})}),
                 code);
      break;
    }
    case Op::MatchMapping:
      match_kind(machine, id, machine.make.add(ast::MatchMapping{}), code);
      break;
    case Op::MatchKeys:
      match_keys(machine, id, code);
      break;
    case Op::MatchClass:
      match_class(machine, block, id, code);
      break;
    case Op::CopyDictWithoutKeys:
      copy_without_keys(machine, id, code);
      break;
    case Op::ListAppend:
    case Op::SetAdd:
    case Op::MapAdd:
    case Op::ListExtend:
    case Op::SetUpdate:
    case Op::DictUpdate:
      add_to_container(machine, id, code);
      break;
    case Op::MakeFunction:
      if (is_passed_on(machine, machine.graph[block].items, index)) {
        for (const ValueId operand : machine.operands(id)) {
          if (!is_op(machine.graph[operand], Op::LoadConst)) code.take(operand);
        }
        if (next < machine.graph[block].items.size() &&
            is_op(machine.graph[machine.graph[block].items[next]], Op::SetFunctionAttribute)) {
          code.take(machine.operands(machine.graph[block].items[next++])[0]);
        }
        break;
      }
      next = function(machine, block, index, code);
      break;
    default:
      throw NotStructured("an operation that Python has no words for (" +
                              std::string(bytecode::name_of(value.op)) + ")",
                          value.offset);
  }
  machine.make.at = before;
  return next;
}

}  // namespace pellucid::fallback
