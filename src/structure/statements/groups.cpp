// SPDX-License-Identifier: Apache-2.0
// Groups: `a, b = v, w`, compiled without the tuple.
#include <algorithm>
#include <set>

#include "ast/nodes.h"
#include "structure/statements/hoisting.h"
#include "structure/statements/run.h"

namespace pellucid::structure {

using ast::NodeId;

namespace {

// Returns true if all stores are to locals, to each once: then nothing observes their order.
bool are_locals_once(const Graph& graph, std::span<const ValueId> stores) {
  std::set<uint32_t> names;
  return std::all_of(stores.begin(), stores.end(), [&](ValueId id) {
    const ir::Value& store = graph[id];
    return store.op == Op::StoreFast && names.insert(store.a).second;
  });
}

// The most values that a compiler assigns without a tuple.
constexpr size_t kMostValues = 3;

// items[i] stores the value at `at`, the last one. Returns the first of the values below it that
// the next items store, in reverse order; `at` if they store none. A compiler has that order where
// it exchanged stores in locals, and those only, in place of two or three values.
size_t stored_in_reverse(const Run& r, Items items, size_t i, size_t at) {
  if (!r.graph.f.habits.exchanges_stores || r.graph[items[i]].op != Op::StoreFast) return at;
  const auto entries = r.stack.entries();
  size_t begin = at, k = i + 1;
  // Of two stores to one name the later one takes effect; in reverse order it would be the earlier
  // one.
  const auto is_new = [&](ValueId store) {
    return std::none_of(items.begin() + static_cast<ptrdiff_t>(i),
                        items.begin() + static_cast<ptrdiff_t>(k), [&](ValueId before) {
                          return r.graph[before].op == r.graph[store].op &&
                                 r.graph[before].a == r.graph[store].a;
                        });
  };
  while (begin > 0 && k < items.size() && entries[begin - 1].uses_left == 1) {
    const ir::Value& next = r.graph[items[k]];
    // A value that a later target overwrites is dropped instead (3.13): `a, a = v, w`. That target
    // is a local of the same group.
    const bool overwritten =
        drops(next, ir::Dropped::Result) || drops(next, ir::Dropped::Overwritten);
    if (!overwritten && !(is_store(next) && next.op == Op::StoreFast && is_new(items[k]))) break;
    if (r.operand(items[k], 0) != entries[begin - 1].value) break;
    --begin;
    ++k;
  }
  // A tuple of constants is one constant, whose items are stored in order.
  const bool is_folded =
      !r.graph.f.folds.unpacked &&
      std::all_of(entries.begin() + static_cast<ptrdiff_t>(begin),
                  entries.begin() + static_cast<ptrdiff_t>(at) + 1,
                  [&](const auto& entry) { return r.graph[entry.value].op == Op::LoadConst; });
  return is_folded || at - begin >= kMostValues ? at : begin;
}

// items[i] stores the value at `at`. Returns true if the next items store all values above it, with
// only targets computed in between.
bool are_stored_next(const Run& r, Items items, size_t i, size_t at) {
  const auto entries = r.stack.entries();
  size_t want = entries.size() - at - 1;
  size_t before = at;
  bool in_order = true;
  std::vector<ValueId> stores{items[i]};
  for (size_t k = i + 1; want > 0; ++k) {
    if (k >= items.size()) return false;
    const ir::Value& next = r.graph[items[k]];
    const bool receives = next.kind == ValueKind::Instr && (is_store(next) || is_unpack(next));
    const ValueId stored = receives ? r.operand(items[k], 0) : ValueId();
    const size_t place = receives ? r.stack.find(stored) : entries.size();
    // The last use of a value that a walrus has named is a target: `a, b = v, (c := w)`.
    const bool is_last = place < entries.size() && entries[place].uses_left == 1;
    if (!is_last && is_walrus(r, items[k])) continue;
    if (receives) {
      if (place < entries.size()) {
        if (place <= at || entries[place].uses_left != 1) return false;
        --want;
        in_order = in_order && place > before;
        before = place;
        stores.push_back(items[k]);
      } else if (r.graph[stored].kind != ValueKind::Element) {
        return false;
      }
    } else if (is_statement(next)) {
      return false;
    }
  }
  return in_order || are_locals_once(r.graph, stores);
}

// Appends the assignment of a group whose targets are known.
void finish(Run& r, Group& group, ast::Where at) {
  for (NodeId& node : group.nodes) node = hoist_literals(r.context, r.list, node);
  for (const NodeId target : group.targets) {
    for (const Symbol local : names_in(r.tree, target)) r.stack.protect(local);
  }
  const NodeId left = r.tree.add(ast::Tuple{r.tree.list(group.targets)}, at);
  const NodeId right = r.tree.add(ast::Tuple{r.tree.list(group.nodes)}, at);
  append(r, r.tree.add(ast::Assign{r.tree.list({left}), right}, at));
}

}  // namespace

bool is_in_group(const Run& r, ValueId value) {
  if (!r.group) return false;
  const auto place = std::find(r.group->values.begin(), r.group->values.end(), value);
  return place != r.group->values.end() &&
         !r.group->targets[static_cast<size_t>(place - r.group->values.begin())].valid();
}

bool start_group(Run& r, Items items, size_t i, ValueId value) {
  if (r.group || r.context.materialized.count(value)) return false;
  // Only in a compiler's code does the order of stores imply a tuple.
  if (r.graph.f.is_generated) return false;
  const auto entries = r.stack.entries();
  const size_t at = r.stack.find(value);
  if (at == entries.size() || entries[at].uses_left != 1) return false;
  size_t begin = at;
  if (at + 1 == entries.size()) {
    begin = stored_in_reverse(r, items, i, at);
    if (begin == at) return false;
  } else if (!are_stored_next(r, items, i, at)) {
    return false;
  }
  Group group;
  for (const auto& entry : entries.subspan(begin)) group.values.push_back(entry.value);
  group.targets.resize(group.values.size());
  const std::span<const NodeId> nodes = r.stack.take(group.values);
  group.nodes.assign(nodes.begin(), nodes.end());
  r.group = std::move(group);
  return true;
}

bool deliver_to_group(Run& r, ValueId value, NodeId target, ast::Where at) {
  if (!r.group) return false;
  Group& group = *r.group;
  for (size_t k = 0; k < group.values.size(); ++k) {
    if (group.values[k] != value || group.targets[k].valid()) continue;
    group.targets[k] = target;
    if (++group.filled == group.values.size()) {
      Group complete = std::move(group);
      r.group.reset();
      finish(r, complete, at);
    }
    return true;
  }
  return false;
}

}  // namespace pellucid::structure
