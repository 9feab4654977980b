// SPDX-License-Identifier: Apache-2.0
// The forms of assignment: chains, unpacking, tuples that were never built.
#include <algorithm>
#include <array>
#include <set>

#include "ast/nodes.h"
#include "ast/walk.h"
#include "base/check.h"
#include "structure/graph/not_structured.h"
#include "structure/statements/statements.h"

namespace pellucid::structure {

using ast::NodeId;

namespace {

bool is_store(const ir::Value& value) {
  switch (value.op) {
    case Op::StoreFast:
    case Op::StoreName:
    case Op::StoreGlobal:
    case Op::StoreDeref:
    case Op::StoreAttr:
    case Op::StoreSubscr:
      return value.kind == ValueKind::Instr;
    default:
      return false;
  }
}

bool is_unpack(const ir::Value& value) { return is_op(value, Op::UnpackSequence, Op::UnpackEx); }

}  // namespace

// Returns the store that is left of several to one local in a row, if items[i] is the pop that
// replaces an earlier one (3.12+), as in `_, _ = v`; else invalid.
ValueId Statements::overwriting_store(std::span<const ValueId> items, size_t i) const {
  const Graph& g = c_.graph;
  const auto is_pop = [&](ValueId id) { return drops(g[id], ir::Dropped::Result); };
  if (!is_pop(items[i]) || g[g.resolve(operands(items[i])[0])].kind != ValueKind::Element)
    return {};
  while (i < items.size() && is_pop(items[i])) ++i;
  if (i == items.size()) return {};
  const ir::Value& next = g[items[i]];
  return is_op(next, Op::StoreFast) ? items[i] : ValueId();
}

void Statements::store(std::span<const ValueId> items, size_t i) {
  const ValueId id = items[i];
  const ir::Value value = c_.graph[id];
  const ValueId stored = c_.graph.resolve(operands(id)[0]);
  if (augmented_.count(stored) && augmented_store(id)) return;
  if (value.op != Op::StoreAttr && value.op != Op::StoreSubscr) {
    if (c_.graph[stored].kind == ValueKind::Exception) {
      if (!list_.empty() || caught_.valid()) {
        throw NotStructured("an exception that is stored in the middle of a clause", value.offset);
      }
      caught_ = value.symbol();
      return;
    }
    if (c_.graph[stored].kind == ValueKind::Instr && stored_import(stored, value.symbol())) return;
    return deliver(items, i, stored, name(value.symbol(), where(id)));
  }
  std::vector<ValueId> wanted;
  for (const ValueId operand : operands(id).subspan(1)) wanted.push_back(c_.graph.resolve(operand));
  const std::vector<NodeId> nodes = take_many(wanted);
  NodeId target;
  if (value.op == Op::StoreAttr) {
    target = c_.tree.add(ast::Attribute{nodes[0], value.symbol()}, where(id));
  } else {
    target = c_.tree.add(ast::Subscript{nodes[0], nodes[1]}, where(id));
  }
  deliver(items, i, stored, target);
}

// Returns the `with` statement whose `as` value this is: the result of __enter__, or of awaiting
// that of __aenter__. Invalid for another value.
ValueId Statements::entered(ValueId id) const {
  for (;;) {
    const ir::Value& value = c_.graph[id];
    const bool is_awaited = is_op(value, Op::YieldFrom, Op::GetAwaitable);
    if (value.kind != ValueKind::Element && !is_awaited) return {};
    id = c_.graph.resolve(operands(id)[0]);
    if (value.kind != ValueKind::Element) continue;
    const ir::Value& manager = c_.graph[id];
    const bool is_manager = is_op(manager, Op::BeforeWith, Op::BeforeAsyncWith);
    return is_manager ? id : ValueId();
  }
}

// Assigns `value` to `target`: as a slot of an unpacking, a member of a group, or one of a chain.
void Statements::deliver(std::span<const ValueId> items, size_t i, ValueId value, NodeId target) {
  const ast::Where at = where(items[i]);
  const Unpacking* outermost = nullptr;
  for (;;) {
    const auto slot = slots_.find(value);
    if (slot == slots_.end()) break;
    Unpacking& unpacking = unpackings_[slot->second.first];
    check_unpacked(unpacking, target);
    unpacking.slots[slot->second.second] =
        slot->second.second == unpacking.star ? c_.tree.add(ast::Starred{target}, at) : target;
    if (++unpacking.filled < unpacking.slots.size()) return;
    target = c_.tree.add(ast::Tuple{c_.tree.list(unpacking.slots)}, at);
    value = unpacking.value;
    outermost = &unpacking;
  }
  const ir::Value& source = c_.graph[value];
  const ValueId giver = source.kind == ValueKind::Item ? value : entered(value);
  if (giver.valid() && receives(giver, value, target)) return;
  for (Group& group : groups_) {
    for (size_t k = 0; k < group.values.size(); ++k) {
      if (group.values[k] != value || group.targets[k].valid()) continue;
      group.targets[k] = target;
      if (++group.filled == group.values.size()) {
        Group complete = std::move(group);
        groups_.clear();
        finish_group(complete, at);
      }
      return;
    }
  }
  if (start_group(items, i, value)) return deliver(items, i, value, target);
  if (outermost != nullptr) protect_unpacked(*outermost, target);
  // A value above that has targets was stored first, and a call above must not see the cell: both
  // are spilled before this store.
  const bool is_cell = c_.graph[items[i]].op == Op::StoreDeref;
  if (is_assigned_above(find(value)) || (is_cell && has_called_above(find(value)))) spill_all();
  const size_t entry = find(value);
  if (entry < pending_.size() && pending_[entry].uses_left > 1 && !c_.materialized.count(value)) {
    // The loads since this value must not see the store, wherever that is placed.
    if (c_.tree.is(target, ast::Kind::Name)) {
      protect(c_.tree.as<ast::Name>(target).id, entry + 1);
    }
    // Used again: another target of the chain, or a walrus.
    --pending_[entry].uses_left;
    if (Assignment* assignment = assignment_of(value)) {
      assignment->targets.push_back(target);
    } else {
      assignments_.push_back({value, {target}});
    }
    return;
  }
  assign(value, target, at);
}

void Statements::assign(ValueId value, NodeId target, ast::Where at) {
  std::vector<NodeId> targets;
  if (Assignment* assignment = assignment_of(value)) {
    if (const size_t place = find(value); place < pending_.size()) protect_targets(place);
    assignment = assignment_of(value);
    targets = std::move(assignment->targets);
    assignments_.erase(assignments_.begin() + (assignment - assignments_.data()));
  }
  targets.push_back(target);
  const ir::Value source = c_.graph[value];
  NodeId node = take_all(std::array<ValueId, 1>{value})[0];
  if (targets.size() == 1 && c_.tree.is(target, ast::Kind::Name)) {
    const Symbol symbol = c_.tree.as<ast::Name>(target).id;
    const NodeId definition = c_.expressions.definition(node, symbol);
    if (definition.valid()) {
      protect(symbol);
      hoist_from_header(definition);
      return append(definition);
    }
    // x += v
    if (is_op(source, Op::Binary) && source.b == 1 && c_.tree.is(node, ast::Kind::BinOp)) {
      const ast::BinOp sum = c_.tree.as<ast::BinOp>(node);
      if (is_name(c_.tree, sum.left, symbol)) {
        const NodeId right = hoist_literals(sum.right);
        protect(symbol);
        return append(c_.tree.add(ast::AugAssign{target, sum.op, right}, at));
      }
    }
  }
  node = hoist_literals(node);
  if (c_.tree.is(target, ast::Kind::Name)) protect(c_.tree.as<ast::Name>(target).id);
  if (targets.size() > 1 && !c_.graph.f.is_generated) {
    const auto other = std::find_if_not(targets.begin(), targets.end() - 1, [&](NodeId each) {
      return c_.tree.is(each, ast::Kind::Name);
    });
    const bool only_names = other == targets.end() - 1;
    // `x: (y := v)`, or a value that a compiler would have folded outside of a walrus.
    if (is_annotation(target) ? only_names : !c_.graph.f.folds.walruses && is_left_unfolded(node)) {
      for (auto name = targets.begin(); name != other; ++name) {
        node = c_.tree.add(ast::NamedExpr{*name, node}, at);
      }
      targets.erase(targets.begin(), other);
    }
  }
  append(c_.tree.add(ast::Assign{c_.tree.list(targets), node}, at));
}

// Returns true if the target is the entry of a name in `__annotations__`.
bool Statements::is_annotation(NodeId target) const {
  if (!c_.tree.is(target, ast::Kind::Subscript)) return false;
  return is_name(c_.tree, c_.tree.as<ast::Subscript>(target).value, "__annotations__");
}

// Returns true if an expression has a tuple or an operation of constants that compilers would have
// folded, except in a walrus. Nested walruses are not searched.
bool Statements::is_left_unfolded(NodeId root) const {
  bool found = false;
  ast::walk(c_.tree, std::array<NodeId, 1>{root}, [&](NodeId node) {
    const ast::Kind kind = c_.tree.kind(node);
    const auto is_literal = [&](NodeId part) { return c_.tree.is(part, ast::Kind::Constant); };
    if (kind == ast::Kind::Tuple) {
      const auto items = c_.tree.items(c_.tree.as<ast::Tuple>(node).elts);
      found = found || std::all_of(items.begin(), items.end(), is_literal);
    } else if (kind == ast::Kind::UnaryOp) {
      found = found || is_literal(c_.tree.as<ast::UnaryOp>(node).operand);
    } else if (kind == ast::Kind::BinOp) {
      const auto binary = c_.tree.as<ast::BinOp>(node);
      found = found || (is_literal(binary.left) && is_literal(binary.right));
    } else if (kind == ast::Kind::Subscript) {
      const auto item = c_.tree.as<ast::Subscript>(node);
      found = found || (is_literal(item.value) && is_literal(item.slice));
    }
    return !found && kind != ast::Kind::NamedExpr;
  });
  return found;
}

// Returns true if all stores are to locals, to each once: then nothing observes their order.
bool Statements::are_locals_once(std::span<const ValueId> stores) const {
  std::set<uint32_t> names;
  return std::all_of(stores.begin(), stores.end(), [&](ValueId id) {
    const ir::Value& store = c_.graph[id];
    return store.op == Op::StoreFast && names.insert(store.a).second;
  });
}

// Returns true if the value still lacks its target in `a, b = v, w`.
bool Statements::is_in_group(ValueId value) const {
  return std::any_of(groups_.begin(), groups_.end(), [&](const Group& group) {
    const auto place = std::find(group.values.begin(), group.values.end(), value);
    return place != group.values.end() &&
           !group.targets[static_cast<size_t>(place - group.values.begin())].valid();
  });
}

// Starts `a, b = v, w` if the values are pending and their stores follow one another; else returns
// false. Compilers omit the tuple for two or three values, and 3.12+ may store in reverse order.
bool Statements::start_group(std::span<const ValueId> items, size_t i, ValueId value) {
  if (!groups_.empty() || c_.materialized.count(value)) return false;
  // Only in a compiler's code does the order of stores imply a tuple.
  if (c_.graph.f.is_generated) return false;
  const size_t at = find(value);
  if (at == pending_.size() || pending_[at].uses_left != 1) return false;
  size_t begin = at, end = pending_.size();
  if (at + 1 == end) {
    // The last value is stored first: take the values below it that the next items store.
    size_t k = i + 1;
    // Of two stores to one name the later one takes effect; in reverse order it would be the
    // earlier one.
    const auto is_new = [&](ValueId store) {
      return std::none_of(items.begin() + static_cast<ptrdiff_t>(i),
                          items.begin() + static_cast<ptrdiff_t>(k), [&](ValueId before) {
                            return c_.graph[before].op == c_.graph[store].op &&
                                   c_.graph[before].a == c_.graph[store].a;
                          });
    };
    while (begin > 0 && k < items.size() && pending_[begin - 1].uses_left == 1) {
      const ir::Value& next = c_.graph[items[k]];
      // A value that a later target overwrites is dropped instead (3.13): `a, a = v, w`.
      const bool overwritten =
          drops(next, ir::Dropped::Result) || drops(next, ir::Dropped::Overwritten);
      if (!overwritten && !(is_store(next) && next.op == Op::StoreFast && is_new(items[k]))) break;
      if (c_.graph.resolve(operands(items[k])[0]) != pending_[begin - 1].value) break;
      --begin;
      ++k;
    }
    if (begin == at) return false;
  } else {
    // The values above it must be stored by the next items, with only targets computed in between.
    size_t want = end - at - 1;
    size_t before = at;
    bool in_order = true;
    std::vector<ValueId> stores{items[i]};
    for (size_t k = i + 1; want > 0; ++k) {
      if (k >= items.size()) return false;
      const ir::Value& next = c_.graph[items[k]];
      const bool receives = next.kind == ValueKind::Instr && (is_store(next) || is_unpack(next));
      const ValueId stored = receives ? c_.graph.resolve(operands(items[k])[0]) : ValueId();
      const size_t place = receives ? find(stored) : pending_.size();
      // The last use of a value that a walrus has named is a target: `a, b = v, (c := w)`.
      const bool is_last = place < pending_.size() && pending_[place].uses_left == 1;
      if (!is_last && is_walrus(items[k])) continue;
      if (receives) {
        if (place < pending_.size()) {
          if (place <= at || pending_[place].uses_left != 1) return false;
          --want;
          in_order = in_order && place > before;
          before = place;
          stores.push_back(items[k]);
        } else if (c_.graph[stored].kind != ValueKind::Element) {
          return false;
        }
      } else if (is_statement(next)) {
        return false;
      }
    }
    if (!in_order && !are_locals_once(stores)) return false;
  }
  Group group;
  for (size_t k = begin; k < end; ++k) group.values.push_back(pending_[k].value);
  std::vector<ValueId> values = group.values;
  group.targets.resize(values.size());
  group.nodes = take_all(values);
  groups_.push_back(std::move(group));
  return true;
}

void Statements::finish_group(Group& group, ast::Where at) {
  for (NodeId& node : group.nodes) node = hoist_literals(node);
  for (const NodeId target : group.targets) {
    for (const Symbol local : names_in(target)) protect(local);
  }
  const NodeId left = c_.tree.add(ast::Tuple{c_.tree.list(group.targets)}, at);
  const NodeId right = c_.tree.add(ast::Tuple{c_.tree.list(group.nodes)}, at);
  append(c_.tree.add(ast::Assign{c_.tree.list({left}), right}, at));
}

// ---- unpacking ------------------------------------------------------------------------------

// Returns true if a computed value is stored and used once more: `(a := v)`, as part of a target.
bool Statements::is_walrus(ValueId id) const {
  if (!stores_name(c_.graph[id])) return false;
  const ir::Value& stored = c_.graph[c_.graph.resolve(operands(id)[0])];
  return stored.kind != ValueKind::Element && stored.uses > 1;
}

// Returns true if the next items store the elements one after the other.
bool Statements::unpacks_into_targets(std::span<const ValueId> items, size_t i) const {
  const Graph& g = c_.graph;
  // (unpack item, next element) from the outermost to the innermost that is open
  std::vector<std::pair<ValueId, uint32_t>> open;
  const auto count_of = [&](ValueId id) {
    return g[id].op == Op::UnpackEx ? g[id].a + 1 + g[id].b : g[id].a;
  };
  const auto close = [&] {
    while (!open.empty() && open.back().second == count_of(open.back().first)) {
      open.pop_back();
      if (!open.empty()) ++open.back().second;
    }
  };
  open.push_back({items[i], 0});
  close();
  for (size_t k = i + 1; !open.empty(); ++k) {
    if (k >= items.size()) return false;
    const ir::Value& value = g[items[k]];
    if (value.kind != ValueKind::Instr) continue;
    const bool unpacks = is_unpack(value);
    if (!unpacks && !is_store(value) && !overwriting_store(items, k).valid()) {
      if (is_statement(value)) return false;
      continue;
    }
    if (is_walrus(items[k])) continue;
    const ValueId stored = g.resolve(operands(items[k])[0]);
    const ir::Value& element = g[stored];
    if (element.kind != ValueKind::Element || operands(stored)[0] != open.back().first ||
        element.a != open.back().second || element.uses != 1) {
      return false;
    }
    if (unpacks) {
      open.push_back({items[k], 0});
    } else {
      ++open.back().second;
    }
    close();
  }
  return true;
}

// Returns how many elements, from the first on, the next items store into locals before anything
// else. In generated code the rest may stay on the stack.
uint32_t Statements::stored_at_once(std::span<const ValueId> items, size_t i) const {
  const Graph& g = c_.graph;
  uint32_t found = 0;
  for (size_t k = i + 1; k < items.size(); ++k) {
    const ir::Value& value = g[items[k]];
    if (value.kind != ValueKind::Instr) continue;
    if (value.op != Op::StoreFast && value.op != Op::StoreDeref) break;
    const ValueId stored = g.resolve(operands(items[k])[0]);
    const ir::Value& element = g[stored];
    if (element.kind != ValueKind::Element || operands(stored)[0] != items[i] ||
        element.a != found || element.uses != 1) {
      break;
    }
    ++found;
  }
  return found;
}

// Returns true for `def f(*args: *Ts)`: the annotation is unpacked into one element, which goes
// into the tuple of annotations, or into the dict that 3.14's `__annotate__` returns.
bool Statements::annotates(std::span<const ValueId> items, size_t i) const {
  const Graph& g = c_.graph;
  const bool is_lazy = c_.tree.text(c_.tree.module()[g.f.code].name) == "__annotate__";
  const auto uses = [&](ValueId item, ValueId wanted) {
    const auto all = operands(item);
    return std::any_of(all.begin(), all.end(),
                       [&](ValueId operand) { return g.resolve(operand) == wanted; });
  };
  const ValueId element = element_of(items[i], 0);
  if (!element.valid() || g[element].uses != 1) return false;
  ValueId packed;
  for (size_t k = i + 1; k < items.size(); ++k) {
    const ir::Value& value = g[items[k]];
    if (value.kind != ValueKind::Instr) continue;
    if (!packed.valid()) {
      const bool packs = value.op == Op::BuildTuple || value.op == Op::BuildMap ||
                         value.op == Op::BuildConstKeyMap;
      if (packs && uses(items[k], element)) packed = items[k];
      if (packed.valid() && is_lazy) return true;
    } else if (uses(items[k], packed)) {
      return (value.op == Op::MakeFunction || value.op == Op::SetFunctionAttribute) &&
             (value.a & bytecode::kAnnotations) != 0;
    }
  }
  return false;
}

// Returns the value of one element of an unpacking; invalid if it has no use.
ValueId Statements::element_of(ValueId unpacked, uint32_t index) const {
  ValueId found;
  for_each_element(unpacked, [&](ValueId id, uint32_t place) {
    if (place == index && !found.valid()) found = id;
  });
  return found;
}

// Calls visit(element, index) for each element; elements follow the unpacking.
template <typename Visit>
void Statements::for_each_element(ValueId unpacked, Visit visit) const {
  const std::vector<ir::Value>& values = c_.graph.f.values;
  for (size_t v = unpacked.index() + 1; v < values.size(); ++v) {
    if (values[v].kind == ValueKind::Instr) break;
    if (values[v].kind != ValueKind::Element || operands(ValueId(v))[0] != unpacked) continue;
    visit(ValueId(v), values[v].a);
  }
}

void Statements::unpack(std::span<const ValueId> items, size_t i) {
  const ValueId id = items[i];
  const ir::Value value = c_.graph[id];
  const uint32_t count = value.op == Op::UnpackEx ? value.a + 1 + value.b : value.a;
  const ValueId source = c_.graph.resolve(operands(id)[0]);
  Unpacking unpacking;
  unpacking.value = source;
  unpacking.loaded = loaded_before(source);
  unpacking.slots.resize(count);
  if (value.op == Op::UnpackEx) unpacking.star = value.a;
  const bool nested = slots_.count(source) > 0;
  if (count > 0 && (nested || unpacks_into_targets(items, i))) {
    const size_t index = unpackings_.size();
    unpackings_.push_back(std::move(unpacking));
    // The elements get their targets when they are stored.
    for_each_element(id, [&](ValueId element, uint32_t slot) { slots_[element] = {index, slot}; });
    return;
  }
  if (count == 1 && value.op == Op::UnpackSequence && annotates(items, i)) {
    const NodeId node = take_all(std::array<ValueId, 1>{source})[0];
    const ValueId element = element_of(id, 0);
    return push(element, c_.tree.add(ast::Starred{node}, where(id)), false);
  }
  // No list of targets: every element that is not stored at once gets a name.
  const uint32_t stored = value.op == Op::UnpackSequence ? stored_at_once(items, i) : 0;
  const size_t index = unpackings_.size();
  std::vector<Symbol> names(count);
  for (uint32_t k = stored; k < count; ++k) {
    names[k] = c_.fresh_name("temp");
    NodeId target = name(names[k], where(id));
    if (k == unpacking.star) target = c_.tree.add(ast::Starred{target}, where(id));
    unpacking.slots[k] = target;
  }
  unpacking.filled = count - stored;
  for_each_element(id, [&](ValueId element, uint32_t slot) {
    if (slot < stored) {
      slots_[element] = {index, slot};
    } else {
      c_.materialized[element] = names[slot];
    }
  });
  if (stored == 0) {
    const NodeId targets = c_.tree.add(ast::Tuple{c_.tree.list(unpacking.slots)}, where(id));
    return deliver(items, i, source, targets);
  }
  unpackings_.push_back(std::move(unpacking));
}

}  // namespace pellucid::structure
