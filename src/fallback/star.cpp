// SPDX-License-Identifier: Apache-2.0
#include "fallback/star.h"

#include "ast/nodes.h"
#include "fallback/items.h"

namespace pellucid::fallback {

using ast::CmpOperator;
using ast::NodeId;

namespace {

constexpr const char* kGroup = "BaseExceptionGroup";

NodeId is_group(CodeMaker& make, Symbol exception) {
  return make.call(make.builtin("isinstance"), {make.name(exception), make.builtin(kGroup)});
}

// Computes the exception to raise after the clauses of a group: CPython's _PyExc_PrepReraiseStar().
class Reraise {
 public:
  using Nodes = CodeMaker::Nodes;

  Reraise(CodeMaker& make, ast::Tree& tree, FunctionContext& context, Symbol caught, Symbol all)
      : make_(make),
        tree_(tree),
        caught_(caught),
        all_(all),
        raised_(context.fresh_name("raised")),
        unmatched_(context.fresh_name("unmatched")),
        leaves_(context.fresh_name("leaves")),
        each_(context.fresh_name("each")),
        result_(context.fresh_name("rest")) {}

  // Appends code that stores an exception, or None, in `result()`.
  void write(Statements& code) {
    code.append(make_.assign(result_, make_.none()));
    for (const Symbol list : {raised_, unmatched_, leaves_}) {
      code.append(make_.assign(list, make_.list()));
    }
    const Nodes group = {sort(), gather_leaves(), project(), join()};
    // An exception that is no group runs at most one clause.
    code.append(make_.if_else(is_group(make_, caught_), group, {take_first(all_)}));
  }
  Symbol result() const { return result_; }

 private:
  // Sorts the exceptions that the clauses left: those with the traceback, cause, context and notes
  // of the caught exception were only not matched; the others were raised by a clause.
  NodeId sort() {
    const NodeId is_there = make_.compare(name(each_), CmpOperator::IsNot, make_.none());
    const NodeId is_same = make_.compare(kept_by(each_), CmpOperator::Eq, kept_by(caught_));
    const NodeId sorted =
        make_.if_else(is_same, {make_.expression(call(unmatched_, "append", name(each_)))},
                      {make_.expression(call(raised_, "append", name(each_)))});
    return for_each(all_, {make_.if_else(is_there, {sorted})});
  }

  NodeId kept_by(Symbol exception) {
    Nodes parts;
    for (const char* part : {"__traceback__", "__cause__", "__context__"}) {
      parts.push_back(identity(make_.attribute(name(exception), part)));
    }
    parts.push_back(identity(make_.call(make_.builtin("getattr"),
                                        {name(exception), make_.text("__notes__"), make_.none()})));
    return make_.tuple(parts);
  }

  // Appends the members of each group in `unmatched_` to that list while it is iterated.
  NodeId gather_leaves() {
    const NodeId inner = make_.attribute(name(each_), "exceptions");
    const NodeId descend =
        make_.if_else(is_group(make_, each_), {make_.expression(call(unmatched_, "extend", inner))},
                      {make_.expression(call(leaves_, "append", identity(name(each_))))});
    return for_each(unmatched_, {descend});
  }

  // rest = caught.subgroup(lambda each, leaves=leaves: id(each) in leaves)
  NodeId project() {
    ast::arguments parameters{};
    parameters.args = tree_.list({parameter(each_), parameter(leaves_)});
    parameters.defaults = tree_.list({name(leaves_)});
    const NodeId is_leaf = make_.compare(identity(name(each_)), CmpOperator::In, name(leaves_));
    const NodeId function =
        tree_.add(ast::Lambda{tree_.add(parameters, make_.at), is_leaf}, make_.at);
    return make_.assign(result_, call(caught_, "subgroup", function));
  }

  // A single exception needs no group.
  NodeId join() {
    const NodeId count = make_.call(make_.builtin("len"), {name(raised_)});
    const NodeId joined = make_.call(make_.builtin(kGroup), {make_.text(""), name(raised_)});
    const NodeId several = make_.if_else(make_.compare(count, CmpOperator::Gt, make_.integer(1)),
                                         {make_.assign(result_, joined)}, {take_first(raised_)});
    const NodeId is_any = make_.compare(name(result_), CmpOperator::IsNot, make_.none());
    const NodeId more =
        make_.if_else(is_any, {make_.expression(call(raised_, "append", name(result_)))});
    return make_.if_else(name(raised_), {more, several});
  }

  NodeId take_first(Symbol list) {
    return for_each(list, {make_.assign(result_, name(each_)), make_.break_loop()});
  }
  NodeId for_each(Symbol list, const Nodes& body) {
    return tree_.add(ast::For{name(each_), name(list), tree_.list(body), {}, 0}, make_.at);
  }
  NodeId name(Symbol symbol) { return make_.name(symbol); }
  NodeId parameter(Symbol symbol) { return tree_.add(ast::arg{symbol, {}}, make_.at); }
  NodeId identity(NodeId of) { return make_.call(make_.builtin("id"), {of}); }
  NodeId call(Symbol object, const char* method, NodeId argument) {
    return make_.call(make_.attribute(name(object), method), {argument});
  }

  CodeMaker& make_;
  ast::Tree& tree_;
  Symbol caught_, all_;
  Symbol raised_, unmatched_, leaves_;  // lists
  Symbol each_;
  Symbol result_;
};

}  // namespace

bool ends_in_split(const Machine& machine, BlockId id) {
  const ir::Block& b = machine.graph[id];
  return !b.items.empty() && is_op(machine.graph[b.items.back()], Op::EgMatch) && b.exc_depth > 0;
}

void handle_match(Machine& machine, BlockId id, Nodes& out) {
  const BlockId next = machine.graph[id].next[0].to;
  const Symbol match = machine.variable(machine.graph[next].params.size() - 1);
  Nodes matched, unmatched;
  hand_over(machine, machine.make.name(match), matched);
  set_state(machine, machine.pushed_by[id.index()], matched);
  matched.push_back(machine.make.break_loop());
  go(machine, next, machine.graph[id].exc_depth, unmatched);
  const NodeId is_any =
      machine.make.compare(machine.make.name(match), CmpOperator::IsNot, machine.make.none());
  out.push_back(machine.make.if_else(is_any, matched, unmatched));
}

void split_group(Machine& machine, BlockId block, ValueId id, Statements& code) {
  const std::vector<ValueId> both(machine.operands(id).begin(), machine.operands(id).end());
  const Symbol type = named(machine, both[1], "type", code);
  const Symbol exception = machine.context.fresh_name("exception");
  code.append(machine.make.assign(exception, code.take(both[0])));
  const Symbol rest = machine.context.fresh_name("rest");
  const Symbol match = machine.context.fresh_name("match");
  const Symbol other = machine.context.fresh_name("other");
  const auto name = [&](Symbol symbol) { return machine.make.name(symbol); };
  const auto is_none = [&](Symbol symbol, CmpOperator op) {
    return machine.make.compare(name(symbol), op, machine.make.none());
  };

  // match = exception, if any part of it is of the type
  const NodeId catches =
      machine.make.handler(name(type), {}, {machine.make.assign(match, name(exception))});
  const NodeId matching =
      machine.make.try_except({machine.make.raise(name(exception))}, {catches}, true);
  // An exception with this one as its context is an error about the type; all others are the
  // unmatched part.
  const NodeId context = machine.make.attribute(name(other), "__context__");
  const NodeId again = machine.make.if_else(
      machine.make.compare(context, CmpOperator::Is, name(exception)), {machine.make.raise()});
  const NodeId unmatched =
      machine.make.handler(machine.make.builtin("BaseException"), other, {again});
  Nodes given;
  hand_over(machine, name(exception), given);
  given.push_back(machine.make.try_except({matching}, {unmatched}));
  given.push_back(restore(machine, name(machine.thrown)));
  given.push_back(machine.make.assign_all({machine.thrown, machine.saved}, machine.make.none()));
  const NodeId split =
      machine.make.call(machine.make.attribute(name(exception), "split"), {name(type)});
  const NodeId wrapped = machine.make.call(
      machine.make.builtin(kGroup), {machine.make.text(""), machine.make.list({name(exception)})});
  const NodeId parts = machine.make.if_else(
      is_group(machine.make, exception),
      {machine.make.assign(machine.make.tuple({name(match), name(rest)}), split)},
      {machine.make.assign(match, wrapped), machine.make.assign(rest, machine.make.none())});
  given.push_back(machine.make.if_else(is_none(match, CmpOperator::IsNot), {parts}));

  code.append(machine.make.assign(rest, name(exception)));
  code.append(machine.make.assign(match, machine.make.none()));
  code.append(machine.make.if_else(is_none(exception, CmpOperator::IsNot), given));
  const auto elements = machine.elements.find(id);
  if (elements == machine.elements.end()) return;
  for (const ValueId element : elements->second) {
    keep(machine, block, element, name(machine.graph[element].a == 0 ? rest : match), code);
  }
}

void join_raised(Machine& machine, BlockId block, ValueId id, Statements& code) {
  const std::vector<ValueId> both(machine.operands(id).begin(), machine.operands(id).end());
  const Symbol caught = machine.context.fresh_name("exception");
  code.append(machine.make.assign(caught, code.take(both[0])));
  Reraise reraise(machine.make, machine.tree, machine.context, caught,
                  named(machine, both[1], "exceptions", code));
  reraise.write(code);
  keep(machine, block, id, machine.make.name(reraise.result()), code);
}

}  // namespace pellucid::fallback
