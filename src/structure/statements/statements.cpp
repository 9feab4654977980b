// SPDX-License-Identifier: Apache-2.0
#include "structure/statements/statements.h"

#include <algorithm>
#include <array>

#include "ast/nodes.h"
#include "base/check.h"
#include "object/identifiers.h"
#include "structure/graph/not_structured.h"
#include "structure/scopes/dead_code.h"
#include "structure/scopes/names.h"
#include "structure/scopes/unfoldable.h"

namespace pellucid::structure {

using ast::NodeId;

Symbol FunctionContext::fresh_name(const char* stem) {
  if (is_trial) return tree.module()[graph.f.code].name;
  for (;;) {
    const std::string text = stem + std::string("_") + std::to_string(++temporaries);
    if (tree.module().strings.find(text).valid()) continue;
    made.push_back(tree.intern(text));
    return made.back();
  }
}

Symbol FunctionContext::name_of_definition(NodeId literal) {
  const Symbol own = literal_name(tree, literal);
  if (is_trial) return own;
  const std::string text = object::as_identifier(tree.text(own));
  if (text == tree.text(own)) return own;
  if (tree.module().strings.find(text).valid()) return fresh_name(text.c_str());
  made.push_back(tree.intern(text));
  return made.back();
}

void FunctionContext::check_kept(ValueId id) const {
  const auto kept = kept_in.find(id);
  if (analysis == nullptr || kept == kept_in.end()) return;
  const BlockId there = kept->second;
  if (there.valid() && here.valid() && (there == here || analysis->dominates(there, here))) return;
  throw NotStructured("a value that is kept on some ways only", graph[id].offset);
}

std::span<const ValueId> Statements::operands(ValueId id) const { return c_.graph.f.operands(id); }

NodeId Statements::name(Symbol symbol, ast::Where where) {
  return c_.tree.add(ast::Name{symbol}, where);
}

std::vector<NodeId> Statements::take_list() {
  // Its other use is on another path.
  if (!assignments_.empty()) {
    throw NotStructured("a store of a value that other ways use",
                        where(assignments_[0].value).offset);
  }
  if (caught_.valid()) throw NotStructured("an exception that is stored outside a clause", 0);
  return std::move(list_);
}

void Statements::append(NodeId statement) {
  spill_all();
  list_.push_back(statement);
}

void Statements::pass(const ir::Edge& edge) {
  const auto& params = c_.graph[edge.to].params;
  std::vector<std::pair<ValueId, ValueId>> moves;  // parameter, argument
  for (size_t p = 0; p < params.size(); ++p) {
    const ValueId arg = c_.graph.resolve(edge.args[p]);
    const ValueKind kind = c_.graph[arg].kind;
    if (kind == ValueKind::Exception && c_.graph[params[p]].uses > 0) {
      throw NotStructured("an exception that is one of several values", c_.graph[arg].offset);
    }
    if (kind == ValueKind::Null || kind == ValueKind::Exception || arg == params[p]) continue;
    moves.push_back({params[p], arg});
  }
  if (moves.empty()) return;
  std::vector<NodeId> targets, values;
  std::vector<ValueId> args;
  for (const auto& [param, arg] : moves) args.push_back(arg);
  values = take_all(args);
  for (NodeId& node : values) node = hoist_literals(node);
  for (const auto& [param, arg] : moves) {
    auto it = c_.materialized.find(param);
    if (it == c_.materialized.end()) {
      it = c_.materialized.emplace(param, c_.fresh_name("temp")).first;
    }
    targets.push_back(name(it->second));
  }
  ast::Where at = where(moves[0].second);
  if (moves.size() == 1) {
    append(c_.tree.add(ast::Assign{c_.tree.list({targets[0]}), values[0]}, at));
    return;
  }
  const NodeId left = c_.tree.add(ast::Tuple{c_.tree.list(targets)}, at);
  const NodeId right = c_.tree.add(ast::Tuple{c_.tree.list(values)}, at);
  append(c_.tree.add(ast::Assign{c_.tree.list({left}), right}, at));
}

void Statements::run(std::span<const ValueId> items) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (!skipped_.count(items[i])) step(items, i);
  }
}

void Statements::step(std::span<const ValueId> items, size_t i) {
  const ValueId id = items[i];
  const ir::Value value = c_.graph[id];
  if (value.kind == ValueKind::Region) return region(id);
  PELLUCID_CHECK(value.kind == ValueKind::Instr);
  if (c_.accumulators.count(id)) return;  // the comprehension makes it
  switch (value.op) {
    case Op::StoreFast:
    case Op::StoreName:
    case Op::StoreGlobal:
    case Op::StoreDeref:
    case Op::StoreAttr:
    case Op::StoreSubscr:
      return store(items, i);
    case Op::DeleteFast:
    case Op::DeleteName:
    case Op::DeleteGlobal:
    case Op::DeleteDeref: {
      if (value.op == Op::DeleteFast) protect(value.symbol());
      const NodeId target = name(value.symbol(), where(id));
      return append(c_.tree.add(ast::Delete{c_.tree.list({target})}, where(id)));
    }
    case Op::DeleteAttr: {
      const NodeId object = take(operands(id)[0]);
      const NodeId target = c_.tree.add(ast::Attribute{object, value.symbol()}, where(id));
      return append(c_.tree.add(ast::Delete{c_.tree.list({target})}, where(id)));
    }
    case Op::DeleteSubscr: {
      ir::Value load = value;
      load.op = Op::Subscr;
      const NodeId target = c_.expressions.make(load, take_many(operands(id)));
      return append(c_.tree.add(ast::Delete{c_.tree.list({target})}, where(id)));
    }
    case Op::Pop: {
      if (drops(value, ir::Dropped::Copy)) return;
      const ValueId what = c_.graph.resolve(operands(id)[0]);
      if (slots_.count(what)) {
        const ValueId store = overwriting_store(items, i);
        if (store.valid())
          return deliver(items, i, what, name(c_.graph[store].symbol(), where(id)));
      }
      const bool is_overwritten = drops(value, ir::Dropped::Overwritten);
      if ((drops(value, ir::Dropped::Result) || is_overwritten) && is_in_group(what)) {
        // Dropped in favour of the target that was stored before.
        size_t before = i;
        while (before > 0 && c_.graph[items[before]].op != Op::StoreFast) --before;
        return deliver(items, i, what, name(c_.graph[items[before]].symbol(), where(id)));
      }
      if (is_overwritten) {
        take(what);
        return;
      }
      if (drops(value, ir::Dropped::Stored) && named_statement(what, where(id))) return;
      if (drops(value, ir::Dropped::Constant)) {
        const size_t before = list_.size();
        dropped_constant(what);
        // If the function ends after it, only an enclosing statement keeps it.
        const bool ends = i + 2 == items.size() && c_.here.valid() &&
                          c_.graph[c_.here].exit == ExitKind::Return &&
                          c_.graph[items[i + 1]].op == Op::LoadConst;
        if (ends && list_.size() > before &&
            c_.tree.is(c_.tree.as<ast::Expr>(list_.back()).value, ast::Kind::IfExp)) {
          list_.back() = always_statement(c_.tree, list_.back());
        }
        return;
      }
      if (drops(value, ir::Dropped::Iterator) || c_.graph[what].kind == ValueKind::Element ||
          c_.graph[what].kind == ValueKind::Item) {
        return;
      }
      if (find(what) == pending_.size() && !c_.materialized.count(what)) return;
      if (c_.materialized.count(what)) return;
      NodeId node = take(what);
      // After a choice that is made at run time a new block starts anyway.
      const bool is_choice =
          c_.tree.is(node, ast::Kind::BoolOp) || c_.tree.is(node, ast::Kind::IfExp);
      const ir::DropPlace place = ir::drop_place(value);
      const bool is_apart = place == ir::DropPlace::Apart;
      if (is_apart || (place == ir::DropPlace::Behind && !is_choice)) {
        node = chosen_always(c_.tree, node, is_apart);
      }
      if (drops(value, ir::Dropped::Annotated)) return append(annotated(node, where(what)));
      append(c_.tree.add(ast::Expr{node}, where(what)));
      if (place == ir::DropPlace::AtEnd) {
        // Each line without code makes the exit block longer.
        for (int line = 0; line < 2; ++line) append(c_.tree.add(ast::Pass{}, where(what)));
      }
      return;
    }
    case Op::GetAwaitable:
    case Op::YieldFrom:
      // `async with` awaits what __aenter__ returned.
      if (entered(id).valid()) return;
      return expression(items, i);
    case Op::PrintExpr:
      return append(c_.tree.add(ast::Expr{take(operands(id)[0])}, where(id)));
    case Op::UnpackSequence:
    case Op::UnpackEx:
      return unpack(items, i);
    case Op::BeforeWith:
    case Op::BeforeAsyncWith:
      c_.managers[id] = take(operands(id)[0]);
      c_.targets[id] = {};
      spill_all();
      return;
    case Op::ListAppend:
    case Op::SetAdd:
    case Op::MapAdd:
    case Op::ListExtend:
    case Op::SetUpdate:
    case Op::DictUpdate:
      if (value.a > 1) return comprehension_element(id);
      return expression(items, i);
    case Op::ImportName:
    case Op::ImportFrom:
    case Op::ImportStar:
      if (import(items, i)) return;
      throw NotStructured("an import of unknown form", value.offset);
    case Op::SetupAnnotations:
    case Op::MakeCell:
    case Op::PopExcept:
    case Op::Marker:
    case Op::LoadFastAndClear:  // the comprehension that hides the local is an expression by now
      return;
    case Op::StartGenerator:
      // A generator expression implies it.
      if (c_.tree.text(c_.tree.module()[c_.graph.f.code].name) == "<genexpr>") return;
      throw NotStructured("work that is done before a generator starts", value.offset);
    case Op::EndAsyncFor:
    case Op::WithExceptStart:
      throw NotStructured("a handler of unknown form (" + std::string(name_of(value.op)) + ")",
                          value.offset);
    default:
      return expression(items, i);
  }
}

// Appends `(x := v)`, evaluated only for its effect. Returns false if the value has another form.
bool Statements::named_statement(ValueId id, ast::Where at) {
  const size_t entry = find(id);
  const Assignment* assignment = assignment_of(id);
  if (!assignment || entry == pending_.size() || c_.materialized.count(id)) return false;
  const std::vector<NodeId> targets = assignment->targets;
  if (pending_[entry].uses_left != 1 ||
      !std::all_of(targets.begin(), targets.end(),
                   [&](NodeId target) { return c_.tree.is(target, ast::Kind::Name); })) {
    return false;
  }
  assignments_.erase(assignments_.begin() + (assignment - assignments_.data()));
  NodeId node = take(id);
  for (const NodeId target : targets) {
    protect(c_.tree.as<ast::Name>(target).id);
    node = c_.tree.add(ast::NamedExpr{target, node}, at);
  }
  append(c_.tree.add(ast::Expr{node}, at));
  return true;
}

// Returns `node._: None`: an annotation of an attribute whose name no code has. Only the object is
// evaluated.
NodeId Statements::annotated(NodeId node, ast::Where at) {
  const NodeId target = c_.tree.add(ast::Attribute{node, c_.tree.intern("_")}, at);
  return c_.tree.add(ast::AnnAssign{target, none_node(c_.tree, at), NodeId(), 0}, at);
}

// Appends a constant that is loaded and dropped. As a bare statement it would not even be loaded: a
// string becomes an f-string, anything else a conditional expression with a constant test.
// Compilers that fold these still load the value of `v or v`.
void Statements::dropped_constant(ValueId id) {
  const NodeId constant = take(id);
  const ast::Where at = where(id);
  const object::Const& what = c_.tree.module()[c_.graph[id].constant()];
  if (c_.graph.f.is_generated || what.kind == object::ConstKind::Opaque) return;
  NodeId node;
  const bool is_text = what.kind == object::ConstKind::Str && !c_.tree.text(what.text).empty();
  if (c_.graph.f.folds.drops) {
    const auto op = static_cast<uint32_t>(ast::BoolOperator::Or);
    node = c_.tree.add(ast::BoolOp{op, c_.tree.list({constant, remake(id)})}, at);
  } else if (is_text) {
    node = c_.tree.add(ast::JoinedStr{c_.tree.list({constant})}, at);
  } else {
    object::Const always;
    always.kind = object::ConstKind::True;
    const NodeId test = c_.tree.add(ast::Constant{c_.tree.module().add(always)}, at);
    node = c_.tree.add(ast::IfExp{test, constant, remake(id)}, at);
  }
  append(c_.tree.add(ast::Expr{node}, at));
}

// Returns true if the slice can be made again at each use. A bound with targets must be evaluated
// only once.
bool Statements::is_constant_slice(ValueId id) const {
  const auto bounds = operands(id);
  return std::all_of(bounds.begin(), bounds.end(), [&](ValueId bound) {
    const ValueId resolved = c_.graph.resolve(bound);
    const ir::Value& value = c_.graph[resolved];
    return is_op(value, Op::LoadConst) && !assignment_of(resolved);
  });
}

void Statements::expression(std::span<const ValueId> items, size_t i) {
  const ValueId id = items[i];
  const ir::Value value = c_.graph[id];
  if (value.steady) {
    for (const ValueId operand : operands(id)) {
      take_all(std::array<ValueId, 1>{c_.graph.resolve(operand)});
    }
    return push(id, {}, true);
  }
  switch (value.op) {
    case Op::LoadConst:
    case Op::LoadFast:
    case Op::LoadClosure:
    case Op::LoadBuildClass:
    case Op::LoadAssertionError:
    case Op::LoadCommonConstant:
      return push(id, {}, true);
    case Op::LoadAttr:
    case Op::LoadMethod:
    case Op::Subscr:
    case Op::BuildSlice:
      if (augmented_load(items, i)) return;
      if (value.op == Op::BuildSlice && is_constant_slice(id)) {
        for (const ValueId operand : operands(id))
          take_all(std::array<ValueId, 1>{c_.graph.resolve(operand)});
        return push(id, {}, true);
      }
      break;
    default:
      break;
  }
  std::vector<ValueId> wanted;
  for (const ValueId operand : operands(id)) wanted.push_back(c_.graph.resolve(operand));
  std::vector<NodeId> nodes = take_all(wanted);
  if ((value.op == Op::GetIter || value.op == Op::GetAiter) && c_.iterators.count(id)) {
    pending_.push_back(
        {id, as_iterable(c_.tree, nodes[0]), 1, false, false});  // dropping it is no use
    return;
  }
  if (value.op == Op::GetIter && c_.graph.f.is_generated) {
    const NodeId function = c_.tree.add(ast::Constant{builtin_iter(c_.tree)}, where(id));
    return push(id, c_.tree.add(ast::Call{function, c_.tree.list(nodes), {}}, where(id)), false);
  }
  // The parts of a function that are evaluated before it are in no separate statement.
  if (value.op == Op::MakeFunction) hoist_within(nodes);
  if (value.op == Op::SetFunctionAttribute && value.a != bytecode::kAnnotate) {
    hoist_within(std::array{nodes[0]});
  }
  const NodeId node = c_.expressions.make(value, nodes);
  if (!node.valid()) {
    throw NotStructured("no expression for " + std::string(name_of(value.op)), value.offset);
  }
  if (c_.tree.is(node, ast::Kind::ClassDef)) hoist_from_header(node);
  // Spills the values that this expression evaluates before its function is made. From 3.13 on the
  // parts of a function are evaluated before it and set one by one: it is complete after the last
  // of them.
  const bool has_more_parts = i + 1 < items.size() &&
                              c_.graph[items[i + 1]].op == Op::SetFunctionAttribute &&
                              c_.graph.resolve(operands(items[i + 1])[1]) == id;
  if (!has_more_parts && stands_in_front(node) && !is_decorated(items, i, node)) spill_all();
  push(id, node, false);
}

// Returns true if only calls with the function alone follow, and a store of their result under its
// name.
bool Statements::is_decorated(std::span<const ValueId> items, size_t i, NodeId function) const {
  if (c_.graph.f.is_generated) return false;
  const auto takes_last = [&](ValueId id, ValueId last) {
    return !operands(id).empty() && c_.graph.resolve(operands(id).back()) == last;
  };
  size_t at = i + 1;
  while (at < items.size() && c_.graph[items[at]].op == Op::Call && c_.graph[items[at]].a == 1 &&
         takes_last(items[at], items[at - 1])) {
    ++at;
  }
  if (at == i + 1 || at == items.size() || !stores_name(c_.graph[items[at]])) return false;
  const Symbol name = c_.tree.as<ast::FunctionDef>(function).name;
  return takes_last(items[at], items[at - 1]) &&
         c_.tree.text(name) == c_.tree.text(c_.graph[items[at]].symbol());
}

}  // namespace pellucid::structure
