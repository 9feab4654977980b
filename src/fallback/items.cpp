// SPDX-License-Identifier: Apache-2.0
// Items that are no expression or statement of Python: each becomes a few statements that do the
// same.
#include <algorithm>

#include "ast/nodes.h"
#include "fallback/state_machine.h"
#include "fallback/unstructured.h"
#include "structure/graph/not_structured.h"

namespace pellucid::fallback {

using ast::CmpOperator;
using ast::Kind;
using ast::NodeId;

void Machine::items(BlockId id, Statements& code) {
  const std::vector<ValueId> all = graph_[id].items;
  // Runs of ordinary items are read together, in the form in which a compiler writes them.
  size_t begin = 0;
  const auto flush = [&](size_t end) {
    if (begin < end) code.run(std::span(all).subspan(begin, end - begin));
  };
  remake_functions(id, code, true);
  for (size_t i = 0; i < all.size();) {
    if (!is_special(all, i)) {
      ++i;
      continue;
    }
    flush(i);
    i = special(id, i, code);
    begin = i;
  }
  flush(all.size());
}

// Makes the functions of class bodies and comprehensions that other blocks have made: here, where
// they are called.
void Machine::remake_functions(BlockId id, Statements& code, bool preloads) {
  std::vector<ValueId> made;
  for (const ValueId item : graph_[id].items) {
    if (!is_op(graph_[item], Op::Call, Op::CallKw, Op::CallEx)) continue;
    for (const ValueId operand : operands(item)) {
      const ValueId function = graph_.resolve(operand);
      const auto& own = graph_[id].items;
      if (std::find(own.begin(), own.end(), function) != own.end()) continue;
      if (!is_made_for_a_call(graph_, tree_.module(), function)) continue;
      if (std::find(made.begin(), made.end(), function) == made.end()) made.push_back(function);
    }
  }
  for (const ValueId function : made) {
    if (!preloads && !needs_definition(function)) continue;
    const NodeId literal = made_for_a_call(function);
    if (!literal.valid()) fail("the body of a class that is made elsewhere", id);
    if (needs_definition(function)) {
      context_.materialized[function] = define(literal, code);
    } else {
      code.preload(function, literal);
    }
  }
}

// Returns the literal of a function that is made for one call.
NodeId Machine::made_for_a_call(ValueId function) {
  ValueId bare = function;
  if (is_op(graph_[function], Op::SetFunctionAttribute)) bare = operands(function)[1];
  ir::Value value = graph_[bare];
  value.a = 0;  // the free variables determine the closure
  const auto all = operands(bare);
  Nodes constants;
  for (const ValueId operand : all) {
    if (is_op(graph_[operand], Op::LoadConst))
      constants.push_back(expressions_.make(graph_[operand], {}));
  }
  value.first += static_cast<uint32_t>(all.size() - constants.size());
  value.count = static_cast<uint32_t>(constants.size());
  return expressions_.make(value, constants);
}

// Returns true if a function that is made for one call has its call in another block, which makes
// it again.
bool Machine::is_passed_on(const std::vector<ValueId>& all, size_t i) const {
  ValueId id = all[i];
  if (is_op(graph_[id], Op::MakeFunction) && i + 1 < all.size() &&
      is_op(graph_[all[i + 1]], Op::SetFunctionAttribute) && operands(all[i + 1])[1] == id) {
    id = all[++i];
  }
  if (!is_made_for_a_call(graph_, tree_.module(), id)) return false;
  return std::none_of(all.begin(), all.end(), [&](ValueId item) {
    const auto used = operands(item);
    return std::find(used.begin(), used.end(), id) != used.end();
  });
}

// Returns true if the statement is one that the compiler adds at the end of class bodies.
bool Machine::is_left_out(ValueId id) const {
  if (scope_ != Scope::Class || !is_op(graph_[id], Op::StoreName)) return false;
  const std::string_view name = tree_.text(graph_[id].symbol());
  return name == "__classcell__" || name == "__classdictcell__" || name == "__static_attributes__";
}

// Returns true for a function whose name is no Python name and whose body is no expression.
bool Machine::needs_definition(ValueId id) const {
  if (is_op(graph_[id], Op::SetFunctionAttribute)) id = operands(id)[1];
  for (const ValueId operand : operands(id)) {
    if (!is_op(graph_[operand], Op::LoadConst)) continue;
    const object::Const& constant = tree_.module()[graph_[operand].constant()];
    if (constant.kind != object::ConstKind::Code) continue;
    if (is_identifier(tree_.text(tree_.module()[constant.code].name))) return false;
    return is_unstructured(tree_, bodies_[constant.code.index()]);
  }
  return false;
}

// Returns true if the iterator is the argument of a comprehension called right away, which makes
// its iterator itself.
bool Machine::is_iterated_by_comprehension(const std::vector<ValueId>& all, size_t i) const {
  if (i + 1 >= all.size() || !is_op(graph_[all[i + 1]], Op::Call)) return false;
  const auto parts = operands(all[i + 1]);
  if (parts.size() != 2 || parts[1] != all[i]) return false;
  const ValueId function = graph_.resolve(parts[0]);
  return is_made_for_a_call(graph_, tree_.module(), function) && !needs_definition(function);
}

bool Machine::is_special(const std::vector<ValueId>& all, size_t i) const {
  const ValueId id = all[i];
  const ir::Value& value = graph_[id];
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
      return !is_iterated_by_comprehension(all, i);
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
        if (is_op(graph_[all[k]], Op::YieldFrom) && operands(all[k])[0] == id) return false;
      }
      return true;
    }
    case Op::YieldFrom:
      return is_op(graph_[operands(id)[0]], Op::GetAnext);
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
      const SlotKind kind = slots_.of(operands(id)[0]).kind;
      return kind == SlotKind::Boxed || kind == SlotKind::Null;
    }
    case Op::StoreName:
      return is_left_out(id);
    case Op::Pop:
      return graph_[operands(id)[0]].kind == ValueKind::Phi ||
             graph_[operands(id)[0]].kind == ValueKind::Null;
    case Op::MakeFunction:
      return needs_definition(id) || is_passed_on(all, i);
    default:
      return false;
  }
}

// Stores a value in a variable.
void Machine::keep(BlockId block, ValueId id, NodeId value, Statements& code) {
  Symbol name = home(block, id);
  if (!name.valid()) name = context_.fresh_name("temp");
  code.append(make_.assign(name, value));
  context_.materialized[id] = name;
}

// Returns a name of the value.
Symbol Machine::named(ValueId id, const char* stem, Statements& code) {
  const NodeId node = code.take(id);
  if (tree_.is(node, Kind::Name) && context_.materialized.count(graph_.resolve(id))) {
    return tree_.as<ast::Name>(node).id;
  }
  const Symbol name = context_.fresh_name(stem);
  code.append(make_.assign(name, node));
  return name;
}

// Writes items[index]. Returns the index of the next item.
size_t Machine::special(BlockId block, size_t index, Statements& code) {
  const ValueId id = graph_[block].items[index];
  const ir::Value value = graph_[id];
  const ast::Where before = make_.at;
  make_.at = {value.line, value.offset};
  const uint32_t level = graph_[block].exc_depth;
  size_t next = index + 1;
  switch (value.op) {
    case Op::Pop:
    case Op::StoreName:
      break;
    case Op::PushExcInfo: {
      // The next state raises it, for the surrounding clause to catch.
      Nodes statements;
      hand_over(make_.name(named(operands(id)[0], "exception", code)), statements);
      for (const NodeId statement : statements) code.append(statement);
      break;
    }
    case Op::LoadFastAndClear:
      clear_local(block, id, code);
      break;
    case Op::StoreFast:
      restore_local(id, code);
      break;
    case Op::BeforeWith:
    case Op::BeforeAsyncWith:
      enter_with(block, id, code);
      break;
    case Op::WithExceptStart: {
      const Symbol exit = named(operands(id)[0], "exit", code);
      const auto exception = [&] { return exception_at(level); };
      keep(block, id,
           make_.call(make_.name(exit),
                      {make_.call(make_.builtin("type"), {exception()}), exception(),
                       make_.attribute(exception(), "__traceback__")}),
           code);
      break;
    }
    case Op::ExcMatch:
      exception_match(block, id, code);
      break;
    case Op::EgMatch:
      split_group(block, id, code);
      break;
    case Op::Intrinsic2:
      join_raised(block, id, code);
      break;
    case Op::EndAsyncFor:
      end_async_for(block, code);
      break;
    case Op::GetIter:
      keep(block, id, make_.call(make_.builtin("iter"), {code.take(operands(id)[0])}), code);
      break;
    case Op::GetAiter:
    case Op::GetAnext: {
      const NodeId object = code.take(operands(id)[0]);
      const char* method = value.op == Op::GetAiter ? "__aiter__" : "__anext__";
      keep(block, id, make_.call(make_.attribute(object, method), {}), code);
      break;
    }
    case Op::YieldFrom:
      keep(block, id, tree_.add(ast::Await{code.take(operands(id)[0])}, make_.at), code);
      break;
    case Op::GetLen:
      keep(block, id, make_.call(make_.builtin("len"), {code.take(operands(id)[0])}), code);
      break;
    case Op::MatchSequence: {
      const NodeId star = tree_.add(ast::MatchStar{Symbol()}, make_.at);
      match_kind(block, id, tree_.add(ast::MatchSequence{tree_.list({star})}, make_.at), code);
      break;
    }
    case Op::MatchMapping:
      match_kind(block, id, tree_.add(ast::MatchMapping{}, make_.at), code);
      break;
    case Op::MatchKeys:
      match_keys(block, id, code);
      break;
    case Op::MatchClass:
      match_class(block, id, code);
      break;
    case Op::CopyDictWithoutKeys:
      copy_without_keys(block, id, code);
      break;
    case Op::ListAppend:
    case Op::SetAdd:
    case Op::MapAdd:
    case Op::ListExtend:
    case Op::SetUpdate:
    case Op::DictUpdate:
      add_to_container(id, code);
      break;
    case Op::MakeFunction:
      if (is_passed_on(graph_[block].items, index)) {
        for (const ValueId operand : operands(id)) {
          if (!is_op(graph_[operand], Op::LoadConst)) code.take(operand);
        }
        if (next < graph_[block].items.size() &&
            is_op(graph_[graph_[block].items[next]], Op::SetFunctionAttribute)) {
          code.take(operands(graph_[block].items[next++])[0]);
        }
        break;
      }
      next = function(block, index, code);
      break;
    default:
      throw NotStructured("an operation that Python has no words for (" +
                              std::string(bytecode::name_of(value.op)) + ")",
                          value.offset);
  }
  make_.at = before;
  return next;
}

// manager -> its __exit__, and what __enter__ returns
void Machine::enter_with(BlockId block, ValueId id, Statements& code) {
  const bool is_async = graph_[id].op == Op::BeforeAsyncWith;
  const Symbol manager = named(operands(id)[0], "manager", code);
  const Symbol enter = context_.fresh_name("enter");
  code.append(make_.assign(
      enter, make_.attribute(make_.name(manager), is_async ? "__aenter__" : "__enter__")));
  keep(block, id, make_.attribute(make_.name(manager), is_async ? "__aexit__" : "__exit__"), code);
  const auto entered = elements_.find(id);
  const NodeId call = make_.call(make_.name(enter), {});
  if (entered == elements_.end()) return code.append(make_.expression(call));
  const ValueId element = entered->second[0];
  keep(block, element, call, code);
  // From here on it is an ordinary value, and no part of a `with`.
  graph_[element].kind = ValueKind::Instr;
  graph_[element].op = Op::LoadName;
  graph_[element].a = context_.materialized[element].value;
  graph_[element].count = 0;
  for (size_t i = 1; i < entered->second.size(); ++i) graph_[entered->second[i]] = graph_[element];
}

// Returns true if `value` is the exception (or, before 3.11, its type) that is being handled at
// this level.
bool Machine::is_handled(ValueId value, uint32_t level) const {
  const Slot slot = slots_.of(value);
  return level > 0 && (slot.handles == level || slot.kind == SlotKind::Hidden);
}

// Tests an exception by an except clause: only such a clause has these rules.
void Machine::exception_match(BlockId block, ValueId id, Statements& code) {
  const std::vector<ValueId> both(operands(id).begin(), operands(id).end());
  const uint32_t level = graph_[block].exc_depth;
  const bool handled = is_handled(both[0], level);
  const Symbol type = named(both[1], "type", code);
  const Symbol exception = handled ? Symbol() : named(both[0], "exception", code);
  const Symbol result = context_.fresh_name("matches");
  const NodeId yes =
      make_.handler(make_.name(type), Symbol(), {make_.assign(result, make_.truth(true))});
  const NodeId no = make_.handler(make_.builtin("BaseException"), Symbol(),
                                  {make_.assign(result, make_.truth(false))});
  Nodes keep;
  if (!handled) {
    hand_over(make_.name(exception), keep);
    for (const NodeId statement : keep) code.append(statement);
  }
  const NodeId again = make_.raise(handled ? NodeId() : make_.name(exception));
  code.append(make_.try_except({again}, {yes, no}));
  if (!handled) {
    code.append(restore(make_.name(thrown_)));
    code.append(make_.assign_all({thrown_, saved_}, make_.none()));
  }
  context_.materialized[id] = result;
}

// Continues only if the iterator is exhausted.
void Machine::end_async_for(BlockId block, Statements& code) {
  const ir::Block& b = graph_[block];
  const auto test = [&](NodeId exception) {
    const NodeId fits =
        make_.call(make_.builtin("isinstance"), {exception, make_.builtin("StopAsyncIteration")});
    return tree_.add(ast::UnaryOp{static_cast<uint32_t>(ast::UnaryOperator::Not), fits}, make_.at);
  };
  const ValueId id = *std::find_if(b.items.begin(), b.items.end(), [&](ValueId item) {
    return is_op(graph_[item], Op::EndAsyncFor);
  });
  if (graph_[id].a == 7) {
    code.append(make_.if_else(test(exception_at(b.exc_depth)), {make_.raise()}));
    return;
  }
  // The exception is on top of the stack at the start of the block.
  if (b.params.empty()) fail("an end of an asynchronous loop that nothing is raised to", block);
  const Symbol exception = variable(b.params.size() - 1);
  Statements other(context_);
  raise_as_it_is(make_.name(exception), other);
  code.append(make_.if_else(test(make_.name(exception)), other.take_list()));
}

// Saves the local's value in a list, which is empty if it is unbound.
void Machine::clear_local(BlockId block, ValueId id, Statements& code) {
  const Symbol local = graph_[id].symbol();
  const NodeId full = tree_.add(ast::List{tree_.list({make_.name(local)})}, make_.at);
  if (scope_ != Scope::Function) return keep(block, id, make_.empty_list(), code);
  const Symbol box = context_.fresh_name("outer");
  const NodeId unbound = make_.handler(make_.builtin("UnboundLocalError"), Symbol(),
                                       {make_.assign(box, make_.empty_list())});
  code.append(make_.try_except({make_.assign(box, full)}, {unbound}));
  context_.materialized[id] = box;
}

void Machine::restore_local(ValueId id, Statements& code) {
  const ValueId value = operands(id)[0];
  const Symbol local = graph_[id].symbol();
  Nodes unbind = {make_.assign(local, make_.none())};
  // Generated names of a module or class body stay until its end.
  if (scope_ == Scope::Function) unbind.push_back(make_.delete_all({local}));
  // Values loaded from it earlier are kept.
  code.settle();
  if (slots_.of(value).kind == SlotKind::Null) {
    for (const NodeId statement : unbind) code.append(statement);
    return;
  }
  const Symbol box = named(value, "outer", code);
  const NodeId target = tree_.add(ast::List{tree_.list({make_.name(local)})}, make_.at);
  code.append(make_.if_else(make_.name(box), {make_.assign(target, make_.name(box))}, unbind));
}

void Machine::add_to_container(ValueId id, Statements& code) {
  const ir::Value& value = graph_[id];
  const char* method = value.op == Op::ListAppend   ? "append"
                       : value.op == Op::ListExtend ? "extend"
                       : value.op == Op::SetAdd     ? "add"
                       : value.op == Op::MapAdd     ? "__setitem__"
                                                    : "update";
  const std::vector<ValueId> parts(operands(id).begin(), operands(id).end());
  Nodes nodes = code.take_many(parts);
  const NodeId function = make_.attribute(nodes[0], method);
  nodes.erase(nodes.begin());
  code.append(make_.expression(make_.call(function, nodes)));
}

// Defines a function whose body is no expression, where it is made.
size_t Machine::function(BlockId block, size_t index, Statements& code) {
  const std::vector<ValueId>& all = graph_[block].items;
  ValueId id = all[index];
  const std::vector<ValueId> parts(operands(id).begin(), operands(id).end());
  NodeId literal = expressions_.make(graph_[id], code.take_many(parts));
  size_t next = index + 1;
  while (literal.valid() && next < all.size() &&
         is_op(graph_[all[next]], Op::SetFunctionAttribute) && operands(all[next])[1] == id) {
    const ValueId attribute = operands(all[next])[0];
    id = all[next++];
    literal = expressions_.make(graph_[id], std::array<NodeId, 2>{code.take(attribute), literal});
  }
  if (!literal.valid()) {
    throw NotStructured("a function whose parts are not written where it is made",
                        graph_[id].offset);
  }
  if (!is_literal(tree_, literal)) {
    code.preload(id, literal);
    return next;
  }
  context_.materialized[id] = define(literal, code);
  return next;
}

Symbol Machine::define(NodeId literal, Statements& code) {
  const auto def = tree_.as<ast::FunctionDef>(literal);
  const std::string own(tree_.text(def.name));
  std::string stem;
  for (const char c : own) {
    if (c != '<' && c != '>' && c != ' ') stem += c;
  }
  const Symbol name = context_.fresh_name(is_identifier(stem) ? stem.c_str() : "function");
  code.append(hoisted(tree_, literal, name));
  if (own != "<listcomp>" && own != "<setcomp>" && own != "<dictcomp>") {
    for (const char* attribute : {"__name__", "__qualname__"}) {
      code.append(make_.assign(make_.attribute(make_.name(name), attribute), make_.text(own)));
    }
  }
  return name;
}

}  // namespace pellucid::fallback
