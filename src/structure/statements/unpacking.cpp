// SPDX-License-Identifier: Apache-2.0
// Unpacking: `a, (b, *c) = v`, whose targets are stored one by one.
#include <algorithm>
#include <array>

#include "ast/nodes.h"
#include "structure/graph/items.h"
#include "structure/graph/not_structured.h"
#include "structure/statements/run.h"

namespace pellucid::structure {

using ast::NodeId;

namespace {

// Calls visit(element, index) for each element; elements follow the unpacking.
template <typename Visit>
void for_each_element(const Graph& graph, ValueId unpacked, Visit visit) {
  const std::vector<ir::Value>& values = graph.f.values;
  for (size_t v = unpacked.index() + 1; v < values.size(); ++v) {
    if (values[v].kind == ValueKind::Instr) break;
    if (values[v].kind != ValueKind::Element || graph.f.operands(values[v])[0] != unpacked)
      continue;
    visit(ValueId(v), values[v].a);
  }
}

// Returns the value of one element of an unpacking; invalid if it has no use.
ValueId element_of(const Graph& graph, ValueId unpacked, uint32_t index) {
  ValueId found;
  for_each_element(graph, unpacked, [&](ValueId id, uint32_t place) {
    if (place == index && !found.valid()) found = id;
  });
  return found;
}

// Returns true if the next items store the elements one after the other.
bool unpacks_into_targets(const Run& r, Items items, size_t i) {
  const Graph& g = r.graph;
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
    if (!unpacks && !is_store(value) && !overwriting_store(r, items, k).valid()) {
      if (is_statement(value)) return false;
      continue;
    }
    if (is_walrus(r, items[k])) continue;
    const ValueId stored = r.operand(items[k], 0);
    const ir::Value& element = g[stored];
    if (element.kind != ValueKind::Element || r.operands(stored)[0] != open.back().first ||
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
uint32_t stored_at_once(const Run& r, Items items, size_t i) {
  const Graph& g = r.graph;
  uint32_t found = 0;
  for (size_t k = i + 1; k < items.size(); ++k) {
    const ir::Value& value = g[items[k]];
    if (value.kind != ValueKind::Instr) continue;
    if (value.op != Op::StoreFast && value.op != Op::StoreDeref) break;
    const ValueId stored = r.operand(items[k], 0);
    const ir::Value& element = g[stored];
    if (element.kind != ValueKind::Element || r.operands(stored)[0] != items[i] ||
        element.a != found || element.uses != 1) {
      break;
    }
    ++found;
  }
  return found;
}

// Returns true for `def f(*args: *Ts)`: the annotation is unpacked into one element, which goes
// into the tuple of annotations, or into the dict that 3.14's `__annotate__` returns.
bool annotates(const Run& r, Items items, size_t i) {
  const Graph& g = r.graph;
  const bool is_lazy = r.tree.text(r.tree.module()[g.f.code].name) == "__annotate__";
  const auto uses = [&](ValueId item, ValueId wanted) {
    const auto all = r.operands(item);
    return std::any_of(all.begin(), all.end(),
                       [&](ValueId operand) { return g.resolve(operand) == wanted; });
  };
  const ValueId element = element_of(r.graph, items[i], 0);
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

// Returns the loads of locals that are pending before an unpacking. An element that is itself
// unpacked becomes one target with the outer unpacking.
std::vector<ValueId> loaded_before(const Run& r, ValueId unpacked) {
  const Unpackings& unpackings = r.known().unpackings;
  const auto outer = unpackings.slots.find(unpacked);
  if (outer != unpackings.slots.end()) return unpackings.all[outer->second.unpacking].loaded;
  std::vector<ValueId> found;
  for (const auto& entry : r.stack.entries()) {
    if (is_op(r.graph[entry.value], Op::LoadFast)) found.push_back(entry.value);
  }
  return found;
}

bool is_load_before(const Unpacking& unpacking, const EvaluationStack::Entry& entry) {
  const auto& loaded = unpacking.loaded;
  return std::find(loaded.begin(), loaded.end(), entry.value) != loaded.end();
}

}  // namespace

bool is_unpack(const ir::Value& value) { return is_op(value, Op::UnpackSequence, Op::UnpackEx); }

bool is_walrus(const Run& r, ValueId id) {
  if (!stores_name(r.graph[id])) return false;
  const ir::Value& stored = r.graph[r.operand(id, 0)];
  return stored.kind != ValueKind::Element && stored.uses > 1;
}

ValueId overwriting_store(const Run& r, Items items, size_t i) {
  const Graph& g = r.graph;
  const auto is_pop = [&](ValueId id) { return drops(g[id], ir::Dropped::Result); };
  if (!is_pop(items[i]) || g[r.operand(items[i], 0)].kind != ValueKind::Element) return {};
  while (i < items.size() && is_pop(items[i])) ++i;
  if (i == items.size()) return {};
  const ir::Value& next = g[items[i]];
  return is_op(next, Op::StoreFast) ? items[i] : ValueId();
}

void check_unpacked(const Run& r, const Unpacking& unpacking, NodeId target) {
  if (!r.tree.is(target, ast::Kind::Name)) return;
  const Symbol local = r.tree.as<ast::Name>(target).id;
  for (const auto& entry : r.stack.entries()) {
    if (!r.stack.is_load_of(entry, local) || is_load_before(unpacking, entry)) continue;
    throw NotStructured("a local that is loaded in the middle of an unpacking",
                        r.where(entry.value).offset);
  }
}

void protect_unpacked(Run& r, const Unpacking& unpacking, NodeId target) {
  if (unpacking.loaded.empty()) return;
  for (const Symbol local : names_in(r.tree, target)) {
    for (size_t i = 0; i < r.stack.entries().size();) {
      const bool is_other = r.stack.entries()[i].value != unpacking.value;
      const bool is_kept = is_other && is_load_before(unpacking, r.stack.entries()[i]);
      if (!is_kept || r.stack.protect(local, i, i + 1) == 0) ++i;
    }
  }
}

void unpack(Run& r, Items items, size_t i) {
  const ValueId id = items[i];
  const ir::Value value = r.graph[id];
  const uint32_t count = value.op == Op::UnpackEx ? value.a + 1 + value.b : value.a;
  const ValueId source = r.operand(id, 0);
  Unpacking unpacking;
  unpacking.value = source;
  unpacking.loaded = loaded_before(r, source);
  unpacking.slots.resize(count);
  if (value.op == Op::UnpackEx) unpacking.star = value.a;
  const bool nested = r.known().unpackings.slots.count(source) > 0;
  if (count > 0 && (nested || unpacks_into_targets(r, items, i))) {
    const size_t index = r.forms().unpackings.all.size();
    r.forms().unpackings.all.push_back(std::move(unpacking));
    // The elements get their targets when they are stored.
    for_each_element(r.graph, id, [&](ValueId element, uint32_t slot) {
      r.forms().unpackings.slots[element] = {index, slot};
    });
    return;
  }
  if (count == 1 && value.op == Op::UnpackSequence && annotates(r, items, i)) {
    const NodeId node = r.stack.take(source);
    const ValueId element = element_of(r.graph, id, 0);
    return r.stack.push(element, r.tree.add(ast::Starred{node}, r.where(id)), false);
  }
  // No list of targets: every element that is not stored at once gets a name.
  const uint32_t stored = value.op == Op::UnpackSequence ? stored_at_once(r, items, i) : 0;
  const size_t index = r.forms().unpackings.all.size();
  std::vector<Symbol> names(count);
  for (uint32_t k = stored; k < count; ++k) {
    names[k] = r.context.fresh_name("temp");
    NodeId target = r.name(names[k], r.where(id));
    if (k == unpacking.star) target = r.tree.add(ast::Starred{target}, r.where(id));
    unpacking.slots[k] = target;
  }
  unpacking.filled = count - stored;
  for_each_element(r.graph, id, [&](ValueId element, uint32_t slot) {
    if (slot < stored) {
      r.forms().unpackings.slots[element] = {index, slot};
    } else {
      r.context.materialized[element] = names[slot];
    }
  });
  if (stored == 0) {
    const NodeId targets = r.tree.add(ast::Tuple{r.tree.list(unpacking.slots)}, r.where(id));
    return deliver(r, items, i, source, targets);
  }
  r.forms().unpackings.all.push_back(std::move(unpacking));
}

}  // namespace pellucid::structure
