// The operations of `except*`, each on its own: what CPython's exceptions.c and ceval.c do.
#include "structure/machine.h"

namespace pellucid::structure {

using ast::CmpOperator;
using ast::NodeId;

namespace {

constexpr const char* kGroup = "BaseExceptionGroup";

}  // namespace

// Whether the block ends in finding what one clause handles.
bool Machine::ends_in_split(BlockId id) const {
  const ir::Block& b = graph_[id];
  return !b.items.empty() && is_op(b.items.back(), Op::EgMatch) && b.exc_depth > 0;
}

// What a clause matches is the exception that is handled from here on: raised anew, to be caught
// where the whole was.
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

NodeId Machine::is_group(Symbol exception) {
  return make_.call(make_.builtin("isinstance"), {make_.name(exception), make_.builtin(kGroup)});
}

// exception, type -> what does not match, what does (each maybe None). Only `except*` knows which
// types it takes; the parts are split off anew, since raising the exception changes what they keep.
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
  const NodeId matching = make_.try_star({make_.raise(name(exception))}, {catches});
  // What has the exception for its context is about the type; all else is what did not match.
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
      is_group(exception), {make_.assign(make_.tuple({name(match), name(rest)}), split)},
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

// the exception that was caught, a list -> what is left to raise, maybe None. Of the list, what
// still has all that the caught one had was only not matched; the rest was raised by a clause.
void Machine::join_raised(BlockId block, ValueId id, Statements& code) {
  const std::vector<ValueId> both(operands(id).begin(), operands(id).end());
  const Symbol caught = context_.fresh_name("exception");
  code.append(make_.assign(caught, code.take(both[0])));
  const Symbol all = named(both[1], "exceptions", code);
  const Symbol raised = context_.fresh_name("raised");
  const Symbol unmatched = context_.fresh_name("unmatched");
  const Symbol leaves = context_.fresh_name("leaves");
  const Symbol each = context_.fresh_name("each");
  const Symbol result = context_.fresh_name("rest");
  const auto name = [&](Symbol symbol) { return make_.name(symbol); };
  const auto call = [&](Symbol object, const char* method, NodeId argument) {
    return make_.call(make_.attribute(name(object), method), {argument});
  };
  const auto identity = [&](NodeId of) { return make_.call(make_.builtin("id"), {of}); };
  const auto for_each = [&](Symbol list, const Nodes& body) {
    return tree_.add(ast::For{name(each), name(list), tree_.list(body), {}, 0}, make_.at);
  };
  const auto first_of = [&](Symbol list) {
    return for_each(list, {make_.assign(result, name(each)), make_.break_loop()});
  };

  const auto kept_by = [&](Symbol exception) {
    Nodes parts;
    for (const char* part : {"__traceback__", "__cause__", "__context__"}) {
      parts.push_back(identity(make_.attribute(name(exception), part)));
    }
    const NodeId notes = make_.call(make_.builtin("getattr"),
                                    {name(exception), make_.text("__notes__"), make_.none()});
    parts.push_back(identity(notes));
    return make_.tuple(parts);
  };
  const NodeId is_same = make_.compare(kept_by(each), CmpOperator::Eq, kept_by(caught));
  const NodeId sort =
      make_.if_else(is_same, {make_.expression(call(unmatched, "append", name(each)))},
                    {make_.expression(call(raised, "append", name(each)))});
  const NodeId is_there = make_.compare(name(each), CmpOperator::IsNot, make_.none());

  // The groups among these grow the list that is gone through by what they hold.
  const NodeId inner = make_.attribute(name(each), "exceptions");
  const NodeId descend =
      make_.if_else(is_group(each), {make_.expression(call(unmatched, "extend", inner))},
                    {make_.expression(call(leaves, "append", identity(name(each))))});
  // caught.subgroup(lambda each, leaves=leaves: id(each) in leaves)
  ast::arguments parameters{};
  parameters.args = tree_.list(
      {tree_.add(ast::arg{each, {}}, make_.at), tree_.add(ast::arg{leaves, {}}, make_.at)});
  parameters.defaults = tree_.list({name(leaves)});
  const NodeId is_leaf =
      tree_.add(ast::Lambda{tree_.add(parameters, make_.at),
                            make_.compare(identity(name(each)), CmpOperator::In, name(leaves))},
                make_.at);
  const NodeId more = make_.if_else(make_.compare(name(result), CmpOperator::IsNot, make_.none()),
                                    {make_.expression(call(raised, "append", name(result)))});
  // One exception alone needs no group.
  const NodeId count = make_.call(make_.builtin("len"), {name(raised)});
  const NodeId joined = make_.call(make_.builtin(kGroup), {make_.text(""), name(raised)});
  const NodeId several = make_.if_else(make_.compare(count, CmpOperator::Gt, make_.integer(1)),
                                       {make_.assign(result, joined)}, {first_of(raised)});
  const Nodes projected = {
      for_each(all, {make_.if_else(is_there, {sort})}),
      for_each(unmatched, {descend}),
      make_.assign(result, call(caught, "subgroup", is_leaf)),
      make_.if_else(name(raised), {more, several}),
  };

  code.append(make_.assign(result, make_.none()));
  for (const Symbol list : {raised, unmatched, leaves}) {
    code.append(make_.assign(list, make_.empty_list()));
  }
  // An exception that is no group runs one clause at most.
  code.append(make_.if_else(is_group(caught), projected, {first_of(all)}));
  keep(block, id, name(result), code);
}

}  // namespace pellucid::structure
