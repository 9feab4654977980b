// SPDX-License-Identifier: Apache-2.0
#include "structure/statements/run.h"

#include <algorithm>
#include <array>
#include <string>

#include "ast/nodes.h"
#include "base/check.h"
#include "structure/graph/not_structured.h"
#include "structure/scopes/dead_code.h"
#include "structure/scopes/names.h"
#include "structure/scopes/unfoldable.h"
#include "structure/statements/hoisting.h"

namespace pellucid::structure {

using ast::NodeId;

const Forms Run::kNoForms;

namespace {

// Appends `(x := v)`, evaluated only for its effect. Returns false if the value has another form.
bool named_statement(Run& r, ValueId id, ast::Where at) {
  const size_t entry = r.stack.find(id);
  const std::vector<NodeId>* assigned = r.stack.targets().of(id);
  if (assigned == nullptr || entry == r.stack.entries().size() ||
      r.context.materialized.count(id)) {
    return false;
  }
  if (r.stack.entries()[entry].uses_left != 1 || !are_names(r.tree, *assigned)) return false;
  const std::vector<NodeId> targets = r.stack.take_targets(id);
  NodeId node = take(r, id);
  for (const NodeId target : targets) {
    r.stack.protect(r.tree.as<ast::Name>(target).id);
    node = r.tree.add(ast::NamedExpr{target, node}, at);
  }
  append(r, r.tree.add(ast::Expr{node}, at));
  return true;
}

// Returns `node._: None`: an annotation of an attribute whose name no code has. Only the object is
// evaluated.
NodeId annotated(ast::Tree& tree, NodeId node, ast::Where at) {
  const NodeId target = tree.add(ast::Attribute{node, tree.intern("_")}, at);
  return tree.add(ast::AnnAssign{target, none_node(tree, at), NodeId(), 0}, at);
}

// Appends a constant that is loaded and dropped. As a bare statement it would not even be loaded: a
// string becomes an f-string, anything else a conditional expression with a constant test.
// Compilers that fold these still load the value of `v or v`.
void dropped_constant(Run& r, ValueId id) {
  const NodeId constant = take(r, id);
  const ast::Where at = r.where(id);
  const object::Const& what = r.tree.module()[r.graph[id].constant()];
  if (r.graph.f.is_generated || what.kind == object::ConstKind::Opaque) return;
  NodeId node;
  const bool is_text = what.kind == object::ConstKind::Str && !r.tree.text(what.text).empty();
  if (r.graph.f.folds.drops) {
    const auto op = static_cast<uint32_t>(ast::BoolOperator::Or);
    node = r.tree.add(ast::BoolOp{op, r.tree.list({constant, r.context.remake(id)})}, at);
  } else if (is_text) {
    node = r.tree.add(ast::JoinedStr{r.tree.list({constant})}, at);
  } else {
    object::Const always;
    always.kind = object::ConstKind::True;
    const NodeId test = r.tree.add(ast::Constant{r.tree.module().add(always)}, at);
    node = r.tree.add(ast::IfExp{test, constant, r.context.remake(id)}, at);
  }
  append(r, r.tree.add(ast::Expr{node}, at));
}

// Returns true if only calls with the function alone follow, and a store of their result under its
// name.
bool is_decorated(const Run& r, Items items, size_t i, NodeId function) {
  if (r.graph.f.is_generated) return false;
  const auto takes_last = [&](ValueId id, ValueId last) {
    return !r.operands(id).empty() && r.graph.resolve(r.operands(id).back()) == last;
  };
  size_t at = i + 1;
  while (at < items.size() && r.graph[items[at]].op == Op::Call && r.graph[items[at]].a == 1 &&
         takes_last(items[at], items[at - 1])) {
    ++at;
  }
  if (at == i + 1 || at == items.size() || !stores_name(r.graph[items[at]])) return false;
  const Symbol name = r.tree.as<ast::FunctionDef>(function).name;
  return takes_last(items[at], items[at - 1]) &&
         r.tree.text(name) == r.tree.text(r.graph[items[at]].symbol());
}

// Pushes a value that each use computes again, with its operands.
void push_reloadable(Run& r, ValueId id) {
  for (const ValueId operand : r.operands(id)) r.stack.take(operand);
  r.stack.push(id, {}, true);
}

// After a function was made: spills the values that its expression evaluates before. From 3.13 on
// the parts of a function are evaluated before it and set one by one: it is complete after the last
// of them.
[[gnu::noinline]] void settle_function(Run& r, Items items, size_t i, NodeId node) {
  const bool has_more_parts = i + 1 < items.size() &&
                              r.graph[items[i + 1]].op == Op::SetFunctionAttribute &&
                              r.graph.resolve(r.operands(items[i + 1])[1]) == items[i];
  if (!has_more_parts && makes_placed_function(r.context, node) &&
      !is_decorated(r, items, i, node)) {
    r.stack.spill_all();
  }
}

[[noreturn]] void refuse_expression(const ir::Value& value) {
  throw NotStructured("no expression for " + std::string(name_of(value.op)), value.offset);
}

// Pushes the expression of a value that takes these operands.
void push_made(Run& r, Items items, size_t i, std::span<const NodeId> operands) {
  const ValueId id = items[i];
  const ir::Value& value = r.graph[id];
  const NodeId node = r.context.expressions.make(value, operands);
  if (!node.valid()) refuse_expression(value);
  const ast::Kind kind = r.tree.kind(node);
  if (kind == ast::Kind::ClassDef) hoist_from_header(r.context, r.list, node);
  if (kind == ast::Kind::FunctionDef) settle_function(r, items, i, node);
  r.stack.push(id, node, false);
}

// Pushes an iterator, or what a loop iterates over.
void iterator(Run& r, Items items, size_t i) {
  const ValueId id = items[i];
  const std::span<const NodeId> nodes = r.stack.take(r.operands(id));
  if (r.context.iterators.count(id)) {
    return r.stack.push_once(id, as_iterable(r.tree, nodes[0]));  // dropping it is no use
  }
  if (r.graph[id].op != Op::GetIter || !r.graph.f.is_generated) {
    return push_made(r, items, i, nodes);
  }
  const NodeId function = r.tree.add(ast::Constant{builtin_iter(r.tree)}, r.where(id));
  r.stack.push(id, r.tree.add(ast::Call{function, r.tree.list(nodes), {}}, r.where(id)), false);
}

// Pushes a function, or one with one more part.
void function(Run& r, Items items, size_t i) {
  const ir::Value& value = r.graph[items[i]];
  const std::span<const NodeId> nodes = r.stack.take(r.operands(items[i]));
  // The parts of a function that are evaluated before it are in no separate statement.
  if (value.op == Op::MakeFunction) hoist_within(r.context, r.list, nodes);
  if (value.op == Op::SetFunctionAttribute && value.a != bytecode::kAnnotate) {
    hoist_within(r.context, r.list, std::array{nodes[0]});
  }
  push_made(r, items, i, nodes);
}

// Pushes the variable that a value loads. (What push_made() would make of it, as below; a third of
// all expressions are one of the two.)
[[gnu::noinline]] void variable(Run& r, ValueId id) {
  const ir::Value& value = r.graph[id];
  if (value.steady) return push_reloadable(r, id);
  r.stack.push(id, r.name(value.symbol(), r.where(id)), false);
}

// Pushes an attribute, or the method of a call.
[[gnu::noinline]] void attribute(Run& r, Items items, size_t i) {
  const ValueId id = items[i];
  const ir::Value& value = r.graph[id];
  if (value.steady) return push_reloadable(r, id);
  if (may_be_augmented(r, id) && augmented_load(r, items, i)) return;
  const NodeId object = r.stack.take(r.operands(id))[0];
  if (!object.valid()) refuse_expression(value);
  r.stack.push(id, r.tree.add(ast::Attribute{object, value.symbol()}, r.where(id)), false);
}

// Pushes the expression of a value.
void expression(Run& r, Items items, size_t i) {
  const ValueId id = items[i];
  const ir::Value& value = r.graph[id];
  if (value.steady) return push_reloadable(r, id);
  switch (value.op) {
    case Op::Subscr:
    case Op::BuildSlice:
      if (may_be_augmented(r, id) && augmented_load(r, items, i)) return;
      if (value.op == Op::BuildSlice && is_constant_slice(r.context, r.stack.targets(), id)) {
        return push_reloadable(r, id);
      }
      break;
    case Op::GetIter:
    case Op::GetAiter:
      return iterator(r, items, i);
    case Op::MakeFunction:
    case Op::SetFunctionAttribute:
      return function(r, items, i);
    default:
      break;
  }
  push_made(r, items, i, r.stack.take(r.operands(id)));
}

// Reads a value that is dropped: an expression statement, unless what drops it is part of another
// form (ir::Dropped).
void pop(Run& r, Items items, size_t i) {
  const ValueId id = items[i];
  const ir::Value value = r.graph[id];
  if (drops(value, ir::Dropped::Copy)) return;
  const ValueId what = r.operand(id, 0);
  if (r.known().unpackings.slots.count(what)) {
    const ValueId store = overwriting_store(r, items, i);
    if (store.valid())
      return deliver(r, items, i, what, r.name(r.graph[store].symbol(), r.where(id)));
  }
  const bool is_overwritten = drops(value, ir::Dropped::Overwritten);
  if ((drops(value, ir::Dropped::Result) || is_overwritten) && is_in_group(r, what)) {
    // Dropped in favour of the target that was stored before.
    size_t before = i;
    while (before > 0 && r.graph[items[before]].op != Op::StoreFast) --before;
    PELLUCID_CHECK(r.graph[items[before]].op == Op::StoreFast);
    return deliver(r, items, i, what, r.name(r.graph[items[before]].symbol(), r.where(id)));
  }
  if (is_overwritten) {
    take(r, what);
    return;
  }
  if (drops(value, ir::Dropped::Stored) && named_statement(r, what, r.where(id))) return;
  if (drops(value, ir::Dropped::Constant)) {
    const size_t before = r.list.size();
    dropped_constant(r, what);
    // If the function ends after it, only an enclosing statement keeps it.
    const bool ends = i + 2 == items.size() && r.context.here.valid() &&
                      r.graph[r.context.here].exit == ExitKind::Return &&
                      r.graph[items[i + 1]].op == Op::LoadConst;
    if (ends && r.list.size() > before &&
        r.tree.is(r.tree.as<ast::Expr>(r.list.back()).value, ast::Kind::IfExp)) {
      r.list.back() = always_statement(r.tree, r.list.back());
    }
    return;
  }
  if (drops(value, ir::Dropped::Iterator) || r.graph[what].kind == ValueKind::Element ||
      r.graph[what].kind == ValueKind::Item) {
    return;
  }
  if (r.context.materialized.count(what) || r.stack.find(what) == r.stack.entries().size()) return;
  NodeId node = take(r, what);
  // After a choice that is made at run time a new block starts anyway.
  const bool is_choice = r.tree.is(node, ast::Kind::BoolOp) || r.tree.is(node, ast::Kind::IfExp);
  const ir::DropPlace place = ir::drop_place(value);
  const bool is_apart = place == ir::DropPlace::Apart;
  if (is_apart || (place == ir::DropPlace::Behind && !is_choice)) {
    node = chosen_always(r.tree, node, is_apart);
  }
  if (drops(value, ir::Dropped::Annotated))
    return append(r, annotated(r.tree, node, r.where(what)));
  append(r, r.tree.add(ast::Expr{node}, r.where(what)));
  if (place == ir::DropPlace::AtEnd) {
    // Each line without code makes the exit block longer.
    for (int line = 0; line < 2; ++line) append(r, r.tree.add(ast::Pass{}, r.where(what)));
  }
}

// Reads an item that is no load.
void read_other(Run& r, Items items, size_t i) {
  const ValueId id = items[i];
  const ir::Value& value = r.graph[id];
  switch (value.op) {
    case Op::StoreFast:
    case Op::StoreName:
    case Op::StoreGlobal:
    case Op::StoreDeref:
    case Op::StoreAttr:
    case Op::StoreSubscr:
      return store(r, items, i);
    case Op::DeleteFast:
    case Op::DeleteName:
    case Op::DeleteGlobal:
    case Op::DeleteDeref: {
      if (value.op == Op::DeleteFast) r.stack.protect(value.symbol());
      const NodeId target = r.name(value.symbol(), r.where(id));
      return append(r, r.tree.add(ast::Delete{r.tree.list({target})}, r.where(id)));
    }
    case Op::DeleteAttr: {
      const NodeId object = take(r, r.operands(id)[0]);
      const NodeId target = r.tree.add(ast::Attribute{object, value.symbol()}, r.where(id));
      return append(r, r.tree.add(ast::Delete{r.tree.list({target})}, r.where(id)));
    }
    case Op::DeleteSubscr: {
      ir::Value load = value;
      load.op = Op::Subscr;
      const NodeId target = r.context.expressions.make(load, take_many(r, r.operands(id)));
      return append(r, r.tree.add(ast::Delete{r.tree.list({target})}, r.where(id)));
    }
    case Op::Pop:
      return pop(r, items, i);
    case Op::GetAwaitable:
    case Op::YieldFrom:
      // `async with` awaits what __aenter__ returned.
      if (entered(r, id).valid()) return;
      return expression(r, items, i);
    case Op::PrintExpr:
      return append(r, r.tree.add(ast::Expr{take(r, r.operands(id)[0])}, r.where(id)));
    case Op::UnpackSequence:
    case Op::UnpackEx:
      return unpack(r, items, i);
    case Op::BeforeWith:
    case Op::BeforeAsyncWith:
      r.context.managers[id] = take(r, r.operands(id)[0]);
      r.context.targets[id] = {};
      r.stack.spill_all();
      return;
    case Op::ListAppend:
    case Op::SetAdd:
    case Op::MapAdd:
    case Op::ListExtend:
    case Op::SetUpdate:
    case Op::DictUpdate:
      if (value.a > 1) return comprehension_element(r, id);
      return expression(r, items, i);
    case Op::ImportName:
    case Op::ImportFrom:
    case Op::ImportStar:
      if (read_import(r, items, i)) return;
      throw NotStructured("an import of unknown form", value.offset);
    case Op::SetupAnnotations:
    case Op::MakeCell:
    case Op::PopExcept:
    case Op::Marker:
    case Op::LoadFastAndClear:  // the comprehension that hides the local is an expression by now
      return;
    case Op::StartGenerator:
      // A generator expression implies it.
      if (r.tree.text(r.tree.module()[r.graph.f.code].name) == "<genexpr>") return;
      throw NotStructured("work that is done before a generator starts", value.offset);
    case Op::EndAsyncFor:
    case Op::WithExceptStart:
      throw NotStructured("a handler of unknown form (" + std::string(name_of(value.op)) + ")",
                          value.offset);
    default:
      return expression(r, items, i);
  }
}

// Returns true if another item includes it, or the comprehension that it belongs to makes it.
[[gnu::noinline]] bool is_included(const Run& r, ValueId id) {
  if (r.known().skipped.count(id)) return true;
  return r.graph[id].kind == ValueKind::Instr && r.context.accumulators.count(id) > 0;
}

// How an item is read.
enum class Reading : uint8_t {
  Load,        // a value without operands that each use computes again
  Variable,    // a name that is looked up
  Attribute,   // `x.name`
  Expression,  // as any other value
  Other,       // it depends
};

constexpr Reading reading_of(Op op) {
  switch (op) {
    case Op::LoadConst:
    case Op::LoadFast:
    case Op::LoadClosure:
    case Op::LoadBuildClass:
    case Op::LoadAssertionError:
    case Op::LoadCommonConstant:
      return Reading::Load;
    case Op::LoadName:
    case Op::LoadGlobal:
    case Op::LoadDeref:
      return Reading::Variable;
    case Op::LoadAttr:
    case Op::LoadMethod:
      return Reading::Attribute;
    case Op::Subscr:
    case Op::Binary:
    case Op::Compare:
    case Op::BuildTuple:
    case Op::BuildList:
    case Op::BuildMap:
    case Op::MakeFunction:
    case Op::SetFunctionAttribute:
    case Op::Call:
    case Op::CallKw:
      return Reading::Expression;
    default:
      return Reading::Other;
  }
}

}  // namespace

void append(Run& r, NodeId statement) {
  r.stack.spill_all();
  append_to(r.list, statement);
}

NodeId take(Run& r, ValueId id) { return hoist_literals(r.context, r.list, r.stack.take(id)); }

std::vector<NodeId> take_many(Run& r, std::span<const ValueId> ids) {
  const std::span<const NodeId> taken = r.stack.take(ids);
  std::vector<NodeId> nodes(taken.begin(), taken.end());
  for (NodeId& node : nodes) node = hoist_literals(r.context, r.list, node);
  return nodes;
}

void read_items(Run& r, Items items) {
  for (size_t i = 0; i < items.size(); ++i) {
    const bool may_be_included = !r.known().skipped.empty() || !r.context.accumulators.empty();
    if (may_be_included && is_included(r, items[i])) continue;
    const ValueId id = items[i];
    const ir::Value& value = r.graph[id];
    if (value.kind == ValueKind::Region) {
      read_region(r, id);
      continue;
    }
    PELLUCID_CHECK(value.kind == ValueKind::Instr);
    switch (reading_of(value.op)) {
      case Reading::Load:
        r.stack.push(id, {}, true);
        break;
      case Reading::Variable:
        variable(r, id);
        break;
      case Reading::Attribute:
        attribute(r, items, i);
        break;
      case Reading::Expression:
        expression(r, items, i);
        break;
      case Reading::Other:
        read_other(r, items, i);
        break;
    }
  }
}

}  // namespace pellucid::structure
