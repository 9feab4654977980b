// SPDX-License-Identifier: Apache-2.0
// The operations of `except*`, one by one: as in CPython's exceptions.c and ceval.c.
#include "ast/nodes.h"
#include "fallback/state_machine.h"

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
      code.append(make_.assign(list, make_.empty_list()));
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

// Returns true if the block ends by splitting off the part that one clause handles.
bool Machine::ends_in_split(BlockId id) const {
  const ir::Block& b = graph_[id];
  return !b.items.empty() && is_op(graph_[b.items.back()], Op::EgMatch) && b.exc_depth > 0;
}

// Makes the matched part the exception that is being handled from here on: it is raised again, to
// be caught where the whole group was.
void Machine::handle_match(BlockId id, Nodes& out) {
  const BlockId next = graph_[id].next[0].to;
  const Symbol match = variable(graph_[next].params.size() - 1);
  Nodes matched, unmatched;
  hand_over(make_.name(match), matched);
  set_state(pushed_by_[id.index()], matched);
  matched.push_back(make_.break_loop());
  go(next, graph_[id].exc_depth, unmatched);
  const NodeId is_any = make_.compare(make_.name(match), CmpOperator::IsNot, make_.none());
  out.push_back(make_.if_else(is_any, matched, unmatched));
}

// exception, type -> the unmatched part, the matched part (each maybe None). Only `except*` decides
// which types it accepts; the parts are split again, since raising the exception changes what they
// keep.
void Machine::split_group(BlockId block, ValueId id, Statements& code) {
  const std::vector<ValueId> both(operands(id).begin(), operands(id).end());
  const Symbol type = named(both[1], "type", code);
  const Symbol exception = context_.fresh_name("exception");
  code.append(make_.assign(exception, code.take(both[0])));
  const Symbol rest = context_.fresh_name("rest");
  const Symbol match = context_.fresh_name("match");
  const Symbol other = context_.fresh_name("other");
  const auto name = [&](Symbol symbol) { return make_.name(symbol); };
  const auto is_none = [&](Symbol symbol, CmpOperator op) {
    return make_.compare(name(symbol), op, make_.none());
  };

  // match = exception, if any part of it is of the type
  const NodeId catches = make_.handler(name(type), {}, {make_.assign(match, name(exception))});
  const NodeId matching = make_.try_except({make_.raise(name(exception))}, {catches}, true);
  // An exception with this one as its context is an error about the type; all others are the
  // unmatched part.
  const NodeId context = make_.attribute(name(other), "__context__");
  const NodeId again =
      make_.if_else(make_.compare(context, CmpOperator::Is, name(exception)), {make_.raise()});
  const NodeId unmatched = make_.handler(make_.builtin("BaseException"), other, {again});
  Nodes given;
  hand_over(name(exception), given);
  given.push_back(make_.try_except({matching}, {unmatched}));
  given.push_back(restore(name(thrown_)));
  given.push_back(make_.assign_all({thrown_, saved_}, make_.none()));
  const NodeId split = make_.call(make_.attribute(name(exception), "split"), {name(type)});
  const NodeId wrapped =
      make_.call(make_.builtin(kGroup), {make_.text(""), make_.list({name(exception)})});
  const NodeId parts = make_.if_else(
      is_group(make_, exception), {make_.assign(make_.tuple({name(match), name(rest)}), split)},
      {make_.assign(match, wrapped), make_.assign(rest, make_.none())});
  given.push_back(make_.if_else(is_none(match, CmpOperator::IsNot), {parts}));

  code.append(make_.assign(rest, name(exception)));
  code.append(make_.assign(match, make_.none()));
  code.append(make_.if_else(is_none(exception, CmpOperator::IsNot), given));
  const auto elements = elements_.find(id);
  if (elements == elements_.end()) return;
  for (const ValueId element : elements->second) {
    keep(block, element, name(graph_[element].a == 0 ? rest : match), code);
  }
}

// the exception that was caught, a list of what clauses left -> the exception to raise, maybe None
void Machine::join_raised(BlockId block, ValueId id, Statements& code) {
  const std::vector<ValueId> both(operands(id).begin(), operands(id).end());
  const Symbol caught = context_.fresh_name("exception");
  code.append(make_.assign(caught, code.take(both[0])));
  Reraise reraise(make_, tree_, context_, caught, named(both[1], "exceptions", code));
  reraise.write(code);
  keep(block, id, make_.name(reraise.result()), code);
}

}  // namespace pellucid::fallback
