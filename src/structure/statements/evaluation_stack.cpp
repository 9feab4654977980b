// SPDX-License-Identifier: Apache-2.0
// The evaluation stack. Decides for each computed value whether it becomes part of the expression
// that uses it, or must be spilled to a temporary because an effect comes in between.
#include <algorithm>
#include <array>

#include "ast/nodes.h"
#include "ast/walk.h"
#include "base/check.h"
#include "structure/graph/not_structured.h"
#include "structure/statements/statements.h"

namespace pellucid::structure {

using ast::NodeId;

size_t Statements::find(ValueId id, size_t guess) const {
  // Operands are adjacent, in the order in which they were evaluated.
  if (guess < pending_.size() && pending_[guess].value == id) return guess;
  for (size_t i = pending_.size(); i-- > 0;) {
    if (pending_[i].value == id) return i;
  }
  return pending_.size();
}

Statements::Assignment* Statements::assignment_of(ValueId id) {
  for (Assignment& assignment : assignments_) {
    if (assignment.value == id) return &assignment;
  }
  return nullptr;
}

size_t Statements::hard_pending() const {
  return static_cast<size_t>(std::count_if(pending_.begin(), pending_.end(),
                                           [](const Entry& entry) { return !entry.reloadable; }));
}

// Appends as a statement the value that stays on the stack only to be dropped: `return f()` with a
// `finally` that returns.
void Statements::settle_dropped() {
  if (hard_pending() != 1) return;
  const auto only = std::find_if(pending_.begin(), pending_.end(),
                                 [](const Entry& entry) { return !entry.reloadable; });
  if (c_.dropped.count(only->value) == 0 || assignment_of(only->value)) return;
  list_.push_back(c_.tree.add(ast::Expr{hoist_literals(only->node)}, where(only->value)));
  pending_.erase(only);
}

void Statements::settle(bool own_only) {
  settle_dropped();
  spill_all();
  std::vector<Entry> pending = std::move(pending_);
  pending_.clear();
  for (Entry& entry : pending) {
    const ir::Value& value = c_.graph[entry.value];
    const bool is_local = value.op == Op::LoadFast && !value.steady;
    if (is_local && !(own_only && entry.adopted) && !c_.materialized.count(entry.value)) {
      spill_entry(entry);
    }
  }
}

void Statements::adopt(const Statements& other) {
  for (Entry entry : other.pending_) {
    if (!entry.reloadable || c_.graph[entry.value].op != Op::LoadFast) continue;
    entry.adopted = true;
    pending_.push_back(entry);
    adopted_.push_back(entry.value);
  }
}

void Statements::forget_adopted() {
  for (const ValueId id : adopted_) c_.materialized.erase(id);
}

void Statements::push(ValueId id, NodeId node, bool reloadable) {
  if (reloadable && c_.graph[id].uses == 0) return;
  // It is computed again, in another copy of its block.
  if (c_.kept_as.count(id)) c_.materialized.erase(id);
  pending_.push_back({id, node, std::max(1u, c_.graph[id].uses), reloadable, false});
}

// Returns the expression of a value that costs nothing to compute again.
NodeId Statements::remake(ValueId id) {
  const ir::Value value = c_.graph[id];
  std::vector<NodeId> bounds;  // of a constant slice
  for (const ValueId operand : operands(id)) bounds.push_back(remake(c_.graph.resolve(operand)));
  const NodeId node = c_.expressions.make(value, bounds);
  if (!node.valid())
    throw NotStructured("no expression for " + std::string(name_of(value.op)), value.offset);
  return node;
}

namespace {

// Returns the stem of a temporary's name, by the value that it holds.
const char* stem_of(const ir::Value& value) {
  if (value.kind != ValueKind::Instr) return "temp";
  if (value.op == Op::GetIter || value.op == Op::GetAiter) return "iterator";
  if (value.op == Op::Compare || value.op == Op::IsOp || value.op == Op::ContainsOp)
    return "condition";
  if (value.op == Op::Call || value.op == Op::CallKw || value.op == Op::CallEx) return "result";
  return "temp";
}

}  // namespace

void Statements::spill_entry(Entry& entry) {
  Symbol& temporary = c_.kept_as[entry.value];
  if (!temporary.valid()) temporary = c_.fresh_name(stem_of(c_.graph[entry.value]));
  c_.kept_in[entry.value] = c_.here;
  const ast::Where at = where(entry.value);
  NodeId node = entry.reloadable ? remake(entry.value) : entry.node;
  node = hoist_literals(node);
  std::vector<NodeId> targets;
  if (Assignment* assignment = assignment_of(entry.value)) {
    targets = assignment->targets;
    assignments_.erase(assignments_.begin() + (assignment - assignments_.data()));
  }
  targets.push_back(name(temporary, at));
  list_.push_back(c_.tree.add(ast::Assign{c_.tree.list(targets), node}, at));
  c_.materialized[entry.value] = temporary;
}

// Spills the pending values before `end`, except those that cost nothing to compute again.
void Statements::spill_until(size_t end) {
  // A value with targets keeps its place.
  const auto hard = [&](const Entry& entry) {
    return !entry.reloadable || assignment_of(entry.value) != nullptr;
  };
  const auto stop = pending_.begin() + static_cast<ptrdiff_t>(end);
  if (std::none_of(pending_.begin(), stop, hard)) return;
  for (size_t i = 0; i < end && !assignments_.empty(); ++i) {
    const size_t place = protect_targets(i);
    end -= i - place;
    i = place;
  }
  std::vector<Entry> kept;
  for (size_t i = 0; i < pending_.size(); ++i) {
    if (i < end && hard(pending_[i])) {
      spill_entry(pending_[i]);
    } else {
      kept.push_back(pending_[i]);
    }
  }
  pending_ = std::move(kept);
}

void Statements::spill_all() { spill_until(pending_.size()); }

bool Statements::is_load_of(const Entry& entry, Symbol local) const {
  const ir::Value& value = c_.graph[entry.value];
  return entry.reloadable && value.op == Op::LoadFast && value.symbol() == local &&
         assignment_of(entry.value) == nullptr;
}

// Before a store to a local: spills the pending loads of it, those between the two places only.
// Returns how many there were.
size_t Statements::protect(Symbol local, size_t begin, size_t end) {
  size_t count = 0;
  for (size_t i = begin; i < std::min(end - std::min(end, count), pending_.size());) {
    if (!is_load_of(pending_[i], local)) {
      ++i;
      continue;
    }
    Entry entry = pending_[i];
    pending_.erase(pending_.begin() + static_cast<ptrdiff_t>(i));
    spill_entry(entry);
    ++count;
  }
  return count;
}

// Before the assignment of the value at `index` becomes a statement: spills the loads of its
// targets below it. Returns the new index of the value.
size_t Statements::protect_targets(size_t index) {
  const Assignment* assignment = assignment_of(pending_[index].value);
  if (assignment == nullptr) return index;
  const std::vector<NodeId> targets = assignment->targets;
  for (const NodeId target : targets) {
    if (!c_.tree.is(target, ast::Kind::Name)) continue;
    index -= protect(c_.tree.as<ast::Name>(target).id, 0, index);
  }
  return index;
}

bool Statements::are_names(const std::vector<NodeId>& targets) const {
  return std::all_of(targets.begin(), targets.end(),
                     [&](NodeId target) { return c_.tree.is(target, ast::Kind::Name); });
}

// Returns true if a value above the one at `index` already has targets.
bool Statements::is_assigned_above(size_t index) const {
  for (size_t i = index + 1; i < pending_.size() && !assignments_.empty(); ++i) {
    if (assignment_of(pending_[i].value) != nullptr) return true;
  }
  return false;
}

bool Statements::has_called_above(size_t index) const {
  for (size_t i = index + 1; i < pending_.size(); ++i) {
    if (pending_[i].reloadable) continue;
    const Op op = c_.graph[pending_[i].value].op;
    if (op == Op::Call || op == Op::CallKw || op == Op::CallEx) return true;
  }
  return false;
}

// Before `(local := v)` becomes part of an expression: a load of the local below it, which the
// enclosing expression will take, can no longer be made again elsewhere.
void Statements::settle_loads_below(std::span<const ValueId> ids, size_t at) {
  const Assignment* assignment = assignment_of(pending_[at].value);
  if (assignment == nullptr || !are_names(assignment->targets)) return;
  for (size_t i = 0; i < at; ++i) {
    Entry& entry = pending_[i];
    const bool is_loaded = std::any_of(
        assignment->targets.begin(), assignment->targets.end(),
        [&](NodeId target) { return is_load_of(entry, c_.tree.as<ast::Name>(target).id); });
    if (!is_loaded || entry.uses_left != 1 || entry.adopted) continue;
    if (std::find(ids.begin(), ids.end(), entry.value) != ids.end()) continue;
    entry.node = remake(entry.value);
    entry.reloadable = false;
  }
}

// Returns true if `(local := v)` cannot take the place of `v` among `ids`: a load of the local from
// below is not taken before it, or one from above is.
bool Statements::reads_out_of_order(std::span<const ValueId> ids, size_t at) const {
  const ValueId assigned = pending_[at].value;
  const Assignment* assignment = assignment_of(assigned);
  if (assignment == nullptr || !are_names(assignment->targets)) return false;
  const auto loads_one = [&](const Entry& entry) {
    return std::any_of(assignment->targets.begin(), assignment->targets.end(), [&](NodeId target) {
      return is_load_of(entry, c_.tree.as<ast::Name>(target).id);
    });
  };
  for (size_t i = 0; i < pending_.size(); ++i) {
    if (i == at || !loads_one(pending_[i])) continue;
    const auto place = std::find_if(ids.begin(), ids.end(), [&](ValueId id) {
      return id == pending_[i].value || id == assigned;
    });
    const bool comes_first = place != ids.end() && *place == pending_[i].value;
    if (i > at ? comes_first : !comes_first || pending_[i].uses_left > 1) return true;
  }
  return false;
}

// Returns true if a function with a name is made here, which becomes a statement, and its place
// matters. In generated code it also decides how long the values evaluated before are held.
bool Statements::stands_in_front(NodeId node) const {
  const bool counts = c_.graph.f.is_generated || c_.keeps_functions_in_place;
  return counts && c_.tree.is(node, ast::Kind::FunctionDef) &&
         is_identifier(c_.tree.text(c_.tree.as<ast::FunctionDef>(node).name));
}

// Returns true if a value may be made later. A function that only closes over cells may: nothing
// observes when it is made. The hidden function of type parameters is made after the defaults that
// are passed to it. A function with a name becomes a statement before the expression, and the
// values evaluated before it have to stay before that.
bool Statements::is_movable(const Entry& entry) const {
  const ir::Value& value = c_.graph[entry.value];
  if (value.kind != ValueKind::Instr || entry.uses_left != 1) return false;
  if (stands_in_front(entry.node)) return false;
  if (value.op == Op::MakeFunction) return (value.a & ~uint32_t{bytecode::kClosure}) == 0;
  return value.op == Op::SetFunctionAttribute && value.a == bytecode::kClosure;
}

// Returns true if all targets of a value are names, so that it can be part of an expression: `(n :=
// v)`, `(n := (m := v))`.
bool Statements::is_part_of_expression(ValueId id) {
  const Assignment* assignment = assignment_of(id);
  return assignment == nullptr || are_names(assignment->targets);
}

// Returns the first entry from which on `ids` take everything pending, once and in the order of
// evaluation.
size_t Statements::first_in_order(std::span<const ValueId> ids) {
  size_t later = ids.size();
  for (size_t i = pending_.size(); i-- > 0;) {
    const Entry& entry = pending_[i];
    const bool is_assigned = assignment_of(entry.value) != nullptr;
    if ((entry.reloadable && !is_assigned) || is_movable(entry)) continue;
    if (is_assigned && reads_out_of_order(ids, i)) return i + 1;
    const auto taken = std::find(ids.begin(), ids.end(), entry.value);
    const auto place = static_cast<size_t>(taken - ids.begin());
    if (place >= later || entry.uses_left > 1 || !is_part_of_expression(entry.value)) return i + 1;
    later = place;
  }
  return 0;
}

std::vector<NodeId> Statements::take_all(std::span<const ValueId> ids) {
  std::vector<size_t> hard;
  bool spill = false;
  size_t place = pending_.size() - std::min(ids.size(), pending_.size());
  for (const ValueId id : ids) {
    if (c_.materialized.count(id)) continue;
    const size_t at = find(id, place);
    if (at == pending_.size()) continue;
    place = at + 1;
    settle_loads_below(ids, at);
    const Entry& entry = pending_[at];
    if ((entry.reloadable && assignment_of(id) == nullptr) || is_movable(entry)) continue;
    if (!hard.empty() && at <= hard.back()) spill = true;
    if (!is_part_of_expression(id) || reads_out_of_order(ids, at)) spill = true;
    if (entry.uses_left > 1) spill = true;
    hard.push_back(at);
  }
  if (!hard.empty()) {
    // They are in order, or there is something to spill already.
    size_t next = 0;
    for (size_t i = hard[0]; i < pending_.size() && !spill; ++i) {
      if (next < hard.size() && hard[next] == i) {
        ++next;
      } else if (!is_movable(pending_[i]) &&
                 (!pending_[i].reloadable || assignment_of(pending_[i].value) != nullptr)) {
        spill = true;
      }
    }
    // Values below were evaluated before; values above all of these may stay pending.
    const size_t last = *std::max_element(hard.begin(), hard.end());
    if (spill) spill_until(std::min(first_in_order(ids), last + 1));
  }
  std::vector<NodeId> nodes;
  nodes.reserve(ids.size());
  for (const ValueId id : ids) {
    // No target stores it, or it has other uses.
    if (c_.graph[id].kind == ValueKind::Item) c_.name_given(id, id);
  }
  place = pending_.size() - std::min(ids.size(), pending_.size());
  size_t taken = pending_.size();  // the first entry that is used up
  for (const ValueId id : ids) {
    const auto known = c_.materialized.find(id);
    if (known != c_.materialized.end()) {
      c_.check_kept(id);
      nodes.push_back(name(known->second, where(id)));
      continue;
    }
    const size_t at = find(id, place);
    if (at == pending_.size()) {
      const ir::Value& value = c_.graph[id];
      const bool constant = value.op == Op::LoadConst || value.op == Op::LoadClosure ||
                            value.op == Op::LoadAssertionError || value.op == Op::LoadBuildClass ||
                            value.op == Op::LoadCommonConstant || value.steady ||
                            (value.op == Op::BuildSlice && is_constant_slice(id));
      if (value.kind == ValueKind::Instr && constant) {
        nodes.push_back(remake(id));
        continue;
      }
      throw NotStructured("a value that is used where it is not at hand", value.offset);
    }
    Entry& entry = pending_[at];
    NodeId node = entry.reloadable ? remake(id) : entry.node;
    if (Assignment* assignment = assignment_of(id)) {
      for (const NodeId target : assignment->targets) {
        node = c_.tree.add(ast::NamedExpr{target, node}, where(id));
      }
      assignments_.erase(assignments_.begin() + (assignment - assignments_.data()));
    }
    if (entry.uses_left > 1 && entry.reloadable) {
      --entry.uses_left;
    } else {
      entry.value = ValueId();
      taken = std::min(taken, at);
    }
    place = at + 1;
    nodes.push_back(node);
  }
  pending_.erase(std::remove_if(pending_.begin() + static_cast<ptrdiff_t>(taken), pending_.end(),
                                [](const Entry& entry) { return !entry.value.valid(); }),
                 pending_.end());
  return nodes;
}

NodeId Statements::take(ValueId id) {
  id = c_.graph.resolve(id);
  return hoist_literals(take_all(std::array<ValueId, 1>{id})[0]);
}

std::vector<NodeId> Statements::take_many(std::span<const ValueId> ids) {
  std::vector<ValueId> wanted;
  for (const ValueId id : ids) wanted.push_back(c_.graph.resolve(id));
  std::vector<NodeId> nodes = take_all(wanted);
  for (NodeId& node : nodes) node = hoist_literals(node);
  return nodes;
}

// Throws for a lambda or comprehension whose body is no expression. It has to be defined where it
// is made, among the values evaluated before and after: Machine does that.
void Statements::refuse_unstructured(NodeId literal) const {
  if (!c_.tree.is(literal, ast::Kind::FunctionDef)) return;
  const auto def = c_.tree.as<ast::FunctionDef>(literal);
  if (is_identifier(c_.tree.text(def.name)) || !is_unstructured(c_.tree, def.body)) return;
  throw NotStructured("a function within an expression that is none itself",
                      c_.tree.where(literal).offset);
}

// Puts definitions inside an expression before the statement. Nested expressions come one after the
// other: each is searched once.
NodeId Statements::hoist_literals(NodeId root) {
  if (!root.valid()) return root;
  if (is_literal(c_.tree, root)) {
    refuse_unstructured(root);
    const Symbol fresh = c_.name_of_definition(root);
    const ast::Where at = c_.tree.where(root);
    list_.push_back(hoisted(c_.tree, root, fresh));
    return name(fresh, at);
  }
  hoist_within(std::array<NodeId, 1>{root});
  c_.without_literals.insert(root);
  return root;
}

// Does the same in expressions that keep their places.
void Statements::hoist_within(std::span<const NodeId> roots) {
  ast::walk(c_.tree, roots, [&](NodeId node) {
    if (is_literal(c_.tree, node)) {
      refuse_unstructured(node);
      // The node keeps its place; the definition moves to a new node.
      const Symbol fresh = c_.name_of_definition(node);
      NodeId copy;
      switch (c_.tree.kind(node)) {
        case ast::Kind::FunctionDef:
          copy = c_.tree.add(c_.tree.as<ast::FunctionDef>(node), c_.tree.where(node));
          break;
        case ast::Kind::ClassDef:
          copy = c_.tree.add(c_.tree.as<ast::ClassDef>(node), c_.tree.where(node));
          break;
        case ast::Kind::TypeAlias:
          copy = c_.tree.add(c_.tree.as<ast::TypeAlias>(node), c_.tree.where(node));
          break;
        default:
          PELLUCID_CHECK(false);
      }
      list_.push_back(hoisted(c_.tree, copy, fresh));
      c_.tree.set(node, ast::Name{fresh});
      return false;
    }
    return !c_.without_literals.contains(node) &&
           ast::category_of(c_.tree.kind(node)) != ast::Category::Stmt &&
           !c_.tree.is(node, ast::Kind::Lambda);
  });
}

// Does the same in the decorators, bases and keywords of a definition. Everything else that it
// evaluates is before it by now.
void Statements::hoist_from_header(NodeId definition) {
  std::vector<ast::ListId> parts;
  if (c_.tree.is(definition, ast::Kind::FunctionDef)) {
    parts = {c_.tree.as<ast::FunctionDef>(definition).decorator_list};
  } else if (c_.tree.is(definition, ast::Kind::ClassDef)) {
    const auto def = c_.tree.as<ast::ClassDef>(definition);
    parts = {def.decorator_list, def.bases, def.keywords};
  }
  for (const ast::ListId part : parts) {
    const auto items = c_.tree.items(part);
    // The tree grows during the search.
    hoist_within(std::vector<NodeId>(items.begin(), items.end()));
  }
}

}  // namespace pellucid::structure
